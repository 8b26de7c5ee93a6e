"""Functions that are integrals of others: sine, cosine, exponential and Fresnel integrals, dilogarithms, profiles."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import jvp_rule, partials, vjp_rule
from wengert_rules.products import conj
from wengert_rules.scipy.special.error_functions import ROOT_2, ROOT_2PI, ROOT_PI, erfcx_slope
from wengert_rules.scipy.special.powers import log1prel_slope
from wengert_rules.scipy.special.refusals import ORDER, PARAMETER, WHOLE, refused


def less_one_over(value, x):
    """(f(x) - 1)/x of an even f with f(0) = 1, and its limit at 0."""
    return (value - 1) / np.where(x == 0, 1, x)


def over(value, x):
    """sin(x)/x or its like, with its limit at 0."""
    return np.where(x == 0, 1, value) / np.where(x == 0, 1, x)


def gathered(y_bar, slopes):
    """Σ ȳₖ conj(slopeₖ) over the results that were used: of the others a slope may be infinite."""
    return sum(
        [cotangent * conj(slope) for cotangent, slope in zip(y_bar, slopes, strict=True) if cotangent is not None]
    )


def sici_slopes(x):
    return over(np.sin(x), x), (np.cos(x) / x)


@vjp_rule(special.sici, parts=True)
def sici(y_bar, y, x):
    return gathered(y_bar, sici_slopes(x))


@jvp_rule(special.sici, broadcasts=True)
def push_sici(tangents, y, x):
    first, second = sici_slopes(x)
    return tangents[0] * first, tangents[0] * second


def shichi_slopes(x):
    return over(np.sinh(x), x), (np.cosh(x) / x)


@vjp_rule(special.shichi, parts=True)
def shichi(y_bar, y, x):
    return gathered(y_bar, shichi_slopes(x))


@jvp_rule(special.shichi, broadcasts=True)
def push_shichi(tangents, y, x):
    first, second = shichi_slopes(x)
    return tangents[0] * first, tangents[0] * second


@vjp_rule(special.fresnel)
def fresnel(y_bar, y, z):
    angle = math.pi / 2 * z * z
    return y_bar[0] * conj(np.sin(angle)) + y_bar[1] * conj(np.cos(angle))


@jvp_rule(special.fresnel, broadcasts=True)
def push_fresnel(tangents, y, z):
    angle = math.pi / 2 * z * z
    return tangents[0] * np.sin(angle), tangents[0] * np.cos(angle)


def modified_slopes(y, x, turn):
    """Of F = ∫ exp(±it²) dt from x on, and K = exp(∓i(x² + π/4)) F/√π, where `turn` is ±i."""
    return -np.exp(turn * x * x), -2 * turn * x * y[1] - np.exp(-turn * math.pi / 4) / ROOT_PI


@vjp_rule(special.modfresnelp)
def modfresnelp(y_bar, y, x):
    f, k = modified_slopes(y, x, 1j)
    return np.real(conj(f) * y_bar[0] + conj(k) * y_bar[1])


@jvp_rule(special.modfresnelp, broadcasts=True)
def push_modfresnelp(tangents, y, x):
    f, k = modified_slopes(y, x, 1j)
    return tangents[0] * f, tangents[0] * k


@vjp_rule(special.modfresnelm)
def modfresnelm(y_bar, y, x):
    f, k = modified_slopes(y, x, -1j)
    return np.real(conj(f) * y_bar[0] + conj(k) * y_bar[1])


@jvp_rule(special.modfresnelm, broadcasts=True)
def push_modfresnelm(tangents, y, x):
    f, k = modified_slopes(y, x, -1j)
    return tangents[0] * f, tangents[0] * k


@partials(special.expi)
def expi(y, x):
    return np.exp(x) / x


@partials(special.exp1)
def exp1(y, x):
    return -np.exp(-x) / x


@partials(special.expn)
def expn(y, n, x):
    """-Eₙ₋₁(x), where E₀(x) = exp(-x)/x; n that is no whole number is cut, here and in all that knows only these."""
    n = np.trunc(n)
    return refused(WHOLE), np.where(n == 0, -y * (1 + 1 / x), -special.expn(np.where(n == 0, n, n - 1), x))


@partials(special.spence)
def spence(y, z):
    """log z/(1 - z)."""
    return -log1prel_slope(z - 1, 0)


@partials(special.owens_t)
def owens_t(y, h, a):
    slope = np.exp(-h * h * (1 + a * a) / 2) / (2 * math.pi * (1 + a * a))
    return -np.exp(-h * h / 2) * special.erf(a * h / ROOT_2) / (2 * ROOT_2PI), slope


@partials(special.voigt_profile)
def voigt_profile(y, x, sigma, gamma):
    """Re w(z)/(σ√(2π)) at z = (x + iγ)/(σ√2), where ∂y/∂σ = σ ∂²y/∂x²; for σ = 0 the profile of Lorentz."""
    narrow = sigma == 0
    scale = np.where(narrow, 1, sigma) * ROOT_2
    turned = (gamma - 1j * x) / scale
    slope = erfcx_slope(turned, 1) / (ROOT_PI * scale * scale)
    spread = np.real(erfcx_slope(turned, 2)) / (ROOT_PI * scale * scale)
    square = np.where(narrow, x * x + gamma * gamma, 1)
    to_x = np.where(narrow, -2 * x * gamma / (math.pi * square**2), np.imag(slope))
    to_gamma = np.where(narrow, (x * x - gamma * gamma) / (math.pi * square**2), np.real(slope))
    return to_x, np.where(narrow, 0, -spread / ROOT_2), to_gamma


def itj0y0_slopes(x):
    return special.j0(x), special.y0(x)


@vjp_rule(special.itj0y0, parts=True)
def itj0y0(y_bar, y, x):
    return gathered(y_bar, itj0y0_slopes(x))


@jvp_rule(special.itj0y0, broadcasts=True)
def push_itj0y0(tangents, y, x):
    first, second = itj0y0_slopes(x)
    return tangents[0] * first, tangents[0] * second


def iti0k0_slopes(x):
    return special.i0(x), special.k0(x)


@vjp_rule(special.iti0k0, parts=True)
def iti0k0(y_bar, y, x):
    return gathered(y_bar, iti0k0_slopes(x))


@jvp_rule(special.iti0k0, broadcasts=True)
def push_iti0k0(tangents, y, x):
    first, second = iti0k0_slopes(x)
    return tangents[0] * first, tangents[0] * second


def it2j0y0_slopes(x):
    return -less_one_over(special.j0(x), x), -special.y0(x) / x


@vjp_rule(special.it2j0y0, parts=True)
def it2j0y0(y_bar, y, x):
    return gathered(y_bar, it2j0y0_slopes(x))


@jvp_rule(special.it2j0y0, broadcasts=True)
def push_it2j0y0(tangents, y, x):
    first, second = it2j0y0_slopes(x)
    return tangents[0] * first, tangents[0] * second


def it2i0k0_slopes(x):
    return less_one_over(special.i0(x), x), -special.k0(x) / x


@vjp_rule(special.it2i0k0, parts=True)
def it2i0k0(y_bar, y, x):
    return gathered(y_bar, it2i0k0_slopes(x))


@jvp_rule(special.it2i0k0, broadcasts=True)
def push_it2i0k0(tangents, y, x):
    first, second = it2i0k0_slopes(x)
    return tangents[0] * first, tangents[0] * second


@partials(special.itstruve0)
def itstruve0(y, x):
    return special.struve(0, x)


@partials(special.it2struve0)
def it2struve0(y, x):
    return -np.where(x == 0, 2 / math.pi, special.struve(0, x)) / np.where(x == 0, 1, x)


@partials(special.itmodstruve0)
def itmodstruve0(y, x):
    return special.modstruve(0, x)


@vjp_rule(special.itairy)
def itairy(y_bar, y, x):
    """The integrals of Ai(t), Bi(t), Ai(-t) and Bi(-t) from 0."""
    there, back = special.airy(x), special.airy(-x)
    return y_bar[0] * there[0] + y_bar[1] * there[2] + y_bar[2] * back[0] + y_bar[3] * back[2]


@jvp_rule(special.itairy, broadcasts=True)
def push_itairy(tangents, y, x):
    there, back = special.airy(x), special.airy(-x)
    return tangents[0] * there[0], tangents[0] * there[2], tangents[0] * back[0], tangents[0] * back[2]


@partials(special.besselpoly)
def besselpoly(y, a, power, v):
    """∫ xᵖ Jᵥ(2ax) dx from 0 to 1."""
    slope = special.besselpoly(a, power + 1, v - 1) - special.besselpoly(a, power + 1, v + 1)
    return slope, refused(PARAMETER), refused(ORDER)
