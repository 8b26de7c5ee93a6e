"""Functions of Python's numbers, on batches of them: by the ufunc of the same numbers.

Where that gives what Python would raise an error for, the examples are taken one by one, and raise it.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
import sys
from typing import Any

import numpy as np

from wengert.extend import batching
from wengert_rules.batches.axes import lifted, rank, spread

LARGEST = 2.0**63
UFUNCS: dict[Any, np.ufunc] = {
    math.sin: np.sin, math.cos: np.cos, math.tan: np.tan, math.asin: np.arcsin, math.acos: np.arccos,
    math.atan: np.arctan, math.sinh: np.sinh, math.cosh: np.cosh, math.tanh: np.tanh, math.asinh: np.arcsinh,
    math.acosh: np.arccosh, math.atanh: np.arctanh, math.atan2: np.arctan2, math.hypot: np.hypot,
    math.sqrt: np.sqrt, math.cbrt: np.cbrt, math.exp: np.exp, math.exp2: np.exp2, math.expm1: np.expm1,
    math.log2: np.log2, math.log10: np.log10, math.log1p: np.log1p, math.fabs: np.fabs, math.fmod: np.fmod,
    math.pow: np.power, math.copysign: np.copysign, math.nextafter: np.nextafter,
    math.degrees: np.degrees, math.radians: np.radians, math.log: np.log,
}  # fmt: skip
COMPLEX: dict[Any, Any] = {
    cmath.sin: np.sin, cmath.cos: np.cos, cmath.tan: np.tan, cmath.asin: np.arcsin, cmath.acos: np.arccos,
    cmath.atan: np.arctan, cmath.sinh: np.sinh, cmath.cosh: np.cosh, cmath.tanh: np.tanh, cmath.asinh: np.arcsinh,
    cmath.acosh: np.arccosh, cmath.atanh: np.arctanh, cmath.sqrt: np.sqrt, cmath.exp: np.exp, cmath.log: np.log,
    cmath.log10: np.log10, cmath.phase: np.angle,
}  # fmt: skip
TESTS: dict[Any, np.ufunc] = {
    math.isnan: np.isnan, math.isinf: np.isinf, math.isfinite: np.isfinite, cmath.isnan: np.isnan,
    cmath.isinf: np.isinf, cmath.isfinite: np.isfinite,
}  # fmt: skip
if sys.version_info >= (3, 15):
    UFUNCS |= {math.fmax: np.fmax, math.fmin: np.fmin}
    TESTS |= {math.signbit: np.signbit}


def checked(y):
    """`y`, where it holds numbers only for which Python raises no error."""
    return y if np.all(np.isfinite(y)) else NotImplemented


@batching(*UFUNCS)
def on_floats(batch, x, *others):
    """A base of a logarithm divides; coordinates beyond two are summed on."""
    ufunc = UFUNCS[batch.fn]
    with np.errstate(all="ignore"):
        given = [np.asarray(part, float) for part in (x, *others)]
        if batch.fn is math.log and others:
            return checked(np.log(given[0]) / np.log(given[1]))
        if batch.fn is math.hypot:
            return checked(functools.reduce(np.hypot, given[1:], np.absolute(given[0])))
        return checked(ufunc(*given))


@batching(*COMPLEX)
def on_complex(batch, z, *base):
    with np.errstate(all="ignore"):
        y = COMPLEX[batch.fn](np.asarray(z, complex))
        return checked(y / np.log(np.asarray(base[0], complex)) if base else y)


@batching(*TESTS)
def tested(batch, x):
    return TESTS[batch.fn](x)


@batching(math.floor, math.ceil, math.trunc, int)
def whole(batch, x):
    """As whole numbers of 64 bits; beyond those the examples are taken one by one."""
    rounded = np.floor(x) if batch.fn is math.floor else np.ceil(x) if batch.fn is math.ceil else np.trunc(x)
    return rounded.astype(np.int64) if np.all(np.absolute(rounded) < LARGEST) else NotImplemented


@batching(builtins.round)
def round_(batch, x, ndigits=None):
    if not batch.first or ndigits is not None:
        return NotImplemented
    rounded = np.rint(x)
    return rounded.astype(np.int64) if np.all(np.absolute(rounded) < LARGEST) else NotImplemented


@batching(math.modf, math.frexp, math.ldexp)
def taken_apart(batch, *args):
    x, *others = args
    if batch.fn is math.frexp:
        mantissa, exponent = np.frexp(np.asarray(x, float))
        return mantissa, exponent.astype(np.int64)
    return (np.modf if batch.fn is math.modf else np.ldexp)(np.asarray(x, float), *others)


@batching(math.erf, math.erfc, math.gamma, math.lgamma)
def special(batch, x):
    """By SciPy, where it is installed."""
    try:
        from scipy.special import erf, erfc, gamma, gammaln
    except ImportError:
        return NotImplemented
    found = {math.erf: erf, math.erfc: erfc, math.gamma: gamma, math.lgamma: gammaln}[batch.fn]
    return checked(found(np.asarray(x, float)))


@batching(float.__new__, complex.__new__)
def number_of_class(batch, cls, *parts):
    """The numbers, without their class."""
    if any(batch.axes[:1]) or batch.named:
        return NotImplemented
    return batch.fn.__self__(*parts) if not any(batch.axes) else sum_of_parts(*parts)


def sum_of_parts(real, imag=None):
    return real if imag is None else real + 1j * imag


def items(batch, sequence, on):
    """The items of a sequence, one by one, and which of them have the examples: a batch of sequences has them all."""
    if on is True:
        return [sequence[:, i] for i in range(np.shape(sequence)[1])], [True] * np.shape(sequence)[1]
    return sequence, on


@batching(builtins.sum, math.fsum)
def total(batch, sequence, start=0):
    if any(batch.axes[1:]) or batch.named:
        return NotImplemented
    terms, on = items(batch, sequence, batch.axes[0])
    ndim = max([np.ndim(start), *map(rank, terms, on)])
    terms = [lifted(x, ndim, has) for x, has in zip(terms, on, strict=True)]
    return functools.reduce(plus, terms, start)


def plus(a, b):
    return a + b


@batching(math.prod)
def product(batch, sequence, start=1):
    if any(batch.axes[1:]) or batch.named:
        return NotImplemented
    factors, on = items(batch, sequence, batch.axes[0])
    ndim = max([np.ndim(start), *map(rank, factors, on)])
    return functools.reduce(times, [lifted(x, ndim, has) for x, has in zip(factors, on, strict=True)], start)


def times(a, b):
    return a * b


@batching(builtins.max, builtins.min)
def extremum(batch, *candidates, **kwargs):
    """The first of those that are largest, or smallest, as Python compares them."""
    if kwargs:
        return NotImplemented
    on = batch.axes
    if len(candidates) == 1:
        candidates, on = items(batch, candidates[0], on[0])
    if any([rank(x, has) for x, has in zip(candidates, on, strict=True)]):
        return NotImplemented
    rows = np.stack([spread(x, has, batch.size) for x, has in zip(candidates, on, strict=True)])
    if not np.any(np.isnan(rows)):
        return (np.max if batch.fn is max else np.min)(rows, axis=0)  # of which those that tie share the derivative
    best = rows[0]
    for x in rows[1:]:
        best = np.where(x > best if batch.fn is max else x < best, x, best)
    return best


@batching(cmath.polar)
def polar(batch, z):
    return checked_parts(np.absolute(z), np.angle(z))


def checked_parts(*parts):
    return tuple(parts) if all([np.all(np.isfinite(part)) for part in parts]) else NotImplemented


@batching(cmath.rect)
def rect(batch, r, phi):
    return checked(r * np.exp(1j * phi))


@batching(math.dist)
def dist(batch, p, q):
    """Of points as arrays; a list of numbers is taken one by one."""
    if not isinstance(p, np.ndarray) or not isinstance(q, np.ndarray):
        return NotImplemented
    return checked(np.sqrt(np.sum((p - q) ** 2, axis=-1)))
