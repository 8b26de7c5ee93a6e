"""Programs that read what lies outside, and changes of it between calls of the compiled function.

Each program defines `f`. The lines behind `>>>` change what it reads, one after another.
"""

from __future__ import annotations

from typing import NamedTuple

from registry import Table


class Changing(NamedTuple):
    """A program as source, and statements that change what it reads."""

    source: str
    changes: tuple[str, ...]


HEAD = """
import abc, collections, copy, dataclasses, datetime, decimal, enum, fractions, functools, itertools, math, operator
import string, types, typing
import numpy as np
NS = types.SimpleNamespace
"""

CHANGES = Table()


def _enter(group: str, programs: str) -> None:
    """Enter programs that blank lines separate: the name, the source, and the changes behind `>>> `."""
    for block in programs.strip("\n").split("\n\n"):
        name, *lines = block.splitlines()
        source = "\n".join(line for line in lines if not line.startswith(">>> "))
        changes = tuple(line[4:] for line in lines if line.startswith(">>> "))
        CHANGES.enter(f"{group}: {name}", Changing(HEAD + source, changes))


_enter(
    "identity",
    """
deep copy of one list twice
a = [2.0]; b = [2.0]; d = {"a": a, "b": a}
def f(x):
    c = copy.deepcopy(d); c["a"][0] = x * 3.0
    return c["b"][0] * x
>>> d["b"] = b
>>> d["b"] = a
>>> b[0] = 5.0; d["b"] = b

deep copy of one array twice
a = np.ones(2); d = [a, a]
def f(x):
    c = copy.deepcopy(d); c[0] *= x
    return np.sum(c[1]) * x
>>> d[1] = np.ones(2)
>>> d[1] = d[0]

two names of one list
a = [1.0]; b = a
def f(x):
    a.append(x); r = sum(b) * x; a.pop()
    return r
>>> b = [1.0]
>>> b = a
>>> a = [1.0]

two attributes of one array
o = NS(p=np.ones(2)); o.q = o.p
def f(x):
    o.p[0] = x; r = o.q[0] * x; o.p[0] = 1.0
    return r
>>> o.q = np.ones(2)
>>> o.q = o.p

a name and an item
w = np.ones(2); d = {"w": w}
def f(x):
    w[1] = x; r = np.sum(d["w"]) * x; w[1] = 1.0
    return r
>>> d["w"] = np.ones(2)
>>> d["w"] = w

index by identity of a nan
nan = float("nan"); l = [1.0, nan, 3.0]; cur = nan
def f(x):
    return x * (1 + (cur in l))
>>> cur = float("nan")
>>> cur = nan
>>> l[1] = 2.0
>>> l[1] = nan; cur = l[1]

count of a nan
nan = float("nan"); l = [nan, nan]
def f(x):
    return x * l.count(nan)
>>> l[0] = float("nan")
>>> l.append(nan)

equality of lists with a nan
nan = float("nan"); p = [nan]; q = [nan]
def f(x):
    return x * 2.0 if p == q else x * 3.0
>>> q = [float("nan")]
>>> q = p
>>> p = [nan]; q = (nan,)

index of an object
class A: pass
u, v = A(), A(); o = NS(cur=u, all=[u, v])
def f(x):
    return x * (1 + o.all.index(o.cur))
>>> o.cur = v
>>> o.all.reverse()
>>> o.cur = o.all[1]

membership of an object in a tuple
class A: pass
u, v = A(), A(); t = (u, v); cur = u
def f(x):
    return x * 2.0 if cur in t else x * 3.0
>>> cur = A()
>>> cur = v
>>> t = (A(), cur)

key by identity
class A: pass
u, v = A(), A(); d = {u: 2.0, v: 3.0}; cur = u
def f(x):
    return x * d[cur]
>>> cur = v
>>> d[cur] = 4.0
>>> cur = u

is of two attributes
o = NS(a=[1.0], b=[1.0])
def f(x):
    return x * 2.0 if o.a is o.b else x * 3.0
>>> o.b = o.a
>>> o.b = [1.0]

is of an item and a name
d = {"a": (1.0, 2.0)}; t = d["a"]
def f(x):
    return x * 2.0 if d["a"] is t else x * 3.0
>>> d["a"] = tuple([1.0, 2.0])
>>> t = d["a"]

identity of a default
def g(x, k=[]): return x * 2.0 if k is K else x * 3.0
K = g.__defaults__[0]
def f(x): return g(x)
>>> K = []
>>> K = g.__defaults__[0]
>>> g.__defaults__ = ([],)

cells that share a list
def make(a, b):
    def f(x):
        a.append(x); r = len(b) * x * b[0]; a.pop()
        return r
    return f
l = [1.0]; f = make(l, l)
>>> f.__closure__[1].cell_contents = [1.0]
>>> f.__closure__[0].cell_contents = f.__closure__[1].cell_contents

two slots of one list
class S: __slots__ = ("a", "b")
s = S(); s.a = s.b = [1.0]
def f(x):
    c = copy.copy(s); c.a[0] = x; r = s.b[0] * x; s.a[0] = 1.0
    return r
>>> s.b = [1.0]
>>> s.a = s.b

memo of a deep copy
a = NS(k=1.0); o = NS(p=a, q=a)
def f(x):
    c = copy.deepcopy(o); c.p.k = x
    return c.q.k * x
>>> o.q = NS(k=1.0)
>>> o.q = o.p

a cycle
l = [1.0]; l.append(l)
def f(x):
    return x * l[1][1][0]
>>> l[0] = 2.0
>>> l[1] = [3.0, [4.0]]

rows of one list
rows = [[1.0]] * 3
def f(x):
    rows[0][0] = x; r = sum(k[0] for k in rows) * x; rows[0][0] = 1.0
    return r
>>> rows = [[1.0], [1.0], [1.0]]
>>> rows[2] = rows[0]

sets of ids
o = NS(a=[1.0], b=[1.0])
def f(x):
    return x * len({id(o.a), id(o.b)})
>>> o.b = o.a
>>> o.b = [1.0]

views of one array
w = np.ones(4); o = NS(v=w[:2])
def f(x):
    w[0] = x; r = np.sum(o.v) * x; w[0] = 1.0
    return r
>>> o.v = np.ones(2)
>>> o.v = w[1:3]
>>> o.v = w[::-1][2:]

memory shared
w = np.ones(4); v = w[:2]
def f(x):
    return x * 2.0 if np.shares_memory(w, v) else x * 3.0
>>> v = v.copy()
>>> v = w[3:]
""",
)

