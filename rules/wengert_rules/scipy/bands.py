"""Systems of equations as SciPy's own code hands them to LAPACK: banded, tridiagonal, symmetric and general."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from wengert.extend import pullback, pushforward, stands_for
from wengert_rules.products import conj
from wengert_rules.scipy.optional import present


def banded_solution(ab, b, *, lower, upper):
    """X of A X = B, where A[i, j] stands at ab[upper + i - j, j]."""
    return linalg.solve_banded((lower, upper), ab, b)


def moved(x, d):
    """`x` by d places towards the end of its first axis; what falls out at one end is zero at the other."""
    none = np.zeros((min(abs(d), np.shape(x)[0]), *np.shape(x)[1:]), x.dtype)
    return np.concatenate([none, x[: np.shape(x)[0] - d]] if d >= 0 else [x[-d:], none])


def transposed(ab, lower, upper):
    """The bands of Aᵀ, which has `upper` lower and `lower` upper ones."""
    return np.stack([moved(ab[upper + d], d) for d in range(lower, -upper - 1, -1)])


def columns(x):
    return x if np.ndim(x) == 2 else x[:, np.newaxis]


def product(ab, x, lower, upper):
    """A X."""
    return sum([moved(ab[upper + d][:, np.newaxis] * x, d) for d in range(-upper, lower + 1)])


@pullback(banded_solution)
def banded_solution_(y_bar, y, ab, b, *, lower, upper):
    """B̄ = A⁻ᴴ X̄, and of each element of A in the bands Ā = -B̄ Xᴴ."""
    b_bar = banded_solution(conj(transposed(ab, lower, upper)), y_bar, lower=upper, upper=lower)
    x, to_b = conj(columns(y)), columns(b_bar)
    ab_bar = np.stack([-np.sum(moved(to_b, -d) * x, axis=1) for d in range(-upper, lower + 1)])
    return ab_bar, b_bar


@pushforward(banded_solution)
def push_banded_solution(dots, y, ab, b, *, lower, upper):
    """Ẋ = A⁻¹ (Ḃ - Ȧ X)."""
    ab_dot, b_dot = dots
    change = 0.0 if b_dot is None else b_dot
    if ab_dot is not None:
        change = change - np.reshape(product(ab_dot, columns(y), lower, upper), np.shape(y))
    return banded_solution(ab, change, lower=lower, upper=upper)


def of_lapack(name):
    return present(*[f"linalg.lapack.{kind}{name}" for kind in "sdcz"])


@stands_for(*of_lapack("gbsv"))
def gbsv(kl, ku, ab, b, overwrite_ab=False, overwrite_b=False):
    """The factors are not given, nor are they below."""
    return None, None, banded_solution(ab[kl:], b, lower=kl, upper=ku), 0


@stands_for(*of_lapack("gtsv"))
def gtsv(dl, d, du, b, *overwrite):
    none = np.zeros(1, d.dtype)
    ab = np.stack([np.concatenate([none, du]), d, np.concatenate([dl, none])])
    return None, None, None, banded_solution(ab, b, lower=1, upper=1), 0


@stands_for(*of_lapack("gesv"))
def gesv(a, b, overwrite_a=False, overwrite_b=False):
    return None, None, np.linalg.solve(a, b), 0


@stands_for(*of_lapack("sysv"))
def sysv(a, b, lwork=None, lower=False, overwrite_a=False, overwrite_b=False):
    half, edge = (np.tril(a), np.tril(a, -1)) if lower else (np.triu(a), np.triu(a, 1))
    return None, None, np.linalg.solve(half + edge.T, b), 0
