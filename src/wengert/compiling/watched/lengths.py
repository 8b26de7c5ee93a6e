"""Lengths of selections such as x[mask], as symbolic integers: one trace serves each number of chosen items."""

from __future__ import annotations

import math
import operator
import sys
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.compiling.watched.symbolic_ints import SymbolicInt, float_of, record_integer_call, symbolic_int
from wengert.compiling.watched.symbolic_iterators import array_behind, zipped_parts
from wengert.compiling.watched.watchable import ATOMS
from wengert.recording.decisions import guard
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, Recording, flat_slots
from wengert.recording.slots import holds_traced, slot_of
from wengert.values.functional import STORES, length
from wengert.values.identity_set import Functions
from wengert.values.trees import is_container

MEASURING = {"shape", "size", "nbytes", "__len__", "flat"}
"""Attributes of an array that tell its length."""
MEASURES = Functions(len, np.shape, np.size)
"""Functions that return the length, the shape or the size of an array."""
_OF_ANY_LENGTH = (np.dtype, type)
_ASKING_TYPES = Functions(isinstance, callable, id, type)
_KEEPING = Functions(np.asarray, np.asanyarray)


FILLING: Any = {
    np.zeros: lambda x: record_call(ruled(np.zeros_like), (x, np.float64), {}),
    np.ones: lambda x: record_call(ruled(np.ones_like), (x, np.float64), {}),
}
"""Functions of a length, and what they compute from a vector of that length."""


