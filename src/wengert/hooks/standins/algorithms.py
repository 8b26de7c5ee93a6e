"""`heapq`, `bisect` and `Counter`: what is in C there, written out with comparisons that a trace sees."""

from __future__ import annotations

import bisect
import collections
import heapq
from collections.abc import Callable
from typing import Any

from wengert.hooks.classes import enter
from wengert.hooks.generated import HOOKS
from wengert.hooks.items import iterable
from wengert.hooks.standins.ordering import less
from wengert.recording.recording import STATE

_pure: Any = heapq  # what its functions in C are made of is there in Python, too


def _sifted(down: Any, up: Any, before: Callable[[Any, Any], bool]) -> dict[str, Callable[..., Any]]:
    """The functions of a heap in which the item comes first that is `before` the others."""

    def push(heap: list[Any], item: Any, /) -> None:
        heap.append(item)
        enter(down)(heap, 0, len(heap) - 1)

    def replace(heap: list[Any], item: Any, /) -> Any:
        first, heap[0] = heap[0], item
        enter(up)(heap, 0)
        return first

    def pop(heap: list[Any], /) -> Any:
        last = heap.pop()
        return replace(heap, last) if heap else last

    def pushpop(heap: list[Any], item: Any, /) -> Any:
        return replace(heap, item) if heap and before(heap[0], item) else item

    def heapify(items: list[Any], /) -> None:
        for k in reversed(range(len(items) // 2)):
            enter(up)(items, k)

    return {"heappush": push, "heapreplace": replace, "heappop": pop, "heappushpop": pushpop, "heapify": heapify}


def _bisected(right: bool) -> Callable[..., int]:
    def find(a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Any = None) -> int:
        if lo < 0:
            raise ValueError("lo must be non-negative")
        hi = len(a) if hi is None else hi
        while lo < hi:
            middle = (lo + hi) // 2
            item = a[middle] if key is None else enter(key)(a[middle])
            if not less(x, item) if right else less(item, x):
                lo = middle + 1
            else:
                hi = middle
        return lo

    return find


def _inserting(find: Callable[..., int]) -> Callable[..., None]:
    def insert(a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Any = None) -> None:
        a.insert(find(a, x if key is None else enter(key)(x), lo, hi, key=key), x)

    return insert


def _count_elements(mapping: Any, items: Any, /) -> None:
    count, site = enter(mapping.get), STATE.site
    for item in iterable(items, site):
        HOOKS["setitem"](mapping, item, count(item, 0) + 1, site)


_minimum = _sifted(_pure._siftdown, _pure._siftup, less)
_maximum = _sifted(_pure._siftdown_max, _pure._siftup_max, lambda a, b: less(b, a))
_left, _right = _bisected(False), _bisected(True)

ALGORITHMS: dict[Any, Callable[..., Any]] = {
    **{getattr(heapq, name): f for name, f in _minimum.items()},
    **{
        getattr(heapq, spelled): f
        for name, f in _maximum.items()
        for spelled in (f"_{name}_max", f"{name}_max")
        if hasattr(heapq, spelled)
    },
    bisect.bisect_left: _left,
    bisect.bisect_right: _right,
    bisect.insort_left: _inserting(_left),
    bisect.insort_right: _inserting(_right),
    collections._count_elements: _count_elements,  # type: ignore[attr-defined]
}
