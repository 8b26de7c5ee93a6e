"""Native code for sums, extrema and products of arrays: loop nests that reduce along some axes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.compiling.graphs.vocabulary import axes_of
from wengert.compiling.native.blas import emit_large_product
from wengert.compiling.native.indices import check_sums_of_integers
from wengert.compiling.native.sequences import flat_view
from wengert.compiling.native.values import (
    Affine,
    RowList,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_native_array,
    number_literal,
    row_major,
)
from wengert.compiling.native.views import array_of_parts, diagonal_of_matrix, emit_reshape
from wengert.compiling.ops import FLOAT_KIND, ScalarOp, info, power_op
from wengert.tape.ops import Call

BLAS_ABOVE = 1 << 15  # products; above, BLAS is faster than loops
STACKS_ABOVE = 1 << 17  # products of stacks; above, loops gain little, and take long to compile
STACK_LETTERS = "abcdefgh"  # of the axes of stacks of matrices
SHORT = 4  # most products whose sum is written out for each element


def emit_sum(
    body: Any, op: Call, a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    return _reduce(body, op, "0.0", "radd({0}, {1})", _or_begin(body, a, where, "0.0"), axis, "+=")


def emit_add_reduce(body: Any, op: Call, a: Any, axis: Any = 0, keepdims: Any = False) -> Any:
    return emit_sum(body, op, a, axis)


def emit_prod(body: Any, op: Call, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _reduce(body, op, "1.0", "{0} * {1}", a, axis)


def _emitter_of_extremum(limit: str, test: str) -> Any:
    """Return the emitter of np.max or np.min, by the test that a later element passes; nan passes, too."""

    def emit(
        body: Any, op: Call, a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        begin = limit if initial is None else number_literal(initial).text
        term = f"({{1}} if {test} or {{1}} != {{1}} else {{0}})"
        return _reduce(body, op, begin, term, _or_begin(body, a, where, begin), axis)

    return emit


emit_max, emit_min = _emitter_of_extremum("-inf", "{1} >= {0}"), _emitter_of_extremum("inf", "{1} <= {0}")


def _or_begin(body: Any, a: Any, where: Any, begin: str) -> Any:
    """Return an array in which the number that a reduction begins with replaces the elements that are left out."""
    if where is True:
        return a
    if not is_native_array(a) or not is_native_array(where) or np.broadcast_shapes(a.shape, where.shape) != a.shape:
        raise UnsupportedOp("a reduction of these elements")
    return body.level.let(f"({{1}} if {{0}} else {begin})", [where, body.as_float(a)], a.shape)


def emit_mean(body: Any, op: Call, a: Any, axis: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    a = array_of_parts(body, a)
    total = emit_sum(body, op, a, axis, where=where)
    if where is True:
        count: Any = number_literal(math.prod(a.shape) / max(1, math.prod(getattr(op.val, "shape", ()))))
    else:
        count = emit_sum(body, op, body.level.let("(1.0 if {0} else 0.0)", [where], a.shape), axis)
    return body.compute(op, ScalarOp("{0} / {1}"), [total, count])


def emit_norm(body: Any, op: Call, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Emit the root of the sum of squares, or another norm of vectors."""
    is_vector = is_native_array(x) and (type(axis) is int or (axis is None and len(x.shape) == 1))
    if not is_native_array(x) or not (ord is None or (is_vector and ord in (1, 2, np.inf, -np.inf))):
        raise UnsupportedOp("np.linalg.norm with these arguments")
    if ord in (None, 2):
        squares = body.level.let("{0} * {0}", [body.as_float(x)], x.shape)
        return body.compute(op, info(np.sqrt).word, [_reduce(body, op, "0.0", "radd({0}, {1})", squares, axis, "+=")])
    sizes = body.level.let("abs({0})", [body.as_float(x)], x.shape)
    if ord == 1:
        return _reduce(body, op, "0.0", "radd({0}, {1})", sizes, axis, "+=")
    return (emit_max if ord > 0 else emit_min)(body, op, sizes, axis)


