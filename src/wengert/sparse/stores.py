"""Dependences of calls that read, write or add to parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.sparse.dependences import Dependences, RuleDoesNotApply, recorded_value
from wengert.sparse.windows import byte_offsets, with_layout_of
from wengert.tape.ops import Call
from wengert.values import functional
from wengert.values.keys import may_repeat


def read_dependences(deps: Dependences, op: Call) -> Any:
    """Return the dependences of a part of an array, selected by key or by strides."""
    x, *where = op.args
    if op.fn is functional.getitem:
        return deps.array(x)[deps.value(where[0])]
    return _window_of(deps, _sets_in_layout(deps, x), x, where).copy()


def store_dependences(deps: Dependences, op: Call, in_place: bool) -> Any:
    """Return the dependences of an array after a part was replaced."""
    x, *where, value = op.args
    out = _writable_sets(deps, op, in_place)
    if op.fn is functional.setitem:
        out[deps.value(where[0])] = deps.array(value)
    else:
        _window_of(deps, out, x, where)[...] = deps.array(value)
    return out


def addition_dependences(deps: Dependences, op: Call, in_place: bool) -> Any:
    """Return the dependences of an array after an addition to a part."""
    x, *where, value = op.args
    out, sets = _writable_sets(deps, op, in_place), deps.array(value)
    if op.fn is functional.addlens:
        window = _window_of(deps, out, x, where)
        if functional.overlaps(window):
            raise RuleDoesNotApply
        window[...] = deps.sets.union(window, sets)
        return out
    key = deps.value(where[0])
    if may_repeat(key):
        return _repeated_addition(deps, out, key, sets)
    out[key] = deps.sets.union(out[key], sets)
    return out


def _repeated_addition(deps: Dependences, out: np.ndarray, key: Any, sets: np.ndarray) -> np.ndarray:
    """Return the dependences of an array after an addition whose key may repeat elements."""
    positions = np.arange(out.size).reshape(out.shape)[key]
    groups = np.concatenate([np.arange(out.size), positions.ravel()])
    members = np.concatenate([out.ravel(), np.broadcast_to(sets, positions.shape).ravel()])
    return deps.sets.unions(groups, members, out.size).reshape(out.shape)


def bincount_dependences(deps: Dependences, op: Call) -> Any:
    """Return the dependences of `np.bincount` with weights: each bin depends on the weights added to it."""
    if len(op.args) < 2:
        raise RuleDoesNotApply
    bins, weights = deps.value(op.args[0]), deps.array(op.args[1])
    return deps.sets.unions(np.asarray(bins), weights, np.size(op.val))


def _writable_sets(deps: Dependences, op: Call, in_place: bool) -> np.ndarray:
    """Return the dependences of the array that a call changes, in an array that may be written."""
    is_window = op.fn in functional.WINDOWED
    sets = _sets_in_layout(deps, op.args[0]) if is_window else deps.array(op.args[0])
    return sets if in_place and sets.flags.writeable else functional.strided_copy(sets)


def _sets_in_layout(deps: Dependences, x: Any) -> np.ndarray:
    return with_layout_of(deps.array(x), np.asarray(recorded_value(x)))


def _window_of(deps: Dependences, sets: np.ndarray, x: Any, where: list[Any]) -> np.ndarray:
    itemsize = np.asarray(recorded_value(x)).itemsize
    offset, shape, strides = deps.value(where)
    return functional._window(sets, byte_offsets(offset, itemsize), shape, byte_offsets(strides, itemsize))
