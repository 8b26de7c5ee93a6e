"""Reductions and accumulations of ufuncs, and the products along axes that are among them.

An accumulation is a recurrence yₖ = f(yₖ₋₁, xₖ), a reduction its end; both run along the last axis here.
"""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import additem, jvp_rule, linear, vjp_rule
from wengert_rules import elementwise
from wengert_rules.products import conj
from wengert_rules.recurrences import onward_in_front, products_of_others, share, sums_onward
from wengert_rules.reductions import behind, extremum, masked, push_by, spread
from wengert_rules.shapes import front, inverse_permutation

ALL = slice(None)


def axes_last(axis, ndim):
    """All axes, those of a reduction last."""
    if axis is None or ndim == 0:  # of a number NumPy takes axis 0 and -1, and reduces nothing
        axes = [*range(ndim)]
    else:
        axes = [k % ndim for k in (axis if isinstance(axis, tuple) else (axis,))]
    return (*[k for k in range(ndim) if k not in axes], *axes), len(axes)


def joined(a, axis):
    """`a` with the axes of a reduction joined into its last one."""
    order, count = axes_last(axis, np.ndim(a))
    shape = [np.shape(a)[k] for k in order]
    kept = len(order) - count
    return np.reshape(np.transpose(a, order), (*shape[:kept], math.prod(shape[kept:])))


def parted(x, shape, axis):
    """The array of `shape` from which `joined` made `x`."""
    order, _ = axes_last(axis, len(shape))
    return np.transpose(np.reshape(x, [shape[k] for k in order]), inverse_permutation(order, len(shape)))


def line(axis):
    """The one axis of an accumulation, which NumPy also takes in a tuple, and as None where there is one alone."""
    if isinstance(axis, tuple):
        return axis[0]
    return 0 if axis is None else axis


def steps(y, a, axis):
    """(yₖ, yₖ₋₁, xₖ) for k ≥ 1, along the last axis."""
    y, a = np.swapaxes(y, line(axis), -1), np.swapaxes(a, line(axis), -1)
    return y[..., 1:], y[..., :-1], a[..., 1:]


def recurrence(y_bar, over, by, axis):
    """x̄ of yₖ = f(yₖ₋₁, xₖ), y₀ = x₀, from the partials ∂f/∂yₖ₋₁ and ∂f/∂xₖ of each step."""
    reach = sums_onward(conj(over), np.swapaxes(y_bar, line(axis), -1))
    return np.swapaxes(np.concatenate([reach[..., :1], share(reach[..., 1:], conj(by))], axis=-1), line(axis), -1)


def pushes_on(formula):
    """The pushforward of an accumulation: ẏₖ = ∂f/∂yₖ₋₁ ẏₖ₋₁ + ∂f/∂xₖ ẋₖ, with the partials of the step f."""

    def push_accumulation(tangents, y, a, *, axis=0, dtype=None, out=None):
        over, by = formula(*steps(y, a, axis))
        along = line(axis) % np.ndim(a) - np.ndim(a)
        tangent = np.swapaxes(tangents[0], along, -1)
        fed = np.concatenate([tangent[..., :1], share(tangent[..., 1:], by)], axis=-1)
        return np.swapaxes(np.flip(onward_in_front(np.flip(over, -1), np.flip(fed, -1)), -1), along, -1)

    return push_accumulation


def others(y, a, axis, where):
    """For each element of `a` the product of the other factors."""
    factors = a if where is True else np.where(where, a, 1)
    factors = factors if np.result_type(factors) == y.dtype else factors * np.ones((), y.dtype)
    return parted(products_of_others(joined(factors, axis)), np.shape(a), axis)


def prod_bar(y_bar, y, a, axis, keepdims, initial, where):
    """ȳ times the product of the other factors, among which is `initial`."""
    start = 1 if initial is None else initial
    spread_out = spread(y_bar * np.conjugate(start), np.shape(a), axis, keepdims)
    return masked(share(spread_out, conj(others(y, a, axis, where))), where)


def push_prod(tangent, y, a, axis, keepdims, initial, where):
    """ẏ = Σ ẋₖ times the product of the other factors."""
    each = masked(share(tangent, others(y, a, axis, where)), where)
    return np.sum(each, axis=behind(axis, a, tangent), keepdims=keepdims) * (1 if initial is None else initial)


