"""Matrices of which SciPy reads a part: a triangle, a diagonal, both halves of a Hermitian one from one of them."""

from __future__ import annotations

import numpy as np

from wengert_rules.decompositions import completed, from_triangle, half

HERMITIAN = ("pos", "positive definite", "her", "hermitian")
SYMMETRIC = ("sym", "symmetric")


def in_double(x):
    """`x` in double precision where it is in another than single or double, of which LAPACK has none: so does SciPy."""
    dtype = np.asarray(x).dtype
    return x if dtype.char in "fdFD" else np.asarray(x).astype(complex if dtype.kind == "c" else float)


def uplo(lower):
    return "L" if lower else "U"


def read(a, assume_a, lower):
    """The matrix that SciPy takes `a` for where it is told to assume a structure."""
    if assume_a in HERMITIAN:
        return completed(a, uplo(lower))
    if assume_a in SYMMETRIC:
        part = half(a, uplo(lower))
        return part + np.swapaxes(part, -1, -2)
    return part_of(a, assume_a)


def read_bar(a_bar, assume_a, lower):
    """The cotangent of what is read, from that of the whole matrix."""
    if assume_a in HERMITIAN:
        return from_triangle(a_bar, uplo(lower))
    if assume_a in SYMMETRIC:
        return half(a_bar + np.swapaxes(a_bar, -1, -2), uplo(lower))
    return part_of(a_bar, assume_a)


def as_matrices(x, ndim):
    """A number or vector, of `ndim` axes, as the column that LAPACK takes it for; a stack of directions of it, too."""
    return x if ndim > 1 else np.reshape(x, (*np.shape(x)[: np.ndim(x) - ndim], -1, 1))


def part_of(a, assume_a):
    if assume_a == "upper triangular":
        return np.triu(a)
    if assume_a == "lower triangular":
        return np.tril(a)
    if assume_a == "diagonal":
        return np.triu(np.tril(a))
    return np.triu(np.tril(a, 1), -1) if assume_a == "tridiagonal" else a
