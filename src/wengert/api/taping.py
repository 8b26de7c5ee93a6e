"""`trace`: from a recording to a tape; and the tapes of derivatives."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wengert.api.derivative_products import hvp
from wengert.api.gradient import conjugates, grad, vjp_of_call
from wengert.api.tangents import jvp
from wengert.errors import WengertError
from wengert.hooks.tracer import enter_arguments, open_level, run
from wengert.mutation.residuals import materialise
from wengert.recording.decisions import kinds_stay
from wengert.recording.layout import kept_apart, views_or_copies
from wengert.recording.recording import PUSHED, STATE, Recording, calling
from wengert.recording.session import active_recording, tidying
from wengert.recording.slots import slot_of
from wengert.tape.arguments import arguments_of, rows_of
from wengert.tape.contexts import Context
from wengert.tape.debugging import add_tape_note
from wengert.tape.entries import Slot
from wengert.tape.live import LiveContext
from wengert.tape.ops import Call, substituted
from wengert.tape.play import run_call
from wengert.tape.schedules import schedule
from wengert.tape.tape import Tape
from wengert.values.argnums import refuse_swallowed
from wengert.values.callables import path_in
from wengert.values.names import is_name
from wengert.values.settings import SETTINGS, accumulation_options
from wengert.values.sites import Site
from wengert.values.trees import rebuild

R = TypeVar("R")


def trace(f: Callable[..., R], *args: Any, ctx: Context | None = None, **kwargs: Any) -> tuple[R, Tape]:
    """Run `f(*args, **kwargs)` once and record it: return `(value, tape)`.

    The inputs of the tape are the floats and arrays among the arguments, also those in containers, one by one. It holds
    the calls of primitives that depend on these; everything else is constant. Played on other inputs it returns f's
    result for them, or raises StaleTapeError if f would have taken other branches.

    Parameters:
        f (callable): The function.
        *args (Any): Its positional arguments.
        ctx (Context | None): An object that decides which functions are primitives and how their calls are recorded; by
            default a primitive is a function with a rule.
        **kwargs (Any): Its keyword arguments.
    Returns:
        tuple[Any, Tape]: The value of the call, and the tape.
    Raises:
        NoRuleError: A call without a rule receives a traced value.
        RefusedCallError: The code cannot be traced.
        WengertError: The call is inside another trace.
    See Also:
        gradtape, show, Tape, Context

    Examples:
        >>> value, tape = wg.trace(lambda x: x * x + 1, 3.0)
        >>> value, tape.play(4.0)
        (10.0, 17.0)
    """
    refuse_swallowed(f, kwargs, "trace")
    return _trace_to_tape(f, args, kwargs, ctx, f)


def gradtape(
    f: Callable[..., Any], *args: Any, argnums: Any = None, strategy: str | None = None, **kwargs: Any
) -> Tape:
    """Return the tape of `grad(f, *args, **kwargs)`: all primitives of `f` and of its pullbacks.

    Its inputs are those of `trace`, and its result is `(value, (f̄, x̄, …))`: f̄ is the gradient of the arrays that f
    itself holds, or None. `gradtape(f, x).to_source()` is the derivative as plain NumPy.

    Parameters:
        f (callable): The function; it returns one number.
        *args (Any): Its positional arguments.
        argnums (int | str | tuple | None): The arguments to differentiate, as in `grad(f, x)`; by default all.
        strategy (str | None): How to sum cotangents, as in `accumulation_options`.
        **kwargs (Any): Its keyword arguments.
    Returns:
        Tape: The tape of the value and the gradients.
    Raises:
        WengertError: The call is inside another trace; else the errors of `grad`.
    See Also:
        grad, trace, jvptape, hvptape, show

    Examples:
        >>> wg.gradtape(lambda x: x * x + 1, 3.0).play(4.0)
        (17.0, (None, 8.0))
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = grad(f, *args, argnums=argnums, **kwargs)
        return value, tuple(gradients)

    before = {**vars(SETTINGS)}
    try:
        with accumulation_options(strategy=strategy):
            return _trace_to_tape(gradient, args, kwargs, None, f)[1]
    finally:
        vars(SETTINGS).update(before)  # also if an interrupt hits as the context begins or ends


