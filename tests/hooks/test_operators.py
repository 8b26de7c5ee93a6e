"""Operators of objects, numbers and arrays mixed: their methods are asked as untraced, what C answers is recorded."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import wengert as wg


def nothing(*_: Any) -> Any:
    return NotImplemented


class Held:
    """An object that holds a value."""

    def __init__(self, v: Any) -> None:
        self.v = v


class ByUfunc(Held):
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **words: Any) -> Any:
        plain = [a.v if isinstance(a, ByUfunc) else a for a in args]
        words = {name: value for name, value in words.items() if name != "out"}
        return ByUfunc(2.0 * getattr(ufunc, method)(*plain, **words))


class Both(Held):
    def __add__(self, other: Any) -> Any:
        return 3.0 * self.v + 5.0 * other

    def __radd__(self, other: Any) -> Any:
        return 7.0 * self.v * other

    __divmod__, __rdivmod__ = __add__, __radd__


class First(Both):
    __array_priority__ = 10.0


class Alone(Both):
    __array_ufunc__ = None


class Cached:
    @functools.lru_cache  # noqa: B019
    def __add__(self, other: Any) -> Any:
        return other * other

    __radd__ = __iadd__ = __lt__ = __gt__ = __getitem__ = __round__ = __add__

    @functools.lru_cache  # noqa: B019
    def __set__(self, holder: Any, value: Any) -> None:
        holder.squared = value * value


class Holder:
    cached = Cached()


CACHED, HOLDER = Cached(), Holder()


def stored(x: Any, _: Any) -> Any:
    HOLDER.cached = x
    return HOLDER.squared


NUMBERS: list[Any] = [
    type("Number", (base,), {"__add__": nothing, "__radd__": nothing, "__divmod__": nothing, "__rdivmod__": nothing})(2)
    for base in (float, int, np.float64)
]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "radd": lambda x, other: other + x,
    "iadd": lambda x, other: operator.iadd(x * 1.0, other),
    "sum": lambda x, other: sum([x, other, x]),
    "divmod": lambda x, other: divmod(x, other)[1],
}
KINDS = (1.3, np.float64(1.3), np.array([1.3, 0.4]))


def total(value: Any) -> Any:
    value = value.v if isinstance(value, Held) else value
    return np.sum(value) if isinstance(value, np.ndarray) else value


def agrees(f: Callable[[Any], Any], x: Any) -> None:
    assert wg.value_and_grad(f)(x)[0] == f(x)
    np.testing.assert_allclose(wg.grad(f)(x), wg.ngradient(f, x)[0], rtol=1e-6)


@pytest.mark.parametrize("x", KINDS, ids=["float", "float64", "array"])
@pytest.mark.parametrize("number", NUMBERS, ids=["float", "int", "float64"])
@pytest.mark.parametrize("how", OPERATORS)
def test_what_c_answers_where_the_methods_of_a_number_do_not_is_recorded(how: str, number: Any, x: Any) -> None:
    agrees(lambda x: total(OPERATORS[how](x, number)), x)


@pytest.mark.parametrize("x", KINDS, ids=["float", "float64", "array"])
@pytest.mark.parametrize("cls", [Both, First, Alone, ByUfunc])
@pytest.mark.parametrize("how", ["add", "radd", "divmod"])
def test_methods_of_objects_are_asked_as_untraced(how: str, cls: type, x: Any) -> None:
    """Those that NumPy leaves an operator to, and those that it asks with Python's own number."""
    f = {**OPERATORS, "divmod": divmod}[how]
    for g in (lambda x: total(f(x, cls(x * x))), lambda x: total(f(x, cls(2.0)))):
        try:
            g(x)
        except TypeError:
            with pytest.raises(TypeError):
                wg.grad(g)(x)
            continue
        if isinstance(x, np.ndarray) and cls is Both and how != "radd":
            with pytest.raises(wg.RefusedCallError, match=r"NumPy would apply . to the items of Both"):
                wg.grad(g)(x)
        else:
            agrees(g, x)


