"""X += A B and x += c a without memory for the product: by BLAS's gemm and axpy, where they write in place."""

from __future__ import annotations

from functools import cache

import numpy as np

PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}
PAYS = 4096  # elements of x̄, below which a product of its own costs less than the calls


@cache
def routine(name, char):
    """BLAS's routine of that name for a dtype; None where SciPy is not installed, or for other dtypes."""
    try:
        from scipy.linalg import blas
    except ImportError:
        return None
    return getattr(blas, PREFIXES[char] + name) if char in PREFIXES else None


def onto_product(x, a, b, conj_a=False, conj_b=False):
    """x += a b, of matrices, each conjugated or not; NotImplemented, with x as it was, where a copy would be needed.

    gemm writes into an array in Fortran order only. One in C order is the transpose of such a one: Xᵀ += Bᵀ Aᵀ.
    """
    gemm = routine("gemm", x.dtype.char)
    if gemm is None or not (a.dtype == b.dtype == x.dtype) or not a.size or not b.size:
        return NotImplemented
    if not x.flags.f_contiguous:
        made = NotImplemented if not x.flags.c_contiguous else onto_product(x.T, b.T, a.T, conj_b, conj_a)
        return x if made is not NotImplemented else made
    (a, turn_a), (b, turn_b) = operand(a, conj_a), operand(b, conj_b)
    gemm(1, a, b, beta=1, c=x, trans_a=turn_a, trans_b=turn_b, overwrite_c=1)
    return x


def operand(a, conj):
    """An array in Fortran order, and what gemm does to it: 0 nothing, 1 transpose it, 2 conjugate it too."""
    if conj and a.dtype.kind == "c":
        return (a.T, 2) if a.flags.c_contiguous else (np.conjugate(a), 0)
    return (a.T, 1) if a.flags.c_contiguous and not a.flags.f_contiguous else (a, 0)


def as_column(v):
    return np.reshape(v, (-1, 1)) if np.ndim(v) == 1 else v


def as_row(v):
    return np.reshape(v, (1, -1)) if np.ndim(v) == 1 else v


def onto_scaled(x, c, a):
    """x += c a, of a number and an array that lies in memory as x does, or is one number seen everywhere.

    NotImplemented, with x as it was, for others.
    """
    axpy = routine("axpy", x.dtype.char)
    if axpy is None or np.ndim(c) or a.shape != x.shape or a.dtype != x.dtype:
        return NotImplemented
    if not a.size:
        return x  # whatever its strides are
    if not any(a.strides):
        x += c * a[(0,) * a.ndim]
    elif x.flags.f_contiguous and a.flags.f_contiguous:
        axpy(np.reshape(a.T, (-1,)), np.reshape(x.T, (-1,)), a=c)
    elif x.flags.c_contiguous and a.flags.c_contiguous:
        axpy(np.reshape(a, (-1,)), np.reshape(x, (-1,)), a=c)
    else:
        return NotImplemented
    return x
