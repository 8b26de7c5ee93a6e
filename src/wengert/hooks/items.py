"""The hooks of items, iteration, unpacking and contexts; the user's methods are traced."""

from __future__ import annotations

import collections
import operator
import types
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks import data_reads, foreign
from wengert.hooks.classes import as_traced, defines, python_method, require_primitive
from wengert.hooks.code_swap import CALLING_ITERATORS, prepare, swap_in_iterator
from wengert.hooks.foreign import NOT_FOREIGN
from wengert.hooks.integers import integer
from wengert.hooks.lookups import guard_hashing, guard_index, guard_reachable, guard_set_order
from wengert.hooks.readers import check_read, checked_items, is_reader, runs_unseen
from wengert.hooks.search import CARRIER_TYPES, WAITING_MODULES, may_wait_for_threads, opaque
from wengert.hooks.short_writes import store_entry
from wengert.hooks.standins.texts import octets
from wengert.hooks.writes import record_store, slot_of_key
from wengert.mutation.regions import read_at_key
from wengert.mutation.storage import Memory
from wengert.mutation.versions import NO_UPDATE, Storage
from wengert.recording.aliases import READERS, behind
from wengert.recording.caches import found
from wengert.recording.identity import found_by_identity
from wengert.recording.primitives import ShortForms
from wengert.recording.record import record_call
from wengert.recording.recording import C_ONLY_TYPES, MOST_SEARCHED, STATE, OpenCounts, Recording, users_line
from wengert.recording.shadow import SHADOW, WEAKLY_HELD_ABOVE, weak
from wengert.values.data_classes import READS
from wengert.values.keys import has_known_parts, has_plain_parts
from wengert.values.names import home_of, lookup
from wengert.values.sites import Site, UpdatingSite
from wengert.values.specs import CERTAIN, COMPLEX, FLOATS, Spec, is_certain, spec_of

_ITEMS = {list, tuple, dict, bytes, range}
_ndarray, _element_types = np.ndarray, (np.float64, np.complex128, np.float32)
_STORED_AT_ONCE = FLOATS | {_ndarray, np.float32}


def get_item(key: Any, container: Any, site: Site | None) -> Any:
    """`container[key]`."""
    t = type(container)
    if t is _ndarray:
        slot, kind = SHADOW.get(id(container)), type(key)
        if OpenCounts.tapes and (recording := STATE.recording) is not None and recording.keep:
            STATE.site = site
            if slot_of_key(recording, key) is not None:
                return _get_item_slowly(container, key)
        if slot is None and t in C_ONLY_TYPES:
            if id(key) not in SHADOW:
                return container[key]
        elif (recording := STATE.fast) is not None and (
            kind is int or (has_plain_parts(key) if kind is slice else _is_short(key))
        ):
            return _get_part(recording, container, key, slot, site)
    elif t in _ITEMS:
        if OpenCounts.tapes:
            STATE.site = site
            guard_index(container, key)
            if t is bytes:
                guard_reachable(container)
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
    STATE.site = site
    return _get_item_slowly(container, key)


def _get_part(recording: Recording, array: np.ndarray, key: Any, slot: int | None, site: Site | None) -> Any:
    """Do `array[key]` by a short path, for an untraced key of known parts; `slot` is that of the shadow table."""
    memory: Memory = recording.memory  # type: ignore[assignment]
    owner = array if (base := array.base) is None else base
    storage = memory.storages.get(id(owner))
    if storage is None and type(owner) is _ndarray and owner.base is None and not memory.holds_objects:
        value = array[key]  # of memory that was not written
        return value if slot is None else _record_item(recording, array, key, value, slot, site, True)
    if storage is not None and storage.slot is not None and not (OpenCounts.tapes or memory.has_lent):
        value = array[key]
        kind = type(value)
        if kind is _ndarray and value.base is array is owner:
            shape = array.shape
            if type(site) is UpdatingSite:
                memory.update = value, key, shape, shape, storage, storage.stamp
            elif value.shape == shape:
                storage.note_key(value, key, shape)
            else:
                STATE.site = site
                storage.add_view(value, read_at_key(recording, value, storage.slot, storage.spec, key), key, shape)
            return value
        if owner is not array or kind not in _element_types:
            return _read_written(recording, storage, owner, array, key, value, site)
        slot = len(recording.entries)
        recording.entries.append((ShortForms.item, value, (storage.slot, None), (storage.spec, key), None, site))
        SHADOW[id(value)] = slot
        return value
    if memory.holds_objects and array.dtype.char in "OV":
        STATE.site = site
        return _get_item_slowly(array, key)
    if memory.storages:
        STATE.site = site
        slot = memory.slot(array)
    value = array[key]
    return value if slot is None else _record_item(recording, array, key, value, slot, site)


