"""Fits: points, costs, residuals, Jacobians and covariances, in data, weights and bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from solver_cases import Case, check, table

import wengert as wg

CASES, case = table()
T = np.linspace(0.0, 2.0, 9)
Y = 2.0 * np.exp(-0.8 * T) + 0.05 * np.cos(7 * T)


def curve(t, a, b):
    return a * np.exp(-b * t)


def misfit(p, y):
    return curve(T, *p) - y


def slopes(p, y):
    return np.stack([np.exp(-p[1] * T), -T * curve(T, *p)], axis=1)


EXACT = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}


@case(Y, order=1)
def least_squares(y):
    found = optimize.least_squares(misfit, [1.0, 1.0], args=(y,), jac=slopes, **EXACT)
    return np.concatenate([found.x, found.fun, np.ravel(found.jac), [found.cost]])


@case(1.3)
def least_squares_by_closure(c):
    return optimize.least_squares(lambda p: np.sinh(misfit(p, c * Y)), [1.0, 1.0], **EXACT).x


@case(1.3, order=1)
def least_squares_by_kwargs(c):
    return optimize.least_squares(lambda p, y: misfit(p, y), [1.0, 1.0], kwargs={"y": c * Y}, **EXACT).x


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_losses(loss: str) -> None:
    def f(c):
        found = optimize.least_squares(
            lambda p: c * misfit(p, np.sin(c * Y)), [1.0, 1.0], loss=loss, f_scale=0.04, jac="3-point", **EXACT
        )
        return found.x * found.cost

    check(Case(f, (1.1,), None, 1, 1e-4))


@case(0.5)
def least_squares_at_a_bound(b):
    return optimize.least_squares(lambda p: misfit(p, Y), [1.0, 0.2], bounds=([0, 0], [9, b]), jac="3-point", **EXACT).x


@case(Y, order=1)
def leastsq(y):
    words = {"full_output": True, "xtol": 1e-15, "ftol": 1e-15}
    x, covariance, *_ = optimize.leastsq(misfit, [1.0, 1.0], (y,), slopes, **words)
    return np.append(x, covariance)


@case(Y, order=1)
def curve_fit(y):
    x, covariance = optimize.curve_fit(curve, T, y, [1.0, 1.0], xtol=1e-15, ftol=1e-15)
    return np.append(x, covariance)


@case(T, 0.1 + 0.1 * T, order=1, rtol=1e-3)
def curve_fit_in_abscissas_and_deviations(t, sigma):
    words = {"sigma": sigma, "absolute_sigma": True, "xtol": 1e-15, "ftol": 1e-15}
    x, covariance = optimize.curve_fit(curve, t, Y, [1.0, 1.0], **words)
    return np.append(x, 100 * covariance)


@case(0.1, order=1)
def curve_fit_with_a_covariance_of_the_data(c):
    sigma = 0.1 * np.exp(-((T[:, None] - T) ** 2) / c)
    return optimize.curve_fit(curve, T, Y, [1.0, 1.0], sigma=sigma, xtol=1e-15, ftol=1e-15)[0]


@case(Y, order=1)
def curve_fit_with_bounds(y):
    words = {"bounds": ([0.0, 0.0], [1.9, 5.0]), **EXACT}
    return optimize.curve_fit(curve, T, y, [1.0, 1.0], jac=lambda t, a, b: slopes((a, b), y), **words)[0]


A = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 1.0], [2.0, 0.1, 0.7], [1.0, 1.0, 1.0]])
B = np.array([1.0, 2.0, -0.5, 0.7])


@case(A, B)
def nnls(a, b):
    x, norm = optimize.nnls(a, b)
    return np.append(x, norm)


@case(A, B, 0.2)
def lsq_linear(a, b, c):
    found = optimize.lsq_linear(a, b, (-0.3, np.append([c, 0.5], 1.0)), tol=1e-14)
    return np.concatenate([found.x, found.fun, [found.cost]])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives(case: Case) -> None:
    check(case)


def test_parameters_that_do_not_show_in_the_data_are_refused() -> None:
    with pytest.raises(wg.NoDerivativeError, match=r"test_least_squares.py.*singular"):
        wg.jacobian(lambda y: optimize.least_squares(lambda p: (p[0] + p[1]) * T - y, [1.0, 1.0]).x)(Y)
