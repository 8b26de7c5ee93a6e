"""Elementwise operations of native code, and the conditions under which Python would raise."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.native.values import BOOL_KIND, FLOAT_KIND


class ScalarOp(NamedTuple):
    """The source of a function of numbers.

    `raises` is the condition under which Python's function raises where NumPy's returns nan or inf. `slow` tells that
    NumPy's vector code is faster. Operands in `bools` are not converted to floats. `fast` is the source for arrays.
    """

    template: str
    kind: str = FLOAT_KIND
    raises: str = ""
    slow: bool = False
    bools: tuple[int, ...] = ()
    fast: str = ""


_NOT_FINITE = "{0} - {0} != 0.0"
_BOTH_OPERANDS = (0, 1)
_CLIPPED_BELOW = "({1} if {0} < {1} else {0})"
_LOGADDEXP = "{0} + log1p(exp({1} - {0})) if {0} > {1} else {1} + log1p(exp({0} - {1}))"


def _math_call(name: str) -> ScalarOp:
    return ScalarOp(f"{name}({{0}})", FLOAT_KIND, _NOT_FINITE, True)


def _comparison_op(sign: str) -> ScalarOp:
    return ScalarOp(f"{{0}} {sign} {{1}}", BOOL_KIND)


_SCALAR_OP_ROWS: list[tuple[ScalarOp, int, list[Any]]] = [
    (ScalarOp("{0} + {1}"), 2, [operator.add, np.add]),
    (ScalarOp("{0} - {1}"), 2, [operator.sub, np.subtract]),
    (ScalarOp("{0} * {1}"), 2, [operator.mul, np.multiply]),
    (ScalarOp("{0} / {1}", FLOAT_KIND, "{2} == 0.0"), 2, [operator.truediv, np.divide]),
    (ScalarOp("-{0}"), 1, [operator.neg, np.negative]),
    (
        ScalarOp("{0}"),
        1,
        [operator.pos, np.positive, float, np.float64, np.copy, np.array, np.asarray, np.ndarray.copy],
    ),
    (ScalarOp("abs({0})"), 1, [abs, operator.abs, np.absolute, np.fabs, math.fabs]),
    (ScalarOp("{0} * {0}"), 1, [np.square]),
    (ScalarOp("1.0 / {0}"), 1, [np.reciprocal]),
    (ScalarOp("sqrt({0})", FLOAT_KIND, _NOT_FINITE), 1, [np.sqrt, math.sqrt]),
    (ScalarOp("({0} if {0} >= {1} or {0} != {0} else {1})"), 2, [np.maximum]),
    (ScalarOp("({0} if {0} <= {1} or {0} != {0} else {1})"), 2, [np.minimum]),
    (ScalarOp("({1} if {1} > {0} else {0})"), 2, [max]),
    (ScalarOp("({1} if {1} < {0} else {0})"), 2, [min]),
    (ScalarOp(f"({{2}} if {_CLIPPED_BELOW} > {{2}} else {_CLIPPED_BELOW})"), 3, [np.clip, np.ndarray.clip]),
    (ScalarOp("(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else {0} - {0})"), 1, [np.sign]),
    (ScalarOp("({1} if {0} else {2})", bools=(0,)), 3, [np.where]),
    (ScalarOp("hypot({0}, {1})", FLOAT_KIND, _NOT_FINITE, True), 2, [np.hypot]),
    (ScalarOp("atan2({0}, {1})", FLOAT_KIND, _NOT_FINITE, True), 2, [np.arctan2, math.atan2]),
    (_comparison_op("<"), 2, [operator.lt, np.less]),
    (_comparison_op("<="), 2, [operator.le, np.less_equal]),
    (_comparison_op(">"), 2, [operator.gt, np.greater]),
    (_comparison_op(">="), 2, [operator.ge, np.greater_equal]),
    (_comparison_op("=="), 2, [operator.eq, np.equal]),
    (_comparison_op("!="), 2, [operator.ne, np.not_equal]),
    (ScalarOp("{0} != 0.0", BOOL_KIND), 1, [operator.truth, bool]),
    (
        ScalarOp("not {0}", BOOL_KIND, bools=_BOTH_OPERANDS),
        1,
        [operator.not_, np.logical_not, operator.invert, np.invert],
    ),
    (ScalarOp("({0} and {1})", BOOL_KIND, bools=_BOTH_OPERANDS), 2, [np.logical_and, operator.and_, np.bitwise_and]),
    (ScalarOp("({0} or {1})", BOOL_KIND, bools=_BOTH_OPERANDS), 2, [np.logical_or, operator.or_, np.bitwise_or]),
    (ScalarOp("({0} != {1})", BOOL_KIND, bools=_BOTH_OPERANDS), 2, [operator.xor, np.bitwise_xor]),
    (ScalarOp("{0} - {0} == 0.0", BOOL_KIND), 1, [np.isfinite, math.isfinite]),
    (ScalarOp("{0} != {0}", BOOL_KIND), 1, [np.isnan, math.isnan]),
    (ScalarOp(f"({_LOGADDEXP})", FLOAT_KIND, _NOT_FINITE, True), 2, [np.logaddexp]),
    (_math_call("exp")._replace(fast="fast_exp({0})"), 1, [np.exp, math.exp]),
    (_math_call("expm1"), 1, [np.expm1, math.expm1]),
    (_math_call("log")._replace(fast="fast_log({0})"), 1, [np.log, math.log]),
    (_math_call("log1p"), 1, [np.log1p, math.log1p]),
    (_math_call("log2"), 1, [np.log2, math.log2]),
    (_math_call("log10"), 1, [np.log10, math.log10]),
    (_math_call("sin"), 1, [np.sin, math.sin]),
    (_math_call("cos"), 1, [np.cos, math.cos]),
    (_math_call("tan"), 1, [np.tan, math.tan]),
    (_math_call("asin"), 1, [np.arcsin, math.asin]),
    (_math_call("acos"), 1, [np.arccos, math.acos]),
    (_math_call("atan"), 1, [np.arctan, math.atan]),
    (_math_call("sinh"), 1, [np.sinh, math.sinh]),
    (_math_call("cosh"), 1, [np.cosh, math.cosh]),
    (_math_call("tanh")._replace(fast="fast_tanh({0})"), 1, [np.tanh, math.tanh]),
    (_math_call("erf"), 1, [math.erf]),
]
SCALAR_OPS: dict[Any, tuple[ScalarOp, int]] = {fn: (op, n) for op, n, fns in _SCALAR_OP_ROWS for fn in fns}

MATH_FUNCTIONS = (
    "acos", "asin", "atan", "atan2", "cos", "cosh", "erf", "exp", "expm1", "hypot", "log", "log10", "log1p", "log2",
    "pow", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
"""The `math` functions that templates call."""


def scalar_op(fn: Any, args: int) -> ScalarOp | None:
    """Return the operation for a function of `args` arguments; None if there is none."""
    try:
        op, n = SCALAR_OPS.get(fn, (None, args))
    except TypeError:
        return None
    return op if n == args else None


def power_op(e: float) -> ScalarOp:
    """Return the operation for a power with a constant exponent."""
    if e in (0.0, 1.0):
        return ScalarOp("{0}" if e else "1.0")
    if e in (2.0, 3.0, 4.0):
        return ScalarOp(" * ".join(["{0}"] * int(e)), FLOAT_KIND, _NOT_FINITE)
    if e == -1.0:
        return ScalarOp("1.0 / {0}", FLOAT_KIND, "{1} == 0.0")
    return ScalarOp(f"pow({{0}}, {e!r})", FLOAT_KIND, _NOT_FINITE, True)
