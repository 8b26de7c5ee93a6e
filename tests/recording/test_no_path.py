"""A result without a path to what was asked for says so, at the asking line, with the last line where it was traced."""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import wengert as wg

TABLE = np.arange(50.0)

CUTS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    # name: (y -> a float that does not depend on it, y)
    "int": (lambda y: int(y) * 1.5, 2.5),
    "int of a numpy number": (lambda y: int(y[0]) * 1.5, np.array([2.5])),
    "bool": (lambda y: bool(y) * 1.5, 2.5),
    "truth": (lambda y: 1.5 if y else 2.5, 2.5),
    "not": (lambda y: (not y) + 1.5, 2.5),
    "and": (lambda y: (y and 1.5) or 2.0, 2.5),
    "round": (lambda y: round(y) * 1.5, 2.5),
    "floor": (lambda y: math.floor(y) * 1.5, 2.5),
    "ceil": (lambda y: math.ceil(y) * 1.5, 2.5),
    "trunc": (lambda y: math.trunc(y) * 1.5, 2.5),
    "np.floor": (lambda y: np.floor(y) * 1.5, 2.5),
    "np.rint": (lambda y: np.sum(np.rint(y)), np.array([2.5, -1.0])),
    "less": (lambda y: 1.5 if y < 3 else 2.5, 2.5),
    "equal": (lambda y: 1.5 * (y == 3), 2.5),
    "operator.gt": (lambda y: 1.5 * operator.gt(y, 3), 2.5),
    "array less": (lambda y: np.sum(y < 3) * 1.5, np.array([2.5, 4.0])),
    "where": (lambda y: np.sum(np.where(y > 3, 1.0, 2.0)), np.array([2.5, 4.0])),
    "index": (lambda y: TABLE[int(y)], 2.5),
    "array index": (lambda y: np.sum(TABLE[y.astype(int)]), np.array([2.5, 4.0])),
    "argmax": (lambda y: TABLE[np.argmax(y)], np.array([2.5, 4.0])),
    "argsort": (lambda y: np.sum(TABLE[np.argsort(y)]), np.array([2.5, 4.0])),
    "searchsorted": (lambda y: TABLE[np.searchsorted(TABLE, y)], 2.5),
    "nonzero": (lambda y: 1.5 * len(np.nonzero(y)[0]), np.array([2.5, 4.0])),
    "length": (lambda y: 1.5 * len(y), np.array([2.5, 4.0])),
    "shape": (lambda y: 1.5 * y.shape[0], np.array([2.5, 4.0])),
    "loop": (lambda y: sum([1.5 for _ in range(int(y))]), 2.5),
    "slice": (lambda y: np.sum(TABLE[: int(y)]), 2.5),
    "key": (lambda y: {2: 1.5}[int(y)], 2.5),
    "while": (lambda y: _halvings(y), 9.0),
    "text": (lambda y: 1.5 * len(f"{y}"), 2.5),
    "isnan": (lambda y: 1.5 * math.isnan(y), 2.5),
    "np.isfinite": (lambda y: np.sum(np.isfinite(y)) * 1.5, np.array([2.5])),
    "is_integer": (lambda y: 1.5 * y.is_integer(), 2.5),
    "floordiv": (lambda y: y // 2.0 * 1.5, 2.5),
    "written": (lambda y: _written(y), 2.5),
    "a constant": (lambda y: 3.0, 2.5),
    "a constant array": (lambda y: np.sum(np.ones_like(y)), np.array([2.5])),
    "zeros of its shape": (lambda y: np.zeros(y.shape).sum(), np.array([2.5])),
}


def _halvings(y: Any) -> float:
    n = 0.0
    while y > 1.0:
        y, n = y / 2.0, n + 1.0
    return n


def _written(y: Any) -> Any:
    a = np.zeros(2)
    a[0] = int(y)
    return np.sum(a)


def _zero(gradient: Any) -> bool:
    return not np.any(gradient)


ASKING: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: wg.grad(f)(x),
    "at once": lambda f, x: wg.grad(f, x)[1][1],
    "value_and_grad": lambda f, x: wg.value_and_grad(f)(x)[1],
    "vjp": lambda f, x: wg.vjp(f, x)[1](1.0)[0],
    "nested": lambda f, x: wg.value_and_grad(lambda z: z * np.sum(wg.grad(f)(x)))(1.0)[1],
    "inside": lambda f, x: wg.grad(lambda z: np.sum(wg.grad(lambda y: f(y) * z)(x)))(1.0),
    "tape": lambda f, x: wg.gradtape(f, x) and 0.0,
}


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize("cut", CUTS)
def test_a_lost_path_is_told(cut: str, asking: str) -> None:
    """Of the argument itself, and of what was computed from it: then with the line, and nothing is told twice."""
    f, x = CUTS[cut]
    with pytest.warns(wg.NoPathWarning, match="does not depend on") as told:
        assert _zero(ASKING[asking](f, x))
    assert len(told) == 1
    assert told[0].filename == __file__

    def later(x: Any) -> Any:
        y = x * 1.0
        return f(y)

    line = later.__code__.co_firstlineno + 1
    with pytest.warns(wg.NoPathWarning, match="It was last traced at .*test_no_path.py") as told:
        assert _zero(ASKING[asking](later, x))
    lines = [int(n) for n in re.findall(r"test_no_path\.py:(\d+)", str(told[0].message))]
    assert len(told) == 1
    assert line in lines or f.__code__.co_firstlineno in lines or cut in ("while", "written")


