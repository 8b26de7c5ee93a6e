"""Programs over classes that answer for attributes, items and iteration."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import collections

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
