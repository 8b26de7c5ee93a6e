"""Random programs that read from outside in every way there is, and random changes of what they read between calls.

Each program is source that is run twice, in a namespace for the plain gradient and in one for the compiled; the same
changes are made in both. What is right is what the plain one gives: value, gradients, exception, and the state after.
"""

from __future__ import annotations

import random
import sys
import types
import warnings
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

HEAD = """
import collections
import copy
import enum
import functools
import math
import types
import typing
import numpy as np
import wengert as wg
from dataclasses import dataclass

lr = 0.1; W = np.arange(4.0); V = np.ones((2, 4)); k = 1; lst = [1.0, 2.0, 3.0]; flag = True; name = "p"
d = {"p": 0.7, "q": (1, 2.5), "w": np.ones(4)}; nested = [[1.0, 2.0], 3.0, {"z": 0.5}]; index = np.array([2, 0, 1, 3])
pair = (0.25, np.full(4, 0.5)); mask = np.array([True, False, True, True]); kinds = {"a", "b"}; z0 = np.float64(0.3)
space = types.SimpleNamespace(a=0.4, w=np.ones(4)); count = 0; log = []

class Base:
    c = 0.25
    table = [0.1, 0.2]
    scale = np.full(4, 0.5)
    def twice(s): return 2.0 * s.a
    @property
    def half(s): return s.a / 2.0
    @staticmethod
    def fixed(z): return z * lr
    @classmethod
    def of_class(cls): return cls.c

class M(Base):
    def __init__(s): s.a = 0.3; s.w = np.ones(4); s.t = [0.5, 0.6]; s.n = 2; s.part = None
    def __call__(s, z): return s.a * z * s.n
    def __getitem__(s, j): return s.t[j]
    def __add__(s, other): return s.a + other
    def __len__(s): return len(s.t)
    def __iter__(s): return iter(s.t)
    def kind(s): return s.c + s.t[0]

class Slotted:
    __slots__ = ("a", "w")
    def __init__(s): s.a = 0.6; s.w = np.ones(4)

@dataclass
class Point:
    x: float = 0.5
    y: float = 1.5

class Color(enum.Enum):
    RED = 0.5
    BLUE = 1.5
    @property
    def twice(self): return self.value * 2.0
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
class Flags(enum.Flag):
    A = 1
    B = 2
Pair = collections.namedtuple("Pair", "a n")
class Named(typing.NamedTuple):
    a: float = 0.5
    w: typing.Any = (0.25, 0.75)
    def twice(self): return 2.0 * self.a
class Kept:
    a = 0.5
    @functools.cached_property
    def value(self): return self.a * lr
color = Color.RED; level = Level.LOW; flags = Flags.A; named = Named(); two = Pair(0.5, 2); how = "ignore"
rng = np.random.default_rng(3); old = np.random.RandomState(4)
def ruled(z): return z * lr
@wg.rrule(ruled)
def of_ruled(z): return ruled(z), lambda z_bar: z_bar * lr
def weighed(z, w=0.5, *, by=1.0): return z * by + w
part = functools.partial(weighed, 0.5, by=0.25)
def matched(p):
    match p:
        case Point(x=a, y=1.5): return a
        case Point(y=b): return b * 2.0
        case float(a): return a
        case _: return 0.75
def told(z):
    with np.errstate(divide=how): return z / (1.0 + z * z)
def shown(z):
    own = types.SimpleNamespace(a=z)
    setattr(own, "b", lr)
    vars(own)["c"] = m.a
    return own.a * own.b + own.c
m = M(); m.part = M(); sl = Slotted(); pt = Point(); items = [M(), Point(0.2, 0.3)]
def helper(q): return lst[q] * 2.0
def keyword(z, *, by=0.5): return z * by
def listed(z, ws=[0.5, 0.25]): return z * ws[0] + ws[1]
def touched(z):
    global count
    count += 1
    return z * 1.0
def logged(z):
    log.append(1)
    return z * 1.0
def stored(z):
    m.last = 1.0
    return z * 1.0
def counter():
    n = 0
    def step(z):
        nonlocal n
        n += 1
        return z * 1.0 + 0.0 * n
    return step
counted = counter()
def drawn(z): return z + 0.0 * np.random.rand()
def made(z):
    own = M()
    return own.a * z + own.c
def chosen(z):
    try: return z * extra
    except NameError: return z * 1.0
bound = m.kind
partly = lambda z: z * m.a
table = {1: lambda z: z * lr, 2: helper}
"""

