"""Correlations with weights: yᵢ = Σⱼ kⱼ pᵢ₊ⱼ, where p is the image continued beyond its edges."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import convolve, correlate, correlate1d, uniform_filter1d

from wengert.extend import computes, jvp_rule, linear, vjp_rule
from wengert_rules.products import conj
from wengert_rules.scipy.boundaries import continued, folded, numpys
from wengert_rules.shapes import integers


def turned(origin, size):
    """The origin with which weights read backwards stand where they stood."""
    return -origin - 1 + size % 2


def edges(origin, size):
    """Return how far the weights reach before and behind their element."""
    return size // 2 + origin, (size - 1) // 2 - origin


@vjp_rule(correlate1d)
def correlate1d_(y_bar, y, input, weights, *, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """p̄ is the convolution of ȳ with the weights; what stands beyond the edges goes to where it comes from."""
    size = np.size(weights)
    reach = edges(origin, size)
    whole = continued(y_bar, axis, reach, "constant")
    p_bar = correlate1d(whole, np.flip(conj(weights)), axis, None, "constant", 0.0, turned(origin, size))
    p = np.swapaxes(continued(input, axis, reach, numpys(mode), cval), axis, -1)
    return folded(p_bar, axis, reach, numpys(mode)), matches(p, np.swapaxes(y_bar, axis, -1), size)


def matches(p, y_bar, size):
    """Σᵢ pᵢ₊ⱼ ȳ*ᵢ over all rows, for each j."""
    n = np.shape(y_bar)[-1]
    return np.stack([np.sum(p[..., j : j + n] * conj(y_bar)) for j in range(size)])


@jvp_rule(correlate1d)
def push_correlate1d(tangents, y, input, weights, *, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    moved = [] if tangents[0] is None else [correlate1d(tangents[0], weights, axis, None, mode, 0.0, origin)]
    if tangents[1] is not None:
        moved.append(correlate1d(input, tangents[1], axis, None, mode, cval, origin))
    return sum(moved)


@vjp_rule(uniform_filter1d)
def uniform_filter1d_(y_bar, y, input, *, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    reach = edges(origin, size)
    whole = continued(y_bar, axis, reach, "constant")
    p_bar = uniform_filter1d(whole, size, axis, None, "constant", 0.0, turned(origin, size))
    return folded(p_bar, axis, reach, numpys(mode))


linear(uniform_filter1d, without=("cval",))


@computes
def placed(origin, axes, ndim):
    """The axes of an image that weights for some `axes` have not, and the origins along all."""
    axes = [*range(ndim)] if axes is None else [k % ndim for k in integers(axes)]
    origins = dict(zip(axes, integers(np.broadcast_to(origin, (len(axes),))), strict=True))
    return tuple([k for k in range(ndim) if k not in axes]), [origins.get(k, 0) for k in range(ndim)]


def spread(shape, others):
    """The shape of weights for all axes of an image, of which they have not the `others`."""
    return np.shape(np.expand_dims(np.broadcast_to(0.0, shape), others))


@computes
def onto_image(y_bar, kernel, origins, mode):
    shape, whole = np.shape(kernel), y_bar
    for axis, (origin, size) in enumerate(zip(origins, shape, strict=True)):
        whole = continued(whole, axis, edges(origin, size), "constant")
    back = [turned(origin, size) for origin, size in zip(origins, shape, strict=True)]
    x_bar = correlate(whole, np.flip(kernel), None, "constant", 0.0, back)
    for axis, (origin, size) in enumerate(zip(origins, shape, strict=True)):
        x_bar = folded(x_bar, axis, edges(origin, size), numpys(mode))
    return x_bar


@computes
def onto_kernel(y_bar, input, shape, origins, mode, cval):
    """The conjugate of the cotangent of a kernel of this shape."""
    p = input
    for axis, (origin, size) in enumerate(zip(origins, shape, strict=True)):
        p = continued(p, axis, edges(origin, size), numpys(mode), cval)
    counts = np.shape(y_bar)
    places = np.reshape(np.indices(shape), (len(shape), -1)).T.tolist()
    keys = [tuple([slice(j, j + n) for j, n in zip(place, counts, strict=True)]) for place in places]
    sums = [np.sum(p[key] * conj(y_bar)) for key in keys]
    return np.reshape(np.stack(sums), shape)


@vjp_rule(correlate)
def correlate_(y_bar, y, input, weights, *, output=None, mode="reflect", cval=0.0, origin=0, axes=None):
    others, origins = placed(origin, axes, np.ndim(input))
    shape = np.shape(weights)
    return (
        onto_image(y_bar, conj(np.expand_dims(weights, others)), origins, mode),
        np.reshape(onto_kernel(y_bar, input, spread(shape, others), origins, mode, cval), shape),
    )


@vjp_rule(convolve)
def convolve_(y_bar, y, input, weights, *, output=None, mode="reflect", cval=0.0, origin=0, axes=None):
    """The correlation with the weights read backwards."""
    others, origins = placed(origin, axes, np.ndim(input))
    shape = np.shape(weights)
    whole = spread(shape, others)
    back = [turned(origin, size) for origin, size in zip(origins, whole, strict=True)]
    return (
        onto_image(y_bar, np.flip(np.expand_dims(weights, others)), back, mode),
        np.reshape(np.flip(conj(onto_kernel(y_bar, input, whole, back, mode, cval))), shape),
    )


def pushes(correlation):
    """The pushforward of a correlation or convolution, whose `cval` stays with the weights."""

    def push(tangents, y, input, weights, *, output=None, mode="reflect", cval=0.0, origin=0, axes=None):
        moved = []
        for image, given, edge in ((tangents[0], weights, 0.0), (input, tangents[1], cval)):
            if image is not None and given is not None:
                options = {} if axes is None else {"axes": axes}  # which came with SciPy 1.16
                moved.append(correlation(image, given, None, mode, edge, origin, **options))
        return sum(moved)

    return push


jvp_rule(correlate)(pushes(correlate))
jvp_rule(convolve)(pushes(convolve))
