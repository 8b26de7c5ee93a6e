"""Initial value problems in parameters, initial values and times, by every method, against differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from solver_cases import Case, check, table

import wengert as wg

CASES, case = table()
P, Y = np.array([1.1, 0.4]), np.array([2.0, 1.0])
TIMES = np.linspace(0.0, 2.0, 5)


def hunt(t, y, a, b):
    return np.array([a * y[0] - b * y[0] * y[1], -y[1] + b * y[0] * y[1] + 0.1 * np.sin(t)])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_solve_ivp(method: str) -> None:
    def at_end(p, y, t, method=method, tolerance=1e-6):
        words = {"args": (p[0], p[1]), "rtol": tolerance, "atol": tolerance}
        return np.sum(integrate.solve_ivp(hunt, (0.2, t), y, method, **words).y[:, -1] * np.array([1.0, 2.0]))

    value, found = wg.value_and_grad(at_end, argnums=(0, 1, 2))(P, Y, 2.0)
    assert value == at_end(P, Y, 2.0)
    wanted = wg.ngradient(lambda p, y, t: at_end(p, y, t, "DOP853", 1e-13), P, Y, 2.0)
    for x_bar, x_wanted in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x_bar, x_wanted, rtol=2e-4, atol=2e-4)


EXACT = {"rtol": 1e-10, "atol": 1e-10}


@case(P, Y, order=1, rtol=1e-4)
def by_closure_at_times(p, y):
    return integrate.solve_ivp(lambda t, y: hunt(t, y, *p), (0.0, 2.0), y, "DOP853", TIMES, **EXACT).y


@case(1.3, 0.5, closed=1.3 * np.exp(-0.7 * (1.3 - 0.5)) * -0.7)
def in_both_ends(end, start):
    return integrate.solve_ivp(lambda t, y: -0.7 * y, (start, end), [1.3], "DOP853", **EXACT).y[0, -1]


@case(1.3, 0.5, order=1)
def backward_in_time(end, start):
    return integrate.solve_ivp(lambda t, y: np.sin(t) * y, (end, start), [1.3], "DOP853", **EXACT).y[0, -1]


@case(np.array([0.3, 0.9]))
def at_times_that_depend(t):
    return integrate.solve_ivp(lambda t, y: -y * t, (0.0, 1.0), [1.0], "DOP853", t_eval=t, **EXACT).y


@case(P, 0.7, order=1)
def between_the_steps(p, t):
    found = integrate.solve_ivp(hunt, (0.0, 2.0), Y, "DOP853", args=(p[0], p[1]), dense_output=True, **EXACT)
    return found.sol(t) + found.sol(np.array([t, 1.1]))[:, 1]


@case(np.array([1.0 + 0.5j]), order=1)
def complex_numbers(y):
    return np.real(integrate.solve_ivp(lambda t, y: 1j * y**2, (0.0, 0.5), y, **EXACT).y[:, -1])


@case(P, Y, order=1)
def odeint(p, y):
    return integrate.odeint(lambda y, t: hunt(t, y, *p), y, TIMES, rtol=1e-10, atol=1e-10)


@case(P, order=1)
def odeint_with_args(p):
    found, _ = integrate.odeint(hunt, Y, TIMES, (p[0], p[1]), tfirst=True, full_output=True, rtol=1e-10, atol=1e-10)
    return found[-1]


@case(0.4, order=1)
def whole_numbers_and_lists(a):
    swung = integrate.solve_ivp(lambda t, y: [y[1], -a * y[0]], [0, 1], [1, 0], integrate.RK45, [0, 1], max_step=0.1)
    return swung.y[0, -1] * integrate.odeint(lambda y, t: -a * y, 1, [0, 1, 2])[-1, 0]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives(case: Case) -> None:
    check(case)


def robertson(t, y, k):
    return np.array([-k * y[0] + 1e4 * y[1] * y[2], k * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2])


@pytest.mark.parametrize("method", ["Radau", "LSODA"])
def test_a_stiff_problem(method: str) -> None:
    def f(k, tolerance, method):
        words = {"args": (k,), "rtol": tolerance, "atol": 1e-4 * tolerance}
        return integrate.solve_ivp(robertson, (0.0, 4.0), np.array([1.0, 0.0, 0.0]), method, **words).y[:, -1]

    found = wg.jvp(lambda k: f(k, 1e-6, method), (0.04,), (1.0,))[1]
    wanted = (f(0.04001, 1e-11, "Radau") - f(0.03999, 1e-11, "Radau")) / 2e-5
    np.testing.assert_allclose(found, wanted, rtol=1e-3)


def test_a_stiff_problem_in_small_numbers() -> None:
    """The values of other steps are far off where they differ by more than y is, however little that is."""
    end, rate = 0.3, 300.0

    def f(k):
        words = {"method": "LSODA", "rtol": 1e-4, "atol": 1e-13}
        return integrate.solve_ivp(lambda t, y: rate * (k * np.cos(t) - y), (0.0, end), [0.0], **words).y[0, -1]

    found = wg.jvp(f, (1e-9,), (1.0,))[1]
    wanted = rate * (rate * np.cos(end) + np.sin(end) - rate * np.exp(-rate * end)) / (rate**2 + 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_the_time_of_an_event() -> None:
    """y = exp(at) is 2 at log(2)/a; methods that are not followed refuse it."""

    def doubled(a, method="RK45"):
        words = {"events": lambda t, y: y[0] - 2.0, "rtol": 1e-9, "atol": 1e-9, "method": method}
        return integrate.solve_ivp(lambda t, y: a * y, (0, 3), [1.0], **words).t_events[0][0]

    np.testing.assert_allclose(wg.grad(doubled)(0.7), -np.log(2) / 0.49, rtol=1e-6)
    with pytest.raises(wg.RefusedCallError, match="events="):
        wg.grad(lambda a: doubled(a, "Radau"))(0.7)
