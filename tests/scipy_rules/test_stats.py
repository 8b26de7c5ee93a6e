"""Distributions and statistics of scipy.stats, against differences and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import wengert as wg


@pytest.mark.parametrize("q", [0.3, np.array([0.3, 0.6])], ids=["number", "array"])
def test_a_quantile_in_the_scale_of_a_distribution_without_bounds(q: float | np.ndarray) -> None:
    """SciPy places -inf·scale where q is 0, that is nowhere."""
    slope = wg.grad(lambda scale: np.sum(stats.laplace.ppf(q, 0.2, scale)))(np.full(np.shape(q), 1.3)[()])
    np.testing.assert_allclose(slope, stats.laplace.ppf(q))


@pytest.mark.parametrize(("kappa", "x"), [(0.7, 1.2), (4.0, -0.3), (1.0, 4.0)])
def test_the_distribution_function_of_von_mises(kappa: float, x: float) -> None:
    slopes = wg.grad(stats.vonmises.cdf, argnums=(0, 1))(x, kappa)
    np.testing.assert_allclose(slopes, wg.ngradient(stats.vonmises.cdf, x, kappa), rtol=1e-8)


@pytest.mark.parametrize(("method", "x"), [("cdf", 0.31), ("sf", 0.45), ("ppf", 0.6), ("isf", 0.2)])
def test_the_two_sided_kolmogorov_smirnov_law(method: str, x: float) -> None:
    f = getattr(stats.kstwo, method)
    np.testing.assert_allclose(wg.grad(lambda x: f(x, 7))(x), wg.ngradient(f, x, 7)[0], rtol=1e-6)


def test_the_density_of_the_two_sided_kolmogorov_smirnov_law_has_no_derivative() -> None:
    with pytest.raises(wg.NoDerivativeError, match="difference quotient"):
        wg.grad(lambda x: stats.kstwo.pdf(x, 7))(0.3)


def test_a_list_is_an_array_to_functions_of_scipy() -> None:
    assert wg.grad(lambda x: special.logsumexp([x, 2 * x]))(1.0) == pytest.approx(1 + special.expit(1.0))
    assert wg.grad(lambda x: special.logsumexp([1.0, 2.0], b=[x, 2 * x]))(3.0) == pytest.approx(1 / 3)


def test_a_truncated_distribution_of_the_new_kind() -> None:
    def f(mu: float, x: float) -> float:
        return stats.truncate(stats.Normal(mu=mu, sigma=1.0), -3, 3).logpdf(x)

    np.testing.assert_allclose(wg.grad(f, argnums=(0, 1))(0.1, 0.3), wg.ngradient(f, 0.1, 0.3), rtol=1e-7)


def test_a_covariance_whose_eigenvalues_are_equal() -> None:
    x = np.array([0.3, 0.4, -0.2])
    slope = wg.grad(lambda c: stats.multivariate_normal.logpdf(x, np.zeros(3), c))(np.eye(3))
    expected = (np.outer(x, x) - np.eye(3)) / 2
    np.testing.assert_allclose(slope, np.tril(expected) + np.tril(expected, -1), atol=1e-12)


def test_a_singular_covariance() -> None:
    c, x = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.5]]), np.array([0.3, 0.3, 0.1])

    def f(scale: float) -> float:
        return stats.multivariate_normal.logpdf(x, np.zeros(3), scale * c, allow_singular=True)

    assert wg.grad(f)(1.5) == pytest.approx(wg.ngradient(f, 1.5)[0], rel=1e-7)


def test_a_fit_that_searches_is_refused_and_one_in_closed_form_is_not() -> None:
    x = np.array([0.4, 1.2, 0.7, 2.1])
    with pytest.raises(wg.NoDerivativeError, match=r"gamma\.fit searches for the parameters"):
        wg.grad(lambda x: stats.gamma.fit(x)[0])(x)
    np.testing.assert_allclose(wg.grad(lambda x: stats.norm.fit(x)[0])(x), np.full(4, 0.25))
