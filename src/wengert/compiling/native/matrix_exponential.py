"""Native code for the exponential of a matrix: scaling and squaring with a Padé approximant of degree 13.

Source: Al-Mohy and Higham, A new scaling and squaring algorithm for the matrix exponential (2009), which SciPy follows,
with approximants of lower degrees, too.
"""

from __future__ import annotations

from typing import Any

from wengert.compiling.native import lapack
from wengert.compiling.native.helper_calls import call_helper
from wengert.compiling.native.values import UnsupportedOp, View, is_native_array

_COEFFICIENTS = [
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
]  # fmt: skip
_MATRICES_AT_WORK = 8  # in the workspace

MATRIX_STEPS = """
def scale_powers(w, y, m, f):
    # scale a matrix by f, and its second, fourth and sixth power accordingly
    for i in range(m):
        w[y + i] = w[y + i] * f
        w[y + m + i] = w[y + m + i] * f * f
        w[y + 2 * m + i] = w[y + 2 * m + i] * f * f * f * f
        w[y + 3 * m + i] = w[y + 3 * m + i] * f * f * f * f * f * f
    return False


def product_of_squares(w, c, a, b, n):
    blas_dgemm(78, 78, n, n, n, 1.0, w[b:], n, w[a:], n, 0.0, w[c:], n)
    return False


def greatest_sum(w, a, n):
    # the 1-norm of a matrix
    found = 0.0
    for j in range(n):
        s = 0.0
        for i in range(n):
            s += abs(w[a + i * n + j])
        found = s if s > found or s != s else found
    return found


def sums_of_power(w, a, v, n, m):
    # the 1-norm of a power of a matrix of absolute values
    for j in range(n):
        w[v + j] = 1.0
    for k in range(m):
        for j in range(n):
            s = 0.0
            for i in range(n):
                s += abs(w[a + i * n + j]) * w[v + i]
            w[v + n + j] = s
        for j in range(n):
            w[v + j] = w[v + n + j]
    found = 0.0
    for j in range(n):
        found = w[v + j] if w[v + j] > found or w[v + j] != w[v + j] else found
    return found
"""


def _terms(k: int) -> str:
    """Return the source of three terms of the approximant, of coefficients k, k - 2 and k - 4."""
    return " + ".join([f"{_COEFFICIENTS[k - 6 + j]!r} * w[a{j} + i]" for j in (6, 4, 2)])


EXPONENTIAL = f"""
def exponential(x, o, a, p, p0, p1, w, y, y0, y1, n):
    # write the exponential of an n x n matrix; return whether it is too large to scale
    m = n * n
    a1, a2, a4, a6, u, v, t = y, y + m, y + 2 * m, y + 3 * m, y + 4 * m, y + 5 * m, y + 6 * m
    for i in range(n):
        for j in range(n):
            w[a1 + i * n + j] = a[p + i * p0 + j * p1]
    product_of_squares(w, a2, a1, a1, n)
    product_of_squares(w, a4, a2, a2, n)
    product_of_squares(w, a6, a4, a2, n)
    product_of_squares(w, u, a4, a4, n)
    product_of_squares(w, v, a4, a6, n)
    d6, d8 = pow(greatest_sum(w, a6, n), {1 / 6!r}), pow(greatest_sum(w, u, n), 0.125)
    d10 = pow(greatest_sum(w, v, n), 0.1)
    size, one = min(max(d6, d8), max(d8, d10)), greatest_sum(w, a1, n)
    if not (size < 1e6 and one < 1e100):
        return True
    s = 0.0
    while size > 4.25:
        size = size * 0.5
        s = s + 1.0
    f = pow(0.5, s)
    scale_powers(w, y, m, f)
    more = sums_of_power(w, a1, t, n, 27) / (one * f * 1.1325077560602111e35) if one > 0.0 else 0.0
    more = np.ceil(log(more * 9007199254740992.0) * {1 / 26 / 0.6931471805599453!r}) if more > 0.0 else 0.0
    if more > 0.0:
        s = s + more
        scale_powers(w, y, m, pow(0.5, more))
    for i in range(m):
        w[t + i] = {_terms(13)}
    product_of_squares(w, v, a6, t, n)
    for i in range(m):
        w[v + i] += {_terms(7)}
    for i in range(n):
        w[v + i * n + i] += {_COEFFICIENTS[1]!r}
    product_of_squares(w, u, a1, v, n)
    for i in range(m):
        w[t + i] = {_terms(12)}
    product_of_squares(w, v, a6, t, n)
    for i in range(m):
        w[v + i] += {_terms(6)}
    for i in range(n):
        w[v + i * n + i] += {_COEFFICIENTS[0]!r}
    for i in range(m):
        w[a1 + i] = w[v + i] - w[u + i]
        w[t + i] = w[v + i] + w[u + i]
    if lapack_dgesv(n, n, w[a1:], n, w[u:], w[t:], n) != 0:
        return True
    for k in range(int(s)):
        product_of_squares(w, u, t, t, n)
        for i in range(m):
            w[t + i] = w[u + i]
    for i in range(m):
        x[o + i] = w[t + i]
    return False
"""
"""Rows of native code are columns of LAPACK: it solves for the transpose, which is the same, as all factors commute."""


def emit_exponential(body: Any, a: Any) -> View:
    """Emit the exponential of a matrix."""
    if not is_native_array(a) or len(a.shape) != 2 or not a.shape[0] or not lapack.is_available():
        raise UnsupportedOp("scipy.linalg.expm of anything but a matrix")
    matrix, n = body.view(body.as_float(a)), a.shape[0]
    work = body.level.new_array((_MATRICES_AT_WORK * n * n + 2 * n,))
    return call_helper(body, "exponential", (MATRIX_STEPS, EXPONENTIAL), [matrix, work], (n,), (n, n))
