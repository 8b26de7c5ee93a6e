"""Turning: arrays of many short rows are computed the other way round, with all axes reversed.

NumPy runs along the last axis; where that is short, what it takes to begin each run is most of the time, unless an
array is as one run. So `x * s[:, None]` and sums along rows take several times as long as the same on `x.T`, if that
lies in memory column by column. What others read is copied back, row by row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.graphs.from_tape import deciding
from wengert.compiling.graphs.graph import SUM
from wengert.compiling.graphs.ownership import is_display
from wengert.compiling.placement import MAKERS, is_elementwise, is_of_numbers, is_plain
from wengert.compiling.remade import Remade
from wengert.compiling.rows import BY_ELEMENTS, EXTREMA, RESHAPES
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.values import functional
from wengert.values.functions import Functions

MANY = 500  # rows
SHORT = 32  # elements of a row; in longer ones the beginning is little
GAIN = 2  # how many calls are faster by columns for each array that is turned

Turn = Callable[[Any, int], Any]  # of an argument, to so many axes
Turned = tuple[Any, Sequence[Any], dict[str, Any]]
_STORES = Functions(functional.setitem, functional.additem)


def turned(tape: AnyTape) -> AnyTape:
    """The tape with arrays of many short rows turned where that pays.

    What something decides by stays: sums by columns are added up in another order, and NumPy may round a function of
    elements that lie together otherwise.
    """
    ops = list(tape)
    if not any([_is_tall(op.val) for op in ops]) or not is_plain(ops):
        return tape
    decides = deciding(ops)
    groups = _groups(ops, {op for op in ops if op not in decides and _by_columns(op, _as_it_is) is not None})
    readers: dict[Any, list[Any]] = {tape.result.op: [None]}
    for op in ops:
        for v in op.references():
            readers.setdefault(v.op, []).append(op)
    chosen = {op for group in groups if _pays(group, readers) for op in group}
    if not chosen:
        return tape
    made = _Turned(tape)
    for op in ops:
        if op in chosen:
            made.turn(op)
        else:
            made.push(op)
    return made.finished()


def _is_tall(x: Any) -> bool:
    """Whether a value has many short rows."""
    return type(x) is np.ndarray and x.ndim > 1 and x.shape[0] >= MANY and 0 < x.shape[-1] <= SHORT and x.size > 0


def _groups(ops: Iterable[Op], able: set[Op]) -> list[list[Any]]:
    """Ops that can be turned, together with those whose tall arrays they read."""
    of: dict[Any, list[Op]] = {}
    for op in ops:
        if op in able:
            of[op] = mine = [op]
            for v in op.references():
                if v.op in of and of[v.op] is not mine and _is_tall(value_of(v)):
                    small, mine = sorted([mine, of[v.op]], key=len)
                    mine += small
                    of.update(dict.fromkeys(small, mine))
    return [*{id(group): group for group in of.values()}.values()]


def _pays(group: Sequence[Any], readers: dict[Any, list[Any]]) -> bool:
    """Whether more calls are faster by columns than arrays have to be turned, by their rows."""
    inside = {*group}
    left = {op for op in group if not inside.issuperset(readers.get(op, ()))}
    if any([_is_view(op) and any(map(_is_given_away, readers[op])) for op in left]):
        return False  # the user's view, of memory that is the user's, too
    read = {v.op for op in group for v in op.references() if v.op not in inside}
    copied = [op for op in {*read, *left} if _is_tall(op.val)]
    return sum(map(_rows, filter(_is_slow, group))) > GAIN * sum(map(_rows, copied))


def _is_given_away(reader: Any) -> bool:
    """Whether what reads a value is the end of the tape, or a container."""
    return reader is None or (isinstance(reader, Call) and is_display(reader.fn))


def _rows(op: Any) -> int:
    """The rows of what an op gives or reads."""
    values = [op.val, *[value_of(v) for v in op.references()]]
    return max([x.size // x.shape[-1] for x in values if _is_tall(x)])


def _is_slow(op: Call) -> bool:
    """Whether a call runs along short rows, one by one."""
    if op.fn in RESHAPES or op.fn is operator.getitem or op.fn in MAKERS:
        return False
    if not is_elementwise(op):
        return True
    arrays = [x for x in [op.val, *map(value_of, op.references())] if np.ndim(x)]
    return len({x.shape for x in arrays}) > 1 or not all([x.flags.c_contiguous for x in arrays])


def _is_view(op: Call) -> bool:
    return op.fn in RESHAPES or (op.fn is operator.getitem and type(op.args[1]) in (tuple, slice, int))


class _Turned(Remade):
    """A tape on which some ops give what they gave with all axes reversed: those are in `twins`."""

    def __init__(self, tape: AnyTape) -> None:
        super().__init__(tape)
        self.twins: dict[Any, Variable] = {}

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Variable:
        """Append a call of a function of arrays that is done now, too."""
        value = fn(*[value_of(a) for a in args], **kwargs)
        return self.new.push(Call(fn, args, kwargs, val=value))

    def turn(self, op: Any) -> None:
        """Append an op by columns."""
        fn, args, kwargs = _by_columns(op, self.twin)  # type: ignore[misc]
        value = op.val if np.ndim(op.val) < 2 else np.ascontiguousarray(op.val.T)
        if _is_view(op):
            value = fn(*[value_of(a) for a in args])
        made = self.new.push(Call(fn, args, kwargs, val=value, site=op.site))
        (self.table if np.ndim(op.val) < 2 else self.twins)[op] = made

    def twin(self, v: Any, ndim: int) -> Any:
        """What an argument is by columns, with so many axes: as NumPy widens it by rows."""
        x = value_of(v)
        if not isinstance(v, Variable) or np.ndim(x) == 0:
            return self.at(v.op) if isinstance(v, Variable) else v
        if x.ndim > 1 and v.op not in self.twins:
            view = self.call(np.ndarray.transpose, self.at(v.op))
            self.twins[v.op] = self.call(np.ndarray.copy, view) if _is_tall(x) else view
        found = self.twins[v.op] if x.ndim > 1 else self.at(v.op)
        return self.call(operator.getitem, found, (..., *[None] * (ndim - x.ndim))) if x.ndim < ndim else found

    def at(self, op: Any) -> Variable:
        if op not in self.table:
            self.table[op] = self.call(np.ndarray.copy, self.call(np.ndarray.transpose, self.twins[op]))
        return self.table[op]


# -- how a call is done by columns


def _as_it_is(v: Any, ndim: int) -> Any:
    return v


def _by_columns(op: Op, twin: Turn) -> Turned | None:
    """A call by columns: the function, its arguments, by `twin`, and those by name; None where it is not known."""
    if not isinstance(op, Call) or op.guard or isinstance(op.fn, Variable) or not is_of_numbers(op):
        return None
    arrays = [x for x in [op.val, *map(value_of, op.references())] if type(x) is np.ndarray]
    most = max([x.size for x in arrays], default=0)
    if not any([_is_tall(x) and x.size == most for x in arrays]):
        return None
    if np.ndim(op.val) and not _is_view(op) and not op.val.flags.c_contiguous:
        return None
    return next((read(op, twin) for is_its, read in _READERS if is_its(op)), None)


def _elements(op: Call, twin: Turn) -> Turned | None:
    """Element by element: what has fewer axes is widened at the end."""
    if op.kwargs or any([type(a) is np.ndarray for a in op.args]) or type(op.val) is not np.ndarray:
        return None
    return op.fn, [twin(a, op.val.ndim) for a in op.args], {}


def _part(op: Call, twin: Turn) -> Turned | None:
    """`x[1:, 0]`; rows at places, `x[places]`."""
    x, key = op.args
    places = value_of(key)
    if type(op.val) is not np.ndarray or not isinstance(x, Variable):
        return None
    if type(places) is np.ndarray:
        rows = places.dtype.kind == "i" and places.ndim == 1 and np.ndim(value_of(x)) == 2
        return (np.take, [twin(x, 0), key], {"axis": 1}) if rows else None
    reversed_key = _reversed(key, np.ndim(value_of(x)))
    return None if reversed_key is None else (operator.getitem, [twin(x, 0), reversed_key], {})


def _reversed(key: Any, ndim: int) -> tuple[Any, ...] | None:
    """A key of known slices and ints, for an array with all axes reversed."""
    parts = key if type(key) is tuple else (key,)
    if any(references(key)) or not all([type(part) in (int, slice) for part in parts]):
        return None
    return (*[slice(None)] * (ndim - len(parts)), *parts[::-1])


def _store(op: Call, twin: Turn) -> Turned | None:
    x, key, value = op.args
    reversed_key = _reversed(key, op.val.ndim)
    if reversed_key is None or not isinstance(x, Variable) or type(value) is np.ndarray:
        return None
    return op.fn, [twin(x, 0), reversed_key, twin(value, np.ndim(op.val.T[reversed_key]))], {}


def _reshaped(op: Call, twin: Turn) -> Turned | None:
    """Other axes of length 1: there the order of elements stays."""
    plain = len(op.args) == 2 and not op.kwargs and not any(references(op.args[1])) and isinstance(op.args[0], Variable)
    if not plain or [n for n in value_of(op.args[0]).shape if n != 1] != [n for n in op.val.shape if n != 1]:
        return None
    return np.ndarray.reshape, [twin(op.args[0], 0), op.val.shape[::-1]], {}


def _empty(op: Call, twin: Turn) -> Turned | None:
    dtype = () if op.val.dtype == np.float64 else (op.val.dtype,)
    return None if op.kwargs else (op.fn, [op.val.shape[::-1], *dtype], {})


def _stacked(op: Call, twin: Turn) -> Turned | None:
    axis = op.kwargs.get("axis")
    if len(op.args) != 1 or op.kwargs.keys() != {"axis"} or type(axis) is not int or type(op.args[0]) is not list:
        return None
    if not all([isinstance(v, Variable) and type(value_of(v)) is np.ndarray for v in op.args[0]]):
        return None
    return np.stack, [[twin(v, 0) for v in op.args[0]]], {"axis": op.val.ndim - 1 - axis % op.val.ndim}


def _extremum(op: Call, twin: Turn) -> Turned | None:
    """The largest along an axis."""
    axis, x = op.kwargs.get("axis"), op.args[0]
    if len(op.args) != 1 or not op.kwargs.keys() <= {"axis", "keepdims"} or type(axis) is not int:
        return None
    ndim = np.ndim(value_of(x))
    if not isinstance(x, Variable) or type(op.val) is not np.ndarray:
        return None
    return op.fn, [twin(x, 0)], {**op.kwargs, "axis": ndim - 1 - axis % ndim}


def _sum(op: Call, twin: Turn) -> Turned | None:
    """A sum along axes that are counted from the first."""
    plain = len(op.args) == 2 and not op.kwargs and type(op.args[1]) is tuple and min(op.args[1], default=-1) >= 0
    if not plain or not isinstance(op.args[0], Variable):
        return None
    last = np.ndim(value_of(op.args[0])) - 1
    return op.fn, [twin(op.args[0], 0), tuple(sorted([last - axis for axis in op.args[1]]))], {}


def _dot(op: Call, twin: Turn) -> Turned | None:
    if op.kwargs or not all([isinstance(v, Variable) for v in op.args]):
        return None
    a, b = op.args
    return (op.fn, [twin(a, 0), twin(b, 0)], {}) if value_of(a).shape == value_of(b).shape else None


def _einsum(op: Call, twin: Turn) -> Turned | None:
    form, *args = op.args
    if op.kwargs or type(form) is not str or "->" not in form or not form.replace(",", "").replace("->", "").isalpha():
        return None
    words, kept = form.split("->")
    inputs = ",".join([word[::-1] for word in words.split(",")])
    return op.fn, [f"{inputs}->{kept[::-1]}", *[twin(v, 0) for v in args]], {}


_READERS: Sequence[tuple[Callable[[Call], bool], Callable[[Call, Turn], Turned | None]]] = (
    (lambda op: is_elementwise(op) or op.fn in BY_ELEMENTS, _elements),
    (lambda op: op.fn is operator.getitem, _part),
    (lambda op: op.fn in _STORES, _store),
    (lambda op: op.fn in RESHAPES, _reshaped),
    (lambda op: op.fn in MAKERS, _empty),
    (lambda op: op.fn is np.stack, _stacked),
    (lambda op: op.fn in EXTREMA, _extremum),
    (lambda op: op.fn == SUM, _sum),
    (lambda op: op.fn is np.vdot, _dot),
    (lambda op: op.fn is np.einsum, _einsum),
)
