"""What an entry keeps, and what a pullback still finds of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

LARGE = np.random.default_rng(0).normal(size=(50, 60, 2))  # above the size up to which results are kept alive


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: np.transpose(x * 2.0, (1, 2, 0)).sum(), np.full(LARGE.shape, 2.0)),
        (lambda x: np.sum(np.concatenate([x * 2.0, x], axis=-1)), np.full(LARGE.shape, 3.0)),
        (lambda x: np.sum(np.mean(np.expand_dims(x * x, 0), axis=1)), LARGE * 2 / 50),
    ],
)
def test_shape_of_a_large_result_that_is_gone(f: Callable[[np.ndarray], float], expected: np.ndarray) -> None:
    """A rule that reads the shape of y only does not keep y; its shape is that of ȳ."""
    np.testing.assert_allclose(wg.grad(f)(LARGE), expected)
    _, pullback = wg.vjp(f, LARGE)
    np.testing.assert_allclose(pullback(1.0)[0], expected)


def test_memory_of_arguments_is_told_apart() -> None:
    """Arguments whose memory is asked for late (at the first store) are as separate as ever."""

    def f(a: np.ndarray, b: np.ndarray) -> float:
        a[0] = b[1] * 2.0
        return np.sum(a * b)

    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    a_bar, b_bar = wg.grad(f, argnums=(0, 1))(a.copy(), b)
    np.testing.assert_allclose(a_bar, [0.0, 4.0])
    np.testing.assert_allclose(b_bar, [8.0, 8.0])
    shared = np.array([1.0, 2.0, 3.0])
    with pytest.raises(wg.AliasedArgumentsError):
        wg.grad(f, argnums=(0, 1))(shared[:2], shared[1:])


def test_sums_are_not_written_into_a_cotangent_that_passes_through() -> None:
    """ȳ of a + z is z̄ itself, and its real part is a contribution to ā: adding there must not change z̄."""

    def f(a: np.ndarray, z: np.ndarray) -> float:
        return np.sum(np.abs((a + z) * (1 + 2j)) ** 2) + np.sum(a * a) + np.sum(3.0 * a)

    a, z = np.array([1.0, 2.0]), np.array([1.0 - 1j, 0.5 + 2j])
    a_bar, z_bar = wg.grad(f, argnums=(0, 1))(a, z)
    np.testing.assert_allclose(a_bar, 10 * (a + z).real + 2 * a + 3)
    np.testing.assert_allclose(z_bar, 10 * (a + z).conj())


def test_a_pullback_has_copies_of_the_parts_of_results() -> None:
    """A+b is one part of what lstsq gives, and its pullback reads it; so do those of named tuples."""
    a, b = np.array([[2.0, 1.0], [0.5, 3.0], [1.0, 1.0]]), np.array([1.0, 2.0, -1.0])

    def solve(a: np.ndarray) -> Any:
        found = np.linalg.lstsq(a, b)
        parts = np.linalg.svd(a, full_matrices=False)
        return found[0], parts.U, parts.S

    _, pullback = wg.vjp(solve, a)
    bars = np.ones(2), a / 7, np.ones(2)
    expected = pullback(bars)[0]
    results, pullback = wg.vjp(solve, a)
    for part in results:
        part[...] = 7
    np.testing.assert_array_equal(pullback(bars)[0], expected)