_enter(
    "equality",
    """
order of a set
s = {1.5, 8.0, 16.5}
def f(x):
    r = x
    for k in s: r = r * 0.5 + k * x
    return r
>>> s = {16.5, 8.0, 1.5}
>>> s = set(sorted(s, key=lambda k: -k))
>>> s.add(2.0)

order of a set of strings
s = {"a"}; d = {"a": 1.0, "b": 2.0, "c": 3.0}
def f(x):
    r = x
    for k in s: r = r * x + d[k]
    return r
>>> s.add("b")
>>> s.add("c")
>>> s = frozenset(["c", "b", "a"])
>>> s = set(["b", "c", "a"])

sets with collisions
s = {8, 0}
def f(x):
    r = x
    for k in s: r = r * 2.0 + k * x
    return r
>>> s = {0, 8}
>>> s = {0, 16, 8}; s.discard(16)

stop of an empty range
r = range(0)
def f(x):
    return x * (2.0 + r.stop)
>>> r = range(5, 5)
>>> r = range(3, 1)

step of a range
r = range(0, 3, 2)
def f(x):
    return x * (r.stop + 10 * r.step)
>>> r = range(0, 4, 2)
>>> r = range(0, 3, 3)

unit of a span of time
d = np.timedelta64(1, "D")
def f(x):
    return x * 2.0 if str(d) == "1 days" else x * 3.0
>>> d = np.timedelta64(24, "h")
>>> d = np.timedelta64(1, "D")

unit of a date
d = np.datetime64("2020-01-01")
def f(x):
    return x * len(str(d))
>>> d = np.datetime64("2020-01-01T00")
>>> d = np.datetime64("2020-01-01T00:00")

metadata of a dtype
t = np.dtype("f8", metadata={"k": 2})
def f(x):
    return x * (t.metadata or {"k": 5})["k"]
>>> t = np.dtype("f8", metadata={"k": 3})
>>> t = np.dtype("f8")

alignment of a dtype
t = np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 16}, align=True)
def f(x):
    return x * 2.0 if t.isalignedstruct else x * 3.0
>>> t = np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 16})

titles of a dtype
t = np.dtype([(("one", "a"), "f8")])
def f(x):
    return x * len(t.fields)
>>> t = np.dtype([("a", "f8")])

byte order of an array of integers
k = np.arange(3)
def f(x):
    return x * (2.0 if k.dtype.isnative else 3.0)
>>> k = k.astype(k.dtype.newbyteorder())
>>> k = np.arange(3)

type of a key
d = {1: 2.0}
def f(x):
    return x * sum(2.0 if type(k) is int else 3.0 for k in d)
>>> d = {True: 2.0}
>>> d = {1.0: 2.0}
>>> d = {np.int64(1): 2.0}
>>> d = {1: 2.0}

type of a key in a key
d = {(1, 2): 2.0}
def f(x):
    return x * sum(2.0 if type(k[0]) is int else 3.0 for k in d)
>>> d = {(1.0, 2): 2.0}
>>> d = {(True, 2): 2.0}

order of a dictionary
d = {"a": 2.0, "b": 3.0}
def f(x):
    r = x
    for k in d: r = r * x + d[k]
    return r
>>> d = {"b": 3.0, "a": 2.0}
>>> d["a"] = d.pop("a")
>>> d = collections.OrderedDict(d); d.move_to_end("b")

sign of a zero
z = 0.0
def f(x):
    return x * math.copysign(2.0, z)
>>> z = -0.0
>>> z = 0

sign of a zero in a tuple
z = (0.0, 1)
def f(x):
    return x * math.atan2(z[0], -1.0)
>>> z = (-0.0, 1)
>>> z = (0, 1)

sign of a complex zero
z = complex(-1.0, 0.0)
def f(x):
    return x * (z ** 0.5).imag
>>> z = complex(-1.0, -0.0)
>>> z = complex(-1.0, 0.0)

digits of a decimal
d = decimal.Decimal("1.0")
def f(x):
    return x * len(str(d))
>>> d = decimal.Decimal("1.00")
>>> d = decimal.Decimal("1")

type of a number
k = 1
def f(x):
    return x * len(repr(k))
>>> k = True
>>> k = 1.0
>>> k = fractions.Fraction(1)
>>> k = np.int64(1)
>>> k = np.int32(1)
>>> k = decimal.Decimal(1)

type of a number in a tuple
k = (1, "a")
def f(x):
    return x * len(repr(k[0]))
>>> k = (True, "a")
>>> k = (1.0, "a")
>>> k = (np.float64(1.0), "a")

class of a string
class S(str):
    def __len__(self): return 7
s = "ab"
def f(x):
    return x * len(s)
>>> s = S("ab")
>>> s = "abc"

bytes and their like
b = b"ab"
def f(x):
    return x * len(repr(b))
>>> b = bytearray(b"ab")
>>> b = b"ab"
>>> b = bytearray(b"ac"); b += b"d"

objects that say that they are equal
class E:
    def __init__(self, k): self.k = k
    def __eq__(self, o): return True
    def __hash__(self): return 1
e = E(2.0); t = (e, 1)
def f(x):
    return x * t[0].k
>>> t = (E(3.0), 1)
>>> t[0].k = 4.0

keys that say that they are equal
class E:
    def __init__(self, k): self.k = k
    def __eq__(self, o): return True
    def __hash__(self): return 1
d = {E(2.0): 1}
def f(x):
    return x * next(iter(d)).k
>>> d = {E(3.0): 1}
>>> next(iter(d)).k = 4.0

items of a frozen set that say that they are equal
class E:
    def __init__(self, k): self.k = k
    def __eq__(self, o): return True
    def __hash__(self): return 1
s = frozenset([E(2.0)])
def f(x):
    return x * next(iter(s)).k
>>> s = frozenset([E(3.0)])

slices
s = slice(0, 2)
def f(x):
    return x * len(repr(s))
>>> s = slice(0.0, 2)
>>> s = slice(False, 2)

fold of a time
d = datetime.datetime(2020, 1, 1, 2)
def f(x):
    return x * (2.0 + d.fold)
>>> d = d.replace(fold=1)
>>> d = d.replace(fold=0)

zone of a time
d = datetime.datetime(2020, 1, 1, 2, tzinfo=datetime.timezone.utc)
def f(x):
    return x * (2.0 + d.hour)
>>> d = d.astimezone(datetime.timezone(datetime.timedelta(hours=3)))
>>> d = d.astimezone(datetime.timezone(datetime.timedelta(hours=0), "zero"))

length of a double-ended queue
q = collections.deque([1.0], maxlen=3)
def f(x):
    c = copy.copy(q); c.extend([x, x, x])
    return sum(c) * x
>>> q = collections.deque([1.0], maxlen=2)
>>> q = collections.deque([1.0])

factory of a default dictionary
d = collections.defaultdict(lambda: 2.0)
def f(x):
    return x * copy.copy(d)["k"]
>>> d = collections.defaultdict(lambda: 3.0)
>>> d.default_factory = float
>>> d = collections.defaultdict(None, k=4.0)

class of a mapping
class D(dict):
    def __getitem__(self, k): return 5.0
d = {"a": 2.0}
def f(x):
    return x * d["a"]
>>> d = D(d)
>>> d = types.MappingProxyType({"a": 3.0})
>>> d = collections.ChainMap({}, {"a": 4.0})

members that are aliases
class E(enum.Enum):
    A = 1
    B = 2
    C = 1
e = E.A
def f(x):
    return x * {"A": 2.0, "B": 3.0}[e.name]
>>> e = E.B
>>> e = E.C

enumerations and integers
class E(enum.IntEnum):
    A = 1
k = 1
def f(x):
    return x * len(repr(k))
>>> k = E.A
>>> k = 1

arrays of equal numbers
k = np.array([1, 0, 1])
def f(x):
    return x * len(str(k))
>>> k = k.astype(bool)
>>> k = k.astype(np.int8)
>>> k = k.astype(object)

masks of arrays
m = np.ma.array([1.0, 2.0], mask=[False, True])
def f(x):
    return x * m.sum()
>>> m = np.ma.array([1.0, 2.0], mask=[True, False])
>>> m.mask = False

partial functions
def g(a, b, c=1.0): return a * b * c
p = functools.partial(g, 2.0)
def f(x):
    return p(x)
>>> p = functools.partial(g, 2.0, c=3.0)
>>> p.keywords["c"] = 4.0
>>> p = functools.partial(functools.partial(g, 5.0), c=2.0)

long keys
d = {10**5000: 2.0}
def f(x):
    return x * sum(d.values())
>>> d[10**5000] = 3.0
>>> d = {10**5000 + 1: 4.0}

long integers
k = 10**5000
def f(x):
    return x * (2.0 if k % 2 else 3.0)
>>> k += 1
>>> k = -k

order of keyword arguments
k = {"a": 1.0, "b": 2.0}
def g(**w): return [*w.values()][0]
def f(x):
    return x * g(**k)
>>> k = {"b": 2.0, "a": 1.0}

surrogates and normal forms
s = "\\u00e9"
def f(x):
    return x * len(s)
>>> s = "e\\u0301"
>>> s = "\\ud800"

generic aliases
t = list[int]
def f(x):
    return x * len(str(t))
>>> t = typing.List[int]
>>> t = list[float]
>>> t = int | None
""",
)

