"""The linear equations between the slopes of steps, solved in each way, against the equations themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from sampling import values

import wengert as wg
from wengert_rules.scipy.integrate.linear_steps import (
    CollocationSteps,
    DenseJacobians,
    LargeSteps,
    LinearSteps,
    SparseJacobians,
    changes_of_slopes,
    residuals_of_slopes,
)
from wengert_rules.scipy.integrate.steps import RADAU_A


class Pattern(NamedTuple):
    """The form of a pattern of nonzeros, and their places."""

    shape: tuple[int, int]
    rows: np.ndarray
    indices: np.ndarray


A, B, H = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.7, 0.0]]), np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.2])
J = values(2, 3, 2, 2, low=-1)
SPARSE = SparseJacobians(Pattern((2, 2), *np.divmod(np.arange(4), 2)), J.reshape(6, 4)[::-1], np.arange(6)[::-1])
R, WEIGHTS = values(2, 3, 2), values(2, 3, 2, low=-1)
CASES = {
    "explicit": (A, B, LinearSteps(A, B, H, J)),
    "implicit": (RADAU_A, RADAU_A[-1], CollocationSteps(RADAU_A, RADAU_A[-1], H, J)),
    "dense": (A, B, LargeSteps(A, B, H, DenseJacobians(J.reshape(6, 2, 2)))),
    "sparse": (A, B, LargeSteps(A, B, H, SPARSE)),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_the_equations_hold(case: Any) -> None:
    a, b, steps = case
    found, moved = changes_of_slopes(R, steps=steps), np.zeros(2)
    for k in range(2):
        for i in range(3):
            np.testing.assert_allclose(found[k, i], R[k, i] + J[k, i] @ (moved + H[k] * a[i] @ found[k]))
        moved = moved + H[k] * b @ found[k]


@pytest.mark.parametrize("f", [changes_of_slopes, residuals_of_slopes])
def test_derivatives_are_the_transpose(case: Any, f: Any) -> None:
    def along(r):
        return np.sum(WEIGHTS * f(r, steps=case[2]))

    by_rows = wg.grad(along)(R)
    np.testing.assert_allclose(by_rows, wg.ngradient(along, R)[0], rtol=1e-7)
    np.testing.assert_allclose(np.sum(by_rows * WEIGHTS), wg.jvp(along, (R,), (WEIGHTS,))[1])
    second = wg.hessian(lambda r: np.sum(f(r, steps=case[2]) ** 2), as_matrix=True)(R)
    matrix = wg.jacobian(lambda r: f(r, steps=case[2]), as_matrix=True)(R)
    np.testing.assert_allclose(second, 2 * matrix.T @ matrix)


def test_batches(case: Any) -> None:
    batch = values(5, 2, 3, 2)
    for f in (changes_of_slopes, residuals_of_slopes):
        found = wg.vmap(lambda r, f=f: f(r, steps=case[2]))(batch)
        np.testing.assert_allclose(found, [f(r, steps=case[2]) for r in batch])
