"""The rules of structure: a diagonal, an outer product and a number that is everywhere are not written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import SUM, Graph, is_array, is_call, number_of, shape_of
from wengert.compiling.graphs.vocabulary import summed
from wengert.compiling.rules.rewriting import factors, rule, widened


def diagonal_of(x: Any) -> Any:
    """The vector on the diagonal of a matrix that is diagonal; None for any other node."""
    return x.args[0] if is_call(x, np.diag) and len(shape_of(x)) == 2 else None


@rule(np.reshape)
def _shape_of_shape(graph: Graph, x: Any, shape: tuple[int, ...]) -> Any:
    if shape_of(x) == shape:
        return x
    if number_of(x) is not None:
        return graph.call(np.full, shape, number_of(x))
    return graph.call(np.reshape, x.args[0], shape) if is_call(x, np.reshape) else None


@rule(np.broadcast_to)
def _shape_of_number(graph: Graph, x: Any, shape: tuple[int, ...]) -> Any:
    if shape_of(x) == shape:
        return x if is_array(x) else None
    if number_of(x) is not None:
        return graph.call(np.broadcast_to, number_of(x), shape)
    return graph.call(np.broadcast_to, x.args[0], shape) if is_call(x, np.broadcast_to) else None


@rule(np.transpose)
def _axes_of_axes(graph: Graph, x: Any, axes: tuple[int, ...]) -> Any:
    if axes == tuple(range(len(axes))) or diagonal_of(x) is not None:
        return x
    if number_of(x) is not None:
        return graph.call(np.full, tuple([x.shape[axis] for axis in axes]), number_of(x))
    return (
        graph.call(np.transpose, x.args[0], tuple([x.args[1][a] for a in axes])) if is_call(x, np.transpose) else None
    )


def _factors_outwards(fn: Any) -> None:
    """Signs, and factors that are one number, are taken out of what only arranges elements."""

    @rule(fn)
    def outwards(graph: Graph, x: Any, how: tuple[int, ...]) -> Any:
        if is_call(x, np.negative):
            return graph.call(np.negative, graph.call(fn, x.args[0], how))
        s, v = factors(x)
        return None if s is None or shape_of(v) != shape_of(x) else graph.call(np.multiply, s, graph.call(fn, v, how))


for _fn in (np.reshape, np.transpose):
    _factors_outwards(_fn)


@rule(np.diag)
def _diagonal_of_diagonal(graph: Graph, x: Any) -> Any:
    return diagonal_of(x)


@rule(np.trace)
def _trace(graph: Graph, x: Any) -> Any:
    """tr diag v = Σ v."""
    v = diagonal_of(x)
    return None if v is None else summed(graph, v, (0,))


@rule(np.trace, reassociates=True)
def _trace_of_product(graph: Graph, x: Any) -> Any:
    """tr a bᵀ = a·b."""
    if is_call(x, np.outer) and shape_of(x)[0] == shape_of(x)[1]:
        return summed(graph, graph.call(np.multiply, *x.args), (0,))
    return None


@rule(SUM, reassociates=True)
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
    """A matrix of one number s times y is s times the sums of y."""
    m, n = shape_of(a), shape_of(b)
    if len(m) > 2 or len(n) > 2 or not math.prod(m) or not math.prod(n):
        return None
    if number_of(a) is not None and len(m) == 2:
        return widened(graph, graph.call(np.multiply, number_of(a), summed(graph, b, (0,))), (m[0], *n[1:]))
    if number_of(b) is not None and len(n) == 2:
        rows = summed(graph, a, (len(m) - 1,), keepdims=len(m) == 2)
        return widened(graph, graph.call(np.multiply, number_of(b), rows), (*m[:-1], n[1]))
    return None
