"""Exact values of C functions that have a Python version: Python gives the derivatives, C the rounded values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import enter
from wengert.hooks.writes import record_store
from wengert.recording.primitives import ruled
from wengert.recording.record import record_as
from wengert.recording.recording import silent
from wengert.recording.slots import recording_here
from wengert.rulebook.declare import partials
from wengert.values.functional import strided_copy
from wengert.values.specs import is_inexact, same_numbers

_DATA = (int, float, complex, str, bytes, type(None), slice, np.generic, np.dtype)


def with_values_of(f: Callable[..., Any], text: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `text`, the Python version of `f`, but give its results and writes the exact values of `f`.

    This needs plain data that do not overlap, and no tape, since a tape is replayed without `f`. If values differ by
    more than rounding, those of `text` stay: `f` has used that memory as a workspace.
    """
    given, recording = (*args, *kwargs.values()), recording_here()
    if recording.keep or recording.context is not None or not all(map(_is_data, given)) or _overlap(given):
        return text(*args, **kwargs)
    copies, words = [_copy_data(a) for a in args], {name: _copy_data(a) for name, a in kwargs.items()}
    with silent():
        native = f(*copies, **words)
    made = text(*args, **kwargs)
    size = max(map(_magnitude, given), default=0.0)
    for a, copy in zip(_arrays(given), _arrays((*copies, *words.values())), strict=True):
        if _differ_by_rounding(a, copy, size):
            record_store(a, ..., _take_values(enter(np.copy)(a), copy, size))
    return _take_values(made, native, size)


def exact_value(x: Any, value: Any) -> Any:
    """Return `value`, with the derivative of `x`."""
    return value


partials(exact_value)(lambda y, x, value: (1, None))


def _take_values(made: Any, native: Any, size: float) -> Any:
    """Return `made` with the values of `native`, where these differ by rounding only."""
    if type(made) is type(native) and isinstance(made, (tuple, list)) and len(made) == len(native):
        return type(made)([_take_values(a, b, size) for a, b in zip(made, native, strict=True)])
    if not _differ_by_rounding(made, native, size):
        return made
    return record_as(ruled(exact_value), _copy_data(native), (made, native))  # its memory may not be NumPy's


def _differ_by_rounding(made: Any, native: Any, size: float) -> bool:
    """Whether two numbers or arrays differ, but by no more than rounding of numbers of this `size`."""
    if not (is_inexact(made) and is_inexact(native)) or np.shape(made) != np.shape(native):
        return False
    made, native = np.asarray(made), np.asarray(native)
    near = max(np.finfo(a.dtype).eps for a in (made, native)) ** 0.5
    apart = near * max(_magnitude(native), size)
    return not same_numbers(made, native) and np.allclose(made, native, rtol=near, atol=apart, equal_nan=True)


def _magnitude(thing: Any) -> float:
    """Return the largest magnitude of the finite numbers."""
    if not is_inexact(thing):
        return 0.0
    return float(np.max(np.abs(thing), initial=0.0, where=np.isfinite(thing)))


def _is_data(thing: Any) -> bool:
    if type(thing) in (tuple, list):
        return all(map(_is_data, thing))
    return (type(thing) is np.ndarray and not thing.dtype.hasobject) or issubclass(type(thing), _DATA)


def _arrays(things: Any) -> list[np.ndarray]:
    parts = [_arrays(thing) if type(thing) in (tuple, list) else [thing] for thing in things]
    return [part for part in itertools.chain(*parts) if isinstance(part, np.ndarray)]


def _overlap(things: Any) -> bool:
    return any([np.may_share_memory(a, b) for a, b in itertools.combinations(_arrays(things), 2)])


def _copy_data(thing: Any) -> Any:
    if type(thing) in (tuple, list):
        return type(thing)(map(_copy_data, thing))
    return strided_copy(thing) if isinstance(thing, np.ndarray) else thing
