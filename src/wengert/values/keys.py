"""Keys of indexing, such as `1:, None` in `x[1:, None]`: properties that need no array."""

from __future__ import annotations

from typing import Any

import numpy as np

INTEGERS = (int, np.int64)


def key_parts(key: Any) -> tuple[Any, ...]:
    """Return the parts of a key, one for each axis that it names."""
    return key if isinstance(key, tuple) else (key,)


def full_key(key: Any, axes: int) -> list[Any]:
    """Return the parts of a key, with slices for the axes that it does not name."""
    parts = list(key_parts(key))
    named = sum([part is not None and part is not Ellipsis for part in parts])
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts[at : at + 1] = [slice(None)] * (axes - named)
    return parts


def composed(outer: Any, inner: Any, shape: tuple[int, ...]) -> Any:
    """Return the key of `x[outer][inner]` in `x`, an array of this shape; the keys have integers and slices only."""
    rest = inner if type(inner) is tuple else (inner,)
    if type(outer) is int:  # a row: the other axes are whole
        return outer, *rest
    parts = list(outer) if type(outer) is tuple else [outer]
    parts += [slice(None)] * (len(shape) - len(parts))
    axes = [k for k, part in enumerate(parts) if type(part) is slice]
    for k, part in zip(axes, rest, strict=False):
        parts[k] = part if parts[k] == _ALL else range(shape[k])[parts[k]][part]
        if type(parts[k]) is range:
            start, stop, step = parts[k].start, parts[k].stop, parts[k].step
            parts[k] = slice(start, stop if stop >= 0 else None, step)
    return tuple(parts)


_ALL = slice(None)


def is_element(key: Any, ndim: int) -> bool:
    """Whether a key selects one element of an array of `ndim` axes, by integers."""
    if type(key) in INTEGERS:
        return ndim == 1
    if type(key) is not tuple or len(key) != ndim:
        return False
    for part in key:  # noqa: SIM110 (a generator would cost a call)
        if type(part) not in INTEGERS:
            return False
    return True


def has_plain_parts(key: Any) -> bool:
    """Whether a key consists of integers, and of slices between integers."""
    if type(key) is slice:
        if type(key.start) not in PLAIN_BOUNDS or type(key.stop) not in PLAIN_BOUNDS:
            return False
        return key.step is None or type(key.step) in PLAIN_BOUNDS
    if type(key) is not tuple:
        return type(key) in INTEGERS
    for part in key:  # noqa: SIM110 (a generator would cost a call)
        if type(part) not in INTEGERS and not (type(part) is slice and has_plain_parts(part)):
            return False
    return True


def has_known_parts(key: Any) -> bool:
    """Whether a key consists of integers, of slices between integers, and of arrays of integers and bools."""
    if type(key) is tuple:
        return all([type(part) is not tuple and has_known_parts(part) for part in key])
    return key.dtype.kind in "iub" if type(key) is np.ndarray else has_plain_parts(key)


PLAIN_BOUNDS = {*INTEGERS, type(None)}


def is_basic(key: Any) -> bool:
    """Whether a key consists of integers, slices, None and Ellipsis."""
    return all([part is None or part is Ellipsis or type(part) in (slice, *INTEGERS) for part in key_parts(key)])


def may_be_all(key: Any) -> bool:
    """Whether a key may select the whole array."""
    return all([part is Ellipsis or type(part) is slice for part in key_parts(key)])


def may_repeat(key: Any) -> bool:
    """Whether a key may select an element twice, as only a sequence of integers can: `x[:, (1, 1)]`."""
    if type(key) is slice or type(key) in INTEGERS:
        return False
    for part in key_parts(key):
        one = part is None or part is Ellipsis or isinstance(part, (int, slice, np.integer))
        if not one and np.asarray(part).dtype.kind != "b":
            return True
    return False


def names_once(key: Any) -> bool:
    """Whether a key is a short row of different indices from the start of an axis, or an array of bools."""
    if type(key) is not np.ndarray:
        return False
    if key.dtype.kind == "b":
        return True
    if key.dtype.kind not in "iu" or key.ndim != 1 or len(key) > _MOST_COMPARED:
        return False
    indices = key.tolist()
    return len({*indices}) == len(indices) and (not indices or min(indices) >= 0)


_MOST_COMPARED = 64
"""So many indices are compared one by one, which is faster than by arrays."""


def has_mask(key: Any) -> bool:
    """Whether a key holds an array of bools, whose values decide how many elements it selects."""
    parts = [part for part in key_parts(key) if isinstance(part, (np.ndarray, list, tuple))]
    return any([np.asarray(part).dtype.kind == "b" for part in parts])


def as_view(key: Any) -> Any:
    """Append an Ellipsis to a key, so that even a single element is returned as a view."""
    if type(key) is tuple:
        return key if any([part is Ellipsis for part in key]) else (*key, ...)
    return (key, ...) if isinstance(key, (int, np.integer)) and not isinstance(key, bool) else key


def frozen(key: Any) -> Any:
    """Copy the index arrays in a key, so that later writes to these do not change it."""
    if type(key) is tuple:
        return tuple(map(frozen, key))
    return key.copy() if isinstance(key, np.ndarray) else list(key) if type(key) is list else key
