"""What a function with a rule puts into containers that it is given: refused where the result depends on it."""

from __future__ import annotations

import array
import collections
import dataclasses
import fractions
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


@dataclasses.dataclass
class Box:
    v: Any = 0.0
    w: Any = None


class Slots:
    __slots__ = ("v",)

    def __init__(self) -> None:
        self.v = 0.0


Put = Callable[[Any, Any], object]
STORES: dict[str, tuple[Put, Callable[[Any], Any], Callable[[], Any]]] = {
    "append": (lambda c, v: c.append(v * 2.0), lambda c: c[0], list),
    "extend": (lambda c, v: c.extend([v * 2.0, 1.0]), lambda c: c[0] * c[1], list),
    "item": (lambda c, v: c.__setitem__(0, v * 2.0), lambda c: c[0], lambda: [0.0]),
    "middle of many": (lambda c, v: c.__setitem__(9000, v * 2.0), lambda c: c[9000], lambda: [1.0] * 20_000),
    "deque": (lambda c, v: c.append(v * 2.0), lambda c: c[0], collections.deque),
    "dict": (lambda c, v: c.update(a=v * 2.0), lambda c: c["a"], dict),
    "key": (lambda c, v: c.update({v * 2.0: 1}), lambda c: next(iter(c)), dict),
    "defaultdict": (lambda c, v: c["k"].append(v * 2.0), lambda c: c["k"][0], lambda: collections.defaultdict(list)),
    "attribute": (lambda c, v: setattr(c, "v", v * 2.0), lambda c: c.v, Box),
    "new attribute": (lambda c, v: setattr(c, "a", v * 2.0), lambda c: c.a, types.SimpleNamespace),
    "slot": (lambda c, v: setattr(c, "v", v * 2.0), lambda c: c.v, Slots),
    "attribute of a class": (lambda c, v: setattr(c, "v", v * 2.0), lambda c: c.v, lambda: type("T", (), {})),
    "nested": (lambda c, v: c[0].append(v * 2.0), lambda c: c[0][0], lambda: [[]]),
    "attribute of an attribute": (lambda c, v: setattr(c.w, "v", v * 2.0), lambda c: c.w.v, lambda: Box(0.0, Box())),
    "list in a tuple": (lambda c, v: c[0].append(v * 2.0), lambda c: c[0][0], lambda: ([],)),
    "new list": (lambda c, v: c.append([v * 2.0]), lambda c: c[0][0], list),
    "new tuple": (lambda c, v: c.append((v * 2.0, 1)), lambda c: c[0][0], list),
    "new dict": (lambda c, v: c.append({"a": [v * 2.0]}), lambda c: c[0]["a"][0], list),
    "new object": (lambda c, v: c.append(Box(v * 2.0)), lambda c: c[0].v, list),
    "new array": (lambda c, v: c.append(np.array([v * 2.0, v])), lambda c: c[0][0], list),
    "new cell": (lambda c, v: c.append(types.CellType(v * 2.0)), lambda c: c[0].cell_contents, list),
    "array in a list": (lambda c, v: c[0].fill(v * 2.0), lambda c: c[0][0], lambda: [np.zeros(2)]),
    "array in an object": (lambda c, v: c.v.fill(v * 2.0), lambda c: c.v[0], lambda: Box(np.zeros(2))),
    "array in an array": (lambda c, v: c.fill(v * 2.0), lambda c: c[0], lambda: np.zeros(2, dtype=object)),
    "set": (lambda c, v: c.add(v * 2.0), lambda c: next(iter(c)), set),
    "packed": (lambda c, v: c.__setitem__(0, v * 2.0), lambda c: c[0], lambda: array.array("d", [0.0])),
    "closure": (lambda c, v: c.append(lambda w=v * 2.0: w), lambda c: c[0](), list),
    "iterator": (lambda c, v: c.append(iter([v * 2.0])), lambda c: next(c[0]), list),
    "fraction": (lambda c, v: c.append(fractions.Fraction(v * 2.0)), lambda c: float(c[0]), list),
    "text": (lambda c, v: c.append(str(v * 2.0)), lambda c: float(c[0]), list),
    "as a cell of a closure": (lambda c, v: c(v * 2.0), lambda c: c.__closure__[0].cell_contents[0], lambda: keeping()),
}


def keeping() -> Callable[[Any], None]:
    kept: list[Any] = []

    def keep(v: Any) -> None:
        kept.append(v)

    return keep


