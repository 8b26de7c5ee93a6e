"""Distribution functions that are incomplete gamma and beta functions, and their inverses in each argument.

Each forward function F has its slopes in `slopes_of_...`; the inverse in one argument has theirs over that argument's.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from wengert.extend import batching, computes, partials
from wengert_rules.batches.elementwise import elementwise
from wengert_rules.scipy.special.densities import beta_density, gamma_density
from wengert_rules.scipy.special.incomplete import beta_slope, gamma_slope, held
from wengert_rules.scipy.special.refusals import WHOLE, refused


def inside(x):
    """Whether x lies between the ends, which stay where they are."""
    return (x > 0) & (x < np.inf)


@partials(special.chdtr)
def chdtr(y, v, x):
    return gamma_slope(v / 2, x / 2, 1) / 2, gamma_density(v / 2, x / 2) / 2


@partials(special.chdtrc)
def chdtrc(y, v, x):
    return -gamma_slope(v / 2, x / 2, 1) / 2, -gamma_density(v / 2, x / 2) / 2


@partials(special.chdtri)
def chdtri(x, v, p):
    density = gamma_density(v / 2, x / 2)
    return -held(gamma_slope(v / 2, x / 2, 1), density), -2 / density


@partials(special.chdtriv)
def chdtriv(v, p, x):
    slope = gamma_slope(v / 2, x / 2, 1)
    return 2 / slope, -gamma_density(v / 2, x / 2) / slope


@partials(special.gdtr)
def gdtr(y, a, b, x):
    density = gamma_density(b, a * x)
    return np.where(inside(x), x * density, 0), gamma_slope(b, a * x, 1), a * density


@partials(special.gdtrc)
def gdtrc(y, a, b, x):
    density = gamma_density(b, a * x)
    return np.where(inside(x), -x * density, 0), -gamma_slope(b, a * x, 1), -a * density


@partials(special.gdtrix)
def gdtrix(x, a, b, p):
    density = gamma_density(b, a * x)
    return -x / a, -held(gamma_slope(b, a * x, 1), density) / a, 1 / (a * density)


@partials(special.gdtria)
def gdtria(a, p, b, x):
    density = gamma_density(b, a * x)
    return 1 / (x * density), -held(gamma_slope(b, a * x, 1), density) / x, -a / x


@partials(special.gdtrib)
def gdtrib(b, a, p, x):
    density, slope = gamma_density(b, a * x), gamma_slope(b, a * x, 1)
    return -x * density / slope, 1 / slope, -a * density / slope


@partials(special.pdtr)
def pdtr(y, k, m):
    """Q(⌊k⌋ + 1, m)."""
    return 0, -gamma_density(np.floor(k) + 1, m)


@partials(special.pdtrc)
def pdtrc(y, k, m):
    return 0, gamma_density(np.floor(k) + 1, m)


@partials(special.pdtri)
def pdtri(m, k, p):
    return refused(WHOLE), -1 / gamma_density(np.trunc(k) + 1, m)


@partials(special.pdtrik)
def pdtrik(k, p, m):
    """Constant where SciPy gives 0, as of a p below e⁻ᵐ; the others of a count so, too."""
    slope = np.where(k > 0, gamma_slope(k + 1, m, 1), np.inf)
    return -1 / slope, -gamma_density(k + 1, m) / slope


@partials(special.btdtria)
def btdtria(a, p, b, x):
    slope = beta_slope(a, b, x, (1, 0))
    return 1 / slope, -beta_slope(a, b, x, (0, 1)) / slope, -beta_density(a, b, x) / slope


@partials(special.btdtrib)
def btdtrib(b, a, p, x):
    slope = beta_slope(a, b, x, (0, 1))
    return -beta_slope(a, b, x, (1, 0)) / slope, 1 / slope, -beta_density(a, b, x) / slope


def f_point(d1, d2, x):
    """Where the F distribution reads the beta distribution."""
    return d1 * x / (d1 * x + d2)


def f_density(d1, d2, x):
    at = np.where(np.isinf(x), 1, x)
    density = beta_density(d1 / 2, d2 / 2, f_point(d1, d2, at)) * d1 * d2 / (d1 * at + d2) ** 2
    return np.where(np.isinf(x), 0, density)


def f_slope_1(d1, d2, x):
    """The point moves with d₁ as it does with x, in logarithms."""
    at = np.where(inside(x), x, 1)
    own = beta_slope(d1 / 2, d2 / 2, f_point(d1, d2, at), (1, 0)) / 2
    return np.where(inside(x), own + f_density(d1, d2, at) * at / d1, 0)


def f_slope_2(d1, d2, x):
    at = np.where(inside(x), x, 1)
    own = beta_slope(d1 / 2, d2 / 2, f_point(d1, d2, at), (0, 1)) / 2
    return np.where(inside(x), own - f_density(d1, d2, at) * at / d2, 0)


@partials(special.fdtr)
def fdtr(y, d1, d2, x):
    return f_slope_1(d1, d2, x), f_slope_2(d1, d2, x), f_density(d1, d2, x)


@partials(special.fdtrc)
def fdtrc(y, d1, d2, x):
    return -f_slope_1(d1, d2, x), -f_slope_2(d1, d2, x), -f_density(d1, d2, x)


@partials(special.fdtri)
def fdtri(x, d1, d2, p):
    density = f_density(d1, d2, x)
    return -held(f_slope_1(d1, d2, x), density), -held(f_slope_2(d1, d2, x), density), 1 / density


@partials(special.fdtridfd)
def fdtridfd(d2, d1, p, x):
    slope = f_slope_2(d1, d2, x)
    return -f_slope_1(d1, d2, x) / slope, 1 / slope, -f_density(d1, d2, x) / slope


def t_density(df, t):
    """Student's density: the beta density of (½, ν/2) at t²/(t² + ν), without its pole at 0; for ν = ∞ the normal."""
    normal = np.isinf(df)
    df = np.where(normal, 1, df)
    log = special.betaln(0.5, df / 2) + np.log(df) / 2 + (df + 1) / 2 * np.log1p(t * t / df)
    return np.where(normal, np.exp(-t * t / 2) / np.sqrt(2 * np.pi), np.exp(-log))


