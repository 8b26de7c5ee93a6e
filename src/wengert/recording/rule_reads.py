"""Traced values that a function with a rule reads by itself: its rule does not know of them, so they are refused."""

from __future__ import annotations

import collections
import dis
import itertools
import math
import types
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.primitives import Primitive
from wengert.recording.recording import MOST_SEARCHED, Recording, users_line
from wengert.recording.slots import slot_of
from wengert.recording.traced_search import TracedSearch
from wengert.values.codes import code_of
from wengert.values.specs import is_inexact
from wengert.values.views import owner_of

SOME = 50  # at each end of a container


class _Search(TracedSearch):
    """Looks for traced values of a level, and of those inside it, within reach of a function.

    It looks at `most` things at most; of a larger container, at its ends only, if nothing traced was stored in it.
    """

    def __init__(self, recording: Recording, f: Any, level: int, most: float = math.inf) -> None:
        self._recording, self._level, self._most = recording, level, most
        self.found = self.is_cut = False
        super().__init__(f)

    def _parts(self, thing: Any) -> Iterable[Any]:
        """Yield what a thing refers to; of a large container that holds nothing traced, its first and last items."""
        if is_inexact(thing) and not self._is_workspace(thing):
            slot = slot_of(self._recording, thing)
            if any(self._recording.mask((slot,))) and slot not in self._recording.closure_slots:
                self.found = self.found or self._recording.innermost((slot,)) >= self._level
        if len(self._seen) > self._most:
            self.is_cut = True
            return ()
        if _length(thing) > self._most and id(thing) not in self._recording.crowded:
            self.is_cut = True
            return _first_and_last(thing)
        return super()._parts(thing)

    def _is_workspace(self, thing: Any) -> bool:
        """Whether a thing is memory into which a function with a rule writes its results."""
        return isinstance(thing, np.ndarray) and self._recording.memory.lent.is_workspace(owner_of(thing))


def _length(thing: Any) -> int:
    if issubclass(type(thing), np.ndarray):
        return thing.size if thing.dtype.hasobject else 0
    return next((kind.__len__(thing) for kind in _SIZED if issubclass(type(thing), kind)), 0)


def _first_and_last(thing: Any) -> list[Any]:
    """The first and the last item of a container that has an order."""
    if type(thing) not in (list, tuple, collections.deque, dict):
        return []
    things = thing.values() if type(thing) is dict else thing
    return [*itertools.islice(things, SOME), *itertools.islice(reversed(things), SOME)]


_SIZED: tuple[Any, ...] = (list, tuple, dict, set, collections.deque)


def refuse_unspoken(recording: Recording, primitive: Primitive, level: int) -> None:
    """Refuse a call of a function whose closure, defaults, object or global names lead to traced values.

    `level`: the levels outside of this one see what it computes. What it only appends to is not read.
    """
    search = _Search(recording, primitive.fn, level, MOST_SEARCHED)
    if search.is_cut:
        recording.unsearched.setdefault((primitive, level), (len(recording.levels), users_line()))
    if search.found:
        _refuse(recording, primitive, level, users_line())


def reads_traced(recording: Recording, thing: Any) -> bool:
    """Whether a thing, in all within reach of it, leads to a traced value."""
    return _Search(recording, thing, 0).found


def search_rest(recording: Recording) -> None:
    """Look, at the end of a function, at what was too much to be looked at in each call of those in it."""
    depth, rest = len(recording.levels), recording.unsearched
    for (primitive, level), (noted, site) in [*rest.items()]:
        if noted >= depth:
            del rest[primitive, level]
            if _Search(recording, primitive.fn, level).found:
                _refuse(recording, primitive, level, site)


def _refuse(recording: Recording, primitive: Primitive, level: int, site: str) -> None:
    """Raise the refusal of a call whose function reads traced values beside its arguments."""
    f = primitive.fn
    names = _leading(recording, f, level)
    if _only_keeps(recording, f, level, set()):
        return
    raise recording.refuse(
        RefusedCallError(
            f"{site}: {primitive.name} can read a traced value other than its arguments"
            f"{' (' + ', '.join(names) + ')' if names else ''}, which its rule does not differentiate. Pass it as an "
            "argument of its own."
        )
    )


def _leading(recording: Recording, f: Any, level: int) -> list[str]:
    """The names by which a function reaches such values."""
    return [name for name, held in _held_by_name(f) if _Search(recording, held, level).found]


def _only_keeps(recording: Recording, f: Any, level: int, seen: set[int]) -> bool:
    """Whether a function, and those that it calls, name what leads to such values only to append to it."""
    seen.add(id(f))
    names = _leading(recording, f, level)
    called = [held for name in names if isinstance(held := _held_under(f, name), types.FunctionType)]
    lists = [name for name in names if not isinstance(_held_under(f, name), types.FunctionType)]
    return (
        bool(names)
        and all([_only_appends(f, name) for name in lists])
        and all([id(g) in seen or _only_keeps(recording, g, level, seen) for g in called])
    )


def _held_by_name(f: Any) -> Iterator[tuple[str, Any]]:
    """The things that a function holds, by name."""
    if isinstance(f, types.FunctionType):
        yield from zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        yield from [(name, f.__globals__[name]) for name in code_of(f).co_names if name in f.__globals__]


def _only_appends(f: types.FunctionType, name: str) -> bool:
    """Whether a function names a list only to append to it; a pullback that it makes may take from it again."""
    inner = [const for const in code_of(f).co_consts if isinstance(const, types.CodeType)]
    own, taken = _uses(code_of(f), name), [use for code in inner for use in _uses(code, name)]
    return type(_held_under(f, name)) is list and {*own} == {"append"} and {*taken} <= {"append", "pop"}


def _uses(code: types.CodeType, name: str) -> list[Any]:
    """Return the names of the attributes that code reads of a free or global variable."""
    steps = pairwise(dis.get_instructions(code))
    return [after.argval for step, after in steps if step.argval == name and step.opname in _READS]


_READS = ("LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME")


def _held_under(f: types.FunctionType, name: str) -> Any:
    held = dict(_held_by_name(f))[name]
    return held.cell_contents if isinstance(held, types.CellType) else held
