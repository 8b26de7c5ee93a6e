"""What compiled functions ask seldom: selectors, annotations, names of classes, strings, static attributes, memory."""

from __future__ import annotations

import decimal
import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from changed_outside import check, spaces_of

import wengert as wg

HEAD = """
import ast, functools, hashlib, inspect, io, operator, tokenize, typing
missing = object()
class A:
  k = 2.0
  def m(self): return 1.0
  @property
  def p(self): return 3.0
class B(A):
  __name__ = "inner"
def h(x, y: float = 2.0): return x
a, b, text, key = B(), B(), "u + v*3", {1: 2.0, 0: 5.0}
a.inner, a.q = b, 4.0
b.c = np.array([1.0, 2.0])
Kind, Scale = typing.NewType("Kind", int), typing.NewType("Scale", float)
by_names, by_item, by_method = operator.attrgetter("k", "inner.c"), operator.itemgetter(1), operator.methodcaller("m")
u, w, n = np.arange(3.0), np.arange(3.0), np.arange(3)
source = io.StringIO("u")
class Dice:
  def __init__(self): self.rng, self.size = np.random.default_rng(), 2.0
def of_cache(n): return n * scale
scale, k = 1.5, 2.0
def rescale(k):
  global scale
  scale = k
  return 1.0
class Items(list): pass
items = Items([1.0])
@functools.lru_cache(typed=True)
def typed(n, k=1): return n * k * scale
@functools.cache
def pair(ab): return [scale] * (len(ab) + int(scale))
@functools.cache
def applied(k): return k(scale)
names = {"k": 3.0, "f": lambda z: z * scale}
class Model:
  t = 2.0
  @functools.lru_cache(maxsize=None)
  def scale(self): return self.t
  @functools.lru_cache
  def power(self, k=2): return self.t ** k
  @staticmethod
  @functools.cache
  def half(k): return k / 2
model = Model()
@functools.cache
def named(xp): return len(xp.__name__) * scale
named(np)
def quiet(v):
  old = np.seterr(divide="ignore")
  w = float(np.isinf(np.ones(1) / (v - v)).all()) * (1 + (old["over"] == "warn"))
  np.seterr(**old)
  return w
def half_up(z): return int(decimal.Decimal(z).quantize(decimal.Decimal("1"), rounding=decimal.ROUND_HALF_UP))
class Tools(dict):
  def a(self): return scale
  def b(self, z, given=iter([1.0])): return z * sum(given)
tools = Tools()
@functools.singledispatch
def size(thing): return 1.0
@size.register
def _(thing: A): return thing.k * scale
words, flags = {f"k{n}": "abc" for n in range(6000)}, [True, None, "a"]
lazy = types.ModuleType("lazy")
exec('''
k, table = 2.0, {"go": 3.0}
def __getattr__(name):
  if name == "twice": return 2 * k
  if name in table: return table[name]
  raise AttributeError(name)
''', vars(lazy))
of_cache = functools.lru_cache(of_cache)
of_cache(2)
"""
CASES: dict[str, tuple[str, ...]] = {
    "by_names(a)[1][1] * by_names(a)[0]": ("A.k = 3.0", "b.c[1] = 5.0", "b.c = [0.0, 7.0]", "a.inner = None"),
    "by_names(a)[0]": ("by_names = operator.attrgetter('q', 'k')", "a.q = -1.0"),
    "by_item(key)": ("key[1] = 3.0", "by_item = operator.itemgetter(0)", "key = [1.0]"),
    "sorted([a, b], key=operator.attrgetter('k'))[0].k": ("b.k = 1.0", "a.k = 0.5"),
    "by_method(a)": ("A.m = lambda self: 5.0", "a.m = lambda: 6.0", "by_method = operator.methodcaller('m', 1)"),
    "len(h.__annotations__)": ("h.__annotations__['z'] = int", "h.__annotations__ = {}"),
    "float(hasattr(h, 'more'))": ("h.more = 1", "del h.more"),
    "len(B.__name__) + 10.0 * len(a.__name__)": ("B.__name__ = 'Bee'", "type.__dict__['__name__'].__set__(B, 'C')"),
    "len(B.mro())": ("B.mro = lambda *_: [1, 2]",),
    "float(hash(frozenset([('a', 1), ('b', 2)])) == hash(frozenset([('b', 2), ('a', 1)])))": (),
    "Scale(2.0) * Kind(3)": ("Scale = float", "Kind = lambda k: 5.0"),
    "Dice().size": ("Dice.__init__ = lambda self: setattr(self, 'size', 4.0)",),
    "len([*tokenize.tokenize(io.BytesIO(text.encode()).readline)])": ("text = 'u'",),
    "len(ast.parse(text).body)": ("text = 'u; v; u'", "text = ''"),
    "ast.literal_eval('[1, 2.5]')[1]": (),
    "float(inspect.getattr_static(x, 'shape', missing) is missing)": (),
    "float(inspect.getattr_static(a, 'nothing', None) is None)": ("a.nothing = 1", "del a.nothing", "A.nothing = 2"),
    "inspect.getattr_static(a, 'm')(a)": ("A.m = lambda self: 5.0", "B.m = A.m", "a.m = lambda self: 7.0"),
    "inspect.getattr_static(a, 'p').fget(a)": ("A.p = property(lambda self: 8.0)", "B.p = property(lambda s: 9.0)"),
    "inspect.getattr_static(a, 'k')": ("A.k = 5.0", "B.k = 6.0", "a.k = 7.0"),
    "1.0 + np.may_share_memory(u, np.asarray(u))": ("u = w",),
    "1.0 + np.shares_memory(u, u * 2.0)": ("u = w",),
    "1.0 + np.shares_memory(x[:1], x[1:])": (),
    "model.scale()": (
        "model.t = 3.0", "model = Model()", "Model.scale.cache_clear()", "Model.scale = lambda self: 9.0",
        "model.scale = lambda: 7.0",
    ),
    "model.power(3) + Model.half(3)": ("model.t = 3.0", "Model.power.cache_clear()", "Model.half = lambda k: 5.0"),
    "model.power(k=3)": ("model.t = 3.0", "Model.power.cache_clear()", "Model.power = lambda self, k: 4.0"),
    "len(dir(b)) + 0.1 * ('m' in dir(a))": ("b.more = 1", "B.other = 2", "A.third = 3", "del A.m"),
    "len(dir(B))": ("B.other = 2", "A.third = 3", "B.__dir__ = lambda self: []"),
    "len(dir(Dice()))": ("Dice.more = 1", "Dice.__dir__ = lambda self: ['a']"),
    "eval(text, {'u': 1.5, 'v': 2.0})": ("text = 'u'", "text = 'abs(-v)'", "text = '(lambda: u)()'", "text = 'w'"),
    "eval('k * f(2.0)', names)": ("names['k'] = 4.0", "names['f'] = lambda z: z", "scale = 7.0", "del names['k']"),
    "eval(compile('abs(k)', '<text>', 'eval'), names)": ("names['abs'] = lambda z: 5.0", "names = {'k': -2.0}"),
    "eval('k + w', names, {'w': 2.0})": ("names['k'] = 4.0", "names.clear()"),
    "len([*ast.walk(ast.parse(text))])": ("text = 'u'",),
    "len([*tokenize.generate_tokens(io.StringIO(text).readline)])": ("text = 'u'",),
    "float(hash((np.int64(2), scale, 'a')) == hash((np.int64(2), scale, 'a')))": ("scale = -0.0", "scale = 2.5"),
    "str(pathlib.Path('a') / text).count('u')": ("text = 'uu'",),
    "rescale(3.0) * of_cache(2)": ("scale = 1.0; of_cache.cache_clear()", "scale = 0.5; of_cache.cache_clear()"),
    "of_cache(2.0) + len(pair((1, 2.0)))": ("of_cache.cache_clear(); scale = 4.0", "pair.cache_clear(); scale = 0.25"),
    "applied(h) + applied(k=h)": ("h = lambda x: 7.0", "applied.cache_clear()"),
    "typed(2) + typed(2.0, k=3)": ("scale = 2.0", "typed.cache_clear()", "scale = 3.0"),
    "float(inspect.getattr_static(a, '__str__') is object.__str__)": ("a.__str__ = None", "B.__str__ = None"),
    "float(inspect.getattr_static(items, 'append') is list.append)": ("items.append = None", "Items.append = None"),
    "quiet(scale)": ("np.seterr(over='ignore')", "np.seterr(divide='raise')", "np.seterr(all='warn')"),
    "float(np.geterr()['under'] == 'ignore')": ("np.seterr(under='warn')", "np.seterr(under='ignore')"),
    "inspect.getmro(B)[1].k": ("A.k = 3.0", "class Z(A): k = 4.0", "B.__bases__ = (Z,)"),
    "lazy.go * lazy.twice": (
        "lazy.k = 5.0", "lazy.table['go'] = 4.0", "lazy.go = 9.0", "lazy.__getattr__ = lambda name: 7.0",
    ),
    "getattr(lazy, 'none', 2.0) + hasattr(lazy, 'more')": (
        "lazy.none = 5.0", "lazy.table['more'] = 1", "del lazy.__getattr__",
    ),
    "sum(map(len, words.values()))": ("words['k5'] = 'z'", "words['new'] = 'q'", "del words['k7']"),
    "next(iter(words)).count('k')": ("words = dict(reversed(words.items()))", "words = {'kk': 'a'}"),
    "repr(flags).count('True')": ("flags[0] = 1", "flags.append(True)", "flags.reverse()"),
    "int(1e20 * scale) * 1e-20": ("scale = 2.5", "scale = -1.0"),
    "len(tokenize.untokenize([(1, text), (1, 'w')]))": ("text = 'u'",),
    "float(decimal.Decimal(1) / decimal.Decimal(7))": (
        "decimal.getcontext().prec = 4", "decimal.getcontext().rounding = 'ROUND_UP'",
    ),
    "half_up(scale * 3)": ("scale = 2.5", "decimal.getcontext().traps[decimal.Inexact] = True"),
    "hashlib.md5(f'{scale} {k}'.encode()).hexdigest().count('a')": ("scale = 2.5", "k = 7.0"),
    "tools.a()": ("scale = 4.0", "Tools.a = lambda self: 9.0", "Tools.b.__defaults__ = (2.0,)"),
    "h.__defaults__[0] * h.__code__.co_argcount": (
        "h.__defaults__ = (3.0,)", "h.__code__ = (lambda z: z).__code__", "h = lambda x, y=5.0: x",
    ),
    "float(h.__kwdefaults__ is None)": ("h.__kwdefaults__ = {}", "h.__kwdefaults__ = None"),
    "len(a.m.__code__.co_varnames)": ("A.m.__code__ = (lambda self, z=1: z).__code__", "A.m = lambda self, y, z: z"),
    "size(b) + size(k)": (
        "A.k = 3.0", "size.register(B, lambda thing: 7.0)", "size.register(float, lambda thing: 5.0)",
    ),
    "named(np)": ("scale = 4.0", "named.cache_clear()"),
    "of_cache(2)": ("scale = 2.0", "of_cache.cache_clear()", "scale = 3.0", "of_cache = lambda n: 5.0"),
}  # fmt: skip
UNCOMPILED: dict[str, tuple[str, ...]] = {
    "float(hasattr(of_cache, 'more'))": ("of_cache.more = 1", "del of_cache.more"),
    "of_cache.cache_info().currsize": ("of_cache.cache_clear()", "of_cache(3)"),
    "len(dir(h))": ("h.more = 1", "del h.more"),
    "len(dir(a.m))": ("A.m.more = 1",),
    "len(typing.get_type_hints(h))": ("h.__annotations__['z'] = int", "h.__annotations__ = {}"),
}
"""Questions that no guard asks again."""


