"""A gradient measured as it runs: what passes from one recorded call to the next, and from one step back to the next.

A gradient writes each call of a primitive down, and drops it when it has stepped back through it. A list of entries
that looks at a meter at both tells how much each took, and nothing of the engine is another for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from wengert.recording.primitives import INPUT
from wengert.recording.recording import STATE, Recording
from wengert.reverse.walk import reverse
from wengert.tools.lines import Lines, Place, Stack
from wengert.tools.meters import Bytes, Seconds
from wengert.values.names import display

Meter = Seconds | Bytes


class Key(NamedTuple):
    """The key of a cost: the active lines, the primitive ("" is Python itself), and whether in the reverse pass."""

    stack: Stack
    primitive: str
    back: bool


class Laps(list[Any]):
    """The entries of a recording, and what was `spent` between them: by Key, the amount and how many times.

    `rest` is what the gradient took beside its calls and steps: to enter arguments, to hand over the result.
    """

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.lines = Lines(self._leave, meter.begin)
        self.sums: dict[tuple[Place, str, bool], list[float]] = {}
        self.places: dict[int, Place] = {}
        self.names: dict[int, tuple[str, Any]] = {}
        self.back = False
        self.rest = 0.0

    def over(self, gradient: Callable[[Callable[[Recording], None]], None]) -> Laps:
        """Measure a gradient, which calls what it is given with its recording; returns this."""
        with self.meter, self.lines:
            gradient(self._begin)
            self._skip()
        return self

    @property
    def spent(self) -> dict[Key, list[float]]:
        """The cost for each Key, and how many times it was incurred."""
        return {Key(place.stack, name, back): row for (place, name, back), row in self.sums.items()}

    def _begin(self, recording: Recording) -> None:
        recording.entries = STATE.quick = self
        recording.reverse = self.walk
        self._skip()

    def walk(
        self, recording: Recording, here: Any, seeds: Any, depth: int, consume: bool, watching: Any, make: Any = None
    ) -> Any:
        """The reverse pass; that of a gradient inside the function is the function's."""
        if depth:
            return reverse(recording, here, seeds, depth, consume, watching, make)
        self._skip()
        if not recording.folds:
            self.lines.pause()
        self.back = self.lines.only_recorded = True  # only a checkpoint runs the user's code again
        made = reverse(recording, here, seeds, depth, consume, watching, make, once=True)
        self.back = False
        self._skip()
        return made

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

    def _spend(self, place: Place, primitive: Any = None) -> None:
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
            known = self.names[id(fn)] = (primitive.name if fn is None else _display(fn), fn)
        return known[0]


def _display(fn: Any) -> str:
    return display(fn) if callable(fn) else type(fn).__name__.lower()


def followed(run: Callable[[], Any], meter: Meter) -> dict[Key, list[float]]:
    """Measure a plain run by line; nothing is recorded."""
    laps = Laps(meter)
    with meter, laps.lines:
        run()
    return laps.spent
