"""Functions that C code calls on objects made before the trace: what they read of traced values is seen or refused."""

from __future__ import annotations

import bisect
import cmath
import collections
import itertools
import math
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

GIVEN: list[Any] = [0.0]
KEPT: list[Any] = []


def kept() -> Any:
    KEPT.append(GIVEN[0] * 2.0)
    return KEPT[-1]


class Asked:
    """Reads a global value in methods that C code calls, and keeps what it computes."""

    def __bool__(self) -> bool:
        return kept() is not None

    def __float__(self) -> float:
        return float(GIVEN[0] * 2.0)

    def __complex__(self) -> complex:
        return complex(GIVEN[0] * 2.0)

    def __index__(self) -> int:
        return kept() is not None

    def __len__(self) -> int:
        return kept() is not None

    def __hash__(self) -> int:
        return kept() is not None

    def __eq__(self, other: object) -> bool:
        return kept() is not None

    def __lt__(self, other: Any) -> bool:
        return kept() is not None

    def __contains__(self, other: object) -> bool:
        return kept() is not None

    def __iter__(self) -> Iterator[int]:
        return iter([1, kept() is not None])

    def __repr__(self) -> str:
        return str(kept() is not None)


class OfAttributes:
    """Reads an attribute of its own."""

    def __init__(self) -> None:
        self.v: Any = 0.0

    def __bool__(self) -> bool:
        KEPT.append(self.v * 2.0)
        return True

    def __index__(self) -> int:
        return bool(self)


class Space:
    """Holds objects at some depth."""

    inside: Any = None


asked, own, far = Asked(), OfAttributes(), Space()
listed, table = [asked], {"g": asked}
far.inside = Space()
far.inside.inside = [Space()]
far.inside.inside[0].inside = [asked, own]


def doubled(_: Any) -> Any:
    return GIVEN[0] * 2.0


def made() -> dict[str, Iterator[Any]]:
    """Iterators of C around functions, as a module may hold them."""
    return {
        "map": map(doubled, itertools.repeat(1)),
        "filter": filter(lambda _: kept() is not None, itertools.repeat(1)),
        "starmap": itertools.starmap(doubled, itertools.repeat((1,))),
        "takewhile": itertools.takewhile(lambda _: kept() is not None, itertools.repeat(1)),
        "accumulate": itertools.islice(itertools.accumulate(itertools.repeat(1), lambda a, b: doubled(a)), 1, None),
        "groupby": map(operator.length_hint, itertools.groupby(itertools.count(), lambda i: i + 0 * (kept() > 0))),
        "callable": iter(lambda: doubled(1), None),
        "zip": map(operator.itemgetter(0), zip(map(doubled, itertools.repeat(1)))),
        "chain": itertools.chain(map(doubled, itertools.repeat(1))),
        "islice": itertools.islice(map(doubled, itertools.repeat(1)), 10**9),
        "map of a map": map(operator.pos, map(doubled, itertools.repeat(1))),
    }


ITERATORS = made()
CASES: dict[str, Callable[[Any], Any]] = {
    "any": lambda t: any([asked]),
    "all": lambda t: all(listed),
    "any of far": lambda t: any(far.inside.inside[0].inside),
    "attribute of self": lambda t: any(far.inside.inside[0].inside[1:]),
    "filter": lambda t: len([*filter(None, [asked])]),
    "map of bool": lambda t: sum(map(bool, listed)),
    "index": lambda t: [1, 2, 3][asked],  # type: ignore[call-overload]
    "index of an attribute": lambda t: [1, 2, 3][own],  # type: ignore[call-overload]
    "index of an array": lambda t: np.arange(3)[asked],  # type: ignore[index]
    "range": lambda t: len(range(asked)),  # type: ignore[call-overload]
    "hex": lambda t: len(hex(asked)),  # type: ignore[arg-type]
    "operator.index": lambda t: operator.index(asked),  # type: ignore[arg-type]
    "set": lambda t: len({asked}),
    "key": lambda t: {asked: 1}[asked],
    "in a list": lambda t: [1] in [asked],  # type: ignore[comparison-overlap]
    "count": lambda t: [asked].count(1),  # type: ignore[arg-type]
    "position": lambda t: [asked].index(1),  # type: ignore[arg-type]
    "maximum": lambda t: len([max([asked, asked])]),
    "sorted": lambda t: len(sorted([asked, asked])),
    "sort key": lambda t: len(sorted([1, 2], key=lambda i: i + 0 * (kept() > 0))),
    "bisect": lambda t: bisect.bisect([1, 2], 1, key=lambda i: i + 0 * (kept() > 0)),
    "repr": lambda t: len(repr([asked])),
    "sine": lambda t: math.sin(asked),
    "sine from a table": lambda t: math.sin(table["g"]),
    "power": lambda t: math.pow(asked, 2.0),
    "hypot": lambda t: math.hypot(asked, 1.0),
    "fsum": lambda t: math.fsum([asked]),  # type: ignore[list-item]
    "dist": lambda t: math.dist([asked], [0.0]),
    "complex root": lambda t: abs(cmath.sqrt(asked)),  # type: ignore[arg-type]
    "float": lambda t: float(asked),
    "np.float64": lambda t: np.float64(asked),
    "np.full": lambda t: np.full(2, asked, dtype=float)[0],  # type: ignore[call-overload]
    "missing key": lambda t: collections.defaultdict(lambda: kept())["x"],
    **{f"next of {name}": (lambda t, it=it: next(it) * 1.0) for name, it in ITERATORS.items()},
}
REFUSED = {
    "sine", "sine from a table", "power", "hypot", "fsum", "dist", "complex root", "np.float64", "np.full",
}  # fmt: skip
"""C code reads a float of these objects by itself; the others are followed."""


