"""Caches that outlive a call: the derivative is right, or a warning names the line; what is no cache is silent."""

# ruff: noqa: B006, RUF012 (caches as they are found in the wild)

from __future__ import annotations

import bisect
import collections
import functools
import math
import operator
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize._optimize import MemoizeJac

import wengert as wg

MAKERS: dict[str, Callable[[], Callable[[Any], Any]]] = {}
ARRAYS: dict[str, Callable[[], Callable[[Any], Any]]] = {}
GLOBAL: dict[Any, Any] = {}


def number(make: Any) -> Any:
    MAKERS[make.__name__] = make
    return make


def array(make: Any) -> Any:
    ARRAYS[make.__name__] = make
    return make


def keyed_by(name: str, key: Callable[[Any], Any]) -> None:
    def make() -> Callable[[Any], Any]:
        memo: dict[Any, Any] = {}

        def f(x: Any) -> Any:
            k = key(x)
            if k not in memo:
                memo[k] = x**3
            return memo[k]

        return f

    MAKERS[name] = make


@dataclass(frozen=True)
class Key:
    x: Any


Named = collections.namedtuple("Named", "x what")

keyed_by("by the number", lambda x: x)
keyed_by("by a tuple", lambda x: (x, "a"))
keyed_by("by a nested tuple", lambda x: (("a", x), 1))
keyed_by("by a named tuple", lambda x: Named(x, "a"))
keyed_by("by a frozen object", lambda x: Key(x))
keyed_by("by its text", lambda x: str(x))
keyed_by("by its repr", lambda x: repr(x))
keyed_by("by a formatted text", lambda x: f"{x:.12g}")
keyed_by("by a text in a tuple", lambda x: f"key {x}")
keyed_by("by what was made from it", lambda x: 2 * x + 1)
keyed_by("by what was rounded", lambda x: round(x, 9))
keyed_by("by what NumPy rounded", lambda x: np.round(x, 9))
keyed_by("by a NumPy number", lambda x: np.float64(1.0) * x)
keyed_by("by float()", lambda x: float(x))


