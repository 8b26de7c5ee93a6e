"""Elliptic integrals of Legendre's and of Carlson's form, Jacobi's functions, and the arithmetic-geometric mean.

By Carlson's forms, in which nothing cancels where Legendre's moduli are small.
Source: NIST Digital Library of Mathematical Functions, chapters 19 and 22.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import batching, computes, jvp_rule, partials, vjp_rule
from wengert_rules.batches.elementwise import elementwise

STEP = 0.4  # of the trapezoidal rule in log t: its error for positive numbers is exp(-2π²/STEP)
FAR = 84.0  # e⁻ᶠᵃʳ/² is hidden by rounding
BLOCK = 512  # elements at a time: each takes a row of nodes


def carlson(x, y, z, p, halves):
    """∫ tᵏ⁻¹ (t + x)⁻ᵃ (t + y)⁻ᵇ (t + z)⁻ᶜ (t + p)⁻ᵈ dt from 0 to ∞, for `halves` = (2k, 2a, 2b, 2c, 2d)."""
    of = np.broadcast_arrays(*[np.asarray(v) + 0.0 for v in (x, y, z, p)])
    columns = [v.reshape(-1, 1) for v in of]
    with np.errstate(all="ignore"):
        made = [carlson_rows([v[k : k + BLOCK] for v in columns], halves) for k in range(0, of[0].size, BLOCK)]
    return np.concatenate([*made, np.empty(0)]).reshape(of[0].shape)[()]


def carlson_rows(of, halves):
    used = [(v, half / 2) for v, half in zip(of, halves[1:], strict=True) if half]
    logs = [np.where(v == 0, np.nan, np.log(np.abs(v))) for v, _ in used]
    low, high = np.fmin.reduce(logs) - FAR, np.fmax.reduce(logs) + FAR
    count = int(np.nanmax((high - low) / STEP, initial=1)) + 1
    step = (high - low) / count
    u = low + step * np.arange(count + 1)
    falls = sum(fall * np.log(np.exp(u) + v) for v, fall in used)
    return step[:, 0] * np.sum(np.exp(halves[0] / 2 * u - falls), axis=-1)


@partials(carlson)
def carlson_(y, a, b, c, d, *, halves):
    to_a = -halves[1] / 2 * carlson(a, b, c, d, raised(halves, 1))
    to_b = -halves[2] / 2 * carlson(a, b, c, d, raised(halves, 2))
    to_c = -halves[3] / 2 * carlson(a, b, c, d, raised(halves, 3))
    return to_a, to_b, to_c, -halves[4] / 2 * carlson(a, b, c, d, raised(halves, 4))


def raised(halves, k):
    return (*halves[:k], halves[k] + 2, *halves[k + 1 :])


computes(carlson)
computes(raised)
batching(carlson)(elementwise)


@partials(special.elliprf)
def elliprf(f, x, y, z):
    return -special.elliprd(y, z, x) / 6, -special.elliprd(x, z, y) / 6, -special.elliprd(x, y, z) / 6


@partials(special.elliprc)
def elliprc(f, x, y):
    """R_F(x, y, y), with Cauchy's principal value for y < 0: √(x/(x - y)) R_C(x - y, -y)."""
    left = (np.imag(y) == 0) & (np.real(y) < 0)
    apart = np.where(left, x - y, x)
    to = np.where(left, -y, y)
    factor = np.where(left, np.sqrt(x / np.where(left, x - y, 1)), 1)
    inner = special.elliprc(apart, to)
    to_x, to_y = -factor * special.elliprd(to, to, apart) / 6, -factor * special.elliprd(apart, to, to) / 3
    grown = np.where(left, factor * inner / (2 * (x - y)), 0)
    return to_x - grown * np.where(left, y / x, 0), np.where(left, grown - to_x - to_y, to_y)


@partials(special.elliprd)
def elliprd(f, x, y, z):
    """R_D is 3/2 of the integral with the powers ½, ½, 3/2."""
    to_x = -0.75 * carlson(x, y, z, z, (2, 3, 1, 3, 0))
    to_y = -0.75 * carlson(x, y, z, z, (2, 1, 3, 3, 0))
    return to_x, to_y, -2.25 * carlson(x, y, z, z, (2, 1, 1, 5, 0))


