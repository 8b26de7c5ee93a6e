"""Sorting and extremes: on a tape each comparison is a guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.hooks.classes import as_traced
from wengert.hooks.code_swap import prepare
from wengert.hooks.items import iterable
from wengert.hooks.lookups import kept_recording
from wengert.hooks.policy import same_callable
from wengert.hooks.standins import plain
from wengert.recording.recording import STATE


def extreme(fn: Any, items: Any, key: Any = None, **default: Any) -> Any:
    """`min` or `max` with a key or a default."""
    candidates = list(iterable(items, STATE.site))
    if not candidates:
        return fn(candidates, **default)
    return as_traced(fn)(candidates) if key is None else first(fn, candidates, as_traced(key))


def first(fn: Any, candidates: list[Any], key: Callable[[Any], Any] | None = None) -> Any:
    """Return the `min` or `max` of the candidates: the very object."""
    prepare_all(candidates)
    return (
        fn(candidates, key=key)
        if kept_recording() is None
        else as_traced(plain.extreme_by_key)(fn, candidates, key or same_callable)
    )


def prepare_all(items: list[Any]) -> None:
    """Prepare the classes of values that C is about to compare."""
    for item in items:
        prepare(type(item))


def ordered(items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """`sorted`."""
    ordered = list(iterable(items, STATE.site))
    sort_list(ordered.sort, ordered, key, reverse)
    return ordered


def sort_list(sort: Any, items: list[Any], key: Any, reverse: Any) -> None:
    """Sort a list; `sort` is its method, which shows no items meanwhile."""
    prepare_all(items)
    key = None if key is None else as_traced(key)
    if kept_recording() is not None:
        prepare(plain.Ordered)
        by = key
        key = plain.Ordered if by is None else lambda item: plain.Ordered(by(item))
    sort(key=key, reverse=reverse)