def _reduce(body: Any, op: Call, begin: str, template: str, a: Any, axis: Any, sign: str = "") -> Any:
    """Emit a reduction over some axes."""
    a = array_of_parts(body, a)
    if isinstance(a, Scalar) and type(op.val) is np.float64:
        return body.as_float(a)
    if not is_native_array(a) or getattr(op.val, "dtype", None) not in (np.float64, np.int64):
        raise UnsupportedOp("a reduction of anything but a float array")
    a = body.as_float(a)
    if op.val.dtype == np.int64:
        check_sums_of_integers(body, a, op.args[0])
    axes = axes_of(axis, len(a.shape))
    if axes is None or (begin != "0.0" and 0 in a.shape):
        raise UnsupportedOp("a reduction over these axes")
    kept = tuple([n for k, n in enumerate(a.shape) if k not in axes])
    if math.prod(kept) != np.size(op.val):
        raise UnsupportedOp("a reduction with these defaults")
    n, keep = len(a.shape), len(kept)
    if isinstance(a, Splat):
        a = body.level.let("{0}", [a.number], a.shape)
    trailing = list(axes) == list(range(keep, n))
    if not trailing and not sign:
        a, trailing = body.view(a).transposed([*(k for k in range(n) if k not in axes), *axes]), True
    if not axes:
        found: Any = a
    elif not kept:
        total = body.level.reduce(begin, template, a, a.shape, 0, None)
        return Splat(total, op.val.shape) if isinstance(op.val, np.ndarray) else total
    else:
        found = body.level.new_array(kept)
        if trailing:
            body.level.reduce(begin, template, a, a.shape, keep, found)
        else:
            body.level.store(found, "=", number_literal(0.0))
            strides = iter(found.strides)
            spread = tuple([0 if k in axes else next(strides) for k in range(n)])
            body.level.store(View(found.memory, Affine(0), spread, a.shape), sign, a)
    return emit_reshape(body, op, found)


def emit_vdot(body: Any, op: Call, a: Any, b: Any) -> Any:
    if not (is_native_array(a) and is_native_array(b) and a.shape == b.shape) or op.val.dtype != np.float64:
        raise UnsupportedOp("np.vdot of arrays of different shapes or dtypes")
    product = body.level.let("{0} * {1}", [body.as_float(a), body.as_float(b)], a.shape)
    return body.level.reduce("0.0", "radd({0}, {1})", product, a.shape, 0, None)


def emit_power(body: Any, op: Call, x: Any, e: Any) -> Any:
    if isinstance(e, (int, float, np.integer)) and not isinstance(e, bool):
        return body.compute(op, power_op(float(e)), [body.operand(x)])
    power = ScalarOp("pow({0}, {1})", FLOAT_KIND, "{0} - {0} != 0.0", True)
    return body.compute(op, power, [body.operand(x), body.operand(e)])


def emit_trace(body: Any, op: Call, x: Any) -> Any:
    if not is_native_array(x) or len(x.shape) != 2 or type(op.val) is not np.float64 or isinstance(x, Splat):
        raise UnsupportedOp("np.trace of other than a matrix of floats")
    view = diagonal_of_matrix(body, body.as_float(x))
    return body.level.reduce("0.0", "radd({0}, {1})", view, view.shape, 0, None)


def emit_total(body: Any, op: Call, parts: Any) -> Any:
    """Return the sum of a list of numbers, or of arrays of one shape, from left to right."""
    if isinstance(parts, RowList) and type(op.val) in (float, np.float64):
        return body.level.reduce("0.0", "{0} + {1}", parts.whole, parts.whole.shape, 0, None)
    if isinstance(parts, RowList) and type(op.val) is np.ndarray and parts.whole.shape[1:] == op.val.shape:
        return emit_sum(body, op, parts.whole, 0)
    if type(parts) not in (tuple, list) or not parts:
        raise UnsupportedOp("sum of anything but a list")
    operands = [body.operand(x) for x in parts]
    if type(op.val) is np.ndarray and {getattr(x, "shape", None) for x in operands} == {op.val.shape}:
        first = body.compute(op, ScalarOp("{0} + 0.0"), operands[:1])
    elif type(op.val) in (float, np.float64) and all([isinstance(x, Scalar) for x in operands]):
        first = operands[0]
    else:
        raise UnsupportedOp("sum of anything but numbers or arrays of one shape")
    return functools.reduce(lambda a, b: body.compute(op, ScalarOp("{0} + {1}"), [a, b]), operands[1:], first)


