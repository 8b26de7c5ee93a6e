"""Matrices whose elements are those of vectors, each at many places: Toeplitz, Hankel and circulant ones."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from wengert.extend import additem, jvp_rule, linear, vjp_rule
from wengert_rules.products import conj


def gathered(y_bar, places, n):
    """The sums of what stands at the places of each of `n` numbers, of stacks of matrices."""
    return additem(np.zeros((*np.shape(y_bar)[:-2], n), y_bar.dtype), (..., places), y_bar)


def places(rows, columns, sign):
    """i + j, or i - j where `sign` is -1, at each place of a matrix."""
    return np.expand_dims(np.arange(rows), -1) + sign * np.arange(columns)


def behind(sums, m):
    """The cotangent of a vector whose first element is not read, from what `sums` has behind the first `m`."""
    return np.concatenate([np.zeros((*np.shape(sums)[:-1], 1), sums.dtype), sums[..., m:]], -1)


def flat_or_stack(y_bar, shape):
    """The cotangent of a vector; SciPy used to take an array of more axes for one."""
    return np.reshape(y_bar, shape) if np.ndim(y_bar) < len(shape) else y_bar


def nothing(x):
    """The cotangent of a vector of which an empty matrix is made."""
    return np.zeros(np.shape(x), x.dtype)


@vjp_rule(linalg.toeplitz, broadcasts=True)
def toeplitz(y_bar, y, c, r=None):
    """Yᵢⱼ = cᵢ₋ⱼ below the diagonal and on it, rⱼ₋ᵢ above, which is c* where there is no r."""
    if np.size(y) == 0:
        return nothing(c), None if r is None else nothing(r)
    m, n = np.shape(y)[-2:]
    sums = gathered(y_bar, m - 1 - places(m, n, -1), m + n - 1)
    c_bar, r_bar = sums[..., m - 1 :: -1], behind(sums, m)
    if r is None:
        return flat_or_stack(c_bar + conj(r_bar), np.shape(c)), None
    return flat_or_stack(c_bar, np.shape(c)), flat_or_stack(r_bar, np.shape(r))


@jvp_rule(linalg.toeplitz)
def push_toeplitz(tangents, y, c, r=None):
    if r is None:
        return linalg.toeplitz(tangents[0])
    c_dot, r_dot = tangents
    c_dot = np.zeros(np.shape(c), y.dtype) if c_dot is None else c_dot
    return linalg.toeplitz(c_dot, np.zeros(np.shape(r), y.dtype) if r_dot is None else r_dot)


@vjp_rule(linalg.circulant)
def circulant(y_bar, y, c):
    """Yᵢⱼ = cᵢ₋ⱼ, around the end."""
    n = np.shape(y)[-1]
    return flat_or_stack(gathered(y_bar, places(n, n, -1) % n, n), np.shape(c))


@vjp_rule(linalg.hankel)
def hankel(y_bar, y, c, r=None):
    """Yᵢⱼ = cᵢ₊ⱼ, and beyond c what r has behind its first element, or 0."""
    if np.size(y) == 0:
        return nothing(c), None if r is None else nothing(r)
    m, n = np.shape(y)[-2:]
    sums = gathered(y_bar, places(m, n, 1), m + n - 1)
    c_bar = flat_or_stack(sums[..., :m], np.shape(c))
    return c_bar, None if r is None else flat_or_stack(behind(sums, m), np.shape(r))


@jvp_rule(linalg.hankel)
def push_hankel(tangents, y, c, r=None):
    c_dot, r_dot = tangents if len(tangents) == 2 else (tangents[0], None)
    c_dot = np.zeros(np.shape(c), y.dtype) if c_dot is None else c_dot
    r_dot = np.zeros(np.shape(c if r is None else r), y.dtype) if r_dot is None else r_dot
    return linalg.hankel(c_dot, r_dot)


linear(linalg.circulant)
