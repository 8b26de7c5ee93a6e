"""Guards on traced values by which C code decides: a key of a dictionary, an index, a count.

Each guard is recorded before the C code runs, since that may raise.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.search import LIMIT, TooLarge, traced_in
from wengert.recording.decisions import decided, exact, variables
from wengert.recording.identity import given, is_one
from wengert.recording.recording import STATE, Modes, Recording, here
from wengert.recording.slots import slot_of

FEW = 20  # keys that are compared with each other, to guard which are equal
MANY = 1000  # keys that a guard may list; among more, the one looked up is guarded itself
_NUMBERS = (int, float, complex, np.number, np.bool_)
HASHED: tuple[type, ...] = (dict, set, frozenset, type({}.keys()), type({}.items()))
_BY_IDENTITY: Any = object.__hash__


def tape() -> Recording | None:
    """This thread's recording if it is kept as a tape; else None."""
    recording = STATE.recording if Modes.guarding else None
    return recording if recording is not None and recording.keep else None


def told(*things: Any) -> None:
    """Guard every traced value reachable from these arguments, since C code branches on them."""
    recording = tape()
    if recording is not None:
        found = within(recording, things)
        exact(recording, found)
        if recording.reads is not None:
            recording.reads.asked_by_identity([given(recording, thing) for thing in found])


def decisive(thing: Any) -> Any:
    """Guard a value by which C code is about to decide, and return it."""
    told(thing)
    return thing


def within(recording: Recording, things: Iterable[Any]) -> list[Any]:
    """Find the reachable traced values. Errors: RefusedCallError if there are too many objects to search."""
    try:
        return traced_in(recording, things)
    except TooLarge:
        raise recording.refuse(
            RefusedCallError(
                f"{here()}: C code decides by an object that reaches more than {LIMIT} others, too many to search for "
                "traced values, so that a tape might go another way unnoticed."
            )
        ) from None


def indexed(container: Any, key: Any) -> None:
    """Guard which item `container[key]` is, before it is read, set or deleted."""
    recording = tape()
    if recording is None:
        return
    if issubclass(type(container), HASHED):
        looked_up(recording, key, container)
    elif type(key) is slice:
        exact(recording, within(recording, (key.start, key.stop, key.step)))
    elif type(key) is not int:
        exact(recording, within(recording, (key,)))


def looked_up(recording: Recording, key: Any, keys: Any) -> None:
    """Guard which of these keys, if any, equals the one that is looked up."""
    if isinstance(keys, dict):
        keys = [*dict.__iter__(keys)]  # an OrderedDict itself would ask for the hash of each
    if type(key) is int or type(key) is str or type(key) is bytes:
        if id(key) not in recording.origins and not any([_is_traced(recording, k) for k in keys]):
            return
    elif not issubclass(type(key), (*_NUMBERS, str, bytes, tuple)):
        if getattr(type(key), "__hash__", None) is not _BY_IDENTITY:
            exact(recording, within(recording, (key, *keys)))
        return
    if variables(recording, (key,)) is None and issubclass(type(key), tuple):
        exact(recording, within(recording, (key,)))  # of objects in it
    alike = [k for k in keys if issubclass(type(k), (*_NUMBERS, str, bytes, tuple))]
    for k in alike:
        if k is key:
            return
        if is_one(k, key):
            words = f"{here()}: two names of one nan are keys, which is one key outside of the trace. Ask np.isnan."
            raise recording.refuse(RefusedCallError(words))
        if _is_traced(recording, k):
            decided(recording, operator.eq, (k, key), k == key)
    known = [k for k in alike if not _is_traced(recording, k)]
    hit = [k for k in known if k == key]
    if hit or len(known) > MANY:
        exact(recording, (key,))
    elif known:
        decided(recording, operator.contains, (tuple(known), key), False)


def hashed(keys: Any) -> None:
    """Guard which of these keys are equal, as a set or dictionary finds out that takes them in."""
    recording = tape()
    if recording is None or all([type(key) is str and id(key) not in recording.origins for key in keys]):
        return
    if len(keys) > FEW:
        exact(recording, within(recording, keys))
        return
    for place, key in enumerate(keys):
        looked_up(recording, key, keys[:place])


def in_hash_order(items: Any) -> None:
    """Guard the order in which a set is iterated over."""
    if type(items) is set or type(items) is frozenset:
        told(items)


def _is_traced(recording: Recording, key: Any) -> bool:
    if issubclass(type(key), (str, bytes)):
        return id(key) in recording.origins
    if issubclass(type(key), tuple):
        return any([_is_traced(recording, part) for part in key])
    return slot_of(recording, key) is not None
