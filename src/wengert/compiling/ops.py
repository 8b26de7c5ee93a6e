"""The table of operations: what the compiler knows of each function, in one row.

A row lists all functions that mean the same operation: `operator.mul` and `np.multiply`. A pass asks `info(fn)` for the
properties of a function, or has a table of its own by the names of operations. The table does not repeat what NumPy
knows of a ufunc (operands, loops, signature): a ufunc without a row counts as elementwise, too.

To add an elementwise function, write one row.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wengert.tape.ops import Call
from wengert.values import functional
from wengert.values.callables import TOLD_APART

FLOAT_KIND, BOOL_KIND = "float", "bool"
ADD_REDUCE = np.add.reduce
RAISING = ("divide", "floor_divide", "remainder", "divmod", "power")
"""Operations on floats by which Python may raise an error where np.float64 gives inf or nan."""


class ScalarOp(NamedTuple):
    """The source of a function of numbers, in native code.

    `raises` is the condition under which Python's function raises where NumPy's returns nan or inf. `slow` tells that
    NumPy's vector code is faster. Operands in `bools` are not converted to floats. `fast` is the source for arrays.
    """

    template: str
    kind: str = FLOAT_KIND
    raises: str = ""
    slow: bool = False
    bools: tuple[int, ...] = ()
    fast: str = ""


class OpInfo(NamedTuple):
    """The properties of an operation, and its `functions`; the graph's vocabulary has the first one.

    An elementwise operation has `arity` operands. `word` is its source in native code. `on_floats` is the same function
    for Python floats, and returns the same bits if the row is `exact`. `sign` is the operator of a ufunc.
    `shape` computes the shape of the result from the arguments, with shapes in place of arrays. With `is_array` the
    result is an array also if it has no axes.
    `allocates`: the result is new memory, whatever a rule says. `takes_out`: it can write its result into an array.
    `never_raises`: for no values of the recorded shapes. `has_steps`: it is discontinuous. `in_any_order`: each memory
    order gives the same elements. `is_variadic`: it takes more operands than `arity`, too. `cost`: 0 for a view, 1 for
    about the time of a store; None if it is more.
    """

    name: str
    functions: tuple[Any, ...]
    arity: int = 0
    word: ScalarOp | None = None
    on_floats: Any = None
    exact: bool = False
    sign: Any = None
    shape: Callable[..., tuple[int, ...]] | None = None
    is_array: bool = False
    allocates: bool = False
    takes_out: bool = False
    never_raises: bool = False
    has_steps: bool = False
    in_any_order: bool = False
    is_variadic: bool = False
    cost: int | None = None


UNKNOWN = OpInfo("", ())


# -- elementwise

_NOT_FINITE = "{0} - {0} != 0.0"
_CLIPPED_BELOW = "({1} if {0} < {1} or {1} != {1} else {0})"
_LOGADDEXP = (
    "{0} + log1p(exp({1} - {0})) if {0} > {1} else {1} + log1p(exp({0} - {1})) if {0} != {1} else {0} + "
    f"{math.log(2.0)!r}"
)


def _elementwise(name: str, arity: int, *functions: Any, word: str | ScalarOp | None = None, **rest: Any) -> OpInfo:
    return OpInfo(name, functions, arity, ScalarOp(word) if type(word) is str else word, **rest)  # type: ignore[arg-type]


def _arithmetic(name: str, sign: Any, ufunc: Any, word: str, raises: str = "", **rest: Any) -> OpInfo:
    scalar = ScalarOp(word, FLOAT_KIND, raises)
    arity = word.count("{")
    return _elementwise(name, arity, ufunc, sign, word=scalar, on_floats=sign, exact=True, sign=sign, **rest)


def _exact(name: str, arity: int, *functions: Any, word: str | ScalarOp, **rest: Any) -> OpInfo:
    """Return the row of an operation whose last function returns the same bits for Python floats."""
    return _elementwise(name, arity, *functions, word=word, on_floats=functions[-1], exact=True, **rest)


def _of_math(name: str, fast: str = "") -> OpInfo:
    """Return the row of a function that NumPy and `math` both have."""
    ufunc, function = getattr(np, name), getattr(math, name)
    operands = "{0}, {1}" if ufunc.nin == 2 else "{0}"
    word = ScalarOp(f"{name}({operands})", FLOAT_KIND, _NOT_FINITE, True, fast=fast)
    return _elementwise(name, ufunc.nin, ufunc, function, word=word, on_floats=function)


def _comparison(name: str, sign: str, test: Any, ufunc: Any) -> OpInfo:
    return _elementwise(name, 2, ufunc, test, word=ScalarOp(f"{{0}} {sign} {{1}}", BOOL_KIND))


def _of_bools(name: str, word: str, *functions: Any) -> OpInfo:
    bools = tuple(range(word.count("{")))
    return _elementwise(name, len(bools), *functions, word=ScalarOp(word, BOOL_KIND, bools=bools))


_ELEMENTWISE = (
    _arithmetic("add", operator.add, np.add, "{0} + {1}", cost=1),
    _arithmetic("subtract", operator.sub, np.subtract, "{0} - {1}", cost=1),
    _arithmetic("multiply", operator.mul, np.multiply, "{0} * {1}", cost=1),
    _arithmetic("divide", operator.truediv, np.divide, "{0} / {1}", "{2} == 0.0"),
    _arithmetic("negative", operator.neg, np.negative, "-{0}", cost=1),
    _exact("absolute", 1, np.absolute, operator.abs, abs, word="abs({0})"),
    _exact("fabs", 1, np.fabs, math.fabs, word="abs({0})"),
    _elementwise("positive", 1, np.positive, operator.pos, np.float64, word="{0}"),
    _elementwise("conjugate", 1, np.conjugate, np.ndarray.conj, np.ndarray.conjugate, word="{0}"),  # of floats
    _elementwise("float", 1, float, word="{0}", cost=0),
    _elementwise("stopped", 1, functional.stopped, word="{0}"),
    _elementwise("square", 1, np.square, word="{0} * {0}", exact=True, cost=1),
    _elementwise("reciprocal", 1, np.reciprocal, word=ScalarOp("1.0 / {0}", FLOAT_KIND, "{1} == 0.0"), exact=True),
    _exact("sqrt", 1, np.sqrt, math.sqrt, word=ScalarOp("sqrt({0})", FLOAT_KIND, _NOT_FINITE)),
    _elementwise("power", 2, np.power, operator.pow, pow, on_floats=operator.pow),
    _elementwise("maximum", 2, np.maximum, word="({0} if {0} >= {1} or {0} != {0} else {1})", exact=True),
    _elementwise("minimum", 2, np.minimum, word="({0} if {0} <= {1} or {0} != {0} else {1})", exact=True),
    _exact("larger", 2, max, word="({1} if {1} > {0} else {0})", is_variadic=True),
    _exact("smaller", 2, min, word="({1} if {1} < {0} else {0})", is_variadic=True),
    _elementwise(
        "clip", 3, np.clip, np.ndarray.clip,
        word=f"({{2}} if {_CLIPPED_BELOW} > {{2}} or {{2}} != {{2}} else {_CLIPPED_BELOW})",
    ),
    _elementwise(
        "sign", 1, np.sign,
        word="(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else {0} - {0})", exact=True, has_steps=True,
    ),
    _elementwise(
        "where", 3, np.where,
        word=ScalarOp("({1} if {0} else {2})", bools=(0,)), exact=True, is_array=True, never_raises=True,
    ),
    _elementwise("logaddexp", 2, np.logaddexp, word=ScalarOp(f"({_LOGADDEXP})", FLOAT_KIND, _NOT_FINITE, True)),
    _of_math("exp", "fast_exp({0})"),
    _of_math("log", "fast_log({0})"),
    _of_math("tanh", "fast_tanh({0})"),
    *map(_of_math, (
        "expm1", "log1p", "log2", "log10", "hypot", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
        "cosh", "asinh", "acosh", "atanh",
    )),
    _elementwise("erf", 1, math.erf, word=ScalarOp("erf({0})", FLOAT_KIND, _NOT_FINITE, True), on_floats=math.erf),
    _comparison("less", "<", operator.lt, np.less),
    _comparison("less_equal", "<=", operator.le, np.less_equal),
    _comparison("greater", ">", operator.gt, np.greater),
    _comparison("greater_equal", ">=", operator.ge, np.greater_equal),
    _comparison("equal", "==", operator.eq, np.equal),
    _comparison("not_equal", "!=", operator.ne, np.not_equal),
    _elementwise("truth", 1, operator.truth, bool, word=ScalarOp("{0} != 0.0", BOOL_KIND)),
    _of_bools("not", "not {0}", np.logical_not, operator.not_, operator.invert, np.invert),
    _of_bools("and", "({0} and {1})", np.logical_and, operator.and_, np.bitwise_and),
    _of_bools("or", "({0} or {1})", np.logical_or, operator.or_, np.bitwise_or),
    _of_bools("xor", "({0} != {1})", np.logical_xor, operator.xor, np.bitwise_xor),
    _elementwise("isfinite", 1, np.isfinite, math.isfinite, word=ScalarOp("{0} - {0} == 0.0", BOOL_KIND)),
    _elementwise("isnan", 1, np.isnan, math.isnan, word=ScalarOp("{0} != {0}", BOOL_KIND)),
    _elementwise("isinf", 1, np.isinf, math.isinf, word=ScalarOp("abs({0}) == inf", BOOL_KIND)),
    _elementwise("exp2", 1, np.exp2, word=ScalarOp("pow(2.0, {0})", FLOAT_KIND, _NOT_FINITE, True)),
    _elementwise("cbrt", 1, np.cbrt, word=ScalarOp("np.cbrt({0})", slow=True)),
    _elementwise("deg2rad", 1, np.deg2rad, np.radians, word=f"({{0}} * {math.pi / 180.0!r})"),
    _elementwise("rad2deg", 1, np.rad2deg, np.degrees, word=f"({{0}} * {180.0 / math.pi!r})"),
    _elementwise("float_power", 2, np.float_power, word=ScalarOp("pow({0}, {1})", FLOAT_KIND, _NOT_FINITE, True)),
    _elementwise("fmax", 2, np.fmax, word="({0} if {0} >= {1} or {1} != {1} else {1})"),
    _elementwise("fmin", 2, np.fmin, word="({0} if {0} <= {1} or {1} != {1} else {1})"),
    _elementwise("floor", 1, np.floor, word="np.floor({0})", has_steps=True),
    _elementwise("ceil", 1, np.ceil, word="np.ceil({0})", has_steps=True),
    _elementwise("trunc", 1, np.trunc, np.fix, word="np.trunc({0})", has_steps=True),
    _elementwise("rint", 1, np.rint, np.round, np.ndarray.round, word="np.rint({0})", has_steps=True),
    _elementwise("copysign", 2, np.copysign, word="np.copysign({0}, {1})", has_steps=True),
    _elementwise(
        "heaviside", 2, np.heaviside,
        word="(0.0 if {0} < 0.0 else 1.0 if {0} > 0.0 else {1} if {0} == 0.0 else {0})", has_steps=True,
    ),
    _elementwise(
        "remainder", 2, np.remainder, operator.mod,
        word=ScalarOp("np.remainder({0}, {1})", FLOAT_KIND, "{2} == 0.0"), has_steps=True,
    ),
    _elementwise("floor_divide", 2, np.floor_divide, operator.floordiv, has_steps=True),  # numba's is another one
    _elementwise("fmod", 2, np.fmod, word="np.fmod({0}, {1})", has_steps=True),
    _elementwise("spacing", 1, np.spacing, has_steps=True),
    _elementwise("nextafter", 2, np.nextafter, has_steps=True),
    _elementwise("modf", 1, np.modf, has_steps=True),
    _elementwise("divmod", 2, np.divmod, divmod, has_steps=True),
    _elementwise("round", 1, round, has_steps=True),
)  # fmt: skip

_OF_SCIPY = {row.name: row for row in (
    _elementwise("expit", 1, word=ScalarOp("(1.0 / (1.0 + exp(-{0})))", fast="(1.0 / (1.0 + fast_exp(-{0})))")),
    _elementwise("logit", 1, word=ScalarOp(
        "(log({0} / (1.0 - {0})) if abs({0} - 0.5) > 0.2 else log1p((2.0 * {0} - 1.0) / (1.0 - {0})))", slow=True
    )),
    _elementwise("erf", 1, word=ScalarOp("erf({0})", slow=True), on_floats=math.erf),
    _elementwise("erfc", 1, word=ScalarOp("erfc({0})", slow=True)),
    _elementwise("ndtr", 1, word=ScalarOp(f"(0.5 * erfc({{0}} * {-math.sqrt(0.5)!r}))", slow=True)),
    _elementwise("gammaln", 1, word=ScalarOp("lgamma({0})", FLOAT_KIND, slow=True)),
    _elementwise("xlogy", 2, word=ScalarOp("({0} * log({1}) if {0} != 0.0 or {1} != {1} else 0.0)", slow=True)),
    _elementwise("xlog1py", 2, word=ScalarOp("({0} * log1p({1}) if {0} != 0.0 or {1} != {1} else 0.0)", slow=True)),
    _elementwise("exp10", 1, word=ScalarOp("pow(10.0, {0})", slow=True)),
)}  # fmt: skip
"""The rows of ufuncs of `scipy.special`, by name: it is not imported for them."""

_OF_RULES = {"wengert_rules.recurrences": {"sums_onward": OpInfo("sums_onward", ())}}
"""The rows of functions that rules call, by module and name."""


# -- functions of Python floats that are made from words

_MATH_NAME = re.compile(r"(?<![.\w])[a-z]\w+(?=\()")


@cache
def _source_of_floats(word: ScalarOp) -> str:
    """Return the source of a word in Python, where functions of `math` have their module's name."""
    names = _MATH_NAME.sub(lambda found: f"math.{found[0]}" if hasattr(math, found[0]) else found[0], word.template)
    return names if names.startswith("(") else f"({names})"


