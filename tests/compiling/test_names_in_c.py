"""Names that C code, or code of a library, reads from outside objects: a compiled function is never stale for them."""

from __future__ import annotations

import abc
import numbers
import warnings
from typing import Any

import numpy as np

import wengert as wg

OBJECTS = """
import collections, copy, dataclasses, functools, json, operator, pickle, string, types, typing
@dataclasses.dataclass
class Point:
    x: float = 0.5
    n: int = 2
    def __eq__(self, other): return self.n == other.n
@dataclasses.dataclass
class Pair:
    n: int = 2
    p: Point = dataclasses.field(default_factory=Point)
class Plain:
    def __init__(self, mode="ab"): self.mode, self.size, self.q = mode, 1.5, types.SimpleNamespace(mode=mode)
    def __repr__(self): return self.mode
    def of(self): return self.q
class Shown:
    word = "ab"
    def __str__(self): return self.word
    def __format__(self, spec): return self.word + spec
    def __len__(self): return len(self.word)
    def __bool__(self): return len(self.word) > 2
    def __hash__(self): return len(self.word)
    def __index__(self): return len(self.word)
    def __iter__(self): return iter(self.word)
    def __contains__(self, item): return item in self.word
    def __getitem__(self, k): return self.word[k]
    def __float__(self): return float(len(self.word))
    def __lt__(self, other): return len(self.word) < len(other.word)
    def __fspath__(self): return self.word
o, p, pair, s, space = Plain(), Point(), Pair(), Shown(), types.SimpleNamespace(mode="ab", n=2)
many, spec = [Plain("c"), Plain("ab")], ">5"
"""
READS = [
    # strings that name attributes
    ("float(len('{0.mode}'.format(o)))", "o.mode = 'abc'"),
    ("float(len('{o.q.mode}'.format(o=o)))", "o.q.mode = 'abc'"),
    ("float(len('{0[0].mode}'.format([o])))", "o.mode = 'abc'"),
    ("float(len('{o.mode}'.format_map({'o': o})))", "o.mode = 'abc'"),
    ("float(len('{o.mode}'.format_map(vars(space) | {'o': o})))", "o.mode = 'abc'"),
    ("float(len(string.Formatter().format('{0.mode}', o)))", "o.mode = 'abc'"),
    ("float(len(string.Template('$mode').substitute(vars(o))))", "o.mode = 'abc'"),
    ("float(len('%(mode)s' % vars(o)))", "o.mode = 'abc'"),
    ("float(len('%s' % o))", "o.mode = 'abc'"),
    ("float(len('%s %s' % (o, 1)))", "o.mode = 'abc'"),
    ("float(len(f'{o.mode:{spec}}'))", "spec = '>9'"),
    ("float(len(f'{o!s:{spec}}'))", "o.mode = 'abcdefgh'"),
    ("float(len(f'{s:{spec}}'))", "s.word = 'abc'"),
    ("float(len(format(s, '')))", "s.word = 'abc'"),
    ("float(len('{}'.format(s)))", "s.word = 'abc'"),
    ("float(len('{0:{1.mode}}'.format('a', o)))", "o.mode = '>7'", "o.mode = '>5'"),
    ("float(len(','.join(map(str, [o, s]))))", "s.word = 'abc'"),
    ("float(len(str(o)))", "o.mode = 'abc'"),
    ("float(len(repr(o)))", "o.mode = 'abc'"),
    ("float(len(repr([o])))", "o.mode = 'abc'"),
    ("float(len(str({'a': (o,)})))", "o.mode = 'abc'"),
    ("float(len(str(p)))", "p.n = 10"),
    ("float(len(repr(pair)))", "pair.p.n = 10"),
    ("float(len(repr([pair])))", "pair.p.n = 10"),
    ("float(len(str(space)))", "space.mode = 'abc'"),
    ("float(len('{}'.format(space)))", "space.mode = 'abc'"),
    ("float(len(f'{space}'))", "space.n = 10"),
    ("float(len('%r' % space))", "space.n = 10"),
    # operator
    ("operator.attrgetter('size')(o)", "o.size = 2.5"),
    ("float(len(operator.attrgetter('mode')(o)))", "o.mode = 'abc'"),
    ("float(len(operator.attrgetter('q.mode')(o)))", "o.q.mode = 'abc'"),
    ("float(len(operator.attrgetter('mode', 'q.mode')(o)[1]))", "o.q.mode = 'abc'"),
    ("float(len(operator.methodcaller('of')(o).mode))", "o.q.mode = 'abc'"),
    ("float(len(sorted(many, key=operator.attrgetter('mode'))[0].mode))", "many[0].mode = 'aa'"),
    ("float(len(max(many, key=operator.attrgetter('mode')).mode))", "many[1].mode = 'dddd'"),
    ("sum(map(operator.attrgetter('size'), many))", "many[0].size = 2"),
    ("float(len(max(map(vars, many), key=operator.itemgetter('mode'))['mode']))", "many[1].mode = 'dddd'"),
    ("float(len([*map(operator.itemgetter('mode'), map(vars, many))][0]))", "many[0].mode = 'dddd'"),
    ("float(operator.length_hint(s))", "s.word = 'abc'"),
    ("float(operator.index(s))", "s.word = 'abc'"),
    ("float(operator.contains(s, 'c'))", "s.word = 'abc'"),
    ("float(operator.truth(s))", "s.word = 'abc'"),
    ("float(len(functools.reduce(getattr, ['q', 'mode'], o)))", "o.q.mode = 'abc'"),
    ("float(sum(map(len, map(operator.attrgetter('mode'), many))))", "many[0].mode = 'aa'"),
    # protocols of C
    ("float(len(s))", "s.word = 'abc'"),
    ("(2.0 if s else 3.0)", "s.word = 'abc'"),
    ("float(len({s: 1}) + hash(s))", "s.word = 'abc'"),
    ("float(len([*s]))", "s.word = 'abc'"),
    ("float(len(''.join(s)))", "s.word = 'abc'"),
    ("float('c' in s)", "s.word = 'abc'"),
    ("float(len([*range(s)]))", "s.word = 'abc'"),
    ("float(len('abcdef'[s]))", "s.word = ''"),
    ("float(len('abcdef'[s:]))", "s.word = 'abc'"),
    ("float(len('a' * operator.index(s)))", "s.word = 'abc'"),
    ("np.float64(s)", "s.word = 'abc'"),
    ("float(len(sorted([s, Shown()])[0].word))", "s.word = 'a'"),
    ("float(any([s]))", "s.word = 'abc'"),
    ("float(sum(map(bool, [s])))", "s.word = 'abc'"),
    ("float([Shown()].count(s))", "s.word = 'abc'"),
    ("float([p].count(Point(n=3)))", "p.n = 3"),
    ("float(Point(n=3) in [p])", "p.n = 3"),
    ("float((p,) == (Point(n=3),))", "p.n = 3"),
    ("float({'a': p} == {'a': Point(n=3)})", "p.n = 3"),
    ("float(space == types.SimpleNamespace(mode='ab', n=2))", "space.n = 3"),
    ("float(len([q for q in [space] if q == types.SimpleNamespace(mode='ab', n=2)]))", "space.n = 3"),
    # all attributes
    ("float(dataclasses.asdict(p)['n'])", "p.n = 3"),
    ("float(dataclasses.asdict(pair)['p']['n'])", "pair.p.n = 3"),
    ("float(dataclasses.astuple(pair)[1][1])", "pair.p.n = 3"),
    ("float(dataclasses.replace(p, x=1.0).n)", "p.n = 3"),
    ("float(dataclasses.replace(pair, n=1).p.n)", "pair.p.n = 3"),
    ("float(sum(getattr(p, field.name) for field in dataclasses.fields(p)))", "p.n = 3"),
    ("float(len(dataclasses.fields(p)))", "Point.__dataclass_fields__.pop('x')"),
    ("float(dataclasses.fields(Point)[1].default)", "dataclasses.fields(Point)[1].default = 3"),
    ("float(copy.copy(p).n)", "p.n = 3"),
    ("float(copy.deepcopy(pair).p.n)", "pair.p.n = 3"),
    ("float(copy.copy(space).n)", "space.n = 3"),
    ("float(copy.deepcopy([space])[0].n)", "space.n = 3"),
    ("float(pickle.loads(pickle.dumps(space)).n)", "space.n = 3"),
    ("float(len(json.dumps(vars(space))))", "space.n = 33"),
    ("float(len(json.dumps(o.__dict__, default=str)))", "o.mode = 'abc'"),
    ("float(len(vars(o)['mode']))", "o.mode = 'abc'"),
    ("float(len({**vars(o)}['mode']))", "o.mode = 'abc'"),
    ("float(dict(vars(space))['n'])", "space.n = 3"),
    ("float(len(dir(space)))", "space.more = 3"),
    ("float(collections.ChainMap(vars(space))['n'])", "space.n = 3"),
    ("float(collections.Counter([p.n])[2])", "p.n = 3"),
    ("float(space.__reduce__()[2]['n'])", "space.n = 3"),
    ("float(p.__reduce_ex__(2)[2]['n'])", "p.n = 3"),
    ("float(object.__getattribute__(p, 'n'))", "p.n = 3"),
    ("float(p.__getattribute__('n'))", "p.n = 3"),
    ("float(p.__eq__(Point(n=3)))", "p.n = 3"),
    ("float(type(p).__getattribute__(p, 'n'))", "p.n = 3"),
    ("float(getattr(p, 'n'))", "p.n = 3"),
    ("float(operator.eq(p, Point(n=3)))", "p.n = 3"),
]
KINDS = """
import abc, collections.abc, enum, functools, numbers, types, typing
class A(abc.ABC): pass
class B(A): pass
class C: n = 2
class Hooked(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other): return hasattr(other, "marked")
class Below(A):
    @classmethod
    def __subclasshook__(cls, other): return hasattr(other, "marked") or NotImplemented
@typing.runtime_checkable
class Sized(typing.Protocol):
    def size(self): ...
@typing.runtime_checkable
class Named(typing.Protocol):
    name: str
@typing.runtime_checkable
class Other(Named, typing.Protocol):
    size: int
flag = False
class Meta(type):
    def __instancecheck__(cls, thing): return flag
    def __subclasscheck__(cls, thing): return flag
class Odd(metaclass=Meta): pass
class Claims:
    @property
    def __class__(self): return C if flag else Claims
c, claims, kinds, mixed = C(), Claims(), (A, Odd), A | C
class Row(collections.abc.Sequence):
    def __len__(self): return 2
    def __getitem__(self, k): return (1.0, 2.0)[k]
class Like:
    def __len__(self): return 2
    def __getitem__(self, k): return (1.0, 2.0)[k]
    def keys(self): return [0, 1]
    def get(self, k, default=None): return self[k]
like = Like()
def match_row(thing):
    match thing:
        case [a, b]: return a + b
        case _: return 5.0
def match_map(thing):
    match thing:
        case {0: a}: return a
        case _: return 5.0
def match_class(thing):
    match thing:
        case A(): return 1.0
        case Named(name=name): return float(len(name))
        case C(n=n): return float(n)
        case _: return 5.0
def match_args(thing):
    match thing:
        case C(n): return float(n)
        case _: return 5.0
C.__match_args__ = ("n",)
class Asking(abc.ABCMeta):
    def __instancecheck__(cls, thing): return super().__instancecheck__(thing)
class AskingBelow(abc.ABCMeta):
    def __subclasscheck__(cls, other): return super().__subclasscheck__(other)
class AskingByName(abc.ABCMeta):
    def __instancecheck__(cls, thing): return abc.ABCMeta.__subclasscheck__(cls, type(thing))
class K1(metaclass=Asking): pass
class K2(metaclass=AskingBelow): pass
class K3(metaclass=AskingByName): pass
class Lies:
    @property
    def __class__(self): return C
lies = Lies()
def h(x): return x
def make(): return lambda x: x
p, module = functools.partial(h), types.ModuleType("module")
class Bound:
    def h(self): return 1.0
bound, thrice = Bound().h, wg.grad(h)
"""
CHECKS = [
    ("float(isinstance(c, A))", "A.register(C)"),
    ("float(isinstance(c, A))", "B.register(C)"),
    ("float(isinstance(c, A))", "class D(A): pass\nD.register(C)"),
    ("float(issubclass(C, A))", "A.register(C)"),
    ("float(issubclass(C, (int, A)))", "A.register(C)"),
    ("float(isinstance(c, (int, (str, A))))", "A.register(C)"),
    ("float(isinstance(c, A | int))", "A.register(C)"),
    ("float(isinstance(c, mixed))", "mixed = A | int"),
    ("float(isinstance(c, kinds))", "kinds = (A,); A.register(C)"),
    ("float(isinstance(c, typing.Union[A, int]))", "A.register(C)"),
    ("float(isinstance(C(), A))", "A.register(C)"),
    ("float(sum(map(lambda k: isinstance(c, k), [A])))", "A.register(C)"),
    ("float([*map(isinstance, [c], [A])][0])", "A.register(C)"),
    ("float(isinstance(c, Hooked))", "C.marked = True"),
    ("float(issubclass(C, Hooked))", "C.marked = True"),
    ("float(isinstance(c, A))", "C.marked = True"),
    ("float(isinstance(c, A))", "Below.__subclasshook__ = classmethod(lambda cls, other: True); A._abc_caches_clear()"),
    ("float(isinstance(c, numbers.Number))", "numbers.Number.register(C)"),
    ("float(isinstance(c, collections.abc.Sized))", "C.__len__ = lambda self: 1"),
    ("float(isinstance(c, collections.abc.Hashable))", "C.__hash__ = None"),
    ("float(isinstance(c, collections.abc.Callable)) + callable(c)", "C.__call__ = lambda self: 1"),
    ("float(isinstance(c, collections.abc.Sequence))", "collections.abc.Sequence.register(C)"),
    ("float(isinstance(c, Sized))", "C.size = lambda self: 1"),
    ("float(isinstance(c, Sized))", "c.size = lambda: 1"),
    ("float(isinstance(c, Named))", "c.name = 'a'"),
    ("float(isinstance(c, Named))", "C.name = 'a'"),
    ("float(isinstance(c, Other))", "c.name = 'a'; c.size = 2"),
    ("float(isinstance(c, Named))", "Named.register(C)"),
    ("float(isinstance(c, Odd))", "flag = True"),
    ("float(issubclass(C, Odd))", "flag = True"),
    ("float(isinstance(c, (int, Odd)))", "flag = True"),
    ("float(isinstance(c, Odd | int))", "flag = True"),
    ("float(isinstance(c, Odd))", "Meta.__instancecheck__ = lambda cls, thing: True"),
    ("float(isinstance(claims, C))", "flag = True"),
    ("float(isinstance(c, C))", "c.__class__ = Like"),
    ("float(isinstance(c, B))", "C = B; c = B()"),
    ("match_row(like)", "collections.abc.Sequence.register(Like)"),
    ("match_map(like)", "collections.abc.Mapping.register(Like)"),
    ("match_class(c)", "A.register(C)"),
    ("match_class(c)", "c.name = 'abc'"),
    ("match_class(c)", "c.n = 3"),
    ("match_args(c)", "c.n = 3"),
    ("match_args(c)", "C.n = 3"),
    ("match_args(c)", "C.m = 7; C.__match_args__ = ('m',)"),
    *[
        (f"float({asked})", f"{k}.register(C)")
        for k in ("K1", "K2", "K3")
        for asked in (f"isinstance(c, {k})", f"issubclass(C, {k})", f"isinstance(c, (int, {k}))",
                      f"isinstance(c, {k} | int)")
    ],
    *[
        (f"float({asked})", "A.register(C)")
        for asked in ("abc.ABCMeta.__instancecheck__(A, c)", "abc.ABCMeta.__subclasscheck__(A, C)",
                      "A.__instancecheck__(c)", "A.__subclasscheck__(C)", "type(A).__instancecheck__(A, c)",
                      "functools.partial(abc.ABCMeta.__instancecheck__, A)(c)", "isinstance(lies, A)",
                      "[*map(A.__instancecheck__, [c])][0]", "isinstance(c, typing.Optional[A])")
    ],
    ("float(isinstance(c, typing.Sequence))", "collections.abc.Sequence.register(C)"),
    ("float(issubclass(C, (int, typing.Mapping)))", "collections.abc.Mapping.register(C)"),
    *[
        (f"float(isinstance({thing}, Named))", f"{owner}.name = 'a'")
        for thing, owner in (("h", "h"), ("p", "p"), ("module", "module"), ("bound", "Bound.h"), ("C", "C"),
                             ("thrice", "thrice"))
    ],
    ("float(isinstance(h, Named))", "del h.name", "h.name = 'a'"),
    ("float(isinstance(module, Named))", "del module.name", "module.name = 'a'"),
    ("float(issubclass(C, Sized))", "C.size = lambda self: 1"),
]  # fmt: skip


