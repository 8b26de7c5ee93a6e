"""Keys of indexing, such as that of `x[1:, None]`: what their form alone says of the elements that they name."""

from __future__ import annotations

from typing import Any

import numpy as np

INTEGERS = (int, np.int64)


def is_basic(key: Any) -> bool:
    """True where a key of integers, slices, None and Ellipsis names a part by its place."""
    if type(key) is tuple:
        return all([type(part) is not tuple and is_basic(part) for part in key])
    return key is None or key is Ellipsis or type(key) is slice or type(key) in INTEGERS


def may_be_all(key: Any) -> bool:
    """True where a key may name the whole array."""
    if type(key) is tuple:
        return all(map(may_be_all, key))
    return key is Ellipsis or type(key) is slice


def may_repeat(key: Any) -> bool:
    """True where a key may name an element twice: only an array of integers can."""
    if type(key) is tuple:
        return any(map(may_repeat, key))
    if key is None or key is Ellipsis or isinstance(key, (int, slice, np.integer)):
        return False
    return np.asarray(key).dtype.kind != "b"


def has_mask(key: Any) -> bool:
    """True where a key holds an array of bools: how many elements it names depends on its values."""
    if type(key) is tuple:
        return any(map(has_mask, key))
    return isinstance(key, (np.ndarray, list)) and np.asarray(key).dtype.kind == "b"


def as_view(key: Any) -> Any:
    """The key with an Ellipsis, with which a single element too is given as a view."""
    if type(key) is tuple:
        return key if any([part is Ellipsis for part in key]) else (*key, ...)
    return (key, ...) if isinstance(key, (int, np.integer)) and not isinstance(key, bool) else key


def frozen(key: Any) -> Any:
    """The key with copies of its index arrays, so that later writes to these do not change it."""
    if type(key) is tuple:
        return tuple(map(frozen, key))
    return key.copy() if isinstance(key, np.ndarray) else list(key) if type(key) is list else key
