"""Play: run a tape again on other inputs, and check that the function would have run the same way on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import StaleTapeError
from wengert.recording.recording import STATE
from wengert.tape.debugging import Watch, note
from wengert.tape.dump import line, value_text
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Call, Variable, with_variables
from wengert.tape.schedules import schedule
from wengert.values.stores import written

ENTERED = "It makes the calls of a tape; a tape that is played in traced code is a part of that."


def play(tape: AnyTape, *args: Any, debug: bool = False, **words: Any) -> Any:
    """Run `tape` on these arguments, or without any on the stored inputs, and return the value of its result.

    It takes what the traced function took, or its inputs one by one: the numbers and arrays, in order. With `debug`,
    each op is printed as it runs, with its value, and marked where its type is not as recorded or where a nan or inf
    comes up.
    Errors: StaleTapeError where an input's type, shape or dtype, an argument without derivative or a test's outcome is
    not as recorded; what a call raises, with a note of the tape's line and the user's.
    """
    ops, given, in_place, dead, result = schedule(tape, args, words)
    watch = Watch() if debug else None
    values: list[Any] = [None] * (len(ops) + 1)

    def value_at(v: Variable) -> Any:
        return values[v.id]

    for position, op in enumerate(ops, 1):
        if isinstance(op, Call):
            values[position] = run_call(op, value_at, position in in_place)
        else:
            values[position] = given.get(position, op.val)
        if watch is not None:
            watch.show(op, values[position])
        for k in dead[position]:
            values[k] = None
    return values[result]


def run_call(op: Call, value_at: Any, in_place: bool = False) -> Any:
    """Run one op again, `value_at(v)` being the value of its Variable v; a guard must come out as recorded.

    With `in_place`, the array that a store changes may be written itself.
    """
    if STATE.recording is not None:
        STATE.site = op.site or STATE.site
    fn = value_at(op.fn) if isinstance(op.fn, Variable) else op.fn
    args, kwargs = with_variables(op.args, value_at), with_variables(op.kwargs, value_at)
    try:
        if in_place and type(args[0]) is np.ndarray and args[0].flags.writeable:
            return written(fn, *args, **kwargs)
        value = like_recorded(op, fn(*args, **kwargs))
    except Exception as error:
        note(error, op)
        raise
    if op.guard and not same_outcome(value, op.val):
        raise StaleTapeError(_stale(op, value))
    return value


def like_recorded(op: Call, value: Any) -> Any:
    """The value of an op as recorded: where an array of no dimension was changed in place, a call gives a number."""
    return np.asarray(value) if isinstance(value, np.generic) and isinstance(op.val, np.ndarray) else value


def same_outcome(value: Any, recorded: Any) -> bool:
    """Whether a test came out as recorded: equal, and of the same type; NumPy's bools count as Python's."""
    if isinstance(recorded, bool | np.bool_):
        return isinstance(value, bool | np.bool_) and bool(value) == bool(recorded)
    if isinstance(recorded, np.ndarray):
        return isinstance(value, np.ndarray) and value.dtype == recorded.dtype and np.array_equal(value, recorded)
    return value is recorded or (type(value) is type(recorded) and bool(value == recorded))


def _stale(op: Call, value: Any) -> str:
    where = f"{op.site}: " if op.site else ""
    return (
        f"{where}recorded with `{line(op)}`, now it is {value_text(value)}: the function would run differently\n"
        "  fix: trace it again on these inputs"
    )