def _with_floats(row: OpInfo) -> OpInfo:
    """Return the row with a function of Python floats that computes its word, if it has none and Python knows it."""
    word = row.word
    if word is None or row.on_floats is not None or word.kind != FLOAT_KIND:
        return row
    if word.template == "{0}" or "np." in word.template:
        return row
    names = [f"x{k}" for k in range(row.arity)]
    function = eval(f"lambda {', '.join(names)}: {_source_of_floats(word).format(*names)}", {"math": math})
    function.__name__ = function.__qualname__ = f"{row.name}_of_floats"
    function.__module__ = __name__
    return row._replace(functions=(*row.functions, function), on_floats=function)


def source_of_floats(fn: Any) -> str | None:
    """Return the source that generated code has for a function of Python floats; None if it calls the function."""
    row = info(fn)
    written = row.word is not None and row.on_floats is fn and getattr(fn, "__module__", "") == __name__
    return _source_of_floats(row.word) if written else None


# -- of arrays


def _matmul_shape(m: tuple[int, ...], n: tuple[int, ...]) -> tuple[int, ...]:
    if len(m) == 1 or len(n) == 1:
        return m[:-1] + (n[:-2] + n[-1:] if len(n) > 1 else ())
    return np.broadcast_shapes(m[:-2], n[:-2]) + (m[-2], n[-1])


