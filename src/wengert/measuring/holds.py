"""What a gradient holds while it runs: the arrays that its entries keep, its cotangents, what it saves before writes.

Each array is followed from when it is first met, in an entry or among the cotangents, until it is gone. That is told
beside what Python's tracemalloc says of the process, which knows of no lines.
"""

from __future__ import annotations

import sys
import tracemalloc
import types
import weakref
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from wengert.measuring.lines import Line, is_users, line_of
from wengert.recording.primitives import INPUT
from wengert.recording.recording import STATE, Recording, flat_slots
from wengert.reverse.accumulators import Bars
from wengert.reverse.walk import reverse
from wengert.values.nested import leaf_values
from wengert.values.views import owner_of
from wengert.written.storage import memory_of

KEPT, SAVED, BACK, WRITTEN_DOWN = "array", "saved before a write", "cotangent", "recording"


class Maker(NamedTuple):
    """What made something that is held: a line of the user's, or None, and of what kind it is."""

    line: Line | None
    kind: str


class Columns:
    """A table of whole numbers, column by column: rows of their own would count as memory that is held."""

    def __init__(self, count: int) -> None:
        self.columns = [array("q") for _ in range(count)]

    def add(self, *row: int) -> None:
        """Add a row."""
        for column, number in zip(self.columns, row, strict=True):
            column.append(number)

    def __len__(self) -> int:
        return len(self.columns[0])

    def arrays(self) -> list[np.ndarray]:
        """The columns as arrays."""
        return [np.array(column) for column in self.columns]


