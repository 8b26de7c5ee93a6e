"""Functions that move elements without changing them: shapes, axes, joins, copies and conversions."""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import RuleError, additem, jvp_rule, linear, vjp_rule

ALL = slice(None)
SHORT = 32  # elements, up to which `np.sum` along an axis is up to five times slower than `np.einsum`


def element_order(order):
    """`order`, where it says by itself in which order elements are read; "A" and "K" also ask the memory."""
    if order is None or order in ("C", "F"):  # None is "C"
        return order
    raise RuleError(f"order={order!r} depends on the layout in memory: use order='C' or 'F'")


def pieces(y_bar, lengths, axis):
    """`y_bar` cut along `axis` into parts of these lengths."""
    parts, start = [], 0
    for length in lengths:
        parts.append(y_bar[(ALL,) * axis + (slice(start, start + length),)])
        start += length
    return parts


def integers(x):
    """One integer, or several, of Python or of NumPy, or bools, as a tuple of Python's, which do not overflow."""
    return tuple(int(n) for n in np.ravel(x).tolist())


def inverse_permutation(axes, ndim):
    """The axes that undo `axes`; None, which reverses, undoes itself."""
    return None if axes is None else tuple(np.argsort([axis % ndim for axis in axes]).tolist())


@vjp_rule(np.reshape, view=True)
def reshape(y_bar, y, a, *, shape=None, order="C", copy=None):
    return np.reshape(y_bar, np.shape(a), order=element_order(order))


@vjp_rule(np.ndarray.reshape, np.generic.reshape, view=True)
def reshape_method(y_bar, y, a, *shape, order="C", copy=None):
    return np.reshape(y_bar, np.shape(a), order=element_order(order))


@vjp_rule(np.ravel, np.ndarray.ravel, np.ndarray.flatten, np.generic.ravel, np.generic.flatten, view=True)
def ravel(y_bar, y, a, *, order="C"):
    return np.reshape(y_bar, np.shape(a), order=element_order(order))


@jvp_rule(np.reshape, np.ndarray.reshape, np.ravel, broadcasts=True)
def push_reshape(tangents, y, a, *given, order="C", **options):
    return np.reshape(tangents[0], (*front(a, tangents[0]), *np.shape(y)), order=element_order(order))


def front(x, tangent):
    """The length of the axis of directions that a tangent has in front of those of `x`, or nothing."""
    return np.shape(tangent)[:1] if np.ndim(tangent) > np.ndim(x) else ()


@vjp_rule(np.squeeze, np.ndarray.squeeze, np.generic.squeeze, view=True, identity=True)
def squeeze(y_bar, y, a, *, axis=None):
    return np.reshape(y_bar, np.shape(a))


@vjp_rule(np.expand_dims, view=True)
def expand_dims(y_bar, y, a, *, axis):
    return np.reshape(y_bar, np.shape(a))


@jvp_rule(np.squeeze, np.expand_dims, broadcasts=True)
def push_axes(tangents, y, a, *, axis=None):
    return np.reshape(tangents[0], (*front(a, tangents[0]), *np.shape(y)))


@vjp_rule(np.broadcast_to, broadcasts=True, view=True)
def broadcast_to(y_bar, y, array, *, shape, subok=False):
    return y_bar


@vjp_rule(np.full, broadcasts=True)
def full(y_bar, y, shape, fill_value, *, dtype=None, order="C", device=None, like=None):
    return None, y_bar


@vjp_rule(np.transpose, view=True)
def transpose(y_bar, y, a, *, axes=None):
    return np.transpose(y_bar, inverse_permutation(axes, np.ndim(y)))


@vjp_rule(np.ndarray.transpose, np.generic.transpose, view=True)
def transpose_method(y_bar, y, a, *axes):
    """The axes come one by one, as one tuple, as None or not at all."""
    order = axes[0] if len(axes) == 1 and (axes[0] is None or np.ndim(axes[0])) else axes or None
    return np.transpose(y_bar, inverse_permutation(order, np.ndim(y)))


