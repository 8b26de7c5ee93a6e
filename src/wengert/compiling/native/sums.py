"""Native code for sums, extrema and products of arrays: loop nests that reduce along some axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.compiling.graphs.vocabulary import axes_of
from wengert.compiling.native.scalar_ops import WORDS, Word, power
from wengert.compiling.native.values import (
    FLOAT,
    Affine,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_native_array,
    number,
    row_major,
)
from wengert.compiling.native.views import array_of_parts, reshape, splat_number
from wengert.tape.ops import Call

BLAS_ABOVE = 1 << 15  # products from which BLAS is faster than loops
SHORT = 4  # products whose sum is written out for each element


def sum_native(body: Any, op: Call, a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    return _reduced(body, op, "0.0", "radd({0}, {1})", a, axis, "+=")


def maximum(body: Any, op: Call, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _reduced(body, op, "-inf", "({1} if {1} >= {0} or {1} != {1} else {0})", a, axis)


def minimum_native(body: Any, op: Call, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _reduced(body, op, "inf", "({1} if {1} <= {0} or {1} != {1} else {0})", a, axis)


def mean(body: Any, op: Call, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    a = array_of_parts(body, a)
    total = _reduced(body, op, "0.0", "radd({0}, {1})", a, axis, "+=")
    count = math.prod(a.shape) / max(1, math.prod(getattr(op.val, "shape", ())))
    return body.compute(op, Word("{0} / {1}"), [total, number(count)])


def norm(body: Any, op: Call, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """The root of the sum of squares."""
    if ord is not None or not is_native_array(x):
        raise UnsupportedOp("such a norm")
    squares = body.level.let("{0} * {0}", [splat_number(body.as_float(x))], x.shape)
    return body.compute(op, WORDS[np.sqrt][0], [_reduced(body, op, "0.0", "radd({0}, {1})", squares, axis, "+=")])


def _reduced(body: Any, op: Call, begin: str, template: str, a: Any, axis: Any, sign: str = "") -> Any:
    """All elements along some axes as one."""
    a = array_of_parts(body, a)
    if isinstance(a, Scalar) and type(op.val) is np.float64:
        return body.as_float(a)
    if not is_native_array(a) or type(op.val) not in (np.float64, np.ndarray) or op.val.dtype != np.float64:
        raise UnsupportedOp("a sum of no array of floats")
    a = body.as_float(a)
    axes = axes_of(axis, len(a.shape))
    if axes is None or (begin != "0.0" and 0 in a.shape):
        raise UnsupportedOp("a sum over such axes")
    kept = tuple([n for k, n in enumerate(a.shape) if k not in axes])
    n, keep = len(a.shape), len(kept)
    if isinstance(a, Splat):
        a = body.level.let("{0}", [a.number], a.shape)
    trailing = list(axes) == list(range(keep, n))
    if not trailing and not sign:
        a, trailing = transpose_kept(body, a, axes), True
    if not axes:
        found: Any = a
    elif not kept:
        return body.level.reduce(begin, template, a, a.shape, 0, None) if not isinstance(op.val, np.ndarray) else (
            Splat(body.level.reduce(begin, template, a, a.shape, 0, None), op.val.shape))  # fmt: skip
    elif trailing:
        found = View.whole(body.level.memory(kept), kept)
        body.level.reduce(begin, template, a, a.shape, keep, found)
    else:
        found = View.whole(body.level.memory(kept), kept)
        body.level.store(found, "=", number(0.0))
        strides = iter(found.strides)
        spread = tuple([0 if k in axes else next(strides) for k in range(n)])
        body.level.store(View(found.memory, Affine(0), spread, a.shape), sign, a)
    return reshape(body, op, found)


def transpose_kept(body: Any, a: Any, axes: Sequence[int]) -> View:
    """The array with the axes that are gathered behind the others."""
    view = body.view(a)
    order = [k for k in range(len(view.shape)) if k not in axes] + list(axes)
    strides, shape = [tuple([row[axis] for axis in order]) for row in (view.strides, view.shape)]
    return View(view.memory, view.offset, strides, shape, view.kind)


def vdot(body: Any, op: Call, a: Any, b: Any) -> Any:
    if not (is_native_array(a) and is_native_array(b) and a.shape == b.shape) or op.val.dtype != np.float64:
        raise UnsupportedOp("a product of other arrays")
    product = body.level.let("{0} * {1}", [splat_number(body.as_float(a)), splat_number(body.as_float(b))], a.shape)
    return body.level.reduce("0.0", "radd({0}, {1})", product, a.shape, 0, None)


def powered(body: Any, op: Call, x: Any, e: Any) -> Any:
    if isinstance(e, (int, float, np.integer)) and not isinstance(e, bool):
        return body.compute(op, power(float(e)), [body.operand(x)])
    word = Word("pow({0}, {1})", FLOAT, "{0} - {0} != 0.0", True)
    return body.compute(op, word, [body.operand(x), body.operand(e)])


def outer(body: Any, op: Call, a: Any, b: Any) -> Any:
    return contracted(body, op, ["i", "j"], "ij", [a, b])


def matmul(body: Any, op: Call, a: Any, b: Any) -> Any:
    m, n = getattr(a, "shape", ()), getattr(b, "shape", ())
    if not (1 <= len(m) <= 2 and 1 <= len(n) <= 2):
        raise UnsupportedOp("a product of stacks")
    if math.prod(m) * math.prod(n[1:]) > BLAS_ABOVE:
        raise UnsupportedOp("a large product")
    first, second = "ij"[-len(m) :], "jk"[: len(n)]
    return contracted(body, op, [first, second], (first + second).replace("j", ""), [a, b])


def einsum(body: Any, op: Call, subscripts: Any, *operands: Any) -> Any:
    if type(subscripts) is not str or "->" not in subscripts or "." in subscripts:
        raise UnsupportedOp("such an einsum")
    inputs, output = subscripts.replace(" ", "").split("->")
    return contracted(body, op, inputs.split(","), output, list(operands))


def contracted(body: Any, op: Call, words: list[str], output: str, operands: list[Any]) -> Any:
    """A sum of products over letters, as einsum has it."""
    if not all(map(is_native_array, operands)) or op.val.dtype != np.float64:
        raise UnsupportedOp("a product of no arrays")
    operands = [body.as_float(x) for x in operands]
    sizes: dict[str, int] = {}
    for word, x in zip(words, operands, strict=True):
        for letter, n in zip(word, x.shape, strict=True):
            sizes[letter] = max(n, sizes.get(letter, 1)) if n else 0
    strides = [_strides_by_letter(body, word, x) for word, x in zip(words, operands, strict=True)]
    longer = [k for k in sizes if sizes[k] != 1]
    if 1 < math.prod([sizes[k] for k in sizes if k not in output]) <= SHORT and any([k in output for k in longer]):
        return _written_out(body, op, sizes, output, list(zip(operands, strides, strict=True)))
    near = {k: sum([row.get(k, 0) in (0, 1) for row in strides]) for k in longer}
    last = max(longer, key=lambda k: (min(8, sizes[k]), near[k], k in output), default="")
    kept = sorted([k for k in output if k in longer], key=lambda k: (k == last, output.index(k)))
    inner = [k for k in longer if k not in output]
    order = [*kept, *sorted(inner, key=lambda k: k == last)] if last in inner else [*kept[:-1], *inner, *kept[-1:]]
    shape = tuple([sizes[k] for k in order])
    views = [_over(body, x, row, order, shape) for x, row in zip(operands, strides, strict=True)]
    product = " * ".join([f"{{{k}}}" for k in range(len(views))])
    rows = dict(zip(kept, row_major([sizes[k] for k in kept]), strict=True))
    if not inner:
        found = body.level.view(body.level.let(product, views, shape))
    elif not output:
        made = body.level.let(product, views, shape) if len(views) > 1 else views[0]
        return body.level.reduce("0.0", "radd({0}, {1})", made, shape, 0, None)
    else:
        found = View.whole(body.level.memory(op.val.shape), tuple([sizes[k] for k in kept]))
        if last not in inner:
            body.level.store(found, "=", number(0.0))
        short = [k for k in kept if sizes[k] <= SHORT and k != last][: len(kept) - 1]  # one nest reads the rest once
        kept, order = [[k for k in letters if k not in short] for letters in (kept, order)]
        shape = tuple([sizes[k] for k in order])
        for at in _index_points(sizes, short):
            read = [_over(body, x, row, order, shape, at) for x, row in zip(operands, strides, strict=True)]
            if last in inner:
                made = body.level.let(product, read, shape)
                place = _over(body, found, rows, kept, shape[: len(kept)], at)
                body.level.reduce("0.0", "radd({0}, {1})", made, shape, len(kept), place)
            else:
                body.level.store(_over(body, found, rows, order, shape, at), "+=", *read, template=product)
    return View(found.memory, Affine(0), tuple([rows.get(k, 0) for k in output]), op.val.shape)


def _written_out(body: Any, op: Call, sizes: dict[str, int], output: str, operands: list[Any]) -> Any:
    """A sum of a few products, element by element."""
    inner = [k for k in sizes if k not in output]
    terms, read = list[str](), list[Any]()
    for at in _index_points(sizes, inner):
        terms.append(" * ".join([f"{{{len(read) + k}}}" for k in range(len(operands))]))
        read += [_over(body, x, row, [*output], op.val.shape, at) for x, row in operands]
    return body.level.let(" + ".join(terms), read, op.val.shape)


def _index_points(sizes: dict[str, int], letters: list[str]) -> list[dict[str, int]]:
    """All places along some letters."""
    rows = itertools.product(*[range(sizes[k]) for k in letters])
    return [dict(zip(letters, row, strict=True)) for row in rows]


def _strides_by_letter(body: Any, word: str, x: Any) -> dict[str, int]:
    if isinstance(x, Splat):
        return {}
    row: dict[str, int] = {}
    for letter, n, stride in zip(word, x.shape, body.view(x).strides, strict=True):
        row[letter] = row.get(letter, 0) + (stride if n != 1 else 0)
    return row


def _over(
    body: Any, x: Any, row: dict[str, int], order: list[str], shape: tuple[int, ...], at: Mapping[str, int] = {}
) -> Any:
    """An operand over the letters of an order, at given places along others."""
    if isinstance(x, Splat):
        return x.number
    view = body.view(x)
    offset = view.offset + sum([row.get(k, 0) * place for k, place in at.items()])
    return View(view.memory, offset, tuple([row.get(k, 0) for k in order]), shape)
