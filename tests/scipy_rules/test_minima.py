"""Minima that SciPy finds: without constraints, with some that hold or do not, and where that is refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import optimize
from solver_cases import Case, check, table

import wengert as wg

CASES, case = table()
P = np.array([1.3, 0.4])


def energy(x, p):
    """Convex, without a closed form for its minimum."""
    return np.sum((x - p) ** 2) + 0.3 * np.cosh(x[0] * p[1]) + 0.1 * x[0] * x[1]


def energy_slopes(x, p):
    slopes = 2 * (x - p)
    return slopes + np.array([0.3 * p[1] * np.sinh(x[0] * p[1]) + 0.1 * x[1], 0.1 * x[0]])


def tight(f, x0, args=(), **words):
    return optimize.fmin_bfgs(f, x0, args=args, gtol=1e-10, full_output=True, disp=False)


def by_differences(f):
    """The Jacobian of f at P."""
    steps = 1e-3 * np.eye(2)
    return np.stack([(8 * (f(P + h) - f(P - h)) - (f(P + 2 * h) - f(P - 2 * h))) / 12e-3 for h in steps], axis=-1)


@functools.cache
def wanted():
    return by_differences(lambda p: tight(energy, np.zeros(2), (p,), fprime=energy_slopes)[0])


LOOSE = {"Nelder-Mead", "Powell", "COBYLA", "COBYQA", "TNC", "trust-constr"}
WITH_SLOPES = {"Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"}


@pytest.mark.parametrize("method", sorted(LOOSE | WITH_SLOPES | {"CG", "BFGS", "L-BFGS-B", "SLSQP"}))
def test_minimize(method: str) -> None:
    words = {"tol": 1e-5 if method in LOOSE else 1e-9}
    if method in WITH_SLOPES:
        words |= {"jac": energy_slopes, "hess": lambda x, p: wg.jacobian(lambda x: energy_slopes(x, p))(x)}
    found = wg.jacobian(lambda p: optimize.minimize(energy, np.zeros(2), args=(p,), method=method, **words).x)(P)
    np.testing.assert_allclose(found, wanted(), atol=1e-4 if method in LOOSE else 1e-5)


@case(P, rtol=1e-4)
def by_closure(p):
    found = optimize.minimize(lambda x: energy(x, p), np.zeros(2), tol=1e-10)
    return found.x * found.fun


@case(P, rtol=1e-4)
def with_value_and_slopes_in_one(p):
    return optimize.minimize(lambda x: (energy(x, p), energy_slopes(x, p)), np.zeros(2), jac=True, tol=1e-10).x


@case(P, order=1, rtol=1e-4)
def by_the_gradient_of_this_package(p):
    return optimize.minimize(wg.value_and_grad(lambda x: energy(x, p)), np.zeros(2), jac=True, tol=1e-10).x


@case(P, 0.2, order=1, rtol=1e-4)
def with_a_bound_that_holds(p, low):
    bounds = [(low + 1.5, None), (None, 5.0)]
    found = optimize.minimize(energy, np.array([2.0, 0.0]), (p,), bounds=bounds, tol=1e-12)
    return np.append(found.x, found.fun)


@case(P, order=1, rtol=1e-4)
def with_bounds_as_an_object(p):
    bounds = optimize.Bounds([-10.0, -p[1]], [p[0] / 2, 10.0])
    return optimize.minimize(energy, np.zeros(2), (p,), bounds=bounds, method="TNC", tol=1e-14).x


@case(P, order=1, rtol=1e-4)
def with_equations(p):
    constraint = {"type": "eq", "fun": lambda x, p: x[0] ** 2 + x[1] - p[0], "args": (p,)}
    return optimize.minimize(energy, np.ones(2), (p,), constraints=constraint, method="SLSQP", tol=1e-11).x


@case(P, order=1, rtol=1e-4)
def with_inequalities_of_which_one_holds(p):
    constraints = [
        {"type": "ineq", "fun": lambda x: np.array([1.0 - x[0] * p[0], x[1] + 7.0])},
        optimize.LinearConstraint(np.eye(2), [-9.0, -9.0], [9.0, 9.0]),
    ]
    return optimize.minimize(energy, np.zeros(2), (p,), constraints=constraints, method="SLSQP", tol=1e-11).x


@case(P, order=1, rtol=1e-4)
def with_constraints_as_objects(p):
    constraints = [
        optimize.LinearConstraint([[1.0, 1.0]], p[0], p[0]),
        optimize.NonlinearConstraint(lambda x: x[0] ** 2, -np.inf, 0.25 * p[1]),
    ]
    words = {"method": "trust-constr", "options": {"gtol": 1e-12, "xtol": 1e-12, "barrier_tol": 1e-10}}
    return optimize.minimize(energy, np.zeros(2), (p,), constraints=constraints, **words).x


@pytest.mark.parametrize("method", ["brent", "golden", "bounded"])
def test_minimize_scalar(method: str) -> None:
    def f(a):
        words = {"options": {"xatol": 1e-10}, "bounds": (-3.0, 3.0)} if method == "bounded" else {"tol": 1e-12}
        found = optimize.minimize_scalar(lambda x, a: (x - a) ** 2 + np.cosh(x), args=(a,), method=method, **words)
        return found.x * found.fun

    check(Case(f, (1.2,), None, 2, 1e-4))


@case(1.2, rtol=1e-4)
def fminbound(a):
    return optimize.fminbound(lambda x: (x - a) ** 2 + np.cosh(x), -3.0, 3.0, xtol=1e-10)


@case(1.2, 0.1, order=1, rtol=1e-4)
def fminbound_at_a_bound(a, b):
    x, value, *_ = optimize.fminbound(lambda x: (x - a) ** 2 + np.cosh(x), -3.0, b, xtol=1e-10, full_output=True)
    return x * value


@case(1.2, rtol=1e-4)
def golden_and_brent(a):
    return optimize.golden(lambda x, a: (x - a) ** 2 + np.cosh(x), (a,), tol=1e-12) * optimize.brent(
        lambda x: (x - a) ** 2 + np.cosh(x), tol=1e-12
    )


OLDER = {
    "fmin": {},
    "fmin_bfgs": {"fprime": energy_slopes},
    "fmin_cg": {},
    "fmin_ncg": {"fprime": energy_slopes},
    "fmin_powell": {},
}


@pytest.mark.parametrize("name", OLDER)
def test_functions_of_the_older_kind(name: str) -> None:
    solver, words = getattr(optimize, name), {"disp": False, **OLDER[name]}
    found = wg.jacobian(lambda p: solver(energy, np.zeros(2), args=(p,), **words))(P)
    np.testing.assert_allclose(found, wanted(), atol=1e-4)
    x, slope = wg.value_and_grad(lambda p: solver(energy, np.zeros(2), args=(p,), full_output=True, **words)[1])(P)
    x = tight(energy, np.zeros(2), (P,))[0]
    np.testing.assert_allclose(slope, wg.ngradient(lambda p: energy(x, p), P)[0], atol=1e-3)


@case(P, order=1, rtol=1e-4)
def older_functions_with_bounds(p):
    def both(x):
        return energy(x, p), energy_slopes(x, p)

    bounds = [(-1.0, 0.7), (None, 3.0)]
    x, value, _ = optimize.fmin_l_bfgs_b(both, np.zeros(2), bounds=bounds, factr=10.0, pgtol=1e-10)
    return x * value


def test_fmin_tnc() -> None:
    def f(p):
        words = {"bounds": [(-1.0, 0.7), (None, 3.0)], "messages": 0}
        return optimize.fmin_tnc(energy, np.zeros(2), energy_slopes, (p,), **words)[0]

    np.testing.assert_allclose(wg.jacobian(f)(P), by_differences(f), atol=1e-3)


@case(P, order=1, rtol=1e-4)
def fmin_slsqp(p):
    return optimize.fmin_slsqp(energy, np.zeros(2), ieqcons=[lambda x, p: p[1] - x[0]], args=(p,), acc=1e-14, iprint=0)


def test_fmin_cobyla() -> None:
    words = {"catol": 1e-9, "rhoend": 1e-6}

    def f(p):
        return optimize.fmin_cobyla(lambda x: energy(x, p), np.zeros(2), [lambda x: p[1] - x[0]], **words)

    np.testing.assert_allclose(wg.jacobian(f)(P), by_differences(fmin_slsqp), atol=1e-4)


SEARCHES = {
    "differential_evolution": {"tol": 1e-10, "popsize": 5},
    "dual_annealing": {"maxiter": 30},
    "shgo": {},
    "direct": {"vol_tol": 1e-30, "len_tol": 1e-11, "maxfun": 4000},
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_over_all(name: str) -> None:
    def f(p):
        found = getattr(optimize, name)(lambda x: energy(x, p), [(-3.0, 0.5), (-3.0, 4.0)], **SEARCHES[name])
        return found.x * found.fun

    def nearby(p):
        found = optimize.minimize(energy, np.zeros(2), (p,), bounds=[(-3.0, 0.5), (None, None)], tol=1e-12)
        return found.x * found.fun

    (value, pullback), (wanted, other) = wg.vjp(f, P), wg.vjp(nearby, P)
    np.testing.assert_allclose(value, wanted, rtol=1e-4)
    np.testing.assert_allclose(pullback(np.ones(2))[0], other(np.ones(2))[0], rtol=1e-3)


@case(P, order=1, rtol=1e-4)
def basinhopping(p):
    found = optimize.basinhopping(energy, np.zeros(2), niter=1, minimizer_kwargs={"args": (p,), "tol": 1e-8}, seed=1)
    return found.x * found.fun


@case(P, order=1, rtol=1e-4)
def brute(p):
    x, value, *_ = optimize.brute(energy, ((-2.0, 2.0), (-2.0, 2.0)), (p,), Ns=5, full_output=True, finish=tight)
    return np.append(x, value)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives(case: Case) -> None:
    check(case)


def test_the_envelope_theorem() -> None:
    """∂/∂p min f(x, p) = ∂f/∂p at the minimum."""
    found = optimize.minimize(energy, np.zeros(2), (P,), tol=1e-10)
    slope = wg.grad(lambda p: optimize.minimize(energy, np.zeros(2), (p,), tol=1e-10).fun)(P)
    np.testing.assert_allclose(slope, wg.grad(energy, argnums=1)(found.x, P), atol=1e-8)


def test_a_bound_that_is_reached_and_does_not_hold_is_refused() -> None:
    with pytest.raises(wg.NoDerivativeError, match=r"test_minima.py.*one derivative on each side"):
        wg.grad(lambda a: optimize.minimize(lambda x: (x[0] - a) ** 2, 0.0, bounds=[(None, 1.0)]).x[0])(1.0)


def test_a_flat_minimum_is_refused() -> None:
    with pytest.raises(wg.NoDerivativeError, match=r"test_minima.py.*singular"):
        wg.jacobian(lambda a: optimize.minimize(lambda x: (x[0] + x[1] - a) ** 2, np.zeros(2)).x)(1.0)


def test_no_minimum_is_told() -> None:
    with pytest.warns(wg.NotConvergedWarning, match=r"test_minima.py"):
        wg.jacobian(lambda p: optimize.minimize(energy, np.zeros(2), (p,), options={"maxiter": 1}).x)(P)


def test_a_minimum_that_stopped_short_of_its_constraint_is_refused():
    def f(a, **options):
        constraint = optimize.NonlinearConstraint(lambda x: x[0] - a, 0.0, np.inf)
        return optimize.minimize(
            lambda x: np.sum(x * x), [3.0], method="trust-constr", constraints=constraint, options=options
        ).x[0]

    with pytest.raises(wg.NoDerivativeError, match="no constraint is active there"):
        wg.grad(f)(2.5, barrier_tol=1e-2)
    found = wg.grad(f)(2.5, barrier_tol=1e-9, xtol=1e-12, gtol=1e-10)
    np.testing.assert_allclose(found, 1.0, rtol=1e-6)
