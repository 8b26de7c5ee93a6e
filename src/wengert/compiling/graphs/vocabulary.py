"""Translate recorded calls into the vocabulary of the rules: `x * y` and `np.multiply(x, y)` become the same call.

Only float64 calls are translated. All other calls stay in the graph as recorded.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import (
    FLOAT,
    Graph,
    Node,
    ValueSpec,
    fill_value_of,
    is_array_node,
    is_call,
    is_known_number,
    is_real,
    shape_of,
)
from wengert.compiling.ops import ADD_REDUCE, float_ufunc, info
from wengert.tape.ops import Constant, references
from wengert.values import functional
from wengert.values.keys import is_basic, key_parts

Translator = Callable[..., Any]


def translate_call(graph: Graph, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spec: ValueSpec) -> Any:
    """Translate a recorded call into a node of the graph or a number; return None if it is not in the vocabulary."""
    row = info(fn)
    translator = _TRANSLATORS.get(row.name)
    if row.name == "power" and fn is not operator.pow:
        return None  # np.power rounds otherwise
    args = tuple([_as_node(graph, a) for a in args])
    if spec.kind is float and row.arity:
        return _of_floats(fn, args)
    if translator is None:
        ufunc = float_ufunc(fn)
        known = ufunc is not None and not kwargs and len(args) == ufunc.nin and all(map(is_real, args))
        return graph.call(ufunc, *map(_python_number, args)) if known else None
    return translator(graph, spec, *args, **kwargs) if _accepts(translator, args, kwargs) else None


def _as_node(graph: Graph, a: Any) -> Any:
    """Return the node of a float64 array; return anything else unchanged."""
    return graph.constant(a) if type(a) is np.ndarray and a.dtype == FLOAT else a


def _of_floats(fn: Any, args: tuple[Any, ...]) -> Any:
    """Return x for 1.0·x of a Python float, as pullbacks write it; None for any other call that returns a float."""
    if fn is operator.mul and any([is_known_number(a) and a == 1.0 for a in args]):
        return next((a for a in args if type(a) is Node and a.spec.kind is float), None)
    return None


def _python_number(a: Any) -> Any:
    """Return a number as a Python float, which computes the same with an array; return anything else unchanged."""
    return float(a) if is_known_number(a) else a


def _accepts(translator: Translator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a translator accepts the arguments of a call."""
    code = translator.__code__
    names = code.co_varnames[2 : code.co_argcount]
    least = len(names) - len(translator.__defaults__ or ())
    return least <= len(args) + len(kwargs) and len(args) <= len(names) and {*kwargs} <= {*names[len(args) :]}


def _translate_power(graph: Graph, spec: ValueSpec, x: Any, e: Any) -> Any:
    if not (is_array_node(x) and shape_of(x) and is_real(x) and is_known_number(e)):
        return None
    return graph.call(np.power, x, float(e))


def _translate_sum(
    graph: Graph, spec: ValueSpec, a: Any, axis: Any = None, keepdims: Any = False, where: Any = True
) -> Any:
    if not (is_real(a) and is_array_node(a)) or type(keepdims) is not bool or where is not True:
        return None
    axes = axes_of(axis, len(a.shape))
    return None if axes is None else summed(graph, a, axes, keepdims)


def axes_of(axis: Any, n: int) -> tuple[int, ...] | None:
    """Return the axes out of n that `axis` means, in order; None unless it is None, an integer or a tuple of them."""
    if axis is None:
        return tuple(range(n))
    axes = axis if type(axis) is tuple else (axis,)
    return tuple(sorted([a % n for a in axes])) if all([type(a) is int for a in axes]) else None


def summed(graph: Graph, x: Any, axes: tuple[int, ...], keepdims: bool = False) -> Any:
    """Return the sum of an array over some axes; `keepdims` keeps them with length 1."""
    total = graph.call(ADD_REDUCE, x, axes)
    if not keepdims:
        return total
    shape = tuple([1 if axis in axes else n for axis, n in enumerate(shape_of(x))])
    return graph.call(np.reshape, total, shape) if is_array_node(total) else graph.call(np.full, shape, total)


