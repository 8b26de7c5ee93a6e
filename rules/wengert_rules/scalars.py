"""Scalar functions: those of `math` and `cmath` that have no ufunc, and Python's builtins on numbers."""

from __future__ import annotations

import builtins
import cmath
import math
import sys

import numpy as np

from wengert.extend import jvp_rule, linear, partials, vjp_rule
from wengert.extend import sumprod as sumprod_of_floats
from wengert_rules.elementwise import nonzero
from wengert_rules.products import conj, weighted

TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


@partials(math.log, cmath.log)
def log(y, x, base=math.e):
    """y = log x / log b; the logarithm of a small integer of NumPy's would be one in half precision."""
    return 1 / (x * np.log(1.0 * base)), -y / (base * np.log(1.0 * base))


@partials(math.erf)
def erf(y, x):
    return TWO_OVER_ROOT_PI * np.exp(-x * x)


@partials(math.erfc)
def erfc(y, x):
    return -TWO_OVER_ROOT_PI * np.exp(-x * x)


@vjp_rule(math.hypot)
def hypot(y_bar, y, *coordinates):
    scale = y_bar / nonzero(y)
    return tuple(scale * x for x in coordinates)


@jvp_rule(math.hypot)
def push_hypot(tangents, y, *coordinates):
    return weighted(hypot(1.0, y, *coordinates), tangents)


@vjp_rule(math.dist)
def dist(y_bar, y, p, q):
    """The unit vector from q to p, and its opposite; 0 where the points meet."""
    p_bar = y_bar / nonzero(y) * (np.real(np.asarray(p)) - np.real(np.asarray(q)))  # `float` drops imaginary parts
    return p_bar, -p_bar


@jvp_rule(math.dist)
def push_dist(tangents, y, p, q):
    return weighted(dist(1.0, y, p, q), tangents)


@vjp_rule(math.fsum, sequence=0)
def fsum(y_bar, y, *terms):
    return (y_bar,) * len(terms)


@vjp_rule(math.prod, sequence=0, broadcasts=True)
def prod(y_bar, y, *factors, start=1):
    """Each factor's partial is the product of the others, exact where some are zero."""
    before = [conj(start)]
    for x in factors[:-1]:
        before.append(before[-1] * conj(x))
    after = [y_bar]
    for x in factors[:0:-1]:
        after.append(after[-1] * conj(x))
    return tuple(b * a for b, a in zip(before, after[::-1], strict=True))


@jvp_rule(math.prod)
def push_prod(tangents, y, *factors, start=1):
    """Σ x̄ₖ* ẋₖ, element by element where the factors are arrays."""
    cotangents = prod(1.0, y, *factors, start=start)
    return sum(
        [conj(x_bar) * tangent for x_bar, tangent in zip(cotangents, tangents, strict=True) if tangent is not None]
    )


if hasattr(math, "sumprod"):  # from Python 3.12

    @vjp_rule(math.sumprod, sumprod_of_floats)
    def sumprod(y_bar, y, p, q):
        return y_bar * conj(np.asarray(q)), y_bar * conj(np.asarray(p))

    @jvp_rule(math.sumprod, sumprod_of_floats)
    def push_sumprod(tangents, y, p, q):
        cotangents = [
            None if tangent is None else conj(np.asarray(other))
            for tangent, other in zip(tangents, (q, p), strict=True)
        ]
        return weighted(cotangents, tangents)


if hasattr(math, "fma"):  # from Python 3.13

    @partials(math.fma)
    def fma(y, x, factor, addend):
        return factor, x, 1


if sys.version_info >= (3, 15):

    @partials(math.fmax, math.fmin)
    def fmax(y, a, b):
        return np.where(a == y, 1.0, 0.0) / (1 + (a == b)), np.where(b == y, 1.0, 0.0) / (1 + (a == b))


@vjp_rule(builtins.sum, sequence=0, broadcasts=True)
def sum_(y_bar, y, *terms, start=0):
    return (y_bar,) * len(terms)


linear(math.fsum)
linear(builtins.sum, without=("start",))


@vjp_rule(builtins.max, builtins.min)
def extremum(y_bar, y, *candidates):
    """ȳ is shared equally by the arguments that tie. A call on one iterable is recorded on its items."""
    ties = [(x == y) * 1.0 for x in candidates]
    count = ties[0]
    for tie in ties[1:]:
        count = count + tie
    share = y_bar / np.maximum(count, 1.0)
    return tuple([share * tie for tie in ties])


@jvp_rule(builtins.max, builtins.min)
def push_extremum(tangents, y, *candidates):
    return weighted(extremum(1.0, y, *candidates), tangents)


@partials(
    float, np.float64, np.float32, np.float16, np.longdouble, np.complex128, np.complex64, np.clongdouble, identity=True
)
def number(y, x):
    return 1


@partials(complex, identity=True)
def complex_(y, real=0, imag=0):
    """y = real + i imag, also when the two are complex."""
    return 1, 1j


@partials(float.__new__)
def float_of_class(y, cls, x=0.0):
    """A number of a class made from float."""
    return None, 1


@partials(complex.__new__)
def complex_of_class(y, cls, real=0, imag=0):
    return None, 1, 1j
