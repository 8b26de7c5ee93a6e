"""Traced values given for arguments without derivative: a zero would be silently wrong, so they are refused."""

from __future__ import annotations

from typing import Any

from wengert.errors import NoRuleError
from wengert.recording.container_arguments import not_taken
from wengert.recording.primitives import Bound, Primitive
from wengert.recording.recording import Recording, users_line
from wengert.recording.slots import slots_of
from wengert.values.specs import is_inexact


def check_statics(recording: Recording, bound: Bound, args: tuple[Any, ...], ins: tuple[Any, ...]) -> None:
    """Refuse a traced float as an argument without derivative, or in a list, which the rule does not take."""
    sequence = bound.rule.sequence
    if sequence is None:
        for place, slot in enumerate(ins):
            if slot is None or (type(slot) is int and place in bound.positions):
                continue
            if _has_derivative(recording, args[place], slot):
                if place in bound.positions:
                    raise recording.refuse(not_taken(bound.rule, place, args[place]))
                raise _no_derivative(recording, bound, f"argument {place + 1}", slot)


def check_keywords(recording: Recording, primitive: Primitive, kwargs: dict[str, Any]) -> None:
    """Refuse a traced float as a keyword, which no rule differentiates once the call is normalised."""
    assert primitive.rule is not None
    if primitive.rule.kind == "constant":
        return
    for name, value in kwargs.items():
        slot = slots_of(recording, value)
        if slot is not None and _has_derivative(recording, value, slot):
            raise _no_derivative(recording, primitive, f"argument {name!r}", slot)


def _has_derivative(recording: Recording, value: Any, slot: Any) -> bool:
    if type(slot) is tuple:
        return any(s is not None and _has_derivative(recording, v, s) for s, v in zip(slot, value, strict=True))
    return is_inexact(value) and slot not in recording.inert


def _no_derivative(recording: Recording, bound: Bound | Primitive, what: str, slot: Any) -> NoRuleError:
    assert bound.rule is not None
    if recording.reads is not None:
        recording.reads.want_constants(slot)
    error = NoRuleError(
        f"{users_line()}: {what} of {bound.name} depends on an input, but its rule ({bound.rule.where}) has no "
        "derivative with respect to it. Pass wg.stop_gradient of it, or write a rule with @wg.rrule."
    )
    recording.refuse(error)
    return error
