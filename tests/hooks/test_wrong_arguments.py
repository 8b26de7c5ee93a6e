"""Calls with wrong arguments raise under a trace what they raise without one, in the same words."""

from __future__ import annotations

import array
import cmath
import collections
import math
import operator
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


A: Any = np.ones(2)
CALLS: dict[str, Callable[[Any], Any]] = {
    "math.sin": lambda x: math.sin(x, x),
    "float": lambda x: float(x, x),
    "complex": lambda x: complex(x, x, x),
    "math.hypot": lambda x: math.hypot(x, y=1),
    "math.sqrt": lambda x: math.sqrt(v=x),
    "abs": lambda x: abs(x, x),
    "math.fsum": lambda x: math.fsum([x], 2),
    "sum": lambda x: sum([x], 0, 0, 0),
    "hex": lambda x: x.hex(1),
    "np.clip": lambda x: np.clip(x, bogus=2),
    "np.sin": lambda x: np.sin(x, x, x, x),
    "pow": lambda x: pow(x, 1, 1, 1),
    "np.exp": lambda x: np.exp(x, bogus=1),
    "pow, by name": lambda x: pow(x, exponent=2),
    "fmod": lambda x: math.fmod(x, x, x),
    "sum, by name": lambda x: sum([x], begin=1),
    "log": lambda x: math.log(x, x, x),
    "prod": lambda x: math.prod([x], 2, 3),
    "prod, by name": lambda x: math.prod([x], begin=1),
    "cmath": lambda x: cmath.exp(x, x),
    "erf": lambda x: math.erf(x, 1),
    "modulus": lambda x: pow(x, 2, 3),
    "a list": lambda x: math.sin([x]),
    "float of a list": lambda x: float([x]),
    "hypot of a list": lambda x: math.hypot([x]),
    "__float__": lambda x: x.__float__(1),
    "ratio": lambda x: x.as_integer_ratio(1),
    "round": lambda x: round(x, 1, 2),
    "trunc": lambda x: math.trunc(x, x),
    "isnan": lambda x: math.isnan(x, x),
    "dist": lambda x: math.dist([x], [x], [x]),
    "operator.add": lambda x: operator.add(x, x, x),
    "atan2": lambda x: math.atan2(x),
    "np.sum": lambda x: np.sum(A * x, bogus=1),
    "np.mean": lambda x: np.mean(A * x, 0, None, None, False, 1, 2, 3),
    "np.dot": lambda x: np.dot(x, x, None, x),
    "np.dot, by name": lambda x: np.dot(x, y=x),
    "np.add": lambda x: np.add(x),
    "np.where": lambda x: np.where(x > 1, x, x, x),
    "np.where, by name": lambda x: np.where(x > 1, x, bogus=x),
    "np.concatenate": lambda x: np.concatenate([A * x], 0, None, 1),
    "np.stack": lambda x: np.stack([x], 0, 1, 2),
    "np.einsum": lambda x: np.einsum("i", bogus=A * x),
    "np.linalg.inv": lambda x: np.linalg.inv(np.ones((1, 1)) * x, 1),
    "np.transpose": lambda x: np.transpose(x, 0, 1, 2),
    "np.full": lambda x: np.full((2,), x, bogus=1),
    "np.array": lambda x: np.array([x], bogus=1),
    "np.round": lambda x: np.round(x, 1, None, 3),
    "out": lambda x: np.sin(x, out=3),
    "dtype": lambda x: np.sin(x, dtype="zz"),
    "axis": lambda x: np.sum(A * x, axis="a"),
    "frompyfunc": lambda x: np.frompyfunc(abs, 1, 1)(x, x, x),
    "reduce": lambda x: np.add.reduce(A * x, bogus=1),
    "no reduce": lambda x: np.add.reduce(),
    "accumulate": lambda x: np.add.accumulate(A * x, 0, None, None, 1),
    "outer": lambda x: np.add.outer(x),
    "a.sum": lambda x: (A * x).sum(0, None, None, False, 0, True, 3),
    "a.sum, by name": lambda x: (A * x).sum(bogus=1),
    "a.reshape": lambda x: (A * x).reshape(bogus=1),
    "a.cumsum": lambda x: (A * x).cumsum(0, None, None, 1),
    "a.astype": lambda x: (A * x).astype(float, bogus=1),
    "a.clip": lambda x: (A * x).clip(bogus=1),
    "a.max": lambda x: (A * x).max(bogus=2),
    "a.sort": lambda x: (A * x).sort(bogus=1),
    "a.squeeze": lambda x: (A * x).squeeze(bogus=1),
    "a.dot": lambda x: (A * x).dot(bogus=1),
    "a.std": lambda x: (A * x).std(bogus=1),
    "a.ravel": lambda x: (A * x).ravel("C", 1),
    "a.flatten": lambda x: (A * x).flatten(bogus=1),
    "a.take": lambda x: (A * x).take(),
    "a.trace": lambda x: (np.ones((2, 2)) * x).trace(bogus=1),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("go", [wg.grad, wg.jacfwd, wg.trace], ids=lambda go: go.__name__)
def test_of_a_traced_value_too_python_s_own_error_is_raised(go: Any, name: str) -> None:
    kinds = []

    def f(x: float) -> float:
        try:
            CALLS[name](x)
        except Exception as error:
            kinds.append(type(error))
        return x * 3.0

    f(1.5)
    found = go(f, 1.5)[0] if go is wg.trace else go(f)(1.5)
    assert kinds[0] is not None and kinds == kinds[:1] * 2
    assert found == (4.5 if go is wg.trace else 3.0)