def _translator_of_mean(of_squares: bool = False, is_root: bool = False) -> Translator:
    """Return the translator of np.mean, or of np.var or np.std: the mean of (a - mean a)², as NumPy computes it.

    The fifth argument of np.mean is no `ddof` but `keepdims`, a bool, with which the call stays as recorded.
    """

    def translator(
        graph: Graph,
        spec: ValueSpec,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        where: Any = True,
    ) -> Any:
        if not (is_real(a) and is_array_node(a)) or 0 in a.shape or not is_known_number(ddof):
            return None
        axes = axes_of(axis, len(a.shape)) if dtype is None and out is None and where is True else None
        if axes is None or type(keepdims) is not bool or ddof >= math.prod([a.shape[k] for k in axes]):
            return None
        if not of_squares:
            return _mean(graph, a, axes, keepdims)
        squares = graph.call(np.square, graph.call(np.subtract, a, _mean(graph, a, axes, True)))
        variance = _mean(graph, squares, axes, keepdims, float(ddof))
        return graph.call(np.sqrt, variance) if is_root else variance

    return translator


def _mean(graph: Graph, a: Any, axes: tuple[int, ...], keepdims: bool, ddof: float = 0.0) -> Any:
    """Return Σ a / (n - ddof), for n elements along these axes."""
    count = float(math.prod([shape_of(a)[axis] for axis in axes]))
    return graph.call(np.divide, summed(graph, a, axes, keepdims), count - ddof)


