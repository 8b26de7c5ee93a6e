"""Steps back through reads and stores of single elements, against differences of the plain function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


def overwritten(x: Any) -> Any:
    a = np.zeros(4)
    a[0] = x[0]
    a[1] = a[0] * x[1]
    a[0] = 3.0
    a[-3] = a[1] * a[1] + a[0]
    return a[1] * x[2] + a[0] + a[-3]


def in_a_chain(x: Any) -> Any:
    a = np.zeros(9)
    a[0] = x[0]
    for i in range(1, 9):
        a[i] = a[i - 1] * x[i % 3] + a[i // 2]
    return a[8] * a[3]


def with_integers(x: Any) -> Any:
    a = x * 2.0
    a[1] = 1
    return np.sum(a * a) + a[1] * a[2]


def through_views(x: Any) -> Any:
    a = np.zeros((2, 3))
    row, column = a[1], a[:, 2]
    row[0] = x[0] * x[1]
    column[1] = row[0] * x[2]
    a[0, 2] = column[1]
    return np.sum(a**2) + row[2] * column[0]


def read_twice(x: Any) -> Any:
    y = np.sin(x)
    z = y[0] * y[1]
    y[1] = z
    return y[1] * y[0] + y[2] * y[2] + np.sum(y)


def of_complex_numbers(x: Any) -> Any:
    a = np.zeros(3, complex)
    a[0] = x[0]
    a[1] = a[0] * x[1] * 1j
    return abs(a[1] + a[0]) ** 2 + x[2]


def in_a_table(x: Any) -> Any:
    a = np.zeros((3, 4), order="F")
    a[0, :] = x[0]
    for i in range(1, 3):
        for j in range(4):
            a[i, j] = x[np.int64(i)] * a[i - 1, np.int64(j)] + a[np.int64(-1), j - 1]
    a[1, 2] = 7.0
    a[2, 1] = a.T[3, 2] * a[1, 1]
    return a[2, 3] * a[0, 0] + np.sum(a * a)


def without_axes(x: Any) -> Any:
    a = np.zeros(())
    a[()] = x[0]
    a[()] = a[()] * x[1]
    return a[()] * x[2]


def in_views(x: Any) -> Any:
    total, table = 0.0, np.outer(np.sin(x), x)
    for k in range(3):
        row, column = table[k], table[:, k]
        total = total + np.sum(row * column) + np.sum(table[k:, None] ** 2) + row[-1] * np.sum(table[..., 1:])
    a = np.zeros(6)
    for k in range(4):
        a[k : k + 2] += x[k % 2 : k % 2 + 2] * (k + 1.0)
        a[k + 2] = np.sum(a[k::2] ** 2)
    return total + a[5] + np.sum(a[::-1] * np.arange(6.0))


def in_complex_views(x: Any) -> Any:
    a = np.outer(np.asarray(x), np.array([1.0, 1j, -2.0]))
    total = 0.0
    for k in range(3):
        total = total + np.sum(np.abs(a[k] * a[k:, 1:2]) ** 2) + np.sum(x[k:]) * np.sum(x[:k])
    return total


FUNCTIONS = [
    overwritten, in_a_chain, with_integers, through_views, read_twice, of_complex_numbers, in_a_table, without_axes,
    in_views, in_complex_views,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("form", [np.asarray, lambda x: [*map(float, x)]], ids=["array", "floats"])
def test_elements_that_are_written_and_read(f: Callable[..., Any], form: Callable[..., Any]) -> None:
    if form is not np.asarray and f in (with_integers, read_twice, in_views, in_complex_views):
        pytest.skip("computes with the array")
    x = np.array([0.7, 1.3, -0.4])
    step = 1e-6 * np.eye(3)
    expected = [(f(x + d) - f(x - d)) / 2e-6 for d in step]
    for gradient in (wg.grad(f), lambda x: wg.jacrev(f)(x), wg.compile(wg.grad(f))):
        np.testing.assert_allclose(np.asarray(gradient(form(x))), expected, rtol=1e-7, atol=1e-8)
    second = np.array([np.subtract(wg.grad(f)(x + d), wg.grad(f)(x - d)) / 2e-6 for d in step])
    np.testing.assert_allclose(wg.hessian(f)(x), second, rtol=1e-6, atol=1e-7)


def test_a_single_precision_vector_keeps_its_rounding() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(3, np.float32)
        a[0] = x
        a[1] = a[0] * a[0]
        return a[1] * 3.0

    assert wg.grad(f)(0.5) == 3.0


@pytest.mark.parametrize(
    ("argnums", "expected"), [(0, 12.0), ((0, 1), ((12.0, 6.0), (6.0, 0.0))), ((1, 0), ((0.0, 6.0), (6.0, 12.0)))]
)
def test_the_hessian_of_one_number_in_each_order_of_arguments(argnums: Any, expected: Any) -> None:
    found = wg.hessian(lambda x, y: x**2 * y, argnums=argnums)(3.0, 6.0)
    assert found == expected


def test_the_hessian_of_more_than_one_number_has_the_shape_of_the_result_in_front() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(wg.hessian(lambda x: x**3)(x)[1], [[0.0, 0.0], [0.0, 12.0]])
    assert wg.hessian(lambda x: (np.sum(x**2),))(x)[0].tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert not wg.hessian(lambda x: np.sum(x))(x).any()
