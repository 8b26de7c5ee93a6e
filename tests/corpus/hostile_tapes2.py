"""Programs that decide through the standard library, NumPy, C code and rules: a tape follows, or is stale."""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import array
import bisect
import calendar
import cmath
import collections
import contextvars
import dataclasses
import datetime
import enum
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import pprint
import queue
import random
import reprlib
import statistics
import string
import textwrap
import types
import warnings

import numpy as np
import scipy.linalg
import scipy.special
from decision_table import Decisions

import wengert as wg

decides = Decisions()

A = np.array


@dataclasses.dataclass(order=True)
class Item:
    score: float
    name: str


@functools.total_ordering
class Total:
    def __init__(s, v):
        s.v = v

    def __eq__(s, o):
        return s.v == o.v

    def __lt__(s, o):
        return s.v < o.v


class Less:
    def __init__(s, v, w):
        s.v, s.w = v, w

    def __lt__(s, o):
        return s.v < o.v


@functools.singledispatch
def disp(v):
    return 3.0


@disp.register
def _(v: complex):
    return 5.0


decides.each(
    "std",
    A([1.0, 2.0, 0.5]),
    A([2.5, 0.25, 1.5]),
    A([1.0, 2.0, 0.52]),
    lambda x: (lambda d: x[0] * ord(max(d, key=d.get)))({"a": x[0], "b": x[1], "c": x[2]}),
    lambda x: (lambda d: x[0] * ord(sorted(d, key=d.get)[0]))({"a": x[0], "b": x[1], "c": x[2]}),
    lambda x: (lambda d: x[0] * ord(min(d.items(), key=operator.itemgetter(1))[0]))({"a": x[0], "b": x[1], "c": x[2]}),
    lambda x: x[0] * ord("".join(n for _, n in sorted(zip(x, "abc")))[0]),
    lambda x: x[0] * ord(min(Item(v, n) for v, n in zip(x, "abc")).name),
    lambda x: x[0] * ord(sorted([Item(v, n) for v, n in zip(x, "abc")])[0].name),
    lambda x: x[0] * (3 if Total(x[0]) >= Total(x[1]) else 4),
    lambda x: x[0] * sorted([Less(v, w) for v, w in zip(x, (3.0, 4.0, 5.0))])[0].w,
    lambda x: (lambda h: (heapq.heapify(h), x[0] * heapq.heappop(h)[1])[1])(
        [(v, w) for v, w in zip(x, (3.0, 4.0, 5.0))]
    ),
    lambda x: (lambda h: ([heapq.heappush(h, (v, w)) for v, w in zip(x, (3.0, 4.0, 5.0))], x[0] * h[0][1])[1])([]),
    lambda x: (lambda h: (bisect.insort(h, x[0]), h.index(x[0]) * x[1] + x[1])[1])([0.1, 1.1, 2.1]),
    lambda x: (lambda h: (bisect.insort_left(h, (x[0], 7.0)), h[-1][1] * x[1])[1])([(0.1, 1.0), (1.3, 2.0)]),
    lambda x: bisect.bisect([0.1, 1.3], x[0], key=lambda v: v * 1.0) * x[1],
    lambda x: bisect.bisect_left([Less(0.1, 1), Less(1.3, 1)], Less(x[0], 1)) * x[1],
    lambda x: x[0] * collections.Counter(round(1.1 * v) for v in x).most_common(1)[0][0] + x[0],
    lambda x: x[0] * len(collections.Counter(int(v) for v in x)),
    lambda x: (
        x[0] * len(list(itertools.groupby(x, key=np.sign))) + len(list(itertools.groupby(x, lambda v: int(v)))) * x[1]
    ),
    lambda x: (
        x[0] * len(list(itertools.filterfalse(lambda v: v > 0.9, x)))
        + len(list(itertools.filterfalse(functools.partial(operator.gt, 1.9), x))) * x[1]
    ),
    lambda x: sum(itertools.takewhile(functools.partial(operator.gt, 1.3), x)) + x[2],
    lambda x: [*itertools.accumulate(x, lambda a, b: a if a > b else b * 2)][-1],
    lambda x: [*itertools.accumulate(x, max)][-1] * x[0],
    lambda x: x[0] * len([*itertools.islice(itertools.count(), int(x[0] * 2))]),
    lambda x: x[0] * sum(1 for a, b in itertools.pairwise(x) if a < b),
    lambda x: x[0] * sum(map(operator.lt, x, x[1:])),
    lambda x: x[0] * disp(float(x[0] - 2) ** 0.5),
    lambda x: x[0] * statistics.median_low([*x]) + statistics.quantiles([*x])[0],
    lambda x: (lambda s: ([s.setdefault(v > 0.9, []).append(v) for v in x], sum(s[True]) * len(s))[1])({}),
    lambda x: (lambda o: (o.move_to_end("b" if x[0] > x[1] else "a"), x[0] * ord(next(iter(o))))[1])(
        collections.OrderedDict(a=1, b=2, c=3)
    ),
    lambda x: (lambda d: x[0] * len(d) * next(iter(d)))(dict.fromkeys([int(x[1]), int(x[0]), 7])),
    lambda x: (lambda s: (s.add(int(x[0])), x[0] * len(s))[1])({1, 2}) + (x[0] if int(x[1]) in {0} else 0.0),
    lambda x: (lambda s: (s.update(int(v) for v in x), x[0] * len(s))[1])({3}),
    lambda x: x[0] * len({int(v) for v in x} | {0}) + x[0] * len({*map(int, x)} & {1, 2, 9}),
    lambda x: x[0] * (3 if {int(v) for v in x} == {0, 1, 2} and int(x[0]) == 1 else 4),
    lambda x: x[0] * (3 if {int(v): 1 for v in x} == {1: 1, 2: 1, 0: 1} and x[0] < x[1] else 4),
    lambda x: x[0] * len({tuple(map(int, x)): 1, (1, 2, 0): 2}),
    lambda x: x[0] * {frozenset(map(int, x[:2])): 3.0}.get(frozenset([1, 2]), 4.0),
    lambda x: x[0] * {(bool(x[0] > 2), int(x[1])): 3.0}.get((False, 2), 4.0),
    lambda x: x[0] * int.bit_length(int(x[0])) + int(x[1]).bit_count() * x[1],
    lambda x: x[0] * len(bin(int(x[0] * 3))) + int(x[0]).to_bytes(2, "big")[1],
    lambda x: x[0] * int("11", int(x[0]) + 1 + 1),
    lambda x: x[0] * len("%.*f" % (int(x[0]), 1.234)),
    lambda x: x[0] * len(f"{1.2345:.{int(x[0])}f}"),
    lambda x: x[0] * len(f"{1:>{int(x[0])}}") + len(f"{'a':{'<' if x[0] > 2 else '>'}5}"),
    lambda x: x[0] * round(1.23456, int(x[0])),
    lambda x: x[0] * pow(3, int(x[0]), 7),
    lambda x: x[0] * math.isqrt(int(x[0] * 4)),
    lambda x: x[0] * math.perm(5, int(x[0])),
    lambda x: x[0] * len(collections.deque([1, 2, 3], maxlen=int(x[0]))),
    lambda x: x[0] * sum(heapq.nlargest(int(x[0]), [1.0, 2.0, 4.0])),
    lambda x: x[0] * sum(range(0, 9, int(x[0]))),
    lambda x: x[0] * range(3, 20, 3)[int(x[0])],
    lambda x: x[0] * len(textwrap.wrap("a b c d", int(x[0]) + 1)),
    lambda x: x[0] * random.Random(int(x[0])).random(),
    lambda x: x[0] * random.Random(float(x[0])).random(),
    lambda x: x[0] * np.random.default_rng(int(x[0])).random(),
    lambda x: x[0] * np.random.RandomState(int(x[0])).rand(),
    lambda x: x[0] * (3 if np.random.default_rng(3).random() * 2 < x[0] else 4),
    lambda x: x[0] * (3 if random.Random(3).random() * 4 < x[0] else 4),
    lambda x: x[0] * random.Random(3).choices([3.0, 4.0, 5.0], weights=[*x])[0],
    lambda x: x[0] * np.random.default_rng(0).choice([3.0, 4.0, 5.0], p=x / x.sum()),
    lambda x: x[0] * np.random.default_rng(0).poisson(x[0]),
    lambda x: x[0] * np.random.default_rng(0).binomial(10, x[2] / 3),
    lambda x: x[0] * np.random.default_rng(0).multinomial(10, x / x.sum())[0],
    lambda x: x[0] * np.random.default_rng(0).integers(0, int(x[0] * 10)),
    lambda x: x[0] * [3.0, 4.0, 5.0][int(np.random.default_rng(0).random() * x[0] * 2) % 3],
)

# -- NumPy: lengths, kinds, texts, masks, integers

