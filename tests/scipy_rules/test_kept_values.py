"""Functions given to solvers that keep a traced matrix outside, in each kind of place, against differences."""

from __future__ import annotations

import collections
import functools
import threading
import types
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import wengert as wg
from wengert.hooks import solver_effects

Make = Callable[[], Any]
KEPT: Any = None
EXACT = {"rtol": 1e-8, "atol": 1e-9}
SHIFT = np.array([1.0, 2.0])


def in_a_dict(make: Make) -> Make:
    held: dict[str, Any] = {}

    def get():
        if "A" not in held:
            held["A"] = make()
        return held["A"]

    return get


def in_an_object(make: Make) -> Make:
    held = types.SimpleNamespace()

    def get():
        if not hasattr(held, "A"):
            held.A = make()
        return held.A

    return get


def in_a_slot(make: Make) -> Make:
    class Held:
        __slots__ = ("A",)

    held = Held()

    def get():
        try:
            return held.A
        except AttributeError:
            held.A = make()
            return held.A

    return get


def in_a_list(make: Make) -> Make:
    held: list[Any] = []

    def get():
        if not held:
            held.append(make())
        return held[0]

    return get


def in_a_deque(make: Make) -> Make:
    held: Any = collections.deque(maxlen=1)

    def get():
        if not held:
            held.append([make()])
        return held[0][0]

    return get


def in_a_set(make: Make) -> Make:
    held: set[Any] = set()

    def get():
        if not held:
            held.add(tuple(make().ravel()))
        return np.reshape(next(iter(held)), (2, 2))

    return get


def in_a_cell(make: Make) -> Make:
    held = None

    def get():
        nonlocal held
        if held is None:
            held = make()
        return held

    return get


def in_a_global(make: Make) -> Make:
    global KEPT
    KEPT = None

    def get():
        global KEPT
        if KEPT is None:
            KEPT = make()
        return KEPT

    return get


def in_a_new_global(make: Make) -> Make:
    globals().pop("KEPT_NEW", None)

    def get():
        global KEPT_NEW
        try:
            return KEPT_NEW
        except NameError:
            KEPT_NEW = make()
            return KEPT_NEW

    return get


def in_an_array(make: Make) -> Make:
    buffer, is_filled = np.zeros((2, 2)), [False]

    def get():
        if not is_filled[0]:
            buffer[...] = make()
            is_filled[0] = True
        return buffer

    return get


def in_a_class(make: Make) -> Make:
    class Held:
        A: Any = None

    def get():
        if Held.A is None:
            Held.A = make()
        return Held.A

    return get


def in_a_function(make: Make) -> Make:
    def get():
        if not hasattr(get, "A"):
            get.A = make()
        return get.A

    return get


def in_a_property(make: Make) -> Make:
    class Model:
        @functools.cached_property
        def A(self):
            return make()

    model = Model()
    return lambda: model.A


def in_a_cache(make: Make) -> Make:
    return functools.lru_cache(None)(make)


def in_a_thread(make: Make) -> Make:
    held = threading.local()

    def get():
        if not hasattr(held, "A"):
            held.A = make()
        return held.A

    return get


def in_a_generator(make: Make) -> Make:
    def forever():
        A = make()
        while True:
            yield A

    matrices = forever()
    return lambda: next(matrices)


def in_a_context(make: Make) -> Make:
    held: ContextVar[Any] = ContextVar("held", default=None)

    def get():
        if held.get() is None:
            held.set(make())
        return held.get()

    return get


PLACES = {f.__name__: f for f in (
    in_a_dict, in_an_object, in_a_slot, in_a_list, in_a_deque, in_a_set, in_a_cell, in_a_global, in_a_new_global,
    in_an_array, in_a_class, in_a_function, in_a_property, in_a_cache, in_a_thread, in_a_generator, in_a_context,
)}  # fmt: skip


def by_ivp(method: str) -> Any:
    return lambda f: integrate.solve_ivp(f, (0.0, 1.5), [1.0, 0.4], method, **EXACT).y[:, -1].sum()


def by_ode(f):
    solver = integrate.ode(f).set_integrator("dopri5", **EXACT).set_initial_value([1.0, 0.4], 0.0)
    return solver.integrate(1.5).sum()


def by_newton_of_ours(f):
    residual = lambda y: f(0.0, y) + SHIFT

    def solve():
        columns = [residual(e) - residual(np.zeros(2)) for e in np.eye(2)]
        return np.linalg.solve(np.stack(columns, axis=1), -residual(np.zeros(2)))

    return wg.implicit(residual, solve).sum()


