"""Programs of `programs.py` over classes and the standard library's objects: more of them, and their corners."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import abc
import bisect
import collections
import collections.abc
import contextlib
import copy
import dataclasses
import enum
import functools
import heapq
import io
import itertools
import math
import operator
import random
import re
import statistics
import string
import types
import typing
import weakref
from dataclasses import InitVar, astuple, asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from programs import LOG, program

V = np.array([0.7, 1.3, 0.4])


# -- classes


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
def operators_of_every_kind(x, y):
    class Num:
        def __init__(self, v):
            self.v = v

        def _of(self, other):
            return other.v if isinstance(other, Num) else other

        def __add__(self, o):
            return Num(self.v + self._of(o))

        __radd__ = __add__

        def __sub__(self, o):
            return Num(self.v - self._of(o))

        def __rsub__(self, o):
            return Num(self._of(o) - self.v)

        def __mul__(self, o):
            return Num(self.v * self._of(o)) if not isinstance(o, str) else NotImplemented

        def __rmul__(self, o):
            return Num(self._of(o) * self.v * 1.5)

        def __truediv__(self, o):
            return Num(self.v / self._of(o))

        def __floordiv__(self, o):
            return Num(self.v // self._of(o))

        def __mod__(self, o):
            return Num(self.v % self._of(o))

        def __divmod__(self, o):
            return self // o, self % o

        def __pow__(self, o, mod=None):
            return Num(self.v ** self._of(o) + (mod or 0.0))

        def __rpow__(self, o):
            return Num(o**self.v)

        def __matmul__(self, o):
            return Num(self.v * self._of(o) * 2)

        def __lshift__(self, o):
            return Num(self.v * 2**o)

        def __and__(self, o):
            return Num(min(self.v, self._of(o)))

        def __or__(self, o):
            return Num(max(self.v, self._of(o)))

        def __xor__(self, o):
            return Num(self.v * 3)

        def __imul__(self, o):
            self.v = self.v * self._of(o) + 1
            return self

        def __neg__(self):
            return Num(-self.v)

        def __pos__(self):
            return Num(self.v * 1.25)

        def __invert__(self):
            return Num(1 / self.v)

        def __abs__(self):
            return Num(abs(self.v))

        def __lt__(self, o):
            return self.v < self._of(o)

        def __eq__(self, o):
            return self.v == self._of(o)

        __hash__ = None

        def __round__(self, n=None):
            return self.v * (n or 1)

        def __trunc__(self):
            return 3

        def __floor__(self):
            return self.v - 0.5

        def __ceil__(self):
            return self.v + 0.5

        def __int__(self):
            return 4

        def __index__(self):
            return 2

        def __float__(self):
            return self.v * 1.0

        def __complex__(self):
            return complex(self.v, 1.0)

        def __bool__(self):
            return self.v > 1

        def __format__(self, spec):
            return format(self.v, spec or ".2f")

    a, b = Num(x), Num(y)
    c = (a + b * 2 - 1 + 0.5 * a - (2 - b)) / (a @ b) + a**2 + 2**b + pow(a, 2, 1.0)
    q, r = divmod(a, b)
    c = c + (a << 2) + (a & b) + (a | b) + (a ^ b) + -a + +b + ~b + abs(-a) + q + r
    c *= b
    total = c.v * round(a, 2) + round(a) + math.floor(a) * math.ceil(b) + float(a) + complex(b).real
    total += [x, y, x * y][a] + int(a) + math.trunc(a) + (5.0 if a and not b and a > b and b != a else 0.0)
    LOG.append(f"{a} {b:.1f}")
    return total + np.float64(2.0) * y


@program(1.3, 0.4)
def array_ufunc_classes(x, y):
    class Unit:
        __array_priority__ = 10

        def __init__(self, v, power=1):
            self.v, self.power = v, power

        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            LOG.append((ufunc.__name__, method))
            values = [i.v if isinstance(i, Unit) else i for i in inputs]
            return Unit(getattr(ufunc, method)(*values, **kwargs), self.power + 1)

        def __array_function__(self, func, types, args, kwargs):
            return func(*[a.v if isinstance(a, Unit) else a for a in args], **kwargs) * 2

        def __add__(self, other):
            return np.add(self, other)

        def __radd__(self, other):
            return np.add(other, self)

    u = Unit(np.array([x, y]))
    w = np.multiply(u, np.array([y, 2.0])) + np.ones(2) * x
    z = np.array([x, 1.0]) + u
    return np.sin(w).v.sum() * w.power + z.v[0] + np.sum(u) + np.add.reduce(u).v


@program(1.3, 0.4)
def array_and_index_methods(x, y):
    class Place:
        def __index__(self):
            return 1

    class Wrapped:
        def __init__(self, a):
            self.a = a

        def __len__(self):
            return len(self.a)

        def __getitem__(self, k):
            return self.a[k]

    items, a = [x, y, x * y], np.array([x, y, 2.0])
    w = Wrapped(a)
    return items[Place()] * a[Place()] + sum(items[Place() :]) + w[0] * len(w) + sum(v for v in w) + a[1:][w[1:] > 1].sum()


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


# -- dataclasses, named tuples, enumerations


@dataclass(order=True)
class Priced:
    price: float
    name: str = field(default="none", compare=False)
    tags: list = field(default_factory=list, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    a: float
    b: float = 2.0

    def moved(self, by):
        return replace(self, a=self.a + by)


@dataclass
class Computed:
    base: float
    scale: InitVar[float] = 1.0
    area: float = field(init=False)

    def __post_init__(self, scale):
        self.area = self.base * scale


@dataclass
class Extended(Computed):
    extra: float = 0.5

    def __post_init__(self, scale):
        super().__post_init__(scale * 2)


@program(1.3, 0.4)
def dataclasses_of_every_kind(x, y):
    items = [Priced(x, "x"), Priced(y, "y", [x]), Priced(x * y)]
    low, high = min(items), sorted(items)[-1]
    f = Frozen(a=x).moved(y)
    c, e = Computed(x, scale=y), Extended(y, x, 3.0)
    total = low.price * high.price + f.a * f.b + c.area + e.area * e.extra
    total += sum(asdict(items[1])["tags"]) + astuple(f)[0] + len(fields(c)) * (Priced(x) == Priced(x, "other"))
    try:
        f.a = x
    except dataclasses.FrozenInstanceError:
        total *= x
    made = dataclasses.make_dataclass("Made", [("v", float)], namespace={"twice": lambda self: self.v * 2})
    return total + made(y).twice() + copy.replace(f, b=x).b if hasattr(copy, "replace") else total + made(y).twice() + x


class Pair(typing.NamedTuple):
    a: float
    b: float = 3.0

    @property
    def product(self):
        return self.a * self.b

    def __add__(self, other):
        return Pair(self.a + other.a, self.b + other.b)


@program(1.3, 0.4)
def named_tuples(x, y):
    p, q = Pair(x), Pair._make([y, x])
    a, *rest = p + q
    table = {p: x, q: y}
    return (p + q).product + a * rest[0] + p._replace(b=y).product + table[Pair(x)] + max(p, q).b + sum(q._asdict().values())


class Planet(enum.Enum):
    EARTH = (1.0, 6.0)
    MARS = (0.1, 3.0)

    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius

    def pull(self, v):
        return v * self.mass / self.radius**2

    @classmethod
    def _missing_(cls, value):
        return cls.MARS


class Mode(enum.StrEnum):
    FAST = enum.auto()
    SLOW = enum.auto()


class Bits(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@program(1.3)
def enumerations(x):
    total = sum(p.pull(x) for p in Planet) + Planet("none").pull(x) * Planet["EARTH"].mass
    scales = {Mode.FAST: x, Mode.SLOW: x * x}
    for mode in Mode:
        total += scales[mode] * len(mode)
    both = Bits.A | Bits.B
    return total * (2 if Bits.A in both else 1) * len(both) + scales[Mode("fast")]


# -- functools, itertools, operator, contextlib


@functools.lru_cache(maxsize=8)
def squared(v):
    return v * v


@program(1.3)
def cache_filled_before_the_trace(x):
    return squared(x) + squared(x) * squared(2.0)


squared(1.3), squared(2.0)


class Costly:
    def __init__(self, v):
        self.v = v

    @functools.lru_cache(maxsize=None)
    def power(self, n):
        return self.v**n

    @functools.cache
    def __call__(self, v):
        return self.v * v

    half = functools.partialmethod(power, 0.5)

    @functools.singledispatchmethod
    def of(self, v):
        return self.v * 3

    @of.register
    def _(self, v: str):
        return self.v * len(v)

    @functools.cached_property
    def root(self):
        return math.sqrt(self.v)


@program(1.3, 0.4)
def caches_and_dispatch_in_methods(x, y):
    c = Costly(x)
    total = c.power(2) * c.power(2) + c(y) + c(y) * c(x) + c.half() + c.of(1.0) * c.of("abc") + c.root * c.root
    del c.root
    c.v = y
    return total + c.root + c.power(2)


@program(1.3, 0.4)
def functools_and_partials(x, y):
    add = functools.partial(lambda a, b, c=1.0: a * b + c, x)
    more = functools.partial(add, c=y)
    wrapped = functools.wraps(add.func)(lambda *a: add.func(*a) * 2)
    folded = functools.reduce(lambda a, b: a * b + y, [x, y, 2.0])
    keyed = sorted([x, y, x * y], key=functools.cmp_to_key(lambda a, b: (a > b) - (a < b)))
    return add(y) * more(x) + wrapped(x, y) + folded + keyed[0] * add.args[0] + more.keywords["c"]


@program(1.3, 0.4)
def itertools_more(x, y):
    a, b = itertools.tee([x, y, x * y])
    total = sum(p * q for p, q in itertools.zip_longest(a, [1.0, 2.0, 3.0, 4.0], fillvalue=x))
    total += sum(itertools.compress(b, [1, 0, 1])) + sum(itertools.dropwhile(lambda v: v > 1, [x, y, x]))
    total += sum(p * q**2 for p, q in itertools.permutations([x, y, 2.0], 2)) + sum(itertools.islice(itertools.count(x, y), 3))
    total += sum(p - q for p, q in itertools.combinations_with_replacement((x, y), 2))
    total += sum(itertools.filterfalse(lambda v: v > 1, (x, y))) + list(itertools.accumulate([x, y], max, initial=0.5))[-1]
    total += sum(v for _, g in itertools.groupby([x, x, y]) for v in g) + next(itertools.chain([y]))
    return total + sum(itertools.starmap(pow, [(x, 2), (y, x)])) + sum(map(operator.mul, [x, y], itertools.repeat(y)))


@program(1.3, 0.4)
def operator_module_more(x, y):
    a, items = np.array([[x, y], [1.0, 2.0]]), [x, y]
    total = operator.matmul(a, a)[0, 1] + operator.concat([x], [y])[1] + operator.countOf([x, y, x], x) * y
    total += operator.indexOf([x, y], y) * x + operator.floordiv(x, y) + operator.mod(x, y) + operator.pos(x)
    operator.delitem(items, 0)
    items = operator.iconcat(items, [x * 3])
    return total + items[0] * items[1] + operator.attrgetter("a.b")(types.SimpleNamespace(a=types.SimpleNamespace(b=x)))


@program(1.3, 0.4)
def contextlib_more(x, y):
    class Resource(contextlib.AbstractContextManager):
        v = x

        def __exit__(self, *how):
            LOG.append("released")

        def close(self):
            LOG.append("closed")

    class Doubling(contextlib.ContextDecorator):
        def __enter__(self):
            LOG.append("enter")

        def __exit__(self, *how):
            return None

    @Doubling()
    def f(v):
        return v * 2

    out = io.StringIO()
    with contextlib.redirect_stdout(out), Resource() as r, contextlib.closing(Resource()) as c:
        print("hidden", r.v)
    with contextlib.suppress(ValueError):
        raise ValueError(x)
    with contextlib.nullcontext(y) as v:
        return r.v * c.v + f(v) + len(out.getvalue())


# -- containers and algorithms


@program(1.3, 0.4)
def collections_more(x, y):
    counts = collections.Counter({"a": x, "b": y})
    counts.update({"a": y})
    counts.subtract({"b": 1.0})
    merged = counts + collections.Counter(c=x * y)
    chain = collections.ChainMap({"a": x}, {"a": y, "b": y})
    deep = chain.new_child({"b": x * 3})
    nested = collections.defaultdict(lambda: collections.defaultdict(float))
    nested["k"]["l"] += x
    nested["k"]["l"] *= y
    queue = collections.deque([x, y, 2.0], maxlen=3)
    queue.extend([x * y])
    queue.extendleft([y])
    ulist = collections.UserList([x, y])
    ulist.append(x * 2)
    ordered = collections.OrderedDict(a=x, b=y)
    ordered.move_to_end("a")
    return (
        merged["a"] * merged["c"] + counts["b"] + deep["b"] + chain["a"] + nested["k"]["l"] + queue[0] * queue[-1]
        + sum(ulist[1:]) + ordered.popitem()[1] + counts.most_common(1)[0][1] + sum(reversed(queue))
    )  # fmt: skip


@program(1.3, 0.4, 0.9)
def heaps_and_bisection(x, y, z):
    heap = [x, y, z, x * y]
    heapq.heapify(heap)
    heapq.heappush(heap, z * z)
    first = heapq.heappop(heap)
    second = heapq.heapreplace(heap, x * 4)
    third = heapq.heappushpop(heap, 2.0)
    largest = heapq.nlargest(2, [x, y, z], key=lambda v: -v)
    merged = list(heapq.merge([y, x], [z, 5.0]))
    table = sorted([x, y, z])
    k = bisect.bisect_left(table, 0.5)
    bisect.insort(table, x * z)
    tasks = []
    for priority, v in ((2, x), (1, y), (3, z)):
        heapq.heappush(tasks, (priority, v))
    return (
        first * second + third + largest[0] + merged[1] * merged[2] + table[k] + table[-2] + heapq.heappop(tasks)[1]
        + bisect.bisect(table, x, key=lambda v: v) + heapq.nsmallest(1, heap)[0]
    )  # fmt: skip


@program(1.3, 0.4, 0.9)
def statistics_of_numbers(x, y, z):
    return (
        statistics.fmean([x, y, z]) + statistics.median([x, y, z]) * statistics.mean([x, y])
        + statistics.pvariance([x, y, z]) + statistics.stdev([x, y, z]) + statistics.fmean([x, y], [z, 1.0])
    )  # fmt: skip


@program(1.3, 0.4)
def sorting_by_keys_and_callbacks(x, y):
    people = [{"n": "a", "v": x}, {"n": "b", "v": y}, {"n": "c", "v": x * y}]
    people.sort(key=operator.itemgetter("v"))
    names = {p["n"]: p["v"] for p in sorted(people, key=lambda p: (len(p["n"]), -p["v"]), reverse=True)}
    total = sum(k * v for k, v in enumerate(names.values(), 1))
    found = re.sub("[ab]", lambda m: str(len(m.group())), "abc")
    values = iter([x, y, 0.0, 5.0])
    total += sum(iter(lambda: next(values), 0.0)) * len(found)
    total += max(people, key=lambda p: p["v"] ** 2)["v"] + min([x, y], key=lambda v: abs(v - 1))
    return total + sum(map(lambda p, k: p["v"] * k, people, itertools.count(1))) + len(string.Template("$a").substitute(a=1))


@program(1.3, 0.4)
def copies_of_objects(x, y):
    class Node:
        def __init__(self, v, *children):
            self.v, self.children = v, list(children)

        def __copy__(self):
            return Node(self.v * 2, *self.children)

        def __deepcopy__(self, memo):
            return Node(self.v * 3, *copy.deepcopy(self.children, memo))

    tree = Node(x, Node(y), Node(x * y))
    shallow, deep = copy.copy(tree), copy.deepcopy(tree)
    tree.children[0].v = 7.0
    table = copy.deepcopy({"a": [x, {"b": y}]})
    return shallow.v * shallow.children[0].v + deep.v * deep.children[0].v + table["a"][0] * table["a"][1]["b"]


@program(1.3)
def random_numbers_of_python(x):
    rng = random.Random(7)
    total = rng.gauss(x, 2.0) + rng.uniform(x, x * 2) + rng.random() * x + rng.choice([x, x * x, 3.0])
    total += rng.normalvariate(1.0, x) + rng.expovariate(x) + sum(rng.sample([x, 1.0, x * 2], 2)) + rng.triangular(0, x)
    items = [x, x * 2, x * 3]
    rng.shuffle(items)
    return total + items[0] * items[1] + rng.choices([x, 1.0], k=2)[0] + rng.betavariate(2.0, 3.0) * x


@program(1.3, 0.4)
def closures_in_weak_references_and_callbacks(x, y):
    class Event:
        def __init__(self):
            self.handlers = []

        def __iadd__(self, handler):
            self.handlers.append(handler)
            return self

        def fire(self, v):
            return [h(v) for h in self.handlers]

    class Listener:
        def __init__(self, scale):
            self.scale = scale

        def on(self, v):
            return v * self.scale

    listener, event = Listener(x), Event()
    event += listener.on
    event += weakref.WeakMethod(listener.on)()
    event += lambda v, by=y: v**by
    cache = weakref.WeakValueDictionary(a=listener)
    return sum(event.fire(y)) + cache["a"].scale
