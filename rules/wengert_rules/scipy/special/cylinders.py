"""Solutions of other linear equations of second order: Airy's, Kelvin's, Struve's and the parabolic cylinder's.

Those that give a function with its derivative give the next one by the equation.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import is_complex, jvp_rule, partials, vjp_rule
from wengert_rules.products import conj
from wengert_rules.scipy.special.integrals import gathered
from wengert_rules.scipy.special.refusals import ORDER, PARAMETER, refused


@vjp_rule(special.airy)
def airy(y_bar, y, z):
    """(Ai, Ai', Bi, Bi'), where Ai'' = z Ai."""
    first = y_bar[0] * conj(y[1]) + y_bar[1] * conj(z * y[0])
    return first + y_bar[2] * conj(y[3]) + y_bar[3] * conj(z * y[2])


@jvp_rule(special.airy, broadcasts=True)
def push_airy(tangents, y, z):
    return tangents[0] * y[1], tangents[0] * z * y[0], tangents[0] * y[3], tangents[0] * z * y[2]


def root(z):
    """√z, the slope of ζ = (2/3) z^(3/2), by whose exponential the functions are scaled; 0 on the left of the line."""
    return np.sqrt(z) if is_complex(z) else np.sqrt(np.where(z > 0, z, 0))


def scaled_slopes(y, z):
    """The slopes of the scaled Ai and Ai', and those of Bi and Bi' but for what is not holomorphic."""
    return y[1] + root(z) * y[0], z * y[0] + root(z) * y[1], y[3], z * y[2]


@vjp_rule(special.airye)
def airye(y_bar, y, z):
    """Airy's functions times exp(ζ), and times exp(-|Re ζ|), where ζ = (2/3) z^(3/2)."""
    slopes = scaled_slopes(y, z)
    z_bar = sum([cotangent * conj(slope) for cotangent, slope in zip(y_bar, slopes, strict=True)])
    return z_bar - conj(side(z)) * np.real(conj(y[2]) * y_bar[2] + conj(y[3]) * y_bar[3])


def side(z):
    """The slope of ζ, with the sign of its real part."""
    return root(z) * np.sign(np.real(z * root(z)))


@jvp_rule(special.airye, broadcasts=True)
def push_airye(tangents, y, z):
    slopes = scaled_slopes(y, z)
    damping = np.real(side(z) * tangents[0])
    of_bi = tangents[0] * slopes[2] - damping * y[2], tangents[0] * slopes[3] - damping * y[3]
    return tangents[0] * slopes[0], tangents[0] * slopes[1], *of_bi


@partials(special.ber)
def ber(y, x):
    return special.berp(x)


@partials(special.bei)
def bei(y, x):
    return special.beip(x)


@partials(special.ker)
def ker(y, x):
    return special.kerp(x)


@partials(special.kei)
def kei(y, x):
    return special.keip(x)


@partials(special.berp)
def berp(y, x):
    return -special.bei(x) - y_over_x(y, x)


@partials(special.beip)
def beip(y, x):
    return special.ber(x) - y_over_x(y, x, 0.5)


@partials(special.kerp)
def kerp(y, x):
    return -special.kei(x) - y_over_x(y, x)


@partials(special.keip)
def keip(y, x):
    return special.ker(x) - y_over_x(y, x)


def y_over_x(y, x, at_zero=0.0):
    """y/x, and its limit at 0."""
    return np.where(x == 0, at_zero, y / np.where(x == 0, 1, x))


@vjp_rule(special.kelvin, parts=True)
def kelvin(y_bar, y, x):
    """(Be, Ke, Be', Ke'), functions of x√i, where Be'' = i Be - Be'/x."""
    return np.real(gathered(y_bar, (y[2], y[3], 1j * y[0] - y_over_x(y[2], x, 0.5j), 1j * y[1] - y[3] / x)))


@jvp_rule(special.kelvin, broadcasts=True)
def push_kelvin(tangents, y, x):
    tangent = tangents[0]
    return (
        tangent * y[2],
        tangent * y[3],
        tangent * (1j * y[0] - y_over_x(y[2], x, 0.5j)),
        tangent * (1j * y[1] - y[3] / x),
    )


def struve_constant(v):
    """1/(√π Γ(v + 3/2)), of which (x/2)ᵛ is what the recurrence has besides."""
    return special.rgamma(v + 1.5) / math.sqrt(math.pi)


@partials(special.struve)
def struve(y, v, x):
    return refused(ORDER), (special.struve(v - 1, x) - special.struve(v + 1, x) + struve_constant(v) * (x / 2) ** v) / 2


@partials(special.modstruve)
def modstruve(y, v, x):
    both = special.modstruve(v - 1, x) + special.modstruve(v + 1, x)
    return refused(ORDER), (both + struve_constant(v) * (x / 2) ** v) / 2


@vjp_rule(special.pbdv, broadcasts=True)
def pbdv(y_bar, y, v, x):
    """(D, D'), where D'' = (x²/4 - v - ½) D."""
    return refused(ORDER), y_bar[0] * y[1] + y_bar[1] * (x * x / 4 - v - 0.5) * y[0]


@jvp_rule(special.pbdv, broadcasts=True)
def push_pbdv(tangents, y, v, x):
    tangent = tangents[1] if tangents[0] is None else refused(ORDER)
    return tangent * y[1], tangent * (x * x / 4 - v - 0.5) * y[0]


@vjp_rule(special.pbvv, broadcasts=True)
def pbvv(y_bar, y, v, x):
    """(V, V'), where V'' = (x²/4 - v - ½) V."""
    return refused(ORDER), y_bar[0] * y[1] + y_bar[1] * (x * x / 4 - v - 0.5) * y[0]


@jvp_rule(special.pbvv, broadcasts=True)
def push_pbvv(tangents, y, v, x):
    tangent = tangents[1] if tangents[0] is None else refused(ORDER)
    return tangent * y[1], tangent * (x * x / 4 - v - 0.5) * y[0]


@vjp_rule(special.pbwa, broadcasts=True)
def pbwa(y_bar, y, a, x):
    """(W, W'), where W'' = (a - x²/4) W."""
    return refused(PARAMETER), y_bar[0] * y[1] + y_bar[1] * (a - x * x / 4) * y[0]


@jvp_rule(special.pbwa, broadcasts=True)
def push_pbwa(tangents, y, a, x):
    tangent = tangents[1] if tangents[0] is None else refused(PARAMETER)
    return tangent * y[1], tangent * (a - x * x / 4) * y[0]