_enter(
    "absence",
    """
an unset slot by default
class S: __slots__ = ("s",)
p = S()
def f(x):
    return x * getattr(p, "s", 2.0)
>>> p.s = 3.0
>>> del p.s
>>> p.s = 4

a slot of a data class
@dataclasses.dataclass(slots=True)
class P:
    a: float = 1.0
    s: float = 2.0
p = P()
def f(x):
    return x * (p.s if hasattr(p, "s") else 5.0)
>>> del p.s
>>> p.s = 3.0
>>> p = P(s=4.0)

slots below a dictionary
class S: __slots__ = ("s",)
class D(S): pass
p = D()
def f(x):
    try: return x * p.s
    except AttributeError: return x * 2.0
>>> p.s = 3.0
>>> del p.s
>>> p.__dict__["s"] = 9.0

a missing key
d = {}
def f(x):
    return x * d.get("k", 2.0)
>>> d["k"] = 3.0
>>> d["k"] = None; d.pop("k")

a missing key of a tuple
d = {(1, 2): 5.0}
def f(x):
    return x * d.get((1, 3), 2.0)
>>> d[1, 3] = 3.0

a missing name
def f(x):
    try: return x * gone
    except NameError: return x * 2.0
>>> gone = 3.0
>>> del gone

a name that hides a builtin
def f(x):
    return x * abs(-2.0)
>>> abs = lambda k: 7.0
>>> del abs

an attribute found nearer
class A: k = 2.0
class B(A): pass
b = B()
def f(x):
    return x * b.k
>>> B.k = 3.0
>>> b.k = 4.0
>>> del b.k; del B.k

a fall-back of attributes
class A:
    def __getattr__(self, name): return 2.0
a = A()
def f(x):
    return x * a.k
>>> a.k = 3.0
>>> del a.k
>>> A.k = 4.0

a hook of attributes that comes later
class A: k = 2.0
a = A()
def f(x):
    return x * a.k
>>> A.__getattribute__ = lambda self, name: 3.0
>>> del A.__getattribute__

an attribute of a module
m = types.ModuleType("m")
def f(x):
    return x * getattr(m, "k", 2.0)
>>> m.k = 3.0
>>> del m.k
>>> m.__getattr__ = lambda name: 4.0

an empty cell
def make():
    def f(x):
        try: return x * k
        except NameError: return x * 2.0
    if 0: k = 1
    return f
f = make()
>>> f.__closure__[0].cell_contents = 3.0
>>> del f.__closure__[0].cell_contents

a method that a class lacks
class A: pass
a = A()
def f(x):
    return x * (len(a) if hasattr(a, "__len__") else 2.0)
>>> A.__len__ = lambda self: 3
>>> del A.__len__

a method of the instance
class A:
    def k(self): return 2.0
a = A()
def f(x):
    return x * a.k()
>>> a.k = lambda: 3.0
>>> del a.k

a data descriptor that comes later
class A: pass
a = A(); a.k = 2.0
def f(x):
    return x * a.k
>>> A.k = property(lambda self: 3.0)
>>> del A.k

an item that a list lacks
l = [2.0]
def f(x):
    try: return x * l[1]
    except IndexError: return x * l[0]
>>> l.append(3.0)
>>> l.pop()

a missing item of a subclass
class D(dict): pass
d = D()
def f(x):
    try: return x * d["k"]
    except KeyError: return x * 2.0
>>> D.__missing__ = lambda self, k: 3.0
>>> d["k"] = 4.0
>>> d.clear(); del D.__missing__

an annotation
def g(x): return x
def f(x):
    return x * len(g.__annotations__) + x
>>> g.__annotations__["x"] = float
>>> g.__annotations__ = {}

an attribute of a function
def g(x): return x * getattr(g, "k", 2.0)
def f(x):
    return g(x)
>>> g.k = 3.0
>>> del g.k

a class among the bases
class A: k = 2.0
class B: pass
class C(B): pass
c = C()
def f(x):
    return x * getattr(c, "k", 1.0)
>>> C.__bases__ = (A,)
>>> C.__bases__ = (B,)
>>> c.__class__ = type("D", (), {"k": 5.0})

an exhausted default
it = {"n": 0}
def f(x):
    return x * (2.0 if next(iter(it["l"] if "l" in it else ()), None) is None else 3.0)
>>> it["l"] = [1]
>>> it["l"] = []
""",
)

