"""Programs over inheritance, metaclasses, descriptors and slots: more of it, and its corners."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import abc
import collections
import collections.abc
import math
import types
import weakref

from program_table import LOG, Programs

program = Programs()

# -- classes


@program(1.3, 0.4)
def metaclasses_that_tell_instances(x, y):
    seen = []

    class Telling(type):
        def __instancecheck__(cls, obj):
            seen.append(obj * y)
            return obj > 1

        def __subclasscheck__(cls, other):
            seen.append(x * 2)
            return [1]

    class Large(metaclass=Telling):
        pass

    class Plain(abc.ABC):
        pass

    Plain.register(float)
    assert isinstance(x, (str, Large)) and not isinstance(y, Large) and isinstance(Large(), Large)
    assert issubclass(int, Large) and isinstance(x, Plain) and isinstance(x, int | float) and not isinstance(x, ())
    return sum(seen) * x


@program(1.3, 0.4)
def super_in_every_form(x, y):
    class A:
        def __init__(self, v):
            self.v = v

        def f(self):
            return self.v * 2

        @classmethod
        def make(cls, v):
            return cls(v * x)

        @property
        def p(self):
            return self.v + 1

        def __getitem__(self, k):
            return self.v * k

    class B(A):
        def f(self):
            return super(B, self).f() + y

        def __setattr__(self, name, value):
            super().__setattr__(name, value * 3)

    class C(A):
        def f(self):
            return super().f() * x

        @property
        def p(self):
            return super().p * 2

    class D(B, C):
        def f(self):
            inner = lambda: super(D, self).f()
            return inner() + sum([super(D, self).f() for _ in range(2)])

        @classmethod
        def make(cls, v):
            return super().make(v + 1)

        def __getitem__(self, k):
            return super().__getitem__(k + 1)

    d = D.make(y)
    return d.f() * d.p + d[2]


@program(1.3, 0.4)
def metaclasses_with_everything(x, y):
    class Meta(type):
        @classmethod
        def __prepare__(mcs, name, bases, **options):
            return {"given": options.get("scale", 1.0) * 2}

        def __new__(mcs, name, bases, namespace, scale=1.0):
            cls = super().__new__(mcs, name, bases, dict(namespace))
            cls.scale = scale
            return cls

        def __init__(cls, name, bases, namespace, scale=1.0):
            super().__init__(name, bases, namespace)
            cls.made = []

        def __call__(cls, *args):
            obj = super().__call__(*args)
            cls.made.append(obj)
            return obj

        def __len__(cls):
            return len(cls.made)

        def __iter__(cls):
            return iter([m.v for m in cls.made])

        def __instancecheck__(cls, obj):
            return hasattr(obj, "v")

        @property
        def total(cls):
            return sum(cls) * cls.scale

        def __getattr__(cls, name):
            return len(name) * cls.scale

    class Model(metaclass=Meta, scale=x):
        def __init__(self, v):
            self.v = v * self.given

    Model(y), Model(x)
    return Model.total * len(Model) + Model.abc * isinstance(Model.made[0], Model)


@program(1.3, 0.4)
def descriptors_of_both_kinds(x, y):
    class Lazy:
        def __init__(self, f):
            self.f = f

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, obj, owner=None):
            if obj is None:
                return self
            value = obj.__dict__[self.name] = self.f(obj)
            return value

    class Bounded:
        def __init__(self, low):
            self.low = low

        def __set_name__(self, owner, name):
            self.key = "_" + name

        def __get__(self, obj, owner=None):
            return getattr(obj, self.key) * 2

        def __set__(self, obj, value):
            setattr(obj, self.key, max(value, self.low))

        def __delete__(self, obj):
            setattr(obj, self.key, 1.5)

    class Thing:
        size = Bounded(0.1)

        def __init__(self, v):
            self.v = v
            self.size = v

        @Lazy
        def square(self):
            LOG.append("square")
            return self.v * self.v

        @property
        def half(self):
            return self.v / 2

        @half.setter
        def half(self, value):
            self.v = value * 2

        @half.deleter
        def half(self):
            self.v = x

    t = Thing(y)
    total = t.square + t.square * t.size
    t.half = x * y
    t.size -= x
    total += t.half * t.size
    del t.half
    delattr(t, "size")
    return total * t.v + t.size


@program(1.3, 0.4)
def slots_inheritance_and_dicts(x, y):
    class A:
        __slots__ = ("a", "__weakref__")

        def __init__(self, a):
            self.a = a

    class B(A):
        __slots__ = ("b",)

    class C(B):
        pass

    c = C(x)
    c.b, c.extra = y, x * y
    total = c.a * c.b + c.__dict__["extra"] + weakref.ref(c)().a
    try:
        B(x).missing
    except AttributeError:
        total *= x
    del c.b
    return total * (2 if not hasattr(c, "b") else 1) + sum(vars(c).values())


@program(1.3, 0.4)
def init_subclass_and_class_getitem(x, y):
    registry = {}

    class Base:
        def __init_subclass__(cls, /, name, **kwargs):
            super().__init_subclass__(**kwargs)
            registry[name] = cls

        def __class_getitem__(cls, item):
            return item * 2

        def __new__(cls, *args, **kwargs):
            obj = super().__new__(cls)
            obj.args = args
            return obj

    class First(Base, name="first"):
        def area(self):
            return self.args[0] * x

    class Second(Base, name="second"):
        def area(self):
            return self.args[0] + y

    return sum(cls(y).area() for cls in registry.values()) * Base[x]


@program(1.3, 0.4)
def classes_made_by_type_and_by_abc(x, y):
    Point = type("Point", (), {"scale": x, "norm": lambda self: self.scale * self.v})
    made = types.new_class("Made", (Point,), {}, lambda space: space.update(v=y))

    class Shape(abc.ABC):
        @property
        @abc.abstractmethod
        def area(self): ...

        def __lt__(self, other):
            return self.area < other.area

    class Disk(Shape):
        def __init__(self, r):
            self.r = r

        @property
        def area(self):
            return math.pi * self.r**2

    class Items(collections.abc.MutableMapping):
        def __init__(self, **given):
            self.given = given

        def __getitem__(self, k):
            return self.given[k] * 2

        def __setitem__(self, k, v):
            self.given[k] = v

        def __delitem__(self, k):
            del self.given[k]

        def __iter__(self):
            return iter(self.given)

        def __len__(self):
            return len(self.given)

    items = Items(a=x)
    items.update(b=y)
    items.setdefault("c", x * y)
    p = made()
    return p.norm() + max(Disk(x), Disk(y)).area + items.pop("a") * sum(items.values()) + items.get("z", x)
