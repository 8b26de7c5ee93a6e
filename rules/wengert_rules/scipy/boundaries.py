"""Signals continued beyond their ends, as filters read them: where each element comes from, and the way back."""

from __future__ import annotations

import numpy as np

from wengert.extend import additem, setitem


def numpys(mode):
    """The name that `np.pad` has for a mode of scipy.ndimage."""
    return {
        "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
        "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
    }[mode]  # fmt: skip


def sources(n, before, after, mode):
    """For each place of `n` elements continued at both ends, the element that stands there."""
    return np.pad(np.arange(n), (before, after), mode)


def part(x, axis, start, stop):
    """The elements from `start` to `stop` along one axis."""
    return x[tuple([slice(start, stop) if k == axis % np.ndim(x) else slice(None) for k in range(np.ndim(x))])]


def continued(x, axis, reach, mode, cval=0.0):
    """`x` with more elements along an axis, so many before and behind it as `reach` says, by a mode of `np.pad`."""
    before, after = reach
    if (before == 0 and after == 0) or (np.shape(x)[axis] == 0 and mode != "constant"):
        return x
    if mode != "constant":
        return np.take(x, sources(np.shape(x)[axis], before, after, mode), axis)
    shape = [n + before + after if k == axis % np.ndim(x) else n for k, n in enumerate(np.shape(x))]
    inner = [
        slice(before, before + np.shape(x)[axis]) if k == axis % np.ndim(x) else slice(None) for k in range(np.ndim(x))
    ]
    return setitem(np.full(shape, cval, np.result_type(x, cval) if cval else x.dtype), tuple(inner), x)


def folded(x, axis, reach, mode):
    """The adjoint of `continued`: what stands beyond the ends is added to where it comes from."""
    before, after = reach
    n = np.shape(x)[axis] - before - after
    middle = part(x, axis, before, before + n)
    if mode == "constant" or n == 0 or (before == 0 and after == 0):
        return middle
    places = sources(n, before, after, mode)
    in_front = (slice(None),) * (axis % np.ndim(x))
    made = additem(middle, (*in_front, places[:before]), part(x, axis, 0, before))
    return additem(made, (*in_front, places[before + n :]), part(x, axis, before + n, before + n + after))
