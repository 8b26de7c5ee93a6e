"""Guards on traced values on which C code branches: a key of a dictionary, an index, a count.

Each guard is recorded before the C code runs, since that may raise.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.search import find_traced
from wengert.recording.decisions import decided, exact, variables
from wengert.recording.identity import given, is_one
from wengert.recording.recording import STATE, OpenCounts, Recording, users_line
from wengert.recording.slots import slot_of

MAX_COMPARED_KEYS = 20  # keys that are compared in pairs, to guard which are equal
MAX_LISTED_KEYS = 1000  # keys that a guard may list; among more, the value of the key looked up is guarded
_NUMBER_KEYS = (int, float, complex, np.number, np.bool_)
HASH_CONTAINERS: tuple[type, ...] = (dict, set, frozenset, type({}.keys()), type({}.items()))
_PLAIN_KEYS = {int, bool, str, bytes, type(None)}
_BY_IDENTITY: Any = object.__hash__


def kept_recording() -> Recording | None:
    """Return this thread's recording if it is kept as a tape; else None."""
    recording = STATE.recording if OpenCounts.tapes else None
    return recording if recording is not None and recording.keep else None


def guard_reachable(*things: Any) -> None:
    """Guard every traced value reachable from these arguments, since C code branches on them."""
    recording = kept_recording()
    if recording is not None:
        found = find_traced(recording, things)
        exact(recording, found)
        if recording.reads is not None:
            recording.reads.asked_by_identity([given(recording, thing) for thing in found])


def guard_decisive(thing: Any) -> Any:
    """Guard a value on which C code is about to branch, and return it."""
    guard_reachable(thing)
    return thing


def guard_index(container: Any, key: Any) -> None:
    """Guard which item `container[key]` is, before it is read, set or deleted."""
    recording = kept_recording()
    if recording is None:
        return
    if issubclass(type(container), HASH_CONTAINERS):
        guard_lookup(recording, key, container)
    elif type(key) is slice:
        exact(recording, find_traced(recording, (key.start, key.stop, key.step)))
    elif type(key) is not int:
        exact(recording, find_traced(recording, (key,)))


def guard_lookup(recording: Recording, key: Any, keys: Any) -> None:
    """Guard which of these keys, if any, equals `key`, which is looked up."""
    if isinstance(keys, dict):
        keys = [*dict.__iter__(keys)]  # an OrderedDict itself would hash each key
    if _are_plain(recording, [key, *keys]):
        return
    if not issubclass(type(key), (*_NUMBER_KEYS, str, bytes, tuple)):
        if getattr(type(key), "__hash__", None) is not _BY_IDENTITY:
            exact(recording, find_traced(recording, (key, *keys)))
        return
    if variables(recording, (key,)) is None and issubclass(type(key), tuple):
        exact(recording, find_traced(recording, (key,)))  # the objects in it
    alike = [k for k in keys if issubclass(type(k), (*_NUMBER_KEYS, str, bytes, tuple))]
    for k in alike:
        if k is key:
            return
        if is_one(k, key):
            message = f"{users_line()}: two traced copies of one nan are two keys; untraced they are one. Use np.isnan."
            raise recording.refuse(RefusedCallError(message))
        if _is_traced_key(recording, k):
            decided(recording, operator.eq, (k, key), k == key)
    known = [k for k in alike if not _is_traced_key(recording, k)]
    hit = [k for k in known if k == key]
    if hit or len(known) > MAX_LISTED_KEYS:
        exact(recording, (key,))
    elif known:
        decided(recording, operator.contains, (tuple(known), key), False)


def guard_hashing(keys: Any) -> None:
    """Guard which of these keys are equal, before a set or dictionary takes them."""
    recording = kept_recording()
    if recording is None or all([type(key) is str and id(key) not in recording.origins for key in keys]):
        return
    if len(keys) > MAX_COMPARED_KEYS:
        exact(recording, find_traced(recording, keys))
        return
    for k, key in enumerate(keys):
        guard_lookup(recording, key, keys[:k])


def guard_set_order(items: Any) -> None:
    """Guard the order in which a set is iterated over."""
    if type(items) is set or type(items) is frozenset:
        guard_reachable(items)


def _are_plain(recording: Recording, keys: Sequence[Any]) -> bool:
    """Whether all keys are integers and strings that are not traced, or tuples of these; fast, for each lookup asks."""
    while tuple in (kinds := {*map(type, keys)}):
        keys = [*chain.from_iterable([key if type(key) is tuple else (key,) for key in keys])]
    return kinds <= _PLAIN_KEYS and recording.origins.keys().isdisjoint(map(id, keys))


def _is_traced_key(recording: Recording, key: Any) -> bool:
    if issubclass(type(key), (str, bytes)):
        return id(key) in recording.origins
    if issubclass(type(key), tuple):
        return any([_is_traced_key(recording, part) for part in key])
    return slot_of(recording, key) is not None
