"""From a recording to a tape: `trace` and `gradtape`."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.entries import Slot, argument, push_result
from wengert.errors import WengertError
from wengert.gradient import grad
from wengert.ops import Input
from wengert.record import fresh_unless, register, slot_of, slots_in
from wengert.recording import STATE, Primitive, Recording
from wengert.registry import rules
from wengert.reverse import materialise
from wengert.structures import rebuild
from wengert.tape import Context, Tape
from wengert.tracer import enter, level, run
from wengert.values import is_inexact


def trace(f: Callable[..., Any], *args: Any, ctx: Context | None = None, **kwargs: Any) -> tuple[Any, Tape]:
    """Run `f` once on these arguments and record it: `(value, tape)`.

    The tape holds the calls of primitives that depend on a float or array among the arguments. `ctx` decides what is a
    primitive and how a call of one is recorded. Errors: NoRuleError, RefusedCallError.
    """
    return _traced(f, args, kwargs, ctx, f)


def gradtape(f: Callable[..., Any], *args: Any, argnums: Any = None, **kwargs: Any) -> Tape:
    """The tape of the gradient: all primitives of `f` and of its pullbacks; the result is `(value, (f̄, x̄, …))`.

    `gradtape(f, x).to_source()` is the derivative as plain NumPy. Errors: as `grad`.
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = grad(f, *args, argnums=argnums, **kwargs)
        return value, tuple(gradients)

    return _traced(gradient, args, kwargs, None, f)[1]


def _traced(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ctx: Context | None,
    named: Callable[..., Any],
) -> tuple[Any, Tape]:
    if STATE.recording is not None:
        raise WengertError("trace and gradtape cannot run inside another trace; call them outside")
    live = None if ctx is None else LiveContext(ctx, named)
    with level(True, live) as (recording, here):
        wanted = [*range(len(args)), *kwargs]
        swaps, f, entered, keywords = enter(recording, here, f, args, kwargs, wanted, promote=False)
        names = _names(named, args, swaps.paths)
        if live is not None:
            live.names = iter(names)
        try:
            result = run(f, entered, keywords, recording)
        finally:
            swaps.restore()
        slots = rebuild(result, lambda leaf, path: _slot(recording, leaf))
        materialise(recording, 0, len(recording.entries), written_only=True, constants_only=True)
        if live is not None:
            tape = live.finish(recording, slots)
        else:
            tape = Tape.from_entries(recording.entries, slots, names, named, notes=_notes(recording))
        return swaps.leave(result), tape


def _slot(recording: Recording, leaf: Any) -> Any:
    slot = slot_of(recording, leaf)
    return leaf if slot is None else Slot(slot)


def _names(f: Any, args: tuple[Any, ...], paths: list[tuple[str, Any]]) -> list[str]:
    try:
        parameters = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        parameters = []
    words = {f"argument {k + 1}": name for k, name in enumerate(parameters[: len(args)])}
    names = []
    for path, _ in paths:
        head = next((old for old in sorted(words, key=len, reverse=True) if path.startswith(old)), None)
        names.append(path if head is None else words[head] + path[len(head) :])
    return names


def _notes(recording: Recording) -> dict[int, tuple[str, int]]:
    notes: dict[int, tuple[str, int]] = {}
    marks = [*recording.notes, (len(recording.entries), "", 0)]
    for (start, words, about), (stop, _, _) in itertools.pairwise(marks):
        if words:
            places = range(start, stop if words == "pullback of" else min(start + 1, stop))
            for place in places:
                if recording.entries[place] is not None and recording.entries[place][0].kind != "input":  # type: ignore[index]
                    notes[place] = (words, about)
    return notes


class LiveContext:
    """A user's Context at work while the function runs: each call of a primitive goes through it onto the tape."""

    def __init__(self, context: Context, f: Any) -> None:
        self.user = context
        self.tape = Tape(context)
        self.variables: dict[int, Any] = {}
        self.seen = 0
        self.names: Iterator[str] = iter(())
        self.tape.push(Input(f, getattr(f, "__name__", type(f).__name__), callee=True))

    def choose(
        self, recording: Recording, f: Any, plain: Callable[[], Any], enter: Callable[[], Any]
    ) -> Callable[..., Any]:
        """A callable that asks the context at each call: record it, or enter it."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.user.is_primitive(f, *args):
                return enter()(*args, **kwargs)
            ins = tuple(slots_in(recording, a) if type(a) in (list, tuple) else slot_of(recording, a) for a in args)
            if rules.get(f) is not None or all(slot is None for slot in ins):
                return plain()(*args, **kwargs)
            return self.call(recording, Primitive(f, None), args, ins, kwargs)

        return call

    def call(
        self,
        recording: Recording,
        primitive: Primitive,
        args: tuple[Any, ...],
        ins: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Let the context record a call; the value that it computed."""
        self.sync(recording)
        self.tape.site = STATE.site
        given = [argument(a, s, self.variables) for a, s in zip(args, ins, strict=True)]
        v = self.user.record_primitive(self.tape, primitive.fn, *given, **kwargs)
        value = fresh_unless(self.tape[v].val, args)
        slot = recording.append((primitive, value, ins, args, kwargs or None, STATE.site))
        self.variables[slot] = v
        if is_inexact(value) or isinstance(value, (np.ndarray, np.number)):
            register(recording, value, slot, True)
        return value

    def sync(self, recording: Recording) -> None:
        """Bring onto the tape what was recorded without asking: inputs and stores."""
        for index in range(self.seen, len(recording.entries)):
            entry = recording.entries[index]
            if index not in self.variables and entry is not None:
                name = next(self.names, None) if entry[0].kind == "input" else None
                self.variables[index] = self.tape.push_entry(entry, self.variables, name)
        self.seen = len(recording.entries)

    def finish(self, recording: Recording, result: Any) -> Tape:
        """The tape, with its result."""
        self.sync(recording)
        self.tape.site = None
        self.tape.result = push_result(self.tape, result, self.variables)
        return self.tape
