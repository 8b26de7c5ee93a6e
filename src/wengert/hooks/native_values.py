"""Exact values of C functions that have a Python version: Python gives the derivatives, C the rounded values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced
from wengert.hooks.writes import record_store
from wengert.recording.primitives import ruled
from wengert.recording.record import record_as
from wengert.recording.recording import silent
from wengert.recording.slots import recording_here, slot_of
from wengert.rulebook.declare import partials
from wengert.rulebook.registry import rules
from wengert.values.functional import strided_copy
from wengert.values.specs import is_inexact, same_numbers

_DATA = (int, float, complex, str, bytes, type(None), slice, np.generic, np.dtype)


def with_values_of(f: Callable[..., Any], standin: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `standin`, the Python version of `f`, but give its results and writes the exact values of `f`.

    This needs plain data that do not overlap, and no tape, since a tape is replayed without `f`. If values differ by
    more than rounding, those of `standin` stay: `f` has used that memory as a workspace.
    """
    things, recording = (*args, *kwargs.values()), recording_here()
    if recording.keep or recording.context is not None or not all(map(_is_data, things)) or _overlap(things):
        return standin(*args, **kwargs)
    copies, keyword_copies = [_copy_data(a) for a in args], {name: _copy_data(a) for name, a in kwargs.items()}
    with silent():
        native = f(*copies, **keyword_copies)
    traced = standin(*args, **kwargs)
    size = max(map(_magnitude, things), default=0.0)
    for a, copy in zip(_arrays(things), _arrays((*copies, *keyword_copies.values())), strict=True):
        if _differ_by_rounding(a, copy, size):
            record_store(a, ..., _take_values(as_traced(np.copy)(a), copy, size))
    return _take_values(traced, native, size)


def exact_value(x: Any, value: Any) -> Any:
    """Return `value`, with the derivative of `x`."""
    return value


rules.declare_lastingly(lambda: partials(exact_value)(lambda y, x, value: (1, None)))


def _take_values(traced: Any, native: Any, size: float) -> Any:
    """Return `traced` with the values of `native`, where these differ by rounding only."""
    if type(traced) is type(native) and isinstance(traced, (tuple, list)) and len(traced) == len(native):
        return type(traced)([_take_values(a, b, size) for a, b in zip(traced, native, strict=True)])
    if not _differ_by_rounding(traced, native, size):
        return traced
    value = _copy_data(native)  # its memory may not be NumPy's
    return (
        value if slot_of(recording_here(), traced) is None else record_as(ruled(exact_value), value, (traced, native))
    )


def _differ_by_rounding(traced: Any, native: Any, size: float) -> bool:
    """Whether two numbers or arrays differ, but by no more than rounding of numbers of this `size`."""
    if not (is_inexact(traced) and is_inexact(native)) or np.shape(traced) != np.shape(native):
        return False
    traced, native = np.asarray(traced), np.asarray(native)
    near = max(np.finfo(a.dtype).eps for a in (traced, native)) ** 0.5
    apart = near * max(_magnitude(native), size)
    return not same_numbers(traced, native) and np.allclose(traced, native, rtol=near, atol=apart, equal_nan=True)


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