SHAPED = ["np.sin({})", "np.tanh({})", "-{}", "{} ** 2", "2.0 * {}", "np.sqrt(1.0 + {} * {})", "{}[::-1]", "{}[index]",
          "np.full(4, 1.0) * {}", "np.concatenate(({}[:2], {}[2:]))", "{} - np.max({})", "{}.copy()", "V @ {} @ V",
          "np.where(mask, {}, 0.5 * {})", "np.abs({})", "{} + {}", "{} * {}", "{} - {}",
          "{} / (2.0 + {} * {})"]  # fmt: skip
OUTSIDE = ["lr", "W", "m.a", "m.w", "m.t[0]", "m.t[1]", 'd["p"]', 'd["q"][1]', 'd["w"]', "cell", "M.c", "m.c", "lst[k]",
           "sum(lst)", "float(k)", "len(lst)", "helper(k)", "m(2.0)", "np.float64(lr)", "default", "nested[0][1]",
           "m.kind()", "m.twice()", "m.half", "m.fixed(0.5)", "M.of_class()", "m[0]", "(m + 1.0)", "len(m)",
           "sum(m)", "max(lst)", "pair[0]", "pair[1]", "space.a", "space.w", "sl.a", "sl.w", "pt.x", "pt.y",
           "items[0].a", "items[1].y", "m.part.a", "np.array(lst)[0]", "nested[2]['z']", "d[name]", "math.sin(lr)",
           "m.scale", "m.table[1]", "M.table[0]", "z0", "keyword(0.5)", "listed(0.5)", "made(0.5)", "bound()",
           "partly(0.5)", "table[1](0.5)", "getattr(m, 'a')", "sum(v for v in lst)", "sum([v * 2.0 for v in m.t])",
           "sum(d['q'])", "min(m.t)", "(lambda q=m.a: q)()", "[*lst][0]", "dict(**d)['p']", "lst[-1]", "sorted(lst)[0]",
           "list(zip(lst, m.t))[0][1]", "list(map(float, lst))[1]", "float('a' in kinds)", "np.sum(m.w)", "lst[:2][1]",
           "list(d.values())[0]", "list(enumerate(lst))[1][1]", "d.get('p', 1.0)", "math.fsum(lst)", "vars(m)['a']",
           "getattr(m, 'absent', 0.5)", "chosen(0.5)", "m.__dict__['a']", "copied.a",
           "np.stack([W, m.w])[0]", "color.value", "color.twice", "Color.BLUE.value", "Color['RED'].value",
           "(1.0 if color is Color.RED else 2.0)", "float(level)", "(0.5 if flags & Flags.A else 1.0)",
           "sum(c.value for c in Color)", "two.a", "two.a * two.n", "sum(two)", "named.a", "named.twice()",
           "named.w[0]", "named._replace(a=0.1).w[1]", "part()", "part(0.5)", "part.args[0]", "Kept().value", "Kept.a",
           "vars(m)['t'][1]", "copy.copy(m).a", "copy.deepcopy(m).t[0]", "copy.deepcopy(nested)[0][1]",
           "copy.copy(lst)[1]", "float(hasattr(M, 'absent'))", "getattr(M, 'absent', 0.5)", "matched(pt)",
           "matched(lr)",
           "told(0.5)", "shown(0.5)", "functools.partial(weighed, by=m.a)(lr)", "len(vars(space))",
           "functools.reduce(lambda a, b: a + b, lst)", "rng.normal()", "rng.normal(lr, 0.5)",
           "rng.uniform(size=4)", "rng.normal(m.w)", "rng.random()", "old.randn(4)", "old.exponential(lr)",
           "ruled(lr)", "ruled(0.5)",
           "np.random.default_rng(3).random()", "float(rng.integers(3))"]  # fmt: skip
EFFECTS = ["touched({})", "logged({})", "stored({})", "counted({})", "drawn({})"]
DECISIONS = ["flag", "rng.random() > 0.5", "k == 1", "lr > 0.5", "len(lst) > 3", "name in d"]
ITERATED = ["lst", "m.t", "nested[0]", "range(k)", "m"]

