"""Derivatives that are stated for whole functions: they are used, and are right by differences at any order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg

X = np.array([0.5, -1.2, 2.0])


@pytest.fixture(autouse=True)
def _scope() -> Iterator[None]:
    with wg.rules.scope():
        yield


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def by_pullback() -> Any:
    @wg.custom_derivative
    def softplus(x: Any) -> Any:
        return np.log1p(np.exp(x))

    @softplus.vjp_rule  # type: ignore[attr-defined]
    def _(y_bar: Any, y: Any, x: Any) -> Any:
        return y_bar * logistic(x)

    return softplus


def by_pushforward() -> Any:
    @wg.custom_derivative
    def softplus(x: Any) -> Any:
        return np.log1p(np.exp(x))

    @softplus.jvp_rule  # type: ignore[attr-defined]
    def _(dots: Any, y: Any, x: Any) -> Any:
        return dots[0] * logistic(x)

    return softplus


def by_both() -> Any:
    softplus = by_pushforward()

    @softplus.vjp_rule
    def _(y_bar: Any, y: Any, x: Any) -> Any:
        return y_bar * logistic(x)

    return softplus


def by_slope() -> Any:
    def softplus(x: Any) -> Any:
        return np.log1p(np.exp(x))

    return wg.scalar_rule(softplus, logistic)


def by_jacobian() -> Any:
    def softplus(x: Any) -> Any:
        return np.log1p(np.exp(x))

    @wg.jacobian_rule(softplus)
    def _(y: Any, x: Any) -> Any:
        return np.diag(logistic(x)) if np.ndim(x) else logistic(x)

    return softplus


FORMS = {
    "pullback": by_pullback,
    "pushforward": by_pushforward,
    "both": by_both,
    "slope": by_slope,
    "jacobian": by_jacobian,
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_derivatives_of_any_order(form: str) -> None:
    f = FORMS[form]()
    s = logistic(X)
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(f(x) * x[0]))(X), s * X[0] + [np.sum(f(X)), 0, 0], rtol=1e-13)
    np.testing.assert_allclose(wg.jacobian(f)(X), np.diag(s), rtol=1e-13)
    np.testing.assert_allclose(wg.hessian(lambda x: np.sum(f(x)))(X), np.diag(s * (1 - s)), rtol=1e-12)
    third = wg.grad(wg.grad(wg.grad(f)))(0.3)
    s3 = logistic(0.3)
    assert third == pytest.approx(s3 * (1 - s3) * (1 - 2 * s3), rel=1e-12)
    wg.test_rrule(f, X)
    wg.test_rrule(f, 0.7)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_in_loops_of_floats_and_arrays(form: str) -> None:
    """More often than it takes for a call to get a step of its own."""
    f = FORMS[form]()

    def chain(x: Any) -> Any:
        for _ in range(150):
            x = f(x) - 0.5
        return np.sum(x)

    def plain(x: Any) -> Any:
        for _ in range(150):
            x = np.log1p(np.exp(x)) - 0.5
        return np.sum(x)

    np.testing.assert_allclose(wg.grad(chain)(0.3), wg.grad(plain)(0.3), rtol=1e-12)
    np.testing.assert_allclose(wg.grad(chain)(X), wg.grad(plain)(X), rtol=1e-12)


def test_what_is_stated_is_what_is_used() -> None:
    for form in FORMS.values():
        wrong = form()
        wg.rules.remove(wrong)
    f = by_pullback()

    @f.vjp_rule
    def _(y_bar: Any, y: Any, x: Any) -> Any:
        return 7.0 * y_bar

    assert wg.grad(f)(0.3) == 7.0
    g = by_pushforward()

    @g.jvp_rule
    def _(dots: Any, y: Any, x: Any) -> Any:
        return 5.0 * dots[0]

    assert wg.grad(g)(0.3) == 5.0

    def h(x: Any) -> Any:
        return x * x

    assert wg.grad(wg.scalar_rule(h, lambda x: 3.0))(1.0) == 3.0


class Pair(NamedTuple):
    a: Any
    b: Any


def plain_mix(x: Any, p: Any, *, power: int = 2) -> Any:
    return {"a": x**power * p["w"], "b": Pair(np.sum(x) * p["w"], 3)}


@pytest.mark.parametrize("way", ["pullback", "pushforward"])
def test_containers_as_arguments_and_results(way: str) -> None:
    @wg.custom_derivative
    def mix(x: Any, p: Any, *, power: int = 2) -> Any:
        return plain_mix(x, p, power=power)

    if way == "pullback":

        @mix.vjp_rule  # type: ignore[attr-defined]
        def _(y_bar: Any, y: Any, x: Any, p: Any, *, power: int = 2) -> Any:
            a, b = y_bar["a"], y_bar["b"].a
            x_bar = a * power * x ** (power - 1) * p["w"] + b * p["w"]
            return x_bar, {"w": np.sum(a * x**power) + b * np.sum(x)}

    else:

        @mix.jvp_rule  # type: ignore[attr-defined]
        def _(dots: Any, y: Any, x: Any, p: Any, *, power: int = 2) -> Any:
            x_dot, p_dot = dots
            a, b = 0.0 * x, 0.0
            if x_dot is not None:
                a, b = a + power * x ** (power - 1) * p["w"] * x_dot, b + np.sum(x_dot) * p["w"]
            if p_dot is not None:
                a, b = a + x**power * p_dot["w"], b + np.sum(x) * p_dot["w"]
            return {"a": a, "b": Pair(b, None)}

    def loss(f: Any) -> Any:
        def of(x: Any, w: Any) -> Any:
            y = f(x, {"w": w, "n": 3}, power=3)
            return np.sum(y["a"] ** 2) * y["b"].a

        return of

    for argnums in [(0, 1), (0,), (1,)]:
        found, expected = (wg.grad(loss(f), argnums=argnums)(X, 3.0) for f in (mix, plain_mix))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    found, expected = (wg.hessian(loss(f), argnums=(0, 1), as_matrix=True)(X, 3.0) for f in (mix, plain_mix))
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("way", ["pullback", "pushforward"])
def test_complex_numbers(way: str) -> None:
    @wg.custom_derivative
    def f(z: Any) -> Any:
        return np.conj(z) * np.exp(2j * z)

    if way == "pullback":

        @f.vjp_rule  # type: ignore[attr-defined]
        def _(y_bar: Any, y: Any, z: Any) -> Any:
            return np.conj(y_bar) * np.exp(2j * z) + y_bar * np.conj(np.conj(z) * 2j * np.exp(2j * z))

    else:

        @f.jvp_rule  # type: ignore[attr-defined]
        def _(dots: Any, y: Any, z: Any) -> Any:
            return np.conj(dots[0]) * np.exp(2j * z) + np.conj(z) * 2j * np.exp(2j * z) * dots[0]

    z = np.array([0.3 + 0.2j, -0.1 + 0.5j])
    wg.test_rrule(f, z)
    (expected,) = wg.ngradient(lambda z: np.sum(np.abs(f(z)) ** 2 * np.real(z)), z)
    np.testing.assert_allclose(wg.grad(lambda z: np.sum(np.abs(f(z)) ** 2 * np.real(z)))(z), expected, rtol=1e-8)


def test_defaults_names_and_methods() -> None:
    class Spring:
        def __init__(self, stiffness: float) -> None:
            self.stiffness = stiffness

        @wg.custom_derivative
        def energy(self, x: Any, scale: Any = 2.0) -> Any:
            return scale * self.stiffness * x * x

        @energy.vjp_rule  # type: ignore[attr-defined]
        def _(y_bar: Any, y: Any, self: Any, x: Any, scale: Any) -> Any:
            return None, y_bar * 2 * scale * self.stiffness * x, y_bar * self.stiffness * x * x

    spring = Spring(3.0)
    assert wg.grad(spring.energy)(2.0) == 24.0
    assert wg.grad(lambda x: spring.energy(scale=5.0, x=x))(2.0) == 60.0
    assert wg.grad(lambda s: spring.energy(2.0, s))(2.0) == 12.0


def test_a_function_without_anything_stated_is_differentiated_as_any_other() -> None:
    f = wg.custom_derivative(lambda x: x**3)
    assert wg.grad(f)(2.0) == 12.0


def test_a_rule_that_cannot_be_traced_says_so_at_second_order() -> None:
    @wg.custom_derivative
    def f(x: Any) -> Any:
        return np.sum(x * x)

    @f.vjp_rule  # type: ignore[attr-defined]
    def _(y_bar: Any, y: Any, x: Any) -> Any:
        return y_bar * 2 * np.array([float(text) for text in ",".join(map(repr, x.tolist())).split(",")])

    np.testing.assert_allclose(wg.grad(f)(X), 2 * X)
    with pytest.raises((wg.NoRuleError, wg.RefusedCallError), match="float"):
        wg.hessian(f)(X)


def test_what_cannot_have_it_is_refused() -> None:
    with pytest.raises(wg.ArgumentError, match="written in Python"):
        wg.custom_derivative(np.sin)
    with pytest.raises(wg.RuleError, match="needs a derivative"):
        wg.scalar_rule(math.erf)
    with pytest.raises(wg.DuplicateRuleError):
        wg.scalar_rule(math.sin, math.cos)


# what a course project has: blocks that state their Jacobians


def test_several_inputs_of_several_lengths() -> None:
    def scaled(x: Any, v: Any, n: int) -> Any:
        return x * v[:2] * n

    @wg.jacobian_rule(scaled)
    def _(y: Any, x: Any, v: Any, n: int) -> Any:
        return n * v[:2], n * x * np.eye(2, len(v)), None

    of_x, of_v = wg.jacobian(scaled, argnums=(0, 1), as_matrix=True)(2.0, X, 3)
    np.testing.assert_array_equal(of_x, 3 * X[:2, None])
    np.testing.assert_array_equal(of_v, 6 * np.eye(2, 3))
    wg.test_rrule(scaled, 2.0, X, 3)


def test_jacobians_as_arrays_and_as_matrices() -> None:
    a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for as_matrix in (False, True):

        def product(a: Any, x: Any) -> Any:
            return a @ x

        @wg.jacobian_rule(product)
        def _(y: Any, a: Any, x: Any, as_matrix: bool = as_matrix) -> Any:
            blocks = np.einsum("ik,j->ikj", np.eye(len(y)), x)
            return (blocks.reshape(len(y), -1) if as_matrix else blocks), a

        wg.test_rrule(product, a, X[:2])
        wg.rules.remove(product)


def test_jacobians_of_other_shapes_are_refused() -> None:
    def doubled(x: Any) -> Any:
        return 2 * x

    @wg.jacobian_rule(doubled)
    def _(y: Any, x: Any) -> Any:
        return 2 * np.eye(2)

    with pytest.raises(wg.RuleError, match=r"of shape \(2, 2\) for argument 1.*\(3, 3\)"):
        wg.grad(lambda x: np.sum(doubled(x)))(X)


def test_a_slope_costs_no_matrix() -> None:
    def cube(x: Any) -> Any:
        return x**3

    wg.scalar_rule(cube, lambda x: 3 * x**2)
    x = np.linspace(0.0, 1.0, 10**6)  # a diagonal matrix would take 8 TB
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(cube(x)))(x), 3 * x**2)


def test_slopes_of_several_arguments_and_static_ones() -> None:
    def power(a: Any, b: Any, *, scale: float = 1.0) -> Any:
        return scale * a**b

    wg.scalar_rule(
        power,
        lambda a, b, *, scale=1.0: scale * b * a ** (b - 1),
        lambda a, b, *, scale=1.0: scale * a**b * np.log(a),
    )
    a, b = np.array([[1.5], [2.0]]), np.array([2.0, 3.0])
    wg.test_rrule(power, a, b, scale=2.0)
    assert wg.grad(lambda b: power(3.0, scale=2.0, b=b))(2.0) == pytest.approx(2 * 9 * math.log(3))


def test_a_pushforward_is_what_forward_mode_uses() -> None:
    calls: list[str] = []

    @wg.custom_derivative
    def f(x: Any, p: Any, scale: Any = 2.0) -> Any:
        return {"y": scale * x * p["w"] + p["b"]}

    @f.jvp_rule  # type: ignore[attr-defined]
    def _(dots: Any, y: Any, x: Any, p: Any, scale: Any) -> Any:
        calls.append("forward")
        x_dot, p_dot, _ = dots
        total = 0.0 if p_dot is None else scale * x * p_dot["w"] + p_dot["b"]
        return {"y": total if x_dot is None else total + scale * x_dot * p["w"]}

    @f.vjp_rule  # type: ignore[attr-defined]
    def _(y_bar: Any, y: Any, x: Any, p: Any, scale: Any) -> Any:
        calls.append("backward")
        bar = y_bar["y"]
        return scale * bar * p["w"], {"w": scale * np.sum(bar * x), "b": np.sum(bar)}, None

    p = {"w": 3.0, "b": 1.0, "n": 2}
    _, y_dot = wg.jvp(lambda x: f(x, p)["y"] ** 2, (X,), (np.ones(3),))
    np.testing.assert_allclose(y_dot, 2 * (6 * X + 1) * 6)
    _, y_dot = wg.jvp(lambda w: f(X, {"w": w, "b": 1.0})["y"], (3.0,), (1.0,))
    np.testing.assert_allclose(y_dot, 2 * X)
    found = wg.jacfwd(lambda x, p: f(x, p)["y"], argnums=(0, 1))(X, p)
    np.testing.assert_allclose(found[0], 6 * np.eye(3))
    np.testing.assert_allclose(found[1]["w"], 2 * X)
    np.testing.assert_allclose(found[1]["b"], np.ones(3))
    _, push = wg.linearize(lambda x: f(x, p)["y"], X)
    np.testing.assert_allclose(push(X), 6 * X)
    assert set(calls) == {"forward"}
    np.testing.assert_allclose(wg.jacrev(lambda x: f(x, p)["y"])(X), 6 * np.eye(3))
    assert "backward" in calls
    assert wg.check_grads(lambda x, w: f(x, {"w": w, "b": w})["y"], order=2, modes=("rev", "fwd"))(X, 0.7) < 1e-6


@pytest.mark.parametrize("form", FORMS)
def test_each_form_in_both_modes(form: str) -> None:
    assert wg.check_grads(FORMS[form](), order=2, modes=("rev", "fwd"))(X) < 1e-6
    assert wg.check_grads(FORMS[form](), order=2, modes=("rev", "fwd"))(0.3) < 1e-6