@pytest.mark.parametrize("body", UNCOMPILED)
def test_what_no_guard_asks_again_is_asked_in_each_call(body: str) -> None:
    check([(HEAD, body, *UNCOMPILED[body])])


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    with np.errstate(), decimal.localcontext():
        yield


@pytest.mark.parametrize("body", CASES)
def test_what_they_ask_is_asked_again(body: str) -> None:
    check([(HEAD, body, *CASES[body])])


@pytest.mark.parametrize("body", CASES)
def test_they_are_compiled(body: str) -> None:
    space, _ = spaces_of(f"{HEAD}\ndef f(x): return np.sum(x * x) * ({body})\n")
    compiled = wg.compile(space["f"], quiet=True)
    compiled(np.ones(2)), compiled(np.ones(2))
    assert "uncompiled" not in compiled.explain(), compiled.explain()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("Dice().rng.normal()", "a generator that it creates without a seed"),
        ("Dice().rng.bit_generator.state['state']['inc'] * 0.0", "reads .bit_generator"),
        ("len(io.BytesIO(str(x).encode()).read())", "BytesIO has no rule"),
        ("hash(frozenset([(1, float(x[0]))])) * 0.0", "hash of a frozenset"),
        ("np.shares_memory(u, w)", "two arrays from outside share memory"),
        ("np.shares_memory(n, n[1:])", "two arrays from outside share memory"),
        ("ast.literal_eval(str(float(x[0])))", "other arguments than constant strings"),
        ("eval('x[0]')", "without dictionaries of names"),
        ("eval('k', None, names)", "without dictionaries of names"),
        ("eval(f'{float(x[0])}', {})", "eval has no rule"),
        ("len([*tokenize.generate_tokens(source.readline)])", "other arguments than constant strings"),
        ("len(io.StringIO(f'{x}').read())", "StringIO has no rule"),
        ("len(np.seterr(over='ignore'))", "other settings of np.seterr than it found"),
        ("tools.b(0.0)", "it reads a list_iterator"),
        ("len(dir())", "it calls dir without an object"),
        ("inspect.getattr_static(a, 'q')", "that its object or metaclass holds"),
    ],
)
def test_what_may_change_unseen_runs_uncompiled(body: str, reason: str) -> None:
    space, _ = spaces_of(f"{HEAD}\ndef f(x): return np.sum(x * x) * ({body})\n")
    compiled = wg.compile(space["f"], quiet=True)
    compiled(np.ones(2)), compiled(np.ones(2))
    assert reason in compiled.explain(), compiled.explain()


