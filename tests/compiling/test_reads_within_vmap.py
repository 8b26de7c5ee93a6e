"""Compiled functions whose function under vmap reads numbers from outside: the values are those of each call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.arange(12.0).reshape(4, 3) + 0.3


class Held:
    """What the functions read."""

    table: np.ndarray
    factor: float
    count: int
    index: np.ndarray
    rng: np.random.Generator


HELD = Held()


def set_all() -> None:
    HELD.table, HELD.factor, HELD.count = np.array([1.0, 2.0, 3.0]), 2.0, 1
    HELD.index, HELD.rng = np.array([0, 2]), np.random.default_rng(3)


def change_all() -> None:
    HELD.table[0] *= 1.5
    HELD.factor += 1.0
    HELD.count += 1
    HELD.index[0] = (HELD.index[0] + 1) % 3


def an_array(X):
    return wg.vmap(lambda x: np.sin(x) @ HELD.table)(X)


def a_float_and_a_default(X):
    return wg.vmap(lambda x, by=0.5: x * HELD.factor * by)(X)


def within_and_then_outside(X):
    return wg.vmap(lambda x: x @ HELD.table)(X) * np.sum(HELD.table) * HELD.factor


def outside_and_then_within(X):
    return np.sum(HELD.table) * wg.vmap(lambda x: x @ HELD.table)(X)


def by_two(X):
    return wg.vmap(lambda x: x @ HELD.table)(X) + wg.vmap(lambda x: x @ HELD.table * HELD.factor)(2 * X)


def nested(X):
    return wg.vmap(lambda x: wg.vmap(lambda z: z * HELD.table)(x) * np.sum(HELD.table) * HELD.factor)(X)


def of_gradients(X):
    return wg.vmap(wg.grad(lambda x: np.sin(x @ HELD.table) * HELD.factor))(X)


def of_hessians(X):
    return wg.vmap(wg.hessian(lambda x: np.sin(x @ HELD.table) * HELD.factor))(X)


def gradient_of(X):
    return wg.grad(lambda X: np.sum(wg.vmap(lambda x: np.sin(x @ HELD.table) * HELD.factor)(X) ** 2))(X)


def gradient_of_gradients(X):
    slopes = wg.vmap(wg.grad(lambda x: np.sin(x @ HELD.table) * HELD.factor))
    return wg.grad(lambda X: np.sum(slopes(X) ** 2))(X)


def beside_a_variable_outside(X):
    def loss(b):
        return np.sum(wg.vmap(lambda x: np.sin(x @ b) * HELD.factor + HELD.table[0])(X))

    return wg.grad(loss)(1.3 * HELD.table)


def a_view(X):
    return wg.vmap(lambda x: x[:2] @ HELD.table[1:] + HELD.table[::-1][0])(X)


def an_array_that_is_written_after(X):
    before = wg.vmap(lambda x: x @ HELD.table)(X)
    HELD.table[1] += 1.0
    return before + wg.vmap(lambda x: x @ HELD.table)(X)


def an_array_that_is_returned(X):
    return wg.vmap(lambda x: (x @ HELD.table, HELD.table * 1.0))(X)


def in_a_loop(X):
    total = np.zeros(4)
    for _ in range(40):
        total = 0.5 * total + wg.vmap(lambda x, u: np.sin(x @ HELD.table + u) * HELD.factor)(X, total)
    return total


def an_integer(X):
    return wg.vmap(lambda x: x * HELD.count)(X)


def an_integer_within_and_outside(X):
    return wg.vmap(lambda x: wg.vmap(lambda z: z * HELD.count**2)(x) + HELD.count)(X) + HELD.count


def an_integer_and_an_array(X):
    return wg.vmap(lambda x: x**HELD.count * HELD.table)(X)


def indices(X):
    return wg.vmap(lambda x: x[HELD.index] * HELD.table[HELD.index] * x[HELD.count % 3])(X)


def a_draw(X):
    return HELD.rng.normal() * wg.vmap(lambda x: x @ HELD.rng.normal(size=3))(X) + HELD.rng.uniform()


def examples_one_by_one(X):
    return wg.vmap(lambda x: x @ HELD.table if x[0] > 4.0 else x @ HELD.table * HELD.factor)(X)


def in_a_function_that_fails(X):
    try:
        return wg.vmap(lambda x: x @ HELD.table + 1 / 0)(X)
    except ZeroDivisionError:
        return X @ HELD.table


FUNCTIONS = [
    an_array, a_float_and_a_default, within_and_then_outside, outside_and_then_within, by_two, nested, of_gradients,
    of_hessians, gradient_of, gradient_of_gradients, beside_a_variable_outside, a_view, an_array_that_is_written_after,
    an_array_that_is_returned, in_a_loop, an_integer, an_integer_within_and_outside, an_integer_and_an_array, indices,
    a_draw, examples_one_by_one, in_a_function_that_fails,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_read_may_change(f: Callable[..., Any]) -> None:
    results = []
    for run in (f, wg.compile(f)):
        set_all()
        found = []
        for _ in range(5):
            with warnings.catch_warnings(action="ignore", category=wg.NoBatchingRuleWarning):
                found.append(wg.tree_leaves(run(X)))
            change_all()
        results.append(found)
    for wanted, got in zip(*results, strict=True):
        for a, b in zip(wanted, got, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12)


def test_it_stays_compiled() -> None:
    set_all()
    for f in (an_array, a_float_and_a_default, nested, of_gradients, gradient_of):
        compiled = wg.compile(f, strict=True)
        compiled(X)
        change_all()
        np.testing.assert_allclose(compiled(X), f(X), rtol=1e-12)
        assert "1 trace" in compiled.explain()


def test_writes_are_refused() -> None:
    def write(X):
        def of_one(x):
            HELD.table[0] = x[0]
            return x @ HELD.table

        return wg.vmap(of_one)(X)

    set_all()
    with pytest.raises(wg.RefusedCallError, match="from outside"):
        wg.compile(write)(X)
