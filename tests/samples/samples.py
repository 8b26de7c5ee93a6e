"""One table of sample calls: one or more for every primitive with a derivative, in several dtypes and shapes.

The values keep away from kinks and from the ends of a domain by more than the steps of the differences.
"""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from samples_arrays import arrays
from samples_fourier import fourier
from samples_linalg import linear_algebra
from samples_ufuncs import ufuncs
from sampling import Sample, call, values

from wengert.extend import (
    additem,
    addlens,
    getfield,
    lens,
    make_dict,
    make_list,
    make_tuple,
    setitem,
    setlens,
)
from wengert.rulebook.registry import callable_name
from wengert_rules.sorting import given_to_equals

# Elementwise functions of one argument: the functions, the interval, whether they take complex numbers.
UNARY = [
    ([np.negative, operator.neg], -2, 2, True),
    ([np.positive, operator.pos], -2, 2, True),
    ([np.absolute, operator.abs, abs], 0.3, 2, True),
    ([np.absolute, operator.abs, abs], -2, -0.3, False),
    ([np.fabs, math.fabs], -2, -0.3, False),
    ([np.sign], 0.3, 2, True),
    ([np.sqrt, math.sqrt], 0.3, 2, True),
    ([np.cbrt, math.cbrt], 0.3, 2, False),
    ([np.cbrt, math.cbrt], -2, -0.3, False),
    ([np.square], -2, 2, True),
    ([np.reciprocal], 0.3, 2, True),
    ([np.exp, math.exp], -2, 2, True),
    ([np.exp2, math.exp2], -2, 2, True),
    ([np.expm1, math.expm1], -2, 2, True),
    ([np.log, math.log], 0.3, 2, True),
    ([np.log2, math.log2], 0.3, 2, True),
    ([np.log10, math.log10], 0.3, 2, True),
    ([np.log1p, math.log1p], -0.5, 2, True),
    ([np.sin, math.sin], -2, 2, True),
    ([np.cos, math.cos], -2, 2, True),
    ([np.tan, math.tan], -1, 1, True),
    ([np.arcsin, math.asin], -0.8, 0.8, True),
    ([np.arccos, math.acos], -0.8, 0.8, True),
    ([np.arctan, math.atan], -2, 2, True),
    ([np.sinh, math.sinh], -2, 2, True),
    ([np.cosh, math.cosh], -2, 2, True),
    ([np.tanh, math.tanh], -2, 2, True),
    ([np.arcsinh, math.asinh], -2, 2, True),
    ([np.arccosh, math.acosh], 1.2, 3, True),
    ([np.arctanh, math.atanh], -0.8, 0.8, True),
    ([np.deg2rad, np.radians, math.radians], -90, 90, False),
    ([np.rad2deg, np.degrees, math.degrees], -2, 2, False),
    ([np.conjugate, np.ndarray.conjugate, np.ndarray.conj], -2, 2, True),
    ([np.generic.conjugate, np.generic.conj], -2, 2, True),
    ([complex.conjugate], -2, 2, True),
    ([np.real, np.imag], -2, 2, True),
    ([math.erf, math.erfc], -1.5, 1.5, False),
    ([float, complex], -2, 2, True),
    ([np.float64, np.float32, np.float16, np.longdouble, np.complex128, np.complex64, np.clongdouble], -2, 2, True),
]

# Of two arguments: the functions, the intervals of both, whether they take complex numbers.
BINARY = [
    ([np.add, operator.add, np.subtract, operator.sub], (-2, 2), (-2, 2), True),
    ([np.multiply, operator.mul], (-2, 2), (-2, 2), True),
    ([np.true_divide, operator.truediv], (-2, 2), (0.3, 2), True),
    ([np.remainder, np.fmod, operator.mod, math.fmod], (5.5, 5.6), (1.15, 1.2), False),
    ([np.remainder, np.fmod, operator.mod, math.fmod], (-5.6, -5.5), (1.15, 1.2), False),
    ([math.remainder], (2.6, 2.7), (1.1, 1.2), False),
    ([np.power, np.float_power, operator.pow, pow, math.pow], (0.4, 2), (-2, 2), True),
    ([np.copysign, math.copysign], (0.3, 2), (-2, -1), False),
    ([np.nextafter, math.nextafter], (0.3, 2), (-2, -1), False),
    ([np.heaviside], (-2, -0.1), (0.3, 1), False),
    ([np.logaddexp, np.logaddexp2], (-2, 2), (-2, 2), False),
    ([np.arctan2, math.atan2], (-2, -0.2), (-2, 2), False),
    ([np.hypot, math.hypot], (0.3, 2), (-2, 2), False),
    ([np.maximum, np.minimum, np.fmax, np.fmin], (0.3, 2), (2.1, 3), False),
    ([np.maximum, np.minimum, np.fmax, np.fmin], (2.1, 3), (0.3, 2), False),
    ([np.divmod, divmod], (5.5, 5.6), (1.15, 1.2), False),
    ([np.vdot], (-2, 2), (-2, 2), True),
]


