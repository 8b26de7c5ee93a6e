"""Random draws in their parameters: against the quantile of the same probability, by differences, and against means."""

from __future__ import annotations

import importlib
import inspect
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import wengert as wg
from wengert.hooks.standins.randomness import DISCRETE, FAMILIES

PAGE = Path(__file__).parents[2] / "docs" / "distributions.md"
MAKERS: list[Callable[[int], Any]] = [np.random.default_rng, np.random.RandomState]
EYE = np.eye(2)

# Each continuous distribution: its parameters, and SciPy's law of them.
LAWS: dict[str, tuple[tuple[float, ...], Callable[..., Any]]] = {
    "beta": ((2.0, 0.7), stats.beta),
    "chisquare": ((3.5,), stats.chi2),
    "exponential": ((2.0,), lambda scale: stats.expon(scale=scale)),
    "f": ((3.0, 5.5), stats.f),
    "gamma": ((2.3, 1.5), lambda shape, scale: stats.gamma(shape, scale=scale)),
    "gumbel": ((0.5, 2.0), stats.gumbel_r),
    "laplace": ((0.5, 2.0), stats.laplace),
    "logistic": ((0.5, 2.0), stats.logistic),
    "lognormal": ((0.3, 0.6), lambda mean, sigma: stats.lognorm(sigma, scale=np.exp(mean))),
    "noncentral_chisquare": ((3.0, 1.2), stats.ncx2),
    "noncentral_f": ((3.0, 6.0, 1.5), stats.ncf),
    "normal": ((0.5, 2.0), stats.norm),
    "pareto": ((3.0,), lambda a: stats.pareto(a, loc=-1)),
    "power": ((2.5,), stats.powerlaw),
    "rayleigh": ((2.0,), lambda scale: stats.rayleigh(scale=scale)),
    "standard_gamma": ((0.4,), stats.gamma),
    "standard_t": ((4.5,), stats.t),
    "triangular": ((-1.0, 0.2, 1.5), lambda a, m, b: stats.triang((m - a) / (b - a), a, b - a)),
    "uniform": ((-0.5, 2.0), lambda low, high: stats.uniform(low, high - low)),
    "vonmises": ((0.4, 2.1), lambda mu, kappa: stats.vonmises(kappa, mu)),
    "wald": ((1.3, 2.0), lambda mean, scale: stats.invgauss(mean / scale, scale=scale)),
    "weibull": ((1.7,), stats.weibull_min),
}

# Methods with parameters that are arrays, with a call of each.
OTHERS: dict[str, tuple[Any, ...]] = {
    "choice": (np.arange(3.0),),
    "dirichlet": (np.array([1.2, 0.6, 3.0]),),
    "multivariate_normal": (np.array([0.3, -1.0]), np.array([[2.0, 0.3], [0.3, 1.0]])),
    "permutation": (np.arange(3.0),),
    "permuted": (np.arange(6.0).reshape(2, 3),),
    "shuffle": (np.arange(3.0),),
}

# Discrete distributions: a call of each, whose floats and arrays of floats are the parameters.
DISCRETE_CALLS: dict[str, tuple[Any, ...]] = {
    "binomial": (5, 0.5), "geometric": (0.3,), "hypergeometric": (5.0, 6.0, 3.0), "integers": (3.0,),
    "logseries": (0.4,), "multinomial": (5, np.array([0.25, 0.75])),
    "multivariate_hypergeometric": (np.array([3.0, 4.0]), 2), "negative_binomial": (3.0, 0.4), "poisson": (3.0,),
    "randint": (3.0,), "random_integers": (3.0,), "zipf": (2.5,),
}  # fmt: skip

CONSTANT = {
    "bytes", "rand", "randn", "random", "random_sample", "standard_cauchy", "standard_exponential", "standard_normal",
    "tomaxint",
}  # fmt: skip
"""Draws without parameters."""
NO_DRAWS = {"bit_generator", "spawn", "seed", "get_state", "set_state"}


