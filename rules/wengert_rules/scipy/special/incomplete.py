"""The incomplete gamma and beta functions in all arguments, and their inverses."""

from __future__ import annotations

import numpy as np
from scipy import special

from wengert.extend import batching, computes, partials
from wengert_rules.batches.elementwise import elementwise
from wengert_rules.scipy.special.densities import beta_density, beta_weight, gamma_density, gamma_weight
from wengert_rules.scipy.special.tails import bell, in_blocks, over, reach


def gamma_moments(a, log_x, order):
    """The factor that ∂ⁿ/∂aⁿ of the density brings to it."""
    return bell(lambda j, _: log_x - special.digamma(a) if j == 1 else -special.polygamma(j - 1, a), (order, 0), {})


def gamma_slope(a, x, order):
    """∂ⁿP(a, x)/∂aⁿ, n > 0: over the tail below x, or less that above, in the logarithm of the variable."""
    return in_blocks(lambda a, x: gamma_tail(a, x, order), a, x)


def gamma_tail(a, x, order):
    """P(a, x) is P(a + 1, x) and a term, which is used where the tail of a small a is wide."""
    small = (a < 1) & (x < 1)
    term = np.where(small, gamma_density(a + 1, x) * gamma_moments(a + 1, np.log(x), order), 0.0)
    a = np.where(small, a + 1, a)
    side = np.where(x > a, 1.0, -1.0)
    drop, slope = lambda w: x * np.expm1(side * w) - side * a * w, lambda w: side * (x * np.exp(side * w) - a)
    width = reach(drop, slope, np.minimum(1.0, 1 / np.maximum(a, x)))
    whole = over(width, lambda w: np.exp(-drop(w)) * gamma_moments(a, np.log(x) + side * w, order))
    found = term - side * gamma_weight(a, x) * whole
    return np.where((x <= 0) | np.isinf(x), np.where(a > 0, 0.0, np.nan), found)[:, 0]


@partials(gamma_slope)
def gamma_slope_(y, a, x, *, order):
    within = np.where(x > 0, x, 1)
    return gamma_slope(a, x, order + 1), gamma_density(a, x) * gamma_moments(a, np.log(within), order)


def beta_moments(a, b, log_x, log_rest, order, shift=0):
    """The factor that ∂ᵐ∂ⁿ/∂aᵐ∂bⁿ of the density brings to it, or of xᵃ (1 - x)ᵇ/(a B(a, b)) for a shift of a by 1."""

    def moment(j, k):
        whole = special.polygamma(j + k - 1, a + b)
        if j and k:
            return whole
        own = whole - special.polygamma(j + k - 1, a + shift if j else b)
        return own if j + k > 1 else own + (log_x if j else log_rest)

    return bell(moment, order, {})


def beta_slope(a, b, x, order):
    """∂ᵐ∂ⁿI(a, b, x)/∂aᵐ∂bⁿ, m + n > 0: over the tail below x, or less that above, in the logit of the variable."""
    return in_blocks(lambda a, b, x: beta_tail(a, b, x, order), a, b, x)


def beta_tail(a, b, x, order):
    """The tail above x is that below 1 - x with a and b exchanged."""
    above = (x * (a + b) > a)[:, 0]
    found = np.empty(len(x))
    found[~above] = beta_below(a[~above], b[~above], x[~above], order)[:, 0]
    found[above] = -beta_below(b[above], a[above], 1 - x[above], order[::-1])[:, 0]
    outside = np.where((a > 0) & (b > 0), 0.0, np.nan)
    return np.where((x <= 0) | (x >= 1), outside, found[:, None])[:, 0]


def beta_below(a, b, x, order):
    """I(a, b, x) is I(a + 1, b, x) and a term, which is used where the tail of a small a is wide."""
    small = a < 1
    term = beta_weight(a, b, x) / a * beta_moments(a, b, np.log(x), np.log1p(-x), order, 1)
    p = np.where(small, a + 1, a)
    n = p + b

    def drop(w):
        return p * w + n * np.log1p(x * np.expm1(-w))

    def density(w):
        log_rest = -np.log1p(x * np.expm1(-w))
        return np.exp(-drop(w)) * beta_moments(p, b, np.log(x) - w + log_rest, np.log1p(-x) + log_rest, order)

    width = reach(drop, lambda w: p - n * x / (x + (1 - x) * np.exp(w)), 1 / p)
    return np.where(small, term, 0.0) + beta_weight(p, b, x) * over(width, density)


@partials(beta_slope)
def beta_slope_(y, a, b, x, *, order):
    m, n = order
    t = np.where((x > 0) & (x < 1), x, 0.5)
    moved = beta_density(a, b, x) * beta_moments(a, b, np.log(t), np.log1p(-t), order)
    return beta_slope(a, b, x, (m + 1, n)), beta_slope(a, b, x, (m, n + 1)), moved


for function in (gamma_moments, gamma_slope, beta_moments, beta_slope):
    computes(function)
batching(gamma_slope, beta_slope)(elementwise)


@partials(special.gammainc)
def gammainc(y, a, x):
    return gamma_slope(a, x, 1), gamma_density(a, x)


@partials(special.gammaincc)
def gammaincc(y, a, x):
    return -gamma_slope(a, x, 1), -gamma_density(a, x)


@partials(special.gammaincinv)
def gammaincinv(x, a, p):
    density = gamma_density(a, x)
    return -held(gamma_slope(a, x, 1), density), 1 / density


@partials(special.gammainccinv)
def gammainccinv(x, a, p):
    density = gamma_density(a, x)
    return -held(gamma_slope(a, x, 1), density), -1 / density


def held(slope, density):
    """slope/density, and 0 where both vanish: an end stays where it is."""
    return np.where(slope == 0, 0, slope / np.where(slope == 0, 1, density))


@partials(special.betainc)
def betainc(y, a, b, x):
    return beta_slope(a, b, x, (1, 0)), beta_slope(a, b, x, (0, 1)), beta_density(a, b, x)


@partials(special.betaincc)
def betaincc(y, a, b, x):
    return -beta_slope(a, b, x, (1, 0)), -beta_slope(a, b, x, (0, 1)), -beta_density(a, b, x)


@partials(special.betaincinv)
def betaincinv(x, a, b, p):
    density = beta_density(a, b, x)
    return -held(beta_slope(a, b, x, (1, 0)), density), -held(beta_slope(a, b, x, (0, 1)), density), 1 / density


@partials(special.betainccinv)
def betainccinv(x, a, b, p):
    density = beta_density(a, b, x)
    return -held(beta_slope(a, b, x, (1, 0)), density), -held(beta_slope(a, b, x, (0, 1)), density), -1 / density
