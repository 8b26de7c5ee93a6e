"""More programs that decide by their argument: rules, texts, memory, exceptions, objects; each in its shortest form."""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import cmath
import collections
import dataclasses
import functools
import heapq
import itertools
import json
import math
import operator
import random
import statistics
import warnings

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special
from decision_table import Decisions

import wengert as wg

decides = Decisions()

A = np.array


# -- kinks, order, integers, texts

decides.each(
    "kink",
    A([1.0, -2.0, 3.0]),
    A([-1.5, 2.5, -0.5]),
    A([1.0, -2.0, 3.5]),
    lambda x: np.sum(np.abs(x) ** 3),
    lambda x: np.max(x) * x[0],
    lambda x: np.sum(np.maximum(x, 0.5) * x),
    lambda x: np.sum(np.clip(x, -1, 1) * x),
    lambda x: np.sum(np.sort(x) * np.arange(3.0)),
    lambda x: np.median(x) * x[1],
    lambda x: np.percentile(x, 30) * x[1],
    lambda x: np.linalg.norm(x, 1) * x[1],
    lambda x: np.linalg.norm(x, np.inf) * x[1],
    lambda x: np.sum(np.where(x > 0, x, x**2)),
    lambda x: np.ptp(x) * x[0],
    lambda x: np.sum(np.fmax(x, x[::-1]) * x),
    lambda x: np.sum(np.piecewise(x, [x < 0, x >= 0], [lambda v: v * 3, lambda v: v**2])),
    lambda x: np.sum(np.select([x < 0, x > 2], [x * 2, x * 3], x * 5)),
    lambda x: np.sum(np.partition(x, 1)[:2]),
    lambda x: np.nanmax(x) * x[0],
    lambda x: np.interp(x[0], np.arange(-5.0, 5), np.arange(10.0) ** 2) * x[1],
    lambda x: np.sum(np.maximum.accumulate(x) * np.arange(3.0)),
    lambda x: np.maximum.reduce(x) * x[0],
    lambda x: x[np.argmax(x)] * np.sum(x),
    lambda x: np.take(x, np.argmin(x)) * 2,
    lambda x: np.sum(np.take_along_axis(x, np.argsort(x), 0) * A([1.0, 2, 3])),
    lambda x: np.sum(x[x > 0]) if np.any(x > 0) else 0.0 * x[0],
    lambda x: np.sum(np.compress(x > 0, x)),
    lambda x: np.sum(np.extract(x > 0, x) ** 2),
    lambda x: max(x) * min(x),
    lambda x: sorted(x)[0] * sorted(x, reverse=True)[0] * x[2],
    lambda x: math.fsum(abs(v) for v in x) * x[0],
    lambda x: statistics.median(x) * x[0],
    lambda x: heapq.nlargest(2, x)[1] * x[0],
    lambda x: min(x, key=lambda v: v * v) * 3,
    lambda x: max(range(3), key=lambda k: x[k]) * x[0],
    lambda x: float(np.heaviside(x[0], 0.5)) * x[1] + x[0],
    lambda x: np.sign(x[0]) * x[1] * x[0],
    lambda x: np.sum(np.trim_zeros(np.maximum(x, 0))),
    lambda x: len(np.trim_zeros(np.maximum(x, 0))) * x[0],
    lambda x: np.histogram(x, 2)[0][0] * x[0],
    lambda x: np.digitize(x, [0.0, 2.0])[0] * x[1],
    lambda x: np.sum(np.unique(x)[:2]),
    lambda x: np.choose((x > 0).astype(int), [x * 2, x**2]).sum(),
    lambda x: np.isin(x, [1.0, -2.0]).sum() * x[2] if False else np.sum(x * np.isin(x, [1.0, -2.0])),
    lambda x: np.count_nonzero(x > 0) * x[0],
    lambda x: (x > 0).nonzero()[0][0] * x[0],
    lambda x: np.flatnonzero(x > 0).size * x[0],
    lambda x: x[x > 0].size * x[0],
    lambda x: np.argwhere(x > 0).shape[0] * x[0],
    lambda x: sum(x[k] * 2 for k, b in enumerate(x > 0) if b),
    lambda x: sum(v for v, b in zip(x, (x > 0).tolist()) if b),
    lambda x: x[int(np.sum(x > 0))] * x[0] if np.sum(x > 0) < 3 else x[0],
    lambda x: x[(x > 0).argmax()] ** 2,
    lambda x: x[-(x > 0).astype(int)[0]] * x[1],
    lambda x: np.linalg.slogdet(np.diag(x))[0] * x[0],
    lambda x: x[0] if np.linalg.det(np.diag(x)) < 0 else x[1],
    lambda x: np.roll(x, int(x[0]))[0] * x[1],
    lambda x: np.split(x, [int(abs(x[0]))])[0].sum() * x[1],
    lambda x: np.repeat(x, (x > 0) + 1).sum(),
    lambda x: np.tile(x, int(abs(x[1]))).sum() * x[0],
    lambda x: np.prod(np.maximum(x, 0)) + np.sum(x),
    lambda x: np.sum(np.cumprod(np.maximum(x + 1, 0))),
    lambda x: np.hypot(*np.maximum(x[:2], 0)) * x[2],
    lambda x: np.linalg.norm(np.maximum(x, 1.0) - 1.0 + x[0] * 0.1),
    lambda x: np.sinc(np.maximum(x, 0)).sum() * x[0],
    lambda x: np.sum(np.maximum(x, 0.0) ** 0.5 * x),
    lambda x: np.sum(np.nan_to_num(np.sqrt(x)) * x),
    lambda x: np.nansum(np.log(x)) * x[0],
    lambda x: np.nanmean(np.where(x > 0, x, np.nan)),
    lambda x: np.arctan2(x[0], x[1]) * x[2],
    lambda x: np.unwrap(x * 3).sum() * x[0],
    lambda x: np.remainder(x, 1.5).sum() * x[0],
    lambda x: np.floor(x[0]) * x[1] + np.rint(x[0]) * x[2],
    lambda x: np.trunc(x).sum() * x[0],
    lambda x: math.fmod(x[0], 0.7) * x[1] + math.floor(x[0]) * x[2],
    lambda x: x[0] // 0.3 * x[1] + round(x[0], 1) * x[2],
    lambda x: np.round(x, 1).sum() * x[0],
    lambda x: math.copysign(2.0, x[0]) * x[1],
    lambda x: np.spacing(x[0]) * 1e15 * x[1],
    lambda x: np.ldexp(x[0], int(x[2])) * x[1],
    lambda x: np.frexp(x)[1].sum() * x[0],
    lambda x: float(repr(float(x[0]))) * x[1],
    lambda x: float(f"{x[0]:.1f}") * x[1],
    lambda x: int(x[0] * 10) * x[1],
    lambda x: float(int(x[0])) * x[1],
    lambda x: np.int64(x[0]) * x[1],
    lambda x: x.astype(int).astype(float).sum() * x[1],
    lambda x: json.loads(json.dumps(float(x[0]))) * x[1],
    lambda x: eval(f"{float(x[0])!r} * 2") * x[1],
    lambda x: np.float32(x[0]) * x[1],
    lambda x: complex(x[0], x[1]).real * x[2] + abs(complex(x[0], x[1])),
    lambda x: len(f"{x[0]:+.1f}".replace("-", "")) * x[0],
    lambda x: ("%+d" % x[0])[0].__eq__("-") * x[0] + x[1],
    lambda x: x[0] * ("neg" if str(x[0])[0] == "-" else "positive").__len__(),
    lambda x: np.vectorize(lambda v: v * 2 if v > 0 else v * 5, otypes=[float])(x).sum(),
    lambda x: np.apply_along_axis(lambda v: v * (2 if v[0] > 0 else 3), 0, x).sum(),
    lambda x: np.fromiter((v for v in x if v > 0), float).sum() * x[0],
    lambda x: np.array([v for v in x if v > 0]).sum() * x[0],
    lambda x: functools.reduce(lambda a, b: a if a > b else b, x) * x[0],
    lambda x: next(v for v in x if v > 0) * x[0],
    lambda x: next((k for k, v in enumerate(x) if v > 0), 7) * x[0],
    lambda x: collections.Counter(np.sign(v) for v in x)[1.0] * x[0],
    lambda x: statistics.mode([v > 0 for v in x]) * x[0] + x[1],
    lambda x: [*itertools.groupby(x, key=lambda v: v > 0)].__len__() * x[0],
    lambda x: sum(1 for _ in itertools.dropwhile(lambda v: v > 0, x)) * x[0],
    lambda x: random.Random(int(x[0])).random() * x[1],
    lambda x: np.random.default_rng(int(abs(x[0] * 2))).normal() * x[1],
    lambda x: (x[0] or 1) * (x[1] and 2) * (3 if not x[2] else 4),
    lambda x: (x > 0).tobytes().count(1) * x[0] if False else bytes([int(x[0] > 0)])[0] * x[0] + x[1],
    lambda x: (5.0, 7.0)[bool(x[0] > 0)] * x[1],
    lambda x: {True: 5.0, False: 7.0}[bool(x[0] > 0)] * x[1],
    lambda x: {True: 5.0, False: 7.0}[x[0] > 0] * x[1],
    lambda x: "ab".index("ab"[int(x[0] > 0)]) * x[1] + x[0],
    lambda x: (x[0] > 0) * x[1] + (x[0] > 0 and x[2]),
    lambda x: (x[0] > 0).__int__() * x[1] if hasattr(x[0] > 0, "__int__") else x[0],
    lambda x: operator.index(int(x[0] > 0)) * x[1],
    lambda x: ((x > 0) @ np.arange(3.0)) * x[0],
    lambda x: (x > 0).sum() * x[0] + (x > 0).mean() * x[1],
    lambda x: np.packbits(x > 0)[0] * x[0],
    lambda x: int("".join("1" if v > 0 else "0" for v in x), 2) * x[0],
    lambda x: np.bitwise_or.reduce((x > 0).astype(int) << np.arange(3)) * x[0],
    lambda x: np.cumsum(x > 0)[-1] * x[0],
    lambda x: np.lexsort((x, -x))[0] * x[0],
    lambda x: np.linalg.matrix_rank(np.diag(np.maximum(x, 0))) * x[0],
    lambda x: x[0] ** int(x[2]) * x[1] if x[2] > 0 else x[0] * 9,
    lambda x: x[0] * (2 if (x == A([1.0, -2.0, 3.0])).any() else 3),
    lambda x: x[0] * (2 if np.array_equal(x[:2], [1.0, -2.0]) else 3),
    lambda x: x[0] * (2 if np.allclose(x[:2], [1.0, -2.0]) else 3),
    lambda x: x[0] * (2 if math.isclose(x[0], 1.0) else 3),
    lambda x: x[0] * (2 if list(x[:2]) == [1.0, -2.0] else 3),
    lambda x: x[0] * (2 if (x[0], 1) < (0.0, 2) else 3),
    lambda x: x[0] * (2 if x[:2].tolist() == [1.0, -2.0] else 3),
    lambda x: x[0] * (2 if {"a": x[0]} == {"a": 1.0} else 3),
    lambda x: x[0] * (2 if 1.0 in x else 3),
    lambda x: x[0] * (2 if x[0] in range(5) else 3),
    lambda x: x[0] * (2 if x[0] in (1.0, 4.0) else 3),
    lambda x: x[0] * (2 if np.float64(1.0) in {x[0]: 1} else 3),
    lambda x: x[0] * [1.0, 2.0, -1.5].index(x[0]) + x[1],
)


