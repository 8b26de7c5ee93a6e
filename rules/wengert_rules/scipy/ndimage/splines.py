"""Images between their elements: sums of B-splines, whose weights are polynomials of the place.

An image is read at coordinates, which may be stretched and moved, or turned: SciPy does so in C. The text here
computes the same with NumPy, and so has derivatives in the image and in the coordinates.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from scipy.ndimage import spline_filter1d

from wengert.extend import linear, stands_for, vjp_rule
from wengert_rules.scipy.optional import present

NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
"""The numbers of the modes in C."""
FEW = 50  # elements, of which the slowest pole, -0.43, leaves nothing


def ends_halved(mode):
    """Whether a mode counts the elements at the ends once where it counts the others twice."""
    return mode in ("mirror", "constant", "grid-constant", "wrap")


def scaled_ends(x, axis, factor):
    k, n = np.arange(np.shape(x)[axis]), np.shape(x)[axis]
    shape = [-1 if along == axis % np.ndim(x) else 1 for along in range(np.ndim(x))]
    return x * np.reshape(np.where((k == 0) | (k == n - 1), factor, 1.0), shape)


@vjp_rule(spline_filter1d)
def spline_filter1d_(y_bar, y, input, *, order=3, axis=-1, output=None, mode="mirror"):
    """The inverse of a matrix that is symmetric, between weights where the ends count half.

    SciPy begins with what reflected elements give by a formula which is exact for many elements only.
    """
    n = np.shape(input)[axis]
    if order < 2 or n < 2:
        return y_bar
    if ends_halved(mode):
        made = spline_filter1d(scaled_ends(y_bar, axis, 2.0), order, axis, y_bar.dtype, mode)
        return scaled_ends(made, axis, 0.5)
    if n < FEW and mode != "grid-wrap":
        matrix = spline_filter1d(np.eye(n), order, 0, float, mode)
        return np.swapaxes(np.swapaxes(y_bar, axis, -1) @ matrix, axis, -1)
    return spline_filter1d(y_bar, order, axis, y_bar.dtype, mode)


linear(spline_filter1d)


def mapped(at, n, mode):
    """Coordinates beyond the ends of `n` elements as those of what stands there; -1 where nothing does."""
    low, outside = at < 0, (at < 0) | (at > n - 1)
    if mode == GRID_CONSTANT:
        return at
    if mode in (NEAREST, CONSTANT) or n == 1:
        return np.where(outside, -1.0 if mode == CONSTANT else np.where(low, 0.0, n - 1.0), at)
    if mode == WRAP:
        turns = np.where(low, -np.floor(-at / (n - 1)) - 1, np.floor(at / (n - 1)))
        return np.where(outside, at - (n - 1) * turns, at)
    if mode == GRID_WRAP:
        turns = np.where(low, -np.floor(np.maximum(-1 - at, 0) / n) - 1, np.floor(at / n))
        return np.where(outside, at - n * turns, at)
    period = 2 * n - 2 if mode == MIRROR else 2 * n
    once = at - period * np.floor(at / period)
    back = period - once if mode == MIRROR else period - 1 - once
    return np.where(outside, np.where(once >= n, back, once), at)


def spline_weights(t, order):
    """The B-splines that are not zero between two knots, at the share t of the way, by their recurrence."""
    values: list = [np.ones(np.shape(t))]
    for degree in range(1, order + 1):
        pairs = enumerate(itertools.pairwise([0.0, *values, 0.0]))
        values = [((t + degree - j) * a + (j + 1 - t) * b) / degree for j, (a, b) in pairs]
    return values


def taps(at, n, order, mode):
    """Return the indices and weights that a spline reads at each coordinate, and whether it reads any."""
    at = at if mode == NEAREST else mapped(at, n, mode)  # of what is all beyond an end, each tap reads the end
    late = 0.0 if order % 2 else 0.5
    first = np.floor(at + late)
    edge = MIRROR if mode in (CONSTANT, WRAP) else mode
    found = []
    for k, weight in enumerate(spline_weights(at + late - first, order)):
        place = first.astype(int) - order // 2 + k
        if mode == GRID_CONSTANT:
            weight = np.where((place < 0) | (place >= n), 0.0, weight)
            place = np.clip(place, 0, n - 1)
        found.append((mapped(place, n, edge).astype(int), weight))
    return found, mode in (NEAREST, GRID_CONSTANT) or at > -1


def read(image, at, order, mode, cval):
    """The image at coordinates that are given for each of its axes."""
    pairs = [taps(x, n, order, mode) for x, n in zip(at, np.shape(image), strict=True)]
    image, total = image - cval, 0.0  # the weights of all taps have the sum 1
    for chosen in itertools.product(*[found for found, _ in pairs]):
        weight = math.prod([weight for _, weight in chosen])
        total = total + weight * image[tuple([place for place, _ in chosen])]
    known = functools.reduce(np.logical_and, [known for _, known in pairs])
    return np.where(known, total + cval, cval)


def read_along_axes(image, at, order, mode, cval):
    """The image at the products of coordinates along each of its axes."""
    made = image - cval
    for axis, x in enumerate(at):
        found, known = taps(x, np.shape(made)[axis], order, mode)
        column = (-1,) + (1,) * (np.ndim(made) - 1 - axis)
        terms = [np.take(made, place, axis) * np.reshape(weight, column) for place, weight in found]
        made = np.where(np.reshape(np.broadcast_to(known, np.shape(x)), column), sum(terms), 0.0)
    return made + cval


@stands_for(*present("ndimage._nd_image.geometric_transform"))
def geometric_transform(
    input, mapping, coordinates, matrix, shift, output, order, mode, cval, npad, extra_arguments, extra_keywords
):  # fmt: skip
    shape = output.shape
    if mapping is not None:
        rows = [mapping(index, *extra_arguments, **extra_keywords) for index in np.ndindex(*shape)]
        at = [np.reshape(np.array([row[k] for row in rows]), shape) for k in range(input.ndim)]
    elif matrix is not None:
        grid = np.indices(shape)
        at = [shift[k] + sum([matrix[k, j] * grid[j] for j in range(len(shape))]) for k in range(input.ndim)]
    else:
        at = [coordinates[k] for k in range(input.ndim)]
    output[...] = read(input, [x + npad for x in at], order, mode, cval)


@stands_for(*present("ndimage._nd_image.zoom_shift"))
def zoom_shift(input, zoom, shift, output, order, mode, cval, npad, grid_mode):
    at = []
    for k, n in enumerate(output.shape):
        x = np.arange(n) + (0.0 if shift is None else shift[k])
        middle = 0.5 if grid_mode else 0.0
        at.append((x if zoom is None else (x + middle) * zoom[k] - middle) + npad)
    output[...] = read_along_axes(input, at, order, mode, cval)