class Holds(list[Any]):
    """The entries of a recording, and what begins and ceases to be held meanwhile.

    A moment is a recorded call, or a step back. `moments` has for each the number of its line in `lines`, and the bytes
    that were at work in it, at most: those that Python and NumPy had more than at its beginning. `log` has (moment, the
    number of the maker in `makers`, bytes). The reverse pass begins with the moment `turned`.
    """

    def __init__(self) -> None:
        self.lines: dict[Line | None, int] = {}
        self.makers: dict[Maker, int] = {}
        self.moments, self.log = Columns(2), Columns(3)
        self.turned = 0
        self.alive: dict[int, weakref.ref[np.ndarray]] = {}
        self.stood: dict[int, Line | None] = {}  # the lines of the slots
        self.slots: dict[str, array[int]] = {"maker": array("q"), "size": array("q")}
        self.bars: Bars | None = None
        self.saved = 0

    def over(self, gradient: Callable[[Callable[[Recording], None]], None]) -> Holds:
        """Follow a gradient, which calls what it is given with its recording; returns this."""
        with tracing():
            self._start()
            gradient(self._begin)
            if not len(self.moments):  # nothing was recorded
                self._moment(None, lambda _: None)
                self.turned = 1
        return self

    def _begin(self, recording: Recording) -> None:
        self.recording = recording
        recording.entries = STATE.quick = self
        recording.reverse = self.walk

    def walk(self, recording: Recording, here: Any, seeds: Any, depth: int, consume: bool, watching: Any) -> Any:
        """The reverse pass; that of a gradient inside the function is the function's."""
        if depth:
            return reverse(recording, here, seeds, depth, consume, watching)
        self.turned = len(self.moments)
        return reverse(recording, here, seeds, depth, consume, watching, self._bars)

    def _bars(self, size: int) -> Bars:
        self.bars = Bars(size)
        return self.bars

    def append(self, entry: Any) -> None:
        list.append(self, entry)
        self._moment(self._line_here(), self._look_at, len(self) - 1, entry)

    def __setitem__(self, slot: Any, entry: Any) -> None:
        ins = () if self[slot] is None else self[slot][2]
        list.__setitem__(self, slot, entry)
        if entry is None and self.bars is not None:
            self._moment(self.stood[slot], self._look_back, slot, ins)

    def __delitem__(self, slots: Any) -> None:
        for slot in range(*slots.indices(len(self))):
            self._strike_out(slot)
        list.__delitem__(self, slots)

    def _line_here(self) -> Line | None:
        """The line of the function's that is at work."""
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code is not Holds.over.__code__:
            if is_users(frame.f_code.co_filename):
                return line_of(frame)
            frame = frame.f_back
        return None

    def _moment(self, line: Line | None, look: Callable[..., None], *given: Any) -> None:
        work = tracemalloc.get_traced_memory()[1] - self.start
        self.moments.add(self.lines.setdefault(line, len(self.lines)), work)
        look(line, *given)
        self._start()

    def _start(self) -> None:
        tracemalloc.reset_peak()
        self.start = tracemalloc.get_traced_memory()[0]

    def _look_at(self, line: Line | None, slot: int, entry: Any) -> None:
        """Take down what a recorded call keeps."""
        size = 0
        if entry[0] is not INPUT:
            value = entry[1]() if type(entry[1]) is weakref.ref else entry[1]
            self._meet((value, entry[3], entry[4]), Maker(line, KEPT))
            size = _size(entry)
        maker = self._number(Maker(line, WRITTEN_DOWN))
        self.stood[slot] = line
        for name, number in (("maker", maker), ("size", size)):
            column = self.slots[name]
            del column[slot:]  # where a checkpoint has dropped entries
            column.append(number)
        self._change(maker, size)
        undo = memory_of(self.recording).undo
        for record in undo[self.saved :]:
            self._meet(record[3], Maker(line, SAVED))
        self.saved = len(undo)

    def _look_back(self, line: Line | None, slot: int, ins: tuple[Any, ...]) -> None:
        """Take down the cotangents that a step back has made, and that its entry is gone."""
        assert self.bars is not None
        for place in flat_slots(ins):
            self._meet(self.bars.table[self._array_of(place)], Maker(line, BACK))
        self._strike_out(slot)

    def _array_of(self, slot: int) -> int:
        """The slot itself, or that of the array of which it is a view, where that has its cotangent."""
        assert self.bars is not None
        while self.bars.table[slot] is None and self[slot] is not None:
            ins = self[slot][2]
            if not ins or type(ins[0]) is not int:
                break
            slot = ins[0]
        return slot

    def _meet(self, held: Any, maker: Maker) -> None:
        """Follow the arrays in what is held from now on, if they were made since the gradient began."""
        for leaf in leaf_values(held):
            if isinstance(leaf, np.ndarray):
                owner = owner_of(leaf)
                known = self.alive.get(id(owner))
                if known is None or known() is not owner:
                    self._follow(owner, self._number(maker))

    def _follow(self, owner: np.ndarray, maker: int) -> None:
        nbytes = owner.nbytes if tracemalloc.get_object_traceback(owner) is not None else 0
        log, moments = self.log, self.moments

        def gone(ref: object) -> None:
            log.add(len(moments), maker, -nbytes)

        self.alive[id(owner)] = weakref.ref(owner, gone if nbytes else None)
        self._change(maker, nbytes)

    def _strike_out(self, slot: int) -> None:
        self._change(self.slots["maker"][slot], -self.slots["size"][slot])
        self.slots["size"][slot] = 0

    def _number(self, maker: Maker) -> int:
        return self.makers.setdefault(maker, len(self.makers))

    def _change(self, maker: int, nbytes: int) -> None:
        if nbytes:
            self.log.add(len(self.moments) - 1, maker, nbytes)


def peak_of(run: Callable[[], Any]) -> int:
    """The bytes that Python and NumPy have more than before in a run, at the most."""
    with tracing():
        before = tracemalloc.get_traced_memory()[0]
        run()
        return tracemalloc.get_traced_memory()[1] - before


@contextmanager
def tracing() -> Iterator[None]:
    """A block in which Python's tracemalloc is at work, with no peak from before."""
    was_tracing = tracemalloc.is_tracing()
    if was_tracing:
        tracemalloc.reset_peak()
    else:
        tracemalloc.start()
    try:
        yield
    finally:
        if not was_tracing:
            tracemalloc.stop()


def _size(entry: Any) -> int:
    """The bytes of an entry itself: its tuples, and the number that it has made."""
    parts = (entry, entry[2], entry[3], *([entry[1]] if isinstance(entry[1], float | complex) else []))
    return sum(map(sys.getsizeof, parts))
