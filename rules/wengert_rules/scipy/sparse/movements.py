"""Rules for functions that reorder the elements of sparse matrices, or convert their format.

Where each of them goes is told by SciPy's own function, given their numbers instead of them.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import _sparsetools

from wengert.extend import stands_for
from wengert_rules.scipy.optional import present
from wengert_rules.scipy.sparse.products import block_elements, diagonal_elements, rows_of


def moves(f, source, target):
    """Have what `f` moves from its argument `source` to its argument `target` be moved with NumPy."""

    def move(*args):
        given, numbers = list(args), np.zeros(np.size(args[target]))
        given[target] = numbers
        given[source] = np.arange(1.0, np.size(args[source]) + 1)
        if source == target:
            numbers = given[target]
        made = f(*given)
        filled = np.flatnonzero(numbers)
        values = np.ravel(args[source])[numbers[filled].astype(int) - 1]
        if filled.size == numbers.size:
            args[target][...] = values.reshape(np.shape(args[target]))
        else:
            args[target].ravel()[filled] = values
        return made

    stands_for(f)(move)


for f, source, target in (
    (_sparsetools.coo_tocsr, 5, 8), (_sparsetools.csr_tocsc, 4, 7), (_sparsetools.csr_row_index, 4, 6),
    (_sparsetools.csr_row_slice, 5, 7), (_sparsetools.csr_column_index2, 4, 6), (_sparsetools.csr_sort_indices, 3, 3),
    (_sparsetools.csr_hstack, 5, 8), (_sparsetools.csr_tobsr, 6, 9), (_sparsetools.bsr_tocsr, 6, 9),
    (_sparsetools.bsr_sort_indices, 6, 6), (_sparsetools.bsr_transpose, 6, 9),
):  # fmt: skip
    moves(f, source, target)


@stands_for(_sparsetools.get_csr_submatrix)
def get_csr_submatrix(n_row, n_col, indptr, indices, data, *edges):
    numbers = np.arange(1.0, np.size(data) + 1)
    new_indptr, new_indices, kept = _sparsetools.get_csr_submatrix(n_row, n_col, indptr, indices, numbers, *edges)
    return new_indptr, new_indices, data[kept.astype(int) - 1]


@stands_for(_sparsetools.csr_todense)
def csr_todense(n_row, n_col, indptr, indices, data, y):
    np.add.at(y, (rows_of(indptr), indices), data)


@stands_for(_sparsetools.coo_todense)
def coo_todense(n_row, n_col, nnz, row, col, data, y, fortran):
    np.add.at(y, row + n_row * col if fortran else row * n_col + col, data)


@stands_for(*present("sparse._sparsetools.coo_todense_nd"))
def coo_todense_nd(strides, nnz, ndim, coordinates, data, y, fortran):
    """SciPy gives the strides of the order in which y lies."""
    np.add.at(y, np.sum(np.reshape(coordinates, (ndim, nnz)) * np.reshape(strides, (ndim, 1)), axis=0), data)


@stands_for(_sparsetools.csr_diagonal)
def csr_diagonal(k, n_row, n_col, indptr, indices, data, y):
    rows = rows_of(indptr)
    hits = np.flatnonzero(indices == rows + k)
    y[...] = 0.0
    np.add.at(y, rows[hits] - max(0, -k), data[hits])


@stands_for(*present("sparse._sparsetools.csc_diagonal"))
def csc_diagonal(k, n_row, n_col, indptr, indices, data, y):
    """Read the matrix by rows, as its transpose."""
    csr_diagonal(-k, n_col, n_row, indptr, indices, data, y)


@stands_for(_sparsetools.bsr_diagonal)
def bsr_diagonal(k, n_block_rows, n_block_columns, rows, columns, indptr, indices, data, y):
    across, down = block_elements(n_block_rows, rows, columns, indptr, indices)
    hits = np.flatnonzero(down == across + k)
    y[...] = 0.0
    np.add.at(y, across[hits] - max(0, -k), data[hits])


@stands_for(_sparsetools.bsr_scale_rows)
def bsr_scale_rows(n_block_rows, n_block_columns, rows, columns, indptr, indices, data, x):
    across, _ = block_elements(n_block_rows, rows, columns, indptr, indices)
    data *= x[across].reshape(np.shape(data))


@stands_for(_sparsetools.bsr_scale_columns)
def bsr_scale_columns(n_block_rows, n_block_columns, rows, columns, indptr, indices, data, x):
    _, down = block_elements(n_block_rows, rows, columns, indptr, indices)
    data *= x[down].reshape(np.shape(data))


@stands_for(_sparsetools.csr_scale_rows)
def csr_scale_rows(n_row, n_col, indptr, indices, data, x):
    data *= x[rows_of(indptr)]


@stands_for(_sparsetools.csr_scale_columns)
def csr_scale_columns(n_row, n_col, indptr, indices, data, x):
    data *= x[indices]


@stands_for(_sparsetools.csr_sum_duplicates)
def csr_sum_duplicates(n_row, n_col, indptr, indices, data):
    """Of sorted elements, whose number it leaves in `indptr`."""
    keys = rows_of(indptr) * n_col + indices
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    places = np.cumsum(np.diff(keys, prepend=-1) != 0) - 1
    sums = np.zeros(firsts.size, data.dtype)
    np.add.at(sums, places, data)
    data[: firsts.size] = sums
    kept = indices[firsts]
    indptr[...] = np.searchsorted(keys[firsts], np.arange(n_row + 1) * n_col)
    indices[: firsts.size] = kept


@stands_for(_sparsetools.csr_eliminate_zeros)
def csr_eliminate_zeros(n_row, n_col, indptr, indices, data):
    kept = np.flatnonzero(data[: indptr[-1]] != 0)
    rows = rows_of(indptr)[kept]
    data[: kept.size] = data[kept]
    indices[: kept.size] = indices[kept]
    indptr[...] = np.searchsorted(rows, np.arange(n_row + 1))


@stands_for(_sparsetools.csr_sample_values)
def csr_sample_values(n_row, n_col, indptr, indices, data, n_samples, rows, columns, y):
    keys, places = np.unique(rows_of(indptr) * n_col + indices, return_inverse=True)
    sums = np.zeros(keys.size + 1, data.dtype)
    np.add.at(sums, places, data)
    wanted = np.where(rows < 0, rows + n_row, rows) * n_col + np.where(columns < 0, columns + n_col, columns)
    found = np.searchsorted(keys, wanted)
    known = np.append(keys, -1)[found] == wanted
    y[...] = sums[np.where(known, found, keys.size)]


if hasattr(_sparsetools, "dia_tocsr"):

    @stands_for(_sparsetools.dia_tocsr)
    def dia_tocsr(n_row, n_col, n_diagonals, length, offsets, data, order, csr_data, indices, indptr):
        """Of the numbers that are not zero."""
        rows, columns, inside = diagonal_elements(n_row, n_col, offsets, length)
        kept = np.flatnonzero(inside.ravel() & (data.ravel() != 0))
        kept = kept[np.lexsort((offsets_of(offsets, length)[kept], rows.ravel()[kept]))]
        csr_data[: kept.size] = data.ravel()[kept]
        indices[: kept.size] = columns.ravel()[kept]
        indptr[...] = np.searchsorted(rows.ravel()[kept], np.arange(n_row + 1))
        return kept.size


def offsets_of(offsets, length):
    """The diagonal of each number."""
    return np.repeat(offsets, length)
