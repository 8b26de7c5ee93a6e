"""The memory that a gradient holds, as Python's tracemalloc counts it, and the lines that allocated it at the peak.

A moment lies between two points at which the count is read: a new line of the user's, a recorded call, a step back.
What is held when one begins is told by a snapshot of all blocks, by the line that allocated each; what is allocated
within it is its own line's.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert.recording.primitives import INPUT
from wengert.recording.recording import STATE, Recording, silent
from wengert.reverse.accumulators import Cotangents
from wengert.reverse.walk import reverse
from wengert.tools import lines
from wengert.tools.lines import NO_FILE, Line, Lines, is_users
from wengert.values.frames import ENGINE
from wengert.values.numeric_trees import leaf_values
from wengert.values.views import owner_of

ARRAY, SAVED, BACK = "array", "saved before a write", "cotangent"
OBJECT, WRITTEN_DOWN, HIDDEN = "object", "recording", "too deep"
DEEP = 32  # frames that are kept of each block
_OWN = (__file__, lines.__file__)
_ROOT, _WRITTEN = ENGINE + "api/memory_profile.py", ENGINE + "mutation"

FileLine = tuple[str, int] | None  # a line of a file
Rows = dict[tuple[FileLine, str], list[int]]  # bytes and pieces, by line and kind


@contextmanager
def uncollected() -> Iterator[None]:
    """A block in which Python's collector of cycles does not walk through a snapshot while that grows."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Holds(list[Any]):
    """The entries of a recording, by which each moment is told of: `end` at its end, `begin` where the next one begins.

    By itself it only counts them, in `ended`: so that what is loaded and derived for following a run is there already.
    The reverse pass begins with the moment `turned`.
    """

    def __init__(self) -> None:
        self.lines = Lines(self.end, self.begin)
        self.known: dict[Line | None, int] = {}
        self.stood = array("q")  # the lines of the slots, by their number in `known`
        self.ended = self.turned = 0
        self.cotangents: Cotangents | None = None

    def over(self, gradient: Callable[[Callable[[Recording], None]], None]) -> None:
        """Follow a gradient, which calls what it is given with its recording."""
        with self.lines:
            self.begin()
            gradient(self._enter)
            self.end()
            self.begin()
        self.turned = self.turned or self.ended

    def begin(self) -> None:
        """A moment begins."""

    def end(self, line: int | None = None) -> None:
        """It ends; what was at work in it is the line of this number, by default where the user's code is."""
        self.ended += 1

    def _enter(self, recording: Recording) -> None:
        recording.entries = STATE.quick = self
        recording.reverse = self.walk

    def walk(self, recording: Recording, here: Any, seeds: Any, depth: int, consume: bool, watching: Any) -> Any:
        """The reverse pass; that of a gradient inside the function is the function's."""
        if depth:
            return reverse(recording, here, seeds, depth, consume, watching)
        self.end()
        self.turned = self.ended
        if not recording.folds:
            self.lines.pause()
        self.lines.only_recorded = True  # only a checkpoint runs the user's code again
        self.begin()
        return reverse(recording, here, seeds, depth, consume, watching, self._bars)

    def _bars(self, size: int) -> Cotangents:
        self.cotangents = Cotangents(size)
        return self.cotangents

    def append(self, entry: Any) -> None:
        list.append(self, entry)
        self.end()
        del self.stood[len(self) - 1 :]  # where a checkpoint has dropped entries
        self.stood.append(self.number(self.lines.place.line))
        self.begin()

    def __setitem__(self, slot: Any, entry: Any) -> None:
        list.__setitem__(self, slot, entry)
        if entry is None and self.cotangents is not None:
            self.end(self.stood[slot])
            self.begin()

    def number(self, line: Line | None) -> int:
        """The number of a line."""
        return self.known.setdefault(line, len(self.known))


class Curve(Holds):
    """The bytes held in each moment: the most (`total`), those at its end (`held`), and its line (`at_work`)."""

    def __init__(self) -> None:
        super().__init__()
        self.total, self.held, self.at_work = array("q"), array("q"), array("q")
        self.base = self.now = tracemalloc.get_traced_memory()[0]
        self.collects = gc.isenabled()

    def begin(self) -> None:
        """Begin a moment: allocations since the last one ended are this object's own."""
        if self.collects:
            gc.enable()
        tracemalloc.reset_peak()
        self.base += tracemalloc.get_traced_memory()[0] - self.now

    def end(self, line: int | None = None) -> None:
        """Take down how much is held; no garbage is collected meanwhile, since that would be the user's."""
        self.now, most = tracemalloc.get_traced_memory()
        self.collects = gc.isenabled()
        gc.disable()
        self.ended += 1
        self.total.append(most - self.base)
        self.held.append(self.now - self.base)
        self.at_work.append(self.number(self.lines.place.line) if line is None else line)