def failures(head: str, ways: list[Any]) -> list[Any]:
    """Those ways to read from outside after whose change, or by whose first call, a compiled function is another."""
    failed = []
    for body, change, *first in ways:
        space: dict[str, Any] = {"__name__": "outside"}
        source = f"import numpy as np\nimport wengert as wg\n{head}\ndef f(x): return np.sum(x * x) * ({body})\n"
        exec(compile("\n".join([source, *first]), "<outside>", "exec", dont_inherit=True), space)
        g, x = wg.compile(wg.grad(space["f"])), np.array([0.3, -0.4])
        told = []
        for step in ("", "", change, ""):
            exec(step, space)
            plain, found = outcome(wg.grad(space["f"]), x), outcome(g, x)
            told.append((plain, found))
            if not same(plain, found):
                failed.append((body, change, told, g.explain()))
                break
    return failed


def outcome(g: Any, x: Any) -> Any:
    try:
        return g(x)
    except Exception as error:
        return type(error)


def same(a: Any, b: Any) -> bool:
    return a is b if isinstance(a, type) or isinstance(b, type) else np.allclose(a, b, 1e-12)


def test_attributes_that_c_code_reads() -> None:
    with warnings.catch_warnings(action="ignore"):
        assert not failures(OBJECTS, READS)


