"""Elementwise functions: NumPy's ufuncs, and the operators and functions of `math` that compute the same.

Where a finite subgradient exists, a denominator that would be zero is replaced (`nonzero`).
"""

from __future__ import annotations

import cmath
import math
import operator

import numpy as np

from wengert.extend import accumulates, jvp_rule, linear, partials, vjp_rule
from wengert_rules.blas import PAYS, onto_scaled

LOG_2 = math.log(2.0)
LOG_10 = math.log(10.0)
DEGREE = math.pi / 180.0
SMALLEST = 1e-300  # of which 1/x is finite


def nonzero(x):
    """`x` with 1 for 0: a denominator where the numerator is 0 as well."""
    return np.where(x == 0, 1, x)


@partials(np.add, operator.add)
def add(y, a, b):
    return 1, 1


@partials(np.subtract, operator.sub)
def subtract(y, a, b):
    return 1, -1


@partials(np.multiply, operator.mul)
def multiply(y, a, b):
    return b, a


@accumulates(np.multiply, arg=0, above=PAYS)
def multiply_onto_left(a_bar, y_bar, y, a, b):
    return onto_scaled(a_bar, np.conj(b), y_bar)


@accumulates(np.multiply, arg=1, above=PAYS)
def multiply_onto_right(b_bar, y_bar, y, a, b):
    return onto_scaled(b_bar, np.conj(a), y_bar)


@partials(np.true_divide, operator.truediv)
def true_divide(y, a, b):
    return 1 / b, -y / b


@jvp_rule(np.true_divide, broadcasts=True)
def push_true_divide(tangents, y, a, b):
    """(ȧ - y ḃ)/b in one expression, for which NumPy takes one array, where the sum of partials takes three."""
    a_dot, b_dot = tangents
    if b_dot is None:
        return np.true_divide(a_dot, b)  # Python's floats raise where b is 0
    return np.true_divide(-b_dot * y if a_dot is None else -b_dot * y + a_dot, b)


@partials(np.remainder, np.fmod, operator.mod, math.fmod, math.remainder)
def remainder(y, a, b):
    """y = a - q b for a whole q, rounded back from y: a/b itself may round to the next whole number."""
    return 1, np.round((y - a) / b)


@vjp_rule(np.divmod, divmod, broadcasts=True)
def divmod_(y_bar, y, a, b):
    """(q, r) = (floor(a/b), a - q b); q is piecewise constant."""
    return y_bar[1], y_bar[1] * -y[0]


@jvp_rule(np.divmod, broadcasts=True)
def push_divmod(tangents, y, a, b):
    a_dot, b_dot = tangents
    moved = 0.0 if b_dot is None else -y[0] * b_dot
    return None, moved if a_dot is None else a_dot + moved


@vjp_rule(np.modf, math.modf)
def modf(y_bar, y, x):
    """(fraction, whole part): the whole part is piecewise constant."""
    return y_bar[0]


@jvp_rule(np.modf, broadcasts=True)
def push_modf(tangents, y, x):
    return tangents[0], None


@vjp_rule(np.frexp, math.frexp)
def frexp(y_bar, y, x):
    """x = m 2ᵉ, where e is piecewise constant."""
    return np.ldexp(y_bar[0], -y[1])


@jvp_rule(np.frexp, broadcasts=True)
def push_frexp(tangents, y, x):
    return np.ldexp(tangents[0], -y[1]), None


@vjp_rule(np.ldexp, math.ldexp, broadcasts=True)
def ldexp(y_bar, y, x, i):
    return np.ldexp(y_bar, i), None


linear(np.ldexp, args=(0,))


@partials(np.negative, operator.neg)
def negative(y, x):
    return -1


@partials(np.positive, operator.pos, identity=True)
def positive(y, x):
    return 1


def on_plane(x):
    """`x` as a complex number; one that is, with the sign of zero that tells the side of a cut."""
    return x if np.iscomplexobj(x) else x + 0j


def less_one(b, a):
    """b - 1, or b where it is 0 and `a` too: 0 a⁻¹ would be no number. (An integer 0 may stay: it never moves.)"""
    counts = b != 0
    kind = "i" if counts is True else np.result_type(b).kind
    if kind == "b":
        return 0
    if kind not in "fc" or np.all(counts):
        return b - counts
    return b - (counts | (np.absolute(a) > SMALLEST))


@partials(operator.pow, pow)
def power(y, a, b):
    """∂y/∂a = b aᵇ⁻¹, and 0 for b = 0;  ∂y/∂b = y log a, and 0 where the base has no logarithm.

    With 1.0, not 1: of a small integer NumPy gives a logarithm in half precision.
    """
    base = np.where(a == 0, 1.0, on_plane(a)) if np.iscomplexobj(y) else np.where(a > 0, a, 1.0)
    below = less_one(b, a) if np.ndim(y) else b - (1 if b != 0 or abs(a) > SMALLEST else 0)
    return b * a**below, y * np.log(base)


@partials(np.power, np.float_power, math.pow)
def power_of_numpy(y, a, b):
    """Differentiate as `power` does. For a negative base, `**` of Python floats returns a complex y, `np.power` nan."""
    base = np.where(a == 0, 1.0, on_plane(a)) if np.iscomplexobj(y) else np.where(a > 0, a, 1.0)
    below = less_one(b, a) if np.ndim(y) else b - (1 if b != 0 or abs(a) > SMALLEST else 0)
    return b * (a**below if np.ndim(y) else np.power(a, below)), y * np.log(base)


@partials(np.absolute, np.fabs, operator.abs, abs, math.fabs)
def absolute(y, x):
    """The sign of x, and 0 at 0; as y is real, so is ȳ, and x̄ = ȳ x/|x| on the complex plane."""
    return np.conjugate(x / nonzero(np.absolute(x))) if np.iscomplexobj(x) else np.sign(x)


