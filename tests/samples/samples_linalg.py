"""Samples of contractions, of products of vectors, and of linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sampling import Sample, call, values

from wengert_rules.cofactors import cofactors, cofactors_along

KINDS = [(float, float), (np.float32, np.float32), (complex, complex), (float, complex), (complex, float)]


def linear_algebra() -> Iterator[Sample]:
    yield from contractions()
    yield from products()
    yield from systems()
    yield from norms()
    yield from decompositions()


# Subscripts of einsum, and the shapes of its operands.
EINSUMS = [
    ("ij->", (2, 3)), ("ij->ji", (2, 3)), ("ij->i", (2, 3)), ("ij", (2, 3)), ("ba", (2, 3)), ("...", (2, 3)),
    ("ii", (3, 3)), ("ii->i", (3, 3)), ("ii->", (3, 3)), ("iij->j", (2, 2, 3)), ("iij->ij", (2, 2, 3)),
    ("jiji->ij", (2, 3, 2, 3)), ("iii->i", (2, 2, 2)), ("i...i->...", (2, 3, 2)), ("...ij->...ji", (2, 1, 3)),
    ("i->", (0,)), ("->", ()), ("ij->j", (0, 3)),
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), (" i j , j -> i ", (2, 3), (3,)),
    ("i,i->", (3,), (3,)), ("i,j->ij", (2,), (3,)), ("i,j->", (2,), (3,)), ("i,->i", (3,), ()),
    ("ij,ij->i", (2, 3), (2, 3)), ("ij,k->k", (2, 3), (4,)), ("ij,kj->i", (2, 3), (4, 3)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("...ij,...jk->...ik", (5, 2, 3), (3, 2)),
    ("...i,...i->...", (2, 1, 3), (4, 3)), ("...i,i...", (2, 3), (3, 2)), ("ii,i->i", (3, 3), (3,)),
    ("ii,jj", (2, 2), (3, 3)),
    ("i,i->i", (1,), (3,)), ("ij,ij->", (2, 1), (1, 3)), ("...,...->...", (2, 3), (3,)), ("ij,jk->ik", (2, 0), (0, 3)),
    ("i,ij,j->", (2,), (2, 3), (3,)), ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)), ("ab,bc,ca", (2, 3), (3, 2), (2, 2)),
]  # fmt: skip


def contractions() -> Iterator[Sample]:
    for subscripts, *shapes in EINSUMS:
        for p, q in KINDS[: 2 + 3 * (len(shapes) > 1)] + [(complex, complex)]:
            yield call(np.einsum, subscripts, *[values(*s, dtype=(p, q, p)[i]) for i, s in enumerate(shapes)])
    a, b = values(2, 3), values(3, 4)
    for optimize in (True, "greedy", ["einsum_path", (0, 1), (0, 1)]):
        yield call(np.einsum, "ij,jk,kl->il", a, b, values(4, 2), optimize=optimize)
    yield call(np.einsum, "ij,j", values(2, 3, dtype=np.float32), np.array([1, 2, 3]), dtype=float)
    yield call(np.einsum, a, [0, 1], b, [1, 2], [0, 2])
    yield call(np.einsum, a, [1, 0], b, [0, 30])
    yield call(np.einsum, values(2, 2, 3), [..., 1, 0], b, [0, 2], [..., 2, 1])
    yield call(np.einsum, "ij,kj->ik", values(4, 6)[::2, ::2], values(3, 4).T)
    for f in (np.trace, np.ndarray.trace):
        for x in (values(3, 4), values(4, 2, dtype=np.float32), values(3, 3, dtype=complex)):
            for offset in (0, 1, -2, 7):
                yield call(f, x, offset)
        yield call(f, values(2, 3, 4), 1, 2, 0)
        yield call(f, values(2, 3, 4), axis1=-1, axis2=1, offset=-1)
        yield call(f, values(3, 3, dtype=np.float32), dtype=float)
    shapes = [((2,), (3,)), ((2, 3), (3, 2)), ((2, 3), (2,)), ((2,), (1, 2, 3)), ((), (2, 3)), ((0, 2), (2, 2))]
    for left, right in shapes:
        for p, q in KINDS:
            yield call(np.kron, values(*left, dtype=p), values(*right, dtype=q))
    yield call(np.kron, values(4, 6)[::2, ::2], values(3, 2).T)


def products() -> Iterator[Sample]:
    for p, q in KINDS:
        yield call(np.cross, values(2, 3, dtype=p), values(3, low=-1, dtype=q))
    yield call(np.cross, values(3, 2), values(4, 1, 3), axisa=0, axisc=0)
    yield call(np.cross, values(3, 2), values(3, 2, low=-1), axis=0)
    pairs = [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3)), ((0, 3), (3,)), ((1, 3), (2, 3))]
    for p, q in KINDS:
        for left, right in pairs:
            yield call(np.vecdot, values(*left, dtype=p), values(*right, dtype=q))
        yield call(np.vecdot, values(3, 2, dtype=p), values(5, 3, 2, dtype=q), axis=-2)
        yield call(np.vecdot, values(3, 2, dtype=p), values(3, dtype=q), axis=0)
        yield call(np.vecdot, values(3, 2, dtype=p), values(3, 2, dtype=q), axis=0, keepdims=True)
        yield call(np.vecdot, values(2, 3, dtype=p), values(4, 2, 3, dtype=q), keepdims=True)
        if hasattr(np, "matvec"):
            for matrix, vector in [((2, 3), (3,)), ((5, 2, 3), (3,)), ((2, 3), (5, 3)), ((2, 1, 2, 3), (4, 3))]:
                yield call(np.matvec, values(*matrix, dtype=p), values(*vector, dtype=q))
                yield call(np.vecmat, values(*vector, dtype=q), values(*matrix[:-2], *matrix[:-3:-1], dtype=p))


def matrices(*shape: int, dtype: Any = float, seed: int = 0) -> np.ndarray:
    """Matrices well away from singular ones, with eigenvalues and singular values apart."""
    rng = np.random.default_rng([seed, *shape])
    a = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.normal(size=shape)
    return (a + 2 * np.eye(*shape[-2:]) * np.arange(1, shape[-1] + 1)).astype(dtype)


def positive(*shape: int, dtype: Any = float) -> np.ndarray:
    """Positive definite matrices."""
    a = matrices(*shape, dtype=dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(shape[-1]).astype(dtype)


DTYPES = (float, np.float32, complex, np.complex64)


def systems() -> Iterator[Sample]:
    solved = [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((3, 3), (2, 3, 1)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 3)),
        ((2, 1, 3, 3), (4, 3, 2)), ((1, 1), (1,)), ((0, 0), (0, 2)),
    ]  # fmt: skip
    for left, right in solved:
        for p, q in KINDS:
            yield call(np.linalg.solve, matrices(*left, dtype=p), values(*right, dtype=q))
    for p, q in KINDS:
        yield call(np.linalg.tensorsolve, matrices(4, 4, dtype=p), values(4, dtype=q))
        yield call(np.linalg.tensorsolve, matrices(6, 6, dtype=p).reshape(2, 3, 6), values(2, 3, dtype=q))
        cube = matrices(6, 6, dtype=p).reshape(3, 2, 6).transpose(2, 0, 1)
        yield call(np.linalg.tensorsolve, cube, values(3, 2, dtype=q), (0,))
    for dtype in DTYPES:
        for shape in ((3, 3), (2, 3, 3), (1, 1), (0, 0)):
            yield call(cofactors, matrices(*shape, dtype=dtype))
            yield call(cofactors_along, values(*shape, dtype=dtype), matrices(*shape))
    for f in (np.linalg.inv, np.linalg.det, np.linalg.slogdet):
        for dtype in DTYPES:
            for shape in ((3, 3), (2, 3, 3), (1, 1), (0, 0), (2, 1, 2, 2)):
                yield call(f, matrices(*shape, dtype=dtype))
        yield call(f, matrices(6, 6)[::2, ::2].T)
        yield call(f, -matrices(3, 3))
    for dtype in DTYPES:
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 2, 3)):
            yield call(np.linalg.pinv, matrices(*shape, dtype=dtype))
        yield call(np.linalg.pinv, positive(3, 3, dtype=dtype), hermitian=True)
        yield call(np.linalg.pinv, matrices(4, 3, dtype=dtype), 1e-5)
        for shape, right in (((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,)), ((3, 3), (3, 2)), ((2, 3), (2, 2))):
            yield call(np.linalg.lstsq, matrices(*shape, dtype=dtype), values(*right, dtype=dtype))
            yield call(np.linalg.lstsq, matrices(*shape, dtype=dtype), values(*right, dtype=dtype), rcond=-1)


def norms() -> Iterator[Sample]:
    f = np.linalg.norm
    for dtype in (float, np.float32, complex):
        v, a, c = values(3, dtype=dtype) - 1, matrices(3, 4, dtype=dtype), matrices(2, 4, 3, dtype=dtype)
        for ord in (None, 2, 1, np.inf, -np.inf, 0, 3, 1.5, 0.5, -1):
            yield call(f, v, ord)
            yield call(f, a, ord, axis=0)
            yield call(f, c, ord, axis=-1, keepdims=True)
            yield call(f, c, ord, axis=(1,))
        for ord in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            yield call(f, a, ord)
            yield call(f, a.T, ord, keepdims=True)
            yield call(f, c, ord, axis=(-2, -1))
            yield call(f, c, ord, axis=(2, 0), keepdims=True)
        yield call(f, c)
        yield call(f, c, keepdims=True)
    yield call(np.linalg.pinv, values(0, 3), hermitian=True)
    yield call(f, values(0, 4), np.inf)
    yield call(f, values(0))
    yield call(f, values(0, 2), axis=0)
    for dtype in (float, np.float32, complex):
        for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
            yield call(np.linalg.cond, matrices(3, 3, dtype=dtype), p)
            yield call(np.linalg.cond, matrices(2, 3, 3, dtype=dtype), p)
        yield call(np.linalg.cond, matrices(3, 4, dtype=dtype))


def decompositions() -> Iterator[Sample]:
    for dtype in DTYPES:
        for shape in ((3, 3), (2, 3, 3), (1, 1)):
            a = positive(*shape, dtype=dtype)
            for f in (np.linalg.eigvalsh, np.linalg.eigh)[: 1 if np.iscomplexobj(a) else 2]:
                yield call(f, a)
                yield call(f, a, "U")
                yield call(f, matrices(*shape, dtype=dtype), UPLO="l")
            yield call(np.linalg.cholesky, a)
            yield call(np.linalg.cholesky, a, upper=True)
            yield call(np.linalg.eigvals, matrices(*shape, dtype=dtype, seed=2))
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
            a = matrices(*shape, dtype=dtype)
            yield call(np.linalg.svd, a, compute_uv=False)
            for mode in ("reduced", "r"):
                yield call(np.linalg.qr, a, mode)
            if not np.iscomplexobj(a):
                yield call(np.linalg.svd, a, full_matrices=False)
        yield call(np.linalg.svd, positive(3, 3, dtype=dtype), compute_uv=False, hermitian=True)
    for dtype in (float, np.float32):
        yield call(np.linalg.svd, matrices(3, 3, dtype=dtype))
        yield call(np.linalg.svd, positive(3, 3, dtype=dtype) - 3 * np.eye(3, dtype=dtype), hermitian=True)
        yield call(np.linalg.qr, matrices(3, 3, dtype=dtype), mode="complete")
        yield call(np.linalg.qr, matrices(2, 4, dtype=dtype), mode="complete")
