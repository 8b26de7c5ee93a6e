"""Stand-ins in plain Python: instrumented like the user's functions, with the line of their caller for their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

ENTERED = "It is instrumented like the user's functions."


class Ordered:
    """A sort key whose comparisons are seen."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: Ordered) -> bool:
        return bool(self.key < other.key)


def extreme_by_key(fn: Any, candidates: list[Any], key: Callable[[Any], Any]) -> Any:
    """Return the `min` or `max` of the candidates by `key`."""
    best, best_key = candidates[0], key(candidates[0])
    for item in candidates[1:]:
        item_key = key(item)
        if item_key < best_key if fn is min else item_key > best_key:
            best, best_key = item, item_key
    return best


def answers(items: Iterable[Any]) -> Iterator[bool]:
    """Yield the truth value of each item."""
    for item in items:
        yield bool(item)


def tested(test: Callable[..., Any]) -> Callable[..., bool]:
    """Wrap a predicate so that it returns a bool."""
    return lambda *items: bool(test(*items))


def count(start: Any, step: Any) -> Iterator[Any]:
    """`itertools.count`."""
    while True:
        yield start
        start = start + step


def backwards(items: Any) -> Iterator[Any]:
    """Yield the items of an array in reverse."""
    for k in range(len(items) - 1, -1, -1):
        yield items[k]


def count_elements(mapping: Any, items: Iterable[Any], /) -> None:
    """Add to the counts in a mapping, whose class may override `get`."""
    count = mapping.get
    for item in items:
        mapping[item] = count(item, 0) + 1


def iconcat(a: Any, b: Any, /) -> Any:
    """Not `a += b`, which leaves that to an array."""
    if isinstance(a, list):
        return a.__iadd__(b)
    a += b
    return a


def numbers_of_objects(objects: Any) -> Any:
    """Convert an array of objects to an array of numbers; return any other array unchanged."""
    return np.array(objects.tolist()) if objects.dtype == object else objects


def of_numbers(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a rule whose value is an array of objects, so that its value is an array of numbers."""

    def body(*args: Any) -> Any:
        value, pullback = rule(*args)
        return numbers_of_objects(value), pullback

    return body


def located(loc: Any, scale: Any, draw: Any) -> Any:
    """Shift and scale a draw from the standard distribution."""
    return loc + scale * draw


def at_rate(rate: Any, draw: Any) -> Any:
    """Scale a draw from the exponential distribution with rate 1."""
    return draw / rate


def between(low: Any, high: Any, draw: Any) -> Any:
    """Map a draw from the unit interval to the interval from `low` to `high`."""
    return low + (high - low) * draw