F = [(lambda v: v * 3), (lambda v: v * v)]
decides.each(
    "np",
    A([1.0, 2.0, 0.5]),
    A([2.5, 0.25, 1.5]),
    A([1.0, 2.0, 0.52]),
    lambda x: x[0] * np.where(x > 1.4)[0].size + x[0] * np.where(x > 1.4)[0][0],
    lambda x: np.arange(3.0)[x > 1.4].sum() * x[0],
    lambda x: x[0] * ord(np.array(["a", "b", "c"])[x.argmax()]),
    lambda x: x[0] * {"a": 3.0, "b": 4.0, "c": 5.0}[np.array(["a", "b", "c"])[x.argmax()]],
    lambda x: x[0] * {"a": 3.0, "b": 4.0, "c": 5.0}["".join(np.array(list("abc"))[np.argsort(x)])[0]],
    lambda x: x[0] * (3 if np.where(x > 1.4, "hi", "lo")[0] == "hi" else 4),
    lambda x: x[0] * np.where(x > 1.4, "hi", "lo").tolist().index("hi"),
    lambda x: x[0] * (np.where(x > 1.4, "hi", "lo") == "hi").argmax(),
    lambda x: x[0] * len(np.select([x > 1.4], ["long"], "s")[0]),
    lambda x: np.array(F, dtype=object)[int(x[0] > 2)](x[1]),
    lambda x: np.array(F, dtype=object)[x.argmax() % 2](x[1]),
    lambda x: x[0] * np.array([(1, 2.0), (3, 4.0), (5, 6.0)], dtype=[("a", int), ("b", float)])[x.argmax()]["b"],
    lambda x: x[0] * np.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)])["a" if x[0] > 2 else "b"].sum(),
    lambda x: (
        x[0]
        * (
            np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="M8[D]")[x.argmax()]
            > np.datetime64("2020-06-01")
        )
    ),
    lambda x: x[0] * (np.datetime64("2020-01-01") + int(x[0])).astype(int),
    lambda x: x[0] * np.timedelta64(int(x[0] * 2), "D").astype(int),
    lambda x: np.nonzero(np.maximum(x - 1, 0))[0][0] * x[0] + x[1],
    lambda x: np.count_nonzero(np.maximum(x - 1, 0)) * x[0] + np.flatnonzero(np.maximum(x - 0.9, 0)).size * x[1],
    lambda x: np.any(np.maximum(x - 2, 0)) * x[0] + x[1],
    lambda x: np.logical_and(np.maximum(x - 1, 0), x).sum() * x[0],
    lambda x: np.signbit(x - 1.4).sum() * x[0] + np.signbit(x - 1.4)[0] * x[1],
    lambda x: np.unique(np.floor(x), return_counts=True)[1].size * x[0],
    lambda x: np.unique(np.floor(x), return_inverse=True)[1][0] * x[0],
    lambda x: np.unique(x, return_index=True)[1][0] * x[0],
    lambda x: np.searchsorted(np.sort(x), 1.1) * x[0] + np.searchsorted(x, 1.1, sorter=np.argsort(x)) * x[1],
    lambda x: np.searchsorted(np.cumsum(x), 1.1) * x[0],
    lambda x: np.argpartition(x, 1)[0] * x[0] + np.lexsort((x, np.zeros(3)))[0] * x[1],
    lambda x: np.histogram(x, bins=3, range=(0, 3))[0][1] * x[0],
    lambda x: np.histogram_bin_edges(x, bins=2).size * x[0] + np.histogram(x)[1].size,
    lambda x: np.union1d(np.floor(x), [7.0]).size * x[0],
    lambda x: np.setdiff1d([0, 1, 2], np.floor(x).astype(int)).size * x[0],
    lambda x: np.isin([0, 1, 2], np.floor(x).astype(int)).sum() * x[0] if x[0] < 2 else x[0],
    lambda x: np.diff(np.sign(x - 1.2)).nonzero()[0].size * x[0] + np.diff(np.sign(x - 1.1)).nonzero()[0][0] * x[1],
    lambda x: np.ix_(x > 0.9, [0])[0].size * x[0],
    lambda x: np.eye(3)[np.ix_(x > 0.9, x > 0.9)].sum() * x[0],
    lambda x: (lambda y: (np.put(y, [x.argmax()], x[0]), y @ np.arange(3.0))[1])(np.ones(3)),
    lambda x: (lambda y: (np.putmask(y, x > 1.4, 7.0), y @ np.arange(3.0) * x[0])[1])(np.ones(3)),
    lambda x: (lambda y: (np.copyto(y, 5.0, where=x > 1.4), y @ np.arange(3.0) * x[0])[1])(np.ones(3)),
    lambda x: (lambda y: (np.place(y, x > 1.4, [5.0]), y @ np.arange(3.0) * x[0])[1])(np.ones(3)),
    lambda x: (lambda y: (y.__setitem__(x > 1.4, 5.0), y @ np.arange(3.0) * x[0])[1])(np.ones(3)),
    lambda x: (lambda y: (np.add(y, 5.0, out=y, where=x > 1.4), y @ np.arange(3.0) * x[0])[1])(np.ones(3)),
    lambda x: (lambda y: (np.add.at(y, np.argsort(x)[:1], 5), y @ np.arange(3) * x[0])[1])(np.ones(3, int)),
    lambda x: (lambda y: (y.__setitem__(x.argmax(), 5), y @ np.arange(3) * x[0])[1])(np.ones(3, int)),
    lambda x: (lambda y: (y.__setitem__(slice(0, int(x[0])), 5), y @ np.arange(3) * x[0])[1])(np.ones(3, int)),
    lambda x: (lambda y: (y.sort(), y[0] * x[0])[1])(np.floor(x).astype(int)) + x[1],
    lambda x: (lambda y: (y.partition(1), y[0] * x[0])[1])(np.floor(x).astype(int)) + x[1],
    lambda x: (lambda y: (y.resize(5), y[0] * x[0])[1])(np.floor(x).astype(int)) + x[1],
    lambda x: np.emath.sqrt(x - 0.7).real.sum() * x[0],
    lambda x: x[0] * (3 if np.iscomplexobj(np.emath.sqrt(x[:2] - 0.7)) else 4),
    lambda x: x[0] * (3 if np.isrealobj(np.linalg.eigvals(np.array([[0.0, 1.0], [x[0] - 2, 0.0]]))) else 4),
    lambda x: x[0] * np.linalg.eigvals(np.array([[0.0, 1.0], [x[0] - 2, 0.0]])).dtype.itemsize,
    lambda x: np.roots([max(x[0] - 1.3, 0.0), 1.0, -3.0]).size * x[1],
    lambda x: np.poly1d([max(x[0] - 1.3, 0.0), 1.0, -3.0]).order * x[1],
    lambda x: np.trim_zeros(np.maximum(x - 1.3, 0.0), "f").size * x[1],
    lambda x: np.linalg.lstsq(np.array([[x[0], 1.0], [1.0, 1.0], [0.0, 0.0]]), np.ones(3), rcond=None)[2] * x[0],
    lambda x: np.linalg.matrix_rank(np.diag(np.maximum(x - 0.9, 0))) * x[0],
    lambda x: np.linalg.pinv(np.diag(np.maximum(x - 0.9, 0))).sum() * x[0],
    lambda x: x[0] * (3 if np.linalg.cond(np.diag(x)) > 5 else 4),
    lambda x: np.real_if_close(x[:2] + 1j * np.maximum(x[:2] - 2, 0)).dtype.itemsize * x[0],
    lambda x: np.min_scalar_type(x[0] * 1e38).itemsize * x[0],
    lambda x: np.min_scalar_type(int(x[0] * 150)).itemsize * x[0],
    lambda x: x[0] * (3 if x[x > 1.9].size else 4),
    lambda x: x[0] * (3 if len(x[x > 1.9]) > len(x[x < 0.9]) else 4),
    lambda x: x[0] * x[x > 0.9].shape[0] + x[x > 0.9].ndim,
    lambda x: x[0] * (x > 0.9).tolist().count(True),
    lambda x: x[0] * sum((x > 0.9).tolist()) + x[1] * (x > 1.4).tolist().index(True),
    lambda x: x[0] * np.array([int(v) for v in x]).max(),
    lambda x: x[0] * np.fromiter((int(v) for v in x), int).max(),
    lambda x: x[0] * np.lcm(int(x[0]), int(x[1])) if x[1] > 1 else x[0],
    lambda x: x[0] * np.hanning(int(x[0] * 4)).size,
    lambda x: x[0] * np.vander([1.0, 2.0], int(x[0])).shape[1],
    lambda x: x[0] * np.tri(int(x[0])).sum() + np.identity(int(x[0])).sum(),
    lambda x: x[0] * np.indices((int(x[0]), 2)).sum(),
    lambda x: x[0] * np.polynomial.legendre.leggauss(int(x[0]))[0].size,
    lambda x: x[0] * np.bincount([0, 1], minlength=int(x[0])).size,
    lambda x: x[0] * np.ndarray((int(x[0]),)).size,
    lambda x: x[0] * np.broadcast_shapes((int(x[0]), 1), (1, 3))[0],
    lambda x: x[0] * np.base_repr(5, int(x[0]) + 1).__len__(),
    lambda x: x[0] * len(np.array_split(np.arange(5.0), int(x[0]))),
    lambda x: x[0] * np.linspace(0, 1, int(x[0] * 2)).size,
    lambda x: sum(v * w for (k,), v in np.ndenumerate(x) for w in [k if v > 1 else 2]),
    lambda x: x[0] * sum(1 for _ in np.ndindex(int(x[0]), 2)),
    lambda x: x[0] * np.array2string(x > 1).count("True"),
    lambda x: x[0] * str(np.round(x)).count("2"),
    lambda x: x[0] * np.array_str(np.argsort(x)).index("2"),
    lambda x: x[0] * np.char.add("a", np.where(x > 1.4, "hi", "lo"))[0].count("h"),
    lambda x: x[0] * (np.packbits(x > 1.4)[0] + np.unpackbits(np.uint8([int(x[0])])).sum()),
    lambda x: x[0] * int(np.array(x > 1.4).view(np.uint8)[0] + 1),
    lambda x: x[0] * np.argsort(x).tobytes()[0],
    lambda x: x[0] * np.argsort(x).data[0],
    lambda x: x[0] * {np.argsort(x).tobytes(): 3.0}.get(np.array([2, 0, 1]).tobytes(), 4.0),
    lambda x: x[0] * hash(np.argsort(x).tobytes()) % 7,
    lambda x: x[0] * np.frombuffer(np.argsort(x), int)[0],
    lambda x: x[0] * np.argsort(x).flat[0],
    lambda x: x[0] * next(np.argsort(x).flat),
    lambda x: x[0] * next(iter(np.nditer(np.argsort(x)))).item(),
    lambda x: x[0] * np.argsort(x).astype("U1").tolist().index("0"),
    lambda x: x[0] * np.argsort(x).astype(object)[0],
    lambda x: x[0] * np.argsort(x).astype(str)[0].__len__() + x[1] * int(np.argsort(x).astype(str)[0]),
    lambda x: x[0] * np.array([np.argsort(x)[0], None], dtype=object)[0],
    lambda x: x[0] * array.array("i", [int(v) for v in x])[0],
    lambda x: x[0] * memoryview(bytes([int(v) for v in x]))[0],
    lambda x: x[0] * np.ma.masked_where(x > 1.4, np.arange(3)).sum(),
    lambda x: x[0] * np.ma.array(np.arange(3.0), mask=x > 1.4).mean(),
    lambda x: x[0] * np.argsort(x).choose([5, 6, 7]).tolist()[0],
    lambda x: x[0] * np.argsort(x)[..., None][0].item(),
    lambda x: x[0] * np.argsort(x).searchsorted(1),
    lambda x: x[0] * np.random.default_rng(0).permutation(np.argsort(x))[0],
    lambda x: x[0] * np.ravel_multi_index((int(x[0]), int(x[1])), (3, 3)),
    lambda x: x[0] * np.lib.stride_tricks.sliding_window_view(np.argsort(x), 2)[0, 0],
    lambda x: x[0] * np.einsum("i,i", np.argsort(x), [1, 2, 3]),
    lambda x: x[0] * np.dot(np.argsort(x), [1, 2, 3]) + x[1] * (np.argsort(x) @ np.array([1, 5, 2])),
    lambda x: x[0] * np.polyval([1, 2], int(x[0])) + x[0] * np.poly1d([1, 2])(int(x[0])),
    lambda x: x[0] * np.vectorize(lambda k: k + 1)(np.argsort(x))[0],
    lambda x: x[0] * np.apply_along_axis(lambda k: k.max() - k[0], 0, np.argsort(x)),
    lambda x: x[0] * np.frompyfunc(lambda k: k + 1, 1, 1)(np.argsort(x))[0],
)

