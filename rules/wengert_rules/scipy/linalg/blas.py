"""BLAS, whose functions code calls for speed: written with NumPy, also where they write into what they are given."""

from __future__ import annotations

import numpy as np

from wengert.extend import NoDerivativeError, stands_for
from wengert_rules.products import conj
from wengert_rules.scipy.linalg.structures import read
from wengert_rules.scipy.linalg.triangles import solved, triangle
from wengert_rules.scipy.optional import present

LIBRARIES = ("linalg._fblas", "linalg._fblas_64")
STEPS = "a triangular BLAS routine has a derivative only for incx=1 and offx=0. Pass a contiguous vector"
TYPES = {
    "s": np.float32,
    "d": np.float64,
    "c": np.complex64,
    "z": np.complex128,
    "sc": np.complex64,
    "dz": np.complex128,
}


def routine(name, kinds=("s", "d", "c", "z"), libraries=LIBRARIES):
    """Have a function `(dtype, *arguments)` stand for a routine of each of these types of numbers."""

    def declare(function):
        for kind in kinds:
            found = present(*[f"{library}.{kind}{name}" for library in libraries])
            if found:
                stands_for(*found)(with_type(function, TYPES[kind]))
        return function

    return declare


def with_type(function, dtype):
    def call(*args, **kwargs):
        return function(dtype, *args, **kwargs)

    return call


def stored(target, value, allowed):
    """The value, in the array that it may overwrite where LAPACK would."""
    if allowed and isinstance(target, np.ndarray) and target.dtype == value.dtype and target.flags.f_contiguous:
        target[...] = value
        return target
    return value


def part(x, n, off, inc):
    """The numbers of a vector that a routine is told to take."""
    seen = x[off::inc] if inc > 0 else x[off:][::inc]
    return seen if n is None else seen[:n]


def own(x, dtype):
    """The vector itself where a routine would write into it, else a copy."""
    x = np.asarray(x)
    return x if x.dtype == dtype and x.flags.c_contiguous else x.astype(dtype)


def turned(a, trans):
    """A, its transpose (1) or its adjoint (2)."""
    if trans == 0:
        return a
    return np.swapaxes(a, 0, 1) if trans == 1 else conj(np.swapaxes(a, 0, 1))


def added(alpha, product, beta, c):
    """α P + β C, of which β may be 0 and C left out."""
    return alpha * product if c is None else alpha * product + beta * c


def vector(dtype, x, n, off, inc):
    return part(np.asarray(x, dtype), n, off, inc)


@routine("dot", ("s", "d"))
@routine("dotu", ("c", "z"))
def dot(dtype, x, y, n=None, offx=0, incx=1, offy=0, incy=1):
    return np.sum(vector(dtype, x, n, offx, incx) * vector(dtype, y, n, offy, incy))


@routine("dotc", ("c", "z"))
def dotc(dtype, x, y, n=None, offx=0, incx=1, offy=0, incy=1):
    return np.sum(conj(vector(dtype, x, n, offx, incx)) * vector(dtype, y, n, offy, incy))


@routine("nrm2", ("s", "d", "sc", "dz"))
def nrm2(dtype, x, n=None, offx=0, incx=1):
    return np.linalg.norm(vector(dtype, x, n, offx, incx))


@routine("asum", ("s", "d"))
def asum(dtype, x, n=None, offx=0, incx=1):
    return np.sum(np.abs(vector(dtype, x, n, offx, incx)))


@routine("axpy")
def axpy(dtype, x, y, n=None, a=1.0, offx=0, incx=1, offy=0, incy=1):
    y = own(y, dtype)
    seen = part(y, n, offy, incy)
    seen += a * vector(dtype, x, n, offx, incx)
    return y


@routine("scal")
def scal(dtype, a, x, n=None, offx=0, incx=1):
    x = own(x, dtype)
    seen = part(x, n, offx, incx)
    seen *= a
    return x


@routine("gemv")
def gemv(dtype, alpha, a, x, beta=0.0, y=None, *, incx=1, offx=0, trans=0, overwrite_y=0):
    product = turned(np.asarray(a, dtype), trans) @ vector(dtype, x, None, offx, incx)
    return stored(y, added(alpha, product, beta, y), overwrite_y)