def test_classes_that_c_code_asks_about() -> None:
    with warnings.catch_warnings(action="ignore"):
        assert not failures(KINDS, CHECKS)


class Shape(abc.ABC):  # noqa: B024
    """An abstract class that the function asks about."""


class Anything(abc.ABC):  # noqa: B024
    """Another one."""


def scaled(x: Any, thing: Any) -> Any:
    return x * 2.0 if isinstance(thing, Shape) else x * 3.0


def traces(g: Any) -> int:
    return int(g.explain().splitlines()[0].split(", ")[-1].split()[0])


def test_what_is_registered_elsewhere_keeps_the_trace() -> None:
    g = wg.compile(wg.grad(lambda x: scaled(x, 1) + isinstance(x, numbers.Number)), strict=True)
    text = g(2.0), g.source()
    for _ in range(20):
        Anything.register(type("New", (), {}))
        assert g(2.0) == 3.0
    assert (g(2.0), g.source()) == text
    assert traces(g) == 1


def test_traces_before_a_registration_do_not_count() -> None:
    kinds = [type(f"Kind{k}", (), {}) for k in range(12)]
    f = lambda x: sum([scaled(x, kind()) for kind in kinds])
    g = wg.compile(wg.grad(f), strict=True)
    for kind in kinds:
        assert g(2.0) == wg.grad(f)(2.0)
        Shape.register(kind)
    assert g(2.0) == 24.0
    assert traces(g) == 1