# -- objects, texts, generators, exceptions


def caught(f, *kinds):
    def run(x):
        try:
            return f(x)
        except kinds or Exception as e:
            return np.sum(x) * 7.0 + len(type(e).__name__)

    run.__code__ = run.__code__
    return run


NS = types.SimpleNamespace(a1=2.0, a2=3.0)
CV = contextvars.ContextVar("cv", default=1.0)


class Col(enum.IntFlag):
    R = 1
    G = 2


class Des:
    def __get__(s, o, t):
        return 3.0 if o.v > 1.4 else 4.0


class Has:
    d = Des()

    def __init__(s, v):
        s.v = v


class Slot:
    __slots__ = ("a", "b")


def co(x):
    async def f():
        return 3.0 if x > 1.4 else 4.0

    c = f()
    try:
        c.send(None)
    except StopIteration as e:
        return e.value


def sentinel(x):
    it = iter(x)
    return list(iter(lambda: next(it), 2.0))


def forelse(x):
    for v in x:
        if v > 1.9:
            break
    else:
        return 5.0
    return v


def gen(x):
    for v in x:
        if v > 1.4:
            return "long"
        yield v


def delegated(x):
    r = yield from gen(x)
    yield 7.0 if r else 9.0


def closed(x):
    log = []

    def g():
        try:
            for v in x:
                yield v
        finally:
            log.append(1)

    it = g()
    for v in it:
        if v > 1.4:
            break
    it.close()
    return v * len(log)


def template(x):
    return string.Template("$a b").substitute(a=f"{x:.0f}")


def counter(x):
    n = collections.defaultdict(int)
    for v in x:
        n[int(v)] += 1
    return n


def listed(x):
    out = [[] for _ in range(3)]
    for v in x:
        out[int(v)].append(v)
    return out


def matchseq(x):
    match [v > 1.4 for v in x]:
        case [True, *_]:
            return 3.0
        case [False, True, _]:
            return 4.0
        case _:
            return 5.0


def matchclass(x):
    match Item2(x[0]):
        case Item2(v=1.0):
            return 3.0
        case Item2(v=v) if v > 2:
            return 4.0
        case _:
            return 5.0


@dataclasses.dataclass
class Item2:
    v: float


@dataclasses.dataclass(frozen=True, eq=True)
class Fr:
    v: float
    k: int = dataclasses.field(compare=False, default=0)


def matchmap(x):
    match {"k": int(x[0])}:
        case {"k": 1}:
            return 3.0
        case {"k": 2 | 3}:
            return 4.0


def walrus(x):
    n = 0
    it = iter(x)
    while (v := next(it, -1.0)) > 0.7:
        n += 1
    return n


def fixpoint(x):
    y = x
    for k in range(100):
        z = (y + x[::-1] / y) / 2
        if np.allclose(z, y, rtol=1e-3):
            break
        y = z
    return y.sum() * k


def normloop(x):
    k = 0
    while np.linalg.norm(x) > 1.0:
        x = x / 1.5
        k += 1
    return x.sum() + k


def bisection(x):
    lo, hi = 0.0, 3.0
    while hi - lo > 0.1:
        m = (lo + hi) / 2
        if m * m > x[0]:
            hi = m
        else:
            lo = m
    return lo * x[1]


def queued(x):
    q = queue.PriorityQueue()
    for v, n in zip(x, "abc"):
        q.put((v, n))
    return ord(q.get()[1])