def _read_written(
    recording: Recording,
    storage: Storage,
    owner: np.ndarray,
    array: np.ndarray,
    key: Any,
    value: Any,
    site: Site | None,
) -> Any:
    """Return `value`, the part `array[key]` of written memory, on no tape; a view of a view is recorded later."""
    memory: Memory = recording.memory  # type: ignore[assignment]
    kind, where = type(value), key
    if array is not owner:
        where = None if memory.lent.overwritten or storage.shows(array) else storage.key_within(array, key, owner)
    if where is not None and kind is _ndarray and value.base is owner:
        if type(site) is UpdatingSite:
            memory.update = value, where, array.shape, owner.shape, storage, storage.stamp
        else:
            storage.note_key(value, where, owner.shape)
        return value
    STATE.site = site
    if where is None or kind not in _RECORDED:
        slot = memory.slot(array)
        return value if slot is None else _record_item(recording, array, key, value, slot, site)
    if kind in _element_types:
        read_at_key(recording, value, storage.slot, storage.spec, where)
        return value
    if value.base is not None:
        return record_call(require_primitive(operator.getitem), (array, key), {})
    where = memory.capture(key)
    read_at_key(recording, value, storage.slot, storage.spec, where)
    if type(site) is UpdatingSite:
        memory.update = value, where, array.shape, owner.shape, storage, storage.stamp
    return value


def _record_item(
    recording: Recording, array: np.ndarray, key: Any, value: Any, slot: int, site: Site | None, is_apart: bool = False
) -> Any:
    """Record that `array[key]`, by an untraced key, is `value`, and return it; the array is at this slot.

    `is_apart`: the array's memory is NumPy's, and was not written.
    """
    memory: Memory = recording.memory  # type: ignore[assignment]
    entries, kind = recording.entries, type(value)
    base = value.base if kind is _ndarray else None
    is_odd = kind not in _RECORDED if base is None else not (is_apart or base is array or base is array.base)
    spec = None if is_odd or recording.inert else recording.specs.get(slot) or _first_spec(recording, array, slot)
    if spec is None:
        STATE.site = site
        return record_call(require_primitive(operator.getitem), (array, key), {})
    kept, kept_key = value, key
    if kind is _ndarray:
        if base is None:
            kept_key = memory.capture(key)
        if value.nbytes > WEAKLY_HELD_ABOVE and not recording.keeps_results:
            kept = weak(value)
    new_slot = len(entries)
    entries.append((ShortForms.item, kept, (slot, None), (array if recording.keep else spec, kept_key), None, site))
    SHADOW[id(value)] = new_slot
    if base is not None:
        if not is_apart and memory.storages:
            plain = type(base) is _ndarray and base.base is None and not memory.holds_objects  # it owns the memory
            if not plain or id(base) in memory.storages:
                memory.add_view(value, new_slot)
        if memory.has_lent and memory.lent.shows(array):
            memory.lent.note(value)
    return value


def _first_spec(recording: Recording, array: np.ndarray, slot: int) -> Spec | None:
    """Keep and return the Spec of an array that is read at a key for the first time; None if it has no floats."""
    spec = recording.specs[slot] = spec_of(array) if array.dtype.kind in "fc" else None
    return spec


_RECORDED = {*_element_types, np.ndarray}


def _is_short(key: Any) -> bool:
    """Whether `_record_item` may record a read at this key; on a tape, integers in a tuple or array may be traced."""
    if OpenCounts.tapes:
        return type(key) is not tuple and has_plain_parts(key)
    return has_plain_parts(key) or has_known_parts(key)


def _get_item_slowly(container: Any, key: Any) -> Any:
    """Do `container[key]` where no short path applies: for the user's class, a C object, or recorded."""
    t = type(container)
    if t in READS and (value := data_reads.read_by(container, "__getitem__", (key,))) is not data_reads.NOT_READ:
        return value
    if python_method(t, "__getitem__") is not None:
        return container[key]
    recording = STATE.recording
    if OpenCounts.tapes and not issubclass(t, (np.ndarray, np.generic)):
        guard_index(container, key)
    value = NOT_FOREIGN if recording is None else foreign.item(recording, container, key)
    if value is not NOT_FOREIGN:
        return value
    if issubclass(t, type):
        prepare(container)
    if recording is not None and issubclass(t, READERS):
        check_read(recording, container)
    if recording is None or not issubclass(t, (np.ndarray, np.generic)):
        return dict_item(container, key) if issubclass(t, dict) and t is not dict else container[key]
    return record_call(require_primitive(operator.getitem), (container, integer(key)), {})


