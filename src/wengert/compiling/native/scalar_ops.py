"""The words of native code: what is computed element by element, and what Python would raise for it."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.native.values import BOOL, FLOAT


class Word(NamedTuple):
    """The text of a function of numbers.

    `raises` says when Python's own raises, where NumPy's gives nan or inf; `slow` that NumPy's vector code is faster;
    `bools` are the operands that are read as they are, and not as floats; `fast` is the text for many elements.
    """

    template: str
    kind: str = FLOAT
    raises: str = ""
    slow: bool = False
    bools: tuple[int, ...] = ()
    fast: str = ""


_NOT_FINITE = "{0} - {0} != 0.0"
_BOTH = (0, 1)
_RAISED = "({1} if {0} < {1} else {0})"
_ABOVE = "{0} + log1p(exp({1} - {0})) if {0} > {1} else {1} + log1p(exp({0} - {1}))"


def _math_call(name: str) -> Word:
    return Word(f"{name}({{0}})", FLOAT, _NOT_FINITE, True)


def _test(sign: str) -> Word:
    return Word(f"{{0}} {sign} {{1}}", BOOL)


_WORD_ROWS: list[tuple[Word, int, list[Any]]] = [
    (Word("{0} + {1}"), 2, [operator.add, np.add]),
    (Word("{0} - {1}"), 2, [operator.sub, np.subtract]),
    (Word("{0} * {1}"), 2, [operator.mul, np.multiply]),
    (Word("{0} / {1}", FLOAT, "{2} == 0.0"), 2, [operator.truediv, np.divide]),
    (Word("-{0}"), 1, [operator.neg, np.negative]),
    (Word("{0}"), 1, [operator.pos, np.positive, float, np.float64, np.copy, np.array, np.asarray, np.ndarray.copy]),
    (Word("abs({0})"), 1, [abs, operator.abs, np.absolute, np.fabs, math.fabs]),
    (Word("{0} * {0}"), 1, [np.square]),
    (Word("1.0 / {0}"), 1, [np.reciprocal]),
    (Word("sqrt({0})", FLOAT, _NOT_FINITE), 1, [np.sqrt, math.sqrt]),
    (Word("({0} if {0} >= {1} or {0} != {0} else {1})"), 2, [np.maximum]),
    (Word("({0} if {0} <= {1} or {0} != {0} else {1})"), 2, [np.minimum]),
    (Word("({1} if {1} > {0} else {0})"), 2, [max]),
    (Word("({1} if {1} < {0} else {0})"), 2, [min]),
    (Word(f"({{2}} if {_RAISED} > {{2}} else {_RAISED})"), 3, [np.clip, np.ndarray.clip]),
    (Word("(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else {0} - {0})"), 1, [np.sign]),
    (Word("({1} if {0} else {2})", bools=(0,)), 3, [np.where]),
    (Word("hypot({0}, {1})", FLOAT, _NOT_FINITE, True), 2, [np.hypot]),
    (Word("atan2({0}, {1})", FLOAT, _NOT_FINITE, True), 2, [np.arctan2, math.atan2]),
    (_test("<"), 2, [operator.lt, np.less]),
    (_test("<="), 2, [operator.le, np.less_equal]),
    (_test(">"), 2, [operator.gt, np.greater]),
    (_test(">="), 2, [operator.ge, np.greater_equal]),
    (_test("=="), 2, [operator.eq, np.equal]),
    (_test("!="), 2, [operator.ne, np.not_equal]),
    (Word("{0} != 0.0", BOOL), 1, [operator.truth, bool]),
    (Word("not {0}", BOOL, bools=_BOTH), 1, [operator.not_, np.logical_not, operator.invert, np.invert]),
    (Word("({0} and {1})", BOOL, bools=_BOTH), 2, [np.logical_and, operator.and_, np.bitwise_and]),
    (Word("({0} or {1})", BOOL, bools=_BOTH), 2, [np.logical_or, operator.or_, np.bitwise_or]),
    (Word("({0} != {1})", BOOL, bools=_BOTH), 2, [operator.xor, np.bitwise_xor]),
    (Word("{0} - {0} == 0.0", BOOL), 1, [np.isfinite, math.isfinite]),
    (Word("{0} != {0}", BOOL), 1, [np.isnan, math.isnan]),
    (Word(f"({_ABOVE})", FLOAT, _NOT_FINITE, True), 2, [np.logaddexp]),
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
WORDS: dict[Any, tuple[Word, int]] = {fn: (word, n) for word, n, fns in _WORD_ROWS for fn in fns}

CALLED = (
    "acos", "asin", "atan", "atan2", "cos", "cosh", "erf", "exp", "expm1", "hypot", "log", "log10", "log1p", "log2",
    "pow", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
"""The functions of `math` that templates call."""


def word_of(fn: Any, args: int) -> Word | None:
    """The word for a function of so many arguments."""
    try:
        word, n = WORDS.get(fn, (None, args))
    except TypeError:
        return None
    return word if n == args else None


def power(e: float) -> Word:
    """The word for a power whose exponent is known."""
    if e in (0.0, 1.0):
        return Word("{0}" if e else "1.0")
    if e in (2.0, 3.0, 4.0):
        return Word(" * ".join(["{0}"] * int(e)), FLOAT, _NOT_FINITE)
    if e == -1.0:
        return Word("1.0 / {0}", FLOAT, "{1} == 0.0")
    return Word(f"pow({{0}}, {e!r})", FLOAT, _NOT_FINITE, True)
