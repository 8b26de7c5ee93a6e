"""Write reads and writes of strided windows onto vectors as reshapes, slices and transposes.

A write into `x.T` is recorded as one into a window onto the memory of `x`, with strides in bytes. No pass may lay out
that memory otherwise, so rules do not apply around it. If the memory is a contiguous vector, as `np.ravel` returns it,
and the window is a part of a dense array, the same elements are read by a slice of the vector in another shape.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.ops import is_item_store
from wengert.compiling.tape_rewriter import TapeRewriter, inputs_first
from wengert.tape.ops import Call, Op, Variable, value_of
from wengert.values import functional
from wengert.values.identity_set import Functions

_FLATTENING = Functions(np.ravel, np.ndarray.ravel)
_WINDOW_WRITES = Functions(functional.setlens, functional.addlens)


class WindowPart(NamedTuple):
    """The part `key` of a vector in the shape `dense`; a window has its axes in the order `axes`, and the `shape`."""

    dense: tuple[int, ...]
    key: tuple[slice, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]


def without_windows(tape: Any) -> Any:
    """Return the tape with reads and writes of parts in place of those of windows."""
    ops = inputs_first(tape)
    vectors: set[Op | None] = set()
    parts: dict[Op, WindowPart] = {}
    for op in ops:
        if isinstance(op, Call) and not op.guard:
            is_of_vector = bool(op.args) and type(op.args[0]) is Variable and op.args[0].op in vectors
            if is_of_vector and op.fn in functional.WINDOWED:
                part = shown_part(value_of(op.args[0]), *op.args[1:4])
                parts.update({} if part is None else {op: part})
            is_flat = op.fn in _FLATTENING and len(op.args) == 1 and not op.kwargs
            if is_flat or (is_of_vector and (op.fn in _WINDOW_WRITES or is_item_store(op))):
                vectors.add(op)
    if not parts:
        return tape
    new = _PartWriter(tape)
    for op in ops:
        if op in parts:
            new.push_part(op, parts[op])
        else:
            new.push(op)
    return new.finished()


def shown_part(x: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> WindowPart | None:
    """Return the part of a vector that a window shows; None if it is no part of a dense array."""
    size = x.dtype.itemsize
    kept = sorted([k for k, n in enumerate(shape) if n != 1], key=lambda k: -strides[k])
    steps = [strides[k] // size for k in kept]
    if 0 in shape or offset % size or any([strides[k] % size or strides[k] <= 0 for k in kept]):
        return None
    radices = [len(x), *steps]
    if any([a % b for a, b in itertools.pairwise(radices)]):
        return None
    dense = [*[a // b for a, b in itertools.pairwise(radices)], radices[-1]]
    counts, key, place = [*[shape[k] for k in kept], 1], [], offset // size
    for count, step, n in zip(counts, [*steps, 1], dense, strict=True):
        first, place = divmod(place, step)
        if first + count > n:
            return None
        key.append(slice(first, first + count))
    return WindowPart(tuple(dense), tuple(key), (*map(kept.index, sorted(kept)), len(kept)), shape)


class _PartWriter(TapeRewriter):
    """Writes a tape with parts."""

    def push_part(self, op: Any, part: WindowPart) -> None:
        """Append the calls that read or write a part."""
        x, *_ = map(self.value, op.args)
        dense = self.push_call(op, np.reshape, x, part.dense)
        if op.fn not in _WINDOW_WRITES:
            found = self.push_call(op, operator.getitem, dense, part.key)
            turned = self.push_call(op, np.transpose, found, part.axes)
            self.table[op] = self.push_call(op, np.reshape, turned, part.shape)
            return
        store = functional.setitem if op.fn is functional.setlens else functional.additem
        value = self.push_call(op, np.broadcast_to, self.value(op.args[4]), part.shape)
        in_order = tuple([part.key[k].stop - part.key[k].start for k in part.axes])
        value = self.push_call(op, np.reshape, value, in_order)
        value = self.push_call(op, np.transpose, value, tuple(np.argsort(part.axes).tolist()))
        made = self.push_call(op, store, dense, part.key, value)
        self.table[op] = self.push_call(op, np.reshape, made, np.shape(op.val))
