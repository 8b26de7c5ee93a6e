"""Values that differ in each call: what `datetime.now` and `uuid4` return.

A function may hold one, as objects do that note when they were made. If it asks anything of it, the trace gives up.
The date of today is a constant under a guard.
"""

from __future__ import annotations

import datetime
import types
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.outer_reads import Reads, reads_here
from wengert.compiling.watched.refusals import KnownEnds
from wengert.hooks.calls import resolve
from wengert.recording.recording import STATE, silent
from wengert.values.identity_set import Functions

_IDENTIFIERS = Functions(uuid.uuid1, uuid.uuid4)
_DATED = Functions(datetime.date, datetime.datetime)
_NAMES_OF_NOW = ("now", "utcnow", "today")


def is_fresh_maker(f: Any) -> bool:
    """Whether a callable returns the time or a new identifier as an object."""
    is_method = type(f) is types.BuiltinFunctionType and f.__self__ in _DATED
    return f in _IDENTIFIERS or (is_method and f.__name__ in _NAMES_OF_NOW)


def watched_fresh_maker(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of such a callable: it returns a stand-in, of a class derived from that of the value."""

    def call(*args: Any, **words: Any) -> Any:
        with silent():
            found = f(*args, **words)
        if type(found) is datetime.date:
            reads.add_guard(f"{reads.pin(f)}() == {reads.pin(found)}")
            return found
        if type(found) is uuid.UUID:
            made = object.__new__(_UUID)
            for name in ("int", "is_safe"):
                object.__setattr__(made, name, getattr(found, name))
        else:
            made = _Datetime(*found.__reduce_ex__(4)[1])
        reads.recording.texts[id(made)] = made  # the trace refuses to pass it to C code
        return reads.note_made(made, found)

    return call


def _asked(base: type, name: str) -> Callable[..., Any]:
    """Return a method that gives up before it does what that of the class does."""
    own = getattr(base, name)

    def method(self: Any, *args: Any) -> Any:
        if args == ("__class__",):
            return base
        if (reads := reads_here()) is not None:
            kind = base.__name__
            reads.give_up(f"it uses a {kind} that differs in each call. Make it before the call, and pass it")
        return own(self, *args)

    return method


def _class_for(base: type) -> Any:
    """Return the class of the stand-ins for objects of a class."""
    inherited = ("__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__setattr__")
    special = [name for name in dir(base) if name[:2] == "__" and name not in inherited]
    methods = {name: _asked(base, name) for name in special if callable(getattr(base, name))}
    return type(base.__name__, (base,), {"__slots__": (), **methods})


_Datetime, _UUID = _class_for(datetime.datetime), _class_for(uuid.UUID)


def watched_type(f: type, reads: Reads) -> Callable[..., type]:
    """Return the replacement of `type`, which returns `datetime`, `UUID` or `np.ndarray` for a stand-in."""
    resolved = resolve(f, STATE.site)

    def call(*args: Any, **words: Any) -> type:
        found: Any = resolved(*args, **words)
        if found is KnownEnds:
            return np.ndarray
        return found.__base__ if found is _Datetime or found is _UUID else found

    return call