@vjp_rule(np.prod, np.ndarray.prod, np.generic.prod)
def prod(y_bar, y, a, *, axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True):
    return prod_bar(y_bar, y, a, axis, keepdims, initial, where)


@jvp_rule(np.prod, broadcasts=True)
def prod_pushed(tangents, y, a, *, axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True):
    return push_prod(tangents[0], y, a, axis, keepdims, initial, where)


@vjp_rule(np.multiply.reduce)
def multiply_reduce(y_bar, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=1, where=True):
    return prod_bar(y_bar, y, a, axis, keepdims, initial, where)


@jvp_rule(np.multiply.reduce, broadcasts=True)
def multiply_reduce_pushed(tangents, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=1, where=True):
    return push_prod(tangents[0], y, a, axis, keepdims, initial, where)


@vjp_rule(np.subtract.reduce)
def subtract_reduce(y_bar, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """The first is what the others are taken from, unless there is an `initial`."""
    every = -spread(y_bar, np.shape(a), axis, keepdims)
    if initial is not None:
        return masked(every, where)
    order, count = axes_last(axis, np.ndim(a))
    if count == 0:  # each element is a first one
        return -every
    is_first = np.reshape(np.arange(np.shape(a)[order[-1]]) == 0, (-1,) + (1,) * (np.ndim(a) - 1 - order[-1]))
    return np.where(is_first, -every, every)


@vjp_rule(np.maximum.reduce, np.minimum.reduce, np.fmax.reduce, np.fmin.reduce)
def extremum_reduce(y_bar, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return extremum(y_bar, y, a, axis=axis, keepdims=keepdims, initial=initial, where=where)


def log_weights(y, a, axis, keepdims, where):
    """The logarithms of the shares of the terms in y, the logarithm of their sum; all -inf where y is."""
    total = spread(np.where(y == -np.inf, 0, y), np.shape(a), axis, keepdims)
    return (a if where is True else np.where(where, a, -np.inf)) - total


@vjp_rule(np.logaddexp.reduce)
def logaddexp_reduce(y_bar, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return spread(y_bar, np.shape(a), axis, keepdims) * np.exp(log_weights(y, a, axis, keepdims, where))


@vjp_rule(np.logaddexp2.reduce)
def logaddexp2_reduce(y_bar, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return spread(y_bar, np.shape(a), axis, keepdims) * np.exp2(log_weights(y, a, axis, keepdims, where))


@vjp_rule(np.hypot.reduce)
def hypot_reduce(y_bar, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=0, where=True):
    """The unit vector; 0 at the origin."""
    return masked(spread(y_bar / elementwise.nonzero(y), np.shape(a), axis, keepdims) * a, where)


@vjp_rule(np.add.accumulate)
def add_accumulate(y_bar, y, a, *, axis=0, dtype=None, out=None):
    return np.flip(np.cumsum(np.flip(y_bar, axis), line(axis)), axis)


@vjp_rule(np.subtract.accumulate)
def subtract_accumulate(y_bar, y, a, *, axis=0, dtype=None, out=None):
    """As a sum in which all but the first have the sign -1."""
    reach = np.swapaxes(np.flip(np.cumsum(np.flip(y_bar, axis), line(axis)), axis), line(axis), -1)
    return np.swapaxes(np.concatenate([reach[..., :1], -reach[..., 1:]], axis=-1), line(axis), -1)


@vjp_rule(np.cumprod, np.ndarray.cumprod, np.generic.cumprod)
def cumprod(y_bar, y, a, *, axis=None, dtype=None, out=None):
    if axis is None or np.ndim(a) == 0:
        return np.reshape(multiply_accumulate(y_bar, y, np.reshape(a, (-1,))), np.shape(a))
    return multiply_accumulate(y_bar, y, a, axis=axis)


@jvp_rule(np.cumprod, broadcasts=True)
def push_cumprod(tangents, y, a, *, axis=None, dtype=None, out=None):
    if axis is None or np.ndim(a) == 0:
        flat = np.reshape(a, (-1,))
        tangent = np.reshape(tangents[0], (*front(a, tangents[0]), np.size(a)))
        return pushes_on(elementwise.multiply)((tangent,), y, flat)
    return pushes_on(elementwise.multiply)(tangents, y, a, axis=axis)


@vjp_rule(np.multiply.accumulate)
def multiply_accumulate(y_bar, y, a, *, axis=0, dtype=None, out=None):
    over, by = elementwise.multiply(*steps(y, a, axis))
    return recurrence(y_bar, over, by, axis)


@vjp_rule(np.true_divide.accumulate)
def true_divide_accumulate(y_bar, y, a, *, axis=0, dtype=None, out=None):
    over, by = elementwise.true_divide(*steps(y, a, axis))
    return recurrence(y_bar, over, by, axis)


@vjp_rule(np.logaddexp.accumulate)
def logaddexp_accumulate(y_bar, y, a, *, axis=0, dtype=None, out=None):
    over, by = elementwise.logaddexp(*steps(y, a, axis))
    return recurrence(y_bar, over, by, axis)


@vjp_rule(np.logaddexp2.accumulate)
def logaddexp2_accumulate(y_bar, y, a, *, axis=0, dtype=None, out=None):
    over, by = elementwise.logaddexp2(*steps(y, a, axis))
    return recurrence(y_bar, over, by, axis)


@vjp_rule(np.hypot.accumulate)
def hypot_accumulate(y_bar, y, a, *, axis=0, dtype=None, out=None):
    over, by = elementwise.hypot(*steps(y, a, axis))
    return recurrence(y_bar, over, by, axis)


for _name in ("multiply", "true_divide", "logaddexp", "logaddexp2", "hypot"):
    jvp_rule(getattr(np, _name).accumulate, broadcasts=True)(pushes_on(getattr(elementwise, _name)))


@vjp_rule(np.maximum.accumulate, np.minimum.accumulate, np.fmax.accumulate, np.fmin.accumulate)
def extremum_accumulate(y_bar, y, a, *, axis=0, dtype=None, out=None):
    """ȳₖ is shared equally by the elements up to k that equal yₖ: those of the run in which y has that value."""
    y, a, y_bar = [np.swapaxes(x, line(axis), -1) for x in (y, a, y_bar)]
    hits, goes_on, ties = runs(y, a)
    x_bar = np.where(hits, sums_onward(goes_on, y_bar / ties), 0)
    return np.swapaxes(x_bar, line(axis), -1)


def runs(y, a):
    """Where `a` has the running extremum y, whether that goes on after each place, and how many have it up to there."""
    one = np.ones((), y.dtype)
    hits, goes_on = a == y, (y[..., 1:] == y[..., :-1]) * one
    ties = np.flip(sums_onward(np.flip(goes_on, -1), np.flip(hits * one, -1)), -1)
    return hits, goes_on, elementwise.nonzero(ties)


@jvp_rule(np.maximum.accumulate, broadcasts=True)
def push_extremum_accumulate(tangents, y, a, *, axis=0, dtype=None, out=None):
    along = line(axis) % np.ndim(a) - np.ndim(a)
    y, a, tangent = [np.swapaxes(x, along, -1) for x in (y, a, tangents[0])]
    hits, goes_on, ties = runs(y, a)
    total = np.flip(onward_in_front(np.flip(goes_on, -1), np.flip(np.where(hits, tangent, 0), -1)), -1)
    return np.swapaxes(total / ties, along, -1)


@vjp_rule(np.add.reduceat)
def add_reduceat(y_bar, y, array, *, indices, axis=0, dtype=None, out=None):
    """Each sum runs from its index up to the next, or is one element where that is not beyond."""
    along = line(axis) % np.ndim(array)
    starts = np.asarray(indices)
    stops = np.concatenate([starts[1:], [np.shape(array)[along]]])
    lengths = np.maximum(stops - starts, 1)
    sums = np.repeat(np.arange(len(starts)), lengths)
    places = np.arange(len(sums)) + (starts - np.cumsum(lengths) + lengths)[sums]
    blank = np.zeros(np.shape(array), y.dtype)
    return additem(blank, (ALL,) * along + (places,), np.take(y_bar, sums, along))


linear(np.add.accumulate, np.subtract.accumulate, np.add.reduceat)
jvp_rule(np.subtract.reduce, broadcasts=True)(push_by(subtract_reduce, axis=0))
jvp_rule(np.maximum.reduce, broadcasts=True)(push_by(extremum_reduce, axis=0))
jvp_rule(np.logaddexp.reduce, broadcasts=True)(push_by(logaddexp_reduce, axis=0))
jvp_rule(np.logaddexp2.reduce, broadcasts=True)(push_by(logaddexp2_reduce, axis=0))
jvp_rule(np.hypot.reduce, broadcasts=True)(push_by(hypot_reduce, axis=0))
