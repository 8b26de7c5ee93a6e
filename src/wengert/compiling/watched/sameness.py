"""Sameness: equality of two values in all that code can read of them, types, signs and order of iteration included."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiling.watched.watchable_types import ATOMS

_SCALARS = {t for t in np.sctypeDict.values() if issubclass(t, np.generic) and not issubclass(t, np.flexible)}
_FLEXIBLE = "OSUV"  # the kinds of NumPy's own data types that are not numbers, times or bools


def same(a: Any, b: Any) -> bool:
    """Whether no code can tell two values apart but by `is`; it runs no code of the user's.

    Errors: TypeError for values of which this is not known.
    """
    return a is b or (type(a) is type(b) and bool(state(a) == state(b)))


def state(value: Any) -> Any:
    """Return all that code can read of an immutable value, or of a set, as a tuple to compare.

    Errors: TypeError for a nan, which containers find by identity, and for values of other types.
    """
    t = type(value)
    if t in ATOMS:
        return t, value
    if t in (tuple, frozenset, set):
        return t, *map(state, value)
    if t is range or t is slice:
        return t, state(value.start), state(value.stop), state(value.step)
    if (t is float or t is complex) and value == value:
        return t, repr(value)
    if t in _SCALARS and value == value:
        return t, dtype_state(value.dtype), value.tobytes()
    if isinstance(value, np.dtype):
        return dtype_state(value)
    raise TypeError(f"a {t.__name__} cannot be compared with what it was")


def dtype_state(dtype: np.dtype) -> Any:
    """Return all that code can read of a data type: `==` skips metadata, alignment and names of equal types."""
    if dtype.metadata is None and dtype.isbuiltin:
        return dtype.num
    if type(dtype) not in _DTYPES:
        raise TypeError(f"{dtype!r} is not of NumPy's own types")
    fields = [(name, dtype_state(field[0]), field[1], state(field[2:])) for name, field in (dtype.fields or {}).items()]
    base = dtype.subdtype and (dtype_state(dtype.subdtype[0]), dtype.subdtype[1])
    metadata = [(state(key), state(part)) for key, part in (dtype.metadata or {}).items()]
    parts = dtype.names, fields, base, metadata
    return type(dtype), dtype.type, dtype.num, dtype.str, dtype.flags, dtype.alignment, parts


_DTYPES = {type(np.dtype(code)) for code in [*np.typecodes["All"], *_FLEXIBLE]}


def is_stated(value: Any) -> bool:
    """Whether `state` knows a value."""
    try:
        state(value)
    except TypeError:
        return False
    return True


def is_remade(value: Any) -> bool:
    """Whether an equal value may be another object; of None, small integers and characters there is but one."""
    is_one = value in range(-5, 257) if type(value) is int else type(value) in (str, bytes) and len(value) < 2
    return (
        not is_one
        and type(value) not in (bool, type(None), type(...), type(NotImplemented), float, complex)
        and (not isinstance(value, np.inexact) and is_stated(value))
    )


def literal(value: Any) -> str | None:
    """Return the expression of an atom or a tuple of atoms; None for others, and where Python would not write it."""
    if type(value) is tuple:
        is_written = None not in map(literal, value)
    else:
        is_written = type(value) in ATOMS and not (type(value) is int and abs(value) > 2**63)
    return repr(value) if is_written else None
