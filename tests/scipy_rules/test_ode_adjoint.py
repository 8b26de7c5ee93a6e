"""Derivatives of solve_ivp by equations of tangents and of cotangents, against closed forms and tight solutions."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import wengert as wg
from wengert.extend import unseen

KINDS = ["forward", "continuous"]
METHODS = ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]
P, Y = np.array([1.1, 0.4]), np.array([2.0, 1.0])
TIMES = np.linspace(0.5, 1.9, 4)


def hunt(t, y, p):
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], -y[1] + p[1] * y[0] * y[1] + 0.1 * np.sin(t)])


def hunted(p, y0, start, end, method, tolerance, at):
    """A number from the values at the end, and those at the times."""
    words = {"args": (p,), "rtol": tolerance, "atol": tolerance}
    found = integrate.solve_ivp(hunt, (start, end), y0, method, at, **words)
    return np.sum(np.array([[1.0], [2.0]]) * found.y[:, -1:]) + (0.0 if at is None else np.sum(found.y**2))


HUNT = P, Y, 0.2, 2.0


@functools.cache
def exact_slopes(has_times: bool) -> Any:
    return wg.ngradient(lambda *args: hunted(*args, "DOP853", 1e-13, TIMES if has_times else None), *HUNT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("has_times", [False, True])
def test_every_method(method: str, kind: str, has_times: bool) -> None:
    """Errors are below twenty tolerances, in parameters, initial values and both ends; the value is SciPy's."""

    def loss(*args):
        return hunted(*args, method, 1e-6, TIMES if has_times else None)

    with wg.ode_adjoint(kind):
        value, found = wg.value_and_grad(loss, argnums=(0, 1, 2, 3))(*HUNT)
        slopes = wg.jacobian(loss, argnums=(0, 1, 2, 3))(*HUNT)
    assert value == loss(*HUNT)
    wanted = exact_slopes(has_times)
    size = max([np.max(np.abs(slope)) for slope in wanted])
    for made in (found, slopes):
        for slope, x_wanted in zip(made, wanted, strict=True):
            np.testing.assert_allclose(slope, x_wanted, rtol=0, atol=2e-5 * size)


@pytest.mark.parametrize("kind", KINDS)
def test_result_but_for_its_derivatives(kind: str) -> None:
    """SciPy's counts, times and values, to the bit; as many calls of the right-hand side but for its trace."""
    for method in METHODS:
        for at in (None, TIMES):
            words = {"args": (P,), "rtol": 1e-5}
            plain = integrate.solve_ivp(hunt, (0.0, 2.0), Y, method, at, **words)
            kept = []
            with wg.ode_adjoint(kind):
                wg.grad(
                    lambda y: kept.append(integrate.solve_ivp(hunt, (0.0, 2.0), y, method, at, **words)) or np.sum(y)
                )(Y)
            for name in ("t", "y", "nfev", "njev", "nlu", "status", "message", "success", "sol"):
                found = unseen(np.array, kept[0][name])
                np.testing.assert_array_equal(found, plain[name])


