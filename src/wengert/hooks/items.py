"""Items, iteration, unpacking and contexts, entering the user's methods."""

from __future__ import annotations

import collections
import io
import operator
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import bind, constant, defines, enter, lookup, python_method
from wengert.hooks.flat_iterators import assign_flat, flat_items, read_flat
from wengert.hooks.lookups import hashed, in_hash_order, indexed, told
from wengert.hooks.readers import check_read, is_reader, read, runs_unseen
from wengert.hooks.search import CARRIER_TYPES, WAITING, opaque, remember
from wengert.hooks.standins.texts import characters, lines, octets
from wengert.hooks.writes import record_store, slot_of_key
from wengert.recording.aliases import READERS, behind
from wengert.recording.caches import found
from wengert.recording.identity import found_by_identity
from wengert.recording.record import record_call
from wengert.recording.recording import FEW, PLAIN, STATE, Modes
from wengert.recording.shadow import SHADOW, held
from wengert.values.sites import Site
from wengert.values.specs import CERTAIN, is_certain, spec_of

_ITEMS = {list, tuple, dict, bytes, range}


def getitem(key: Any, container: Any, site: Site | None) -> Any:
    """`container[key]`."""
    t = type(container)
    if t in _ITEMS:
        if Modes.guarding:
            STATE.site = site
            indexed(container, key)
            if t is bytes:
                told(container)
        if t is bytes and STATE.recording is not None and STATE.recording.texts:
            STATE.site = site
            octets(container)
        if t is not dict or (type(key) in CERTAIN and is_certain(key)):
            return container[key]
        if type(key) is float and key != key:
            STATE.site = site
            key = found_by_identity(key, container)
        value = container[key]
        if type(key) is not str or (STATE.recording is not None and STATE.recording.texts):
            STATE.site = site
            found(container, key)
        return value
    if t is np.ndarray:
        if Modes.guarding and STATE.recording is not None and STATE.recording.keep:
            STATE.site = site
            if slot_of_key(STATE.recording, key) is not None:
                return _subscript(container, key)
        slot = SHADOW.get(id(container))
        if t in PLAIN:
            if slot is None and id(key) not in SHADOW:
                return container[key]
            if slot is not None and type(key) in _BASIC and STATE.quick is not None:
                return _record_item(container, key, slot, site)
        elif type(key) in _BASIC and STATE.quick is not None:
            STATE.site = site
            slot = STATE.recording.memory.slot(container)  # type: ignore[union-attr]
            return container[key] if slot is None else _record_item(container, key, slot, site)
    STATE.site = site
    return _subscript(container, key)


def _record_item(container: np.ndarray, key: Any, slot: int, site: Site | None) -> Any:
    """Record an integer or slice of an array whose memory has not been written."""
    value = container[key]
    recording = STATE.recording
    assert recording is not None
    entries = recording.entries
    strong = recording.keep or type(value) is not np.ndarray
    if (
        (strong and type(value) is not np.float64 and type(value) is not np.ndarray)
        or container.dtype.kind not in "fc"
        or (recording.inert)
    ):
        STATE.site = site
        return record_call(constant(operator.getitem), (container, key), {})
    kept = recording.specs.get(slot)
    if kept is None:
        kept = recording.specs[slot] = spec_of(container)
    entry = Quick.item, held(value, strong), (slot, None), (container if recording.keep else kept, key), None, site
    place = len(entries)
    entries.append(entry)
    SHADOW[id(value)] = place
    if type(value) is np.ndarray:
        if recording.memory.storages:
            recording.memory.add_view(value, place)
        if recording.memory.lent and recording.memory.lent.shows(container):
            recording.memory.lent.note(value)
    return value


_BASIC = {int, slice}


def _subscript(container: Any, key: Any) -> Any:
    t = type(container)
    method = python_method(t, "__getitem__")
    if method is not None:
        return bind(method, container)(key)
    recording = STATE.recording
    if Modes.guarding and not issubclass(t, (np.ndarray, np.generic)):
        indexed(container, key)
    if t is str:
        return (
            container[key]
            if recording is None
            else remember(recording, container[key], (container, key), operator.getitem)
        )
    if t is np.flatiter and recording is not None and recording.memory.is_traced(container.base):
        return read_flat(container.base, key)
    by_class = getattr(container, "__class_getitem__", None) if issubclass(t, type) else None
    if type(by_class) is types.MethodType:
        return enter(by_class)(key)
    if recording is not None and issubclass(t, READERS):
        check_read(recording, container)
    if recording is None or not issubclass(t, (np.ndarray, np.generic)):
        return dict_item(container, key) if issubclass(t, dict) and t is not dict else container[key]
    return record_call(constant(operator.getitem), (container, key), {})


