"""Filters of scipy.ndimage in more calls: ties, results written into arrays, second derivatives, closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as nd
from sampling import values

import wengert as wg

IMAGE = values(5, 6, low=-1)


@pytest.mark.parametrize("f", [nd.maximum_filter, nd.minimum_filter, nd.median_filter])
def test_elements_that_tie_share_equally(f: Callable[..., Any]) -> None:
    x = np.ones(7)
    seed = np.arange(7.0)
    found = wg.vjp(lambda x: f(x, 3, mode="wrap"), x)[1](seed)[0]
    np.testing.assert_allclose(found, (np.roll(seed, 1) + seed + np.roll(seed, -1)) / 3)
    np.testing.assert_allclose(wg.jvp(lambda x: f(x, 3, mode="wrap"), (x,), (seed,))[1], found)


def test_a_result_is_written_where_it_is_asked_for() -> None:
    def blurred(x: Any, by_position: bool) -> Any:
        made = np.empty(x.shape)
        y = x * x
        given = nd.correlate1d(y, [1.0, 2.0], 0, made) if by_position else nd.uniform_filter1d(y, 3, output=made)
        assert given is made
        return np.sum(np.cos(made) * x)

    for by_position in (True, False):
        wg.check_grads(lambda x: blurred(x, by_position), IMAGE)


@pytest.mark.parametrize("mode", ["reflect", "nearest", "grid-wrap"])
def test_second_derivatives_of_places(mode: str) -> None:
    """Of a cubic spline, against differences of the first."""

    def slope(at: Any) -> Any:
        return wg.grad(lambda at: np.sum(np.sin(nd.map_coordinates(IMAGE, at, mode=mode))))(at)

    at = values(2, 3, low=0.13, high=3.7)
    wg.check_grads(lambda at: np.sum(slope(at) * np.cos(at)), at)


def test_a_shift_of_a_wave_has_the_slope_of_the_wave() -> None:
    wave = np.sin(2 * np.pi * np.arange(64) / 64)
    found = wg.jacfwd(lambda by: nd.shift(wave, by, order=5, mode="grid-wrap"))(0.3)
    expected = -2 * np.pi / 64 * np.cos(2 * np.pi * (np.arange(64) - 0.3) / 64)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_what_lies_beyond_has_no_derivative() -> None:
    outside = np.array([[-3.0, 9.0], [1.0, 2.0]])
    found = wg.grad(lambda x, at: np.sum(nd.map_coordinates(x, at, order=1, cval=2.0)), argnums=(0, 1))(IMAGE, outside)
    assert not np.any(found[0]) and not np.any(found[1])


def test_the_width_of_a_kernel_has_a_derivative() -> None:
    """That of a Gaussian of a wave: its height falls as exp(-σ²k²/2)."""
    k = 2 * np.pi / 32
    wave = np.cos(k * np.arange(32))
    found = wg.grad(lambda s: nd.gaussian_filter1d(wave, s, mode="wrap", truncate=8.0)[0])(2.0)
    np.testing.assert_allclose(found, -2 * k**2 * np.exp(-2 * k**2), rtol=1e-8)


def test_what_is_not_wanted_is_not_computed() -> None:
    """The weights of a filter are constant in most uses: their cotangent costs as much as the image's."""
    source = wg.rules[nd.correlate1d].variant((True, False)).source
    assert source is not None and "matches" not in source


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "wrap"])
@pytest.mark.parametrize("f", [nd.correlate, nd.convolve])
def test_an_empty_image_has_an_empty_gradient(f: Any, mode: str) -> None:
    x, k = np.zeros((0, 4)), np.ones((2, 3))
    x_bar, k_bar = wg.grad(lambda x, k: np.sum(f(x, k, mode=mode)), argnums=(0, 1))(x, k)
    assert x_bar.shape == (0, 4)
    np.testing.assert_array_equal(k_bar, np.zeros((2, 3)))