# -- exceptions, warnings
def _caught(f, *kinds):
    def run(x):
        try:
            return f(x)
        except kinds or Exception:
            return np.sum(x) * 7.0

    return run


decides.each(
    "caught",
    A([1.0, 2.0]),
    A([0.0, -3.0]),
    A([1.5, 2.5]),
    _caught(lambda x: math.log(x[0]) + math.sqrt(x[1])),
    _caught(lambda x: math.acos(1 / (2 + x[0]) + x[1] * 0 - (x[1] < 0) * 5)),
    _caught(lambda x: x[1] * float(1.0) / float(x[0]) if False else 1.0 / float(x[0]) * x[1]),
    _caught(lambda x: [1.0, 2.0][int(x[1])] * x[0] if x[1] > 5 else [4.0, 5.0, 6.0][int(x[1])] * x[0]),
    _caught(lambda x: {1: 5.0}[int(x[0])] * x[1]),
    _caught(lambda x: np.linalg.cholesky(np.diag(x))[0, 0] * x[1]),
    _caught(lambda x: np.linalg.inv(np.diag(x))[0, 0] * x[1]),
    _caught(lambda x: np.linalg.solve(np.diag(x), A([1.0, 1.0])).sum() * x[1]),
    _caught(lambda x: x.reshape(int(x[0]), 2).sum() * x[1]),
    _caught(lambda x: np.ones(int(x[1])).sum() * x[0]),
    _caught(lambda x: x[0] * float("1" if x[0] > 0.5 else "a")),
    _caught(lambda x: x[0] * int(f"{x[1]:.0f}".replace("-", "z"))),
    _caught(lambda x: getattr(math, "log" if x[0] > 0.5 else "lag")(x[1])),
    _caught(lambda x: (lambda n: n * x[0])(*[2][: int(x[0])])),
    _caught(lambda x: x[[0, int(x[1]) - 1]].sum() if x[1] > 0 else x[[0, 9]].sum()),
    _caught(lambda x: np.concatenate([x, x][: int(x[0])]).sum()),
    _caught(lambda x: max([v for v in x if v > 0.5]) * x[1]),
    _caught(lambda x: next(v for v in x if v > 0.5) * x[1], StopIteration),
    _caught(lambda x: math.factorial(int(x[1])) * x[0]),
    _caught(lambda x: math.comb(3, int(x[1])) * x[0]),
    _caught(lambda x: chr(int(x[1])).__len__() * x[0]),
    _caught(lambda x: (1 << int(x[1])) * x[0]),
    _caught(lambda x: np.arange(4.0)[int(x[1]) :].max() * x[0]),
    _caught(lambda x: x[x > 0].max() * x[1]),
    _caught(lambda x: x[x > 0][1] * x[1], IndexError),
    _caught(lambda x: (x[x > 0] * A([3.0, 4.0])).sum(), ValueError),
    _caught(lambda x: np.stack([x, x[x > 0]]).sum()),
    _caught(lambda x: pow(float(x[1]), 0.5).real * x[0] if isinstance(pow(float(x[1]), 0.5), float) else x[0]),
    _caught(lambda x: statistics.mean([v for v in x if v > 0.5]) * x[1]),
    _caught(lambda x: math.exp(1000 * (x[1] < 0)) * x[0]),
    _caught(lambda x: math.gamma(x[1]) * x[0]),
    _caught(lambda x: divmod(5.0, float(x[0]))[1] * x[1]),
    _caught(lambda x: float(x[0]) ** -1 * x[1]),
    _caught(lambda x: 0.0 ** float(x[1]) + x[0]),
    _caught(lambda x: math.pow(float(x[0]), float(x[1])) * 2),
    _caught(lambda x: math.fmod(3.0, x[0]) * x[1]),
    _caught(lambda x: round(float(x[1]) / (0 if x[0] == 0 else 1)) * x[0]),
    _caught(lambda x: int(np.log(x[0])) * x[1]),
    _caught(lambda x: iter([x[0], x[1]][: int(x[1])]).__next__() * 2, StopIteration),
)


