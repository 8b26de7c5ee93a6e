"""The forward pass over a recording: the tangents of all slots of a level, from those of some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError, of_rule
from wengert.forward.step import ForwardStep
from wengert.recording.nans import check_push
from wengert.recording.pullback_reads import note_outer_changes
from wengert.recording.recording import PUSHED, STATE, Recording
from wengert.values.settings import SETTINGS
from wengert.values.warned import steps

Tangents = dict[int, Any]  # by slot; a slot that is not in it has zero


@steps("step")
def forward(
    recording: Recording,
    start: int,
    end: int,
    tangents: Tangents,
    call: Callable[..., Any],
    depth: int,
    size: int | None = None,
) -> Tangents:
    """Push `tangents` through the entries from slot `start` to `end`, and return the tangents of all their slots.

    `call` runs the computations, so that an outer level records them; `depth` counts the outer levels. With `size`,
    each tangent has a leading axis of that length, for as many directions.
    """
    step, site, tangents = ForwardStep(recording, call, depth, size), STATE.site, dict(tangents)
    notes = recording.notes if STATE.recording is recording else []
    if recording.memory.has_outer_reads:
        note_outer_changes(map(recording.entries.__getitem__, range(start, end)))
    try:
        for slot in range(start, end):
            entry = recording.entries[slot]
            if slot in tangents or entry is None or slot in recording.inert or entry[0].kind not in ("call", "input"):
                continue
            given = tuple([_tangents_at(tangents, place) for place in entry[2]])
            if any([tangent is not None for tangent in given]):
                STATE.site = entry[5] or site
                notes.append((len(recording.entries), PUSHED, slot))
                try:
                    tangent = step(entry, given)
                except (NoDerivativeError, np.linalg.LinAlgError) as error:
                    raise of_rule(error, entry[5]) from error.__cause__
                if SETTINGS.debug_nans:
                    check_push(recording, slot, given, tangent)
                if tangent is not None:
                    tangents[slot] = tangent
    finally:
        STATE.site = site
    notes.append((len(recording.entries), "", 0))
    return tangents


def _tangents_at(tangents: Tangents, place: Any) -> Any:
    """Return the tangent of a slot, or a tuple of them for a sequence; None if all are zero."""
    if type(place) is not tuple:
        return None if place is None else tangents.get(place)
    found = tuple([_tangents_at(tangents, part) for part in place])
    return found if any([tangent is not None for tangent in found]) else None