@vjp_rule(np.sign)
def sign(y_bar, y, x):
    """Piecewise constant on the reals; z/|z| turns with a complex z, and 0 stays."""
    if not np.iscomplexobj(x):
        return np.zeros_like(y_bar)
    turned = (y_bar - y * np.real(np.conjugate(y) * y_bar)) / nonzero(np.absolute(x))
    return np.where(y == 0, 0, turned)


@jvp_rule(np.sign, broadcasts=True)
def push_sign(tangents, y, x):
    """As the pullback, which is its own transpose."""
    return sign(tangents[0], y, x)


@partials(np.nextafter, math.nextafter)
def nextafter(y, a, b, *, steps=None):
    return 1, 0


@partials(np.copysign, math.copysign)
def copysign(y, a, b):
    return np.sign(a) * np.copysign(1, b), 0


@partials(np.heaviside)
def heaviside(y, x, middle):
    return 0, x == 0


@partials(np.sqrt, math.sqrt, cmath.sqrt)
def sqrt(y, x):
    return 0.5 / y


@partials(np.cbrt, math.cbrt)
def cbrt(y, x):
    return 1 / (3 * y * y)


@partials(np.square)
def square(y, x):
    return 2 * x


@partials(np.reciprocal)
def reciprocal(y, x):
    return -y * y


@partials(np.exp, math.exp, cmath.exp)
def exp(y, x):
    return y


@partials(np.exp2, math.exp2)
def exp2(y, x):
    return LOG_2 * y


@partials(np.expm1, math.expm1)
def expm1(y, x):
    return y + 1


@partials(np.log)
def log(y, x):
    return 1 / x


@partials(np.log2, math.log2)
def log2(y, x):
    return 1 / (LOG_2 * x)


@partials(np.log10, math.log10, cmath.log10)
def log10(y, x):
    return 1 / (LOG_10 * x)


@partials(np.log1p, math.log1p)
def log1p(y, x):
    return 1 / (1 + x)


@partials(np.logaddexp)
def logaddexp(y, a, b):
    """The weights exp(a - y) and exp(b - y); 0 where both terms are log 0."""
    total = np.where(y == -np.inf, 0, y)
    return np.exp(a - total), np.exp(b - total)


@partials(np.logaddexp2)
def logaddexp2(y, a, b):
    """The weights 2^(a - y) and 2^(b - y); 0 where both terms are log 0."""
    total = np.where(y == -np.inf, 0, y)
    return np.exp2(a - total), np.exp2(b - total)


@partials(np.sin, math.sin, cmath.sin)
def sin(y, x):
    return np.cos(x)


@partials(np.cos, math.cos, cmath.cos)
def cos(y, x):
    return -np.sin(x)


@partials(np.tan, math.tan, cmath.tan)
def tan(y, x):
    return 1 + y * y


@partials(np.arcsin, math.asin, cmath.asin)
def arcsin(y, x):
    """1/√(1 - x²) = 1/cos y: a complex y tells which root, also on the cut and where x is real."""
    return 1 / np.cos(y) if np.iscomplexobj(y) else 1 / np.sqrt(1 - x * x)


@partials(np.arccos, math.acos, cmath.acos)
def arccos(y, x):
    return -1 / np.sin(y) if np.iscomplexobj(y) else -1 / np.sqrt(1 - x * x)


@partials(np.arctan, math.atan, cmath.atan)
def arctan(y, x):
    return 1 / (1 + x * x)


@partials(np.sinh, math.sinh, cmath.sinh)
def sinh(y, x):
    return np.cosh(x)


@partials(np.cosh, math.cosh, cmath.cosh)
def cosh(y, x):
    return np.sinh(x)


@partials(np.tanh, math.tanh, cmath.tanh)
def tanh(y, x):
    return 1 - y * y


@partials(np.arcsinh, math.asinh, cmath.asinh)
def arcsinh(y, x):
    return 1 / np.cosh(y) if np.iscomplexobj(y) else 1 / np.sqrt(1 + x * x)


@partials(np.arccosh, math.acosh, cmath.acosh)
def arccosh(y, x):
    return 1 / np.sinh(y) if np.iscomplexobj(y) else 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))


@partials(np.arctanh, math.atanh, cmath.atanh)
def arctanh(y, x):
    return 1 / (1 - x * x)


@partials(np.arctan2, math.atan2)
def arctan2(y, a, b):
    """(b, -a)/(a² + b²), divided twice by the root, whose square may underflow; 0 at the origin."""
    radius = np.hypot(a, b)
    radius = np.where(radius == 0, 1, radius)
    return b / radius / radius, -(a / radius) / radius  # -a of an unsigned integer is another number


@partials(np.hypot)
def hypot(y, a, b):
    scale = np.where(y == 0, 1, y)
    return a / scale, b / scale


@partials(np.deg2rad, np.radians, math.radians)
def deg2rad(y, x):
    return DEGREE


@partials(np.rad2deg, np.degrees, math.degrees)
def rad2deg(y, x):
    return 1 / DEGREE


@vjp_rule(
    np.conjugate, np.ndarray.conjugate, np.ndarray.conj, np.generic.conjugate, np.generic.conj,
    complex.conjugate,
)  # fmt: skip
def conjugate(y_bar, y, z):
    return np.conjugate(y_bar)


@vjp_rule(np.real, view=True, identity=True)
def real(y_bar, y, z):
    return y_bar


@vjp_rule(np.imag, view=True)
def imag(y_bar, y, z):
    """z̄ = i ȳ; the imaginary part of a real z is the constant 0, and projecting i ȳ on the reals gives it."""
    return 1j * y_bar


linear(np.conjugate, np.real, np.imag)