def emit_extremum(body: Any, op: Call, *numbers: Any) -> Any:
    """Return the largest or smallest of several numbers, as Python's max and min compare them: from left to right."""
    if len(numbers) < 3 or type(op.val) not in (float, np.float64) or op.guard:
        raise UnsupportedOp("max or min with these arguments")
    word, operands = info(op.fn).word, map(body.operand, numbers)
    return functools.reduce(lambda a, b: body.compute(op, word, [a, b]), operands)


def emit_outer(body: Any, op: Call, a: Any, b: Any) -> Any:
    operands = [Splat(x, (1,)) if isinstance(x, Scalar) else x for x in (a, b)]
    if not all(map(is_native_array, operands)):
        raise UnsupportedOp("np.outer with these arguments")
    return contract(body, op, ["i", "j"], "ij", [x if len(x.shape) == 1 else flat_view(body, x) for x in operands])


def emit_matmul(body: Any, op: Call, a: Any, b: Any) -> Any:
    m, n = getattr(a, "shape", ()), getattr(b, "shape", ())
    if not m or not n:
        raise UnsupportedOp("products of numbers")
    if math.prod(m[-2:]) * math.prod(n[-1:] if len(n) > 1 else ()) > BLAS_ABOVE:
        return emit_large_product(body, op, a, b)
    first, second = "ij"[-len(m) :], "jk"[: len(n)]
    if max(len(m), len(n)) > 2 and (info(op.fn).name == "dot" or min(len(m), len(n)) < 2):
        raise UnsupportedOp("products of stacks of matrices and vectors")
    if max(len(m), len(n)) > 2 and np.size(op.val) * m[-1] > STACKS_ABOVE:
        raise UnsupportedOp("large products of stacks of matrices")
    stacks = [STACK_LETTERS[-(len(shape) - 2) :] if len(shape) > 2 else "" for shape in (m, n)]
    output = max(stacks, key=len) + (first + second).replace("j", "")
    return contract(
        body, op, [letters + own for letters, own in zip(stacks, (first, second), strict=True)], output, [a, b]
    )


