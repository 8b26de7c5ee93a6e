"""Native code for complex numbers: pairs of real parts, each computed by native code for floats.

An elementwise function has a word for each part of its result. Other operations are done to each part.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.native.expansion import emit_expansion, expansion
from wengert.compiling.native.indices import check_elements
from wengert.compiling.native.values import (
    ComplexPair,
    FlatMemory,
    PartOf,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_native_array,
    is_of_complex,
    number_literal,
)
from wengert.compiling.ops import BOOL_KIND, FLOAT_KIND, info
from wengert.tape.ops import Call, value_of
from wengert.values.callables import callable_name

COMPLEX_QUOTIENT = """
def quotient_real(a, b, c, d):
    # the real part of (a + bi) / (c + di), in NumPy's steps
    is_first = abs(c) >= abs(d)
    p = c if is_first else d
    q = d if is_first else c
    r = q / p
    x = (a + b * r if is_first else a * r + b) * (1.0 / (p + q * r))
    return a / abs(c) if p == 0.0 else x


def quotient_imag(a, b, c, d):
    is_first = abs(c) >= abs(d)
    p = c if is_first else d
    q = d if is_first else c
    r = q / p
    x = (b - a * r if is_first else b * r - a) * (1.0 / (p + q * r))
    return b / abs(c) if p == 0.0 else x


def float_quotient_real(a, c, d):
    # the real part of a / (c + di), in Python's steps
    is_first = abs(c) >= abs(d)
    p = c if is_first else d
    q = d if is_first else c
    return (a if is_first else a * (q / p)) / (p + q * (q / p))


def float_quotient_imag(a, c, d):
    is_first = abs(c) >= abs(d)
    p = c if is_first else d
    q = d if is_first else c
    return (-a * (q / p) if is_first else -a) / (p + q * (q / p))
"""

COMPLEX_RECIPROCAL = """
def reciprocal_real(a, b):
    # the real part of 1 / (a + bi), in NumPy's steps
    is_first = abs(b) <= abs(a)
    r = b / a if is_first else a / b
    d = a + b * r if is_first else a * r + b
    return 1.0 / d if is_first else r / d


def reciprocal_imag(a, b):
    is_first = abs(b) <= abs(a)
    r = b / a if is_first else a / b
    d = a + b * r if is_first else a * r + b
    return -r / d if is_first else -1.0 / d
"""

COMPLEX_LOG = """
def log_of_size(x, y):
    # log |x + yi|, by log1p near the unit circle
    p = abs(x) if abs(x) >= abs(y) else abs(y)
    q = abs(y) if abs(x) >= abs(y) else abs(x)
    if 0.5 < p and p < 2.0:
        return 0.5 * log1p((p - 1.0) * (p + 1.0) + q * q)
    return log(hypot(x, y))
"""

COMPLEX_ROOT = """
def root_real(x, y):
    # the real part of the root, which is not negative
    t = sqrt((abs(x) + hypot(x, y)) * 0.5)
    return t if x >= 0.0 else abs(y) / (2.0 * t)


def root_imag(x, y):
    t = sqrt((abs(x) + hypot(x, y)) * 0.5)
    return y / (2.0 * t) if x >= 0.0 else np.copysign(t, y)
