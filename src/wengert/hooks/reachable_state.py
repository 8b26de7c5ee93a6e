"""The state that functions can reach and change, as it was at some time, and its restoration."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Set
from contextvars import ContextVar
from typing import Any

import numpy as np

from wengert.recording.pullback_reads import ABSENT, FarReach, is_library, of_names
from wengert.recording.traced_search import TracedSearch
from wengert.values.random_states import has_state, random_state, shared_generators
from wengert.values.snapshots import Contents, identical
from wengert.values.transformed import Transformed
from wengert.values.undo_stack import Owed

WRITEABLE = 0x400
"""The bit of writeable arrays in `flags.num`; `flags.writeable` warns for arrays of `np.broadcast_arrays`."""


class State:
    """The state that a function, or other things, can reach and change, as it was before a call.

    It keeps the contents of arrays of up to so many bytes.
    """

    def __init__(self, f: Any, largest: float = np.inf) -> None:
        self.reach = WholeReach(f)
        arrays = [array for array in self.reach.arrays if array.flags.num & WRITEABLE and array.nbytes <= largest]
        self.contents = [(array, array.tobytes()) for array in arrays]

    def is_changed(self, same: Callable[[list[Any], list[Any]], bool] = identical) -> bool:
        """Return whether anything is not the `same` any more."""
        return not self.reach.is_unchanged(same) or any([array.tobytes() != was for array, was in self.contents])

    def is_put_back(self, same: Callable[[list[Any], list[Any]], bool] = identical) -> bool:
        """Put back what is not the `same` any more; return whether anything was not."""
        changed = [(array, was) for array, was in self.contents if array.tobytes() != was]
        for array, was in changed:
            array[...] = np.frombuffer(was, array.dtype).reshape(array.shape)
        kept = self.reach.is_unchanged(same)
        if not kept:
            self.reach.put_back(Owed(), same)
        return bool(changed) or not kept

    def put_back_but(self, keeps: Callable[[Any], bool]) -> list[tuple[Any, Any]]:
        """Put back all but the parts that it `keeps`; return pairs of such a part and what was in its place.

        These are arrays, and items of a container that has as many items as before. Of other containers, all items are
        put back, and the pairs hold ABSENT.
        """
        pairs: list[tuple[Any, Any]] = []
        for array, content in self.contents:
            if array.tobytes() != content:
                was = np.frombuffer(content, array.dtype).reshape(array.shape)
                if keeps(array):
                    pairs.append((array, was))
                else:
                    array[...] = was
        return pairs + self.reach.put_back_but(keeps)


class WholeReach(TracedSearch):
    """Snapshot of all that a thing can reach and change: also caches, whole classes, and names yet to come."""

    def __init__(self, thing: Any) -> None:
        self.final: list[tuple[Callable[[], Any], Any]] = []
        self.caches: list[tuple[Any, int]] = []
        super().__init__(thing, shared_generators())

    def is_final(self) -> bool:
        """Whether a generator has gone on, or a context variable has another value: neither can be put back."""
        return any([read() != was for read, was in self.final])

    def empty_caches(self) -> None:
        """Empty the caches of functions that have computed something: these are part of no state, but of a trace."""
        for cached, misses in self.caches:
            if cached.cache_info().misses != misses:
                cached.cache_clear()

    def put_back_but(self, keeps: Callable[[Any], bool]) -> list[tuple[Any, Any]]:
        """Put back the random states, and the contents but for the items that `State.put_back_but` keeps."""
        pairs: list[tuple[Any, Any]] = []
        for place in self._places:
            now, was = place.read(), place.was
            if not identical(now, was):
                is_aligned = len(now) == len(was)
                before, known = was if is_aligned else [ABSENT] * len(now), {id(part) for part in was}
                kept = [id(part) not in known and keeps(part) for part in now]
                pairs += [pair for pair, keep in zip(zip(now, before, strict=True), kept, strict=True) if keep]
                if is_aligned:
                    place.write([part if keep else old for part, old, keep in zip(now, was, kept, strict=True)])
                else:
                    place.write(was)
        self.put_back(Owed(), lambda *_: True)  # the random states alone
        return pairs

    def _parts(self, thing: Any) -> Iterable[Any]:
        if isinstance(thing, self._generators) and has_state(thing):
            self._random.append((thing, random_state(thing)))
            return
        if type(thing) is functools._lru_cache_wrapper:
            self.caches.append((thing, thing.cache_info().misses))
        elif type(thing) is types.GeneratorType:
            self.final.append((lambda: _progress(thing), _progress(thing)))
        elif type(thing) is ContextVar:
            self.final.append((lambda: id(thing.get(ABSENT)), id(thing.get(ABSENT))))
        yield from super()._parts(thing)

    def _inside(self, thing: Any) -> Iterable[Any]:
        return (thing.__func__,) if isinstance(thing, Transformed) else FarReach._inside(self, thing)

    def _named(self, space: dict[str, Any], names: Set[str], read: Set[str]) -> Iterator[Any]:
        if absent := [name for name in read if name not in space]:
            self._places.append(of_names(absent, space.get, space.__setitem__, space.__delitem__))
        yield from super()._named(space, names, read)

    def _of_class(self, cls: type) -> Iterator[Any]:
        for base in cls.__mro__:
            if not is_library(base.__module__) and not any([base is known for known in self.classes]):
                self._places.append(_namespace_of(base))
        yield from super()._of_class(cls)


def _progress(generator: Any) -> Any:
    """How far a generator has come."""
    frame = generator.gi_frame
    return None if frame is None else (frame.f_lasti, *map(id, frame.f_locals.values()))


def _namespace_of(cls: type) -> Contents:
    """The attributes of a class that are no methods: these are exchanged while a trace lasts."""

    def read() -> list[Any]:
        items = [(name, value) for name, value in vars(cls).items() if not hasattr(type(value), "__get__")]
        return [part for item in items for part in item]

    def write(contents: list[Any]) -> None:
        was, now = (dict(zip(items[::2], items[1::2], strict=True)) for items in (contents, read()))
        for name in now.keys() - was:
            type.__delattr__(cls, name)
        for name, value in was.items():
            if now.get(name, ABSENT) is not value:
                type.__setattr__(cls, name, value)

    return Contents(read, write, read())
