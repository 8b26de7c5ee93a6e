"""Calls with wrong arguments raise under a trace what they raise without one, in the same words."""

from __future__ import annotations

import array
import collections
import re
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.hooks.policy import CALLABLES

WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}), ((None,) * 12, {}), ((), {"no_such_": 1}), ((None,), {"no_such_": 1}),
]  # fmt: skip
OBJECTS = [
    [1.0], {"a": 1.0}, {1.0}, (1.0,), frozenset([1]), "a", b"a", bytearray(b"a"), 1, 1.0, 1j, range(3), iter([1]),
    collections.deque([1.0]), OrderedDict(a=1.0), collections.defaultdict(float), collections.Counter("a"),
    array.array("d", [1.0]), types.MappingProxyType({}), memoryview(b"a"),
]  # fmt: skip
SPECIAL = {"__getitem__", "__setitem__", "__len__", "__contains__", "__eq__", "__add__", "__iter__"}
SKIPPED = {"breakpoint", "input", "exit", "quit", "print", "getattr", "type.__call__", "ndarray.__new__"}


def methods(thing: Any) -> list[Any]:
    found = [getattr(thing, name, None) for name in dir(thing) if not name.startswith("__") or name in SPECIAL]
    return [f for f in found if callable(f)]


def said(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    try:
        return f"gives {type(f(*args, **kwargs)).__name__}"
    except Exception as error:
        return re.sub("0x[0-9a-f]+", "", f"{type(error).__name__}: {error}")


def under_trace(go: Callable[[], Any]) -> Any:
    results = []

    def f(x: float) -> float:
        results.append(go())
        return x * 1.0

    wg.grad(f)(2.0)
    return results[0]


def named(f: Any) -> str:
    return getattr(f, "__qualname__", None) or repr(f)


@pytest.mark.filterwarnings("ignore")
def test_every_stand_in_raises_in_the_words_of_the_callable() -> None:
    builtin = [f for f in CALLABLES if callable(f) and (getattr(f, "__module__", "") or "").split(".")[0] != "numpy"]
    builtin = [f for f in builtin if "numpy" not in repr(f) and not isinstance(f, np.ufunc)]
    unbound = [f for t in (list, dict, set, tuple, str, float, int, collections.deque) for f in methods(t)]
    wrong = []
    for f in (*builtin, *unbound, *(f for thing in OBJECTS for f in methods(thing))):
        for args, kwargs in WRONG if named(f) not in SKIPPED else ():
            plain = said(f, args, kwargs)
            if plain.startswith("TypeError"):
                traced = under_trace(lambda f=f, args=args, kwargs=kwargs: said(f, args, kwargs))
                wrong += [] if traced == plain else [f"{named(f)}{args}{kwargs}: {traced}, plainly {plain}"]
    assert not wrong, "\n".join(wrong)


class Restless:
    """A key of another hash each time."""

    asked = 0

    def __hash__(self) -> int:
        self.asked += 1
        return self.asked

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return "key"


CHANGES = {
    "iterate": lambda d, k: [*d], "copy": lambda d, k: d.copy(), "values": lambda d, k: [*d.values()],
    "popitem": lambda d, k: d.popitem(), "first": lambda d, k: d.popitem(False), "pop": lambda d, k: d.pop(k),
    "move": lambda d, k: d.move_to_end("b"), "repr": lambda d, k: repr(d), "clear": lambda d, k: d.clear(),
    "update": lambda d, k: d.update({k: 1}), "in": lambda d, k: k in d, "get": lambda d, k: d.get(k),
    "delete": lambda d, k: d.__delitem__("b"), "dict": lambda d, k: dict(d), "set": lambda d, k: d.setdefault(k, 1),
}  # fmt: skip


@pytest.mark.parametrize("go", [wg.grad, wg.trace], ids=["grad", "trace"])
def test_a_dictionary_may_hold_a_key_of_unstable_hash(go: Any) -> None:
    wrong = []
    for name, change in CHANGES.items():

        def changed(x: float, change: Any = change) -> str:
            key = Restless()
            d: Any = OrderedDict()
            d[key] = x
            d["b"] = 2 * x
            try:
                return repr(change(d, key))
            except Exception as error:
                return repr(error)

        got: list[str] = []

        def f(x: float, changed: Any = changed, got: list[str] = got) -> float:
            got.append(changed(x))
            return x * 1.0

        go(f)(2.0) if go is wg.grad else go(f, 2.0)
        wrong += [] if got == [changed(2.0)] else [f"{name}: {got}, plainly {changed(2.0)}"]
    assert not wrong, "\n".join(wrong)


def test_a_dictionary_with_such_a_key_is_compared() -> None:
    def f(x: float) -> float:
        d = OrderedDict({Restless(): x})
        return x * 3.0 if d == d else x

    assert wg.grad(f)(2.0) == 3.0
