"""Convolutions, correlations and Vandermonde matrices of each example."""

from __future__ import annotations

import numpy as np

from wengert.extend import batching
from wengert_rules.batches.axes import spread
from wengert_rules.products import conj

ALL = slice(None)


def convolved(a, v, mode):
    """Rows of `a` with those of `v`, which are no longer: the products of `v` with a window that moves over `a`."""
    m, n = np.shape(v)[1], np.shape(a)[1]
    edge = np.zeros((len(a), m - 1), a.dtype)
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([edge, a, edge], axis=1), m, axis=1)
    full = np.einsum("bnm,bm->bn", windows, np.flip(v, 1))
    start, length = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    return full[:, start : start + length]


def correlated(a, v, mode):
    if np.shape(v)[1] > np.shape(a)[1]:
        return np.flip(conj(correlated(v, a, mode)), 1)
    return convolved(a, np.flip(conj(v), 1), mode)


def as_rows(batch, *vectors):
    return [spread(x, on, batch.size, 1) for x, on in zip(vectors, batch.axes, strict=False)]


@batching(np.convolve)
def convolve(batch, a, v, mode="full"):
    a, v = as_rows(batch, a, v)
    return convolved(v, a, mode) if np.shape(v)[1] > np.shape(a)[1] else convolved(a, v, mode)


@batching(np.correlate)
def correlate(batch, a, v, mode="valid"):
    a, v = as_rows(batch, a, v)
    return correlated(a, v, mode)


@batching(np.vander)
def vander(batch, x, N=None, increasing=False):
    powers = np.arange(np.shape(x)[1] if N is None else N)
    return np.expand_dims(x, 2) ** (powers if increasing else powers[::-1])
