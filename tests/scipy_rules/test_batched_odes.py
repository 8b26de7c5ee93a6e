"""`solve_ivp` under `vmap`: all examples are solved at once, each with its own steps.

What SciPy computes for one example after another is the oracle for values, and differences of these for derivatives.
The values here are the same to the last bit, as are the slopes of f for one point and for many. Products of f with a
matrix may differ in their last bits then.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import wengert as wg
from wengert_rules.scipy.integrate import batched_collocation, batched_steps, lockstep

Y = np.multiply.outer(np.linspace(0.7, 1.6, 5), np.array([0.8, 0.6]))
K = np.linspace(0.3, 2.0, 5)
TIMES = np.array([0.0, 0.3, 0.31, 2.0])


def swing(y, k, method="RK45", **words):
    f = lambda t, y: [y[1] + 0.1 * t * k, -k * y[0] * y[1]]
    return solve_ivp(f, (0.0, 2.0), y, method, TIMES, **words).y


def at_other_times(y, k):
    return solve_ivp(lambda t, y: [y[1], -k * t * y[0]], (k, 0.5 * k - 1.0), y, t_eval=[0.7 * k, 0.5 * k]).y


def with_other_options(y, k):
    words = {"rtol": 1e-3 * k, "atol": np.array([1e-6, 1e-5]) * k, "max_step": 0.3 * k, "first_step": 0.02 * k}
    return swing(y, 0.7, **words)


class Reactor:
    def __init__(self, k):
        self.rates = np.array([[0.0, 1.0, 0.2], [-1.0, 0.0, 0.1], [0.3, 0.2, -1.0]]) * k

    def __call__(self, t, y):
        return self.rates @ y - 0.1 * y * y


def of_an_object(y, k):
    return solve_ivp(Reactor(k), (0.0, 1.0), [y[0], y[1], 1.0], "RK23", [0.5, 1.0]).y


def vectorized(y, k):
    f = lambda t, y: np.array([y[1], -k * y[0]])
    return solve_ivp(f, (0.0, 2.0), y, t_eval=[2.0], vectorized=True).y


def of_a_few_examples_at_the_end(y, k):
    """Their numbers of steps differ much."""
    return solve_ivp(lambda t, y: [y[1], -k * k * y[0]], (0.0, 20.0), y, "DOP853", [3.0, 20.0]).y


def van_der_pol(y, k, method, **words):
    """Its Newton iterations fail now and then, and its steps change by orders of magnitude."""
    f = lambda t, y: [y[1], 30.0 * k * (1.0 - y[0] * y[0]) * y[1] - y[0]]
    return solve_ivp(f, (0.0, 6.0), [1.5 * y[0], 0.0], method, [0.1, 3.0, 6.0], **words).y


def stiff_back_in_time(y, k):
    words = {"rtol": 1e-5, "atol": np.array([1e-8, 1e-6]) * k, "max_step": 0.2 * k, "first_step": 1e-3 * k}
    return solve_ivp(lambda t, y: [50.0 * y[0] * t - y[1], y[0]], (2.0, k - 1.0), y, "BDF", [1.1, k - 1.0], **words).y


def at_the_last_step(y, k):
    found = solve_ivp(lambda t, y: [y[1], -k * y[0]], (0.0, k), y)
    return found.y[:, -1] * found.t[-1]


def dense(y, k, method="RK45"):
    found = solve_ivp(lambda t, y: [y[1], -k * y[0]], (0.0, 2.0), y, method, dense_output=True, rtol=1e-6)
    return np.append(found.sol(np.array([0.2, 1.1, 2.0])), found.sol(0.5 * k))


PROGRAMS: list[Callable[..., Any]] = [
    swing, lambda y, k: swing(y, k, "DOP853", rtol=1e-7), lambda y, k: swing(y, k, "RK23", rtol=1e-6), at_other_times,
    with_other_options, of_an_object, vectorized, of_a_few_examples_at_the_end,
    lambda y, k: van_der_pol(y, k, "Radau"), lambda y, k: van_der_pol(y, k, "BDF"), stiff_back_in_time,
    at_the_last_step, dense, lambda y, k: dense(y, k, "BDF"),
]  # fmt: skip
NAMES = [
    "RK45", "DOP853", "RK23", "at_other_times", "with_other_options", "of_an_object", "vectorized",
    "of_a_few_examples_at_the_end", "Radau", "BDF", "stiff_back_in_time", "at_the_last_step", "dense",
    "dense_by_BDF",
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=NAMES)
def test_values_are_those_of_scipy(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "FEWEST", 2)
    monkeypatch.setattr(batched_collocation, "FEWEST", 2)
    with warnings.catch_warnings(action="error", category=wg.NoBatchingRuleWarning):
        found = wg.vmap(f)(Y, K)
    rtol = 1e-13 if f is at_the_last_step else 0.0  # the value at the end is interpolated
    np.testing.assert_allclose(found, [f(y, k) for y, k in zip(Y, K, strict=True)], rtol, 0.0)


def differences(f: Callable[..., Any], args: tuple[Any, ...], k: int) -> np.ndarray:
    """The Jacobian of f by its argument k."""
    x, h = np.asarray(args[k]), 1e-6
    rows = np.eye(x.size).reshape(-1, *x.shape)
    moved = [[f(*args[:k], x + sign * h * row, *args[k + 1 :]) for sign in (1, -1)] for row in rows]
    found = np.stack([(after - before) / (2 * h) for after, before in moved], axis=-1)
    return found.reshape(*found.shape[:-1], *x.shape)


@pytest.mark.parametrize(
    ("axes", "method", "most"),
    [((0, 0), "RK45", 1), ((0, None), "DOP853", 1 << 22), ((None, 0), "RK45", 1 << 22), ((0, 0), "Radau", 0)],
)
def test_derivatives(axes: tuple[Any, Any], method: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the batch, and of each example, in both modes."""
    monkeypatch.setattr(batched_collocation, "FEWEST", 2)
    monkeypatch.setattr(batched_steps, "MOST", most)  # one example after the other, or all at once
    args = tuple([x[:3] if axis == 0 else x[1] for x, axis in zip((Y, K), axes, strict=True)])
    f = lambda y, k: swing(y, k, method, rtol=1e-9, atol=1e-9)
    examples = [tuple([x if axis is None else x[i] for x, axis in zip(args, axes, strict=True)]) for i in range(3)]
    with warnings.catch_warnings(action="error", category=wg.NoBatchingRuleWarning):
        each = [wg.vmap(jacobian(f, (0, 1)), axes)(*args) for jacobian in (wg.jacrev, wg.jacfwd)]
        batch = [jacobian(wg.vmap(f, axes), (0, 1))(*args) for jacobian in (wg.jacrev, wg.jacfwd)]
    for k in (0, 1):
        wanted = np.array([differences(f, example, k) for example in examples])
        for found in each:
            np.testing.assert_allclose(found[k], wanted, rtol=1e-5, atol=1e-6)
        for found in batch:
            of_each = np.array([found[k][i, :, :, i] for i in range(3)]) if axes[k] == 0 else found[k]
            np.testing.assert_allclose(of_each, wanted, rtol=1e-5, atol=1e-6)
            assert np.count_nonzero(found[k]) <= wanted.size  # no example depends on another one


