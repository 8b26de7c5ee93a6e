"""Compiled functions that solve by Radau, BDF, LSODA and odeint, against the functions that are not compiled.

These are tested against differences and closed forms elsewhere. The code of the kernels runs in Python.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_source
from scipy.integrate import LSODA, ODEintWarning, odeint, solve_ivp

import wengert as wg
from wengert.api import native_functions
from wengert.compiling.native import callbacks

X = np.array([0.8, 0.6, 0.5, 0.9])
TIMES = np.linspace(0.0, 1.0, 4)
A = np.array([[-0.3, 1.0], [-1.2, -0.1]])
EXACT = {"rtol": 1e-8, "atol": 1e-8}


@pytest.fixture(autouse=True)
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels in Python."""
    monkeypatch.setattr(callbacks, "compile_source", interpret_source)
    monkeypatch.setattr(native_functions, "has_compiler", lambda: True)


def swing(t, y, a, b):
    return np.array([a * y[1] + 0.1 * np.sin(t), -b * y[0] * y[1]])


def by_radau(x):
    return solve_ivp(swing, (0, 1), x[:2], "Radau", TIMES, args=tuple(x[2:]), **EXACT).y


def by_bdf(x):
    return solve_ivp(lambda t, y: A @ y * x[2] - x[3] * y**3, (0, 1), x[:2], "BDF", TIMES, **EXACT).y


def by_lsoda(x):
    return solve_ivp(swing, (0, 1), x[:2], LSODA, TIMES, args=tuple(x[2:]), max_step=0.1, first_step=0.01, **EXACT).y


def with_a_jacobian(x):
    slopes = lambda y: 3.0 * x[3] * y**2
    jac = lambda t, y: [[A[0, 0] * x[2] - slopes(y[0]), A[0, 1] * x[2]], A[1] * x[2] - [0, slopes(y[1])]]
    return solve_ivp(lambda t, y: A @ y * x[2] - x[3] * y**3, (0, 1), x[:2], "BDF", TIMES, jac=jac, **EXACT).y


def of_complex_numbers(x):
    f = lambda t, y: 1j * y * x[2] + np.abs(y) ** 2 * x[3]
    return solve_ivp(f, (0, 1), x[:2] + 0.1j, "BDF", TIMES, rtol=1e-4, atol=[1e-4, 1e-5]).y.imag


def by_odeint(x):
    return odeint(lambda y, t, a: [a * y[1], -x[3] * y[0] * y[1]], x[:2], TIMES, (x[2],), **EXACT)


def by_odeint_in_short_steps(x):
    return odeint(swing, x[:2], TIMES, (x[2], x[3]), tfirst=True, h0=1e-3, hmax=0.1, **EXACT)


def with_a_pattern(x):
    return solve_ivp(lambda t, y: A @ y * x[2] - x[3] * y**3, (0, 1), x[:2], "Radau", TIMES, jac_sparsity=A, **EXACT).y


def by_odeint_backward(x):
    return odeint(swing, x[:2], TIMES[::-1], (x[2], x[3]), tfirst=True, mxstep=5000)


def by_odeint_at_traced_times(x):
    return odeint(lambda y, t: A @ y * np.sin(t), x[:2], np.array([x[2], x[2] + x[3], 2.0]), **EXACT)


def at_traced_times(x):
    span, at = (x[2], x[2] + 1.0), [x[2] + 0.5 * x[3], x[2] + 1.0]
    return solve_ivp(lambda t, y: A @ y * np.sin(t), span, x[:2], "BDF", at, **EXACT).y


def switched(x):
    f = lambda t, y: [y[1], -x[2] * y[0] if t < 0.47 else x[3]]
    return solve_ivp(f, (0, 1), x[:2], "LSODA", TIMES, max_step=0.05, **EXACT).y


def vectorized(x):
    f = lambda t, y: np.array([y[1] * x[2], -y[0]])
    return solve_ivp(f, (0, 1), x[:2], "Radau", TIMES, vectorized=True, **EXACT).y


def of_constants(x):
    return solve_ivp(lambda t, y: [1.0, 2.0], (0, 1), x[:2], "LSODA", TIMES, **EXACT).y


def in_a_batch(x):
    end = lambda y, k: solve_ivp(lambda t, z: A @ z * k, (0, 1), y, "LSODA", [0.5, 1.0], **EXACT).y
    return wg.vmap(end, (0, None))(np.multiply.outer(np.array([0.7, 1.0, 1.6]), x[:2]), x[2])


def one_after_the_other(x):
    y = by_lsoda(x)[:, -1]
    return solve_ivp(lambda t, z: -z * x[3], (1, 2), y, "BDF", [1.5, 2.0], **EXACT).y + by_odeint(x)[-1:].T


COMPILED = [
    by_radau, by_bdf, by_lsoda, by_odeint, by_odeint_backward, by_odeint_at_traced_times, at_traced_times, switched,
    vectorized, of_constants, in_a_batch, one_after_the_other, with_a_jacobian, of_complex_numbers, with_a_pattern,
    by_odeint_in_short_steps,
]  # fmt: skip


