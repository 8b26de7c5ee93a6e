"""Programs that decide something by their argument, each with an argument that decides otherwise and one that does not."""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import bisect
import collections
import dataclasses
import decimal
import enum
import functools
import itertools
import math
import operator
import warnings
from collections import Counter, deque

import numpy as np
from decision_table import Decisions

A = np.array


decides = Decisions()


# -- exceptions


@decides(2.0, -1.0, 3.0)
def log_or_value_error(x):
    try:
        return math.log(x)
    except ValueError:
        return x * 2


@decides(-1.0, 2.0, -2.0)
def value_error_or_log(x):
    try:
        return math.log(x) * x
    except ValueError:
        return x * 2


@decides(0.0, 2.0)
def zero_division(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        return x + 3


@decides(2.0, 0.0, 4.0)
def division_else(x):
    try:
        y = 1 / x
    except ZeroDivisionError:
        y = 7.0
    else:
        y = y + 1
    return y * (x + 1)


@decides(A([[1.0, 2.0], [2.0, 4.0]]), A([[1.0, 2.0], [2.0, 5.0]]))
def singular_or_not(x):
    try:
        return np.sum(np.linalg.inv(x))
    except np.linalg.LinAlgError:
        return np.sum(x)


@decides(A([1.0, 2.0]), A([0.0, 2.0]), A([3.0, 1.0]))
def floating_point_error(x):
    try:
        with np.errstate(divide="raise"):
            return np.sum(1 / x)
    except FloatingPointError:
        return np.sum(x)


@decides(3.0, 800.0, 4.0)
def overflow(x):
    try:
        return math.exp(x)
    except OverflowError:
        return x


@decides(A([1.0, 2.0]), A([0.0, 2.0]))
def warning_becomes_error(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.sum(np.log(x))
        except RuntimeWarning:
            return np.sum(x)


@decides(1.2, 7.9, 1.7)
def index_error(x):
    try:
        return [x, 2 * x, 3 * x][int(x)]
    except IndexError:
        return x


@decides(1.0, 2.0)
def key_error(x):
    try:
        return {1.0: 5.0}[x] * x
    except KeyError:
        return x


@decides(4.0, -4.0, 9.0)
def suppressed(x):
    import contextlib

    y = x
    with contextlib.suppress(ValueError):
        y = math.sqrt(x)
    return y * 2


# -- integers


@decides(A([1.0, 3.0, 2.0]), A([4.0, 3.0, 2.0]), A([1.0, 5.0, 2.0]))
def argmax_indexes_constants(x):
    W = np.array([10.0, 20.0, 30.0])
    return W[np.argmax(x)] * np.sum(x)


@decides(A([1.0, 3.0, 2.0]), A([4.0, 3.0, 2.0]))
def argsort_permutes(x):
    W = [10.0, 20.0, 30.0]
    return sum(W[i] * k * x[0] for k, i in enumerate(np.argsort(x)))


@decides(3.2, 5.7, 3.9)
def range_of_int(x):
    y = x
    for _ in range(int(x)):
        y = y * 1.5
    return y


@decides(3.2, 5.7, 3.4)
def slice_of_round(x):
    return sum([1.0, 2.0, 3.0, 4.0, 5.0, 6.0][: round(x)]) * x


@decides(1.2, 0.7, 1.6)
def store_at_an_index(x):
    items = [1.0, 2.0, 3.0]
    items[int(x)] = x * 10
    return items[0] * items[1] * items[2]


@decides(1.2, 0.7)
def pop_at_an_index(x):
    items = [x, 2 * x, 3 * x]
    return items.pop(int(x)) * items[0]


@decides(A([1.0, -3.0, 2.0]), A([4.0, 3.0, 2.0]), A([1.0, -1.0, 5.0]))
def length_of_where(x):
    return len(np.where(x > 0)[0]) * np.sum(x)


@decides(A([1.0, -3.0, 2.0]), A([4.0, 3.0, 2.0]))
def shape_of_nonzero(x):
    return np.nonzero(x > 0)[0].shape[0] * np.sum(x) + np.count_nonzero(x > 0)


@decides(A([1.0, 3.0, 2.0]), A([1.0, 2.0, 2.0]))
def unique_count(x):
    return len(set(np.floor(x).tolist() if False else [math.floor(v) for v in x])) * np.sum(x)


@decides(3.0, 12.0, 2.5)
def frexp_exponent(x):
    m, e = math.frexp(x)
    return m * (e * e)


@decides(7.5, 2.5, 7.9)
def divmod_quotient(x):
    q, r = divmod(x, 2.0)
    return r * (10 if q == 3.0 else 20)


@decides(2.0, 5.0)
def in_a_set_of_integers(x):
    return x * 3 if x in {0, 1, 2} else x


@decides(2.3, 5.1, 2.9)
def searchsorted_bin(x):
    return [1.0, 2.0, 3.0, 4.0][np.searchsorted([1.0, 2.0, 4.0], x)] * x + bisect.bisect([1.0, 4.0], x) * x


@decides(2.3, 5.1, 2.34)
def digits_of_integer(x):
    return len(str(int(x * 10))) * x + int(x) % 3 * x


@decides(1.5, 3.5, 1.9)
def integer_power_and_shift(x):
    return (1 << int(x)) * x ** int(x)


@decides(A([0.4, 2.6]), A([2.6, 0.4]))
def integer_array_in_python(x):
    k = x.astype(int)
    return x[0] if k[0] < k[1] else x[1] * 5


@decides(A([0.4, 2.6]), A([0.4, 1.2]), A([0.2, 2.9]))
def bincount_of_integers(x):
    return np.sum(np.bincount(x.astype(int)) * 1.0) * np.sum(x) + len(np.bincount(x.astype(int))) * x[0]


# -- looked up


@decides(1.0, 2.0)
def float_key(x):
    return {1.0: 5.0, 2.0: 7.0}[x] * x


@decides(1.0, 2.0)
def dict_get(x):
    return {1.0: 5.0}.get(x, 9.0) * x


@decides(1.0, 2.0)
def in_a_deque(x):
    return x * (3 if x in deque([1.0, 4.0]) else 5)


@decides(1.0, 2.0)
def count_in_list(x):
    return x * ([1.0, 1.0, 2.0].count(x) + [1.0, 2.0].index(x))


@decides(1.0, 2.0)
def frozen_dataclass_key(x):
    @dataclasses.dataclass(frozen=True)
    class P:
        v: float

    return {P(1.0): 5.0, P(2.0): 7.0}[P(x)] * x


@decides(1.0, 2.0)
def enum_by_value(x):
    class E(enum.Enum):
        A = 1.0
        B = 2.0

    return x * (3 if E(x) is E.A else 4)


@decides(1.0, 2.0)
def hash_of_float(x):
    return x * (hash(x) % 7)


@decides(1.0, 2.0)
def set_size(x):
    return x * len({x, 1.0}) + len(Counter([x, 1.0, 2.0])) * x


@decides(1.0, 2.0)
def tuple_key(x):
    return {(1.0, 0): 5.0, (2.0, 0): 8.0}[x, 0] * x


@decides(1.0, 2.0)
def match_statement(x):
    match x:
        case 1.0:
            return x * 3
        case _:
            return x * 4


@decides(A([1.0, 2.0]), A([2.0, 2.0]))
def remove_from_list(x):
    items = [2.0, x[0], 5.0]
    items.remove(x[0])
    return items[0] * x[1] + items[1]


# -- text


@decides(1.23, 4.56, 1.21)
def branch_on_format(x):
    return x * 3 if f"{x:.1f}" == "1.2" else x * 4


@decides(1.0, 2.0, 1.1)
def attribute_by_text(x):
    class O:
        a1 = 5.0
        a2 = 6.0

    return getattr(O, f"a{x:.0f}") * x


@decides(1.5, 12.5)
def length_of_text(x):
    return len(str(x)) * x + ("%.1f" % x).index(".") * x


@decides(1.5, -1.5, 2.5)
def sign_in_text(x):
    return x * (3 if repr(x).startswith("-") else 4)


@decides(A([1.5, 2.0]), A([-1.5, 2.0]))
def text_of_array(x):
    return np.sum(x) * (3 if "-" in str(x) else 4)


@decides(1.5, 1e20, 2.5)
def text_in_a_set(x):
    return x * (3 if "e" in "{}".format(x) else 4)


# -- identity and order


@decides(A([3.0, 1.0]), A([1.0, 3.0]), A([5.0, 2.0]))
def sorted_order(x):
    pairs = sorted([(x[0], 10.0), (x[1], 20.0)])
    return pairs[0][1] * x[0]


@decides(A([3.0, 1.0]), A([1.0, 3.0]), A([5.0, 2.0]))
def sort_key(x):
    names = sorted(["a", "b"], key=lambda n: x[0] if n == "a" else x[1])
    return x[0] * 2 if names == ["a", "b"] else x[1] * 3


@decides(A([3.0, 1.0]), A([0.0, 3.0]), A([4.0, 2.0]))
def any_all_filter(x):
    return np.sum(x) * len(list(filter(None, x))) * (3 if all(x) else 5) * (2 if any(v > 4.5 for v in x) or True else 1)


@decides(A([3.0, 1.0]), A([1.0, 3.0]), A([5.0, 1.5]))
def takewhile_and_chained(x):
    return sum(itertools.takewhile(lambda v: v > 2, x)) + (x[0] if 0 < x[1] < 2 else x[1] * 3)


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])), A([[1.0, 2.0], [3.0, 5.0]]))
def contiguous_flag(x):
    return np.sum(x * (2.0 if x.flags.c_contiguous else 3.0))


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])))
def ravel_in_memory_order(x):
    return np.sum(x.ravel("K") * np.arange(4.0)) + np.sum(x.flatten("A") * np.arange(4.0))


