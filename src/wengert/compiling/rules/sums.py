"""Rules of sums: factors that are constant along the summed axes move out; sums of products become products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import Graph, fill_value_of, is_call, is_known_number, shape_of
from wengert.compiling.graphs.vocabulary import summed
from wengert.compiling.ops import ADD_REDUCE
from wengert.compiling.rules.rewriting import broadcast_node, factors, is_moderate, rule

_LETTERS = "ijklmnopqrst"


@rule(ADD_REDUCE, reassociates=True)
def _sum_of_number(graph: Graph, x: Any, axes: tuple[int, ...]) -> Any:
    """Σ s = n·s."""
    if fill_value_of(x) is None or not math.prod(x.shape):
        return None
    shape = tuple([n for axis, n in enumerate(x.shape) if axis not in axes])
    total = graph.call(np.multiply, float(math.prod([x.shape[axis] for axis in axes])), fill_value_of(x))
    return broadcast_node(graph, total, shape) if shape else total


@rule(ADD_REDUCE, reassociates=True)
def _sum_of_multiple(graph: Graph, x: Any, axes: tuple[int, ...]) -> Any:
    """Σ s·v = s·Σ v."""
    s, v = factors(x)
    if s is not None and shape_of(v) == x.shape and math.prod(x.shape) and (is_moderate(s) or not is_known_number(s)):
        return graph.call(np.multiply, s, summed(graph, v, axes))
    if is_call(x, np.negative):
        return graph.call(np.negative, summed(graph, x.args[0], axes))
    return None


@rule(ADD_REDUCE, reassociates=True)
def _sum_of_rows(graph: Graph, x: Any, axes: tuple[int, ...]) -> Any:
    """Σᵢ fⱼ·vᵢⱼ = fⱼ·Σᵢ vᵢⱼ."""
    if not is_call(x, np.multiply) or not math.prod(x.shape):
        return None
    for f, v in (x.args, x.args[::-1]):
        shape = (1,) * (len(x.shape) - len(shape_of(f))) + shape_of(f)
        if shape_of(f) and shape_of(v) == x.shape and all([shape[axis] == 1 < x.shape[axis] for axis in axes]):
            left = tuple([n for axis, n in enumerate(shape) if axis not in axes])
            return graph.call(np.multiply, graph.call(np.reshape, f, left), summed(graph, v, axes))
    return None


@rule(ADD_REDUCE, reassociates=True)
def _sum_of_positive(graph: Graph, x: Any, axes: tuple[int, ...]) -> Any:
    """Σ (u + v) = Σ u + Σ v if no term can be negative, so that nothing cancels."""
    if is_call(x, np.add) and all([shape_of(v) == x.shape and is_positive(v) and is_product(v) for v in x.args]):
        return graph.call(np.add, *(summed(graph, v, axes) for v in x.args))
    return None


def is_positive(x: Any) -> bool:
    """Whether no element of x can be below zero."""
    if is_known_number(x):
        return x >= 0
    if is_call(x, np.multiply):
        a, b = x.args
        return a is b or (is_positive(a) and is_positive(b))
    return is_call(x, np.exp, np.absolute, np.sqrt)


def is_product(x: Any) -> bool:
    """Whether x is a product of two arrays, possibly times a number."""
    _, v = factors(x)
    return is_call(v, np.multiply) and all(map(shape_of, v.args))


@rule(ADD_REDUCE, reassociates=True)
def _sum_of_products(graph: Graph, x: Any, axes: tuple[int, ...]) -> Any:
    """Compute Σ u·v as a scalar product, or as an einsum."""
    if not is_product(x):
        return None
    a, b = x.args
    if shape_of(a) == shape_of(b) and len(axes) == len(x.shape):
        return graph.call(np.vdot, a, b)
    if not math.prod(x.shape) or len(axes) == len(x.shape) or len(x.shape) < 2:
        return None
    letters = _LETTERS[: len(x.shape)]
    words = [_without_units(graph, v, letters) for v in (a, b)]
    output = "".join([letter for axis, letter in enumerate(letters) if axis not in axes])
    if not {*output} <= {*words[0][0], *words[1][0]}:
        return None
    product = graph.call(np.einsum, f"{words[0][0]},{words[1][0]}->{output}", words[0][1], words[1][1])
    if len(x.shape) - 1 not in axes:  # rows are summed as fast as they are multiplied, columns faster
        graph.alternatives[product] = x, graph.make(ADD_REDUCE, (x, axes), {}, product.spec)
    return product


@rule(np.einsum, reassociates=True)
def _sum_of_weighted_squares(graph: Graph, subscripts: str, a: Any, b: Any) -> Any:
    """Σ (w·z)·z = Σ w·z²."""
    words, output = subscripts.split("->")
    axes = tuple([axis for axis, letter in enumerate(words.partition(",")[0]) if letter not in output])
    for z, product in ((a, b), (b, a)):
        for w, v in (product.args, product.args[::-1]) if is_call(product, np.multiply) else ():
            if v is z and shape_of(product) == shape_of(z) != shape_of(w) != ():
                return summed(graph, graph.call(np.multiply, w, graph.call(np.multiply, z, z)), axes)
    return None


@rule(np.multiply, reassociates=True)
def _factor_of_sum(graph: Graph, a: Any, b: Any) -> Any:
    """fⱼ·Σᵢ vᵢⱼ·uᵢⱼ = Σᵢ (f·v)ᵢⱼ·uᵢⱼ if the graph has f·v already; a sum of squares stays, see `_sum_of_rows`."""
    for f, x in ((a, b), (b, a)):
        if not is_call(x, np.einsum) or not shape_of(f) or shape_of(f) != shape_of(x):
            continue
        subscripts, *operands = x.args
        words, output = subscripts.split("->")
        for word, v, u in zip(words.split(","), operands, operands[::-1], strict=True):
            product = graph.existing(np.multiply, f, v) if word.endswith(output) and v is not u else None
            if product is not None and product.shape == v.shape:
                order = (product, u) if v is operands[0] else (u, product)
                return graph.call(np.einsum, subscripts, *order)
    return None


def _without_units(graph: Graph, x: Any, letters: str) -> Any:
    """Return the einsum letters of the axes longer than 1, and the operand without the others."""
    shape = shape_of(x)
    word = "".join([letter for n, letter in zip(shape[::-1], letters[::-1], strict=False) if n != 1])[::-1]
    return word, graph.call(np.reshape, x, tuple([n for n in shape if n != 1])) if len(word) < len(shape) else x
