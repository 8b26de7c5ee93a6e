"""Play: run a tape again on other inputs, and check that the function would have run the same way on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import functional
from wengert.dump import line, text, type_text
from wengert.errors import StaleTapeError
from wengert.liveness import drops, liveness
from wengert.ops import MISSING, Call, Input, Op, Variable, substitute

if TYPE_CHECKING:
    from wengert.tape import Tape

_WINDOWED = (functional.lens, functional.setlens, functional.addlens)


def play(tape: Tape, *inputs: Any) -> Any:
    """The tape's result for these inputs (the function is not one), or, given none, for the stored ones.

    Errors: StaleTapeError where an input's type, shape or dtype, or a test's outcome, is not as recorded.
    """
    ops = list(tape)
    given = _bind(ops, inputs)
    live = liveness(ops, tape.result)
    dead = drops(live, ops)
    values: list[Any] = [None] * (len(ops) + 1)

    def value_at(v: Variable) -> Any:
        return values[v.id]

    for position, op in enumerate(ops, 1):
        if isinstance(op, Call):
            values[position] = _run(op, value_at, position in live.in_place)
        else:
            values[position] = given.get(position, op.val)
        for k in dead[position]:
            values[k] = None
    return values[tape.result.id]


def _run(op: Call, value_at: Any, in_place: bool) -> Any:
    fn = value_at(op.fn) if isinstance(op.fn, Variable) else op.fn
    args, kwargs = substitute(op.args, value_at), substitute(op.kwargs, value_at)
    if in_place and type(args[0]) is np.ndarray and args[0].flags.writeable:
        return write(fn, *args, **kwargs)
    value = fn(*args, **kwargs)
    if isinstance(value, np.generic) and isinstance(op.val, np.ndarray):
        value = np.asarray(value)  # an array of no dimension, changed in place, stayed an array
    if op.guard and not same_outcome(value, op.val):
        raise StaleTapeError(_stale(op, value))
    return value


def write(store: Any, x: np.ndarray, *args: Any) -> np.ndarray:
    """What a functional store does, done in `x` itself."""
    if store is functional.setitem:
        key, value = args
        x[key] = value
        return x
    if store is functional.additem:
        key, value = args
        if functional._may_repeat(key):
            np.add.at(x, key, value)
        else:
            x[key] += value
        return x
    window = functional._window(x, *args[:3])
    if store is functional.addlens:
        if functional._overlaps(window):
            return functional.addlens(x, *args)
        window += args[3]
    else:
        window[...] = args[3]
    return x


def same_outcome(value: Any, recorded: Any) -> bool:
    """Whether a test came out as recorded: equal, and of the same type."""
    if isinstance(recorded, np.ndarray):
        return isinstance(value, np.ndarray) and value.dtype == recorded.dtype and np.array_equal(value, recorded)
    return value is recorded or (type(value) is type(recorded) and bool(value == recorded))


def _stale(op: Call, value: Any) -> str:
    where = f"{op.site}: " if op.site else ""
    return (
        f"{where}recorded with `{line(op)}`, now it is {text(value)}: the function would run differently\n"
        "  fix: trace it again on these inputs"
    )


def _bind(ops: list[Op], inputs: tuple[Any, ...]) -> dict[int, Any]:
    """The given inputs by position, checked."""
    places = [op for op in ops if isinstance(op, Input) and not op.callee]
    if not inputs and places:
        return {}
    if len(inputs) != len(places):
        raise StaleTapeError(f"the tape has {len(places)} inputs, {len(inputs)} were given")
    strided = any(isinstance(op, Call) and any(op.fn is fn for fn in _WINDOWED) for op in ops)
    for op, value in zip(places, inputs, strict=True):
        misfit = _misfit(value, op.val, strided)
        if misfit:
            raise StaleTapeError(
                f"input %{op.id}{f' ({op.name})' if op.name else ''} was {misfit}\n"
                "  fix: trace the function again on these inputs"
            )
    return {op.id: value for op, value in zip(places, inputs, strict=True)}


def _misfit(value: Any, recorded: Any, strided: bool) -> str | None:
    """What differs between an input and the recorded one, or None."""
    if recorded is MISSING:
        return None
    if type(value) is not type(recorded) or type_text(value) != type_text(recorded):
        return f"{type_text(recorded)} when recorded, now it is {_fully(value, recorded)}"
    if strided and isinstance(value, np.ndarray) and value.strides != recorded.strides:
        return f"of strides {recorded.strides} (the tape has windows on it), now {value.strides}"
    return None


def _fully(value: Any, recorded: Any) -> str:
    if type_text(value) != type_text(recorded):
        return type_text(value)
    return f"{type(value).__module__}.{type(value).__qualname__}"