def jvptape(f: Callable[..., Any], primals: Any, tangents: Any) -> Tape:
    """Return the tape of `jvp(f, primals, tangents)`: all primitives of `f` and of its pushforwards.

    Its result is `(y, ẏ)`.

    Parameters:
        f (callable): The function.
        primals (tuple): Its arguments, as for `jvp`.
        tangents (tuple): A direction for each argument, as for `jvp`.
    Returns:
        Tape: The tape, whose inputs are the primals and the tangents.
    Raises:
        WengertError: The call is inside another trace; else the errors of `jvp`.
    See Also:
        jvp, gradtape, hvptape

    Examples:
        >>> wg.jvptape(lambda x: x * x + 1, (3.0,), (1.0,)).play((4.0,), (10.0,))
        (17.0, 80.0)
    """
    return _directional_tape(f, jvp, primals, tangents)


def hvptape(f: Callable[..., Any], primals: Any, tangents: Any) -> Tape:
    """Return the tape of `hvp(f, primals, tangents)`, the product of the Hessian of `f` with a direction.

    Its result is that of `hvp`.

    Parameters:
        f (callable): The function; it returns one number.
        primals (Any): Its arguments in a tuple, or its only argument, as for `hvp`.
        tangents (Any): A direction for each argument, as for `hvp`.
    Returns:
        Tape: The tape, whose inputs are the primals and the tangents.
    Raises:
        WengertError: The call is inside another trace; else the errors of `hvp`.
    See Also:
        hvp, gradtape, jvptape

    Examples:
        >>> wg.hvptape(lambda x: np.sum(x**3), np.ones(2), np.ones(2)).play(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        array([  6., 120.])
    """
    return _directional_tape(f, hvp, primals, tangents)


def _directional_tape(f: Callable[..., Any], derivative: Callable[..., Any], primals: Any, tangents: Any) -> Tape:
    """Return the tape of a derivative of f along tangents; the inputs are named after f's parameters."""

    def directional(primals: Any, tangents: Any) -> Any:
        return derivative(f, primals, tangents)

    directional.__name__ = f"{derivative.__name__} of {getattr(f, '__name__', type(f).__name__)}"
    tape = tape_of(directional, (primals, tangents), directional)
    for v in tape.inputs:
        op: Any = tape[v]
        op.name = op.name and _directional_input_name(f, op.name)
    return tape


def _directional_input_name(f: Callable[..., Any], path: str) -> str:
    """Return the name of a primal, `x['w']`, or of its tangent, `x_dot['w']`, for its path in primals or tangents."""
    found = re.fullmatch(r"(primals|tangents)(?:\[(\d+)\])?(.*)", path)
    if found is None:
        return path
    tangent = "_dot" if found[1] == "tangents" else ""
    head = path_in(f, f"argument {int(found[2] or 0) + 1}")
    return f"{head}{tangent}{found[3]}" if is_name(head) else f"x{int(found[2] or 0) + 1}{tangent}{found[3]}"


def tape_of(f: Callable[..., Any], args: tuple[Any, ...], named: Callable[..., Any], batched: bool = False) -> Tape:
    """Return the tape of a call of f, with the name and parameters of `named`; `batched` is that of `Recording`."""
    return _trace_to_tape(f, args, {}, None, named, batched)[1]


def pullback_tape(tape: Tape, wanted: int, values: list[Any], seeds: list[Any], batched: bool = False) -> Tape:
    """Return the tape of `_eager_pullback` of the function of a tape; its inputs are the `values` and the `seeds`.

    With `batched`, it is right for other values, too: where a pullback compares numbers, the tape does.
    """

    def back(values: Any, seeds: Any) -> Any:
        return _eager_pullback(lambda *given: _replay(tape, given), wanted, values, seeds)

    return tape_of(back, (values, seeds), back, batched)