def dict_item(container: Any, key: Any) -> Any:
    """`dict.__getitem__(container, key)`, entering what gives a missing item."""
    t = type(container)
    if dict.__contains__(container, key):
        found(container, key)
    else:
        missing = python_method(t, "__missing__")
        if missing is not None:
            return bind(missing, container)(key)
        if issubclass(t, collections.defaultdict) and container.default_factory is not None:
            return default_item(container, key)
    return dict.__getitem__(container, key)


def default_item(container: Any, key: Any) -> Any:
    """`collections.defaultdict.__missing__(container, key)`."""
    factory = container.default_factory
    if factory is None:
        raise KeyError(key)
    value = container[key] = enter(factory)()
    return value


def setitem(container: Any, key: Any, value: Any, site: Site | None) -> None:
    """`container[key] = value`."""
    t = type(container)
    if Modes.guarding:
        STATE.site = site
        if python_method(t, "__setitem__") is None and not issubclass(t, np.ndarray):
            indexed(container, key)
    if t is dict or (t is list and type(key) is not slice):
        container[key] = value
        if len(container) > FEW and id(value) in SHADOW and STATE.recording is not None:
            STATE.recording.crowded[id(container)] = container
        return
    STATE.site = site
    if issubclass(t, np.ndarray) and python_method(t, "__setitem__") is None:
        record_store(container, key, value)
        return
    method = python_method(t, "__setitem__")
    if method is not None:
        bind(method, container)(key, value)
    elif type(key) is slice and issubclass(t, list):
        container[key] = iterable(value, site)
    elif STATE.recording is None or issubclass(t, CARRIER_TYPES) or not hasattr(t, "__setitem__"):
        container[key] = value  # or a TypeError
    elif t is np.flatiter:
        assign_flat(container.base, key, value)
    else:
        opaque(STATE.recording, operator.setitem, (container, key, value), {})


def delitem(key: Any, container: Any, site: Site | None) -> None:
    """`del container[key]`."""
    STATE.site = site
    method = python_method(type(container), "__delitem__")
    if method is not None:
        bind(method, container)(key)
    else:
        indexed(container, key)
        del container[key]


def iterable(obj: Any, site: Site | None) -> Any:
    """What the interpreter may iterate over itself: the object, or an iterator that records what it gives."""
    t = type(obj)
    if t in (list, tuple, dict, set, range, types.GeneratorType):
        if Modes.guarding:
            in_hash_order(obj)
        return read(obj) if t is types.GeneratorType and runs_unseen(obj) else obj
    if t is str or t is bytes:
        return characters(obj)
    if t is frozenset and Modes.guarding:
        in_hash_order(obj)
    if issubclass(t, np.ndarray) and obj.ndim and STATE.recording is not None:
        return _items(obj, site)
    STATE.site = site
    if t is np.flatiter and STATE.recording is not None:
        return flat_items(obj)
    if t is np.broadcast and STATE.recording is not None and id(obj) in STATE.recording.caches.get(np.broadcast, ()):
        raise STATE.recording.refuse(
            RefusedCallError(
                f"{site}: iterating over {t.__name__} gives copies that cannot be followed. Iterate over the array."
            )
        )
    if STATE.recording is not None and is_reader(obj) and behind(obj):
        return read(obj)
    if issubclass(t, io.StringIO):
        return lines(obj)
    made = iterator(obj)
    return obj if made is obj and not defines(t, "__iter__") else drive(made)


def iterator(obj: Any) -> Any:
    """`iter(obj)`, or the object where that runs no code of the user's and may be left to the interpreter."""
    t = type(obj)
    method = python_method(t, "__iter__")
    if method is not None:
        made = bind(method, obj)()
        if lookup(type(made), "__next__") is None:
            raise TypeError(f"iter() returned non-iterator of type {type(made).__name__!r}")
        return made
    if not defines(t, "__iter__") and python_method(t, "__getitem__") is not None:
        return iter(Sequence(obj))
    return obj


