"""Code that writes into views compiles for arguments of each memory layout; reads of its memory become slices."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.windows import shown_part

R = np.random.default_rng(8)
X, W = R.normal(size=(3, 4)), R.normal(size=(3, 4))


def strided(a):
    return np.repeat(a, 2, axis=1)[:, ::2]


def backwards(a):
    return a[::-1]


LAYOUTS = [(np.copy, np.copy), (np.asfortranarray, np.asfortranarray), (strided, np.copy), (backwards, np.copy)]


def through_a_reshaped_product(x, w):
    y = x * w
    flat = y.reshape(-1)  # a view of y if that lies in rows
    for k in range(12):
        flat[k] *= 2.0
    return np.sum(y**2 * np.arange(12.0).reshape(3, 4))


def through_a_flat_copy(x, w):
    y, total = x + 0.0, 0.0
    for k in range(12):
        flat = np.ravel(y[k % 3 :])
        flat[0] = w[0, 0] * k
        total = total + np.sum(y * w)
    return total


SCALES = np.array([1.0, 3.0, 2.0])


def centred(x, w):
    y = np.array(x)
    y.T[1:] -= (y.T @ SCALES)[1:, None] * w[0, 0]
    return np.sum(y**3 * w)


@pytest.mark.parametrize("f", [through_a_reshaped_product, through_a_flat_copy, centred], ids=lambda f: f.__name__)
def test_gradients_are_right_for_arguments_of_each_layout(f):
    compiled = wg.compile(wg.grad(f, argnums=(0, 1)))
    for lay_x, lay_w in LAYOUTS + LAYOUTS[:1]:
        x, w = lay_x(X), lay_w(W)
        np.testing.assert_allclose(compiled(x, w), wg.ngradient(f, x, w), rtol=1e-5, atol=1e-7)


def through_flat_views_of_copies(x):
    total = 0.0
    for _ in range(40):
        y = np.array(x * (1.0 + total))
        np.ravel(y)[:] *= 0.5  # writes into y if that lies in rows
        total = total + np.sum(y**3) * 1e-2
    return total


def test_loops_ask_about_the_memory_of_arrays_not_of_stored_copies():
    compiled = wg.compile(through_flat_views_of_copies, native=False, strict=True)
    for x in (strided(X), strided(X.T).T, strided(X) * 2.0):
        np.testing.assert_allclose(compiled(x), through_flat_views_of_copies(x), rtol=1e-12)


def covariances(p, x):
    total = 0.0
    for k in range(12):
        total = total + np.linalg.det(np.cov(x[k : k + 9] * p, rowvar=False) + np.eye(3))
    return total


def test_covariances_in_a_loop_are_one_loop_of_plain_operations():
    p, x = 1.0 + R.random(3), R.normal(size=(20, 3))
    compiled = wg.compile(wg.grad(covariances))
    np.testing.assert_allclose(compiled(p, x), wg.ngradient(covariances, p, x)[0], rtol=1e-6)
    assert "for " in compiled.source() and "as_strided" not in compiled.source()


def test_no_array_replaces_one_whose_strides_a_reverse_pass_asks_for():
    def f(x, y):
        u, low = y * 1.0, 0.0  # y has other strides
        for v in u:
            low = 0.5 if v > 0.2 else low
        m = np.outer(x, x)
        m[[0, 1]] = m[[1, 0]]
        u[x > 0] = low
        return np.sum(x) + np.sum(u)

    g = wg.compile(wg.grad(f), strict=True, native=False)
    x, y = np.array([-1.0, 0.5, 0.3, -0.2]), np.array([0.1, 0.0, 0.5, 0.0] * 2)[::2]
    np.testing.assert_array_equal(g(x, y), np.ones(4))


def test_a_window_is_the_part_that_it_shows():
    found = 0
    for _ in range(200):
        base = np.arange(120.0).reshape(R.permutation([2, 3, 4, 5]))
        view = base.transpose(R.permutation(4))[1:, :, 1:3, R.integers(2) :]
        part = shown_part(base.ravel(), view.ctypes.data - base.ctypes.data, view.shape, view.strides)
        if part is not None:
            shown = base.ravel().reshape(part.dense)[part.key].transpose(part.axes).reshape(part.shape)
            np.testing.assert_array_equal(shown, view)
            found += 1
    assert found > 150