decides.each(
    "py",
    A([1.0, 2.0, 0.5]),
    A([2.5, 0.25, 1.5]),
    A([1.0, 2.0, 0.5]),
    lambda x: Has(x[0]).d * x[0],
    lambda x: co(x[0]) * x[0],
    lambda x: len(sentinel(x)) * x[0],
    lambda x: forelse(x) * x[0],
    lambda x: sum(gen(x)) * x[0],
    lambda x: sum(delegated(x)) * x[0],
    lambda x: closed(x) * x[0],
    lambda x: (3 if template(x[0]) == "1 b" else 4) * x[0],
    lambda x: len(counter(x)) * x[0] + max(counter(x).values()) * x[1],
    lambda x: sum(listed(x)[1]) * x[0],
    lambda x: len(listed(x)[2]) * x[0] + x[1],
    lambda x: matchseq(x) * x[0],
    lambda x: matchclass(x) * x[0],
    lambda x: matchmap(x) * x[0],
    lambda x: walrus(x) * x[0],
    fixpoint,
    normloop,
    bisection,
    lambda x: queued(x) * x[0],
    lambda x: (lambda t: (CV.get() * x[0], CV.reset(t))[0])(CV.set(3.0 if x[0] > 1.4 else 4.0)),
    lambda x: len(pprint.pformat(x[0] * 10)) * x[0],
    lambda x: len(reprlib.repr(float(x[0] * 9.5))) * x[0],
    lambda x: len(json.dumps(float(x[0] * 9.5))) * x[0],
    lambda x: len(json.dumps([float(x[0] * 9.5)])) * x[0],
    lambda x: len(textwrap.shorten(f"{x[0]:.2f} abc", 6, placeholder="")) * x[0],
    lambda x: datetime.timedelta(days=int(x[0])).days * x[0],
    lambda x: datetime.date(2020, int(x[0]), 1).month * x[0],
    lambda x: (3 if datetime.timedelta(seconds=float(x[0])) > datetime.timedelta(seconds=1.4) else 4) * x[0],
    lambda x: calendar.monthrange(2020, int(x[0]))[1] * x[0],
    lambda x: fractions.Fraction(int(x[0]), 3).numerator * x[0],
    lambda x: len(Col(int(x[0])).name) * x[0] + (Col(int(x[0])) is Col.R) * x[1],
    lambda x: (3 if Col.R in Col(int(x[0])) else 4) * x[0],
    lambda x: (3 if Fr(int(x[0])) in {Fr(1)} else 4) * x[0],
    lambda x: (3 if Fr(float(x[0]), 1) == Fr(1.0, 2) else 4) * x[0],
    lambda x: (3 if dataclasses.replace(Fr(1.0), v=x[0]) == Fr(1.0) else 4) * x[0],
    lambda x: (3 if dataclasses.astuple(Item2(x[0])) == (1.0,) else 4) * x[0],
    lambda x: (3 if dataclasses.asdict(Item2(x[0]))["v"] == 1.0 else 4) * x[0],
    lambda x: (3 if repr(Item2(float(x[0]))) == "Item2(v=1.0)" else 4) * x[0],
    lambda x: (3 if hash(Fr(float(x[0]))) == hash(Fr(1.0)) else 4) * x[0],
    lambda x: getattr(NS, f"a{int(x[0])}") * x[0],
    lambda x: NS.__getattribute__(f"a{int(x[0])}") * x[0],
    lambda x: operator.attrgetter(f"a{int(x[0])}")(NS) * x[0],
    lambda x: globals()[f"GL{int(x[0])}"] * x[0],
    lambda x: eval(f"GL{int(x[0])}") * x[0],
    lambda x: eval("3 if v > 1.4 else 4", {"v": x[0]}) * x[0],
    lambda x: (lambda ns: (exec("r = 3 if v > 1.4 else 4", ns), ns["r"])[1])({"v": x[0]}) * x[0],
    lambda x: type("T", (), {"n": int(x[0])}).n * x[0],
    lambda x: len(type(f"T{10 ** int(x[0])}", (), {}).__name__) * x[0],
    lambda x: (object, int)[int(x[0] > 1.4)].__name__.__len__() * x[0],
    lambda x: (3 if isinstance(float(x[0] - 1.4) ** 0.5, complex) else 4) * x[0],
    lambda x: (3 if isinstance(pow(float(x[0] - 1.4), 0.5), complex) else 4) * x[0],
    lambda x: (3 if hasattr((5, "a")[int(x[0] > 1.4)], "upper") else 4) * x[0],
    lambda x: len((5, 7, "abc")[-int(x[0])]) * x[0] if x[0] < 1.4 else x[0],
    lambda x: (3 if float(x[0] * 1e308 * 1.5) == math.inf else 4) * x[0],
    lambda x: (3 if (x[0] - 2.5) / (x[0] - 2.5) != (x[0] - 2.5) / (x[0] - 2.5) else 4) * x[1],
    lambda x: (
        (3 if math.nan in [np.float64(0) / (x[0] - 2.5)] else 4) * x[1]
        + np.isnan(np.maximum((x[0] - 2.5) / (x[0] - 2.5), 0)) * x[1]
    ),
    lambda x: sorted([x[0], math.nan, x[1]])[0] * x[2],
    lambda x: max(math.nan, x[0]) if x[0] > x[1] else max(x[0], math.nan),
    lambda x: (3 if (y := x[0] * 1) is max(y, x[1]) else 4) * x[0],
    lambda x: (3 if min([x[0], x[1]], key=lambda v: v) is x[0] else 4) * x[2],
    lambda x: (lambda z: (3 if z.imag > 0 else 4) * z.real * x[0])(cmath.sqrt(float(x[0] - 1.4))),
    lambda x: (3 if cmath.phase(complex(x[0] - 1.4, 0.1)) > 1 else 4) * x[0],
    lambda x: (3 if abs(complex(x[0], x[1])) < 2.3 else 4) * x[0],
    lambda x: {1 + 2j: 3.0}.get(complex(x[0], x[1]), 4.0) * x[0],
    lambda x: (3 if complex(x[0], x[1]) == 1 + 2j else 4) * x[0],
    lambda x: len(f"{complex(x[0], x[1]):.1f}") * x[0] + (f"{complex(x[0], x[1]):.1f}" == "1.0+2.0j") * x[1],
    lambda x: len(str(complex(x[0], x[1]))) * x[0],
    lambda x: (3 if f"{x}"[:3] == "[1." else 4) * x[0],
    lambda x: (3 if "%s" % (x,) == "[1.  2.  0.5]" else 4) * x[0],
    lambda x: (3 if np.array_repr(x).startswith("array([1.") else 4) * x[0],
    lambda x: x[0] * math.gcd(int(x[0] * 4), 6) + math.lcm(int(x[0]), 3),
    lambda x: x[0] * (divmod(x[0], 0.7)[0] == 1) + divmod(int(x[0] * 4), 3)[1],
    lambda x: x[0] * (7, 8, 9)[int(x[0] // 0.7) - 1],
    lambda x: x[0] * math.floor(x[0] / 0.7) + math.ceil(x[1]) + round(x[2]),
    lambda x: (x if x[0] > x[1] else 2 * x)[int(x[2])],
    lambda x: x[0] * len(str(types.SimpleNamespace(a=int(x[0]) ** 10))),
    lambda x: x[0] * len(inspect_sig(int(x[0]))),
    lambda x: x[0] * len([*zip(x, gen(x))]) + len([*zip(gen(x), x)]),
    lambda x: x[0] * len([*itertools.zip_longest(gen(x), [1, 2])]),
    lambda x: x[0] * sum(1 for _ in itertools.product(range(int(x[0])), repeat=2)),
    lambda x: x[0] * len([*itertools.permutations(range(int(x[0]) + 1))]),
    lambda x: x[0] * [*itertools.compress("abc", x > 1.4)].__len__() + ord([*itertools.compress("abc", x > 1.4)][0]),
    lambda x: x[0] * next(k for k, v in enumerate(itertools.cycle(x)) if v > 1.4),
    lambda x: x[0] * len([*itertools.starmap(lambda a, b: 1, zip(gen(x), x))]),
    lambda x: x[0] * len([*map(lambda a, b: a, gen(x), range(9))]),
    lambda x: x[0] * len(tuple(filter((0.9).__lt__, x))),
    lambda x: x[0] * len(list(filter((1.4).__lt__, x))) + ord(max("abc", key=dict(zip("abc", x)).__getitem__)),
    lambda x: x[0] * functools.reduce(lambda a, v: a + (v > 1.4), x, 0),
    lambda x: x[0] * functools.reduce(lambda a, v: a if a[0] > v else (v, a[1] + 1), x, (0.0, 0))[1],
    lambda x: (lambda f: f(int(x[0])) + f(int(x[0])) + f(1))(functools.lru_cache(lambda k: k * 2.0)) * x[0],
    lambda x: x[0] * (3 if float(x[0]) > 2 else 4),
    lambda x: x[0] * len({id(v): 1 for v in (x, x)}),
    lambda x: x[0] * (3 if id(max(x, x * 0, key=np.sum)) == id(x) else 4),
    lambda x: x[0] * (3 if max(x, A([1.5, 1.0, 1.5]), key=lambda v: v[0]) is x else 4),
    lambda x: x[0] * sum(v is w for v, w in zip(sorted([x, A([1.5, 1.0, 1.5])], key=lambda v: v[0]), [x, 1])),
    lambda x: x[0] * int(x[0]),
    lambda x: x[0] * (3 if (lambda *, k: k > 1)(**{"k": x[0]}) else 4),
    lambda x: x[0] * (3 if bool(np.maximum(x[0] - 1, 0)) else 4) + (x[0] - 1 and 5.0),
    lambda x: x[0] * (3 if not x[:1] - 1 else 4),
    lambda x: x[0] * (3 if x[0] in x[1:] or x[0] > 2 else 4),
    lambda x: x[0] * ("%d" % x[0] == "1") + ("%i" % x[1] == "2") * x[1] + ("%x" % int(x[1]) == "2"),
    lambda x: x[0] * len("%5.1f|%-5d|%+d" % (x[0] * 10000, x[1], x[2])),
    lambda x: x[0] * len("{0:.1f}{1!r}{2!s}".format(x[0] * 10, float(x[1]), x[2])),
    lambda x: x[0] * len("{x:.1f}".format(**{"x": x[0] * 9})),
    lambda x: x[0] * len("{0[0]:.1f}".format([x[0] * 9])) + len("{0.v:.1f}".format(Item2(x[0] * 9))),
    lambda x: x[0] * len("{a[k]}".format(a={"k": float(x[1])})),
    lambda x: x[0] * len(f"{x[0] * 9=:.0f}"),
    lambda x: x[0] * len(format(x[0], f"0{int(x[0]) + 3}.1f")),
    lambda x: x[0] * len(f"{x[1]:e}".split("e")[1]) + int(f"{x[1]:.0f}" == "2"),
    lambda x: x[0] * f"{x[1]:g}".isdigit(),
    lambda x: x[0] * "abc".find("abc"[int(x[0])]),
    lambda x: x[0] * len("a,b,c".split(",", int(x[0]))),
    lambda x: x[0] * len("abc"[: int(x[0])]) + len("ab" * int(x[0])) + len("a".rjust(int(x[0]) + 2)),
    lambda x: x[0] * ord("abc".replace("b", "z", int(x[0]) - 1)[1]),
    lambda x: x[0] * len("a{}".format("b" * int(x[0]))),
    lambda x: x[0] * len(str(bool(x[0] > 1.4))),
    lambda x: x[0] * len(f"{x[0] > 1.4}"),
    lambda x: x[0] * len(str(x > 1.4)) + str(x > 1.4).index("T"),
    lambda x: x[0] * len(repr(x[0] > 1.4)),
    lambda x: x[0] * len(f"{bool(x[0] > 1.4)!s:>7}".strip()),
    lambda x: x[0] * (str(x[0] > 1.4) == "True") + x[1],
)
GL1, GL2 = 3.0, 4.0


def inspect_sig(n):
    return "(" + ", ".join("abc"[:n]) + ")"


decides.each(
    "exc",
    A([1.0, 2.0, 0.5]),
    A([2.5, 0.25, -1.5]),
    A([1.0, 2.0, 0.5]),
    caught(lambda x: np.testing.assert_array_less(x[0], 2.0) or x[0]),
    caught(lambda x: np.testing.assert_allclose(x[0], 1.0) or x[0]),
    caught(lambda x: x[0] * bytes([int(x[0]) + 126]).decode("utf8").__len__()),
    caught(lambda x: x[0] * len(range(0, 5, int(x[1])))),
    caught(lambda x: (None if x[0] > 2 else 3.0) + x[1]),
    caught(lambda x: {1: 3.0}[int(x[0])] * x[1]),
    caught(lambda x: {"1": 3.0}[f"{x[0]:.0f}"] * x[1]),
    caught(lambda x: (3.0,)[int(x[0]) - 1] * x[1]),
    caught(lambda x: getattr(NS, f"a{int(x[0] * 2) - 1}") * x[1]),
    caught(lambda x: [*[1.0] * int(x[1])].pop() * x[0]),
    caught(lambda x: collections.deque([1.0][: int(x[1])]).popleft() * x[0]),
    caught(lambda x: set([1.0][: int(x[1])]).pop() * x[0]),
    caught(lambda x: heapq.heappop([1.0][: int(x[1])]) * x[0]),
    caught(lambda x: queue.Queue(0 if x[0] < 2 else 1).get_nowait() * x[0]),
    caught(lambda x: next(itertools.islice([1.0], int(x[2] * 2 + 1) - 2, None)) * x[0]),
    caught(lambda x: math.factorial(int(x[2] * 2)) * x[0]),
    caught(lambda x: int("12"[: int(x[1])]) * x[0]),
    caught(lambda x: float("1" if x[0] < 2 else "z") * x[0]),
    caught(lambda x: np.reshape(np.arange(4.0), (int(x[0]), -1 if x[0] < 2 else 3)).sum() * x[0]),
    caught(lambda x: np.concatenate([np.ones(3), np.ones((1, 1))[0] if x[0] < 2 else np.ones((1, 1))]).sum() * x[0]),
    caught(lambda x: np.linspace(0, 1, int(x[2] * 2)).sum() * x[0]),
    caught(lambda x: np.split(np.arange(6), int(x[1]) if x[0] < 2 else 4)[0].sum() * x[0]),
    caught(lambda x: (np.arange(3)[: int(x[1])] + np.arange(2)).sum() * x[0]),
    caught(lambda x: np.arange(3)[int(x[2] * 2) + 1 if x[0] < 2 else 7] * x[0]),
    caught(lambda x: np.random.default_rng(int(x[2] * 2)).random() * x[0]),
    caught(lambda x: np.zeros(int(x[2] * 2)).size * x[0]),
    caught(lambda x: math.log(x[2]) * 2 + x[0]),
    caught(lambda x: math.sqrt(x[2]) * 2 + x[0]),
    caught(lambda x: math.acosh(x[0] if x[0] < 2 else x[1]) + x[0]),
    caught(lambda x: math.atanh(x[2] * 0.5 if x[0] < 2 else x[0]) + x[0]),
    caught(lambda x: math.gamma(int(x[2] - 0.4) if x[0] > 2 else x[0]) + x[0]),
    caught(lambda x: math.lgamma(int(x[2]) * 1.0 + (x[0] < 2)) + x[0]),
    caught(lambda x: math.cosh(x[0] * 400) * 0 + x[0]),
    caught(lambda x: 10.0 ** (float(x[0]) * 200) * 0 + x[0]),
    caught(lambda x: float(x[0]) ** (1000 if x[0] > 2 else 1) + x[0]),
    caught(lambda x: math.ldexp(x[0], int(x[0] * 600)) * 0 + x[0]),
    caught(lambda x: int(float(x[0]) * 1e308 * 1.0) * 0 + x[0]),
    caught(lambda x: math.fsum([float(x[0]) * 1e308, float(x[0]) * 1e308 * (0 if x[0] < 2 else -1)]) * 0 + x[0]),
    caught(lambda x: math.nextafter(x[0], 9.0) + math.ulp(x[0])),
    caught(lambda x: math.fmod(math.inf if x[0] > 2 else 1.0, x[1]) + x[0]),
    caught(lambda x: math.fmod(x[1], int(x[1])) + x[0]),
    caught(lambda x: float(x[0]) % int(x[1]) + x[0]),
    caught(lambda x: 5 // int(x[1]) + x[0]),
    caught(lambda x: 5 % int(x[1]) + x[0]),
    caught(lambda x: 5 / int(x[1]) + x[0]),
    caught(lambda x: pow(0, int(x[2] * 2)) + x[0]),
    caught(lambda x: pow(3, int(x[2] * 2), 6) + x[0]),
    caught(lambda x: (1 << int(x[2] * 2)) + x[0]),
    caught(lambda x: chr(int(x[2] * 2)).__len__() + x[0]),
    caught(lambda x: np.linalg.inv(np.array([[x[0], x[1]], [int(x[1]), 4.0 * int(x[1]) + (x[0] < 2)]])).sum()),
    caught(lambda x: np.linalg.cholesky(np.array([[x[0], 0.0], [0.0, x[2]]])).sum()),
    caught(lambda x: np.linalg.solve(np.diag(np.floor(x[:2])), x[:2]).sum()),
    caught(lambda x: np.linalg.matrix_power(np.diag(np.floor(x[:2])), -1).sum() + x[0]),
    caught(lambda x: scipy.linalg.cholesky(np.diag(x)).sum()),
    caught(lambda x: scipy.linalg.solve(np.diag(np.floor(x[:2])), x[:2]).sum()),
    caught(lambda x: statistics.mean([v for v in x if v > 2.2] if x[0] > 2 else [v for v in x if v > 3])),
    caught(lambda x: statistics.variance([v for v in x if v > 1]) + x[0]),
    caught(lambda x: statistics.geometric_mean([float(v) for v in x]) + x[0]),
    caught(lambda x: statistics.harmonic_mean([float(v) for v in x]) + x[0]),
    caught(lambda x: min([v for v in x if v < 0]) * x[0]),
    caught(lambda x: np.min(x[x < 0]) * x[0]),
    caught(lambda x: np.argmin(x[x < 0]) * x[0]),
    caught(lambda x: functools.reduce(max, [v for v in x if v < 0]) * x[0]),
    caught(lambda x: (lambda a, b: a * b)(*[v for v in x if v > 0.7])),
    caught(lambda x: (lambda a, *, k1: a * k1)(x[0], **{f"k{int(x[0])}": 3.0})),
    caught(lambda x: operator.methodcaller("upper" if x[0] < 2 else "zzz")("a").__len__() * x[0]),
    caught(lambda x: __import__("math" if x[0] < 2 else "mathz").pi * x[0]),
    caught(lambda x: (_ for _ in x).throw(ValueError) if x[0] > 2 else x[0]),
    caught(lambda x: x[0] * [1, 2][slice(0, 2, int(x[2] * 2) if x[0] < 2 else 0)][0]),
    caught(lambda x: x[0] * dict([(1, 2)] if x[0] < 2 else [(1,)])[1]),
    caught(lambda x: x[0] * sum(zip_strict(x))),
    caught(lambda x: x[0] * Col2(int(x[0])).value),
    caught(lambda x: x[0] * dataclasses.replace(Item2(1.0), **{"v" if x[0] < 2 else "w": 3.0}).v),
    caught(lambda x: x[0] * setting(x[0])),
    caught(lambda x: x[0] * "ab".index("b" if x[0] < 2 else "c")),
    caught(lambda x: x[0] * [1, 2].index(int(x[1]))),
    caught(lambda x: x[0] * "{:{}}".format(3, "d" if x[0] < 2 else "zz").__len__()),
    caught(lambda x: x[0] * len(f"{3:{'d' if x[0] < 2 else 'zz'}}")),
    caught(lambda x: x[0] * math.comb(5, int(x[2] * 2))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.log(x[2])))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.sqrt(x)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: 1 / np.maximum(x, 0)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.exp(x * 400)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.power(x, 0.5)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: x**0.5))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.arccos(x[1] - 1.0 + (x[0] > 2) * 9)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.float64(3.0) / np.maximum(x[2], 0)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.divide(x, np.maximum(x[2], 0), out=np.zeros(3))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.floor(x) // np.floor(np.maximum(x, 0))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.arange(3) // np.maximum(x, 0).astype(int)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.array(5) // int(x[1])))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.int64(5) // np.int64(x[1])))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.mean(x[x > 1.9])))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.nanmax(np.where(x > 2.2, np.nan, x)[:1])))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.mean(x[x > 5] if x[0] > 2 else x)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.nanmax(np.where(x > 2.2, np.nan, x)[:1])))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.polyfit(np.floor(x), x, 1)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.float32(x[0] * 1e39)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: x.astype(np.float32) * np.float32(3e38)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.int64(x[0] * 1e19 * (x[0] > 2))))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: (x * 1e19 * (x[0] > 2)).astype(int)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: scipy.special.gammaln(np.maximum(x, 0))))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: warnings.warn("x") if x[0] > 2 else 3.0))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.real_if_close(x + 0j).astype(float)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: float((x[:1] + (1j if x[0] > 2 else 0))[0].real)))),
)


