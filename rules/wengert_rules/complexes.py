"""Complex numbers and their polar form, as `cmath` has them."""

from __future__ import annotations

import cmath

import numpy as np

from wengert.extend import jvp_rule, partials, vjp_rule
from wengert_rules.elementwise import nonzero


@vjp_rule(cmath.phase)
def phase(y_bar, y, z):
    """z̄ = ȳ i z/|z|², divided twice by |z|, whose square may underflow; 0 at 0."""
    size = nonzero(np.absolute(z))
    return y_bar * 1j * (z / size) / size


@jvp_rule(cmath.phase, broadcasts=True)
def push_phase(tangents, y, z):
    return np.imag(tangents[0] / nonzero(z))


@vjp_rule(cmath.polar)
def polar(y_bar, y, z):
    """y = (|z|, phase z)  ⇒  z̄ = (ȳ₀ + ȳ₁ i/|z|) z/|z|; 0 at 0."""
    size = nonzero(y[0])
    return (y_bar[0] + y_bar[1] * 1j / size) * (z / size)


@jvp_rule(cmath.polar, broadcasts=True)
def push_polar(tangents, y, z):
    size = nonzero(y[0])
    turned = np.conjugate(z / size) * tangents[0]
    return np.real(turned), np.imag(turned) / size


@partials(cmath.rect)
def rect(y, r, phi):
    """y = r exp(iφ)."""
    return np.exp(1j * phi), 1j * y
