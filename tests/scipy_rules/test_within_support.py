"""Distributions of arguments within the support, outside of it, and of both: SciPy's values, slopes by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import wengert as wg

X = np.array([[0.2, 0.9, 0.4], [0.7, 0.3, 0.6]])
CONTINUOUS: dict[str, tuple[Any, ...]] = {
    "norm": (), "gamma": (2.5,), "beta": (2.0, np.array([1.5, 3.0, 2.0])), "t": (4.0,), "lognorm": (0.7,), "cauchy": (),
    "uniform": (), "dgamma": (1.3,), "truncnorm": (-2.0, 3.0), "weibull_min": (np.array([[1.4], [2.2]]),),
}  # fmt: skip
DISCRETE: dict[str, tuple[Any, ...]] = {
    "poisson": (1.7,),
    "nbinom": (np.array([2.0, 3.5, 1.2]), 0.4),
    "binom": (9, 0.3),
}
CASES = [(name, m) for name in CONTINUOUS for m in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")]
COUNTED = [(name, m) for name in DISCRETE for m in ("pmf", "logpmf")]


def check(f: Any, *args: Any) -> None:
    """Check value and slopes in all floats."""
    places = [k for k, a in enumerate(args) if np.asarray(a).dtype == float]
    value, slopes = wg.value_and_grad(lambda *a: np.sum(f(*a)), argnums=tuple(places))(*args)
    expected = f(*args)
    assert value == pytest.approx(np.sum(expected), rel=1e-13, nan_ok=True)
    recorded = wg.trace(f, *args)[0]
    assert (type(recorded), np.shape(recorded)) == (type(expected), np.shape(expected))
    for k, slope in zip(places, slopes, strict=True):
        up, down = ([*args[:k], args[k] + h, *args[k + 1 :]] for h in (1e-6, -1e-6))
        difference = (np.sum(f(*up)) - np.sum(f(*down))) / 2e-6
        if np.isfinite(difference):  # not where a value is minus infinity
            assert np.sum(slope) == pytest.approx(difference, rel=1e-5, abs=1e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "method"), CASES)
def test_continuous(name: str, method: str) -> None:
    f, shapes = getattr(getattr(stats, name), method), CONTINUOUS[name]
    check(f, X, *shapes, np.array([-0.1, -0.2, -0.3]), 1.3)  # all within
    check(f, 0.4, *[float(np.ravel(s)[0]) for s in shapes], -0.1, 1.3)
    check(
        f, np.array([-3.0, 0.4, 0.7]), *shapes[:1], *[np.mean(s) for s in shapes[1:]], 0.05, 1.2
    )  # some may be outside


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "method"), COUNTED)
def test_discrete(name: str, method: str) -> None:
    f, shapes = getattr(getattr(stats, name), method), DISCRETE[name]
    check(f, np.array([[0, 3, 2], [4, 1, 1]]), *shapes)
    check(f, 2, *[a if type(a) is int else float(np.ravel(a)[0]) for a in shapes])
    check(f, np.array([-1, 3, 2]), *shapes)


@pytest.mark.parametrize(("scale", "x"), [(-1.0, 0.3), (1.0, np.nan), (0.0, 0.3), (np.array([1.0, -1.0]), 0.3)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_parameters_give_nan_as_in_scipy(scale: Any, x: Any) -> None:
    found = wg.trace(lambda s: stats.norm.logpdf(x, 0.0, s), scale)[0]
    np.testing.assert_array_equal(found, stats.norm.logpdf(x, 0.0, scale))


def test_no_arguments_and_frozen_distributions() -> None:
    assert wg.value_and_grad(lambda m: np.sum(stats.norm.logpdf(np.zeros(0), m)))(0.3) == (0.0, 0.0)
    assert wg.grad(lambda m: stats.norm(m, 2.0).logpdf(1.0))(0.3) == pytest.approx(0.7 / 4.0, rel=1e-14)


class Doubled(stats.rv_continuous):
    """A distribution of the user's, whose method takes vectors only."""

    def _logpdf(self, x: Any, a: Any) -> Any:
        x[...] = 2.0 * x
        return -a * x


def test_distributions_of_users_get_vectors() -> None:
    f = Doubled(a=0.0, name="doubled", shapes="a").logpdf
    assert wg.value_and_grad(f, argnums=1)(0.5, 3.0) == (pytest.approx(f(0.5, 3.0)), pytest.approx(-1.0))


def test_few_operations_are_recorded_within_the_support() -> None:
    """Compiled code of a likelihood is as long as its formula, and decides nothing for an element."""
    x = np.linspace(-1.0, 1.0, 5)
    tape = wg.trace(lambda m, s: np.sum(stats.norm.logpdf(x, m, s)), 0.3, 1.2)[1]
    assert len(tape) < 25