def methods(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def slope(f: Callable[[float], float], x: float, step: float) -> float:
    """The derivative by differences of sixth order."""
    first, second, third = [(f(x + k * step) - f(x - k * step)) / (2 * k * step) for k in (1, 2, 3)]
    return 1.5 * first - 0.6 * second + 0.1 * third


def quantile_slope(law: Callable[..., Any], parameters: tuple[float, ...], k: int, draw: float) -> float:
    """The derivative of the quantile that the draw is, in one parameter."""
    below, above = law(*parameters).cdf(draw), law(*parameters).sf(draw)

    def quantile(value: float) -> float:
        moved = law(*parameters[:k], value, *parameters[k + 1 :])
        return float(moved.ppf(below) if below < above else moved.isf(above))

    return slope(quantile, parameters[k], 5e-3 * max(abs(parameters[k]), 0.1))


@pytest.mark.parametrize("make", MAKERS)
def test_somebody_decided_about_every_method(make: Any) -> None:
    names = methods(type(make(0)))
    assert names <= LAWS.keys() | OTHERS.keys() | DISCRETE_CALLS.keys() | CONSTANT | NO_DRAWS
    assert LAWS.keys() | OTHERS.keys() == FAMILIES.keys()
    assert DISCRETE_CALLS.keys() == {*DISCRETE}


def test_the_page_lists_every_method() -> None:
    section = PAGE.read_text().split("\n## Differentiate a random draw\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(LAWS.keys() | OTHERS.keys() | DISCRETE_CALLS.keys() | CONSTANT)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", LAWS)
def test_a_draw_moves_as_its_quantile(name: str, make: Any) -> None:
    parameters, law = LAWS[name]
    for seed in range(3):

        def draw(*parameters: float, seed: int = seed) -> float:
            return getattr(make(seed), name)(*parameters)

        value, slopes = wg.value_and_grad(draw, argnums=tuple(range(len(parameters))))(*parameters)
        assert type(value) is float
        assert value == draw(*parameters)
        expected = [quantile_slope(law, parameters, k, value) for k in range(len(parameters))]
        np.testing.assert_allclose(slopes, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", LAWS)
def test_arrays_of_draws_are_those_of_the_plain_run(name: str, make: Any) -> None:
    parameters, _ = LAWS[name]
    arrays = [np.linspace(a, a + 0.1, 3) for a in parameters]
    weights = np.arange(1.0, 7.0).reshape(2, 3)

    def f(*arrays: np.ndarray) -> Any:
        sample = getattr(make(4), name)(*arrays, size=(2, 3))
        assert sample.shape == (2, 3)
        return np.sum(weights * sample)

    value, slopes = wg.value_and_grad(f, argnums=tuple(range(len(arrays))))(*arrays)
    assert value == f(*arrays)
    one_by_one = [[*map(float, a)] for a in arrays]  # given as lists of numbers
    assert np.array_equal(np.array(wg.grad(f, argnums=tuple(range(len(arrays))))(*one_by_one)), np.array(slopes))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", [name for name in OTHERS if name != "shuffle"])
def test_draws_of_vectors_are_those_of_the_plain_run(name: str, make: Any) -> None:
    if not hasattr(make(0), name):
        pytest.skip("a method of Generator")

    def f(*args: Any) -> Any:
        return np.sum(np.sin(getattr(make(4), name)(*args)))

    for k in range(len(OTHERS[name])):
        value, found = wg.value_and_grad(f, argnums=k)(*OTHERS[name])
        assert value == f(*OTHERS[name])
        assert np.any(found)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", DISCRETE_CALLS)
def test_a_discrete_draw_is_refused(name: str, make: Any) -> None:
    args = DISCRETE_CALLS[name]
    if not hasattr(make(0), name):
        pytest.skip("a method of the other generator")
    for k in [k for k, a in enumerate(args) if type(a) is not int]:

        def f(x: Any, k: int = k) -> Any:
            return np.sum(x) * np.sum(getattr(make(0), name)(*args[:k], x, *args[k + 1 :]))

        with pytest.raises(wg.NoDerivativeError, match=rf"test_draws\.py:\d+.*{name} draws.*stop_gradient"):
            wg.grad(f)(args[k])


def test_chances_of_a_choice_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(wg.NoDerivativeError, match="choice draws from a discrete distribution"):
        wg.grad(lambda p: rng.choice(np.arange(2.0), p=p))(np.array([0.25, 0.75]))


@pytest.mark.parametrize("a", [1e-3, 1e-2, 0.1, 0.5, 1.0, 3.0, 20.0, 100.0, 1e3, 1e4])
def test_gamma_draws_of_small_and_large_shapes(a: float) -> None:
    """log z by differences at a fixed probability, and with Richardson's extrapolation."""
    for probability in (0.001, 0.2, 0.5, 0.9, 0.999):
        draw = float(special.gammaincinv(a, probability))
        if draw > 1e-250:
            found = wg.grad(lambda shape, draw=draw: moved("gamma", draw, shape))(a)
            expected = draw * slope(lambda shape, p=probability: np.log(special.gammaincinv(shape, p)), a, 5e-3 * a)
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def moved(name: str, draw: float, *parameters: float) -> float:
    law: Callable[..., float] = getattr(importlib.import_module("wengert_rules.scipy.stats.draws"), name)
    return law(*parameters, *map(wg.stop_gradient, parameters), draw)


def test_draws_that_underflow_stay() -> None:
    def f(a: float) -> Any:
        return np.sum(np.random.default_rng(0).standard_gamma(a, 50))

    assert wg.grad(f)(1e-3) == pytest.approx(wg.ngradient(lambda a: np.sum(quantiles(a)), 1e-3)[0], rel=1e-6)


def quantiles(a: float) -> Any:
    draws = np.random.default_rng(0).standard_gamma(1e-3, 50)
    return special.gammaincinv(a, special.gammainc(1e-3, draws))


def test_second_derivatives() -> None:
    draw, p = 1.3, special.gammainc(2.5, 1.3)
    second = wg.grad(wg.grad(lambda a: np.sin(moved("gamma", draw, a))))(2.5)
    first = lambda a: slope(lambda b: np.sin(special.gammaincinv(b, p)), a, 1e-2)
    np.testing.assert_allclose(second, slope(first, 2.5, 2e-2), rtol=1e-7)


def test_tangents_and_batches() -> None:
    def f(a: Any) -> Any:
        return np.random.default_rng(1).standard_gamma(a)

    assert wg.jvp(f, (2.0,), (1.0,))[1] == pytest.approx(wg.grad(f)(2.0), rel=1e-13)
    shapes = np.array([2.0, 3.0])
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(shapes)[0], wg.grad(f)(2.0))


def test_a_dirichlet_draw_moves_as_parts_of_a_stick() -> None:
    alpha = OTHERS["dirichlet"][0]
    draw = np.random.default_rng(2).dirichlet(alpha)
    first = stats.beta(alpha[0], alpha[1:].sum()).cdf(draw[0])
    second = stats.beta(alpha[1], alpha[2]).cdf(draw[1] / (1 - draw[0]))

    def parts(alpha: np.ndarray) -> np.ndarray:
        x = stats.beta(alpha[0], alpha[1:].sum()).ppf(first)
        y = (1 - x) * stats.beta(alpha[1], alpha[2]).ppf(second)
        return np.array([x, y, 1 - x - y])

    for k in range(3):
        found = wg.grad(lambda alpha, k=k: np.random.default_rng(2).dirichlet(alpha)[k])(alpha)
        expected = wg.ngradient(lambda alpha, k=k: parts(alpha)[k], alpha)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_concentrated_dirichlet_draws_have_finite_gradients() -> None:
    def f(alpha: np.ndarray) -> Any:
        return np.sum(np.random.default_rng(0).dirichlet(alpha, 20) ** 2)

    assert np.all(np.isfinite(wg.grad(f)(np.array([1e-3, 2e-3, 1e-3]))))


def test_a_normal_vector_moves_by_a_factor_of_its_covariance() -> None:
    mean, cov = OTHERS["multivariate_normal"]

    def f(mean: np.ndarray, cov: np.ndarray) -> Any:
        return np.sin(np.random.default_rng(3).multivariate_normal(mean, (cov + cov.T) / 2, 4)).sum()

    normal = np.linalg.solve(
        np.linalg.cholesky(cov), (np.random.default_rng(3).multivariate_normal(mean, cov, 4) - mean).T
    )
    by_factor = lambda mean, cov: np.sin(mean + (np.linalg.cholesky((cov + cov.T) / 2) @ normal).T).sum()
    for found, expected in zip(wg.grad(f, argnums=(0, 1))(mean, cov), wg.ngradient(by_factor, mean, cov), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# Gradients of expectations that are known: of f(z) at parameters, and its mean.
MEANS: list[tuple[str, tuple[float, ...], Callable[[Any], Any], Callable[..., float]]] = [
    ("gamma", (2.5, 1.5), np.sqrt, lambda a, s: np.sqrt(s) * special.gamma(a + 0.5) / special.gamma(a)),
    ("beta", (2.0, 3.0), np.square, lambda a, b: a * (a + 1) / ((a + b) * (a + b + 1))),
    ("chisquare", (4.0,), np.square, lambda k: k * k + 2 * k),
    ("vonmises", (0.4, 2.0), np.cos, lambda mu, kappa: np.cos(mu) * special.iv(1, kappa) / special.iv(0, kappa)),
    ("wald", (1.3, 2.0), np.square, lambda mean, scale: mean**2 + mean**3 / scale),
    ("standard_t", (9.0,), np.square, lambda df: df / (df - 2)),
]


@pytest.mark.parametrize(("name", "parameters", "f", "mean"), MEANS, ids=[row[0] for row in MEANS])
def test_gradients_of_draws_average_to_the_gradient_of_the_mean(name: str, parameters: Any, f: Any, mean: Any) -> None:
    n, rng = 20_000, np.random.default_rng(5)

    def values(*arrays: np.ndarray) -> Any:
        return np.sum(f(getattr(rng, name)(*arrays)))

    each = wg.grad(values, argnums=tuple(range(len(parameters))))(*[np.full(n, a) for a in parameters])
    for found, expected in zip(each, wg.ngradient(mean, *parameters), strict=True):
        assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(n)


def test_without_scipy_the_error_says_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    rng = np.random.default_rng(0)
    with pytest.raises(wg.NoDerivativeError, match=r"test_draws\.py.*needs SciPy"):
        wg.grad(lambda a: rng.standard_gamma(a))(2.0)
    assert np.isfinite(wg.grad(lambda a: rng.weibull(a))(2.0))


def test_an_output_array_is_refused() -> None:
    rng, out = np.random.default_rng(0), np.empty(3)
    with pytest.raises(wg.NoRuleError, match="standard_gamma has no rule"):
        wg.grad(lambda a: np.sum(rng.standard_gamma(a, out=out)))(2.0)


def test_single_precision_and_errors_of_numpy() -> None:
    def f(a: float) -> Any:
        sample = np.random.default_rng(0).standard_gamma(a, 3, dtype=np.float32)
        assert sample.dtype == np.float32
        return np.sum(sample)

    value, found = wg.value_and_grad(f)(2.0)
    assert value == f(2.0)
    assert np.isfinite(found)
    for wrong in ((-1.0,), (2.0, "x"), (2.0, 3, 4, 5, 6)):
        with pytest.raises((ValueError, TypeError)) as native:
            np.random.default_rng(0).standard_gamma(*wrong)
        with pytest.raises(native.type, match=re.escape(str(native.value))):
            wg.grad(lambda a, wrong=wrong: np.random.default_rng(0).standard_gamma(a, *wrong[1:]))(wrong[0])


def test_draws_of_scipy_stats() -> None:
    for law, parameters in (
        (stats.gamma, (2.3,)),
        (stats.beta, (2.0, 3.0)),
        (stats.t, (5.0,)),
        (stats.vonmises, (2.0,)),
    ):

        def f(*parameters: float, law: Any = law) -> Any:
            return law.rvs(*parameters, random_state=np.random.default_rng(1))

        value, slopes = wg.value_and_grad(f, argnums=tuple(range(len(parameters))))(*parameters)
        expected = [quantile_slope(law, parameters, k, float(value)) for k in range(len(parameters))]
        np.testing.assert_allclose(slopes, expected, rtol=1e-7)


@pytest.mark.parametrize("law", [stats.geninvgauss(0.7, 1.5).dist, stats.argus], ids=lambda law: law.name)
def test_samplers_of_scipy_that_reject_are_refused(law: Any) -> None:
    parameters = (0.7, 1.5)[: law.numargs]
    with pytest.raises(wg.NoDerivativeError, match=rf"{law.name}\.rvs rejects numbers.*{law.name}\.ppf"):
        wg.grad(lambda p: law.rvs(p, *parameters[1:], random_state=1))(parameters[0])
    u = np.random.default_rng(0).uniform()
    found = wg.grad(lambda p: law.ppf(u, p, *parameters[1:]))(parameters[0])
    expected = slope(lambda p: law.ppf(u, p, *parameters[1:]), parameters[0], 1e-2)
    assert found == pytest.approx(expected, rel=1e-6)


def test_directions_by_rejection_are_refused() -> None:
    mu = np.array([1.0, 0.0, 0.0, 0.0])
    with pytest.raises(wg.NoDerivativeError, match=r"vonmises_fisher\.rvs rejects"):
        wg.grad(lambda kappa: stats.vonmises_fisher.rvs(mu, kappa, random_state=1)[0, 1])(2.0)


@pytest.mark.parametrize(
    ("law", "parameters"), [(stats.poisson, (2.0,)), (stats.yulesimon, (11.0,)), (stats.skellam, (2.0, 3.0))]
)
def test_counts_of_scipy_are_refused(law: Any, parameters: tuple[float, ...]) -> None:
    with pytest.raises(wg.NoDerivativeError, match=rf"{law.name}\.rvs draws integers.*logpmf"):
        wg.grad(lambda p: p * law.rvs(p, *parameters[1:], random_state=1))(parameters[0])
    constant = lambda p: p * law.rvs(wg.stop_gradient(p), *parameters[1:], random_state=1)
    assert wg.grad(constant)(parameters[0]) == law.rvs(*parameters, random_state=1)


# -- Python's `random`


def mean_of_gradients(f: Callable[[float], float], x: float, n: int = 1000) -> tuple[float, float]:
    random.seed(0)
    found = [wg.grad(f)(x) for _ in range(n)]
    return float(np.mean(found)), float(np.std(found) / np.sqrt(n))


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda a: random.gammavariate(a, 1.5), 2.2, 1.5),
        (lambda a: random.gammavariate(a, 1.5), 0.6, 1.5),
        (lambda b: random.gammavariate(2.0, b), 1.5, 2.0),
        (lambda a: random.betavariate(a, 2.0), 2.2, 2 / 4.2**2),
    ],
)
def test_python_s_samplers_that_reject(f: Any, x: float, expected: float) -> None:
    """The path of an accepted number has another mean slope: its chance of acceptance depends on the parameter, too."""
    mean, error = mean_of_gradients(f, x)
    assert abs(mean - expected) < 5 * error


def test_an_angle_of_python() -> None:
    def f(kappa: float) -> float:
        random.seed(3)
        return random.vonmisesvariate(0.3, kappa)

    value, found = wg.value_and_grad(f)(2.0)
    assert value == f(2.0)
    turned = (value - 0.3 + np.pi) % (2 * np.pi) - np.pi
    assert found == pytest.approx(quantile_slope(stats.vonmises, (2.0,), 0, turned), rel=1e-8)


def test_weights_of_python_s_choices_are_refused() -> None:
    def chosen(x: float) -> float:
        random.seed(1)
        return random.choices([x, 2 * x, 3.0], weights=[1, 2, 0], k=2)[1]

    assert wg.grad(chosen)(5.0) in (1.0, 2.0)
    assert wg.value_and_grad(chosen)(5.0)[0] == chosen(5.0)
    with pytest.raises(wg.NoDerivativeError, match="choices draws"):
        wg.grad(lambda w: random.choices([1.0, 2.0], weights=[w, 1.0])[0])(0.5)
    assert "k" in inspect.signature(random.choices).parameters
