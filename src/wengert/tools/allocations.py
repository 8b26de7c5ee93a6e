"""The memory that a gradient holds, as Python's tracemalloc counts it, and the lines that allocated it at the peak.

The count is read at each new line of the user, each recorded call and each step back; a moment lies between two reads.
A snapshot of all blocks at the start of a moment shows the memory held then, by allocating line. Memory allocated
within a moment belongs to the line that is running.
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
from wengert.tools.lines import NO_FILE, Line, LineFollower, is_user_file
from wengert.values.frames import ENGINE
from wengert.values.numeric_trees import leaf_values
from wengert.values.views import owner_of

ARRAY, SAVED, COTANGENT = "array", "saved before a write", "cotangent"
OBJECT, RECORDED, TOO_DEEP = "object", "recording", "too deep"
FRAMES_KEPT = 32  # frames that tracemalloc keeps of each block
_PROFILER_FILES = (__file__, lines.__file__)
_MEMORY_FILE, _MUTATION_FILES = ENGINE + "api/memory_profile.py", ENGINE + "mutation"

FileLine = tuple[str, int] | None  # a line of a file
MemoryRows = dict[tuple[FileLine, str], list[int]]  # bytes and pieces, by line and kind


@contextmanager
def without_gc() -> Iterator[None]:
    """Suspend Python's garbage collector, which would walk through a growing snapshot again and again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class FollowedEntries(list[Any]):
    """The entries of a recording, which call `end` and `begin` between two moments.

    This base class only counts `moment`; one run with it loads modules and fills caches before anything is measured.
    The reverse pass begins with the moment `turned`.
    """

    def __init__(self) -> None:
        self.lines = LineFollower(self.end, self.begin)
        self.line_numbers: dict[Line | None, int] = {}
        self.slot_lines = array("q")  # for each slot, its line by its number in `line_numbers`
        self.moment = self.turned = 0
        self.cotangents: Cotangents | None = None

    def over(self, gradient: Callable[[Callable[[Recording], None]], None]) -> None:
        """Follow a gradient, a function that calls its argument with its recording."""
        with self.lines:
            self.begin()
            gradient(self._attach)
            self.end()
            self.begin()
        self.turned = self.turned or self.moment

    def begin(self) -> None:
        """Begin a moment."""

    def end(self, line: int | None = None) -> None:
        """End a moment, in which the line with this number was running; by default the user's current line."""
        self.moment += 1

    def _attach(self, recording: Recording) -> None:
        recording.entries, STATE.fast = self, recording
        recording.reverse = self.walk

    def walk(
        self, recording: Recording, here: Any, seeds: Any, depth: int, may_drop_entries: bool, watching: Any
    ) -> Any:
        """Run the reverse pass; a gradient inside the function counts as part of the function."""
        if depth:
            return reverse(recording, here, seeds, depth, may_drop_entries, watching)
        self.end()
        self.turned = self.moment
        if not recording.folds:
            self.lines.pause()
        self.lines.only_recorded = True  # only a checkpoint runs the user's code again
        self.begin()
        return reverse(recording, here, seeds, depth, may_drop_entries, watching, self._make_cotangents)

    def _make_cotangents(self, size: int) -> Cotangents:
        self.cotangents = Cotangents(size)
        return self.cotangents

    def append(self, entry: Any) -> None:
        list.append(self, entry)
        self.end()
        del self.slot_lines[len(self) - 1 :]  # if a checkpoint has dropped entries
        self.slot_lines.append(self.number(self.lines.place.line))
        self.begin()

    def __setitem__(self, slot: Any, entry: Any) -> None:
        list.__setitem__(self, slot, entry)
        if entry is None and self.cotangents is not None:
            self.end(self.slot_lines[slot])
            self.begin()

    def number(self, line: Line | None) -> int:
        """Return the number of a line; a new line gets the next one."""
        return self.line_numbers.setdefault(line, len(self.line_numbers))


class MemoryCurve(FollowedEntries):
    """The bytes held in each moment: the most (`total`), those at its end (`held`), and its line (`at_work`)."""

    def __init__(self) -> None:
        super().__init__()
        self.total, self.held, self.at_work = array("q"), array("q"), array("q")
        self.base = self.now = tracemalloc.get_traced_memory()[0]
        self.collects = gc.isenabled()

    def begin(self) -> None:
        """Begin a moment; do not count allocations since the last one ended, which are this object's own."""
        if self.collects:
            gc.enable()
        tracemalloc.reset_peak()
        self.base += tracemalloc.get_traced_memory()[0] - self.now

    def end(self, line: int | None = None) -> None:
        """Append the bytes held; no garbage is collected until `begin`, since it would be the user's."""
        self.now, most = tracemalloc.get_traced_memory()
        self.collects = gc.isenabled()
        gc.disable()
        self.moment += 1
        self.total.append(most - self.base)
        self.held.append(self.now - self.base)
        self.at_work.append(self.number(self.lines.place.line) if line is None else line)


