"""Watched traces: run a function on real values, and keep its tape, the values it reads from outside, and guards."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from wengert.compiling.loops.deferred_reverse import defer_reverse
from wengert.compiling.selections.whole_tapes import lengths_by_line, make_whole
from wengert.compiling.watched.call_hooks import resolve_without_site
from wengert.compiling.watched.effects import Learned, without_counters
from wengert.compiling.watched.hooks import WATCHING_HOOKS
from wengert.compiling.watched.lengths import SelectionLengths
from wengert.compiling.watched.lifting import Lifts, RestartError, grows_lists, with_lifts
from wengert.compiling.watched.loop_heads import Heads
from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.records import check_records
from wengert.compiling.watched.results import effect_lines, result_expression
from wengert.compiling.watched.rule_calls import RuleCalls
from wengert.compiling.watched.symbolic_int_hooks import COUNTING_HOOKS, check_counters
from wengert.compiling.watched.symbolic_ints import SymbolicIntError
from wengert.compiling.watched.symbolic_iterators import check_tables
from wengert.errors import (
    ArgumentError,
    IntegerInputError,
    NoDerivativeError,
    NoGradientPathError,
    NonScalarOutputError,
    NoRuleError,
    RefusedCallError,
    WengertError,
)
from wengert.hooks.tracer import open_level, run
from wengert.mutation.residuals import materialise
from wengert.recording.decisions import kinds_stay
from wengert.recording.layout import views_or_copies
from wengert.recording.recording import STATE, Recording, silent
from wengert.recording.session import SESSION
from wengert.tape.entries import Slot
from wengert.tape.tape import Tape
from wengert.values.callables import unwrapped
from wengert.values.frames import ENGINE
from wengert.values.garbage import fewer_collections
from wengert.values.random_states import shared_generators
from wengert.values.sites import Site

FUNCTION_ERRORS = ArgumentError, IntegerInputError, NoDerivativeError, NoGradientPathError, NonScalarOutputError
"""Errors that the function also raises untraced: they are raised, since a second run would repeat side effects."""


class WatchedTrace(NamedTuple):
    """A traced call: its value, its outer reads, and its tape, or None if the trace cannot be kept.

    `returned` is the expression of the value, in which `r` is the result of the tape; `effects` are lines that make the
    effects of the call.
    """

    value: Any
    reads: Reads
    tape: Tape | None
    returned: str
    effects: list[str]

    @property
    def is_stateful(self) -> bool:
        """Whether the call changes something outside, or computes with an integer that earlier calls changed."""
        return bool(self.effects or self.reads.counters)

    @property
    def is_lifted(self) -> bool:
        """Whether the tape computes loop counters, to free loops."""
        return bool(self.reads.heads.lifts)


class Restarts:
    """Whether a trace may begin again: not if it has shown a warning. In this context warnings are noted.

    With `of_any_type`, its value is not returned, so constants may be lifted whose type then changes.
    """

    def __init__(self, of_any_type: bool = False) -> None:
        self.are_possible, self.of_any_type = True, of_any_type

    def __enter__(self) -> Restarts:
        self._shown_by = warnings.showwarning
        warnings.showwarning = self._show
        return self

    def __exit__(self, *error: object) -> None:
        if warnings.showwarning == self._show:
            warnings.showwarning = self._shown_by

    def _show(self, *args: Any, **kwargs: Any) -> None:
        self.are_possible = False
        self._shown_by(*args, **kwargs)


@dataclass
class Tracer:
    """Traces one call of a function, as often as need be; `learned` is what its earlier traces have shown."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    learned: Learned
    may_be_native: bool

    @property
    def given(self) -> tuple[Any, ...]:
        """All arguments, in their order."""
        return (*self.args, *self.kwargs.values())

    def trace_watched(
        self,
        lifts: Lifts | None = None,
        earlier: Heads | None = None,
        restarts: Restarts | None = None,
        strict: bool = False,
    ) -> WatchedTrace:
        """Call the function, record what it computes, and watch what it reads from outside.

        The tape computes the constant variables that `lifts` names. It compares the states of its loops with those of
        an `earlier` trace.

        Errors: RestartError if with `restarts` the trace should begin again, with more lifts; NotCompiledError if with
        `strict` it cannot be kept, before the call has had any effect, or if the result shares memory with what it
        reads.
        """
        g, learned = self.f, self.learned
        knew = len(learned)
        is_counting = bool(lifts or learned.needs_counters)
        with fewer_collections(), open_level(True) as (recording, _):
            reads = recording.reads = Reads(recording, COUNTING_HOOKS if is_counting else WATCHING_HOOKS)
            reads.effects.learned, reads.may_be_native, reads.is_strict = learned, self.may_be_native, strict
            reads.effects.refuse = reads.give_up if strict else None
            for rng in shared_generators():
                reads.effects.watch_generator(rng)
            reads.heads.lifts = learned.allowed(lifts or {})
            reads.heads.restarts = restarts
            learned.selects |= learned.may_select and grows_lists(lifts or {})
            if learned.selects:
                reads.lengths = SelectionLengths(recording, learned.measures)
            if earlier is not None:
                reads.heads.follow(earlier)
            recording.enter, recording.reverse = resolve_without_site, defer_reverse
            recording.rule_calls = RuleCalls(recording, reads)
            recording.owed.append(reads.restore)
            STATE.site = _first_line(g)
            try:
                entered = tuple([reads.read(value, f"a{k}") for k, value in enumerate(self.args)])
                words = enumerate(self.kwargs.items(), len(self.args))
                named = {name: reads.read(value, f"a{k}") for k, (name, value) in words}
                reads.read_callable(g)
                result = run(g, entered, named, recording)
                STATE.site = _first_line(g)
                reads.add_final_guards()
                reads.add_effects()
                if strict:
                    reads.check_alone(result)
                returned, effects = "", list[str]()
                if not reads.obstacle:
                    returned = result_expression(reads, recording, result, reads.slots)
                    effects = effect_lines(reads, recording)
                if is_counting:
                    check_counters(recording)
                    reads.heads.retyped.follow(recording)
                    check_tables(recording)
                    check_records(recording)
                    reads.heads.lists.check()
            except BaseException as error:
                is_users = isinstance(error, FUNCTION_ERRORS) or not isinstance(error, WengertError)
                if len(learned) == knew and type(error) in (NoRuleError, RefusedCallError):
                    reads.want_all_constants()
                if strict or not is_users:  # the function will run again, untraced, or nobody has called it
                    reads.is_strict = False
                    with silent():
                        reads.put_back()
                raise
            finally:
                reads.restore()
            tape = None
            if reads.obstacle is None:
                try:
                    tape = _tape_of_trace(g, reads, recording)
                except WengertError as error:
                    reads.give_up(f"{type(error).__name__}: {str(error).splitlines()[0]}")
            return WatchedTrace(without_counters(result, reads.originals), reads, tape, returned, effects)

    def with_restarts(self, earlier: Heads | None, strict: bool = False) -> WatchedTrace:
        """Trace the call; begin again, with loop counters computed by the tape, as soon as a loop needs that."""
        lifts: Lifts = {} if earlier is None else earlier.lifts
        restarts, refusal, tried = Restarts(), "", [lifts]
        while True:
            try:
                with restarts:
                    found = self.trace_watched(lifts, earlier, restarts, strict)
                found.reads.heads.refusal = refusal
                return found
            except RestartError as error:
                restarts.are_possible = error.lifts not in tried
                lifts = error.lifts
                tried.append(lifts)
            except SymbolicIntError as error:
                if not lifts and not (self.learned.selects and self.learned.measures):
                    raise
                refusal = _why_refused(error) or refusal
                if not self.learned.reads_less(error):
                    lifts, restarts.are_possible = {}, False
            SESSION.tidy()

    def again(self, lifts: Lifts | None, earlier: Heads | None, restarts: Restarts | None = None) -> WatchedTrace:
        """Trace the call again, without its warnings: the first run issued them."""
        try:
            with warnings.catch_warnings(record=True):
                return self.trace_watched(lifts, earlier, restarts)
        finally:
            SESSION.tidy()

    def with_counters(self, found: WatchedTrace) -> WatchedTrace | None:
        """Trace the call again, with more counters computed by the tape; None if no loop needs them or it fails."""
        heads, again, restarts = found.reads.heads, None, Restarts(of_any_type=True)
        tried = [heads.lifts]
        lifts = with_lifts(heads.lifts, {} if found.tape is None or found.reads.draws else heads.needed_lifts())
        while lifts not in tried:  # a number may be of one type in some iterations, and of another in others
            tried.append(lifts)
            try:
                made = self.again(lifts, heads, restarts)
            except RestartError as error:
                restarts.are_possible = error.lifts not in tried
                lifts = error.lifts if restarts.are_possible else tried.pop()
                continue
            except WengertError as error:
                heads.refusal = _why_refused(error) or heads.refusal
                if isinstance(error, SymbolicIntError) and self.learned.reads_less(error):
                    lifts = self.learned.allowed(tried.pop())
                    continue
                break
            if made.tape is None:
                break
            made.reads.heads.refusal = heads.refusal
            again, lifts = made, with_lifts(lifts, made.reads.heads.needed_lifts())
        return again and again._replace(value=found.value)


