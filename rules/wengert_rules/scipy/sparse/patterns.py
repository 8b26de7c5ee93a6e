"""Operations on two sparse matrices, of which the result has a pattern of its own."""

from __future__ import annotations

import numpy as np
from scipy.sparse import _sparsetools

from wengert.extend import stands_for
from wengert_rules.scipy.sparse.products import rows_of


def canonical(n_col, indptr, indices, data):
    """The sorted places of the elements, and the sum of what stands at each."""
    keys = rows_of(indptr) * n_col + indices
    if np.all(np.diff(keys) > 0):
        return keys, data
    keys, places = np.unique(keys, return_inverse=True)
    sums = np.zeros((keys.size, *np.shape(data)[1:]), data.dtype)
    np.add.at(sums, places, data)
    return keys, sums


def spread(keys, data, onto):
    """Elements at the places `onto`, which contain theirs."""
    made = np.zeros((onto.size, *np.shape(data)[1:]), data.dtype)
    made[np.searchsorted(onto, keys)] = data
    return made


def joined(name, n_row, n_col, places, other_places, data, other, to_places, to):
    """Two matrices, element by element or block by block.

    SciPy leaves out what is zero. An element that one of them has stays here, for its derivative need not be zero.
    """
    keys, data = canonical(n_col, places[0], places[1], data)
    other_keys, other = canonical(n_col, other_places[0], other_places[1], other)
    all_keys = np.union1d(keys, other_keys)
    made = OPERATIONS[name](spread(keys, data, all_keys), spread(other_keys, other, all_keys))
    if made.dtype == bool:
        kept = np.flatnonzero(np.any(made.reshape(all_keys.size, -1), axis=1))
    else:
        kept = np.flatnonzero(stays(name, np.isin(all_keys, keys), np.isin(all_keys, other_keys)))
    to[: kept.size] = made[kept]
    indptr, indices = to_places
    indices[: kept.size] = all_keys[kept] % n_col
    indptr[...] = np.searchsorted(all_keys[kept], np.arange(n_row + 1) * n_col)


def stays(name, in_one, in_other):
    """Where the result has an element: a product only where both have one, a quotient where the first has."""
    if name == "elmul":
        return in_one & in_other
    return in_one if name == "eldiv" else in_one | in_other


OPERATIONS = {
    "plus": np.add, "minus": np.subtract, "elmul": np.multiply, "eldiv": np.true_divide, "maximum": np.maximum,
    "minimum": np.minimum, "ne": np.not_equal, "lt": np.less, "gt": np.greater, "le": np.less_equal,
    "ge": np.greater_equal,
}  # fmt: skip


def joins(name):
    """Have what SciPy computes of two matrices be computed with NumPy."""

    @stands_for(getattr(_sparsetools, f"csr_{name}_csr"))
    def join(n_row, n_col, indptr, indices, data, other_indptr, other_indices, other, to_indptr, to_indices, to):
        places, other_places = (indptr, indices), (other_indptr, other_indices)
        joined(name, n_row, n_col, places, other_places, data, other, (to_indptr, to_indices), to)

    @stands_for(getattr(_sparsetools, f"bsr_{name}_bsr"))
    def join_blocks(n_row, n_col, rows, columns, indptr, indices, data, *others):
        other_indptr, other_indices, other, to_indptr, to_indices, to = others
        places, other_places, block = (indptr, indices), (other_indptr, other_indices), (-1, rows * columns)
        data, other = data.reshape(block), other.reshape(block)
        joined(name, n_row, n_col, places, other_places, data, other, (to_indptr, to_indices), to.reshape(block))


for name in OPERATIONS:
    joins(name)


@stands_for(_sparsetools.csr_matmat)
def csr_matmat(n_row, n_col, indptr, indices, data, other_indptr, other_indices, other, to_indptr, to_indices, to):
    multiplied(
        n_row, n_col, (indptr, indices), (other_indptr, other_indices), (to_indptr, to_indices),
        lambda left, right: data[left] * other[right], to,
    )  # fmt: skip


@stands_for(_sparsetools.bsr_matmat)
def bsr_matmat(count, n_row, n_col, rows, columns, inner, indptr, indices, data, *others):
    other_indptr, other_indices, other, to_indptr, to_indices, to = others
    data, other = data.reshape(-1, rows, inner), other.reshape(-1, inner, columns)
    multiplied(
        n_row, n_col, (indptr, indices), (other_indptr, other_indices), (to_indptr, to_indices),
        lambda left, right: data[left] @ other[right], to.reshape(-1, rows, columns),
    )  # fmt: skip


def multiplied(n_row, n_col, places, other_places, to_places, product, to):
    """Each element, or block, meets those of the other matrix that stand in the row of its column."""
    (indptr, indices), (other_indptr, other_indices), (to_indptr, to_indices) = places, other_places, to_places
    counts = np.diff(other_indptr)[indices]
    left = np.repeat(np.arange(np.size(indices)), counts)
    right = np.arange(left.size) - np.repeat(np.cumsum(counts) - counts, counts) + other_indptr[indices][left]
    ones = np.ones(np.size(indices)), np.ones(np.size(other_indices)), np.empty(np.size(to_indices))
    _sparsetools.csr_matmat(
        n_row, n_col, indptr, indices, ones[0], other_indptr, other_indices, ones[1], to_indptr, to_indices, ones[2]
    )
    count = to_indptr[-1]
    keys = rows_of(to_indptr) * n_col + to_indices[:count]
    order = np.argsort(keys)
    met = rows_of(indptr)[left] * n_col + other_indices[right]
    sums = np.zeros((count, *np.shape(to)[1:]), to.dtype)
    np.add.at(sums, order[np.searchsorted(keys[order], met)], product(left, right))
    to[:count] = sums


if hasattr(_sparsetools, "dia_matmat"):

    @stands_for(_sparsetools.dia_matmat)
    def dia_matmat(n_row, n_col, count, length, offsets, data, n_columns, other_count, width, other_offsets, other):
        """Two diagonals make one: what lies at a column of the second meets what the first has at its row."""
        found, made = _sparsetools.dia_matmat(
            n_row, n_col, count, length, offsets, np.ones(np.shape(data)),
            n_columns, other_count, width, other_offsets, np.ones(np.shape(other)),
        )  # fmt: skip
        sums = np.zeros((np.size(found), made.size // max(1, np.size(found))), np.result_type(data, other))
        for offset, diagonal in zip(offsets, data, strict=True):
            for other_offset, second in zip(other_offsets, other, strict=True):
                columns = np.arange(min(width, n_columns, np.shape(sums)[1]))
                middle = columns - other_offset
                rows = middle - offset
                met = columns[(middle >= 0) & (middle < min(length, n_col)) & (rows >= 0) & (rows < n_row)]
                where = np.flatnonzero(found == offset + other_offset)
                if met.size and where.size:
                    sums[where[0], met] += diagonal[met - other_offset] * second[met]
        return found, sums.ravel()
