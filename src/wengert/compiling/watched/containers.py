"""Containers from outside: each is read as a whole, and holds the objects of the trace until the trace ends."""

from __future__ import annotations

import collections
import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from wengert.compiling.watched.builtin_subclasses import Held, guard_held, read_held
from wengert.compiling.watched.effects import LISTS, set_content, set_items, without_counters
from wengert.compiling.watched.watchable import (
    are_same,
    has_readable_state,
    is_found_by_identity,
    literal,
    may_have_copies,
)
from wengert.errors import RefusedCallError
from wengert.recording.recording import Recording, users_line
from wengert.recording.slots import slot_of
from wengert.values.names import is_heap_type

_MOST_SHOWN = 8
"""How many of them a message shows at most."""
_FEWEST_FIXED = 4
"""How many constants and objects in a container one guard compares at least."""
DICTIONARIES = (dict, collections.defaultdict, collections.OrderedDict, collections.Counter)


def reader_of(value: Any) -> Any:
    """Return the function that reads a container as a whole; None for other values."""
    t = type(value)
    if t in (*LISTS, tuple, *DICTIONARIES):
        return _read_container
    if t is functools.partial:
        return _read_partial
    if t in (set, frozenset):
        return _read_set
    if t is types.MappingProxyType and type(value.copy()) in DICTIONARIES:
        return _read_proxy
    return _read_named_tuple if is_named_tuple(t) else None


def _read_container(reads: Any, value: Any, accessor: str) -> Any:
    """Read a list, tuple or dictionary; return the tuple with its traced items, else the container itself."""
    t = type(value)
    reads.add_guard(f"type({accessor}) is {t.__name__ if t in (list, tuple, dict) else reads.pin(t)}")
    if t is collections.deque:
        reads.add_guard(f"{accessor}.maxlen == {value.maxlen}")
    if t is collections.defaultdict:
        reads.read(value.default_factory, f"{accessor}.default_factory")
    if t in DICTIONARIES:
        items = _guard_keys(reads, value, accessor)
        if items is None:  # a guard that asked for a key would run code
            reads.known_objects[id(value)] = value, accessor
            read_held(reads, value, accessor, t)
            reads.swapped.put(value, value.copy())
            return value
    else:
        reads.add_guard(f"len({accessor}) == {len(value)}")
        items = {key: repr(key) for key in range(len(value))}
    if t is not tuple:
        reads.known_objects[id(value)] = value, accessor
    elif id(value) in reads.open_tuples:
        problem = f"wg.compile cannot read a tuple that contains itself ({reads.describe(accessor)})"
        raise reads.recording.refuse(RefusedCallError(f"{users_line()}: {problem}"))
    else:
        reads.open_tuples.add(id(value))
    fixed = _read_fixed(reads, value, accessor, items)
    parts = {
        key: fixed[key] if key in fixed else reads.read(value[key], f"{accessor}[{text}]")
        for key, text in items.items()
    }
    if t is not tuple:
        reads.swapped.put(value, [*parts.values()] if t in LISTS else parts)
        return value
    reads.open_tuples.discard(id(value))
    is_changed = any(part is not value[key] for key, part in parts.items())
    return reads.note_made(tuple(parts.values()) if is_changed else value, value)


def _read_fixed(reads: Any, value: Any, accessor: str, items: dict[Any, str]) -> dict[Any, Any]:
    """Guard the constants and objects in a container by one comparison, and return them by their keys."""
    fixed = {key: value[key] for key, text in items.items() if reads.is_fixed(value[key], f"{accessor}[{text}]")}
    if len(fixed) < _FEWEST_FIXED:
        return {}
    whole = f"{accessor}.values()" if type(value) in DICTIONARIES else accessor
    some = f"map({accessor}.__getitem__, {reads.pin([*fixed], 'some keys')})"
    _guard_objects(reads, [*fixed.values()], whole if len(fixed) == len(items) else some)
    for part in fixed.values():
        if not has_readable_state(part):
            reads.read(part, reads.pin(part))
    return fixed


