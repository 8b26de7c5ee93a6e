"""Filters that give one of the elements in a window: extrema, also beneath a structure, ranks and medians."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.ndimage import _nd_image

from wengert.extend import additem, jvp_rule, stands_for, vjp_rule
from wengert_rules.scipy.boundaries import continued, folded
from wengert_rules.scipy.ndimage.correlations import edges
from wengert_rules.scipy.optional import present

RANK_IN_ROW = present("ndimage._rank_filter_1d.rank_filter")


def extreme(input, *, footprint, mode, cval, origins, structure, minimum):
    """The least or greatest element in each window, of those beneath the `footprint`, with a structure on top."""
    y = np.empty(np.shape(input), input.dtype)
    _nd_image.min_or_max_filter(input, footprint, structure, y, mode, cval, origins, minimum)
    return y


def extreme_in_row(input, *, footprint, mode, cval, origins, axis, minimum):
    """`extreme` of windows along one axis, whose length counts for nothing in the time that it takes."""
    y = np.empty(np.shape(input), input.dtype)
    _nd_image.min_or_max_filter1d(input, np.size(footprint), axis, y, mode, cval, origins[axis], minimum)
    return y


def ranked(input, *, footprint, mode, cval, origins, rank):
    """The element of this rank in each window."""
    y = np.empty(np.shape(input), input.dtype)
    _nd_image.rank_filter(input, rank, footprint, y, mode, cval, origins)
    return y


def ranked_in_row(input, *, footprint, mode, cval, origins, rank):
    """`ranked`, of a vector."""
    y = np.empty(np.shape(input), input.dtype)
    RANK_IN_ROW[0](input, rank, np.size(footprint), y, mode, cval, origins[0])
    return y


def numpys(mode):
    """The name that `np.pad` has for the mode of filters that has this number in C."""
    return ("edge", "wrap", "symmetric", "reflect", "constant", "wrap", "constant")[mode]


def widened(x, footprint, mode, cval, origins):
    """The image with all that windows at its edges read."""
    for axis, (origin, size) in enumerate(zip(origins, np.shape(footprint), strict=True)):
        x = continued(x, axis, edges(origin, size), numpys(mode), cval)
    return x


def hits(y, p, footprint, structure, minimum):
    """For each element of the footprint, what it has beneath it, as a key, and whether that is what was chosen."""
    found = []
    for place in itertools.product(*[range(size) for size in np.shape(footprint)]):
        if footprint[place]:
            window = tuple([slice(j, j + n) for j, n in zip(place, np.shape(y), strict=True)])
            lift = 0 if structure is None else -structure[place] if minimum else structure[place]
            found.append((window, (p[window] + lift).astype(y.dtype) == y))
    return found


@vjp_rule(extreme, extreme_in_row, ranked, ranked_in_row)
def selection(
    y_bar, y, input, *, footprint, mode, cval, origins, structure=None, minimum=True, rank=None, axis=None
):  # fmt: skip
    """ȳ, shared equally by the elements of a window that tie; `cval` keeps its share."""
    p = widened(input, footprint, mode, cval, origins)
    chosen = hits(y, p, footprint, structure, minimum)
    share = y_bar / sum([hit.astype(int) for _, hit in chosen])
    p_bar = np.zeros(np.shape(p), y_bar.dtype)
    for window, hit in chosen:
        p_bar = additem(p_bar, window, np.where(hit, share, 0))
    for along, (origin, size) in enumerate(zip(origins, np.shape(footprint), strict=True)):
        p_bar = folded(p_bar, along, edges(origin, size), numpys(mode))
    return p_bar


@jvp_rule(extreme, extreme_in_row, ranked, ranked_in_row)
def push_selection(
    tangents, y, input, *, footprint, mode, cval, origins, structure=None, minimum=True, rank=None, axis=None
):  # fmt: skip
    p = widened(input, footprint, mode, cval, origins)
    tangent = widened(tangents[0], footprint, mode, 0.0, origins)
    chosen = hits(y, p, footprint, structure, minimum)
    total = sum([np.where(hit, tangent[window], 0) for window, hit in chosen])
    return total / sum([hit.astype(int) for _, hit in chosen])


@stands_for(*present("ndimage._nd_image.min_or_max_filter"))
def min_or_max_filter(input, footprint, structure, output, mode, cval, origins, minimum):
    words = {"footprint": footprint, "mode": mode, "cval": cval, "origins": origins, "minimum": minimum}
    output[...] = extreme(input, structure=structure, **words)


def in_row(axis, size, origin, ndim):
    """A window along one axis, as one of all, and its origins."""
    shape = [size if k == axis else 1 for k in range(ndim)]
    return np.ones(shape, bool), [origin if k == axis else 0 for k in range(ndim)]


@stands_for(*present("ndimage._nd_image.min_or_max_filter1d"))
def min_or_max_filter1d(input, size, axis, output, mode, cval, origin, minimum):
    footprint, origins = in_row(axis, size, origin, input.ndim)
    words = {"footprint": footprint, "mode": mode, "cval": cval, "origins": origins, "minimum": minimum}
    output[...] = extreme_in_row(input, axis=axis, **words)


@stands_for(*present("ndimage._nd_image.rank_filter"))
def rank_filter(input, rank, footprint, output, mode, cval, origins):
    output[...] = ranked(input, footprint=footprint, mode=mode, cval=cval, origins=origins, rank=rank)


@stands_for(*RANK_IN_ROW)
def rank_filter_in_row(input, rank, size, output, mode, cval, origin):
    footprint, origins = in_row(0, size, int(np.ravel(origin)[0]), 1)
    output[...] = ranked_in_row(input, footprint=footprint, mode=mode, cval=cval, origins=origins, rank=rank)


@stands_for(*present("ndimage._nd_image.generic_filter"))
def generic_filter(input, function, footprint, output, mode, cval, origins, extra_arguments, extra_keywords):
    """The function of what lies in each window, in a row."""
    p = widened(input, footprint, mode, cval, origins)
    for index in np.ndindex(*output.shape):
        window = p[tuple([slice(i, i + size) for i, size in zip(index, np.shape(footprint), strict=True)])]
        output[index] = function(window[footprint], *extra_arguments, **extra_keywords)


@stands_for(*present("ndimage._nd_image.generic_filter1d"))
def generic_filter1d(
    input, function, filter_size, axis, output, mode, cval, origin, extra_arguments, extra_keywords
):  # fmt: skip
    """The function is given each line with all that it reads, and a line to write into."""
    whole = continued(input, axis, edges(origin, filter_size), numpys(mode), cval)
    lines, made = np.moveaxis(whole, axis, -1), np.moveaxis(output, axis, -1)
    for index in np.ndindex(*made.shape[:-1]):
        line = np.zeros(made.shape[-1])
        function(lines[index], line, *extra_arguments, **extra_keywords)
        made[index] = line
