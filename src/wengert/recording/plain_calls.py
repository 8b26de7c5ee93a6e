"""The path of recording for calls of library functions on plain arguments, off tapes: it asks no foreign kinds.

Plain are numbers, arrays of numbers, None, bools, tuples of integers, and lists of these where the rule takes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import NoRuleError
from wengert.recording.decisions import attempt
from wengert.recording.fresh_results import check_result, made_new
from wengert.recording.primitives import Bound, Primitive
from wengert.recording.recording import Recording
from wengert.recording.shadow import SHADOW
from wengert.recording.variables import append_result
from wengert.values.specs import FLOATS, NUMERIC, fresh
from wengert.values.trees import is_container

NOT_PLAIN: Any = object()
"""The result for a call that this path does not take: nothing has been done."""

_PLAIN_TYPES = NUMERIC - {np.ndarray} | {bool, np.bool_, type(None), np.int32}
_SEQUENCES = (list, tuple)


def is_plain_argument(a: Any) -> bool:
    """Whether an argument is a number, an array of numbers, a bool, None or a tuple of integers."""
    t = type(a)
    if t is np.ndarray:
        return a.dtype.kind in "fciub"
    return t in _PLAIN_TYPES or (t is tuple and _are_integers(a))


def _are_integers(parts: tuple[Any, ...]) -> bool:
    for part in parts:  # noqa: SIM110 (a generator would cost a call)
        if type(part) is not int:
            return False
    return True


def _are_static(keywords: dict[str, Any]) -> bool:
    """Whether the values of keywords are plain, untraced and no arrays."""
    for value in keywords.values():
        if type(value) is np.ndarray or id(value) in SHADOW or not is_plain_argument(value):
            return False
    return True


def record_plain_call(
    recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any], is_traced: bool = True
) -> Any:
    """Run and record a call of plain arguments as `record_call` does; return NOT_PLAIN for any other call.

    With `is_traced` False, a call without traced arguments is not taken.
    """
    rule = primitive.rule
    if recording.keep or recording.context is not None or recording.memory.holds_objects:
        return NOT_PLAIN
    if rule is None or not primitive.is_trusted or rule.kind not in ("partials", "pullback"):
        return NOT_PLAIN
    run_args, run_kwargs, k = args, kwargs, rule.sequence
    if kwargs and not _are_static(kwargs):
        return NOT_PLAIN
    if kwargs or (k is not None and len(args) > k + 1):
        try:
            args, kwargs = rule.normalise(args, kwargs)
        except NoRuleError:
            return NOT_PLAIN
        if not _are_static(kwargs):
            return NOT_PLAIN
    found = _slots_of_plain(recording, args, k, rule.identity)
    if found is None:
        return NOT_PLAIN
    ins, flat = found
    mask = recording.mask(flat) if recording.inert else tuple([slot is not None for slot in flat])
    if not any(mask):
        return primitive.fn(*run_args, **run_kwargs) if is_traced else NOT_PLAIN
    bound = _form_of_call(primitive, mask, kwargs)
    if bound is None or (k is None and any(mask[len(bound.positions) :])):
        return NOT_PLAIN
    value = attempt(recording, primitive.fn, run_args, run_kwargs)
    kind = type(value)
    if any([value is a for a in args]):
        if rule.identity:
            return value
        value = made_new([value], args, primitive)
    elif k is None and kind in FLOATS:
        value = value if primitive.returns_new else fresh(value)
    elif k is not None or kind is not np.ndarray or not (value.base is None or rule.view):
        if is_container(value):
            check_result(recording, primitive, value, args)
        value = made_new([value], args, primitive)
    return append_result(recording, bound, value, args, ins, kwargs or None)


def _slots_of_plain(
    recording: Recording, args: tuple[Any, ...], place: int | None = None, takes_array: bool = False
) -> tuple[tuple[Any, ...], list[int | None]] | None:
    """Return the slots of plain arguments, nested and one by one; None if one is not plain.

    At `place` is a sequence of arguments, or with `takes_array` an array.
    """
    slot_of, ins, flat = recording.memory.slot, list[Any](), list[int | None]()
    for k, a in enumerate(args):
        t = type(a)
        if t is np.ndarray:
            if a.dtype.kind not in "fciub" or (k == place and not takes_array):
                return None
            slot = slot_of(a)
        elif t in _PLAIN_TYPES:
            slot = SHADOW.get(id(a))
        elif k == place and t in _SEQUENCES:
            inner = _slots_of_plain(recording, a)
            if inner is None:
                return None
            flat += inner[1]
            ins.append(inner[0] if any([part is not None for part in inner[1]]) else None)
            continue
        elif t is tuple and is_plain_argument(a):
            slot = None
        else:
            return None
        ins.append(slot)
        flat.append(slot)
    return tuple(ins), flat


def _form_of_call(primitive: Primitive, mask: tuple[bool, ...], kwargs: dict[str, Any]) -> Bound | None:
    """Return the Bound of this form of call; None if the rule does not support it."""
    try:
        return primitive.bound(len(mask), mask, tuple(kwargs))
    except NoRuleError:
        return None
