"""Integrals over one tail of a log-concave density, element by element, by Gauss and Legendre's rule."""

from __future__ import annotations

import math

import numpy as np

ORDER = 40  # of the rule, on each of its panels
WIDE = 16.0  # of a panel, for what happens on a scale of 1
PANELS = 6  # at most
DEEP = 46.0  # by so much a logarithm falls to what rounding hides
BLOCK = 1024  # elements at a time: each takes a row of nodes
_nodes, _weights = np.polynomial.legendre.leggauss(ORDER)
NODES, WEIGHTS = (_nodes + 1) / 2, _weights / 2  # on [0, 1]


def in_blocks(f, *args):
    """f of columns of the broadcast arguments, which gives a vector, in blocks that fit into the cache."""
    arrays = np.broadcast_arrays(*[np.asarray(x, float) for x in args])
    columns = [x.reshape(-1, 1) for x in arrays]
    with np.errstate(all="ignore"):
        made = [f(*[x[k : k + BLOCK] for x in columns]) for k in range(0, len(columns[0]), BLOCK)]
    return np.concatenate([*made, np.empty(0)]).reshape(arrays[0].shape)[()]


def reach(drop, slope, start):
    """Where the convex function `drop` of a distance is DEEP: from `start` outwards, then by Newton's method."""
    w = start
    for _ in range(100):
        short = drop(w) < DEEP
        if not short.any():
            break
        w = np.where(short, 2 * w, w)
    for _ in range(8):
        w = w - (drop(w) - DEEP) / slope(w)
    return w


def over(width, f):
    """The integral of f from 0 to the width of each row."""
    panels = int(min(max(np.ceil(np.nanmax(width, initial=0) / WIDE), 1), PANELS))
    nodes = np.concatenate([NODES + k for k in range(panels)]) / panels
    return np.sum(f(width * nodes) * (width * np.tile(WEIGHTS, panels) / panels), axis=-1, keepdims=True)


def bell(moments, order, whole):
    """∂ᵐ∂ⁿ exp(h)/exp(h) for `order` = (m, n), by Bell's polynomials in the derivatives `moments(j, k)` of h.

    `whole` keeps those of lower order.
    """
    if order not in whole:
        j, k = order
        if j + k == 0:
            return 1.0
        down = (j - 1, k) if j else (0, k - 1)
        up = (order[0] - down[0], order[1] - down[1])
        terms = [
            math.comb(down[0], p) * math.comb(down[1], q) * moments(p + up[0], q + up[1])
            * bell(moments, (down[0] - p, down[1] - q), whole)
            for p in range(down[0] + 1) for q in range(down[1] + 1)
        ]  # fmt: skip
        whole[order] = sum(terms)
    return whole[order]
