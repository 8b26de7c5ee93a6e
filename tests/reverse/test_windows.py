"""Reads of views go to the array that they show: gradients as by differences, work in proportion to what is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from allocations import allocations
from cheap_gradients import entries_of_rows, entries_of_views

import wengert as wg

A = np.arange(1.0, 13.0).reshape(3, 4) / 7
WEIGHTS = np.cos(np.arange(12.0)).reshape(3, 4)


def of_rows(a: Any) -> Any:
    return sum([a[i][j] * WEIGHTS[i, j] for i in range(3) for j in range(4)])


def of_transposes(a: Any) -> Any:
    return sum([a.T[j][i] ** 2 * WEIGHTS[i, j] for i in range(3) for j in range(4)])


def of_views_of_views(a: Any) -> Any:
    total = 0.0
    for k in range(3):
        total = total + np.exp(a[::-1][k:][0][1::2][-1]) + a[:, None, ::-2][k, 0][1] ** 3
    return total


def of_shapes(a: Any) -> Any:
    flat = np.sum([a.reshape(4, 3)[k][k] * a.ravel()[k + 2] * a.reshape(-1)[k] for k in range(3)])
    return flat + np.expand_dims(a, 0)[0][1][2] * np.swapaxes(a, 0, 1)[3][0] * np.flip(a)[0][1]


def of_orders(a: Any) -> Any:
    """By columns, which are in order in some arrays and not in their cotangents."""
    return sum([a.ravel("F")[k] * (k + 1) + np.reshape(a, (12,), "F")[k] ** 2 + a.T.ravel()[k] ** 3 for k in range(5)])


def of_all_and_parts(a: Any) -> Any:
    """A view read as a whole, before and after entries of it are."""
    row = a[1]
    total = np.sum(row**2) + row[2] ** 2
    return total + np.sum(row * WEIGHTS[2]) * row[0] + np.sum(a**3) * a[1][3]


def of_repeated_places(a: Any) -> Any:
    return sum([np.sum(a[i][[0, 1, 1, 3]] ** 2 * a[i][np.array([True, False, True, True])].sum()) for i in range(3)])


def of_a_shrinking_view(a: Any) -> Any:
    x, total = a.ravel(), 1.0
    while len(x):
        total = total * 0.5 + x[0] ** 2
        x = x[1:]
    return total


def of_written_memory(a: Any) -> Any:
    b = a * 1.0
    row = b[1]
    total = row[0] * row[1]
    b[1, 1:] = row[0] * a[0][1]
    total = total + row[1] * row[2] + b[1][3]
    row[0] = b[2][3] ** 2
    return total + b[1][0] * row[3]


def of_copies(a: Any) -> Any:
    """What is no view of its argument: by an array of places, of an order that memory has not."""
    return sum([a[[2, 0, 2]][k][1] ** 2 + a.T.reshape(2, 6)[1][k] * a[a > 0.5][k] for k in range(3)])


PROGRAMS = [
    of_rows, of_transposes, of_views_of_views, of_shapes, of_orders, of_all_and_parts, of_repeated_places,
    of_a_shrinking_view, of_written_memory, of_copies,
]  # fmt: skip
each = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


@each
@pytest.mark.parametrize("order", ["C", "F"])
def test_gradients(f: Any, order: Any) -> None:
    a = np.array(A, order=order)
    (expected,) = wg.ngradient(f, a)
    np.testing.assert_allclose(wg.grad(f)(a), expected, rtol=1e-7, atol=1e-9)
    _, pullback = wg.vjp(f, a)
    for _ in range(2):
        np.testing.assert_array_equal(pullback(1.0)[0], wg.grad(f)(a))


@each
def test_with_other_ways_to_add(f: Any) -> None:
    expected = wg.grad(f)(A)
    for options in ({"add": "plus"}, {"add": "in place"}, {"strategy": "pass through"}):
        with wg.accumulation_options(**options):
            np.testing.assert_allclose(wg.grad(f)(A), expected, rtol=1e-13)


@each
def test_inside_checkpoints(f: Any) -> None:
    """Slots are used again, by other entries."""

    def g(a: Any) -> Any:
        b = np.sin(a)
        return wg.checkpoint(f)(b) * b[0][1] + wg.checkpoint(lambda b: f(b[::-1] * 2) + b[0][1])(b) + b[2][1]

    np.testing.assert_allclose(wg.grad(g)(A), wg.ngradient(g, A)[0], rtol=1e-6, atol=1e-8)


@each
def test_second_derivatives(f: Any) -> None:
    def g(a: Any) -> Any:
        return np.sum(wg.grad(f)(a) * WEIGHTS)

    np.testing.assert_allclose(wg.grad(g)(A), wg.ngradient(g, A)[0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [entries_of_rows, entries_of_views, of_a_shrinking_view], ids=lambda f: f.__name__)
def test_one_buffer_for_all_views(f: Any) -> None:
    x = np.linspace(0.1, 0.9, 900)
    wg.grad(f)(x)
    with allocations(200) as count:
        wg.grad(f)(x)
    assert count.arrays == 1


def test_the_place_in_a_view_is_asked_again_on_a_tape() -> None:
    def f(x: Any) -> Any:
        later = x[1:]
        return later[np.argmax(later)] ** 2

    a, b = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 4.0, 3.0, 2.0])
    tape = wg.trace(lambda x: wg.grad(f)(x), a)[1]
    np.testing.assert_array_equal(tape.play(a), [0, 0, 0, 8])
    np.testing.assert_array_equal(tape.play(b), [0, 8, 0, 0])
