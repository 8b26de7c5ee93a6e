"""Writes that nothing sees: what a function with a rule does to the arrays it is given, and to those it gave before."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.outcomes import flat
from wengert.recording.primitives import Primitive
from wengert.recording.recording import Recording, here
from wengert.recording.slots import slot_of

Watched = list[tuple[np.ndarray, np.ndarray]]


def watched_by(recording: Recording, args: Iterable[Any]) -> Watched:
    """The arrays that a call may write, with what they hold before it."""
    given = [a for a in args if isinstance(a, np.ndarray) and a.flags.writeable and not a.dtype.hasobject]
    return [(a, a.copy()) for a in (*given, *recording.memory.lent.workspaces())]


def note_writes(recording: Recording, primitive: Primitive, watched: Watched, seen: bool) -> None:
    """Have the reverse pass see what was overwritten; refuse where a variable lost its value.

    `seen`: an outer trace has recorded the writes.
    """
    for array, before in watched:
        if np.array_equal(array, before, equal_nan=array.dtype.kind in "fc"):
            continue
        if recording.memory.lent.is_workspace(array):
            if recording.keep:
                raise recording.refuse(_overwritten())
            recording.memory.give_way(array)  # nobody may read its views any more, but for the reverse pass
        elif slot_of(recording, array) is not None:
            raise recording.refuse(
                RefusedCallError(
                    f"{here()}: {primitive.name} has written an array that it was given and whose derivative is known, "
                    "which no rule can tell of. Let it write a copy, or take its rule away, so that it is traced."
                )
            )
        if not seen:
            recording.memory.undo.append([len(recording.entries), array, ..., before])


def _overwritten() -> RefusedCallError:
    return RefusedCallError(
        f"{here()}: a function with a rule has overwritten what it gave before, which a tape cannot repeat. Let it "
        "give a new array, or a copy."
    )


def called(
    recording: Recording, primitive: Primitive, args: Sequence[Any], call: Callable[..., Any], *given: Any
) -> list[Any]:
    """What a primitive gives, by `call(*given)`, handed over in a list, with its writes to `args` noted."""
    if primitive.vouched:
        return [call(*given)]
    watched = watched_by(recording, flat(args))
    made = [call(*given)]
    note_writes(recording, primitive, watched, False)
    return made


def note_kept(recording: Recording, value: Any, pullback: Any = None) -> None:
    """Remember the memory of a result that others hold too, and may write: a workspace, a kept result."""
    if isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        lent = recording.memory.lent
        if recording.keep and lent.is_workspace(value.base) and id(value.base) in recording.memory.storages:
            raise recording.refuse(_overwritten())
        own = [c.cell_contents for c in getattr(pullback, "__closure__", None) or () if c != _EMPTY]
        if _references(value) > _ALONE + sum([c is value.base for c in own]):
            lent.keep(value.base)


def _references(view: np.ndarray) -> int:
    return sys.getrefcount(view.base)


_ALONE = _references(np.empty(1)[:])  # as this Python counts
_EMPTY = types.CellType()


__all__ = ["called", "note_kept", "note_writes", "watched_by"]