_enter(
    "names in C",
    """
attributes in a format
o = NS(mode="ab")
def f(x):
    return x * len("{0.mode}".format(o))
>>> o.mode = "abcd"
>>> o.mode = 7

items in a format
d = {"k": NS(v=[1, 22])}
def f(x):
    return x * len("{d[k].v[1]}".format(d=d))
>>> d["k"].v[1] = 333
>>> d["k"] = NS(v=[1, 4444])

a format of a mapping
d = {"k": "a"}
def f(x):
    return x * len("{k}".format_map(d))
>>> d["k"] = "abc"

a nested specification
w = 5
def f(x):
    return x * len("{0:>{1}}".format("a", w))
>>> w = 7

percent of a dictionary
d = {"k": 5}
def f(x):
    return x * len("%(k)s" % d)
>>> d["k"] = 555

a path of attributes
o = NS(a=NS(b=2))
get = operator.attrgetter("a.b")
def f(x):
    return x * get(o)
>>> o.a.b = 3
>>> o.a = NS(b=4)
>>> get = operator.attrgetter("a.b.real")

a formatter
o = NS(mode="ab")
def f(x):
    return x * len(string.Formatter().format("{0.mode}", o))
>>> o.mode = "abcd"

a template
d = {"k": "ab"}
def f(x):
    return x * len(string.Template("$k").substitute(d))
>>> d["k"] = "abcd"

a runtime protocol
@typing.runtime_checkable
class P(typing.Protocol):
    k: int
class A: pass
a = A()
def f(x):
    return x * 2.0 if isinstance(a, P) else x * 3.0
>>> a.k = 1
>>> del a.k
>>> A.k = 2

a protocol of methods
@typing.runtime_checkable
class P(typing.Protocol):
    def k(self): ...
class A: pass
a = A()
def f(x):
    return x * 2.0 if isinstance(a, P) else x * 3.0
>>> A.k = lambda self: 1
>>> del A.k

a metaclass that decides
mode = NS(yes=True)
class M(type):
    def __instancecheck__(cls, o): return mode.yes
class K(metaclass=M): pass
def f(x):
    return x * 2.0 if isinstance(3, K) else x * 3.0
>>> mode.yes = False
>>> mode.yes = True
>>> M.__instancecheck__ = lambda cls, o: False

a hook of subclasses
mode = {"k": True}
class K(abc.ABC):
    @classmethod
    def __subclasshook__(cls, o): return mode["k"]
class A: pass
def f(x):
    return x * 2.0 if issubclass(A, K) else x * 3.0
>>> mode["k"] = False; K.register(type("B", (), {}))
>>> mode["k"] = True; K.register(type("B2", (), {}))

a class that is registered
class K(abc.ABC): pass
class A: pass
a = A()
def f(x):
    return x * 2.0 if isinstance(a, K) else x * 3.0
>>> K.register(A)

registering elsewhere
class K(abc.ABC): pass
class L(abc.ABC): pass
a = {}
def f(x):
    return x * 2.0 if isinstance(a, collections.abc.Mapping) else x * 3.0
>>> L.register(type("T", (), {}))
>>> a = []
>>> a = collections.UserDict()

a pattern of a class
class P:
    __match_args__ = ("a", "b")
    def __init__(self): self.a, self.b = 2.0, 3.0
p = P()
def f(x):
    match p:
        case P(u, v): return x * u + v * 0.0
    return x
>>> P.__match_args__ = ("b", "a")
>>> p.b = 7.0
>>> P.__match_args__ = ("b",)

items as a dictionary
@dataclasses.dataclass
class P:
    a: float = 2.0
    k: int = 3
p = P()
def f(x):
    return x * sum(dataclasses.asdict(p).values())
>>> p.a = 3.0
>>> p.k = 5
>>> p = P(1.0, 1)

fields of a data class
@dataclasses.dataclass
class P:
    a: float = 2.0
p = P()
def f(x):
    return x * len(dataclasses.fields(p))
>>> p = dataclasses.make_dataclass("Q", ["a", "b"])(1.0, 2.0)

the representation of a data class
@dataclasses.dataclass
class P:
    k: int = 3
p = P()
def f(x):
    return x * len(repr(p))
>>> p.k = 333

variables of an object
o = NS(a=1, b=2)
def f(x):
    return x * sum(vars(o).values())
>>> o.c = 3
>>> del o.a
>>> o.__dict__["b"] = 9

sorted by an attribute
l = [NS(k=2, w=2.0), NS(k=1, w=3.0)]
def f(x):
    return x * sorted(l, key=operator.attrgetter("k"))[0].w
>>> l[0].k = 0
>>> l[1].k = -1

the largest by an item
l = [(1, 2.0), (2, 3.0)]
def f(x):
    return x * max(l, key=operator.itemgetter(0))[1]
>>> l[0] = (3, 5.0)

a sum over attributes
l = [NS(k=2), NS(k=1)]
def f(x):
    return x * sum(map(operator.attrgetter("k"), l))
>>> l[0].k = 7
>>> l.append(NS(k=1))

json of an object
import json
o = NS(a=[1, 2])
def f(x):
    return x * len(json.dumps(o.__dict__))
>>> o.a.append(3)

a method by its name
class A:
    def k(self): return 2
a = A()
call = operator.methodcaller("k")
def f(x):
    return x * call(a)
>>> A.k = lambda self: 3
>>> call = operator.methodcaller("__sizeof__")

the name of a class
class A: pass
a = A()
def f(x):
    return x * len(type(a).__name__)
>>> A.__name__ = "Longer"
>>> a = type("Q", (), {})()

a copy that asks how to be reduced
class A:
    k = 2.0
    def __reduce__(self): return (A.made, (self.k,))
    @staticmethod
    def made(k):
        a = A(); a.k = k * 2.0
        return a
a = A()
def f(x):
    return x * copy.copy(a).k
>>> a.k = 3.0
>>> A.made = staticmethod(lambda k: NS(k=k * 5.0))
""",
)

