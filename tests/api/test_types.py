"""What type checkers infer of `wg.` names: `python -m mypy` reads this file too, and an unused `ignore` is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

import wengert as wg

Vector = NDArray[np.float64]
X: Vector = np.array([1.0, 2.0])


def square(x: float, n: int = 2) -> float:
    return x**n


def total(x: Vector, scale: float) -> np.float64:
    return np.float64(scale * np.sum(x**2))


def paired(x: float) -> tuple[float, str]:
    return x * x, "aux"


def test_a_gradient_is_like_the_argument() -> None:
    assert assert_type(wg.grad(square)(2.0), float) == 4.0
    assert assert_type(wg.grad(square)(2.0, n=3), float) == 12.0
    assert assert_type(wg.grad(wg.grad(square))(2.0), float) == 2.0
    assert wg.grad(total)(X, 2.0).shape == (2,)
    assert wg.grad(lambda x: x**2)(2.0) == 4.0
    assert assert_type(wg.grad(square, argnums=(0,))(2.0), tuple[Any, ...]) == (4.0,)
    assert assert_type(wg.grad(paired, has_aux=True)(2.0), tuple[Any, str]) == (4.0, "aux")
    assert assert_type(wg.grad(square, 2.0), tuple[float, wg.Gradients]) == (4.0, (None, 4.0))


def test_what_comes_with_it_is_typed_too() -> None:
    assert assert_type(wg.value_and_grad(square)(2.0), tuple[float, float]) == (4.0, 4.0)
    assert assert_type(wg.value_and_grad(square, argnums=("x",))(2.0), tuple[float, tuple[Any, ...]]) == (4.0, (4.0,))
    assert assert_type(wg.value_and_jacobian(square)(2.0), tuple[float, Any]) == (4.0, 4.0)
    assert assert_type(wg.jvp(square, (2.0,), (1.0,)), tuple[float, float]) == (4.0, 4.0)
    assert assert_type(wg.jvp(paired, (2.0,), (1.0,), has_aux=True), tuple[float, float, str]) == (4.0, 4.0, "aux")
    assert assert_type(wg.derivative(square, order=2)(2.0), float) == 2.0
    y, pullback = wg.vjp(square, 2.0)
    assert_type(y, float)
    assert_type(pullback, Callable[[Any], tuple[Any, ...]])
    y, push = wg.linearize(square, 2.0)
    assert assert_type(push(1.0), float) == pullback(1.0)[0] == 4.0
    assert assert_type(wg.stop_gradient(2.0), float) == 2.0
    assert assert_type(wg.checkpoint_loop(lambda x, i: x + i, 0.0, 3), float) == 3.0
    vector, unravel = wg.ravel({"a": 1.0})
    assert assert_type(unravel(vector), dict[str, float]) == {"a": 1.0}


def test_what_is_compiled_keeps_its_type_and_tells_of_itself() -> None:
    compiled = wg.compile(wg.grad(square))
    assert assert_type(compiled(2.0), float) == 4.0
    assert assert_type(wg.compile(wg.value_and_grad(square))(2.0), tuple[float, float]) == (4.0, 4.0)
    assert assert_type(wg.compile(square)(2.0), float) == 4.0
    assert assert_type(wg.compile(wg.jacobian(square))(2.0), Any) == 4.0
    assert "1 trace" in assert_type(compiled.explain(), str)
    assert compiled(x=3.0, n=2) == 6.0


def test_decorators_and_methods_keep_parameters() -> None:
    @wg.value_and_grad(argnums=1)
    def product(x: float, y: float) -> float:
        return x * y

    class Spring:
        def __init__(self) -> None:
            self.stiffness = 3.0
            self.force = wg.grad(self.energy)

        def energy(self, x: float) -> float:
            return 0.5 * self.stiffness * x * x

        @wg.grad
        def slopes(self, x: float) -> float:
            return 0.5 * self.stiffness * x * x

        @staticmethod
        @wg.grad
        def slope(x: float) -> float:
            return x * x

        @wg.compile
        def doubled(self, x: float) -> float:
            return 2 * x

    assert assert_type(product(2.0, 3.0), tuple[float, Any]) == (6.0, 2.0)
    assert assert_type(Spring().force(2.0), float) == 6.0
    assert assert_type(Spring().doubled(2.0), float) == 4.0
    assert assert_type(Spring().slopes(2.0), Any).stiffness == 2.0
    assert Spring().slope(2.0) == 4.0
    assert assert_type(wg.grad(square).__name__, str) == "square"


def test_what_is_stated_below_a_function_is_typed() -> None:
    @wg.custom_derivative
    def whole(x: float) -> float:
        return float(np.floor(x))

    @whole.vjp_rule
    def _(y_bar: float, y: float, x: float) -> float:
        return 10 * y_bar

    def rounded(x: float) -> float:
        return round(x, 1)

    @wg.rrule(rounded)
    def rule(x: float) -> tuple[float, Callable[[float], float]]:
        return rounded(x), lambda y_bar: y_bar

    @wg.non_differentiable
    def scale(x: float) -> float:
        return abs(x)

    @wg.implicit(lambda x, a: x * x - a)
    def root(a: float) -> float:
        return a**0.5

    assert assert_type(whole(2.5), float) == 2.0
    assert assert_type(wg.grad(whole)(2.5), float) == 10.0
    assert assert_type(rule(0.21)[0], float) == assert_type(wg.rrule(rounded, 0.21)[0], float) == 0.2
    assert assert_type(scale(-2.0), float) == 2.0
    assert assert_type(root(4.0), float) == 2.0
    assert assert_type(wg.implicit(lambda x: x * x - 4.0, 2.0), float) == 2.0
    assert assert_type(wg.hvp(square, 2.0, 1.0), float) == 2.0
    assert assert_type(wg.trace(square, 2.0)[0], float) == 4.0
    assert assert_type(wg.sparse_jacobian(lambda x: x).passes, int | None) is None


def test_a_wrong_call_is_told_before_it_runs() -> None:
    with pytest.raises(TypeError):
        wg.grad(square, argnum=0)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        wg.value_and_grad(square, argnums=(0,))("2.0")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        wg.jit  # type: ignore[attr-defined]  # noqa: B018
