"""The linear equations between the slopes of steps, solved in each way, against the equations themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sampling import values

import wengert as wg
from wengert.sparse.csr import Csr
from wengert_rules.scipy.integrate import linear_steps
from wengert_rules.scipy.integrate.linear_steps import (
    BandedMatrices,
    CollocationSteps,
    JacobiansByCode,
    LargeSteps,
    LinearSteps,
    SparseCollocationSteps,
    SparseJacobians,
    SparseMatrices,
    changes,
    inverse_by_blocks,
    residuals_of_changes,
)
from wengert_rules.scipy.integrate.steps import RADAU_A

A, B, H = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.7, 0.0]]), np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.2])
J = values(2, 3, 2, 2, low=-1)
SPARSE = SparseJacobians(Csr(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), 2), J.reshape(6, 4)[::-1], np.arange(6)[::-1])
KNOWN = np.array([0, 0, 0, 1, 1, 1, 0, 1, 2]), np.array([0, 1, 2, 0, 1, 2, 3, 3, 3])
"""The indices of the slopes, and of the values."""


class Products:
    """The products with the Jacobians, in the opposite order."""

    def pushed(self, k: int, rows: np.ndarray) -> np.ndarray:
        return rows @ J.reshape(6, 2, 2)[5 - k].T

    def pulled(self, k: int, rows: np.ndarray) -> np.ndarray:
        return rows @ J.reshape(6, 2, 2)[5 - k]


def without_factors() -> SparseCollocationSteps:
    """The equations whose factors are too large to be kept."""
    steps = SparseCollocationSteps(RADAU_A, RADAU_A[-1], H, SPARSE, KNOWN)
    steps.factors = None
    return steps


def not_in_bands() -> SparseCollocationSteps:
    """The equations whose matrices have wide bands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_steps, "NARROW", 0)
        return SparseCollocationSteps(RADAU_A, RADAU_A[-1], H, SPARSE, KNOWN)


R, Y, WEIGHTS = values(9, 2), values(3, 4, 2), values(3, 4, 2, low=-1)
CASES = {
    "explicit": (A, B, LinearSteps(A, B, H, J, KNOWN)),
    "implicit": (RADAU_A, RADAU_A[-1], CollocationSteps(RADAU_A, RADAU_A[-1], H, J, KNOWN)),
    "by code": (A, B, LargeSteps(A, B, H, JacobiansByCode(Products(), np.arange(6)[::-1]), KNOWN)),
    "sparse": (A, B, LargeSteps(A, B, H, SPARSE, KNOWN)),
    "implicit in bands": (RADAU_A, RADAU_A[-1], SparseCollocationSteps(RADAU_A, RADAU_A[-1], H, SPARSE, KNOWN)),
    "implicit and sparse": (RADAU_A, RADAU_A[-1], not_in_bands()),
    "without factors": (RADAU_A, RADAU_A[-1], without_factors()),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_the_equations_hold(case: Any) -> None:
    a, b, steps = case
    found = changes(R, steps=steps)
    slopes, moved = found[:-1, :-1], found[:, -1]
    np.testing.assert_allclose(moved[0], R[6])
    for k in range(2):
        for i in range(3):
            wanted = R[3 * k + i] + J[k, i] @ (moved[k] + H[k] * a[i] @ slopes[k])
            np.testing.assert_allclose(slopes[k, i], wanted)
        np.testing.assert_allclose(moved[k + 1], R[7 + k] + moved[k] + H[k] * b @ slopes[k])


BOTH = [(changes, R, WEIGHTS), (residuals_of_changes, Y, values(9, 2, low=-1))]


@pytest.mark.parametrize(("f", "x", "weights"), BOTH)
def test_derivatives_are_the_transpose(case: Any, f: Any, x: Any, weights: Any) -> None:
    def along(x):
        return np.sum(weights * f(x, steps=case[2]))

    by_rows = wg.grad(along)(x)
    np.testing.assert_allclose(by_rows, wg.ngradient(along, x)[0], rtol=1e-7)
    np.testing.assert_allclose(np.sum(by_rows * x), wg.jvp(along, (x,), (x,))[1])
    second = wg.hessian(lambda x: np.sum(f(x, steps=case[2]) ** 2), as_matrix=True)(x)
    matrix = wg.jacobian(lambda x: f(x, steps=case[2]), as_matrix=True)(x)
    np.testing.assert_allclose(second, 2 * matrix.T @ matrix)


def test_batches(case: Any) -> None:
    for f, batch in ((changes, values(5, 9, 2)), (residuals_of_changes, values(5, 3, 4, 2))):
        found = wg.vmap(lambda x, f=f: f(x, steps=case[2]))(batch)
        np.testing.assert_allclose(found, [f(x, steps=case[2]) for x in batch])


@pytest.mark.parametrize("n", [2, 4, 7])
def test_inverses_by_blocks(n: int) -> None:
    rng = np.random.default_rng(n)
    blocks = rng.normal(size=(3, 3, 7, n, n))
    matrices = np.eye(3 * n) + blocks.transpose(2, 0, 3, 1, 4).reshape(7, 3 * n, 3 * n)
    found = inverse_by_blocks([[block.copy() for block in row] for row in blocks])
    np.testing.assert_allclose(found, np.linalg.inv(matrices), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("pivot", [0.0, 1e-14])
def test_inverses_by_blocks_with_an_almost_singular_pivot(pivot: float) -> None:
    blocks = 0.3 * np.random.default_rng(0).normal(size=(2, 2, 1, 4, 4))
    blocks[0, 0] = np.diag([pivot - 1.0, 0.1, 0.2, 0.3])
    with pytest.raises((RuntimeError, np.linalg.LinAlgError)):
        inverse_by_blocks([[*row] for row in blocks])


@pytest.mark.parametrize("kind", [SparseMatrices, BandedMatrices])
def test_factors_of_matrices(kind: Any) -> None:
    """Entries at one place are added; a matrix with a row of zeros is singular."""
    rows, columns = np.array([0, 0, 1, 2, 2, 3, 3, 3]), np.array([0, 1, 1, 0, 2, 3, 1, 3])
    entries, b = values(8), values(4, 3)
    dense = np.zeros((4, 4))
    np.add.at(dense, (rows, columns), entries)
    factors = kind(rows, columns, 4).factorised(entries)
    np.testing.assert_allclose(factors.solve(b, "N"), np.linalg.solve(dense, b))
    np.testing.assert_allclose(factors.solve(b, "T"), np.linalg.solve(dense.T, b))
    with pytest.raises(RuntimeError, match="singular"):
        kind(rows, columns, 4).factorised(entries * (rows != 1))
