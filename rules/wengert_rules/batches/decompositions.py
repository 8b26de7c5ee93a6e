"""Linear algebra, which NumPy has for stacks of matrices."""

from __future__ import annotations

import numpy as np

from wengert.extend import batching
from wengert_rules.batches.axes import lifted, rank
from wengert_rules.cofactors import cofactors, cofactors_along


@batching(
    np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.eig,
    np.linalg.eigvals, np.linalg.svd, np.linalg.cholesky, np.linalg.qr, np.linalg.pinv, np.linalg.cond,
    cofactors,
)  # fmt: skip
def of_stack(batch, a, *args, **kwargs):
    return batch.fn(a, *args, **kwargs) if batch.first else NotImplemented


@batching(cofactors_along)
def directions(batch, e, a):
    on_e, on_a = batch.axes
    ndim = max(rank(e, on_e), rank(a, on_a))
    return cofactors_along(lifted(e, ndim, on_e), lifted(a, ndim, on_a))


@batching(np.linalg.solve)
def solve(batch, a, b):
    """A right side of one axis is a vector for each example; NumPy takes several of them for a matrix."""
    on_a, on_b = batch.axes
    is_vector = rank(b, on_b) == 1
    columns = b[..., np.newaxis] if is_vector else b
    ndim = max(rank(a, on_a), rank(columns, on_b))
    x = np.linalg.solve(lifted(a, ndim, on_a), lifted(columns, ndim, on_b))
    return x[..., 0] if is_vector else x
