"""Rewrite rules of arithmetic: each replaces a call of some function, and sees only the arguments of the call.

A rule preserves nan, inf and the signs of zeros: 0·x, x − x and x / x stay. A rule that `reassociates` may change the
last bits, and whether intermediate values overflow or underflow. It is skipped for values that decide a branch, and
with exact=True.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import (
    Graph,
    Node,
    age,
    broadcast,
    fill_value_of,
    is_array_node,
    is_call,
    is_known_number,
    shape_of,
)

RewriteRule = Callable[..., Any]
RULES: dict[Any, list[RewriteRule]] = {}
EXACT: dict[Any, list[RewriteRule]] = {}
_MODERATE = 2.0**60  # the largest constant that rules move; it hardly ever makes its factor overflow


def rule(*fns: Any, reassociates: bool = False) -> Callable[[RewriteRule], RewriteRule]:
    """Register a rule for calls of `fns`: it gets the graph and the arguments, and returns a node, a number or None.

    A rule for np.ufunc is one of each elementwise ufunc, which it gets after the graph.
    """

    def register(body: RewriteRule) -> RewriteRule:
        for fn in fns:
            RULES.setdefault(fn, []).append(body)
            if not reassociates:
                EXACT.setdefault(fn, []).append(body)
        return body

    return register


@rule(np.ufunc)
def _fold_constants(graph: Graph, fn: Any, *args: Any) -> Any:
    """Compute a call on numbers."""
    if Node in map(type, args) or not all(map(is_known_number, args)):
        return None
    with np.errstate(all="ignore"):
        return fn(*args)


@rule(np.ufunc)
def _broadcast_last(graph: Graph, fn: Any, *args: Any) -> Any:
    """f(broadcast x, broadcast y) = broadcast f(x, y)."""
    if not any([type(a) is Node and a.in_vocabulary and a.fn in _UNIFORM for a in args]):
        return None
    inner = [_without_broadcast(a) for a in args]
    return broadcast_node(graph, graph.call(fn, *inner), broadcast(args)) if any(map(_is_anything, inner)) else None


_UNIFORM = np.full, np.broadcast_to


def _without_broadcast(a: Any) -> Any:
    """Strip broadcast and full from an argument."""
    number = fill_value_of(a)
    return number if number is not None else a.args[0] if is_call(a, np.broadcast_to) else a


def _is_anything(a: Any) -> bool:
    return type(a) is Node or is_known_number(a)


def broadcast_node(graph: Graph, x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast a number or a node to a shape."""
    if shape_of(x) == shape and is_array_node(x):
        return x
    if not is_array_node(x):
        return graph.call(np.full, shape, float(x) if is_known_number(x) else x)
    return graph.call(np.broadcast_to, x, shape)


# -- drop factors of one and terms of zero; move signs outwards


def _is_exactly(a: Any, number: float) -> bool:
    """Whether an argument is this number, with this sign."""
    return is_known_number(a) and a == number and math.copysign(1.0, a) == math.copysign(1.0, number)


def _as_result(x: Any) -> Any:
    """Return x if it is of the type that the call would return: an array, or a np.float64; else None."""
    return x if type(x) is Node and (x.spec.kind is np.float64 or (is_array_node(x) and x.shape)) else None


def _negated(x: Any) -> Any:
    """Return y where x is -y, else None."""
    return x.args[0] if is_call(x, np.negative) else None


@rule(np.multiply)
def _unit_factor(graph: Graph, a: Any, b: Any) -> Any:
    return _as_result(b) if _is_exactly(a, 1.0) else graph.call(np.negative, b) if _is_exactly(a, -1.0) else None


@rule(np.multiply)
def _sign_of_product(graph: Graph, a: Any, b: Any) -> Any:
    """(−x)·y = −(x·y)."""
    if is_known_number(a) and _negated(b) is not None:
        return graph.call(np.multiply, -float(a), _negated(b))
    for x, y in ((a, b), (b, a)):
        if _negated(x) is not None:
            return graph.call(np.negative, graph.call(np.multiply, _negated(x), y))
    return None


@rule(np.divide)
def _sign_of_quotient(graph: Graph, a: Any, b: Any) -> Any:
    if _negated(a) is not None:
        return graph.call(np.negative, graph.call(np.divide, _negated(a), b))
    return None


