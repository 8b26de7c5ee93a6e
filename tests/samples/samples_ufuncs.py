"""Samples of the functions of `math` and `cmath`, and of the methods of ufuncs."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator

import numpy as np
from sampling import Sample, call, values

from wengert.values.functional import sumprod
from wengert_rules.recurrences import products_of_others, share, sums_onward
from wengert_rules.special_functions import bessel_i, polygamma


def of_complex() -> Iterator[Sample]:
    functions = [
        cmath.exp, cmath.log, cmath.log10, cmath.sqrt, cmath.sin, cmath.cos, cmath.tan, cmath.asin, cmath.acos,
        cmath.atan, cmath.sinh, cmath.cosh, cmath.tanh, cmath.asinh, cmath.acosh, cmath.atanh, cmath.phase,
        cmath.polar,
    ]  # fmt: skip
    for f in functions:
        yield call(f, 0.6 - 0.8j)
        yield call(f, np.complex128(-0.6 + 0.3j))
        yield call(f, 0.4)
        if f is not cmath.atan:
            yield call(f, -1.7)  # beyond the interval on which the real function is defined
    yield call(cmath.log, 1.5 - 0.3j, 2.0)
    yield call(cmath.log, -1.5, 0.3 + 1j)
    yield call(cmath.rect, 1.3, -0.7)


def of_floats() -> Iterator[Sample]:
    for x in (0.3, 2.5, -0.6, -7.25, np.float64(11.5)):
        yield call(math.gamma, x)
        yield call(math.lgamma, x)
        for order in range(3):
            yield call(polygamma, x, order)
    for order in range(3):
        yield call(bessel_i, values(2, 3, low=-4, high=4), order)
        yield call(bessel_i, 0.0, order)
        yield call(bessel_i, values(3, dtype=complex), order)
    for x in (values(2, 3, low=-4, high=4), values(3, dtype=np.float32), 0.0, 0.7):
        yield call(np.sinc, x)
        yield call(np.i0, x)
    yield call(np.sinc, values(3, low=-0.4, high=3, dtype=complex))
    yield call(math.dist, values(3), values(3, low=-2, high=-1))
    if hasattr(math, "sumprod"):
        yield call(math.sumprod, values(3), values(3, low=-2, high=-1))
        yield call(sumprod, values(3), values(3, low=-2, high=-1))
        yield call(math.sumprod, [1 + 2j, 0.5 - 1j], [0.3j, 2 - 1j])
        yield call(math.sumprod, values(3, dtype=np.complex64), values(3))
        yield call(math.sumprod, values(3, dtype=complex), values(3, dtype=complex))
    if hasattr(math, "fma"):
        yield call(math.fma, 0.7, -1.3, 2.0)
    if hasattr(math, "fmax"):
        for f in (math.fmax, math.fmin):
            yield call(f, 0.7, -1.3)
            yield call(f, -1.3, 0.7)
    yield call(math.nextafter, 0.5, 1.0)


def parts() -> Iterator[Sample]:
    """Functions with a whole number among their results or arguments."""
    for f in (np.modf, np.frexp):
        yield call(f, values(2, 3, low=-3.9, high=-3.1))
        yield call(f, values(3, low=5.1, high=5.9, dtype=np.float32))
        yield call(f, 3.3)
        yield call(f, np.array(5.3))
        yield call(f, values(0, 2))
    for f in (math.modf, math.frexp):
        yield call(f, -3.3)
        yield call(f, np.float64(5.3))
    yield call(math.ldexp, -3.3, -2)
    yield call(np.ldexp, values(2, 3), np.array([1, -2, 0]))
    yield call(np.ldexp, values(3, dtype=np.float32), 4)
    yield call(np.ldexp, 1.5, np.arange(3))


def bounds() -> Iterator[Sample]:
    yield call(np._core.umath.clip, values(2, 3, low=-2, high=2), -0.9, values(3, low=1, high=1.1))


def arrays(low: float, is_complex: bool) -> list[np.ndarray]:
    made = [values(2, 4, low=low), values(4, low=low, dtype=np.float32), values(4, 6, low=low)[::2, ::2]]
    return [*made, values(2, 3, dtype=complex)] if is_complex else made


def products() -> Iterator[Sample]:
    for f in (np.prod, np.ndarray.prod, np.cumprod, np.ndarray.cumprod):
        for x in arrays(-2, True):
            yield call(f, x)
            yield call(f, x, 0)
            yield call(f, x, axis=-1)
        yield call(f, values(0))
        yield call(f, values(2, 0), axis=1)
        yield call(f, np.array(1.5))
        yield call(f, np.array([[2.0, 0.0, 3.0], [0.0, -1.0, 0.0]]), axis=1)
        yield call(f, values(3, dtype=np.float32), dtype=float)
    for f in (np.prod, np.ndarray.prod):
        yield call(f, values(2, 3, 2), axis=(0, -1))
        yield call(f, values(2, 3, 2), axis=(2, 0), keepdims=True)
        yield call(f, values(2, 3), where=np.array([True, False, True]), initial=-2.0)
    yield call(np.prod, 1.5)
    yield call(np.prod, np.array(1.5), axis=0)
    yield call(np.generic.prod, np.float64(1.5))
    yield call(np.generic.cumprod, np.float64(1.5))


def reductions() -> Iterator[Sample]:
    extrema = [np.maximum, np.minimum, np.fmax, np.fmin]
    mask = np.array([True, False, True])
    for ufunc in (np.add, np.multiply, np.subtract, *extrema, np.logaddexp, np.logaddexp2, np.hypot):
        f = ufunc.reduce
        for x in arrays(-2, ufunc in (np.add, np.multiply, np.subtract)):
            yield call(f, x)
            yield call(f, x, -1, keepdims=True)
            yield call(f, x, None if x.ndim == 1 or ufunc is not np.subtract else 0)
        yield call(f, values(2, 3), where=mask, initial=-0.5)
        yield call(f, values(2, 3), axis=())
        yield call(f, values(2, 3, dtype=np.float32), 0, float)
        yield call(f, [values(3), np.array([0.1, 4.0, -0.6])])
        if ufunc is not np.subtract:
            yield call(f, values(2, 3, 2), axis=(0, -1))
    for x in (np.array([2.0, 0.0, 3.0]), np.array([0.0, 0.0, 3.0])):
        yield call(np.multiply.reduce, x)


def accumulations() -> Iterator[Sample]:
    extrema = [np.maximum, np.minimum, np.fmax, np.fmin]
    algebra = [np.add, np.multiply, np.subtract, np.true_divide]
    for ufunc in (*algebra, *extrema, np.logaddexp, np.logaddexp2, np.hypot):
        f = ufunc.accumulate
        for x in arrays(0.4 if ufunc is np.true_divide else -2, ufunc in algebra):
            yield call(f, x)
            yield call(f, x, -1)
        yield call(f, values(2, 7, 2), axis=1)
        yield call(f, values(2, 3), axis=(0,))
        yield call(f, values(3), None)
        yield call(f, values(0))
        yield call(f, values(1))
        yield call(f, values(3, dtype=np.float32), 0, float)
    yield call(np.multiply.accumulate, np.array([2.0, 0.0, 3.0, 0.0, 1.5]))
    for x, axis in [(values(6), 0), (values(2, 6, dtype=complex), -1), (values(6, 2, dtype=np.float32), 0)]:
        yield call(np.add.reduceat, x, [0, 3, 1, 5, 5], axis)
    yield call(np.add.reduceat, values(6), np.array([2, 4]))
    yield call(np.add.reduceat, values(6), [1, 3], None)
    yield call(np.add.reduceat, values(2, 6), [1, 3], axis=(1,))


def recurrences() -> Iterator[Sample]:
    for n in (1, 2, 5, 17, 40):
        yield call(sums_onward, values(n - 1, low=-1), values(n))
        yield call(sums_onward, values(2, n - 1, low=-1, dtype=complex), values(2, n, dtype=complex))
    yield call(sums_onward, values(0), values(0))
    yield call(share, values(2, 3), values(3))
    yield call(share, np.array([1.5, 0.0, -2.0]), values(3))
    yield call(share, values(2, 3, dtype=complex), values(2, 3))
    yield call(share, values(3, dtype=np.float32), values(3, dtype=np.complex64))
    yield call(share, values(3), values(3), both=True)
    yield call(sums_onward, np.where(np.arange(39) % 7, values(39, low=-1), 0), values(40))
    yield call(sums_onward, values(2, 39, dtype=np.float32), values(2, 40, dtype=np.float32))
    for x in arrays(-2, True):
        yield call(products_of_others, x)
    yield call(products_of_others, np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [1.5, 2.0, 4.0]]))
    yield call(products_of_others, values(1))


def ufuncs() -> Iterator[Sample]:
    yield from products()
    yield from reductions()
    yield from accumulations()
    yield from recurrences()
    yield from of_complex()
    yield from of_floats()
    yield from parts()
    yield from bounds()
