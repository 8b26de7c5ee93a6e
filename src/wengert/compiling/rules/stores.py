"""Rules about stores: what the pullback of `u[1:-1] = u[1:-1] + …` clears and adds to."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import Graph, Node, is_call
from wengert.compiling.rules.rewriting import rule
from wengert.values import functional


@rule(functional.additem, reassociates=True)
def _given_back(graph: Graph, x: Any, key: Any, value: Any) -> Any:
    """Where a part D[R] is cleared, and later D[R] + w is added to it, w is added to D, and nothing is cleared."""
    region, added = region_of(key, x.shape), []
    if region is None:
        return None
    base = x
    while type(base) is Node and base.fn is functional.additem:
        added.append(base.args[1:])
        base = base.args[0]
    if type(base) is not Node or base.fn is not functional.setitem or base.args[2] != 0.0:
        return None
    cleared, where, _ = base.args
    if region_of(where, x.shape) != region:
        return None
    sums = (value.args, value.args[::-1]) if is_call(value, np.add) else ((value, None),)
    for part, more in sums:
        if _is_part(part, cleared) and region_of(part.args[1], x.shape) == region:
            added[:0] = [] if more is None else [(key, more)]
            for at, what in added[::-1]:
                cleared = graph.make(functional.additem, (cleared, at, what), {}, x.spec)
            return cleared
    return None


def _is_part(a: Any, whole: Node) -> bool:
    return type(a) is Node and a.fn is operator.getitem and a.args[0] is whole


def region_of(key: Any, shape: tuple[int, ...]) -> Any:
    """The places that a key of known slices and ints names; None for any other key."""
    parts = key if type(key) is tuple else (key,)
    if len(parts) > len(shape) or any([type(part) not in (int, slice) for part in parts]):
        return None
    named = zip((*parts, *[slice(None)] * (len(shape) - len(parts))), shape, strict=True)
    try:
        return tuple([part % n if type(part) is int else range(n)[part] for part, n in named])
    except TypeError:  # a bound is a value
        return None
