"""Bessel functions of every kind, also scaled and spherical: the slopes are those of the orders beside."""

from __future__ import annotations

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from wengert.extend import computes, is_complex, jvp_rule, partials, vjp_rule
from wengert_rules.elementwise import nonzero
from wengert_rules.products import conj
from wengert_rules.scipy.special.bessel_orders import by_order, by_series
from wengert_rules.scipy.special.refusals import ORDER, WHOLE, refused


@partials(special.jv)
def jv(y, v, z):
    return by_series(v, z, -1), (special.jv(v - 1, z) - special.jv(v + 1, z)) / 2


@partials(special.yv)
def yv(y, v, z):
    return refused(ORDER), np.where(z == 0, np.inf, (special.yv(v - 1, z) - special.yv(v + 1, z)) / 2)


@partials(special.yn)
def yn(y, n, x):
    n = np.trunc(n)
    return refused(WHOLE), np.where(x == 0, np.inf, (special.yv(n - 1, x) - special.yv(n + 1, x)) / 2)


@partials(special.iv)
def iv(y, v, z):
    return by_series(v, z, 1), (special.iv(v - 1, z) + special.iv(v + 1, z)) / 2


@computes
def k_slope(y, v, z):
    """∂Kᵥ(z)/∂v of a real z."""
    return refused(ORDER) if is_complex(z) else y * by_order(v, z)


computes(by_series)


@partials(special.kv)
def kv(y, v, z):
    return k_slope(y, v, z), -(special.kv(v - 1, z) + special.kv(v + 1, z)) / 2


@partials(special.kn)
def kn(y, n, x):
    n = np.trunc(n)
    return refused(WHOLE), -(special.kv(n - 1, x) + special.kv(n + 1, x)) / 2


@partials(special.kve)
def kve(y, v, z):
    return k_slope(y, v, z), np.where(z == 0, -np.inf, y - (special.kve(v - 1, z) + special.kve(v + 1, z)) / 2)


@partials(special.hankel1)
def hankel1(y, v, z):
    return refused(ORDER), (special.hankel1(v - 1, z) - special.hankel1(v + 1, z)) / 2


@partials(special.hankel2)
def hankel2(y, v, z):
    return refused(ORDER), (special.hankel2(v - 1, z) - special.hankel2(v + 1, z)) / 2


@partials(special.hankel1e)
def hankel1e(y, v, z):
    return refused(ORDER), (special.hankel1e(v - 1, z) - special.hankel1e(v + 1, z)) / 2 - 1j * y


@partials(special.hankel2e)
def hankel2e(y, v, z):
    return refused(ORDER), (special.hankel2e(v - 1, z) - special.hankel2e(v + 1, z)) / 2 + 1j * y


def damped(y_bar, y, slope, z, part):
    """z̄ of a holomorphic function times exp(-|Re z|), or exp(-|Im z|) for a `part` of i; real z leave the latter 1."""
    along = np.sign(np.real(z / part))
    if not is_complex(z):
        return y_bar * (slope - along * y if part == 1 else slope)
    return y_bar * conj(slope) - part * along * np.real(conj(y) * y_bar)


def push_damped(tangent, y, slope, z, part):
    return slope * tangent - np.sign(np.real(z / part)) * y * np.real(tangent / part)


@vjp_rule(special.jve, broadcasts=True)
def jve(y_bar, y, v, z):
    return refused(ORDER), damped(y_bar, y, (special.jve(v - 1, z) - special.jve(v + 1, z)) / 2, z, 1j)


@jvp_rule(special.jve, broadcasts=True)
def push_jve(tangents, y, v, z):
    return push_damped(along_argument(tangents), y, (special.jve(v - 1, z) - special.jve(v + 1, z)) / 2, z, 1j)


@vjp_rule(special.yve, broadcasts=True)
def yve(y_bar, y, v, z):
    return refused(ORDER), damped(y_bar, y, (special.yve(v - 1, z) - special.yve(v + 1, z)) / 2, z, 1j)


@jvp_rule(special.yve, broadcasts=True)
def push_yve(tangents, y, v, z):
    return push_damped(along_argument(tangents), y, (special.yve(v - 1, z) - special.yve(v + 1, z)) / 2, z, 1j)


