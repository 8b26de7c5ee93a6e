"""Rules of stores: simplify how the pullback of `u[1:-1] = u[1:-1] + …` clears a region and adds to it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import Graph, Node, is_array_node, is_call, is_real
from wengert.compiling.rules.rewriting import rule
from wengert.values import functional
from wengert.values.keys import key_parts

_MAX_PASSED = 20  # a store may pass at most so many others


@rule(functional.additem, reassociates=True)
def _drop_clearing(graph: Graph, x: Any, key: Any, value: Any) -> Any:
    """Add w to D, instead of clearing D[R] and adding D[R] + w to it later."""
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


@rule(functional.additem, reassociates=True)
def _merge_additions(graph: Graph, x: Any, key: Any, value: Any) -> Any:
    """(D + a at R) + b at R = D + (a + b) at R; store what is added to a region that is still zero."""
    region, passed, base = region_of(key, x.shape), list[Node](), x
    while region is not None and base.fn in (functional.additem, functional.setitem) and len(passed) < _MAX_PASSED:
        under, at, before = base.args
        where = _region_of_store(graph, base)
        if type(under) is not Node or where is None:
            return None
        if where == region and is_array_node(before) and is_real(before) and is_array_node(value):
            found = graph.make(base.fn, (under, at, graph.call(np.add, before, value)), {}, x.spec)
            for store in reversed(passed):
                found = graph.make(store.fn, (found, *store.args[1:]), {}, x.spec)
            return found
        if base.fn is functional.setitem and not _are_disjoint(where, region):
            return None
        passed.append(base)
        base = under
    if region is None or not is_call(base, np.zeros):
        return None
    new = all([_are_disjoint(_region_of_store(graph, store), region) for store in passed])
    return graph.make(functional.setitem, (x, key, value), {}, x.spec) if new else None


def _are_disjoint(a: Any, b: Any) -> bool:
    """Whether two regions certainly do not overlap."""
    pairs = [[range(r, r + 1) if type(r) is int else r for r in pair] for pair in zip(a, b, strict=True)]
    return any([p.step == q.step == 1 and (p.stop <= q.start or q.stop <= p.start) for p, q in pairs])


def _is_part(a: Any, whole: Node) -> bool:
    return type(a) is Node and a.fn is operator.getitem and a.args[0] is whole


def _region_of_store(graph: Graph, store: Node) -> Any:
    if store not in graph.regions:
        graph.regions[store] = region_of(store.args[1], store.shape)
    return graph.regions[store]


def region_of(key: Any, shape: tuple[int, ...]) -> Any:
    """Return the range or integer of each axis that a key of constant slices and integers selects; else None."""
    parts = key_parts(key)
    if len(parts) > len(shape) or any([type(part) not in (int, slice) for part in parts]):
        return None
    named = zip((*parts, *[slice(None)] * (len(shape) - len(parts))), shape, strict=True)
    try:
        return tuple([part % n if type(part) is int else range(n)[part] for part, n in named])
    except TypeError:  # a bound is a node
        return None