@routine("gemm")
def gemm(dtype, alpha, a, b, beta=0.0, c=None, trans_a=0, trans_b=0, overwrite_c=0):
    product = turned(np.asarray(a, dtype), trans_a) @ turned(np.asarray(b, dtype), trans_b)
    return stored(c, added(alpha, product, beta, c), overwrite_c)


@routine("ger", ("s", "d"))
@routine("geru", ("c", "z"))
def ger(dtype, alpha, x, y, *, a=None, overwrite_a=0):
    return stored(a, added(alpha, np.outer(np.asarray(x, dtype), np.asarray(y, dtype)), 1.0, a), overwrite_a)


@routine("symv", ("s", "d"))
@routine("hemv", ("c", "z"))
def symv(dtype, alpha, a, x, beta=0.0, y=None, *, lower=0, overwrite_y=0):
    product = read(np.asarray(a, dtype), "her", lower) @ np.asarray(x, dtype)
    return stored(y, added(alpha, product, beta, y), overwrite_y)


@routine("symm", ("s", "d"))
@routine("hemm", ("c", "z"))
def symm(dtype, alpha, a, b, beta=0.0, c=None, side=0, lower=0, overwrite_c=0):
    whole, b = read(np.asarray(a, dtype), "her", lower), np.asarray(b, dtype)
    return stored(c, added(alpha, b @ whole if side else whole @ b, beta, c), overwrite_c)


@routine("syrk", ("s", "d"))
@routine("herk", ("c", "z"))
def syrk(dtype, alpha, a, beta=0.0, c=None, trans=0, lower=0, overwrite_c=0):
    """A Aᴴ, or Aᴴ A, in one triangle; the other is zero, or as it was in C."""
    a = np.asarray(a, dtype)
    product = conj(np.swapaxes(a, 0, 1)) @ a if trans else a @ conj(np.swapaxes(a, 0, 1))
    made = triangle(added(alpha, product, beta, c), lower, False)
    return made if c is None else stored(c, made + triangle(c, not lower, True), overwrite_c)


@routine("trsm")
def trsm(dtype, alpha, a, b, side=0, lower=0, trans_a=0, diag=0, overwrite_b=0):
    """α A⁻¹ B, or α B A⁻¹."""
    a, right = np.asarray(a, dtype), alpha * np.asarray(b, dtype)
    if side:
        made = np.swapaxes(solved(turned(a, trans_a), np.swapaxes(right, 0, 1), flip(lower, trans_a), diag, 1), 0, 1)
    else:
        made = solved(a, right, lower, diag, trans_a)
    return stored(b, made, overwrite_b)


def flip(lower, trans):
    """Whether a triangle is the lower one once it is turned."""
    return bool(lower) != bool(trans)


def of_triangle(a, lower, diag):
    """A triangular matrix, whose diagonal may count as 1."""
    made = triangle(a, lower, diag)
    return made + np.eye(np.shape(a)[0], dtype=made.dtype) if diag else made


@routine("trmm")
def trmm(dtype, alpha, a, b, side=0, lower=0, trans_a=0, diag=0, overwrite_b=0):
    whole = turned(of_triangle(np.asarray(a, dtype), lower, diag), trans_a)
    right = alpha * np.asarray(b, dtype)
    return stored(b, right @ whole if side else whole @ right, overwrite_b)


@routine("trsv")
def trsv(dtype, a, x, incx=1, offx=0, lower=0, trans=0, diag=0, overwrite_x=0):
    if incx != 1 or offx:
        raise NoDerivativeError(STEPS)
    return stored(x, solved(np.asarray(a, dtype), np.asarray(x, dtype), lower, diag, trans), overwrite_x)


@routine("trmv")
def trmv(dtype, a, x, offx=0, incx=1, lower=0, trans=0, diag=0, overwrite_x=0):
    if incx != 1 or offx:
        raise NoDerivativeError(STEPS)
    whole = turned(of_triangle(np.asarray(a, dtype), lower, diag), trans)
    return stored(x, whole @ np.asarray(x, dtype), overwrite_x)