class Look(Holds):
    """The memory held when the moment `at` begins; `rows` list it by line and kind.

    To keep all frames of each block is slow: then it calls `stop`.
    """

    def __init__(self, at: int, stop: Callable[[], None]) -> None:
        super().__init__()
        self.at, self.stop = at, stop
        self.before = tracemalloc.take_snapshot()
        self.found: tracemalloc.Snapshot | None = None
        self.known_better: Rows = {}

    def begin(self) -> None:
        """Look, where it is time."""
        if self.ended == self.at:
            with uncollected(), silent():  # else each of these functions is asked what it is given
                self.found = tracemalloc.take_snapshot()
                self.stop()
                self._look_at_entries()
                if self.cotangents is not None:
                    self._look_at_cotangents(self.cotangents.table)

    def _look_at_entries(self) -> None:
        """Count the entries of recorded calls, which are among the objects of their lines."""
        seen: set[int] = set()
        places = [line and line[:2] for line in self.known]
        for number, entry in zip(self.stood, self, strict=True):
            if entry is not None and entry[0] is not INPUT:
                parts = [part for part in _parts(entry) if id(part) not in seen]
                seen.update(map(id, parts))
                _add(self.known_better, (places[number], WRITTEN_DOWN), sum(map(sys.getsizeof, parts)), 1)

    def _look_at_cotangents(self, table: Any) -> None:
        """The cotangents of what a line made: they are among the arrays that the reverse pass made."""
        seen: set[int] = set()
        places = [line and line[:2] for line in self.known]
        for number, held in zip(self.stood, table, strict=False):
            for owner in [owner_of(leaf) for leaf in leaf_values(held) if isinstance(leaf, np.ndarray)]:
                if places[number] and id(owner) not in seen:
                    seen.add(id(owner))
                    _add(self.known_better, (places[number], BACK), owner.nbytes, 1)

    @uncollected()
    def rows(self) -> Rows:
        """The bytes and the pieces of what was held, by line and kind."""
        rows = {} if self.found is None else _blocks(self.found)
        for row, (nbytes, pieces) in _blocks(self.before).items():
            _take(rows, row, nbytes, pieces)
        for (place, kind), (nbytes, pieces) in self.known_better.items():
            nbytes = _take(rows, (None, BACK) if kind == BACK else (place, OBJECT), nbytes, pieces)
            _add(rows, (place, kind), nbytes, pieces)
        return {row: amounts for row, amounts in rows.items() if amounts[0]}


def _blocks(snapshot: tracemalloc.Snapshot) -> Rows:
    """Sum the blocks of a snapshot by the line of the user's that allocated them, and by kind."""
    rows: Rows = {}
    for is_array in (True, False):
        only = tracemalloc.DomainFilter(is_array, np.lib.tracemalloc_domain)
        for found in snapshot.filter_traces([only]).statistics("traceback"):
            if found.traceback[-1].filename not in _OWN:
                place, kind = _allocated(found.traceback, is_array, snapshot.traceback_limit)
                _add(rows, (place, kind), found.size, found.count)
    return rows


def _allocated(traceback: tracemalloc.Traceback, is_array: bool, limit: int) -> tuple[FileLine, str]:
    """The innermost line of the user's that was at work when a block was allocated, and of which kind that is.

    Of at most `limit` frames of it that were kept.
    """
    kind = BACK if is_array else OBJECT  # of a step back, where no line of the user's is at work
    of_no_file = None
    for frame in reversed(traceback):
        if frame.filename == _ROOT:
            break
        if frame.filename.startswith(_WRITTEN) and is_array:
            kind = SAVED
        if is_users(frame.filename):
            place = (frame.filename, frame.lineno)
            if frame.filename != NO_FILE:
                return place, ARRAY if kind == BACK else kind
            of_no_file = of_no_file or place
    else:
        if of_no_file is None and len(traceback) == limit:
            return None, HIDDEN
    return of_no_file, ARRAY if kind == BACK and of_no_file else kind


def _add(rows: Rows, row: tuple[FileLine, str], nbytes: int, pieces: int) -> None:
    sums = rows.setdefault(row, [0, 0])
    sums[0] += nbytes
    sums[1] += pieces


def _take(rows: Rows, row: tuple[FileLine, str], nbytes: int, pieces: int) -> int:
    """Take bytes and pieces off a row, no more than it has; returns how many bytes."""
    sums = rows.get(row, [0, 0])
    nbytes = min(nbytes, sums[0])
    sums[:] = sums[0] - nbytes, max(1, sums[1] - pieces)
    return nbytes


def _parts(held: Any) -> Iterator[Any]:
    """An entry itself: its tuples, and the numbers in them."""
    if isinstance(held, float | complex | np.generic):
        yield held
    elif type(held) is tuple:
        yield held
        for part in held:
            yield from _parts(part)


@contextmanager
def tracing(frames: int) -> Iterator[Callable[[], None]]:
    """A block in which Python's tracemalloc keeps so many frames of each block, until what it gives is called.

    Where it was at work before it goes on, as it was.
    """
    is_ours = not tracemalloc.is_tracing()
    stop = tracemalloc.stop if is_ours else lambda: None
    if is_ours:
        tracemalloc.start(frames)
    try:
        yield stop
    finally:
        stop()