@pytest.mark.parametrize("method", ["RK45", "DOP853", "BDF"])
def test_complex_states(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched_collocation, "FEWEST", 2)
    rtol = 1e-8 if method == "BDF" else np.array([1e-8, 1e-9])
    words = {"t_eval": TIMES[1:], "rtol": rtol, "atol": [1e-9, 1e-8]}

    def parts(y, k):
        f = lambda t, y: 1j * k * y + 0.1j * np.abs(y) ** 2
        found = solve_ivp(f, (0.0, 2.0), y * (1 + 0.3j), method, **words).y
        return np.concatenate([found.real, found.imag])

    with warnings.catch_warnings(action="error", category=wg.NoBatchingRuleWarning):
        of_shared = wg.vmap(lambda k: parts(Y[0], k))(K[:2])
        np.testing.assert_allclose(of_shared, [parts(Y[0], k) for k in K[:2]], rtol=1e-12)
        found, (by_y, by_k) = wg.vmap(parts)(Y[::3], K[::3]), wg.vmap(wg.jacfwd(parts, (0, 1)))(Y[::3], K[::3])
    for i, example in enumerate(zip(Y[::3], K[::3], strict=True)):
        np.testing.assert_allclose(found[i], parts(*example), rtol=1e-12)
        for slopes, k in ((by_y, 0), (by_k, 1)):
            np.testing.assert_allclose(slopes[i], differences(parts, example, k), rtol=1e-4, atol=1e-5)