_enter(
    "flags",
    """
writeable indices
k = np.array([1, 0])
def f(x):
    return x * 2.0 if k.flags.writeable else x * 3.0
>>> k.flags.writeable = False
>>> k.flags.writeable = True

the base of indices
k = np.array([1, 0])
def f(x):
    return x * 2.0 if k.base is None else x * 3.0
>>> k = k[:]
>>> k = k.copy()

strides of a mask
k = np.ones((2, 2), bool)
def f(x):
    return x * 2.0 if k.flags.c_contiguous else x * 3.0
>>> k = np.asfortranarray(k)
>>> k = np.ones((2, 4), bool)[:, ::2]

steps of indices
k = np.arange(3)
def f(x):
    return x * k.strides[0]
>>> k = np.repeat(k, 2)[::2]
>>> k = np.arange(3, dtype=np.int32)

flags of floats
w = np.ones((2, 2))
def f(x):
    return x * 2.0 if w.flags.f_contiguous else x * 3.0
>>> w = np.asfortranarray(w)
>>> w = np.ones((2, 2))

order in which a matrix is unrolled
w = np.arange(4.0).reshape(2, 2)
def f(x):
    return x * np.sum(w.ravel("K") * [1, 2, 3, 4])
>>> w = np.asfortranarray(w)
>>> w = w.T.copy()

the class of an array
w = np.array([[1.0, 2.0], [3.0, 4.0]])
def f(x):
    return np.sum(x * (w * w))
>>> w = np.matrix(w)
>>> w = np.array(w)

shape of a scalar
w = np.float64(2.0)
def f(x):
    return x * (w + np.ndim(w)) if isinstance(w, np.float64) else x * 3.0
>>> w = np.array(2.0)
>>> w = 2.0
>>> w = np.array([2.0])[0]

kind of floats
w = np.ones(2)
def f(x):
    return x * np.sum(w) * w.itemsize
>>> w = np.ones(2, np.float32)
>>> w = np.ones(2, complex).real
""",
)

