"""Works that are dense on the way and small in the end, and products that a relation leaves little of."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from tensor_traps import chained, trace_of_diagonal, trace_of_outer, traces
from tensor_works import Work, random

# ---- dense on the way ----


def trace_of_outer_gradient(a):
    bar = np.zeros_like(a)
    bar[:, 0] = a[0]
    bar[0] += a[:, 0]
    return (bar,)


def three_traces(np, x):
    product = x[:, None] * x
    return np.trace(product) + np.trace(product) + np.trace(product)


def chained_peer(np, x):
    a = x[:, None] * x
    b = a[:, :1] * a[0]
    c = b[:, :1] * b[0]
    return np.trace(c)


def chained_gradient(x):
    bar = 2 * x[0] ** 6 * x
    bar[0] += 6 * x[0] ** 5 * (x @ x)
    return (bar,)


def skipped(x):
    n = len(x)
    return sum(x[i] for i in range(n) if i < 7) + sum(x[i] for i in range(n) if i > 7)


def skipped_gradient(x):
    bar = np.ones_like(x)
    bar[7] = 0
    return (bar,)


# ---- relations ----


def masked_product(near, a, x):
    """|A x|², of A only what the relation has: 8 entries a row."""
    n = len(x)
    y = [sum(a[i, j] * x[j] for j in range(n) if near[i, j]) for i in range(n)]
    return sum(y[i] * y[i] for i in range(n))


def masked_peer(np, near, a, x):
    y = np.where(near, a, 0.0) @ x
    return np.sum(y * y)


def masked_gradient(near, a, x):
    kept = np.where(near, a, 0.0)
    return (2 * kept.T @ (kept @ x),)


def sparse_gradient(near, a, x):
    rows = np.repeat(np.arange(len(x)), np.diff(near.indptr))
    kept = scipy.sparse.csr_array((a[rows, near.indices], near.indices, near.indptr), near.shape)
    return (2 * kept.T @ (kept @ x),)


def masked_args(n):
    near = np.zeros((n, n), bool)
    near[np.arange(n)[:, None], np.random.default_rng(0).integers(0, n, (n, 8))] = True
    return near, random(n, n), random(n)


def sparse_args(n):
    near, a, x = masked_args(n)
    return scipy.sparse.csr_array(near), a, x


SQUARES, VECTORS = (500, 1000, 2000, 4000), (125_000, 250_000, 500_000, 1_000_000)

WORKS = (
    Work(
        "trace(diag(x))",
        trace_of_diagonal,
        lambda np, x: np.trace(np.diag(x)),
        lambda x: (np.ones_like(x),),
        lambda n: (random(n),),
        VECTORS,
        compared=4000,
    ),
    Work(
        "trace(col × row)",
        trace_of_outer,
        lambda np, a: np.trace(a[:, :1] * a[0]),
        trace_of_outer_gradient,
        lambda n: (random(n, n),),
        SQUARES,
    ),
    Work(
        "three traces of xxᵀ", traces, three_traces, lambda x: (6 * x,), lambda n: (random(n),), VECTORS, compared=4000
    ),
    Work(
        "chained outer products",
        chained,
        chained_peer,
        chained_gradient,
        lambda n: (random(n),),
        VECTORS,
        compared=4000,
    ),
    Work(
        "skipped entry",
        skipped,
        lambda np, x: np.sum(x[:7]) + np.sum(x[8:]),
        skipped_gradient,
        lambda n: (random(n),),
        VECTORS,
    ),
    Work("masked A x", masked_product, masked_peer, masked_gradient, masked_args, SQUARES, argnums=(2,)),
    Work("masked A x, CSR", masked_product, masked_peer, sparse_gradient, sparse_args, SQUARES, argnums=(2,)),
)
