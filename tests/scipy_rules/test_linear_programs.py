"""Linear programs, assignments, isotonic regression: right where their solution is one vertex, else refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from solver_cases import Case, check, table

import wengert as wg

CASES, case = table()
COSTS = np.array([-3.0, -5.0, 0.5])
ROWS, MOST = np.array([[1.0, 0.2, 0.0], [0.1, 2.0, 0.3], [3.0, 2.0, 1.0]]), np.array([4.0, 12.0, 18.0])


@case(COSTS, ROWS, MOST)
def linprog(c, rows, most):
    found = optimize.linprog(c, rows, most)
    return np.append(found.x, found.fun)


@case(MOST, 0.7)
def linprog_with_equations_and_bounds(most, low):
    found = optimize.linprog(COSTS, ROWS, most, [[1.0, 1.0, 1.0]], [low + 3.0], [(0, None), (None, 2), (low, 9.0)])
    return np.append(found.x, found.fun)


@case(COSTS, MOST)
def milp(c, most):
    found = optimize.milp(c, integrality=[1, 0, 0], constraints=optimize.LinearConstraint(ROWS, -np.inf, most))
    return np.append(found.x, found.fun)


@case(np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]))
def linear_sum_assignment(costs):
    rows, columns = optimize.linear_sum_assignment(np.cos(costs))
    return np.sum(costs[rows, columns] ** 2)


@case(np.arange(9.0).reshape(3, 3) % 4, np.arange(9.0).reshape(3, 3) ** 2 % 5)
def quadratic_assignment(a, b):
    return optimize.quadratic_assignment(a, b).fun


@case(np.array([1.0, 3.0, 2.0, 2.5, 4.0, 3.5]), np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0]))
def isotonic_regression(y, weights):
    return optimize.isotonic_regression(y, weights=weights).x


@case(np.array([1.0, 3.0, 2.0, 2.5]))
def isotonic_regression_downward(y):
    return optimize.isotonic_regression(y, increasing=False).x


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives(case: Case) -> None:
    check(case)


def test_a_vertex_where_too_much_holds_is_refused() -> None:
    def f(b):
        return optimize.linprog([-1.0, -1.0], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 1.0, b]).x[0]

    with pytest.raises(wg.NoDerivativeError, match=r"test_linear_programs.py"):
        wg.grad(f)(2.0)


def test_its_value_moves_with_the_costs_all_the_same() -> None:
    def f(c):
        return optimize.linprog(c, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 1.0, 2.0]).fun

    np.testing.assert_allclose(wg.grad(f)(np.array([-1.0, -2.0])), [1.0, 1.0])
