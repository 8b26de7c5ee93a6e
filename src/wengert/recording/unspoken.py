"""Traced values that a function with a rule finds by itself, of which its rule cannot speak: refused."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.hindsight import FarReach
from wengert.recording.primitives import Primitive
from wengert.recording.recording import Recording, here
from wengert.recording.slots import slot_of
from wengert.values.lenses import owner_of
from wengert.values.values import is_inexact


class _Search(FarReach):
    """Looks for the variables of a level, and of those inside it, within reach of a function."""

    def __init__(self, recording: Recording, f: Any, level: int) -> None:
        self._recording, self._level = recording, level
        self.found = False
        super().__init__(f)

    def _parts(self, thing: Any) -> Iterator[Any]:
        if is_inexact(thing) and not self._is_workspace(thing):
            slot = slot_of(self._recording, thing)
            if any(self._recording.mask((slot,))) and slot not in self._recording.own:
                self.found = self.found or self._recording.innermost((slot,)) >= self._level
        return super()._parts(thing)

    def _is_workspace(self, thing: Any) -> bool:
        """Whether it is what a function with a rule writes its results into."""
        return isinstance(thing, np.ndarray) and self._recording.memory.lent.is_workspace(owner_of(thing))


def refuse_unspoken(recording: Recording, primitive: Primitive, level: int) -> None:
    """Refuse a call of a function whose closure, defaults, object or global names lead to traced values.

    `level`: the levels outside of this one see what it computes. What it only appends to is not read.
    """
    f = primitive.fn
    if not _Search(recording, f, level).found:
        return
    names = _leading(recording, f, level)
    if _only_keeps(recording, f, level, set()):
        return
    raise recording.refuse(
        RefusedCallError(
            f"{here()}: {primitive.name} can read a value that depends on an input beside its arguments"
            f"{' (' + ', '.join(names) + ')' if names else ''}, of which its rule cannot tell. Make it an argument of "
            "its own."
        )
    )


def _leading(recording: Recording, f: Any, level: int) -> list[str]:
    """The names by which a function reaches such values."""
    return [name for name, held in _names(f) if _Search(recording, held, level).found]


def _only_keeps(recording: Recording, f: Any, level: int, seen: set[int]) -> bool:
    """Whether a function, and those that it calls, name what leads to such values only to append to it."""
    seen.add(id(f))
    names = _leading(recording, f, level)
    called = [held for name in names if isinstance(held := _held(f, name), types.FunctionType)]
    lists = [name for name in names if not isinstance(_held(f, name), types.FunctionType)]
    return (
        bool(names)
        and all([_only_appends(f, name) for name in lists])
        and all([id(g) in seen or _only_keeps(recording, g, level, seen) for g in called])
    )


def _names(f: Any) -> Iterator[tuple[str, Any]]:
    """What a function holds, by name."""
    if isinstance(f, types.FunctionType):
        yield from zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        yield from [(name, f.__globals__[name]) for name in f.__code__.co_names if name in f.__globals__]


def _only_appends(f: types.FunctionType, name: str) -> bool:
    """Whether a function names a list only to append to it; a pullback that it makes may take from it again."""
    inner = [const for const in f.__code__.co_consts if isinstance(const, types.CodeType)]
    own, taken = _uses(f.__code__, name), [use for code in inner for use in _uses(code, name)]
    return type(_held(f, name)) is list and {*own} == {"append"} and {*taken} <= {"append", "pop"}


def _uses(code: types.CodeType, name: str) -> list[Any]:
    """What a variable of an outer function, or a global one, is used for: the name that is read of it."""
    steps = pairwise(dis.get_instructions(code))
    return [after.argval for step, after in steps if step.argval == name and step.opname in _READS]


_READS = ("LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME")


def _held(f: types.FunctionType, name: str) -> Any:
    held = dict(_names(f))[name]
    return held.cell_contents if isinstance(held, types.CellType) else held
