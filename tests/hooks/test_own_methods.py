"""Classes derived from built-in ones whose methods call those of their base: `super().__contains__(key)`.

The stand-in of a base's method must never ask the class again. Each use of each method is compared with the plain run,
in a gradient, on a tape and compiled; derivatives with differences.
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

MAKERS: dict[type, Callable[[type, float], Any]] = {
    dict: lambda q, x: q({"a": x, "b": 2.0}),
    collections.OrderedDict: lambda q, x: q({"a": x, "b": 2.0}),
    collections.defaultdict: lambda q, x: q(float, {"a": x}),
    collections.Counter: lambda q, x: q({"a": x, "b": 3}),
    list: lambda q, x: q([x, 2.0, 3.0]),
    tuple: lambda q, x: q((x, 2.0, 3.0)),
    collections.deque: lambda q, x: q([x, 2.0, 3.0]),
    set: lambda q, x: q([2.0, 3.0]),
    frozenset: lambda q, x: q([2.0, 3.0]),
    str: lambda q, x: q("abc"),
    float: lambda q, x: q(x),
    complex: lambda q, x: q(complex(2.0, 1.0)),
    int: lambda q, x: q(3),
    np.ndarray: lambda q, x: np.array([x, 2.0, 3.0]).view(q),
}
USES = {
    "__contains__": ["'a' in q", "2.0 in q", "x in q", "'z' not in q"],
    "__getitem__": ["q['a']", "q[0]", "q[0:2]"],
    "__len__": ["len(q)"],
    "__iter__": ["[v for v in q]", "list(q)"],
    "__eq__": ["q == q", "q == {'a': x}", "q == [x, 2.0, 3.0]", "q == 2.0", "q == 'abc'", "q == None"],
    "__ne__": ["q != q", "q != 3.0", "q != [1]", "q != 'x'"],
    "__lt__": ["q < q", "q < 5.0"],
    "__add__": ["q + q", "q + x", "q + [x]"],
    "__radd__": ["x + q"],
    "__mul__": ["q * 2", "q * x"],
    "__rmul__": ["2 * q", "x * q"],
    "__sub__": ["q - x", "q - q"],
    "__truediv__": ["q / x"],
    "__pow__": ["q**2"],
    "__neg__": ["-q"],
    "__abs__": ["abs(q)"],
    "__bool__": ["1.0 if q else 2.0"],
    "__float__": ["float(q)"],
    "__or__": ["q | {'c': x}", "q | {4.0}"],
    "__and__": ["q & {2.0}"],
    "__setitem__": ["(q.__setitem__('a', x * 3), q['a'])[1]", "(q.__setitem__(0, x * 3), q[0])[1]"],
    "__delitem__": ["(q.__delitem__('a'), len(q))[1]", "(q.__delitem__(0), len(q))[1]"],
    "__iadd__": ["q.__iadd__([x])", "q.__iadd__(x)"],
    "__reversed__": ["list(reversed(q))"],
    "get": ["q.get('a')"],
    "pop": ["q.pop('a')", "q.pop()"],
    "setdefault": ["q.setdefault('z', x)"],
    "update": ["(q.update(a=x * 2), q['a'])[1]"],
    "items": ["[v for k, v in q.items()]"],
    "values": ["[*q.values()]"],
    "append": ["(q.append(x), q[-1])[1]"],
    "extend": ["(q.extend([x, x]), q[-1])[1]"],
    "insert": ["(q.insert(0, x * 2), q[0])[1]"],
    "index": ["q.index(2.0)", "q.index(x)"],
    "count": ["q.count(2.0)"],
    "remove": ["(q.remove(2.0), len(q))[1]"],
    "sort": ["(q.sort(), q[0])[1]"],
    "reverse": ["(q.reverse(), q[-1])[1]"],
    "add": ["(q.add(7.0), len(q))[1]"],
    "discard": ["(q.discard(2.0), len(q))[1]"],
    "union": ["len(q.union({9.0}))"],
    "startswith": ["q.startswith('a')"],
    "sum": ["q.sum()"],
    "__matmul__": ["q @ q"],
    "reshape": ["q.reshape(3, 1)"],
}

REFUSED = ("super().__len__", "base.__len__", "super().__contains__", "base.__contains__", "base.sort")
"""Methods of arrays that have no rule where the class overrides them."""


def number(value: Any, x: float) -> Any:
    """Reduce a result to a number: booleans count, items are summed past the methods of their class."""
    if isinstance(value, bool | np.bool_):
        return x * (2.0 if value else 3.0)
    if isinstance(value, str):
        return x * len(value)
    if isinstance(value, set | frozenset):
        return x * len([*value])
    base = next((t for t in (list, tuple, collections.deque) if isinstance(value, t)), None)
    if isinstance(value, dict) or base is not None:
        items = dict.values(value) if base is None else base.__iter__(value)
        return sum([1.1 * number(item, x) for item in items], 0.5 * x)
    if isinstance(value, np.ndarray):
        return np.sum(np.asarray(value)) * x
    return (value.real + value.imag) * x if isinstance(value, complex) else value * x


def programs(base: Any) -> list[tuple[str, Callable[[float], Any]]]:
    """The uses that run: each in a class that overrides the one method, by `super()` and by the name of the base."""
    found = []
    for name in USES.keys() & {*dir(base)}:
        for call in (f"super().{name}(*a, **k)", f"base.{name}(self, *a, **k)"):
            for use in USES[name]:
                text = f"class Q(base):\n    def {name}(self, *a, **k): return {call}\n"
                text += "    __hash__ = base.__hash__\n" if base.__hash__ else ""
                space = {"base": base, "make": MAKERS[base], "number": number}
                exec(f"{text}def f(x):\n    q = make(Q, x)\n    return number({use}, x)\n", space)
                try:
                    runs = isinstance(space["f"](3.3), float)
                except (TypeError, AttributeError, ValueError, KeyError, IndexError):
                    runs = False
                found += [(f"{call}: {use}", space["f"])] if runs else []
    return sorted(found, key=lambda pair: pair[0])


@pytest.mark.parametrize("base", MAKERS, ids=lambda base: base.__name__)
def test_a_method_that_calls_that_of_its_base_does_the_same_traced(base: type) -> None:
    uses = programs(base)
    assert len(uses) >= 4
    for words, f in uses:
        if base is np.ndarray and any([words.startswith(refused) for refused in REFUSED]):
            with pytest.raises(wg.NoRuleError):
                wg.grad(f)(3.3)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            slope = (f(3.3 + 1e-4) - f(3.3 - 1e-4)) / 2e-4
            compiled = wg.compile(wg.value_and_grad(f))
            assert wg.value_and_grad(f)(3.3) == (f(3.3), pytest.approx(slope, rel=1e-6, abs=1e-9)), words
            assert [compiled(x)[0] for x in (3.3, 4.4, 3.3)] == [f(3.3), f(4.4), f(3.3)], words
            assert wg.trace(f, 3.3)[1].play(3.3) == f(3.3), words
