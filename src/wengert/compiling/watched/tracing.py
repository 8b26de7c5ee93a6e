"""Watched traces: run a function on real values, and keep its tape, the values it reads from outside, and guards."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.deferred_reverse import defer_reverse
from wengert.compiling.watched.call_hooks import resolve_without_site
from wengert.compiling.watched.hooks import WATCHING_HOOKS
from wengert.compiling.watched.lifting import Lifts
from wengert.compiling.watched.loop_heads import Heads
from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.symbolic_int_hooks import COUNTING_HOOKS, check_counters
from wengert.compiling.watched.symbolic_ints import SymbolicInt
from wengert.compiling.watched.watchable import ATOMS, can_be_rebuilt, new_with_attributes
from wengert.errors import WengertError
from wengert.hooks.tracer import open_level, run
from wengert.mutation.residuals import materialise
from wengert.recording.decisions import exact, kinds_stay
from wengert.recording.layout import views_or_copies
from wengert.recording.recording import STATE, Recording
from wengert.recording.session import SESSION
from wengert.recording.slots import slot_of
from wengert.tape.entries import Slot
from wengert.tape.tape import Tape
from wengert.values.callables import unwrapped
from wengert.values.frames import ENGINE
from wengert.values.sites import Site
from wengert.values.specs import is_inexact
from wengert.values.trees import walk


class WatchedTrace(NamedTuple):
    """A traced call: its value, its outer reads, and its tape, or None if the trace cannot be kept.

    `returned` is the expression of the value, in which `r` is the result of the tape.
    """

    value: Any
    reads: Reads
    tape: Tape | None
    returned: str


def trace_watched(
    g: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    lifts: Lifts | None = None,
    earlier: Heads | None = None,
) -> WatchedTrace:
    """Call `g`, record what it computes, and watch what it reads from outside.

    The tape computes the constant variables that `lifts` names. It compares the states of its loops with those of an
    `earlier` trace.
    """
    with open_level(True) as (recording, _):
        reads = recording.reads = Reads(recording, COUNTING_HOOKS if lifts else WATCHING_HOOKS)
        reads.heads.lifts = lifts or {}
        if earlier is not None:
            reads.heads.follow(earlier)
        recording.enter, recording.reverse = resolve_without_site, defer_reverse
        recording.owed.append(reads.restore)
        STATE.site = _first_line(g)
        try:
            entered = tuple([reads.read(value, f"a{k}") for k, value in enumerate(args)])
            named = {name: reads.read(kwargs[name], f"a{k}") for k, name in enumerate(kwargs, len(args))}
            reads.read_callable(g)
            result = run(g, entered, named, recording)
            STATE.site = _first_line(g)
            reads.add_final_guards()
            slots: list[int] = []
            returned = "" if reads.obstacle else _result_expression(reads, recording, result, slots)
            if lifts:
                check_counters(recording)
        finally:
            reads.restore()
        tape = None
        if reads.obstacle is None:
            try:
                tape = _tape_of_trace(g, reads, recording, slots)
            except WengertError as error:
                reads.give_up(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        return WatchedTrace(walk(result, "", dict(reads.originals)), reads, tape, returned)


def _tape_of_trace(g: Any, reads: Reads, recording: Recording, slots: list[int]) -> Tape:
    """Make the tape of a recording, whose result is the tuple of the values in these slots."""
    views_or_copies(recording)
    kinds_stay(recording)
    materialise(recording, 0, len(recording.entries), written_only=True, constants_only=True)
    names = [*map(reads.describe, reads.inputs)]
    return Tape.from_entries(recording.entries, tuple([Slot(slot) for slot in slots]), names, g)


def _first_line(f: Any) -> Site | None:
    """Return the line where a function begins, that of f for `grad(f)`, for messages about the function as a whole."""
    while (code := getattr(f, "__code__", None)) and code.co_filename.startswith(ENGINE) and hasattr(f, "__wrapped__"):
        f = unwrapped(f.__wrapped__)
    return STATE.site if type(code) is not types.CodeType else Site(code.co_filename, code.co_firstlineno, code.co_name)


def _result_expression(reads: Reads, recording: Recording, value: Any, slots: list[int]) -> str:
    """Return the expression of a result, and append the slots of the traced values in it to `slots`."""
    t = type(value)
    if is_inexact(value) and t not in (float, complex, np.ndarray) and not issubclass(t, np.generic):
        reads.give_up(f"it returns a {t.__name__}, a subclass of arrays or numbers")
    may_be_traced = t in (float, complex, np.ndarray, SymbolicInt) or issubclass(t, np.generic)
    slot = slot_of(recording, value) if may_be_traced else None
    if slot is not None:
        slots.append(slot)
        return f"int(r[{len(slots) - 1}])" if t is SymbolicInt else f"r[{len(slots) - 1}]"
    if t in (list, dict, tuple) and id(value) not in reads.known_objects:
        if t is not tuple:
            reads.known_objects[id(value)] = value, ""  # a second occurrence would be the same object
        if t is dict and {type(key) for key in value} <= {str, int}:
            exact(recording, value)
            items = [
                f"{reads.constant(key)}: {_result_expression(reads, recording, value[key], slots)}" for key in value
            ]
            return f"{{{', '.join(items)}}}"
        if t is not dict:
            parts = "".join(f"{_result_expression(reads, recording, part, slots)}, " for part in value)
            return f"({parts})" if t is tuple else f"[{parts}]"
    if issubclass(t, tuple) and hasattr(t, "_make"):
        parts = "".join(f"{_result_expression(reads, recording, part, slots)}, " for part in value)
        return f"{reads.pin(t)}._make(({parts}))"
    if id(value) not in reads.known_objects and can_be_rebuilt(t) and id(t) in reads.classes:
        reads.known_objects[id(value)] = value, ""
        parts = ", ".join(
            f"{name!r}: {_result_expression(reads, recording, part, slots)}" for name, part in vars(value).items()
        )
        return f"{reads.pin(new_with_attributes)}({reads.pin(t)}, {{{parts}}})"
    if t in ATOMS or t in (float, complex) or issubclass(t, np.generic):
        exact(recording, [value])  # a string depends on guarded values alone
        return reads.pin(value)
    if t is np.ndarray and not value.dtype.hasobject and not reads.is_compared_array(value):
        return f"{reads.pin(value.copy('K'))}.copy('K')"
    reads.give_up(
        f"it returns a {t.__name__}, which comes from outside the function or holds more than numbers and arrays"
    )
    return ""


def trace_with_counters(
    g: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], found: WatchedTrace
) -> WatchedTrace | None:
    """Trace the same call again, with loop counters computed by the tape; None if no loop needs that or it fails."""
    heads, lifts, again = found.reads.heads, dict[Any, Any](), None
    more = {} if found.tape is None or found.reads.draws else heads.needed_lifts()
    while any([loop not in lifts or not names.items() <= lifts[loop].items() for loop, names in more.items()]):
        lifts = {loop: lifts.get(loop, {}) | more.get(loop, {}) for loop in {**lifts, **more}}
        try:
            with warnings.catch_warnings(record=True):  # the first run issued them
                made = trace_watched(g, args, kwargs, lifts, heads)
        except WengertError as error:
            heads.refusal = f" ({str(error).splitlines()[0]})"
            break
        finally:
            SESSION.tidy()
        if made.tape is None:
            break
        again, more = made, made.reads.heads.needed_lifts()
    return again and again._replace(value=found.value)
