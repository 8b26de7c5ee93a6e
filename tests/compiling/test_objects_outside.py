"""Objects of every kind whose parts are read through methods, protocols and the standard library, and then changed."""

from __future__ import annotations

import warnings

from test_names_in_c import failures

OBJECTS = """
import abc, bisect, collections, collections.abc, contextlib, copy, dataclasses, enum, fractions, functools, heapq
import itertools, math, numbers, operator, re, statistics, string, textwrap, types, typing
@dataclasses.dataclass(frozen=True)
class Fz:
    n: int = 2
    w: str = "ab"
@dataclasses.dataclass(order=True)
class Od:
    k: int
    tag: str = "t"
@dataclasses.dataclass(slots=True)
class Sl:
    n: int = 2
class Box:
    def __init__(self, **kw): self.__dict__.update(kw)
    def __getattr__(self, name):
        if name == "magic": return self.n * 10
        raise AttributeError(name)
class Meth:
    n = 2
    def get(self): return self.n
    @property
    def p(self): return self.n + 1
    @classmethod
    def c(cls): return cls.n
    @staticmethod
    def s(): return G
class Cmp:
    def __init__(self, v): self.v = v
    def __lt__(self, o): return self.v < o.v
    def __eq__(self, o): return self.v == o.v
    def __hash__(self): return hash(self.v)
class Ctx:
    k = 2.0
    def __enter__(self): return self.k
    def __exit__(self, *a): return False
class It:
    n = 2
    def __iter__(self):
        for k in range(self.n): yield float(k + 1)
class Callme:
    n = 2
    def __call__(self, a): return a * self.n
class Color(enum.Enum):
    A = 1
    B = 2
Color.size = 2
G = 2
fz, sl, box, me, cx, it, cm = Fz(), Sl(), Box(n=2), Meth(), Ctx(), It(), Callme()
ods = [Od(3, "c"), Od(1, "aa"), Od(2, "bbb")]
cmps = [Cmp(3), Cmp(1)]
ns = types.SimpleNamespace(n=2, inner=types.SimpleNamespace(w="ab"), f=1.5, a=np.array([1, 2]))
fmt = "{}-{}"; pat = "a+"; tmpl = "$x and $y"
cfg = {"mode": "fast", "sizes": [1, 2], "o": Fz()}
default = collections.defaultdict(int)
"""
READS = [
    ("float(fz.n)", "fz = Fz(3)"),
    ("float(hash(fz) == hash(Fz(2)))", "fz = Fz(3)"),
    ("float(fz == Fz(2))", "fz = Fz(3)"),
    ("float({Fz(2): 5}.get(fz, 1))", "fz = Fz(3)"),
    ("float(sorted(ods)[0].k)", "ods[0].k = 0"),
    ("float(min(ods).k)", "ods[1].k = 9"),
    ("float(len(max(ods, key=lambda o: o.tag).tag))", "ods[0].tag = 'zzzz'"),
    ("float(heapq.nsmallest(1, ods)[0].k)", "ods[0].k = 0"),
    ("float(bisect.bisect(ods[:1], Od(2)))", "ods[0].k = 0"),
    ("float(sl.n)", "sl.n = 3"),
    ("float(copy.copy(sl).n)", "sl.n = 3"),
    ("float(dataclasses.replace(sl).n)", "sl.n = 3"),
    ("float(len(repr(sl)))", "sl.n = 33"),
    ("float(box.magic)", "box.n = 3"),
    ("float(box.magic)", "box.magic = 3"),
    ("float(hasattr(box, 'q'))", "box.q = 3"),
    ("float(getattr(box, 'q', 1))", "box.q = 3"),
    ("float(me.get())", "me.n = 3"),
    ("float(me.p)", "Meth.n = 3"),
    ("float(me.c())", "Meth.n = 3"),
    ("float(me.s())", "G = 3"),
    ("float(operator.methodcaller('get')(me))", "me.n = 3"),
    ("float(sum(map(Meth.get, [me])))", "me.n = 3"),
    ("float(sorted(cmps)[0].v)", "cmps[0].v = 0"),
    ("float(cmps.index(Cmp(1)))", "cmps[0].v = 1"),
    ("float(len({*cmps}))", "cmps[0].v = 1"),
    ("float(cmps == [Cmp(3), Cmp(1)])", "cmps[0].v = 0"),
    ("float(Cmp(7) in cmps)", "cmps[0].v = 7"),
    ("(lambda: [k for k in [0.0]][0])() + [cx.__enter__()][0]", "cx.k = 3.0"),
    ("sum(it)", "it.n = 3"),
    ("max(it)", "it.n = 3"),
    ("float(len([*zip(it, it)]))", "it.n = 3"),
    ("math.fsum(it)", "it.n = 3"),
    ("np.sum(np.array([*it]))", "it.n = 3"),
    ("np.fromiter(it, float).sum()", "it.n = 3"),
    ("float([*map(cm, [1])][0])", "cm.n = 3"),
    ("functools.reduce(lambda a, b: a + cm(b), [1.0, 2.0])", "cm.n = 3"),
    ("float(functools.partial(cm, 2)())", "cm.n = 3"),
    ("float(ns.n)", "ns.n = 3"),
    ("float(len(ns.inner.w))", "ns.inner.w = 'abc'"),
    ("ns.f", "ns.f = 2.5"),
    ("float(ns.a[0])", "ns.a[0] = 5"),
    ("float(ns.n)", "ns.other = 3"),
    ("float(len(vars(ns)))", "ns.other = 3"),
    ("float(ns == ns)", "ns.f = 3.0"),
    ("float(sum(ns.a[ns.a > 1]))", "ns.a[0] = 7"),
    ("float(len(fmt.format(1, 2)))", "fmt = '{}--{}'"),
    ("float(len(re.findall(pat, 'aabaa')))", "pat = 'b'"),
    ("float(len(string.Template(tmpl).substitute(x='a', y='b')))", "tmpl = '$x'"),
    ("float(len(cfg['mode']))", "cfg['mode'] = 'slow!'"),
    ("float(len('{mode}'.format(**cfg)))", "cfg['mode'] = 'slow!'"),
    ("float(len('{mode}'.format_map(cfg)))", "cfg['mode'] = 'slow!'"),
    ("float(len('{o.n}'.format(**cfg)))", "cfg['o'] = Fz(33)"),
    ("float(len('%(mode)s' % cfg))", "cfg['mode'] = 'slow!'"),
    ("float(len(f\"{cfg['o'].n}\"))", "cfg['o'] = Fz(33)"),
    ("float(len(str(cfg)))", "cfg['o'] = Fz(33)"),
    ("float(cfg['sizes'][1])", "cfg['sizes'][1] = 7"),
    ("float(default['a'])", "default['a'] = 3"),
    ("float(Color.size)", "Color.size = 3"),
    ("float(Color(G).value)", "G = 1"),
    ("float(Color['A'] is Color(G))", "G = 1"),
    ("float(isinstance(me, collections.abc.Hashable))", "Meth.__hash__ = None"),
    ("float(isinstance(me, typing.Hashable))", "Meth.__hash__ = None"),
    ("float(callable(me))", "Meth.__call__ = lambda self: 1"),
    ("float(issubclass(Meth, collections.abc.Iterable))", "Meth.__iter__ = lambda self: iter([])"),
    ("float(isinstance(me, collections.abc.Mapping))", "collections.abc.Mapping.register(Meth)"),
    ("float(isinstance(2, numbers.Integral)) + float(isinstance(me, numbers.Real))", "numbers.Real.register(Meth)"),
    ("float(isinstance(x[0], numbers.Number))", "numbers.Number.register(Meth)"),
    ("statistics.fmean([1.0, float(me.n)])", "me.n = 3"),
    ("float(fractions.Fraction(me.n, 3))", "me.n = 3"),
    ("float(len(textwrap.wrap('a b c', me.n)))", "me.n = 3"),
    ("float(len([*itertools.islice(it, me.n)]))", "me.n = 1"),
    ("float(len([*itertools.takewhile(lambda v: v < me.n, it)]))", "me.n = 1"),
    ("float(np.zeros(me.n).size)", "me.n = 3"),
    ("float(np.arange(6).reshape(me.n, -1).shape[1])", "me.n = 3"),
    ("np.take(np.arange(5.0), me)", "Meth.__index__ = lambda self: 3"),
    ("float(len(operator.attrgetter('inner.w')(ns)))", "ns.inner.w = 'abc'"),
    ("float(len(getattr(ns, 'inner').w))", "ns.inner.w = 'abc'"),
    ("float(dict(ns.__dict__)['n'])", "ns.n = 3"),
    ("float({**ns.__dict__}['n'])", "ns.n = 3"),
    ("float(len([*vars(ns).items()][0]) + vars(ns)['n'])", "ns.n = 3"),
    ("float(types.SimpleNamespace(**vars(ns)).n)", "ns.n = 3"),
    ("float(copy.deepcopy(ns).n)", "ns.n = 3"),
    ("float(copy.replace(ns).n) if hasattr(copy, 'replace') else 0.0", "ns.n = 3"),
]


def test_objects_that_change_between_calls() -> None:
    with warnings.catch_warnings(action="ignore"):
        assert not failures(OBJECTS, READS)
