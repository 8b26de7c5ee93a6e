"""Rules of structure: diagonal matrices, outer products and uniform arrays are not materialised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import Graph, fill_value_of, is_array_node, is_call, shape_of
from wengert.compiling.graphs.vocabulary import summed
from wengert.compiling.ops import ADD_REDUCE
from wengert.compiling.rules.rewriting import broadcast_node, factors, rule


def diagonal_of(x: Any) -> Any:
    """Return v if x is the matrix diag(v); None for any other node."""
    return x.args[0] if is_call(x, np.diag) and len(shape_of(x)) == 2 else None


@rule(np.reshape)
def _shape_of_shape(graph: Graph, x: Any, shape: tuple[int, ...]) -> Any:
    if shape_of(x) == shape:
        return x
    if fill_value_of(x) is not None:
        return graph.call(np.full, shape, fill_value_of(x))
    return graph.call(np.reshape, x.args[0], shape) if is_call(x, np.reshape) else None


@rule(np.broadcast_to)
def _shape_of_number(graph: Graph, x: Any, shape: tuple[int, ...]) -> Any:
    if shape_of(x) == shape:
        return x if is_array_node(x) else None
    if fill_value_of(x) is not None:
        return graph.call(np.broadcast_to, fill_value_of(x), shape)
    return graph.call(np.broadcast_to, x.args[0], shape) if is_call(x, np.broadcast_to) else None


@rule(np.transpose)
def _axes_of_axes(graph: Graph, x: Any, axes: tuple[int, ...]) -> Any:
    if axes == tuple(range(len(axes))) or diagonal_of(x) is not None:
        return x
    if fill_value_of(x) is not None:
        return graph.call(np.full, tuple([x.shape[axis] for axis in axes]), fill_value_of(x))
    if is_call(x, np.transpose):
        return graph.call(np.transpose, x.args[0], tuple([x.args[1][a] for a in axes]))
    return None


def _factors_past_layout(fn: Any) -> None:
    """Register a rule that moves signs and scalar factors out of a function that only rearranges elements."""

    @rule(fn)
    def outwards(graph: Graph, x: Any, layout: tuple[int, ...]) -> Any:
        if is_call(x, np.negative):
            return graph.call(np.negative, graph.call(fn, x.args[0], layout))
        s, v = factors(x)
        if s is None or shape_of(v) != shape_of(x):
            return None
        return graph.call(np.multiply, s, graph.call(fn, v, layout))


for _fn in (np.reshape, np.transpose):
    _factors_past_layout(_fn)


@rule(np.trace)
def _trace_of_diagonal(graph: Graph, x: Any) -> Any:
    """tr diag v = Σ v."""
    v = diagonal_of(x)
    return None if v is None else summed(graph, v, (0,))


@rule(np.trace, reassociates=True)
def _trace_of_product(graph: Graph, x: Any) -> Any:
    """tr a bᵀ = a·b."""
    if is_call(x, np.outer) and shape_of(x)[0] == shape_of(x)[1]:
        return summed(graph, graph.call(np.multiply, *x.args), (0,))
    return None


@rule(ADD_REDUCE, reassociates=True)
def _sum_of_structure(graph: Graph, x: Any, axes: tuple[int, ...]) -> Any:
    """Σ diag v = Σ v, Σ a bᵀ = Σ a · Σ b."""
    if len(axes) != len(shape_of(x)) or not math.prod(shape_of(x)):
        return None
    if diagonal_of(x) is not None:
        return summed(graph, diagonal_of(x), (0,))
    return graph.call(np.multiply, *(summed(graph, v, (0,)) for v in x.args)) if is_call(x, np.outer) else None


@rule(np.matmul, reassociates=True)
def _product_with_diagonal(graph: Graph, a: Any, b: Any) -> Any:
    """diag(v) y = v·y, by rows where y is a matrix; y diag(v) = y·v."""
    if diagonal_of(a) is not None and len(shape_of(b)) <= 2:
        v = diagonal_of(a)
        return graph.call(np.multiply, v if len(shape_of(b)) == 1 else graph.call(np.reshape, v, (*shape_of(v), 1)), b)
    return graph.call(np.multiply, a, diagonal_of(b)) if diagonal_of(b) is not None and len(shape_of(a)) <= 2 else None


@rule(np.matmul, reassociates=True)
def _product_with_number(graph: Graph, a: Any, b: Any) -> Any:
    """A matrix filled with s times y is s times the sums of y."""
    m, n = shape_of(a), shape_of(b)
    if len(m) > 2 or len(n) > 2 or not math.prod(m) or not math.prod(n):
        return None
    if fill_value_of(a) is not None and len(m) == 2:
        return broadcast_node(graph, graph.call(np.multiply, fill_value_of(a), summed(graph, b, (0,))), (m[0], *n[1:]))
    if fill_value_of(b) is not None and len(n) == 2:
        rows = summed(graph, a, (len(m) - 1,), keepdims=len(m) == 2)
        return broadcast_node(graph, graph.call(np.multiply, fill_value_of(b), rows), (*m[:-1], n[1]))
    return None
