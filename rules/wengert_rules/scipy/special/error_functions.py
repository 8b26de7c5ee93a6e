"""The error function and its kin: those of Dawson and Faddeeva, and the normal distribution with its inverses."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import batching, partials
from wengert_rules.batches.elementwise import elementwise

ROOT_PI = math.sqrt(math.pi)
ROOT_2 = math.sqrt(2.0)
ROOT_2PI = math.sqrt(2.0 * math.pi)
FAR = 20.0  # from where the asymptotic series hold to rounding, and differences cancel
TERMS = 12


def odd_factorial(k):
    """(2k - 1)!!."""
    return math.prod(range(1, 2 * k, 2))


def fall(x, order, sign):
    """The derivative of this order of Σ (±1)ᵏ (2k - 1)!!/(2ᵏ x²ᵏ⁺¹), the asymptotic series of the functions below."""
    total = 0.0
    for k in range(TERMS):
        factor = sign**k * odd_factorial(k) / 2**k * (-1) ** order * math.perm(2 * k + order, order)
        total = total + factor * x ** -(2.0 * k + 1 + order)
    return total


def erfcx_slope(x, order):
    """The derivative of erfcx of this order: y' = 2xy - 2/√π, and by the series where the difference cancels."""
    before, found = 0.0, special.erfcx(x)
    for n in range(order):
        before, found = found, 2 * x * found + (2 * n * before if n else -2 / ROOT_PI)
    far = (np.absolute(x) > FAR) & (np.real(x) >= 0)
    return np.where(far, fall(np.where(far, x, FAR), order, -1) / ROOT_PI, found)


@partials(erfcx_slope)
def erfcx_slope_(y, x, *, order):
    return erfcx_slope(x, order + 1)


def dawsn_slope(x, order):
    """The derivative of this order of Dawson's function: y' = 1 - 2xy, and by its series where that cancels."""
    before, found = 0.0, special.dawsn(x)
    for n in range(order):
        before, found = found, -2 * x * found + (-2 * n * before if n else 1.0)
    far = (np.absolute(np.real(x)) > FAR) & (np.absolute(np.imag(x)) < FAR / 2)
    return np.where(far, fall(np.where(far, x, FAR), order, 1) / 2, found)


@partials(dawsn_slope)
def dawsn_slope_(y, x, *, order):
    return dawsn_slope(x, order + 1)


@partials(special.erf)
def erf(y, x):
    return 2 / ROOT_PI * np.exp(-x * x)


@partials(special.erfc)
def erfc(y, x):
    return -2 / ROOT_PI * np.exp(-x * x)


@partials(special.erfi)
def erfi(y, x):
    return 2 / ROOT_PI * np.exp(x * x)


@partials(special.erfcx)
def erfcx(y, x):
    return erfcx_slope(x, 1)


@partials(special.dawsn)
def dawsn(y, x):
    return dawsn_slope(x, 1)


@partials(special.wofz)
def wofz(y, z):
    """w(z) = erfcx(-iz)."""
    return -1j * erfcx_slope(-1j * z, 1)


@partials(special.erfinv)
def erfinv(y, x):
    return ROOT_PI / 2 * np.exp(y * y)


@partials(special.erfcinv)
def erfcinv(y, x):
    return -ROOT_PI / 2 * np.exp(y * y)


@partials(special.ndtr)
def ndtr(y, x):
    return np.exp(-x * x / 2) / ROOT_2PI


def inverse_series(a):
    """The coefficients of 1/Σ aₖtᵏ, where a₀ is 1."""
    made = [1]
    for k in range(1, len(a)):
        made.append(-sum(a[j] * made[k - j] for j in range(1, k + 1)))
    return made


MILLS = inverse_series([(-1) ** k * odd_factorial(k) for k in range(TERMS)])


def mills(x, order):
    """The derivative of this order of m = φ(x)/Φ(x), the slope of log Φ: m' = -m (x + m).

    Far to the left, where both vanish and the sum cancels, by its series, -x Σ aₖ/x²ᵏ.
    """
    found = [ROOT_2 / ROOT_PI / special.erfcx(-x / ROOT_2)]
    for n in range(order):
        squared = sum(math.comb(n, j) * found[j] * found[n - j] for j in range(n + 1))
        found.append(-x * found[n] - (n * found[n - 1] if n else 0.0) - squared)
    if not order:
        return found[0]
    far = np.real(x) < -FAR
    out = np.where(far, x, -FAR)
    powers = [math.prod(range(1 - 2 * k, 1 - 2 * k - order, -1)) for k in range(TERMS)]
    series = sum(-a * p * out ** (1.0 - 2 * k - order) for k, (a, p) in enumerate(zip(MILLS, powers, strict=True)))
    return np.where(far, series, found[order])


@partials(mills)
def mills_(y, x, *, order):
    return mills(x, order + 1)


@partials(special.log_ndtr)
def log_ndtr(y, x):
    return mills(x, 0)


@partials(special.ndtri)
def ndtri(y, p):
    return ROOT_2PI * np.exp(y * y / 2)


@partials(special.ndtri_exp)
def ndtri_exp(y, log_p):
    return 1 / mills(y, 0)


batching(erfcx_slope, dawsn_slope, mills)(elementwise)
