"""Warnings about results that depend on none of the requested arguments, with the line where the path ends."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable
from typing import Any

from wengert.errors import NoPathWarning
from wengert.recording.reachability import nested
from wengert.recording.recording import Level, Recording, flat_slots
from wengert.values.callables import callable_name, place
from wengert.values.codes import code_of
from wengert.values.frames import warn


def is_lost(recording: Recording, here: Level, slot: int | None) -> bool:
    """Whether a result, at `slot`, depends on no input of a level, without having been stopped on purpose."""
    if recording.stopped >= here.start:
        return False
    if slot is None:
        return True
    if recording.inert:
        return slot not in _differentiable(recording, here, slot)
    return here is not recording.levels[0] and not recording.depends(slot, here)


def _differentiable(recording: Recording, here: Level, end: int) -> set[int]:
    """Return the slots up to `end` that depend differentiably on an input of a level; a tape has others, too."""
    found: set[int] = set()
    for slot in range(here.start, end + 1):
        entry = recording.entries[slot]
        passes = entry is not None and slot not in recording.inert and any(s in found for s in flat_slots(entry[2]))
        if passes or slot in here.inputs:
            found.add(slot)
    return found


def warn_of_loss(recording: Recording, here: Level, f: Callable[..., Any], names: str) -> None:
    """Warn, at the line that requests the derivative, that it is zero because no path leads to the arguments."""
    warn(
        f"the result of {callable_name(f)} does not depend on {names}, so its derivative is zero. "
        f"{_last(recording, here, f)}",
        NoPathWarning,
    )


def _last(recording: Recording, here: Level, f: Callable[..., Any]) -> str:
    """Describe the last line at which a value was traced."""
    place_of_cut, name, site = recording.last_nondifferentiable
    entries = recording.entries
    after = range(len(entries) - 1, here.start - 1, -1)
    last = next((k for k in after if _is_step(entries[k]) and recording.depends(k, here)), -1)
    if place_of_cut > max(last, here.start - 1):
        return f"It was last traced at {site}, where {name} returns a constant. {_REMEDY}"
    entry = entries[last] if last >= 0 else None
    if entry is not None:
        return f"It was last traced at {entry[5]}, by {entry[0].name}; later values are constant. {_REMEDY}"
    read = _readings(f)
    lines = f", which reads its arguments at line{'s' * (' and ' in read)} {read}" if read else ""
    return f"No operation with a derivative reads it in {callable_name(f)} ({place(f)}){lines}. {_REMEDY}"


def _readings(f: Callable[..., Any]) -> str:
    """Return the lines at which a function reads its arguments."""
    unwrapped = inspect.unwrap(f)
    if not hasattr(unwrapped, "__code__"):
        return ""
    code = code_of(unwrapped)
    given = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    read = [step for inner in nested(code) for step in dis.get_instructions(inner) if given & _read(inner, step)]
    lines = sorted({step.positions.lineno for step in read if step.positions and step.positions.lineno})
    return " and ".join(map(str, lines[-_SOME:]))


def _is_step(entry: Any) -> bool:
    return entry is not None and entry[0].kind == "call" and entry[5] is not None


def _read(code: types.CodeType, step: dis.Instruction) -> set[Any]:
    """Return the variables that an instruction reads; passing a cell to an inner function is no read."""
    names = {*step.argval} if type(step.argval) is tuple else {step.argval}
    if step.opname.startswith("LOAD_FAST"):
        return names - {*code.co_cellvars, *code.co_freevars}
    return names if step.opname == "LOAD_DEREF" else set()


_SOME = 3  # lines that are named
_REMEDY = "int, bool, round, comparisons and indices have no derivative. For a constant use wg.stop_gradient."