def residual_of(f):
    return lambda y: f(0.0, y) + SHIFT


def first(f):
    return lambda s: f(0.0, np.array([s, 1.0]))[0]


SOLVERS: dict[str, Any] = {
    **{method: by_ivp(method) for method in ("RK45", "Radau", "BDF", "LSODA")},
    "odeint": lambda f: integrate.odeint(f, [1.0, 0.4], [0.0, 0.7, 1.5], tfirst=True)[-1].sum(),
    "ode": by_ode,
    "quad": lambda f: integrate.quad(lambda t: f(t, np.array([1.0, t]))[0], 0.0, 1.0)[0],
    "root": lambda f: optimize.root(residual_of(f), [0.1, 0.2]).x.sum(),
    "brentq": lambda f: optimize.brentq(first(f), -9.0, 9.0),
    "newton": lambda f: optimize.newton(first(f), 0.1),
    "minimize": lambda f: optimize.minimize(lambda y: np.sum(residual_of(f)(y) ** 2), [0.1, 0.2], tol=1e-12).x.sum(),
    "least_squares": lambda f: optimize.least_squares(residual_of(f), [0.1, 0.2], xtol=1e-14, gtol=1e-14).x.sum(),
    "implicit": by_newton_of_ours,
}
ALONG_STEPS = "RK45", "Radau", "BDF", "LSODA", "odeint"


def loss_of(solve: Any, place: Any) -> Any:
    def loss(p):
        get = place(lambda: np.array([[-p, 0.3 * p + p**2], [0.2 * p, -0.5 * p]]))
        return solve(lambda t, y: get() @ y)

    return loss


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("place", PLACES)
def test_a_matrix_that_is_kept(place: str, solver: str) -> None:
    """The derivative is right, or refused where the place shows no earlier state."""
    pure = loss_of(SOLVERS[solver], lambda make: make)
    coarse, fine = ((pure(1.1 + h) - pure(1.1 - h)) / (2 * h) for h in (2e-3, 1e-3))
    loss = loss_of(SOLVERS[solver], PLACES[place])
    if place in ("in_a_generator", "in_a_context") and solver not in ALONG_STEPS:
        with pytest.raises(wg.RefusedCallError, match="keep values that wengert cannot put back"):
            wg.grad(loss)(1.1)
        return
    with warnings.catch_warnings(action="error"):
        found = wg.value_and_grad(loss)(1.1)
    np.testing.assert_allclose(found, (pure(1.1), (4 * fine - coarse) / 3), rtol=5e-4)


@pytest.mark.parametrize("solver", ["Radau", "odeint", "quad", "root", "minimize"])
def test_a_matrix_that_is_kept_in_a_compiled_function(solver: str) -> None:
    loss = loss_of(SOLVERS[solver], in_a_dict)
    with pytest.warns(wg.NotCompiledWarning):
        found = wg.compile(wg.grad(loss), native=False)(1.1)
    np.testing.assert_allclose(found, wg.grad(loss)(1.1), rtol=1e-9)
    compiled = wg.compile(wg.grad(loss_of(SOLVERS["quad"], in_a_cache)), native=False)
    np.testing.assert_allclose([compiled(1.1) for _ in range(2)], wg.grad(loss_of(SOLVERS["quad"], in_a_dict))(1.1))


@pytest.mark.parametrize("solver", ["Radau", "odeint", "root", "brentq", "minimize", "quad"])
def test_counts_are_those_of_a_plain_run(solver: str) -> None:
    counts = types.SimpleNamespace(calls=0, last=None)

    def loss(p):
        counts.calls = 0

        def f(t, y):
            counts.calls += 1
            counts.last = p * y[0]
            return np.array([[-p, 0.3 * p + p**2], [0.2 * p, -0.5 * p]]) @ y

        return SOLVERS[solver](f)

    value = loss(1.1)
    calls = counts.calls
    with warnings.catch_warnings(action="ignore", category=wg.WengertWarning):
        assert wg.value_and_grad(loss)(1.1)[0] == pytest.approx(value)
    assert counts.calls == calls