_enter(
    "settings",
    """
errors of floating point
state = dict(divide="ignore")
def f(x):
    with np.errstate(**state):
        try: return x + np.float64(1.0) / np.array(0.0) * 0.0 if state["divide"] == "raise" else x * 2.0
        except FloatingPointError: return x * 3.0
>>> state["divide"] = "raise"
>>> state["divide"] = "ignore"

errors of floating point around a call
def f(x):
    try: return x * 2.0 + float(np.arctan(np.array([1.0])[0] / (np.array([x - x])[0])))
    except FloatingPointError: return x * 3.0
>>> np.seterr(divide="ignore")
>>> np.seterr(divide="warn")

precision of decimals
def f(x):
    return x * float(decimal.Decimal(1) / 3)
>>> decimal.getcontext().prec = 3
>>> decimal.getcontext().prec = 28

options of printing
def f(x):
    return x * len(str(np.array([1.0 / 3.0])))
>>> np.set_printoptions(precision=3)
>>> np.set_printoptions(precision=8)

digits of integers
import sys
def f(x):
    return x * 2.0 if sys.get_int_max_str_digits() == 4300 else x * 3.0
>>> sys.set_int_max_str_digits(5000)
>>> sys.set_int_max_str_digits(4300)

limit of recursion
import sys
def f(x):
    return x * 2.0 if sys.getrecursionlimit() % 2 else x * 3.0
>>> sys.setrecursionlimit(sys.getrecursionlimit() + 1)
>>> sys.setrecursionlimit(sys.getrecursionlimit() - 1)

environment of the process
import os
def f(x):
    return x * float(os.environ.get("HOSTILE", "2.0"))
>>> os.environ["HOSTILE"] = "3.0"
>>> os.environ.pop("HOSTILE", None)

a variable of the context
import contextvars
v = contextvars.ContextVar("v", default=2.0)
def f(x):
    return x * v.get()
>>> token = v.set(3.0)
>>> v.reset(token)

a variable of the thread
import threading
v = threading.local(); v.k = 2.0
def f(x):
    return x * v.k
>>> v.k = 3.0
>>> v = threading.local(); v.k = 4.0

modules that are loaded
import sys
def f(x):
    return x * 2.0 if "hostile_module" in sys.modules else x * 3.0
>>> sys.modules["hostile_module"] = types.ModuleType("hostile_module")
>>> sys.modules.pop("hostile_module", None)

a hook that stands in the builtins
import builtins
def f(x):
    return x * getattr(builtins, "hostile_k", 2.0)
>>> builtins.hostile_k = 3.0
>>> vars(builtins).pop("hostile_k", None)

the time
import time
clock = [0.0]
def now(): return clock[0]
def f(x):
    return x * (2.0 + now())
>>> clock[0] = 3.0
>>> now = lambda: 5.0

a random state
rng = np.random.default_rng(1)
def f(x):
    r = np.random.default_rng(5)
    return x * r.normal() + 0.0 * x
>>> rng = np.random.default_rng(2)

a length that is a property
class A:
    n = 2
    def __len__(self): return self.n
a = A()
def f(x):
    return x * len(a) + (x if a else 0.0)
>>> a.n = 0
>>> A.__bool__ = lambda self: True
>>> a.n = 3

a cache of a method
class A:
    k = 2.0
    @functools.cached_property
    def c(self): return self.k * 2.0
a = A()
def f(x):
    return x * a.c
>>> a.k = 3.0
>>> del a.c
>>> a.c = 9.0

a registry of a single dispatch
@functools.singledispatch
def g(a): return 2.0
def f(x):
    return x * g([1])
>>> g.register(list, lambda a: 3.0)
>>> g.register(object, lambda a: 5.0)

a dispatch by an abstract class
@functools.singledispatch
def g(a): return 2.0
class A: pass
class K(abc.ABC): pass
g.register(K, lambda a: 3.0)
a = A()
def f(x):
    return x * g(a)
>>> K.register(A)

descriptors of a class
class D:
    k = 2.0
    def __get__(self, o, t): return self.k
class A: d = D()
a = A()
def f(x):
    return x * a.d
>>> vars(A)["d"].k = 3.0
>>> D.__get__ = lambda self, o, t: 4.0
>>> A.d = 5.0

a method that is bound
class A:
    k = 2.0
    def m(self, x): return self.k * x
a = A(); g = a.m
def f(x):
    return g(x)
>>> a.k = 3.0
>>> g = types.MethodType(A.m, types.SimpleNamespace(k=4.0))
>>> A.m = lambda self, x: 9.0 * x

code of a function
def g(x): return 2.0 * x
def f(x):
    return g(x)
>>> g.__code__ = (lambda x: 3.0 * x).__code__
>>> g = lambda x, k=4.0: k * x
>>> g.__defaults__ = (5.0,)
>>> g.__kwdefaults__ = {}

keyword defaults
def g(x, *, k=2.0): return k * x
def f(x):
    return g(x)
>>> g.__kwdefaults__["k"] = 3.0
>>> g.__kwdefaults__ = {"k": 4.0}

bytes that are shared
b = bytearray(b"ab"); m = memoryview(b)
def f(x):
    return x * m[0]
>>> b[0] = 7
>>> m = memoryview(b"c")

arrays of the standard library
import array
a = array.array("d", [2.0])
def f(x):
    return x * a[0]
>>> a[0] = 3.0
>>> a = array.array("i", [4])

a view of a dictionary
d = {"a": 2.0}; v = d.values(); k = d.keys()
def f(x):
    return x * sum(v) * len(k)
>>> d["b"] = 3.0
>>> d = {"c": 1.0}; v = d.values()

a proxy of a mapping
d = {"a": 2.0}; p = types.MappingProxyType(d)
def f(x):
    return x * p["a"]
>>> d["a"] = 3.0
>>> d = {"a": 4.0}

a chain of maps
d = {"a": 2.0}; c = collections.ChainMap({}, d)
def f(x):
    return x * c["a"]
>>> d["a"] = 3.0
>>> c.maps[0]["a"] = 4.0
>>> c.maps.reverse()

a counter
c = collections.Counter("aab")
def f(x):
    return x * c.most_common(1)[0][1] + x * c["z"]
>>> c["b"] += 5
>>> c["z"] = 2

a weak reference
import weakref
class A: k = 2.0
a = A(); w = weakref.ref(a)
def f(x):
    return x * (w().k if w() is not None else 3.0)
>>> a.k = 4.0
>>> del a

a user's list
l = collections.UserList([1.0, 2.0])
def f(x):
    return x * sum(l)
>>> l.data[0] = 5.0
>>> l.append(1.0)

a string that is formatted by an object
class A:
    def __format__(self, spec): return "a" * self.k
a = A(); a.k = 2
def f(x):
    return x * len(f"{a}")
>>> a.k = 3
>>> A.__format__ = lambda self, spec: "abcdefg"

an order of resolution
class A:
    def k(self): return 2.0
class B(A):
    def k(self): return super().k() * 2.0
b = B()
def f(x):
    return x * b.k()
>>> A.k = lambda self: 3.0
>>> B.k = lambda self: 1.0

a set that is grown in order
s = {3, 1}
def f(x):
    r = x
    for k in list(s) + sorted(s): r = 2.0 * r + k * x
    return r
>>> s.add(2)
>>> s.discard(1)
>>> s |= {1}

sizes of containers
import sys
l = [1.0]
def f(x):
    return x * 2.0 if sys.getsizeof(l) < 80 else x * 3.0
>>> l += [1.0] * 90
>>> del l[1:]
""",
)
