"""Values that are equal and still differ: a compiled function gives what the plain one gives after each change.

Each case is what is set up, an expression of the function, and changes that are made one after another.
"""

from __future__ import annotations

import numpy as np
from changed_outside import X, check

import wengert as wg
from wengert.compiling.constants import constant_key

STR = "class S(str):\n  def __repr__(self): return 'told'"
LOUD = """
class Q:
  def __init__(self, v): self.v = v
  def __eq__(self, other): return True
  def __hash__(self): return 1
"""
EQUAL = [
    ("s = {1, 9}", "float([*s][0])", "s.clear(); s.update([9, 1])", "s = set([17, 9, 1]) - {17}"),
    ("s = {8, 0}", "float([*s][0])", "s = {0, 8}", "s = set([8, 0])", "s = [8, 0]"),
    ("s = frozenset([8, 0])", "float([*s][0])", "s = frozenset([0, 8])", "s = {0, 8}"),
    ("s = {1}", "float(type([*s][0]) is int)", "s = {True}", "s = {1.0}", "s = {np.int64(1)}", "s = {1}"),
    ("s = {0.0}", "math.copysign(1.0, [*s][0])", "s = {-0.0}", "s = {0}"),
    ("s = {0j}", "math.copysign(1.0, [*s][0].imag)", "s = {complex(0, -0.0)}", "s = {complex(-0.0, 0)}"),
    ("s = {(1, 2)}", "float(type([*s][0][0]) is int)", "s = {(True, 2)}", "s = {(1.0, 2)}"),
    ("r = range(0)", "float(r.start) + 1", "r = range(1, 1)", "r = range(0)"),
    ("r = range(0, 3, 2)", "float(r.stop) + 1", "r = range(0, 4, 2)"),
    ("r = range(0, 1, 2)", "float(r.step) + 1", "r = range(0, 1, 3)"),
    ("s = slice(0, 1)", "float(s.step is None) + 1", "s = slice(0, 1, 1)"),
    ("s = slice(True, 2)", "float(type(s.start) is bool) + 1", "s = slice(1, 2)", "s = slice(1.0, 2)"),
    ("s = slice('a', 'b')", "float(s.start == 'a') + 1", "s = slice('b', 'b')"),
    ("t = np.timedelta64(1, 'D')", "float(t.astype(int))", "t = np.timedelta64(24, 'h')"),
    ("t = np.timedelta64(1, 'D')", "float(str(t) == '1 days')", "t = np.timedelta64(24, 'h')"),
    ("t = np.timedelta64('NaT')", "float(t.dtype.str == '<m8')", "t = np.timedelta64('NaT', 'h')"),
    ("t = np.datetime64('2020-01-01')", "float(len(str(t)))", "t = np.datetime64('2020-01-01T00')"),
    ("v = np.array(['2020-01-01'], 'M8[D]')", "float(str(v.dtype) == '<M8[D]')", "v = v.astype('M8[h]')"),
    ("t = np.dtype('f8')", "float(t.metadata is None)", "t = np.dtype('f8', metadata={'a': 1})"),
    ("t = np.dtype('f8', metadata={'a': 1})", "float(t.metadata['a'])", "t = np.dtype('f8', metadata={'a': 2})"),
    (
        "t = np.dtype({'names': ['a', 'b'], 'formats': ['i1', 'f8'], 'offsets': [0, 8], 'itemsize': 16})",
        "float(t.isalignedstruct)",
        "t = np.dtype([('a', 'i1'), ('b', 'f8')], align=True)",
    ),
    ("t = np.dtype([(('t', 'a'), 'i1')])", "float('t' in t.fields)", "t = np.dtype([('a', 'i1')])"),
    ("t = np.dtype('l')", "float(t.num == np.dtype('l').num)", "t = np.dtype('q')"),
    ("v = np.array([1, 2])", "float(v.dtype.num == np.dtype('l').num)", "v = v.astype(np.longlong)"),
    ("v = np.array([1, 2])", "float(v.dtype.metadata is None)", "v = v.astype(np.dtype('i8', metadata={'a': 1}))"),
    ("v = np.ones(2)", "float(v.dtype.metadata is None)", "v = np.array(v, np.dtype('f8', metadata={'a': 1}))"),
    ("t = np.int64(1)", "float(type(t) is np.longlong)", "t = np.longlong(1)", "t = 1", "t = True", "t = np.True_"),
    ("d = {1: 2.0}", "float(type([*d][0]) is int)", "d = {True: 2.0}", "d = {1.0: 2.0}", "d = {np.int64(1): 2.0}"),
    ("d = {1.0: 2.0}", "float(type([*d][0]) is float)", "d = {True: 2.0}", "d = {1: 2.0}", "d = {1.0: 3.0}"),
    ("d = {0.0: 2.0}", "math.copysign(d[0.0], [*d][0])", "d = {-0.0: 2.0}", "d = {-0.0: 3.0}"),
    ("d = {(1,): 2.0}", "float(type([*d][0][0]) is int)", "d = {(True,): 2.0}", "d = {(1.0,): 2.0}"),
    ("d = {(0.0,): 2.0}", "math.copysign(1.0, [*d][0][0])", "d = {(-0.0,): 2.0}"),
    ("d = {np.float32(1): 2.0}", "float([*d][0].itemsize) * [*d.values()][0]", "d = {1.0: 3.0}", "d = {True: 2.0}"),
    (f"{STR}\nd = {{'a': 2.0}}", "float(type([*d][0]) is str)", "d = {S('a'): 2.0}", "d = {'a': 1.0}"),
    (f"{STR}\nd = {{'a': 2.0, (1,): 1.0}}", "float(type([*d][0]) is str)", "d = {S('a'): 2.0, (1,): 1.0}"),
    ("class E(enum.IntEnum): A = 1\nd = {E.A: 2.0}", "float(type([*d][0]) is int)", "d = {1: 2.0}", "d = {E.A: 1.0}"),
    ("class E(enum.Enum): A = 1; B = 1; C = 2\ne = E.A", "float(e.name == 'A')", "e = E.B", "e = E.C"),
    ("d = {'a': 1.0, 'b': 2.0}", "[*d.values()][0]", "d = {'b': 1.5, 'a': 2.5}"),
    ("d = collections.OrderedDict(a=1.0, b=2.0)", "[*d.values()][0]", "d.move_to_end('a')"),
    ("t = (1,)", "float(type(t[0]) is int)", "t = (True,)", "t = (1.0,)"),
    ("t = 0.0", "math.copysign(1.0, t)", "t = -0.0", "t = 0", "t = np.float16(-0.0)"),
    ("t = complex(0, 0.0)", "math.copysign(1.0, t.imag)", "t = complex(0, -0.0)"),
    ("t = decimal.Decimal('1.0')", "float(len(str(t)))", "t = decimal.Decimal('1.00')"),
    ("t = fractions.Fraction(1)", "float(type(t) is int)", "t = 1", "t = True"),
    ("t = pathlib.PureWindowsPath('a')", "float(str(t) == 'a')", "t = pathlib.PureWindowsPath('A')"),
    ("t = b'a'", "float(type(t) is bytes)", "t = bytearray(b'a')"),
    ("t = datetime.datetime(2020, 1, 1)", "float(t.fold)", "t = t.replace(fold=1)"),
    (f"{LOUD}\nq = Q(1)", "float(q.v)", "q = Q(2)", "q = Q(1)"),
    (f"{LOUD}\nd = {{Q(1): 1.0}}", "float([*d][0].v)", "d = {Q(2): 1.0}"),
    (f"{LOUD}\nd = {{Q(1)}}", "float([*d][0].v)", "d = {Q(2)}"),
    ("def h(z, k=1): return z * (2.0 if type(k) is int else 3.0)", "h(1.0)", "h.__defaults__ = (True,)"),
    ("def h(z, k): return k * z\np = functools.partial(h, k=1)", "p(2.0)", "p = functools.partial(h, k=True)"),
    (
        "P = collections.namedtuple('P', 'a'); Q = collections.namedtuple('P', 'a'); t = P(1)",
        "float(type(t) is P)",
        "t = Q(1)",
        "t = (1,)",
    ),
]


