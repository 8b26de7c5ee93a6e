"""Each way to an outside value: it is changed between calls, and the compiled function gives what the plain one gives.

`again` says whether the call after the change runs the code that there is, traces anew, or the function runs as it is.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg

X = np.array([0.3, -0.4])
HIT, MISS, EAGER = "hit", "miss", "eager"


def space_of(source: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "outside"}
    exec(compile(source, "<outside>", "exec"), space)
    return space


def outcome(g: Any, *args: Any) -> Any:
    try:
        return g(*args)
    except Exception as error:
        return type(error)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    return type(a[0]) is type(b[0]) and np.allclose(a[0], b[0], 1e-12) and np.allclose(a[1], b[1], 1e-12)


CLASSES = """
class Base:
    c = 0.5; table = [0.5]; w = np.ones(2)
    def of(self): return self.a * self.c
class M(Base):
    def __init__(self, a=0.3): self.a = a; self.t = [0.5]; self.w = np.ones(2)
    def __call__(self, z): return self.a * z
    @property
    def half(self): return self.a / 2
m = M()
class Slotted:
    __slots__ = ("a",)
s = Slotted(); s.a = 0.5
"""

BY_UFUNC = "np.frompyfunc(lambda j, k: m.a, 2, 1)"
TWO_LISTS = """
import copy
def tripled(pair):
    first, second = copy.deepcopy(pair)
    first[0] *= 3.0
    return second[0]
l, m = [0.5], [0.5]
"""

INDEX = "k = 1\nclass I:\n    def __index__(self): return k\ni = I()"

MANY = """
import copy, inspect
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return 7
    def __eq__(self, other): return self.v == other.v
    def twice(self, by=2): return self.v * by
def one(): return 0.5
def two(): return 0.7
key, k = K("a"), K(0.5)
many = {"f": one, "g": two, "k": k, "s": "ab", "none": None, "yes": True, "t": 0.5}
lots = [one, two, k, K, 1, "a", None, 0.5]
keyed = {key: (0.5, k), K("b"): (0.7, 2)}
def given(x, o=k): return x * o.v
signature = inspect.signature(given)
given.__wrapped__ = one
"""
SETTINGS = """
import configparser
c = configparser.ConfigParser(); c.read_dict({"DEFAULT": {"half": "0.5"}, "a": {"b": "%(half)s", "on": "yes"}})
"""

DESCRIBED = """
class By:
    by = 0.5
    def __get__(self, obj, cls): return self.by
class Adding:
    by = 0.5
    def __call__(self, *args): return self.by
class D:
    value = By(); __add__ = Adding(); half = property(Adding()); fixed = staticmethod(Adding())
"""

ENUMERATED = """
import enum
class Color(enum.Enum):
    RED = 0.5
    BLUE = 1.5
    @property
    def twice(self): return self.value * 2
class Level(enum.IntEnum): LOW = 1; HIGH = 2
class Flags(enum.Flag): A = 1; B = 2
color, level, flag = Color.RED, Level.LOW, Flags.A
"""

NAMED = """
import collections, typing
P = collections.namedtuple("P", "a n")
p = P(0.5, 2)
class Q(typing.NamedTuple):
    a: float = 0.5
    w: np.ndarray = np.ones(2)
    def twice(self): return 2.0 * self.a
q = Q()
class R(collections.namedtuple("R", "a n")):
    by = 2.0
    def twice(self): return self.by * self.a
r = R(0.5, 2)
"""

PARTIAL = """
import functools
def h(z, w, by=1.0): return z * by + w
part = functools.partial(h, 2.0, by=3.0)
class K:
    a = 0.5
    @functools.cached_property
    def value(self): return self.a * 2
"""

RULED = """
c = 2.0
def h(z): return z * c
@wg.rrule(h)
def of_h(z): return h(z), lambda z_bar: z_bar * c
def e(z): return np.sin(z) * c
@wg.extend.partials(e)
def of_e(y, z): return np.cos(z) * c
class N:
    def __init__(self, a=0.3): self.a = a
