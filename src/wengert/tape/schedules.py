"""Preparation for running a tape: check its inputs, and find the last reader of each value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import StaleTapeError
from wengert.tape.arguments import bind_inputs
from wengert.tape.dump import type_text
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import liveness, values_to_free
from wengert.tape.loops import asks_for_strides, strides_of_longer_axes
from wengert.tape.ops import MISSING, Input, Op


class Schedule(NamedTuple):
    """The schedule of a tape's run: its ops, inputs by position, and the result's position.

    `in_place[k]` tells whether op k is a store that may write in place: a list, since a trace of a play asks it at each
    op. `dead[k]` are the positions of the values that no op reads after the k-th.
    """

    ops: list[Op]
    given: dict[int, Any]
    in_place: list[bool]
    dead: list[list[int]]
    result: int


def schedule(tape: AnyTape, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Schedule:
    """Make the Schedule that runs a tape on its function's arguments, or on its inputs.

    Errors: StaleTapeError if an input's type, shape or dtype, or an argument without derivative, is not as recorded.
    """
    ops = list(tape)
    inputs = bind_inputs(tape.arguments, ops, args, kwargs or {}) if args or kwargs else ()
    live = liveness(ops, tape.result)
    in_place = [position in live.in_place for position in range(len(ops) + 1)]
    return Schedule(ops, _checked_inputs(ops, inputs), in_place, values_to_free(live, ops), tape.result.id)


def _checked_inputs(ops: list[Op], inputs: tuple[Any, ...]) -> dict[int, Any]:
    """Return the inputs' values by position, after checking them against the recorded ones."""
    input_ops = [op for op in ops if isinstance(op, Input) and not op.callee]
    if not inputs and input_ops:
        return {}
    if len(inputs) != len(input_ops):
        raise StaleTapeError(f"the tape has {len(input_ops)} inputs, but {len(inputs)} values were given")
    strided = asks_for_strides(ops)
    for op, value in zip(input_ops, inputs, strict=True):
        misfit = _input_mismatch(value, op.val, strided)
        if misfit:
            raise StaleTapeError(
                f"input %{op.id}{f' ({op.name})' if op.name else ''} was {misfit}\n"
                "  fix: trace the function again on these inputs"
            )
    return {op.id: value for op, value in zip(input_ops, inputs, strict=True)}


def _input_mismatch(value: Any, recorded: Any, strided: bool) -> str | None:
    """Describe how an input differs from the recorded one; None if it fits."""
    if recorded is MISSING:
        return None
    if type(value) is not type(recorded) or type_text(value) != type_text(recorded):
        return f"{type_text(recorded)} when recorded, now it is {_qualified_type(value, recorded)}"
    is_array = strided and isinstance(value, np.ndarray)
    if is_array and strides_of_longer_axes(value) != strides_of_longer_axes(recorded):
        return f"of strides {recorded.strides} (the tape reads it by strides) when recorded, now of {value.strides}"
    return None


def _qualified_type(value: Any, recorded: Any) -> str:
    if type_text(value) != type_text(recorded):
        return type_text(value)
    return f"{type(value).__module__}.{type(value).__qualname__}"
