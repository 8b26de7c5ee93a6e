"""Everything that orders, of everything that has an order: the item that comes out is the item that went in."""

from __future__ import annotations

import bisect
import collections
import heapq
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cmp_to_key, reduce, total_ordering
from typing import Any

import pytest

import wengert as wg

Pair = collections.namedtuple("Pair", "key value")
FACTORS = (3.0, 0.5, -2.0, 0.75)


class Sub(tuple):
    __slots__ = ()


@dataclass(order=True)
class Record:
    key: Any
    value: Any


@total_ordering
class Ranked:
    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranked) and self.key == other.key

    def __lt__(self, other: Ranked) -> bool:
        return bool(self.key < other.key)


class Greater:
    """Has `>` only, and says it the other way round."""

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value

    def __gt__(self, other: Greater) -> bool:
        return bool(self.key < other.key)


def by_index(item: Any) -> Any:
    return item[0] * item[1]


def by_name(item: Any) -> Any:
    return item.key * item.value


KINDS: dict[str, tuple[Callable[[Any, float], Any], Callable[[Any], Any]]] = {
    # name: ((x, factor) -> an item, item -> a number of it)
    "tuples": (lambda x, c: (x * c, c), by_index),
    "lists": (lambda x, c: [x * c, c], by_index),
    "named tuples": (lambda x, c: Pair(x * c, c), by_index),
    "tuples of a subclass": (lambda x, c: Sub((x * c, c)), by_index),
    "nested": (lambda x, c: ((x * c, "a"), [c]), lambda item: item[0][0] * item[1][0]),
    "the second decides": (lambda x, c: (1.0, x * c), lambda item: item[0] * item[1]),
    "text first": (lambda x, c: ("a" if c > 0 else "b", x * c), lambda item: item[1]),
    "of other lengths": (lambda x, c: (1, x * c) if c > 0 else (1,), lambda item: sum(item)),
    "dataclasses": (lambda x, c: Record(x * c, c), by_name),
    "total ordering": (lambda x, c: Ranked(x * c, c), by_name),
    "numbers": (lambda x, c: x * c, lambda item: item),
}

BY_COMPARING = cmp_to_key(lambda a, b: _compared(a, b))

WAYS: dict[str, Callable[[list[Any]], Any]] = {
    "max": lambda items: max(items),
    "min": lambda items: min(items),
    "max of several": lambda items: max(*items),
    "min of several": lambda items: min(*items),
    "max of a generator": lambda items: max(item for item in items),
    "min with a default": lambda items: min(items, default=None),
    "max with no key": lambda items: max(items, key=None),
    "max with a key": lambda items: max(items, key=lambda item: item),
    "max of a dictionary": lambda items: max(dict(enumerate(items)).values()),
    "max of an iterator": lambda items: max(iter(items)),
    "max folded": lambda items: reduce(max, items),
    "sorted": lambda items: sorted(items)[1],
    "sorted backwards": lambda items: sorted(items, reverse=True)[1],
    "sort": lambda items: _sorted_in_place(items)[1],
    "sort by comparing": lambda items: sorted(items, key=cmp_to_key(_compared))[0],
    "sort by comparing, kept": lambda items: sorted(items, key=BY_COMPARING)[0],
    "heap": lambda items: _through_a_heap(items)[1],
    "nsmallest": lambda items: heapq.nsmallest(2, items)[1],
    "nlargest": lambda items: heapq.nlargest(2, items)[1],
    "merge": lambda items: list(heapq.merge(sorted(items[:2]), sorted(items[2:])))[1],
    "insort": lambda items: _inserted(items)[1],
    "less": lambda items: items[0] if items[0] < items[1] else items[1],
    "greater": lambda items: items[0] if items[0] > items[1] else items[1],
    "operator.lt": lambda items: items[0] if operator.lt(items[0], items[1]) else items[1],
    "not less": lambda items: items[0] if not items[0] < items[1] else items[1],
}


def _sorted_in_place(items: list[Any]) -> list[Any]:
    items.sort()
    return items


def _compared(a: Any, b: Any) -> int:
    return -1 if a < b else int(b < a)


