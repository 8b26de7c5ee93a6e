"""Expressions of what a call returns and of what it leaves outside; `r` is the result of the tape."""

from __future__ import annotations

import functools
import types
from pathlib import PurePath
from typing import Any

import numpy as np

from wengert.compiling.watched.addresses import give_up_on_addresses
from wengert.compiling.watched.builtin_subclasses import built_in_base
from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.symbolic_ints import SymbolicInt
from wengert.compiling.watched.watchable import (
    ATOMS,
    CONSTANT_CALLABLES,
    attributes_of,
    can_be_rebuilt,
    literal,
    new_with_attributes,
)
from wengert.recording.decisions import exact
from wengert.recording.layout import returned
from wengert.recording.recording import Recording, Traced
from wengert.recording.slots import slot_of
from wengert.recording.trace_state import is_born
from wengert.values.specs import is_inexact
from wengert.values.views import owner_of


def result_expression(reads: Reads, recording: Recording, value: Any, slots: list[int], is_effect: bool = False) -> str:
    """Return the expression of a result, and append the slots of the traced values in it to `slots`.

    That of a value which only an effect needs (`is_effect`) may be one from outside, or a string of traced values.
    """
    t = type(value)
    if t is np.ndarray:
        returned(recording, value)
    if t is np.ndarray and (name := reads.effects.arrays.name_of(value)) is not None:
        if not name:
            reads.give_up("it returns or keeps a view of an array from outside into which it writes")
        return name
    if is_effect and (found := _effect_expression(reads, recording, value, slots)):
        return found

    def expression(part: Any) -> str:
        return result_expression(reads, recording, part, slots, is_effect)

    if is_inexact(value) and t not in (float, complex, np.ndarray) and not issubclass(t, np.generic):
        reads.give_up(f"it returns a {t.__name__}, a subclass of arrays or numbers. Return a plain array or number")
    may_be_traced = t in (float, complex, np.ndarray, SymbolicInt) or issubclass(t, np.generic)
    slot = None
    if may_be_traced:
        slot = recording.memory.slot_of_result(value) if t is np.ndarray else slot_of(recording, value)
    if slot is not None:
        slots.append(slot)
        return f"int(r[{len(slots) - 1}])" if t is SymbolicInt else f"r[{len(slots) - 1}]"
    if t is list and (view := reads.heads.lists.views.get(id(value))) is not None:
        reads.heads.lists.settle(view)
    is_new = id(value) not in reads.known_objects and id(value) not in reads.placed
    if t in (list, dict, tuple) and is_new:
        if t is not tuple:
            reads.placed[id(value)] = value
        if t is dict and {type(key) for key in value} <= {str, int}:
            exact(recording, value)
            give_up_on_addresses(reads, value)
            items = [f"{reads.constant(key)}: {expression(value[key])}" for key in value]
            return f"{{{', '.join(items)}}}"
        if t is not dict:
            parts = "".join([f"{expression(part)}, " for part in value])
            return f"({parts})" if t is tuple else f"[{parts}]"
    if issubclass(t, tuple) and hasattr(t, "_make"):
        parts = "".join([f"{expression(part)}, " for part in value])
        return f"{reads.pin(t)}._make(({parts}))"
    base: Any = built_in_base(t) or object
    if is_new and base in (object, dict, list) and can_be_rebuilt(t, base) and id(t) in reads.classes:
        reads.placed[id(value)] = value
        parts = ", ".join([f"{name!r}: {expression(part)}" for name, part in attributes_of(value).items()])
        content = () if base is object else (*(dict.items if base is dict else list.__iter__)(value),)
        built = f", {reads.pin(base)}, {expression(content)}" if base is not object else ""
        return f"{reads.pin(new_with_attributes)}({reads.pin(t)}, {{{parts}}}{built})"
    if t in ATOMS or t in (float, complex) or issubclass(t, np.generic):
        exact(recording, [value])  # a string depends on guarded values alone
        give_up_on_addresses(reads, [value])
        return reads.pin(value)
    is_own = t is np.ndarray and not reads.is_compared_array(value) and not reads.tables.share_memory(value)
    if is_own and not value.dtype.hasobject:
        return f"{reads.pin(value.copy('K'))}.copy('K')"
    does, do = ("stores or prints", "Store or print") if is_effect else ("returns", "Return")
    reads.give_up(
        f"it {does} a {t.__name__}, which comes from outside the function or holds more than numbers and arrays. "
        f"{do} its numbers and arrays",
        may_retry=is_effect,  # it may fill a cache
    )
    return ""


# -- effects


def effect_lines(reads: Reads, recording: Recording) -> list[str]:
    """Return the lines of the generated code that make the effects of a call."""
    if not reads.effects:
        return []
    written = recording.memory.storages
    if any([id(owner_of(array)) in written for array in reads.effects.given_arrays]):
        reads.give_up("it prints an array into which it also writes. Print a copy: print(a.copy())")
    expression = functools.partial(result_expression, reads, recording, slots=reads.slots, is_effect=True)
    content = functools.partial(_content_expression, reads, recording)
    return reads.effects.lines(expression, content, reads.pin)


def _content_expression(reads: Reads, recording: Recording, array: np.ndarray) -> str:
    """Return the expression of what stands in an array from outside when the function has written into it."""
    slot = slot_of(recording, array)
    if slot is None:  # constants only
        return reads.pin(array.copy())
    reads.slots.append(slot)
    return f"r[{len(reads.slots) - 1}]"


def _effect_expression(reads: Reads, recording: Recording, value: Any, slots: list[int]) -> str:
    """Return the expression of a value from outside, of a constant object or of a string; "" for all others."""
    if issubclass(type(value), str) and id(value) in recording.texts:
        return _text_expression(reads, recording, value, slots)
    if type(value) in ATOMS:
        give_up_on_addresses(reads, [value])
        return literal(value) or reads.pin(value)
    if isinstance(value, PurePath):  # which nothing changes
        return reads.pin(value)
    if known := reads.accessor_of(value) or (reads.input_name(value) if type(value) is np.ndarray else None):
        return known
    is_constant = type(value) is types.FunctionType or issubclass(
        type(value), (type, types.ModuleType, *CONSTANT_CALLABLES)
    )
    return reads.pin(value) if is_constant and not is_born(value) else ""


def _text_expression(reads: Reads, recording: Recording, text: str, slots: list[int]) -> str:
    """Return the expression of a string that was made from traced values: the call that made it."""
    origin = recording.origins.get(id(text))
    if origin is None or type(origin) is int:  # of unknown origin, or a branch depends on it
        reads.give_up(
            "it stores or prints a string that the generated code cannot make again. Store or print the numbers"
        )
        return ""
    args = [_argument(reads, recording, a, slot, slots) for a, slot in zip(origin.args, origin.slots, strict=True)]
    for name, a in origin.words.items():
        value, slot = (a.value, a.slot) if type(a) is Traced else (a, None)
        args.append(f"{name}={_argument(reads, recording, value, slot, slots)}")
    return f"{reads.pin(origin.fn)}({', '.join(args)})"


def _argument(reads: Reads, recording: Recording, value: Any, slot: Any, slots: list[int]) -> str:
    if type(slot) is int:
        slots.append(slot)
        return f"r[{len(slots) - 1}]"
    if type(value) in (tuple, list):
        parts = slot or (None,) * len(value)
        inside = "".join([f"{_argument(reads, recording, a, s, slots)}, " for a, s in zip(value, parts, strict=True)])
        return f"({inside})" if type(value) is tuple else f"[{inside}]"
    return _effect_expression(reads, recording, value, slots) or reads.pin(value)
