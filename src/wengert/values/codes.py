"""The original of an instrumented code object: traced functions run the copy, and report the original."""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

_originals: dict[int, tuple[weakref.ref[types.CodeType], weakref.ref[types.CodeType]]] = {}  # id: (code, original)


def original(code: types.CodeType) -> types.CodeType | None:
    """Return the code from which the instrumented code `code` was made, or `code` itself if that has been freed.

    None if `code` is not instrumented.
    """
    found = _originals.get(id(code))
    return None if found is None else found[1]() or code


def note_original(made: types.CodeType, code: types.CodeType) -> None:
    """Remember that the instrumented code `made` was made from `code`."""
    forget: Any = functools.partial(_originals.pop, id(made))  # called with the weak reference, its default
    _originals[id(made)] = weakref.ref(made, forget), weakref.ref(code)


def code_of(f: Any) -> types.CodeType:
    """Return the code that the user wrote for the function `f`, also while it runs instrumented code."""
    code: types.CodeType = f.__code__
    return original(code) or code
