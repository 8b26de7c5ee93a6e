"""`is`: a fresh object answers for the caller's object that it stands for, so that identities are as untraced.

Numbers and arrays are entered as fresh objects, and results are made new, so that variables are their own. Asked for
their identity, they answer as untraced. Where that is with an object that the function keeps, a cache may decide by it:
a warning says so.
"""

from __future__ import annotations

import collections
import functools
import operator
import types
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording import layout
from wengert.recording.caches import recognised
from wengert.recording.decisions import decided, exact
from wengert.recording.recording import STATE, OpenCounts, Recording, users_line
from wengert.recording.slots import slot_of
from wengert.values.sites import Site

MADE_ANEW = (float, complex, np.inexact, np.ndarray, tuple, types.MethodType, functools.partial)
"""Types that are copied when a trace enters them, or hold what is copied and have no identity of their own."""


def given(recording: Recording, thing: Any) -> Any:
    """Return the caller's object that `thing` replaces, or the thing itself."""
    for level in reversed(recording.levels):
        thing = _chosen(recording, thing)
        if level.swaps is not None:
            thing = level.swaps.given(thing)
    return _chosen(recording, thing)


def is_one(a: Any, b: Any) -> bool:
    """Whether two values are one object, as containers test before `==`; a watching trace notes the test."""
    recording = STATE.recording
    if OpenCounts.tapes:
        layout.sameness_asked(a, b)
    reads = None if a is b or recording is None else recording.reads
    if reads is None:
        return a is b
    return reads.are_one(given(recording, a), given(recording, b))  # type: ignore[arg-type]


def found_by_identity(thing: Any, container: Any) -> Any:
    """Return the object by which a container finds a nan, which equals nothing: the one that it replaces.

    Errors: RefusedCallError on a tape, which could not tell another nan from it.
    """
    recording = STATE.recording
    if recording is None or type(container) not in SEARCHED or any([item is thing for item in container]):
        return thing
    if recording.reads is not None:
        return next((item for item in container if type(item) in NUMBERS and is_one(item, thing)), thing)
    outside = given(recording, thing)
    same = [item for item in container if type(item) in NUMBERS and given(recording, item) is outside]
    if same and recording.keep:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: a container finds a nan by its identity, which a tape cannot check. Use np.isnan."
            )
        )
    return same[0] if same else thing


NUMBERS = (float, complex, np.float64, np.complex128)
SEARCHED = (list, tuple, set, frozenset, dict, collections.deque)


def _chosen(recording: Recording, thing: Any) -> Any:
    """Return the argument that a result is (`max(a, b) is a`), or the thing itself."""
    while _is_chosen(recording, thing):
        thing = recording.fresh_objects[id(thing)][1]()
    return thing


def _is_chosen(recording: Recording, thing: Any) -> bool:
    made, chosen = recording.fresh_objects.get(id(thing), (_gone, _gone))
    return made() is thing and chosen() is not None


def _gone() -> None:
    return None


def is_(right: Any, left: Any, site: Site | None) -> bool:
    """The hook of `left is right`."""
    if OpenCounts.tapes:
        layout.sameness_asked(left, right)
    if left is right:
        return True
    if type(left) is not type(right) and not OpenCounts.tapes:
        return False
    if not issubclass(type(left), MADE_ANEW) or not issubclass(type(right), MADE_ANEW):
        return False
    recording = STATE.recording
    if recording is None:
        return False
    one, other = given(recording, left), given(recording, right)
    STATE.site = site
    if one is other and (left is one or right is other) and slot_of(recording, one) is None:
        recognised(one)
    if recording.keep:
        _guard(recording, left, right, one is other)
    return one is other


def _guard(recording: Recording, left: Any, right: Any, outcome: bool) -> None:
    """Guard whether two values are one object, as far as their values or a replay can tell."""
    entries = [_entry(recording, thing) for thing in (left, right)]
    if any([_is_chosen(recording, thing) for thing in (left, right)]):
        if None not in entries:
            decided(recording, operator.is_, (left, right), outcome)
        elif outcome or issubclass(type(left), np.ndarray):
            exact(recording, (left, right))
        else:
            decided(recording, operator.eq, (left, right), left == right)
    elif outcome and all([entry is None or entry[0].kind == "input" for entry in entries]):
        _one_and_the_same(recording, left, right)
    elif outcome:
        exact(recording, (left, right))
    elif any(entries) and all([entry is None or entry[0].kind == "input" for entry in entries]):
        decided(recording, operator.is_, (left, right), False)


def _entry(recording: Recording, thing: Any) -> Any:
    slot = slot_of(recording, thing)
    return None if slot is None else recording.entries[slot]


def _one_and_the_same(recording: Recording, left: Any, right: Any) -> None:
    """Guard that an argument is an object from outside, which holds where a tape is played on its stored inputs."""
    for thing in (left, right):
        slot = slot_of(recording, thing)
        while slot is not None and recording.entries[slot][2]:  # type: ignore[index]
            slot = recording.entries[slot][2][0]  # type: ignore[index]
        if slot is not None and recording.entries[slot][0].kind == "input":  # type: ignore[index]
            kind, entered, *rest = recording.entries[slot]  # type: ignore[misc]
            recording.caches.setdefault(given, {})[id(entered)] = entered  # whose variable it stays
            recording.entries[slot] = (kind, given(recording, thing), *rest)
    decided(recording, operator.is_, (left, right), True)


def is_not(right: Any, left: Any, site: Site | None) -> bool:
    """The hook of `left is not right`."""
    return not is_(right, left, site)
