"""`wg.debug_callbacks()`: on Python 3.11, too, a function that runs unseen on a traced value is an error."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import EscapedFrameError

call: Any = ctypes.pythonapi["PyObject_CallOneArg"]
"""A C function that calls what it is given: declared constant below, as if it could not."""
call.restype = ctypes.py_object
call.argtypes = [ctypes.py_object, ctypes.py_object]


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    with wg.rules.scope():
        wg.non_differentiable(call)
        yield


def square(v: Any) -> Any:
    return v * v


def sum_of_items(v: Any) -> Any:
    return sum(v)


def swallowing(x: Any) -> Any:
    try:
        return x + call(square, x)
    except Exception:
        return x


ESCAPES: list[Callable[[Any], Any]] = [
    lambda x: x + call(square, x),
    lambda x: x + call(sum_of_items, [x, 2.0]),
    lambda x: wg.grad(lambda y: x * y + call(square, y))(2.0),
    swallowing,
]


def test_a_function_made_inside_is_seen_and_what_is_declared_constant_is() -> None:
    kept = []

    def f(x: Any) -> Any:
        constant = call(lambda v: kept.append(v * v) or v * v, x * 2)
        return x + constant + kept.pop()

    with wg.debug_callbacks():
        assert wg.value_and_grad(f)(1.5) == (1.5 + 9.0 + 9.0, 1 + 8 * 1.5)


@pytest.mark.parametrize("f", ESCAPES)
def test_escapes_are_errors_at_the_users_line(f: Any) -> None:
    for _ in range(2):
        with wg.debug_callbacks(), pytest.raises(EscapedFrameError, match=__file__):
            wg.grad(f)(1.3)


def test_other_functions_pass() -> None:
    class Point:
        def __init__(self, v: Any) -> None:
            self.v = v

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Point) and self.v == other.v

        __hash__ = None  # type: ignore[assignment]

    def f(x: Any) -> Any:
        ordered = sorted([x[0], -x[1]], key=lambda v: v * v)
        total = sum(map(square, ordered)) + np.sum(np.tanh(x)) + call(square, 3.0)
        return total * ([Point(x[0])].count(Point(x[0])) + 1)

    x = np.array([0.5, 1.5])
    with wg.debug_callbacks():
        found = wg.grad(f)(x)
        value, tape = wg.trace(f, x)
    np.testing.assert_allclose(found, wg.ngradient(f, x)[0], rtol=1e-8)
    assert value == f(x) == tape.play(x)


def test_it_ends_with_its_block() -> None:
    with pytest.raises(ZeroDivisionError), wg.debug_callbacks():
        wg.grad(lambda x: x / 0)(1.0)
    assert sys.getprofile() is None

    @wg.debug_callbacks()
    def gradient() -> Any:
        return wg.grad(lambda x: x + call(square, x))(1.3)

    with pytest.raises(EscapedFrameError):
        gradient()
    assert sys.getprofile() is None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="needs no profile function there")
def test_a_profiler_at_work_is_left_alone() -> None:
    def profiler(*args: Any) -> None:
        return None

    sys.setprofile(profiler)
    try:
        with pytest.raises(wg.WengertError, match="another profiler"), wg.debug_callbacks():
            pass
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