@vjp_rule(special.ive, broadcasts=True)
def ive(y_bar, y, v, z):
    return y_bar * scaled_by_series(v, z), damped(y_bar, y, (special.ive(v - 1, z) + special.ive(v + 1, z)) / 2, z, 1)


@jvp_rule(special.ive, broadcasts=True)
def push_ive(tangents, y, v, z):
    by_order = 0.0 if tangents[0] is None else tangents[0] * scaled_by_series(v, z)
    if tangents[1] is None:
        return by_order
    return by_order + push_damped(tangents[1], y, (special.ive(v - 1, z) + special.ive(v + 1, z)) / 2, z, 1)


@computes
def scaled_by_series(v, z):
    return refused(ORDER) if is_complex(z) else np.exp(-np.absolute(z)) * by_series(v, z, 1)


def along_argument(tangents):
    """The tangent of the argument, where that of the order is refused."""
    return tangents[1] if tangents[0] is None else refused(ORDER)


@partials(special.j0)
def j0(y, x):
    return -special.j1(x)


@partials(special.j1)
def j1(y, x):
    return (special.j0(x) - special.jv(2, x)) / 2


@partials(special.y0)
def y0(y, x):
    return -special.y1(x)


@partials(special.y1)
def y1(y, x):
    return np.where(x == 0, np.inf, (special.y0(x) - special.yv(2, x)) / 2)


@partials(special.i0)
def i0(y, x):
    return special.i1(x)


@partials(special.i1)
def i1(y, x):
    return (special.i0(x) + special.iv(2, x)) / 2


@partials(special.i0e)
def i0e(y, x):
    return special.i1e(x) - np.sign(x) * y


@partials(special.i1e)
def i1e(y, x):
    return special.i0e(x) - np.where(x == 0, 0.5, y / nonzero(x)) - np.sign(x) * y


@partials(special.k0)
def k0(y, x):
    return -special.k1(x)


@partials(special.k1)
def k1(y, x):
    return -(special.k0(x) + special.kv(2, x)) / 2


@partials(special.k0e)
def k0e(y, x):
    return np.where(x == 0, -np.inf, y - special.k1e(x))


@partials(special.k1e)
def k1e(y, x):
    return np.where(x == 0, -np.inf, y - special.k0e(x) - y / nonzero(x))


@partials(_ufuncs._spherical_jn)
def spherical_jn(y, n, z):
    return refused(WHOLE), _ufuncs._spherical_jn_d(n, z)


@partials(_ufuncs._spherical_jn_d)
def spherical_jn_d(y, n, z):
    """(2n + 1) j' = n jₙ₋₁ - (n + 1) jₙ₊₁."""
    below = _ufuncs._spherical_jn_d(np.maximum(n - 1, 0), z)
    return refused(WHOLE), (n * below - (n + 1) * _ufuncs._spherical_jn_d(n + 1, z)) / (2 * n + 1)


@partials(_ufuncs._spherical_yn)
def spherical_yn(y, n, z):
    return refused(WHOLE), _ufuncs._spherical_yn_d(n, z)


@partials(_ufuncs._spherical_yn_d)
def spherical_yn_d(y, n, z):
    below = _ufuncs._spherical_yn_d(np.maximum(n - 1, 0), z)
    return refused(WHOLE), (n * below - (n + 1) * _ufuncs._spherical_yn_d(n + 1, z)) / (2 * n + 1)


@partials(_ufuncs._spherical_in)
def spherical_in(y, n, z):
    return refused(WHOLE), _ufuncs._spherical_in_d(n, z)


@partials(_ufuncs._spherical_in_d)
def spherical_in_d(y, n, z):
    """(2n + 1) i' = n iₙ₋₁ + (n + 1) iₙ₊₁."""
    below = _ufuncs._spherical_in_d(np.maximum(n - 1, 0), z)
    return refused(WHOLE), (n * below + (n + 1) * _ufuncs._spherical_in_d(n + 1, z)) / (2 * n + 1)


@partials(_ufuncs._spherical_kn)
def spherical_kn(y, n, z):
    return refused(WHOLE), _ufuncs._spherical_kn_d(n, z)


@partials(_ufuncs._spherical_kn_d)
def spherical_kn_d(y, n, z):
    below = _ufuncs._spherical_kn_d(np.maximum(n - 1, 0), z)
    return refused(WHOLE), -(n * below + (n + 1) * _ufuncs._spherical_kn_d(n + 1, z)) / (2 * n + 1)
