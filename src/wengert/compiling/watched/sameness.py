"""Equality of two values in everything that code can read of them: types, signs and order of iteration included."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiling.watched.watchable_types import ATOMS

_SCALAR_CLASSES = {t for t in np.sctypeDict.values() if issubclass(t, np.generic) and not issubclass(t, np.flexible)}
_FLEXIBLE = "OSUV"  # kinds of NumPy's own data types besides numbers, times and bools


def is_same_value(a: Any, b: Any) -> bool:
    """Whether code can tell two values apart only by `is`. No user code runs.

    Errors: TypeError for values of other types than `readable_state` knows.
    """
    return a is b or (type(a) is type(b) and bool(readable_state(a) == readable_state(b)))


def readable_state(value: Any) -> Any:
    """Return everything that code can read of an immutable value, or of a set, as a tuple to compare.

    Errors: TypeError for a nan, because containers compare it by identity, and for values of other types.
    """
    t = type(value)
    if t in ATOMS:
        return t, value
    if t in (tuple, frozenset, set):
        return t, *map(readable_state, value)
    if t is range or t is slice:
        return t, readable_state(value.start), readable_state(value.stop), readable_state(value.step)
    if (t is float or t is complex) and value == value:
        return t, repr(value)
    if t in _SCALAR_CLASSES and value == value:
        return t, readable_dtype_state(value.dtype), value.tobytes()
    if isinstance(value, np.dtype):
        return readable_dtype_state(value)
    raise TypeError(f"wengert cannot compare a {t.__name__} with its earlier value")


def readable_dtype_state(dtype: np.dtype) -> Any:
    """Return everything that code can read of a data type; `==` ignores metadata, alignment and names."""
    if dtype.metadata is None and dtype.isbuiltin:
        return dtype.num
    if type(dtype) not in _NUMPY_DTYPE_CLASSES:
        raise TypeError(f"{dtype!r} is not one of NumPy's own data types")
    fields = [
        (name, readable_dtype_state(field[0]), field[1], readable_state(field[2:]))
        for name, field in (dtype.fields or {}).items()
    ]
    base = dtype.subdtype and (readable_dtype_state(dtype.subdtype[0]), dtype.subdtype[1])
    metadata = [(readable_state(key), readable_state(part)) for key, part in (dtype.metadata or {}).items()]
    parts = dtype.names, fields, base, metadata
    return type(dtype), dtype.type, dtype.num, dtype.str, dtype.flags, dtype.alignment, parts


_NUMPY_DTYPE_CLASSES = {type(np.dtype(code)) for code in [*np.typecodes["All"], *_FLEXIBLE]}


def has_readable_state(value: Any) -> bool:
    """Whether `readable_state` knows a value."""
    try:
        readable_state(value)
    except TypeError:
        return False
    return True


def may_have_copies(value: Any) -> bool:
    """Whether an equal value may be another object: None, small integers and one-character strings are singletons."""
    is_singleton = value in range(-5, 257) if type(value) is int else type(value) in (str, bytes) and len(value) < 2
    return (
        not is_singleton
        and type(value) not in (bool, type(None), type(...), type(NotImplemented), float, complex)
        and (not isinstance(value, np.inexact) and has_readable_state(value))
    )


def literal(value: Any) -> str | None:
    """Return the literal of an atom or a tuple of atoms; None for other values and for huge integers."""
    if type(value) is tuple:
        has_literal = None not in map(literal, value)
    else:
        has_literal = type(value) in ATOMS and not (type(value) is int and abs(value) > 2**63)
    return repr(value) if has_literal else None
