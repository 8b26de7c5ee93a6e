"""Samples of the functions of `math` and `cmath`, and of the methods of ufuncs."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator

import numpy as np
from sampling import Sample, call, values

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
    for x in (values(2, 3, low=-4, high=4), values(3, dtype=np.float32), 0.0, 0.7):
        yield call(np.sinc, x)
        yield call(np.i0, x)
    yield call(np.sinc, values(3, low=-0.4, high=3, dtype=complex))
    yield call(math.dist, values(3), values(3, low=-2, high=-1))
    if hasattr(math, "sumprod"):
        yield call(math.sumprod, values(3), values(3, low=-2, high=-1))
    if hasattr(math, "fma"):
        yield call(math.fma, 0.7, -1.3, 2.0)
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


def ufuncs() -> Iterator[Sample]:
    yield from of_complex()
    yield from of_floats()
    yield from parts()
    yield from bounds()