def _guard_keys(reads: Any, value: dict[Any, Any], accessor: str) -> dict[Any, str] | None:
    """Guard the keys of a dictionary, and return their expressions; None if they cannot be compared."""
    if {*map(type, value)} <= {str, int}:
        reads.add_guard(f"len({accessor}) == {len(value)}")
        _guard_objects(reads, [*value], accessor)
    elif all([has_readable_state(key) or is_found_by_identity(key) for key in value]):
        reads.copyable.update({id(key): key for key in value if may_have_copies(key)})
        guard_held(reads, Held(tuple, (*value,)), f"(*{accessor},)")
    else:
        return None
    return {key: reads.constant(key) for key in value}


def _guard_objects(reads: Any, items: list[Any], accessor: str) -> None:
    """Guard constants and objects in their order, by one comparison."""
    reads.copyable.update({id(item): item for item in items if may_have_copies(item)})
    shown = [literal(item) or f"a {type(item).__name__}" for item in items[:_MOST_SHOWN]]
    text = f"[{', '.join([*shown, *['…'] * (len(items) > _MOST_SHOWN)])}]"
    reads.add_guard(f"{reads.pin(are_same)}({accessor}, {reads.pin(items, text)})")


def _read_set(reads: Any, value: Any, accessor: str) -> Any:
    t = type(value)
    read_held(reads, value, accessor, t)
    reads.copyable.update({id(item): item for item in value if may_have_copies(item)})
    if t is set:
        reads.shared[id(value)] = value, value, accessor
        reads.swapped.put(value, t(value))
    return value


def is_named_tuple(t: Any) -> bool:
    """Whether a class is a named tuple class, or a user class derived from one."""
    return issubclass(t, tuple) and hasattr(t, "_fields") and all(map(is_heap_type, t.__mro__[:-2]))


def _read_named_tuple(reads: Any, value: Any, accessor: str) -> Any:
    """Return a copy of a named tuple with its items replaced by their traced counterparts."""
    reads.add_guard(f"type({accessor}) is {reads.pin(type(value))}")
    reads.add_guard(f"tuple.__len__({accessor}) == {tuple.__len__(value)}")
    if type(value).__dictoffset__:
        reads.add_guard(f"not {accessor}.__dict__")
        if object.__getattribute__(value, "__dict__"):
            reads.give_up("it reads a named tuple with additional attributes", accessor)
    parts = [reads.read(item, f"tuple.__getitem__({accessor}, {k})") for k, item in enumerate(tuple.__iter__(value))]
    if all(a is b for a, b in zip(parts, tuple.__iter__(value), strict=True)):
        return value
    return reads.note_made(tuple.__new__(type(value), parts), value)


def _read_proxy(reads: Any, value: Any, accessor: str) -> Any:
    """Guard a read-only dictionary; give up on one with numbers, as a copy would not show what the code changes."""
    reads.add_guard(f"type({accessor}) is {reads.pin(types.MappingProxyType)}")
    keys = _guard_keys(reads, value, accessor)
    if keys is None or any(
        [reads.read(value[key], f"{accessor}[{text}]") is not value[key] for key, text in keys.items()]
    ):
        reads.give_up("it reads a read-only dictionary of numbers, or of keys that wengert cannot compare", accessor)
    return value


def _read_partial(reads: Any, value: Any, accessor: str) -> Any:
    """Return a copy of a partial function with its parts replaced by their traced counterparts."""
    if functools.partial.__reduce__(value)[2][3]:  # vars(value) would create the dictionary, which code can notice
        reads.give_up("it reads a functools.partial with additional attributes", accessor)
        return value
    reads.add_guard(f"type({accessor}) is {reads.pin(functools.partial)}")
    f = reads.read(value.func, f"{accessor}.func")
    args, keywords = reads.read(value.args, f"{accessor}.args"), reads.read(value.keywords, f"{accessor}.keywords")
    return reads.note_made(functools.partial(f, *args, **keywords), value)