@decides(A([[1.0, 2.0], [3.0, 4.0]]), np.asfortranarray(A([[1.0, 2.0], [3.0, 4.0]])))
def strides_of_argument(x):
    return np.sum(x) * x.strides[0]


@decides(A([1.0, 2.0]), A([1.0, 2.0, 3.0]), A([4.0, 3.0]))
def length_of_argument(x):
    return np.sum(x) / len(x) * x.size


@decides(A([1.0, 2.0]), A([1.0, 2.0], dtype=np.float32))
def dtype_of_argument(x):
    return np.sum(x) * (2.0 if x.dtype == np.float64 else 3.0)


@decides(1.5, A([1.5, 2.5]), 2.5)
def kind_of_argument(x):
    return x * (2.0 if isinstance(x, float) else 3.0)


@decides(1.5, np.float64(1.5))
def numpy_number_for_a_float(x):
    return x * (2.0 if type(x) is float else 3.0)


@decides(1.5, math.nan, 2.5)
def nan_tests(x):
    return x * 2 if not math.isnan(x) and x == x and np.isfinite(x) else 7.0


@decides(0.0, -0.0)
def sign_of_zero(x):
    return x + math.copysign(3.0, x) + (1.0 if str(x) == "0.0" else 2.0)


@decides(2.5, -2.5, 2.7)
def round_half(x):
    return x * round(x) if x.is_integer() else x * math.floor(x) * math.ceil(abs(x))


@decides(2.0, 2.5)
def is_integer_decides(x):
    return x * 2 if x.is_integer() else x * 3


@decides(2.0, 3.0)
def sum_of_booleans(x):
    return x * sum([x > 1, x > 2.5, x < 9]) + (x > 2.5) * x


@decides(A([1.0, 2.0]), A([3.0, 2.0]))
def boolean_mask_count(x):
    m = x > 1.5
    return np.sum(x[m]) * (m.sum()) + int(m[0]) * x[0]


@decides(1.5, 2.5, 1.7)
def while_by_residual(x):
    y, n = x, 0
    while y < 10:
        y, n = y * 2, n + 1
    return y * n