def test_numbers_that_a_rule_takes_as_constants_are_guarded() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    settings = {"beyond": 0.5}

    def f(x):
        return np.sum(x * ndimage.convolve(x, np.ones(3), mode="constant", cval=2.0 * settings["beyond"]))

    compiled, x = wg.compile(wg.grad(f), quiet=True), np.arange(5.0)
    for beyond in (0.5, 0.5, 0.25, np.float64(0.25), -0.0, 0.0):
        settings["beyond"] = beyond
        np.testing.assert_array_equal(compiled(x), wg.grad(f)(x))
    assert "uncompiled" not in compiled.explain()


def test_an_argument_that_a_rule_takes_as_a_constant_has_no_silent_derivative() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    compiled = wg.compile(lambda x, c: np.sum(x * ndimage.convolve(x, np.ones(3), cval=c, mode="constant")), quiet=True)
    assert compiled(np.arange(3.0), 0.5) == compiled(np.arange(3.0), 0.5)
    with pytest.raises(wg.NoRuleError, match="'cval'"):
        wg.grad(compiled, argnums=1)(np.arange(3.0), 0.5)


def test_warnings_that_types_decide_may_be_errors() -> None:
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            try:
                return np.sum(np.asarray(x, dtype=float) ** 2)
            except np.exceptions.ComplexWarning:
                return 1.0

    compiled = wg.compile(f, quiet=True)
    assert [compiled(np.array([2.0])), compiled(np.array([3.0])), compiled(np.array([1j]))] == [4.0, 9.0, 1.0]
    assert "uncompiled" not in compiled.explain()