"""


class ComplexWord(NamedTuple):
    """The sources of the two parts of an elementwise function, from the parts of its operands.

    They call a `helper`. Where `usual` does not hold for the operand, the native function fails.
    """

    real: str
    imag: str
    helper: str = ""
    usual: str = ""


_BELOW_700 = "abs({0}) < 700.0 and abs({1}) < 700.0"
_COMPLEX_PRODUCT = ComplexWord("{0} * {2} - {1} * {3}", "{0} * {3} + {1} * {2}")
_RATIO = ComplexWord("quotient_real({0}, {1}, {2}, {3})", "quotient_imag({0}, {1}, {2}, {3})", COMPLEX_QUOTIENT)
_INVERSE = ComplexWord("reciprocal_real({0}, {1})", "reciprocal_imag({0}, {1})", COMPLEX_RECIPROCAL)
_NOT_ZERO = "({0} != 0.0 or {1} != 0.0)"
_ZERO_POWER = ComplexWord("({0} if {2} != 0.0 or {3} != 0.0 else 0.0)", "({1} if {2} != 0.0 or {3} != 0.0 else 0.0)")

PAIR_WORDS = {
    "add": ComplexWord("{0} + {2}", "{1} + {3}"),
    "subtract": ComplexWord("{0} - {2}", "{1} - {3}"),
    "multiply": _COMPLEX_PRODUCT,
    "divide": _RATIO,
    "reciprocal": _INVERSE,
    "negative": ComplexWord("-{0}", "-{1}"),
    "conjugate": ComplexWord("{0}", "-{1}"),
    "square": ComplexWord("{0} * {0} - {1} * {1}", "{0} * {1} + {1} * {0}"),
    "sqrt": ComplexWord(
        "root_real({0}, {1})", "root_imag({0}, {1})", COMPLEX_ROOT, "1e-290 < abs({0}) + abs({1}) < 1e290"
    ),
    "exp": ComplexWord("exp({0}) * cos({1})", "exp({0}) * sin({1})", "", "{0} < 700.0 and {1} - {1} == 0.0"),
    "log": ComplexWord(
        "log_of_size({0}, {1})", "atan2({1}, {0})", COMPLEX_LOG, "{0} - {0} == 0.0 and {1} - {1} == 0.0"
    ),
    "sin": ComplexWord("sin({0}) * cosh({1})", "cos({0}) * sinh({1})", "", _BELOW_700),
    "cos": ComplexWord("cos({0}) * cosh({1})", "-(sin({0}) * sinh({1}))", "", _BELOW_700),
    "sinh": ComplexWord("sinh({0}) * cos({1})", "cosh({0}) * sin({1})", "", _BELOW_700),
    "cosh": ComplexWord("cosh({0}) * cos({1})", "sinh({0}) * sin({1})", "", _BELOW_700),
}
MIXED_WORDS = {
    ("add", 0): ComplexWord("{0} + {2}", "{3}"),
    ("add", 1): ComplexWord("{0} + {2}", "{1}"),
    ("subtract", 0): ComplexWord("{0} - {2}", "-{3}"),
    ("subtract", 1): ComplexWord("{0} - {2}", "{1}"),
    ("multiply", 0): ComplexWord("{0} * {2}", "{0} * {3}"),
    ("multiply", 1): ComplexWord("{0} * {2}", "{1} * {2}"),
    ("divide", 0): ComplexWord(
        "float_quotient_real({0}, {2}, {3})", "float_quotient_imag({0}, {2}, {3})", COMPLEX_QUOTIENT
    ),
    ("divide", 1): ComplexWord("{0} / {2}", "{1} / {2}", "", "{2} != 0.0"),
}
"""Arithmetic of a real and a complex Python number. Since Python 3.14 the real one is not converted to complex."""

REAL_WORDS = {
    "absolute": ("hypot({0}, {1})", FLOAT_KIND),
    "equal": ("({0} == {2} and {1} == {3})", BOOL_KIND),
    "not_equal": ("({0} != {2} or {1} != {3})", BOOL_KIND),
    "isfinite": ("({0} - {0} == 0.0 and {1} - {1} == 0.0)", BOOL_KIND),
    "isnan": ("({0} != {0} or {1} != {1})", BOOL_KIND),
}
"""The words of elementwise functions with real results, and the kinds of these."""

IN_PARTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys((
        "positive", "stopped", "copy", "array", "getitem", "item", "take", "expand_dims", "ravel", "reshape", "squeeze",
        "swapaxes", "transpose", "broadcast_to", "diag", "diagonal", "concatenate", "stack", "zeros_like", "empty_like",
        "sum", "add_reduce", "mean", "total", "trace", "cumsum", "getattr", "roll", "flip", "repeat", "tril", "triu",
        "take_along_axis",
    ), (0,)),
    "where": (1, 2), "setitem": (0, 2), "additem": (0, 2), "full": (1,), "zeros": (), "empty": (),
}  # fmt: skip
"""Operations that are done to the real parts and to the imaginary parts, and their arguments that have such parts."""

BILINEAR = {"matmul": (0, 1), "dot": (0, 1), "outer": (0, 1), "vdot": (0, 1), "einsum": (1, 2)}
"""Operations that are linear in two of their arguments."""

MOST_FACTORS = 16

OF_ANY_TYPE = ("tuple", "getfield", "static", "memory_query")
"""Operations to which an item of a tuple may be of any type."""


def takes_complex(op: Call, args: Sequence[Any]) -> bool:
    """Whether a call computes with complex numbers."""
    return info(op.fn).name not in OF_ANY_TYPE and (is_of_complex(op.val) or any(map(_has_complex, args)))


def _has_complex(x: Any) -> bool:
    return any(map(_has_complex, x)) if isinstance(x, (list, tuple)) else isinstance(x, ComplexPair) or is_of_complex(x)


def emit_complex(body: Any, op: Call, args: Sequence[Any]) -> Any:
    """Emit a call that computes with complex numbers."""
    name, n = info(op.fn).name, len(args)
    if op.guard or (is_of_complex(op.val) and np.asarray(op.val).dtype != np.complex128):
        raise UnsupportedOp(f"{callable_name(op.fn)} of complex numbers")
    if type(op.val) is complex and sys.version_info >= (3, 14):
        is_real = [not is_of_complex(value_of(x)) for x in op.args]
        mixed = MIXED_WORDS.get((name, is_real.index(True))) if sum(is_real) == 1 else None
        if mixed is not None:
            return compute_pair(body, op, mixed, args)
    if name == "power" and n == 2 and not op.kwargs:
        return _integer_power(body, op, *args)
    if name in PAIR_WORDS and n == info(op.fn).arity and not op.kwargs:
        return compute_pair(body, op, PAIR_WORDS[name], args)
    if name in REAL_WORDS and n == info(op.fn).arity and not op.kwargs:
        template, kind = REAL_WORDS[name]
        parts = _all_parts(body, args)
        if name == "absolute" and type(op.val) is float:
            return body.level.compute_number(template, *parts, check="{0} - {0} != 0.0")
        return _compute_part(body, op, template, parts, kind)
    if name in ("real", "imag"):
        return getattr(as_pair(body, args[0]), name)
    if name == "astype" or op.fn in (complex, np.complex128):
        return _to_complex(body, op, args)
    if name == "norm" and not op.kwargs and n == 1:
        pair = as_pair(body, args[0])
        squares = body.level.let("{0} * {0} + {1} * {1}", [pair.real, pair.imag], np.shape(value_of(op.args[0])))
        total = body.level.reduce("0.0", "radd({0}, {1})", squares, squares.shape, 0, None)
        return body.level.compute_number("sqrt({0})", total)
    if name in BILINEAR and max(BILINEAR[name]) < n:
        return _bilinear(body, op, name, args)
    if name in IN_PARTS:
        return _in_parts(body, op, args, IN_PARTS[name])
    raise UnsupportedOp(f"{callable_name(op.fn)} of complex numbers")


# -- operands


def as_pair(body: Any, x: Any) -> ComplexPair:
    """Return a complex or real number or array as a pair; the imaginary part of a real one is 0.0, as in NumPy."""
    if isinstance(x, ComplexPair):
        return x
    if isinstance(x, (complex, np.complexfloating)):
        return ComplexPair(number_literal(x.real), number_literal(x.imag))
    x = body.as_float(body.operand(x))
    zero = number_literal(0.0)
    return ComplexPair(x, Splat(zero, x.shape) if is_native_array(x) else zero)


def complex_parameter(program: Any, key: Any, source: Any, value: Any) -> ComplexPair:
    """Return a complex input or constant as a pair of parameters, or of views of one."""
    if type(value) is np.ndarray:
        if key not in program.parameters:
            memory = FlatMemory(2 * value.size, f"a{len(program.parameters)}", is_complex=True)
            program.parameters[key] = source, memory
        return interleaved(View.whole(program.parameters[key][1], value.shape))
    for part in ("real", "imag"):
        found = Scalar(f"a{len(program.parameters)}")
        program.parameters.setdefault((key, part), (PartOf(source, part), found))
    return ComplexPair(program.parameters[key, "real"][1], program.parameters[key, "imag"][1])


def interleaved(view: View) -> ComplexPair:
    """Return the parts of complex numbers in memory; the strides of the view count complex numbers."""
    strides = tuple([2 * n for n in view.strides])
    return ComplexPair(*[replace(view, offset=view.offset * 2 + k, strides=strides) for k in range(2)])


def _all_parts(body: Any, args: Sequence[Any]) -> list[Any]:
    """Return the parts of all operands, in order."""
    pairs = [as_pair(body, x) for x in args]
    return [part for pair in pairs for part in (pair.real, pair.imag)]


# -- elementwise


def compute_pair(body: Any, op: Call, word: ComplexWord, args: Sequence[Any]) -> ComplexPair:
    """Apply an elementwise function."""
    body.program.helpers.update(dict.fromkeys([word.helper] if word.helper else []))
    parts = _all_parts(body, args)
    if word.usual and isinstance(op.val, np.ndarray):
        is_usual = body.level.let(f"(1.0 if {word.usual} else 0.0)", parts, op.val.shape)
        check_elements(body, is_usual, "{1} == 1.0")
    elif word.usual:
        body.level.guard("not {0}", _compute_part(body, op, f"({word.usual})", parts, BOOL_KIND))
    if word.helper is COMPLEX_QUOTIENT and type(op.val) is complex:  # where Python raises an error
        body.level.guard("not {0}", _compute_part(body, op, _NOT_ZERO, parts[-2:], BOOL_KIND))
    return ComplexPair(*[_compute_part(body, op, template, parts) for template in (word.real, word.imag)])


def _compute_part(body: Any, op: Call, template: str, parts: Sequence[Any], kind: str = FLOAT_KIND) -> Any:
    """Compute a part of a result."""
    if isinstance(op.val, np.ndarray):
        return body.level.let(template, parts, op.val.shape, kind)
    numbers = [x if isinstance(x, Scalar) else body.item(x) for x in parts]
    return body.level.compute_number(template, *numbers, kind=kind)


def _integer_power(body: Any, op: Call, x: Any, e: Any) -> ComplexPair:
    """Emit a power with a small constant integer as exponent, by NumPy's products."""
    known = isinstance(e, (int, float, np.integer)) and not isinstance(e, bool) and float(e).is_integer()
    if not known or not 0 < abs(e) <= MOST_FACTORS:
        raise UnsupportedOp("powers of complex numbers but for small integers")
    n, square = abs(int(e)), as_pair(body, x)
    found, rest = (square, n - 1) if n <= 3 else (as_pair(body, 1.0), n)
    while rest:
        if rest & 1:
            found = compute_pair(body, op, _COMPLEX_PRODUCT, [found, square])
        rest >>= 1
        square = compute_pair(body, op, _COMPLEX_PRODUCT, [square, square]) if rest else square
    if n > 2 or not isinstance(op.val, np.ndarray):
        found = compute_pair(body, op, _ZERO_POWER, [found, x])
    if e > 0 or (e == -1 and isinstance(op.val, np.ndarray)):
        return found if e > 0 else compute_pair(body, op, _INVERSE, [found])
    return compute_pair(body, op, _RATIO._replace(usual="({2} != 0.0 or {3} != 0.0)"), [1.0, found])


