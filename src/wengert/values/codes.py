"""Which code an instrumented one was made from: a function may run the one while it is asked for the other."""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

_originals: dict[int, tuple[weakref.ref[types.CodeType], weakref.ref[types.CodeType]]] = {}  # by id: it, its original


def original(code: types.CodeType) -> types.CodeType | None:
    """The code that the instrumented code `code` was made from, or `code` itself if that has been freed.

    None where it is no instrumented code.
    """
    found = _originals.get(id(code))
    return None if found is None else found[1]() or code


def note_original(made: types.CodeType, code: types.CodeType) -> None:
    """Remember that the instrumented code `made` was made from `code`."""
    forget: Any = functools.partial(_originals.pop, id(made))  # the reference is the default
    _originals[id(made)] = weakref.ref(made, forget), weakref.ref(code)


def code_of(f: Any) -> types.CodeType:
    """The code that the function `f` was written with, also while it runs an instrumented one."""
    code: types.CodeType = f.__code__
    return original(code) or code
