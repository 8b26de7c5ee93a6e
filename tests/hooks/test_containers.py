"""Containers in C take traced values out of whatever they iterate over."""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

Pair = collections.namedtuple("Pair", "first second")


class Doubling:
    def __init__(self, *values: Any) -> None:
        self.values = values

    def __iter__(self) -> Iterator[Any]:
        for value in self.values:
            yield value * 2


class Indexed:
    def __init__(self, *values: Any) -> None:
        self.values = values

    def __getitem__(self, i: int) -> Any:
        return self.values[i] * 3

    def __len__(self) -> int:
        return len(self.values)


class Stepping:
    def __init__(self, *values: Any) -> None:
        self.values = list(values)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if not self.values:
            raise StopIteration
        return self.values.pop(0) * 4


class Filled(list):
    def __init__(self, items: Any) -> None:
        super().__init__(items)


class Unbound(list):
    def __init__(self, items: Any) -> None:
        list.__init__(self, items)


class Made(tuple):
    def __new__(cls, items: Any) -> Any:
        return super().__new__(cls, items)


class Later(list):
    def __new__(cls, items: Any) -> Any:
        return super().__new__(cls)


class Bounded(collections.deque):
    def __init__(self, items: Any) -> None:
        super().__init__(items, maxlen=5)


class Keyed(set):
    def __init__(self, items: Any) -> None:
        set.__init__(self, items)


def weighted(*values: Any) -> Any:
    return functools.reduce(operator.add, [(k + 1) * value for k, value in enumerate(values)], 0.0)


def _called(make: Callable[[], Any], name: str) -> Callable[[Any], Any]:
    def fill(items: Any) -> Any:
        box = make()
        getattr(box, name)(items)
        return box

    return fill


def _unbound(cls: Any, name: str) -> Callable[[Any], Any]:
    def fill(items: Any) -> Any:
        box = cls()
        getattr(cls, name)(box, items)
        return box

    return fill


def _added(make: Callable[..., Any], add: Callable[[Any, Any], Any] | None = None) -> Callable[[Any], Any]:
    def fill(items: Any) -> Any:
        box = make([0.5])
        if add is not None:
            return add(box, items)
        box += items
        return box

    return fill


def _assigned(make: Callable[..., Any], key: slice, assign: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    def fill(items: Any) -> Any:
        box = make([0.5, 0.6, 0.7, 0.8])
        if assign is None:
            box[key] = items
        else:
            assign(box, key, items)
        return box

    return fill


FILLED: dict[str, Callable[[Any], Any]] = {
    "list +=": _added(list),
    "deque +=": _added(collections.deque),
    "subclass +=": _added(Filled),
    "__iadd__": _added(list, lambda box, items: box.__iadd__(items)),
    "list.__iadd__": _added(list, lambda box, items: list.__iadd__(box, items)),
    "operator.iadd": _added(list, operator.iadd),
    "operator.iconcat": _added(list, operator.iconcat),
    "slice": _assigned(list, slice(1, None)),
    "steps": _assigned(list, slice(None, None, 2)),
    "slice of a subclass": _assigned(Filled, slice(1, 3)),
    "operator.setitem": _assigned(list, slice(0, 2), operator.setitem),
    "__setitem__": _assigned(list, slice(0, 2), lambda box, key, items: box.__setitem__(key, items)),
    "list.__setitem__": _assigned(list, slice(0, 2), list.__setitem__),
    "extend": _called(list, "extend"),
    "list.extend": _unbound(list, "extend"),
    "deque.extendleft": _unbound(collections.deque, "extendleft"),
    "list.__init__": _unbound(list, "__init__"),
    "__init__": _called(list, "__init__"),
    "set.update": lambda items: sorted(_unbound(set, "update")(items)),
    "symmetric_difference_update": lambda items: sorted(_called(set, "symmetric_difference_update")(items)),
    "union": lambda items: sorted({9.0}.union(items)),
    "frozenset.union": lambda items: sorted(frozenset([9.0]).union(items)),
    "symmetric_difference": lambda items: sorted({9.0}.symmetric_difference(items)),
    "fromkeys": lambda items: list(dict.fromkeys(items, 1.0)),
    "dict |=": lambda items: _added(lambda _: {}, operator.ior)(zip("ab", items, strict=True)).values(),
    "_make": lambda items: Pair._make(items),
    "tuple.__new__": lambda items: tuple.__new__(Made, items),
    "tuple": Made,
    "filled": Filled,
    "unbound": Unbound,
    "later": Later,
    "bounded": Bounded,
    "keyed": lambda items: sorted(Keyed(items)),
    "deque(iterable=)": lambda items: collections.deque(iterable=items),
    "UserList": collections.UserList,
}
GIVEN: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: x,
    "made": lambda x: x * 1.5,
    "iterable": lambda x: Doubling(x[0], x[1]),
    "indexed": lambda x: Indexed(x[0], x[1]),
    "iterator": lambda x: Stepping(x[0], x[1]),
    "flat": lambda x: (x * 2).flat,
    "generator": lambda x: (value * 5 for value in x),
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("filled", FILLED)
def test_a_container_filled_from_an_iterable_holds_traced_values(filled: str, given: str) -> None:
    def f(x: Any) -> Any:
        return weighted(*FILLED[filled](GIVEN[given](x))) * 1.0

    x = np.array([1.3, 2.7])
    value, gradient = wg.value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_allclose(gradient, wg.ngradient(f, x)[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(wg.gradtape(f, x).play(x)[1][1], gradient, rtol=1e-12)


class Scaled:
    """Joins and repeats what it is added to and multiplied with, itself."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __radd__(self, other: Any) -> Any:
        return [value * self.factor for value in other]

    __rmul__ = __radd__

    def __index__(self) -> int:
        return 2


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.iadd, operator.imul])
@pytest.mark.parametrize("make", [list, tuple, collections.deque])
def test_the_other_operand_is_asked_before_a_sequence_joins(make: Any, op: Any) -> None:
    def f(x: float, factor: float) -> Any:
        return sum(op(make([x, 2.0]), Scaled(factor)))

    assert wg.value_and_grad(f, argnums=(0, 1))(3.0, 4.0) == (20.0, (4.0, 5.0))


def test_a_text_joined_from_an_iterator_is_one_made_from_its_values() -> None:
    with pytest.raises(wg.NoRuleError, match=r"`float\(\)` was given a string made from a traced value"):
        wg.grad(lambda x: float(",".join(str(value) for value in x)[:3]))(np.array([1.25, 2.5]))


def test_an_array_is_taken_from_a_list_by_its_place() -> None:
    """A list is not asked whether it holds the number of the place, which arrays in it cannot answer."""

    def f(a: Any, b: Any) -> Any:
        operands, queue = [a, b, a * 2.0], collections.deque([a, b, b])
        taken = [operands.pop(k) for k in (1, 0)]
        queue.pop()
        return np.sum(taken[0] * operands[0] + taken[1]) + np.sum(queue.popleft())

    a, b = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    np.testing.assert_array_equal(wg.grad(f)(a, b), 2 * b + 2)