def elementwise() -> Iterator[Sample]:
    for functions, low, high, is_complex in UNARY:
        for f in functions:
            yield from unary(f, low, high, is_complex)
    for functions, left, right, is_complex in BINARY:
        for f in functions:
            yield from binary(f, left, right, is_complex)


def unary(f: Callable[..., Any], low: float, high: float, is_complex: bool) -> Iterator[Sample]:
    number = 0.7 * low + 0.3 * high
    if f is complex.conjugate:
        yield call(f, complex(number, 0.6))
        return
    if f in (float, complex) or getattr(f, "__module__", None) == "math":
        yield call(f, number)
        yield call(f, np.float64(number))
        return
    if isinstance(f, type) or getattr(f, "__objclass__", None) is np.generic:
        yield call(f, np.float64(number))
        yield call(f, np.float32(number))
        if is_complex and f not in (np.float16, np.float32, np.float64, np.longdouble):
            yield call(f, np.complex128(number + 0.6j))
        return
    if not hasattr(f, "__objclass__"):
        yield call(f, number)
        yield call(f, np.float32(number))
    yield call(f, values(2, 3, low=low, high=high))
    yield call(f, values(3, low=low, high=high, dtype=np.float32))
    yield call(f, values(8, low=low, high=high)[::2])
    yield call(f, np.array(number))
    yield call(f, values(0, 2))
    if is_complex and f not in (np.ndarray.conjugate, np.ndarray.conj):
        yield call(f, np.complex128(number + 0.6j))
    if is_complex:
        yield call(f, values(3, low=low, high=high, dtype=complex))


def binary(f: Callable[..., Any], left: Any, right: Any, is_complex: bool) -> Iterator[Sample]:
    (a0, a1), (b0, b1) = left, right
    a, b = 0.6 * a0 + 0.4 * a1, 0.3 * b0 + 0.7 * b1
    if f is not np.vdot:
        yield call(f, a, b)
    if getattr(f, "__module__", None) == "math":
        return
    x, y = values(2, 3, low=a0, high=a1), values(3, low=b0, high=b1)
    if f is np.vdot:
        yield call(f, x, values(6, low=b0, high=b1))
    else:
        yield call(f, x, y)
        yield call(f, x, b)
        yield call(f, a, y)
        yield call(f, np.float64(a), values(2, 1, low=b0, high=b1))
        yield call(f, x.T[::2], values(2, 2, low=b0, high=b1))
        yield call(f, values(0, 3), values(3, low=b0, high=b1))
    yield call(f, x.astype(np.float32), values(2, 3, low=b0, high=b1, dtype=np.float32))
    if is_complex:
        yield call(f, values(3, low=a0, high=a1, dtype=complex), y)
        base = values(3, low=a0, high=a1)
        yield call(f, base, values(3, low=b0, high=b1, dtype=complex))
        yield call(f, base.astype(complex), values(3, low=b0, high=b1, dtype=complex))


def powers() -> Iterator[Sample]:
    for exponent in (2, 3, 0, -1, 0.5, np.array([0, 1, 2])):
        yield call(operator.pow, values(3), exponent)
        yield call(np.power, values(3, dtype=np.float32), np.asarray(exponent, float))
    for exponent in (2, 3, -2):
        yield call(operator.pow, -1.5, exponent)
        yield call(operator.pow, values(3, low=-2, high=-0.4), exponent)
    yield call(operator.pow, 2, values(3))
    yield call(operator.pow, -1.5, 0.5)  # Python's power of a negative float is complex


