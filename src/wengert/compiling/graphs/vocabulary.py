"""Translate recorded calls into the vocabulary of the rules: `x * y` and `np.multiply(x, y)` are one call; so are sums.

It is about floats of 64 bits. A call that is not in the vocabulary stands in the graph as it was recorded.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import (
    FLOAT,
    SUM,
    Graph,
    Node,
    Spec,
    is_array,
    is_call,
    is_number,
    is_real,
    number_of,
    shape_of,
)
from wengert.tape.ops import Constant, references
from wengert.values import functional
from wengert.values.keys import is_basic

UFUNCS: dict[Any, np.ufunc] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply, operator.truediv: np.divide,
    operator.neg: np.negative, operator.abs: np.absolute, abs: np.absolute,
    **{fn: fn for fn in (
        np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.exp, np.log, np.sqrt, np.square,
        np.sin, np.cos, np.tan, np.tanh, np.sinh, np.cosh, np.arctan, np.arcsin, np.arccos, np.log1p, np.expm1,
        np.maximum, np.minimum, np.reciprocal, np.exp2, np.log2, np.log10, np.hypot, np.arctan2,
    )},
}  # fmt: skip
"""Elementwise functions: operators on arrays, and the ufuncs that they call."""

SIGNS = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.negative: operator.neg, np.matmul: operator.matmul,
}  # fmt: skip
"""How these are written on a tape and in source."""

METHODS = {np.reshape: np.ndarray.reshape, np.transpose: np.ndarray.transpose, np.copy: np.ndarray.copy}
"""Functions that are faster as methods of arrays."""

Reader = Callable[..., Any]
_FEW = 16  # columns, which are added up one by one


def in_vocabulary(graph: Graph, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spec: Spec) -> Any:
    """Translate a recorded call into a node of the graph or a number; None where it is not in the vocabulary."""
    try:
        ufunc, reader = UFUNCS.get(fn), _READERS.get(fn)
    except TypeError:
        return None
    args = tuple([_as_node(graph, a) for a in args])
    if ufunc is not None and spec.kind is float:
        return _of_floats(fn, args)
    if ufunc is not None:
        known = not kwargs and len(args) == ufunc.nin and all(map(is_real, args))
        return graph.call(ufunc, *map(_plain, args)) if known else None
    return reader(graph, spec, *args, **kwargs) if reader is not None and _fits(reader, args, kwargs) else None


def _as_node(graph: Graph, a: Any) -> Any:
    """An array that stands among the arguments, as a node."""
    return graph.constant(a) if type(a) is np.ndarray and a.dtype == FLOAT else a


def _of_floats(fn: Any, args: tuple[Any, ...]) -> Any:
    """Return x for 1.0·x of a Python float, as pullbacks write it; None for any other call that gives a float."""
    if fn is operator.mul and any([is_number(a) and a == 1.0 for a in args]):
        return next((a for a in args if type(a) is Node and a.spec.kind is float), None)
    return None


def _plain(a: Any) -> Any:
    """A number as Python's own: beside an array of floats it is the same."""
    return float(a) if is_number(a) else a