@vjp_rule(np.swapaxes, np.ndarray.swapaxes, view=True)
def swapaxes(y_bar, y, a, *, axis1, axis2):
    return np.swapaxes(y_bar, axis1, axis2)


@vjp_rule(np.matrix_transpose, view=True)
def matrix_transpose(y_bar, y, x):
    return np.swapaxes(y_bar, -1, -2)


@vjp_rule(np.flip, view=True)
def flip(y_bar, y, m, *, axis=None):
    return np.flip(y_bar, axis)


@vjp_rule(np.roll)
def roll(y_bar, y, a, *, shift, axis=None):
    return np.roll(y_bar, tuple(-n for n in integers(shift)), axis)


@vjp_rule(np.repeat, np.ndarray.repeat, np.generic.repeat)
def repeat(y_bar, y, a, *, repeats, axis=None):
    """The sum over the copies of each element, or of each slice along `axis`."""
    flat = axis is None or np.ndim(a) == 0  # a number may be repeated along axis 0
    shape = (np.size(a),) if flat else np.shape(a)
    along = 0 if flat else axis % np.ndim(a)
    before, n, after = shape[:along], shape[along], shape[along + 1 :]
    if np.size(repeats) == 1:
        times = np.size(y) // max(math.prod(shape), 1)
        copies = np.reshape(y_bar, (math.prod(before) * n, times, math.prod(after)))
        sums = np.einsum("ijk->ik", copies) if times <= SHORT else np.sum(copies, axis=1)
        return np.reshape(sums, np.shape(a))
    sources = np.repeat(np.arange(n), repeats)
    return np.reshape(additem(np.zeros(shape, a.dtype), (ALL,) * along + (sources,), y_bar), np.shape(a))


@vjp_rule(np.tile)
def tile(y_bar, y, A, *, reps):
    """The sum over the tiles: y has each axis of A as (which tile, place in it)."""
    reps = integers(reps)
    n = max(len(reps), np.ndim(A))
    reps = (1,) * (n - len(reps)) + reps
    shape = (1,) * (n - np.ndim(A)) + np.shape(A)
    cut = [length for pair in zip(reps, shape, strict=True) for length in pair]
    return np.reshape(np.sum(np.reshape(y_bar, tuple(cut)), axis=tuple(range(0, 2 * n, 2))), np.shape(A))


@vjp_rule(np.meshgrid, view=True)
def meshgrid(y_bar, y, *xi, copy=True, sparse=False, indexing="xy"):
    """The sum of each grid over all axes but its own; with indexing "xy" the first two are exchanged."""
    shapes = [np.shape(x) for x in xi]
    n = len(shapes)
    own = [1 - i if indexing == "xy" and n > 1 and i < 2 else i for i in range(n)]
    cotangents = [np.sum(y_bar[i], axis=tuple(k for k in range(n) if k != own[i])) for i in range(n)]
    return tuple(np.reshape(x_bar, shape) for x_bar, shape in zip(cotangents, shapes, strict=True))


@vjp_rule(np.concatenate, sequence=0)
def concatenate(y_bar, y, *arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    shapes = [np.shape(a) for a in arrays]
    if axis is None:
        parts = pieces(y_bar, [math.prod(shape) for shape in shapes], 0)
        return tuple(np.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True))
    along = axis % np.ndim(y)
    return tuple(pieces(y_bar, [shape[along] for shape in shapes], along))


@vjp_rule(np.stack, sequence=0)
def stack(y_bar, y, *arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    before = (ALL,) * (axis % np.ndim(y))
    return tuple(y_bar[(*before, i)] for i in range(len(arrays)))


@vjp_rule(np.hstack, sequence=0)
def hstack(y_bar, y, *arrays, dtype=None, casting="same_kind"):
    """Scalars and vectors are joined end to end, others along the second axis."""
    shapes = [np.shape(a) for a in arrays]
    along = 0 if np.ndim(y) == 1 else 1
    parts = pieces(y_bar, [shape[along] if shape else 1 for shape in shapes], along)
    return tuple(np.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True))