@decides(A([1.0, 2.0]), A([0.0, 2.0]), A([1.5, 2.0]))
def errstate_calls(x):
    seen = []
    with np.errstate(divide="call", call=lambda kind, flag: seen.append(kind)):
        y = np.log(x)
    return np.sum(x) * 3 if seen else np.sum(y)


@decides(A([0.0, 2.0]), A([1.0, 2.0]))
def errstate_called(x):
    seen = []
    with np.errstate(divide="call", call=lambda kind, flag: seen.append(kind)):
        y = 1 / x
    return np.sum(x) * 3 if seen else np.sum(y)


@decides(A([1.0, 2.0]), A([0.0, 2.0]), A([1.5, 2.0]))
def seterr_raise(x):
    old = np.seterr(divide="raise")
    try:
        return np.sum(1 / x)
    except FloatingPointError:
        return np.sum(x)
    finally:
        np.seterr(**old)


@decides(2.0, -1.0, 3.0)
def text_of_an_error(x):
    try:
        return math.log(x - 5)
    except ValueError as e:
        return x * len(str(e))


@decides(2.0, -1.0, 3.0)
def error_with_a_number(x):
    try:
        raise KeyError(x)
    except KeyError as e:
        return e.args[0] * 3


@decides(math.nan, math.inf)
def nan_or_inf_to_int(x):
    try:
        int(x)
    except ValueError:
        return 3.0 + 0 * (x if x == x else 0)
    except OverflowError:
        return 4.0
    return x


