"""Legendre functions and spherical harmonics, which SciPy gives with their derivatives in one array."""

from __future__ import annotations

import numpy as np
from scipy import special

from wengert.extend import NoDerivativeError, batching, computes, partials
from wengert_rules.batches.elementwise import elementwise
from wengert_rules.scipy.special.polynomials import WHOLE_DEGREE
from wengert_rules.scipy.special.refusals import refused

HIGHEST = 2  # SciPy gives no derivative of a higher order


def next_order(diff_n):
    """The order of the derivatives after those to the order `diff_n`.

    Errors: NoDerivativeError where SciPy gives none.
    """
    if diff_n >= HIGHEST:
        raise NoDerivativeError("SciPy has no third derivative of this function. Use scipy.special.lpmv, which has all")
    return diff_n + 1


if hasattr(special, "legendre_p"):  # from SciPy 1.15

    @computes
    def legendre_slopes(n, z, diff_n):
        return special.legendre_p(n, z, diff_n=next_order(diff_n))[1:]

    @computes
    def assoc_legendre_slopes(n, m, z, branch_cut, norm, diff_n):
        order = next_order(diff_n)
        return special.assoc_legendre_p(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=order)[1:]

    @computes
    def sph_legendre_slopes(n, m, theta, diff_n):
        return special.sph_legendre_p(n, m, theta, diff_n=next_order(diff_n))[1:]

    @partials(special.legendre_p)
    def legendre_p(y, n, z, *, diff_n=0):
        return refused(WHOLE_DEGREE), legendre_slopes(n, z, diff_n)

    @partials(special.assoc_legendre_p)
    def assoc_legendre_p(y, n, m, z, *, branch_cut=2, norm=False, diff_n=0):
        slopes = assoc_legendre_slopes(n, m, z, branch_cut, norm, diff_n)
        return refused(WHOLE_DEGREE), refused(WHOLE_DEGREE), slopes

    @partials(special.sph_legendre_p)
    def sph_legendre_p(y, n, m, theta, *, diff_n=0):
        return refused(WHOLE_DEGREE), refused(WHOLE_DEGREE), sph_legendre_slopes(n, m, theta, diff_n)

    @computes
    def harmonic(n, m, theta, phi):
        return special.sph_harm_y(n, m, theta, phi)

    def rooted(square):
        """The root of a whole number; 0 where that is negative, as |m| > n makes it, and the harmonic is 0."""
        return np.sqrt(np.maximum(square, 0.0))

    @computes
    def alone(diff_n):
        """1, where spherical harmonics come without derivatives; those have no rule."""
        return refused("sph_harm_y has no rule for diff_n. Call it without, and differentiate it") if diff_n else 1

    @partials(special.sph_harm_y)
    def sph_harm_y(y, n, m, theta, phi, *, diff_n=0):
        """∂Y/∂θ by the neighbours of m, without a pole; ∂Y/∂φ = im Y."""
        up, down = rooted((n - m) * (n + m + 1)), rooted((n + m) * (n - m + 1))
        turn = np.exp(1j * phi)
        to_theta = (up / turn * harmonic(n, m + 1, theta, phi) - down * turn * harmonic(n, m - 1, theta, phi)) / 2
        return refused(WHOLE_DEGREE), refused(WHOLE_DEGREE), alone(diff_n) * to_theta, alone(diff_n) * 1j * m * y

    batching(special.sph_harm_y)(elementwise)