class PeakLook(FollowedEntries):
    """The memory held when the moment `at` begins; `rows` list it by line and kind.

    To keep all frames of each block is slow, so it calls `stop` after that moment.
    """

    def __init__(self, at: int, stop: Callable[[], None]) -> None:
        super().__init__()
        self.at, self.stop = at, stop
        self.before = tracemalloc.take_snapshot()
        self.snapshot: tracemalloc.Snapshot | None = None
        self.attributed: MemoryRows = {}

    def begin(self) -> None:
        """Take the snapshot if the moment `at` begins."""
        if self.moment == self.at:
            with without_gc(), silent():  # so that these functions are not traced
                self.snapshot = tracemalloc.take_snapshot()
                self.stop()
                self._look_at_entries()
                if self.cotangents is not None:
                    self._look_at_cotangents(self.cotangents.table)

    def _look_at_entries(self) -> None:
        """Attribute the entries of recorded calls to their lines, which the snapshot counts as objects."""
        seen: set[int] = set()
        places = [line and line[:2] for line in self.line_numbers]
        for number, entry in zip(self.slot_lines, self, strict=True):
            if entry is not None and entry[0] is not INPUT:
                parts = [part for part in _entry_parts(entry) if id(part) not in seen]
                seen.update(map(id, parts))
                _add_to_row(self.attributed, (places[number], RECORDED), sum(map(sys.getsizeof, parts)), 1)

    def _look_at_cotangents(self, table: Any) -> None:
        """Attribute the cotangents to the lines of their primals; the snapshot counts them to the reverse pass."""
        seen: set[int] = set()
        places = [line and line[:2] for line in self.line_numbers]
        for number, cotangent in zip(self.slot_lines, table, strict=False):
            for owner in [owner_of(leaf) for leaf in leaf_values(cotangent) if isinstance(leaf, np.ndarray)]:
                if places[number] and id(owner) not in seen:
                    seen.add(id(owner))
                    _add_to_row(self.attributed, (places[number], COTANGENT), owner.nbytes, 1)

    @without_gc()
    def rows(self) -> MemoryRows:
        """Return the bytes and pieces held, by line and kind."""
        rows = {} if self.snapshot is None else _rows_of_blocks(self.snapshot)
        for row, (nbytes, pieces) in _rows_of_blocks(self.before).items():
            _take_from_row(rows, row, nbytes, pieces)
        for (place, kind), (nbytes, pieces) in self.attributed.items():
            nbytes = _take_from_row(rows, (None, COTANGENT) if kind == COTANGENT else (place, OBJECT), nbytes, pieces)
            _add_to_row(rows, (place, kind), nbytes, pieces)
        return {row: amounts for row, amounts in rows.items() if amounts[0]}


def _rows_of_blocks(snapshot: tracemalloc.Snapshot) -> MemoryRows:
    """Sum the blocks of a snapshot by the user's line that allocated them, and by kind."""
    rows: MemoryRows = {}
    for is_array in (True, False):
        only = tracemalloc.DomainFilter(is_array, np.lib.tracemalloc_domain)
        for found in snapshot.filter_traces([only]).statistics("traceback"):
            if found.traceback[-1].filename not in _PROFILER_FILES:
                place, kind = _line_and_kind(found.traceback, is_array, snapshot.traceback_limit)
                _add_to_row(rows, (place, kind), found.size, found.count)
    return rows


def _line_and_kind(traceback: tracemalloc.Traceback, is_array: bool, limit: int) -> tuple[FileLine, str]:
    """Return the innermost line of the user that was running when a block was allocated, and the block's kind.

    The traceback has at most `limit` frames.
    """
    kind = COTANGENT if is_array else OBJECT  # of a step back, during which no line of the user runs
    of_no_file = None
    for frame in reversed(traceback):
        if frame.filename == _MEMORY_FILE:
            break
        if frame.filename.startswith(_MUTATION_FILES) and is_array:
            kind = SAVED
        if is_user_file(frame.filename):
            place = (frame.filename, frame.lineno)
            if frame.filename != NO_FILE:
                return place, ARRAY if kind == COTANGENT else kind
            of_no_file = of_no_file or place
    else:
        if of_no_file is None and len(traceback) == limit:
            return None, TOO_DEEP
    return of_no_file, ARRAY if kind == COTANGENT and of_no_file else kind


def _add_to_row(rows: MemoryRows, row: tuple[FileLine, str], nbytes: int, pieces: int) -> None:
    sums = rows.setdefault(row, [0, 0])
    sums[0] += nbytes
    sums[1] += pieces


def _take_from_row(rows: MemoryRows, row: tuple[FileLine, str], nbytes: int, pieces: int) -> int:
    """Subtract bytes and pieces from a row, at most to zero; return the bytes subtracted."""
    sums = rows.get(row, [0, 0])
    nbytes = min(nbytes, sums[0])
    sums[:] = sums[0] - nbytes, max(1, sums[1] - pieces)
    return nbytes


def _entry_parts(entry: Any) -> Iterator[Any]:
    """Yield the objects that make up an entry: its tuples, and the numbers in them."""
    if isinstance(entry, float | complex | np.generic):
        yield entry
    elif type(entry) is tuple:
        yield entry
        for part in entry:
            yield from _entry_parts(part)


@contextmanager
def tracing(frames: int) -> Iterator[Callable[[], None]]:
    """Run tracemalloc with so many frames for each block, until the `stop` that it yields is called.

    If tracemalloc was running before, it goes on unchanged.
    """
    is_ours = not tracemalloc.is_tracing()
    stop = tracemalloc.stop if is_ours else lambda: None
    if is_ours:
        tracemalloc.start(frames)
    try:
        yield stop
    finally:
        stop()