class Col2(enum.Enum):
    A = 1


def zip_strict(x):
    return (a * b for a, b in zip([v for v in x if v > 0], range(3), strict=True))


def setting(v):
    o = Slot()
    setattr(o, "a" if v < 2 else "c", 3.0)
    return o.a


def loud(f):
    with np.errstate(all="raise"):
        return f()


def loudw(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return f()


# -- what is written where a traced value says; keys of constants; kinds of results


def st(f):
    def run(x):
        y = np.arange(4.0)
        f(y, x)
        return y @ A([1.0, 2.0, 5.0, 9.0]) * x[0]

    return run


def ist(f):
    def run(x):
        y = np.arange(4)
        f(y, x)
        return y @ A([1, 2, 5, 9]) * x[0]

    return run


W = A([3.0, 4.0, 5.0])


def setflat(y, k, v):
    y.flat[k] = v


def iadd(y, k):
    y[k] += 1


def imask(y, m):
    y[m] *= 2


def aug(y, v):
    y += v


ws = []
for s in (st, ist):
    ws += [
        s(lambda y, x: np.put(y, [x.argmax()], 7)),
        s(lambda y, x: np.put(y, x.argmax(), 7)),
        s(lambda y, x: y.put(x.argmax(), 7)),
        s(lambda y, x: np.put(y, x.argmax() + 5, 7, mode="wrap")),
        s(lambda y, x: y.put([x.argmax()], [7])),
        s(lambda y, x: setflat(y, x.argmax(), 7)),
        s(lambda y, x: setflat(y, [x.argmax()], 7)),
        s(lambda y, x: setflat(y, slice(x.argmax()), 7)),
        s(lambda y, x: setflat(y, np.append(x > 1.4, False), 7)),
        s(lambda y, x: setflat(y, int(x[0]), 7)),
        s(lambda y, x: np.putmask(y, np.append(x > 1.4, False), 7)),
        s(lambda y, x: np.place(y, np.append(x > 1.4, False), [7])),
        s(lambda y, x: np.copyto(y, 7, where=np.append(x > 1.4, False))),
        s(lambda y, x: np.copyto(y, 7, where=bool(x[0] > 1.4))),
        s(lambda y, x: np.copyto(y[:3], x > 1.4)),
        s(lambda y, x: y.fill(int(x[0]))),
        s(lambda y, x: np.put_along_axis(y, x.argmax(keepdims=True), 7, 0)),
        s(lambda y, x: np.fill_diagonal(y.reshape(2, 2), int(x[0]))),
        s(lambda y, x: iadd(y, x.argmax())),
        s(lambda y, x: imask(y, np.append(x > 1.4, False))),
        s(lambda y, x: aug(y, x.argmax())),
        s(lambda y, x: aug(y[:3], x > 1.4) if y.dtype != int else aug(y, int(x[0]))),
        s(lambda y, x: np.add.at(y, x.argmax(), 1)),
        s(lambda y, x: np.add(y[:3], 1, out=y[:3], where=x > 1.4)),
        s(lambda y, x: np.multiply(y, x.argmax(), out=y)),
        s(lambda y, x: np.maximum(y, x.argmax(), out=y)),
        s(lambda y, x: np.take(np.arange(4).astype(y.dtype), np.argsort(np.append(x, 0.0)), out=y)),
        s(lambda y, x: np.cumsum(np.append(x > 1.4, True), out=y)),
        s(lambda y, x: np.clip(y, x.argmax(), 3, out=y)),
        s(lambda y, x: y.__setitem__(x.argmax(), 7)),
        s(lambda y, x: operator.setitem(y, x.argmax(), 7)),
        s(lambda y, x: y.__iadd__(x.argmax())),
        s(lambda y, x: operator.iadd(y, x.argmax())),
        s(lambda y, x: y[x.argmax() :].sort()),
        s(lambda y, x: y[x.argmax() :].fill(3)),
        s(lambda y, x: y[: int(x[0])].__setitem__(..., 9)),
        s(lambda y, x: y.reshape(2, 2).__setitem__((0, int(x[0] > 1.4)), 9)),
        s(lambda y, x: np.random.default_rng(int(x[0])).shuffle(y)),
        s(lambda y, x: np.random.default_rng(int(x[0])).random(out=y) if y.dtype == float else None),
        s(lambda y, x: np.copyto(y, np.roll(y, int(x[0])))),
        s(lambda y, x: y.itemset(0, 5) if hasattr(y, "itemset") else y.__setitem__(0, int(x[0]))),
        s(lambda y, x: np.nan_to_num(y, copy=False, nan=int(x[0]))),
        s(lambda y, x: np.lib.stride_tricks.sliding_window_view(y, 2, writeable=True).__setitem__((x.argmax(), 0), 7)),
        s(lambda y, x: np.bitwise_or(y, x.argmax(), out=y) if y.dtype == int else np.logical_or(y, x[0] > 1.4, out=y)),
        s(lambda y, x: np.less(x, 1.4, out=y[:3]) if y.dtype == float else np.greater(y, x.argmax(), out=y)),
        s(lambda y, x: np.floor(x, out=y[:3]) if y.dtype == float else np.floor(x, out=y[:3], casting="unsafe")),
        s(lambda y, x: np.sign(x - 1.4, out=y[:3], casting="unsafe")),
        s(lambda y, x: y[:3].__setitem__(..., x)),
        s(lambda y, x: y[:3].__setitem__(..., np.floor(x))),
        s(lambda y, x: y[:3].__setitem__(..., np.argsort(x))),
        s(lambda y, x: np.dot(np.eye(4, dtype=y.dtype), np.append(x > 1.4, True).astype(y.dtype), out=y)),
        s(lambda y, x: x.argmax(out=np.zeros((), int)).sum() and y.fill(2)),
    ]
decides.each(
    "wr",
    A([1.0, 2.0, 0.5]),
    A([2.5, 0.25, 1.5]),
    A([1.0, 2.0, 0.5]),
    *ws,
    lambda x: W.flat[x.argmax()] * x[0],
    lambda x: W.flat[[x.argmax()]][0] * x[0],
    lambda x: W.flat[x > 1.4][0] * x[0],
    lambda x: W.flat[int(x[0]) :].sum() * x[0],
    lambda x: W.take(x.argmax()) * x[0] + W.item(x.argmax()) + W.item((int(x[0] > 1.4),)),
    lambda x: W.compress(x > 1.4).sum() * x[0] + np.delete(W, x.argmax())[0] + W.repeat(x.astype(int) + 1).sum(),
    lambda x: (
        W[x.argmax()].item() * x[0]
        + W[None, x.argmax()].sum()
        + W[x.argmax(), ...].sum()
        + W[..., x.argmax(), None].sum()
    ),
    lambda x: W[[x.argmax(), 0]].sum() * x[0],
    lambda x: W[(x.argmax(),)] * x[0],
    lambda x: W[x.argmax() :: 2].sum() * x[0],
    lambda x: W[np.array([x.argmax()])].sum() * x[0],
    lambda x: W[[[x.argmax()]]].sum() * x[0],
    lambda x: W[[bool(v > 1.4) for v in x]].sum() * x[0],
    lambda x: W.__getitem__(x.argmax()) * x[0],
    lambda x: operator.itemgetter(x.argmax())(W) * x[0],
    lambda x: np.choose(x.argmax(), [3.0, 4.0, 5.0]) * x[0],
    lambda x: W.reshape(3, 1)[x.argmax(), 0] * x[0] + np.diag(W)[x.argmax()].sum() + np.diag(W, int(x[0])).size,
    lambda x: (
        np.moveaxis(np.ones((1, 2, 3)), 0, int(x[0])).shape[0] * x[0] + np.expand_dims(W, int(x[0] > 1.4)).shape[0]
    ),
    lambda x: np.ones((2, 3)).sum(axis=int(x[0] > 1.4)).size * x[0],
    lambda x: np.concatenate([np.ones((2, 2)), np.ones((2, 2))], axis=int(x[0] > 1.4)).shape[0] * x[0],
    lambda x: np.swapaxes(np.ones((2, 3)), 0, int(x[0] > 1.4)).shape[0] * x[0],
    lambda x: np.linalg.norm(W, int(x[0])) * x[0],
    lambda x: np.linalg.norm(W, 1 + (x[0] > 1.4)) * x[0],
    lambda x: np.sort(W[::-1], axis=-int(x[0] > 0)).sum() * np.round(1.2345, int(x[0])) * x[0],
    lambda x: np.around(W / 7, int(x[0])).sum() * x[0],
    lambda x: np.percentile(W, int(x[0]) * 10) * x[0],
    lambda x: np.var(W, ddof=int(x[0] > 1.4)) * x[0],
    lambda x: np.sum(W, keepdims=bool(x[0] > 1.4)).ndim * x[0],
    lambda x: np.sum(W, where=x > 1.4) * x[0],
    lambda x: np.sum(W, initial=int(x[0])) * x[0],
    lambda x: np.mean(W, where=x > 1.4) * x[0],
    lambda x: np.max(W, where=x > 1.4, initial=0) * x[0],
    lambda x: (
        np.ones(3, dtype=[int, float][int(x[0] > 1.4)]).dtype.itemsize * x[0]
        + np.ones(3, dtype=["i4", "f8"][int(x[0] > 1.4)]).itemsize
    ),
    lambda x: np.array([1, 2]).astype(["i4", "i8"][int(x[0] > 1.4)]).itemsize * x[0],
    lambda x: np.full(3, x.argmax())[0] * x[0],
    lambda x: np.full(int(x[0]), 2).size * x[0],
    lambda x: np.repeat(W, int(x[0])).size * x[0],
    lambda x: np.cross(W, np.roll(W, int(x[0]))).sum() * x[0],
    lambda x: np.gradient(W, int(x[0])).sum() * x[0] + np.diff(W, int(x[0])).size,
    lambda x: np.interp(int(x[0]), [0, 3], [0.0, 9.0]) * x[0],
    lambda x: np.einsum("ij->ji" if x[0] > 1.4 else "ij->ij", np.ones((2, 3))).shape[0] * x[0],
    lambda x: getattr(np, "sin" if x[0] > 1.4 else "cos")(x[0]),
    lambda x: np.linalg.eigvals(np.array([[0.0, 1.0], [x[0] - 2, 0.0]])).dtype.itemsize * x[0],
    lambda x: np.linalg.eig(np.array([[0.0, 1.0], [x[0] - 2, 0.0]]))[0].dtype.itemsize * x[0],
    lambda x: np.linalg.eig(np.array([[0.0, 1.0], [x[0] - 2, 0.0]]))[1].dtype.itemsize * x[0],
    lambda x: (3 if isinstance(np.linalg.eigvals(np.array([[0.0, 1.0], [x[0] - 2, 0.0]]))[0], complex) else 4) * x[0],
    lambda x: np.abs(np.linalg.eigvals(np.array([[0.0, 1.0], [x[0] - 2, 0.1]]))).max(),
    lambda x: np.sum(np.linalg.eigvals(np.array([[0.0, 1.0], [x[0] - 2, 0.1]])).real ** 2),
    lambda x: np.max(np.linalg.eigvals(np.array([[0.0, 1.0], [x[0] - 2, 0.1]])).real),
    lambda x: np.abs(np.linalg.eig(np.array([[0.0, 1.0], [x[0] - 2, 0.1]]))[0]).max(),
    lambda x: np.abs(np.roots([1.0, 0.3, x[0] - 1.4])).sum(),
    lambda x: np.roots([1.0, 0.3, x[0] - 1.4]).dtype.itemsize * x[0],
    lambda x: scipy.linalg.sqrtm(np.array([[1.0, 0.0], [0.0, 2.0 - x[0]]])).dtype.itemsize * x[0],
    lambda x: scipy.linalg.logm(np.array([[1.0, 0.0], [0.0, 2.0 - x[0]]])).dtype.itemsize * x[0],
    lambda x: scipy.linalg.eigvals(np.array([[0.0, 1.0], [x[0] - 2, 0.0]])).dtype.itemsize * x[0],
    lambda x: np.emath.log(x[0] - 1.4).real * 1.0,
    lambda x: abs(np.emath.sqrt(1.4 - x[0])),
    lambda x: np.emath.arccos(x[0]).real,
    lambda x: abs((1.4 - x[0]) ** 0.5) * 1 if x[0] < 1.4 else x[0],
    lambda x: abs(float(1.4 - x[0]) ** x[1]),
    lambda x: abs(pow(float(1.4 - x[0]), float(x[1]))),
    lambda x: abs(float(1.4 - x[0]) ** 0.5),
    lambda x: (2 if type(float(1.4 - x[0]) ** 0.5) is float else 3) * x[0],
    lambda x: (2 if type(operator.pow(float(1.4 - x[0]), 0.5)) is float else 3) * x[0],
    lambda x: (2 if type(float(1.4 - x[0]).__pow__(0.5)) is float else 3) * x[0],
    lambda x: (2 if type(ipow(float(1.4 - x[0]))) is float else 3) * x[0],
    lambda x: (2 if type((-2.0) ** (float(x[1]) if x[0] > 1.4 else 2)) is float else 3) * x[0],
    lambda x: (2 if type((-2.0) ** float(x[1])) is float else 3) * x[0],
    lambda x: (2 if type(2 ** (1 - int(x[1]))) is float else 3) * x[0],
    lambda x: (2 if type(2 ** -int(x[1])) is int else 3) * x[0],
    lambda x: (2 if type(int(x[0]) ** (int(x[1]) - 1)) is int else 3) * x[0],
    lambda x: (2 if isinstance(round(x[0], None if x[0] > 1.4 else 1), int) else 3) * x[0],
    lambda x: len(np.atleast_1d(np.squeeze(np.ones((1, int(x[0])))))) * x[0],
    lambda x: np.ndim(np.squeeze(np.ones((1, int(x[0]))))) * x[0],
    lambda x: np.squeeze(x[x > 1.4]).ndim * x[0],
    lambda x: np.squeeze(x[x > 0.9]).ndim * x[0],
    lambda x: (2 if type(np.max(np.ones((2, 2)), axis=None if x[0] > 1.4 else 0)) is np.ndarray else 3) * x[0],
    lambda x: (2 if isinstance(x[0 if x[0] > 1.4 else slice(1)], np.ndarray) else 3) * x[0],
    lambda x: x[x > 0.9].sum() * len(x[x > 0.9]),
    lambda x: np.outer(x[x > 0.9], x[x > 1.4]).sum(),
    lambda x: (x[x > 0.9] * x[x > 0.9][0]).sum(),
    lambda x: (x[x > 1.4] * x).sum(),
    lambda x: np.concatenate([x[x > 1.4], x]).sum(),
    lambda x: np.mean(x[x > 0.9]),
    lambda x: np.var(x[x > 0.9]),
    lambda x: np.std(x[x > 0.9]),
    lambda x: np.median(x[x > 0.9]),
    lambda x: np.linalg.norm(x[x > 0.9]),
    lambda x: np.max(x[x > 0.9]),
    lambda x: np.average(x[x > 0.9], weights=x[x > 0.9]),
    lambda x: np.ptp(x[x > 0.4]),
    lambda x: x[x > 0.9].mean(),
    lambda x: x[x > 0.9].var(),
    lambda x: np.cumsum(x[x > 0.9])[-1],
    lambda x: np.diff(x[x > 0.9]).sum(),
    lambda x: np.trapezoid(x[x > 0.9]),
    lambda x: x[x > 0.9] @ x[x > 0.9],
)


def ipow(v):
    v **= 0.5
    return v


decides.each(
    "ex2",
    A([1.0, 2.0, 0.5]),
    A([2.5, 0.25, -1.5]),
    A([1.0, 2.0, 0.5]),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.divide(x, np.maximum(x[2], 0), out=np.zeros(3))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.log(x, out=np.zeros(3))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.log(x, out=np.zeros(3), where=x > -2)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.log(x, where=x > -2, out=np.ones(3))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: idiv(np.ones(3), np.maximum(x, 0))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: idiv(x * 1, np.maximum(x, 0))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: ipow2(x * 1)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.divide.reduce(np.maximum(x, 0))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.multiply.reduce(np.exp(200 * (x + 1.5)))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.true_divide.outer(x, np.maximum(x, 0))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.linalg.norm(x * 1e200 * (x[0] > 2))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.prod(10 ** (x[:2] * 200 * (x[0] > 2)))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.cumprod(10 ** (x[:2] * 100 * (x[0] > 2)))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.logaddexp(x, -x) / np.floor(x[1])))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.var(x * 1e160 * (x[0] > 2))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.dot(x * 1e160 * (x[0] > 2), x * 1e160)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.einsum("i,i", x * 1e160 * (x[0] > 2), x * 1e160)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: x.astype(np.float16) * np.float16(40000)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: (x * 1e40 * (x[0] > 2)).astype(np.float32)))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.linalg.inv(np.diag(np.floor(x[:2])))))),
    caught(lambda x: x[0] * np.sum(loud(lambda: np.mean(x[x > 1.9])))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.nanmax(np.where(x > 2.2, np.nan, x)[:1])))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.nanmean(np.where(x > 2.2, np.nan, x)[:1])))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.nanmedian(np.where(x > 2.2, np.nan, x)[:1])))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.nanstd(np.where(x > 2.2, np.nan, x)[:1])))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.nanpercentile(np.where(x > 2.2, np.nan, x)[:1], 30)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.var(x[x > 1.9], ddof=0)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.corrcoef(x, np.maximum(x, 3 - x))))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.linalg.cond(np.diag(np.floor(x[:2])))))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.sinc(1 / np.floor(x[1]))))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.log(x)))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: np.log(x, out=np.zeros(3))))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: idiv(np.ones(3), np.maximum(x, 0))))),
    caught(lambda x: x[0] * np.sum(loudr(lambda: np.nanmax(np.where(x > 2.2, np.nan, x)[:1])))),
    caught(lambda x: x[0] * np.sum(loudr(lambda: np.log(x)))),
    caught(lambda x: x[0] * np.sum(loudr(lambda: np.log(x[2])))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: put(np.zeros(3), 1 / np.maximum(x, 0))))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: put(np.zeros(3, np.float32), 1e40 * x * (x[0] > 2))))),
    caught(lambda x: x[0] * np.sum(loudw(lambda: put(np.zeros(3), x + (1j if x[0] > 2 else 0))))),
    caught(
        lambda x: (
            x[0]
            * np.sum(loudw(lambda: scipy.linalg.solve(np.diag([1.0, 1e-20 * (x[0] > 2) + (x[0] < 2)]), [1.0, 1.0])))
        )
    ),
)


