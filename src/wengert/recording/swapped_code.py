"""Functions that run their twins' code, with their own code: all get it back when the process's last trace ends.

A twin computes what its function does where nothing records: until they are given back, calls from elsewhere, such as
another thread's, are right and slower.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

from wengert.recording.recording import STATE
from wengert.values.codes import original

exchanged: list[tuple[types.FunctionType, types.CodeType, types.CodeType]] = []
"""Functions, what they run otherwise, and what they run now."""
_born: dict[int, tuple[weakref.ref[types.FunctionType], types.CodeType]] = {}
"""Functions that were made by instrumented code, and that may be gone before the trace ends."""

_replaced: list[tuple[type, str, Any, Any]] = []
"""Classes, names, what stood there, and what stands there now."""


def replace(cls: type, name: str, own: Any, stand: Any) -> None:
    """Have a class hold `stand` under a name instead of its `own` until `give_back`."""
    _replaced.append((cls, name, own, stand))
    type.__setattr__(cls, name, stand)


def exchange(f: types.FunctionType, own: types.CodeType, twin: types.CodeType) -> None:
    """Have `f` run the code `twin` instead of its `own` until `give_back`."""
    exchanged.append((f, own, twin))
    f.__code__ = twin
    recording = STATE.recording
    if recording is not None and recording.reads is not None:
        recording.reads.entered(f, own)


def note_born(f: types.FunctionType, code: types.CodeType) -> None:
    """Remember the code that `f`, which was made with a twin's code, runs from `give_back` on."""
    forget: Any = functools.partial(_born.pop, id(f))  # the reference is the default
    _born[id(f)] = weakref.ref(f, forget), code


def is_born(f: Any) -> bool:
    """Whether a function was made by a trace, and with a twin's code."""
    found = _born.get(id(f))
    return found is not None and found[0]() is f


def give_back() -> None:
    """Have all functions run their own code again, except those that were given another one meanwhile."""
    for f, own, twin in exchanged:
        if f.__code__ is twin:
            f.__code__ = own
    exchanged.clear()
    if _replaced:
        for cls, name, held, stand in _replaced:
            if vars(cls).get(name) is stand:
                type.__setattr__(cls, name, held)
        _replaced.clear()
    if _born:
        for reference, code in [*_born.values()]:
            born = reference()
            if born is not None and original(born.__code__) is code:
                born.__code__ = code
        _born.clear()
