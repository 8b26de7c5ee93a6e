"""Outer reads of a user's pullback: everything reachable from its closure is restored to its state at the call.

Writes that the tracer sees are in the undo log. Here are the contents of containers, cells, attributes and global
names, and a check of arrays against writes that nothing sees: those of the bodies of rules, of C code, of code that
runs between a `wg.vjp` and its pullback.
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
import types
import weakref
from array import array as Packed
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.values.code_names import global_names_in, names_in
from wengert.values.codes import code_of
from wengert.values.frames import ENGINE
from wengert.values.sealed import Sealed
from wengert.values.sites import Site
from wengert.values.snapshots import Contents, Reach, identical
from wengert.values.specs import is_inexact
from wengert.values.trees import form_of, namespace
from wengert.values.undo_stack import Owed
from wengert.values.views import owner_of

LARGE = 1 << 16  # bytes; of larger arrays sums are kept in place of a copy
_LIBRARIES = sys.stdlib_module_names | {"numpy", "scipy", "pandas", "wengert", "wengert_rules"}
_FOLLOWED = {"builtins", "itertools", "functools", "operator", "collections", "types"}  # whose C objects hold others
_FIXED = (types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, types.ModuleType)
_WITHOUT_PARTS = (
    float, int, complex, str, bytes, type(None), np.generic, np.dtype, types.CodeType, np.ufunc, types.ModuleType,
    Sealed,
)  # fmt: skip
COMMON = {float, int, bool, complex, str, bytes, type(None), np.float64}
"""Types of which there are many, told at once."""


class FarReach(Reach):
    """Snapshot of everything reachable from a function, also through global names and classes."""

    def __init__(self, f: Any, generators: Iterable[Any] = ()) -> None:
        self.classes: list[type] = []
        self.functions: list[types.FunctionType] = []
        super().__init__((f,), generators)

    def held(self) -> list[Any]:
        """Return what all containers, cells and namespaces held at the call."""
        return [part for place in self._places for part in place.was]

    def finds_user_code(self) -> bool:
        """Whether any function is no library's."""
        return not all([is_library(f.__module__) for f in self.functions])

    def _entered(self, parts: Iterable[Any]) -> Iterable[Any]:
        return [part for part in parts if type(part) not in COMMON]

    def _parts(self, thing: Any) -> Iterable[Any]:
        """Yield what a thing refers to directly, by any way that a pullback could read."""
        t = type(thing)
        if issubclass(t, _WITHOUT_PARTS):
            return
        if issubclass(t, np.ndarray):
            if thing.dtype.hasobject:
                yield from thing.ravel().tolist()
            else:
                self.arrays.append(thing)
            yield namespace(thing)
        elif t is types.FunctionType:
            yield from self._of_function(thing)
        elif t is types.BuiltinFunctionType:
            yield thing.__self__
        elif t is functools._lru_cache_wrapper:
            yield thing.__wrapped__  # what it keeps is its own
        elif issubclass(t, type):
            yield from self._of_class(thing)
        elif t is weakref.ref:
            yield thing()
        elif issubclass(t, (bytearray, Packed)):
            self._places.append(_packed(thing))
        elif issubclass(t, (collections.deque, set)):
            self._places.append(_collection(thing))
            yield from thing
        elif t is memoryview:
            yield thing.obj
        elif form_of(t) is not None:
            yield from self._held(thing)
            yield from self._of_class(t)
        else:
            yield from self._inside(thing)

    def _inside(self, thing: Any) -> Iterable[Any]:
        """Return the referents of an object of C or of a library, where they can be shown again as they were."""
        return gc.get_referents(thing) if type(thing).__module__ in _FOLLOWED else ()

    def _of_function(self, f: types.FunctionType) -> Iterator[Any]:
        """The closure and defaults of a function and, where it is no library's, the global names that it reads."""
        if f.__code__.co_filename.startswith(ENGINE):
            return
        self.functions.append(f)
        yield from (*(f.__closure__ or ()), *(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values(), f.__dict__)
        if not is_library(f.__module__):
            yield from self._named_by(f)

    def _named_by(self, f: types.FunctionType) -> Iterator[Any]:
        """The values of the global names that a function reads."""
        code = code_of(f)
        return self._named(f.__globals__, set(names_in(code)), global_names_in(code))

    def _named(self, space: dict[str, Any], names: Set[str], read: Set[str]) -> Iterator[Any]:
        """The values of the names that are `read` in a namespace, and those of `names` in modules among them."""
        found = [(name, space[name]) for name in read & space.keys()]
        held = [name for name, value in found if not isinstance(value, _FIXED)]
        if held:
            self._places.append(of_names(held, space.get, space.__setitem__, space.__delitem__))
        for _, value in found:
            if not isinstance(value, types.ModuleType):
                yield value
            elif not is_library(value.__name__) and id(value) not in self._seen:
                self._seen.add(id(value))
                yield from self._named(vars(value), names, names)

    def _of_class(self, cls: type) -> Iterator[Any]:
        """Yield what a class and its bases hold: methods, and the values of attributes."""
        for base in cls.__mro__:
            if any([base is known for known in self.classes]) or is_library(base.__module__):
                continue
            self.classes.append(base)
            space = vars(base)
            held = [name for name, value in space.items() if form_of(type(value)) or _is_value(value)]
            if held:
                self._places.append(
                    of_names(held, space.get, lambda *item, of=base: type.__setattr__(of, *item), of_class(base))
                )
            for value in space.values():
                yield value.fget if type(value) is property else getattr(value, "__func__", value)


class OuterState(FarReach):
    """The state at the call of everything that a pullback can reach; `version(array)` is the last write to an array."""

    def __init__(self, pullback: Any, site: Site | None, version: Callable[[np.ndarray], Any]) -> None:
        super().__init__(pullback)
        self.site, self._version = site, version
        self._contents = [(array, version(array), _content(array)) for array in self.arrays]
        self._shapes = [(array, array.shape) for array in self.arrays]
        self._changed: list[Contents] | None = None

    def finds_any(self) -> bool:
        """Whether a function reaches mutable state, other than its own attributes."""
        return bool(len(self._places) > 1 or self._contents)

    def note_changes(self) -> None:
        """Note which containers have changed since the call."""
        self._changed = [place for place in self._places if not identical(place.read(), place.was)]

    def settle(self, written: set[int] | None) -> None:
        """Copy the arrays of the owners in `written`, or all, while they still hold their content at the call."""
        self._contents = [
            (array, version, array.tobytes())
            if (written is None or id(owner_of(array)) in written) and _content(array, content) == content
            else (array, version, content)
            for array, version, content in self._contents
        ]

    @contextmanager
    def restored(self, traced: bool, owed: Owed) -> Iterator[None]:
        """Return a context in which everything a pullback reads is as at the call; its own writes stay.

        `owed` gets the functions that restore the present state.
        Errors: RefusedCallError where memory has been overwritten and cannot be put back, or not while an outer trace
        looks on.
        """
        if self._changed is None:
            self.note_changes()
        mark = len(owed)
        reshaped = [(array, was, array.shape) for array, was in self._shapes if array.shape != was]
        for array, shape, new_shape in reshaped:
            if traced:
                raise self._refusal(f"an array of shape {shape}, whose shape was changed after the call")
            owed.append(partial(_reshape, array, new_shape))
            _reshape(array, shape)
        places = [(place, place.read()) for place in self._changed or ()]
        arrays = [(a, self._was(a, content, traced), a.copy()) for a, content in self._overwrites(traced)]
        for place, before in places:
            owed.append(partial(place.write, before))
            place.write(place.was)
        for array, was, now in arrays:
            owed.append(partial(np.copyto, array, now))
            array[...] = was
        try:
            yield
        finally:
            owed[mark:] = [
                *[partial(_reshape, array, new_shape) for array, _, new_shape in reshaped],
                *[partial(place.write, _merged(place.was, place.read(), before)) for place, before in places],
                *[partial(np.copyto, array, _written(array, was, now)) for array, was, now in arrays],
            ]
            owed.pay(mark)

    def _overwrites(self, traced: bool) -> list[tuple[np.ndarray, Any]]:
        return [
            (array, content)
            for array, version, content in self._contents
            if (traced and version != self._version(array)) or _content(array, content) != content
        ]

    def _was(self, array: np.ndarray, content: Any, traced: bool) -> np.ndarray:
        if traced or type(content) is not bytes or not array.flags.writeable:
            raise self._refusal(f"an array of shape {array.shape}, which was overwritten after the call")
        return np.frombuffer(content, array.dtype).reshape(array.shape)

    def _refusal(self, what: str) -> RefusedCallError:
        return RefusedCallError(
            f"{self.site}: the pullback of the rule called here can read {what}. Copy it in the rule: x = x.copy()."
        )


def note_outer_changes(entries: Iterable[Any]) -> None:
    """Note what has changed since each of these calls of a user's rule, before a pass restores it."""
    for entry in entries:
        state = None if entry is None else getattr(entry[0], "outer_state", None)
        if state is not None:
            state.note_changes()


_reshape: Any = vars(np.ndarray)["shape"].__set__  # also of a class that has a `shape` of its own


def is_library(module: Any) -> bool:
    return str(module).partition(".")[0] in _LIBRARIES


def _is_value(value: Any) -> bool:
    """Whether a pullback may compute with a value."""
    return type(value) is int or is_inexact(value)


ABSENT = object()
"""A mark in place of a value that is not there."""


def of_names(names: list[str], get: Any, store: Any, delete: Any) -> Contents:
    """Global names or attributes of a class, which may be deleted meanwhile."""

    def read() -> list[Any]:
        return [get(name, ABSENT) for name in names]

    def write(values: Iterable[Any]) -> None:
        for name, value, now in zip(names, values, read(), strict=True):
            if value is not ABSENT:
                store(name, value)
            elif now is not ABSENT:
                delete(name)

    return Contents(read, write, read())


def of_class(cls: type) -> Callable[[str], None]:
    return lambda name: type.__delattr__(cls, name)


def _collection(it: Any) -> Contents:
    """Return how to read and write a deque or set."""

    def write(values: Iterable[Any]) -> None:
        it.clear()
        (it.extend if isinstance(it, collections.deque) else it.update)(values)

    return Contents(lambda: list(it), write, list(it))


def _packed(it: Any) -> Contents:
    """Return how to read and write a bytearray or `array.array`, whose items are new objects at each read."""
    content, was = bytes(it), list(it)

    def write(values: Iterable[Any]) -> None:
        it[:] = bytearray(values) if isinstance(it, bytearray) else Packed(it.typecode, values)

    return Contents(lambda: was if bytes(it) == content else list(it), write, was)


def _content(array: np.ndarray, like: Any = None) -> Any:
    """Return a checksum that shows whether an array was overwritten: its bytes, or for a large one sums of them."""
    if array.nbytes <= LARGE or type(like) is bytes:
        return array.tobytes()
    flat = array.ravel("K").view(np.uint8)
    whole = flat.size - flat.size % (8 * _COLUMNS)
    columns = flat[:whole].view(np.uint64).reshape(-1, _COLUMNS)
    return [np.add.reduce(columns, 0).tobytes(), flat[whole:].tobytes()]


_COLUMNS = 1021  # a prime: rows of a matrix that change places are told, too


def _written(array: np.ndarray, was: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Return the content of an array that a pullback may have written while its old content was in place."""
    if array.tobytes() == was.tobytes():
        return now
    return np.asarray(_with_change(was, array, now)) if array.dtype.kind in "iufc" else array.copy()


def _with_change(was: Any, after: Any, now: Any) -> Any:
    """Return a value to which a pullback added while its old content was in place."""
    with np.errstate(all="ignore"):
        return now + (after - was)


def _merged(was: list[Any], after: list[Any], now: list[Any]) -> list[Any]:
    """Merge the changes of a container since the call with those that the pullback made."""
    if identical(after, was):
        return now
    if identical(after[: len(was)], was):
        return now + after[len(was) :]
    if len(was) == len(after) == len(now):
        return [_one(*items) for items in zip(was, after, now, strict=True)]
    return after


def _one(was: Any, after: Any, now: Any) -> Any:
    if after is was:
        return now
    if all([_is_value(a) for a in (was, after, now)]) and np.shape(was) == np.shape(after) == np.shape(now):
        return _with_change(was, after, now)
    return after


__all__ = ["FarReach", "OuterState", "note_outer_changes"]