_asked: list[str] = []


class _Counting(type):
    @property
    def scale(cls) -> float:
        _asked.append(cls.__name__)
        return 2.0


class _Counted(metaclass=_Counting):
    pass


def test_an_attribute_that_a_metaclass_gives_is_not_read_ahead() -> None:
    """Its property is code, which runs once a call, and not for the guards."""
    compiled = wg.compile(wg.grad(lambda x: x * _Counted.scale), quiet=True)
    for calls in range(1, 4):
        assert compiled(1.0) == 2.0
        assert _asked == ["_Counted"] * calls


def test_functions_of_scipy_fft_are_read_by_their_names() -> None:
    from scipy.fft import irfft, rfft

    g = wg.compile(wg.grad(lambda x: np.sum(np.abs(irfft(rfft(x) ** 2)) ** 2)), strict=True)
    plain = wg.grad(lambda x: np.sum(np.abs(np.fft.irfft(np.fft.rfft(x) ** 2)) ** 2))
    for k in range(3):
        np.testing.assert_allclose(g(np.arange(4.0) + k), plain(np.arange(4.0) + k), rtol=1e-12)


def _checked(names: dict[str, Any]) -> float:
    return float(names["x"] > 0.0) * names["scale"]


def _of_its_locals(x: float, scale: float = 2.0) -> float:
    y = x * scale
    return y * _checked(locals())


def _made(w: float) -> tuple[Any, Any]:
    def reads(x: float) -> float:
        return x * w * locals()["w"]

    def sets(value: float) -> None:
        nonlocal w
        w = value

    return reads, sets


def test_locals_of_a_function() -> None:
    g = wg.compile(_of_its_locals, strict=True)
    assert [g(1.5), g(1.5, 3.0), g(-1.0)] == [6.0, 13.5, -0.0]


def test_locals_with_a_variable_of_another_function() -> None:
    reads, sets = _made(2.0)
    g = wg.compile(reads, quiet=True)
    assert g(1.5) == 6.0
    sets(3.0)
    assert g(1.5) == 13.5


def test_locals_of_a_comprehension_and_of_a_frame_that_goes_on() -> None:
    def f(x: float) -> float:
        known = locals()
        for k in range(3):
            x = x * (1.0 + len([locals() for _ in range(k)]))
        return x * len(known)

    plain, g = f(2.0), wg.compile(f, quiet=True)
    assert [g(2.0), g(2.0)] == [plain, plain]