@partials(special.elliprj)
def elliprj(f, x, y, z, p):
    to_x = -0.75 * carlson(x, y, z, p, (2, 3, 1, 1, 2))
    to_y = -0.75 * carlson(x, y, z, p, (2, 1, 3, 1, 2))
    to_z = -0.75 * carlson(x, y, z, p, (2, 1, 1, 3, 2))
    return to_x, to_y, to_z, -1.5 * carlson(x, y, z, p, (2, 1, 1, 1, 4))


@partials(special.elliprg)
def elliprg(f, x, y, z):
    """∂R_G/∂x is ⅛ of the integral of t with the powers 3/2, ½, ½."""
    to_x = carlson(x, y, z, z, (4, 3, 1, 1, 0)) / 8
    to_y = carlson(x, y, z, z, (4, 1, 3, 1, 0)) / 8
    return to_x, to_y, carlson(x, y, z, z, (4, 1, 1, 3, 0)) / 8


@partials(special.ellipk)
def ellipk(k, m):
    """K = R_F(0, 1 - m, 1)."""
    return special.elliprd(0.0, 1.0, 1 - m) / 6


@partials(special.ellipkm1)
def ellipkm1(k, p):
    return -special.elliprd(0.0, 1.0, p) / 6


@partials(special.ellipe)
def ellipe(e, m):
    """(E - K)/(2m)."""
    return -special.elliprd(0.0, 1 - m, 1.0) / 6


def within(phi):
    """The half turns in φ, and what is left of it."""
    turns = np.round(phi / math.pi)
    return turns, phi - turns * math.pi


def first_in_modulus(phi, m):
    """∂F(φ, m)/∂m: of F = s R_F(c², 1 - ms², 1) in a quarter turn, and of 2K for each half turn."""
    turns, rest = within(phi)
    s, c = np.sin(rest), np.cos(rest)
    whole = np.where(turns == 0, 0, turns * special.elliprd(0.0, 1.0, np.where(turns == 0, 1, 1 - m)) / 3)
    return whole + s**3 * special.elliprd(c * c, 1.0, 1 - m * s * s) / 6


def second_in_modulus(phi, m):
    """∂E(φ, m)/∂m = (E - F)/(2m)."""
    turns, rest = within(phi)
    s, c = np.sin(rest), np.cos(rest)
    whole = np.where(turns == 0, 0, turns * special.elliprd(0.0, np.where(turns == 0, 1, 1 - m), 1.0) / 3)
    return -whole - s**3 * special.elliprd(c * c, 1 - m * s * s, 1.0) / 6


@partials(special.ellipkinc)
def ellipkinc(f, phi, m):
    return 1 / np.sqrt(1 - m * np.sin(phi) ** 2), first_in_modulus(phi, m)


@partials(special.ellipeinc)
def ellipeinc(e, phi, m):
    return np.sqrt(1 - m * np.sin(phi) ** 2), second_in_modulus(phi, m)


@vjp_rule(special.ellipj, broadcasts=True)
def ellipj(y_bar, y, u, m):
    """(sn, cn, dn, φ), where u = F(φ, m)."""
    sn, cn, dn, phi = y
    phi_bar = y_bar[0] * cn - y_bar[1] * sn - y_bar[2] * m * sn * cn / dn + y_bar[3]
    return phi_bar * dn, -phi_bar * dn * first_in_modulus(phi, m) - y_bar[2] * sn * sn / (2 * dn)


@jvp_rule(special.ellipj, broadcasts=True)
def push_ellipj(tangents, y, u, m):
    sn, cn, dn, phi = y
    u_dot = 0.0 if tangents[0] is None else tangents[0]
    m_dot = 0.0 if tangents[1] is None else tangents[1]
    phi_dot = dn * (u_dot - m_dot * first_in_modulus(phi, m))
    return cn * phi_dot, -sn * phi_dot, -(m * sn * cn * phi_dot + sn * sn * m_dot / 2) / dn, phi_dot


@partials(special.agm)
def agm(y, a, b):
    """π/(2 R_F(0, ¼(a + b)², ab))."""
    mean, product = (a + b) ** 2 / 4, a * b
    form = y / (6 * special.elliprf(0.0, mean, product))
    of_mean = form * special.elliprd(0.0, product, mean) * (a + b) / 2
    of_product = form * special.elliprd(0.0, mean, product)
    return of_mean + of_product * b, of_mean + of_product * a