def _items(array: np.ndarray, site: Site | None) -> Iterator[Any]:
    recording = STATE.recording
    rounded = recording is not None and id(array) in recording.rounded
    for i in range(len(array)):
        item = getitem(i, array, site)
        if rounded:
            recording.rounded[id(item)] = item  # type: ignore[union-attr]
        yield item


def drive(iterator: Any) -> Any:
    """An iterator that the interpreter may step itself."""
    return iterator if python_method(type(iterator), "__next__") is None else Stepped(iterator)


class Entered:
    """A method of what stands for an object: that of the object, entered. It adds no frame to the call."""

    __slots__ = ("name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, stand: Any, owner: type) -> Any:
        return bind(lookup(type(stand.it), self.name), stand.it)


class Stand:
    """Given to the interpreter in place of an object, so that it enters the object's methods."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __reduce__(self) -> Any:
        return itself, (self.it,)


def itself(obj: Any) -> Any:
    """What a pickled stand-in is when it is read again."""
    return obj


class Stepped(Stand):
    """An iterator; `yield from` may also send to it and throw into it."""

    __slots__ = ()
    __next__ = Entered()

    def __iter__(self) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return enter(getattr(self.it, name))


class Sequence(Stand):
    """An object that is iterated over by index."""

    __slots__ = ()
    __getitem__ = Entered()
    __len__ = Entered()


class Iterated(Stand):
    """An iterable that the interpreter asks for its iterator later."""

    __slots__ = ()

    def __iter__(self) -> Any:
        return iter(iterable(self.it, STATE.site))


class Mapping(Stand):
    """A mapping that is unpacked."""

    __slots__ = ()
    __getitem__ = Entered()

    def keys(self) -> Any:
        return iterable(bind(lookup(type(self.it), "keys"), self.it)(), STATE.site)


def mapping(obj: Any, site: Site | None) -> Any:
    """What `**` may unpack itself."""
    t = type(obj)
    if Modes.guarding and issubclass(t, dict):
        told(*dict.keys(obj))
    if t is dict or not defines(t, "keys"):
        return obj
    if issubclass(t, dict) and lookup(t, "__iter__") is lookup(dict, "__iter__"):  # read past its methods
        return obj
    if python_method(t, "keys") is None and python_method(t, "__getitem__") is None:
        return obj
    STATE.site = site
    return Mapping(obj)


def pairs(obj: Any, site: Site | None) -> Any:
    """What `dict` may be made from: a mapping, or pairs."""
    return mapping(obj, site) if defines(type(obj), "keys") else iterable(obj, site)


class Managed(Stand):
    """A context manager whose methods are entered."""

    __slots__ = ()
    __enter__ = Entered()
    __exit__ = Entered()


def context(manager: Any, site: Site | None) -> Any:
    """What `with` is given."""
    STATE.site = site
    t = type(manager)
    written = python_method(t, "__enter__") is not None and lookup(t, "__exit__") is not None
    return Managed(manager) if written or t.__module__ in WAITING else manager


def build_set(items: tuple[Any, ...], site: Site | None) -> set[Any]:
    """`{a, b}`."""
    if Modes.guarding:
        STATE.site = site
        hashed(items)
    return set(items)


def build_map(items: tuple[Any, ...], site: Site | None) -> dict[Any, Any]:
    """`{a: b, c: d}`, given as keys and values in turn."""
    if Modes.guarding:
        STATE.site = site
        hashed(items[::2])
    return dict(zip(items[::2], items[1::2], strict=True))


def match_keys(keys: tuple[Any, ...], subject: Any, site: Site | None) -> None:
    """A pattern of a mapping is about to look for these keys."""
    if Modes.guarding:
        STATE.site = site
        for key in keys:
            indexed(subject, key)


def added(key: Any, site: Site | None) -> Any:
    """What a comprehension adds to a set, or as a key to a dictionary."""
    if Modes.guarding:
        STATE.site = site
        told(key)
    return key


def added_all(items: Any, site: Site | None) -> Any:
    """What is added to a set one by one."""
    if not Modes.guarding:
        return items
    STATE.site = site
    items = list(items)
    told(*items)
    return items


class Quick:
    """The forms of call that the hooks write down themselves."""

    item: Any = None
