"""Small programs by feature of the language, in `PROGRAMS`: what each computes must not depend on being traced."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import abc
import collections
import colorsys
import contextlib
import copy
import enum
import functools
import itertools
import math
import operator
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.optimize
from newer_programs import TEXTS


class Program(NamedTuple):
    """A function with arguments, and its gradient where a closed form is known."""

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    closed: tuple[Any, ...] | None = None


PROGRAMS: list[Program] = []


def program(*args: Any, closed: tuple[Any, ...] | None = None) -> Callable[[Any], Any]:
    def add(f: Any) -> Any:
        PROGRAMS.append(Program(f.__name__, f, args, closed))
        return f

    return add


W = np.array([0.5, -1.25, 2.0])
V = np.array([0.7, 1.3, 0.4])
A = np.array([[1.0, 0.5, -0.25], [0.125, 2.0, 0.75]])
SCALE = 1.5
LOG: list[Any] = []
"""What programs print or note: a side effect, to be seen once."""


# -- functions and closures


@program(2.0, 3.0, closed=(3.0 + math.cos(2.0), 2.0))
def first_example(x, y):
    return x * y + math.sin(x)


@program(1.5)
def closure(x):
    def add(y):
        return x * y + SCALE

    return add(2.0) * add(x)


@program(1.5)
def nonlocal_counter(x):
    total = 0.0

    def step(y):
        nonlocal total
        total += y * y

    for k in range(3):
        step(x + k)
    return total


@program(0.7)
def lambdas(x):
    square = lambda v: v * v
    compose = lambda f, g: lambda v: f(g(v))
    return compose(square, math.sin)(x) + (lambda a, b=x: a * b)(3.0)


@program(1.1)
def recursion(x):
    def power(v, n):
        return v if n == 1 else v * power(v, n - 1)

    return power(x, 6)


@program(0.3, 0.8)
def mutual_recursion(x, y):
    def even(n, v):
        return v if n == 0 else odd(n - 1, v * x)

    def odd(n, v):
        return v if n == 0 else even(n - 1, v + y)

    return even(5, 1.0)


@program(1.2, 0.4, 2.2)
def arguments(x, y, z):
    def f(a, /, b, *rest, c=2.0, **named):
        return a * b + sum(rest) * c + named["d"] * named.get("e", 1.0)

    pair = (y, z)
    words = {"d": x * z, "e": y}
    return f(x, *pair, c=z, **words) + f(x, y, d=1.0)


@program(1.3)
def keyword_only_and_defaults(x):
    def f(a, b=3.0, *, c, d=0.5):
        return a**b * c + d

    return f(x, c=x) + f(b=2.0, a=x, c=1.0, d=x)


@program(0.9)
def mutable_default(x):
    def f(v, seen=[]):
        seen.append(v)
        return sum(seen)

    return f(x) + f(x * x)


@program(2.0)
def global_variables(x):
    return x * SCALE + (W * x).sum() + A[0, 1] * x**2


@program(0.8)
def early_return(x):
    if x > 1:
        return x
    if x > 0.5:
        return x * x
    return -x


# -- control flow


@program(0.5)
def while_break_continue_else(x):
    total, k = 0.0, 0
    while True:
        k += 1
        if k == 2:
            continue
        if k > 6 or total > 2.0:
            break
        total += x**k
    for v in (1.0, 2.0):
        total *= v
    else:
        total += x
    return total


@program(2.5)
def newton(a):
    x = 1.0
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@program(0.6)
def exceptions(x):
    def risky(v, kind):
        if kind:
            raise kind(v)
        return v * 2

    total = 0.0
    for kind in (None, ValueError, KeyError):
        try:
            total += risky(x, kind)
        except ValueError as error:
            total += error.args[0] ** 2
        except (KeyError, IndexError) as error:
            total += 3 * error.args[0]
        else:
            total += math.exp(x)
        finally:
            total *= x
    return total


@program(0.6)
def caught_math_error(x):
    try:
        y = math.log(x - 1)
    except ValueError:
        y = x**3
    try:
        y = y / (x - x)
    except ZeroDivisionError:
        y += x
    return y


class Carrying(Exception):
    def __init__(self, value):
        super().__init__("carrying")
        self.value = value


@program(0.6)
def exception_carries_a_value(x):
    try:
        try:
            raise Carrying(x * x)
        except Carrying as first:
            raise RuntimeError from first
    except RuntimeError as second:
        return second.__cause__.value * x


@program(0.4)
def exception_groups(x):
    total = x
    try:
        raise ExceptionGroup("both", [ValueError(x * 2), KeyError(x * x)])
    except* ValueError as group:
        total += group.exceptions[0].args[0]
    except* KeyError as group:
        total *= group.exceptions[0].args[0]
    return total


@program(0.4)
def finally_overrides(x):
    def f():
        try:
            return x
        finally:
            LOG.append("finally")

    def g():
        for k in range(3):
            try:
                if k == 1:
                    continue
                y = x * k
            finally:
                LOG.append(k)
        return y

    return f() + g()


@program(0.75)
def chained_comparison(x):
    y = x * 2 if 0 < x < 1 <= x + 0.5 != 7 else x
    return y if not (x < 0 < y) else 0.5 * y


@program(0.0, 1.5, closed=(1.0, 2.0))
def and_or_values(x, y):
    return (x or y) + (x and y) + (y and y)


@program(0.7)
def walrus(x):
    total = 0.0
    while (y := total + x) < 3:
        total = y * y + x
    return total + sum((z := x * k) + z for k in range(3))


@program(1.4)
def ternaries(x):
    sign = 1 if x > 0 else -1
    return (x**2 if sign > 0 else x**3) + (-x if x < 1 else x)


@program(1.4, 2.0)
def asserts_and_del(x, y):
    assert x > 0, f"x is {x}"
    values = {"a": x, "b": y, "c": x * y}
    del values["b"]
    rest = [x, y, y]
    del rest[0], rest[:1]
    z = x
    del x
    return sum(values.values()) + z * rest[0]


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Circle:
    centre: Any
    radius: float


@program(1.4, 0.3)
def match_statement(x, y):
    def area(shape):
        match shape:
            case Circle(radius=r) if r < 0:
                return 0.0
            case Circle(centre=Point(cx, cy), radius=r):
                return math.pi * r * r + cx * cy
            case {"side": side, **rest}:
                return side**2 * len(rest)
            case [a, b, *others]:
                return a * b + sum(others)
            case float() | int() as number:
                return number * 3
            case None:
                return 1.0

    shapes = [Circle(Point(x, y), y), {"side": x, "colour": 3}, [x, y, x, 2.0], x * y, None]
    return sum(area(shape) for shape in shapes)


@program(1.4, 0.3, 0.9)
def star_unpacking(x, y, z):
    first, *middle, last = [x, y, z, x * y]
    (a, b), c = (first, last), [*middle, *(k * z for k in range(2))]
    a, b = b, a
    return a - b * sum(c) + max(*middle, last)


@program(0.25)
def f_strings(x):
    LOG.append(f"{x:.3f} {x!r:>8} {x * 2}")
    LOG.append("%.2f and %s" % (x, x))
    LOG.append("{:.1f} {name}".format(x, name=x))
    LOG.append(str(x) + repr(x))
    print(f"{x=}", x, end="")
    return x * 4


# -- generators and comprehensions


@program(0.8)
def generator(x):
    def powers(n):
        v = 1.0
        for _ in range(n):
            yield v
            v *= x

    return sum(powers(5)) + max(powers(2))


@program(0.8)
def generator_send_and_throw(x):
    def averager():
        total, count, value = 0.0, 0, None
        while True:
            try:
                value = yield total / max(count, 1)
            except KeyError:
                total *= 2
                continue
            total += value
            count += 1

    g = averager()
    next(g)
    g.send(x)
    g.send(x * x)
    last = g.throw(KeyError)
    g.close()
    return last


@program(0.8)
def yield_from(x):
    def inner():
        got = yield x
        yield got * x
        return x**3

    def outer():
        result = yield from inner()
        yield result

    g = outer()
    return next(g) + g.send(x + 1) + next(g)


@program(0.6, 1.7)
def comprehensions(x, y):
    squares = [v * v for v in (x, y)]
    table = {name: v * k for k, (name, v) in enumerate(zip("ab", squares), 1)}
    nested = [[a * b for a in squares] for b in (x, 2.0) if b > 0.1]
    distinct = {x, y, x * y}
    lazily = (v for row in nested for v in row if v != x)
    return sum(table.values()) + sum(lazily) + sum(sorted(distinct))


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
    return functools.reduce(lambda a, b: a * b + x, kept, 1.0) + functools.reduce(
        operator.add, map(math.sin, values)
    )


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


# -- context managers


class Scope:
    def __init__(self, v):
        self.v = v

    def __enter__(self):
        return self.v * 2

    def __exit__(self, kind, error, traceback):
        LOG.append("left")
        return kind is ValueError


@contextlib.contextmanager
def doubled(v):
    try:
        yield v * 2
    finally:
        LOG.append("closed")


@program(0.6)
def context_managers(x):
    total = x
    with Scope(x) as a, doubled(a) as b:
        total += a * b
    with Scope(x) as c:
        total *= c
        raise ValueError
    with contextlib.suppress(KeyError), contextlib.nullcontext(x * x) as d:
        total += d
        raise KeyError
    with contextlib.ExitStack() as stack:
        e = stack.enter_context(doubled(x))
        stack.callback(LOG.append, "callback")
        total *= e
    return total


# -- builtins


@program(0.6, -1.2, 0.9)
def sorting(x, y, z):
    values = [x, y, z]
    values.sort(key=lambda v: v * v, reverse=True)
    ordered = sorted({"a": x, "b": y, "c": z}.items(), key=lambda item: -item[1])
    return values[0] * ordered[0][1] + sorted(values)[1] + sorted([(z, 1), (x, 2)])[0][0]


@program(0.6, -1.2, 0.9)
def min_max(x, y, z):
    return (
        max(x, y, z) * min([x, y, z])
        + max([x, y], key=abs) * 2
        + min(x, 0.1)
        + max((), default=z)
        + max({"a": x, "b": z}.values())
        + min(z, 5.0, key=lambda v: v)
    )


@program(0.6, -1.2)
def zip_enumerate_reversed(x, y):
    total = 0.0
    for k, (a, b) in enumerate(zip([x, y, x * y], reversed([x, y, 3.0]), strict=True), start=1):
        total += k * a * b
    return total


@program(0.6, -1.2)
def any_all_sum(x, y):
    total = sum([x, y, x * y]) + sum((x, y), start=2.0) + sum(([x], [y]), [])[1]
    if any(v > 0 for v in (x, y)) and not all([x > 0, y > 0]) and any([x]):
        total *= x
    return total


@program(0.6, -1.2)
def lists(x, y):
    values = [x] * 2 + [y]
    values.append(x * y)
    values.insert(1, y * y)
    values.extend(v * 2 for v in (x, y))
    values += [x, 1.0]
    values[1:3] = [y, y, x]
    last = values.pop()
    values.reverse()
    values.remove(y)
    head, tail = values[:2], values[-2:]
    return sum(values) * last + head[0] * tail[0] + values.index(x) + values.count(x) + copy.copy(values)[0]


@program(0.6, -1.2)
def dicts(x, y):
    d = dict(a=x, b=y)
    d["c"] = d["a"] * d["b"]
    d |= {"e": x}
    d.update(f=y * 2)
    d.setdefault("g", x)
    default = collections.defaultdict(list)
    default["k"].append(x)
    factory = collections.defaultdict(lambda: x)
    counts = collections.Counter("aab")
    ordered = collections.OrderedDict(d)
    ordered.move_to_end("a")
    merged = {**d, "z": y}
    return (
        sum(merged.values())
        + d.pop("a") * d.get("missing", y)
        + default["k"][0] * counts["a"]
        + factory["n"]
        + list(ordered.values())[-1]
        + collections.ChainMap({"p": x}, d)["p"]
    )


@program(0.6, -1.2)
def sets_deques_and_keys(x, y):
    seen = {x, y}
    queue = collections.deque([x, y], maxlen=3)
    queue.appendleft(x * y)
    queue.append(2.0)
    queue.rotate(1)
    table = {x: y, y: x}
    return queue[0] * queue.pop() + sum(queue) + table[x] * (x in seen) + sum(frozenset((x, y))) + hash(x) * 0


@program(0.6, -1.2)
def namedtuples(x, y):
    p = Point(x, y)
    q = p._replace(y=p.x * 3)
    a, b = q
    Pair = collections.namedtuple("Pair", "u v", defaults=[2.0])
    space = types.SimpleNamespace(v=x)
    space.v *= y
    return a * b + p[1] * Pair(x).v + sum(q) + operator.attrgetter("u")(Pair(y)) + p._asdict()["x"] + space.v


class Colour(enum.Enum):
    RED = 1.5
    BLUE = 2.5

    def tint(self, v):
        return self.value * v

    @property
    def half(self):
        return self.value / 2


class Flag(enum.IntFlag):
    A = 1
    B = 2


@program(0.6)
def enums(x):
    total = Colour.RED.tint(x) + Colour(2.5).half * x
    for colour in Colour:
        match colour:
            case Colour.RED:
                total *= x
            case Colour.BLUE:
                total += colour.value * x
    return total * int(Flag.A | Flag.B) if Colour.RED is Colour["RED"] else 0.0


@program(0.6, 1.7)
def operator_module(x, y):
    pair = [x, y]
    operator.setitem(pair, 0, operator.mul(x, 3.0))
    total = (
        operator.add(x, y) * operator.sub(x, y)
        + operator.truediv(x, y)
        + operator.pow(x, 2)
        + operator.neg(y)
    )
    total = operator.iadd(total, operator.getitem(pair, 0))
    total += operator.itemgetter(0, 1)(pair)[1] + operator.attrgetter("x")(Point(x, y))
    total += operator.methodcaller("scale")(Derived(x)) + operator.call(math.sin, x) + operator.abs(-y)
    return total if operator.lt(x, y) and operator.not_(operator.eq(x, y)) else 0.0


@program(0.6)
def callable_objects_and_methods(x):
    v = Vector(x, 2.0)
    call, bound, unbound = v, v.__call__, Vector.__call__
    scale = Derived(x).scale
    pairs = list(map(v, (1.0, x)))
    return call(x) + bound(2.0) * unbound(v, x) + scale() + sum(pairs) + (2.5).__mul__(x) + x.__add__(1.0)


@program(0.6, 1.7)
def itertools_functions(x, y):
    total = sum(itertools.accumulate([x, y, 2.0], operator.mul)) + list(itertools.accumulate((x, y)))[-1]
    total += sum(itertools.chain([x], (y * k for k in range(2)))) + sum(
        itertools.islice(itertools.cycle([x, y]), 3)
    )
    for a, b in itertools.product([x, y], repeat=2):
        total += a * b
    total += sum(itertools.starmap(lambda a, b: a**b, [(x, 2), (y, 3)]))
    total += sum(itertools.takewhile(lambda v: v < 1, [x, y])) + sum(
        itertools.chain.from_iterable([[x], [y]])
    )
    total += sum(a * b for a, b in itertools.pairwise([x, y, x])) + sum(itertools.repeat(x, 2))
    for key, group in itertools.groupby([x, y, y], key=lambda v: v > 1):
        total += sum(group) * (2 if key else 1)
    return total + sum(a * b for a, b in itertools.combinations((x, y, 3.0), 2))


@program(0.6, 1.7)
def math_functions(x, y):
    total = math.exp(x) + math.log(y) + math.log(y, 2) + math.log1p(x) + math.sqrt(y) + math.hypot(x, y)
    total += math.sin(x) * math.cos(y) + math.tan(x) + math.atan2(x, y) + math.asin(x) + math.tanh(y)
    total += math.pow(x, y) + math.fsum([x, y, 1.0]) + math.prod((x, y, 2.0)) + math.erf(x) + math.fabs(-y)
    total += math.floor(y) + math.copysign(x, -1.0) + math.degrees(x)
    return total * (2 if math.isfinite(x) and not math.isclose(x, y) else 1)


@program(0.6, 1.7)
def numbers(x, y):
    total = abs(-x) + divmod(y, 1)[1] + y % 1 + y // 1 + pow(x, 2) + round(y, 1) + int(y) + x.real
    total += float(x) + (+x) + (-y) + (x < y) + float(2) + x.conjugate() + bool(x) * y + pow(x, y) + 2**x
    return total + (3 - x) / (2 * y) + complex(x, y).real + abs(complex(x, y))


@program(0.6, 1.7)
def complex_numbers(x, y):
    z = complex(x, y) * (1 + 2j) + x
    w = z * z.conjugate() + np.exp(1j * y)
    return (w / (z + 1)).real + z.imag * abs(w)


# -- NumPy


@program(V, W)
def ufuncs(a, b):
    total = np.exp(a) * np.sin(b) + np.log(a) / np.sqrt(a) - np.tanh(b) ** 2 + np.abs(b) + np.maximum(a, b)
    total += (
        np.square(b)
        + np.reciprocal(a)
        + np.arctan2(a, b)
        + np.logaddexp(a, b)
        + np.power(a, 1.5)
        + np.negative(a)
    )
    return np.sum(total * np.hypot(a, b) + np.minimum(a, 0.5) + np.clip(b, -1, 1))


@program(A)
def reductions(a):
    return (
        np.mean(a, axis=1)[0]
        + a.max() * a.min()
        + np.var(a)
        + np.cumsum(a)[3]
        + a.mean()
        + np.sum(a, 1, keepdims=True)[1, 0]
        + np.average(a[0])
        + np.median(a[0])
        + np.ptp(a)
    )


@program(A, V)
def shapes(a, v):
    b = a.reshape(3, 2).T + np.transpose(a.ravel().reshape(3, -1)) * np.expand_dims(v[:2], 1)
    c = np.concatenate([b, a], axis=0) * np.stack([v, v, v, v]) + np.vstack((a, a))
    d = np.hstack([c, np.ones((4, 1))]).flatten()[::2] + np.hstack((v, v, v[:2]))
    e = np.broadcast_to(v, (2, 3)) * np.swapaxes(np.atleast_2d(v).T @ np.ones((1, 2)), 0, 1) + np.roll(a, 1)
    return (
        d.sum() * np.squeeze(v[None]).sum()
        + e.sum()
        + np.flip(v)[0]
        + a.T[1, 1]
        + np.array([v, v * 2])[1].sum()
    )


@program(A, V)
def indexing(a, v):
    total = a[0] @ v + a[:, 1].sum() + a[..., -1] @ a[:, 0] + a[1, 2] * v[-1] + v[::-1][0]
    total += (
        a[[0, 1, 0], [1, 2, 1]].sum() + a[a > 0.3].sum() + v[np.array([0, 0, 2])] @ v + a[None, :, 1:].sum()
    )
    for row in a:
        for k, element in enumerate(row):
            total += element * k
    x, y, z = v
    first, *rest = a
    return (
        total + x * y - z + first.sum() * len(rest) + np.take(v, [0, 2]).sum() + v[np.argmax(v)] * v.item(1)
    )


@program(V)
def where_and_masks(v):
    w = np.where(v > 0.5, v**2, -v)
    mask = (v > 0.5) & ~(v > 1.0)
    if np.any(mask) and mask.sum() == 1 and (v > 0).all():
        w = w * 2
    return np.where(mask, w, 0.0).sum() + w[mask].sum() + np.select([v > 1, v > 0.5], [v, v * 2], 0.0).sum()


@program(A, V)
def matrix_products(a, v):
    square = a.T @ a + np.eye(3)
    return (
        np.dot(a, v).sum()
        + np.outer(v, v).sum()
        + np.inner(v, v)
        + square.sum()
        + np.tensordot(a, a, 2)
        + (a @ v) @ (a @ v)
        + np.vdot(v, v)
    )


@program(V)
def stores_and_views(v):
    out = np.zeros((2, 3))
    out[0] = v
    out[1, 1:] = v[:2] * 2
    view = out.T[1]
    view *= 3
    out += v
    np.multiply(out, 2.0, out=out)
    total = out.sum()
    out[:] = 0.0
    buffer = np.empty(3)
    for k in range(3):
        buffer[k] = v[k] * (buffer[k - 1] if k else 1.0)
    return total * buffer @ v


@program(V)
def lists_of_scalars_to_arrays(v):
    pieces = [math.sin(x) for x in v]
    a = np.array([[pieces[0], 2.0], [v[1], pieces[2]]])
    b = np.asarray([x * x for x in v.copy()])
    return (a @ a).sum() + b @ np.asarray(v) + np.sum(pieces) + np.stack(list(v))[0] + np.max([v[0], v[1]])


@program({"w": A.copy(), "b": [V[:2].copy(), 0.5]}, V)
def nested_arguments(parameters, x):
    hidden = np.tanh(parameters["w"] @ x + parameters["b"][0])
    return hidden.sum() * parameters["b"][1]


@program(V)
def numpy_scalars(v):
    s = v[0] * np.float64(2.0) + np.sin(v[1]) - 3 * v[2]
    s = s.item() + float(v[1]) + v.sum().item()
    return s * np.pi if s > 0 or s < -10 else s


@program(V, 0.3)
def gradient_descent_inside(v, rate):
    x = v.copy()
    for k in range(4):
        if np.linalg.norm(x) < 1e-3:
            break
        x = x - rate * (2 * x + np.cos(x))
    return x @ x


@program(V)
def numpy_functions_written_in_python(v):
    return (
        np.linalg.norm(v, 1)
        + np.diff(v) @ v[1:]
        + np.trapezoid(v, dx=0.5)
        + np.cross(v, W)[1]
        + np.nan_to_num(v)[0]
    )


# -- async, driven by hand


def finish(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return stop.value


class Pause:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        yield
        return self.value * self.value


class Ticks:
    def __init__(self, value):
        self.value = value

    def __aiter__(self):
        self.step = 0
        return self

    async def __anext__(self):
        self.step += 1
        if self.step > 3:
            raise StopAsyncIteration
        return self.value * self.step


class PausedTicks(Ticks):
    def __anext__(self):
        self.step += 1
        return Pause(self.value * self.step)


class Session:
    def __init__(self, value):
        self.value = value

    async def __aenter__(self):
        return self.value * 2

    async def __aexit__(self, *how):
        self.value = self.value * 3


@program(1.3, closed=(3 * 1.3**2,))
def awaitable_object(x):
    async def main():
        return (await Pause(x)) * x

    return finish(main())


@program(1.3, closed=(2 * 14 * 1.3 + 6,))
def async_iteration(x):
    async def main():
        total = 0.0
        async for v in Ticks(x):
            total = total + v * v
        return total + sum([w async for w in Ticks(x)])

    return finish(main())


@program(1.3, closed=(4 * 1.3**3,))
def async_iteration_of_awaitables(x):
    async def main():
        async for v in PausedTicks(x):
            return v * v

    return finish(main())


@program(1.3, closed=(8 * 1.3 + 3,))
def async_context_manager(x):
    async def main():
        session = Session(x)
        async with session as y:
            z = y * y
        return z + session.value

    return finish(main())


@program(1.3, closed=(2 * 1.3 + 18 * 1.3,))
def async_generator(x):
    async def numbers(v):
        yield v
        await Pause(v)
        yield v * 3

    async def main():
        return sum([v * v async for v in numbers(x)])

    return finish(main())


# -- libraries


@program(
    np.array([1.3, 0.7, 0.8, 1.9, 1.2]),
    closed=(scipy.optimize.rosen_der(np.array([1.3, 0.7, 0.8, 1.9, 1.2])),),
)
def scipy_rosen(x):
    return scipy.optimize.rosen(x)


@program(0.7)
def scipy_solve_ivp(a):
    return scipy.integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), np.array([1.0]), rtol=1e-6).y[0, -1]


@program(0.2, 0.5, 0.9)
def colorsys_hls(r, g, b):
    hue, light, saturation = colorsys.rgb_to_hls(r, g, b)
    return hue * light + saturation


@program(1.5, 0.5)
def typing_helpers(x, y):
    return typing.cast(float, x) * y + typing.NamedTuple("Pair", [("a", float)])(x).a


for since, text in TEXTS.items():
    if sys.version_info >= since:
        exec(compile(text, f"<programs of Python {since}>", "exec", dont_inherit=True), globals())

import language_programs
import library_programs
import object_programs
import sampling_programs
