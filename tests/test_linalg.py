"""Linear algebra and contractions in whole functions: entered code, second order, emitted source, costs, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 3)) + 2 * np.eye(3)
V = RNG.normal(size=3)
W = RNG.normal(size=(3, 3))


def written_into(x: Any) -> Any:
    out = np.zeros(3)
    np.einsum("ij->i", x * x, out=out)
    return np.sum(out * out)


def through_a_view(x: Any) -> Any:
    y = x.copy()
    np.einsum("ii->i", y)[:] = y[0] ** 2
    return np.sum(y * y)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "einsum of two": lambda x: np.einsum("ij,jk->", x, np.sin(x)),
    "einsum of one twice": lambda x: np.sum(np.einsum("ij,jk,kl", x, x, x) * W),
    "einsum of numbers": lambda x: np.einsum("i,i", [x[0, 0], x[1, 1]], [2.0, 3.0]),
    "einsum by lists": lambda x: np.sum(np.einsum(x, [0, 1], x, [1, 2]) * W),
    "einsum diagonal": lambda x: np.sum(np.einsum("ii->i", x) ** 3),
    "einsum out=": written_into,
    "einsum view": through_a_view,
    "trace": lambda x: np.trace(x @ x, 1) ** 2 + x.trace() ** 2 + np.linalg.trace(x @ x, offset=-1) ** 2,
    "kron": lambda x: np.sum(np.kron(x, x) ** 2),
    "tensordot": lambda x: np.sum(np.tensordot(x, W, 1) * x) + np.tensordot(x, x, ((0, 1), (1, 0))),
    "tensordot of no axes": lambda x: np.sum(np.linalg.tensordot(x, x[0], axes=0) ** 2),
    "cross": lambda x: np.sum(np.cross(x, V) * np.linalg.cross(V + x, x * x)),
    "multi_dot": lambda x: np.sum(np.linalg.multi_dot([x, W, x, V])),
    "matrix_power": lambda x: np.sum(np.linalg.matrix_power(x, 5) * W),
    "vecdot": lambda x: np.sum(np.vecdot(x, x * x) * np.linalg.vecdot(x, W, axis=0)),
    "outer, matmul": lambda x: np.sum(np.linalg.outer(x[0], x[1]) * np.linalg.matmul(x, x)),
    "diagonal, transpose": lambda x: np.sum(np.linalg.diagonal(x) * np.linalg.matrix_transpose(x) ** 2),
}  # fmt: skip


def agree(got: Any, expected: Any, rtol: float = 1e-8) -> None:
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * (1 + np.max(np.abs(expected))))


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradient_and_its_gradient_against_differences(f: Callable[[Any], Any]) -> None:
    agree(wg.grad(f)(X), wg.ngradient(f, X)[0])

    def slope(x: Any) -> Any:
        return np.sum(wg.grad(f)(x) * W)

    agree(wg.grad(slope)(X), wg.ngradient(slope, X)[0], 1e-7)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_emitted_source_agrees(f: Callable[[Any], Any]) -> None:
    value, (_, x_bar) = wg.gradtape(f, X).compile()(X)
    agree(value, f(X), 1e-14)
    agree(x_bar, wg.grad(f)(X), 1e-13)


def test_operands_that_are_not_wanted_cost_nothing() -> None:
    source = wg.gradtape(lambda x: np.sum(np.einsum("ij,jk,kl->il", W, x, W)), X).to_source()
    assert source.count("np.einsum") == 2


def test_a_sum_over_everything_is_not_multiplied_out() -> None:
    source = wg.gradtape(lambda x: np.einsum("ij->", x), X).to_source()
    assert source.count("np.einsum") == 1
    assert "np.broadcast_to" in source