CHANGES = ["lr = R", "W = np.array([R, 1, 2, R])", "W[1] = R", "k = (k + 1) % 3", "lst[0] = R", "lst[1] = R",
           "lst.append(R)", 'd["p"] = R', 'd["q"] = (1, R)', "m.a = R", "m.w[2] = R", "m.w = np.ones(4) * R",
           "m.t[0] = R", "m.t = [R, R]", "M.c = R", "m.c = R", "m.n = m.n + 1", "nested[0][1] = R",
           "nested[0] = [R, R]",
           "f.__closure__ and setattr(f.__closure__[0], 'cell_contents', R)", "f.__defaults__ = (R,)", "m = M()",
           "def helper(q): return R * lst[q]", "M.kind = lambda s: s.a", "m.kind = lambda: R", "lr = int(R * 10)",
           "lr = np.float64(R)", "helper.__code__ = (lambda q: lst[q] * 3.0).__code__", "Base.c = R",
           "M.table = [R, R]",
           "Base.table[0] = R", "Base.scale[1] = R", "M.__call__ = lambda s, z: R * z", "M.half = R",
           "keyword.__kwdefaults__ = {'by': R}",
           "keyword.__kwdefaults__['by'] = R", "listed.__defaults__[0][0] = R", "listed.__defaults__ = ([R, R],)",
           "space.a = R", "space.w = space.w * R", "sl.a = R", "pt.x = R", "pt = Point(R, R)", "items[0].a = R",
           "items[1] = Point(R, R)", "items.reverse()", "m.part.a = R", "m.part = m", "pair = (R, np.full(4, R))",
           "index = index[::-1].copy()",
           "index[0] = 1", "mask[1] = not mask[1]", "flag = not flag", "name = 'p' if R > 1 else 'q'", "kinds.add('c')",
           "kinds.discard('a')", "np.add.at(W, [0], R)", "d['new'] = R", "d.pop('new', None)",
           "M.__getitem__ = lambda s, j: R",
           "M.__len__ = lambda s: 3", "M.__iter__ = lambda s: iter([R])", "M.__init__ = lambda s: setattr(s, 'a', R)",
           "sum = lambda values: R", "del sum", "float = lambda v: R", "table[1] = lambda z: z * R", "bound = m.twice",
           "nested[2] = {'z': R}", "lst = [R, 1, R]", "lst[2] = int(R * 3)", "W = W.astype(np.float32)", "W = R",
           "z0 = R",
           "V = np.ones((2, 4)) * R", "V = V.T.copy().T", "extra = R", "globals().pop('extra', None)", "m.absent = R",
           "M.absent = R", "M.a = property(lambda s: R)", "del M.a", "M.__getattr__ = lambda s, n: R", "copied = m",
           "import copy; copied = copy.copy(m)", "m.__class__ = type('N', (M,), {'c': R})", "m.__dict__['a'] = R",
           "Base.twice.__code__ = (lambda s: s.a * R).__code__", "M.__bases__ = (Base,)", "d = dict(d)", "lst = lst[:]",
           "lst[0] = np.float64(R)", "m.t.insert(0, R)", "lst.clear(); lst.extend([R, R, R])",
           "np.random.seed(0)", "color = Color.BLUE", "Color.RED._value_ = R", "level = Level.HIGH", "flags = Flags.B",
           "flags = Flags.A | Flags.B", "two = Pair(R, 2)", "two = Pair(R, 3)", "two = (R, 2)", "named = Named(R)",
           "named = Named(R, (R, R))", "Named.twice = lambda s: R", "part = functools.partial(weighed, R, by=R)",
           "part.keywords['by'] = R", "part.keywords['w'] = R", "part = functools.partial(weighed, R)",
           "weighed.__defaults__ = (R,)", "part = weighed", "Kept.a = R", "Kept.value.func = lambda s: R",
           "Kept.value = R", "Color.twice = property(lambda s: R)", "pt.y = R", "pt = R",
           "Point.__match_args__ = ('y',)", "how = 'raise'", "vars(m)['t'] = [R, R]", "m.extra = R",
           "vars(space).update(b=R)",
           "level = 1", "Color.twice = R", "matched.__code__ = (lambda p: R).__code__",
           "two = two._replace(a=R)", "rng = np.random.default_rng(5)", "rng.random()", "old.seed(7)",
           "of_ruled.__code__ = (lambda z: (ruled(z), lambda z_bar: z_bar * R)).__code__"]  # fmt: skip


class Outcome(NamedTuple):
    """What a call did: its numbers, or the exception that it raised."""

    numbers: Any
    error: type | None


def expression(rng: random.Random, names: list[str]) -> str:
    form = rng.choice(SHAPED)
    while "{}" in form:
        form = form.replace("{}", rng.choice(names), 1)
    return form