def test_equal_values_that_code_tells_apart_are_not_the_same() -> None:
    check(EQUAL)


LONG = [
    ("d = {10**5000: 2.0}", "[*d.values()][0]", "d = {10**5000 + 1: 3.0}", "d = {-(10**5000): 3.0}"),
    ("d = {10**5000: 2.0, 'a': 1.0}", "[*d.values()][0]", "d = {10**5000 + 1: 3.0, 'a': 1.0}"),
    ("d = {(10**5000,): 2.0}", "[*d.values()][0]", "d = {(10**5000 + 1,): 3.0}"),
    ("s = slice(0, 10**5000)", "x[s][0]", "s = slice(1, 10**5000)"),
    ("r = range(10**5000)", "float(r[3])", "r = range(1, 10**5000)"),
    ("s = {10**5000}", "float(len(s))", "s = {10**5000 + 1}", "s = set()"),
    ("t = (10**5000,)", "float(t[0] % 7)", "t = (10**5000 + 1,)"),
    ("t = 10**5000", "{t: x[0]}[t]", "t = 10**5000 + 1"),
    ("", "{10**5000: x[0]}[10**5000]"),
]


def test_integers_too_long_for_decimal_digits_are_compared() -> None:
    check(LONG)
    returned = wg.compile(lambda x: {10**5000: x[0] * 2.0}, strict=True)
    assert [returned(X), returned(X)] == [{10**5000: 0.6}] * 2
    tape = wg.gradtape(lambda x: np.sum(x[slice(0, 10**5000)]), X)
    assert "0x" in str(tape) and "0x" in tape.to_source()