def t_tail(df, t, order):
    """The derivative in ν/2, of this order, of I(½, ν/2, t²/(t² + ν)), the probability of |t| or less; odd in t."""
    small = t * t < df
    part = np.where(small, t * t, df) / (t * t + df)
    inner = beta_slope(0.5, df / 2, np.where(small, part, 0.5), (0, order))
    outer = beta_slope(df / 2, 0.5, np.where(small, 0.5, part), (order, 0))
    return np.sign(t) * np.where(small, inner, -outer)


def t_rate(df, t):
    """By what the density of Student's t grows with ν, relatively."""
    both = special.digamma((df + 1) / 2) - special.digamma(df / 2)
    return (both - np.log1p(t * t / df) - 1 / df + (df + 1) / df * (t * t / (t * t + df))) / 2


def t_slope(df, t):
    """Half of that probability counts, and moves with ν as with t by its point; not where ν = ∞."""
    normal = np.isinf(df)
    df = np.where(normal, 1, df)
    return np.where(normal, 0, t_tail(df, t, 1) / 4 - t / (2 * df) * t_density(df, t))


@partials(t_slope)
def t_slope_(y, df, t):
    normal = np.isinf(df)
    df = np.where(normal, 1, df)
    density, rate = t_density(df, t), t_rate(df, t)
    logs = special.digamma((df + 1) / 2) - special.digamma(df / 2) - np.log1p(t * t / df)
    by_df = t_tail(df, t, 2) / 8 - t * density / df * (logs / 4 + rate / 2 - 0.5 / df)
    return np.where(normal, 0, by_df), np.where(normal, 0, density * rate)