def idiv(a, b):
    a /= b
    return a


def ipow2(a):
    a **= 0.5
    return a


def put(a, v):
    a[:] = v
    return a


def loudr(f):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=RuntimeWarning)
        return f()


M = np.arange(9.0).reshape(3, 3)
decides.each(
    "key",
    A([1.0, 2.0, 0.5]),
    A([2.5, 0.25, 1.5]),
    A([1.0, 2.0, 0.52]),
    lambda x: W[(x.argmax(),)] * x[0],
    lambda x: M[x.argmax(), 0] * x[0],
    lambda x: M[x.argmax(), :].sum() * x[0],
    lambda x: M[x.argmax(), x.argmin()] * x[0],
    lambda x: W[[x.argmax(), 0]].sum() * x[0],
    lambda x: W[[[x.argmax()]]].sum() * x[0],
    lambda x: W[None, x.argmax()].sum() * x[0],
    lambda x: W[x.argmax(), ...].sum() * x[0],
    lambda x: W[..., x.argmax(), None].sum() * x[0],
    lambda x: M[x > 1.4, 0].sum() * x[0],
    lambda x: M[[x.argmax()], [0]].sum() * x[0],
    lambda x: M[np.argsort(x), 0] @ W * x[0],
    lambda x: x[(x.argmin(),)] * x[0],
    lambda x: x[[x.argmin()]].sum() * x[0],
    lambda x: x[[v > 1.4 for v in x]].sum() * x[0],
    lambda x: W[[v > 1.4 for v in x]].sum() * x[0],
    lambda x: W[([x.argmax()],)].sum() * x[0],
    lambda x: M[0 : x.argmax(), 0].sum() * x[0],
    lambda x: np.sum(W, where=x > 1.4) * x[0],
    lambda x: W.sum(where=x > 1.4) * x[0],
    lambda x: np.mean(W, where=x > 1.4) * x[0],
    lambda x: np.max(W, where=x > 1.4, initial=0) * x[0],
    lambda x: np.prod(W, where=x > 1.4) * x[0],
    lambda x: np.add.reduce(W, where=x > 1.4) * x[0],
    lambda x: np.sum(W, initial=int(x[0])) * x[0],
    lambda x: np.all(W > 3.5, where=x > 1.4) * x[0],
    lambda x: np.sum(np.arange(3), where=x > 1.4) * x[0],
    lambda x: np.var(W, where=x > 0.9) * x[0],
    lambda x: np.take(W, [x.argmax()])[0] * x[0],
    lambda x: np.repeat(W, [x.argmax(), 1, 1]).sum() * x[0],
    lambda x: np.array([x.argmax(), 1]).sum() * x[0],
    lambda x: np.sum([x.argmax(), 1]) * x[0],
    lambda x: np.average(W, weights=[x.argmax(), 1, 1]) * x[0],
    lambda x: np.where([v > 1.4 for v in x], W, 0).sum() * x[0],
    lambda x: np.select([[v > 1.4 for v in x]], [W]).sum() * x[0],
    lambda x: np.insert(W, [x.argmax()], 9) @ np.arange(4.0) * x[0],
    lambda x: np.delete(W, [x.argmax()])[0] * x[0],
    lambda x: np.roll(M, (x.argmax(), 1), (0, 1))[0, 0] * x[0],
    lambda x: np.pad(W, ((x.argmax(), 0),)).size * x[0],
    lambda x: np.clip(W, x.argmax(), 4).sum() * x[0],
    lambda x: np.tile(W, (x.argmax() + 1, 1)).size * x[0],
    lambda x: W.reshape((x.argmax() * 2 + 1, -1)).shape[0] * x[0],
    lambda x: np.ones((x.argmax(), 2)).size * x[0],
    lambda x: np.ones((2, 3)).transpose((x.argmax() % 2, 1 - x.argmax() % 2)).shape[0] * x[0],
    lambda x: np.ones((2, 3, 4)).sum(axis=(0, 1 + x.argmax() % 2)).size * x[0],
    lambda x: np.concatenate([[x.argmax()], [1]]).sum() * x[0],
    lambda x: np.stack([x.argmax(), 1]).sum() * x[0],
    lambda x: np.polyval([x.argmax(), 1], 2) * x[0],
    lambda x: np.dot([x.argmax(), 1], [2, 3]) * x[0],
    lambda x: np.interp(x.argmax(), [0, 1, 2], [1.0, 5.0, 7.0]) * x[0],
    lambda x: np.unravel_index(x.argmax(), (2, 2))[1] * x[0] + x[1],
    lambda x: np.ix_([x.argmax()], [0])[0].sum() * x[0],
    lambda x: M[np.ix_([x.argmax()], [0])].sum() * x[0],
    lambda x: np.take_along_axis(W, np.array([x.argmax()]), 0).sum() * x[0],
    lambda x: W[slice(x.argmax(), None)].sum() * x[0],
    lambda x: M[(slice(x.argmax(), None), 0)].sum() * x[0],
    lambda x: [W, W * 2, W * 3][x.argmax()][0] * x[0],
    lambda x: {(1, 0): 3.0, (0, 0): 4.0}[x.argmax(), 0] * x[0],
    lambda x: ord(np.array(["a", "b", "c"])[x.argmax(), None][0]) * x[0],
    lambda x: ord(np.array(["a", "b", "c"])[[x.argmax()]][0]) * x[0],
    lambda x: np.array([3.0, 4.0, 5.0], dtype=object)[[x.argmax()]][0] * x[0],
    lambda x: np.arange(3)[[x.argmax()]][0] * x[0],
    lambda x: np.arange(9).reshape(3, 3)[x.argmax(), 1] * x[0],
    lambda x: np.eye(3, dtype=bool)[x.argmax(), 1] * x[0] + x[0],
    lambda x: (3 if np.eye(3, dtype=bool)[x.argmax(), 1] else 4) * x[0],
)

