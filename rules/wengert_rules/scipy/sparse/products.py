"""Products of a sparse matrix and dense vectors, which SciPy's C code adds to an array that it is given."""

from __future__ import annotations

import numpy as np
from scipy.sparse import _sparsetools

from wengert.extend import batching, multilinear, stands_for, vjp_rule
from wengert_rules.products import conj


def rows_of(indptr):
    """The row of each element."""
    return np.repeat(np.arange(np.size(indptr) - 1), np.diff(indptr))


def by_rows(shape, indptr, indices, data, x):
    """A X, of a matrix whose elements lie row by row."""
    return _times(_sparsetools.csr_matvec, _sparsetools.csr_matvecs, shape, indptr, indices, data, x)


def by_columns(shape, indptr, indices, data, x):
    """A X, of a matrix whose elements lie column by column."""
    return _times(_sparsetools.csc_matvec, _sparsetools.csc_matvecs, shape, indptr, indices, data, x)


def _times(matvec, matvecs, shape, indptr, indices, data, x):
    dtype = np.result_type(data, x)
    data, x = np.ascontiguousarray(data, dtype), np.ascontiguousarray(x, dtype)
    y = np.zeros((shape[0], *np.shape(x)[1:]), dtype)
    if np.ndim(x) == 1:
        matvec(*shape, indptr, indices, data, x, y)
    else:
        matvecs(*shape, np.shape(x)[1], indptr, indices, data, x.ravel(), y.ravel())
    return y


def along(a, b):
    """Element by element the product of two vectors, or of the rows of two matrices its sum."""
    return a * b if np.ndim(a) == 1 else np.sum(a * b, axis=1)


@vjp_rule(by_rows)
def rows_rule(y_bar, y, shape, indptr, indices, data, x):
    """X̄ = Aᴴ Ȳ, and each element gets the product of its row of Ȳ and its column's row of X*."""
    data_bar = along(y_bar[rows_of(indptr)], conj(x)[indices])
    return None, None, None, data_bar, by_columns(shape[::-1], indptr, indices, conj(data), y_bar)


@vjp_rule(by_columns)
def columns_rule(y_bar, y, shape, indptr, indices, data, x):
    data_bar = along(y_bar[indices], conj(x)[rows_of(indptr)])
    return None, None, None, data_bar, by_rows(shape[::-1], indptr, indices, conj(data), y_bar)


multilinear(by_rows, by_columns)


@batching(by_rows, by_columns)
def of_examples(batch, shape, indptr, indices, data, x):
    """The products with the columns of all examples are one product."""
    if any(batch.axes[:4]):
        return NotImplemented
    columns = np.moveaxis(x, 0, 1)
    y = batch.fn(shape, indptr, indices, data, columns.reshape(shape[1], -1))
    return np.moveaxis(y.reshape(shape[0], *columns.shape[1:]), 1, 0)


@stands_for(_sparsetools.csr_matvec)
def csr_matvec(n_row, n_col, indptr, indices, data, x, y):
    y += by_rows((n_row, n_col), indptr, indices, data, x)


@stands_for(_sparsetools.csc_matvec)
def csc_matvec(n_row, n_col, indptr, indices, data, x, y):
    y += by_columns((n_row, n_col), indptr, indices, data, x)


@stands_for(_sparsetools.csr_matvecs)
def csr_matvecs(n_row, n_col, n_vecs, indptr, indices, data, x, y):
    y += by_rows((n_row, n_col), indptr, indices, data, x.reshape(n_col, n_vecs)).ravel()


@stands_for(_sparsetools.csc_matvecs)
def csc_matvecs(n_row, n_col, n_vecs, indptr, indices, data, x, y):
    y += by_columns((n_row, n_col), indptr, indices, data, x.reshape(n_col, n_vecs)).ravel()


@stands_for(_sparsetools.coo_matvec)
def coo_matvec(nnz, row, col, data, x, y):
    np.add.at(y.reshape(-1), row, data * x.reshape(-1)[col])


if hasattr(_sparsetools, "coo_matmat_dense"):

    @stands_for(_sparsetools.coo_matmat_dense)
    def coo_matmat_dense(nnz, n_vecs, row, col, data, x, y):
        np.add.at(y.reshape(-1, n_vecs), row, data[:, np.newaxis] * x.reshape(-1, n_vecs)[col])


def diagonal_elements(n_row, n_col, offsets, length):
    """Of a matrix that is kept by its diagonals, the row and column of each number, and whether it has them."""
    columns = np.broadcast_to(np.arange(length), (np.size(offsets), length))
    rows = columns - np.expand_dims(offsets, -1)
    return rows, columns, (rows >= 0) & (rows < n_row) & (columns < n_col)


@stands_for(_sparsetools.dia_matvec)
def dia_matvec(n_row, n_col, n_diagonals, length, offsets, diagonals, x, y):
    rows, columns, inside = diagonal_elements(n_row, n_col, offsets, length)
    np.add.at(y.reshape(-1), rows[inside], diagonals[inside] * x.reshape(-1)[columns[inside]])


if hasattr(_sparsetools, "dia_matvecs"):

    @stands_for(_sparsetools.dia_matvecs)
    def dia_matvecs(n_row, n_col, n_diagonals, length, offsets, diagonals, n_vecs, x, y):
        rows, columns, inside = diagonal_elements(n_row, n_col, offsets, length)
        np.add.at(y, rows[inside], diagonals[inside][:, np.newaxis] * x[columns[inside]])


def block_elements(n_block_rows, rows, columns, indptr, indices):
    """The row and column of each number of a matrix that is kept by blocks."""
    across = rows_of(indptr)[:, np.newaxis, np.newaxis] * rows + np.arange(rows)[:, np.newaxis]
    down = indices[:, np.newaxis, np.newaxis] * columns + np.arange(columns)
    shape = (np.size(indices), rows, columns)
    return np.broadcast_to(across, shape).ravel(), np.broadcast_to(down, shape).ravel()


@stands_for(_sparsetools.bsr_matvec)
def bsr_matvec(n_block_rows, n_block_columns, rows, columns, indptr, indices, data, x, y):
    across, down = block_elements(n_block_rows, rows, columns, indptr, indices)
    np.add.at(y.reshape(-1), across, data * x.reshape(-1)[down])


@stands_for(_sparsetools.bsr_matvecs)
def bsr_matvecs(n_block_rows, n_block_columns, n_vecs, rows, columns, indptr, indices, data, x, y):
    across, down = block_elements(n_block_rows, rows, columns, indptr, indices)
    np.add.at(y.reshape(-1, n_vecs), across, data[:, np.newaxis] * x.reshape(-1, n_vecs)[down])
