"""From the recording's entries to the tape's calls, and from a nested result to the calls that build it."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wengert.recording.record import Pull
from wengert.recording.recording import Traced
from wengert.tape.interface import Writable
from wengert.tape.ops import Call, Constant, Variable, mkcall, rebuild
from wengert.values import functional


class Slot(NamedTuple):
    """In a result: the value at this index of the recording."""

    slot: int


def kept(value: Any) -> Any:
    return value() if type(value) is weakref.ref else value


def call_of(entry: Any, slots: Mapping[int, Variable]) -> Call:
    prim, value, ins, args, kwargs, site = entry
    ins = ins[:-1] if type(prim) is Pull else ins
    traced = [argument(args[k] if k < len(args) else None, slot, slots) for k, slot in enumerate(ins)]
    static = {name: _named(value, slots) for name, value in (kwargs or {}).items()}
    return Call(prim.fn, [*traced, *args[len(ins) :]], static, kept(value), site, guard=prim.kind == "guard")


def argument(arg: Any, slot: Any, slots: Mapping[int, Variable]) -> Any:
    """An argument of an entry with Variables in the place of traced values."""
    if slot is None:
        return arg
    if not isinstance(slot, tuple):
        return slots[slot]
    known = isinstance(arg, tuple | list) and len(arg) == len(slot)
    parts = [argument(arg[k] if known else None, part, slots) for k, part in enumerate(slot)]
    return rebuild(arg if known else (), parts)


def _named(value: Any, slots: Mapping[int, Variable]) -> Any:
    if isinstance(value, Traced):
        return slots[value.slot]
    if isinstance(value, tuple | list):
        parts = [_named(part, slots) for part in value]
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else rebuild(value, parts)
    return value


def push_result(tape: Writable, result: Any, slots: Mapping[int, Variable]) -> Variable:
    made = _result_of(tape, result, slots)
    return made if isinstance(made, Variable) else tape.push(Constant(result))


def _result_of(tape: Writable, result: Any, slots: Mapping[int, Variable]) -> Any:
    if isinstance(result, Slot):
        return slots[result.slot]
    if isinstance(result, tuple | list | dict):
        parts = list(result.values()) if isinstance(result, dict) else result
        made = [_result_of(tape, part, slots) for part in parts]
        if any(isinstance(part, Variable) for part in made):
            return tape.push(_made(result, made))
    return result


def _made(like: Any, parts: Sequence[Any]) -> Call:
    if isinstance(like, dict):
        return mkcall(functional.make_dict, tuple(like), *parts)
    if isinstance(like, list):
        return mkcall(functional.make_list, *parts)
    return mkcall(type(like) if hasattr(like, "_fields") else functional.make_tuple, *parts)