@partials(special.stdtr)
def stdtr(y, df, t):
    return t_slope(df, t), t_density(df, t)


@partials(special.stdtrit)
def stdtrit(t, df, p):
    density = t_density(df, t)
    return -held(t_slope(df, t), density), 1 / density


@partials(special.stdtridf)
def stdtridf(df, p, t):
    slope = t_slope(df, t)
    return 1 / slope, -t_density(df, t) / slope


def binomial_density(k, n, p):
    """The slope of I(n - k, k + 1, 1 - p), the probability of k or less of n, in 1 - p."""
    return beta_density(np.floor(k) + 1, np.trunc(n) - np.floor(k), p)


@partials(special.bdtr)
def bdtr(y, k, n, p):
    return 0, refused(WHOLE), -binomial_density(k, n, p)


@partials(special.bdtrc)
def bdtrc(y, k, n, p):
    return 0, refused(WHOLE), binomial_density(k, n, p)


@partials(special.bdtri)
def bdtri(p, k, n, y):
    return 0, refused(WHOLE), -1 / binomial_density(k, n, p)


def binomial_slope_k(k, n, p):
    """Of I(n - k, k + 1, 1 - p) = 1 - I(k + 1, n - k, p) in a real k."""
    return beta_slope(k + 1, n - k, p, (0, 1)) - beta_slope(k + 1, n - k, p, (1, 0))


@partials(special.bdtrik)
def bdtrik(k, y, n, p):
    slope = np.where(k > 0, binomial_slope_k(k, n, p), np.inf)
    moved = beta_slope(k + 1, n - k, p, (0, 1))
    return 1 / slope, moved / slope, beta_density(k + 1, n - k, p) / slope


@partials(special.bdtrin)
def bdtrin(n, k, y, p):
    slope = -beta_slope(k + 1, n - k, p, (0, 1))
    return -binomial_slope_k(k, n, p) / slope, 1 / slope, beta_density(k + 1, n - k, p) / slope


@partials(special.nbdtr)
def nbdtr(y, k, n, p):
    """I(n, ⌊k⌋ + 1, p)."""
    return 0, refused(WHOLE), beta_density(np.trunc(n), np.floor(k) + 1, p)


@partials(special.nbdtrc)
def nbdtrc(y, k, n, p):
    return 0, refused(WHOLE), -beta_density(np.trunc(n), np.floor(k) + 1, p)


@partials(special.nbdtri)
def nbdtri(p, k, n, y):
    return 0, refused(WHOLE), 1 / beta_density(np.trunc(n), np.floor(k) + 1, p)


@partials(special.nbdtrik)
def nbdtrik(k, y, n, p):
    slope = np.where(k > 0, beta_slope(n, k + 1, p, (0, 1)), np.inf)
    return 1 / slope, -beta_slope(n, k + 1, p, (1, 0)) / slope, -beta_density(n, k + 1, p) / slope


@partials(special.nbdtrin)
def nbdtrin(n, k, y, p):
    slope = beta_slope(n, k + 1, p, (1, 0))
    return -beta_slope(n, k + 1, p, (0, 1)) / slope, 1 / slope, -beta_density(n, k + 1, p) / slope


@partials(special.nrdtrimn)
def nrdtrimn(mean, p, sd, x):
    """x - mean = sd z(p)."""
    z = special.ndtri(p)
    return -sd * np.sqrt(2 * np.pi) * np.exp(z * z / 2), -z, 1


@partials(special.nrdtrisd)
def nrdtrisd(sd, mean, p, x):
    z = special.ndtri(p)
    return -1 / z, -sd / z * np.sqrt(2 * np.pi) * np.exp(z * z / 2), 1 / z


batching(t_slope)(elementwise)
for function in (
    f_density,
    f_slope_1,
    f_slope_2,
    t_density,
    t_tail,
    t_rate,
    t_slope,
    binomial_density,
    binomial_slope_k,
):
    computes(function)
