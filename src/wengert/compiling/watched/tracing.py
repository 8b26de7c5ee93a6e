"""One watched trace: a function run on real values, with all that it reads from outside, and the tape of it."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.postponing import postponed
from wengert.compiling.watched.kinds import ATOMS, is_made_of_attributes, with_attributes
from wengert.compiling.watched.outside import Reads
from wengert.compiling.watched.watching import WATCHING, resolve_plain
from wengert.errors import WengertError
from wengert.hooks.tracer import level, run
from wengert.recording.decisions import exact, kinds_stay
from wengert.recording.layout import views_or_copies
from wengert.recording.recording import STATE, Recording
from wengert.recording.slots import slot_of
from wengert.tape.entries import Slot
from wengert.tape.tape import Tape
from wengert.values.sites import Site
from wengert.values.specs import is_inexact
from wengert.values.trees import walk
from wengert.written.residuals import materialise


class Traced(NamedTuple):
    """A call that was traced: its value, what it read, and unless that cannot be kept its tape.

    `returned` is the expression of the value, in which `r` is the result of the tape.
    """

    value: Any
    reads: Reads
    tape: Tape | None
    returned: str


def traced(g: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Call `g` with all that it computes recorded, and all that it reads watched."""
    with level(True) as (recording, _):
        reads = recording.reads = Reads(recording, WATCHING)
        recording.enter, recording.reverse = resolve_plain, postponed
        recording.owed.append(reads.restore)
        STATE.site = _place(g)
        try:
            entered = tuple([reads.read(value, f"a{k}") for k, value in enumerate(args)])
            named = {name: reads.read(kwargs[name], f"a{k}") for k, name in enumerate(kwargs, len(args))}
            reads.inside(g)
            result = run(g, entered, named, recording)
            STATE.site = _place(g)
            reads.finish()
            slots: list[int] = []
            returned = "" if reads.unkept else _returned(reads, recording, result, slots)
        finally:
            reads.restore()
        tape = None
        if reads.unkept is None:
            try:
                tape = _tape(g, reads, recording, slots)
            except WengertError as error:
                reads.give_up(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        return Traced(walk(result, "", dict(reads.originals)), reads, tape, returned)


def _tape(g: Any, reads: Reads, recording: Recording, slots: list[int]) -> Tape:
    """The tape of what was recorded, whose result is the tuple of the values in these slots."""
    views_or_copies(recording)
    kinds_stay(recording)
    materialise(recording, 0, len(recording.entries), written_only=True, constants_only=True)
    names = [*map(reads.said, reads.inputs)]
    return Tape.from_entries(recording.entries, tuple([Slot(slot) for slot in slots]), names, g)


def _place(f: Any) -> Site | None:
    """Where a function begins, for what is said of it as a whole."""
    code = getattr(f, "__code__", None)
    return STATE.site if type(code) is not types.CodeType else Site(code.co_filename, code.co_firstlineno, code.co_name)


def _returned(reads: Reads, recording: Recording, value: Any, slots: list[int]) -> str:
    """The expression of what is returned; `slots` gets those of the values in it."""
    t = type(value)
    if is_inexact(value) and t not in (float, complex, np.ndarray) and not isinstance(value, np.generic):
        reads.give_up(f"it returns a {t.__name__}")
    slot = slot_of(recording, value) if t in (float, complex, np.ndarray) or isinstance(value, np.generic) else None
    if slot is not None:
        slots.append(slot)
        return f"r[{len(slots) - 1}]"
    if t in (list, dict, tuple) and id(value) not in reads.known:
        if t is not tuple:
            reads.known[id(value)] = value, ""  # met again it would be the same object
        if t is dict and {type(key) for key in value} <= {str, int}:
            exact(recording, value)
            parts = ", ".join(f"{key!r}: {_returned(reads, recording, part, slots)}" for key, part in value.items())
            return f"{{{parts}}}"
        if t is not dict:
            parts = "".join(f"{_returned(reads, recording, part, slots)}, " for part in value)
            return f"({parts})" if t is tuple else f"[{parts}]"
    if issubclass(t, tuple) and hasattr(t, "_make"):
        parts = "".join(f"{_returned(reads, recording, part, slots)}, " for part in value)
        return f"{reads.pin(t)}._make(({parts}))"
    if id(value) not in reads.known and is_made_of_attributes(t) and id(t) in reads.classes:
        reads.known[id(value)] = value, ""
        parts = ", ".join(f"{name!r}: {_returned(reads, recording, part, slots)}" for name, part in vars(value).items())
        return f"{reads.pin(with_attributes)}({reads.pin(t)}, {{{parts}}})"
    if t in ATOMS or t in (float, complex) or isinstance(value, np.generic):
        exact(recording, [value])  # a text is made of what the function was given, or is the same in each call
        return reads.pin(value)
    if t is np.ndarray and not value.dtype.hasobject and not reads.holds(value):
        return f"{reads.pin(value.copy('K'))}.copy('K')"
    reads.give_up(f"it returns a {t.__name__} that is not made of numbers and arrays alone, or is from outside")
    return ""
