"""From a recording to a tape: `trace`, and the tapes of derivatives."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from wengert.api.derivative_products import hvp
from wengert.api.gradient import grad, pulled
from wengert.api.tangents import jvp
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.errors import WengertError
from wengert.hooks.tracer import enter_arguments, level, run
from wengert.mutation.residuals import materialise
from wengert.recording.decisions import kinds_stay
from wengert.recording.layout import kept_apart, views_or_copies
from wengert.recording.recording import PUSHED, STATE, Recording, calling
from wengert.recording.session import SESSION, active_recording
from wengert.recording.slots import slot_of
from wengert.tape.arguments import arguments_of, rows_of
from wengert.tape.contexts import Context
from wengert.tape.entries import Slot
from wengert.tape.live import LiveContext
from wengert.tape.tape import Tape
from wengert.values.argnums import refuse_swallowed
from wengert.values.callables import path_in
from wengert.values.names import is_name
from wengert.values.settings import SETTINGS, accumulation
from wengert.values.sites import Site
from wengert.values.specs import is_complex
from wengert.values.trees import rebuild

R = TypeVar("R")


def trace(f: Callable[..., R], *args: Any, ctx: Context | None = None, **kwargs: Any) -> tuple[R, Tape]:
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

    before = {**vars(SETTINGS)}
    try:
        with accumulation(strategy=strategy):
            return _traced(gradient, args, kwargs, None, f)[1]
    finally:
        vars(SETTINGS).update(before)
        SESSION.tidy()


def jvptape(f: Callable[..., Any], primals: Any, tangents: Any) -> Tape:
    """The tape of `jvp(f, primals, tangents)`: all primitives of `f` and of its pushforwards.

    It takes `primals` and `tangents` as `jvp` does, and its result is `(y, ẏ)`.

    >>> wg.jvptape(lambda x: x * x + 1, (3.0,), (1.0,)).play((4.0,), (10.0,))
    (17.0, 80.0)

    Errors: those of `jvp`, and WengertError inside another trace.
    """
    return _along(f, jvp, primals, tangents)


def hvptape(f: Callable[..., Any], primals: Any, tangents: Any) -> Tape:
    """The tape of `hvp(f, primals, tangents)`, the product of the Hessian of `f` with a direction.

    It takes `primals` and `tangents` as `hvp` does, in tuples or bare, and gives what `hvp` gives.

    >>> wg.hvptape(lambda x: np.sum(x**3), np.ones(2), np.ones(2)).play(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])

    Errors: those of `hvp`, and WengertError inside another trace.
    """
    return _along(f, hvp, primals, tangents)


def _along(f: Callable[..., Any], derivative: Callable[..., Any], primals: Any, tangents: Any) -> Tape:
    """The tape of a derivative of f along tangents; the inputs are named after f's parameters."""

    def along(primals: Any, tangents: Any) -> Any:
        return derivative(f, primals, tangents)

    along.__name__ = f"{derivative.__name__} of {getattr(f, '__name__', type(f).__name__)}"
    tape = tape_of(along, (primals, tangents), along)
    for v in tape.inputs:
        op: Any = tape[v]
        op.name = op.name and _name_along(f, op.name)
    return tape


def _name_along(f: Callable[..., Any], path: str) -> str:
    """The name of a primal, `x['w']`, or of its tangent, `x_dot['w']`, for its path among the primals and tangents."""
    found = re.fullmatch(r"(primals|tangents)(?:\[(\d+)\])?(.*)", path)
    if found is None:
        return path
    tangent = "_dot" if found[1] == "tangents" else ""
    head = path_in(f, f"argument {int(found[2] or 0) + 1}")
    return f"{head}{tangent}{found[3]}" if is_name(head) else f"x{int(found[2] or 0) + 1}{tangent}{found[3]}"


def tape_of(f: Callable[..., Any], args: tuple[Any, ...], named: Callable[..., Any]) -> Tape:
    """The tape of a call of f, whose name and parameters are those of `named`."""
    try:
        return _traced(f, args, {}, None, named)[1]
    finally:
        SESSION.tidy()


def _pulled(f: Callable[..., Any], wanted: int, values: list[Any], seeds: list[Any]) -> Tape:
    """The tape of `_back`; its inputs are the `values` and the `seeds`."""

    def back(values: Any, seeds: Any) -> Any:
        return _back(f, wanted, values, seeds)

    return tape_of(back, (values, seeds), back)


def _back(f: Callable[..., Any], wanted: int, values: list[Any], seeds: list[Any]) -> Any:
    """Return (y, others, the `wanted` first cotangents) of a function that returns (y, others).

    It is taken at the `values`; the `seeds` are in ȳ's place. They and the cotangents are as `reverse` has them: of
    complex numbers the conjugates of what a pullback takes and gives.
    """
    outputs, pullback, others = pulled(f, tuple(values), {}, tuple(range(wanted)), True, quiet=True)
    return outputs, others, _conjugates(pullback(_conjugates(seeds)))


def _conjugates(cotangents: Iterable[Any]) -> tuple[Any, ...]:
    call = calling(active_recording())
    return tuple([call(np.conj, cotangent) if is_complex(cotangent) else cotangent for cotangent in cotangents])


Reverse.taped, Reverse.eager = staticmethod(_pulled), staticmethod(_back)


def _traced(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ctx: Context | None,
    named: Callable[..., Any],
) -> tuple[Any, Tape]:
    """Run and record f, whose name and arguments are those of `named`; returns the value and the tape."""
    if active_recording() is not None:
        raise WengertError("a tape cannot be made inside another trace; make it outside")
    live = None if ctx is None else LiveContext(ctx, named)
    with level(True, live) as (recording, here):
        if live is not None:
            live.watch(recording)
        wanted, told = [*range(len(args)), *kwargs], rows_of(args, kwargs)
        swaps, f, entered, keywords = enter_arguments(recording, here, f, args, kwargs, wanted, promote=False)
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
            is_step = words in ("pullback of", "passed through", PUSHED)
            places = range(start, stop if is_step else min(start + 1, stop))
            for place in places:
                if recording.entries[place] is not None and recording.entries[place][0].kind != "input":  # type: ignore[index]
                    notes[place] = (words, about)
    return notes
