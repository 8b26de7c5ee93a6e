"""Preparations to run a tape: checks of its inputs, and the last reader of each value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import StaleTapeError
from wengert.tape.arguments import inputs_given
from wengert.tape.dump import type_text
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import drops, liveness
from wengert.tape.loops import asks_for_strides
from wengert.tape.ops import MISSING, Input, Op


class Schedule(NamedTuple):
    """The schedule of a tape's run: its ops, inputs by position, in-place stores, and the result's position.

    `dead[k]` are the positions of the values that nobody reads after the k-th op.
    """

    ops: list[Op]
    given: dict[int, Any]
    in_place: frozenset[int]
    dead: list[list[int]]
    result: int


def schedule(tape: AnyTape, args: tuple[Any, ...], words: Mapping[str, Any] | None = None) -> Schedule:
    """Make the Schedule that runs a tape on its function's arguments, or on inputs.

    Errors: StaleTapeError where an input's type, shape or dtype is not as recorded, or another value.
    """
    ops = list(tape)
    inputs = inputs_given(tape.arguments, ops, args, words or {}) if args or words else ()
    live = liveness(ops, tape.result)
    return Schedule(ops, _bind(ops, inputs), live.in_place, drops(live, ops), tape.result.id)


def _bind(ops: list[Op], inputs: tuple[Any, ...]) -> dict[int, Any]:
    """The values of the inputs by position, checked against the recorded ones."""
    places = [op for op in ops if isinstance(op, Input) and not op.callee]
    if not inputs and places:
        return {}
    if len(inputs) != len(places):
        raise StaleTapeError(f"the tape has {len(places)} inputs, {len(inputs)} were given")
    strided = asks_for_strides(ops)
    for op, value in zip(places, inputs, strict=True):
        misfit = _misfit(value, op.val, strided)
        if misfit:
            raise StaleTapeError(
                f"input %{op.id}{f' ({op.name})' if op.name else ''} was {misfit}\n"
                "  fix: trace the function again on these inputs"
            )
    return {op.id: value for op, value in zip(places, inputs, strict=True)}


def _misfit(value: Any, recorded: Any, strided: bool) -> str | None:
    """Describe how an input differs from the recorded one; None if it fits."""
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
