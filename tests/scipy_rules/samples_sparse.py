"""Samples of scipy.sparse: products and solutions by rules, and what its classes make of traced numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from sampling import Sample, call, values
from scipy.sparse.linalg._dsolve import _superlu

from wengert_rules.scipy.optional import present
from wengert_rules.scipy.sparse.graphs import along_paths
from wengert_rules.scipy.sparse.products import by_columns, by_rows

PATTERN = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0]])
ROWS, COLUMNS = np.nonzero(PATTERN)
DATA = values(ROWS.size, low=-2)
A = sp.coo_array((DATA, (ROWS, COLUMNS)), PATTERN.shape)
SQUARE_ROWS, SQUARE_COLUMNS = np.nonzero(PATTERN[:4] + np.eye(4, dtype=int))
SQUARE_DATA = values(SQUARE_ROWS.size) + 4 * (SQUARE_ROWS == SQUARE_COLUMNS)
SQUARE = sp.csc_array((SQUARE_DATA, (SQUARE_ROWS, SQUARE_COLUMNS)))
FORMATS = ("csr", "csc", "coo", "dia", "bsr")
X4, X5 = values(4), values(5, low=-1)


def of(data: Any, form: str = "csr") -> Any:
    return sp.coo_array((data, (ROWS, COLUMNS)), PATTERN.shape).asformat(form)


def square(data: Any, form: str = "csc") -> Any:
    return sp.coo_array((data, (SQUARE_ROWS, SQUARE_COLUMNS))).asformat(form)


def ruled() -> Iterator[Sample]:
    for f, form in ((by_rows, "csr"), (by_columns, "csc")):
        a = A.asformat(form)
        for dtype in (float, complex, np.float32):
            for shape in ((4,), (4, 2)):
                yield call(f, (5, 4), a.indptr, a.indices, a.data.astype(dtype), values(*shape, dtype=dtype))
        yield call(f, (5, 4), a.indptr, a.indices, a.data, values(4, dtype=complex))
    for dtype in (float, complex):
        for b in (values(4, dtype=dtype), values(4, 2, dtype=dtype)):
            data = SQUARE.data.astype(dtype) + (dtype is complex) * 1j * SQUARE.data[::-1]
            for is_columns in (0, 1):
                given = 4, SQUARE.nnz, data, *short(SQUARE), b, is_columns
                yield call(_superlu.gssv, *given, options={"ColPerm": None})
    unit, nothing = sp.csc_array(sp.tril(SQUARE, -1) + sp.eye_array(4)), sp.csc_array((4, 4))
    for trans in ("N", "T"):
        lower = 4, unit.nnz, unit.data, *short(unit)
        for solve in present("sparse.linalg._dsolve._superlu.gstrs"):
            yield call(solve, trans, *lower, 4, 0, nothing.data, *short(nothing), values(4))


def short(a: Any) -> tuple[np.ndarray, np.ndarray]:
    """The indices of a matrix as SuperLU takes them."""
    return a.indices.astype(np.intc), a.indptr.astype(np.intc)


SAMPLES: list[Sample] = [*ruled()]
BY_HAND = [sla.SuperLU.solve, along_paths]


def constant_matrix(form: str) -> Callable[..., Any]:
    a = A.asformat(form)

    def products(x: Any, y: Any, s: Any) -> Any:
        both = np.stack([x, x * x], axis=1)
        parts = [a @ x, a.dot(x), y @ a, a.T @ y, (a @ both).ravel(), (s * a) @ x, (a / s + a).toarray().ravel()]
        return np.concatenate([*parts, a.multiply(x).sum(axis=1), np.asarray(a.sum(axis=0)) * s])

    return products


def traced_data(form: str) -> Callable[..., Any]:
    def numbers(data: Any, x: Any) -> Any:
        a = of(data, form)
        parts = [a @ x, a.sum(axis=0), a.sum(axis=1), a.toarray().ravel(), (-a).T.toarray().ravel()]
        return np.concatenate([*parts, a.sum() * x, a.mean(axis=0)])

    return numbers


def two_matrices(data: Any) -> Any:
    a, b = of(data), of(data**2)
    made = [a + b, a - b.multiply(a), a.maximum(b), a.multiply(A), a.power(2), a.sin(), a * 2.0, a.tocoo() + b]
    return np.concatenate([m.toarray().ravel() for m in made])


def products_of_matrices(data: Any) -> Any:
    made = [of(data, form).T @ of(data, form) for form in ("csr", "csc", "coo", "dia")]
    return np.concatenate([m.toarray().ravel() for m in made])


def blocks(data: Any) -> Any:
    a = sp.kron(sp.eye_array(2), sp.csr_array(np.reshape(data[:4], (2, 2))))
    tall = sp.bsr_array((np.reshape(data[:6], (1, 3, 2)), [0], [0, 1]), blocksize=(3, 2))
    product = tall @ sp.bsr_array((np.reshape(data[1:5], (1, 2, 2)), [0], [0, 1]))
    scaled = a * np.arange(1.0, 5.0)
    return np.concatenate([a.diagonal(), a.diagonal(-1), product.toarray().ravel(), scaled.toarray().ravel()])


def parts_of(data: Any) -> Any:
    a = of(data)
    made = [a[1:4, :2], a[[0, 2, 2]], a[:, [1, 0]], a[::-1], sp.tril(a), sp.triu(a.tocsc()), a.tocsc()[:, 1:3]]
    return np.concatenate([*[m.toarray().ravel() for m in made], a.diagonal(), a.diagonal(-1), a[[0, 1], [2, 1]]])


def built(data: Any, main: Any, beside: Any) -> Any:
    twice = sp.csr_array((np.concatenate([data, data**2]), (np.tile(ROWS, 2), np.tile(COLUMNS, 2))))
    made = [sp.diags_array([main, beside], offsets=[0, 1]), sp.diags_array(main), sp.kron(of(data), sp.eye_array(2))]
    made += [sp.block_diag([of(data), of(data)]), twice, sp.spdiags(main, 0, 5, 5).tocsc(), sp.eye_array(3) * data[0]]
    return np.concatenate([m.toarray().ravel() for m in made])


def stacked(data: Any) -> Any:
    a, b = of(data), of(data**2, "csc")
    made = [
        sp.vstack([a, b]),
        sp.hstack([a, a], format="csr"),
        sp.bmat([[a, None], [None, b]]),
        sp.block_array([[b, A]]),
    ]
    return np.concatenate([m.toarray().ravel() for m in made])


def solutions(data: Any, b: Any) -> Any:
    both = np.stack([b, b * b], axis=1)
    parts = [sla.spsolve(square(data, form), b) for form in ("csr", "csc")]
    factors = sla.splu(square(data))
    parts += [sla.spsolve(square(data), both).ravel(), factors.solve(b), factors.solve(b, "T"), factors.solve(both)[1]]
    return np.concatenate(
        [*parts, sla.splu(SQUARE).solve(b), sla.splu(SQUARE).solve(b, "T"), sla.factorized(SQUARE)(b)]
    )


def triangular(data: Any, b: Any) -> Any:
    lower = sp.csr_array(sp.tril(square(data)))
    return np.concatenate([sla.spsolve_triangular(lower, b), sla.spsolve_triangular(lower.T, b, lower=False)])


def iterated(data: Any, b: Any) -> Any:
    a = square(data)
    positive = a @ a.T
    parts = [solver(positive, b, rtol=1e-13)[0] for solver in (sla.cg, sla.bicgstab)]
    return np.concatenate([*parts, sla.LinearOperator((4, 4), matvec=lambda x: a @ x) @ b])


TRACED: list[Sample] = [
    *[call(constant_matrix(form), X4, X5, 1.7) for form in FORMATS],
    *[call(traced_data(form), DATA, X4) for form in FORMATS],
    call(two_matrices, DATA), call(products_of_matrices, DATA), call(blocks, DATA), call(parts_of, DATA),
    call(built, DATA, X5, X4), call(stacked, DATA),
    call(solutions, SQUARE_DATA, X4), call(triangular, SQUARE_DATA, X4), call(iterated, SQUARE_DATA, X4),
]  # fmt: skip