@decides(2.0, -1.0, 3.0)
def finally_returns(x):
    y = 1.0
    try:
        y = math.sqrt(x)
    finally:
        return x * y


@decides(2.0, -1.0, 3.0)
def retried(x):
    for shift in (0.0, 1.0, 5.0):
        try:
            return math.log(x + shift) * x
        except ValueError:
            continue
    return x


@decides(2.0, 30.0, 3.0)
def recursion_error(x):
    def down(n):
        return 0.0 if n <= 0 else 1.0 + down(n - 1)

    return down(x) * x


@decides(2.0, -1.0, 3.0)
def exception_group(x):
    try:
        try:
            y = math.sqrt(x)
        except ValueError as e:
            raise ExceptionGroup("g", [e])
        return y
    except* ValueError:
        y = x * 5
    return y


@decides(2.0, -1.0, 3.0)
def generator_throws(x):
    def g():
        try:
            yield math.sqrt(x)
        except ValueError:
            yield x * 2

    return next(g()) * 3


@decides(2.0, -1.0, 3.0)
def exit_of_a_manager(x):
    class M:
        def __enter__(self):
            return self

        def __exit__(self, t, e, tb):
            self.t = t
            return True

    m = M()
    y = x
    with m:
        y = math.log(x)
    return y * (2 if m.t is None else 3)


# -- memory and flags
def ro(*v):
    a = A(v)
    a.flags.writeable = False
    return a


@decides(A([1.0, 2.0]), ro(1.0, 2.0), A([1.5, 2.0]))
def writeable_flag(x):
    return np.sum(x) * (2 if x.flags.writeable else 3)


@decides(A([1.0, 2.0]), ro(1.0, 2.0), A([1.5, 2.0]))
def writes_or_not(x):
    try:
        x[0] = 5.0
    except ValueError:
        return np.sum(x) * 3
    return np.sum(x)


@decides(ro(1.0, 2.0), A([1.0, 2.0]))
def not_writeable(x):
    try:
        x[0] = 5.0
    except ValueError:
        return np.sum(x) * 3
    return np.sum(x)


@decides(A([1.0, 2.0]), ro(1.0, 2.0), A([1.5, 2.0]))
def text_of_flags(x):
    return np.sum(x) * (2 if "WRITEABLE : True" in str(x.flags) else 3)


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])))
def contiguous_or_the_same(x):
    y = np.ascontiguousarray(x)
    y[0, 0] = 7.0
    return np.sum(x * x)


@decides(np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])), A([[1.0, 2.0], [3.0, 4.0]]))
def fortran_or_the_same(x):
    y = np.asarray(x, order="F")
    y[0, 0] = 7.0
    return np.sum(x * x)


@decides(np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])), A([[1.0, 2.0], [3.0, 4.0]]))
def required_fortran(x):
    y = np.require(x, requirements="F")
    y[0, 0] = y[1, 1] * 7.0
    return np.sum(x * x)


@decides(np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])), A([[1.0, 2.0], [3.0, 4.0]]))
def array_copy_false(x):
    z = x * 1
    y = np.array(z, copy=None, order="F")
    y[0, 0] = y[1, 1] * 7.0
    return np.sum(z * x)


@decides(np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])), A([[1.0, 2.0], [3.0, 4.0]]))
def astype_copy_false(x):
    z = x * 1
    y = z.astype(float, order="C", copy=False)
    y[0, 0] = y[1, 1] * 7.0
    return np.sum(z * x)


@decides(np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])), A([[1.0, 2.0], [3.0, 4.0]]))
def identity_of_contiguous(x):
    return np.sum(x * x) * (2 if np.asfortranarray(x) is x else 3)


@decides(A([[1.0, 2.0], [3.0, 4.0]]), A([[1.0, 2.0], [3.0, 4.0]]).T, A([[1.0, 2.0], [3.0, 5.0]]))
def iterates_in_memory_order(x):
    return sum(v * k for k, v in enumerate(np.nditer(x)))


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])))
def raises_for_a_view(x):
    y = x * 1
    try:
        v = y.view()
        v.shape = (4,)
    except AttributeError:
        return np.sum(y)
    return v @ np.arange(4.0)


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])))
def reshape_without_copy(x):
    try:
        return np.reshape(x, -1, copy=False) @ np.arange(4.0)
    except (ValueError, TypeError):
        return np.sum(x)


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])))
def empty_like_order(x):
    y = np.zeros_like(x)
    y.ravel()[1] = 3.0
    return np.sum(y * x)


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])))
def copy_keeps_order(x):
    y = np.copy(x, order="K")
    y.reshape(-1)[1] = 3.0
    return np.sum(y * x)


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])))
def untraced_like(x):
    y = np.ones_like(x)
    return np.sum(x) * y.strides[0]