class SwappedContainers:
    """The original contents of containers and defaults, restored when the trace ends."""

    def __init__(self) -> None:
        self._contents: list[
            tuple[Any, Any, Any]
        ] = []  # container, its original content, its content while the trace runs
        self._defaults: list[tuple[types.FunctionType, Any, Any]] = []

    def put(self, container: Any, items: Any) -> None:
        """Replace the items of a container, under the same keys, until `restore`."""
        self._contents.append((container, container.copy(), items))
        _set_items(container, items)

    def put_defaults(self, f: types.FunctionType, defaults: tuple[Any, ...]) -> None:
        """Replace the defaults of a function until `restore`."""
        self._defaults.append((f, f.__defaults__, defaults))
        f.__defaults__ = defaults

    def are_changed(self, recording: Recording) -> bool:
        """Whether user code has changed one of the containers since `put`; a derivative may have, while it is open."""
        same = functools.partial(_is_entered, recording)
        return not all([_is_unchanged(container, swapped, same) for container, _, swapped in self._contents])

    def as_they_are(self) -> dict[int, tuple[Any, Any]]:
        """Return each container as its own replacement, by id: the items in it are replaced when it is restored."""
        return {id(container): (container, container) for container, *_ in self._contents}

    def changed(self) -> list[tuple[Any, Any, Any]]:
        """Return the changed containers but sets, with their contents before the trace and when it began."""
        items = [found for found in self._contents if type(found[0]) is not set]
        return [found for found in items if not _is_unchanged(found[0], found[2])]

    def undo(self) -> None:
        """Have all containers as they were before the trace."""
        for container, original, swapped in self._contents:
            if type(container) is not set or container != swapped:  # a set filled again may have another order
                set_content(container, original)
        self._contents.clear()

    def restore(self, originals: dict[int, tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Restore all, and yield each changed container, with the items it had; its traced items are replaced."""
        while self._contents:
            container, original, swapped = self._contents[-1]
            if _is_unchanged(container, swapped):
                _set_items(container, original)
            else:
                yield container, swapped
                _restore_items(container, originals)
            self._contents.pop()
        while self._defaults:
            f, original, swapped = self._defaults[-1]
            f.__defaults__ = original if f.__defaults__ is swapped else f.__defaults__
            self._defaults.pop()


def _is_entered(recording: Recording, a: Any, b: Any) -> bool:
    """Whether a value is another one, or the input that replaces it in a derivative."""
    slot, source = (None, None) if a is b else (slot_of(recording, a), slot_of(recording, b))
    while slot is not None and slot != source:
        entry = recording.entries[slot]
        slot = entry[2][0] if entry is not None and entry[0].kind == "input" and entry[2] else None
    return a is b or slot is not None


def _is_unchanged(container: Any, items: Any, same: Callable[[Any, Any], bool] = operator.is_) -> bool:
    """Whether a container holds these very items, under the same keys in the same order; a set, equal ones."""
    if type(container) is set:
        return bool(container == items)
    if len(container) != len(items):
        return False
    if type(container) in LISTS:
        return all(map(same, container, items))
    return all(k is j and same(a, b) for (k, a), (j, b) in zip(container.items(), items.items(), strict=True))


def _set_items(container: Any, items: Any) -> None:
    """Replace the items of a list or dictionary, under the same keys; the hash of a key may run code."""
    if type(container) in LISTS:
        set_content(container, items)
    elif isinstance(container, dict):
        pairs = zip([*container.items()], items.values(), strict=True)
        set_items(container, {key: item for (key, own), item in pairs if own is not item})


def _restore_items(container: Any, originals: dict[int, tuple[Any, Any]]) -> None:
    """Replace the traced items of a changed container by their originals."""
    keys = range(len(container)) if type(container) in LISTS else [*container] if isinstance(container, dict) else ()
    for key in keys:
        container[key] = without_counters(container[key], originals)
