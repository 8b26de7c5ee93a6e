"""Sparse matrices made of blocks, which SciPy puts into an array of objects first."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from wengert.extend import stands_for


def assembled(rows, format, dtype, is_array=False):
    """The matrix of these rows of blocks, of which None is zero."""
    formats = {getattr(block, "format", "coo") for row in rows for block in row}
    if format is None and len(formats) == 1 and formats < {"csr", "csc"} and 1 in (len(rows), len(rows[0])):
        (format,) = formats
    blocks = [[None if block is None else sparse.coo_array(block) for block in row] for row in rows]
    heights = [next(block.shape[0] for block in row if block is not None) for row in blocks]
    columns = zip(*blocks, strict=True)
    widths = [next(block.shape[1] for block in column if block is not None) for column in columns]
    tops, lefts = np.cumsum([0, *heights]), np.cumsum([0, *widths])
    placed = [
        (block, top, left)
        for row, top in zip(blocks, tops, strict=False)
        for block, left in zip(row, lefts, strict=False)
        if block is not None
    ]
    data = np.concatenate([block.data for block, _, _ in placed])
    across = np.concatenate([block.coords[0] + top for block, top, _ in placed])
    down = np.concatenate([block.coords[1] + left for block, _, left in placed])
    is_array = is_array or any([isinstance(block, sparse.sparray) for row in rows for block in row])
    kind = sparse.coo_array if is_array else sparse.coo_matrix
    made = kind((data if dtype is None else data.astype(dtype), (across, down)), shape=(tops[-1], lefts[-1]))
    return made.asformat(format)


@stands_for(sparse.hstack)
def hstack(blocks, format=None, dtype=None):
    return assembled([list(blocks)], format, dtype)


@stands_for(sparse.vstack)
def vstack(blocks, format=None, dtype=None):
    return assembled([[block] for block in blocks], format, dtype)


@stands_for(sparse.bmat)
def bmat(blocks, format=None, dtype=None):
    return assembled([list(row) for row in blocks], format, dtype)


@stands_for(sparse.block_array)
def block_array(blocks, *, format=None, dtype=None):
    return assembled([list(row) for row in blocks], format, dtype, is_array=True)
