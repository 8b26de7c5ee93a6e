"""Every distribution of scipy.stats: each method in x and in all parameters, against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats._distr_params import distcont

import wengert as wg

METHODS = "logpdf pdf cdf logcdf sf logsf ppf isf".split()
CONTINUOUS = {name: tuple(map(float, shapes)) for name, shapes in reversed(distcont)}
CONTINUOUS["kappa4"] = (0.4, 0.7)  # not where SciPy goes another way
ELSEWHERE = {"levy_stable", "studentized_range"}  # which take long
WHOLE = {"ksone": 1, "kstwo": 1, "irwinhall": 1}
"""The first shape of these is a whole number."""
REFUSED = {("kstwo", "pdf"), ("kstwo", "logpdf")}
STIFF = {"rel_breitwigner"}

COUNTS: dict[str, tuple[tuple[float, ...], int]] = {
    "bernoulli": ((0.3,), 0), "betabinom": ((7, 2.3, 0.63), 3), "betanbinom": ((5, 9.3, 1.5), 3),
    "binom": ((7, 0.4), 3), "boltzmann": ((1.4, 19), 3), "dlaplace": ((0.8,), 2), "geom": ((0.5,), 3),
    "logser": ((0.6,), 3), "nbinom": ((0.4, 0.4), 3), "nchypergeom_fisher": ((140, 80, 60, 0.5), 25),
    "planck": ((0.51,), 2), "poisson": ((0.6,), 2), "skellam": ((15.0, 8.0), 4), "zipf": ((6.6,), 2),
    "zipfian": ((1.25, 10), 3), "yulesimon": ((11.0,), 2),
}  # fmt: skip
"""Parameters, of which the floats are real numbers, and a count."""


def slope(f: Callable[..., Any], args: tuple[Any, ...], place: int, step: float) -> Any:
    """The derivative by differences of fourth order."""

    def at(k: int) -> Any:
        return f(*args[:place], args[place] + k * step, *args[place + 1 :])

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


def calls(name: str) -> Iterator[tuple[str, Callable[..., Any], tuple[float, ...]]]:
    law = getattr(stats, name)
    parameters = (*CONTINUOUS[name], 0.3, 1.3)
    x = float(law.ppf(0.37, *parameters))
    for method in METHODS:
        if (name, method) not in REFUSED:
            yield method, getattr(law, method), (0.37 if method in ("ppf", "isf") else x, *parameters)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.whole
@pytest.mark.parametrize("name", sorted(CONTINUOUS.keys() - ELSEWHERE))
def test_a_continuous_distribution(name: str) -> None:
    for method, f, args in calls(name):
        places = [k for k in range(len(args)) if k != WHOLE.get(name)]
        value, slopes = wg.value_and_grad(f, argnums=tuple(places))(*args)
        np.testing.assert_allclose(value, f(*args), rtol=1e-9, err_msg=method)
        steps = [(1e-5 if name in STIFF else 1e-3) * max(abs(args[k]), 0.1) for k in places]
        expected = [slope(f, args, k, step) for k, step in zip(places, steps, strict=True)]
        np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-7, err_msg=method)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COUNTS)
def test_a_distribution_of_counts(name: str) -> None:
    if not hasattr(stats, name):
        pytest.skip("of a later SciPy")
    parameters, k = COUNTS[name]
    law, places = getattr(stats, name), [j for j, p in enumerate(parameters) if type(p) is float]
    for method in ("pmf", "logpmf", "cdf", "sf", "logsf"):
        f = getattr(law, method)
        (slopes,) = wg.grad(lambda real, f=f: f(k, *merged(parameters, places, real)), argnums=(0,))(
            [parameters[j] for j in places]
        )
        expected = [slope(f, (k, *parameters), j + 1, 1e-3 * parameters[j]) for j in places]
        np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-9, err_msg=method)


@pytest.mark.skipif(not hasattr(stats, "poisson_binom"), reason="of a later SciPy")
def test_trials_with_chances_of_their_own() -> None:
    p = np.array([0.3, 0.6, 0.2])
    for method in ("pmf", "cdf", "logsf"):
        f = getattr(stats.poisson_binom, method)
        slopes, expected = wg.grad(lambda p, f=f: f(1, p))(p), wg.ngradient(lambda p, f=f: f(1, p), p)[0]
        np.testing.assert_allclose(slopes, expected, rtol=1e-7)


def merged(parameters: tuple[float, ...], places: list[int], real: list[float]) -> list[float]:
    """The parameters, with `real` in their places."""
    made = [*parameters]
    for j, p in zip(places, real, strict=True):
        made[j] = p
    return made


def test_an_array_of_x_with_parameters_for_each_column() -> None:
    x, a, scale = np.array([[0.4], [1.1]]), np.array([1.3, 2.0, 3.5]), 0.7

    def f(x: np.ndarray, a: np.ndarray, scale: float) -> Any:
        return np.sum(stats.gamma.logpdf(x, a, scale=scale) * np.arange(6.0).reshape(2, 3))

    slopes = wg.grad(f, argnums=(0, 1, 2))(x, a, scale)
    for slope, expected in zip(slopes, wg.ngradient(f, x, a, scale), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-7)


def test_outside_of_the_support_nothing_moves() -> None:
    x = np.array([-1.0, 0.5, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slopes = wg.grad(lambda x: np.sum(stats.beta.pdf(x, 2.0, 3.0)))(x)
    np.testing.assert_allclose(slopes, [0.0, wg.ngradient(stats.beta.pdf, 0.5, 2.0, 3.0)[0], 0.0], rtol=1e-7)


def test_a_distribution_of_the_user() -> None:
    """Only a density is given: SciPy integrates it, and solves for quantiles."""

    class Ramp(stats.rv_continuous):
        def _pdf(self, x: Any, c: Any) -> Any:
            return (1 + c * x) / (1 + c / 2)

    ramp = Ramp(a=0.0, b=1.0, name="ramp")
    for method, x in (("cdf", 0.4), ("ppf", 0.4), ("logsf", 0.7), ("pdf", 0.2)):
        f = getattr(ramp, method)
        slopes = wg.grad(f, argnums=(0, 1))(x, 1.5)
        np.testing.assert_allclose(slopes, [slope(f, (x, 1.5), k, 1e-3) for k in (0, 1)], rtol=1e-6, err_msg=method)


def test_the_numeric_density_of_a_distribution_of_the_user() -> None:
    """Only a distribution function is given: SciPy's density is a difference quotient, and its slope one of slopes."""

    class Power(stats.rv_continuous):
        def _cdf(self, x: Any, c: Any) -> Any:
            return x**c

    power = Power(a=0.0, b=1.0, name="power")
    slopes = wg.grad(power.logpdf, argnums=(0, 1))(0.4, 2.5)
    np.testing.assert_allclose(slopes, [1.5 / 0.4, 1 / 2.5 + np.log(0.4)], rtol=1e-6)


