"""Numbers in nested tuples, lists and dicts: list, replace, and compare them bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.values.specs import is_inexact, number_type

_WIDE = {np.dtype("e"): np.float64, np.dtype("f"): np.float64, np.dtype("F"): np.complex128}


def parts(x: Any) -> Iterator[Any]:
    """Yield the leaves of nested tuples, lists and dicts, and the keys of the dicts."""
    if isinstance(x, (tuple, list)):
        for item in x:
            yield from parts(item)
    elif isinstance(x, dict):
        yield from parts(list(x.items()))
    else:
        yield x


def leaf_values(x: Any) -> Iterator[Any]:
    """Yield the leaves of nested tuples, lists and dicts."""
    if isinstance(x, (tuple, list, dict)):
        for part in x.values() if isinstance(x, dict) else x:
            yield from leaf_values(part)
    else:
        yield x


def numbers(x: Any) -> Iterator[Any]:
    """Yield the inexact numbers and arrays in nested tuples, lists and dicts."""
    return (leaf for leaf in leaf_values(x) if is_inexact(leaf))


def map_numbers(f: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Return the structure `x` with `f(number, *those at the same place in others)` for each inexact number."""
    if isinstance(x, (tuple, list)):
        items = [map_numbers(f, *parts) for parts in zip(x, *others, strict=True)]
        return items if isinstance(x, list) else tuple(items)
    if isinstance(x, dict):
        return {key: map_numbers(f, x[key], *(other[key] for other in others)) for key in x}
    return f(x, *others) if is_inexact(x) else x


def widened(x: Any) -> Any:
    """Copy `x` as the same kind (array, NumPy or Python number), in double precision if its own is lower."""
    if not is_inexact(x) or not hasattr(x, "dtype"):
        return x
    wide = _WIDE.get(x.dtype, x.dtype)
    return np.array(x, wide) if isinstance(x, np.ndarray) else np.dtype(wide).type(x)


def as_kind(x: Any, moved: np.ndarray) -> Any:
    """Convert `moved` to the kind of `x`: an array, a NumPy number or a Python number."""
    if isinstance(x, np.ndarray):
        return moved
    return moved[()] if isinstance(x, np.generic) else number_type(type(x))(moved[()])


def bits(x: Any) -> Any:
    """Return a key that two values share if and only if their bits are the same."""
    if isinstance(x, (np.ndarray, np.generic)):
        padded = x.dtype.char in "gG"  # a long double has padding bytes without meaning
        return x.shape, x.dtype, repr(x.tolist()) if padded else x.tobytes()
    return np.asarray(x).tobytes() if isinstance(x, (float, complex)) else x
