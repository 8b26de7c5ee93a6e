"""Functions that numba compiled are followed through the Python function that they were made of."""

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Dispatcher:
    """As numba's: it computes in C, and keeps what it was made of."""

    __call__ = math.sin

    def __init__(self, py_func: Any) -> None:
        self.py_func = py_func


class DUFunc:
    """As numba's ufuncs: the loop over elements is compiled."""

    __call__ = np.sin
    nin = nout = 1

    def __init__(self, py_func: Any) -> None:
        self._dispatcher = Dispatcher(py_func)


Dispatcher.__module__ = "numba.core.registry"
DUFunc.__module__ = "numba.np.ufunc.dufunc"


def sine(x: Any) -> Any:
    return math.sin(x)


compiled, compiled_ufunc = Dispatcher(sine), DUFunc(sine)


def test_the_python_function_runs_where_a_traced_value_reaches_the_compiled_one() -> None:
    assert wg.value_and_grad(lambda x: compiled(x) * x)(0.3) == pytest.approx(
        (math.sin(0.3) * 0.3, math.cos(0.3) * 0.3 + math.sin(0.3)), rel=1e-15
    )


def test_the_compiled_function_runs_where_none_does_and_its_code_stays() -> None:
    asked = Dispatcher(lambda x: 1 / 0)
    code = sine.__code__
    assert wg.grad(lambda x: x * asked(0.3) + 0 * compiled(x))(2.0) == pytest.approx(math.sin(0.3), rel=1e-15)
    assert sine.__code__ is code


def test_while_a_trace_lasts_the_function_keeps_its_code_which_the_compiler_may_read() -> None:
    seen = []

    def f(x: float) -> float:
        y = compiled(x)
        seen.append(object.__getattribute__(sine, "__code__").co_code == before)
        return y

    before = sine.__code__.co_code
    wg.grad(f)(0.3)
    assert seen == [True]


def test_a_compiled_ufunc_is_followed_element_by_element() -> None:
    x = np.array([[0.3], [1.2]])
    for f in (lambda x: np.sum(compiled_ufunc(x)), lambda x: compiled_ufunc(x[0, 0]) + compiled_ufunc(x[1, 0])):
        assert wg.grad(f)(x) == pytest.approx(np.cos(x), rel=1e-15)


def test_numba_itself() -> None:
    numba = pytest.importorskip("numba")
    inner = numba.njit(lambda x, y: math.sin(x) * y)

    @numba.njit(fastmath=True, parallel=True)
    def loop(x: np.ndarray) -> float:
        total = 0.0
        for i in numba.prange(x.shape[0]):
            if x[i] > 0.6:
                total += inner(x[i], 2.0)
        return total

    x = np.array([0.5, 1.2, 0.7])
    assert wg.grad(loop)(x) == pytest.approx(np.where(x > 0.6, 2 * np.cos(x), 0), rel=1e-14)
    relu = numba.vectorize(lambda x, s: x if x > 0.6 else s * x)
    assert wg.grad(lambda x: np.sum(relu(x, 0.1)))(x) == pytest.approx([0.1, 1.0, 1.0], rel=1e-15)


def test_a_generalised_ufunc_is_not_taken_for_one_of_elements() -> None:
    gufunc = type("GUFunc", (DUFunc,), {"__module__": "numba.np.ufunc.gufunc"})(lambda x: 1 / 0)
    assert wg.grad(lambda x: np.sum(gufunc(x)))(np.ones(2)) == pytest.approx(np.cos(np.ones(2)))
