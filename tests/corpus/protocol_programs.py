"""Programs over classes that answer for attributes, items and iteration."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import collections
import functools

import numpy as np
from class_programs import Base
from program_table import Programs

program = Programs()

# -- attributes, items, iteration


@program(0.6)
def class_statement_inside(x):
    class Local(Base):
        factor = x * 2

        class Inner:
            value = x**2

        def __init__(self, v):
            super(Local, self).__init__(v * self.factor)

        def __init_subclass__(cls, **kwargs):
            cls.extra = x

    class More(Local):
        pass

    return Local(x).v + Local.Inner.value + More(2.0).v * More.extra


class Dynamic:
    def __init__(self, values):
        self.values = values

    def __getattr__(self, name):
        if name not in self.values:
            raise AttributeError(name)
        return self.values[name] * 2

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value if name == "values" else value + 1)

    def __delattr__(self, name):
        self.values.pop(name)


@program(0.6)
def getattr_and_setattr_methods(x):
    d = Dynamic({"a": x, "b": x * x})
    d.c = x
    total = d.a + d.b * d.c + getattr(d, "missing", x)
    del d.a
    return total if hasattr(d, "b") and not hasattr(d, "a") else 0.0


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name) * 2

    def __set__(self, obj, value):
        setattr(obj, self.name, abs(value))


class Managed:
    level = Positive()

    def __init__(self, level):
        self.level = level


@program(-0.6)
def descriptors(x):
    m = Managed(x)
    return m.level * x + (Managed.level is not None)


class GetAttribute:
    def __init__(self, v):
        self.v = v

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        return value * 2 if name == "v" else value


@program(0.6)
def getattribute_method(x):
    return GetAttribute(x).v * x


class Countdown:
    def __init__(self, v, n):
        self.v, self.n = v, n

    def __iter__(self):
        return self

    def __next__(self):
        if not self.n:
            raise StopIteration
        self.n -= 1
        return self.v * self.n


class Sequence:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        return self.items[k] * 2

    def __setitem__(self, k, v):
        self.items[k] = v

    def __delitem__(self, k):
        del self.items[k]

    def __reversed__(self):
        return (v * 3 for v in reversed(self.items))


@program(0.6)
def iteration_protocols(x):
    total = sum(Countdown(x, 3)) + max(Countdown(x, 2))
    first, second = Countdown(x, 2)
    s = Sequence([x, x * x, 1.0])
    s[2] = x * 5
    del s[0]
    for v in s:
        total += v
    for v in reversed(s):
        total *= v
    it = iter(Countdown(x, 4))
    return total + first + next(it) + next(it) + next(iter(()), x) + sum([*s, *Countdown(x, 2)]) + list(s)[0]


class Missing(dict):
    def __missing__(self, key):
        value = self[key] = key * 2
        return value


class Stack(list):
    def push(self, v):
        self.append(v)
        return self

    def __getitem__(self, k):
        return super().__getitem__(k) * 2


@program(0.6)
def container_subclasses(x):
    m = Missing(a=x)
    s = Stack([x]).push(x * x).push(2.0)
    u = collections.UserDict({"k": x})
    u["m"] = x * 3
    return m["a"] + m[x] * 2 + s[1] + len(s) + sum(u.values())


class Coefficient(float):
    def twice(self):
        return self * 2


@program(0.6)
def float_subclass_constant(x):
    return Coefficient(1.5) * x + Coefficient(2.0).twice() * x


# -- what only the interpreter and C call


class Rising:
    """An iterator without `__iter__`, which C and the interpreter step all the same."""

    def __init__(self, v):
        self.v, self.n = v, 0

    def __next__(self):
        self.n += 1
        if self.n > 3:
            raise StopIteration
        return self.v * self.n


class Given:
    def __init__(self, v):
        self.v = v

    def __iter__(self):
        return Rising(self.v)


@program(0.7, closed=(6 + 6 + 3 + 4 * 0.7 + 1 + 2 + 3 * 0.7**2 * 6,))
def an_iterator_that_has_no_iter(x):
    a, b, c = Given(x)
    return (
        sum(Given(x))
        + sum([*Given(x)])
        + max(Given(x))
        + a * b
        + [v for v, _ in zip(Given(x), Given(1.0))][0]
        + list(Given(x))[1]
        + tuple(Given(a * b * c))[0]
    )


class Shouting:
    def __init__(self, v, swallows):
        self.v, self.swallows, self.heard = v, swallows, 0.0

    def __enter__(self):
        return self.v * 2

    def __exit__(self, kind, error, traceback):
        if error is not None:
            self.heard = error.args[0] * self.v
        return self.swallows


@program(0.7, closed=(3 * 0.7**2 * 2 + 3 * 0.7**2 * 2 + 2 * 0.7,))
def what_leaves_a_context(x):
    swallowing, telling = Shouting(x, True), Shouting(x, False)
    with swallowing as twice:
        raise ValueError(twice * x)
    try:
        with telling as twice:
            raise KeyError(twice * x)
    except KeyError as error:
        return swallowing.heard + telling.heard + error.args[0] / 2


@program(0.7, closed=(14 + 6 * 0.7,))
def a_generator_that_is_closed(x):
    seen = []

    def numbers(v):
        try:
            while True:
                v = (yield v * v) or v
        except GeneratorExit:
            seen.append(v * 7)

    left = numbers(x)
    total = next(left)
    left.close()
    for square in numbers(x):
        total = total + square * 2
        break
    return total + sum(seen)


@program(0.7, closed=(2 * 0.7 + 3 + 2 * 0.7 * 3 + 3 * 0.7**2,))
def patterns_of_values(x):
    total = 0.0
    match x:
        case float(v):
            total = total + v * v
    match x:
        case float(real=v):
            total = total + v * 3
    match np.array([x, x * x / x]):
        case np.ndarray(T=turned, size=2):
            total = total + np.sum(turned * turned) * 1.5
    match complex(x, x * x):
        case complex(real=a, imag=b):
            return total + a * b


@program(0.7, closed=(2 + 3 + 9 + 4 * 0.7 + 8,))
def what_is_missing(x):
    class Doubling(dict):
        def __missing__(self, key):
            self[key] = value = x * key
            return value

    class Factor(collections.defaultdict):
        def __missing__(self, key):
            return super().__missing__(key) * key

    doubling, product = Doubling(), collections.defaultdict(functools.partial(np.multiply, x, x))
    return doubling[2] + doubling[3] + sum([doubling[3] for _ in range(3)]) + product["a"] * 2 + Factor(lambda: x)[8]


@program(0.7, closed=(3.0 + 4.0,))
def classes_that_are_indexed(x):
    class Meta(type):
        def __getitem__(cls, key):
            return x * key

    class ByMeta(metaclass=Meta):
        pass

    class ByMethod:
        def __class_getitem__(cls, key):
            return x * key

    return ByMeta[3.0] + ByMethod[4.0]