class ByItself:
    """A key that reads what it is compared with."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: Any) -> bool:
        return self.x == other.x

    def __hash__(self) -> int:
        return hash(self.x)


keyed_by("by an object of its own equality", lambda x: ByItself(x))
keyed_by("by a frozen set", lambda x: frozenset({("x", x)}))


@number
def asked_for_forgiveness() -> Any:
    memo: dict[Any, Any] = {}

    def f(x):
        try:
            return memo[x]
        except KeyError:
            memo[x] = x**3
            return memo[x]

    return f


@number
def got() -> Any:
    memo: dict[Any, Any] = {}

    def f(x):
        value = memo.get(x)
        if value is None:
            value = memo[x] = x**3
        return value

    return f


@number
def set_as_default() -> Any:
    memo: dict[Any, Any] = {}
    return lambda x: memo.setdefault(x, x**3)


@number
def ordered() -> Any:
    memo: Any = collections.OrderedDict()

    def f(x):
        if x in memo:
            memo.move_to_end(x)
            return memo[x]
        memo[x] = x**3
        if len(memo) > 3:
            memo.popitem(last=False)
        return memo[x]

    return f


@number
def made_when_missing() -> Any:
    class Memo(dict):
        def __missing__(self, x):
            self[x] = x**3
            return self[x]

    memo = Memo()
    return lambda x: memo[x]


@number
def of_a_user_dict() -> Any:
    memo: Any = collections.UserDict()

    def f(x):
        if x not in memo:
            memo[x] = x**3
        return memo[x]

    return f


@number
def in_two_lists() -> Any:
    xs: list[Any] = []
    ys: list[Any] = []

    def f(x):
        if x in xs:
            return ys[xs.index(x)]
        xs.append(x)
        ys.append(x**3)
        return ys[-1]

    return f


@number
def in_a_list_of_pairs() -> Any:
    pairs: list[Any] = []

    def f(x):
        for key, value in pairs:
            if key == x:
                return value
        pairs.append((x, x**3))
        return pairs[-1][1]

    return f


@number
def in_order() -> Any:
    xs: list[Any] = []
    ys: list[Any] = []

    def f(x):
        place = bisect.bisect_left(xs, x)
        if place == len(xs) or xs[place] != x:
            xs.insert(place, x)
            ys.insert(place, x**3)
        return ys[place]

    return f


@number
def in_an_array() -> Any:
    kept = np.full(2, np.nan)

    def f(x):
        if kept[0] != x:
            kept[0], kept[1] = x, x**3
        return kept[1]

    return f


@number
def in_a_table_of_numbers() -> Any:
    xs, ys = np.full(4, np.nan), np.full(4, np.nan)

    def f(x):
        hit = np.where(xs == x)[0]
        if len(hit):
            return ys[hit[0]]
        xs[0], ys[0] = x, x**3
        return ys[0]

    return f


@number
def in_a_set_and_a_list() -> Any:
    seen: set[Any] = set()
    last: list[Any] = [None]

    def f(x):
        if x not in seen:
            seen.add(x)
            last[0] = x**3
        return last[0]

    return f


@number
def of_the_module() -> Any:
    GLOBAL.clear()

    def f(x):
        if x not in GLOBAL:
            GLOBAL[x] = x**3
        return GLOBAL[x]

    return f


@number
def of_a_helper() -> Any:
    GLOBAL.clear()
    return lambda x: 1.0 * _helper(x)


def _helper(x: Any) -> Any:
    if x not in GLOBAL:
        GLOBAL[x] = x**3
    return GLOBAL[x]


@number
def of_a_decorator() -> Any:
    def memoized(f):
        memo: dict[Any, Any] = {}

        @functools.wraps(f)
        def wrapper(*args):
            if args not in memo:
                memo[args] = f(*args)
            return memo[args]

        return wrapper

    return memoized(lambda x: x**3)


@number
def of_a_default() -> Any:
    def f(x, memo={}):
        if x not in memo:
            memo[x] = x**3
        return memo[x]

    return f


@number
def of_a_variable_outside() -> Any:
    key = value = None

    def f(x):
        nonlocal key, value
        if key != x:
            key, value = x, x**3
        return value

    return f


@number
def of_an_attribute_of_the_function() -> Any:
    def f(x):
        if getattr(f, "key", None) != x:
            f.key, f.value = x, x**3
        return f.value

    return f


@number
def about_equal() -> Any:
    kept: list[Any] = []

    def f(x):
        if not kept or not math.isclose(kept[0], x):
            kept[:] = [x, x**3]
        return kept[1]

    return f


@number
def by_the_operator() -> Any:
    kept: list[Any] = [None, None]

    def f(x):
        if not operator.eq(kept[0], x):
            kept[:] = [x, x**3]
        return kept[1]

    return f


class OfAnObject:
    store: dict[Any, Any] = {}

    def __init__(self):
        self._key = self._value = None

    def __call__(self, p):
        if self._key is None or self._key != p:
            self._key, self._value = p, p**3
        return self._value

    def equal(self, p):
        if self._key == p:
            return self._value
        self._key, self._value = p, p**3
        return self._value


class OfSlots:
    __slots__ = ("key", "value")

    def __init__(self):
        self.key = None

    def __call__(self, p):
        if self.key != (p, 2):
            self.key, self.value = (p, 2), p**3
        return self.value


MAKERS["object"] = OfAnObject
MAKERS["slots"] = OfSlots
MAKERS["bound method"] = lambda: OfAnObject().equal
MAKERS["object in a closure"] = lambda: (lambda model: lambda x: model(x))(OfAnObject())
MAKERS["object in a partial"] = lambda: functools.partial(lambda model, x: model(x), OfAnObject())


@number
def of_the_class() -> Any:
    OfAnObject.store = {}

    def f(x):
        if x not in OfAnObject.store:
            OfAnObject.store[x] = x**3
        return OfAnObject.store[x]

    return f


def arrays_kept(name: str, differs: Callable[[Any, Any], Any], keep: Callable[[Any], Any]) -> None:
    class Kept:
        x: Any = None

        def __call__(self, x: Any) -> Any:
            if self.x is None or differs(x, self.x):
                self.x, self.value = keep(x), np.sum(x**3)
            return self.value

    ARRAYS[name] = Kept


arrays_kept("array_equal", lambda x, y: not np.array_equal(x, y), lambda x: x.copy())
arrays_kept("all", lambda x, y: not np.all(x == y), lambda x: np.array(x))
arrays_kept("any", lambda x, y: np.any(x != y), lambda x: 1.0 * x)
arrays_kept("method any", lambda x, y: (x != y).any(), lambda x: np.copy(x))
arrays_kept("method all", lambda x, y: not (x == y).all(), lambda x: x + 0.0)
arrays_kept("allclose", lambda x, y: not np.allclose(x, y), lambda x: x.copy())
arrays_kept("isclose", lambda x, y: not np.isclose(x, y).all(), lambda x: x.copy())
arrays_kept("np.equal", lambda x, y: not np.equal(x, y).all(), lambda x: x.copy())
arrays_kept("tuple", lambda x, y: tuple(x) != y, lambda x: tuple(x))
arrays_kept("list", lambda x, y: list(x) != y, lambda x: list(x))
arrays_kept("by items", lambda x, y: any(a != b for a, b in zip(x, y, strict=True)), lambda x: x.copy())
arrays_kept("isin", lambda x, y: not np.isin(x, y).all(), lambda x: x.copy())


@array
def by_a_tuple() -> Any:
    memo: dict[Any, Any] = {}

    def f(x):
        key = tuple(x)
        if key not in memo:
            memo[key] = np.sum(x**3)
        return memo[key]

    return f


@array
def by_a_tuple_of_rounded_numbers() -> Any:
    memo: dict[Any, Any] = {}

    def f(x):
        key = tuple(np.round(x, 9))
        if key not in memo:
            memo[key] = np.sum(x**3)
        return memo[key]

    return f


@array
def memoize_jac() -> Any:
    return MemoizeJac(lambda x: (np.sum(x**3), None))


FIRST: dict[str, Callable[[Any, Any], Any]] = {
    "a plain call": lambda f, x: f(x),
    "a gradient": lambda f, x: wg.grad(f)(x),
    "a pullback": lambda f, x: wg.vjp(f, x)[1](1.0),
    "a tape": lambda f, x: wg.gradtape(f, x),
}
CASES = [(name, make, 1.7) for name, make in MAKERS.items()]
CASES += [(name, make, np.array([1.7, -2.0])) for name, make in ARRAYS.items()]


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize(("name", "make", "x"), CASES, ids=[name for name, _, _ in CASES])
def test_a_cache_is_told_with_its_line(name: str, make: Any, x: Any, first: str) -> None:
    f = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh = wg.grad(make())(x)
    np.testing.assert_allclose(fresh, 3 * x**2, rtol=1e-12)
    FIRST[first](f, x)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        value, gradient = wg.value_and_grad(lambda x: f(x) + np.sum(x**2))(x)
    assert value == f(x) + np.sum(x**2)
    lines = [w for w in told if issubclass(w.category, wg.CacheWarning)]
    assert lines or np.allclose(gradient, 3 * x**2 + 2 * x)
    assert all("test_caches.py:" in str(w.message) for w in lines)


ASKING: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: wg.grad(f)(x),
    "at once": lambda f, x: wg.grad(f, x),
    "vjp": lambda f, x: wg.vjp(f, x),
    "tape": lambda f, x: wg.gradtape(f, x),
    "trace": lambda f, x: wg.trace(f, x),
    "nested": lambda f, x: wg.grad(lambda y: y * wg.grad(f)(x))(1.0),
    "twice": lambda f, x: wg.grad(wg.grad(f))(x),
}


@pytest.mark.parametrize("asking", ASKING)
def test_every_derivative_tells_it(asking: str) -> None:
    f = OfAnObject()
    f(1.7)
    with pytest.warns(wg.CacheWarning):
        ASKING[asking](lambda x: x + f(x), 1.7)


def test_a_cache_of_another_value_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _, make, x in CASES:
            f = make()
            f(x)
            np.testing.assert_allclose(wg.grad(f)(x + 1.0), 3 * (x + 1.0) ** 2, rtol=1e-12)


# What is no cache

EDGE = 2.0
SILENT: dict[str, Callable[[Any], Any]] = {
    "a literal": lambda x: x * 3 if x == 2.0 else x,
    "a literal on the left": lambda x: x * 3 if 2.0 == x else x,
    "a whole number": lambda x: x * 3 if x == 2 else x,
    "a whole number that is counted elsewhere too": lambda x: _counted(x),
    "a named literal": lambda x: _named(x),
    "a tuple of literals": lambda x: x * 3 if x in (1.0, 2.0) else x,
    "a set of literals": lambda x: x * 3 if x in {1.0, 2.0} else x,
    "a table inside": lambda x: {1.0: 1.0, 2.0: 3.0}[x] * x,
    "a grid inside": lambda x: _grid(x),
    "a cache inside": lambda x: _inside(x),
    "its own last value": lambda x: _iterated(x),
    "itself": lambda x: x * 3 if x == x else x,
    "its double": lambda x: x * 3 if x + x == 2 * x else x,
    "a match": lambda x: _matched(x),
    "a rounded one": lambda x: x * 3 if round(x, 2) == 2.0 else x,
}


COUNTS = {"calls": 2}


def _counted(x: Any) -> Any:
    COUNTS["calls"] += 0
    return x * 3 if x == 2 else x


def _named(x: Any) -> Any:
    edge = 2.0
    return x * 3 if x == edge else x


def _grid(x: Any) -> Any:
    total = x * 0.0
    nodes = np.linspace(0.0, 4.0, 5)
    for node in nodes:
        if x == node:
            total = total + x * 3
    return total if x in list(nodes) else x


def _inside(x: Any) -> Any:
    memo: dict[Any, Any] = {}
    for _ in range(3):
        if x not in memo:
            memo[x] = x * x
    return memo[x]


def _iterated(x: Any) -> Any:
    old = None
    while x != old:
        old, x = x, 0.5 * (x + 2.0 / x)
    return x


def _matched(x: Any) -> Any:
    match x:
        case 2.0:
            return x * 3
        case _:
            return x


@pytest.mark.parametrize("name", SILENT)
def test_what_is_no_cache_is_silent(name: str) -> None:
    f = SILENT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (2.0, np.float64(2.0)):
            wg.grad(f)(x)
            wg.grad(f)(x)
            wg.gradtape(f, x)
            wg.grad(wg.grad(f))(x)


def test_arguments_that_are_equal_are_no_cache() -> None:
    def kernel(x: Any, y: Any) -> Any:
        return np.sum(x * y) + (1.0 if np.array_equal(x, y) else 0.0)

    x = np.array([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(wg.grad(kernel)(x, x.copy()), x)
        assert wg.grad(lambda x, y: x * 3 if x == y else y)(2.0, 2.0) == 3.0


def test_a_cache_of_the_library_starts_anew() -> None:
    f = functools.lru_cache(lambda x: x**3)
    f(1.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.grad(f)(1.7) == wg.grad(f)(1.7) == pytest.approx(3 * 1.7**2)


def test_comparing_what_holds_the_same_many_times_ends() -> None:
    """Ten ways on, nine times: Python looks at ten of the 10^9, for parts that are the same object."""

    def f(x: Any) -> Any:
        parts: tuple[Any, ...] = (x * 3,)
        for _ in range(9):
            parts = (parts,) * 10
        return x * 2 if parts == (*parts,) else x

    assert wg.grad(f)(1.5) == 2.0


def named() -> Any:
    """A class one of whose methods reaches a cache of many numbers, and its functions that are cached."""
    cached = functools.lru_cache(maxsize=None)(lambda k: (k, (k,)))
    for k in range(20_000):
        cached(k)

    class Named:
        def __str__(self) -> str:
            return str(cached(3)[0])

    return Named, cached


def test_what_a_cache_of_the_library_keeps_is_not_searched() -> None:
    """It is from before the trace."""
    assert wg.grad(lambda x, a: x * float(str(a)))(2.0, named()[0]()) == 3.0


def test_what_a_cached_function_reads_is_searched() -> None:
    def f(x: Any) -> Any:
        y = x * x
        return float(re.sub("a", functools.lru_cache(lambda _: str(float(y))), "a"))  # which C calls

    with pytest.raises(wg.WengertError):
        wg.grad(f)(2.0)


# What is no cache, though the code stores items and reads constants


SPOT, STRIKES, TIMES = np.float64(1.0), np.array([1.0, 1.1]), np.linspace(0.0, 1.0, 5)
DRAWS, POINT = np.random.default_rng(0).normal(size=(50, 4)), np.array([1.0, 0.2])
SEEN = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
COUNTED: dict[str, int] = {}


def _paths(s: Any) -> Any:
    paths = np.zeros((50, 5))
    paths[:, 0] = s[0]
    for k in range(4):
        paths[:, k + 1] = paths[:, k] * np.exp(s[1] * DRAWS[:, k])
    return np.mean(np.where(paths[:, 0] == SPOT, np.maximum(paths[:, -1] - STRIKES[0], 0.0), 0.0))


def _strikes(s: Any) -> Any:
    found = np.zeros(2)
    for k in range(2):
        payoff = np.mean(np.maximum(s[0] * np.exp(s[1] * DRAWS[:, 0]) - STRIKES[k], 0.0))
        if s[0] == STRIKES[k]:
            payoff = s[0]
        found[k] += payoff
    return found.sum()


class _Simulation:
    def __init__(self, strike: Any) -> None:
        self.strike, self.paths = strike, None

    def price(self, s: Any) -> Any:
        paths = [s[0]]
        for k in range(4):
            paths.append(paths[-1] * np.exp(s[1] * DRAWS[:, k]))
        self.paths = paths
        payoff = np.maximum(paths[-1] - self.strike, 0.0)
        return np.mean(paths[-1]) if np.all(paths[0] == self.strike) else np.mean(payoff)


def _times(s: Any) -> Any:
    found = np.empty(5)
    for k in range(5):
        found[k] = s[0] * TIMES[k]
    return np.sum(np.where(found == TIMES, found, 2.0 * found))


def _counting_strikes(s: Any) -> Any:
    total = 0.0
    for strike in STRIKES:
        if s[0] == strike:
            total = total + 0.0 * s[0]
        COUNTED["calls"] = COUNTED.get("calls", 0) + 1
        total = total + np.mean(np.maximum(s[0] - strike, 0.0))
    return total


def _levels(s: Any) -> Any:
    above = {}
    for k in range(5):
        above[k] = float(s[0] > TIMES[k])
    return s[0] * np.isclose(s[0], TIMES).sum() * sum(above.values())


def _hierarchy(p: Any) -> Any:
    scale = np.exp(p[1])
    prior = stats.norm.logpdf(p[0], 0.0, 5.0) + stats.halfcauchy.logpdf(scale, scale=5.0) + p[1]
    return prior + np.sum(stats.norm.logpdf(SEEN, loc=stats.norm.mean(loc=p[0]), scale=scale))


def _frozen_distributions(p: Any) -> Any:
    prior, of_data = stats.norm(0.0, 1.0), stats.norm(p[0], np.exp(p[1]))
    return prior.logpdf(p[0]) + prior.logpdf(p[1]) + np.sum(of_data.logpdf(SEEN))


def _many_distributions(p: Any) -> Any:
    scale = np.exp(p[1])
    some = stats.gamma.logpdf(scale, 2.0) + stats.beta.logpdf(0.3, np.exp(p[0]), 2.0) + stats.t.logpdf(p[0], 3)
    more = stats.expon.logpdf(scale) + stats.lognorm.logpdf(np.exp(p[0]), 1.0) + stats.poisson.logpmf(3, scale)
    return some + more + stats.uniform.logpdf(p[0], 0.0, 1.0) + stats.multivariate_normal.logpdf(p, np.zeros(2))


NO_CACHES: dict[str, Callable[[Any], Any]] = {
    "paths": _paths,
    "strikes": _strikes,
    "a simulation": _Simulation(1.0).price,
    "a simulation with a number of NumPy's": _Simulation(np.float64(1.0)).price,
    "times": _times,
    "counted calls": _counting_strikes,
    "levels": _levels,
    "a hierarchy": _hierarchy,
    "frozen distributions": _frozen_distributions,
    "many distributions": _many_distributions,
}


@pytest.mark.parametrize("name", NO_CACHES)
def test_constants_that_a_value_happens_to_equal_are_silent(name: str) -> None:
    f = NO_CACHES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", wg.CacheWarning)
        for g in (wg.grad(f), wg.compile(wg.grad(f)), wg.compile(f), wg.value_and_grad(f)):
            for _ in range(3):
                g(POINT)
                f(POINT)
        wg.gradtape(f, POINT)


STORES: dict[str, Callable[[], Callable[[Any], Any]]] = {}


def stores(make: Any) -> Any:
    STORES[make.__name__] = make
    return make


@stores
def by_an_alias() -> Any:
    kept = np.full(2, np.nan)

    def f(x):
        row = kept
        if row[0] != x:
            row[0], row[1] = x, x**3
        return row[1]

    return f


@stores
def by_one_of_two_names() -> Any:
    kept, other = np.full(2, np.nan), np.zeros(2)

    def f(x):
        row = kept if x > 0 else other
        if row[0] != x:
            row[:] = x, x**3
        return row[1]

    return f


@stores
def in_a_part_of_a_new_list() -> Any:
    kept = np.full(2, np.nan)

    def f(x):
        rows = [kept]
        if rows[0][0] != x:
            rows[0][0], rows[0][1] = x, x**3
        return rows[0][1]

    return f


@stores
def in_place() -> Any:
    kept = np.zeros(2)

    def f(x):
        if kept[0] != x:
            row = kept
            row -= kept
            row += np.array([x, x**3])
        return kept[1]

    return f


@stores
def in_a_row_of_a_copied_list() -> Any:
    kept = [np.full(2, np.nan)]

    def f(x):
        rows = list(kept)
        if rows[0][0] != x:
            rows[0][:] = [x, x**3]
        return rows[0][1]

    return f


@stores
def by_a_function_that_gives_it() -> Any:
    kept = np.full(2, np.nan)

    def get():
        return kept

    def f(x):
        row = get()
        if row[0] != x:
            row[:] = [x, x**3]
        return row[1]

    return f


@stores
def by_an_argument() -> Any:
    kept = np.full(2, np.nan)

    def put(row, x):
        row[0], row[1] = x, x**3

    def f(x):
        if kept[0] != x:
            put(kept, x)
        return kept[1]

    return f


@stores
def in_a_loop() -> Any:
    kept = [np.full(2, np.nan)]

    def f(x):
        for row in kept:
            if row[0] != x:
                row[0], row[1] = x, x**3
        return kept[0][1]

    return f


@stores
def in_a_variable_that_was_new() -> Any:
    kept = np.full(2, np.nan)

    def f(x):
        row = np.zeros(2)
        if x > 0:
            row = kept
        if row[0] != x:
            row[0], row[1] = x, x**3
        return row[1]

    return f


@pytest.mark.parametrize("name", STORES)
def test_a_cache_that_items_are_stored_into_is_told(name: str) -> None:
    f = STORES[name]()
    f(1.7)
    with pytest.warns(wg.CacheWarning):
        wg.grad(lambda x: f(x) + x)(1.7)


@pytest.mark.parametrize(("name", "make", "x"), CASES, ids=[name for name, _, _ in CASES])
def test_a_cache_is_told_in_compiled_derivatives(name: str, make: Any, x: Any) -> None:
    f = make()
    f(x)
    g = wg.compile(wg.grad(lambda x: f(x) + np.sum(x**2)))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gradient = g(x)
    is_told = any([issubclass(w.category, wg.CacheWarning) for w in told])
    assert is_told or np.allclose(gradient, 3 * x**2 + 2 * x)