def _tape_of_trace(g: Any, reads: Reads, recording: Recording) -> Tape:
    """Make the tape of a recording, whose result is the tuple of the values that the generated code needs."""
    reads.heads.retyped.write(recording)
    views_or_copies(recording)
    kinds_stay(recording)
    materialise(recording, 0, len(recording.entries), written_only=True, constants_only=True)
    names = [*map(reads.describe, reads.inputs)]
    tape = Tape.from_entries(recording.entries, tuple([Slot(slot) for slot in reads.slots]), names, g)
    varying = reads.effects.learned.note_selections(lengths_by_line(tape))
    return tape if reads.lengths is None or reads.lengths.are_uncertain else make_whole(tape, varying)


def _first_line(f: Any) -> Site | None:
    """Return the line where a function begins, that of f for `grad(f)`, for messages about the function as a whole."""
    while (code := getattr(f, "__code__", None)) and code.co_filename.startswith(ENGINE) and hasattr(f, "__wrapped__"):
        f = unwrapped(f.__wrapped__)
    return STATE.site if type(code) is not types.CodeType else Site(code.co_filename, code.co_firstlineno, code.co_name)


def _why_refused(error: WengertError) -> str:
    """Return the line and the reason of a refusal; nothing if the next trace does what this one did not."""
    lesson = getattr(error, "lesson", None)
    return (
        "" if lesson is not None and lesson[0] in ("depths", "mixed", "rooms") else f" ({str(error).splitlines()[0]})"
    )
