"""Stores by slices into written arrays, in loops and over each other, against complex steps."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

KEYS: dict[str, Any] = {
    "a part": slice(1, 4),
    "a step": slice(0, None, 2),
    "backwards": slice(4, 0, -1),
    "one": slice(2, 3),
    "none": slice(3, 3),
    "all": slice(None),
    "all backwards": slice(None, None, -1),
    "an ellipsis": ...,
    "from the end": slice(-3, None),
    "a new axis": (None, slice(1, 4)),
    "beyond": slice(2, 100),
}


def by_complex_step(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    return np.array([f(x + 1e-20j * e).imag for e in np.eye(len(x))]) / 1e-20


ORDERS = {"another order": np.array([3, 0, 5, 1, 4, 2]), "all by a mask": np.ones(6, bool)}


@pytest.mark.parametrize("key", [*KEYS.values(), *ORDERS.values()], ids=[*KEYS, *ORDERS])
@pytest.mark.parametrize("begun", [False, True], ids=["new", "written"])
def test_a_store_by_a_slice(key: Any, begun: bool) -> None:
    def f(x: Any) -> Any:
        y = np.zeros(6, dtype=x.dtype)
        if begun:
            y[...] = np.cos(x)
            y[0] = x[1] * x[2]
        before = np.sin(y)
        y[key] = y[key] * x[3] + np.exp(x[key])
        y[2] = y[3] * x[0]
        y[key] = 2.0 * x[key]
        y[key] = y[key] * x[1]
        return np.sum(y**2 * x) + np.sum(before * y)

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.hessian(f)(x) @ x, wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-11)


@pytest.mark.parametrize("key", [1, (0, slice(1, 3)), (slice(None), 1), (slice(0, 2), slice(1, None)), (..., 2)])
def test_a_store_by_a_slice_of_a_matrix(key: Any) -> None:
    def f(x: Any) -> Any:
        a = np.zeros((3, 4), dtype=x.dtype)
        a[0] = x[:4]
        a[key] = a[key] + x[2] * x[3]
        a[1:, ::2] = a[:2, 1::2] * x[0]
        a[key] = a[key] ** 2
        return np.sum(a * np.sin(a))

    x = np.linspace(0.3, 1.4, 6)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12, atol=1e-15)


def test_stores_of_arrays_with_more_axes_than_the_part() -> None:
    def f(x: Any) -> Any:
        a, y = np.zeros((3, 4), dtype=x.dtype), x * x[1]
        y[:3] = x[3:4][None]
        y[[0, 1]] = x[2:3][None, None] * y[4]
        np.copyto(y[2:5], x[1:2][None])
        a[1:] = x[:2][None, :, None]
        a[0, :2] = x[5:][None]
        return np.sum(a * np.sin(a)) + np.sum(y * y * x)

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.hessian(f)(x) @ x, wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-11)


def test_windows_that_move_over_each_other() -> None:
    def f(x: Any) -> Any:
        y = np.ones(9, dtype=x.dtype)
        for k in range(6):
            y[k : k + 3] = y[k + 1 : k + 4] * x[k]
            y[k + 1 : k + 4] = y[k : k + 3] + x[k : k + 3] if k < 4 else x[k]
            y[k:] = y[: 9 - k]
        return np.sum(y * y)

    x = np.linspace(0.3, 1.4, 6)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)


def test_views_that_are_read_before_and_after_stores_into_the_whole() -> None:
    def f(x: Any) -> Any:
        y, z = np.zeros((3, 6), dtype=x.dtype), np.cos(x)
        y[0] = x
        row, part = y[1], z[1:4]
        for k in range(2):
            y[k + 1] = np.sin(y[k]) * z
            z[:] = y[k + 1] * row
            part *= row[:3] * y[k, 2]
            z[...] = z * part[0]
            y[:] = y * 0.5 + z
        return np.sum(y * z) + np.sum(row * row) + part[1]

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-12)
    np.testing.assert_allclose(wg.hessian(f)(x) @ x, wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-11)


def test_a_store_that_fails_changes_nothing() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(6)
        y[1:4] = x[0]
        with pytest.raises(ValueError, match="could not broadcast"):
            y[1:4] = x[:2]
        with pytest.raises(IndexError):
            operator.setitem(y, (slice(1, 4), 0), x[1])
        return np.sum(y)

    assert np.array_equal(wg.grad(f)(np.ones(6)), [3.0, 0.0, 0.0, 0.0, 0.0, 0.0])


UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "**=": operator.ipow,
}
OPERANDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "an array": lambda x, y, like: np.cos(x[: len(like)]),
    "a constant array": lambda x, y, like: np.linspace(0.5, 1.5, len(like)),
    "a number": lambda x, y, like: x[2],
    "a constant": lambda x, y, like: 1.5,
    "an integer": lambda x, y, like: 2,
    "an array of one": lambda x, y, like: x[1:2],
    "itself": lambda x, y, like: like,
    "its neighbours": lambda x, y, like: y[max(5 - len(like), 0) :][: len(like)],
    "its mirror image": lambda x, y, like: like[::-1],
}


@pytest.mark.parametrize("key", [*(key for name, key in KEYS.items() if name != "a new axis"), None], ids=str)
@pytest.mark.parametrize("operand", OPERANDS.values(), ids=OPERANDS)
@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
def test_an_update_of_a_slice(update: Callable[[Any, Any], Any], operand: Callable[..., Any], key: Any) -> None:
    def f(x: Any) -> Any:
        y = np.zeros(6, dtype=x.dtype)
        y[...] = 1.0 + np.cos(x)
        y[0] = x[1] * x[2]
        part = y[1:4]
        before, product = np.sin(y), y * part[1]  # which keep what is overwritten
        for _ in range(2):
            if key is None:
                y = update(y, operand(x, y, y))
            else:
                y[key] = update(y[key], operand(x, y, y[key]))
            y[2] = y[3] * x[0]
            part[1:] = update(part[1:], x[3])
        return np.sum(y * x) + np.sum(before * y) + np.sum(product * part[0]) + part[2]

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    assert wg.value_and_grad(f)(x)[0] == f(x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-11)


def test_a_users_rule_for_differences_is_asked() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(6)
        y[0] = x[0]
        y[1:4] -= x[:3]
        return np.sum(y)

    x = np.linspace(0.3, 1.4, 6)
    for fn, rule, slopes in (
        (operator.sub, lambda y, a, b: (1.0, -10.0), [-9.0, -10.0, -10.0, 0.0, 0.0, 0.0]),
        (operator.neg, lambda y, a: (-10.0,), [0.0, -1.0, -1.0, 0.0, 0.0, 0.0]),
    ):
        with wg.rules.scope() as rules:
            rules.remove(fn)
            wg.partials(fn)(rule)
            assert np.array_equal(wg.grad(f)(x), slopes)
        assert np.array_equal(wg.grad(f)(x), [0.0, -1.0, -1.0, 0.0, 0.0, 0.0])


def test_updates_in_inner_derivatives_and_views_of_views() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(8, dtype=x.dtype)
        y[1:7] = x

        def inner(z: Any) -> Any:
            w = np.ones(6)
            w[2] = z[0]
            w[1:5] += z[:4]
            w[:3] *= y[2:5]
            return np.sum(w**2)

        y[2:6] += wg.grad(inner)(x)[:4]
        rows = y.reshape(2, 4)
        rows[1] -= x[2:]
        rows[:, 1:3] *= rows[:, 2:]
        corner = rows[0][1:]
        corner += x[0]
        return np.sum(y * y)

    def plain(x: np.ndarray) -> Any:
        y = np.zeros(8, dtype=x.dtype)
        y[1:7] = x
        w = np.ones(6, dtype=x.dtype)
        w[2] = x[0]
        w[1:5] += x[:4]
        w[:3] *= y[2:5]
        gradient = 2 * w
        gradient[:3] *= y[2:5]
        slope = np.zeros(6, dtype=x.dtype)
        slope[:4] += gradient[1:5]
        slope[0] += gradient[2]
        y[2:6] += slope[:4]
        rows = y.reshape(2, 4)
        rows[1] -= x[2:]
        rows[:, 1:3] *= rows[:, 2:]
        rows[0][1:] += x[0]
        return np.sum(y * y)

    x = np.linspace(0.3, 1.4, 6)
    np.testing.assert_allclose(f(x), plain(x), rtol=1e-12)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(plain, x), rtol=1e-11)


def test_an_update_that_numpy_refuses_changes_nothing() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(6)
        y[1] = x[0]
        for wrong in (lambda: operator.iadd(y[1:4], x), lambda: operator.setitem(y, slice(1, 4), x)):
            with pytest.raises(ValueError, match="broadcast"):
                wrong()
        frozen = y[1:4]
        frozen.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            frozen += x[:3]
        y[1:4] += x[:3]
        return np.sum(y * y)

    x = np.linspace(0.3, 1.4, 6)
    expected = np.array([8 * x[0], 2 * x[1], 2 * x[2], 0.0, 0.0, 0.0])
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-12)


@pytest.mark.parametrize("copies", [False, True])
def test_numpy_overwrites_what_it_has_not_read(copies: bool) -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y[1:5] = y[0:7:2].copy() if copies else y[0:7:2]
        return np.sum(y * y)

    x = np.linspace(0.3, 1.4, 8)
    if copies:
        np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)
    else:
        with pytest.raises(wg.RefusedCallError, match=r"before it reads them.*copy\(\)"):
            wg.grad(f)(x)


def test_steps_that_numpy_reads_in_time() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y[0:4] = y[0:7:2]
        y[7:3:-1] = y[0:4]
        y[::2] = y[3]
        return np.sum(y * y * np.arange(8))

    x = np.linspace(0.3, 1.4, 8)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)


def _updates_of_a_kept_view(x: Any, y: Any) -> Any:
    part = y[2:6]
    total = 0.0
    for k in range(4):
        part += x[1:5] * k
        y[k] = y[k + 1] * x[0]
        total = total + np.sum(part**2)
        part -= x[k]
        part[1:3] += part[:2]
        y[2:6] = part
        part *= x[:4]
    return total


def _reshaped_below_a_view(x: Any, y: Any) -> Any:
    y = y[:8] * x[2]
    y.shape = (1, 8)
    y[0, 0] = x[1]
    key = (0, slice(0, 2))
    part = y[key]
    part += x[1]
    y.shape = (4, 2)
    part += x[:2]
    y[key] += part * x[3]
    y[1, :] = y[0] * x[4]
    part *= x[2:4]
    y[key] = part
    return np.sum(y**3)


def _view_reshaped(x: Any, y: Any) -> Any:
    part = y[1:5]
    part += x[:4]
    part.shape = (2, 2)
    part += x[:2]
    part += x[:4].reshape(2, 2)
    y[1:3] += part[1]
    part.shape = (4,)
    part += x[2:6]
    return np.sum(part * y[:4])


def _key_moved_under_a_shape(x: Any, y: Any) -> Any:
    y = np.concatenate([y[:8], x, x[:2]]) * x[0]
    y.shape = (2, 8)
    y[0, 0] = x[1]
    key = (1, slice(0, 2))
    part = y[key]
    part += x[1]
    y.shape = (4, 4)
    y[key] = part
    part += x[2:4]
    y[key] += part
    return np.sum(y**2 * np.arange(16).reshape(4, 4))


def _operands_over_the_part(x: Any, y: Any) -> Any:
    for k in range(3):
        y[k : k + 4] += y[k + 1 : k + 5]
        y[k : k + 4] += y[k : k + 4][::-1] * x[k]
        y[k + 2 : k + 4] += y[k]
    return np.sum(np.sin(y))


@pytest.mark.parametrize(
    "update",
    [
        _updates_of_a_kept_view,
        _reshaped_below_a_view,
        _view_reshaped,
        _key_moved_under_a_shape,
        _operands_over_the_part,
    ],
)
@pytest.mark.parametrize("captured", [False, True])
def test_updates_of_views_that_are_kept(update: Callable[[Any, Any], Any], captured: bool) -> None:
    def f(x: Any) -> Any:
        y = np.zeros(9, dtype=x.dtype)
        y[:6] = np.cos(x)
        y[7] = x[1] * x[2]
        kept = np.sin(y) * y[0] if captured else 0.0
        return update(x, y) + np.sum(y * y) + np.sum(kept)

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    assert wg.value_and_grad(f)(x)[0] == f(x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-11)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-11)
    np.testing.assert_allclose(wg.hessian(f)(x) @ x, wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-10)


def test_stores_of_complex_numbers() -> None:
    def powers(p: Any) -> Any:
        z = np.zeros((2, 5), dtype=complex)
        z[0, 0], z.imag[1, :2] = p[0], p[0]
        z[1, 1] = z[1, 1] * 2.0
        factor = p[1] + 1j * p[2]
        for i in range(4):
            z[0, i + 1] = z[0, i] * factor
            z[1, i + 1] = z[0, i + 1] / factor * 1j
            z[1, 1:3] = z[0, 1:3] * 2j
        return np.abs(z[0, -1]) ** 2 + z[1, -1].real

    def expected(p: Any) -> Any:  # |z|² = p₀² |factor|⁸, and Re(i p₀ factor³)
        a, b = p[1], p[2]
        return p[0] ** 2 * (a**2 + b**2) ** 4 + p[0] * (b**3 - 3.0 * a**2 * b)

    p = np.array([1.3, 0.8, -0.5])
    np.testing.assert_allclose(powers(p), expected(p), rtol=1e-14)
    np.testing.assert_allclose(wg.grad(powers)(p), by_complex_step(expected, p), rtol=1e-12)
    np.testing.assert_allclose(wg.jvp(powers, (p,), (p,))[1], by_complex_step(expected, p) @ p, rtol=1e-12)
    np.testing.assert_allclose(wg.hessian(powers)(p), wg.hessian(expected)(p), rtol=1e-11)
