"""Distributions whose constants are Bessel functions: von Mises, generalised inverse Gaussian, generalised hyperbolic.

The slopes of a distribution function in its parameters are those of the density, integrated over the nearer tail.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats
from scipy.stats import _stats

from wengert.extend import computes, partials, stands_for
from wengert_rules.scipy.special.bessel_orders import by_argument, by_order, log_bessel_k
from wengert_rules.scipy.special.nodes import beyond, in_tail, spread
from wengert_rules.scipy.stats.methods import own, untraced

LOG_2 = math.log(2)
LOG_ROOT_2PI = math.log(2 * math.pi) / 2
NODES, GAUSS = np.polynomial.legendre.leggauss(64)


@partials(_stats.von_mises_cdf)
def vonmises_cdf(y, kappa, x):
    return vonmises_cdf_by_kappa(kappa, x), np.exp(kappa * (np.cos(x) - 1)) / (2 * math.pi * special.i0e(kappa))


def vonmises_cdf_by_kappa(kappa, x):
    """∫ f(u) (cos u - I₁/I₀) du from 0, where F is ½, to x, or as far as f has not vanished."""
    turned = np.mod(x + math.pi, 2 * math.pi) - math.pi
    half = np.clip(turned, -9 / np.sqrt(kappa), 9 / np.sqrt(kappa)) / 2
    u = spread(half)[0] * (1 + NODES)
    (kappa,) = spread(kappa)
    excess = np.cos(u) - special.i1e(kappa) / special.i0e(kappa)
    return half * np.sum(GAUSS * np.exp(kappa * (np.cos(u) - 1)) * excess / (2 * math.pi * special.i0e(kappa)), axis=-1)


def gig_logpdf(x, p, b):
    return (p - 1) * np.log(x) - b * (x + 1 / x) / 2 - LOG_2 - log_bessel_k(p, b)


@stands_for(*own("geninvgauss", "_logpdf"))
def geninvgauss_logpdf(self, x, p, b):
    return gig_logpdf(x, p, b)


def gig_cdf(x, p, b):
    return stats.geninvgauss._cdf(*untraced(x, p, b))


@stands_for(*own("geninvgauss", "_cdf"))
def geninvgauss_cdf(self, x, p, b):
    return gig_cdf(x, p, b)


@partials(gig_cdf)
def gig_cdf_(y, x, p, b):
    by_p, by_b = by_order(p, b), by_argument(p, b)
    return (
        np.exp(gig_logpdf(x, p, b)),
        gig_mean(lambda u, by: np.log(u) - by, y, x, p, b, by_p),
        gig_mean(lambda u, by: -(u + 1 / u) / 2 - by, y, x, p, b, by_b),
    )


@computes
def gig_mean(slope, y, x, p, b, by):
    """∫ f(u) slope(u, by) du from 0 to x, or its opposite from x to ∞, which is as much."""
    left = y < 0.5

    def integrand(u, p, b, log_k, by):
        return np.exp((p - 1) * np.log(u) - b * (u + 1 / u) / 2 - LOG_2 - log_k) * slope(u, by)

    tail = in_tail(integrand, x, (p, b, log_bessel_k(p, b), by), left, 1 / np.sqrt(1 + b))
    return np.where(left, tail, -tail)


def hyperbolic_logpdf(x, p, a, b):
    d, s = np.sqrt((a + b) * (a - b)), np.sqrt(1 + x * x)
    powers = p * np.log(d) + (p - 0.5) * np.log(s / a)
    return powers + b * x + log_bessel_k(p - 0.5, a * s) - log_bessel_k(p, d) - LOG_ROOT_2PI


@stands_for(*own("genhyperbolic", "_logpdf"))
def genhyperbolic_logpdf(self, x, p, a, b):
    return hyperbolic_logpdf(x, p, a, b)


@stands_for(*own("genhyperbolic", "_pdf"))
def genhyperbolic_pdf(self, x, p, a, b):
    return np.exp(hyperbolic_logpdf(x, p, a, b))


def hyperbolic_by(x, p, a, b):
    """The slopes of log f in x, p, a and b."""
    square, s = (a + b) * (a - b), np.sqrt(1 + x * x)
    d = np.sqrt(square)
    near, far = by_argument(p, d), by_argument(p - 0.5, a * s)
    by_p = np.log(d * s / a) + by_order(p - 0.5, a * s) - by_order(p, d)
    by_a = p * a / square - (p - 0.5) / a + s * far - a / d * near
    return by_p, by_a, x - p * b / square + b / d * near


def hyperbolic_cdf(x, p, a, b):
    return stats.genhyperbolic._cdf(*untraced(x, p, a, b))


def hyperbolic_sf(x, p, a, b):
    return stats.genhyperbolic._sf(*untraced(x, p, a, b))


@stands_for(*own("genhyperbolic", "_cdf"))
def genhyperbolic_cdf(self, x, p, a, b):
    return hyperbolic_cdf(x, p, a, b)


@stands_for(*own("genhyperbolic", "_sf"))
def genhyperbolic_sf(self, x, p, a, b):
    return hyperbolic_sf(x, p, a, b)


@partials(hyperbolic_cdf)
def hyperbolic_cdf_(y, x, p, a, b):
    pdf = np.exp(hyperbolic_logpdf(x, p, a, b))
    return pdf, *[hyperbolic_cdf_by(k, y < 0.5, x, p, a, b) for k in range(3)]


@partials(hyperbolic_sf)
def hyperbolic_sf_(y, x, p, a, b):
    pdf = np.exp(hyperbolic_logpdf(x, p, a, b))
    return -pdf, *[-hyperbolic_cdf_by(k, y > 0.5, x, p, a, b) for k in range(3)]


@computes
def hyperbolic_cdf_by(which, left, x, p, a, b):
    """The slope of F in p, a or b."""

    def integrand(u, p, a, b):
        return np.exp(hyperbolic_logpdf(u, p, a, b)) * hyperbolic_by(u, p, a, b)[which]

    tail = beyond(integrand, x, (p, a, b), left, (1 + np.sqrt(a)) / a)
    return np.where(left, tail, -tail)


def inverse_gaussian_cdf(x, a, b):
    return stats.norminvgauss._cdf(*untraced(x, a, b))


def inverse_gaussian_sf(x, a, b):
    return stats.norminvgauss._sf(*untraced(x, a, b))


@stands_for(*own("norminvgauss", "_cdf"))
def norminvgauss_cdf(self, x, a, b):
    return inverse_gaussian_cdf(x, a, b)


@stands_for(*own("norminvgauss", "_sf"))
def norminvgauss_sf(self, x, a, b):
    return inverse_gaussian_sf(x, a, b)


@partials(inverse_gaussian_cdf)
def inverse_gaussian_cdf_(y, x, a, b):
    """The generalised hyperbolic law with p = -½."""
    pdf = np.exp(hyperbolic_logpdf(x, -0.5, a, b))
    return pdf, *[hyperbolic_cdf_by(k, y < 0.5, x, -0.5, a, b) for k in (1, 2)]


@partials(inverse_gaussian_sf)
def inverse_gaussian_sf_(y, x, a, b):
    pdf = np.exp(hyperbolic_logpdf(x, -0.5, a, b))
    return -pdf, *[-hyperbolic_cdf_by(k, y > 0.5, x, -0.5, a, b) for k in (1, 2)]
