"""Medians, quantiles, weighted averages and histograms against differences; ties share, jumps have slope zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import values

import wengert as wg

X, A = values(7, low=-1), values(4, 6)
CONTINUOUS = [
    "linear", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased", "midpoint",
]  # fmt: skip
JUMPING = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "lower", "higher", "nearest"]
QUANTILES = [(np.quantile, 1), (np.nanquantile, 1), (np.percentile, 100), (np.nanpercentile, 100)]


def check(f: Callable[..., Any], *args: Any) -> None:
    """The gradient of a weighted sum against differences, a tape of it played, and float32 kept."""
    weights = values(*np.shape(f(*args)))

    def total(*xs: Any) -> Any:
        return np.sum(f(*xs) * weights)

    wg.check_grads(total, *args)
    value, bars = wg.gradtape(total, *args).play(*args)
    assert value == total(*args)
    for x_bar, expected in zip(bars[1:], list(wg.grad(total, *args)[1])[1:], strict=True):
        assert np.array_equal(x_bar, expected)
    narrow = wg.grad(lambda *xs: np.sum(f(*xs)), *[np.float32(x) for x in args])[1]
    assert all(np.asarray(x_bar).dtype == np.float32 for x_bar in list(narrow)[1:])


@pytest.mark.parametrize("method", CONTINUOUS + JUMPING)
@pytest.mark.parametrize(("f", "unit"), QUANTILES)
def test_quantiles(f: Any, unit: float, method: str) -> None:
    levels = np.array([0.33, 0.0, 0.71, 1.0]) * unit
    check(lambda x: f(x, 0.33 * unit, method=method), X)
    check(lambda x: f(x, levels, method=method), X)
    check(lambda a: f(a, 0.41 * unit, axis=0, method=method, keepdims=True), A)
    check(lambda a: f(a, levels[::2], axis=(0, 1), method=method), A)
    check(lambda q: f(X, q, method=method), levels[::2])
    check(lambda x, q: f(x, q, method=method), X, 0.33 * unit)


@pytest.mark.parametrize("method", JUMPING)
def test_a_quantile_that_jumps_does_not_depend_on_its_level(method: str) -> None:
    assert wg.grad(lambda q: np.quantile(X, q, method=method))(0.4) == 0


@pytest.mark.parametrize(("f", "unit"), QUANTILES[1::2])
def test_quantiles_of_what_is_no_nan(f: Any, unit: float) -> None:
    check(lambda a: f(np.where(A > 1.9, np.nan, a), 0.4 * unit, axis=1), A)


@pytest.mark.parametrize(("f", "unit"), QUANTILES)
def test_weighted_quantiles(f: Any, unit: float) -> None:
    check(lambda a: f(a, 0.4 * unit, weights=A, method="inverted_cdf", axis=1), A)


@pytest.mark.parametrize("f", [np.median, np.nanmedian])
def test_medians(f: Any) -> None:
    check(f, X)
    check(f, 1.5)
    for axis in (None, 0, 1, (0, 1)):
        check(lambda a, axis=axis: f(a, axis, keepdims=True), A)
    check(lambda a: f(a * a, overwrite_input=True, axis=1), A)
    check(lambda a: f(a, 1, np.empty(4)) * 2, A)
    assert np.array_equal(wg.grad(f)(np.float16([1, 1.001])), [0.5, 0.5])  # whose mean is rounded to one of them


def test_median_of_what_is_no_nan() -> None:
    check(lambda a: np.nanmedian(np.where(A > 1.9, np.nan, a), axis=1), A)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [np.median, np.nanmedian])
def test_median_of_nothing(f: Any) -> None:
    assert np.array_equal(wg.grad(f)(np.ones(0)), np.ones(0))
    assert np.array_equal(wg.grad(lambda a: np.sum(f(a, 1)))(np.ones((2, 0))), np.ones((2, 0)))


@pytest.mark.parametrize(("f", "unit"), QUANTILES)
def test_equal_elements_share_a_quantile(f: Any, unit: float) -> None:
    assert np.allclose(wg.grad(lambda x: f(x, 0.5 * unit))(np.array([1.0, 2, 2, 2, 7])), [0, 1 / 3, 1 / 3, 1 / 3, 0])
    assert np.allclose(wg.grad(lambda x: f(x, 0.25 * unit))(np.array([1.0, 1, 3, 3])), [0.5, 0.5, 0, 0])


def test_averages() -> None:
    for axis in (None, 0, 1, (0, 1)):
        check(lambda a, w, axis=axis: np.average(a, weights=w, axis=axis, keepdims=True), A, A * A)
    check(lambda a, w: np.average(a, weights=w, axis=1), A, values(6))
    check(lambda a, w: np.average(a, weights=w, axis=0, returned=True)[1] + a[0], A, A * A)


def test_histograms() -> None:
    check(lambda w: np.histogram(X, bins=5, weights=w, density=True)[0], values(7))
    check(lambda w: np.histogram(X, bins=[-1, 0, 0.4, 3], weights=w, density=True)[0], values(7))
    check(lambda x: np.histogram(x, bins=5, density=True)[0] * x[:5], X)
    check(lambda x: np.histogram(x, bins=5)[1], X)
    check(lambda edges: np.histogram(X, bins=edges, density=True)[0], np.array([-1.1, 0.05, 0.4, 3]))
    check(lambda w: np.histogram2d(X, X, bins=5, weights=w, density=True)[0], values(7))


@pytest.mark.parametrize("kth", [3, [3, 5], -1, list(range(9))])
def test_partitions_need_no_order_where_cotangents_are_the_same(kth: Any) -> None:
    """By marks alone and by sorting: the same cotangents, and second derivatives of both."""
    x = np.array([0.3, 1.2, 0.7, 0.7, 2.1, 0.5, 0.7, 1.9, 0.1])
    bins = np.searchsorted(np.unique(np.sort(x)[kth]), np.partition(x, kth))
    for weights in (bins * 1.0, values(9), np.where(bins == 1, values(9), 0)):
        ranks = [np.mean(weights[np.partition(x, kth) == value]) for value in x]
        assert np.allclose(wg.grad(lambda x, w=weights: np.sum(np.partition(x, kth) * w))(x), ranks)
    distinct, low = values(9), slice(0, 3)
    square = lambda x: np.sum(np.partition(x, kth)[low] ** 3)
    twice = wg.grad(lambda x: np.sum(wg.grad(square)(x) * x))(distinct)
    assert np.allclose(twice, 9 * distinct**2 * np.isin(distinct, np.partition(distinct, kth)[low]))


def test_partitions_with_nans() -> None:
    x = np.array([0.3, np.nan, 0.7, 0.2, np.nan])
    assert np.array_equal(wg.grad(lambda x: np.partition(x, 1)[1])(x), [1, 0, 0, 0, 0])