def dict_item(container: Any, key: Any) -> Any:
    """Do `dict.__getitem__(container, key)`; the method that returns missing items is traced."""
    t = type(container)
    if dict.__contains__(container, key):
        found(container, key)
    elif isinstance(container, collections.defaultdict) and lookup(t, "__missing__") is _DEFAULTDICT_MISSING:
        return default_item(container, key)
    return dict.__getitem__(container, key)


_DEFAULTDICT_MISSING = vars(collections.defaultdict)["__missing__"]


def default_item(container: Any, key: Any) -> Any:
    """`collections.defaultdict.__missing__(container, key)`."""
    factory = container.default_factory
    if factory is None:
        raise KeyError(key)
    value = container[key] = as_traced(factory)()
    return value


def set_item(container: Any, key: Any, value: Any, site: Site | None) -> None:
    """`container[key] = value`."""
    t = type(container)
    if t is _ndarray and not OpenCounts.tapes:
        recording, kind = STATE.recording, type(value)
        if recording is not None and (kind in _STORED_AT_ONCE or (kind in COMPLEX and container.dtype.char == "D")):
            memory: Memory = recording.memory  # type: ignore[assignment]
            update: Any = memory.update
            if kind is _ndarray and value is update[0] and container.shape == update[2]:
                if value.base is not None:  # a view: nothing changes
                    memory.update = NO_UPDATE
                    container[key] = value
                    return
                if update[4] is None:  # its store is recorded already
                    memory.update = NO_UPDATE
                    memory.unfinished += 1
                    container[key] = value
                    memory.unfinished -= 1
                    return
            if store_entry(memory, container, key, value, site):
                return
        STATE.site = site
        record_store(container, integer(key), value)
        return
    if OpenCounts.tapes:
        STATE.site = site
        if python_method(t, "__setitem__") is None and not issubclass(t, np.ndarray):
            guard_index(container, key)
    if t is dict or (t is list and type(key) is not slice):
        container[key] = value
        if len(container) > MOST_SEARCHED and id(value) in SHADOW and STATE.recording is not None:
            STATE.recording.crowded[id(container)] = container
        return
    STATE.site = site
    if python_method(t, "__setitem__") is not None:
        container[key] = value
    elif issubclass(t, np.ndarray):
        record_store(container, integer(key), value)
    elif type(key) is slice and issubclass(t, list):
        container[key] = iterable(value, site)
    elif STATE.recording is None or issubclass(t, CARRIER_TYPES) or not hasattr(t, "__setitem__"):
        container[key] = value  # or a TypeError
    elif not foreign.store(STATE.recording, container, key, value):
        opaque(STATE.recording, operator.setitem, (container, key, value), {}, standin=_refuse_store)


def _refuse_store(container: Any, key: Any, value: Any) -> NoReturn:
    """Refuse to store a traced value in memory that is not NumPy's: reads of it are not traced."""
    assert STATE.recording is not None
    raise STATE.recording.refuse(
        RefusedCallError(
            f"{users_line()}: a traced value is stored in memory of type {type(container).__name__}, which wengert "
            "cannot trace. Use a list, or a NumPy array: np.zeros(n)."
        )
    )


def delete_item(key: Any, container: Any, site: Site | None) -> None:
    """`del container[key]`."""
    STATE.site = site
    if python_method(type(container), "__delitem__") is None:
        guard_index(container, key)
    del container[key]


def iterable(obj: Any, site: Site | None) -> Any:
    """Return the iterable for the interpreter: the object itself, or an iterator that records its items."""
    t = type(obj)
    if t in (list, tuple, dict, set, range, types.GeneratorType):
        if OpenCounts.tapes:
            guard_set_order(obj)
        if t is types.GeneratorType and runs_unseen(obj):
            STATE.site = site
            return checked_items(obj)
        return obj
    if t is frozenset and OpenCounts.tapes:
        guard_set_order(obj)
    if issubclass(t, np.ndarray) and obj.ndim and STATE.recording is not None:
        return array_items(obj, site)
    recording = STATE.recording
    if t is not str and t is not bytes:
        STATE.site = site
    items = NOT_FOREIGN if recording is None else foreign.iterate_over(recording, obj)
    if items is not NOT_FOREIGN:
        return items
    if t in READS and recording is not None and recording.reads is None:
        items = data_reads.read_by(obj, "__iter__", ())
        if items is not data_reads.NOT_READ:
            return items
    if recording is not None and t is np.broadcast and id(obj) in recording.caches.get(np.broadcast, ()):
        raise recording.refuse(
            RefusedCallError(
                f"{site}: iterating over {t.__name__} yields copies that cannot be traced. Iterate over the array."
            )
        )
    if recording is not None and t in CALLING_ITERATORS:
        swap_in_iterator(obj)
    if recording is not None and is_reader(obj) and behind(obj):
        return checked_items(obj)
    return _iterate_and_wait(obj) if may_wait_for_threads(python_method(t, "__next__")) else obj