def _through_a_heap(items: list[Any]) -> list[Any]:
    heap: list[Any] = []
    for item in items:
        heapq.heappush(heap, item)
    return [heapq.heappop(heap) for _ in items]


def _inserted(items: list[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        bisect.insort(out, item)
    return out


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_item_that_is_chosen(kind: str, way: str) -> None:
    make, number = KINDS[kind]
    x, identities = 1.3, []

    def f(x: Any) -> Any:
        items = [make(x, c) for c in FACTORS]
        chosen = WAYS[way]([*items])
        identities.append([item is chosen for item in items])
        return number(chosen) * x

    value, (_, gradient) = wg.grad(f, x)
    assert value == f(x)
    assert identities[0] == identities[1] or kind == "numbers"  # an extreme of numbers is a number made anew
    wg.check_grads(f, x)
    assert gradient == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-6)
    assert wg.grad(lambda x: wg.grad(f)(x) * x)(x) == pytest.approx(gradient + x * _second(f, x), rel=1e-5)


def _second(f: Callable[[Any], Any], x: float) -> float:
    return (f(x + 1e-4) - 2 * f(x) + f(x - 1e-4)) / 1e-8


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text first"])
def test_an_order_is_guarded_on_a_tape(kind: str, way: str) -> None:
    """Where the sign of x turns the order round, the tape says that it is stale or gives the right value."""
    make, number = KINDS[kind]

    def f(x: Any) -> Any:
        return number(WAYS[way]([make(x, c) for c in FACTORS])) * x

    play = wg.trace(f, 1.3)[1].play
    assert play(1.4) == f(1.4)
    try:
        found = play(-1.3)
    except wg.StaleTapeError:
        return
    assert found == f(-1.3)


def test_what_has_one_comparison_only_is_asked_for_it() -> None:
    def f(x: Any) -> Any:
        return max([Greater(x * c, c) for c in FACTORS]).key

    assert wg.grad(f)(1.3) == -2.0 == pytest.approx((f(1.4) - f(1.2)) / 0.2)
    with pytest.raises(TypeError, match="'<' not supported between"):
        wg.grad(lambda x: min([Record(x, 1.0), (x, 1.0)]).key)(1.3)
    with pytest.raises(TypeError, match="'>' not supported between"):
        wg.grad(lambda x: max([(x, 1.0), x])[0])(1.3)


def test_the_examples_that_failed() -> None:
    assert wg.grad(lambda x: max([(x, 1.0), (2 * x, 2.0)])[0])(1.3) == 2.0
    assert wg.grad(lambda x: min((abs(x - c), c * x) for c in (0.2, 1.0, 3.0))[1])(1.3) == 1.0


class Counting(list):
    """A list that counts the calls of its methods, of which C calls none."""

    calls = 0

    def append(self, item: Any) -> None:
        self.calls += 1
        super().append(item)

    def pop(self, *place: Any) -> Any:
        self.calls += 1
        return super().pop(*place)

    def __getitem__(self, place: Any) -> Any:
        self.calls += 1
        return super().__getitem__(place)


def test_a_heap_is_moved_past_the_methods_of_its_class_on_a_tape_too() -> None:
    def f(x: float) -> float:
        heap = Counting([x * 3.0, x, x * 2.0])
        heapq.heapify(heap)
        heapq.heappush(heap, x * 0.5)
        return heapq.heappop(heap) * heapq.heapreplace(heap, x * x) * list.__getitem__(heap, 0) * (1 + heap.calls)

    value, tape = wg.trace(f, 1.3)
    assert value == f(1.3) and tape.play(1.3) == f(1.3)
    with pytest.raises(wg.StaleTapeError):
        tape.play(5.0)


@pytest.mark.parametrize("arguments", [([],), ((), 1.0), ([], 1.0, 2.0), (collections.deque(), 1.0), (5, 1.0)])
@pytest.mark.parametrize("move", [heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace])
def test_heaps_raise_on_a_tape_as_untraced(move: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    def f(x: float) -> tuple[float, str]:
        try:
            move(*arguments)
        except (TypeError, IndexError) as error:
            return x, str(error)
        return x, ""

    assert wg.trace(f, 1.3)[0] == f(1.3)
