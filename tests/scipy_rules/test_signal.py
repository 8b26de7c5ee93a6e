"""Filters of scipy.signal in more calls: closed forms, coefficients in lists, states, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal as sg
from sampling import values

import wengert as wg


def test_a_filter_of_one_pole() -> None:
    """yₙ = Σ aᵏ xₙ₋ₖ, whose derivative in a is Σ k aᵏ⁻¹ xₙ₋ₖ."""
    x, n = values(7, low=-1), np.arange(7)
    powers = np.where(n[:, np.newaxis] >= n, 0.6 ** np.maximum(n[:, np.newaxis] - n - 1, 0), 0.0)
    expected = ((n[:, np.newaxis] - n) * powers) @ x
    found = wg.jacfwd(lambda a: sg.lfilter([1.0], [1.0, -a], x))(0.6)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(wg.jacrev(lambda a: sg.lfilter([1.0], [1.0, -a], x))(0.6), expected, rtol=1e-12)


def test_coefficients_in_a_list() -> None:
    x = values(9, low=-1)
    wg.check_grads(lambda b, a: sg.lfilter([b, 0.3], [1.0, -a], x), 0.7, 0.4)
    wg.check_grads(lambda r: sg.filtfilt([1.0 - r], [1.0, -r], values(30)), 0.5)


def test_a_filter_in_two_parts_is_that_of_the_whole() -> None:
    b, a, x = np.array([0.3, 0.2, 0.1]), np.array([1.2, -0.4, 0.15]), values(10, low=-1)

    def whole(b: Any, a: Any, x: Any) -> Any:
        return np.sum(np.cos(sg.lfilter(b, a, x)))

    def parts(b: Any, a: Any, x: Any) -> Any:
        first, state = sg.lfilter(b, a, x[:4], zi=np.zeros(2))
        second, _ = sg.lfilter(b, a, x[4:], zi=state)
        return np.sum(np.cos(first)) + np.sum(np.cos(second))

    argnums = (0, 1, 2)
    for found, expected in zip(
        wg.grad(parts, argnums=argnums)(b, a, x), wg.grad(whole, argnums=argnums)(b, a, x), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_resampling_beyond_constant_edges_is_refused() -> None:
    with pytest.raises(wg.RuleError, match="mode='constant'"):
        wg.grad(lambda x: np.sum(sg.upfirdn([1.0, 0.5], x, mode="symmetric")))(values(5))


def test_a_peak_stands_out_from_the_higher_of_its_bases() -> None:
    x = np.array([0.0, 2.0, 0.5, 3.0, 1.0, 4.0])
    found = wg.jacrev(lambda x: sg.peak_prominences(x, np.array([1, 3]))[0])(x)
    np.testing.assert_array_equal(found, [[0, 1, -1, 0, 0, 0], [0, 0, 0, 1, -1, 0]])