def test_the_last_value_at_a_root_has_its_derivative() -> None:
    """d(p x)/dp at the root x = 2 / p² of p² x = 2 is -2 / p²."""

    def loss(p):
        kept = {}

        def residual(x):
            kept["last"] = p * x
            return p * p * x - 2.0

        optimize.brentq(residual, 0.0, 9.0)
        return kept["last"]

    assert wg.grad(loss)(1.1) == pytest.approx(-2 / 1.1**2, rel=1e-6)


@pytest.mark.parametrize("solver", ["root", "BDF"])
def test_values_that_are_stored_in_each_call_are_told_of(solver: str) -> None:
    stored: list[Any] = []

    def loss(p):
        stored.clear()

        def f(t, y):
            stored.append(p * y[0])
            return np.array([[-p, 0.3 * p + p**2], [0.2 * p, -0.5 * p]]) @ y

        return SOLVERS[solver](f)

    loss(1.1)
    plain = [*stored]
    with pytest.warns(wg.WengertWarning, match="stores values outside"):
        wg.grad(loss)(1.1)
    assert stored == plain


class Shared:
    """The value and the gradient of a function, computed together for the last x."""

    def __init__(self, p: Any) -> None:
        self.p, self.x = p, None

    def at(self, x: Any) -> Shared:
        if self.x is None or not np.array_equal(x, self.x):
            self.x, self.value = np.array(x), np.sum((x - self.p) ** 2) + x[0] ** 4
            self.gradient = 2 * (x - self.p) + np.array([4 * x[0] ** 3, 0.0])
        return self


def test_a_value_and_a_gradient_that_are_kept_for_the_last_point() -> None:
    """x₀ is the root of 2 (x - p) + 4 x³ = 0, so ∂x₀/∂p = 1 / (1 + 6 x²), and x₁ = p₁."""

    def least(p):
        both = Shared(p)
        found = optimize.minimize(lambda x: both.at(x).value, [0.5, 0.5], jac=lambda x: both.at(x).gradient, tol=1e-12)
        return np.sum(found.x) + 0.0 * found.fun

    p = np.array([2.0, 3.0])
    with warnings.catch_warnings(action="error"):
        slopes, curvatures = wg.grad(least)(p), wg.hessian(least)(p)
    x = optimize.brentq(lambda x: 2 * (x - 2.0) + 4 * x**3, 0.0, 2.0, xtol=1e-14)
    np.testing.assert_allclose(slopes, [1 / (1 + 6 * x * x), 1.0], rtol=1e-6)
    np.testing.assert_allclose(curvatures, [[-12 * x / (1 + 6 * x * x) ** 3, 0.0], [0.0, 0.0]], rtol=1e-6, atol=1e-9)


def test_a_root_within_a_residual_that_begins_at_the_last_one() -> None:
    """z³ + z = x, and z = p at the root: x = p³ + p."""

    def root(p):
        last = {"z": 0.1}

        def residual(x):
            last["z"] = optimize.newton(lambda z: z**3 + z - x, last["z"], tol=1e-13)
            return last["z"] - p

        return optimize.brentq(residual, -5.0, 20.0, xtol=1e-13)

    with warnings.catch_warnings(action="error"):
        assert wg.grad(root)(1.3) == pytest.approx(3 * 1.3**2 + 1, rel=1e-9)


@pytest.mark.parametrize("method", ["RK45", "BDF", "LSODA"])
def test_values_that_are_kept_for_each_part_of_the_time(method: str) -> None:
    """The rate is p, 2p, 3p, 4p in the quarters, so y(1) = exp(-2.5 p)."""

    def end(p):
        rates: dict[int, Any] = {}

        def f(t, y):
            k = min(int(4 * t), 3)
            if k not in rates:
                rates[k] = p * (k + 1)
            return -rates[k] * y

        y = [1.0]
        for k in range(4):
            y = integrate.solve_ivp(f, (k / 4, k / 4 + 0.25 - 1e-9), y, method, **EXACT).y[:, -1]
        return y[0]

    assert wg.grad(end)(0.7) == pytest.approx(-2.5 * np.exp(-2.5 * 0.7), rel=1e-5)


@pytest.mark.parametrize("solver", ["root", "quad", "brentq"])
def test_a_large_array_is_written_again(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not put back, but what says that it is filled is."""
    monkeypatch.setattr(solver_effects, "LARGEST_KEPT", 0)
    found = wg.grad(loss_of(SOLVERS[solver], in_an_array))(1.1)
    assert found == pytest.approx(wg.grad(loss_of(SOLVERS[solver], lambda make: make))(1.1), rel=1e-9)
