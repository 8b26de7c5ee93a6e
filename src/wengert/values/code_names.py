"""The names that code reads."""

from __future__ import annotations

import dis
import types
import weakref
from collections.abc import Iterator


def names_in(code: types.CodeType) -> Iterator[str]:
    """Return the names that a function and its nested functions read."""
    yield from code.co_names
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield from names_in(constant)


def global_names_in(code: types.CodeType) -> frozenset[str]:
    """Return the names that a function and its nested functions read as globals, not as attributes."""
    found = _global_names.get(code)
    if found is None:
        own = [step.argval for step in dis.get_instructions(code) if step.opname in _READING_GLOBALS]
        inner = [global_names_in(constant) for constant in code.co_consts if type(constant) is types.CodeType]
        found = _global_names[code] = frozenset(own).union(*inner)
    return found


_global_names: weakref.WeakKeyDictionary[types.CodeType, frozenset[str]] = weakref.WeakKeyDictionary()
_READING_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
