"""Aliases of an array's memory besides views: exported buffers, and C objects that read its elements.

Views of an array are found by their owner. Pointers that C code keeps without a buffer, or without a reference that
the garbage collector sees, are not found.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.errors import AliasedArgumentsError, RefusedCallError
from wengert.recording.recording import Recording, users_line
from wengert.values.specs import is_array
from wengert.values.views import is_foreign

_POINTER = np.ndarray.__weakrefoffset__ + ctypes.sizeof(ctypes.c_void_p)
_BUFFERS = ("managedbuffer", "memoryview", "_memoryviewslice", "PickleBuffer")  # Python's, Cython's
_C_DATA: type = ctypes._SimpleCData.__base__  # type: ignore[assignment]
_SEQUENCE_ITERATOR = type(iter(np.zeros(1)))
READERS = (memoryview, np.nditer, np.broadcast, np.flatiter, _SEQUENCE_ITERATOR, reversed, _C_DATA)
"""Types that read an array's memory, and give what is there as new objects."""
READING_BY_NAME = (np.nditer, _C_DATA)
"""Those whose attributes are numbers that they read."""
PASSING = (zip, map, filter, enumerate, *(v for v in vars(itertools).values() if isinstance(v, type)))
"""Iterators that hand on what others give."""


def _exported_once(array: np.ndarray) -> bool:
    """Whether a buffer of the array was ever requested: NumPy records it after the weak-reference list."""
    return bool(ctypes.c_void_p.from_address(id(array) + _POINTER).value)


def _is_noted() -> bool:
    array, other = np.zeros(1), np.zeros(1)
    before = _exported_once(array)
    memoryview(array).release()  # type: ignore[arg-type]
    return not before and _exported_once(array) and not _exported_once(other)


_NOTED = _is_noted()  # else NumPy keeps its notes elsewhere, and all who refer to an array have to be looked at


def is_exported(array: np.ndarray) -> bool:
    """Whether a memoryview or C code holds a buffer of an array now."""
    if _NOTED and not _exported_once(array):
        return False
    return any([type(holder).__name__ in _BUFFERS for holder in gc.get_referrers(array)])


def behind(thing: Any) -> list[np.ndarray]:
    """Find the arrays whose elements `thing`, a C object, returns as new numbers."""
    found: list[np.ndarray] = []
    stack, seen = [thing], set()
    while stack:
        thing = stack.pop()
        t = type(thing)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if issubclass(t, READERS):
            stack.extend(_collect_arrays(thing, found))
        elif issubclass(t, itertools.chain):
            sources = [
                source for it in gc.get_referents(thing) if type(it) in _ITERATORS for source in _remaining_items(it)
            ]
            found.extend(filter(is_array, sources))
            stack.extend([*gc.get_referents(thing), *sources])
        elif issubclass(t, PASSING):
            for part in gc.get_referents(thing):
                # a tuple: of iterators, or what was given last, of which C may have filled a part only
                parts = gc.get_referents(part) if type(part) is tuple else (part,)
                stack.extend([it for it in parts if not is_array(it)])
    return found


_ITERATORS: tuple[type, ...] = (type(iter(())), type(iter([])))


def _remaining_items(it: Any) -> list[Any]:
    return [item for items in gc.get_referents(it) if type(items) in (list, tuple) for item in items]


def _collect_arrays(reader: Any, found: list[np.ndarray]) -> Iterable[Any]:
    """Append to `found` the arrays to which a reader refers; return the other objects to which it refers."""
    stack, others = _referents(reader), []
    while stack:
        part = stack.pop()
        if is_array(part):
            found.append(part)
        elif type(part) is dict:
            stack.extend(part.values())
        elif type(part).__name__ == "managedbuffer":
            stack.extend(gc.get_referents(part))
        else:
            others.append(part)
    return others


def _referents(reader: Any) -> list[Any]:
    if type(reader) is np.nditer:
        try:
            return list(reader.operands)
        except ValueError:  # it has been closed
            return []
    if type(reader) is np.broadcast:
        return list(reader.iters)
    return [reader.base] if type(reader) is np.flatiter else gc.get_referents(reader)


def check_alone(recording: Recording, owner: np.ndarray, is_shared: bool, shows_parts: bool) -> None:
    """Refuse to write traced values into memory that two arguments share, or that belongs to no array."""
    if is_shared:
        raise recording.refuse(
            AliasedArgumentsError(
                f"{users_line()}: this line writes memory that two arguments share, so the derivative with respect to "
                "either is not defined. Pass copies: f(a, a.copy())."
            )
        )
    if shows_parts:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: this line writes memory that an argument views in part (x.real, or x.view(...) of "
                "another dtype). Pass a copy of that part."
            )
        )
    if is_foreign(owner):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: this line writes traced values into an array over foreign memory (a buffer, a file). "
                "Write into a copy: np.array(a)."
            )
        )


def check_unseen(recording: Recording, owner: np.ndarray) -> None:
    """Refuse to write traced values into an array that others read through a buffer."""
    if is_exported(owner):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: this line writes traced values into an array whose memory other code can read "
                "untraced, by a memoryview, ctypes or another buffer. Write into a copy: a.copy()."
            )
        )


def check_elsewhere(recording: Recording, array: np.ndarray, storages: Iterable[Any]) -> None:
    """Refuse to read an array over foreign memory if traced values were written into another array over it."""
    if overlaps_any(array, [storage.owner() for storage in storages if storage.slot is not None]):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: this line reads memory that was written with traced values through another array, "
                "but wengert cannot find out which part (dlpack, __array_interface__, ctypes). Read that other array."
            )
        )


def overlaps_any(array: np.ndarray, others: Iterable[np.ndarray | None]) -> bool:
    """Whether an array spans memory in common with one of the others."""
    return any([other is not None and np.may_share_memory(array, other) for other in others])