def program(rng: random.Random) -> str:
    lines, names = [], ["x", "y"]
    for n in range(rng.randint(2, 8)):
        kind, v, outside = rng.random(), f"v{n}", rng.choice(OUTSIDE)
        if kind < 0.3:
            lines.append(f"{v} = {expression(rng, names)}")
        elif kind < 0.75:
            lines.append(f"{v} = {rng.choice(names)} {rng.choice('+*-')} {outside}")
        elif kind < 0.85:
            tested = rng.choice(["0.3", "lr", "m.a", "lst[0]", "M.c"])
            lines.append(f"if np.sum({rng.choice(names)}) > {tested}: {v} = {rng.choice(names)} * {outside}")
            lines.append(f"else: {v} = {rng.choice(names)} + 1.0")
        elif kind < 0.9:
            lines.append(f"if {rng.choice(DECISIONS)}: {v} = {rng.choice(names)} * {outside}")
            lines.append(f"else: {v} = {rng.choice(names)}")
        elif kind < 0.95:
            lines.append(f"{v} = {rng.choice(names)} * 1.0")
            lines.append(f"for item in {rng.choice(ITERATED)}: {v} = {v} + item * {rng.choice(names)}")
        elif kind < 0.965:
            lines.append(f"{v} = {rng.choice(EFFECTS).format(rng.choice(names))}")
        else:
            lines.append(f"{v} = {rng.choice(names)}.copy(); {v}[0] = {v}[1] * 2.0")
        names.append(v)
    lines.append(f"return np.sum({names[-1]} * {rng.choice(names)})")
    body = "".join(f"        {line}\n" for line in lines)
    return f"{HEAD}copied = m\ndef outer(cell):\n    def f(x, y, default=0.5):\n{body}    return f\nf = outer(1.5)\n"


class Fuzzed:
    """One program, plain and compiled, with the changes that were made to both."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.source = program(rng)
        self.modules: list[types.ModuleType] = []
        self.plain, self.compiled = self._namespace(seed), self._namespace(seed)
        self.eager = wg.value_and_grad(self.plain["f"], argnums=(0, 1))
        self.g = wg.compile(wg.value_and_grad(self.compiled["f"], argnums=(0, 1)))
        self.x, self.y = self._array(), self._array()
        self.history: list[str] = []
        self.calls = self.hits = 0

    def _namespace(self, seed: int) -> dict[str, Any]:
        module = sys.modules["fuzzed"] = types.ModuleType("fuzzed")  # data classes look for it
        space = vars(module)
        self.modules.append(module)  # which empties its namespace when it goes
        exec(compile(self.source, f"<fuzzed {seed}>", "exec"), space)
        return space

    def _array(self) -> np.ndarray:
        return np.array([self.rng.uniform(-1, 1) for _ in range(4)])

    def change(self) -> None:
        """Change what is outside, the same in both."""
        change = self.rng.choice(CHANGES).replace("R", repr(round(self.rng.uniform(0.1, 2), 3)))
        self.history.append(change)
        for space in (self.plain, self.compiled):
            try:
                exec(change, space)
            except Exception:  # it does not fit what was changed before, in either
                continue

    def step(self) -> str | None:
        """Call both; how they differ, or None."""
        if self.rng.random() < 0.3:
            self.x = self._array()
        known = count(self.g)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            want, got = outcome(self.eager, self.x, self.y), outcome(self.g, self.x, self.y)
        self.calls += 1
        self.hits += count(self.g) == known and "runs uncompiled" not in self.g.explain()
        said = differ(want, got) or differ_outside(self.plain, self.compiled)
        return said and f"{said}\n{self.history}\n{self.source[len(HEAD) :]}"


def count(g: Any) -> int:
    return int(g.explain().partition(" trace")[0].rpartition(" ")[2])


def outcome(g: Any, *args: Any) -> Outcome:
    try:
        value, gradients = g(*args)
    except Exception as error:
        return Outcome(None, type(error))
    return Outcome([value, *gradients], None)


def differ(want: Outcome, got: Outcome) -> str | None:
    if want.error is not got.error:
        return f"{want} {got}"
    for a, b in zip(want.numbers or (), got.numbers or (), strict=True):
        if type(a) is not type(b) or np.shape(a) != np.shape(b):
            return f"{a!r} is a {type(a)}, {b!r} a {type(b)}"
        if not np.allclose(a, b, rtol=1e-9, atol=1e-11, equal_nan=True):
            return f"{a!r} is not {b!r}"
    return None


def differ_outside(plain: dict[str, Any], compiled: dict[str, Any]) -> str | None:
    """Whether the two namespaces differ in what a call may have changed."""
    for name in ("count", "log", "lr", "lst", "nested", "d", "W", "index"):
        if name in plain and repr(plain[name]) != repr(compiled.get(name)):
            return f"{name} is {compiled.get(name)!r} and should be {plain[name]!r}"
    if plain["rng"].random() != compiled["rng"].random() or plain["old"].rand() != compiled["old"].rand():
        return "the state of a generator"
    return None if vars(plain["m"]).get("last") == vars(compiled["m"]).get("last") else "m.last"