def close(found: Any, wanted: Any, rtol: float = 1e-7) -> None:
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_values_and_derivatives(f: Callable[..., Any]) -> None:
    rtol = 3e-4 if "times" in f.__name__ else 1e-7  # by the slopes at the times, not along the steps
    loss = lambda x: np.sum(f(x) ** 2)
    with warnings.catch_warnings(action="ignore", category=wg.NoBatchingRuleWarning):
        compiled, jacobian, rows = [wg.compile(each, strict=True) for each in (f, wg.jacfwd(f), wg.jacrev(f))]
        gradient = wg.compile(wg.value_and_grad(loss), strict=True)
        for x in (X, 1.1 * X, X):
            close(compiled(x), f(x))
            wanted = wg.jacobian(f)(x)
            close(jacobian(x), wanted, rtol)
            close(rows(x), wanted, rtol)
            value, slope = gradient(x)
            close(value, loss(x))
            close(slope, wg.grad(loss)(x), rtol)


def that_reads_evaluations(x):
    found = solve_ivp(swing, (0, 1), x[:2], "Radau", TIMES, args=tuple(x[2:]))
    return found.y * found.njev


def with_a_wrong_jacobian(x):
    return solve_ivp(lambda t, y: A @ y * x[2], (0, 1), x[:2], "BDF", TIMES, jac=A).y


def with_a_jacobian_that_counts(x):
    count = [0]

    def jac(t, y):
        count[0] += 1
        return A * x[2]

    return solve_ivp(lambda t, y: A @ y * x[2], (0, 1), x[:2], "BDF", TIMES, jac=jac).y * count[0]


def with_an_output(x):
    return odeint(lambda y, t: A @ y * x[2], x[:2], TIMES, full_output=True)[0]


def that_counts(x):
    count = [0]

    def slope(y, t):
        count[0] += 1
        return A @ y * x[2]

    return odeint(slope, x[:2], TIMES)


def with_events(x):
    return solve_ivp(swing, (0, 1), x[:2], "BDF", TIMES, args=tuple(x[2:]), events=lambda t, y, a, b: y[0]).y


def twice(x):
    return wg.hessian(lambda x: np.sum(by_odeint(x) ** 2))(x)


@pytest.mark.parametrize("f", [that_reads_evaluations, with_a_wrong_jacobian, with_a_jacobian_that_counts,
                               with_an_output, that_counts, with_events, twice],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_uncompiled(f: Callable[..., Any]) -> None:
    compiled = wg.compile(f)
    with warnings.catch_warnings(action="ignore"):
        for x in (X, 1.1 * X):
            close(compiled(x), f(x))
    assert "runs uncompiled" in compiled.explain()


def test_a_later_call_that_fails_runs_uncompiled() -> None:
    """y' = a y² is infinite before the last time for the large a; SciPy says so then."""

    def ends(x):
        found = solve_ivp(lambda t, y: x[0] * y**2, (0.0, 4.0), x[1:], "BDF", [0.1, 4.0])
        return np.sum(found.y) if found.success else -x[0]

    gradient = wg.grad(ends)
    compiled = wg.compile(gradient, strict=True)
    slow, fast = np.array([0.1, 0.1]), np.array([1.0, 1.0])
    with warnings.catch_warnings(action="ignore"):
        for x in (slow, fast, slow):
            np.testing.assert_allclose(compiled(x), gradient(x), rtol=1e-5)


def test_warnings_are_those_of_scipy() -> None:
    ends = lambda x: odeint(lambda y, t: x[0] * y**2, x[1:], [0.0, 0.1, 4.0])[:2]
    compiled = wg.compile(ends, strict=True)
    close(compiled(np.array([0.1, 0.1])), ends(np.array([0.1, 0.1])))
    with pytest.warns(ODEintWarning, match="Excess work"):
        found = compiled(np.array([1.0, 1.0]))
    with pytest.warns(ODEintWarning, match="Excess work"):
        np.testing.assert_array_equal(found, ends(np.array([1.0, 1.0])))


@pytest.mark.parametrize("times", [False, True])
def test_derivatives_by_times(times: bool) -> None:
    """y' = y sin t; its derivatives by the times are more accurate than those of the steps."""

    def found(x):
        if times:
            return odeint(lambda y, t: y * np.sin(t), x[2:], x[:2], **EXACT)[-1, 0]
        return solve_ivp(lambda t, y: y * np.sin(t), x[:2], x[2:], "BDF", [x[1]], **EXACT).y[0, 0]

    closed = lambda x: x[2] * np.exp(np.cos(x[0]) - np.cos(x[1]))
    x = np.array([0.3, 1.2, 0.7])
    for transform in (wg.grad, wg.jacfwd):
        close(wg.compile(transform(found), strict=True)(x), wg.grad(closed)(x), 1e-6)


def test_what_the_right_hand_side_reads_may_change() -> None:
    held = {"A": A.copy(), "k": 0.7}
    ends = lambda x: odeint(lambda y, t: held["A"] @ y * held["k"] * x[2], x[:2], TIMES)
    jacobian = wg.jacobian(ends)
    compiled = wg.compile(jacobian, strict=True)
    for _ in range(3):
        close(compiled(X), jacobian(X))
        held["A"][0, 0] += 0.3
        held["k"] *= 1.1