def emit_einsum(body: Any, op: Call, subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    if type(subscripts) is not str or "." in subscripts:
        raise UnsupportedOp("np.einsum with these subscripts")
    inputs, is_explicit, output = subscripts.replace(" ", "").partition("->")
    if not is_explicit:
        output = "".join([k for k in sorted({*inputs} - {","}) if inputs.count(k) == 1])
    return contract(body, op, inputs.split(","), output, list(operands))


def contract(body: Any, op: Call, subscripts: list[str], output: str, operands: list[Any]) -> Any:
    """Emit a sum of products, with subscripts as in einsum."""
    operands = [Splat(x, ()) if isinstance(x, Scalar) else x for x in operands]
    if not all(map(is_native_array, operands)) or op.val.dtype != np.float64:
        raise UnsupportedOp("products of anything but float arrays")
    operands = [body.as_float(x) for x in operands]
    sizes: dict[str, int] = {}
    for letters, x in zip(subscripts, operands, strict=True):
        for letter, n in zip(letters, x.shape, strict=True):
            sizes[letter] = max(n, sizes.get(letter, 1)) if n else 0
    strides = [_strides_by_letter(body, letters, x) for letters, x in zip(subscripts, operands, strict=True)]
    longer = [k for k in sizes if sizes[k] != 1]
    if 1 < math.prod([sizes[k] for k in sizes if k not in output]) <= SHORT and any([k in output for k in longer]):
        return _write_products_out(body, op, sizes, output, list(zip(operands, strides, strict=True)))
    near = {k: sum([row.get(k, 0) in (0, 1) for row in strides]) for k in longer}
    last = max(longer, key=lambda k: (min(8, sizes[k]), near[k], k in output), default="")
    kept = sorted([k for k in output if k in longer], key=lambda k: (k == last, output.index(k)))
    inner = [k for k in longer if k not in output]
    order = [*kept, *sorted(inner, key=lambda k: k == last)] if last in inner else [*kept[:-1], *inner, *kept[-1:]]
    shape = tuple([sizes[k] for k in order])
    views = [_view_over_letters(body, x, row, order, shape) for x, row in zip(operands, strides, strict=True)]
    product = " * ".join([f"{{{k}}}" for k in range(len(views))])
    rows = dict(zip(kept, row_major([sizes[k] for k in kept]), strict=True))
    if not inner:
        found = body.level.view(body.level.let(product, views, shape))
    elif not output:
        made = body.level.let(product, views, shape) if len(views) > 1 else views[0]
        return body.level.reduce("0.0", "radd({0}, {1})", made, shape, 0, None)
    else:
        found = body.level.new_array(tuple([sizes[k] for k in kept]))
        if last not in inner:
            body.level.store(found, "=", number_literal(0.0))
        short = [k for k in kept if sizes[k] <= SHORT and k != last][: len(kept) - 1]  # one nest reads the rest once
        kept, order = [[k for k in letters if k not in short] for letters in (kept, order)]
        shape = tuple([sizes[k] for k in order])
        for at in _index_points(sizes, short):
            pairs = zip(operands, strides, strict=True)
            read = [_view_over_letters(body, x, row, order, shape, at) for x, row in pairs]
            if last in inner:
                made = body.level.let(product, read, shape)
                place = _view_over_letters(body, found, rows, kept, shape[: len(kept)], at)
                body.level.reduce("0.0", "radd({0}, {1})", made, shape, len(kept), place)
            else:
                body.level.store(_view_over_letters(body, found, rows, order, shape, at), "+=", *read, template=product)
    return View(found.memory, Affine(0), tuple([rows.get(k, 0) for k in output]), op.val.shape)


def _write_products_out(body: Any, op: Call, sizes: dict[str, int], output: str, operands: list[Any]) -> Any:
    """Emit a sum of a few products, element by element."""
    inner = [k for k in sizes if k not in output]
    terms, read = list[str](), list[Any]()
    for at in _index_points(sizes, inner):
        terms.append(" * ".join([f"{{{len(read) + k}}}" for k in range(len(operands))]))
        read += [_view_over_letters(body, x, row, [*output], op.val.shape, at) for x, row in operands]
    return body.level.let(" + ".join(terms), read, op.val.shape)


def _index_points(sizes: dict[str, int], letters: list[str]) -> list[dict[str, int]]:
    """Return all combinations of indices for some letters."""
    rows = itertools.product(*[range(sizes[k]) for k in letters])
    return [dict(zip(letters, row, strict=True)) for row in rows]


def _strides_by_letter(body: Any, letters: str, x: Any) -> dict[str, int]:
    if isinstance(x, Splat):
        return {}
    row: dict[str, int] = {}
    for letter, n, stride in zip(letters, x.shape, body.view(x).strides, strict=True):
        row[letter] = row.get(letter, 0) + (stride if n != 1 else 0)
    return row


def _view_over_letters(
    body: Any, x: Any, row: dict[str, int], order: list[str], shape: tuple[int, ...], at: Mapping[str, int] = {}
) -> Any:
    """Return an operand as a view over the letters in `order`, at the indices `at` for others."""
    if isinstance(x, Splat):
        return x.number
    view = body.view(x)
    offset = view.offset + sum([row.get(k, 0) * place for k, place in at.items()])
    return View(view.memory, offset, tuple([row.get(k, 0) for k in order]), shape)
