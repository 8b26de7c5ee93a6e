"""Programs of functions that a solver calls, with an input for each value that they read from an open trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.batching.example import Program
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.errors import NotNativeError
from wengert.hooks.classes import as_traced
from wengert.hooks.reachable_state import State
from wengert.recording.session import active_recording
from wengert.tape.ops import Call, Constant, Input, with_variables
from wengert.tape.tape import Tape
from wengert.values.specs import is_inexact


def result_without_effects(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `f(*args, **kwargs)`, so that the open trace knows what f reads from outside.

    Errors: NotNativeError if f changes something outside, or raises an error.
    """
    watching, before = active_recording(), State((f, args, kwargs))
    reads: Any = None if watching is None else watching.reads
    effects = reads and reads.effects.count
    try:
        result = as_traced(f)(*args, **kwargs)
    except Exception as error:
        before.is_put_back(are_equal)
        is_refused = watching is not None and error in watching.refusals
        if is_refused or isinstance(error, NotNativeError):
            raise
        raise NotNativeError(f"the function that it calls raises {type(error).__name__}") from None
    if before.is_put_back(are_equal) or (reads and reads.effects.count != effects):
        raise NotNativeError("the function that it calls changes something outside")
    return result


def are_equal(now: Any, was: Any) -> bool:
    """Whether values are the same, or equal: a trace replaces numbers and containers that it reads."""
    if now is was:
        return True
    if type(now) is not type(was):
        return False
    if isinstance(now, tuple | list):
        return len(now) == len(was) and all(map(are_equal, now, was))
    if isinstance(now, dict):
        return [*now] == [*was] and all(map(are_equal, now.values(), was.values()))
    is_value = isinstance(now, float | complex | np.generic | np.ndarray | int | str)
    return is_value and np.array_equal(now, was, equal_nan=is_inexact(now))


def with_outer_inputs(program: Program, outer: dict[int, Any]) -> tuple[Tape, Any]:
    """Return the tape of a program with an input for each value from outside, by its slot, and the result's variables.

    The tape has no result yet.
    """
    new = TapeRewriter(program.tape)
    for op in program.tape:
        if isinstance(op, Input):
            new.push(op)
    inputs = {slot: new.new.push(Input(value)) for slot, value in outer.items()}
    new.table.update({op: inputs[slot] for op, slot in program.outer_slots.items()})
    for op in program.tape:
        if not isinstance(op, Input) and op not in program.outer_slots and op is not program.tape.result.op:
            new.push(op)
            _copy_arrays(new.table[op].op)
    return new.new, with_variables(program.result, new.value)


def _copy_arrays(op: Any) -> None:
    """Copy the arrays in an op, into which users may write later."""
    if isinstance(op, Constant) and isinstance(op.val, np.ndarray):
        op.val = op.val.copy("K")
    elif isinstance(op, Call):
        op.args = with_variables(op.args, np.copy, np.ndarray)
        op.kwargs = with_variables(op.kwargs, np.copy, np.ndarray)
