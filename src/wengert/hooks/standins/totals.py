"""Stand-ins of reductions over iterables: `sum`, `min`, `max`, `math.prod`, `math.dist`."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced, python_method
from wengert.hooks.items import gathered, iterable
from wengert.hooks.policy import records
from wengert.hooks.search import opaque, shows_traced_unseen
from wengert.hooks.standins.ordering import extreme, first
from wengert.hooks.standins.subclasses import has_own_float
from wengert.recording.primitives import Primitive, ruled
from wengert.recording.record import as_array, record_as, record_call
from wengert.recording.recorders import record_plain
from wengert.recording.recording import STATE
from wengert.recording.slots import holds_traced
from wengert.values.functional import sumprod

_OF_EXTREMES = {"key", "default"}


@records(sum, min, max, math.fsum, math.prod)
def _over_sequence(primitive: Primitive) -> Callable[..., Any]:
    """The stand-in of `sum`, `min`, `max` and their like, which iterate over one argument."""
    fn = primitive.fn
    splat = fn in (min, max)

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return fn(*args, **kwargs)
        if splat and (not args or kwargs.keys() - _OF_EXTREMES or ("default" in kwargs and len(args) > 1)):
            return fn(*args, **kwargs)  # raises
        if splat and kwargs:
            return extreme(fn, args[0] if len(args) == 1 else args, **kwargs)
        if not args:
            return fn(**kwargs)
        items = list(args) if splat and len(args) > 1 else gathered(args[0])
        if splat:
            return _extreme(primitive, items)
        if fn in _FOLDED and _is_folded(fn, items, args[1:], kwargs):
            return _fold(fn, items, *args[1:], **kwargs)
        if fn is math.fsum:
            items = [as_traced(float)(item) if has_own_float(item) else item for item in items]
        if fn is math.fsum and shows_traced_unseen(recording, items):
            return opaque(recording, fn, (items,), kwargs)
        if not holds_traced((items, *args[1:], *kwargs.values())):
            return fn(items, *args[1:], **kwargs)
        start = args[1] if len(args) > 1 else kwargs.get("start")
        if isinstance(start, (list, tuple)):
            return fn(items, start)
        if start is not None and holds_traced((start,)):
            return record_as(primitive, fn(items, *args[1:], **kwargs), ([start, *items],))
        return record_call(primitive, (items, *args[1:]), kwargs)

    return call


def _extreme(primitive: Primitive, items: list[Any]) -> Any:
    """`min` or `max`: numbers are recorded; of other things, such as tuples, one is handed out as it is."""
    fn = primitive.fn
    if len(items) > 1 and not all([isinstance(item, _SUMMED_TYPES) for item in items]):
        return first(fn, items)
    if not holds_traced(items):
        return fn(items)
    return items[0] if len(items) == 1 else record_plain(primitive, tuple(items), record_call)


_SUMMED_TYPES = (float, int, complex, np.ndarray, np.generic)


_FOLDED = {sum: (operator.add, 0, "__add__", "__radd__"), math.prod: (operator.mul, 1, "__mul__", "__rmul__")}


def _is_folded(fn: Any, items: list[Any], args: tuple[Any, ...], words: dict[str, Any]) -> bool:
    """Whether the class of an item, or of the start value, defines the operator in Python."""
    if len(args) > 1 or words.keys() - {"start"}:
        return False  # raises
    names = _FOLDED[fn][2:]
    given = (*items, *args, *words.values())
    return any([python_method(type(item), name) is not None for item in given for name in names])


def _fold(fn: Any, items: list[Any], *start: Any, **words: Any) -> Any:
    op, neutral, *_ = _FOLDED[fn]
    return functools.reduce(as_traced(op), items, start[0] if start else words.get("start", neutral))


@records(math.dist, getattr(math, "sumprod", None))
def _over_points(primitive: Primitive) -> Callable[..., Any]:
    """The stand-in of `math.dist` or `math.sumprod`, whose two sequences are recorded as vectors."""
    fn = primitive.fn

    def call(p: Any, q: Any, /) -> Any:
        p, q = ([*iterable(a, STATE.site)] if not isinstance(a, np.ndarray) else a for a in (p, q))
        if STATE.recording is not None and shows_traced_unseen(STATE.recording, (p, q)):
            return opaque(STATE.recording, fn, (p, q), {})
        value = fn(p, q)
        if STATE.recording is None or not holds_traced((p, q)):
            return value
        if isinstance(value, complex):  # of an array it would take the real parts
            products = map(as_traced(operator.mul), iterable(p, STATE.site), iterable(q, STATE.site))
            return functools.reduce(as_traced(operator.add), products, 0)
        vectors = [as_array(a) if isinstance(a, list) else a for a in (p, q)]
        is_exact = fn is not math.dist and type(value) is float  # of Python floats, which vectors have no longer
        return record_as(ruled(sumprod) if is_exact else primitive, value, tuple(vectors))

    return call
