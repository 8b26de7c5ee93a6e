"""Powers, exponentials and logarithms near 0, Box and Cox's transformation, degrees, and Huber's losses."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import batching, computes, non_differentiable, partials
from wengert_rules.batches.elementwise import elementwise
from wengert_rules.elementwise import DEGREE, LOG_2, LOG_10

NEAR = 0.5  # below which differences cancel, and so many terms of a series suffice
TERMS = 55


@partials(special.cbrt)
def cbrt(y, x):
    return 1 / (3 * y * y)


@partials(special.exp2)
def exp2(y, x):
    return LOG_2 * y


@partials(special.exp10)
def exp10(y, x):
    return LOG_10 * y


@partials(special.expm1)
def expm1(y, x):
    return np.exp(x)


@partials(special.log1p)
def log1p(y, x):
    return 1 / (1 + x)


@partials(special.cosm1)
def cosm1(y, x):
    return -np.sin(x)


@partials(special.powm1)
def powm1(y, a, b):
    """∂y/∂a = b aᵇ⁻¹, and 0 for b = 0;  ∂y/∂b = aᵇ log a, and 0 where the base has no logarithm."""
    below = b - ((b != 0) | (a != 0))
    return b * a**below, (y + 1) * np.log(np.where(a > 0, a, 1))


def exprel_slope(x, order):
    """The derivative of this order of f = (eˣ - 1)/x, by its series near 0: xf⁽ⁿ⁾ + nf⁽ⁿ⁻¹⁾ = eˣ = xf + 1."""
    near = np.absolute(x) < NEAR
    far = np.where(near, 1.0, x)
    start = found = special.exprel(far)
    for n in range(1, order + 1):
        found = np.where(np.isinf(start), start, start + (1 - n * found) / far)
    close = np.where(near, x, 0.0)
    return np.where(near, sum(close**k / (math.factorial(k) * (k + order + 1)) for k in range(TERMS // 3)), found)


@partials(exprel_slope)
def exprel_slope_(y, x, *, order):
    return exprel_slope(x, order + 1)


@partials(special.exprel)
def exprel(y, x):
    return exprel_slope(x, 1)


def log1prel_slope(x, order):
    """The derivative of this order of f = log(1 + x)/x, by its series near 0: xf⁽ⁿ⁾ + nf⁽ⁿ⁻¹⁾ is that of log(1 + x)."""
    near = np.absolute(x) < NEAR
    far = np.where(near, 1.0, x)
    found = np.log1p(far) / far
    for n in range(1, order + 1):
        found = ((-1) ** (n - 1) * math.factorial(n - 1) / (1 + far) ** n - n * found) / far
    close = np.where(near, x, 0.0)
    terms = [(-1) ** (k + order) * math.perm(k + order, order) / (k + order + 1) * close**k for k in range(TERMS)]
    return np.where(near, sum(terms), found)


@partials(log1prel_slope)
def log1prel_slope_(y, x, *, order):
    return log1prel_slope(x, order + 1)


@partials(special.boxcox)
def boxcox(y, x, power):
    """(xᵖ - 1)/p = L exprel(pL), where L = log x."""
    log = np.log(np.where(x == 0, 1, x))
    return x ** (power - 1), np.where(x == 0, 1 / where_else_1(x == 0, power) ** 2, box_slope(log, power))


@partials(special.boxcox1p)
def boxcox1p(y, x, power):
    log = np.log1p(np.where(x == -1, 0, x))
    return (1 + x) ** (power - 1), np.where(x == -1, 1 / where_else_1(x == -1, power) ** 2, box_slope(log, power))


def where_else_1(at, power):
    """The powers that are divided by: at 0 the others would make a nan of the second derivative."""
    return np.where(at, power, 1)


def box_slope(log, power):
    return log**2 * exprel_slope(power * log, 1)


@partials(special.inv_boxcox)
def inv_boxcox(x, y, power):
    """x = (1 + py)^(1/p)."""
    return x / (1 + power * y), x * y * y * log1prel_slope(power * y, 1)


@partials(special.inv_boxcox1p)
def inv_boxcox1p(x, y, power):
    return (x + 1) / (1 + power * y), (x + 1) * y * y * log1prel_slope(power * y, 1)


def tukey_slope(p, shape):
    """The slope of x = (pˢ - (1 - p)ˢ)/s in s."""
    log_p, log_q = np.log(p), np.log1p(-p)
    return log_p**2 * exprel_slope(shape * log_p, 1) - log_q**2 * exprel_slope(shape * log_q, 1)


@partials(special.tklmbda)
def tklmbda(p, x, shape):
    """x = (pˢ - (1 - p)ˢ)/s; beyond its ends p stays."""
    inside = (p > 0) & (p < 1)
    at = np.where(inside, p, 0.5)
    density = np.where(inside, 1 / (at ** (shape - 1) + (1 - at) ** (shape - 1)), 0)
    return density, -density * tukey_slope(at, shape)


@partials(special.sindg)
def sindg(y, x):
    return DEGREE * special.cosdg(x)


@partials(special.cosdg)
def cosdg(y, x):
    return -DEGREE * special.sindg(x)


@partials(special.tandg)
def tandg(y, x):
    return DEGREE * (1 + y * y)


@partials(special.cotdg)
def cotdg(y, x):
    return -DEGREE * (1 + y * y)


@partials(special.radian)
def radian(y, degrees, minutes, seconds):
    return DEGREE, DEGREE / 60, DEGREE / 3600


@partials(special.huber)
def huber(y, delta, r):
    size = np.absolute(r)
    return np.where(size > delta, size - delta, 0), np.clip(r, -delta, delta)


@partials(special.pseudo_huber)
def pseudo_huber(y, delta, r):
    """δ (h - δ) with h = √(δ² + r²), whose slopes are (h - δ)²/h and δr/h."""
    h = np.hypot(delta, r)
    whole = np.where(h == 0, 1, h)
    return r**4 / (whole * (whole + delta) ** 2), delta * r / whole


non_differentiable(special.round)
computes(exprel_slope)
computes(log1prel_slope)
batching(exprel_slope, log1prel_slope)(elementwise)