# -- other operations


def _bilinear(body: Any, op: Call, name: str, args: Sequence[Any]) -> ComplexPair:
    """Emit an operation that is linear in two arguments, by four of them."""
    places = BILINEAR[name]
    first, second = [as_pair(body, args[k]) for k in places]

    def product(a: Any, b: Any, part: str) -> Any:
        given = [*op.args]
        given[places[0]], given[places[1]] = a, b
        return body.call(_part_call(op, given, part))

    straight = [product(first.real, second.real, "real"), product(first.imag, second.imag, "real")]
    across = [product(first.real, second.imag, "imag"), product(first.imag, second.real, "imag")]
    signs = "+-" if name == "vdot" else "-+"
    pairs = zip(signs, (straight, across), strict=True)
    return ComplexPair(*[_compute_part(body, op, f"{{0}} {sign} {{1}}", parts) for sign, parts in pairs])


def _in_parts(body: Any, op: Call, args: Sequence[Any], places: Sequence[int]) -> ComplexPair:
    """Emit an operation on the real parts and on the imaginary parts of the arguments at these places."""
    function, made = expansion(op.fn), []
    for part in ("real", "imag"):
        given = [_real_or_imag(body, x, part) if k in places else op.args[k] for k, x in enumerate(args)]
        if function is None:
            made.append(body.call(_part_call(op, given, part)))
        else:
            recorded = [getattr(np.asarray(value_of(x)), part) if k in places else x for k, x in enumerate(op.args)]
            made.append(emit_expansion(body, _part_call(op, recorded, part), function, given))
    return ComplexPair(*made)