SLOTS = "@dataclasses.dataclass(slots=True)\nclass P:\n  a: float\n  s: float\np = P(1.0, 2.0)\ndel p.s"
SLOT_AND_DICT = "class P: __slots__ = 's', '__dict__'\np = P()"
MADE = "class P:\n  def __getattr__(self, name): return k\np = P(); k = 4.0"
SLOT_OR_MADE = "class P:\n  __slots__ = 's',\n  def __getattr__(self, name): return k\np = P(); k = 4.0"
MODULE = "m = types.ModuleType('m')"
BELOW = "class P: pass\nclass Q(P): pass\np = Q()"
TWICE = "class P: __slots__ = 'a',\nclass Q(P): __slots__ = 'a',\np = Q()"
TRIED = """
class P:
  __slots__ = "a",
  def get(self):
    try: return self.a
    except AttributeError: return 1.0
p = P()
"""
MATCHED = "def k(p):\n  match p:\n    case P(a=v): return v\n    case _: return 9.0"
SEEN = "class P:\n  @property\n  def h(self): return self.v\np = P()"
SHADOWED = """
class P:
  @property
  def h(self): return self.v
  def __getattr__(self, name):
    if name == "h": return 3.0
    raise AttributeError(name)
p = P()
"""
EMPTY = """
def outer():
  def h():
    try: return y
    except NameError: return 1.0
  return h
  y = 2.0
h = outer()
"""
ABSENT = [
    (SLOTS, "getattr(p, 's', 1.0)", "p.s = 5.0", "p.s = 6.0", "del p.s", "p.a = 3.0"),
    (SLOTS, "float(hasattr(p, 's'))", "p.s = 5.0", "del p.s"),
    (SLOTS, "(p.s if hasattr(p, 's') else 7.0)", "p.s = 5.0", "del p.s", "p.s = 2"),
    (SLOTS, "sum([getattr(p, n, 0.5) for n in p.__slots__])", "p.s = 5.0", "del p.a"),
    (f"{SLOTS}\nclass D(P): pass\np = D(1.0, 2.0)\ndel p.s", "getattr(p, 's', 1.0)", "p.s = 5.0", "del p.s"),
    (SLOT_AND_DICT, "getattr(p, 's', 1.0) + getattr(p, 't', 2.0)", "p.s = 5.0", "p.t = 3.0", "del p.s", "del p.t"),
    (TWICE, "getattr(p, 'a', 2.0)", "P.a.__set__(p, 1.0)", "p.a = 3.0", "del p.a"),
    (TRIED, "p.get()", "p.a = 3.0", "del p.a"),
    (f"{TWICE}\n{MATCHED}", "k(p)", "p.a = 2.0", "del p.a"),
    (f"{BELOW}\n{MATCHED}", "k(p)", "p.a = 2.0", "del p.a", "P.a = 3.0"),
    (SLOT_OR_MADE, "p.s", "k = 3.0", "p.s = 5.0", "p.s = 6.0", "del p.s"),
    (SLOT_OR_MADE, "getattr(p, 's', 1.0)", "k = 3.0", "p.s = 5.0", "del P.__getattr__", "del p.s"),
    (MADE, "p.s", "k = 3.0", "p.s = 5.0", "P.s = 7.0", "del p.s", "del P.s"),
    (MADE, "getattr(p, 's', 1.0)", "p.s = 5.0", "del p.s", "del P.__getattr__"),
    (SEEN, "getattr(p, 'h', 1.0)", "p.v = 3.0", "p.v = 4.0", "del p.v"),
    (SHADOWED, "p.h", "p.v = 5.0", "del p.v"),
    (BELOW, "getattr(p, 'c', 1.0)", "P.c = 2.0", "Q.c = 3.0", "p.c = 4.0", "del Q.c", "del p.c", "del P.c"),
    (f"{BELOW}\nP.c = 1.0", "p.c", "Q.c = 3.0", "p.c = 4.0", "del Q.c", "del p.c"),
    (f"{BELOW}\nP.c = 1.0", "Q.c", "Q.c = 3.0", "del Q.c"),
    (BELOW, "getattr(Q, 'c', 1.0)", "P.c = 3.0", "Q.c = 2.0", "del P.c"),
    (BELOW, "getattr(p, 'q', 1.0)", "P.__getattr__ = lambda s, n: 5.0", "del P.__getattr__"),
    ("d = {'a': 1.0}", "d.get('b', 2.0)", "d['b'] = 3.0", "del d['b']", "d['b'] = 2"),
    ("", "max(1.0, 2.0)", "max = min", "del max"),
    (MODULE, "getattr(m, 'q', 1.0)", "m.q = 2.0", "del m.q", "m.__getattr__ = lambda n: 9.0", "del m.__getattr__"),
    (MODULE, "float(hasattr(m, 'q'))", "m.__getattr__ = lambda n: 9.0", "m.q = 1", "del m.__getattr__"),
    ("def h(): pass", "getattr(h, 'q', 1.0)", "h.q = 2.0", "del h.q"),
    ("class M:\n  def h(self): pass\nm = M()", "getattr(m.h, 'q', 1.0)", "M.h.q = 2.0", "del M.h.q"),
    ("p = functools.partial(max, 1.0)", "getattr(p, 'q', 1.0)", "p.q = 2.0", "del p.q"),
    ("class E(enum.Enum): A = 1\ne = E.A", "getattr(e, 'q', 1.0)", "E.A.q = 2.0", "del E.A.q"),
    ("class E(enum.Enum): A = 1", "getattr(E, 'q', 1.0)", "E.q = 2.0", "del E.q"),
    ("n = types.SimpleNamespace(a=1.0)", "getattr(n, 'q', 1.0)", "n.q = 2.0", "del n.q"),
    ("class T(type): pass\nclass C(metaclass=T): pass", "getattr(C, 'q', 1.0)", "T.q = 2.0", "C.q = 3.0", "del C.q"),
    ("class R(collections.namedtuple('R', 'a')): pass\nt = R(1.0)", "getattr(t, 'q', 1.0)", "t.q = 2.0", "R.q = 1.5"),
    ("g = wg.grad(lambda z: z)", "getattr(g, 'q', 1.0)", "g.q = 2.0"),
    (EMPTY, "h()", "h.__closure__[0].cell_contents = 3.0", "del h.__closure__[0].cell_contents"),
]  # fmt: skip


def test_absent_attributes_keys_and_names_are_seen_when_they_appear() -> None:
    check(ABSENT)


def test_constants_that_are_equal_and_still_differ_have_keys_of_their_own() -> None:
    pairs = [
        ({1: 2.0}, {True: 2.0}),
        ({0.0: 1}, {-0.0: 1}),
        ([0.0], [-0.0]),
        ((1, 2), (True, 2)),
        (1.0, np.float64(1.0)),
    ]
    assert all(a == b and constant_key(a) != constant_key(b) for a, b in pairs)
    assert constant_key({"a": [np.eye(2)]}) == constant_key({"a": [np.eye(2)]})