@rule(np.negative)
def _sign_of_sign(graph: Graph, x: Any) -> Any:
    if is_call(x, np.multiply) and is_known_number(x.args[0]):
        return graph.call(np.multiply, -x.args[0], x.args[1])
    return _negated(x)


@rule(np.add)
def _added_negative(graph: Graph, a: Any, b: Any) -> Any:
    """x + (−y) = x − y."""
    if _is_exactly(a, -0.0):
        return _as_result(b)
    for x, y in ((a, b), (b, a)):
        if _negated(y) is not None:
            return graph.call(np.subtract, x, _negated(y))
    return None


@rule(np.power)
def _small_power(graph: Graph, x: Any, e: float) -> Any:
    """x ** 2 = x·x, as NumPy computes it for arrays."""
    if e == 2.0:
        return graph.call(np.multiply, x, x)
    return graph.call(np.sqrt, x) if e == 0.5 else _as_result(x) if e == 1.0 else None


@rule(np.power, reassociates=True)
def _cube(graph: Graph, x: Any, e: float) -> Any:
    """x ** 3 = x·x·x, which is many times faster."""
    if e not in (3.0, 4.0):
        return None
    square = graph.call(np.multiply, x, x)
    return graph.call(np.multiply, square, x if e == 3.0 else square)


# -- move scalar factors outwards, where they combine


def factors(x: Any) -> tuple[Any, Any]:
    """Return (s, v) with x = s·v, where s is a number or a scalar node; s is None if there is no such factor."""
    if is_call(x, np.multiply):
        s, v = x.args
        if is_moderate(s) or (not is_known_number(s) and not shape_of(s) and shape_of(v)):
            return s, v
        if not is_known_number(s) and not shape_of(v) and shape_of(s):
            return v, s
    return None, x


def is_moderate(a: Any) -> bool:
    """Whether an argument is a number that rules may move past others: neither huge, nor tiny, nor 0."""
    return is_known_number(a) and 1 / _MODERATE < abs(a) < _MODERATE


@rule(np.multiply, reassociates=True)
def _scalars_outwards(graph: Graph, a: Any, b: Any) -> Any:
    """a·(s·v) = (a·s)·v for numbers a, and s·(a·v) for arrays."""
    for x, y in ((b, a), (a, b)):
        s, v = factors(x)
        if s is None or (is_known_number(y) and not is_moderate(y)) or not shape_of(v):
            continue
        if not shape_of(y):
            return graph.call(np.multiply, graph.call(np.multiply, y, s), v)
        if is_known_number(s) or shape_of(v) == shape_of(x):
            return graph.call(np.multiply, s, graph.call(np.multiply, v, y))
    return None


def _factors_of_terms(fn: Any) -> None:
    """Register c·x ± d·y = c·(x ± d/c·y) if d/c is ±1, or the graph has d/c times a factor of y already."""

    @rule(fn, reassociates=True)
    def outwards(graph: Graph, a: Any, b: Any) -> Any:
        (c, x), (d, y) = factors(a), factors(b)
        if not (is_moderate(c) and is_moderate(d) and shape_of(x) == shape_of(y) != ()):
            return None
        if (multiple := _multiple(graph, d / c, y)) is not None:
            return graph.call(np.multiply, c, graph.call(fn, x, multiple))
        multiple = _multiple(graph, c / d, x)
        return None if multiple is None else graph.call(np.multiply, d, graph.call(fn, multiple, y))


for _fn in (np.add, np.subtract):
    _factors_of_terms(_fn)


def _multiple(graph: Graph, s: float, x: Any) -> Any:
    """Return s·x if it takes no more work than x; else None."""
    if abs(s) == 1.0:
        return x if s == 1.0 else graph.call(np.negative, x)
    for p, q in (x.args, x.args[::-1]) if is_call(x, np.multiply) else ():
        if type(p) is Node and shape_of(p) and (multiple := graph.existing(np.multiply, s, p)) is not None:
            return graph.make(np.multiply, tuple(sorted([multiple, q], key=age)), {}, x.spec, in_vocabulary=True)
    return None