def program(put: Put, get: Callable[[Any], Any], make: Callable[[], Any], form: str = "rrule") -> Callable[[Any], Any]:
    """A function whose result depends on what a function with a rule put into a container."""

    def called(c: Any, v: Any) -> Any:
        put(c, v)
        return v

    if form == "rrule":
        wg.rrule(called)(lambda c, v: (called(c, v), lambda y_bar: (None, y_bar)))
    else:
        wg.vjp_rule(called)(lambda y_bar, y, c, v: (None, y_bar))

    def f(x: Any) -> Any:
        c = make()
        y = called(c, x)
        return y + get(c)

    return f


MODES: dict[str, Callable[[Any, float], Any]] = {
    "grad": lambda f, x: wg.grad(f)(x),
    "jvp": lambda f, x: wg.jvp(f, (x,), (1.0,)),
    "trace": lambda f, x: wg.trace(f, x),
    "second": lambda f, x: wg.grad(lambda a: a * wg.grad(f)(a))(x),
    "compiled": lambda f, x: wg.compile(wg.grad(f))(x),
    "vjp": lambda f, x: wg.vjp(f, x)[1](1.0),
}


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("form", ["rrule", "pullback"])
@pytest.mark.parametrize("mode", MODES)
def test_what_a_rule_cannot_tell_of_is_refused(mode: str, form: str) -> None:
    for name, (put, get, make) in STORES.items():
        f = program(put, get, make, form)
        assert f(3.0) == 9.0, name
        with pytest.raises((wg.RefusedCallError, wg.NoRuleError), match=r"test_rule_stores\.py"):
            print(name, MODES[mode](f, 3.0))


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("name", STORES)
def test_compiled_functions_give_the_plain_value(name: str) -> None:
    f = program(*STORES[name])
    g = wg.compile(f)
    assert [g(3.0), g(4.0)] == [9.0, 12.0]


def test_what_is_not_read_is_put_there() -> None:
    def logged(log: Any, x: Any) -> Any:
        log["calls"].append(x * 2.0)
        log["last"] = x
        log["names"].add("logged")
        log["count"] += 1
        return x * x

    wg.rrule(logged)(lambda log, x: (logged(log, x), lambda y_bar: (None, 2.0 * x * y_bar)))
    log: dict[str, Any] = {"calls": [], "last": None, "names": set(), "count": 0}
    assert wg.grad(lambda x: logged(log, x) + logged(log, 2.0 * x))(3.0) == 30.0
    assert log == {"calls": [6.0, 12.0], "last": 6.0, "names": {"logged"}, "count": 2}
    assert wg.grad(wg.grad(lambda x: logged(log, x)))(3.0) == 2.0
    assert wg.jvp(lambda x: logged(log, x), (3.0,), (1.0,))[1] == 6.0


def test_what_is_moved_keeps_its_derivative() -> None:
    def moved(items: Any, x: Any) -> Any:
        items.append(x)
        items[0], items[1] = items[1], items[0]
        return x

    wg.rrule(moved)(lambda items, x: (moved(items, x), lambda y_bar: (None, y_bar)))

    def f(x: Any) -> Any:
        items = [5.0 * x, 7.0]
        y = moved(items, x * x)
        return y + items[1] * items[2] + items[0]

    assert f(3.0) == 9.0 + 15.0 * 9.0 + 7.0
    for derivative in (wg.grad(f)(3.0), wg.jvp(f, (3.0,), (1.0,))[1]):
        assert derivative == pytest.approx(6.0 + 5.0 * 3.0 * 9.0, rel=1e-12)


def test_objects_stay_the_same() -> None:
    kept = Box([1.0])

    def stored(items: Any, x: Any) -> Any:
        items.append(kept)
        items.append(kept.v)
        return x

    wg.rrule(stored)(lambda items, x: (stored(items, x), lambda y_bar: (None, y_bar)))

    def f(x: Any) -> Any:
        items: list[Any] = []
        y = stored(items, x)
        assert items[0] is kept
        assert items[1] is kept.v
        return y

    assert wg.grad(f)(3.0) == 1.0


def test_too_many_objects_are_refused() -> None:
    def called(objects: Any, x: Any) -> Any:
        return x

    wg.rrule(called)(lambda objects, x: (x, lambda y_bar: (None, y_bar)))
    objects = [Box() for _ in range(20_000)]
    with pytest.raises((wg.RefusedCallError, wg.NoRuleError), match=r"test_rule_stores\.py.*too many to search"):
        wg.grad(lambda x: called(objects, x))(3.0)