def _fits(reader: Reader, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call has arguments that its reader knows."""
    code = reader.__code__
    names = code.co_varnames[2 : code.co_argcount]
    least = len(names) - len(reader.__defaults__ or ())
    return least <= len(args) + len(kwargs) and len(args) <= len(names) and {*kwargs} <= {*names[len(args) :]}


def _power(graph: Graph, spec: Spec, x: Any, e: Any) -> Any:
    if not (is_array(x) and shape_of(x) and is_real(x) and is_number(e)):
        return None
    return graph.call(np.power, x, float(e))


def _sum(graph: Graph, spec: Spec, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if not (is_real(a) and is_array(a)) or type(keepdims) is not bool:
        return None
    axes = axes_of(axis, len(a.shape))
    return None if axes is None else summed(graph, a, axes, keepdims)


def axes_of(axis: Any, n: int) -> tuple[int, ...] | None:
    """The axes that `axis` names of n; None where it names none in the usual way."""
    if axis is None:
        return tuple(range(n))
    axes = axis if type(axis) is tuple else (axis,)
    return tuple(sorted([a % n for a in axes])) if all([type(a) is int for a in axes]) else None


def summed(graph: Graph, x: Any, axes: tuple[int, ...], keepdims: bool = False) -> Any:
    """The sum of an array over some axes, which stay with length 1 where `keepdims` says so."""
    total = graph.call(SUM, x, axes)
    if not keepdims:
        return total
    shape = tuple([1 if axis in axes else n for axis, n in enumerate(shape_of(x))])
    return graph.call(np.reshape, total, shape) if is_array(total) else graph.call(np.full, shape, total)


def _mean(graph: Graph, spec: Spec, a: Any) -> Any:
    if not (is_real(a) and is_array(a)) or 0 in a.shape:
        return None
    return graph.call(np.divide, summed(graph, a, tuple(range(len(a.shape)))), float(math.prod(a.shape)))


def _full(graph: Graph, spec: Spec, shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return graph.call(np.full, spec.shape, _plain(fill_value)) if _is_scalar(fill_value) else None


def _zeros(graph: Graph, spec: Spec, shape: Any, dtype: Any = None) -> Any:
    """Zeros for each to have his own: what is added to them is written into them."""
    return graph.make(np.zeros, (spec.shape,), {}, spec, shared=False, known=True)


def _is_scalar(a: Any) -> bool:
    """Whether an argument is a number, or a node that gives one."""
    return is_real(a) and not is_array(a)


def _broadcast_to(graph: Graph, spec: Spec, array: Any, shape: Any) -> Any:
    return graph.call(np.broadcast_to, _plain(array), spec.shape) if is_real(array) else None


def _reshape(graph: Graph, spec: Spec, a: Any, shape: Any) -> Any:
    if not is_real(a):
        return None
    return graph.call(np.reshape, a, spec.shape) if is_array(a) else graph.call(np.full, spec.shape, _plain(a))


def _transpose(graph: Graph, spec: Spec, a: Any, axes: Any = None) -> Any:
    n = len(spec.shape)
    if not (is_real(a) and is_array(a)) or any([type(axis) is not int for axis in axes or ()]):
        return None  # an axis may be a number that is computed
    order = tuple(range(n))[::-1] if axes is None else tuple([axis % n for axis in axes])
    return graph.call(np.transpose, a, order)


def _matmul(graph: Graph, spec: Spec, a: Any, b: Any) -> Any:
    return graph.call(np.matmul, a, b) if all([is_real(x) and is_array(x) for x in (a, b)]) else None


def _outer(graph: Graph, spec: Spec, a: Any, b: Any) -> Any:
    real = [is_real(x) and is_array(x) and len(shape_of(x)) == 1 for x in (a, b)]
    return graph.call(np.outer, a, b) if all(real) else None


def _of_matrix(fn: Any) -> Reader:
    def reader(graph: Graph, spec: Spec, a: Any) -> Any:
        return graph.call(fn, a) if is_real(a) and is_array(a) and len(a.shape) <= 2 else None

    return reader


def _diagonal(graph: Graph, spec: Spec, a: Any, offset: Any = 0) -> Any:
    """The diagonal of a matrix that is diagonal; of any other it is a view, which stays as recorded."""
    return a.args[0] if is_call(a, np.diag) and len(a.shape) == 2 and offset == 0 else None


def _copy(graph: Graph, spec: Spec, a: Any) -> Any:
    """A copy of what is never written: the value itself; where the user gets it, it is copied at the end."""
    return a if is_real(a) and is_array(a) else None


def _setitem(graph: Graph, spec: Spec, x: Any, key: Any, value: Any) -> Any:
    """Zeros with a diagonal set, seen as a row: that is how the pullback of a trace writes its cotangent."""
    n = math.isqrt(spec.shape[0]) if len(spec.shape) == 1 else 0
    if not n or n * n != spec.shape[0] or not is_real(value):
        return None
    (part,) = [k for k in _keys(key) if k is not Ellipsis] or (None,)
    if type(part) is not slice or any(references(part, Node)) or range(n * n)[part] != range(0, n * n, n + 1):
        return None
    v = value if shape_of(value) == (n,) else graph.call(np.full, (n,), value) if _is_scalar(value) else None
    return None if v is None or not is_zeros(x) else graph.call(np.reshape, graph.call(np.diag, v), spec.shape)


def is_zeros(a: Any) -> bool:
    """Whether an argument is an array of zeros, none of which has a sign."""
    if is_call(a, np.zeros):
        return True
    x = a.op.val if type(a) is Node and a.fn is None and isinstance(a.op, Constant) else None
    return x is not None and not np.any(x) and not np.any(np.signbit(x))


def _additem(graph: Graph, spec: Spec, x: Any, key: Any, value: Any) -> Any:
    """Translate an addition to a whole array, or to rows of zeros at known places."""
    if not (is_real(x) and is_real(value) and spec.shape):
        return None
    if is_basic(key) and not any(references(key, Node)):
        part = np.empty(spec.shape, np.int8)[key]
        whole = part.size == math.prod(spec.shape) and part.flags.c_contiguous and part.shape == shape_of(value)
        before = 0.0 if is_zeros(x) else x
        if whole:
            return graph.call(np.add, before, _reshape(graph, spec, value, spec.shape))
        found = (rule(graph, x, key, value) for rule in graph.rules.get(functional.additem, ()))
        return next((node for node in found if node is not None), None)
    return _added_rows(graph, spec, key, value) if is_zeros(x) else None


def _added_rows(graph: Graph, spec: Spec, key: Any, value: Any) -> Any:
    """Rows that are added to zeros at places that are known: np.bincount adds them in the same order, and faster."""
    (places,) = _keys(key) if len(_keys(key)) == 1 else (None,)
    if type(places) is not np.ndarray or places.ndim != 1 or places.dtype != np.intp:
        return None
    if shape_of(value) != (len(places), *spec.shape[1:]) or not places.size or places.min() < 0:
        return None
    if len(spec.shape) == 2 and 1 < spec.shape[1] <= _FEW:
        return _added_columns(graph, spec, places, value)
    each = math.prod(spec.shape[1:])
    flat = _flat_places(graph, places, each) if each != 1 else places
    weights = graph.call(np.reshape, value, (len(places) * each,))
    return graph.call(np.reshape, graph.call(np.bincount, flat, weights, math.prod(spec.shape)), spec.shape)


def _added_columns(graph: Graph, spec: Spec, places: np.ndarray, value: Any) -> Node:
    """Rows that are added to zeros, column by column."""
    of_column, n = Spec(np.ndarray, (len(places),), FLOAT), spec.shape[0]
    keys = [(slice(None), k) for k in range(spec.shape[1])]
    columns = [graph.make(operator.getitem, (value, key), {}, of_column, known=True) for key in keys]
    sums = [graph.call(np.bincount, places, column, n) for column in columns]
    return graph.make(np.stack, (sums,), {"axis": 1}, spec, known=True)


def _flat_places(graph: Graph, places: np.ndarray, each: int) -> Node:
    """The places of the elements of rows, as the array of the rows' places has them when the tape runs."""

    def made(fn: Any, *args: Any, shape: tuple[int, ...]) -> Node:
        return graph.make(fn, args, {}, Spec(np.ndarray, shape, places.dtype), known=True)

    n = len(places)
    first = made(operator.mul, made(operator.getitem, places, (slice(None), None), shape=(n, 1)), each, shape=(n, 1))
    all_of_row = made(operator.add, first, made(np.arange, each, shape=(each,)), shape=(n, each))
    return made(np.ndarray.reshape, all_of_row, (-1,), shape=(n * each,))


def _where(graph: Graph, spec: Spec, condition: Any, x: Any, y: Any) -> Any:
    known = is_array(condition) and is_real(x) and is_real(y)
    return graph.call(np.where, condition, _plain(x), _plain(y)) if known else None


def _takes_all(key: Any) -> bool:
    """Whether a part of a key leaves an axis as it is, or makes one."""
    return key is None or key is Ellipsis or (type(key) is slice and key == slice(None))


def _keys(key: Any) -> tuple[Any, ...]:
    return key if type(key) is tuple else (key,)


def _getitem(graph: Graph, spec: Spec, x: Any, key: Any) -> Any:
    """An array with other axes of length 1; an element or a part of one that is one number everywhere."""
    if is_real(x) and is_array(x) and all(map(_takes_all, _keys(key))):
        return graph.call(np.reshape, x, spec.shape)
    number = number_of(x)
    if number is None or not is_basic(key):
        return None
    return graph.call(np.full, spec.shape, number) if spec.shape else number


_READERS: dict[Any, Reader] = {
    operator.pow: _power,
    np.sum: _sum,
    np.ndarray.sum: _sum,
    np.mean: _mean,
    np.ndarray.mean: _mean,
    np.full: _full,
    np.zeros: _zeros,
    np.broadcast_to: _broadcast_to,
    np.reshape: _reshape,
    np.ndarray.reshape: _reshape,
    np.expand_dims: _reshape,
    np.transpose: _transpose,
    np.ndarray.transpose: _transpose,
    operator.matmul: _matmul,
    np.matmul: _matmul,
    np.outer: _outer,
    np.diag: _of_matrix(np.diag),
    np.trace: _of_matrix(np.trace),
    np.diagonal: _diagonal,
    np.where: _where,
    np.copy: _copy,
    np.array: _copy,
    np.ndarray.copy: _copy,
    functional.setitem: _setitem,
    functional.additem: _additem,
    operator.getitem: _getitem,
}
