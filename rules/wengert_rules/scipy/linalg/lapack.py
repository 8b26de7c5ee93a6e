"""LAPACK, whose functions code calls to save SciPy's checks: each is what SciPy's own function computes."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from wengert_rules.products import conj
from wengert_rules.scipy.linalg import blas
from wengert_rules.scipy.linalg.blas import stored
from wengert_rules.scipy.linalg.factors import lu_solved, permutation_of, turned_lu
from wengert_rules.scipy.linalg.structures import read
from wengert_rules.scipy.linalg.triangles import TURNS, cho_solved, solved, triangle

LIBRARIES = ("linalg._flapack", "linalg._flapack_64")
REAL, COMPLEX = ("s", "d"), ("c", "z")


def routine(name, kinds=REAL + COMPLEX):
    return blas.routine(name, kinds, LIBRARIES)


def columns(solve, b):
    """Call `solve` on a matrix, or on a vector as a matrix of one column."""
    return solve(b[:, np.newaxis])[:, 0] if np.ndim(b) == 1 else solve(b)


def zero_on_diagonal(a):
    """LAPACK's `info`: the number of the first zero on the diagonal, from 1 on; 0 where there is none."""
    zeros = np.diagonal(a) == 0
    return 1 + int(np.argmax(zeros)) if np.any(zeros) else 0


@routine("potrf")
def potrf(dtype, a, lower=0, clean=1, overwrite_a=0):
    """Where there is no factor, the number of a minor that is not positive, here always 1."""
    a = np.asarray(a, dtype)
    try:
        c = linalg.cholesky(a, lower=bool(lower), check_finite=False)
    except np.linalg.LinAlgError:
        return a, 1
    return stored(a, c if clean else c + triangle(a, not lower, True), overwrite_a), 0


@routine("potrs")
def potrs(dtype, c, b, lower=0, overwrite_b=0):
    c, right = np.asarray(c, dtype), np.asarray(b, dtype)
    return stored(b, columns(lambda x: cho_solved(c, x, bool(lower)), right), overwrite_b), 0


@routine("posv")
def posv(dtype, a, b, lower=0, overwrite_a=0, overwrite_b=0):
    c, info = potrf(dtype, a, lower, 0, overwrite_a)
    return (c, b, info) if info else (c, *potrs(dtype, c, b, lower, overwrite_b))


@routine("potri")
def potri(dtype, c, lower=0, overwrite_c=0):
    """One triangle of the inverse, beside what stands in the other."""
    c = np.asarray(c, dtype)
    inverse = cho_solved(c, np.eye(np.shape(c)[0], dtype=dtype), bool(lower))
    return stored(c, triangle(inverse, lower, False) + triangle(c, not lower, True), overwrite_c), 0


@routine("getrf")
def getrf(dtype, a, overwrite_a=0):
    lu, pivots = linalg.lu_factor(np.asarray(a, dtype), check_finite=False)
    return stored(a, lu, overwrite_a), pivots, zero_on_diagonal(lu) if np.ndim(lu) == 2 else 0


@routine("getrs")
def getrs(dtype, lu, piv, b, trans=0, overwrite_b=0):
    packed, right = turned_lu(np.asarray(lu, dtype), trans), np.asarray(b, dtype)
    p, straight = permutation_of(piv, np.shape(lu)[0]), TURNS.get(trans, trans) == 0
    made = columns(lambda x: lu_solved(packed, p, x, straight), conj(right) if trans == 1 else right)
    return stored(b, conj(made) if trans == 1 else made, overwrite_b), 0


@routine("gesv")
def gesv(dtype, a, b, overwrite_a=0, overwrite_b=0):
    lu, pivots, info = getrf(dtype, a, overwrite_a)
    return (lu, pivots, b, info) if info else (lu, pivots, *getrs(dtype, lu, pivots, b, 0, overwrite_b))


@routine("gbsv")
def gbsv(dtype, kl, ku, ab, b, overwrite_ab=0, overwrite_b=0):
    """The factors of the band are not given."""
    return None, None, linalg.solve_banded((kl, ku), ab[kl:], b), 0


@routine("sysv")
def sysv(dtype, a, b, lwork=None, lower=0, overwrite_a=0, overwrite_b=0):
    """The factors of the symmetric matrix are not given."""
    return None, None, np.linalg.solve(read(np.asarray(a, dtype), "sym", lower), b), 0


@routine("getri")
def getri(dtype, lu, piv, lwork=None, overwrite_lu=0):
    info = zero_on_diagonal(lu)
    if info:
        return lu, info
    inverse, _ = getrs(dtype, lu, piv, np.eye(np.shape(lu)[0], dtype=dtype))
    return stored(lu, inverse, overwrite_lu), 0


@routine("trtrs")
def trtrs(dtype, a, b, lower=0, trans=0, unitdiag=0, lda=None, overwrite_b=0):
    a, right = np.asarray(a, dtype), np.asarray(b, dtype)
    info = 0 if unitdiag else zero_on_diagonal(a)
    if info:
        return right, info
    return stored(b, columns(lambda x: solved(a, x, bool(lower), bool(unitdiag), trans), right), overwrite_b), 0


@routine("trtri")
def trtri(dtype, c, lower=0, unitdiag=0, overwrite_c=0):
    """The inverse in one triangle, beside what stands in the other and, where that counts as 1, on the diagonal."""
    c = np.asarray(c, dtype)
    info = 0 if unitdiag else zero_on_diagonal(c)
    if info:
        return c, info
    inverse = solved(c, np.eye(np.shape(c)[0], dtype=dtype), bool(lower), bool(unitdiag))
    rest = triangle(c, not lower, not unitdiag)
    return stored(c, triangle(inverse, lower, unitdiag) + rest, overwrite_c), 0


@routine("lartg", REAL)
def lartg(dtype, f, g):
    """The rotation that turns (f, g) to (r, 0)."""
    if g == 0:
        return np.ones((), dtype)[()], np.zeros((), dtype)[()], f
    if f == 0:
        return np.zeros((), dtype)[()], np.sign(g), np.abs(g)
    length = np.hypot(f, g)
    r = length * np.sign(f)
    return np.abs(f) / length, g / r, r


@routine("lange")
def lange(dtype, norm, a):
    a = np.abs(np.asarray(a, dtype))
    if norm in ("m", "M"):
        return np.max(a)
    return np.linalg.norm(a, {"1": 1, "o": 1, "O": 1, "i": np.inf, "I": np.inf}.get(norm, "fro"))
