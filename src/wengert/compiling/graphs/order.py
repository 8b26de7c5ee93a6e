"""The order of nodes: who reads a large array comes before one that can write its result over it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wengert.compiling.graphs.graph import Node, shape_of

_LARGE = 1 << 16  # elements: two such arrays do not stay in a core's cache
_FAR = 200  # nodes that a move may pass


def readers_first(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes in an order in which what can be written over a large array comes after all others that read it."""
    large = {node for node in nodes if _is_elementwise(node) and math.prod(node.shape) >= _LARGE}
    if not large:
        return nodes
    readers: dict[Node, list[Node]] = {node: [] for node in large}
    for node in nodes:
        for array in large.intersection(node.reads):
            readers[array].append(node)
    ordered, at = list(nodes), {node: k for k, node in enumerate(nodes)}
    for array in [node for node in nodes if node in large]:
        over = [at[node] for node in readers[array] if _writes_over(node, array)]
        last = max([at[node] for node in readers[array]], default=0)
        if over and max(over) < last < max(over) + _FAR:
            ordered[max(over) : last + 1] = _first_behind(ordered[max(over) : last + 1])
            at.update({node: k for k, node in enumerate(ordered)})
    return ordered


def _is_elementwise(node: Node) -> bool:
    return node.known and isinstance(node.fn, np.ufunc) and node.fn.signature is None


def _writes_over(node: Node, array: Node) -> bool:
    """Whether a node is computed element by element of an array, and of nothing else but numbers."""
    return (
        _is_elementwise(node)
        and node.shape == array.shape
        and not any([shape_of(v) for v in node.reads if v is not array])
    )


def _first_behind(nodes: list[Node]) -> list[Node]:
    """The first node, and what is made of it, behind the others; as they are where the last is made of it."""
    moved = {nodes[0]}
    for node in nodes[1:]:
        if not moved.isdisjoint(node.reads):
            moved.add(node)
    if nodes[-1] in moved or not all([node.known for node in moved]):
        return nodes
    return [node for node in nodes if node not in moved] + [node for node in nodes if node in moved]