def _replay(tape: Tape, given: tuple[Any, ...]) -> Any:
    """Play a tape inside a trace: record its calls as they are, but enter `run_call` for guards and stores."""
    ops, inputs, in_place, dead, result = schedule(tape, given)
    recording = active_recording()
    assert recording is not None
    recording.roots = None  # what a tape holds are constants of the user's code, no cached results
    call, values = calling(recording), [None] * (len(ops) + 1)

    def value_at(v: Any) -> Any:
        return values[v.id]

    for position, op in enumerate(ops, 1):
        if not isinstance(op, Call):
            values[position] = inputs.get(position, op.val)
        elif op.guard or in_place[position] or (isinstance(op.val, np.ndarray) and not op.val.ndim):
            values[position] = call(run_call, op, value_at, in_place[position])
        else:
            STATE.site = op.site or STATE.site
            fn, args, kwargs = substituted(op, value_at)
            try:
                values[position] = call(fn, *args, **kwargs)
            except Exception as error:
                add_tape_note(error, op)
                raise
        for k in dead[position]:
            values[k] = None
    return values[result]


def _eager_pullback(f: Callable[..., Any], wanted: int, values: list[Any], seeds: list[Any]) -> Any:
    """Return (y, others, the `wanted` first cotangents), at the `values`, of a function that returns (y, others).

    Seeds and cotangents are as in `reverse`: for complex numbers the conjugates of a pullback's.
    """
    outputs, pullback, others = vjp_of_call(f, tuple(values), {}, tuple(range(wanted)), True, quiet=True)
    return outputs, others, conjugates(pullback(conjugates(seeds)))


@tidying
def _trace_to_tape(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ctx: Context | None,
    named: Callable[..., Any],
    batched: bool = False,
) -> tuple[Any, Tape]:
    """Run and record f; return the value and the tape, with the name and parameters of `named`."""
    if active_recording() is not None:
        raise WengertError("a tape cannot be made inside another trace; make it outside")
    live = None if ctx is None else LiveContext(ctx, named)
    with open_level(keep=True, context=live) as (recording, here):
        recording.batched = batched
        if live is not None:
            live.watch(recording)
        wanted, rows = [*range(len(args)), *kwargs], rows_of(args, kwargs)
        swaps, f, entered, keywords = enter_arguments(recording, here, f, args, kwargs, wanted, promote=False)
        names = [path_in(named, path) for path, _ in swaps.paths]
        if live is not None:
            live.names = iter(names)
        try:
            result = run(f, entered, keywords, recording)
            slots = rebuild(result, lambda leaf, path: _result_slot(recording, leaf, live))
        finally:
            swaps.restore()
        STATE.site = _definition_site(named)
        kept_apart(recording)
        views_or_copies(recording)
        kinds_stay(recording)
        materialise(recording, 0, len(recording.entries), written_only=True, constants_only=True)
        if live is not None:
            tape = live.finish(recording, slots)
        else:
            tape = Tape.from_entries(recording.entries, slots, names, named, notes=_notes_by_slot(recording))
        tape.arguments = arguments_of(named, rows, [path for path, _ in swaps.paths], tape)
        return swaps.leave(result), tape


def _definition_site(f: Any) -> Site | None:
    """Return the line where a function begins, for guards of the whole function."""
    code = getattr(f, "__code__", None)
    return STATE.site if code is None else Site(code.co_filename, code.co_firstlineno, code.co_qualname)


def _result_slot(recording: Recording, leaf: Any, live: LiveContext | None) -> Any:
    is_copied = live is None and type(leaf) is np.ndarray
    slot = recording.memory.slot_of_result(leaf) if is_copied else slot_of(recording, leaf)
    if live is not None and slot is not None:
        live.check(recording, slot, leaf)
    return leaf if slot is None else Slot(slot)


def _notes_by_slot(recording: Recording) -> dict[int, tuple[str, int]]:
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
