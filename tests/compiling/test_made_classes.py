"""Classes that the compiled function makes itself: a call changes nothing outside by changing one."""

from __future__ import annotations

import collections
import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg

KEPT: dict[str, Any] = {}
SCALE = 2.0


def named(x: float) -> float:
    pair = collections.namedtuple("pair", "a b")(x, x * 2)
    return pair.a * pair.b


def data(x: float) -> float:
    @dataclasses.dataclass
    class Point:
        a: float
        b: float = 2.0
        seen: list[float] = dataclasses.field(default_factory=list)

    point = Point(x)
    point.seen.append(x)
    return point.a * dataclasses.replace(point, b=x).b + len(point.seen)


def changed_between_reads(x: float) -> float:
    class Model:
        k = 3.0

    before, Model.k = Model.k, 5.0
    return x * before + Model().k * x * x


def traced_numbers(x: float) -> float:
    class Model:
        k = 3.0

    Model.k = x
    before, Model.k = Model.k, Model.k * x
    return before + Model().k


def from_outside(x: float) -> float:
    class Model:
        k = SCALE

    Model.k *= 2
    return x * Model.k


def with_methods(x: float) -> float:
    class Model:
        count = 0

        def __init__(self) -> None:
            type(self).count += 1

    Model.square = lambda self: x * x  # type: ignore[attr-defined]
    return sum([Model().square() for _ in range(3)]) * Model.count  # type: ignore[attr-defined]


def in_a_loop(x: float) -> float:
    class Model:
        k = 2

    total = 0.0
    for _ in range(30):
        Model.k += 1
        total += x * Model.k
    return total


CASES: dict[Callable[[float], float], Callable[[float], tuple[float, float]]] = {
    named: lambda x: (2 * x * x, 4 * x),
    data: lambda x: (x * x + 1, 2 * x),
    changed_between_reads: lambda x: (3 * x + 5 * x * x, 3 + 10 * x),
    traced_numbers: lambda x: (x + x * x, 1 + 2 * x),
    from_outside: lambda x: (2 * SCALE * x, 2 * SCALE),
    with_methods: lambda x: (9 * x * x, 18 * x),
    in_a_loop: lambda x: (525 * x, 525.0),
}


@pytest.mark.parametrize("f", CASES)
def test_a_function_that_makes_and_changes_a_class_is_compiled(
    f: Callable[[float], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = wg.compile(wg.value_and_grad(f), strict=True)
    for x, scale in [(3.0, 2.0), (4.0, 2.0), (-0.5, 7.0)]:
        monkeypatch.setitem(globals(), "SCALE", scale)
        assert compiled(x) == pytest.approx(CASES[f](x), rel=1e-14)


def kept_in_a_dictionary(x: float) -> float:
    class Model:
        k = 3.0

    Model.k = x
    KEPT["last"] = Model
    return x * x


class Registered:
    def __init_subclass__(cls) -> None:
        KEPT[cls.__name__] = cls


def kept_by_its_base(x: float) -> float:
    class Model(Registered):
        k = x

    KEPT["last"] = Model
    return x * x


def returned(x: float) -> Any:
    class Model:
        k = 3.0

    Model.k = x
    KEPT["last"] = Model
    return Model


@pytest.mark.parametrize("f", [kept_in_a_dictionary, kept_by_its_base, returned])
def test_a_class_that_outlives_the_call_is_another_one_each_time(f: Callable[[float], Any]) -> None:
    KEPT.clear()
    compiled, seen = wg.compile(f), set[type]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.NotCompiledWarning)
        for x in (3.0, 4.0, 5.0):
            compiled(x)
            assert KEPT["last"].k == x
            seen.add(KEPT["last"])
    assert len(seen) == 3 and compiled.status == "not compiled"