def exponential(k, y0=1.0, span=(0.0, 2.0), **words):
    words = {"rtol": 1e-9, "atol": 1e-9, **words}
    return integrate.solve_ivp(lambda t, y: -k * y, span, [y0], **words).y[0, -1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("f", "x", "wanted"),
    [
        (exponential, 0.5, -2 * np.exp(-1.0)),
        (lambda y0: exponential(0.5, y0), 3.0, np.exp(-1.0)),
        (lambda k: exponential(k, span=(2.0, 0.0)), 0.5, 2 * np.exp(1.0)),
        (lambda t: exponential(0.5, t_eval=[t]), 1.0, -0.5 * np.exp(-0.5)),
        (lambda t: exponential(0.5, span=(t, 2.0)), 1.0, 0.5 * np.exp(-0.5)),
        (lambda k: exponential(k, k, span=(2.0, 2.0)), 0.5, 1.0),
        (lambda k: exponential(k, k, t_eval=[0.0]), 0.5, 1.0),
        (lambda k: exponential(k, vectorized=True, method="BDF"), 0.5, -2 * np.exp(-1.0)),
        (lambda p: integrate.solve_ivp(lambda t, y: [2 * p], (0, 3), [0.0]).y[0, -1], 0.5, 6.0),
        (lambda y0: integrate.solve_ivp(lambda t, y: 0 * y, (0, 3), [y0]).y[0, -1], 0.5, 1.0),
        (lambda k: 1e-9 * exponential(k), 0.5, -2e-9 * np.exp(-1.0)),
        (lambda k: 1e-9 * exponential(1e9 * k), 0.5e-9, -2 * np.exp(-1.0)),
        (lambda k: k + np.sum(integrate.solve_ivp(lambda t, y: -k * y, (0, 2), [1.0], t_eval=[]).y), 0.5, 1.0),
    ],
)
def test_closed_forms(kind: str, f: Any, x: float, wanted: float) -> None:
    with wg.ode_adjoint(kind):
        for found in (wg.grad(f)(x), wg.jvp(f, (x,), (2.0,))[1] / 2.0, wg.vjp(f, x)[1](1.0)[0]):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_seeds_that_are_not_finite(kind: str) -> None:
    """A product of zero and an infinite or unknown partial is zero, as in every derivative."""
    with wg.ode_adjoint(kind):
        assert wg.grad(lambda k: np.sqrt(0.0 * exponential(k) - 1.0))(0.5) == 0.0
        assert np.isnan(wg.grad(lambda k: np.nan * exponential(k))(0.5))
        assert np.isnan(wg.jvp(exponential, (0.5,), (np.inf,))[1])
        assert wg.grad(lambda k: 0.0 * exponential(k))(0.5) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_force_that_is_faster_than_the_cotangents(kind: str) -> None:
    """The equation is linear, so cotangents change slowly; the integral for p has the steps of the solution."""

    def end(p):
        found = integrate.solve_ivp(lambda t, y: -y + p * np.sin(50 * t), (0.0, 3.0), [0.0], rtol=1e-8, atol=1e-8)
        return found.y[0, -1]

    wanted = (np.sin(150.0) - 50 * np.cos(150.0) + 50 * np.exp(-3.0)) / 2501
    with wg.ode_adjoint(kind):
        np.testing.assert_allclose(wg.grad(end)(0.7), wanted, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_a_right_hand_side_reads(kind: str) -> None:
    """Attributes, closures, arrays of several shapes and indices, as they were when the solution was computed."""
    numbers = np.random.default_rng(2)
    order = np.array([2, 0, 1])

    def ends(scale, matrix, table, rate):
        model = types.SimpleNamespace(scale=scale, matrix=matrix * 1.0)

        def f(t, y):
            return model.scale * np.tanh(model.matrix @ y[order]) - rate * y + np.einsum("ijk,k->i", table, np.cos(y))

        words = {"t_eval": [0.5, 1.0], "rtol": 1e-10, "atol": 1e-10}
        found = integrate.solve_ivp(f, (0, 1), np.linspace(0.1, 0.5, 3), "LSODA", **words).y
        model.matrix[:] = np.nan
        return found

    args = 0.8, numbers.normal(size=(3, 3)), numbers.normal(size=(3, 2, 3)) / 4, 0.3
    bar = numbers.normal(size=(3, 2))
    wanted = wg.vjp(ends, *args)[1](bar)
    slopes = wg.jacobian(ends, argnums=(0, 1, 2, 3))(*args)
    with wg.ode_adjoint(kind):
        pull = wg.vjp(ends, *args)[1]
        found = wg.jacobian(ends, argnums=(0, 1, 2, 3))(*args)
    order[:] = 0, 1, 2
    for made, right in zip((*pull(bar), *found), (*wanted, *slopes), strict=True):
        np.testing.assert_allclose(made, right, rtol=1e-6, atol=1e-8)


RATES = np.array([0.04, 3e7, 1e4])


def robertson(p, method, tolerance):
    def f(t, y):
        a, b, c = p[0] * y[0], p[1] * y[1] * y[1], p[2] * y[1] * y[2]
        return [-a + c, a - b - c, b]

    words = {"t_eval": [1.0, 1e3], "rtol": tolerance, "atol": 1e-4 * tolerance}
    return np.sum(integrate.solve_ivp(f, (0.0, 1e3), [1.0, 0.0, 0.0], method, **words).y[0] ** 2)


@functools.cache
def exact_slopes_by_rates() -> np.ndarray:
    """Return them in relative units."""
    by_one = [
        robertson(RATES + h, "Radau", 1e-10) - robertson(RATES - h, "Radau", 1e-10) for h in 1e-3 * np.diag(RATES)
    ]
    return np.array(by_one) / 2e-3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_stiff_problem(method: str, kind: str) -> None:
    """Robertson's problem: rates and values of very different sizes."""
    with wg.ode_adjoint(kind):
        found = wg.grad(lambda p: robertson(p, method, 1e-6))(RATES) * RATES
    np.testing.assert_allclose(found, exact_slopes_by_rates(), rtol=2e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::wengert.NoBatchingRuleWarning")
def test_batches_tapes_and_compiled_functions(kind: str) -> None:
    """Each runs one example after the other, says that it is stale, or runs uncompiled."""
    k = np.array([0.5, 0.6])

    def inside(k):
        with wg.ode_adjoint(kind):
            return exponential(k, t_eval=[2.0])

    def same(found, x):
        np.testing.assert_allclose(found, -2 * np.exp(-2.0 * x), rtol=1e-7)

    compiled = wg.compile(wg.grad(lambda k: exponential(k, t_eval=[2.0])))
    with pytest.warns(wg.NotCompiledWarning, match="native code has no ode_adjoint"):
        same(wg.compile(wg.grad(inside))(0.5), 0.5)
    with wg.ode_adjoint(kind):
        with pytest.warns(wg.NoBatchingRuleWarning, match="different branches"):
            ends = wg.vmap(exponential)(k)
        np.testing.assert_allclose(ends, np.exp(-2 * k), rtol=1e-7)
        same(wg.vmap(wg.grad(exponential))(k), k)
        same(wg.grad(lambda k: np.sum(wg.vmap(exponential)(k)))(k), k)
        for x in k:
            same(compiled(x), x)
        tape = wg.gradtape(exponential, 0.5)
        tape.play(0.5)
        with pytest.raises(wg.StaleTapeError):
            tape.play(0.6)


def branching(k):
    return integrate.solve_ivp(lambda t, y: -k * y if t < 1 else -2 * k * y, (0, 2), [1.0]).y[0, -1]


def counting(k):
    calls = []
    return integrate.solve_ivp(lambda t, y: calls.append(t) or -k * y, (0, 2), [1.0]).y[0, -1]


def infinite(k):
    return integrate.solve_ivp(lambda t, y: np.sqrt(y) - k, (0, 1), [0.0]).y[0, -1]


REFUSED = {
    "first derivatives only": lambda k: wg.grad(exponential)(k),
    "has first": lambda k: wg.jvp(exponential, (k,), (1.0,))[1],
    "events=": lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0, 2), [1.0], events=lambda t, y: y[0] - k).y[0, -1],
    "dense_output=": lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0, 2), [1.0], dense_output=True).sol(1.0)[0],
    "real": lambda k: abs(integrate.solve_ivp(lambda t, y: -1j * k * y, (0, 2), [1.0 + 0j]).y[0, -1]),
    "other branches": branching,
    "changes nothing outside": counting,
    "not finite|not integrate": infinite,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("message", REFUSED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_refused_calls(kind: str, message: str) -> None:
    with wg.ode_adjoint(kind), pytest.raises(wg.NoDerivativeError, match=message) as caught:
        wg.grad(REFUSED[message])(0.0 if REFUSED[message] is infinite else 0.5)
    assert 'ode_adjoint("discrete")' in str(caught.value)


def test_choices() -> None:
    with pytest.raises(ValueError, match="pass one of 'discrete', 'forward', 'continuous'"), wg.ode_adjoint("backward"):
        pass
    with wg.ode_adjoint("forward"), pytest.raises(ValueError, match="`method` must be"):
        wg.grad(lambda k: exponential(k, method="Euler"))(0.5)
    with wg.ode_adjoint("continuous"), wg.ode_adjoint("discrete"):
        np.testing.assert_allclose(wg.grad(wg.grad(exponential))(0.5), 4 * np.exp(-1.0), rtol=1e-7)
