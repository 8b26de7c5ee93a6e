"""scipy.integrate.ode and complex_ode in initial values, parameters and times, against closed forms and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import complex_ode, ode, solve_ivp

import wengert as wg

REAL = ["dopri5", "dop853", "vode", "lsoda"]
EXACT = {"rtol": 1e-10, "atol": 1e-10}
P = np.array([1.1, 0.4, 2.0, 1.0])


def hunt(t, y, a, b):
    return [a * y[0] - b * y[0] * y[1], -y[1] + b * y[0] * y[1] + 0.1 * np.sin(t)]


def slopes(t, y, a, b):
    return [[a - b * y[1], -b * y[0]], [b * y[1], b * y[0] - 1]]


def sizes(p, name="vode", jac=None, **words):
    """The sizes at four times, with the loop that SciPy's page has."""
    solver = ode(hunt, jac).set_integrator(name, **EXACT, **words)
    solver.set_initial_value(p[2:], 0.0).set_f_params(p[0], p[1]).set_jac_params(p[0], p[1])
    found = []
    while solver.successful() and solver.t < 2:
        found.append(solver.integrate(solver.t + 0.5) + 0.0)
    return np.array(found)


def by_differences(f: Any, p: np.ndarray, h: float = 1e-5) -> np.ndarray:
    return np.stack([(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(p.size)], axis=-1)


def exact_sizes(p):
    times = [0.5, 1.0, 1.5, 2.0]
    return solve_ivp(hunt, (0, 2), p[2:], "DOP853", times, args=tuple(p[:2]), rtol=1e-12, atol=1e-12).y.T


@pytest.mark.parametrize("words", [{}, {"jac": slopes, "method": "bdf"}], ids=["", "jac"])
@pytest.mark.parametrize("name", REAL)
def test_derivatives(name: str, words: dict[str, Any]) -> None:
    y, found = wg.value_and_jacobian(sizes)(P, name, **words)
    np.testing.assert_array_equal(y, sizes(P, name, **words))
    np.testing.assert_allclose(found, by_differences(exact_sizes, P), rtol=1e-6, atol=1e-7)
    direction = np.array([0.3, -1.0, 0.5, 0.7])
    np.testing.assert_allclose(wg.jvp(lambda p: sizes(p, name), (P,), (direction,))[1], found @ direction, rtol=1e-6)


@pytest.mark.parametrize("name", REAL)
def test_second_derivatives(name: str) -> None:
    def at_end(x):
        """x₀ exp(-x₁ (x₂ - x₃)), in both times, too."""
        solver = ode(lambda t, y: -x[1] * y).set_integrator(name, **EXACT)
        return solver.set_initial_value(x[0], x[3]).integrate(x[2])[0] + solver.t * solver.y[0]

    closed = lambda x: (1 + x[2]) * x[0] * np.exp(-x[1] * (x[2] - x[3]))
    x = np.array([1.3, 0.7, 2.0, 0.2])
    np.testing.assert_allclose(wg.grad(at_end)(x), wg.grad(closed)(x), rtol=1e-7)
    np.testing.assert_allclose(wg.hessian(at_end)(x), wg.hessian(closed)(x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["zvode", "vode", "lsoda", "dop853"])
def test_complex_states(name: str) -> None:
    """y' = i a y² has the solution y₀ / (1 - i a y₀ t)."""

    def at_end(p):
        kind = ode if name == "zvode" else complex_ode
        solver = kind(lambda t, y, a: 1j * a * y**2).set_integrator(name, **EXACT)
        solver.set_initial_value(np.array([p[1] + 1j * p[2]])).set_f_params(p[0])
        first = solver.integrate(0.3)
        return np.array([np.abs(first[0]), np.real(solver.integrate(0.8)[0]), np.imag(solver.y[0])])

    def closed(p):
        y = lambda t: (p[1] + 1j * p[2]) / (1 - 1j * p[0] * (p[1] + 1j * p[2]) * t)
        return np.array([np.abs(y(0.3)), np.real(y(0.8)), np.imag(y(0.8))])

    p = np.array([0.7, 1.0, 0.5])
    np.testing.assert_array_equal(wg.value_and_jacobian(at_end)(p)[0], at_end(p))
    np.testing.assert_allclose(wg.jacobian(at_end)(p), by_differences(closed, p), rtol=1e-6)


@pytest.mark.parametrize("words", [{"step": True}, {"relax": True}])
def test_steps_that_the_integrator_chooses(words: dict[str, bool]) -> None:
    """Their ends are constants."""

    def at_end(k):
        solver = ode(lambda t, y: -k * y).set_integrator("vode", **EXACT).set_initial_value([2.0])
        for _ in range(20):
            solver.integrate(1.0, **words)
        assert solver.t > 0.01
        return solver.y[0], solver.t

    (y, t), slope = at_end(0.7), wg.grad(lambda k: at_end(k)[0])(0.7)
    assert slope == pytest.approx(-t * y, rel=1e-5)
    assert wg.jvp(lambda k: at_end(k)[1] * k, (0.7,), (1.0,))[1] == t


def test_an_array_that_lsoda_overwrites() -> None:
    """lsoda returns one array again and again, and the derivative is that of what it holds."""

    def held(k):
        solver = ode(lambda t, y: -k * y).set_integrator("lsoda", **EXACT).set_initial_value([2.0])
        first = solver.integrate(1.0)
        kept = first[0]
        solver.integrate(2.0)
        return kept, first[0]

    wanted = [-k * 2 * np.exp(-k * 0.7) if held(0.7)[0] != held(0.7)[1] else 0.0 for k in (1.0, 2.0)]
    np.testing.assert_allclose(wg.jacobian(lambda k: np.array(held(k)))(0.7), wanted, rtol=1e-6)


def test_a_solver_that_is_used_again() -> None:
    """Other initial values, parameters and integrators of one object, in turn with plain numbers."""

    def f(k):
        solver, found = ode(lambda t, y, k: -k * y).set_integrator("dopri5", **EXACT), []
        for rate, y in ((k, 1.0), (0.5, k), (0.5, 2.0), (k * k, k)):
            found.append(solver.set_initial_value(y).set_f_params(rate).integrate(0.6)[0])
        solver.set_integrator("vode", **EXACT)
        return np.array([*found, solver.set_f_params(k).integrate(1.0)[0]])

    k = 0.8
    closed = lambda k: [np.exp(-0.6 * k), k * np.exp(-0.3), 2 * np.exp(-0.3), k * np.exp(-0.6 * k * k)]
    np.testing.assert_allclose(f(k)[:4], closed(k))
    wanted = (np.array(closed(k + 1e-6)) - closed(k - 1e-6)) / 2e-6
    found = wg.jacobian(f)(k)
    np.testing.assert_allclose(found[:4], wanted, rtol=1e-6)
    assert found[4] == pytest.approx((f(k + 1e-4)[4] - f(k - 1e-4)[4]) / 2e-4, rel=1e-4)


def collected(k, seen):
    solver = ode(lambda t, y: -k * y).set_integrator("dopri5")
    solver.set_solout(lambda t, y: seen.append(y.copy()))
    return solver.set_initial_value([2.0]).integrate(1.0)[0]


def counted(k, seen):
    def rates(t, y):
        seen.append(t)
        return -k * y

    return ode(rates).set_integrator("dopri5").set_initial_value([2.0]).integrate(1.0)[0]


@pytest.mark.parametrize(("f", "why"), [(collected, "set_solout"), (counted, "changes something")])
def test_refused(f: Any, why: str) -> None:
    seen: list[Any] = []
    with pytest.raises(wg.NoDerivativeError, match=f"{why}.*solve_ivp") as refused:
        wg.grad(f)(0.7, seen)
    assert str(refused.value).startswith(__file__)
    once = [*seen]
    seen.clear()
    f(0.7, seen)
    assert len(once) <= len(seen)


def test_a_failed_integration() -> None:
    """y' = k y² is infinite at t = 1/k. The warning and the value are those of the plain run."""

    def f(k):
        solver = ode(lambda t, y: k * y**2).set_integrator("dopri5", nsteps=20).set_initial_value([1.0])
        return solver.integrate(0.999999)[0] * solver.successful() + k

    with pytest.warns(UserWarning, match="larger nsteps"):
        plain = f(1.0)
    with pytest.warns(UserWarning, match="larger nsteps"):
        value, slope = wg.value_and_grad(f)(1.0)
    assert (value, slope) == (plain, 1.0)


def test_compiled_functions_run_uncompiled() -> None:
    compiled = wg.compile(wg.grad(lambda p: np.sum(sizes(p))))
    with pytest.warns(wg.NotCompiledWarning, match=r"does not support scipy\.integrate\.ode\.integrate"):
        compiled(P)
    np.testing.assert_array_equal(compiled(1.1 * P), wg.grad(lambda p: np.sum(sizes(p)))(1.1 * P))


@pytest.mark.filterwarnings("ignore:dopri5:UserWarning")
def test_the_time_of_a_failure() -> None:
    """After 20 steps; the time depends on all that the steps do."""

    def failed(a):
        solver = ode(lambda t, y: -a * y).set_integrator("dopri5", nsteps=20, **EXACT)
        y = solver.set_initial_value([1.0], 0.0).integrate(50.0)
        assert not solver.successful()
        return np.array([solver.t, y[0]])

    y, found = wg.value_and_jacobian(failed)(1.1)
    np.testing.assert_array_equal(y, failed(1.1))
    np.testing.assert_allclose(found, [np.nan, -y[0] * y[1]], rtol=1e-6)