METHODS = ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"]
ZERO = [("genpareto", (0.0,)), ("genextreme", (0.0,)), ("skewnorm", (0.0,)), ("kappa4", (0.0, 0.0))]
ZERO += [("kappa4", (0.4, 0.0)), ("kappa4", (0.0, 0.3)), ("kappa4", (0.4, 0.3))]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "shapes"), ZERO)
def test_a_shape_where_scipy_goes_another_way(name: str, method: str, shapes: tuple[float, ...]) -> None:
    """The values stay SciPy's to the last bit, the slopes are those of differences across the shape."""
    f = getattr(getattr(stats, name), method)
    at = np.array([0.2, 0.6, 0.9]) if method in ("ppf", "isf") else np.array([0.3, 0.7, 1.2])
    np.testing.assert_array_equal(wg.vjp(f, at, *shapes)[0], f(at, *shapes))
    for i, shape in enumerate(shapes):

        def moved(u: Any, i: int = i) -> Any:
            return np.sum(f(at, *shapes[:i], u, *shapes[i + 1 :]) * np.array([1.0, -2.0, 0.7]))

        def slope(g: Any, u: float = shape, h: float = 1e-3) -> Any:
            return (8 * (g(u + h) - g(u - h)) - (g(u + 2 * h) - g(u - 2 * h))) / (12 * h)

        if name == "kappa4" and shapes == (0.0, 0.0) and i == 0 and np.isnan(slope(moved)):
            continue  # SciPy has no quantiles for h < 0 and k = 0
        np.testing.assert_allclose(wg.grad(moved)(shape), slope(moved), rtol=1e-6)
        np.testing.assert_allclose(wg.jvp(moved, (shape,), (1.0,))[1], slope(moved), rtol=1e-6)
        np.testing.assert_allclose(wg.grad(wg.grad(moved))(shape), slope(wg.grad(moved)), rtol=1e-5, atol=1e-7)
