"""Primitives without a derivative: comparisons, rounding, searching, metadata, arrays made from shapes."""

from __future__ import annotations

import cmath
import math
import operator
import sys

import numpy as np

from wengert.extend import as_index, iterations, length, non_differentiable, stopped, whole

non_differentiable(
    operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt,
    operator.not_, operator.truth, operator.contains,
    operator.and_, operator.or_, operator.xor, operator.invert, operator.floordiv, operator.index,
    operator.lshift, operator.rshift,
    bool, int, round, len, whole, as_index, iterations, length, stopped,
)  # fmt: skip

non_differentiable(
    math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose, math.ulp,
    math.gcd, math.lcm, math.isqrt, math.factorial, math.perm, math.comb,
    cmath.isnan, cmath.isinf, cmath.isfinite, cmath.isclose,
)  # fmt: skip

if sys.version_info >= (3, 15):
    non_differentiable(math.isnormal, math.issubnormal, math.signbit)

non_differentiable(
    np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
    np.isnan, np.isinf, np.isfinite, np.signbit, np.isnat,
    np.floor, np.ceil, np.rint, np.trunc, np.floor_divide, np.spacing,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert,
    np.bitwise_count, np.left_shift, np.right_shift, np.gcd, np.lcm,
)  # fmt: skip

non_differentiable(
    np.round, np.around, np.fix,
    np.argmax, np.argmin, np.argsort, np.argpartition, np.searchsorted, np.nonzero, np.flatnonzero,
    np.argwhere, np.count_nonzero, np.any, np.all, np.digitize, np.lexsort,
    np.shape, np.ndim, np.size,
    np.zeros_like, np.ones_like, np.empty_like, np.zeros, np.ones, np.empty, np.eye, np.identity,
    np.indices, np.tri,
    np.iscomplexobj, np.isrealobj, np.iscomplex, np.isreal, np.isscalar, np.isneginf, np.isposinf,
    np.result_type, np.can_cast, np.promote_types, np.min_scalar_type, np.issubdtype,
    np.broadcast_shapes, np.unravel_index, np.ravel_multi_index,
    np.shares_memory, np.may_share_memory, np.array_equal, np.array_equiv, np.allclose, np.isclose,
)  # fmt: skip

non_differentiable(
    np.ndarray.argmax, np.ndarray.argmin, np.ndarray.argsort, np.ndarray.argpartition,
    np.ndarray.searchsorted, np.ndarray.nonzero, np.ndarray.any, np.ndarray.all, np.ndarray.round,
    np.generic.argmax, np.generic.argmin, np.generic.any, np.generic.all, np.generic.round,
    float.is_integer, np.float64.is_integer, np.float32.is_integer, np.float16.is_integer, np.longdouble.is_integer,
)  # fmt: skip

for _f in (
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.gcd,
    np.lcm,
):
    non_differentiable(_f.reduce, _f.accumulate, _f.reduceat)