# -- rules whose result is of another kind elsewhere


def pos(x):
    return x[x > 0.9]


@wg.rrule(pos)
def pos_rule(x):
    m = x > 0.9

    def pb(g):
        o = np.zeros(3)
        o[m] = g
        return o

    return x[m], pb


def cx(x):
    return np.sqrt(x[0] - 1.4) if x[0] > 1.4 else np.sqrt(x[0] - 1.4 + 0j)


@wg.rrule(cx)
def cx_rule(x):
    y = cx(x)
    return y, lambda g: np.array([(np.conj(0.5 / y) * g).real, 0.0, 0.0])


def kind(x):
    return x * 2 if x[0] > 1.4 else float(x[0] * 2)


@wg.rrule(kind)
def kind_rule(x):
    if x[0] > 1.4:
        return x * 2, lambda g: g * 2
    return float(x[0] * 2), lambda g: np.array([g * 2, 0, 0])


def chosen(x):
    return np.argsort(x)[: int(x[0])]


wg.non_differentiable(chosen)


def cast(x):
    return np.ones(3, dtype=[int, float][int(x[0] > 1.4)])


wg.non_differentiable(cast)
decides.each(
    "rule_kind",
    A([1.0, 2.0, 0.5]),
    A([2.5, 0.25, 1.5]),
    A([1.0, 2.0, 0.52]),
    lambda x: pos(x).size * x[0],
    lambda x: pos(x).mean() * x[0],
    lambda x: sum(v for v in pos(x)),
    lambda x: abs(cx(x)) * x[1],
    lambda x: x[0] * (3 if isinstance(cx(x), complex) else 4),
    lambda x: x[0] * cx(x).dtype.itemsize,
    lambda x: np.sum(kind(x)) * x[0],
    lambda x: x[0] * (3 if isinstance(kind(x), float) else 4),
    lambda x: x[0] * (3 if hasattr(kind(x), "shape") else 4),
    lambda x: x[0] * np.ndim(kind(x)),
    lambda x: chosen(x).size * x[0],
    lambda x: (3 if cast(x).dtype == int else 4) * x[0],
    lambda x: (
        np.linalg.lstsq(np.array([[max(x[0], 1.0), 1.0], [1.0, 1.0], [0.0, 0.0]]), np.ones(3), rcond=None)[1].size
        * x[0]
    ),
)