o = N()
def k(m, z): return m.a * z * c
@wg.extend.vjp_rule(k)
def of_k(y_bar, y, m, z): return None, y_bar * m.a * c
@wg.non_differentiable
def floor(z): return np.floor(z * c)
def times(z, n): return z * n
wg.rrule(times)(lambda z, n: (times(z, n), lambda z_bar: (z_bar * n, None)))
n = 2
"""

WAYS = [
    (RULED, "h(x[0])", "c = 3.0", HIT),
    (RULED, "h(x[0])", "c = 3", MISS),
    (RULED, "h(0.5)", "c = 3.0", HIT),
    (RULED, "h(x[0])", "h = lambda z: z", MISS),
    (RULED, "e(x[0])", "c = 3.0", HIT),
    (RULED, "e(0.5)", "c = 3.0", HIT),
    (RULED, "e(x[0])", "of_e.__code__ = (lambda y, z: z).__code__", None),
    (RULED, "sum(map(h, [0.5, x[0]]))", "c = 3.0", HIT),
    (RULED, "floor(x[0])", "c = 30.0", HIT),
    (RULED, "floor(3.5)", "c = 30.0", HIT),
    (RULED, "times(x[0], n)", "n = 3", MISS),
    (RULED, "k(o, x[0])", "o.a = 0.7", HIT),
    (RULED, "k(o, 0.5)", "o.a = 0.7", HIT),
    (RULED, "k(o, x[0])", "o = N(0.7)", MISS),
    (CLASSES + RULED, "k(m, x[0])", "m.a = 0.7", None),
    (CLASSES + "wg.rrule(m)(lambda z: (m(z), lambda z_bar: z_bar * m.a))", "m(x[0])", "m.a = 0.7", EAGER),
    (CLASSES + "wg.rrule(m)(lambda z: (m(z), lambda z_bar: z_bar * m.a))", "m(0.5)", "m.a = 0.7", EAGER),
    (CLASSES + "wg.rrule(M.of)(lambda m: (m.a * m.c, lambda z_bar: None))", "m.of()", "m.a = 0.7", EAGER),
    (ENUMERATED, "color.value", "color = Color.BLUE", MISS),
    (ENUMERATED, "color.value", "Color.RED._value_ = 0.7", HIT),
    (ENUMERATED, "color.twice", "Color.RED._value_ = 0.7", HIT),
    (ENUMERATED, "color.twice", "Color.twice = property(lambda self: 0.7)", MISS),
    (ENUMERATED, "Color.BLUE.value", "Color.BLUE._value_ = 0.7", HIT),
    (ENUMERATED, "Color['RED'].value", "Color.RED._value_ = 0.7", HIT),
    (ENUMERATED, "Color(0.5).value", "Color.RED._value_ = 0.7", HIT),
    (ENUMERATED, "sum(c.value for c in Color)", "Color.RED._value_ = 0.7", HIT),
    (ENUMERATED, "(2.0 if color is Color.RED else 3.0)", "color = Color.BLUE", MISS),
    (ENUMERATED, "(2.0 if color == Color.RED else 3.0)", "color = Color.BLUE", MISS),
    (ENUMERATED, "float(len(color.name))", "color = Color.BLUE", MISS),
    (ENUMERATED, "{Color.RED: 2.0, Color.BLUE: 3.0}[color]", "color = Color.BLUE", MISS),
    (ENUMERATED, "float(level)", "level = Level.HIGH", MISS),
    (ENUMERATED, "float(level + 1)", "level = 1", MISS),
    (ENUMERATED, "(2.0 if flag in Flags.A | Flags.B else 3.0)", "flag = Flags(0)", None),
    (NAMED, "p.a", "p = P(0.7, 2)", HIT),
    (NAMED, "p.n", "p = P(0.5, 3)", MISS),
    (NAMED, "p.a * p.n", "p = p._replace(n=3)", MISS),
    (NAMED, "sum(p)", "p = P(0.7, 2)", HIT),
    (NAMED, "p._replace(n=3).a", "p = P(0.7, 2)", HIT),
    (NAMED, "p[0]", "p = (0.7, 2)", MISS),
    (NAMED, "(p.a if isinstance(p, P) else 3.0)", "p = P(2.0, 2.0)", MISS),
    (NAMED, "q.a + q.w[0]", "q.w[0] = 3.0", HIT),
    (NAMED, "q.twice()", "q = Q(0.7)", HIT),
    (NAMED, "q.twice()", "Q.twice = lambda self: 0.7", MISS),
    (NAMED, "r.twice()", "r = R(0.7, 2)", HIT),
    (NAMED, "r.twice()", "R.by = 3.0", HIT),
    (NAMED, "r.twice()", "r.by = 3.0", EAGER),
    (NAMED, "sum(p)", "p = tuple.__new__(P, (0.5, 2, 3.0))", MISS),
    (NAMED, "r.a", "R.__getitem__ = lambda self, k: 0.7", None),
    (ENUMERATED + "d = {Color.RED: 0.5, Color.BLUE: 1.5}", "d[color]", "d[Color.RED] = 0.7", HIT),
    (ENUMERATED + "d = {Color.RED: 0.5, Color.BLUE: 1.5}", "sum(d.values())", "del d[Color.BLUE]", MISS),
    ("d = {(0, 'a'): 0.5, (1, 'b'): 1.5}", "d[0, 'a']", "d[0, 'a'] = 0.7", HIT),
    ("d = {(0, 'a'): 0.5, (1, 'b'): 1.5}", "sum(d.values())", "d[2, 'c'] = 0.7", MISS),
    ("d = {(1,): 0.5}", "float(repr([*d]) == '[(1,)]') + d[1,]", "d = {(True,): 0.5}", MISS),
    ("def h(z): return z * h.rate\nh.rate = 0.5", "h(x[0])", "h.rate = 0.7", HIT),
    ("def h(z): return z * h.rate\nh.rate = 0.5", "h(x[0])", "h.rate = 7", MISS),
    (ENUMERATED + "d = {Color.RED: 0.5, Color.BLUE: 1.5}", "float([*d][0] is Color.RED) + d[color]",
     "d = {Color.BLUE: 1.5, Color.RED: 0.5}", MISS),
    ("given = None", "(0.5 if given is None else given)", "given = 0.7", MISS),
    (CLASSES + "M.kept = None", "(0.5 if M.kept is None else M.kept)", "M.kept = 0.7", MISS),
    (NAMED, "Q().a", "Q.__new__.__defaults__ = (0.7, None)", None),
    (PARTIAL, "part(x[0])", "part = functools.partial(h, 2.5, by=3.5)", HIT),
    (PARTIAL, "part(x[0])", "part.keywords['by'] = 3.5", HIT),
    (PARTIAL, "part(x[0])", "part.keywords['by'] = 3", MISS),
    (PARTIAL, "part(x[0])", "part.keywords.clear()", MISS),
    (PARTIAL, "part(x[0])", "part = functools.partial(h, by=3.5, z=2.0)", None),
    (PARTIAL, "part(x[0])", "h = None; part.func.__code__ = (lambda z, w, by: z).__code__", MISS),
    (PARTIAL, "part.args[0] * part.func(1.0, 2.0)", "part = functools.partial(h, 2.5, by=3.5)", HIT),
    (PARTIAL, "part(x[0])", "part.__setstate__((h, (5.0,), {'by': 6.0}, None))", HIT),
    (PARTIAL, "K().value", "K.a = 0.7", HIT),
    (PARTIAL, "K().value", "K.value.func = lambda self: 0.7", MISS),
    (CLASSES, "vars(m)['a']", "m.a = 0.7", HIT),
    (CLASSES, "vars(m)['a']", "m.b = 0.7", MISS),
    (CLASSES, "m.__dict__['a']", "m.a = 0.7", HIT),
    (CLASSES, "m.a * len(vars(m)) + m.w[0]", "m.w[0] = 0.7", HIT),
    (CLASSES + "import copy", "copy.copy(m).a", "m.a = 0.7", HIT),
    (CLASSES + "import copy", "copy.copy(m).c", "m.c = 0.7", MISS),
    (CLASSES + "import copy", "copy.deepcopy(m).t[0]", "m.t[0] = 0.7", HIT),
    (TWO_LISTS, "tripled([l, m])", "m = l", MISS),
    (CLASSES + "import copy; lst = [0.5, m]", "copy.copy(lst)[0]", "lst[0] = 0.7", HIT),
    (CLASSES, "float(hasattr(M, 'absent'))", "M.absent = 0.7", MISS),
    (CLASSES, "getattr(M, 'absent', 0.5)", "Base.absent = 0.7", MISS),
    ("import fractions; half = 0.5", "float(fractions.Fraction(1, 2)) * half", "half = 0.7", HIT),
    ("a = 0.5", "a", "a = 0.7", HIT),
    ("a = 0.5", "a", "a = 2", MISS),
    ("a = 0.5", "a", "a = np.float64(0.7)", MISS),
    ("a = True", "a", "a = 1", MISS),
    ("a = np.float64(0.5)", "a", "a = np.float64(0.7)", HIT),
    (CLASSES + "M.a = 0.5", "m.a", "M.a = property(lambda self: 0.7)", MISS),
    (CLASSES + "M.half = 0.5", "m.half", "M.half = 0.7", HIT),
    (CLASSES + "M.a = property(lambda self: self.t[0])", "m.a", "m.t[0] = 0.7", HIT),
    ("a = 1", "a", "a = 2", MISS),
    ("a = 0.5j", "(a * a).real", "a = 0.7j", HIT),
    ("a = b = 0.5", "a * b", "b = 0.7", HIT),
    ("W = np.ones(2)", "np.sum(W)", "W[0] = 3.0", HIT),
    ("W = np.ones(2)", "np.sum(W)", "W = np.full(2, 3.0)", HIT),
    ("W = np.ones(2)", "np.sum(W)", "W = np.ones(3)", MISS),
    ("W = np.ones(2)", "np.sum(W)", "W = np.ones(2, np.float32)", MISS),
    ("i = np.array([0, 1])", "x[i[0]]", "i[0] = 1", MISS),
    ("def helper(z): return z * 2.0", "helper(x[0])", "def helper(z): return z * 3.0", MISS),
    ("def helper(z): return z * 2.0", "helper(x[0])", "helper.__code__ = (lambda z: z * 3.0).__code__", MISS),
    ("def helper(z, by=2.0): return z * by", "helper(x[0])", "helper.__defaults__ = (3.0,)", HIT),
    ("def helper(z, by=[2.0]): return z * by[0]", "helper(x[0])", "helper.__defaults__[0][0] = 3.0", HIT),
    ("def helper(z, *, by=2.0): return z * by", "helper(x[0])", "helper.__kwdefaults__['by'] = 3.0", HIT),
    ("def helper(z, *, by=2.0): return z * by", "helper(x[0])", "helper.__kwdefaults__ = {'by': 3.0}", HIT),
    ("def o(c):\n  return lambda z: z * c\nhelper = o(2.0)", "helper(x[0])",
     "helper.__closure__[0].cell_contents = 3.0", HIT),
    ("def o(c):\n  return lambda z: z * c\nhelper = o(2)", "helper(x[0])",
     "helper.__closure__[0].cell_contents = 3", MISS),
    ("", "max(0.5, 0.2)", "max = lambda a, b: b", MISS),
    ("lst = [0.5, 0.7]", "lst[0]", "lst[0] = 0.9", HIT),
    ("lst = [0.5, 0.7]", "sum(lst)", "lst[0] = 0.9", HIT),
    ("lst = [0.5, 0.7]", "sum(lst)", "lst.append(0.9)", MISS),
    ("lst = [0.5, 0.7]", "sum(v for v in lst)", "lst[1] = 0.9", HIT),
    ("lst = [0.5, 0.7]", "lst[0]", "lst = [0.9, 0.9]", HIT),
    ("lst = [0.5, 0.7]", "np.array(lst)[0]", "lst[0] = 0.9", HIT),
    ("lst = [0.5, 0.7]", "sorted(lst)[0]", "lst.reverse()", HIT),
    ("lst = [0.5, 1]", "lst[1]", "lst[1] = 2", MISS),
    ("lst = [[0.5], 1.0]", "lst[0][0]", "lst[0][0] = 0.7", HIT),
    ("lst = [np.ones(2)]", "np.sum(np.stack(lst))", "lst[0][0] = 0.7", HIT),
    ("pair = (0.5, 1.0)", "pair[0]", "pair = (0.7, 1.0)", HIT),
    ("pair = (0.5, 1.0)", "max(*pair)", "pair = (1.7, 1.0)", HIT),
    ("d = {'a': 0.5}", "d['a']", "d['a'] = 0.7", HIT),
    ("d = {'a': 0.5}", "sum(d.values())", "d['b'] = 0.7", MISS),
    ("d = {'a': 0.5, 1: 0.7}", "d.get('a')", "d['a'] = 0.9", HIT),
    ("d = {'a': 0.5}; key = 'a'", "d[key]", "d['b'] = 0.7; key = 'b'", MISS),
    ("names = {'a'}", "float('a' in names)", "names.clear()", MISS),
    ("pair = (0.5, 1.0)", "float(isinstance(pair, tuple)) + pair[0]", "pair = [0.5, 1.0]", MISS),
    ("d = {'a': 0.5}", "float(type(d) is dict) + d['a']", "import collections; d = collections.OrderedDict(d)", MISS),
    ("d = {1: 0.5}", "float(repr([*d]) == '[1]') + d[1]", "d = {True: 0.5}", MISS),
    ("s = 'a'", "float(len(s))", "s = 'ab'", MISS),
    ("a = True", "1.0 + a", "a = False", MISS),
    ("a = False", "1.0 + a", "a = True", MISS),
    ("names = {'a'}", "float(len(names))", "names = {'a', 'b'}", MISS),
    ("names = {1}", "float(repr(names) == '{1}')", "names = {True}", MISS),
    ("n = np.int64(2)", "x[0] * n", "n = np.int64(3)", MISS),
    (CLASSES + "bound = m.of; other = lambda self: 0.7", "bound()", "bound = type(bound)(other, m)", MISS),
    (CLASSES, "m.a", "m.a = 0.7", HIT),
    (CLASSES, "m.t[0]", "m.t[0] = 0.7", HIT),
    (CLASSES, "m.t[0]", "m.t = [0.7]", HIT),
    (CLASSES, "np.sum(m.w)", "m.w[0] = 0.7", HIT),
    (CLASSES, "m.a", "m = M(0.7)", MISS),
    (CLASSES, "m.c", "m.c = 0.7", MISS),
    (CLASSES, "m.c", "M.c = 0.7", MISS),
    (CLASSES, "m.c", "Base.c = 0.7", HIT),
    (CLASSES, "M.c", "M.c = 0.7", MISS),
    (CLASSES, "Base.c", "Base.c = 0.7", HIT),
    (CLASSES, "M.table[0]", "Base.table[0] = 0.7", HIT),
    (CLASSES, "np.sum(Base.w)", "Base.w[0] = 0.7", HIT),
    (CLASSES, "m.of()", "M.of = lambda self: 0.7", MISS),
    (CLASSES, "m.of()", "m.of = lambda: 0.7", MISS),
    (CLASSES, "m.of()", "Base.of.__code__ = (lambda self: 0.7).__code__", MISS),
    (CLASSES, "m(0.5)", "M.__call__ = lambda self, z: 0.7", MISS),
    (CLASSES, "m.half", "M.half = 0.7", MISS),
    (CLASSES, "m.half", "m.a = 0.7", HIT),
    (CLASSES, "M(0.5).c", "Base.c = 0.7", HIT),
    (CLASSES, "M().a", "M.__init__.__defaults__ = (0.7,)", HIT),
    (CLASSES, "m.a", "M.a = property(lambda self: 0.7)", MISS),
    (CLASSES, "m.a", "M.__getattribute__ = lambda self, name: 0.7", EAGER),
    (CLASSES, "s.a", "s.a = 0.7", HIT),
    (CLASSES, "getattr(m, 'a')", "m.a = 0.7", HIT),
    (CLASSES, "[*map(getattr, [m], ['a'])][0]", "m.a = 0.7", HIT),
    (CLASSES, "[*map(vars, [m])][0]['a']", "m.a = 0.7", HIT),
    (CLASSES + "import functools", "functools.partial(getattr, m, 'a')()", "m.a = 0.7", HIT),
    (CLASSES + "import functools", "functools.partial(vars, m)()['a']", "m.a = 0.7", HIT),
    (CLASSES + "import functools", "functools.reduce(getattr, ['a'], m)", "m.a = 0.7", HIT),
    (CLASSES, "object.__reduce_ex__(m, 4)[2]['a']", "m.a = 0.7", EAGER),
    (CLASSES, "np.apply_along_axis(lambda v: v * m.a, 0, np.ones(2))[0]", "m.a = 0.7", HIT),
    (CLASSES, "np.piecewise(np.ones(2), [np.ones(2) > 0], [lambda v: v * m.a])[0]", "m.a = 0.7", HIT),
    (CLASSES, "np.frompyfunc(lambda k: m.a, 1, 1)(0)", "m.a = 0.7", HIT),
    (CLASSES, "np.frompyfunc(lambda k: m.a, 1, 1)(np.ones(2)).sum()", "m.a = 0.7", None),
    (CLASSES, "np.frompyfunc(lambda k: m.a, 1, 1)(np.ones(2)).astype(float)[0]", "m.a = 0.7", None),
    (CLASSES, "np.frompyfunc(lambda j, k: m.a, 2, 1).outer(np.ones(2), np.ones(2)).sum()", "m.a = 0.7", None),
    (CLASSES, "np.frompyfunc(lambda: m.a, 0, 1)()", "m.a = 0.7", None),
    (CLASSES, "np.frompyfunc(lambda k: (m.a, k), 1, 2)(np.ones(2))[0].sum()", "m.a = 0.7", None),
    (CLASSES, f"(o := np.ones(2, object), {BY_UFUNC}.at(o, [0, 1], 2.0), o.sum())[2]", "m.a = 0.7", None),
    (CLASSES + "u = np.frompyfunc(lambda k: m.a, 1, 1)", "u(0)", "m.a = 0.7", EAGER),
    (CLASSES + "v = np.vectorize(lambda k: m.a)", "float(v(0.0))", "m.a = 0.7", EAGER),
    (INDEX, "[0.5, 0.7, 0.9][i]", "k = 2", MISS),
    (INDEX, "x[i]", "k = 0", MISS),
    (INDEX, "float('ab'.__mul__(i) == 'abab')", "k = 2", MISS),
    (CLASSES, "np.fromfunction(lambda k: k + m.a, (2,))[0]", "m.a = 0.7", HIT),
    (CLASSES + "lot = [m]", "lot[0].a", "lot[0].a = 0.7", HIT),
    (CLASSES + "bound = m.of", "bound()", "m.a = 0.7", HIT),
    ("import types; n = types.SimpleNamespace(a=0.5)", "n.a", "n.a = 0.7", HIT),
    (MANY, "many['f']()", "many['f'] = two", MISS),
    (MANY + "both = dict(a=one, b=two, c=one, d=two)", "both['a']()", "both['a'] = two", MISS),
    ("def helper(z, *, by=2): return z * by", "helper(x[0])", "helper.__kwdefaults__['by'] = 3", MISS),
    (MANY, "many['k'].v", "many['k'] = K(0.7)", MISS),
    (MANY, "many['k'].v + many['t']", "k.v = many['t'] = 0.7", HIT),
    (MANY, "many['k'].v", "k.__class__ = type('L', (K,), {})", MISS),
    (MANY, "len(many['s'])", "many['s'] = 'abc'", MISS),
    (MANY, "1.0 + many['yes']", "many['yes'] = 1; many['f'] = one", MISS),
    (MANY, "many['f']()", "many['g'] = many.pop('g')", MISS),
    (MANY, "[*many.values()][0]()", "many['f'] = many.pop('f')", MISS),
    (MANY, "lots[0]() + lots[2].v + lots[7]", "lots[2].v = lots[7] = 0.7", HIT),
    (MANY, "lots[0]()", "lots[:2] = [two, one]", MISS),
    (MANY, "lots[4] * 0.5", "lots[4] = True", MISS),
    (MANY, "float(lots[5] == 'a') + 1.0", "lots[5] = 'b'", MISS),
    (MANY, "keyed[K('a')][0]", "keyed[key] = (0.9, k)", MISS),
    (MANY, "keyed[K('a')][1].v", "k.v = 0.7", HIT),
    (MANY, "[*map(K.twice, [k])][0]", "K.twice.__code__ = (lambda self, by=3: self.v * 3).__code__", MISS),
    (MANY, "[*map(K.twice, [k])][0]", "K.twice.__defaults__ = (3,)", MISS),
    (MANY, "k.v", "K.twice.__code__ = (lambda self, by=3: self.v * 3).__code__", HIT),
    (MANY, "signature.parameters['o'].default.v", "k.v = 0.7", HIT),
    (MANY, "given.__wrapped__()", "given.__wrapped__ = two", MISS),
    (SETTINGS, "c.getfloat('a', 'b')", "c['DEFAULT']['half'] = '0.7'", MISS),
    (SETTINGS, "float(c['a']['b']) + c.getboolean('a', 'on')", "c.remove_option('a', 'on')", None),
    (SETTINGS, "float(c['a'].get('none', '0.5'))", "c['a']['none'] = '0.7'", MISS),
    (SETTINGS, "c.getfloat('a', 'b')", "c = configparser.RawConfigParser(); c.read_dict({'a': {'b': '0.7'}})", MISS),
    (DESCRIBED, "D().value", "D.__dict__['value'].by = 0.7", EAGER),
    (DESCRIBED, "D.value", "D.__dict__['value'].by = 0.7", EAGER),
    (DESCRIBED + "e = D()", "e.value", "D.__dict__['value'].by = 0.7", EAGER),
    (DESCRIBED, "(D() + 1.0)", "D.__add__.by = 0.7", EAGER),
    (DESCRIBED, "D().half", "D.half.fget.by = 0.7", EAGER),
    (DESCRIBED, "D.fixed()", "D.fixed.by = 0.7", EAGER),
    (CLASSES + "import abc\nclass A(abc.ABC): pass", "float(isinstance(m, A)) + m.a", "A.register(M)", None),
    ("s = slice(0, 1)", "np.sum(x[s])", "s = slice(0, 2)", MISS),
    ("n = 10**5000", "float(n > 1)", "n = -n", MISS),
    (CLASSES + "class Other(Base): c = 0.9", "m.c", "M.__bases__ = (Other,)", MISS),
    (CLASSES + "class N(M): c = 0.9", "m.c", "m.__class__ = N", MISS),
    (CLASSES, "m.a", "m.a = 2", MISS),
    ("lst = [0.5]", "lst[0]", "lst[0] = 2", MISS),
    ("lst = [0.5]", "float(isinstance(lst, list)) + 1.0", "lst = (0.5,)", MISS),
    ("d = {0: 0.5}", "float(isinstance(d, dict)) + d[0]", "d = [0.5]", MISS),
    ("def helper(z, a=2.0, b=3.0): return z * a + b", "helper(x[0])", "helper.__defaults__ = (1.0, 5.0, 7.0)", MISS),
    ("def helper(z, a=2.0): return z * a", "helper(x[0])", "helper.__defaults__ = None", EAGER),
    ("def helper(z, *, a=2.0): return z * a", "helper(x[0])", "helper.__kwdefaults__ = None", EAGER),
    ("i = np.array([0, 1])", "float(i.dtype.itemsize)", "i = i.astype(np.int32)", MISS),
    ("i = np.array([True, False])", "np.sum(x[i])", "i = i.view(np.int8)", MISS),
    ("i = np.array([[0, 1]])", "float(i.shape[0])", "i = i.reshape(2, 1)", MISS),
    ("k7 = 0.5", "k7", "k7 = 0.7", HIT),
    (CLASSES, "getattr(m, 'absent', 0.5)", "m.absent = 0.7", MISS),
    (CLASSES, "getattr(m, 'absent', 0.5)", "M.absent = 0.7", MISS),
    (CLASSES, "float(hasattr(m, 'absent'))", "Base.absent = 0.7", MISS),
    (CLASSES, "type(m).c", "Base.c = 0.7", HIT),
    (CLASSES, "m.__class__.c", "Base.c = 0.7", HIT),
    ("import math", "math.sqrt(2.0)", "math = type('o', (), {'sqrt': staticmethod(lambda v: v)})", MISS),
    ("g = wg.grad(lambda z: z * a); a = 0.5", "g(1.0)", "a = 0.7", HIT),
    (CLASSES + "g = wg.grad(m)", "g(1.0)", "m.a = 0.7", HIT),
]  # fmt: skip


def of(head: str, body: str) -> Any:
    space = space_of(f"import numpy as np\nimport wengert as wg\n{head}\ndef f(x): return np.sum(x * x) * ({body})\n")
    return space, space["f"]


@pytest.mark.parametrize(("head", "body", "change", "again"), WAYS, ids=[f"{b} -- {c}" for _, b, c, _ in WAYS])
@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_what_is_read_outside_is_never_stale(head: str, body: str, change: str, again: str) -> None:
    space, f = of(head, body)
    plain, g = wg.value_and_grad(f), wg.compile(wg.value_and_grad(f))
    for _ in range(2):
        assert same(g(X), plain(X))
    assert traces(g) == 1 or again in (EAGER, None)
    exec(change, space)
    for _ in range(2):
        assert same(outcome(g, X), outcome(plain, X))
    if again is None:
        return
    if again is EAGER:
        assert "runs uncompiled" in g.explain() or isinstance(outcome(plain, X), type)
    else:
        assert traces(g) == (1 if again is HIT else 2)


def traces(g: Any) -> int:
    return int(g.explain().partition(" trace")[0].rpartition(" ")[2])


EFFECTS = [
    ("log = []", "log.append(sum(log))", "it calls __iter__ of a list that it appends to. Do so before"),
    ("log = {}", "log[(len(log),)] = 1", "it changes a dictionary from outside under keys of other types"),
    ("seen = set()", "seen.add(len(seen))", "it changes a set from outside the function"),
    (CLASSES, "M.last = 1.0", "it sets the attribute .last of an object from outside"),
    (CLASSES, "super(M, m).__setattr__('last', 1.0)", "it sets"),
    (CLASSES, "type.__setattr__(M, 'last', 1.0)", "type.__setattr__"),
    (CLASSES, "vars()", "it calls vars"),
    ("i = np.array([1, 2]) > 1", "i[0] = not i[0]", "it writes into an array from outside"),
    ("", "np.random.seed([0, 1])", "seeds a generator"),
    ("rng = np.random.default_rng(0)", "rng.shuffle([1, 2, 3])", "it shuffles a list"),
    ("it = iter([1.0, 2.0])", "next(it, 0.0)", "it reads a list_iterator"),
    ("import time", "float(time.time_ns() > 0)", "time.time_ns"),
    ("", "open('/dev/null').close()", "open"),
    ("import datetime", "datetime.datetime.now().year", "it uses a datetime that differs in each call"),
    ("import warnings", "warnings.simplefilter('error', ImportWarning)", "warnings into errors. Do so around the call"),
    (CLASSES, "print(m)", "it passes a M from outside to print. Pass its numbers"),
    (
        "import functools\n@functools.lru_cache\ndef cached(x): return np.ones(3)",
        "cached(np.sum(x))[0] += 1.0",
        "it writes into an array that a function with a cache returned",
    ),
    ("import functools\n@functools.cache\ndef cached(k): print()", "cached(np.sum(x))", "has a cache and side effects"),
    ("import os", "os.environ['HOME']", "it reads a _Environ"),
    ("", "globals()", "builtins.globals"),
    ("", "exec('pass')", "builtins.exec"),
    ("def h(z): return z\ndef r(z): return z\nwg.extend.stands_for(h)(r)", "h(1.0)", "does not trace"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "statement", "words"), EFFECTS, ids=[e[1] for e in EFFECTS])
def test_what_cannot_be_watched_runs_as_it_is_and_says_so_once(head: str, statement: str, words: str) -> None:
    source = f"import numpy as np\nimport wengert as wg\n{head}\ndef f(x):\n  {statement}\n  return np.sum(x * x)\n"
    space, twin = space_of(source), space_of(source)
    g, plain = wg.compile(space["f"]), twin["f"]
    with warnings.catch_warnings(record=True, action="always", category=wg.NotCompiledWarning) as told:
        for k in range(3):
            x, y = X + k, X + k
            assert g(x) == plain(y)
            assert np.array_equal(x, y)
    assert len(told) == 1
    assert words in str(told[0].message)
    for name in {"n", "log", "W", "i", "seen"} & set(space):
        assert repr(space[name]) == repr(twin[name])


CAUGHT = [
    (CLASSES, "m.absent", "AttributeError", "m.absent = 2.0"),
    (CLASSES, "m.absent", "AttributeError", "Base.absent = 2.0"),
    (CLASSES, "getattr(m, 'absent')", "AttributeError", "m.absent = 2.0"),
    ("", "absent", "NameError", "absent = 2.0"),
    ("import builtins", "absent", "NameError", "builtins.absent = 2.0"),
    ("import sys", "import absent_", "ImportError", "sys.modules['absent_'] = type(sys)('absent_')"),
    ("import types\nmod = types.ModuleType('mod')", "mod.absent", "AttributeError", "mod.absent = 2.0"),
    ("d = {}", "d['absent']", "KeyError", "d['absent'] = 2.0"),
]


@pytest.mark.parametrize(("head", "statement", "error", "change"), CAUGHT, ids=[f"{c[1]} -- {c[3]}" for c in CAUGHT])
def test_what_is_missing_is_looked_for_again(head: str, statement: str, error: str, change: str) -> None:
    found = f"  try:\n    {statement}; k = 2.0\n  except {error}: k = 3.0\n"
    space = space_of(f"import numpy as np\n{head}\ndef f(x):\n{found}  return k * np.sum(x * x)\n")
    g, x = wg.compile(space["f"], strict=True), np.ones(2)
    try:
        assert [g(x), g(x)] == [6.0, 6.0]
        exec(change, space)
        assert [g(x), g(x)] == [4.0, 4.0]
    finally:
        sys.modules.pop("absent_", None)
        vars(builtins).pop("absent", None)


def test_an_error_that_the_code_raises_itself_may_be_caught() -> None:
    def f(x: Any) -> Any:
        try:
            if np.sum(x) > 2.0:
                raise AttributeError("large")
        except AttributeError:
            return np.sum(x)
        return np.sum(x * x)

    g = wg.compile(wg.grad(f), strict=True)
    for x in (np.array([0.5, 1.0]), np.array([2.0, 1.0]), np.array([0.25, 1.0])):
        assert np.array_equal(g(x), wg.grad(f)(x))


MATCHED = """
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y=2): self.x, self.y = x, y
p = Point(0.5)
def f(z):
    match p:
        case Point(a, y=2): return np.sum(z) * a
        case Point(y=b): return np.sum(z) * b
        case float(a): return np.sum(z) * a * 3.0