# -- kinds
decides.each(
    "kind_f",
    2.0,
    np.float64(2.0),
    3.0,
    lambda x: x * (2 if type(x) is float else 3),
    lambda x: x * (2 if hasattr(x, "dtype") else 3),
    lambda x: x * len(type(x).__name__),
)
decides.each(
    "kind_i",
    2.0,
    2,
    3.0,
    lambda x: x * (2 if isinstance(x, float) else 3),
    lambda x: x * len(str(x)),
    lambda x: x * len(repr(x)) + (x // 2) * x,
)
decides.each(
    "kind_0",
    2.0,
    A(2.0),
    3.0,
    lambda x: x * (2 if isinstance(x, float) else 3),
    lambda x: x * 2,
)
decides.each(
    "kind_s",
    A([1.0, 2.0]),
    A([1.0, 2.0]).astype(">f8"),
    A([3.0, 2.0]),
    lambda x: np.sum(x) * (2 if x.dtype.isnative else 3),
    lambda x: np.sum(x) * (2 if x.dtype.byteorder == "=" else 3),
)


class Sub(np.ndarray):
    pass


decides.each(
    "kind_sub",
    A([1.0, 2.0]),
    A([1.0, 2.0]).view(Sub),
    A([3.0, 2.0]),
    lambda x: np.sum(x) * (2 if type(x) is np.ndarray else 3),
)


# -- rules of the user's, gradients inside, texts of texts


# rules of the user's
def signum(x):
    return 1.0 if x > 0 else -1.0


def leaky(x):
    return x * 2 if x > 0 else x * 0.1


@wg.rrule(leaky)
def leaky_rule(x):
    if x > 0:
        return x * 2, lambda y_bar: y_bar * 2
    return x * 0.1, lambda y_bar: y_bar * 0.1


def lazy(x):
    return x * x


@wg.rrule(lazy)
def lazy_rule(x):
    def pb(y_bar):
        if y_bar > 0:
            return 2 * x * y_bar
        return 2 * x * y_bar * 10

    return x * x, pb


def trunc_(x):
    return math.floor(x)


wg.non_differentiable(trunc_)


def picks(x):
    return [x[0], x[1]] if x[0] > 0 else [x[1]]


@wg.rrule(picks)
def picks_rule(x):
    if x[0] > 0:
        return [x[0], x[1]], lambda b: np.array([b[0], b[1], 0.0])
    return [x[1]], lambda b: np.array([0.0, b[0], 0.0])


def raisy(x):
    if x < 0:
        raise ValueError("neg")
    return x * 3


@wg.rrule(raisy)
def raisy_rule(x):
    if x < 0:
        raise ValueError("neg")
    return x * 3, lambda b: 3 * b


def catching(x):
    try:
        return raisy(x)
    except ValueError:
        return x * 5


def counted(x):
    return int(x)


wg.non_differentiable(counted)


def labelled(x):
    return "pos" if x > 0 else "neg"


wg.non_differentiable(labelled)


def optional(x):
    return x if x > 0 else None


wg.non_differentiable(optional)

decides.each(
    "rule",
    2.0,
    -1.5,
    3.0,
    lambda x: leaky(x) * x,
    lambda x: lazy(x) * (x - 1) * (1 if True else 0),
    lambda x: -lazy(x) * x,
    lambda x: trunc_(x) * x,
    lambda x: [5.0, 6.0, 7.0, 8.0][trunc_(x)] * x,
    catching,
    lambda x: 10 * x if counted(x) == 2 else x,
    lambda x: x * {"pos": 3, "neg": 4}[labelled(x)],
    lambda x: x * 3 if optional(x) is None else x * 4,
    lambda x: x * len(labelled(x) * counted(abs(x) + 1)),
    lambda x: wg.stop_gradient(x) * x * (1 if wg.stop_gradient(x) > 0 else 5),
    lambda x: wg.checkpoint(lambda v: v * 2 if v > 0 else v * 7)(x) * x,
    lambda x: wg.checkpoint(lambda v: math.sqrt(v) if v > 0 else v * 7)(x) * x,
    lambda x: wg.grad(lambda v: v**3 if v > 0 else v * 7)(x) * x,
    lambda x: wg.value_and_grad(lambda v: abs(v) ** 3)(x)[1] * x,
    lambda x: wg.vjp(lambda v: max(v, 0.5) ** 2, x)[1](1.0)[0] * x,
    lambda x: wg.vjp(lambda v: v * 3 if v > 0 else v * 4, x)[1](x)[0],
    lambda x: wg.grad(lambda v: wg.grad(lambda w: abs(w) ** 3)(v))(x) * x,
    lambda x: wg.grad(leaky)(x) * x,
    lambda x: wg.grad(catching)(x) * x,
    lambda x: wg.grad(lambda v: np.sum(np.maximum(A([v, 1.0]) if False else np.array([v, 1.0]), 0.5)))(x) * x,
    lambda x: (x if x > 0 else -x) ** 1.5,
    lambda x: abs(x) ** 1.5 * (1 if isinstance(x**0.5, float) else 2),
    lambda x: (x**1.5).real * 2,
    lambda x: abs(x**0.5) * x,
    lambda x: cmath.sqrt(x).real * x + cmath.sqrt(x).imag,
    lambda x: cmath.phase(x) * x + x,
    lambda x: math.dist([x, 0.0], [0.0, 0.0]) * x,
    lambda x: math.hypot(x, 0.0) * x,
    lambda x: math.fabs(x) * max(x, 0.0) + min(x, 0.0) * 3,
    lambda x: sum(max(0.0, x - k) for k in range(-3, 3)),
    lambda x: sum(abs(x - k) for k in range(-3, 3)),
    lambda x: math.atan2(x, -1.0) * x,
    lambda x: math.remainder(x, 0.7) * x,
    lambda x: math.modf(x)[0] * math.modf(x)[1] + x,
    lambda x: math.trunc(x) * x + math.ceil(x),
    lambda x: x.__gt__(0) * x + x,
    lambda x: operator.gt(x, 0) * x + x,
    lambda x: x.is_integer() * x + x,
    lambda x: x.__floor__() * x,
    lambda x: x.__round__() * x,
    lambda x: x.__ceil__() * x,
    lambda x: x.__bool__() * x,
    lambda x: float.__lt__(x, 0) * x + x,
    lambda x: np.less(x, 0) * x + x,
    lambda x: np.where(x > 0, leakyish(x), x * 7),
    lambda x: np.float64(x).clip(-1, 1) * x,
    lambda x: np.sign(x) * x * 2,
    lambda x: scipy.special.xlogy(max(x, 0.0), 2.0) * x + x,
    lambda x: np.prod(np.array([x, max(x, 0.0), 3.0])),
    lambda x: np.linalg.norm(np.array([max(x, 0.0), 0.0])) * x + x,
    lambda x: np.polyval([1.0, x], x) * (3 if x > 1 else 4),
    lambda x: functools.partial(leaky)(x) * x,
    lambda x: sorted([x, 0.0, 1.0])[1] * x,
    lambda x: (
        sorted([(x, "a"), (0.0, "b")])[0][1].__len__() * x + (3 if min((x, "a"), (0.0, "b"))[1] == "a" else 4) * x
    ),
    lambda x: dict(sorted({"a": x, "b": 0.0}.items(), key=lambda kv: kv[1])).popitem()[1] * x,
    lambda x: list({"a": x, "b": 0.0}.values()).index(max(x, 0.0)) * x + x,
    lambda x: next(itertools.compress([x, 2 * x], [x > 0, True])) * x,
    lambda x: (lambda *a: a[x > 0])(x, 2 * x) * x,
    lambda x: [x, 2 * x][-1 if x > 0 else 0] * x,
    lambda x: "".join(["a"] * int(abs(x) * 2)).count("a") * x,
    lambda x: f"{x:.0f}".strip("-").__len__() * x + len(f"{x:.0f}".lstrip("-")) * 2 * x,
    lambda x: len(f"{x}".upper().lower()) * x,
    lambda x: len(f"{x}".zfill(4)) * x + len(f"{x}".ljust(4)) * x,
    lambda x: len(f"{x}".removeprefix("-")) * x,
    lambda x: len(f"{x}".translate({ord("-"): None})) * x,
    lambda x: len(" ".join(f"{x}".split("-"))) * x,
    lambda x: len(f"{x}".expandtabs()) * x,
    lambda x: len(f"{x}"[0:]) * x + len(f"{x}"[1:]) * x,
    lambda x: len(f"{x:>4}") * x,
    lambda x: len(format(f"{x}", ">4")) * x,
    lambda x: len(f"{x}" + "") * x,
    lambda x: len(f"{x}" * 1) * x,
    lambda x: len(str(f"{x}")) * x,
    lambda x: len("%s" % f"{x}") * x,
    lambda x: len("{}".format(f"{x}")) * x,
    lambda x: len(f"{x}".encode().strip(b"-")) * x,
    lambda x: len(f"{x}".casefold().swapcase().title()) * x,
)


def leakyish(x):
    return x * 2


class P:
    def __init__(s, v):
        s.v = v

    def __eq__(s, o):
        return s.v == o.v

    def __hash__(s):
        return hash(s.v)

    def __lt__(s, o):
        return s.v < o.v

    def __bool__(s):
        return s.v > 0

    def __len__(s):
        return int(abs(s.v))

    def __index__(s):
        return int(s.v)

    def __contains__(s, o):
        return o == s.v

    def __format__(s, spec):
        return format(s.v, spec)

    def __str__(s):
        return f"<{s.v:.0f}>"


class B:
    def __init__(s, v):
        s.v = v

    def __bool__(s):
        return bool(s.v > 0)

    def __iter__(s):
        return iter([s.v] * (2 if s.v > 0 else 1))

    @property
    def half(s):
        return s.v / 2 if s.v > 0 else s.v * 9

    def __getattr__(s, name):
        if s.v > 0 and name == "extra":
            return 4.0
        raise AttributeError(name)

    def __enter__(s):
        return s

    def __exit__(s, *a):
        return bool(s.v > 0)


class D(dict):
    def __missing__(s, k):
        return k * 2


decides.each(
    "object",
    2.0,
    -1.5,
    2.0,
    lambda x: {P(2.0): 3.0, P(-1.5): 4.0}[P(x)] * x,
    lambda x: x * (3 if B(x) else 4),
    lambda x: x * len(P(x)),
    lambda x: x * [1.0, 2.0, 3.0, 4.0][P(x)],
    lambda x: x * (3 if 2.0 in P(x) else 4),
    lambda x: x * (3 if P(x) in [P(2.0)] else 4),
    lambda x: x * (3 if P(x) in {P(2.0)} else 4),
    lambda x: x * len(str(P(x))),
    lambda x: x * len(f"{P(x):.0f}"),
    lambda x: max(P(x), P(0.0)).v * x,
    lambda x: min([P(x), P(0.0)]).v * x + x,
    lambda x: sum(B(x)) * x,
    lambda x: B(x).half * x,
    lambda x: getattr(B(x), "extra", 5.0) * x,
    lambda x: (3 if hasattr(B(x), "extra") else 4) * x,
    lambda x: D({2.0: 5.0})[x] * x,
    lambda x: D({2.0: x})[2.0] * D({2.0: 7.0})[x],
    lambda x: collections.defaultdict(lambda: 9.0, {2.0: 5.0})[x] * x,
    lambda x: collections.ChainMap({2.0: 5.0}, {-1.5: 6.0})[x] * x,
    lambda x: collections.OrderedDict({2.0: 5.0, -1.5: 6.0}).pop(x) * x,
    lambda x: {2.0: 5.0}.setdefault(x, 7.0) * x,
    lambda x: len({2.0: 1} | {x: 2}) * x,
    lambda x: len({2.0} & {x}) * x + len({2.0} ^ {x}) * x,
    lambda x: ({2.0} <= {x, 3.0}) * x + x,
    lambda x: {2.0}.isdisjoint({x}) * x + x,
    lambda x: len(dict.fromkeys([x, 2.0])) * x,
    lambda x: len(frozenset((x, 2.0))) * x,
    lambda x: [2.0, 3.0].count(x) * x + x,
    lambda x: collections.deque([2.0, 3.0]).count(x) * x + x,
    lambda x: (2.0, -1.5).index(x) * x + x,
    lambda x: len(set(map(math.floor, [x, 2.0, -2.0]))) * x,
    lambda x: len(list(itertools.takewhile(lambda v: v < 1, [x, 0.0]))) * x + x,
    lambda x: sum(1 for _ in itertools.groupby([x, 2.0])) * x,
    lambda x: sum(next(g) for k, g in itertools.groupby([x, 2.0], key=lambda v: v > 0)) * x,
    lambda x: (
        functools.cmp_to_key(lambda a, b: (a > b) - (a < b))(x).__lt__(
            functools.cmp_to_key(lambda a, b: (a > b) - (a < b))(0.0)
        )
        * x
        + x
    ),
    lambda x: (
        dataclasses.make_dataclass("Q", ["a"], order=True)(x).__lt__(
            dataclasses.make_dataclass("Q", ["a"], order=True)(0.0)
        )
        is True
        and x
        or x * 2
    ),
    lambda x: (lambda q: 3 if q == q.__class__(2.0) else 4)(dataclasses.make_dataclass("Q", ["a"])(x)) * x,
    lambda x: (3 if collections.namedtuple("N", "a")(x) == (2.0,) else 4) * x,
    lambda x: (3 if [x, [x]] == [2.0, [2.0]] else 4) * x,
    lambda x: (3 if (x,) in [(2.0,)] else 4) * x,
    lambda x: (3 if [x] < [0.0] else 4) * x,
    lambda x: (3 if np.array([x]).any() and np.array([x > 0]).all() else 4) * x,
    lambda x: (3 if np.array_equiv([x], 2.0) else 4) * x,
    lambda x: (3 if np.isclose(x, 2.0) else 4) * x,
    lambda x: (3 if np.array([x]).tolist() == [2.0] else 4) * x if False else x,
    lambda x: np.array([1.0, 2.0, 3.0, 4.0])[np.array([x, 1.0]).argmax()] * x,
    lambda x: (
        np.array([1.0, 2.0, 3.0])[np.array([x, 1.0]) > 0].sum() * x
        if False
        else np.array([1.0, 2.0])[np.array([x, 1.0]) > 0].sum() * x
    ),
    lambda x: np.bincount(np.array([x, 1.0]).astype(int) ** 2).size * x,
    lambda x: np.arange(abs(x)).size * x,
    lambda x: np.arange(0.0, abs(x), 0.5).sum() * x,
    lambda x: np.linspace(0, x, int(abs(x) + 2)).sum(),
    lambda x: np.zeros(int(abs(x))).size * x,
    lambda x: len(range(int(abs(x)))) * x,
    lambda x: np.searchsorted([0.0, 1.0], x) * x + x,
    lambda x: np.digitize(x, [0.0, 1.0]) * x + x,
    lambda x: np.histogram([x], bins=[-2.0, 0.0, 3.0])[0].argmax() * x + x,
    lambda x: scipy.optimize.brentq(lambda t: t - 1, -5.0, 5.0) * x + (scipy.linalg.det(np.array([[x]])) > 0) * x,
    lambda x: np.roots([1.0, -x]).real.sum() if False else x,
    lambda x: np.float64(x).item() * (3 if np.float64(x).item() > 0 else 4),
    lambda x: np.asarray(x).item() * (3 if np.asarray(x) > 0 else 4),
    lambda x: np.asarray(x)[()] * (3 if np.asarray(x)[()] > 0 else 4),
    lambda x: np.atleast_1d(x)[0] * (3 if np.atleast_1d(x)[0] > 0 else 4),
    lambda x: np.broadcast_to(x, 3)[1] * (3 if np.broadcast_to(x, 3)[1] > 0 else 4),
)


@decides(A([2.0, 1.0]), A([-1.0, 2.0]), A([3.0, 0.5]))
def generator_state(x):
    def g():
        k = 0
        while True:
            got = yield k
            k += 1 if got > 0 else 5

    it = g()
    next(it)
    it.send(x[0])
    return it.send(x[1]) * x[0]


@decides(A([2.0, 1.0]), A([-1.0, 2.0]), A([3.0, 0.5]))
def nonlocal_flag(x):
    hit = False

    def note(v):
        nonlocal hit
        if v < 0:
            hit = True
        return v

    s = sum(note(v) for v in x)
    return s * (3 if hit else 4)


@decides(A([2.0, 1.0]), A([-1.0, 2.0]), A([3.0, 0.5]))
def newton(x):
    y = 5.0
    for _ in range(50):
        step = (y * y - abs(x[0])) / (2 * y)
        y = y - step
        if abs(step) < 1e-3:
            break
    return y * x[1]


@decides(A([2.0, 1.0]), A([1.0, 2.0]), A([3.0, 0.5]))
def swaps_in_place(x):
    y = x.copy()
    if y[0] > y[1]:
        y[[0, 1]] = y[[1, 0]]
    return y @ A([1.0, 10.0])


@decides(A([2.0, 1.0]), A([-1.0, 2.0]), A([3.0, 0.5]))
def masked_store(x):
    y = x * 1
    y[y < 0] = 0.0
    return np.sum(y * x)


@decides(A([2.0, 1.0]), A([-1.0, 2.0]), A([3.0, 0.5]))
def masked_store_of_values(x):
    y = x * 1
    y[x > 0] = x[x > 0] ** 2
    return np.sum(y)


@decides(A([2.0, 1.0]), A([-1.0, 2.0]), A([3.0, 0.5]))
def where_out(x):
    y = np.zeros(2)
    np.sqrt(x, out=y, where=x > 0)
    return np.sum(y * x)


@decides(A([2.0, 1.0]), A([-1.0, 2.0]), A([3.0, 0.5]))
def add_at_computed(x):
    y = np.zeros(4)
    np.add.at(y, np.floor(x).astype(int), x)
    return y @ np.arange(4.0)


@decides(A([2.0, 1.0]), A([0.0, 2.0]), A([3.0, 0.5]))
def warns_are_raised(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return np.sum(np.log(x))
        except RuntimeWarning:
            return np.sum(x) * 3


@decides(A([2.0, 1.0]), A([0.0, 2.0]), A([3.0, 0.5]))
def loud_in_a_gradient(x):
    with np.errstate(all="raise"):
        try:
            return np.sum(wg.grad(lambda v: np.sum(np.sqrt(v)))(x))
        except FloatingPointError:
            return np.sum(x) * 3


@decides(A([2.0, 1.0]), A([0.0, 2.0]), A([3.0, 0.5]))
def errstate_as_decorator(x):
    @np.errstate(divide="raise")
    def h(v):
        return np.sum(1 / v)

    try:
        return h(x)
    except FloatingPointError:
        return np.sum(x) * 3


@decides(A([2.0, 1.0], dtype=np.float32), A([2.0, 1.0]), A([3.0, 1.0], dtype=np.float32))
def float32_or_64(x):
    return np.sum(x) * x.itemsize


@decides(A([2.0 + 1j, 1.0]), A([2.0, 1.0]), None)
def complex_or_not(x):
    return abs(np.sum(x)) * (2 if np.iscomplexobj(x) else 3)


@decides(A([2.0 + 1j, 1.0]), A([2.0 + 0j, 1.0]), A([2.0 + 3j, 1.0]))
def real_valued(x):
    return abs(np.sum(x)) * (2 if np.isreal(x).all() else 3)


@decides(A(2.0), A(-1.0), A(3.0))
def zero_d(x):
    return x * 2 if x > 0 else x * 3


@decides(A([]), A([1.0]))
def empty(x):
    return np.sum(x) + (3.0 if x.size else 4.0)


NAN = math.nan
DEFAULT = 1.5


@decides(1.5, np.float64(1.5))
def equal_but_other(x):
    return x * 2 if x is DEFAULT else x * 3


@decides(DEFAULT, float("1.5"), None)
def the_default_itself(x):
    return x * 2 if x is DEFAULT else x * 3


ARR = ro(1.0, 2.0)


@decides(ARR, A([1.0, 2.0]))
def the_array_itself(x):
    return np.sum(x) * 2 if x is ARR else np.sum(x) * 3


@decides(NAN, float("nan"))
def nan_itself(x):
    return 2.0 if x is NAN else 3.0


for _name in ("rule_3", "rule_4", "rule_6", "rule_9", "rule_30", "rule_35", "rule_60", "rule_66", "recursion_error"):
    decides[_name] = (*decides[_name][:3], None)  # these decide otherwise there, too