def _sum_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([n for axis, n in enumerate(shape) if axis not in axes])


def _einsum_shape(subscripts: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    inputs, output = subscripts.split("->")
    words = zip(inputs.split(","), shapes, strict=True)
    sizes = {letter: n for word, shape in words for letter, n in zip(word, shape, strict=True) if n != 1}
    return tuple([sizes.get(k, 1) for k in output])


def _diag_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], shape[0]) if len(shape) == 1 else (min(shape),)


def _second(_: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape


def _named(owners: Sequence[Any], *names: str, **rest: Any) -> list[OpInfo]:
    """Return the rows of operations by whose names these modules and classes have the functions."""
    return [OpInfo(name, tuple([getattr(owner, name) for owner in owners]), **rest) for name in names]


_OF_ARRAYS = (
    *_named((np, np.ndarray), "sum", "mean", "var", "std", "max", "min", "diagonal", never_raises=True),
    *_named(
        (np, np.ndarray), "prod", "dot", "argsort", "argmax", "argmin", "searchsorted", "nonzero", "repeat", "take",
    ),
    *_named((np, np.ndarray), "squeeze", "swapaxes", cost=0),
    *_named((np,), "ones", "concatenate", "stack", never_raises=True),
    *_named((np,), "zeros_like", "ones_like", "empty_like", "full_like", in_any_order=True),
    *_named((np,), "sort", "flatnonzero", "tril", "triu", "empty", "roll", "flip", "take_along_axis", "real", "imag"),
    *_named((np.fft,), "fft", "ifft", "rfft", "irfft"),
    *_named(
        (np.linalg,), "inv", "solve", "cholesky", "slogdet", "det", "norm", "qr", "svd", "lstsq", "eig", "eigvals",
        "eigh", "eigvalsh",
    ),
    *_named((functional,), "setitem", "additem", "whole", "as_index", "getfield"),
    OpInfo("add_reduce", (ADD_REDUCE,), shape=_sum_shape, allocates=True, takes_out=True, never_raises=True),
    OpInfo("total", (sum,)),
    OpInfo("cumsum", (np.cumsum, np.ndarray.cumsum, np.add.accumulate)),
    OpInfo("cumprod", (np.cumprod, np.ndarray.cumprod, np.multiply.accumulate)),
    OpInfo("running_max", (np.maximum.accumulate,)),
    OpInfo("running_min", (np.minimum.accumulate,)),
    OpInfo("vdot", (np.vdot,), shape=lambda a, b: (), allocates=True, never_raises=True),
    OpInfo(
        "einsum", (np.einsum,),
        shape=_einsum_shape, allocates=True, takes_out=True, never_raises=True, in_any_order=True,
    ),
    OpInfo("matmul", (np.matmul, operator.matmul), sign=operator.matmul, shape=_matmul_shape, never_raises=True),
    OpInfo("outer", (np.outer,), shape=lambda m, n: (math.prod(m), math.prod(n)), never_raises=True),
    OpInfo("trace", (np.trace, np.ndarray.trace), shape=lambda shape: (), never_raises=True),
    OpInfo("diag", (np.diag,), shape=_diag_shape, never_raises=True),
    OpInfo("bincount", (np.bincount,), shape=lambda places, weights, n: (n,)),
    OpInfo("reshape", (np.reshape, np.ndarray.reshape), shape=_second, is_array=True, cost=0, never_raises=True),
    OpInfo("expand_dims", (np.expand_dims,), cost=0, never_raises=True),
    OpInfo("ravel", (np.ravel, np.ndarray.ravel, np.ndarray.flatten)),
    OpInfo(
        "transpose", (np.transpose, np.ndarray.transpose),
        shape=lambda shape, axes: tuple([shape[axis] for axis in axes]), is_array=True, cost=0, never_raises=True,
    ),
    OpInfo("broadcast_to", (np.broadcast_to,), shape=_second, is_array=True, cost=0, never_raises=True),
    OpInfo("zeros", (np.zeros,), allocates=True, never_raises=True),
    OpInfo(
        "full", (np.full,), shape=lambda shape, value: shape, is_array=True, allocates=True, never_raises=True, cost=0
    ),
    OpInfo(
        "copy", (np.copy, np.ndarray.copy), 1, ScalarOp("{0}"),
        shape=lambda shape: shape, is_array=True, allocates=True, never_raises=True, in_any_order=True,
    ),
    OpInfo("array", (np.array, np.asarray), 1, ScalarOp("{0}"), never_raises=True, in_any_order=True),
    OpInfo("astype", (np.ndarray.astype, np.generic.astype), in_any_order=True),
    OpInfo("item", (np.ndarray.item,), cost=0),
    OpInfo("tolist", (np.ndarray.tolist, list)),
    OpInfo("getitem", (operator.getitem,)),
    OpInfo("tuple", (functional.make_tuple, functional.make_list)),
    OpInfo("getattr", (getattr,)),
    # of types and shapes
    OpInfo(
        "static",
        (np.iscomplexobj, np.isrealobj, np.ndim, np.shape, np.size, np.result_type, len, functional.length, type),
    ),
    OpInfo(
        "memory_query",
        (operator.is_, operator.is_not, id, np.shares_memory, np.may_share_memory, *functional.WINDOWED),
    ),
)  # fmt: skip


# -- how they are found

_OF_SCIPY = {name: _with_floats(row) for name, row in _OF_SCIPY.items()}
_ROWS = (*map(_with_floats, _ELEMENTWISE), *_OF_SCIPY.values(), *_OF_ARRAYS)
_TABLE: dict[Any, OpInfo] = {fn: row for row in _ROWS for fn in row.functions}
_STORED, _ALLOCATORS = ("setitem", "additem"), ("zeros", "empty")


def info(fn: Any) -> OpInfo:
    """Return the row of a function; `UNKNOWN` if it has none."""
    if type(fn) not in TOLD_APART:
        return UNKNOWN
    return _TABLE.get(fn) or (_row_of_scipy(fn) if type(fn) is np.ufunc else _row_of_rules(fn))


def _row_of_rules(fn: Any) -> OpInfo:
    """Return the row of a function that rules call; `UNKNOWN` if it has none."""
    module = getattr(fn, "__module__", None) or ""
    row = _OF_RULES.get(module, {}).get(getattr(fn, "__name__", ""))
    return row if row is not None and getattr(sys.modules[module], row.name, None) is fn else UNKNOWN


def _row_of_scipy(ufunc: np.ufunc) -> OpInfo:
    """Return the row of a ufunc of `scipy.special`; `UNKNOWN` if it is none, or has no row."""
    row = _OF_SCIPY.get(ufunc.__name__)
    found = row is not None and getattr(sys.modules.get("scipy.special"), row.name, None) is ufunc
    return row._replace(functions=(ufunc, *row.functions)) if row is not None and found else UNKNOWN


def math_functions() -> list[str]:
    """Return the names of the functions of `math` that words call."""
    words = [row.word.template for row in (*_TABLE.values(), *_OF_SCIPY.values()) if row.word is not None]
    return sorted({name for name in re.findall(r"(?<!\.)\b[a-z]\w+", " ".join(words)) if hasattr(math, name)} | {"pow"})


def scalar_op(fn: Any, args: int) -> ScalarOp | None:
    """Return the word of a function of `args` operands in native code; None if there is none."""
    row = info(fn)
    return row.word if row.arity == args else None


def power_op(e: float) -> ScalarOp:
    """Return the word of a power with a constant exponent."""
    if e in (0.0, 1.0):
        return ScalarOp("{0}" if e else "1.0")
    if e in (2.0, 3.0, 4.0):
        return ScalarOp(" * ".join(["{0}"] * int(e)), FLOAT_KIND, _NOT_FINITE)
    if e == -1.0:
        return ScalarOp("1.0 / {0}", FLOAT_KIND, "{1} == 0.0")
    return ScalarOp(f"pow({{0}}, {e!r})", FLOAT_KIND, _NOT_FINITE, True)


def as_ufunc(fn: Any) -> Any:
    """Return the ufunc of an operator, or any other function itself."""
    row = info(fn)
    return row.functions[0] if row.sign is fn and row.functions else fn


def float_ufunc(fn: Any) -> np.ufunc | None:
    """Return the elementwise ufunc of floats that a function is, on arrays; None if it is none."""
    functions = info(fn).functions
    ufunc = functions[0] if functions else fn
    return ufunc if isinstance(ufunc, np.ufunc) and _maps_floats(ufunc) else None


@cache
def _maps_floats(ufunc: np.ufunc) -> bool:
    """Whether a ufunc maps floats to a float, and takes no integer as a parameter of another meaning."""
    alike = all([len({*loop[: ufunc.nin]}) == 1 for loop in ufunc.types if loop[-1] in "fdg"])
    return ufunc.signature is None and ufunc.nout == 1 and alike and f"{'d' * ufunc.nin}->d" in ufunc.types


def is_ufunc_call(op: Call) -> bool:
    """Whether a call is of an elementwise ufunc."""
    ufunc = as_ufunc(op.fn)
    return isinstance(ufunc, np.ufunc) and ufunc.signature is None


def is_item_store(op: Call) -> bool:
    """Whether a call stores or adds to a part of an array."""
    return info(op.fn).name in _STORED


def is_allocation(fn: Any) -> bool:
    """Whether a function allocates an array, with zeros or anything in it."""
    return info(fn).name in _ALLOCATORS