"""


def test_what_a_pattern_of_a_class_binds_is_read() -> None:
    space = space_of(f"import numpy as np\n{MATCHED}")
    g, f = wg.compile(space["f"], strict=True), space["f"]
    for change, count in (("", 1), ("p.x = 0.7", 1), ("p.y = 3", 2), ("p.x = 0.9", 2), ("p = 0.4", 3), ("p = 0.3", 3)):
        exec(change, space)
        assert g(X) == pytest.approx(f(X), rel=1e-14)
        assert traces(g) == count
    exec("Point.__match_args__ = ('x',); p = Point(0.25)", space)
    assert g(X) == f(X)


def test_the_state_of_floating_point_errors_is_that_inside() -> None:
    body = "with np.errstate(divide=how): return np.sum(1 / x)"
    space = space_of(f"import numpy as np\nhow = 'ignore'\ndef f(x):\n  {body}\n")
    g, f = wg.compile(space["f"], strict=True), space["f"]
    zero = np.array([0.0, 1.0])
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        assert [g(X), g(X), g(zero)] == [f(X), f(X), f(zero)]
    assert [g(X), g(zero)] == [f(X), f(zero)]
    space["how"] = "raise"
    assert g(X) == f(X)
    with pytest.raises(FloatingPointError):
        g(zero)


def test_what_is_made_inside_may_be_changed_inside() -> None:
    def f(x: Any) -> Any:
        made = types.SimpleNamespace(a=x)
        made.b = 2.0
        setattr(made, "c", 3.0)  # noqa: B010
        vars(made)["d"] = 4.0

        @functools.wraps(f)
        def inner(z: Any) -> Any:
            return z * made.b * made.c * made.d

        inner.by = 5.0  # type: ignore[attr-defined]
        return inner(made.a)

    g = wg.compile(wg.grad(f), strict=True)
    assert [g(2.0), g(3.0)] == [24.0, 24.0]


def test_an_object_as_an_argument_of_a_function_with_a_rule() -> None:
    space, _ = of(RULED, "1.0")
    g = wg.compile(space["k"])
    with pytest.warns(wg.NotCompiledWarning, match="passes a N to k, which has a custom rule"):
        assert [g(space["N"](a), 2.0) for a in (0.3, 0.5)] == [1.2, 2.0]


def test_what_a_function_with_a_rule_does_besides_it_does_in_each_call() -> None:
    log: list[int] = []

    def noting(x: Any) -> Any:
        log.append(1)
        return x * x

    wg.rrule(noting)(lambda x: (noting(x), lambda y_bar: y_bar * 2.0 * x))
    g = wg.compile(wg.grad(lambda x: noting(x) + noting(x)), strict=True)
    for k in range(1, 5):
        assert g(3.0) == 12.0
        assert len(log) == 2 * k


def test_an_object_as_an_argument_is_read_and_may_be_another() -> None:
    space, _ = of(CLASSES, "1.0")
    g = wg.compile(lambda m, x: np.sum(x) * m.a * m.t[0] + m.of())
    for a in (0.3, 0.5, 0.9):
        m = space["M"](a)
        assert g(m, X) == pytest.approx(np.sum(X) * a * 0.5 + a * 0.5, rel=1e-14)
    assert traces(g) == 1


def test_two_objects_are_not_taken_for_one() -> None:
    space, _ = of(CLASSES, "1.0")

    def f(m: Any, n: Any) -> Any:
        return m.a * (2.0 if m == n else 3.0)

    g, m, n = wg.compile(f), space["M"](), space["M"]()
    assert [g(m, n), g(m, m), g(n, n), g(n, m)] == [f(m, n), f(m, m), f(n, n), f(n, m)]


def test_an_argument_is_not_taken_for_an_object_that_is_read_later() -> None:
    space, f = space_of(f"import numpy as np\n{CLASSES}\ndef f(n): return n.a * (2.0 if n == m else 3.0)"), None
    g, f = wg.compile(space["f"]), space["f"]
    for n in (space["M"](), space["m"], space["M"]()):
        assert g(n) == f(n)


def test_what_is_deep_or_long_is_not_kept() -> None:
    deep: Any = 0.5
    for _ in range(2000):
        deep = [deep]
    long = [0.5] * 6000
    for f in (lambda x: x * len(deep), lambda x: x * sum(long)):
        with pytest.warns(wg.NotCompiledWarning, match="too large or too deep|more than"):
            assert wg.compile(f)(2.0) == f(2.0)
    assert all(v is long[0] for v in long)


class Loud:
    """An object that says so where a test runs its code."""

    ran: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.a = 0.5

    def __eq__(self, other: object) -> bool:
        self.ran.append("==")
        return self is other

    def __hash__(self) -> int:
        return 1

    def __getattr__(self, name: str) -> Any:
        self.ran.append(name)
        raise AttributeError(name)

    @property
    def half(self) -> Any:
        return self.a / 2


def test_tests_run_no_code_of_the_users() -> None:
    loud = Loud()
    g = wg.compile(lambda given, x: x * loud.half * given.half)
    assert g(loud, 2.0) == pytest.approx(0.125)
    Loud.ran.clear()
    assert g(loud, 4.0) == pytest.approx(0.25)
    del loud.a
    with pytest.raises(AttributeError):
        g(loud, 2.0)
    Loud.ran.clear()
    loud.a = 1.0
    assert g(loud, 2.0) == pytest.approx(0.5)
    assert not Loud.ran
    assert traces(g) == 1


def test_rules_add_no_tests() -> None:
    g = wg.compile(wg.grad(lambda x: np.sum(np.sin(x) * np.tanh(x))))
    g(X)
    assert g.explain().count("  guard ") < 16, g.explain()


def test_a_module_that_is_loaded_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "loaded_again.py"
    file.write_text("a = 0.5\ndef h(x): return x * a\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("loaded_again")
    g = wg.compile(lambda x: module.h(x))
    assert g(2.0) == 1.0
    file.write_text("a = 0.75\ndef h(x): return x * a * 2\n# longer\n")
    importlib.reload(module)
    assert g(2.0) == 3.0
    del sys.modules["loaded_again"]


def test_keywords_that_are_no_names() -> None:
    g = wg.compile(lambda x, **words: x * words["a b"])
    assert [g(2.0, **{"a b": 3.0}), g(2.0, **{"a b": 4.0})] == [6.0, 8.0]


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    made = sys.modules["read_here"] = types.ModuleType("read_here")
    exec("value = 0.5\nstep = 2\ndef h(x): return x * value", vars(made))
    yield made
    del sys.modules["read_here"]


IMPORTS = ["import read_here\n  return read_here.value", "from read_here import value\n  return value",
           "from read_here import h\n  return h(1.0)", "import read_here as r\n  return r.h(1.0)"]  # fmt: skip


@pytest.mark.parametrize("body", IMPORTS)
def test_what_is_imported_inside_is_read(module: Any, body: str) -> None:
    f = space_of(f"def f(x):\n  {body}\n")["f"]
    g = wg.compile(lambda x: x * f(x))
    assert [g(1.0), g(2.0)] == [0.5, 1.0]
    module.value = 0.75
    assert [g(1.0), g(2.0)] == [0.75, 1.5]
    assert traces(g) == 1
    module.value = 3
    assert g(1.0) == 3.0


def test_a_function_with_a_class_inside_reads_its_names() -> None:
    space = space_of("a = 0.5\ndef f(x):\n  class C:\n    v = a\n  return x * C.v\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = wg.compile(space["f"])
        assert g(2.0) == 1.0
        space["a"] = 0.7
        assert g(2.0) == 1.4


def test_an_exception_is_that_of_the_function() -> None:
    space = space_of("import math\na = 2.0\ndef f(x): return math.sqrt(a - x)\n")
    g: Callable[..., Any] = wg.compile(wg.grad(space["f"]))
    assert g(1.0) == pytest.approx(-0.5)
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        g(3.0)
    space["a"] = 4.0
    assert g(3.0) == pytest.approx(-0.5)
    assert traces(g) == 1


def test_a_function_that_rebuilds_a_tree_from_a_vector_is_compiled():
    flat, unravel = wg.ravel({"a": np.arange(3.0), "b": 2.0})

    def loss(v):
        parameters = unravel(v)
        return np.sum(parameters["a"] ** 2) * parameters["b"]

    compiled = wg.compile(wg.grad(loss), native=False)
    for v in (flat, flat + 0.5):
        np.testing.assert_allclose(compiled(v), [*(2.0 * v[:3] * v[3]), np.sum(v[:3] ** 2)], rtol=1e-14)
    assert "1 trace" in compiled.explain()