def each_item(obj: Any) -> Iterator[Any]:
    """Yield the items of an object, one by one."""
    yield from iterable(obj, STATE.site)


def gathered(obj: Any) -> list[Any]:
    """Return the items of an object in a list. A trace that looks for loops sees the list grow."""
    items, found = iterable(obj, STATE.site), list[Any]()
    if type(items) is not types.GeneratorType:
        return list(items)
    for item in items:  # C code would hide the list
        found.append(item)
    return found


def _iterate_and_wait(iterator: Any) -> Iterator[Any]:
    """Yield the items of an iterator that waits for other threads; each step releases this thread's turn."""
    while True:
        try:
            item = as_traced(iterator.__next__)()
        except StopIteration:
            return
        yield item


def array_items(array: np.ndarray, site: Site | None) -> Iterator[Any]:
    """Yield the items of an array along its first axis, each recorded."""
    recording = STATE.recording
    rounded = recording is not None and id(array) in recording.rounded
    for i in range(len(array)):
        item = get_item(i, array, site)
        if rounded:
            recording.rounded[id(item)] = item  # type: ignore[union-attr]
        yield item


class InterpreterWrapper:
    """A wrapper that the interpreter gets in place of an object."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it


class UnpackedMapping(InterpreterWrapper):
    """A mapping that `**` unpacks; its keys may be an array."""

    __slots__ = ()

    def keys(self) -> Any:
        return iterable(self.it.keys(), STATE.site)

    def __getitem__(self, key: Any) -> Any:
        return self.it[key]


def mapping(obj: Any, site: Site | None) -> Any:
    """Return the mapping that `**` unpacks in place of an object."""
    t = type(obj)
    if OpenCounts.tapes and issubclass(t, dict):
        guard_reachable(*dict.keys(obj))
    if python_method(t, "keys") is None or lookup(t, "__iter__") is _OF_DICT:  # CPython ignores its methods
        return obj
    STATE.site = site
    return UnpackedMapping(obj)


_OF_DICT = vars(dict)["__iter__"]


def dict_argument(obj: Any, site: Site | None) -> Any:
    """Return the argument for `dict`: a mapping if the object has keys, else an iterable of pairs."""
    return mapping(obj, site) if defines(type(obj), "keys") else iterable(obj, site)


class EnteredContext(InterpreterWrapper):
    """A context manager whose methods are traced."""

    __slots__ = ()

    def __enter__(self) -> Any:
        return as_traced(self.it.__enter__)()

    def __exit__(self, *error: Any) -> Any:
        return as_traced(self.it.__exit__)(*error)


def context(manager: Any, site: Site | None) -> Any:
    """Return the context manager for `with`; wrap it if its methods must be traced.

    They must be if they wait for other threads, or decide which errors and warnings are raised.
    """
    STATE.site = site
    t = type(manager)
    prepare(t)
    return EnteredContext(manager) if any([_has_entered_methods(base) for base in t.__mro__]) else manager


def _has_entered_methods(t: type) -> bool:
    """Whether the methods of a context manager of this class must be traced."""
    return t in ERROR_CONTEXTS or home_of(t).partition(".")[0] in WAITING_MODULES


ERROR_CONTEXTS = {np.errstate, warnings.catch_warnings}


def make_set(items: tuple[Any, ...], site: Site | None) -> set[Any]:
    """`{a, b}`."""
    if OpenCounts.tapes:
        STATE.site = site
        guard_hashing(items)
    return set(items)


def build_dict(items: tuple[Any, ...], site: Site | None) -> dict[Any, Any]:
    """`{a: b, c: d}`, passed as keys and values in turn."""
    if OpenCounts.tapes:
        STATE.site = site
        guard_hashing(items[::2])
    return dict(zip(items[::2], items[1::2], strict=True))


def guard_pattern_keys(keys: tuple[Any, ...], subject: Any, site: Site | None) -> None:
    """The hook of a mapping pattern, which is about to look up these keys: guard which items they are."""
    prepare(type(subject))
    if OpenCounts.tapes:
        STATE.site = site
        for key in keys:
            guard_index(subject, key)


def guard_added_key(key: Any, site: Site | None) -> Any:
    """Guard an item that a comprehension adds to a set, or a key that it adds to a dictionary, and return it."""
    if OpenCounts.tapes:
        STATE.site = site
        guard_reachable(key)
    return key


def guard_added_items(items: Any, site: Site | None) -> Any:
    """Guard items that are added to a set one by one, and return them."""
    if not OpenCounts.tapes:
        return items
    STATE.site = site
    items = list(items)
    guard_reachable(*items)
    return items
