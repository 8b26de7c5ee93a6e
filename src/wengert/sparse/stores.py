"""The dependences of parts of arrays that are read, written and added to."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.sparse.dependences import Dependences, Unknown, recorded
from wengert.sparse.windows import laid_as, scaled
from wengert.tape.ops import Call
from wengert.values import functional
from wengert.values.keys import may_repeat


def read(of: Dependences, op: Call) -> Any:
    """A part of an array, by its key or as a window."""
    x, *where = op.args
    if op.fn is functional.getitem:
        return of.array(x)[of.value(where[0])]
    return _window(of, _laid(of, x), x, where).copy()


def written(of: Dependences, op: Call, in_place: bool) -> Any:
    """An array of which a part is replaced."""
    x, *where, value = op.args
    out = _own(of, op, in_place)
    if op.fn is functional.setitem:
        out[of.value(where[0])] = of.array(value)
    else:
        _window(of, out, x, where)[...] = of.array(value)
    return out


def added(of: Dependences, op: Call, in_place: bool) -> Any:
    """An array to a part of which something is added."""
    x, *where, value = op.args
    out, sets = _own(of, op, in_place), of.array(value)
    if op.fn is functional.addlens:
        window = _window(of, out, x, where)
        if functional.overlaps(window):
            raise Unknown
        window[...] = of.sets.union(window, sets)
        return out
    key = of.value(where[0])
    if may_repeat(key):
        return _added_together(of, out, key, sets)
    out[key] = of.sets.union(out[key], sets)
    return out


def _added_together(of: Dependences, out: np.ndarray, key: Any, sets: np.ndarray) -> np.ndarray:
    """An array to a part of which something is added, where an element may be added to several times."""
    places = np.arange(out.size).reshape(out.shape)[key]
    groups = np.concatenate([np.arange(out.size), places.ravel()])
    members = np.concatenate([out.ravel(), np.broadcast_to(sets, places.shape).ravel()])
    return of.sets.united(groups, members, out.size).reshape(out.shape)


def counted(of: Dependences, op: Call) -> Any:
    """Sums of weights by the places that `np.bincount` has for them."""
    if len(op.args) < 2:
        raise Unknown
    places, weights = of.value(op.args[0]), of.array(op.args[1])
    return of.sets.united(np.asarray(places), weights, np.size(op.val))


def _own(of: Dependences, op: Call, in_place: bool) -> np.ndarray:
    """The dependences of the array that a call changes, in an array that may be written."""
    is_window = op.fn in functional.WINDOWED
    sets = _laid(of, op.args[0]) if is_window else of.array(op.args[0])
    return sets if in_place and sets.flags.writeable else functional.strided_copy(sets)


def _laid(of: Dependences, x: Any) -> np.ndarray:
    return laid_as(of.array(x), np.asarray(recorded(x)))


def _window(of: Dependences, sets: np.ndarray, x: Any, where: list[Any]) -> np.ndarray:
    itemsize = np.asarray(recorded(x)).itemsize
    offset, shape, strides = of.value(where)
    return functional._window(sets, scaled(offset, itemsize), shape, scaled(strides, itemsize))
