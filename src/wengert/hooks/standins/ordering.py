"""Sorting and extremes: on a tape each comparison is a guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.hooks.classes import enter, python_method
from wengert.hooks.generated import HOOKS
from wengert.hooks.items import iterable
from wengert.hooks.operators import COMPARE
from wengert.hooks.protocols import are_sequences, truth
from wengert.recording.recording import STATE


def extreme(fn: Any, items: Any, key: Any = None, **default: Any) -> Any:
    """The stand-in of `min` or `max` with a key or a default."""
    candidates = list(iterable(items, STATE.site))
    if not candidates:
        return fn(candidates, **default)
    return enter(fn)(candidates) if key is None else first(fn, candidates, enter(key))


def first(fn: Any, candidates: list[Any], key: Callable[[Any], Any]) -> Any:
    """The `min` or `max` of candidates, compared by what a key gives for each; on a tape each comparison is a guard."""
    order = "lt" if fn is min else "gt"
    best, best_key = candidates[0], key(candidates[0])
    for item in candidates[1:]:
        item_key = key(item)
        if precedes(order, item_key, best_key):
            best, best_key = item, item_key
    return best


def ordered(items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    ordered = list(iterable(items, STATE.site))
    sort_list(ordered.sort, ordered, key, reverse)
    return ordered


def sort_list(sort: Any, items: list[Any], key: Any, reverse: Any) -> None:
    """Sort a list; on a tape, or with a `__lt__` of the user's, each comparison goes through the hook."""
    recording = STATE.recording
    key = None if key is None else enter(key)
    if recording is not None and (recording.keep or any(python_method(type(item), "__lt__") for item in items)):
        sort(key=Ordered if key is None else lambda item: Ordered(key(item)), reverse=reverse)
    else:
        sort(key=key, reverse=reverse)


class Ordered:
    """A sort key that compares as the hook of `<` does."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: Ordered) -> bool:
        return less(self.key, other.key)


def less(a: Any, b: Any) -> bool:
    """`a < b`."""
    return precedes("lt", a, b)


def precedes(order: str, a: Any, b: Any) -> bool:
    """`a < b` or `a > b`, as "lt" or "gt" says; tuples and lists by their first differing parts."""
    if are_sequences(a, b, COMPARE[order].method):
        for p, q in zip(a, b, strict=False):
            if p is not q and not truth(HOOKS["eq"](q, p, STATE.site), STATE.site):
                return precedes(order, p, q)
        a, b = len(a), len(b)
    return truth(HOOKS[order](b, a, STATE.site), STATE.site)


def cmp_to_key(compare: Any) -> type:
    compare = enter(compare)

    class Key(Ordered):
        __slots__ = ()

        def __lt__(self, other: Ordered) -> bool:
            return truth(HOOKS["lt"](0, compare(self.key, other.key), STATE.site), STATE.site)

    return Key