class SelectionLengths:
    """The lengths of the selections of a recording, which the tape computes if they `are_symbolic`."""

    def __init__(self, recording: Recording, are_symbolic: bool) -> None:
        self.recording, self.are_symbolic = recording, are_symbolic
        self._seen, self._known = 0, dict[int, frozenset[int]]()
        self.are_uncertain = False  # whether the function has caught an error, which another length may not raise
        self._measured: dict[int, tuple[Any, np.ndarray]] = {}  # symbolic lengths, and vectors of these lengths
        self._iterated: dict[int, tuple[Any, np.ndarray]] = {}  # iterators that no loop has taken, and their arrays

    def filling(self, f: Any, call: Callable[..., Any]) -> Any:
        """Return `call` of a function in FILLING, which takes symbolic lengths of vectors, too."""

        def fill(*args: Any, **kwargs: Any) -> Any:
            shape = args[0] if len(args) == 1 and not kwargs else None
            number = shape[0] if type(shape) is tuple and len(shape) == 1 else shape
            x = self._vector_of_length(number)
            return call(*args, **kwargs) if x is None else FILLING[f](x)

        return fill

    def _vector_of_length(self, number: Any) -> np.ndarray | None:
        """Return a vector of which the code has asked the length, this symbolic one; None if there is none."""
        made, x = self._measured.get(id(number), (None, None))
        if x is None and type(number) is SymbolicInt:
            lists = self.recording.reads.heads.lists  # type: ignore[union-attr]
            tables = [table for table in lists.grown if table.count is number and not table.item.shape]
            return tables[0].items() if tables else None
        return x if x is not None and made is number and x.ndim == 1 else None

    def reshaping(self, f: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the arguments of a reshape with -1 for a counter, the length of the array; None for other calls."""
        x, shape = args if f is np.reshape and len(args) == 2 else (getattr(f, "__self__", None), args)
        given = shape[0] if len(shape) == 1 and type(shape[0]) in (list, tuple) else shape
        counters = [n for n in given if type(n) is SymbolicInt] if getattr(f, "__name__", "") == "reshape" else []
        if type(x) is not np.ndarray or not x.ndim or len(counters) != 1:
            return None
        numbers = float_of(counters[0]), float_of(self.shape_of(x)[0])
        if not record_call(ruled(operator.eq), numbers, {}):  # a guard
            return None
        new = tuple([-1 if type(n) is SymbolicInt else n for n in given])
        return (x, new) if f is np.reshape else (new,)

    def of_slot(self, slot: int) -> frozenset[int]:
        """Return the lengths of the selections with which the entry at a slot computes."""
        entries, known = self.recording.entries, self._known
        for k in range(self._seen, len(entries)):
            entry = entries[k]
            if entry is None:
                continue
            read = [known[at] for at in flat_slots(entry[2][:1] if entry[0].fn in STORES else entry[2]) if at in known]
            if entry[0].kind == "guard" and entry[0].fn is np.shape and entry[1]:
                known[entry[2][0]] = known.get(entry[2][0], frozenset()) | {entry[1][0]}
            elif read:
                known[k] = frozenset().union(*read)
        self._seen = len(entries)
        return known.get(slot, frozenset())

    def may_select(self, x: Any) -> bool:
        """Whether a value may be a selection, or be computed with one; not asked where nothing is recorded."""
        is_asked = type(x) is np.ndarray and STATE.recording is not None
        slot = slot_of(self.recording, x) if is_asked else None
        return slot is not None and x.ndim > 0 and bool(self.of_slot(slot))

    def shape_of(self, x: np.ndarray) -> tuple[Any, ...]:
        """Return the shape of an array, with a symbolic length if the array may be a selection."""
        slot = slot_of(self.recording, x)
        if slot is None or not self.may_select(x):
            return x.shape
        is_plain = self.of_slot(slot).isdisjoint(x.shape[1:]) and not _is_asked_by_wengert()
        if self.are_symbolic and STATE.recording is self.recording and is_plain:
            made = symbolic_int(self.recording, record_call(ruled(length), (x,), {}))
            self._measured[id(made)] = made, x
            return made, *x.shape[1:]
        self.fix(x)
        return x.shape

    def count(self, mask: np.ndarray) -> Any:
        """Return the number of true items, as np.count_nonzero does."""
        if slot_of(self.recording, mask) is None or not self.are_symbolic or STATE.recording is not self.recording:
            return None
        total = record_call(ruled(np.sum), (mask,), {})
        if type(total) is type(np.count_nonzero(np.zeros(1, bool))):  # of NumPy 2.4
            return total
        return symbolic_int(self.recording, record_call(ruled(float), (total,), {}))

    def fix(self, x: Any) -> None:
        """Guard the length of a value that may be a selection."""
        slot = slot_of(self.recording, x) if self.may_select(x) else None
        if slot is not None:
            guard(self.recording, np.size, x, slot)

    def note_iterator(self, iterator: Any, x: Any) -> None:
        """Note an iterator over a value that may be a selection, for the loop that takes it."""
        if self.may_select(x):
            self._iterated[id(iterator)] = iterator, x

    def iterated_by(self, iterators: Iterable[Any]) -> list[np.ndarray]:
        """Return the selections over which iterators run that a loop now takes."""
        return [self._iterated.pop(id(x))[1] for x in iterators if id(x) in self._iterated]

    def fix_iterated(self) -> None:
        """Guard the lengths of selections over which iterators run that no loop has taken."""
        for _, x in self._iterated.values():
            self.fix(x)

    def watched(self, f: Any, call: Callable[..., Any], parts: Callable[[Any], Iterable[Any]]) -> Any:
        """Return `call`, after which the lengths of selections are guarded from which it made untraced values.

        `parts` yields the arrays in an argument.
        """

        def checked(*args: Any, **kwargs: Any) -> Any:
            given = [x for a in (*args, *kwargs.values(), f) for x in parts(a) if self.may_select(x)]
            before = len(self.recording.entries)
            made = call(*args, **kwargs)
            if f is zip or f is enumerate:
                for part in zipped_parts(made):
                    if (x := array_behind(part)) is not None:
                        self.note_iterator(part, x)
                return made
            if _reads_no_items(f, args) or (f in _KEEPING and any([made is x for x in given])):
                return made
            if given and self._is_untraced(made, len(self.recording.entries) > before):
                for x in given:
                    self.fix(x)
            return made

        return checked

    def _is_untraced(self, made: Any, is_recorded: bool) -> bool:
        """Whether a result may depend on values of which the recording knows nothing."""
        if not is_recorded or isinstance(made, _OF_ANY_LENGTH):
            return not isinstance(made, _OF_ANY_LENGTH)
        if made is None or type(made) in ATOMS or type(made) is np.bool_:
            return False
        return slot_of(self.recording, made) is None and not (is_container(made) and holds_traced((made,)))


def _reads_no_items(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function only asks for the type of an argument or the length of a container, or stores it in one."""
    if f in _ASKING_TYPES or (f is len and type(args[0]) is not np.ndarray):
        return True
    return type(getattr(f, "__self__", None)) in (list, deque) and f.__name__ in ("append", "appendleft", "insert")


def _is_asked_by_wengert() -> bool:
    """Whether a rule asks for a length: it would compute with it unrecorded."""
    frame: Any = sys._getframe(1)
    while _module_of(frame).startswith("wengert.compiling.watched."):
        frame = frame.f_back
    return _module_of(frame).startswith("wengert")


def _module_of(frame: Any) -> str:
    return str(frame.f_globals.get("__name__"))


def measured(x: np.ndarray, lengths: SelectionLengths, how: Any) -> Any:
    """Return what a function of MEASURES, or an attribute of MEASURING, tells of an array."""
    if how in MEASURES or how in ("shape", "size"):
        shape = lengths.shape_of(x)
        if how is len:
            return shape[0]
        if how is np.shape or how == "shape":
            return shape
        if not shape or type(shape[0]) is not SymbolicInt:
            return x.size
        return record_integer_call(operator.mul, shape[0], math.prod(shape[1:])) if shape[1:] else shape[0]
    lengths.fix(x)
    return getattr(x, how)
