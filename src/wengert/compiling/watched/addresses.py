"""`id` and `hash`: numbers by which a program finds an object again. Those of objects from outside are constants.

An object that the function makes has other ones in each call, so they must not leave the function.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from wengert.compiling.watched.inputs import Inputs
from wengert.compiling.watched.watchable import ATOMS, CONSTANT_CALLABLES, nested_leaves
from wengert.hooks.calls import resolve
from wengert.hooks.code_swap import prepare
from wengert.hooks.search import search
from wengert.recording.recording import STATE
from wengert.recording.slots import slot_of

_LASTING = (type, types.FunctionType, types.ModuleType, types.NoneType, *CONSTANT_CALLABLES)
"""Types of objects that are the same in each call for which the code serves."""
_CONSTANTS = (*ATOMS, *_LASTING, float, complex, np.generic)
_NUMBERS_AND_TEXTS = (int, float, complex, np.generic, str, bytes, frozenset)


def watched_id(thing: Any, reads: Inputs | None, is_library: bool) -> int:
    """Return `id(thing)`, that of the original if the thing was made for the trace.

    Libraries such as `copy` ask it of all values, user code only of objects.
    """
    if reads is not None:
        reads.ask_identity(thing)
        if not is_library and not issubclass(type(thing), _LASTING):
            _note_address(thing, reads, "id")
        thing = reads.original_of(thing)
    number: int = resolve(id, STATE.site)(thing)
    return number


def watched_hash(thing: Any, reads: Inputs, is_library: bool) -> int:
    """Return `hash(thing)`, a constant for constants; a `__hash__` written in Python is traced."""
    parts = nested_leaves(thing)
    numbers = [part for part in parts if issubclass(type(part), _NUMBERS_AND_TEXTS)]
    is_known = not search(reads.recording, numbers) and all([_has_constant_hash(part, reads) for part in parts])
    if type(thing).__hash__ is not None and not is_known and not is_library:
        slots = [slot_of(reads.recording, part) for part in numbers]
        may_retry = any([slot is not None and reads.want_constants(slot) for slot in slots])
        reads.give_up(f"it calls hash of a {type(thing).__name__}", may_retry=may_retry)
    return hash(thing)


def _has_constant_hash(part: Any, reads: Inputs) -> bool:
    t: Any = type(part)
    if t is frozenset:
        return all([_has_constant_hash(item, reads) for item in nested_leaves([*part])])
    if t.__hash__ is object.__hash__ and not issubclass(t, _LASTING):
        _note_address(part, reads, "hash")
        return True
    return issubclass(t, _CONSTANTS) or (type(t.__hash__) is types.FunctionType and prepare(t))


def _note_address(thing: Any, reads: Inputs, name: str) -> None:
    """Guard that an object from outside is this very one, or note the address of one that the function makes."""
    accessor = reads.accessor_of(thing)
    if type(thing) is np.ndarray and not reads.is_compared_array(thing):
        found = [(name, outer.original) for name, outer in reads.inputs.items() if outer.traced is thing]
        if found:
            reads.guard_is(*found[0])
        else:
            reads.addresses[id(thing)] = thing
    elif issubclass(type(thing), (*ATOMS, float, complex, np.generic, np.ndarray, list, tuple, dict, set)):
        reads.give_up(f"it calls {name} of a {type(thing).__name__}")
    elif accessor is None:
        reads.addresses[hash(thing) if name == "hash" else id(thing)] = thing
    elif reads.may_be_another(accessor):
        reads.guard_is(accessor, thing)


def give_up_on_addresses(reads: Inputs, numbers: Any) -> None:
    """Give up if one of some numbers that leave the function is the address of an object which it has made."""
    if any([type(number) is int and number in reads.addresses for number in numbers]):
        reads.give_up("it returns or keeps the id of an object that it makes")
