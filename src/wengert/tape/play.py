"""Play: run a tape again on other inputs, and check that the function would take the same branches on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import StaleTapeError
from wengert.recording.recording import STATE
from wengert.tape.debugging import PlayPrinter, add_tape_note
from wengert.tape.dump import line, value_text
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Call, Variable, substituted
from wengert.tape.schedules import schedule
from wengert.values.stores import written

ENTERED = "It makes the calls of a tape; a tape that is played in traced code is a part of that code."


def play(tape: AnyTape, *args: Any, debug: bool = False, **kwargs: Any) -> Any:
    """Run `tape` on these arguments, or on the stored inputs if there are none, and return its result's value.

    Pass the arguments of the traced function, or the tape's inputs one by one: floats and arrays, in order. With
    `debug`, each op is printed as it runs, with its value, and marked if its type is not the recorded one or if a nan
    or inf appears.
    Errors: StaleTapeError if an input's type, shape or dtype, an argument without derivative, or a guard's result is
    not as recorded; any error that a call raises, with a note of the tape's line and the user's.
    """
    ops, given, in_place, dead, result = schedule(tape, args, kwargs)
    watch = PlayPrinter() if debug else None
    values: list[Any] = [None] * (len(ops) + 1)

    def value_at(v: Variable) -> Any:
        return values[v.id]

    for position, op in enumerate(ops, 1):
        if isinstance(op, Call):
            values[position] = run_call(op, value_at, in_place[position])
        else:
            values[position] = given.get(position, op.val)
        if watch is not None:
            watch.show(op, values[position])
        for k in dead[position]:
            values[k] = None
    return values[result]


def run_call(op: Call, value_at: Any, in_place: bool = False) -> Any:
    """Run one op again, and return its value; `value_at(v)` is the value of a Variable v.

    With `in_place`, a store may write into its array. Errors: StaleTapeError if a guard's result is not as recorded.
    """
    if STATE.recording is not None:
        STATE.site = op.site or STATE.site
    fn, args, kwargs = substituted(op, value_at)
    try:
        if in_place and type(args[0]) is np.ndarray and args[0].flags.writeable:
            return written(fn, *args, **kwargs)
        value = like_recorded(op, fn(*args, **kwargs))
    except Exception as error:
        add_tape_note(error, op)
        raise
    if op.guard and not same_outcome(value, op.val):
        raise StaleTapeError(_stale(op, value))
    return value


def like_recorded(op: Call, value: Any) -> Any:
    """Return a value as an array if the op's recorded one was: a call returns a scalar for a zero-dimensional array."""
    return np.asarray(value) if isinstance(value, np.generic) and isinstance(op.val, np.ndarray) else value


def same_outcome(value: Any, recorded: Any) -> bool:
    """Whether a guard's result is as recorded: equal, and of the same type; NumPy's bools count as Python's."""
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