def selections() -> Iterator[Sample]:
    x = values(2, 3, low=-2, high=2)
    for f in (np.clip, np.ndarray.clip):
        yield call(f, x, -0.9, 1.1)
        yield call(f, x, None, 0.1)
        yield call(f, x, values(3, low=-1.2, high=-0.9), values(2, 1, low=1, high=1.2))
        yield call(f, x.astype(np.float32), np.float32(-0.9), np.float32(1.1))
        yield call(f, x, min=-0.9)
        yield call(f, x, max=0.1)
    for z in (0.3 + 1j, values(3, dtype=complex)):  # by the real part first
        yield call(np.clip, z, -0.9, 1.1)
        yield call(np.clip, z, 0.4 - 1j, 1.1)
    yield call(np.generic.clip, np.float64(0.7), -1.0, 0.4)
    for c in (x > 0, np.array([True, False, True]), True):
        yield call(np.where, c, x, values(3))
        yield call(np.where, c, x, 0.5)
        yield call(np.where, c, x * 1j, x)


class Metre(float):
    pass


class Wave(complex):
    pass


def scalars() -> Iterator[Sample]:
    yield call(math.log, 2.2, 3.1)
    yield call(math.hypot, 0.3)
    yield call(math.hypot, 0.3, -1.2, 2.0)
    yield call(float.__new__, Metre, 0.7)
    yield call(complex.__new__, Wave, 1.5, -0.3)
    yield call(complex, 1.5, -0.3)
    yield call(complex, 1.5 + 1j, -0.3 + 2j)
    yield call(math.fsum, [0.1, 0.2, 0.7])
    yield call(math.fsum, ())
    for average in (statistics.mean, statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev):
        yield call(average, [0.1, 0.2, 0.7, -0.4])
    yield call(statistics.variance, [0.1, 0.2, 0.7], xbar=0.5)
    yield call(statistics.pstdev, (0.1, 0.2, 0.7), mu=0.5)
    yield call(math.prod, [1.5, -0.3, 2.0])
    yield call(math.prod, (1.5, 0.0, 2.0), start=2)
    yield call(math.prod, [1.5, 0.0, 0.0])
    yield call(math.prod, [1.5])
    yield call(math.prod, [values(3), values(3)[::-1].copy(), 2.0])
    yield call(math.prod, [1 + 2j, 0.5 - 1j, 2.0], start=1j)
    yield call(sum, [0.1, 0.2, 0.7])
    yield call(sum, (0.1, 2, 0.7), 1.5)
    yield call(sum, [values(3), values(2, 1), 0.3])
    yield call(sum, [0.5j, 1.0])
    for f in (max, min):
        yield call(f, 0.3, 2.0, -1.0)
        yield call(f, 0.3, 2)


def reductions() -> Iterator[Sample]:
    arrays = [
        values(2, 3),
        values(2, 3, dtype=np.float32),
        values(4, 6)[::2, ::3],
        values(2, 3, dtype=complex),
        values(3, 2).T,
    ]
    methods = (np.ndarray.sum, np.ndarray.mean, np.ndarray.max, np.ndarray.min)
    for f in (np.sum, np.mean, np.max, np.min, *methods):
        for x in arrays:
            yield call(f, x)
            yield call(f, x, 0)
            yield call(f, x, axis=-1, keepdims=True)
            yield call(f, x, axis=(0, 1))
            yield call(f, x, keepdims=True)
        yield call(f, np.array(1.5))
        yield call(f, values(2, 3, 2), axis=(0, -1))
        yield call(f, values(0, 3), axis=1)
    for f in (np.sum, np.ndarray.sum):
        yield call(f, values(2, 3), where=np.array([True, False, True]), initial=2.0)
        yield call(f, values(2, 3, dtype=np.float32), axis=0, dtype=float)
        yield call(f, values(2, 0), axis=1)
    for f in (np.generic.sum, np.generic.mean, np.generic.max, np.generic.min, np.generic.cumsum):
        yield call(f, np.float64(1.5))
    yield call(np.add.reduce, values(2, 3))
    yield call(np.add.reduce, values(2, 3), -1, keepdims=True)
    yield call(np.add.reduce, values(2, 3), axis=None)
    for f in (np.cumsum, np.ndarray.cumsum):
        for x in arrays:
            yield call(f, x)
            yield call(f, x, 0)
            yield call(f, x, axis=-1)


