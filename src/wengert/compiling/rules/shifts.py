"""The rule of shifted exponents: log Σ exp(x − m) + m is the same for each m, so m = max x gets no cotangent.

The pullback of the maximum computes p − S·(p / S), with S = Σ exp(x − m). That is zero up to rounding.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import Graph, Node, is_call, is_known_number, shape_of
from wengert.compiling.ops import ADD_REDUCE, info
from wengert.compiling.rules.rewriting import rule


@rule(np.where, reassociates=True)
def _shift_of_exponents(graph: Graph, at: Node, x: Any, other: Any) -> Any:
    """Replace by zero the cotangent of the maximum that exponents are shifted by."""
    largest = _maximum_compared(at)
    share = _without_layout(x)
    if largest is None or other != 0.0 or not is_call(share, np.divide) or not _is_tie_count(share.args[1], at):
        return None
    shape = np.broadcast_shapes(at.shape, shape_of(x))
    return graph.call(np.full, shape, 0.0) if _cancels(_without_layout(share.args[0]), largest) else None


def _without_layout(x: Any) -> Any:
    """Strip broadcast, reshape and full from x."""
    while is_call(x, np.broadcast_to, np.reshape, np.full):
        x = x.args[1] if x.fn is np.full else x.args[0]
    return x


def _maximum_compared(at: Node) -> Node | None:
    """Return the maximum of x if `at` is the comparison of x with it; else None."""
    if type(at) is not Node or info(at.fn).name != "equal":
        return None
    largest = _without_layout(at.args[1])
    is_maximum = type(largest) is Node and info(largest.fn).name == "max" and largest.args[0] is at.args[0]
    return largest if is_maximum else None


def _is_tie_count(n: Any, at: Node) -> bool:
    """Whether n is the number of ties, the sum of `at`, possibly guarded against zero."""
    n = _without_layout(n)
    return type(n) is Node and any([type(v) is Node and v.fn is np.sum and v.args[0] is at for v in (n, *n.args)])


def _cancels(x: Any, largest: Node) -> bool:
    """Whether x is p − S·(p / S) or S·(p / S) − p, and as large as S, which extends along one axis."""
    for p, product in (x.args, x.args[::-1]) if is_call(x, np.add, np.subtract) else ():
        (a, left), (b, right) = _factors_of(p), _factors_of(product)
        totals = [node for node in right if _is_total(node, largest)]
        for total in [node for node in totals if sorted(node.shape)[:-1] == [1] * (len(node.shape) - 1)]:
            same = right == left + Counter([total, (total,)]) and math.prod(shape_of(x)) == math.prod(total.shape)
            return same and math.isclose(a, b if x.fn is np.subtract else -b, rel_tol=1e-15)
    return False


def _factors_of(x: Any) -> tuple[float, Counter[Any]]:
    """Return the number and the nodes whose product is x; a divisor is in a tuple."""
    number, nodes, stack = 1.0, Counter[Any](), [x]
    while stack:
        part = _without_layout(stack.pop())
        if is_known_number(part):
            number *= part
        elif is_call(part, np.multiply):
            stack += part.args
        elif is_call(part, np.divide) and type(part.args[1]) is Node:
            stack.append(part.args[0])
            nodes[(_without_layout(part.args[1]),)] += 1
        elif is_call(part, np.add) and part.args[0] == 0.0:
            stack.append(part.args[1])
        else:
            nodes[part] += 1
    return number, nodes


def _is_total(x: Any, largest: Node) -> bool:
    """Whether x is a sum of exp(x − max x)."""
    power: Any = x.args[0] if is_call(x, ADD_REDUCE) else None
    shifted: Any = power.args[0] if is_call(power, np.exp) else None
    from_x = is_call(shifted, np.subtract) and shifted.args[0] is largest.args[0]
    return from_x and _without_layout(shifted.args[1]) is largest
