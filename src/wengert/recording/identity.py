"""`is`: what stands in the trace for an object of the caller's is that object.

Numbers and arrays are entered as fresh objects, so that their variables are their own. Asked for their identity, they
answer as untraced. Where that is with an object that the function keeps, a cache may decide by it: a warning says so.
"""

from __future__ import annotations

import functools
import operator
import types
from typing import Any

import numpy as np

from wengert.recording.caches import recognised
from wengert.recording.decisions import decided, exact
from wengert.recording.recording import STATE, Recording
from wengert.recording.slots import slot_of
from wengert.values.sites import Site

ENTERED = (float, complex, np.inexact, np.ndarray, tuple, types.MethodType, functools.partial)
"""What is made anew when it is entered, or holds what is and has no identity of its own."""


def given(recording: Recording, thing: Any) -> Any:
    """The caller's own object in place of which a thing was made, or the thing itself."""
    for level in reversed(recording.levels):
        if level.swaps is not None:
            thing = level.swaps.given(thing)
    return thing


def is_(right: Any, left: Any, site: Site | None) -> bool:
    """`left is right`."""
    if left is right:
        return True
    if type(left) is not type(right) or not issubclass(type(left), ENTERED):
        return False
    recording = STATE.recording
    if recording is None:
        return False
    one, other = given(recording, left), given(recording, right)
    STATE.site = site
    if one is not other:
        if recording.keep:
            _told_apart(recording, left, right)
        return False
    if left is one or right is other:
        recognised(one)
    if recording.keep:
        exact(recording, (left, right))
    return True


def _told_apart(recording: Recording, left: Any, right: Any) -> None:
    """Guard that an argument is another object than what it was compared with."""
    slots = [slot_of(recording, thing) for thing in (left, right)]
    entries = [recording.entries[slot] for slot in slots if slot is not None]
    if entries and all([entry is not None and entry[0].kind == "input" for entry in entries]):
        decided(recording, operator.is_, (left, right), False)


def is_not(right: Any, left: Any, site: Site | None) -> bool:
    """`left is not right`."""
    return not is_(right, left, site)
