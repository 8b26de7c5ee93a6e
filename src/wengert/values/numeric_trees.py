"""Numbers in nested tuples, lists and dicts: found, changed, compared bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.values.specs import is_inexact, number_type

_WIDE = {np.dtype("e"): np.float64, np.dtype("f"): np.float64, np.dtype("F"): np.complex128}


def parts(x: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dicts, and the keys of the dicts."""
    if isinstance(x, (tuple, list)):
        for item in x:
            yield from parts(item)
    elif isinstance(x, dict):
        yield from parts(list(x.items()))
    else:
        yield x


def leaf_values(x: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dicts."""
    if isinstance(x, (tuple, list, dict)):
        for part in x.values() if isinstance(x, dict) else x:
            yield from leaf_values(part)
    else:
        yield x


def numbers(x: Any) -> Iterator[Any]:
    """The inexact numbers and arrays in nested tuples, lists and dicts."""
    return (leaf for leaf in leaf_values(x) if is_inexact(leaf))


def map_numbers(f: Callable[..., Any], x: Any, *others: Any) -> Any:
    """The structure `x` with `f(number, ...)` for each inexact number, and for those at the same place in `others`."""
    if isinstance(x, (tuple, list)):
        items = [map_numbers(f, *parts) for parts in zip(x, *others, strict=True)]
        return items if isinstance(x, list) else tuple(items)
    if isinstance(x, dict):
        return {key: map_numbers(f, x[key], *(other[key] for other in others)) for key in x}
    return f(x, *others) if is_inexact(x) else x


def widened(x: Any) -> Any:
    """A copy of `x` as the same kind (array, NumPy or Python number), in double precision if its own is lower."""
    if not is_inexact(x) or not hasattr(x, "dtype"):
        return x
    wide = _WIDE.get(x.dtype, x.dtype)
    return np.array(x, wide) if isinstance(x, np.ndarray) else np.dtype(wide).type(x)


def as_kind(x: Any, moved: np.ndarray) -> Any:
    """`moved` as the same kind as `x`: an array, a NumPy number or a Python number."""
    if isinstance(x, np.ndarray):
        return moved
    return moved[()] if isinstance(x, np.generic) else number_type(type(x))(moved[()])


def bits(x: Any) -> Any:
    """A key that two values share if and only if they are the same bit for bit."""
    if isinstance(x, (np.ndarray, np.generic)):
        padded = x.dtype.char in "gG"  # the bytes that fill up a long double are of no meaning
        return x.shape, x.dtype, repr(x.tolist()) if padded else x.tobytes()
    return np.asarray(x).tobytes() if isinstance(x, (float, complex)) else x
