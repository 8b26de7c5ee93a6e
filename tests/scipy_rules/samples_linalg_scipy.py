"""Samples of scipy.linalg."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from samples_linalg import matrices, positive
from sampling import Sample, call, values
from scipy import linalg

from wengert.extend import adjoint
from wengert_rules.scipy.optional import present

DTYPES = (float, complex)


def symmetric(dtype: Any) -> np.ndarray:
    return matrices(3, 3, dtype=dtype) + matrices(3, 3, dtype=dtype).T


def assumed(dtype: Any) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """Matrices, and what SciPy is told of them: it reads no more of them than that."""
    for assume_a in ("gen", "upper triangular", "lower triangular", "diagonal"):
        yield matrices(3, 3, dtype=dtype), {"assume_a": assume_a}
    for lower in (False, True):
        yield positive(3, 3, dtype=dtype), {"assume_a": "pos", "lower": lower}
        yield positive(3, 3, dtype=dtype), {"assume_a": "her", "lower": lower}
        yield symmetric(dtype), {"assume_a": "sym", "lower": lower}


def systems() -> Iterator[Sample]:
    for dtype in DTYPES:
        a, stack = matrices(3, 3, dtype=dtype), matrices(2, 3, 3, dtype=dtype)
        for b in (values(3, dtype=dtype), values(3, 2, dtype=dtype)):
            yield call(linalg.solve, a, b)
            yield call(linalg.solve, stack, b)
            for trans, lower, unit in itertools.product((0, 1, "C"), (False, True), (False, True)):
                yield call(linalg.solve_triangular, a, b, trans, lower, unit)
            yield call(linalg.solve_triangular, stack, b, lower=True)
            for matrix in (a, stack):
                for lower in (False, True):
                    for f in present("linalg._decomp_cholesky._cho_solve"):
                        yield call(f, matrix, b, lower, False, check_finite=True)
                lu, pivots = linalg.lu_factor(matrix)
                for trans in (0, 1, 2):
                    for f in present("linalg._decomp_lu._lu_solve"):
                        yield call(f, lu, pivots, b, trans, False, True)
            yield call(linalg.lstsq, matrices(4, 3, dtype=dtype), b=np.concatenate([b, b[:1]]))
            yield call(linalg.lstsq, matrices(2, 3, dtype=dtype), b[:2], 1e-5, lapack_driver="gelsy")
        yield call(linalg.solve, a[:1, :1], values(3, dtype=dtype))
        yield call(linalg.solve, a, values(3, 2, dtype=dtype), assume_a="tridiagonal")
        for matrix, options in assumed(dtype):
            yield call(linalg.solve, matrix, values(3, dtype=dtype), **options)
            yield call(linalg.inv, matrix, **options)
        for f in (linalg.inv, linalg.det):
            yield call(f, a, check_finite=False)
            yield call(f, stack)
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
            yield call(linalg.pinv, matrices(*shape, dtype=dtype))
        for ord in (None, 1, -2, "nuc", np.inf):
            yield call(linalg.norm, a, ord)
        yield call(linalg.norm, stack, 2, axis=(0, -1), keepdims=True)
        yield call(linalg.norm, values(3, dtype=dtype), 3)
        yield call(linalg.pinv, a, return_rank=True)
        yield call(linalg.pinvh, positive(3, 3, dtype=dtype), lower=False)
        yield call(linalg.pinvh, positive(2, 3, 3, dtype=dtype))
        yield call(linalg.pinvh, positive(3, 3, dtype=dtype), return_rank=True)
    yield call(linalg.solve, matrices(3, 3), values(3, 2), transposed=True)
    yield call(linalg.solve_triangular, matrices(3, 3), values(2, 3, 1))


def factors() -> Iterator[Sample]:
    for dtype in DTYPES:
        for a, lower in itertools.product((positive(3, 3, dtype=dtype), positive(2, 3, 3, dtype=dtype)), (False, True)):
            yield call(linalg.cholesky, a, lower)
            yield call(linalg.cho_factor, positive(3, 3, dtype=dtype), lower)
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
            a = matrices(*shape, dtype=dtype)
            yield call(linalg.lu, a)
            yield call(linalg.lu, a, permute_l=True)
            yield call(linalg.lu, a, p_indices=True)
            if shape != (2, 3, 2):  # of which SciPy 1.17 makes a list
                yield call(linalg.lu_factor, a)
            for mode, pivoting in itertools.product(("economic", "r"), (False, True)):
                if shape != (2, 3, 2):
                    yield call(linalg.qr, a, mode=mode, pivoting=pivoting)
                    yield call(linalg.rq, a, mode=mode)
        yield call(linalg.qr, matrices(2, 4, dtype=dtype), pivoting=True)
        yield call(linalg.rq, matrices(4, 2, dtype=dtype))


def spectra() -> Iterator[Sample]:
    for dtype, lower in itertools.product(DTYPES, (False, True)):
        a, b = (
            symmetric(float) if dtype is float else positive(3, 3, dtype=dtype),
            positive(3, 3, dtype=dtype)[::-1, ::-1],
        )
        for options in ({}, {"subset_by_index": [0, 1]}):
            yield call(linalg.eigvalsh, a, lower=lower, **options)
            yield call(linalg.eigh, a, lower=lower, eigvals_only=True, **options)
            if dtype is float:
                yield call(linalg.eigh, a, lower=lower, driver="evx", **options)
            for kind in (1, 2, 3):
                yield call(linalg.eigvalsh, a, b, lower=lower, type=kind, **options)
                if dtype is float:
                    yield call(linalg.eigh, a, b, lower=lower, type=kind, driver="gvx", **options)
    for dtype in DTYPES:
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
            a = matrices(*shape, dtype=dtype)
            yield call(linalg.svdvals, a)
            yield call(linalg.svd, a, compute_uv=False)
            if dtype is float and shape != (2, 3, 2):
                yield call(linalg.svd, a, False)
                yield call(linalg.svd, a, full_matrices=False, lapack_driver="gesvd")


def bands() -> Iterator[Sample]:
    for dtype in DTYPES:
        band = values(4, 6, low=-1, dtype=dtype) + np.array([[0], [0], [9], [0]])
        half = values(3, 6, low=-1, dtype=dtype) / 4
        c, r = values(5, dtype=dtype) + np.array([9, 0, 0, 0, 0]), values(5, dtype=dtype)
        for b in (values(6, dtype=dtype), values(6, 2, dtype=dtype)):
            for f in present("linalg._basic._solve_banded"):
                yield call(f, 1, 2, band, b, False, False, True)
            for f in present("linalg._basic._solve_toeplitz"):
                yield call(f, c, r, b[:5], True)
        for lower in (False, True):
            upper = np.concatenate([half[:2], half[2:].real + 5])
            one = upper[::-1] if lower else upper
            yield call(linalg.solveh_banded, one, values(6, dtype=dtype), lower=lower)
            yield call(linalg.solveh_banded, one, values(6, 2, dtype=dtype), lower=lower)
            yield call(linalg.cholesky_banded, one, lower=lower)
            factor = linalg.cholesky_banded(one, lower=lower)
            for f in present("linalg._decomp_cholesky._cho_solve_banded"):
                yield call(f, factor, values(6, dtype=dtype), lower, False, True)
            yield call(linalg.eig_banded, one, lower, True)
            yield call(linalg.eigvals_banded, one, lower, select="i", select_range=(1, 3))
            if dtype is float:
                yield call(linalg.eig_banded, one, lower)
                yield call(linalg.eig_banded, one, lower, select="i", select_range=(1, 3))
    d, e = values(5), values(4, low=-1)
    for options in ({}, {"select": "i", "select_range": (1, 2)}):
        yield call(linalg.eigh_tridiagonal, d, e, **options)
        yield call(linalg.eigh_tridiagonal, d, e, eigvals_only=True, **options)
        yield call(linalg.eigvalsh_tridiagonal, d, e, **options)


def general() -> Iterator[Sample]:
    for dtype in DTYPES:
        a, b = matrices(3, 3, dtype=dtype), positive(3, 3, dtype=dtype)[::-1]
        for second in ((), (b,)):
            yield call(linalg.eigvals, a, *second)
            yield call(linalg.eig, a, *second, right=False)
        for shape in ((3, 3), (4, 2), (2, 4)):
            yield call(linalg.polar, matrices(*shape, dtype=dtype))
            yield call(linalg.polar, matrices(*shape, dtype=dtype), side="left")
        yield call(linalg.orthogonal_procrustes, matrices(4, 3, dtype=dtype), matrices(4, 3, dtype=dtype)[::-1])
        badly_scaled = a * np.array([[1, 1e3, 1e-2]])
        yield call(linalg.matrix_balance, badly_scaled)
        yield call(linalg.matrix_balance, badly_scaled, permute=False)

    rotation = np.array([[0.6, -0.8], [0.8, 0.6]])
    yield call(linalg.polar, rotation)
    yield call(linalg.orthogonal_procrustes, np.eye(2), rotation)


def functions() -> Iterator[Sample]:
    for dtype in DTYPES:
        a, b = matrices(3, 3, dtype=dtype), values(3, 3, dtype=dtype) / 3
        yield call(linalg.expm, b)
        yield call(linalg.expm, np.stack([b, a / 5]))
        for f in (linalg.logm, linalg.sqrtm):
            yield call(f, positive(3, 3, dtype=dtype) + b)
        yield call(linalg.signm, a)
        yield call(linalg.signm, a * np.array([1, -1, 1]))
        t = 0.3 if dtype is float else -1.3
        yield call(linalg.fractional_matrix_power, positive(2, 2, dtype=dtype) + b[:2, :2], t)
        yield call(linalg.expm_frechet, b, a)
        yield call(linalg.expm_frechet, b, a, compute_expm=False)


def equations() -> Iterator[Sample]:
    for dtype in DTYPES:
        a, b, q = matrices(3, 3, dtype=dtype), matrices(2, 2, dtype=dtype), values(3, 2, dtype=dtype)
        yield call(linalg.solve_sylvester, a, b, q)
        yield call(linalg.solve_continuous_lyapunov, a, q @ adjoint(q) + a)
        for method in (None, "direct", "bilinear"):
            yield call(linalg.solve_discrete_lyapunov, a / 10, a, method=method)
        weights = np.eye(3, dtype=int), 2 * np.eye(2, dtype=int)  # whose derivatives have to be symmetric
        for f in (linalg.solve_continuous_are, linalg.solve_discrete_are):
            yield call(f, a, q, *weights, np.eye(3) + a / 10, q / 10)
        yield call(linalg.solve_continuous_are, a, q, *weights)
        yield call(linalg.solve_discrete_are, a, q, *weights, s=q / 10)


def patterns() -> Iterator[Sample]:
    for dtype in DTYPES:
        c, r = values(4, dtype=dtype), values(3, dtype=dtype)
        for f in (linalg.toeplitz, linalg.hankel):
            yield call(f, c)
            yield call(f, c, r)
        yield call(linalg.toeplitz, c, values(3))
        yield call(linalg.circulant, c)


SAMPLES: list[Sample] = [
    *systems(), *factors(), *spectra(), *functions(), *equations(), *patterns(), *bands(), *general(),
]  # fmt: skip


def traced() -> Iterator[Sample]:
    for dtype in DTYPES:
        a, b, v = matrices(3, 3, dtype=dtype), values(3, 3, dtype=dtype) / 3, values(3, dtype=dtype)
        for f in (linalg.sinm, linalg.cosm, linalg.tanm, linalg.sinhm, linalg.coshm, linalg.tanhm):
            yield call(f, b)
        yield call(linalg.block_diag, a, v, b)
        yield call(linalg.khatri_rao, a, b)
        yield call(linalg.orth, matrices(3, 2))
        yield call(linalg.companion, v)
        yield call(linalg.convolution_matrix, v, 4, "same")
        yield call(linalg.diagsvd, v, 3, 4)
        yield call(symmetric_weights(linalg.solve_continuous_are), a, b, b, a)
        yield call(symmetric_weights(linalg.solve_discrete_are), a, b, b, a)
    for lower in (False, True):
        yield call(by_cholesky, positive(3, 3), values(3), lower)
    for trans in (0, 1):
        yield call(by_lu, matrices(3, 3), values(3), trans)
    yield call(by_bands, values(4, 6, low=-1) + np.array([[0], [0], [9], [0]]), values(6))
    yield call(by_diagonals, values(3, dtype=complex), values(3, 2))
    for dtype in DTYPES:
        yield call(projector, matrices(2, 4, dtype=dtype))
        yield call(spectral_projectors, matrices(3, 3, dtype=dtype), positive(3, 3, dtype=dtype)[::-1])
    yield call(linalg.solve_circulant, values(3), values(3, 2))
    yield call(toeplitz_product, values(3), values(4), values(4, 2))
    yield call(linalg.subspace_angles, matrices(4, 2), values(4, 2) ** 3)
    yield call(linalg.fiedler, values(4))
    yield call(linalg.fiedler_companion, values(4))
    yield call(linalg.leslie, values(3), values(2))


def projector(a: Any) -> Any:
    """That on the null space, whichever basis of it LAPACK finds."""
    basis = linalg.null_space(a)
    return basis @ adjoint(basis)


def spectral_projectors(a: Any, b: Any) -> Any:
    """What the phases of left and right vectors do not change."""
    _, left, right = linalg.eig(a, b, left=True)
    return np.abs(np.sum(np.conj(left) * right, axis=0)) + np.abs(left[0]) + np.abs(right[1])


def by_bands(band: Any, b: Any) -> Any:
    return linalg.solve_banded((1, 2), band, b) + linalg.cho_solve_banded(
        (linalg.cholesky_banded(band[2:] + np.array([[9], [0]]), lower=True), True), b
    )


def by_diagonals(c: Any, b: Any) -> Any:
    return linalg.solve_toeplitz(c + np.array([5, 0, 0]), b)


def symmetric_weights(f: Callable[..., Any]) -> Callable[..., Any]:
    """An equation of Riccati's, which takes symmetric weights only."""

    def solved(a: Any, b: Any, q: Any, r: Any) -> Any:
        return f(a, b, q @ adjoint(q), r @ adjoint(r) + np.eye(3))

    return solved


def by_cholesky(a: Any, b: Any, lower: bool) -> Any:
    return linalg.cho_solve(linalg.cho_factor(a, lower), b)


def by_lu(a: Any, b: Any, trans: int) -> Any:
    return linalg.lu_solve(linalg.lu_factor(a), b, trans)


def toeplitz_product(c: Any, r: Any, x: Any) -> Any:
    return linalg.matmul_toeplitz((c, r), x)


TRACED: list[Sample] = [*traced()]
BY_HAND = [linalg.null_space]  # known up to a rotation: see `projector`
