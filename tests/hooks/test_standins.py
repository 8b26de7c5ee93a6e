"""Stand-ins in plain Python: they are at the line of their caller, and do what the callable in C does."""

from __future__ import annotations

import bisect
import builtins
import collections
import functools
import heapq
import math
import operator
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg
from wengert.hooks.standins import standard


class Given(dict):
    """A dictionary that tells what is not there."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, self.value)


def counted(x: float) -> float:
    counts = Given(x * x)
    collections._count_elements(counts, "aab")  # type: ignore[attr-defined]
    return counts["a"] * counts["b"]


def keys(x: float) -> float:
    key = functools.cmp_to_key(lambda a, b: a - b)
    same, more = key(x) == key(x * 1.0), key(x * x) > key(x)
    return key(x * x).obj * (2.0 if same else 3.0) * (5.0 if more else 7.0)


def called(x: float) -> float:
    class Twice:
        def __init__(self, value: float) -> None:
            self.value = value

        def scaled(self, by: float, *, power: int) -> float:
            return (self.value * by) ** power

    pair = [Twice(x), Twice(x * x)]
    scaled = operator.methodcaller("scaled", 3.0, power=2)
    return sum(map(scaled, pair)) + operator.attrgetter("value")(operator.itemgetter(1)(pair))


@pytest.mark.parametrize("f", [counted, keys, called])
def test_a_text_in_python_computes_what_the_callable_in_c_does(f: Callable[[float], float]) -> None:
    assert wg.value_and_grad(f)(1.3)[0] == f(1.3)
    assert wg.grad(f)(1.3) == pytest.approx(wg.ngradient(f, 1.3)[0], rel=1e-6)
    assert wg.trace(f, 1.3)[1].play(1.3) == f(1.3)


def test_other_threads_can_import_a_c_part_while_the_version_in_python_is_loaded() -> None:
    parts: list[Any] = []
    sys.setprofile(lambda *_: parts.append(sys.modules["_heapq"]))
    try:
        made = standard._in_python.__wrapped__("heapq")
    finally:
        sys.setprofile(None)
    standard.COPIES.remove(made)
    assert parts and None not in parts
    assert type(made.heappush) is types.FunctionType


DECIDING: dict[str, Callable[[float], Any]] = {
    "bisect": lambda x: bisect.bisect([1.0, 2.0], x),
    "bisect with a key": lambda x: bisect.bisect_left([1.0, 2.0], x, key=lambda a: a + 0.0),
    "heapify": lambda x: heapq.heapify([2.0, x]),
    "heappush": lambda x: heapq.heappush([1.7], x),
    "sorted": lambda x: sorted([x, 1.7]),
    "cmp_to_key": lambda x: sorted([x, 1.7], key=functools.cmp_to_key(operator.sub)),
    "max": lambda x: max((x, 0), (1.7, 0)),
    "min with a key": lambda x: min(x, 1.7, key=operator.neg),
    "operator": lambda x: operator.truth(operator.lt(x, 1.7)),
}


@pytest.mark.parametrize("name", DECIDING)
def test_what_a_standin_decides_is_decided_at_the_line_of_its_caller(name: str) -> None:
    decide = DECIDING[name]

    def f(x: float) -> float:
        decide(x)
        return x * x

    tape = wg.trace(f, 1.5)[1]
    assert tape.play(1.5) == 2.25
    line = decide.__code__.co_firstlineno
    with pytest.raises(wg.StaleTapeError, match=rf"test_standins\.py:{line} in <lambda>"):
        tape.play(2.5)


def test_a_heap_of_a_gradient_moves_what_it_is_given() -> None:
    def f(x: float) -> float:
        heap: list[Any] = []
        for k, c in enumerate((3.0, -1.0, 2.0, 0.5)):
            heapq.heappush(heap, (c * x, k, [c * x * x]))
        first = heapq.heapreplace(heap, (x**3, 9, [x]))
        return first[0] * first[2][0] + heapq.nsmallest(2, heap)[1][0]

    assert wg.value_and_grad(f)(1.3)[0] == f(1.3)
    assert wg.grad(f)(1.3) == pytest.approx(wg.ngradient(f, 1.3)[0], rel=1e-6)


def typed(x: float) -> float:
    @functools.lru_cache(typed=True)
    def scaled(by: float) -> float:
        return x * by if type(by) is int else x * x * by

    return scaled(2) + scaled(2.0)


def named(x: float) -> float:
    @functools.cache
    def scaled(by: Any) -> float:
        return x if by == 1 else x * x

    return scaled(("by", 1)) + scaled(by=1)


def full(x: float, size: int = 1) -> float:
    calls: list[int] = []

    @functools.lru_cache(size)
    def scaled(by: int) -> float:
        calls.append(by)
        return x * by

    return sum([scaled(by) for by in (1, 1, 2, 1, 3, 1, 2)]) * len(calls)


def cleared(x: float) -> float:
    factor = [x]

    @functools.cache
    def scaled(by: Any) -> float:
        return factor[0] * by

    first = scaled(x) * scaled((x, 1.0)[0])
    factor[0] = x * x
    scaled.cache_clear()
    return first * scaled(x)


@pytest.mark.parametrize("f", [typed, named, full, lambda x: full(x, 0), lambda x: full(x, 2), cleared])
def test_the_cache_of_a_trace_finds_what_lru_cache_finds(f: Callable[[float], float]) -> None:
    assert wg.value_and_grad(f)(1.3)[0] == f(1.3)
    assert wg.grad(f)(1.3) == pytest.approx(wg.ngradient(f, 1.3)[0], rel=1e-6)


ASKED: dict[str, Callable[[float], Any]] = {
    "a value of a dictionary": lambda x: 1.3 in {"a": x}.values(),
    "an item of a deque": lambda x: 1.3 in collections.deque([x]),
    "a key of a dictionary": lambda x: 1.3 in {x: 1}.keys(),
    "an item of a dictionary": lambda x: ("a", 1.3) in {"a": x}.items(),
}
COMPARED: dict[str, Callable[[float], Any]] = {
    "items": lambda x: {"a": x}.items() == {"a": 1.3}.items(),
    "fewer items": lambda x: {"a": x}.items() <= {"a": 1.3, "b": 2}.items(),
    "keys": lambda x: {x: 1}.keys() == {1.3},
    "a mapping that cannot be changed": lambda x: types.MappingProxyType({"a": x}) == {"a": 1.3},
    "one on the right": lambda x: {"a": x} == types.MappingProxyType({"a": 1.3}),
}
if hasattr(builtins, "frozendict"):  # from Python 3.15
    COMPARED["a frozen dictionary"] = lambda x: builtins.frozendict(a=x) != {"a": 1.3}
    COMPARED["one with traced items beside it"] = lambda x: {"a": x} == builtins.frozendict(a=1.3)
    ASKED["a frozen dictionary as a key"] = lambda x: builtins.frozendict(a=x) in {builtins.frozendict(a=1.3): 1}


@pytest.mark.parametrize("name", [*ASKED, *COMPARED])
def test_what_a_view_of_a_container_is_found_to_hold_is_guarded_or_refused(name: str) -> None:
    def f(x: float) -> float:
        return x * x if {**ASKED, **COMPARED}[name](x) else x

    if name in COMPARED:
        with pytest.raises(wg.RefusedCallError, match="C code compares containers of traced values"):
            wg.trace(f, 1.3)
        return
    tape = wg.trace(f, 1.3)[1]
    assert tape.play(1.3) == f(1.3)
    with pytest.raises(wg.StaleTapeError):
        tape.play(2.0)


def test_keys_of_dictionaries_that_hold_traced_values_are_compared() -> None:
    assert wg.trace(lambda x: x if {"a": x}.keys() == {"a"} else x * x, 1.3)[1].play(2.0) == 2.0


class Odd(list):
    """A list with methods that C uses none of where it searches."""

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place) * 2

    def __iter__(self) -> Any:
        return iter([9.0])

    def __delitem__(self, place: Any) -> None:
        self.clear()


def removed(x: float) -> float:
    items = Odd([9.0, x, x * x])
    items.remove(x)
    return list.__getitem__(items, 1)


def refused(x: float) -> float:
    try:
        collections.deque([x]).remove(99.0)
    except ValueError as error:
        return x * len(str(error))
    return x


@pytest.mark.parametrize(
    "f",
    [
        lambda x: Odd([9.0, x]).index(x) * x,
        lambda x: Odd([9.0, x, x]).count(x) * x,
        lambda x: x * x if x in Odd([1.0, x]) else x,
        removed,
        refused,
    ],
)
def test_a_tape_searches_a_sequence_past_the_methods_of_its_class(f: Callable[[float], float]) -> None:
    assert wg.trace(f, 1.3)[0] == f(1.3)
    assert wg.trace(f, 1.3)[1].play(1.3) == f(1.3)


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="new in 3.12")
def test_products_of_floats_are_summed_as_exactly_as_untraced() -> None:
    rng = random.Random(0)
    drawn = [[[rng.uniform(-1, 1) for _ in range(4)] for _ in "pq"] for _ in range(50)]
    traced = [wg.value_and_grad(lambda p, q: math.sumprod(p, q))(*pq)[0] for pq in drawn]
    assert traced == [math.sumprod(*pq) for pq in drawn]


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="new in 3.12")
@pytest.mark.parametrize("ctx", [None, wg.Context()], ids=["plain", "context"])
def test_a_tape_sums_products_of_floats_as_exactly(ctx: Any) -> None:
    rng = random.Random(0)
    for _ in range(50):
        args = [rng.uniform(-1, 1) for _ in range(5)]
        value, tape = wg.trace(lambda a, b, c, d, e: math.sumprod([a, b, c], [d, e, 1.0]), *args, ctx=ctx)
        assert value == tape.play(*args) == math.sumprod(args[:3], [*args[3:], 1.0])
