"""Derivatives inside of a function whose tangents go along while it runs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([0.3, -0.5, 0.8])


def halved_square(x: Any) -> Any:
    return x * x * 0.5


def test_rules_after_the_transpose_of_a_pullback() -> None:
    """Finding that runs rules of NumPy's functions traced; their arithmetic was then recorded amid another call."""
    with wg.rules.scope():
        wg.vjp_rule(halved_square)(lambda y_bar, y, x: y_bar * x)

        def f(x: Any) -> Any:
            y = halved_square(x)
            for _ in range(2):
                y = np.sort(y + x)
            return y

        x = np.sort(X)
        np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], x * x + 2 * x, rtol=1e-14)


def test_a_pullback_made_before() -> None:
    _, back = wg.vjp(np.prod, X)

    def f(x: Any) -> Any:
        return np.prod(x) * back(np.prod(x))[0]

    others = np.prod(X) / X
    np.testing.assert_allclose(wg.jvp(f, (X,), (X,))[1], 6 * np.prod(X) ** 2 * others, rtol=1e-14)


def test_a_constant_that_an_inner_derivative_keeps_and_writes() -> None:
    """The copy of it that was kept is no variable, and could not be forgotten as one."""

    def inner(p: Any) -> Any:
        for _ in range(2):
            c = np.zeros(3)
            c *= p
        return p * p

    def f(x: Any) -> Any:
        slope = wg.grad(inner)(x)
        return slope * np.sum(x * x)

    np.testing.assert_allclose(wg.jvp(f, (0.4,), (1.0,)), (2 * 0.4**3, 6 * 0.4**2), rtol=1e-14)


LARGE = np.sin(np.arange(600.0))  # the recording holds arrays of this size weakly
ALONG = np.cos(np.arange(600.0))


def act(x: Any) -> Any:
    return np.sin(x) * x


def use_two_gradients(x: Any) -> Any:
    g = wg.grad(lambda z: np.sum(np.sin(z) * x * z))(x)
    return wg.grad(lambda z: np.sum(np.exp(0.1 * z) * g * z))(x) * g + x


def go_on_after_a_gradient(x: Any) -> Any:
    g = wg.grad(lambda z: np.sum(z * z * z * x))(x)
    y = g * 2.0
    for _ in range(20):
        y = np.sin(y) * 0.9 + g
    return y


def use_a_value_of_the_inner_run(x: Any) -> Any:
    seen: list[Any] = []

    def loss(z: Any) -> Any:
        seen.append(np.sin(z) * x)
        return np.sum(seen[0] * z)

    return wg.grad(loss)(x) + seen[0] * x


def write_the_inner_gradient(x: Any) -> Any:
    g = wg.grad(lambda z: np.sum(np.sin(z) * z * x))(x)
    g[::2] *= x[::2]
    return g * wg.grad(lambda z: np.sum(z * z * g))(x)


def write_in_the_inner_run(x: Any) -> Any:
    def loss(z: Any) -> Any:
        b = np.zeros(600)
        b[:] = z * x
        b[1:] *= z[:-1]
        return np.sum(b * b)

    return wg.grad(loss)(x) * x


def push_inside_of_a_gradient(x: Any) -> Any:
    return wg.grad(lambda z: np.sum(wg.jvp(lambda w: act(w) * x, (z,), (ALONG,))[1] * z))(x)


def keep_a_pullback(x: Any) -> Any:
    y, pull = wg.vjp(lambda z: act(z) * x, x)
    first = pull(ALONG)[0]
    return pull(np.sin(first) * y)[0] + first


def have_a_rule_whose_body_is_seen(x: Any) -> Any:
    seen: list[Any] = []

    def rule(z: Any) -> Any:
        seen.append(np.sin(z) * z)
        return seen[-1], lambda y_bar: wg.grad(lambda w: np.sum(np.sin(w) * w * y_bar))(z)

    with wg.rules.scope():
        wg.rrule(act)(rule)
        return wg.grad(lambda z: np.sum(act(z) * act(z * x)))(x) + sum(seen) * x


def raise_in_the_inner_run(x: Any) -> Any:
    def fail(z: Any) -> Any:
        raise KeyError(len(z * x))

    try:
        wg.grad(fail)(x)
    except KeyError:
        return wg.grad(lambda z: np.sum(act(z) * x))(x) * x


@pytest.mark.parametrize(
    "f",
    [
        use_two_gradients, go_on_after_a_gradient, use_a_value_of_the_inner_run, write_the_inner_gradient,
        write_in_the_inner_run, push_inside_of_a_gradient, keep_a_pullback, have_a_rule_whose_body_is_seen,
        raise_in_the_inner_run,
    ],
)  # fmt: skip
def test_large_arrays_in_inner_derivatives(f: Callable[[Any], Any]) -> None:
    """What the pass of an inner derivative makes is dropped at once, and what it may read is not."""
    differences = (f(LARGE + 1e-5 * ALONG) - f(LARGE - 1e-5 * ALONG)) / 2e-5
    np.testing.assert_allclose(wg.jvp(f, (LARGE,), (ALONG,))[1], differences, rtol=1e-5, atol=1e-6)
    several = wg.jacfwd(lambda t: f(LARGE + t[0] * ALONG + t[1] * LARGE))(np.zeros(2))
    np.testing.assert_allclose(several[:, 0], differences, rtol=1e-5, atol=1e-6)


def test_the_memory_of_a_product_with_the_hessian() -> None:
    """Each of the 20 steps keeps one array that its pullback reads, and the tangent of that."""

    def f(x: Any) -> Any:
        for _ in range(20):
            x = x * 0.99 + np.sin(x) * 0.01
        return np.sum(x * x)

    x = np.linspace(-1, 1, 20_000)
    wg.hvp(f, x[:2], x[:2])
    peaks = []
    for _ in range(3):  # other threads may allocate meanwhile
        tracemalloc.start()
        try:
            wg.hvp(f, x, x)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert min(peaks) < 60 * x.nbytes