def shapes() -> Iterator[Sample]:
    x, z = values(2, 3), values(4, 6, dtype=complex)[::2, ::2]
    for a in (x, z, x.T.copy().T, values(2, 3, dtype=np.float32)):
        yield call(np.reshape, a, (3, 2))
        yield call(np.reshape, a, -1, order="F")
        yield call(np.reshape, a, -1, order=None)
        yield call(np.reshape, a, shape=6) if np.__version__ >= "2.1" else call(np.reshape, a, 6)
        yield call(np.ndarray.reshape, a, (3, 2), order="F")
        yield call(np.ndarray.reshape, a, 3, 1, 2)
        yield call(np.ndarray.reshape, a, -1)
        for f in (np.ravel, np.ndarray.ravel, np.ndarray.flatten):
            yield call(f, a)
            yield call(f, a, "F")
            yield call(f, a, None)
        for f in (np.transpose, np.ndarray.transpose):
            yield call(f, a)
            yield call(f, a, (1, 0))
            yield call(f, values(2, 3, 4), (2, 0, 1))
            yield call(f, values(2, 3, 4), (-1, 0, 1))
        yield call(np.transpose, a, axes=(0, 1))
        yield call(np.ndarray.transpose, values(2, 3, 4), 2, 0, 1)
        yield call(np.ndarray.transpose, a, None)
        for f in (np.swapaxes, np.ndarray.swapaxes):
            yield call(f, a, 0, -1)
        for f in (np.copy, np.ndarray.copy):
            yield call(f, a)
        yield call(np.flip, a)
        yield call(np.flip, a, (0, 1))
        yield call(np.flip, a, axis=-1)
        yield call(np.expand_dims, a, 1)
        yield call(np.expand_dims, a, axis=(0, -1))
        yield call(np.broadcast_to, a, (4, 2, 3))
        yield call(np.ndarray.astype, a, complex)
        yield call(np.ndarray.astype, a, np.complex64)
    yield call(np.broadcast_to, values(2, 1), (2, 3))
    yield call(np.broadcast_to, 1.5, (2, 3))
    yield call(np.full, (2, 3), 1.5)
    yield call(np.full, (2, 3), values(3))
    for f in (np.squeeze, np.ndarray.squeeze):
        yield call(f, values(2, 1, 3, 1))
        yield call(f, values(2, 1, 3, 1), 1)
        yield call(f, values(3), axis=())
    yield call(np.ndarray.astype, x, np.float32)
    yield call(np.ndarray.astype, x, dtype=float, copy=False)
    yield call(np.ndarray.astype, x, int)
    yield call(np.ndarray.item, np.array([[1.5]]))
    yield call(np.ndarray.item, x, 4)
    yield call(np.ndarray.item, x, -1)
    yield call(np.ndarray.item, x, 1, -2)
    yield call(np.ndarray.item, x, (0, 1))
    number = np.float64(1.5)
    for name in ("ravel", "flatten", "squeeze", "transpose", "copy"):
        yield call(getattr(np.generic, name), number)
    yield call(np.generic.reshape, number, 1, 1)
    yield call(np.generic.astype, number, np.float32)
    yield call(np.generic.item, np.float32(1.5))


def joins() -> Iterator[Sample]:
    a, b, c = values(2, 3), values(2, 1), values(2, 2, dtype=np.float32)
    yield call(np.concatenate, [a, b, c], axis=1)
    yield call(np.concatenate, (a, a), -2)
    yield call(np.concatenate, [a, b, values(3)], None)
    yield call(np.concatenate, [values(2), values(0), np.array([1, 2])])
    yield call(np.concatenate, [a, values(2, 1, dtype=complex)], axis=-1)
    yield call(np.stack, [a, a + 1])
    yield call(np.stack, (a, a + 1), -1)
    yield call(np.stack, [1.5, 2.5, 3])
    yield call(np.hstack, [values(2), 0.5, values(3)])
    yield call(np.hstack, [a, b])
    yield call(np.hstack, [values(2, 1, 2), values(2, 2, 2)])
    yield call(np.vstack, [values(3), a, values(1, 3)])
    yield call(np.vstack, [0.5, 1.5])
    for f in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray):
        yield call(f, [0.5, 1.5, 2])
        yield call(f, (values(3), np.array([1, 2, 3])))
        yield call(f, [0.5])
        yield call(f, [values(3)], np.float32)
        yield call(f, [0.5j, 1.5])
    yield call(np.array, [[1, 2], values(2)], dtype=float)