OF_CACHES = {
    "print('filled'); return 2.0": "cached()",
    "return np.ones(3)": "cached()[0]; cached()[0] += 1.0",
    "return float(len(io.StringIO('abc').read()))": "cached()",
    "return {'k': [1.0]}": "cached()['k'][0]; cached()['k'].append(x)",
}


@pytest.mark.parametrize("body", OF_CACHES)
def test_a_cache_is_filled_once_and_read_as_by_the_plain_one(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, _, second = OF_CACHES[body].partition("; ")
    spaces = spaces_of(
        f"import functools, io\n@functools.cache\ndef cached():\n  {body}\n"
        f"def f(x):\n  y = {first} * x\n  {second or 'pass'}\n  return y\n"
    )
    compiled = wg.compile(wg.value_and_grad(spaces[0]["f"]), quiet=True)
    for x in (1.0, 2.0, 3.0, 4.0):
        assert compiled(x)[0] == spaces[1]["f"](x)
    assert [space["cached"].cache_info().misses for space in spaces] == [1, 1]
    assert repr(spaces[0]["cached"]()) == repr(spaces[1]["cached"]())
    assert capsys.readouterr().out.count("filled") in (0, 2)
    assert "uncompiled" not in compiled.explain() or "append" in second


def test_examples_whose_error_is_caught_decide_in_each_call() -> None:
    def logarithm(x):
        try:
            return math.log(x)
        except ValueError:
            return 3.0 * x

    batched = wg.vmap(logarithm)
    compiled, tape = wg.compile(batched, quiet=True), wg.trace(batched, np.array([-1.0, -2.0]))[1]
    np.testing.assert_array_equal(compiled(np.array([-1.0, -2.0])), [-3.0, -6.0])
    np.testing.assert_allclose(compiled(np.array([3.0, 2.0])), np.log([3.0, 2.0]))
    with pytest.raises(wg.StaleTapeError):
        tape.play(np.array([3.0, 2.0]))


CALLS_OF_CACHES = """
import functools
log = []
@functools.cache
def cached(n):
  log.append(n)
  if broken: raise ValueError
  return 2.0
broken = False
def f(x):
  if x > 0.0: return x * cached(2)
  return -x
"""


def test_a_guard_runs_no_function_whose_cache_is_empty() -> None:
    space, plain = spaces_of(CALLS_OF_CACHES)
    compiled = wg.compile(space["f"], quiet=True)
    for x in (1.0, 1.0, -1.0, -1.0, 2.0):
        assert compiled(x) == plain["f"](x)
    assert space["log"] == plain["log"] == [2]
    space["cached"].cache_clear()
    space["broken"] = True
    assert compiled(-1.0) == 1.0
    assert space["log"] == [2]
    with pytest.raises(ValueError, match=r"^$"):
        compiled(1.0)


def test_a_cache_may_be_cleared_often() -> None:
    space, plain = spaces_of(CALLS_OF_CACHES)
    compiled = wg.compile(space["f"], quiet=True)
    for k in range(30):
        assert compiled(1.0 + k) == plain["f"](1.0 + k)
        if k % 2:
            space["cached"].cache_clear(), plain["cached"].cache_clear()
    assert space["log"] == plain["log"] and "uncompiled" not in compiled.explain()


def test_an_object_that_is_called_is_asked_for_no_attribute() -> None:
    class Asked:
        names: list[str] = []  # noqa: RUF012

        def __call__(self, x: float) -> float:
            return x * x

        def __getattr__(self, name: str) -> float:
            self.names.append(name)
            raise AttributeError(name)

    compiled, asked = wg.compile(wg.grad(lambda x: asked(x))), Asked()
    assert [compiled(x) for x in (2.0, 3.0)] == [4.0, 6.0]
    assert not Asked.names
