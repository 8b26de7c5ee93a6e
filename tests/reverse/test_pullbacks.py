"""Pullbacks that outlive their trace: made at one place, called at any other.

A pullback is made of p = vjp(z ↦ sin(z) w) at z; its value at ȳ is ȳ cos(z) w. What z, w and ȳ are at the place of the
call, variables or constants, decides the derivative: all numbers are closed forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = {"float": 0.7, "array": np.array([0.4, 1.0, 1.9]), "large": np.linspace(0.1, 1.9, 3000)}

Pullback = Callable[[Any], Any]


def made(z: Any, w: Any) -> Pullback:
    """ȳ ↦ ȳ cos(z) w, through a rule of the general form."""
    return wg.vjp(lambda z: sine(z) * w, z)[1]


def sine(z: Any) -> Any:
    return np.sin(z)


def sine_rule(z: Any) -> Any:
    return np.sin(z), lambda y_bar: (y_bar * wg.grad(lambda z: np.sum(np.sin(z)))(z),)


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with wg.rules.scope():
        wg.rrule(sine)(sine_rule)
        yield


@pytest.fixture(params=X)
def x(request: pytest.FixtureRequest) -> Any:
    return X[request.param]


def slope(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return wg.grad(lambda x: np.sum(f(x)))


def leaked(run: Callable[[Callable[[Any], Any], Any], Any], make: Callable[[Any], Pullback], x: Any) -> Pullback:
    """The pullback that a function made, while a trace ran it."""
    kept: list[Pullback] = []

    def f(x: Any) -> Any:
        kept.append(make(x))
        return np.sum(x)

    run(f, x)
    return kept[-1]


def under_two(f: Callable[[Any], Any], x: Any) -> Any:
    return slope(wg.grad(f))(x)


TRACES: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "none": lambda f, x: f(x),
    "grad": lambda f, x: wg.grad(f)(x),
    "grad of grad": under_two,
    "vjp": lambda f, x: wg.vjp(f, x)[1](1.0),
    "tape": lambda f, x: wg.gradtape(f, x),
    "trace": lambda f, x: wg.trace(f, x),
    "checkpoint": lambda f, x: wg.grad(wg.checkpoint(f))(x),
}


@pytest.fixture(params=TRACES)
def run(request: pytest.FixtureRequest) -> Any:
    return TRACES[request.param]


def test_called_when_no_trace_is_left(run: Any, x: Any) -> None:
    pullback = leaked(run, lambda x: made(2 * x, x), x)
    for k in range(2):
        np.testing.assert_allclose(pullback(x + k)[0], (x + k) * np.cos(2 * x) * x)


def test_called_in_another_trace(run: Any, x: Any) -> None:
    """What the trace of its making left is constant; ȳ is a variable."""
    pullback = leaked(run, lambda x: made(2 * x, x), x)
    residual = np.cos(2 * x) * x
    np.testing.assert_allclose(slope(lambda y: pullback(y * y)[0])(x), 2 * x * residual)
    np.testing.assert_allclose(slope(lambda y: y * pullback(x)[0])(x), x * residual)
    np.testing.assert_allclose(slope(slope(lambda y: pullback(y**3)[0]))(x), 6 * x * residual)
    np.testing.assert_allclose(wg.vjp(lambda y: pullback(y)[0], x)[1](x)[0], x * residual)
    tape = wg.gradtape(lambda y: np.sum(pullback(y * y)[0]), x)
    np.testing.assert_allclose(tape.play(x + 1)[1][1], 2 * (x + 1) * residual)
    checkpointed = wg.checkpoint(lambda y: pullback(y * y)[0])
    np.testing.assert_allclose(slope(checkpointed)(x), 2 * x * residual)


def test_called_in_its_own_trace(x: Any) -> None:
    def f(x: Any) -> Any:
        return made(2 * x, x)(x)[0]

    expected = 2 * x * np.cos(2 * x) - 2 * x * x * np.sin(2 * x)
    np.testing.assert_allclose(slope(f)(x), expected)
    np.testing.assert_allclose(wg.gradtape(lambda x: np.sum(f(x)), x).play(x)[1][1], expected)


def test_called_where_an_inner_trace_is_over(x: Any) -> None:
    """z depends on the inner variable u = x, a constant after the inner trace; w on the outer one, which goes on."""

    def f(x: Any) -> Any:
        pullback = leaked(lambda g, u: wg.grad(g)(u), lambda u: made(2 * u, u * x), x)
        return pullback(x)[0]

    expected = 3 * x * x * np.cos(2 * x) - 2 * x**3 * np.sin(2 * x)  # u is a function of x too
    np.testing.assert_allclose(slope(f)(x), expected)
    np.testing.assert_allclose(wg.vjp(f, x)[1](np.ones_like(x) if np.ndim(x) else 1.0)[0], expected)


def test_called_in_a_deeper_trace(x: Any) -> None:
    def f(x: Any) -> Any:
        pullback = made(2 * x, x)
        return slope(lambda y: pullback(y * y)[0])(x)  # 2x · cos(2x) x

    np.testing.assert_allclose(slope(f)(x), 4 * x * np.cos(2 * x) - 4 * x * x * np.sin(2 * x))


def test_called_inside_the_pullback_of_a_rule(x: Any) -> None:
    def f(x: Any) -> Any:
        pullback = made(2 * x, x)

        def g(y: Any) -> Any:
            return y * 1.0

        @wg.rrule(g)
        def g_rule(y: Any) -> Any:
            return y * 1.0, lambda y_bar: (pullback(y_bar * y)[0],)

        return slope(lambda y: g(y) ** 2)(x)  # ȳ = 2y: 2x² cos(2x) x

    expected = 6 * x * x * np.cos(2 * x) - 4 * x**3 * np.sin(2 * x)
    np.testing.assert_allclose(f(x), 2 * x**3 * np.cos(2 * x))
    with wg.rules.scope():
        np.testing.assert_allclose(slope(f)(x), expected)


def test_called_in_a_checkpoint_that_began_later(x: Any) -> None:
    def f(x: Any) -> Any:
        pullback = made(2 * x, x)
        return wg.checkpoint(lambda y: pullback(y)[0])(x)

    np.testing.assert_allclose(slope(f)(x), 2 * x * np.cos(2 * x) - 2 * x * x * np.sin(2 * x))


def test_called_after_a_checkpoint_is_refused(x: Any) -> None:
    """The variables of a checkpoint that has returned are gone: its pullback's residuals are no constants."""

    def f(x: Any) -> Any:
        kept: list[Pullback] = []

        @wg.checkpoint
        def g(x: Any) -> Any:
            kept.append(made(2 * x, x))
            return x * 2

        return np.sum(g(x)) + np.sum(kept[0](x)[0])

    with pytest.raises(wg.RefusedCallError, match="has returned"):
        wg.grad(f)(x)


def test_what_it_reads_stays_as_it_was(run: Any) -> None:
    def make(x: Any) -> Any:
        a = x * 2
        pullback = wg.vjp(np.sin, a)[1]
        a[...] = 0
        return pullback

    x = X["array"]
    np.testing.assert_allclose(leaked(run, make, x)(x)[0], x * np.cos(2 * x))


def scaled_sum(scale: Any, items: Any) -> Any:
    return scale * (items[0] + 2 * items[1])


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_sequence_of_constants_beside_a_variable(kind: Any) -> None:
    @wg.vjp_rule(scaled_sum, sequence=1)
    def rule(y_bar: Any, y: Any, scale: Any, *items: Any) -> Any:
        return y_bar * (items[0] + 2 * items[1]), y_bar * scale, y_bar * 2 * scale

    assert wg.grad(lambda x: scaled_sum(x, kind([3.0, 4.0])))(0.5) == 11.0
    assert wg.grad(lambda x: scaled_sum(0.5, kind([x, 4.0])))(3.0) == 0.5