def indexing() -> Iterator[Sample]:
    x = values(3, 4)
    keys = [
        0, -1, (1, 2), slice(1, None), (slice(None), -1), (..., 2), None,
        (slice(None, None, -1), None, slice(1, 3)), [0, 2], [1, 1, 1], np.array([[0, 1], [1, 0]]),
        ([0, 0], [1, 1]), (slice(None), [3, 0, 3]), np.int64(2), (), ..., (0, [1, 1]),
        x > 1, np.array([True, False, True]), (np.array([True, False, True]), 1), [], (slice(None), []),
    ]  # fmt: skip
    for key in keys:
        for f in (operator.getitem, np.ndarray.__getitem__):
            yield call(f, x, key)
        yield call(operator.getitem, values(4, 3, dtype=np.complex64).T, key)
        yield call(setitem, x, key, 0.5)
        yield call(additem, x, key, 0.5)
        yield call(setitem, x, key, np.asarray(x[key] * 0.7 + 0.1))
        yield call(additem, x, key, np.asarray(x[key] * 0.7 + 0.1))
        yield call(setitem, x.astype(complex), key, 0.5)
    yield call(operator.getitem, np.array(1.5), ())
    yield call(setitem, x, 0, values(4))
    yield call(setitem, x.astype(np.float32), slice(1), values(1, 4))
    for f in (np.take, np.ndarray.take):
        yield call(f, x, 5)
        yield call(f, x, [[0, 1], [1, 11]])
        yield call(f, x, [0, 2, 2], 0)
        yield call(f, x, np.array([[-1, 1]]), axis=-1)
        yield call(f, x, [0, 5, -7], axis=1, mode="wrap")
        yield call(f, x, [0, 5, -7], axis=1, mode="clip")
    yield call(np.generic.take, np.float64(1.5), 0)


def lenses() -> Iterator[Sample]:
    for x in (values(3, 4), values(4, 3).T, values(4, 3, dtype=complex).T):
        n = x.itemsize
        yield call(lens, x, n, (2, 3), (4 * n, n))
        yield call(lens, x, 0, (5, 3), (2 * n, n))
        yield call(addlens, x, 0, (5, 3), (2 * n, n), values(3))
        yield call(addlens, x, 0, (5, 3), (2 * n, n), values(5, 3))
        yield call(setlens, x, 5 * n, (2, 2), (3 * n, -n), values(2, 2))
        yield call(setlens, x, n, (2, 3), (4 * n, n), 0.5)


def containers() -> Iterator[Sample]:
    for f in (make_tuple, make_list):
        yield call(f, 0.5, values(2), 3)
    yield call(make_dict, ("a", "b"), 0.5, values(2))


def products() -> Iterator[Sample]:
    pairs = [
        ((3,), (3,)), ((2, 3), (3,)), ((2,), (2, 3)), ((2, 3), (3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
        ((5, 2, 3), (3,)), ((2,), (5, 2, 3)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ]  # fmt: skip
    broadcast = [((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 1)), ((1, 2, 3), (5, 3, 2))]
    dotted = [((2, 5, 3), (4, 3, 2)), ((2, 3), (4, 2, 3, 2)), ((), (2, 3)), ((2,), ()), ((), ())]
    for functions, forms in [
        ((np.matmul, operator.matmul), pairs + broadcast),
        ((np.dot, np.ndarray.dot), pairs + dotted),
        ((np.inner,), [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (3,)), *dotted[2:]]),
        ((np.outer,), [((3,), (2,)), ((2, 2), (3,)), ((), (2,)), ((0,), (2,))]),
    ]:
        for f in functions:
            for left, right in forms:
                for p, q in ((float, float), (np.float32, np.float32), (complex, complex), (float, complex)):
                    yield call(f, values(*left, dtype=p), values(*right, dtype=q))
    yield call(np.dot, 1.5, values(3))
    yield call(np.outer, 1.5, values(3))
    yield call(np.matmul, values(4, 6)[::2, ::2], values(3, 2).T[:, ::1].T)


SAMPLES = [
    *elementwise(), *powers(), *selections(), *scalars(), *reductions(), *shapes(), *joins(), *indexing(),
    *lenses(), *containers(), *products(), *arrays(), *ufuncs(), *linear_algebra(), *fourier(),
]  # fmt: skip

BY_FUNCTION: dict[str, list[Sample]] = {}
"""The samples of each function, by its name."""
for _sample in SAMPLES:
    BY_FUNCTION.setdefault(callable_name(_sample.f), []).append(_sample)

# Tested by hand: the cotangent of the first names one part of a container, that of the second must not turn phases,
# and two arguments of the third must keep the same elements.
BY_HAND = {getfield, np.linalg.eig, given_to_equals}