def test_an_object_that_takes_ufuncs_over_takes_over_what_is_written_in_place() -> None:
    agrees(lambda x: total(operator.isub(x * 1.0, ByUfunc(x * x))), KINDS[2])
    with pytest.raises(TypeError, match="does not support ufuncs"):
        wg.grad(lambda x: total(operator.iadd(x * 1.0, Alone(x))))(KINDS[2])


@pytest.mark.parametrize("other", [np.float64(2.0), np.array([1.0, 2.0])], ids=["float64", "array"])
@pytest.mark.parametrize("reflected", [False, True])
def test_an_object_that_would_show_its_numbers_to_an_array_is_refused(reflected: bool, other: Any) -> None:
    class Shown(Held):
        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.asarray(self.v)

    def f(x: float) -> Any:
        return np.sum(other + Shown(x) if reflected else Shown(x) + other) + x

    assert f(1.0) == np.sum(other + 1.0) + 1.0
    with pytest.raises(wg.RefusedCallError, match=r"NumPy would apply . to the items of Shown"):
        wg.grad(f)(1.0)


def test_comparisons_that_give_values_are_right_or_refused() -> None:
    class Compared(Held):
        def __lt__(self, other: Any) -> Any:
            return self.v * other

        __gt__ = __lt__

    agrees(lambda x: (Compared(x) < x) * x, 1.3)
    agrees(lambda x: (x < Compared(x)) * x, 1.3)
    agrees(lambda x: (Compared(x) < x) * x, np.float64(1.3))
    with pytest.raises(wg.RefusedCallError, match="apply < to the items of Compared"):
        wg.grad(lambda x: (x < Compared(x)) * x)(np.float64(1.3))


@pytest.mark.parametrize("how", ["add", "radd", "iadd", "lt", "gt", "getitem", "round", "set"])
def test_a_cached_operator_has_a_cache_of_the_trace(how: str) -> None:
    """It knows the value again by equality, from the plain run before."""
    f = {
        **OPERATORS,
        "iadd": lambda x, c: operator.iadd(c, x),
        "lt": lambda x, c: c < x,
        "gt": lambda x, c: x > c,
        "getitem": lambda x, c: c[x],
        "round": lambda x, c: round(c, x),
        "set": stored,
    }[how]
    agrees(lambda x: f(x, CACHED), 1.3)
    assert type(vars(Cached)["__add__"]) is functools._lru_cache_wrapper


def test_fractions_compare_with_numbers_of_numpy() -> None:
    agrees(lambda x: x * (x > Fraction(1, 2)), np.float64(1.3))


@pytest.mark.parametrize("turn", [lambda a, b: a @ b, lambda a, b: b @ a])
def test_an_operator_that_no_number_has_raises_as_untraced(turn: Callable[[Any, Any], Any]) -> None:
    number = type("Number", (float,), {"__matmul__": nothing, "__rmatmul__": nothing})(2.0)
    with pytest.raises(TypeError, match="unsupported operand type"):
        wg.grad(lambda x: turn(x, number))(1.5)


class Leaving:
    """An object whose methods leave the operator to the other one's."""

    __mul__ = __iadd__ = __add__ = __divmod__ = __lt__ = __eq__ = nothing  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


MODEL: list[Any] = []
ASKED = {
    "mul": (operator.mul, "__rmul__"),
    "iadd": (operator.iadd, "__radd__"),
    "divmod": (divmod, "__rdivmod__"),
    "lt": (operator.lt, "__gt__"),
    "eq": (operator.eq, "__eq__"),
    "extended": (lambda _, other: operator.iadd([2.0], other)[-1], "__iter__"),
}


@pytest.mark.parametrize("how", ASKED)
def test_the_right_operand_made_before_the_trace_is_asked(how: str) -> None:
    f, method = ASKED[how]
    answer = (lambda self: iter(MODEL)) if method == "__iter__" else lambda self, other: MODEL[0]
    computed = (lambda self: iter([MODEL[0] * 3.0])) if method == "__iter__" else lambda self, other: MODEL[0] * 3.0
    for there in (answer, computed):
        other = type("Other", (), {method: there})()

        def g(x: float, other: Any = other) -> Any:
            MODEL[:] = [x]
            return f(Leaving(), other) * x

        agrees(g, 1.3)
