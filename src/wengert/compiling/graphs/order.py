"""Reorder nodes: the readers of a large array come before the node that can overwrite it in place."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wengert.compiling.graphs.graph import Node, shape_of

_LARGE = 1 << 16  # elements: two such arrays do not fit into the cache of a core
_MAX_MOVE = 200  # the largest number of nodes that a move may pass


def readers_first(nodes: Sequence[Node]) -> Sequence[Node]:
    """Return the nodes, those that can overwrite a large array after the others that read it."""
    large = {node for node in nodes if _is_ufunc_call(node) and math.prod(node.shape) >= _LARGE}
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
        if over and max(over) < last < max(over) + _MAX_MOVE:
            ordered[max(over) : last + 1] = _move_first_to_end(ordered[max(over) : last + 1])
            at.update({node: k for k, node in enumerate(ordered)})
    return ordered


def _is_ufunc_call(node: Node) -> bool:
    return node.in_vocabulary and isinstance(node.fn, np.ufunc) and node.fn.signature is None


def _writes_over(node: Node, array: Node) -> bool:
    """Whether a node is computed elementwise from an array, and from nothing else but numbers."""
    others = [shape_of(v) for v in node.reads if v is not array]
    return _is_ufunc_call(node) and node.shape == array.shape and not any(others)


def _move_first_to_end(nodes: list[Node]) -> list[Node]:
    """Move the first node and its dependents to the end, unless the last node is among them."""
    moved = {nodes[0]}
    for node in nodes[1:]:
        if not moved.isdisjoint(node.reads):
            moved.add(node)
    if nodes[-1] in moved or not all([node.in_vocabulary for node in moved]):
        return nodes
    return [node for node in nodes if node not in moved] + [node for node in nodes if node in moved]