def _part_call(op: Call, args: Sequence[Any], part: str) -> Call:
    """Return a call like `op`, whose recorded value is a part of that of `op`."""
    kwargs = {name: x for name, x in op.kwargs.items() if name != "dtype"}
    made = Call(op.fn, args, kwargs, val=getattr(op.val, part), site=op.site)
    made._id = op.id
    return made


def _real_or_imag(body: Any, x: Any, part: str) -> Any:
    """Return a part of a number or array, or of each in a list."""
    if isinstance(x, (list, tuple)):
        return type(x)([_real_or_imag(body, each, part) for each in x])
    if isinstance(x, (complex, np.complexfloating)) or (type(x) is np.ndarray and is_of_complex(x)):
        return np.ascontiguousarray(getattr(x, part)) if type(x) is np.ndarray else getattr(x, part)
    return getattr(as_pair(body, x), part)


def _to_complex(body: Any, op: Call, args: Sequence[Any]) -> ComplexPair:
    """Emit a conversion to a complex number or array, or complex(real, imag)."""
    if not is_of_complex(op.val) or (op.fn is complex and op.kwargs):
        raise UnsupportedOp("a conversion of complex numbers to others")
    if op.fn is complex and len(args) == 2:
        if any(map(_has_complex, args)):
            raise UnsupportedOp("complex() of two complex numbers")
        return ComplexPair(*[body.as_float(body.operand(x)) for x in args])
    return as_pair(body, args[0])