def step(x: Any, scale: float = 2.0) -> float:
    y = scale * 2.0
    if y > x:
        return y
    return 1.0


class Chosen:
    def __call__(self, x: Any) -> float:
        def inner() -> float:
            return 2.0 if x < 1.0 else 3.0

        return inner()


@pytest.mark.parametrize("mode", ["grad", "vjp"])
def test_a_comparison_of_the_argument_itself_is_told_with_its_line(mode: str) -> None:
    for f, places in ((step, (1, 2)), (Chosen().__call__, (2,))):
        first = f.__code__.co_firstlineno
        lines = " and ".join([str(first + k) for k in places])
        with pytest.warns(wg.NoPathWarning, match=rf"reads its arguments at lines? {lines}\."):
            ASKING[mode](f, 2.5)
    with pytest.warns(wg.NoPathWarning, match=r"test_no_path\.py:\d+\)\. int"):
        ASKING[mode](lambda x: 3.0, 2.5)


KEPT: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "stop_gradient": (lambda y: wg.stop_gradient(y) * 2.0, 2.5),
    "stop_gradient, then int": (lambda y: int(wg.stop_gradient(y)) * 2.0, 2.5),
    "declared": (lambda y: _declared(y) * 2.0, 2.5),
    "a path beside the cut": (lambda y: int(y) * y, 2.5),
    "a path of zero": (lambda y: 0.0 * y, 2.5),
    "a kink": (lambda y: np.sum(np.maximum(y, 10.0)), np.array([2.5])),
    "an extreme": (lambda y: max(y, 10.0), 2.5),
    "a quotient": (lambda y: divmod(y, 2.0)[0] * 1.5, 2.5),
    "a sign": (lambda y: np.sum(np.sign(y)), np.array([2.5, -1.0])),
    "a clip": (lambda y: np.sum(np.clip(y, 0.0, 1.0)), np.array([2.5])),
    "overwritten": (lambda y: _overwritten(y), 2.5),
    "the argument": (lambda y: y, 2.5),
}


@wg.non_differentiable
def _declared(y: Any) -> Any:
    return y * 3.0


def _overwritten(y: Any) -> Any:
    a = np.zeros(2)
    a[:] = y
    a[0] = 1.0
    return np.sum(a)


@pytest.mark.parametrize("asking", [name for name in ASKING if name != "nested"])
@pytest.mark.parametrize("kept", KEPT)
def test_what_was_asked_for_or_has_a_path_is_silent(kept: str, asking: str) -> None:
    f, x = KEPT[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ASKING[asking](f, x)


def test_one_path_is_enough_for_all() -> None:
    """Of several arguments asked for, a result depends on one: nothing is said of the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.grad(lambda x, y: y * int(x), argnums=(0, 1))(2.5, 3.0) == (0.0, 2.0)
        assert wg.grad(lambda x, y: y * int(x), 2.5, 3.0)[1] == (None, 0.0, 2.0)
        assert wg.vjp(lambda x, y: (int(x) * 1.0, y), 2.5, 3.0)[1]((1.0, 1.0)) == (0.0, 1.0)
        assert wg.grad(lambda p: p["a"])({"a": 1.0, "b": 2.0}) == {"a": 1.0, "b": 0.0}
    with pytest.warns(wg.NoPathWarning, match="does not depend on x, so"):
        assert wg.grad(lambda x, y: y * int(x), argnums=0)(2.5, 3.0) == 0.0
    with pytest.warns(wg.NoPathWarning, match="does not depend on x or y, so"):
        wg.grad(lambda x, y: 1.0, 2.5, 3.0)


def test_derivatives_of_linear_functions_are_constant() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.grad(wg.grad(lambda x: 3.0 * x))(1.0) == 0.0
        np.testing.assert_array_equal(wg.vjp(wg.grad(lambda x: np.sum(3.0 * x)), np.ones(2))[1](np.ones(2))[0], 0.0)


def test_a_check_compares_and_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.check_grads(lambda x: float(int(x)), 2.5) == 0.0
        assert wg.check_grads(lambda x: 3.0, np.ones(2)) == 0.0


def test_the_filter_decides_how_often_and_whether_it_is_an_error() -> None:
    gradient = wg.grad(lambda x: 3.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(1000):
            gradient(1.0)
    assert len(told) == 1
    assert issubclass(told[0].category, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.NoPathWarning)
        with pytest.raises(wg.NoPathWarning):
            gradient(1.0)
        assert wg.grad(lambda x: x * x)(3.0) == 6.0  # nothing is left open


def test_an_optimiser_is_told_once() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        scipy.optimize.minimize(wg.value_and_grad(lambda x: TABLE[int(x[0])]), np.ones(2), jac=True)
    assert [w.category for w in told] == [wg.NoPathWarning]


def test_nothing_to_differentiate_is_told_unless_it_was_allowed() -> None:
    with pytest.warns(wg.NoPathWarning):
        assert wg.grad(lambda name, n: 2.0 * n, "text", 3)[1] == (None, None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.grad(lambda x: 2.0 * x.sum(), allow_int=True)(np.arange(3)) is None
    with pytest.warns(wg.NoPathWarning):
        assert wg.grad(lambda x: float(int(x)), allow_int=True)(2.5) == 0.0
