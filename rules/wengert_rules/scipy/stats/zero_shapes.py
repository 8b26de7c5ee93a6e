"""Shapes that are exactly zero, where SciPy takes a limit in which they do not occur: it has slopes in them, too."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import stands_for
from wengert_rules.scipy.stats.methods import own

ROOT_2PI = math.sqrt(2 * math.pi)
LOG_ROOT_2PI = math.log(ROOT_2PI)
LOG_2 = math.log(2)
TERMS = 12  # of a series in a shape at zero: so many orders of derivatives are exact


def at_zero(coefficient, x, c):
    """x Σ aₖ (cx)ᵏ with a₀ = 1, which is x where c is zero."""
    total = 0.0
    for k in reversed(range(1, TERMS)):
        total = (coefficient(k) + total) * (c * x)
    return x * (1 + total)


def of_either(f, coefficient):
    """f(cx)/c, and at c = 0 its limit x, of which the series tells all derivatives."""

    def over(x, c):
        zero = c == 0
        if not np.any(zero):
            return f(c * x) / c
        near = zero & np.isfinite(x)
        beside = f(np.where(zero, 1, c) * np.where(zero, 0, x)) / np.where(zero, 1, c)
        limit = at_zero(coefficient, np.where(near, x, 0), np.where(near, c, 0))
        return np.where(near, limit, np.where(zero, x, beside))

    return over


log1p_over = of_either(special.log1p, lambda k: (-1) ** k / (k + 1))
expm1_over = of_either(special.expm1, lambda k: 1 / math.factorial(k + 1))


@stands_for(*own("genpareto", "_logsf"))
def genpareto_logsf(self, x, c):
    return -log1p_over(x, c)


@stands_for(*own("genpareto", "_logpdf"))
def genpareto_logpdf(self, x, c):
    zero = c == 0
    if not np.any(zero):
        return -special.xlog1py(c + 1.0, c * x) / c
    beside = -special.xlog1py(c + 1.0, c * np.where(zero, 0, x)) / np.where(zero, 1, c)
    return np.where(zero, -(c + 1) * log1p_over(x, np.where(zero, c, 1)), beside)


@stands_for(*own("genextreme", "_loglogcdf"))
def genextreme_loglogcdf(self, x, c):
    return -log1p_over(x, -c)


@stands_for(*own("genextreme", "_logpdf"))
def genextreme_logpdf(self, x, c):
    """With cx as SciPy has it beside zero; -∞ at the end of the support, and where both exponentials are infinite."""
    cx = np.where(np.isfinite(x), c * np.where(np.isfinite(x), x, 0), np.where(c == 0, 0, c * np.sign(x) * np.inf))
    ends = (cx == 1) | np.isinf(cx) | np.isinf(x)
    inner = np.where(ends, 0, x)
    logs = -log1p_over(inner, -c)
    logpdf = -np.exp(logs) + logs - special.log1p(-c * inner)
    return np.where(ends, np.where((c == 1) & (x == 1), 0.0, -np.inf), logpdf)


def standard(q):
    return -np.log(-np.log(q))


@stands_for(*own("genextreme", "_ppf"))
def genextreme_ppf(self, q, c):
    return expm1_over(standard(q), -c)


@stands_for(*own("genextreme", "_isf"))
def genextreme_isf(self, q, c):
    return expm1_over(-np.log(-special.log1p(-q)), -c)


@stands_for(*own("skewnorm", "_pdf"))
def skewnorm_pdf(self, x, a):
    return 2.0 * (np.exp(-(x**2) / 2.0) / ROOT_2PI) * special.ndtr(a * x)


@stands_for(*own("skewnorm", "_logpdf"))
def skewnorm_logpdf(self, x, a):
    """For a = 0 the logarithm of 2 Φ(ax) is zero to the last bit."""
    normal, tail = -(x**2) / 2.0 - LOG_ROOT_2PI, special.log_ndtr(a * x)
    return np.where(a == 0, normal + (tail - special.log_ndtr(0.0)), LOG_2 + normal + tail)


def kappa4_root(x, k):
    """(1 - kx)^(1/k), and the root's logarithm times (1 - k)."""
    zero = k == 0
    safe, x_safe = np.where(zero, 1.0, k), np.where(zero, 0.0, x)
    limit = -log1p_over(np.where(zero, x, 0.0), np.where(zero, -k, 1.0))
    root = np.where(zero, np.exp(limit), (1.0 - safe * x_safe) ** (1.0 / safe))
    return root, np.where(zero, (1 - k) * limit, special.xlog1py(1.0 / safe - 1.0, -safe * x_safe))


@stands_for(*own("kappa4", "_logpdf"))
def kappa4_logpdf(self, x, h, k):
    """The density is that of one power in another: (1 - kx)^(1/k - 1) (1 - hu)^(1/h - 1), where u = (1 - kx)^(1/k)."""
    root, inner = kappa4_root(x, k)
    return inner + kappa4_root(root, h)[1]


@stands_for(*own("kappa4", "_logcdf"))
def kappa4_logcdf(self, x, h, k):
    root = kappa4_root(x, k)[0]
    zero = h == 0
    safe = np.where(zero, 1.0, h)
    limit = -log1p_over(np.where(zero, root, 0.0), np.where(zero, -h, 1.0))
    return np.where(zero, limit, (1.0 / safe) * special.log1p(-safe * np.where(zero, 0.0, root)))


@stands_for(*own("kappa4", "_ppf"))
def kappa4_ppf(self, q, h, k):
    flat, sharp = h == 0, k == 0
    h_safe, k_safe = np.where(flat, 1.0, h), np.where(sharp, 1.0, k)
    logs = np.log(np.where(flat, q, 0.5))
    part = np.where(flat, -expm1_over(logs, np.where(flat, h, 1.0)), (1.0 - q**h_safe) / h_safe)
    both = sharp & ~flat
    minus_log = -special.log1p(-(np.where(both, q, 0.5) ** np.where(both, h, 1.0))) + np.log(np.where(both, h, 1.0))
    minus_log = np.where(both, minus_log, -np.log(np.where(both, 1.0, part)))
    limit = -expm1_over(-np.where(sharp, minus_log, 0.0), np.where(sharp, k, 1.0))
    return np.where(sharp, limit, 1.0 / k_safe * (1.0 - part**k_safe))
