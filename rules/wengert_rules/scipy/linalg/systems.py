"""Linear systems, inverses, determinants and least squares of scipy.linalg: the formulas are those of numpy.linalg."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from wengert.extend import jvp_rule, vjp_rule
from wengert_rules import cofactors, linear_algebra, norms
from wengert_rules.products import conj
from wengert_rules.scipy.linalg.structures import in_double, read, read_bar


def turned(a, transposed):
    return np.swapaxes(a, -1, -2) if transposed else a


@vjp_rule(linalg.solve, broadcasts=True)
def solve(
    y_bar, y, a, b, *, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
    transposed=False,
):  # fmt: skip
    """Of a matrix of one number, which may divide any vector, B̄ = X̄ / a*."""
    if np.size(a) == 1:
        b_bar = y_bar / conj(np.reshape(a, ()))
        return np.reshape(-np.sum(b_bar * conj(y)), np.shape(a)), b_bar
    whole, b = turned(in_double(read(a, assume_a, lower)), transposed), in_double(b)
    whole_bar, b_bar = linear_algebra.solve(y_bar, y, whole, b)
    return read_bar(turned(whole_bar, transposed), assume_a, lower), b_bar


@jvp_rule(linalg.solve, broadcasts=True)
def push_solve(
    tangents, y, a, b, *, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
    transposed=False,
):  # fmt: skip
    a_dot, b_dot = tangents
    if np.size(a) == 1:
        a_dot = 0.0 if a_dot is None else a_dot[..., 0] if np.ndim(b) == 1 and np.ndim(a) else a_dot
        return ((0.0 if b_dot is None else b_dot) - a_dot * y) / np.reshape(a, ())
    whole, whole_dot = [x if x is None else turned(in_double(read(x, assume_a, lower)), transposed) for x in (a, a_dot)]
    return linear_algebra.push_solve((whole_dot, None if b_dot is None else in_double(b_dot)), y, whole, b)


@vjp_rule(linalg.inv)
def inv(y_bar, y, a, *, overwrite_a=False, check_finite=True, assume_a=None, lower=False):
    """Where a diagonal matrix is assumed, SciPy leaves the other elements as they are."""
    if assume_a == "diagonal":
        return y_bar * kept_or_inverted(y)
    return read_bar(linear_algebra.inv(y_bar, y, a), assume_a, lower)


def kept_or_inverted(y):
    """Return the factor by which a diagonal inverse multiplies each element's cotangent."""
    return np.where(np.eye(np.shape(y)[-1], dtype=bool), -conj(y * y), 1)


@jvp_rule(linalg.inv, broadcasts=True)
def push_inv(tangents, y, a, *, overwrite_a=False, check_finite=True, assume_a=None, lower=False):
    if assume_a == "diagonal":
        return tangents[0] * conj(kept_or_inverted(y))
    return linear_algebra.push_inv((read(tangents[0], assume_a, lower),), y, a)


@vjp_rule(linalg.det)
def det(y_bar, y, a, *, overwrite_a=False, check_finite=True):
    return cofactors.det(y_bar, y, in_double(a))


@jvp_rule(linalg.det, broadcasts=True)
def push_det(tangents, y, a, *, overwrite_a=False, check_finite=True):
    return cofactors.push_det((in_double(tangents[0]),), y, in_double(a))


@vjp_rule(linalg.lstsq, parts=True, broadcasts=True)
def lstsq(y_bar, y, a, b, *, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    """SciPy's sums are a number where B is a vector, and complex where B is."""
    sums_bar = y_bar[1]
    if sums_bar is not None and np.size(sums_bar):
        sums_bar = np.expand_dims(np.real(sums_bar), (-2, -1) if np.ndim(b) == 1 else -2)
    cotangents = (y_bar[0], sums_bar, None, y_bar[3])
    return linear_algebra.lstsq(cotangents, y, in_double(a), in_double(b), rcond=cutoff(cond))


def cutoff(cond):
    return -1 if cond is None else cond


@jvp_rule(linalg.lstsq)
def push_lstsq(
    tangents, y, a, b, *, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None
):
    tangents = [None if x_dot is None else in_double(x_dot) for x_dot in tangents]
    made = linear_algebra.push_lstsq(tangents, y, in_double(a), in_double(b), rcond=cutoff(cond))
    x_dot, sums_dot, _, values_dot = made
    sums_dot = sums_dot[..., 0] if sums_dot is not None and np.ndim(b) == 1 else sums_dot
    return x_dot, sums_dot, None, None if y[3] is None else values_dot


@vjp_rule(linalg.pinv, parts=True)
def pinv(y_bar, y, a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    y, y_bar = (y[0], y_bar[0]) if return_rank else (y, y_bar)
    return linear_algebra.pinv(y_bar, y, a)


@jvp_rule(linalg.pinv, broadcasts=True)
def push_pinv(tangents, y, a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    y_dot = linear_algebra.push_pinv(tangents, y[0] if return_rank else y, a)
    return (y_dot, None) if return_rank else y_dot


@vjp_rule(linalg.pinvh, parts=True)
def pinvh(y_bar, y, a, *, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    """The pseudoinverse of the Hermitian matrix whose one triangle is read."""
    y, y_bar = (y[0], y_bar[0]) if return_rank else (y, y_bar)
    return read_bar(linear_algebra.pinv(y_bar, y, read(a, "her", lower)), "her", lower)


@jvp_rule(linalg.pinvh, broadcasts=True)
def push_pinvh(tangents, y, a, *, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    y_dot = linear_algebra.push_pinv(
        (read(tangents[0], "her", lower),), y[0] if return_rank else y, read(a, "her", lower)
    )
    return (y_dot, None) if return_rank else y_dot


@vjp_rule(linalg.norm)
def norm(y_bar, y, a, *, ord=None, axis=None, keepdims=False, check_finite=True):
    return norms.norm(y_bar, np.asarray(y), a, ord=ord, axis=axis, keepdims=keepdims)


@jvp_rule(linalg.norm, broadcasts=True)
def push_norm(tangents, y, a, *, ord=None, axis=None, keepdims=False, check_finite=True):
    return norms.push_norm(tangents, np.asarray(y), a, ord=ord, axis=axis, keepdims=keepdims)
