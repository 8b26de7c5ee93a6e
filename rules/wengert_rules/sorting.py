"""Sorted and partly sorted arrays: each element goes back to the place that it came from, equal ones share."""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import additem, jvp_rule, linear, setitem, vjp_rule
from wengert_rules.reductions import push_by, spread
from wengert_rules.shapes import integers

SHORT = 128  # a row that a stable sort sorts about as fast
MANY = 8  # marks, for each of which an element is compared twice


def rows(x, axis):
    """`x` as a matrix whose rows run along `axis`; a row of all its elements where that is None."""
    if axis is None:
        return np.reshape(x, (1, np.size(x)))
    last = np.swapaxes(x, axis, -1)
    return np.reshape(last, (math.prod(np.shape(last)[:-1]), np.shape(last)[-1]))


def from_rows(matrix, shape, axis):
    """The array of `shape` from which `rows` made `matrix`."""
    if axis is None:
        return np.reshape(matrix, shape)
    swapped = list(shape)
    swapped[axis], swapped[-1] = shape[-1], shape[axis]
    return np.swapaxes(np.reshape(matrix, tuple(swapped)), axis, -1)


def ranked(matrix):
    """The places, in the matrix read as one row, of the elements of each row from the smallest to the largest."""
    starts = np.reshape(np.arange(np.shape(matrix)[0]) * np.shape(matrix)[1], (-1, 1))
    stable = np.shape(matrix)[1] <= SHORT  # which native code supports: it does not know NumPy's order of equal ones
    return np.reshape(np.argsort(matrix, axis=-1, stable=stable) + starts, (-1,))


def shared(y_bar, values, length):
    """`y_bar`, in which those of equal values get the mean; values rise in each stretch of `length`."""
    stretches = np.reshape(values, (-1, max(length, 1)))
    first = np.ones((np.shape(stretches)[0], 1), bool)
    run = np.cumsum(np.concatenate([first, stretches[:, 1:] != stretches[:, :-1]], axis=1)) - 1
    total = additem(np.zeros(np.shape(y_bar), y_bar.dtype), run, y_bar)
    ties = additem(np.zeros(np.shape(y_bar)), run, 1.0)
    return total[run] / ties[run]


@vjp_rule(np.sort)
def sort(y_bar, y, a, *, axis=-1, kind=None, order=None, stable=None):
    matrix = rows(a, axis)
    places, spread_out = sent_back(y_bar, matrix, axis)
    x_bar = setitem(np.zeros(np.shape(places), y_bar.dtype), places, spread_out)
    return from_rows(np.reshape(x_bar, np.shape(matrix)), np.shape(a), axis)


def sent_back(y_bar, matrix, axis):
    """The places that sorted elements came from, in the matrix of them read as one row, and what each place gets."""
    places = ranked(matrix)
    values = np.reshape(matrix, (-1,))[places]
    return places, shared(np.reshape(rows(y_bar, axis), (-1,)), values, np.shape(matrix)[1])


@jvp_rule(np.sort)
def push_sort(tangents, y, a, *, axis=-1, kind=None, order=None, stable=None):
    matrix = rows(a, axis)
    places = ranked(matrix)
    moved = np.reshape(rows(tangents[0], axis), (-1,))[places]
    made = shared(moved, np.reshape(matrix, (-1,))[places], np.shape(matrix)[1])
    return from_rows(np.reshape(made, np.shape(matrix)), np.shape(y), axis)


@vjp_rule(np.partition)
def partition(y_bar, y, a, *, kth, axis=-1, kind="introselect", order=None):
    """Each element of y comes from those of a that equal it."""
    parted = rows(y, axis)
    marks = parted[:, np.reshape(np.asarray(kth), (-1,))]
    return from_rows(given_to_equals(rows(y_bar, axis), parted, rows(a, axis), marks), np.shape(a), axis)


