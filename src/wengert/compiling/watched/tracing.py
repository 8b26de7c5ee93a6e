"""One watched trace: a function run on real values, with all that it reads from outside, and the tape of it."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.deferred_reverse import defer_reverse
from wengert.compiling.watched.loop_states import Lifts
from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.symbolic_int_hooks import COUNTING, check_counters
from wengert.compiling.watched.symbolic_ints import Counted
from wengert.compiling.watched.watchable_types import ATOMS, is_made_of_attributes, with_attributes
from wengert.compiling.watched.watching import WATCHING, resolve_plain
from wengert.errors import WengertError
from wengert.hooks.tracer import level, run
from wengert.mutation.residuals import materialise
from wengert.recording.decisions import exact, kinds_stay
from wengert.recording.layout import views_or_copies
from wengert.recording.recording import STATE, Recording
from wengert.recording.session import SESSION
from wengert.recording.slots import slot_of
from wengert.tape.entries import Slot
from wengert.tape.tape import Tape
from wengert.values.sites import Site
from wengert.values.specs import is_inexact
from wengert.values.trees import walk


class Traced(NamedTuple):
    """A call that was traced: its value, what it read, and unless that cannot be kept its tape.

    `returned` is the expression of the value, in which `r` is the result of the tape.
    """

    value: Any
    reads: Reads
    tape: Tape | None
    returned: str


def traced(g: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], lifts: Lifts | None = None) -> Traced:
    """Call `g` with all that it computes recorded, and all that it reads watched.

    The constant numbers that `lifts` names are computed by the tape.
    """
    with level(True) as (recording, _):
        reads = recording.reads = Reads(recording, COUNTING if lifts else WATCHING)
        reads.heads.lifts = lifts or {}
        recording.enter, recording.reverse = resolve_plain, defer_reverse
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
            if lifts:
                check_counters(recording)
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
    if is_inexact(value) and t not in (float, complex, np.ndarray) and not issubclass(t, np.generic):
        reads.give_up(f"it returns a {t.__name__}")
    slot = slot_of(recording, value) if t in (float, complex, np.ndarray) or issubclass(t, np.generic) else None
    slot = slot_of(recording, value) if t is Counted else slot
    if slot is not None:
        slots.append(slot)
        return f"int(r[{len(slots) - 1}])" if t is Counted else f"r[{len(slots) - 1}]"
    if t in (list, dict, tuple) and id(value) not in reads.known:
        if t is not tuple:
            reads.known[id(value)] = value, ""  # met again it would be the same object
        if t is dict and {type(key) for key in value} <= {str, int}:
            exact(recording, value)
            items = [f"{reads.constant(key)}: {_returned(reads, recording, value[key], slots)}" for key in value]
            return f"{{{', '.join(items)}}}"
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
    if t in ATOMS or t in (float, complex) or issubclass(t, np.generic):
        exact(recording, [value])  # a text is made of what the function was given, or is the same in each call
        return reads.pin(value)
    if t is np.ndarray and not value.dtype.hasobject and not reads.holds(value):
        return f"{reads.pin(value.copy('K'))}.copy('K')"
    reads.give_up(f"it returns a {t.__name__} that is not made of numbers and arrays alone, or is from outside")
    return ""


def counting(g: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], found: Traced) -> Traced | None:
    """The trace of the same call in which the tape computes what keeps loops as long as they were; None without any."""
    heads, lifts, again = found.reads.heads, dict[Any, Any](), None
    more = {} if found.tape is None or found.reads.draws else heads.wanted()
    while any([place not in lifts or not names <= lifts[place] for place, names in more.items()]):
        lifts = {place: lifts.get(place, set()) | more.get(place, set()) for place in {**lifts, **more}}
        try:
            with warnings.catch_warnings(record=True):  # they were given when it ran first
                again = traced(g, args, kwargs, lifts)
        except WengertError as error:
            heads.asks = f" ({str(error).splitlines()[0]})"
            return None
        finally:
            SESSION.tidy()
        if again.tape is None:
            return None
        more = again.reads.heads.wanted()
    return again and again._replace(value=found.value)
