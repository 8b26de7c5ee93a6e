"""Random programs on matrices large enough for BLAS: each way to sum cotangents gives the same, and is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

N = 66  # 4356 elements: products add themselves in place
WAYS = ({"add": "plus"}, {"add": "in place"}, {"add": "actions"}, {"strategy": "pass through"})


def stored(x: np.ndarray, y: np.ndarray, i: int, j: int, c: float) -> np.ndarray:
    z = x.copy()
    z[i] = y[j] * c
    z[:, j] *= c
    return z


def stored_twice(x: np.ndarray, y: np.ndarray, i: int, j: int, c: float) -> np.ndarray:
    z, places = x.copy(), np.array([i, j, i])
    z[places] = y[places] * c
    np.add.at(z, (places, places), x[0, :3])
    return z


MATRICES: list[Callable[..., np.ndarray]] = [
    lambda x, y, i, j, c: x @ y * 0.1,
    lambda x, y, i, j, c: x.T @ y * 0.1,
    lambda x, y, i, j, c: np.dot(x, y.T) * 0.1,
    lambda x, y, i, j, c: x * c,
    lambda x, y, i, j, c: c * x + y,
    lambda x, y, i, j, c: np.sin(x),
    lambda x, y, i, j, c: np.sort(x) + y,
    lambda x, y, i, j, c: np.concatenate([x[:i], y[i:]]),
    lambda x, y, i, j, c: x[::-1] + y,
    stored,
    stored_twice,
]
NUMBERS: list[Callable[..., Any]] = [
    lambda x, y, i, j, c: np.trace(x) + np.sum(np.diag(y) * c),
    lambda x, y, i, j, c: np.sum(x @ y[0]) + np.sum(y[1] @ x),
    lambda x, y, i, j, c: np.sum(x[[i, j, i]]) + x[j, i] * c + np.sum(np.take(y, [j, 3], axis=1)),
    lambda x, y, i, j, c: np.sum(x) * c + np.sum(y * c),
    lambda x, y, i, j, c: np.sum(np.take_along_axis(x, np.full((N, 2), i), 1)) + np.sum(x[x > c]),
]


def program(seed: int) -> Callable[..., Any]:
    """A function of two matrices: some steps, each on values made before, and a sum of all that they gave."""
    random = np.random.default_rng(seed)
    steps = [
        (random.integers(len(MATRICES) + len(NUMBERS)), *random.integers(10**6, size=2), random.uniform(0.1, 1.0))
        for _ in range(random.integers(4, 14))
    ]

    def f(a: np.ndarray, b: np.ndarray) -> Any:
        matrices, total = [a, b], 0.0
        for kind, i, j, c in steps:
            x, y = matrices[i % len(matrices)], matrices[j % len(matrices)]
            if kind < len(MATRICES):
                matrices.append(MATRICES[kind](x, y, int(i % N), int(j % N), c))
            else:
                total = total + NUMBERS[kind - len(MATRICES)](x, y, int(i % N), int(j % N), c)
        for matrix in matrices:
            total = total + np.sum(matrix * 0.01)
        return total

    return f


@pytest.mark.parametrize("seed", range(25))
def test_ways_to_sum(seed: int) -> None:
    f, random = program(seed), np.random.default_rng(1000 + seed)
    args = tuple(np.asarray(random.normal(size=(N, N)), order="CF"[k % 2]) for k in range(seed, seed + 2))
    held = [x.copy() for x in args]
    found = []
    for way in WAYS:
        with wg.accumulation_options(**way):
            found.append(wg.value_and_grad(f, argnums=(0, 1))(*args))
    _, pullback = wg.vjp(f, *args)
    found += [(f(*args), pullback(1.0)), (f(*args), pullback(1.0))]
    for value, gradients in found:
        assert value == found[0][0]
        np.testing.assert_allclose(gradients, found[0][1], rtol=1e-9, atol=1e-9)
        assert not np.shares_memory(*gradients)
    for x, before in zip(args, held, strict=True):
        np.testing.assert_array_equal(x, before)
    directions = [random.normal(size=(N, N)) for _ in args]
    (slope,) = wg.ngradient(lambda t: f(*[x + t * d for x, d in zip(args, directions, strict=True)]), 0.0)
    assert sum(np.sum(g * d) for g, d in zip(found[2][1], directions, strict=True)) == pytest.approx(slope, rel=1e-6)
