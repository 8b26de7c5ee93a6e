"""Integrals of SciPy, differentiated under the integral and in their bounds."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
import scipy
from scipy import integrate
from solver_cases import Case, check, table

import wengert as wg

CASES, case = table()


@case(1.3)
def quad_by_closure(a):
    return integrate.quad(lambda x: math.exp(-a * x * x), 0, 1)[0]


@case(1.5, closed=-1 / 2.5**2)
def quad_by_args(a):
    return integrate.quad(lambda x, a: x**a, 0, 1, args=(a,))[0]


@case(2.0, closed=-0.25)
def quad_to_infinity(a):
    return integrate.quad(lambda x: np.exp(-a * x), 0, np.inf)[0]


@case(2.0, closed=0.25, order=1)
def quad_from_infinity_backward(a):
    return integrate.quad(lambda x: np.exp(a * x), 0, -np.inf)[0]


@case(2.0, closed=-0.5 * np.sqrt(np.pi) * 2**-1.5, order=1)
def quad_over_the_line(a):
    return integrate.quad(lambda x: np.exp(-a * x * x), -np.inf, np.inf)[0]


@case(2.0, 0.3)
def quad_in_bounds_and_parameters(a, b):
    return integrate.quad(lambda x: np.sin(a * x), b, a * a)[0]


@case(0.7, order=1)
def quad_with_a_kink_at_a_point(a):
    return integrate.quad(lambda x: abs(x - 0.3) ** a, 0, 1, points=[0.3])[0]


@case(0.7)
def quad_with_a_weight(a):
    return integrate.quad(lambda x: np.exp(a * x), 0, 1, weight="cos", wvar=a)[0]


@case(0.7, order=1)
def quad_with_a_singular_weight(a):
    return integrate.quad(lambda x: np.exp(a * x), 0, 1, weight="alg-loga", wvar=(1.5, a))[0]


class Line:
    def __init__(self, p):
        self.p = p

    def __call__(self, x):
        return self.p[0] * x**2 + self.p[1]


@case(np.array([1.0, 2.0]), closed=[8 / 3, 2.0])
def quad_of_an_object(p):
    return integrate.quad(Line(p), 0, 2)[0]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives(case: Case) -> None:
    check(case)


def test_the_nodes_suit_the_derivative_where_the_integrand_is_zero() -> None:
    found = wg.grad(lambda a: integrate.quad(lambda x: a * x**0.25, 0, 1)[0])(0.0)
    np.testing.assert_allclose(found, 0.8, rtol=1e-7)


def test_a_derivative_whose_integral_diverges_is_told() -> None:
    with pytest.warns(wg.NotConvergedWarning, match=r"test_integrate.py.*does not converge"):
        wg.grad(lambda a: integrate.quad(lambda x: a / x, 0, 1)[0])(0.0)


def test_a_batch_of_integrals() -> None:
    with pytest.warns(wg.NoBatchingRuleWarning):
        found = wg.vmap(lambda a: integrate.quad(lambda x: x * a, 0, 1)[0])(np.arange(3.0))
    np.testing.assert_allclose(found, [0.0, 0.5, 1.0], rtol=1e-12)


def test_a_weight_of_no_rule_is_refused() -> None:
    with pytest.raises(wg.RefusedCallError, match="weight='cauchy'"):
        wg.grad(lambda a: integrate.quad(lambda x: a * x, -1, 1, weight="cauchy", wvar=0.3)[0])(1.0)


def _of_c(kinds, compute):
    return ctypes.CFUNCTYPE(ctypes.c_double, *kinds)(compute)


def test_a_low_level_callable_of_one_number_is_followed_to_its_rule():
    sine = _of_c([ctypes.c_double], math.sin)

    def f(b):
        return integrate.quad(scipy.LowLevelCallable(sine), 0.0, b)[0]

    with pytest.raises(wg.NoRuleError, match="has no rule"):
        wg.grad(f)(1.2)
    with wg.rules.scope():
        wg.partials(sine)(lambda y, x: np.cos(x))
        np.testing.assert_allclose(wg.value_and_grad(f)(1.2), (f(1.2), math.sin(1.2)), rtol=1e-12)


def test_another_low_level_callable_is_refused():
    product = _of_c([ctypes.c_int, ctypes.POINTER(ctypes.c_double)], lambda n, xs: xs[0] * xs[1])
    low = scipy.LowLevelCallable(product)
    for f in (
        lambda b: integrate.quad(low, 0.0, 1.0, args=(b,))[0],
        lambda b: integrate.dblquad(low, 0.0, b, 0.0, 1.0)[0],
    ):
        with pytest.raises(wg.RefusedCallError, match=r"this LowLevelCallable\. Pass a Python function"):
            wg.grad(f)(1.2)
