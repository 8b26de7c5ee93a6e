"""Programs over dataclasses, named tuples, enumerations and the tools for functions."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum
import functools
import io
import itertools
import math
import operator
import types
import typing
from dataclasses import InitVar, asdict, astuple, dataclass, field, fields, replace

import numpy as np
from program_table import LOG, Programs

program = Programs()

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
    return (
        (p + q).product
        + a * rest[0]
        + p._replace(b=y).product
        + table[Pair(x)]
        + max(p, q).b
        + sum(q._asdict().values())
    )


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
    total += sum(p * q**2 for p, q in itertools.permutations([x, y, 2.0], 2)) + sum(
        itertools.islice(itertools.count(x, y), 3)
    )
    total += sum(p - q for p, q in itertools.combinations_with_replacement((x, y), 2))
    total += (
        sum(itertools.filterfalse(lambda v: v > 1, (x, y))) + list(itertools.accumulate([x, y], max, initial=0.5))[-1]
    )
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


class Slotted:
    __slots__ = ("a", "b")


@program(1.3, 0.4)
def descriptors_of_c_called_by_hand(x, y):
    made = Slotted()
    for name, value in (("a", x), ("b", x * y)):  # the second is set where the first is held
        object.__setattr__.__get__(made)(name, value)
    Slotted.a.__set__(made, Slotted.a.__get__(made) * y)
    b = Slotted.__dict__["b"].__get__(made, Slotted)
    Slotted.b.__delete__(made)
    held = [x, y]
    list.append.__get__(held)(held[0] * b)
    return made.a + sum(held) * float.__mul__.__get__(x)(y) * (not hasattr(made, "b"))


class Metre(float):
    """A number with a name, as libraries of units have them."""

    def __new__(cls, x, name=""):
        self = float.__new__(cls, x)
        self.name = name
        return self

    def __add__(self, other):
        return Metre(float.__add__(self, other), self.name)

    def __rmul__(self, other):
        return Metre(super().__rmul__(other), self.name)

    def doubled(self):
        return Metre(self * 2, self.name)


class Degree(Metre):
    def __new__(cls, x):
        return super().__new__(cls, x, "deg")


class Bare(float):
    pass


class Wave(complex):
    pass


@program(0.7)
def numbers_of_own_classes(x):
    m, d, bare, wave = Metre(x * x, "m"), Degree(x), Bare(x * 3), Wave(complex(x, 2 * x))
    n = m + d
    assert (type(n), n.name, type(2 * m), type(m * 2), type(bare)) == (Metre, "m", Metre, float, Bare)
    total = n.doubled() + 3 * m + abs(d) + d**2 + -bare + math.sin(bare) + max(d, 0.1) + sum([d, d])
    total += (np.array([d, 1.0]) @ np.exp(np.asarray([bare, m]))) + (wave * wave.conjugate()).real
    return total + float(d) * d.__neg__() * d.__abs__() + (d if d > 0.1 else 0.0)


class Radian(Metre):
    """Made of degrees: a cotangent that is made one would be scaled again."""

    def __new__(cls, degrees):
        return Metre.__new__(cls, math.radians(degrees))


@program(40.0)
def numbers_that_are_converted_when_made(x):
    r = Radian(Radian(x) * 100.0)
    return Radian(math.sin(r) * r + 3 * r)
