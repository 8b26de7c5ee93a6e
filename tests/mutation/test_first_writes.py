"""The first traced values that memory gets: by a store, an update or a call, into memory with or without variables.

The oracles are differences of the same function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([0.7, -1.2, 2.0])


def an_element(x: Any) -> Any:
    y = np.full(4, 0.5)
    y[2] = x[1] * x[0]
    return y, y[2] * x[0]


def an_element_at_two_indices(x: Any) -> Any:
    y = np.full((2, 3), 0.5)
    y[1, np.int64(2)] = x[1]
    return y, y[1] @ x


def a_slice_whose_old_numbers_a_pullback_reads(x: Any) -> Any:
    y = np.array([1.0, 2.0, 3.0, 4.0])
    product = y[:3] * x
    y[1:4] = x
    return y, product


def an_update_of_constants(x: Any) -> Any:
    y = np.array([1.0, 2.0, 3.0, 4.0])
    y[1:4] += x
    y[:3] -= x * y[1]
    return y, y[0]


def a_product_into_constants(x: Any) -> Any:
    y = np.array([1.0, 2.0, 3.0, 4.0])
    y[1:4] *= x
    y[:2] **= 2
    return y, y[1:] / x


def a_number_into_a_part_of_a_result(x: Any) -> Any:
    y = x * x
    y[1] = 3.0
    y[1:] += 2.0
    return y, np.exp(y[1:])


def an_update_of_a_part_of_an_argument(x: Any) -> Any:
    part = x[1:]
    x[0:2] *= x[2]
    part[1:] += x[0]
    return x, part


def a_store_that_fails_first(x: Any) -> Any:
    y = np.full(4, 0.5)
    for k in (7, 1):
        try:
            y[k] = x[0] * x[1]
        except IndexError:
            y = y * 2.0
    return y, y[1] * x[2]


def an_array_into_itself_moved(x: Any) -> Any:
    y = np.array([1.0, 2.0, 3.0, 4.0])
    y[1:] = y[:3] * x
    y[:3] = y[1:]
    return y, x


FUNCTIONS = [
    an_element, an_element_at_two_indices, a_slice_whose_old_numbers_a_pullback_reads, an_update_of_constants,
    a_product_into_constants, a_number_into_a_part_of_a_result, an_update_of_a_part_of_an_argument,
    a_store_that_fails_first, an_array_into_itself_moved,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_first_values_in_memory_have_their_derivatives(f: Any) -> None:
    def loss(x: Any) -> Any:
        written, beside = f(x.copy())
        return np.sum(np.sin(written) * np.arange(1.0, written.size + 1).reshape(written.shape)) + np.sum(beside**2)

    value, gradient = wg.value_and_grad(loss)(X)
    assert value == loss(X)
    np.testing.assert_allclose(gradient, wg.ngradient(loss, X)[0], rtol=1e-6, atol=1e-8)
    assert wg.jvp(loss, (X,), (np.ones(3),))[1] == pytest.approx(np.sum(gradient), rel=1e-9)
    products = wg.hvp(loss, X, np.ones(3))
    moved = [wg.grad(loss)(X + step)[:] for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(products, (moved[0] - moved[1]) / 2e-6, rtol=1e-5, atol=1e-6)