def program(body: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of `t` that leaves it where the objects read it."""

    def f(t: Any) -> Any:
        GIVEN[0] = own.v = t
        KEPT.clear()
        try:
            value = body(t) + t
            return value + KEPT[-1] if KEPT else value
        finally:
            GIVEN[0] = own.v = 0.0

    return f


@pytest.mark.parametrize("mode", ["grad", "jvp", "compiled"])
@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_methods_that_c_calls_are_seen(mode: str) -> None:
    modes: dict[str, Callable[[Any], Any]] = {
        "grad": lambda f: wg.grad(f)(0.3),
        "jvp": lambda f: wg.jvp(f, (0.3,), (1.0,))[1],
        "compiled": lambda f: [g(x) for g in [wg.compile(wg.grad(f))] for x in (0.2, 0.3)][1],
    }
    wrong: dict[str, Any] = {}
    for name, body in CASES.items():
        f = program(body)
        expected = (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6
        try:
            found = modes[mode](f)
        except (wg.NoRuleError, wg.RefusedCallError) as error:
            if name not in REFUSED:
                wrong[name] = str(error)
            continue
        if found != pytest.approx(expected, rel=1e-6) or name in REFUSED:
            wrong[name] = found, expected
    assert not wrong


class Integer:
    """An integer that is computed of a traced value."""

    def __init__(self, v: Any) -> None:
        self.v = v

    def __index__(self) -> int:
        return int(self.v)


INTEGERS: list[Callable[[Any], Any]] = [
    lambda i: [10.0, 20.0, 30.0, 40.0][i],
    lambda i: len(hex(i) + oct(i) + bin(i) + chr(i)),
    lambda i: operator.index(i) + int(i) + float(i) + len(range(i)),
    lambda i: math.gcd(i, 6) + math.comb(5, i) + math.factorial(i),
    lambda i: round(1.23456, i),
    lambda i: np.arange(5.0)[i] + np.sum(np.arange(5.0)[:i]) + np.zeros(5)[slice(i)].size,
    lambda i: [1.0, 2.0, 3.0, 4.0].pop(i) + len([1] * i) + sum([1.0, 2.0, 3.0, 4.0][i:]),
    lambda i: len([*itertools.islice([1, 2, 3, 4], i)]) + len("%d" % i),  # noqa: UP031
]


@pytest.mark.parametrize("body", INTEGERS)
def test_objects_that_are_integers_of_traced_values_are_followed(body: Callable[[Any], Any]) -> None:
    f = lambda t: body(Integer(t)) * t
    value, gradient = wg.value_and_grad(f)(3.0)
    assert (value, gradient) == (f(3.0), f(3.0) / 3.0)
    g = wg.compile(wg.grad(f))
    assert [g(3.0), g(2.0)] == [f(3.0) / 3.0, f(2.0) / 2.0]


def deep() -> Any:
    """A list of an object whose class nothing names that traced code reads."""

    class Hidden:
        def __bool__(self) -> bool:
            return kept() is not None

    return [[Hidden()]]


HIDDEN: list[Any] = [(deep(),)]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python reports the start of a function from 3.12 on")
def test_a_method_that_nobody_instrumented_is_refused() -> None:
    items: Any = HIDDEN[0][0][0]

    def compare(t: Any) -> Any:
        return sum(map(operator.truth, items)) * 1.0

    assert wg.grad(program(compare))(0.3) == 3.0  # followed
    holder = np.array([items], dtype=object)
    assert wg.grad(program(lambda t: float(holder.astype(bool).sum())))(0.3) == 3.0  # the classes of its items, too
    inside: Any = [[np.array([deep()[0]], dtype=object)]]
    with pytest.raises(wg.RefusedCallError, match="C code called"):
        wg.grad(program(lambda t: float(inside[0][0].astype(bool).sum())))(0.3)