def _translate_full(graph: Graph, spec: ValueSpec, shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return graph.call(np.full, spec.shape, _python_number(fill_value)) if _is_scalar(fill_value) else None


def _translate_zeros(graph: Graph, spec: ValueSpec, shape: Any, dtype: Any = None) -> Any:
    """Make a node that no other call shares, since sums are written into its array."""
    return graph.make(np.zeros, (spec.shape,), {}, spec, shared=False, in_vocabulary=True)


def _is_scalar(a: Any) -> bool:
    """Whether an argument is a number, or a node whose value is one."""
    return is_real(a) and not is_array_node(a)


def _translate_broadcast_to(graph: Graph, spec: ValueSpec, array: Any, shape: Any) -> Any:
    return graph.call(np.broadcast_to, _python_number(array), spec.shape) if is_real(array) else None


def _translate_reshape(graph: Graph, spec: ValueSpec, a: Any, shape: Any = None) -> Any:
    if not is_real(a) or type(shape) is str:  # ravel(a, "F")
        return None
    if is_array_node(a):
        return graph.call(np.reshape, a, spec.shape)
    return graph.call(np.full, spec.shape, _python_number(a))


def _translate_transpose(graph: Graph, spec: ValueSpec, a: Any, axes: Any = None) -> Any:
    n = len(spec.shape)
    is_known = axes is None or (type(axes) in (tuple, list) and all([type(axis) is int for axis in axes]))
    if not (is_real(a) and is_array_node(a) and is_known):
        return None  # an axis may be a computed integer
    order = tuple(range(n))[::-1] if axes is None else tuple([axis % n for axis in axes])
    return graph.call(np.transpose, a, order)


def _translate_matmul(graph: Graph, spec: ValueSpec, a: Any, b: Any) -> Any:
    return graph.call(np.matmul, a, b) if all([is_real(x) and is_array_node(x) for x in (a, b)]) else None


def _translate_outer(graph: Graph, spec: ValueSpec, a: Any, b: Any) -> Any:
    real = [is_real(x) and is_array_node(x) and len(shape_of(x)) == 1 for x in (a, b)]
    return graph.call(np.outer, a, b) if all(real) else None


def _translator_of_matrices(fn: Any) -> Translator:
    def translator(graph: Graph, spec: ValueSpec, a: Any) -> Any:
        return graph.call(fn, a) if is_real(a) and is_array_node(a) and len(a.shape) <= 2 else None

    return translator


def _translate_diagonal(graph: Graph, spec: ValueSpec, a: Any, offset: Any = 0) -> Any:
    """Return v for the diagonal of diag(v); of another matrix it is a view, which stays as recorded."""
    return a.args[0] if is_call(a, np.diag) and len(a.shape) == 2 and offset == 0 else None


def _translate_copy(graph: Graph, spec: ValueSpec, a: Any) -> Any:
    """Return the array itself, as nobody writes to it; `own_results` copies it at the end if the user gets it."""
    return a if is_real(a) and is_array_node(a) else None


def _translate_setitem(graph: Graph, spec: ValueSpec, x: Any, key: Any, value: Any) -> Any:
    """Translate zeros whose diagonal is set through a flat index, as the pullback of a trace does."""
    n = math.isqrt(spec.shape[0]) if len(spec.shape) == 1 else 0
    if not n or n * n != spec.shape[0] or not is_real(value):
        return None
    (part,) = [k for k in key_parts(key) if k is not Ellipsis] or (None,)
    if type(part) is not slice or any(references(part, Node)) or range(n * n)[part] != range(0, n * n, n + 1):
        return None
    v = value if shape_of(value) == (n,) else graph.call(np.full, (n,), value) if _is_scalar(value) else None
    return None if v is None or not is_zeros(x) else graph.call(np.reshape, graph.call(np.diag, v), spec.shape)


def is_zeros(a: Any) -> bool:
    """Whether an argument is an array of positive zeros."""
    if is_call(a, np.zeros):
        return True
    x = a.op.val if type(a) is Node and a.fn is None and isinstance(a.op, Constant) else None
    return x is not None and not np.any(x) and not np.any(np.signbit(x))


def _translate_additem(graph: Graph, spec: ValueSpec, x: Any, key: Any, value: Any) -> Any:
    """Translate an addition to a whole array, or to rows of zeros at known places."""
    if not (is_real(x) and is_real(value) and spec.shape):
        return None
    if is_basic(key) and not any(references(key, Node)):
        part = np.empty(spec.shape, np.int8)[key]
        whole = part.size == math.prod(spec.shape) and part.flags.c_contiguous and part.shape == shape_of(value)
        before = 0.0 if is_zeros(x) else x
        if whole:
            return graph.call(np.add, before, _translate_reshape(graph, spec, value, spec.shape))
        found = (rule(graph, x, key, value) for rule in graph.rules.get(functional.additem, ()))
        return next((node for node in found if node is not None), None)
    return _added_rows(graph, spec, key, value) if is_zeros(x) else None


def _added_rows(graph: Graph, spec: ValueSpec, key: Any, value: Any) -> Any:
    """Translate rows added to zeros at known places to np.bincount, which adds in the same order and is faster."""
    (places,) = key_parts(key) if len(key_parts(key)) == 1 else (None,)
    if type(places) is not np.ndarray or places.ndim != 1 or places.dtype != np.intp:
        return None
    if shape_of(value) != (len(places), *spec.shape[1:]) or not places.size or places.min() < 0:
        return None
    each = math.prod(spec.shape[1:])
    flat = _flat_places(graph, places, each) if each != 1 else places
    weights = graph.call(np.reshape, value, (len(places) * each,))
    return graph.call(np.reshape, graph.call(np.bincount, flat, weights, math.prod(spec.shape)), spec.shape)


def _flat_places(graph: Graph, places: np.ndarray, each: int) -> Node:
    """Return the flat indices of all elements of rows, computed from the array `places` of row indices."""

    def made(fn: Any, *args: Any, shape: tuple[int, ...]) -> Node:
        return graph.make(fn, args, {}, ValueSpec(np.ndarray, shape, places.dtype), in_vocabulary=True)

    n = len(places)
    first = made(operator.mul, made(operator.getitem, places, (slice(None), None), shape=(n, 1)), each, shape=(n, 1))
    all_of_row = made(operator.add, first, made(np.arange, each, shape=(each,)), shape=(n, each))
    return made(np.ndarray.reshape, all_of_row, (-1,), shape=(n * each,))


def _translate_where(graph: Graph, spec: ValueSpec, condition: Any, x: Any, y: Any) -> Any:
    known = is_array_node(condition) and is_real(x) and is_real(y)
    return graph.call(np.where, condition, _python_number(x), _python_number(y)) if known else None


def _takes_all(key: Any) -> bool:
    """Whether a part of a key takes a whole axis, or adds one."""
    return key is None or key is Ellipsis or (type(key) is slice and key == slice(None))


def _translate_getitem(graph: Graph, spec: ValueSpec, x: Any, key: Any) -> Any:
    """Translate a key that only adds axes to a reshape; translate a part of a uniform array to its number."""
    if is_real(x) and is_array_node(x) and all(map(_takes_all, key_parts(key))):
        return graph.call(np.reshape, x, spec.shape)
    number = fill_value_of(x)
    if number is None or not is_basic(key):
        return None
    return graph.call(np.full, spec.shape, number) if spec.shape else number


_TRANSLATORS: dict[str, Translator] = {
    "power": _translate_power, "sum": _translate_sum, "mean": _translator_of_mean(),
    "var": _translator_of_mean(of_squares=True), "std": _translator_of_mean(of_squares=True, is_root=True),
    "full": _translate_full, "zeros": _translate_zeros, "broadcast_to": _translate_broadcast_to,
    **dict.fromkeys(("reshape", "expand_dims", "squeeze", "ravel"), _translate_reshape),
    "transpose": _translate_transpose, "matmul": _translate_matmul, "outer": _translate_outer,
    "diag": _translator_of_matrices(np.diag), "trace": _translator_of_matrices(np.trace),
    "diagonal": _translate_diagonal, "where": _translate_where, "copy": _translate_copy, "array": _translate_copy,
    "setitem": _translate_setitem, "additem": _translate_additem, "getitem": _translate_getitem,
}  # fmt: skip