@jvp_rule(np.partition)
def push_partition(tangents, y, a, *, kth, axis=-1, kind="introselect", order=None):
    parted = rows(y, axis)
    marks = parted[:, np.reshape(np.asarray(kth), (-1,))]
    return from_rows(given_to_equals(rows(tangents[0], axis), rows(a, axis), parted, marks), np.shape(y), axis)


def given_to_equals(x, source, target, marks):
    """`x`, which the rows of `source` have, for the rows of `target`, of the same elements in another order.

    Equal elements share. What is the same between two marks needs no order: then no time is spent on sorting.
    """
    if np.shape(marks)[1] <= MANY and x.dtype.kind == "f" and not np.isnan(source).any():
        bins = 2 * np.shape(marks)[1] + 1
        here, there = between(source, marks), between(target, marks)
        known, at_mark = np.zeros(np.shape(x)[0] * bins, x.dtype), np.arange(np.shape(x)[0] * bins) % bins % 2 == 1
        known[here] = x
        if np.all((known[here] == x) | at_mark[here]):
            total = np.bincount(np.ravel(here), np.ravel(x), np.size(known))
            ties = np.bincount(np.ravel(here), minlength=np.size(known))
            return np.where(at_mark, total / np.maximum(ties, 1), known).astype(x.dtype)[there]
    return given_in_order(x, source, target)


def between(matrix, marks):
    """In which bin each element is, of those of its row: one for each mark, and one below, between and beyond them."""
    first = np.arange(np.shape(matrix)[0])[:, np.newaxis] * (2 * np.shape(marks)[1] + 1)
    number = np.broadcast_to(first, np.shape(matrix)).copy()
    for mark in np.moveaxis(marks, 1, 0):
        number += matrix >= mark[:, np.newaxis]
        number += matrix > mark[:, np.newaxis]
    return number


def given_in_order(x, source, target):
    """The smallest of `target` gets what the smallest of `source` has, and so on."""
    places = ranked(target)
    values = np.reshape(target, (-1,))[places]
    given = np.empty(np.size(x), x.dtype)
    given[places] = shared(np.reshape(x, (-1,))[ranked(source)], values, np.shape(target)[1])
    return np.reshape(given, np.shape(x))


@vjp_rule(given_to_equals)
def given_to_equals_(y_bar, y, x, source, target, marks):
    """Linear in x, and its own transpose with source and target exchanged."""
    return given_to_equals(y_bar, target, source, marks), None, None, None


linear(given_to_equals, args=(0,))


def share(y_bar, hits, axis):
    """`y_bar` shared equally by the elements of a reduced axis that are marked."""
    return np.where(hits, y_bar / np.maximum(np.sum(hits, axis=axis, dtype=y_bar.dtype, keepdims=True), 1), 0)


@vjp_rule(np.median, np.nanmedian)
def median(y_bar, y, a, *, axis=None, out=None, overwrite_input=False, keepdims=False):
    """Half of ȳ for each of the two in the middle, which may be one: the neighbours of y, if not y itself.

    With more than half of the numbers up to y, also the upper one is y: rounding may have put it there.
    """
    axis = None if axis is None else integers(axis)
    centre = spread(y, np.shape(a), axis, keepdims)
    below, above = a < centre, a > centre
    seen = np.sum(a == a, axis=axis, keepdims=True)
    lower = np.max(a, axis=axis, keepdims=True, initial=-np.inf, where=below)
    upper = np.min(a, axis=axis, keepdims=True, initial=np.inf, where=above)
    equal = a == centre
    is_below = 2 * np.sum(below, axis=axis, keepdims=True) == seen
    is_above = 2 * np.sum(above, axis=axis, keepdims=True) == seen
    half = spread(y_bar / 2, np.shape(a), axis, keepdims)
    from_lower = share(half, np.where(is_below, a == lower, equal), axis)
    return from_lower + share(half, np.where(is_above, a == upper, equal), axis)


jvp_rule(np.median, broadcasts=True)(push_by(median, integers))
