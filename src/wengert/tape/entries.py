"""Conversion of a recording's entries to a tape: inputs, constants, calls, and the calls that build a nested result."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from wengert.recording.recording import Traced
from wengert.recording.user_pullbacks import RruleCall
from wengert.tape.interface import AnyWritableTape
from wengert.tape.ops import MISSING, Call, Constant, Input, Variable, mkcall, sequence_like
from wengert.values import functional
from wengert.values.results import is_tree, keys_of, leaves_of
from wengert.values.trees import is_container, itself, rebuild


class Slot:
    """A placeholder, in a traced result, for the value at this `slot` of the recording."""

    __slots__ = ("slot",)

    def __init__(self, slot: int) -> None:
        self.slot = slot


class ContainerBuilder:
    """A function that rebuilds a container of any class from its leaves; in `form`, Slots number the leaves."""

    def __init__(self, form: Any) -> None:
        self.form = form
        self.__name__ = type(form).__name__

    def __call__(self, *parts: Any) -> Any:
        return rebuild(self.form, itself, lambda part: parts[part.slot] if type(part) is Slot else part)


def push_entries(
    tape: AnyWritableTape,
    entries: Sequence[Any],
    result: Any,
    input_names: Sequence[str] | None,
    f: Any,
    notes: Mapping[int, tuple[str, int]],
) -> Variable | None:
    """Append the ops of a recording's entries to an empty tape, and return the Variable of the result.

    The parameters are those of `Tape.from_entries`.
    """
    if f is not None:
        tape.push(Input(f, getattr(f, "__name__", type(f).__name__), callee=True))
    names = iter(input_names or ())
    slots: dict[int, Variable] = {}
    for slot, entry in enumerate(entries):
        if entry is not None:
            name = next(names, None) if entry[0].kind == "input" and not entry[2] else None
            slots[slot] = push_entry(tape, entry, slots, name)
    for slot, (words, subject) in notes.items():
        tape[slots[slot]].note = (words, slots[subject])
    return None if result is MISSING else push_result(tape, result, slots)


def push_entry(tape: AnyWritableTape, entry: Any, slots: Mapping[int, Variable], name: str | None = None) -> Variable:
    """Append the op of an entry, and return its Variable; `slots` has the Variables of earlier entries.

    An input of an inner level is the outer level's value, which is already on the tape.
    """
    kind = entry[0].kind
    if kind == "input":
        return slots[entry[2][0]] if entry[2] else tape.push(Input(entry_value(entry[1]), name))
    if kind == "constant":
        return tape.push(Constant(entry_value(entry[1]), site=entry[5]))
    if type(entry[0]) is RruleCall and entry[2][-1] is not None:  # the ops of its rule's body are already on the tape
        value = tuple([leaf for _, leaf in leaves_of(entry[1])]) if is_tree(entry[1]) else entry[1]
        made = tape_argument(value, entry[2][-1], slots)
        return made if isinstance(made, Variable) else tape.push(mkcall(functional.make_tuple, *made))
    if entry[0].fn is functional.getfield and type(entry[3][1]) is functional.Path:
        source = tape[slots[entry[2][0]]]
        if isinstance(source, Call) and source.fn is functional.make_tuple:  # the leaves of a tree, packed above
            whole, path = entry[3]
            return tape.push(mkcall(functional.getfield, slots[entry[2][0]], keys_of(whole).index(path)))
    return tape.append(entry_call(entry, slots))


def entry_value(value: Any) -> Any:
    """Return the value of an entry, which may hold it by a weak reference."""
    return value() if type(value) is weakref.ref else value


def entry_call(entry: Any, slots: Mapping[int, Variable]) -> Call:
    """Make the Call of a primitive's entry, with Variables for its traced arguments."""
    prim, value, ins, args, kwargs, site = entry
    ins = ins[:-1] if type(prim) is RruleCall else ins
    traced = [
        slots[slot] if type(slot) is int else tape_argument(args[k] if k < len(args) else None, slot, slots)
        for k, slot in enumerate(ins)
    ]
    static = {name: _keyword_argument(value, slots) for name, value in kwargs.items()} if kwargs else None
    return Call(prim.fn, [*traced, *args[len(ins) :]], static, entry_value(value), site, guard=prim.kind == "guard")


def tape_argument(arg: Any, slot: Any, slots: Mapping[int, Variable]) -> Any:
    """Replace an argument's traced values by Variables; `slot` is its slot, or a tuple of the slots of its items."""
    if slot is None:
        return arg
    if not isinstance(slot, tuple):
        return slots[slot]
    known = isinstance(arg, tuple | list) and len(arg) == len(slot)
    parts = [tape_argument(arg[k] if known else None, part, slots) for k, part in enumerate(slot)]
    return sequence_like(arg if known else (), parts)


def _keyword_argument(value: Any, slots: Mapping[int, Variable]) -> Any:
    """Replace the values marked as traced in a keyword argument by Variables."""
    if isinstance(value, Traced):
        return slots[value.slot]
    if isinstance(value, tuple | list):
        parts = [_keyword_argument(part, slots) for part in value]
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else sequence_like(value, parts)
    return value


def push_result(tape: AnyWritableTape, result: Any, slots: Mapping[int, Variable]) -> Variable:
    """Append the calls that build a nested result of Slots, or a Constant without Slots, and return its Variable."""
    made = _result_of(tape, result, slots)
    return made if isinstance(made, Variable) else tape.push(Constant(result))


def _result_of(tape: AnyWritableTape, result: Any, slots: Mapping[int, Variable]) -> Any:
    if isinstance(result, Slot):
        return slots[result.slot]
    if type(result) in (tuple, list, dict) or hasattr(type(result), "_fields"):
        parts = list(result.values()) if isinstance(result, dict) else result
        made = [_result_of(tape, part, slots) for part in parts]
        if any(isinstance(part, Variable) for part in made):
            return tape.push(_container_call(result, made))
    elif is_container(result):
        leaves: list[Variable] = []
        form = rebuild(result, itself, lambda part: _renumbered_slot(part, slots, leaves))
        return tape.push(mkcall(ContainerBuilder(form), *leaves)) if leaves else result
    return result


def _renumbered_slot(part: Any, slots: Mapping[int, Variable], leaves: list[Variable]) -> Any:
    """Replace a Slot of the recording by one that numbers the leaves of a container; collect the leaf's Variable."""
    if type(part) is not Slot:
        return part
    leaves.append(slots[part.slot])
    return Slot(len(leaves) - 1)


def _container_call(like: Any, parts: Sequence[Any]) -> Call:
    if isinstance(like, dict):
        return mkcall(functional.make_dict, tuple(like), *parts)
    if isinstance(like, list):
        return mkcall(functional.make_list, *parts)
    return mkcall(type(like) if hasattr(like, "_fields") else functional.make_tuple, *parts)
