"""Programs that decide by a traced value: `(f, a, b, same)`; f goes another way at b than at a, and the same at `same`.

Arguments are floats or lists, which stand for arrays. Each door through which a value gets to a decision of Python's
has programs of its own.
"""

from __future__ import annotations

import bisect
import cmath
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import heapq
import io
import itertools
import math
import operator
import re
import statistics
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg


class Case(NamedTuple):
    f: Callable[..., Any]
    a: Any
    b: Any
    same: Any


CASES: dict[str, Case] = {}
W = np.array([2.0, 3.0, 5.0, 7.0, 11.0])
L = [2.0, 3.0, 5.0, 7.0, 11.0]
TABLE = np.arange(24.0).reshape(4, 3, 2) ** 1.3


def decides(a: Any, b: Any, same: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def note(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES[f.__name__] = Case(f, a, b, same)
        return f

    return note


def table(prefix: str, a: Any, b: Any, same: Any, *fs: Callable[..., Any]) -> None:
    for k, f in enumerate(fs, 1):
        CASES[f"{prefix}_{k}"] = Case(f, a, b, same)


# -- tests of floats and arrays

table(
    "test", 0.5, 1.5, 0.7,
    lambda x: x * 2 if x < 1 else x * 3,
    lambda x: x * (2 if not x > 1 else 3),
    lambda x: [x * 2, x * 3][x > 1],
    lambda x: {True: x * 2, False: x * 3}[x > 1],
    lambda x: x * (1 + (x > 1)),
    lambda x: x * int(x + 1),
    lambda x: x * round(x + 0.3),
    lambda x: x * math.floor(x),
    lambda x: x * math.ceil(x),
    lambda x: x * math.trunc(x),
    lambda x: x * (x // 1),
    lambda x: x * divmod(x, 1)[0],
    lambda x: x * sum(1 for _ in range(int(x * 2))),
    lambda x: x ** int(x + 1),
    lambda x: x * 2 if 0 < x < 1 else x,
    lambda x: x * 2 if math.isclose(x, 0.6, abs_tol=0.2) else x,
    lambda x: x * 2 if (x - 1).__lt__(0) else x,
    lambda x: x * 2 if operator.lt(x, 1) else x,
    lambda x: sum([y for y in (x, 2 * x, 3 * x) if y < 1.45]),
    lambda x: sum(filter(lambda y: y < 1.45, (x, 2 * x, 3 * x))),
    lambda x: sum(itertools.takewhile(lambda y: y < 1.45, (x, 2 * x, 3 * x))),
    lambda x: sum(itertools.dropwhile(lambda y: y < 1, (x, 2 * x, 3 * x))),
    lambda x: sum(itertools.compress((x, x * x), (max(x - 1, 0.0), 1.0))),
    lambda x: x * (2 if any(y > 1.45 for y in (x, 2 * x)) else 3),
    lambda x: x * (2 if all([y < 1.45 for y in (x, 2 * x)]) else 3),
    lambda x: x * len([y for y in (x, 2 * x) if y < 1.45]),
    lambda x: x * (2 if (x - 1 > 0) == True else 3),  # noqa: E712
    lambda x: x * (2 if (x > 1) is True else 3),
    lambda x: x * (2 if (max(x - 1, 0.0)) else 3),
    lambda x: x * (2 if bool(max(x - 1, 0.0)) else 3),
    lambda x: x * 2 if max(x, 1.0) == 1.0 else x * 3,
    lambda x: x * sorted([(x, 2), (1.0, 3)])[0][1],
    lambda x: x * min([(x, 2), (1.0, 3)])[1],
    lambda x: x * max((1.0, 2), (x, 3))[1],
    lambda x: x * sorted([2.0, 3.0], key=lambda w: abs(w * x - 2))[0],
    lambda x: x * min([2.0, 3.0, 1.0], key=lambda w: abs(w * x - 2)),
    lambda x: x * bisect.bisect([0.2, 1.0, 2.0], x),
    lambda x: x * bisect.bisect_left([0.2, 1.0, 2.0], x),
    lambda x: heapq.nsmallest(1, [(x, 2.0), (1.0, 5.0)])[0][1] * x,
    lambda x: heapq.merge([(x, 2.0)], [(1.0, 5.0)]).__next__()[1] * x,
    lambda x: x * math.frexp(x)[1] + math.frexp(x)[0],
    lambda x: x * int(np.frexp(x)[1]),
    lambda x: x * L[int(np.frexp(x)[1]) + 1],
    lambda x: x * int(np.sign(x - 1)),
    lambda x: x * L[int(np.sign(x - 1))],
    lambda x: x * int(math.copysign(1, x - 1)),
    lambda x: x * np.heaviside(x - 1, 0.5),
    lambda x: x * int(x.is_integer()) + x * (x * 2 > 2),
    lambda x: x * (2 if np.isclose(x, 0.6, atol=0.2) else 3),
    lambda x: x * (2 if np.less(x, 1) else 3),
    lambda x: x * np.array([1.0, 2.0])[int(x > 1)],
    lambda x: x * np.count_nonzero(np.array([x, 2 * x]) > 1.45),
    lambda x: x * np.searchsorted([0.2, 1.0], x),
    lambda x: x * L[np.searchsorted([0.2, 1.0], x)],
    lambda x: x * L[np.digitize(x, [0.2, 1.0])],
    lambda x: x * statistics.median([1.0, x, 3.0]),
    lambda x: x * functools.reduce(lambda p, q: p if p < q else q, [1.0, x]),
    lambda x: x * [0.2, 1.0, x].index(min([0.2, 1.0, x], key=lambda y: abs(y - 1.2))),
)  # fmt: skip


@decides(0.5, 1.5, 0.7)
def a_while_loop(x):
    n = 0
    while n < x:
        n += 1
    return x * n


@decides(0.5, 1.5, 0.7)
def a_match_on_a_guard(x):
    match x:
        case y if y > 1:
            return y * 2
        case _:
            return x * 3


@decides(2.0, 3.0, 2.0)
def a_match_on_a_value(x):
    match x:
        case 2.0:
            return x * 2
        case _:
            return x * 3


@decides(0.5, 1.5, 0.7)
def a_match_on_an_integer(x):
    match int(x):
        case 0:
            return x * 2
        case _:
            return x * 3


@decides(0.5, 1.5, 0.7)
def the_number_of_different_integers(x):
    return x * len(np.unique(np.array([x, 0.0, 2.0]).astype(int)))


@decides(0.5, 1.5, 0.7)
def shapes_of_an_array_of_integers(x):
    shape = np.array([x, 1.0]).astype(int) + 1
    sizes = np.zeros(shape).size + np.full(shape, 2.0).size + np.indices(shape).size + np.broadcast_to(1.0, shape).size
    return x * (sizes + np.ndarray(shape).size)


@decides(0.5, 1.5, 0.7)
def a_matrix_of_integers(x):
    return x * np.asmatrix(np.array([x, 2.0]).astype(int))[0, 0]


@decides(0.5, 1.5, 0.7)
def groups(x):
    return x * len(list(itertools.groupby([x > 1, False, False])))


@decides(0.5, 1.0, 0.5)
def groups_of_floats(x):
    return x * len(list(itertools.groupby([x, 1.0, 1.0])))


# -- integers from arrays, used in Python

A, B, SAME = [0.1, 0.9, 0.4], [0.8, 0.2, 0.5], [0.3, 0.7, 0.5]
table(
    "key_of_parts", A, B, SAME,
    *[
        lambda x, key=key: x.sum() * np.sum(TABLE[key(np.argmax(x), x)])
        for key in (
            lambda i, x: (i, 0),
            lambda i, x: (i, ...),
            lambda i, x: (..., i - 1),
            lambda i, x: (None, i),
            lambda i, x: (i + 1, slice(None), 0),
            lambda i, x: (slice(i), 0),
            lambda i, x: (0, slice(i, None)),
            lambda i, x: (i, i, i - 1),
            lambda i, x: [i, 2],
            lambda i, x: ([i, 2], 0),
            lambda i, x: (0, [[i], [2]]),
            lambda i, x: (np.array([i, 2]), 1),
            lambda i, x: (0, x > 0.6),
            lambda i, x: (x[0] > 0.6, ...),
            lambda i, x: (np.argsort(x), 1),
            lambda i, x: (1, np.argsort(x)[:2]),
            lambda i, x: (1, *np.nonzero(x > 0.6)),
        )
    ],
    lambda x: x.sum() * TABLE.__getitem__((np.argmax(x), 0)).sum(),
    lambda x: x.sum() * operator.getitem(TABLE, (0, np.argmax(x))).sum(),
    lambda x: x.sum() * sum([*TABLE[np.argmax(x), :, 1]]),
)  # fmt: skip
table(
    "integer", A, B, SAME,
    lambda x: x.sum() * L[np.argmax(x)],
    lambda x: x.sum() * W[np.argmax(x)],
    lambda x: x.sum() * (2.0, 3.0, 5.0)[np.argmax(x)],
    lambda x: x.sum() * {0: 2.0, 1: 3.0, 2: 5.0}[np.argmax(x)],
    lambda x: x.sum() * {0: 2.0, 1: 3.0}.get(np.argmax(x), 4.0),
    lambda x: x.sum() * len(range(np.argmax(x))),
    lambda x: sum(x[i] for i in range(np.argmax(x) + 1)),
    lambda x: x.sum() * sum(L[: np.argmax(x)]),
    lambda x: x.sum() * sum(L[np.argmax(x) :: 2]),
    lambda x: x[: np.argmax(x)].sum() + x[0],
    lambda x: x[: int(np.argmax(x))].sum() + x[0],
    lambda x: x.sum() * [*L].pop(np.argmax(x)),
    lambda x: x.sum() * (2 if np.argmax(x) in {0, 2} else 3),
    lambda x: x.sum() * (2 if np.argmax(x) in (0, 2) else 3),
    lambda x: x.sum() * (2 if np.argmax(x) in [0, 2] else 3),
    lambda x: x.sum() * (2 if np.argmax(x) in range(0, 4, 2) else 3),
    lambda x: x.sum() * (2 if np.argmax(x) in {0: 1, 2: 3} else 3),
    lambda x: x.sum() * (2 if np.argmax(x) in {0: 1, 2: 3}.keys() else 3),
    lambda x: x.sum() * (2 if np.argmax(x) in collections.deque([0, 2]) else 3),
    lambda x: x.sum() * (2 if np.argmax(x) in frozenset([0, 2]) else 3),
    lambda x: x.sum() * (2 if np.argmax(x) not in {0, 2} else 3),
    lambda x: x.sum() * (2 if {0, 2}.__contains__(np.argmax(x)) else 3),
    lambda x: x.sum() * (2 if [0, 2].__contains__(np.argmax(x)) else 3),
    lambda x: x.sum() * len([1.0] * np.argmax(x)),
    lambda x: x.sum() * len(np.argmax(x) * [1.0]),
    lambda x: x.sum() * len("ab" * np.argmax(x)),
    lambda x: x.sum() * ord("abc"[np.argmax(x)]),
    lambda x: x.sum() * b"abc"[np.argmax(x)],
    lambda x: x.sum() * ord(chr(97 + np.argmax(x))),
    lambda x: x.sum() * (hash(np.argmax(x)) + 1),
    lambda x: x.sum() * operator.index(np.argmax(x)),
    lambda x: x.sum() * np.argmax(x).__index__(),
    lambda x: x.sum() * np.argmax(x).item(),
    lambda x: x.sum() * int(np.argmax(x)),
    lambda x: x.sum() * float(np.argmax(x)),
    lambda x: x.sum() * np.argsort(x).tolist()[0],
    lambda x: x.sum() * L[np.argsort(x)[0]],
    lambda x: sum(x[i] * L[i] for i in np.argsort(x)[:2]),
    lambda x: sum(x[i] * w for i, w in zip(np.argsort(x), L, strict=False)),
    lambda x: x.sum() * sum(itertools.islice(L, np.argmax(x))),
    lambda x: x.sum() * sum(itertools.repeat(2.0, np.argmax(x))),
    lambda x: x.sum() * len(list(itertools.combinations(L, np.argmax(x) + 1))),
    lambda x: x.sum() * sum(k for k, _ in enumerate("ab", np.argmax(x))),
    lambda x: x.sum() * math.comb(5, np.argmax(x)),
    lambda x: x.sum() * math.factorial(np.argmax(x)),
    lambda x: x.sum() * operator.itemgetter(np.argmax(x))(L),
    lambda x: x.sum() * operator.getitem(L, np.argmax(x)),
    lambda x: x.sum() * L.__getitem__(np.argmax(x)),
    lambda x: x.sum() * (1, 2, 3).__getitem__(np.argmax(x)),
    lambda x: x.sum() * list.__getitem__(L, np.argmax(x)),
    lambda x: x.sum() * dict.get({0: 2.0, 1: 3.0}, np.argmax(x)),
    lambda x: x.sum() * len(bytes(np.argmax(x))),
    lambda x: x.sum() * len(bytearray(np.argmax(x))),
    lambda x: x.sum() * np.zeros(np.argmax(x)).size,
    lambda x: x.sum() * len(np.zeros(np.argmax(x))),
    lambda x: x.sum() * np.ones((2, np.argmax(x))).shape[1],
    lambda x: x.sum() * np.arange(np.argmax(x)).size,
    lambda x: x.sum() * np.eye(np.argmax(x) + 1).sum(),
    lambda x: np.repeat(x, np.argmax(x)).size * x.sum(),
    lambda x: np.tile(x, int(np.argmax(x)) + 1).sum(),
    lambda x: np.roll(x, int(np.argmax(x)))[0] * x[1],
    lambda x: x.sum() * len(np.linspace(0.0, 1.0, int(np.argmax(x)) + 1)),
    lambda x: x.reshape(-1, 1)[np.argmax(x)].sum() * x.shape[np.argmax(x) % 1],
    lambda x: x.sum() * x.reshape(1, 3).shape[int(np.argmax(x) > 0)],
    lambda x: x.sum() * f"{np.argmax(x)}".count("1"),
    lambda x: x.sum() * len(str(10 ** int(np.argmax(x)))),
    lambda x: x.sum() * len("%d" % (10 ** np.argmax(x))),
    lambda x: x.sum() * (np.argmax(x) or 7),
    lambda x: x.sum() * (2 if np.argmax(x) else 3),
    lambda x: x.sum() * (2 if np.argmax(x) == 0 else 3),
    lambda x: x.sum() * (2 if not np.argmax(x) else 3),
    lambda x: x.sum() * (2 if (x > 0.45).any() and x[0] > 0.5 else 3),
    lambda x: x.sum() * (2 if (x > 0.05)[0] and (x > 0.5)[0] else 3),
    lambda x: x.sum() * sum((x[:1] > 0.5).tolist()),
    lambda x: x.sum() * np.unravel_index(np.argmax(x), (2, 2))[1] + x[0],
    lambda x: x.sum() * L[np.unravel_index(np.argmax(x), (2, 2))[1]],
    lambda x: x.sum() * collections.deque(L)[np.argmax(x)],
    lambda x: x.sum() * collections.OrderedDict({0: 2.0, 1: 3.0})[np.argmax(x)],
    lambda x: x.sum() * collections.ChainMap({0: 2.0, 1: 3.0})[np.argmax(x)],
    lambda x: x.sum() * collections.UserList(L)[np.argmax(x)],
    lambda x: x.sum() * collections.Counter([np.argmax(x), 0])[0],
    lambda x: x.sum() * collections.defaultdict(lambda: 4.0, {0: 2.0})[np.argmax(x)],
    lambda x: x.sum() * types.MappingProxyType({0: 2.0, 1: 3.0})[np.argmax(x)],
    lambda x: x.sum() * memoryview(b"abc")[np.argmax(x)],
    lambda x: x.sum() * range(2, 9)[np.argmax(x)],
    lambda x: x.sum() * len({np.argmax(x), 0}),
    lambda x: x.sum() * len({*[np.argmax(x), 0]}),
    lambda x: x.sum() * len({k for k in (np.argmax(x), 0)}),
    lambda x: x.sum() * len({np.argmax(x): 1, 0: 2}),
    lambda x: x.sum() * len({k: 1 for k in (np.argmax(x), 0)}),
    lambda x: x.sum() * len(dict([(np.argmax(x), 1), (0, 2)])),
    lambda x: x.sum() * len(set([np.argmax(x), 0])),
    lambda x: x.sum() * len(frozenset([np.argmax(x), 0])),
    lambda x: x.sum() * len(dict.fromkeys([np.argmax(x), 0])),
    lambda x: x.sum() * len({0} | {np.argmax(x)}),
    lambda x: x.sum() * len({0}.union([np.argmax(x)])),
    lambda x: x.sum() * len({0} - {np.argmax(x)}),
    lambda x: x.sum() * len({0} & {np.argmax(x)}),
    lambda x: x.sum() * next(iter({np.argmax(x) + 1, 1})),
    lambda x: x.sum() * [0, 1, 2].index(np.argmax(x)),
    lambda x: x.sum() * [0, 1, 1].count(np.argmax(x)),
    lambda x: x.sum() * (2 if {np.argmax(x)} == {0} else 3) if False else x.sum() * L[x.argmax()],
)  # fmt: skip


@decides(A, B, SAME)
def a_list_that_is_written(x):
    held = [*L]
    held[np.argmax(x)] = 1.0
    return x.sum() * held[0]


@decides(A, B, SAME)
def a_list_from_which_is_deleted(x):
    held = [*L]
    del held[np.argmax(x)]
    return x.sum() * held[0]


@decides(A, B, SAME)
def a_list_into_which_is_inserted(x):
    held = [*L]
    held.insert(np.argmax(x), 9.0)
    return x.sum() * held[0]


@decides(A, B, SAME)
def a_slice_that_is_written(x):
    held = [*L]
    held[: np.argmax(x)] = []
    return x.sum() * held[0]


@decides(A, B, SAME)
def a_slice_that_is_deleted(x):
    held = [*L]
    del held[: np.argmax(x)]
    return x.sum() * held[0]


@decides(A, B, SAME)
def a_dict_that_is_written(x):
    held = {0: 2.0, 1: 3.0}
    held[np.argmax(x)] = 7.0
    return x.sum() * held[0]


@decides(A, B, SAME)
def a_dict_from_which_is_popped(x):
    held = {0: 2.0, 1: 3.0}
    held.pop(np.argmax(x))
    return x.sum() * sum(held.values())


@decides(A, B, SAME)
def a_deque_that_is_rotated(x):
    held = collections.deque(L)
    held.rotate(np.argmax(x))
    return x.sum() * held[0]


@decides(A, B, SAME)
def a_set_that_is_filled(x):
    held = {0}
    held.add(np.argmax(x))
    return x.sum() * len(held)


@decides(A, B, SAME)
def a_set_that_is_emptied(x):
    held = {0}
    held.discard(np.argmax(x))
    return x.sum() * len(held)


@decides(A, B, SAME)
def a_default_that_is_set(x):
    held = {0: 2.0}
    return x.sum() * held.setdefault(np.argmax(x), 5.0)


@decides(A, B, SAME)
def a_bytearray_that_is_written(x):
    held = bytearray(b"abc")
    held[np.argmax(x)] = 1
    return x.sum() * held[0]


@decides(A, B, SAME)
def a_dict_that_is_updated(x):
    held = {0: 2.0}
    held.update([(np.argmax(x), 7.0)])
    return x.sum() * held[0]


# -- lengths that depend on values

table(
    "length", A, B, SAME,
    lambda x: x.sum() * len(np.where(x[:1] > 0.5)[0]),
    lambda x: x.sum() * L[len(np.where(x[:1] > 0.5)[0])],
    lambda x: x.sum() * len(np.flatnonzero(x[:1] > 0.5)),
    lambda x: x.sum() * x[:1][x[:1] > 0.5].size,
    lambda x: x.sum() * len(np.nonzero(x[:1] > 0.5)[0]),
    lambda x: x.sum() * len((x[:1] > 0.5).nonzero()[0]),
    lambda x: x.sum() * np.argwhere(x[:1] > 0.5).shape[0],
    lambda x: x.sum() * len(np.compress(x[:1] > 0.5, x[:1])),
    lambda x: x.sum() * len(np.extract(x[:1] > 0.5, x[:1])),
    lambda x: x.sum() * len(np.unique(x[:2] > 0.5)),
    lambda x: x.sum() * np.unique(np.round(x - 0.05)).size * L[int(x[0] > 0.5)],
    lambda x: x.sum() * len(np.bincount(np.floor(x[:1] * 2).astype(int))),
    lambda x: x.sum() * len(np.argsort(x)[:1][np.argsort(x)[:1] > 0]),
    lambda x: x.sum() * len(list(filter(None, [v > 0.5 for v in x[:1]]))),
    lambda x: x.sum() * len(np.trim_zeros(np.where(x[:1] > 0.5, x[:1], 0.0))),
    lambda x: x.sum() * len(np.intersect1d(np.round(x[:1]), [1.0])),
)  # fmt: skip

# -- floats that are hashed, looked up, found among others

table(
    "hashed", 1.0, 2.0, 1.0,
    lambda x: x * {1.0: 3.0, 2.0: 4.0}[x],
    lambda x: x * {1: 3.0}.get(x, 5.0),
    lambda x: x * (2 if x in {1.0, 3.0} else 3),
    lambda x: x * (2 if x in {1: None} else 3),
    lambda x: x * len({x, 1.0}),
    lambda x: x * len({x: 1, 1.0: 2}),
    lambda x: x * len({y for y in (x, 1.0)}),
    lambda x: x * len(set([x, 1.0])),
    lambda x: x * (hash(x) % 7),
    lambda x: x * (hash((x, 1)) == hash((1.0, 1))),
    lambda x: x * {(1.0, "a"): 3.0}.get((x, "a"), 4.0),
    lambda x: x * {((1.0,),): 3.0}.get(((x,),), 4.0),
    lambda x: x * [1.0, 2.0].index(x) + x,
    lambda x: x * (1.0, 2.0, 2.0).count(x),
    lambda x: x * (2 if x in collections.deque([1.0]) else 3),
    lambda x: x * (2 if x in {"k": 1.0}.values() else 3),
    lambda x: x * (2 if ("k", x) in {"k": 1.0}.items() else 3),
    lambda x: x * (2 if (x, 1) in [(1.0, 1)] else 3),
    lambda x: x * (2 if (x, 1) == (1.0, 1) else 3),
    lambda x: x * (2 if [x, 1] == [1.0, 1] else 3),
    lambda x: x * (2 if x == 1 else 3),
    lambda x: x * (2 if x != 1 else 3),
    lambda x: x * collections.Counter({1.0: 3.0})[x] + x,
    lambda x: x * Level(x).weight,
    lambda x: x * (2 if Level(x) is Level.LOW else 3),
    lambda x: x * {Point(1.0): 3.0}.get(Point(x), 4.0),
    lambda x: x * (2 if Point(x) == Point(1.0) else 3),
    lambda x: x * (2 if Point(x) in [Point(1.0)] else 3),
    lambda x: x * (2 if Point(x) in {Point(1.0)} else 3),
    lambda x: x * len({Point(x), Point(1.0)}),
    lambda x: x * (hash(Point(x)) == hash(Point(1.0))),
    lambda x: x * (2 if Pair(x, 2) == Pair(1.0, 2) else 3),
    lambda x: x * (2 if Pair(x, 2) in [Pair(1.0, 2)] else 3),
    lambda x: x * {Pair(1.0, 2): 3.0}.get(Pair(x, 2), 4.0),
    lambda x: x * list(dict.fromkeys([x, 1.0, 3.0]))[1],
    lambda x: x * dict([(x, 2.0), (1.0, 3.0)])[x],
    lambda x: x * sorted({x, 3.0, 1.0})[1],
    lambda x: x * (2 if x in np.array([1.0, 3.0]) else 3),
    lambda x: x * (2 if x in range(2) else 3),
    lambda x: x * (2 if 1.0 in {x: 0} else 3),
    lambda x: x * {x: 2.0}.get(1.0, 3.0),
    lambda x: x * {x: 2.0}.get(1, 3.0),
    lambda x: x * frozenset([1.0]).issuperset([x]) + x,
    lambda x: x * {1.0}.isdisjoint([x]) + x,
    lambda x: x * operator.countOf([1.0, 3.0], x) + x,
    lambda x: x * operator.contains({1.0}, x) + x,
)  # fmt: skip


class Level(enum.Enum):
    LOW = 1.0
    HIGH = 2.0

    @property
    def weight(self):
        return 3.0 if self is Level.LOW else 5.0


@dataclasses.dataclass(frozen=True)
class Point:
    x: float


class Pair(NamedTuple):
    x: float
    n: int


@decides(1.0, 2.0, 1.0)
def a_memo(x):
    memo = {}
    for y in (x, 1.0):
        if y not in memo:
            memo[y] = len(memo) + 1.0
    return x * sum(memo.values())


table(
    "not_found", 0.3, 1.0, 0.4,
    lambda x: x * {1.0: 3.0}.get(x, 4.0),
    lambda x: x * (2 if x in {1.0, 2.0} else 3),
    lambda x: x * (2 if x in [1.0, 2.0] else 3),
    lambda x: x * len({x, 1.0}),
    lambda x: x * len({x: 2, 1.0: 3}),
    lambda x: x * (2 if (x, 1) in {(1.0, 1)} else 3),
    lambda x: x * [1.0].count(x) + x,
)  # fmt: skip

# -- texts

table(
    "text", 0.12, 0.27, 0.11,
    lambda x: x * (2 if f"{x:.1f}" == "0.1" else 3),
    lambda x: x * (2 if str(round(x, 1)) == "0.1" else 3),
    lambda x: x * (2 if format(x, ".1f") == "0.1" else 3),
    lambda x: x * (2 if "%.1f" % x == "0.1" else 3),
    lambda x: x * (2 if "%.1f" % (x,) == "0.1" else 3),
    lambda x: x * (2 if f"{x:.1f}" in ("0.1", "7") else 3),
    lambda x: x * (2 if f"{x:.1f}" in {"0.1", "7"} else 3),
    lambda x: x * {"0.1": 2.0, "0.3": 5.0}[f"{x:.1f}"],
    lambda x: x * {"0.1": 2.0}.get(f"{x:.1f}", 4.0),
    lambda x: x * getattr(NAMES, f"a{10 * x:.0f}"),
    lambda x: x * (2 if hasattr(NAMES, f"a{10 * x:.0f}") and f"a{10 * x:.0f}" == "a1" else 3),
    lambda x: x * vars(NAMES)[f"a{10 * x:.0f}"],
    lambda x: x * operator.attrgetter("a1" if f"{x:.1f}".endswith("1") else "a3")(NAMES),
    lambda x: x * (2 if f"{x:.1f}".endswith("1") else 3),
    lambda x: x * (2 if f"{x:.1f}".find("1") > 0 else 3),
    lambda x: x * (2 if "1" in f"{x:.1f}" else 3),
    lambda x: x * (2 if "{:.1f}".format(x) == "0.1" else 3),
    lambda x: x * (2 if "{y:.1f}".format(y=x) == "0.1" else 3),
    lambda x: x * (2 if f"{x:.1f}"[2] == "1" else 3),
    lambda x: x * (2 if f"{x:.1f}".split(".")[1] == "1" else 3),
    lambda x: x * (2 if f"{x:.1f}".replace("0.", "") == "1" else 3),
    lambda x: x * (2 if f"v{x:.1f}".upper() == "V0.1" else 3),
    lambda x: x * (2 if "v" + f"{x:.1f}" == "v0.1" else 3),
    lambda x: x * (2 if f"{f'{x:.1f}'}!" == "0.1!" else 3),
    lambda x: x * (2 if "-".join(["v", f"{x:.1f}"]) == "v-0.1" else 3),
    lambda x: x * (2 if f"{x:.1f}" < "0.2" else 3),
    lambda x: x * (2 if sorted([f"{x:.1f}", "0.2"])[0] == "0.2" else 3),
    lambda x: x * (2 if max(f"{x:.1f}", "0.2") == "0.2" else 3),
    lambda x: x * sum(c == "1" for c in f"{x:.1f}") + x,
    lambda x: x * f"{x:.1f}".count("1") + x,
    lambda x: x * len(f"{x:.1f}".strip("1")),
    lambda x: x * len("a" * f"{x:.1f}".index("." if f"{x:.1f}" == "0.1" else "3")),
    lambda x: x * (2 if f"{x:.1f}".encode() == b"0.1" else 3),
    lambda x: x * [2.0, 3.0][f"{x:.1f}" == "0.1"],
    lambda x: x * (2 if repr(round(x, 1)) == "0.1" else 3),
    lambda x: x * len({f"{x:.1f}", "0.1"}),
    lambda x: x * len({f"{x:.1f}": 1, "0.1": 2}),
    lambda x: x * [f"{x:.1f}"].count("0.1") + x,
    lambda x: x * (2 if (f"{x:.1f}", 1) == ("0.1", 1) else 3),
    lambda x: x * Names(f"{x:.1f}").value,
    lambda x: x * (2 if str([round(x, 1)]) == "[0.1]" else 3),
    lambda x: x * (2 if f"{round(x, 1)!r}" == "0.1" else 3),
    lambda x: x * (2 if f"{x:.1f}".isdigit() or f"{x:.1f}" == "0.1" else 3),
    lambda x: x * (2 if f"{x:.1f}" is None or not f"{x:.1f}"[: f"{x:.1f}".find("1")] else 3),
    lambda x: x * (2 if np.array2string(np.array([x]), precision=1) == "[0.1]" else 3),
    lambda x: x * (2 if np.format_float_positional(x, 1) == "0.1" else 3),
)  # fmt: skip


class Names(enum.Enum):
    a = "0.1"
    b = "0.3"

    @property
    def value(self):
        return 2.0 if self is Names.a else 3.0


NAMES = types.SimpleNamespace(a1=2.0, a3=5.0)


@decides(0.12, 0.27, 0.11)
def a_text_matched(x):
    match f"{x:.1f}":
        case "0.1":
            return x * 2
        case _:
            return x * 3


@decides(0.12, 0.27, 0.12)
def a_text_from_a_stream(x):
    stream = io.StringIO()
    stream.write(f"{x:.1f}")
    return x * (2 if stream.getvalue() == "0.1" else 3)


@decides(0.12, 0.27, 0.12)
def a_text_printed_into_a_stream(x):
    stream = io.StringIO()
    print(f"{x:.1f}", file=stream)
    return x * (2 if stream.getvalue() == "0.1\n" else 3)


@decides(0.12, 0.27, 0.11)
def an_attribute_that_is_set(x):
    held = types.SimpleNamespace(a1=2.0, a3=5.0)
    setattr(held, f"a{10 * x:.0f}", 7.0)
    return x * held.a1


@decides(0.12, 0.27, 0.11)
def an_attribute_that_is_deleted(x):
    held = types.SimpleNamespace(a1=2.0, a3=5.0)
    delattr(held, f"a{10 * x:.0f}")
    return x * len(vars(held)) * (2 if hasattr(held, "a1") else 3)


@decides(0.12, 0.27, 0.11)
def keywords_named_by_a_text(x):
    return x * dict(**{f"a{10 * x:.0f}": 2.0}).get("a1", 3.0)


# -- exceptions that are caught


def caught(*kinds: type[Exception]) -> Callable[..., Any]:
    def program(f: Callable[..., Any]) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            try:
                return f(x)
            except kinds:
                return x * 7 if isinstance(x, float) else x.sum() * 7

        return run

    return program


raised = {
    "log": (-1.0, 2.0, -2.0, caught(ValueError)(lambda x: math.log(x))),
    "sqrt": (-1.0, 2.0, -2.0, caught(ValueError)(lambda x: math.sqrt(x))),
    "acos": (3.0, 0.5, 2.0, caught(ValueError)(lambda x: math.acos(x))),
    "division": (1.0, 2.0, 1.0, caught(ZeroDivisionError)(lambda x: 1.0 / (x - 1.0))),
    "remainder": (1.0, 2.0, 1.0, caught(ZeroDivisionError)(lambda x: 5.0 % (x - 1.0) + x)),
    "floor_division": (1.0, 2.0, 1.0, caught(ZeroDivisionError)(lambda x: 5.0 // (x - 1.0) + x)),
    "divmod": (1.0, 2.0, 1.0, caught(ZeroDivisionError)(lambda x: divmod(5.0, x - 1.0)[1] + x)),
    "power": (1.0, 2.0, 1.0, caught(ZeroDivisionError)(lambda x: (x - 1.0) ** -1)),
    "in_place": (1.0, 2.0, 1.0, caught(ZeroDivisionError)(lambda x: functools.reduce(operator.itruediv, [1.0, x - 1]))),
    "overflow": (800.0, 2.0, 900.0, caught(OverflowError)(lambda x: math.exp(x))),
    "overflow_of_a_power": (800.0, 2.0, 900.0, caught(OverflowError)(lambda x: 10.0**x)),
    "unread": (-1.0, 2.0, -2.0, caught(ValueError)(lambda x: (math.log(x), x * 3)[1])),
    "unread_division": (1.0, 2.0, 1.0, caught(ZeroDivisionError)(lambda x: (1.0 / (x - 1.0), x * 3)[1])),
    "complex_log": (0.0, 2.0, 0.0, caught(ValueError)(lambda x: cmath.log(x).real)),
    "integer_of_nan": (math.nan, 2.0, math.nan, caught(ValueError)(lambda x: x * int(x))),
    "integer_of_infinity": (math.inf, 2.0, math.inf, caught(OverflowError)(lambda x: x * int(x))),
    "floor_of_infinity": (math.inf, 2.0, math.inf, caught(OverflowError)(lambda x: x * math.floor(x))),
    "key": (3.0, 1.0, 3.5, caught(KeyError)(lambda x: x * {1.0: 2.0}[x])),
    "key_of_a_text": (0.31, 0.12, 0.32, caught(KeyError)(lambda x: x * {"0.1": 2.0}[f"{x:.1f}"])),
    "member": (3.0, 1.0, 3.0, caught(ValueError)(lambda x: x * Level(x).weight)),
    "attribute": (0.51, 0.12, 0.52, caught(AttributeError)(lambda x: x * getattr(NAMES, f"a{10 * x:.0f}"))),
    "index": (A, B, SAME, caught(IndexError)(lambda x: x.sum() * [2.0][np.argmax(x)])),
    "index_of_an_array": (A, B, SAME, caught(IndexError)(lambda x: x[np.argmax(x) * 4])),
    "index_of_written": (A, B, SAME, caught(IndexError)(lambda x: [2.0].pop(np.argmax(x)) * x.sum())),
    "not_in_list": (3.0, 1.0, 3.5, caught(ValueError)(lambda x: x * ([1.0].index(x) + 2))),
    "removed": (3.0, 1.0, 3.5, caught(ValueError)(lambda x: x * ([1.0].remove(x) or 2))),
    "of_a_set": (3.0, 1.0, 3.5, caught(KeyError)(lambda x: x * ({1.0}.remove(x) or 2))),
    "linalg": ([0.0, 0.0], [1.0, 2.0], [0.0, 0.0],
               caught(np.linalg.LinAlgError)(lambda x: np.linalg.inv(np.diag(x)).sum())),
    "cholesky": ([-1.0, 1.0], [1.0, 2.0], [-2.0, 1.0],
                 caught(np.linalg.LinAlgError)(lambda x: np.linalg.cholesky(np.diag(x)).sum())),
    "solve": ([0.0, 1.0], [1.0, 2.0], [0.0, 2.0],
              caught(np.linalg.LinAlgError)(lambda x: np.linalg.solve(np.diag(x), np.ones(2)).sum())),
    "floating_point": ([0.0, 1.0], [1.0, 2.0], [0.0, 2.0], caught(FloatingPointError)(lambda x: loudly(x).sum())),
    "floating_point_log": ([-1.0, 1.0], [1.0, 2.0], [-3.0, 2.0],
                           caught(FloatingPointError)(lambda x: loudly(x, np.log).sum())),
    "warning": ([0.0, 1.0], [1.0, 2.0], [0.0, 2.0], caught(RuntimeWarning)(lambda x: as_errors(x).sum())),
    "stop": (0.5, 1.5, 0.7, caught(StopIteration)(lambda x: x * next(y for y in (2.0, 3.0) if y < 2 * x))),
    "unpacking": (A, B, SAME, caught(ValueError)(lambda x: unpacked(x[:1][x[:1] > 0.5]) * x[0])),
    "assertion": (0.5, 1.5, 0.7, caught(AssertionError)(lambda x: asserted(x))),
    "suppressed": (-1.0, 2.0, -2.0, lambda x: suppressed(x)),
    "finally": (-1.0, 2.0, -2.0, lambda x: returned_at_last(x)),
    "grouped": (-1.0, 2.0, -2.0, lambda x: by_groups(x)),
    "size": (A, B, SAME, caught(ValueError)(lambda x: x[: np.argmax(x) + 2][:, None].reshape(2, 1).sum() * x[0])),
    "broadcast": (A, B, SAME, caught(ValueError)(lambda x: (x[: np.argmax(x) + 1] + np.ones(3)).sum())),
}  # fmt: skip
for _name, (_a, _b, _same, _f) in raised.items():
    CASES[f"raised_{_name}"] = Case(_f, _a, _b, _same)
    if _a == _a and not isinstance(_a, list) and abs(_a) < math.inf:
        CASES[f"not_raised_{_name}"] = Case(_f, _b, _a, _b)
    elif isinstance(_a, list):
        CASES[f"not_raised_{_name}"] = Case(_f, _b, _a, _b)


def loudly(x, fn=lambda x: 1.0 / x):
    with np.errstate(all="raise"):
        return fn(x)


def as_errors(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return 1.0 / x


def unpacked(x):
    (y,) = x
    return y


def asserted(x):
    assert x > 1
    return x * 2


def suppressed(x):
    y = x * 2
    with contextlib.suppress(ValueError):
        y = math.log(x)
    return y


def returned_at_last(x):
    y = x * 2
    try:
        y = math.log(x)
    finally:
        return y  # noqa: B012


def by_groups(x):
    try:
        try:
            return math.log(x)
        except ValueError as error:
            raise ExceptionGroup("two", [error]) from None
    except* ValueError:
        y = x * 2
    return y


def root(x):
    """A function with a rule, which raises."""
    if x < 0:
        raise ArithmeticError("negative")
    return math.sqrt(x)


@wg.rrule(root)
def root_rule(x):
    y = root(x)
    return y, lambda y_bar: y_bar / (2 * y)


CASES["raised_by_a_rule"] = Case(caught(ArithmeticError)(lambda x: root(x)), -1.0, 2.0, -2.0)
CASES["not_raised_by_a_rule"] = Case(caught(ArithmeticError)(lambda x: root(x)), 2.0, -1.0, 3.0)
EITHER = 1.5
CASES["another_object"] = Case(lambda x: x * 2 if x is EITHER else x * 3, 0.5, EITHER, 0.7)
CASES["not_another_object"] = Case(lambda x: x * 2 if x is not EITHER else x * 3, 0.5, EITHER, 0.7)


# -- memory order, strides, sharing: arrays as they lie


def rows(*numbers: float, order: str = "C") -> np.ndarray:
    return np.array(np.reshape(numbers, (2, -1)), order=order)


def strided(*numbers: float) -> np.ndarray:
    return np.repeat(np.reshape(numbers, (2, -1)), 2, axis=1)[:, ::2]


SIX, OTHER = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), (0.6, 0.3, 0.5, 0.2, 0.1, 0.4)
K = np.arange(1.0, 7.0)
table(
    "layout", rows(*SIX), rows(*OTHER, order="F"), rows(*OTHER),
    lambda x: x[0].sum() * (2 if x.flags.c_contiguous else 3),
    lambda x: x[0].sum() * (2 if x.flags["C_CONTIGUOUS"] else 3),
    lambda x: x[0].sum() * (2 if x.flags.f_contiguous else 3),
    lambda x: x[0].sum() * (2 if x.flags.forc and not x.flags.fnc else 3),
    lambda x: x[0].sum() * (2 if np.isfortran(x) else 3),
    lambda x: x[0].sum() * x.strides[0],
    lambda x: (x * 2)[0].sum() * (x * 2).strides[0],
    lambda x: x.T[0].sum() * x.T.strides[0],
    lambda x: x.ravel("K") @ K,
    lambda x: x.ravel("A") @ K,
    lambda x: np.ravel(x, order="K") @ K,
    lambda x: x.flatten("K") @ K,
    lambda x: x.flatten("A") @ K,
    lambda x: x.reshape(-1, order="A") @ K,
    lambda x: np.reshape(x, -1, order="A") @ K,
    lambda x: (x + 1).ravel("K") @ K,
    lambda x: np.copy(x).ravel("K") @ K,
    lambda x: np.sin(x).ravel("A") @ K,
    lambda x: x[0].sum() * (2 if np.shares_memory(x, x.ravel()) else 3),
    lambda x: x[0].sum() * (2 if np.may_share_memory(x, x.reshape(-1)) else 3),
    lambda x: x[0].sum() * getattr(x, "strides")[0],  # noqa: B009
    lambda x: x[0].sum() * operator.attrgetter("strides")(x)[0],
    lambda x: x[0].sum() * operator.attrgetter("flags.c_contiguous")(x) + x[1, 0],
)  # fmt: skip


@decides(rows(*SIX), rows(*OTHER, order="F"), rows(*OTHER))
def a_ravelled_array_that_is_written(x):
    z = x * 1.0
    z.ravel()[0] = 9.0
    return z[0, 0] * x[0, 1]


@decides(rows(*SIX), rows(*OTHER, order="F"), rows(*OTHER))
def a_reshaped_array_that_is_written(x):
    z = np.sin(x)
    y = z.reshape(-1)
    y[1] = x[0, 0]
    return z[0, 1] * x[0, 1]


@decides(rows(*SIX), strided(*OTHER), rows(*OTHER))
def a_reshaped_argument_that_is_written(x):
    y = x.reshape(-1)
    y[1] = y[0] * 2
    return x[0, 1] * x[0, 0]


# -- what integers go through before they decide

table(
    "derived", A, B, SAME,
    *[
        (lambda how: lambda x: x.sum() * L[how(np.argmax(x))])(how)
        for how in (
            lambda k: k + 1, lambda k: 3 - k, lambda k: k * 2, lambda k: -k, lambda k: ~k, lambda k: k // 1,
            lambda k: k % 2,
            lambda k: 2**k, lambda k: pow(2, k), lambda k: k << 1, lambda k: k | 2, lambda k: k ^ 1, lambda k: k & 1,
            lambda k: abs(k), lambda k: min(k, 3), lambda k: max(k, 0), lambda k: sum([k, 1]), lambda k: round(k),
            lambda k: divmod(k, 2)[1], lambda k: np.int32(k), lambda k: np.asarray(k), lambda k: int(float(k)),
            lambda k: np.minimum(k, 2), lambda k: np.array([k, 1])[0], lambda k: np.arange(4)[k], lambda k: (k, 1)[0],
            lambda k: [*range(k + 1)][-1], lambda k: np.clip(k, 0, 1), lambda k: np.where(k > 0, 2, 1),
            lambda k: k.astype(int),
            lambda k: operator.add(k, 1), lambda k: math.gcd(k, 2), lambda k: np.mod(k, 2), lambda k: k.clip(0, 1),
            lambda k: np.cumsum([k, 1])[0], lambda k: np.sum([k, 1]), lambda k: np.max([k, 0]),
            lambda k: np.sort([k, 5])[0],
            lambda k: stored(np.zeros(2, int), k)[0], lambda k: added(np.zeros(2, int), k)[0], lambda k: k.copy(),
            lambda k: filled(np.zeros(2, int), k)[0], lambda k: np.full(2, k)[0], lambda k: np.roll([0, 1, 2], k)[0],
            lambda k: np.add(k, 1, out=np.array(0)).item(), lambda k: slice(k, None).start,
            lambda k: slice(k).indices(4)[1],
            lambda k: int(str(k) == "1"), lambda k: "ab".find("ab"[k]), lambda k: len(f"{10 ** int(k)}"),
            lambda k: copied(k), lambda k: {"k": k}["k"], lambda k: types.SimpleNamespace(k=k).k,
            lambda k: int(Whole(k)),
            lambda k: k.real, lambda k: k.T, lambda k: np.int64(k), lambda k: np.uint8(k), lambda k: bool(k),
            lambda k: not k,
            lambda k: int(k > 0), lambda k: int(k == 1), lambda k: k and 2, lambda k: k or 3, lambda k: 2 if k else 3,
        )
    ],
)  # fmt: skip
table(
    "counted", A, B, SAME,
    lambda x: x.sum() * L[np.sum(x[:1] > 0.5)],
    lambda x: x.sum() * L[(x[:1] > 0.5).sum()],
    lambda x: x.sum() * L[sum(x[:1] > 0.5)],
    lambda x: x.sum() * L[int((x[0] > 0.5) + (x[1] > 0.5))],
    lambda x: x.sum() * L[np.flatnonzero(x > x.max() - 0.01)[0]],
    lambda x: x.sum() * L[np.where(x == x.max())[0][0]],
    lambda x: x.sum() * L[np.nonzero(x == np.max(x))[0].item()],
    lambda x: x.sum() * L[np.argpartition(x, 1)[0]],
    lambda x: x.sum() * L[x.argsort()[-1]],
    lambda x: x.sum() * L[np.lexsort((x,))[0]],
    lambda x: x.sum() * L[max(range(3), key=lambda i: x[i])],
    lambda x: x.sum() * L[max(range(3), key=x.__getitem__)],
    lambda x: x.sum() * L[sorted(range(3), key=lambda i: x[i])[0]],
    lambda x: x.sum() * L[list(x).index(max(x))],
    lambda x: x.sum() * L[next(i for i, v in enumerate(x) if v > 0.65)],
    lambda x: x.sum() * L[[v > 0.65 for v in x].index(True)],
    lambda x: x.sum() * L[np.array([v > 0.65 for v in x]).argmax()],
    lambda x: x.sum() * L[np.bincount(np.argsort(x)[:1], minlength=3).argmax()],
    lambda x: x.sum() * L[np.digitize(x, [0.45])[0]],
    lambda x: x.sum() * L[np.floor(x * 2).astype(int)[0]],
    lambda x: x.sum() * L[np.rint(x).astype(np.int8)[0]],
    lambda x: x.sum() * L[(x * 2).astype(int)[0]],
    lambda x: x.sum() * L[np.trunc(x[0] * 2).astype(int)],
    lambda x: x.sum() * L[int(np.histogram(x[:1], bins=[0, 0.5, 1])[0][1])],
    lambda x: x.sum() * L[np.searchsorted(np.array([0.5]), x)[0]],
    lambda x: sum(x[i] * w for w, i in enumerate(np.argsort(x), 1)),
    lambda x: sum(w * v for v, w in sorted(zip(x, L, strict=False))),
    lambda x: np.split(x, [int(np.argmax(x)) + 1])[0].sum(),
    lambda x: np.array_split(x, np.argmax(x) + 1)[0].sum(),
    lambda x: np.insert(x, np.argmax(x), 2.0)[0] * x[1],
    lambda x: np.delete(x, np.argmax(x))[0] * x[1],
    lambda x: np.take(x, np.argmax(x)) * x[1],
    lambda x: x.reshape(np.argmax(x) * 2 + 1, -1)[0].sum(),
    lambda x: np.repeat(x, [np.argmax(x), 1, 2]).sum(),
    lambda x: x[x > 0.65].sum() * x[0],
    lambda x: x[[bool(v > 0.65) for v in x]].sum() * x[0],
    lambda x: x[np.flatnonzero(x > 0.65)].sum() * x[0],
    lambda x: np.delete(x, np.flatnonzero(x > 0.65)).sum(),
    lambda x: np.pad(x, (np.argmax(x), 0))[0] + x[1],
    lambda x: x.sum() * Whole3(np.argmax(x)).value,
    lambda x: x.sum() * len(Flags(1 << int(np.argmax(x))).name),
    lambda x: x.sum() * collections.Counter(np.argsort(x)[:1].tolist())[0],
    lambda x: x.sum() * collections.Counter(np.argsort(x)[:1])[0],
    lambda x: x.sum() * L[len(set(np.floor(x[:2] * 2).astype(int)))],
    lambda x: x.sum() * L[len(np.unique(np.floor(x[:2] * 2)))],
    lambda x: x.sum() * L[np.ptp(np.argsort(x)[:2])],
    lambda x: x.sum() * (2 if np.array_equal(np.argsort(x), [0, 2, 1]) else 3),
    lambda x: x.sum() * (2 if (np.argsort(x) == [0, 2, 1]).all() else 3),
    lambda x: x.sum() * (2 if list(np.argsort(x)) == [0, 2, 1] else 3),
    lambda x: x.sum() * (2 if tuple(np.argsort(x)) in {(0, 2, 1): 1} else 3),
    lambda x: x.sum() * {(0, 2, 1): 2.0}.get(tuple(np.argsort(x)), 3.0),
    lambda x: x.sum() * {(0, 2, 1): 2.0}.get(tuple(np.argsort(x).tolist()), 3.0),
    lambda x: x.sum() * {b"\x01": 2.0}.get(bytes([np.argmax(x)]), 3.0),
    lambda x: x.sum() * L["ab".index("ab"[np.argmax(x)])],
    lambda x: x.sum() * getattr(NUMBERED, f"a{np.argmax(x)}"),
    lambda x: x.sum() * vars(NUMBERED)[f"a{np.argmax(x)}"],
    lambda x: x.sum() * NUMBERED.__dict__["a" + str(np.argmax(x))],
    lambda x: x.sum() * np.einsum("i->", x) * L[np.argmax(x)],
    lambda x: x.sum() * [lambda y: y, lambda y: y * y][np.argmax(x)](x[0]),
    lambda x: x.sum() * functools.reduce(operator.mul, L[: np.argmax(x)], 1.0),
    lambda x: x.sum() * (L * np.argmax(x) or [4.0])[0],
    lambda x: x.sum() * mutated(L, np.argmax(x)),
)  # fmt: skip


class Whole:
    def __init__(self, k):
        self.k = k

    def __int__(self):
        return int(self.k)


class Whole3(enum.IntEnum):
    NONE = 0
    ONE = 1


class Flags(enum.Flag):
    A = 1
    LONG = 2


NUMBERED = types.SimpleNamespace(a0=2.0, a1=5.0)


def stored(array, k):
    array[0] = k
    return array


def added(array, k):
    array += k
    return array


def filled(array, k):
    array.fill(k)
    return array


def copied(k):
    return copy.deepcopy(copy.copy(k))


def mutated(items, k):
    held = collections.deque(items)
    held.insert(0, 1.0) if k else held.rotate(-1)
    return held[0]


# -- more of texts

table(
    "letters", 0.12, 0.27, 0.11,
    *[
        (lambda how: lambda x: x * (2 if how(f"{x:.1f}", f"v{x:.1f}") else 3))(how)
        for how in (
            lambda s, v: list(s)[2] == "1", lambda s, v: [*s][-1] == "1", lambda s, v: sorted(s)[2] == "1",
            lambda s, v: max(s) == "1", lambda s, v: tuple(s) == ("0", ".", "1"),
            lambda s, v: "".join(reversed(s)) == "1.0", lambda s, v: s[::-1] == "1.0",
            lambda s, v: [c for c in s if c == "1"],
            lambda s, v: any(c == "1" for c in s), lambda s, v: (lambda a, b, c: c)(*s) == "1",
            lambda s, v: next(iter(s[2:])) == "1", lambda s, v: dict(zip("abc", s, strict=True))["c"] == "1",
            lambda s, v: [c for _, c in enumerate(s)][2] == "1",
            lambda s, v: v.partition("1")[1], lambda s, v: v.title() == "V0.1", lambda s, v: v.zfill(5) == "0v0.1",
            lambda s, v: v.startswith(("v0.1", "w")), lambda s, v: v.removeprefix("v") == "0.1",
            lambda s, v: v.translate({ord("v"): "w"}) == "w0.1", lambda s, v: v.splitlines() == ["v0.1"],
            lambda s, v: v.rsplit(".", 1)[1] == "1", lambda s, v: v.ljust(6) == "v0.1  ",
            lambda s, v: v.center(6).strip() == "v0.1",
            lambda s, v: v.swapcase() == "V0.1", lambda s, v: f"{v:>5}" == " v0.1", lambda s, v: f"{v!r}" == "'v0.1'",
            lambda s, v: "%s!" % v == "v0.1!", lambda s, v: "{}!".format(v) == "v0.1!",
            lambda s, v: "{0}".format(v) == "v0.1",
            lambda s, v: "{v}".format_map({"v": v}) == "v0.1", lambda s, v: str(v) == "v0.1",
            lambda s, v: v + "" == "v0.1",
            lambda s, v: (v * 2) == "v0.1v0.1", lambda s, v: v > "v0.2", lambda s, v: "v0.2" > v,
            lambda s, v: v != "v0.1",
            lambda s, v: not v.index("1") == 9 if "1" in v else 0, lambda s, v: v.rfind("1") == 3,
            lambda s, v: v.count("1"),
            lambda s, v: operator.eq(v, "v0.1"), lambda s, v: operator.contains(v, "1"),
            lambda s, v: {v: 1}.get("v0.1"), lambda s, v: "v0.1" in {v: 1}, lambda s, v: "v0.1" in {v},
            lambda s, v: v in {"v0.1"},
            lambda s, v: "v0.1" in [v], lambda s, v: ["v0.1"].count(v),
            lambda s, v: [v].index("v0.1") == 0 if v in ["v0.1"] else 0,
            lambda s, v: v in ("v0.1",), lambda s, v: "v0.1" in (v, "w"),
            lambda s, v: len(v.rstrip("1")) == 3, lambda s, v: sys.intern(v) == "v0.1",
            lambda s, v: v.isidentifier() or v == "v0.1", lambda s, v: len({v, "v0.1"}) == 1,
            lambda s, v: min(v, "v0.2") != "v0.2",
            lambda s, v: sorted([v, "v0.2"])[0] != "v0.2", lambda s, v: matched_key({v: 1}),
            lambda s, v: v.casefold() == "v0.1",
            lambda s, v: hash(v) == hash("v0.1"), lambda s, v: next((w for w in ("v0.1",) if w == v), None),
            lambda s, v: v.expandtabs() == "v0.1", lambda s, v: " ".join([v, v]) == "v0.1 v0.1",
            lambda s, v: " ".join(map(str, [v])) == "v0.1",
            lambda s, v: f"{v}{s}" == "v0.10.1", lambda s, v: v[1:] == "0.1", lambda s, v: v[:-1] + v[-1] == "v0.1",
        )
    ],
)  # fmt: skip


def matched_key(subject):
    match subject:
        case {"v0.1": _}:
            return True
        case _:
            return False


# -- what is refused, since a tape could not follow it

REFUSED: list[Callable[..., Any]] = [
    lambda x: x * (2 if set(f"{x:.1f}") == {"0", ".", "1"} else 3),
    lambda x: x * collections.Counter(f"{x:.1f}")["1"],
    lambda x: x * (2 if f"{x:.1f}".__eq__("0.1") else 3),
    lambda x: x * (2 if str.startswith(f"{x:.1f}", "0.1") else 3),
    lambda x: x * (2 if bytes(f"{x:.1f}", "ascii") == b"0.1" else 3),
    lambda x: x * (2 if re.match("0.1", f"{x:.1f}") else 3),
    lambda x: x * int(f"{10 * x:.0f}7"),
    lambda x: x * (2 if {x} == {1.0} else 3),
    lambda x: np.array([x]).sum() * (2 if {x} <= {1.0} else 3),
    lambda x: x * (2 if {"k": x} == {"k": 1.0} else 3),
]


# -- arguments that share memory, or are of another kind: `(f, a, others)`; made at a, the tape is stale at each other


SHARED: list[tuple[Callable[..., Any], tuple[Any, ...], list[tuple[Any, ...]]]] = []
TWO = np.array([0.5, 2.0]), np.array([0.7, 1.5])
BOTH = np.array([0.5, 2.0, 0.7])


def shared(*others: tuple[Any, ...]) -> Callable[..., Any]:
    def note(f: Callable[..., Any]) -> Callable[..., Any]:
        SHARED.append((f, TWO, [*others]))
        return f

    return note


@shared((TWO[0], TWO[0]), (BOTH[:2], BOTH[1:]), (BOTH[:2], BOTH[1::-1]))
def writes_an_element(x, y):
    x[0] = y[1] * 2
    return y[0] * x[0] + y[1] * x[1]


@shared((TWO[0], TWO[0]))
def asks_whether_they_are_one(x, y):
    return x[0] * 2 if x is y else (x * y).sum()


@shared((TWO[0], TWO[0]), (BOTH[:2], BOTH[1:]))
def writes_all(x, y):
    x *= 2
    return (x * y).sum()


@shared((TWO[0], TWO[0]), (BOTH[:2], BOTH[1:]))
def writes_the_second(x, y):
    y[:] = x * y
    return (x * y).sum()


@shared((TWO[0], TWO[0]), (BOTH[:2], BOTH[1:]))
def writes_through_a_view(x, y):
    x[::-1][0] = y[0]
    return (x * y).sum()


@shared((TWO[0], TWO[0]), (BOTH[:2], BOTH[1:]))
def writes_both(x, y):
    x[0] = y[1]
    y[1] = x[1]
    return (x * y).sum()


@shared((TWO[0], TWO[0]), (BOTH[:2], BOTH[1:]))
def writes_into_out(x, y):
    np.add(x, y, out=x)
    return (x * y).sum()


class Numbers(np.ndarray):
    pass


class Real(float):
    pass


ARRAY = np.array([0.5, 1.5])
KINDS: list[tuple[Callable[..., Any], Any, list[Any]]] = [
    (lambda x: x * 2 + 1, 0.5, [1, True, np.float64(0.5), np.float32(0.5), 0.5j, np.array(0.5), ARRAY, [0.5], "a",
                                None, Real(0.5), np.int64(1)]),
    (lambda x: x * x, np.float64(0.5), [0.5, 1, np.float32(0.5), np.array(0.5), ARRAY, np.complex128(1), np.int64(1)]),
    (lambda x: (x * x).real, 0.5j, [0.5, 1, np.complex128(0.5j), np.array(0.5j)]),
    (lambda x: x.sum(), ARRAY, [0.5, [0.5, 1.5], (0.5, 1.5), ARRAY.astype(np.float32), ARRAY.astype(int), ARRAY[:1],
                                ARRAY[:, None], ARRAY.view(Numbers), ARRAY.astype(complex), ARRAY.astype(">f8"),
                                np.ma.array(ARRAY)]),
    (lambda x: x * 2, np.array(0.5), [0.5, np.float64(0.5), np.array([0.5])]),
    (lambda x: x[0] * x[1], [0.5, 1.5], []),
]  # fmt: skip


table(
    "masks_copied_by_c", A, B, SAME,
    lambda x: np.ma.masked_greater(x, 0.65).astype(float).sum(),
    lambda x: np.array(np.ma.masked_greater(x, 0.65), subok=True).sum(),
    lambda x: np.ma.sort(np.ma.masked_greater(x, 0.65)).sum(),
)  # fmt: skip
