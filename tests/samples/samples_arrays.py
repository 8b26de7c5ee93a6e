"""Samples of functions of whole arrays: shapes, diagonals, order, statistics, windows, selection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sampling import Sample, call, values

from wengert.extend import setpart

X = values(3, 4)
MATRICES = [X, values(3, 4, dtype=complex), values(4, 3, dtype=np.float32).T, values(6, 8)[::2, ::2]]
REAL = [X, values(4, 3, dtype=np.float32).T, values(6, 8)[::2, ::2]]


def arrays() -> Iterator[Sample]:
    yield from statistics()
    yield from diagonals()
    yield from copies()
    yield from joins()
    yield from ordered()
    yield from sequences()
    yield from selected()
    yield from parts()
    yield from windows()
    yield from interpolated()


def statistics() -> Iterator[Sample]:
    for x in MATRICES:
        mask = x.real > 1
        for f in (np.mean, np.ndarray.mean):
            yield call(f, x, where=mask)
            yield call(f, x, axis=0, where=x.real > 0, keepdims=True)
            yield call(f, x, axis=1, where=[True, False, True, True])
        for f in (np.var, np.std, np.ndarray.var, np.ndarray.std):
            yield call(f, x)
            yield call(f, x, 0)
            yield call(f, x, axis=-1, ddof=1, keepdims=True)
            yield call(f, x, axis=(0, 1))
            yield call(f, x, where=mask)
            yield call(f, x, axis=1, where=[True, False, True, True])
        for f in (np.var, np.std, np.nanvar, np.nanstd):
            yield call(f, x, axis=0, correction=1)
        for f in (np.nanvar, np.nanstd):
            yield call(f, x, ddof=1, where=mask)
            yield call(f, x, axis=1, keepdims=True)
    for f in (np.var, np.std):
        yield call(f, X, axis=0, mean=np.mean(X, axis=0, keepdims=True))
    for x in REAL:
        for f in (np.max, np.min, np.ndarray.max, np.ndarray.min, np.nanmax, np.nanmin):
            yield call(f, x, initial=1.2)
            yield call(f, x, axis=1, initial=1.2, where=x > 1, keepdims=True)
            yield call(f, x, axis=0)
    for f in (np.generic.var, np.generic.std):
        yield call(f, np.float64(1.5))


def diagonals() -> Iterator[Sample]:
    for x in MATRICES:
        for f in (np.diagonal, np.ndarray.diagonal):
            for offset in (0, 1, -1, 3, -3, 5):
                yield call(f, x, offset)
            yield call(f, values(2, 3, 4), 1, 0, 2)
            yield call(f, values(2, 3, 4), -1, axis1=-1, axis2=0)
        for f in (np.diag, np.tril, np.triu):
            yield call(f, x)
            yield call(f, x, -1)
            yield call(f, x, k=2)
        yield call(np.diagflat, x, 1)
    for k in (0, 1, -2):
        yield call(np.diag, values(3), k)
    for f in (np.tril, np.triu):
        yield call(f, values(2, 3, 4), 1)
        yield call(f, values(3))
    yield call(np.diagflat, 1.5)


def copies() -> Iterator[Sample]:
    for x in MATRICES:
        for f in (np.repeat, np.ndarray.repeat):
            yield call(f, x, 3)
            yield call(f, x, 2, 1)
            yield call(f, x, [0, 1, 2], 0)
            yield call(f, x, [2], axis=-1)
            yield call(f, x, np.arange(12) % 3)
        for reps in (2, (2, 1, 3), (2, 3), (), [0, 2], 1):
            yield call(np.tile, x, reps)
        for shift, axis in ((2, None), ((1, -2), (0, 1)), (-1, 0), (1, (0, 1))):
            yield call(np.roll, x, shift, axis)
        yield call(np.matrix_transpose, x)
        yield call(np.ndarray.view, x)
    yield call(np.ndarray.view, X, float)
    yield call(np.repeat, 1.5, 3)
    yield call(np.generic.repeat, np.float64(1.5), 3)
    yield call(np.repeat, 1.5, 3, 0)
    yield call(np.repeat, np.array(1.5), [2], -1)
    yield call(np.repeat, values(2, 3), 40, axis=0)  # more copies than are added by einsum
    yield call(np.tile, 1.5, 3)
    yield call(np.tile, values(0, 3), 2)


def joins() -> Iterator[Sample]:
    a, b = values(3), values(2)
    for indexing in ("xy", "ij"):
        yield call(np.meshgrid, a, b, indexing=indexing)
        yield call(np.meshgrid, a, b, values(4), indexing=indexing, sparse=True)
        yield call(np.meshgrid, a, 1.5, indexing=indexing, copy=False)
    yield call(np.meshgrid, a)
    yield call(np.array, X, ndmin=3)
    yield call(np.array, 1.5, ndmin=2)
    yield call(np.array, [X, X * 2], ndmin=4)
    yield call(np.array, [X], ndmin=2, dtype=np.float32)
    yield call(np.array, [0.5, 1.5], ndmin=2)


def ordered() -> Iterator[Sample]:
    for x in MATRICES:
        for axis in (0, -1, None):
            yield call(np.sort, x, axis)
            yield call(np.partition, x, 1, axis)
            yield call(np.median, x, axis)
            yield call(np.nanmedian, x, axis=axis, keepdims=True)
    yield call(np.sort, values(2, 3, 2), 1, kind="stable")
    yield call(np.partition, values(2, 3, 2), [0, 2], 1)
    yield call(np.sort, values(0, 3))
    yield call(np.partition, values(0, 3), 1)


def sequences() -> Iterator[Sample]:
    yield call(np.linspace, 0.5, 2.5, 5)
    yield call(np.arange, 0.5, 2.6, 0.5)
    yield call(np.arange, 3.1, -0.3, -0.7)
    yield call(np.linspace, values(3), values(2, 1), 4, endpoint=False, axis=-1)
    yield call(np.linspace, values(3), 2.5, num=1)
    yield call(np.linspace, 0.5, values(3, dtype=complex), 6, True, True)
    yield call(np.linspace, np.float32(0.5), np.float32(1.5), 3)
    for x in (values(3), values(3, dtype=complex), values(3, dtype=np.float32)):
        yield call(np.vander, x)
        yield call(np.vander, x, 4, increasing=True)
        yield call(np.vander, x, 1)


def selected() -> Iterator[Sample]:
    for x in MATRICES:
        yield call(np.take_along_axis, x, np.argsort(x, axis=1)[:, 1:], 1)
        yield call(np.take_along_axis, x, np.array([[0], [1]]), axis=0)
        yield call(np.take_along_axis, x, np.array([0, 5, 5, -1]), None)
        yield call(np.ndarray.compress, x, [True, False, True])
        yield call(np.ndarray.compress, x, [False, True, True], axis=1)
    choices: Any = [values(3), values(2, 3)]
    yield call(np.choose, np.array([0, 1, 1]), choices)
    yield call(np.choose, np.array([0, 5, -1]), [values(3), 2.5], mode="clip")
    yield call(np.ndarray.choose, np.array([0, 5, -1]), [values(3), 2.5j], mode="wrap")
    yield call(np.bincount, np.array([0, 2, 2]), values(3))
    yield call(np.bincount, np.array([0, 2, 2]), weights=values(3), minlength=5)


def parts() -> Iterator[Sample]:
    z = values(2, 3, dtype=complex)
    for part in ("real", "imag"):
        yield call(setpart, z, part, values(3))
        yield call(setpart, z.astype(np.complex64).T, part, 0.5)


def windows() -> Iterator[Sample]:
    for n, m in ((5, 3), (3, 5), (4, 4), (6, 2), (2, 6), (5, 4), (4, 5), (1, 3), (3, 1)):
        for mode in ("full", "same", "valid"):
            for f in (np.convolve, np.correlate):
                yield call(f, values(n), values(m), mode)
                yield call(f, values(n, dtype=complex), values(m, dtype=complex), mode=mode)
    for f in (np.convolve, np.correlate):
        yield call(f, values(4, dtype=np.float32), values(3, dtype=np.float32))
        yield call(f, values(4, dtype=complex), values(3))
    yield call(np.convolve, values(4), 1.5)
    view = np.lib.stride_tricks.sliding_window_view
    for x in MATRICES:
        yield call(view, x, (2, 2))
        yield call(view, x, 2, 0)
        yield call(view, x, (2, 2), (1, 1))
        yield call(view, x, window_shape=3, axis=-1)


def interpolated() -> Iterator[Sample]:
    at, points, heights = values(7, low=-0.2, high=2.5), np.sort(values(6)), values(6, low=-1)
    yield call(np.interp, at, points, heights)
    yield call(np.interp, 0.9, points, heights)
    yield call(np.interp, at.reshape(7, 1), list(points), heights)
    yield call(np.interp, at, points, heights, 0.5, 1.5)
    yield call(np.interp, at, points, heights, left=0.5)
    yield call(np.interp, at, points, heights, right=0.5)
    yield call(np.interp, at, points, values(6, dtype=complex))
    yield call(np.interp, at, values(6), heights, period=2.4)
    yield call(np.interp, at, values(6), heights, period=-1.4)
    yield call(np.interp, at, values(1), values(1))
