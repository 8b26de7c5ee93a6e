"""Writes that nothing sees: those of functions with rules into arrays that they are given, and into earlier results."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording import pullback_reads, rule_stores
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE, Recording, flat_slots, silent, users_line
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import flat, slot_of
from wengert.recording.user_pullbacks import RruleCall
from wengert.values.named_tuples import NamedTuple
from wengert.values.results import leaves_of
from wengert.values.specs import is_inexact, same_numbers
from wengert.values.trees import is_container


class Watched(NamedTuple):
    """The arrays that a call may write into, each with a copy of what it holds before, and the containers."""

    arrays: list[tuple[np.ndarray, np.ndarray]]
    given: rule_stores.Given | None = None


UNWATCHED = Watched([])


def watched_by(recording: Recording, args: Sequence[Any], ins: tuple[Any, ...] = ()) -> Watched:
    """Find what a call may write into; containers only where an argument, of the slots `ins`, depends on an input."""
    given = rule_stores.given_to(args) if any(recording.mask(flat_slots(ins))) else None
    arrays = [a for a in (*flat(args), *(() if given is None else given.arrays)) if isinstance(a, np.ndarray)]
    known = {id(a): a for a in arrays if a.flags.writeable and not a.dtype.hasobject}
    return Watched([(a, np.array(a)) for a in (*known.values(), *recording.memory.lent.workspaces())], given)


def note_writes(
    recording: Recording, primitive: Primitive, watched: Watched, ins: tuple[Any, ...] = (), seen: bool = False
) -> None:
    """Have the reverse pass see what a call has overwritten; refuse it where a variable lost its value.

    `ins` are the slots of its arguments; `seen`: an outer trace has recorded the writes.
    """
    depends = not seen and any(recording.mask(flat_slots(ins)))
    for array, before in watched.arrays:
        if same_numbers(array, before):
            continue
        if recording.memory.lent.is_workspace(array):
            if recording.keep:
                raise recording.refuse(_overwritten())
            if not seen:
                recording.memory.refuse_views_of(array)  # nobody may read its views any more, but for the reverse pass
        elif slot_of(recording, array) not in {None, *recording.memory.lent.unspoken}:
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: {primitive.name} wrote into its argument, a traced array, which its rule cannot "
                    "express. Write into a copy, or remove the rule, so that wengert traces the function."
                )
            )
        if not seen:
            recording.memory.undo.append([len(recording.entries), array, ..., before])
        if depends and is_inexact(array) and not recording.memory.lent.is_workspace(array):
            _leave_unspoken(recording, primitive, array, ins)
    for leaf in () if watched.given is None else rule_stores.stored(recording, primitive, watched.given):
        _leave_unspoken(recording, primitive, leaf, ins)


def _leave_unspoken(recording: Recording, primitive: Primitive, value: Any, ins: tuple[Any, ...]) -> None:
    """Make a variable of what a call wrote into an argument, of which its rule gives no derivative."""
    what = "wrote into its argument, an array" if isinstance(value, np.ndarray) else "stored a number in its argument"
    error = RefusedCallError(
        f"{users_line()}: {primitive.name} {what}, and the result depends on it. The rule has no derivative of "
        "that. Return the value instead."
    )
    if recording.keep:
        raise recording.refuse(error)

    def pullback(y_bar: Any) -> Any:
        raise error

    memory, site = recording.memory, STATE.site
    owner = memory.join(value) if isinstance(value, np.ndarray) else None
    pull = RruleCall(
        primitive, primitive.rule, pullback, 0, {}, pullback_reads.OuterState(pullback, site, memory.version)
    )
    slot = recording.append((pull, None, (*ins, None), (None,) * len(ins), None, site))
    if owner is None:
        SHADOW[id(value)] = slot
    else:
        memory.put(owner, value, value, slot)
    memory.lent.unspoken.add(slot)


def _overwritten() -> RefusedCallError:
    return RefusedCallError(
        f"{users_line()}: a function with a rule overwrote an array that it returned before, which a tape cannot "
        "repeat. Return a new array, or a copy."
    )


def call_watched(
    recording: Recording,
    primitive: Primitive,
    args: Sequence[Any],
    ins: tuple[Any, ...],
    call: Callable[..., Any],
    *given: Any,
) -> list[Any]:
    """The result of a primitive, from `call(*given)`, handed over in a list; its writes into `args` are noted."""
    if primitive.is_trusted:
        return [call(*given)]
    watched = watched_by(recording, args, ins)
    try:
        with silent(primitive.is_python):
            return [call(*given)]
    finally:
        note_writes(recording, primitive, watched, ins)


def note_kept(recording: Recording, value: Any, pullback: Any = None) -> None:
    """Remember the memory of a result that others hold too, and may write into: a workspace, a kept result."""
    views: list[Any] = [leaf for _, leaf in leaves_of(value)] if is_container(value) else [value]
    views = [view for view in views if isinstance(view, np.ndarray) and isinstance(view.base, np.ndarray)]
    known = [] if not views else [*views, *_held_by(pullback)]
    for view in views:
        lent = recording.memory.lent
        if recording.keep and lent.is_workspace(view.base) and id(view.base) in recording.memory.storages:
            raise recording.refuse(_overwritten())
        others = sum([array is view.base or array.base is view.base for array in known]) - 1
        if _base_references(view) > _REFERENCES_ALONE + others:
            lent.keep(view.base)


def _held_by(pullback: Any) -> list[np.ndarray]:
    """The arrays that the closure of a pullback holds, alone or in a tuple or list that nobody else has."""
    arrays = []
    for cell in getattr(pullback, "__closure__", None) or ():
        content: Any = None if cell == _EMPTY_CELL else cell.cell_contents
        if type(content) in (list, tuple) and _references_to_content(cell) <= _ALONE_IN_A_CELL:
            arrays += [array for array in content if isinstance(array, np.ndarray)]
        elif isinstance(content, np.ndarray):
            arrays.append(content)
    return arrays


def _base_references(view: np.ndarray) -> int:
    return sys.getrefcount(view.base)


def _references_to_content(cell: types.CellType) -> int:
    return sys.getrefcount(cell.cell_contents)


_REFERENCES_ALONE = _base_references(np.empty(1)[:])  # as this Python counts
_ALONE_IN_A_CELL = 1 + _references_to_content(types.CellType([]))  # and a variable of `_held_by`
_EMPTY_CELL = types.CellType()


__all__ = ["UNWATCHED", "call_watched", "note_kept", "note_writes", "watched_by"]
