"""A gradient measured while it runs: from one recorded call to the next, and from one step back to the next.

A gradient appends an entry for each call of a primitive, and drops it after its step back. A list of entries that reads
a meter at both measures each call and each step, without any change to the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from wengert.recording.primitives import INPUT
from wengert.recording.recording import STATE, Recording
from wengert.reverse.walk import reverse
from wengert.tools.lines import ActiveLine, LineFollower, LineStack
from wengert.tools.meters import Bytes, Seconds
from wengert.values.names import display

Meter = Seconds | Bytes


class CostKey(NamedTuple):
    """The key of a cost: the active lines, the primitive ("" for Python itself), and whether in the reverse pass."""

    stack: LineStack
    primitive: str
    back: bool


class TimedEntries(list[Any]):
    """The entries of a recording, and the cost `spent` between them: for each CostKey the amount and the count.

    `rest` is the cost outside of calls and steps: to enter arguments, to return the result.
    """

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.lines = LineFollower(self._leave, meter.begin)
        self.sums: dict[tuple[ActiveLine, str, bool], list[float]] = {}
        self.places: dict[int, ActiveLine] = {}
        self.names: dict[int, tuple[str, Any]] = {}
        self.back = False
        self.rest = 0.0

    def over(self, gradient: Callable[[Callable[[Recording], None]], None]) -> TimedEntries:
        """Measure a gradient, a function that calls its argument with its recording; return this object."""
        with self.meter, self.lines:
            gradient(self._attach)
            self._skip()
        return self

    @property
    def spent(self) -> dict[CostKey, list[float]]:
        """Return the cost for each CostKey, and how many times it was incurred."""
        return {CostKey(place.stack, name, back): row for (place, name, back), row in self.sums.items()}

    def _attach(self, recording: Recording) -> None:
        recording.entries, STATE.fast = self, recording
        recording.reverse = self.walk
        self._skip()

    def walk(
        self,
        recording: Recording,
        here: Any,
        seeds: Any,
        depth: int,
        may_drop_entries: bool,
        watching: Any,
        make: Any = None,
    ) -> Any:
        """Run the reverse pass; a gradient inside the function counts as part of the function."""
        if depth:
            return reverse(recording, here, seeds, depth, may_drop_entries, watching, make)
        self._skip()
        if not recording.folds:
            self.lines.pause()
        self.back = self.lines.only_recorded = True  # only a checkpoint runs the user's code again
        cotangents = reverse(recording, here, seeds, depth, may_drop_entries, watching, make, once=True)
        self.back = False
        self._skip()
        return cotangents

    def append(self, entry: Any) -> None:
        self._spend(self.lines.place, entry[0])
        self.places[len(self)] = self.lines.place
        list.append(self, entry)
        self.meter.begin()

    def __setitem__(self, slot: Any, entry: Any) -> None:
        if entry is None and self.back:
            self._spend(self.places.get(slot, self.lines.top), self[slot][0])
            list.__setitem__(self, slot, entry)
            self.meter.begin()
        else:
            list.__setitem__(self, slot, entry)

    def _leave(self) -> None:
        self._spend(self.lines.place)

    def _spend(self, place: ActiveLine, primitive: Any = None) -> None:
        amount = self.meter.lap()
        if primitive is INPUT or not (place.line or primitive):
            self.rest += amount
            return
        row = self.sums.setdefault((place, self._name(primitive), self.back), [0.0, 0])
        row[0] += amount
        row[1] += 1

    def _skip(self) -> None:
        self.rest += self.meter.lap()
        self.meter.begin()

    def _name(self, primitive: Any) -> str:
        """Return a primitive's name on a tape; "" for None, which is Python itself."""
        if primitive is None:
            return ""
        fn = getattr(primitive, "fn", primitive)
        known = self.names.get(id(fn))
        if known is None:
            known = self.names[id(fn)] = (primitive.name if fn is None else _primitive_name(fn), fn)
        return known[0]


def _primitive_name(fn: Any) -> str:
    return display(fn) if callable(fn) else type(fn).__name__.lower()


def time_by_line(run: Callable[[], Any], meter: Meter) -> dict[CostKey, list[float]]:
    """Measure a run by line, without a recording."""
    laps = TimedEntries(meter)
    with meter, laps.lines:
        run()
    return laps.spent
