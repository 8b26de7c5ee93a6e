"""Compiled functions that draw integers and shuffle: they draw what the plain function draws, in the same order."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Data:
    """Rows to choose from, with generators."""

    def __init__(self) -> None:
        self.rng, self.old = np.random.default_rng(0), np.random.RandomState(1)
        self.rows, self.y = np.random.default_rng(5).normal(size=(6, 3)), np.linspace(0.0, 1.0, 6)
        self.order, self.chosen = np.arange(6), None

    def state(self) -> Any:
        arrays = [part.tolist() for part in (self.rows, self.y, self.order)]
        return self.rng.bit_generator.state, self.old.get_state()[2], arrays, str(self.chosen)


def batch(d: Any, x: Any) -> Any:
    rows = d.rng.integers(0, 6, size=2)
    return np.sum((d.rows[rows] @ x - d.y[rows]) ** 2)


def without_replacement(d: Any, x: Any) -> Any:
    d.chosen = d.rng.choice(6, 3, replace=False, p=np.ones(6) / 6)
    return np.sum((d.rows[d.chosen] @ x) ** 2)


def an_epoch(d: Any, x: Any) -> Any:
    order, total = d.rng.permutation(6), 0.0
    for k in range(0, 6, 2):
        total = total + np.sum((d.rows[order[k : k + 2]] @ x) ** 2) * (k + 1)
    return total


def permuted_floats(d: Any, x: Any) -> Any:
    return np.sum(d.rng.permutation(d.y) * np.arange(6.0)) * x[0]


def shuffles_integers(d: Any, x: Any) -> Any:
    d.rng.shuffle(d.order)
    return np.sum((d.rows[d.order[:2]] @ x) ** 2)


def shuffles_rows(d: Any, x: Any) -> Any:
    d.old.shuffle(d.rows)
    return np.sum((d.rows[:2] @ x) ** 2)


def shuffles_its_own(d: Any, x: Any) -> Any:
    order = np.arange(3)
    d.rng.shuffle(order)
    return np.sum(x * order)


def an_index(d: Any, x: Any) -> Any:
    k = d.rng.integers(3)
    return x[k] ** 2 * np.sum(x) * k


def in_a_loop(d: Any, x: Any) -> Any:
    total = 0.0
    for _ in range(4):
        k = d.old.randint(6)
        total = total + (d.rows[k] @ x - d.y[k]) ** 2
    return total


def a_branch(d: Any, x: Any) -> Any:
    return np.sum(x) if d.rng.integers(2) else np.prod(x)


def a_number_of_iterations(d: Any, x: Any) -> Any:
    total = 0.0
    for _ in range(d.rng.integers(1, 4)):
        total = total + np.sum(x * x)
    return total


def counts(d: Any, x: Any) -> Any:
    return np.sum(d.rng.poisson(3.0, size=3) * x) + np.sum(np.bincount(d.rng.integers(0, 3, 8), minlength=3) * x**2)


def changes_them(d: Any, x: Any) -> Any:
    rows = d.rng.integers(0, 3, 3, dtype=np.uint8)
    rows += 1
    rows %= 3
    return np.sum(x[rows] * [1.0, 2.0, 3.0])


def of_numpy(d: Any, x: Any) -> Any:
    return np.sum(x[np.random.randint(0, 3, size=2)]) * np.random.randint(1, 4)  # noqa: NPY002


COMPILED = [
    batch, without_replacement, an_epoch, permuted_floats, shuffles_integers, shuffles_rows, shuffles_its_own, an_index,
    in_a_loop, a_branch, a_number_of_iterations, counts, changes_them, of_numpy,
]  # fmt: skip


def shuffles_a_list(d: Any, x: Any) -> Any:
    order = [0, 1, 2]
    d.rng.shuffle(order)
    return x[order[0]] * 2.0


def shuffles_twice(d: Any, x: Any) -> Any:
    order = np.arange(3)
    d.rng.shuffle(order)
    d.rng.shuffle(order)
    return np.sum(x * order)


RIGHT_ALL_THE_SAME = [shuffles_a_list, shuffles_twice]


@pytest.mark.parametrize("transform", [lambda f: f, wg.grad, wg.hessian], ids=["value", "gradient", "hessian"])
@pytest.mark.parametrize("f", [*COMPILED, *RIGHT_ALL_THE_SAME], ids=lambda f: f.__name__)
def test_compiled_code_draws_what_the_function_draws(f: Any, transform: Any) -> None:
    theirs, mine = Data(), Data()
    compiled = wg.compile(transform(lambda x: f(mine, x)), exact=True)
    with warnings.catch_warnings(action="ignore", category=wg.WengertWarning):
        for k in range(12):
            x = np.array([1.0, 2.0, -0.5]) + 0.1 * k
            np.random.seed(k)  # noqa: NPY002
            expected = transform(lambda x: f(theirs, x))(x)
            np.random.seed(k)  # noqa: NPY002
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-12)
            assert mine.state() == theirs.state()
    assert ("runs uncompiled" in compiled.explain()) == (f in RIGHT_ALL_THE_SAME), compiled.explain()