def test_derivatives_of_a_dense_solution_and_at_its_end() -> None:
    """The harmonic oscillation is the oracle: y = cos(w t), at t = 0.5 w and at the end t = w."""

    def ends(w):
        f = lambda t, y: [y[1], -w * w * y[0]]
        found = solve_ivp(f, (0, w), [1.0, 0.0], dense_output=True, rtol=1e-8, atol=1e-9)
        return np.stack([found.sol(0.5 * w)[0], found.y[0, -1]])

    with warnings.catch_warnings(action="error", category=wg.NoBatchingRuleWarning):
        values, slopes = wg.vmap(ends)(K), wg.vmap(wg.jacfwd(ends))(K)
        of_batch = wg.grad(lambda ks: np.sum(wg.vmap(ends)(ks)))(K)
    np.testing.assert_allclose(values, np.cos([[0.5 * w * w, w * w] for w in K]), rtol=1e-6)
    wanted = np.array([[-w * np.sin(0.5 * w * w), -2.0 * w * np.sin(w * w)] for w in K])
    np.testing.assert_allclose(slopes, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(of_batch, wanted.sum(axis=1), rtol=1e-5, atol=1e-6)


def test_derivatives_by_times() -> None:
    """The solution is one of y' = f, whose derivative by the time at its end is f there."""
    words = {"rtol": 1e-9, "atol": 1e-9}
    end = lambda t: solve_ivp(lambda t, y: [y[1], -t * y[0]], (0.5, t), [1.0, 0.5], t_eval=[t], **words).y[:, 0]
    ts = K + 1.0
    wanted = [[y[1], -t * y[0]] for t, y in zip(ts, wg.vmap(end)(ts), strict=True)]
    np.testing.assert_allclose(wg.vmap(wg.jacfwd(end))(ts), wanted, rtol=1e-7)


def test_derivatives_by_times_by_an_implicit_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """y = cos t. Their errors are those of Radau's steps, as those by parameters, not the 1e-3 of the values of BDF."""
    monkeypatch.setattr(batched_collocation, "FEWEST", 2)
    at = lambda t: solve_ivp(lambda t, y: [y[1], -y[0]], (0.0, 2.0), [1.0, 0.0], "BDF", [t]).y[0, 0]
    np.testing.assert_allclose(wg.vmap(wg.grad(at))(K), -np.sin(K), rtol=1e-5)
    np.testing.assert_allclose(wg.grad(lambda ks: np.sum(wg.vmap(at)(ks)))(K), -np.sin(K), rtol=1e-5)


def test_gradient_of_a_batch_by_shared_and_outer_parameters() -> None:
    words = {"rtol": 1e-9, "atol": 1e-9}

    def loss(p):
        return np.sum(wg.vmap(lambda y: swing(y, p[0], **words) * p[1])(Y * p[2]) ** 2)

    p = np.array([0.7, 1.1, 0.9])
    alone = lambda p: sum([np.sum((swing(y * p[2], p[0], **words) * p[1]) ** 2) for y in Y])
    np.testing.assert_allclose(wg.grad(loss)(p), wg.grad(alone)(p), rtol=1e-12)
    np.testing.assert_allclose(wg.grad(loss)(p), wg.ngradient(loss, p)[0], rtol=1e-5)


def with_an_event(y, k):
    event = lambda t, z: z[1] - 0.5 * y[1]
    return solve_ivp(lambda t, y: [y[1], -0.5 * y[0]], (0.0, 2.0), y, t_eval=[2.0], events=event).t_events[0] + 0.0 * k


REFUSED = {
    "branch": (lambda y, k: solve_ivp(lambda t, y: -y if k < 1 else y, (0, 1), y, t_eval=[1.0]).y, "branch"),
    "failure": (lambda y, k: solve_ivp(lambda t, y: y * y * k, (0, 1), y, t_eval=[0.5]).status + 0.0 * k, "too small"),
    "nfev": (lambda y, k: 1.0 * solve_ivp(lambda t, y: -k * y, (0, 1), y, t_eval=[1.0]).nfev + 0.0 * k, "reads nfev"),
    "events": (lambda y, k: with_an_event(y, k), "solver"),
    "steps": (lambda y, k: solve_ivp(lambda t, y: -k * y, (0, 0.1), y, first_step=0.1).y, "nor the last"),
    "step": (lambda y, k: solve_ivp(lambda t, y: -k * y, (0, 0.1), y).y[:, 1], "nor the last"),
    "outside": (lambda y, k: dense(y, 3.0 * k + 1.0), "SciPy refuses"),
    "few": (lambda y, k: van_der_pol(y, k, "BDF"), "fewer than 8"),
    "second": (lambda y, k: wg.hessian(lambda y: np.sum(swing(y, k, "RK23")))(y), "solver such as"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_examples_are_solved_one_by_one(name: str) -> None:
    f, reason = REFUSED[name]
    ys, ks = Y[::4], K[::4]
    with pytest.warns(wg.NoBatchingRuleWarning, match=reason):
        found = wg.vmap(f)(ys, ks)
    np.testing.assert_array_equal(found, [f(y, k) for y, k in zip(ys, ks, strict=True)])