@vjp_rule(np.vstack, sequence=0)
def vstack(y_bar, y, *arrays, dtype=None, casting="same_kind"):
    """Scalars and vectors are rows, others are joined along the first axis."""
    shapes = [np.shape(a) for a in arrays]
    parts = pieces(y_bar, [shape[0] if len(shape) > 1 else 1 for shape in shapes], 0)
    return tuple(np.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True))


@vjp_rule(np.copy, np.ndarray.copy, np.generic.copy)
def copy(y_bar, y, a, *, order="K", subok=False):
    return y_bar


@vjp_rule(np.ndarray.astype, np.generic.astype, identity=True)
def astype(y_bar, y, a, *, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """ȳ, brought back to the dtype of a by the engine; conversion to integers is piecewise constant."""
    return y_bar if y.dtype.kind in "fc" else None


@vjp_rule(
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray,
    sequence=0, identity=True, view=True,
)  # fmt: skip
def array(y_bar, y, *items, dtype=None, order="K", copy=None, subok=False, device=None, like=None, ndmin=0):
    """Of one array: ȳ in its shape. Of a sequence of numbers or arrays: item i gets ȳ[i]."""
    shapes = [np.shape(item) for item in items]
    if len(shapes) == 1:
        return (np.reshape(y_bar, shapes[0]),)
    if ndmin:
        y_bar = np.reshape(y_bar, (len(shapes), *shapes[0]))
    return tuple(y_bar[i] for i in range(len(shapes)))


@jvp_rule(np.array, broadcasts=True)
def push_array(tangents, y, *items, dtype=None, order="K", copy=None, subok=False, device=None, like=None, ndmin=0):
    ahead = next(front(x, tangent) for tangent, x in zip(tangents, items, strict=True) if tangent is not None)
    shapes = [(*ahead, *np.shape(x)) for x in items]
    pairs = zip(tangents, shapes, strict=True)
    parts = [np.zeros(shape) if tangent is None else np.reshape(tangent, shape) for tangent, shape in pairs]
    return np.reshape(np.stack(parts, len(ahead)) if len(parts) > 1 else parts[0], (*ahead, *np.shape(y)))


@vjp_rule(np.ndarray.view, view=True)
def view(y_bar, y, a, *, dtype=None, type=None):
    """Of the same dtype; others read the bytes of the numbers."""
    if y.dtype != a.dtype:
        raise RuleError(f"an array of {a.dtype} is viewed as {y.dtype}: convert it with .astype")
    return y_bar


@jvp_rule(np.broadcast_to, np.full, np.copy, np.ndarray.astype, np.ndarray.view, broadcasts=True)
def push_same(tangents, y, *given, **options):
    """The tangent itself, which the engine brings to the shape and dtype of y."""
    return tangents[-1] if tangents[0] is None else tangents[0]


@vjp_rule(np.ndarray.item, np.generic.item)
def item(y_bar, y, a, *index):
    """One element as a Python number: the only one, or by a flat or a full index."""
    if len(index) == 0:
        return np.reshape(y_bar, np.shape(a))
    place = index[0] if isinstance(index[0], tuple) else index
    if len(place) == 1:
        place = np.unravel_index(place[0] % np.size(a), np.shape(a))
    return additem(np.zeros(np.shape(a), a.dtype), place, y_bar)


linear(np.ndarray.item, args=(0,))
linear(np.transpose, np.swapaxes, np.matrix_transpose, np.flip, np.roll, np.repeat, np.tile, np.meshgrid)
linear(np.concatenate, np.stack, np.hstack, np.vstack)
linear(np.ndarray.transpose, args=(0,))
