"""Sorting and extremes: on a tape each comparison is a guard."""

from __future__ import annotations

from typing import Any

from wengert.classes import enter, python_method
from wengert.dispatch import HOOKS
from wengert.items import iterable
from wengert.protocols import truth
from wengert.recording import STATE


def extreme(fn: Any, items: Any, key: Any = None, **default: Any) -> Any:
    """`min` or `max` with a key or a default: its comparisons are guards."""
    candidates = list(iterable(items, STATE.site))
    if not candidates:
        return fn(candidates, **default)
    if key is None:
        return enter(fn)(candidates)
    key = enter(key)
    best, best_key = candidates[0], key(candidates[0])
    for item in candidates[1:]:
        item_key = key(item)
        if less(item_key, best_key) if fn is min else less(best_key, item_key):
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
    """`a < b`; tuples and lists by their first differing parts."""
    if type(a) is type(b) and type(a) in (tuple, list):
        for p, q in zip(a, b, strict=False):
            if p is not q and not truth(HOOKS["eq"](q, p, STATE.site), STATE.site):
                return less(p, q)
        return len(a) < len(b)
    return truth(HOOKS["lt"](b, a, STATE.site), STATE.site)


def cmp_to_key(compare: Any) -> type:
    compare = enter(compare)

    class Key(Ordered):
        __slots__ = ()

        def __lt__(self, other: Ordered) -> bool:
            return truth(HOOKS["lt"](0, compare(self.key, other.key), STATE.site), STATE.site)

    return Key
