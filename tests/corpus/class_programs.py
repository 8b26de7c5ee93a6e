"""Programs over classes: operators, properties, inheritance, metaclasses; and over functools."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import abc
import functools
import math
import operator
from dataclasses import dataclass, field, replace

from program_table import LOG, Programs

program = Programs()

# -- functools


@program(0.6)
def partials(x):
    scale = functools.partial(operator.mul, x)
    power = functools.partial(lambda v, n: v**n, n=3)
    return scale(2.0) + power(x) + functools.partial(math.pow, x)(2)


@program(0.6, 1.2)
def reduce_map_filter(x, y):
    values = list(map(lambda v, w: v * w, (x, y, 2.0), (y, 3.0, x)))
    kept = filter(lambda v: v > 1, values)
    return functools.reduce(lambda a, b: a * b + x, kept, 1.0) + functools.reduce(operator.add, map(math.sin, values))


@program(0.6)
def lru_cache(x):
    @functools.lru_cache(maxsize=None)
    def fibonacci(n):
        return x * n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2) * x

    return fibonacci(8)


class Lazy:
    def __init__(self, v):
        self.v = v

    @functools.cached_property
    def square(self):
        LOG.append("computed")
        return self.v**2

    @functools.cached_property
    def root(self):
        return math.sqrt(self.square + 1)


@program(0.6)
def cached_property(x):
    lazy = Lazy(x)
    return lazy.square + lazy.root * lazy.square


@functools.singledispatch
def size(value):
    return value * 2


@size.register
def _(value: list):
    return sum(size(v) for v in value)


@size.register(float)
def _(value):
    return value**2


@program(0.6)
def singledispatch(x):
    return size(x) + size([x, 2, [x, x]])


def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        LOG.append(f.__name__)
        return f(*args, **kwargs) * 2

    return wrapper


def scaled(by):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args):
            return by * f(*args)

        return wrapper

    return decorate


@program(0.6)
def decorators(x):
    @logged
    @scaled(by=x)
    def f(v):
        return v**2

    return f(x) + f(2.0)


class Kept(property):
    """A property whose setter keeps a pair of what it is given and its square."""


class Setting:
    def __init__(self, v):
        self.pair = v

    @Kept
    def pair(self):
        return self.__dict__["pair"]

    @pair.setter
    def pair(self, v):
        self.__dict__["pair"] = (v, v * v)


@program(0.6)
def a_property_of_a_class_made_from_property(x):
    first, second = Setting(x).pair
    return first + 3 * second


@program(0.6)
def cmp_to_key_and_total_ordering(x):
    @functools.total_ordering
    class Weight:
        def __init__(self, v):
            self.v = v

        def __eq__(self, other):
            return self.v == other.v

        def __lt__(self, other):
            return self.v < other.v

    heaviest = max([Weight(x), Weight(x * 3), Weight(0.1)])
    ordered = sorted([x, -x, x * x], key=functools.cmp_to_key(lambda a, b: a - b))
    return heaviest.v * (1 if Weight(x) >= Weight(0.5) else 2) + ordered[0] * ordered[-1]


# -- classes


@dataclass
class Vector:
    x: float
    y: float
    notes: list = field(default_factory=list, repr=False)

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __radd__(self, other):
        return self if other == 0 else NotImplemented

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k) if isinstance(k, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __iadd__(self, other):
        self.x += other.x
        self.y += other.y
        return self

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __iter__(self):
        yield self.x
        yield self.y

    def __len__(self):
        return 2

    def __getitem__(self, k):
        return (self.x, self.y)[k]

    def __bool__(self):
        return self.x != 0

    def __eq__(self, other):
        return isinstance(other, Vector) and self.x == other.x

    def __call__(self, t):
        return self.x * t + self.y

    def __contains__(self, v):
        return v in (self.x, self.y)

    def __float__(self):
        return abs(self) * 1.0

    def __round__(self, n=0):
        return Vector(round(self.x, n), self.y)

    @property
    def norm(self):
        return abs(self)

    @norm.setter
    def norm(self, value):
        k = value / abs(self)
        self.x, self.y = self.x * k, self.y * k


@program(0.6, 1.2)
def dataclass_operators(x, y):
    v, w = Vector(x, y), Vector(y, 2.0)
    u = sum([v, w, 2.0 * v, w * x]) + (-v)
    u += w
    a, b = u
    first, *_ = v
    total = a * b + abs(u) + v @ w + v(3.0) + u[1] * first + len(v)
    if v and v == Vector(x, 0.0) and x in v and v != w:
        total *= x
    return total


@program(0.6, 1.2)
def properties_and_setters(x, y):
    v = Vector(x, y)
    n = v.norm
    v.norm = x * 5
    setattr(v, "y", v.y + n)
    return v.x * v.norm + getattr(v, "y") + replace(v, x=y).norm


@program(0.6, 1.2)
def float_of_an_object(x, y):
    v = Vector(x, y)
    return float(v) * x + round(v, 1).y


class Reflected:
    def __init__(self, v):
        self.v = v

    def __rsub__(self, other):
        return other * 2 - self.v

    def __rtruediv__(self, other):
        return other / (self.v + 1)

    def __rpow__(self, other):
        return other**self.v

    def __add__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return other + self.v


@program(0.6, 1.2)
def reflected_operators(x, y):
    r = Reflected(y)
    total = (x - r) + (x / r) + (x**r)
    total += r
    try:
        r + x
    except TypeError:
        total *= x
    return total


class Base:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return self.v + other.v

    def scale(self):
        return self.v * 2


class Derived(Base):
    def __radd__(self, other):
        return self.v * other.v

    def scale(self):
        return super().scale() + self.v**2


@program(0.6, 1.2)
def subclass_priority(x, y):
    return (Base(x) + Derived(y)) * 3 + (Derived(x) + Base(y)) + Derived(x).scale()


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b

    def product(self):
        return self.a * self.b


@program(0.6, 1.2)
def slots(x, y):
    s = Slotted(x, y)
    s.a *= y
    return s.product()


class Registered(type):
    def __new__(mcs, name, bases, namespace, **options):
        cls = super().__new__(mcs, name, bases, namespace)
        cls.options = options
        return cls

    def __call__(cls, *args):
        obj = super().__call__(*args)
        obj.v = obj.v * cls.options.get("by", 1)
        return obj

    def __getitem__(cls, k):
        return cls(k)


@program(0.6)
def metaclass(x):
    class Scaled(metaclass=Registered, by=x):
        def __init__(self, v):
            self.v = v

    return Scaled(x).v + Scaled[3.0].v


class Shape(abc.ABC):
    count = 0

    @abc.abstractmethod
    def area(self): ...

    @classmethod
    def unit(cls, v):
        cls.count += 1
        return cls(v)

    @staticmethod
    def square(v):
        return v * v


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.square(self.side)

    @classmethod
    def unit(cls, v):
        return super().unit(v * 2)


@program(0.6)
def classmethods_and_super(x):
    s = Square.unit(x)
    return s.area() + Shape.square(x) + Square(x).area() * (1 if isinstance(s, Shape) else 0)
