"""From a recording to a tape: `trace` and `gradtape`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from wengert.errors import WengertError
from wengert.gradient import grad
from wengert.hooks.tracer import enter, level, run
from wengert.memory.residuals import materialise
from wengert.recording.decisions import kinds_stay
from wengert.recording.layout import kept_apart, views_or_copies
from wengert.recording.recording import STATE, Recording
from wengert.recording.session import SESSION, followed
from wengert.recording.slots import slot_of
from wengert.tape.arguments import arguments_of, rows_of
from wengert.tape.contexts import Context
from wengert.tape.entries import Slot
from wengert.tape.live import LiveContext
from wengert.tape.tape import Tape
from wengert.values.callables import path_in
from wengert.values.settings import SETTINGS, accumulation
from wengert.values.sites import Site
from wengert.values.trees import rebuild
from wengert.wanted import refuse_swallowed


def trace(f: Callable[..., Any], *args: Any, ctx: Context | None = None, **kwargs: Any) -> tuple[Any, Tape]:
    """Run `f(*args, **kwargs)` once and record what it computes: `(value, tape)`.

    The inputs of the tape are the floats and arrays among the arguments, also those in containers, one by one. It holds
    the calls of primitives that depend on these; all else is constant in it. Played on other inputs it gives what f
    gives for them, or raises StaleTapeError where f would have run another way. `ctx` decides what is a primitive and
    how a call of one is recorded; by default what has a rule is a primitive, and is recorded as it is.

    >>> value, tape = wg.trace(lambda x: x * x + 1, 3.0)
    >>> value, tape.play(4.0)
    (10.0, 17.0)

    Errors: NoRuleError and RefusedCallError for code that cannot be seen into; WengertError inside another trace.
    """
    refuse_swallowed(f, kwargs)
    try:
        return _traced(f, args, kwargs, ctx, f)
    finally:
        SESSION.tidy()


def gradtape(
    f: Callable[..., Any], *args: Any, argnums: Any = None, strategy: str | None = None, **kwargs: Any
) -> Tape:
    """The tape of `grad(f, *args, **kwargs)`: all primitives of `f` and of its pullbacks.

    Its inputs are those of `trace`, and its result is `(value, (f̄, x̄, …))`: f̄ is the gradient of the arrays that f
    itself holds, or None. `gradtape(f, x).to_source()` is the derivative as plain NumPy. `argnums` says which
    arguments, as in `grad(f, x)`; by default all. `strategy` is how cotangents are summed, as in `accumulation`.

    >>> wg.gradtape(lambda x: x * x + 1, 3.0).play(4.0)
    (17.0, (None, 8.0))

    Errors: those of `grad`, and WengertError inside another trace.
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = grad(f, *args, argnums=argnums, **kwargs)
        return value, tuple(gradients)

    before = SETTINGS.strategy
    try:
        with accumulation(strategy=strategy):
            return _traced(gradient, args, kwargs, None, f)[1]
    finally:
        SETTINGS.strategy = before
        SESSION.tidy()


def _traced(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ctx: Context | None,
    named: Callable[..., Any],
) -> tuple[Any, Tape]:
    """Run and record f, whose name and arguments are those of `named`; returns the value and the tape."""
    if followed() is not None:
        raise WengertError("trace and gradtape cannot run inside another trace; call them outside")
    live = None if ctx is None else LiveContext(ctx, named)
    with level(True, live) as (recording, here):
        if live is not None:
            live.watch(recording)
        wanted, told = [*range(len(args)), *kwargs], rows_of(args, kwargs)
        swaps, f, entered, keywords = enter(recording, here, f, args, kwargs, wanted, promote=False)
        names = [path_in(named, path) for path, _ in swaps.paths]
        if live is not None:
            live.names = iter(names)
        try:
            result = run(f, entered, keywords, recording)
            slots = rebuild(result, lambda leaf, path: _slot(recording, leaf, live))
        finally:
            swaps.restore()
        STATE.site = _place(named)
        kept_apart(recording)
        views_or_copies(recording)
        kinds_stay(recording)
        materialise(recording, 0, len(recording.entries), written_only=True, constants_only=True)
        if live is not None:
            tape = live.finish(recording, slots)
        else:
            tape = Tape.from_entries(recording.entries, slots, names, named, notes=_notes(recording))
        tape.arguments = arguments_of(named, told, [path for path, _ in swaps.paths], tape)
        return swaps.leave(result), tape


def _place(f: Any) -> Site | None:
    """Where a function begins, for what is guarded of it as a whole."""
    code = getattr(f, "__code__", None)
    return STATE.site if code is None else Site(code.co_filename, code.co_firstlineno, code.co_qualname)


def _slot(recording: Recording, leaf: Any, live: LiveContext | None) -> Any:
    slot = slot_of(recording, leaf)
    if live is not None and slot is not None:
        live.check(recording, slot, leaf)
    return leaf if slot is None else Slot(slot)


def _notes(recording: Recording) -> dict[int, tuple[str, int]]:
    notes: dict[int, tuple[str, int]] = {}
    marks = [*recording.notes, (len(recording.entries), "", 0)]
    for (start, words, about), (stop, _, _) in itertools.pairwise(marks):
        if words:
            places = range(start, stop if words in ("pullback of", "passed through") else min(start + 1, stop))
            for place in places:
                if recording.entries[place] is not None and recording.entries[place][0].kind != "input":  # type: ignore[index]
                    notes[place] = (words, about)
    return notes
