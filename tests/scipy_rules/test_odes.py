"""Initial value problems in parameters, initial values and times, by every method, against differences."""

from __future__ import annotations

import gc
import sys
import types
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import integrate
from solver_cases import Case, check, table

import wengert as wg
from wengert.api import example_code
from wengert.values.codes import original
from wengert_rules.scipy.integrate import linear_steps, recorded

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


@case(0.4, 1.1, order=1)
def odeint_of_a_number(a, y):
    return integrate.odeint(func=lambda y, t: -1.0 * a * y[0], y0=y, t=TIMES[::-1], rtol=1e-10, atol=1e-10)


@case(0.4, 1.1, order=1)
def odeint_at_repeated_times(a, y):
    return integrate.odeint(lambda y, t: -a * y, y, [0.0, 0.0, 1.0, 1.0], rtol=1e-10, atol=1e-10)


@case(0.4, 1.1, order=1)
def odeint_at_its_start(a, y):
    return a * integrate.odeint(lambda y, t: -a * y, y, [0.0])


@case(P, order=1, rtol=1e-4)
def backward_between_the_steps(p):
    found = integrate.solve_ivp(lambda t, y: hunt(t, y, *p), (2.0, 0.0), Y, "DOP853", dense_output=True, **EXACT)
    return found.sol(np.array([1.5, 0.3]))


@case(P, order=1, rtol=1e-4)
def objects_as_args(p):
    rates = types.SimpleNamespace(growth={"a": p[0]})
    f = lambda t, y, rates, parts: hunt(t, y, rates.growth["a"], parts[0])
    return integrate.solve_ivp(f, (0.0, 2.0), Y, "DOP853", TIMES, args=(rates, [p[1]]), **EXACT).y


@pytest.mark.parametrize("method", ["RK45", "Radau", "BDF", "LSODA"])
def test_second_derivatives_of_all_that_a_solution_has(method: str) -> None:
    """y = a exp(-ka (t - s)): at the end, between the steps, and the time log(2)/(ka) + s at which y is a/2."""

    def found(x):
        k, a, s, t = x
        words = {"dense_output": True, "events": lambda t, y: y[0] - a / 2, "method": method, **EXACT}
        got = integrate.solve_ivp(lambda t, y: -k * a * y, (s, t), [a], **words)
        return got.y[0, -1] + np.sin(got.sol((s + t) / 2)[0]) + got.t_events[0][0] * k

    def closed(x):
        k, a, s, t = x
        y = lambda t: a * np.exp(-k * a * (t - s))
        return y(t) + np.sin(y((s + t) / 2)) + np.log(2) / a + s * k

    x = np.array([0.7, 1.3, 0.2, 2.0])
    np.testing.assert_allclose(wg.hessian(found)(x), wg.hessian(closed)(x), rtol=1e-4, atol=1e-4)
    direction = np.array([1.0, -0.5, 0.3, 0.2])
    step = (closed(x + 1e-4 * direction) - 2 * closed(x) + closed(x - 1e-4 * direction)) / 1e-8
    assert direction @ wg.hvp(found, (x,), (direction,))[0] == pytest.approx(step, rel=1e-4)


WRONG: dict[str, dict[str, Any]] = {
    "late times": {"t_eval": [0.0, 3.0]}, "times backward": {"t_eval": [1.0, 0.5]}, "number": {"y0": 1.0},
    "long first step": {"first_step": 5.0}, "args": {"args": 0.4}, "method": {"method": "Euler"},
    "error": {"fun": lambda t, y: [1 / 0]},
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_calls_that_scipy_refuses(method: str, words: dict[str, Any]) -> None:
    """The same error, with the same message, as in the plain run."""

    def f(p):
        words_ = {"fun": lambda t, y, *args: -p[0] * y, "t_span": (0.0, 2.0), "y0": [1.0], "method": method, **words}
        return integrate.solve_ivp(**words_).y[:, -1]

    with pytest.raises(Exception) as plain:  # noqa: PT011
        f(P)
    with pytest.raises(plain.type) as traced:
        wg.jacobian(f)(P)
    assert str(traced.value) == str(plain.value)


@case(P, order=1, rtol=1e-4)
def masks_that_select_other_equations_at_each_stage(p):
    def f(t, y):
        return np.piecewise(y, [y < 1.5, y >= 1.5], [lambda y: -p[0] * y, lambda y: -p[0] * y + p[1] * (y - 1.5) ** 3])

    return integrate.solve_ivp(f, (0.0, 2.0), Y, "DOP853", TIMES, **EXACT).y


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_times_within_the_first_steps(method: str) -> None:
    """These steps are short, and their slopes no differences of values."""

    def f(x):
        words = {"t_eval": [x[0] + 1e-4 * x[1], 2.0], "method": method, **EXACT}
        return integrate.solve_ivp(lambda t, y: -0.7 * y, (x[0], 2.0), [1.3], **words).y[0]

    x = np.array([0.2, 1.0])
    wanted = [[0, -0.7e-4 * 1.3 * np.exp(-0.7e-4)], [0.7 * 1.3 * np.exp(-1.26), 0]]
    np.testing.assert_allclose(wg.jacobian(f)(x), wanted, rtol=1e-8, atol=1e-9)


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


METHODS = ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]


def landed(t, y, g, height, speed):
    return y[0]


landed.terminal, landed.direction = True, -1


@pytest.mark.parametrize("method", METHODS)
def test_events(method: str) -> None:
    """A ball is thrown up, is highest at v/g, and lands at (v + √(v² + 2gh))/g with minus that root as its speed."""

    def thrown(p, **words):
        events = [landed, lambda t, y, *args: y[1], lambda t, y, *args: y[0] + 1.0]
        rates = lambda t, y, g, h, v: [y[1], -g]
        words = {"method": method, "events": events, "args": tuple(p), **EXACT, **words}
        return integrate.solve_ivp(rates, (0.0, 10.0), p[1:], **words)

    def times(p, **words):
        found = thrown(p, **words)
        assert found.status == 1
        assert not len(found.t_events[2])
        y_top, y_end = found.y_events[1][0], found.y_events[0][0]
        end = [found.t[-1], found.y[1, -1]] if "t_eval" not in words else [found.t_events[0][-1], y_end[1]]
        return np.array([found.t_events[0][0], found.t_events[1][0], y_top[0], y_end[1], *end])

    def closed(p):
        g, h, v = p
        root = np.sqrt(v * v + 2 * g * h)
        return np.array([(v + root) / g, v / g, h + v * v / (2 * g), -root, (v + root) / g, -root])

    p = np.array([9.8, 1.0, 3.0])
    for words in ({}, {"dense_output": True}, {"t_eval": [0.1, 0.2]}):
        y, found = wg.value_and_jacobian(lambda p, words=words: times(p, **words))(p)
        np.testing.assert_array_equal(y, times(p, **words))
        np.testing.assert_allclose(found, wg.jacobian(closed)(p), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "LSODA"])
def test_an_event_that_happens_again(method: str) -> None:
    """sin(ωt) is 0 at nπ/ω, which has the second derivative 2nπ/ω³."""

    def zeros(w):
        words = {"events": lambda t, y: y[0], "method": method, "rtol": 1e-8, "atol": 1e-8}
        y0 = [np.sin(0.1 * w), w * np.cos(0.1 * w)]
        return integrate.solve_ivp(lambda t, y: [y[1], -w * w * y[0]], (0.1, 7.0), y0, **words).t_events[0]

    n = np.arange(1, 3)
    np.testing.assert_allclose(wg.jacobian(zeros)(1.3), -n * np.pi / 1.69, rtol=1e-4)
    np.testing.assert_allclose(wg.jacobian(wg.jacobian(zeros))(1.3), 2 * n * np.pi / 1.3**3, rtol=1e-3)


@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_an_event_with_a_branch(method: str) -> None:
    """The branch at its times reads other parameters than that at the start."""

    def weighted_times(p):
        def event(t, y):
            return y[0] - 0.5 * p[1] if t < 2.0 else y[0] - 0.2 * p[1] * p[0]

        f = lambda t, y: np.array([y[1], -p[0] * y[0]])
        times = integrate.solve_ivp(f, (0.0, 12.0), [1.0, 0.0], method, events=event, **EXACT).t_events[0]
        return times @ np.arange(1.0, 1 + len(times))

    p = np.array([1.3, 0.9])
    wanted = [(weighted_times(p + h) - weighted_times(p - h)) / 2e-5 for h in 1e-5 * np.eye(2)]
    np.testing.assert_allclose(wg.grad(weighted_times)(p), wanted, rtol=1e-5)
    np.testing.assert_allclose(wg.jacobian(weighted_times)(p), wanted, rtol=1e-5)


def with_complex_states(q):
    words = {"t_eval": [0.3, 0.6], "rtol": 1e-8, "atol": 1e-8}
    found = integrate.solve_ivp(lambda t, y: q * np.conj(y) + 1j * y, (0.0, 0.6), q * q, **words)
    return np.sum(found.y.real * [1.0, 2.0] + found.y.imag)


def with_real_states(q):
    f = lambda t, y: np.array([q[0].imag * y[1] - np.abs(q[1]) * y[0], np.real(q[0] * q[1]) * y[0]])
    words = {"t_eval": [0.3, 0.6], "rtol": 1e-8, "atol": 1e-8}
    return np.sum(integrate.solve_ivp(f, (0.0, 0.6), [1.0, 0.5], **words).y)


def of_an_integral(q):
    return integrate.quad(lambda x: np.abs(q[0] * x + q[1]) ** 2 + np.imag(q[0] * q[1]) * x, 0.0, 1.0)[0]


@pytest.mark.parametrize(
    ("f", "adjoint"),
    [
        (of_an_integral, "discrete"),
        (with_complex_states, "discrete"), (with_real_states, "discrete"), (with_real_states, "forward"),
        (with_real_states, "continuous"),
    ],
)  # fmt: skip
def test_complex_parameters(f: Any, adjoint: Any) -> None:
    q, direction = np.array([0.5 + 0.3j, 0.2 - 0.4j]), np.array([1.0 - 0.5j, 0.3 + 2.0j])
    wanted = (f(q + 1e-5 * direction) - f(q - 1e-5 * direction)) / 2e-5
    with wg.ode_adjoint(adjoint):
        np.testing.assert_allclose(np.real(np.sum(wg.grad(f)(q) * direction)), wanted, rtol=1e-5)


STEP_EVENTS = {"sign": lambda t, y: np.sign(y[0] - 0.5), "bool": lambda t, y: y[0] > 0.5}


@pytest.mark.parametrize("event", STEP_EVENTS.values(), ids=STEP_EVENTS)
@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_an_event_that_is_a_step(method: str, event: Any) -> None:
    """Its time, log 2 / a, has a value but no derivative; the states before it have theirs."""

    def fallen(a):
        words = {"events": event, "t_eval": [0.2], **EXACT}
        found = integrate.solve_ivp(lambda t, y: -a * y, (0.0, 3.0), [1.0], method, **words)
        time = found.t_events[0][0] if event is STEP_EVENTS["sign"] else found.t_events[0][-1]
        return np.array([time, found.y[0, 0]])

    f = wg.value_and_jacobian(fallen)
    with pytest.warns(wg.NoPathWarning, match="slope 0") as told:
        y, slopes = f(0.7)
    assert len(told) == 1
    np.testing.assert_allclose(y[1], np.exp(-0.14), rtol=1e-6)
    if event is STEP_EVENTS["sign"]:
        np.testing.assert_allclose(y[0], np.log(2) / 0.7, rtol=1e-6)
    np.testing.assert_allclose(slopes, [np.nan, -0.2 * np.exp(-0.14)], rtol=1e-6)
    with warnings.catch_warnings(action="ignore"):
        np.testing.assert_allclose(wg.compile(f)(0.7)[1], slopes, rtol=1e-9)


def test_an_event_that_is_a_step_by_a_condition() -> None:
    def fallen(a):
        words = {"events": lambda t, y: 1.0 if y[0] > 0.5 else -1.0, "t_eval": [0.2]}
        return integrate.solve_ivp(lambda t, y: -a * y, (0.0, 3.0), [1.0], **words).t_events[0][0]

    with warnings.catch_warnings(action="ignore"), pytest.raises(wg.NoDerivativeError, match="singular"):
        wg.grad(fallen)(0.7)


def test_an_event_that_is_a_bool() -> None:
    words = {"events": lambda t, y: y[0] > 0.5, "t_eval": [0.2]}
    fallen = lambda a: integrate.solve_ivp(lambda t, y: -a * y, (0.0, 3.0), [1.0], **words).y[0, 0]
    np.testing.assert_allclose(wg.grad(fallen)(0.7), -0.2 * np.exp(-0.14), rtol=1e-2)
    np.testing.assert_allclose(wg.compile(fallen)(0.7), fallen(0.7))


def test_an_event_that_counts_its_calls() -> None:
    """It is traced where SciPy's method is, and else refused."""
    counts = []

    def doubled(a, method):
        def event(t, y):
            counts.append(t)
            return y[0] - 2.0

        return integrate.solve_ivp(lambda t, y: a * y, (0, 3), [1.0], method, events=event, **EXACT).t_events[0][0]

    np.testing.assert_allclose(wg.grad(doubled)(0.7, "RK45"), -np.log(2) / 0.49, rtol=1e-6)
    with pytest.raises(wg.NoDerivativeError, match="events="):
        wg.grad(doubled)(0.7, "Radau")


LV = np.array([0.55, 0.028, 0.84, 0.026, 33.0, 6.0])


def prey_and_predators(p, *, method="RK45", tolerance=1e-7, **words):
    """The populations at 20 times."""
    words = {"t_eval": np.linspace(0.0, 20.0, 20), "method": method, "rtol": tolerance, "atol": tolerance, **words}
    rates = lambda _, z: [p[0] * z[0] - p[1] * z[0] * z[1], -p[2] * z[1] + p[3] * z[0] * z[1]]
    return integrate.solve_ivp(rates, (0.0, 20.0), p[4:], **words).y


TOLERANCES = {"RK23": 1e-5, "RK45": 1e-6, "DOP853": 1e-6, "Radau": 1e-6, "BDF": 1e-6, "LSODA": 1e-6}


@pytest.mark.parametrize(("method", "rtol"), [*TOLERANCES.items(), ("LSODA", 1e-9)])
def test_the_error_is_that_of_the_tolerance(method: str, rtol: float) -> None:
    """Of the Jacobian, relative to its largest number, at most ten times that of the values, or ten tolerances.

    With small tolerances, LSODA's steps are long, and most of the times lie inside of them.
    """
    words = {"t_eval": np.linspace(0.0, 20.0, 100)}
    (y, J), (y_tight, J_tight) = (
        wg.value_and_jacobian(lambda p, m=m, to=to: prey_and_predators(p, method=m, tolerance=to, **words))(LV)
        for m, to in ((method, rtol), ("DOP853", max(rtol / 100, 1e-12)))
    )
    of_values = np.max(np.abs(y - y_tight)) / np.max(np.abs(y_tight))
    error = np.max(np.abs((J - J_tight) * LV)) / np.max(np.abs(J_tight * LV))
    assert error <= 10 * max(rtol, of_values)


@pytest.mark.parametrize(("n", "forward"), [(1, 1.0), (50, 1.0), (1, -1.0), (50, -1.0)])
def test_a_transient_within_the_first_step(n: int, forward: float) -> None:
    """y' = -s (y - cos t) at y = 1, with a first step of 1e-4 and s = ±1e6. Behind it, dy/dy0 = exp(-s t) is 0."""

    def later(y0):
        f, times = lambda t, y: -1e6 * forward * (y - np.cos(t)), forward * np.array([2e-4, 3e-4, 5e-4])
        return integrate.solve_ivp(f, (0.0, 1e-3 * forward), np.full(n, y0), "Radau", times, first_step=1e-4).y[0]

    np.testing.assert_allclose(wg.jacobian(later)(1.0), 0.0, atol=0.1)


def test_richardson_differences() -> None:
    def along(p):
        return prey_and_predators(p, method="DOP853", tolerance=1e-12)

    def differences(h):
        return (along(LV * (1 + h)) - along(LV * (1 - h))) / (2 * h)

    found = wg.jvp(lambda p: prey_and_predators(p, tolerance=1e-9), (LV,), (LV,))[1]
    np.testing.assert_allclose(found, (4 * differences(5e-5) - differences(1e-4)) / 3, rtol=1e-6, atol=1e-6)


class Counted:
    """A right-hand side whose calls are counted past wengert, by the profiler of Python."""

    def __init__(self, f: Any) -> None:
        self.code, self.calls = f.__code__, 0

    def __enter__(self) -> Counted:
        sys.setprofile(lambda frame, event, _: self.count(frame) if event == "call" else None)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def count(self, frame: Any) -> None:
        self.calls += original(frame.f_code) is self.code or frame.f_code is self.code


def spring(t, y, k):
    return np.array([y[1], -k * y[0]])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_the_right_hand_side_runs_once_more(method: str) -> None:
    """In Python, for all derivatives: a trace of it computes all stages."""

    def f(k):
        return integrate.solve_ivp(spring, (0.0, 2.0), [1.0, 0.0], method, args=(k,)).y[:, -1]

    with Counted(spring) as plain:
        f(2.0)
    with Counted(spring) as traced:
        wg.jacobian(f)(2.0)
    assert traced.calls <= plain.calls + 1


@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_the_right_hand_side_that_keeps_a_matrix_runs_thrice_more(method: str) -> None:
    """Two traces find that it changes something in the first call alone; the third computes all stages."""
    kept: dict[str, Any] = {}

    def rates(t, y, k):
        if "A" not in kept:
            kept["A"] = np.array([[0.0, 1.0], [-k, 0.0]])
        return kept["A"] @ y

    def f(k):
        kept.clear()
        return integrate.solve_ivp(rates, (0.0, 2.0), [1.0, 0.0], method, args=(k,), rtol=1e-6, atol=1e-8).y[:, -1]

    with Counted(rates) as plain:
        f(2.0)
    with Counted(rates) as traced:
        slopes = wg.jacobian(f)(2.0)
    assert traced.calls <= plain.calls + 3
    np.testing.assert_allclose(slopes[0], -2.0 * np.sin(2.0 * np.sqrt(2.0)) / (2 * np.sqrt(2.0)), rtol=1e-4)


def padded(mode: str) -> Any:
    return lambda y: np.diff(np.pad(y, 1, mode=mode), 2)


WRITTEN_IN_PYTHON = {
    **{f"pad {mode}": padded(mode) for mode in ("constant", "edge", "wrap", "reflect", "linear_ramp", "mean")},
    "insert": lambda y: np.insert(y[1:], 2, 0.0),
    "delete": lambda y: np.append(np.delete(y, 3), 0.0),
    "select": lambda y: np.select([y < 0.1, y > 10.0], [y**2, -y], np.sin(y)),
    "gradient": lambda y: np.gradient(y, 0.5, edge_order=2),
    "tile": lambda y: np.tile(y[:3], 2),
    "block": lambda y: np.block([np.cos(y[:2]), y[2:]]),
    "percentile": lambda y: y - np.percentile(y, 30.0),
    "apply_along_axis": lambda y: np.apply_along_axis(np.tanh, 0, y),
    "layout": lambda y: -y if y.flags.c_contiguous and y.flags.writeable and y.strides == (8,) else y,
}


@pytest.mark.parametrize("operation", WRITTEN_IN_PYTHON.values(), ids=WRITTEN_IN_PYTHON)
def test_functions_that_numpy_has_in_python(operation: Any) -> None:
    """They run on all stages at once, too."""

    def rates(t, y, p):
        return p * operation(y)

    def loss(p):
        y0 = 0.5 + 0.3 * np.sin(np.arange(6.0))
        return np.sum(integrate.solve_ivp(rates, (0, 0.5), y0, t_eval=[0.2, 0.5], args=(p,), **EXACT).y ** 2)

    with Counted(rates) as plain:
        loss(0.7)
    with Counted(rates) as traced:
        slope = wg.grad(loss)(0.7)
    assert traced.calls <= plain.calls + 1
    np.testing.assert_allclose(slope, (loss(0.7 + 1e-5) - loss(0.7 - 1e-5)) / 2e-5, rtol=1e-6)


def by_ways(t, y):
    return y * next(k for k in range(21) if t <= k / 20)


NOISE = np.random.default_rng(0)
ONE_BY_ONE = {
    "changes something outside": lambda t, y, seen=[]: seen.append(t) or y,
    "draws random numbers": lambda t, y: y + 1e-9 * NOISE.normal(),
    "more than 16 ways": by_ways,
    "raises TypeError: no state": lambda t, y: y if t or y[0] != 1.0 else no_state(),
    "in piecewise: all input arrays must have the same shape": lambda t, y: np.piecewise(
        y, [y < 1.5], [np.sin, np.cos]
    ),
}


def no_state() -> Any:
    raise TypeError("no state")


@pytest.mark.parametrize("why", ONE_BY_ONE)
def test_what_is_traced_step_by_step_is_told_of(why: str) -> None:
    rates = ONE_BY_ONE[why]

    def end(k):
        return np.sum(integrate.solve_ivp(lambda t, y: k * rates(t, y), (0, 1), [1.0, 1.2], rtol=1e-6).y[:, -1])

    def safe(k):
        try:
            return wg.grad(end)(k)
        except TypeError:  # of SciPy's run
            return None

    with pytest.warns(wg.NoBatchingRuleWarning, match=why):
        safe(0.7)


def two_levels(t, y, p):
    """Schrödinger's equation of two levels in a field."""
    field = p[1] * np.cos(p[2] * t)
    return -1j * np.array([p[0] * y[0] + field * y[1], field * y[0] - p[0] * y[1]])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "BDF"])
def test_complex_states(method: str) -> None:
    """Along the steps, like real ones: of parameters, times, events and complex initial values."""
    rtol = {"RK23": 1e-7, "BDF": 1e-8}.get(method, 1e-10)

    def fallen(t, y, p):
        return np.abs(y[0]) ** 2 - 0.8

    def loss(p, start, **words):
        words = {"args": (p,), "method": method, "rtol": rtol, "atol": rtol, "events": fallen, **words}
        found = integrate.solve_ivp(two_levels, (0.0, 3.0 + p[0]), start, dense_output=True, **words)
        ends = np.concatenate([found.y[:, -1], found.sol(1.3), found.y_events[0][0]])
        return np.sum(np.abs(np.cumsum(ends)) ** 2) + found.t_events[0][0]

    p, start = np.array([0.5, 0.7, 1.1]), np.array([1.0 + 0.2j, 0.1 - 0.3j])
    slope, by_start = wg.grad(loss, argnums=(0, 1))(p, start)
    tolerance = max(1e3 * rtol, 1e-6) * np.max(np.abs(slope))
    wanted = [(loss(p + h, start) - loss(p - h, start)) / 2e-4 for h in 1e-4 * np.eye(3)]
    np.testing.assert_allclose(slope, wanted, rtol=0, atol=tolerance)
    for unit in (1e-4, 1e-4j):
        wanted = [(loss(p, start + h) - loss(p, start - h)) / 2e-4 for h in unit * np.eye(2)]
        np.testing.assert_allclose(np.real(by_start * unit) / 1e-4, wanted, rtol=0, atol=tolerance)
    with Counted(two_levels) as plain:
        loss(p, start)
    with Counted(two_levels) as traced:
        wg.jacobian(loss)(p, start)
    assert traced.calls <= plain.calls + 1


def test_branches_on_time_and_state() -> None:
    """Each branch runs on the stages that take it: a dose until t = 1, and a rate of its own above 1."""

    def f(p):
        def rates(t, y):
            dose = p[0] if t < 1.0 else 0.0
            return [dose - (p[1] * y[0] if y[0] > 1.0 else p[1])]

        return integrate.solve_ivp(rates, (0.0, 2.0), [3.0], t_eval=[0.5, 1.0, 2.0], max_step=0.1, **EXACT).y[0]

    p = np.array([0.3, 0.7])
    near = np.array([[1 / 0.7 * (1 - np.exp(-0.35)), 0.0]])  # ∂y/∂p₀ at 0.5: y' = p₀ - p₁ y
    by_differences = wg.ngradient(lambda p: f(p)[0], p)[0]
    for _ in range(3):  # by generated code from the second on
        found = wg.jacobian(f)(p)
        np.testing.assert_allclose(found[0, 0], near[0, 0], rtol=1e-8)
        np.testing.assert_allclose(found, (by_differences, *found[1:]), rtol=1e-5)


class Motor:
    """A right-hand side that reads its object, and may write to it."""

    torque = 0.3

    def __init__(self, k: Any, keeps: bool) -> None:
        self.k, self.keeps, self.calls = {"k": [k]}, keeps, 0
        self.buffer = np.zeros(2)

    def rates(self, t, y):
        if not self.keeps:
            return np.array([y[1], self.torque - self.k["k"][0] * y[0]])
        self.calls += 1
        self.buffer[0], self.buffer[1] = y[1], self.torque - self.k["k"][0] * y[0]
        return self.buffer


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_what_an_object_holds(method: str, keeps: bool) -> None:
    """A right-hand side that counts or fills a buffer runs as often as in the plain run of an explicit method."""
    counts = []

    def f(k):
        motor = Motor(k, keeps)
        found = integrate.solve_ivp(motor.rates, (0.0, 2.0), [1.0, 0.0], method, rtol=1e-8, atol=1e-8)
        counts.append(motor.calls)
        return found.y[0, -1]

    found = wg.grad(f)(2.0)
    wanted = wg.ngradient(f, 2.0)[0]
    f(2.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    if method == "RK45":
        assert counts[0] == counts[-1]


def test_a_switch_that_stays_on() -> None:
    """The value is that of the plain run, also where the right-hand side changes something in the middle of it."""

    def f(k):
        state = {"on": False}

        def rates(t, y):
            state["on"] = state["on"] or y[0] > 1.5
            return -k * y if state["on"] else k * y

        return integrate.solve_ivp(rates, (0.0, 2.0), [1.0], rtol=1e-8, atol=1e-8).y[0, -1]

    assert wg.value_and_grad(f)(1.1)[0] == f(1.1)


def test_random_draws_are_not_repeated() -> None:
    rng = np.random.default_rng(0)

    def f(a):
        return integrate.solve_ivp(lambda t, y: -a * y + 1e-9 * rng.normal(), (0, 1), [1.0]).y[0, -1]

    plain = np.random.default_rng(0)
    wg.grad(f)(0.5)
    count = integrate.solve_ivp(lambda t, y: -0.5 * y + 1e-9 * plain.normal(), (0, 1), [1.0]).nfev
    assert count and rng.bit_generator.state == plain.bit_generator.state


def diffusion(t, y, p):
    """Growth at rates of their own, diffusion, and decay."""
    padded = np.concatenate([y[:1], y, y[-1:]])
    return 20.0 * (padded[2:] - 2.0 * y + padded[:-2]) + np.repeat(p, y.size // p.size) * y * (1.0 - y)


def of_mean(t, y, p):
    return np.tanh(np.mean(np.repeat(p, 10) * y)) - y


def of_mean_by_branches(t, y, p):
    return of_mean(t, y, p) if t < 0.4 else np.tanh(0.01 * np.sum(np.repeat(p, 10) * y)) - y


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
@pytest.mark.parametrize("f", [diffusion, of_mean, of_mean_by_branches])
def test_many_equations(f: Any, method: str) -> None:
    """Sparse Jacobians, and products with dense ones, give the derivative."""
    p, direction = np.linspace(0.5, 1.5, 10), np.cos(np.arange(10.0))

    def loss(p):
        y0 = 0.5 + 0.3 * np.sin(np.arange(100) / 9)
        return np.sum(integrate.solve_ivp(f, (0, 1), y0 * p[0], method, [0.3, 1.0], args=(p,), **EXACT).y ** 2)

    slope = wg.grad(loss)(p) @ direction
    wanted = (loss(p + 1e-5 * direction) - loss(p - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(slope, wanted, rtol=1e-7)
    np.testing.assert_allclose(wg.jvp(loss, (p,), (direction,))[1], slope, rtol=1e-10)


@pytest.mark.parametrize("is_vectorized", [False, True])
def test_a_dense_jacobian_is_not_written_out(is_vectorized: bool) -> None:
    """The derivatives of 200 equations are by products, of both modes and of second order."""
    mixing, start = np.sin(np.arange(40000.0)).reshape(200, 200) / 15, np.linspace(0.1, 1.0, 200)

    def f(t, y, p):
        return np.tanh(p[0] * (mixing @ y)) - p[1] * y

    def ends(p, y0=start):
        words = {"args": (p,), "t_eval": [0.5, 1.0], "vectorized": is_vectorized}
        return integrate.solve_ivp(f, (0, 1), y0, **words, **EXACT).y[:3]

    p = np.array([0.8, 0.6])
    wanted = np.stack([(ends(p + h) - ends(p - h)) / 2e-5 for h in 1e-5 * np.eye(2)], axis=-1)
    np.testing.assert_allclose(wg.jacobian(ends)(p), wanted, rtol=1e-7)
    by_start = wg.jacobian(lambda y0: ends(p, y0))(start)
    direction = np.cos(start)
    wanted = (ends(p, start + 1e-5 * direction) - ends(p, start - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(by_start @ direction, wanted, rtol=1e-7)
    slope = wg.grad(lambda p: np.sum(ends(p) ** 2))
    wanted = np.stack([(slope(p + h) - slope(p - h)) / 2e-5 for h in 1e-5 * np.eye(2)])
    np.testing.assert_allclose(wg.hessian(lambda p: np.sum(ends(p) ** 2))(p), wanted, rtol=1e-6)


@pytest.mark.parametrize("n", [3, 30])
@pytest.mark.parametrize("written", ["matrix", "index", "mask", "parameters", "start"])
def test_arrays_that_are_written_after_the_solution(n: int, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The derivative is that of the values which the right-hand side read, also if its code is generated later."""
    monkeypatch.setattr(example_code, "_codes", [])
    mixing = np.sin(np.arange(n * n)).reshape(n, n)

    def loss(x):
        held = {
            "matrix": mixing.copy(), "index": np.arange(n)[::-1].copy(), "mask": np.arange(n) * x[0] > n / 3,
            "parameters": 1.0 * x, "start": np.linspace(0.1, 1.0, n) * x[0],
        }  # fmt: skip

        def f(t, y):
            p = held["parameters"]
            mixed = np.tanh(held["matrix"] @ y[held["index"]] * p[1])
            return np.where(held["mask"], mixed, p[2] * np.mean(y) - y * p[0])

        end = integrate.solve_ivp(f, (0, 1), held["start"], t_eval=[1.0], **EXACT).y
        held[written][...] = 0
        return np.sum(end**2)

    x, direction = np.array([0.7, 0.3, 0.4]), np.array([0.3, 1.0, -0.6])
    wanted = (loss(x + 1e-5 * direction) - loss(x - 1e-5 * direction)) / 2e-5
    for _ in range(2):  # the second runs generated code
        np.testing.assert_allclose(wg.grad(loss)(x) @ direction, wanted, rtol=1e-7)
        np.testing.assert_allclose(wg.jvp(loss, (x,), (direction,))[1], wanted, rtol=1e-7)


def test_what_changes_between_calls() -> None:
    """A float, an array that is written into, one of indices, and a branch; the first calls are like those before."""
    weights, order, seen = np.array([1.0, 2.0]), np.array([0, 1]), {"rate": 0.5, "grows": False}

    def f(k):
        def rates(t, y):
            growth = 0.1 * y if seen["grows"] else -0.1 * y
            return growth - k * seen["rate"] * weights * y[order]

        return np.sum(integrate.solve_ivp(rates, (0.0, 1.0), [1.0, 3.0], **EXACT).y[:, -1])

    def check_repeatedly() -> None:
        wanted = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
        np.testing.assert_allclose([wg.grad(f)(0.7) for _ in range(3)], wanted, rtol=1e-7)

    check_repeatedly()
    seen["rate"] = 0.8
    check_repeatedly()
    weights[:] = 2.0, 0.5
    check_repeatedly()
    order[:] = 1, 0
    check_repeatedly()
    seen["grows"] = True
    check_repeatedly()
    order[:] = 0, 1
    check_repeatedly()


def test_the_code_of_constant_slopes_is_that_of_their_numbers() -> None:
    for number in (1.0, 2.0, 3.0):
        slopes = np.array([number, 2.0])
        stages = wg.extend.on_examples(lambda t, y, slopes=slopes: slopes, 0.0, np.ones(2))
        assert stages is not None
        np.testing.assert_array_equal(stages(np.zeros(3), np.ones((3, 2))), [slopes] * 3)


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_no_cycle_holds_a_solution(method: str) -> None:
    """The slopes and Jacobians go with the gradient, not when the collector comes; SciPy's solvers are cycles."""

    def f(k):
        return np.sum(integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [3.0, 1.0], method, [1.0, 2.0]).y)

    for _ in range(2):  # the second makes code
        wg.grad(f)(0.5)
    gc.collect()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        wg.grad(f)(0.5)
        gc.collect()
        types = {type(thing) for thing in gc.garbage}
        held = {t.__name__ for t in types if getattr(t, "__module__", "").startswith("wengert")}
        sizes = [len(thing) for thing in gc.garbage if type(thing) is list]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert held <= {"Recorder", "Rows"}
    assert not any(sizes)


def test_by_which_mode() -> None:
    """y = y₀ exp(-kt), by every first derivative, and by derivatives of these in their seeds."""

    def f(k):
        return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [3.0, 1.0], **EXACT).y[:, -1]

    k, seed = np.array([0.5, 0.7]), np.array([1.0, 2.0])
    wanted = np.diag(-2.0 * np.array([3.0, 1.0]) * np.exp(-2.0 * k))
    for _ in range(3):
        pull, push = wg.vjp(f, k)[1], wg.linearize(f, k)[1]
        for found in (wg.jacobian(f)(k), wg.jacrev(f)(k), wg.jacobian(lambda d: push(d))(seed)):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(wg.jacobian(lambda c: pull(c)[0])(seed), wanted, rtol=1e-6, atol=1e-12)


def test_a_jacobian_by_arrays_of_several_shapes() -> None:
    """Its directions run through generated code together, and through several blocks of stages."""

    def ends(rate, mixing, table, y0):
        def f(t, y):
            return rate * np.sin(mixing @ y) - y * np.einsum("ijk,k->i", table, y) + y0 * np.cos(5.0 * t)

        return integrate.solve_ivp(f, (0.0, 3.0), y0, "DOP853", [1.0, 3.0], **EXACT).y[:, 0] + y0

    numbers = np.random.default_rng(3)
    args = 0.8, numbers.normal(size=(5, 5)), numbers.uniform(size=(5, 2, 5)) / 5, np.linspace(0.5, 1.0, 5)
    jacobian = wg.jacobian(ends, argnums=(0, 1, 2, 3))
    for _ in range(3):
        for k, found in enumerate(jacobian(*args)):
            direction = np.cos(np.arange(np.size(args[k]))).reshape(np.shape(args[k]))

            def moved(h, k=k, direction=direction):
                return ends(*args[:k], args[k] + h * direction, *args[k + 1 :])

            slope = (moved(1e-5) - moved(-1e-5)) / 2e-5
            tangents = [direction if at == k else None for at in range(4)]
            np.testing.assert_allclose(np.reshape(found, (5, -1)) @ np.ravel(direction), slope, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(wg.jvp(ends, args, tangents)[1], slope, rtol=1e-6, atol=1e-8)


def test_products_of_zero_and_infinity() -> None:
    """y log y has an infinite derivative at 0, where the other branch holds."""

    def f(k):
        rates = lambda t, y: np.where(y > 0, -k * y * np.log(y), 0.0)
        return np.sum(integrate.solve_ivp(rates, (0.0, 1.0), [0.5, 0.0], **EXACT).y[:, -1])

    with np.errstate(all="ignore"):
        wanted = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
        np.testing.assert_allclose([wg.grad(f)(0.7) for _ in range(3)], wanted, rtol=1e-7)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("n", [50, 200])
def test_many_stiff_equations(n: int, method: str) -> None:
    """By factors of sparse matrices, to the second order."""
    p, direction = np.linspace(0.5, 1.5, n // 10), np.cos(np.arange(n // 10))

    def ends(p, method=method, tolerance=1e-6):
        y0, words = 0.5 + 0.3 * np.sin(np.arange(n) / 9), {"rtol": tolerance, "atol": tolerance}
        return integrate.solve_ivp(diffusion, (0, 1), y0 * p[0], method, [0.3, 1.0], args=(p,), **words).y

    def loss(p, *words):
        return np.sum(ends(p, *words) ** 2)

    after, before = (ends(p + h * direction, "DOP853", 1e-12) for h in (1e-4, -1e-4))
    found = wg.jacobian(ends)(p) @ direction
    np.testing.assert_allclose(found, (after - before) / 2e-4, atol=1e-4)
    slope = wg.grad(loss)
    np.testing.assert_allclose(slope(p) @ direction, np.sum(2 * ends(p) * found), rtol=1e-6)
    with_direction = wg.grad(lambda p: slope(p) @ direction)(p) @ direction
    slopes = [slope(p + h * direction) @ direction for h in (1e-3, -1e-3)]
    np.testing.assert_allclose(with_direction, (slopes[0] - slopes[1]) / 2e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("n", "kind", "name"), [(30, linear_steps.BandedMatrices, "factorised"), (6, linear_steps, "inverse_by_blocks")]
)
def test_a_singular_matrix_of_a_step(n: int, kind: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps are traced instead."""

    def loss(p):
        y0 = 0.5 + 0.3 * np.sin(np.arange(n) / 9)
        return np.sum(integrate.solve_ivp(diffusion, (0, 0.1), y0 * p[0], "Radau", args=(p,)).y[:, -1] ** 2)

    p = np.array([0.5, 1.0, 1.5])
    wanted = wg.grad(loss)(p)

    def factorised(*matrices):
        raise RuntimeError("Factor is exactly singular")

    monkeypatch.setattr(kind, name, factorised)
    np.testing.assert_allclose(wg.grad(loss)(p), wanted, rtol=1e-4)


def test_a_failed_integration() -> None:
    """y' = a y² is infinite at t = 1/a; the times before have their derivatives."""

    def f(a):
        found = integrate.solve_ivp(lambda t, y: a * y**2, (0, 5), [1.0], t_eval=[0.2, 0.5, 3.0], **EXACT)
        assert not found.success
        return found.y[0]

    np.testing.assert_allclose(wg.jacobian(f)(0.9), [t / (1 - 0.9 * t) ** 2 for t in (0.2, 0.5)], rtol=1e-8)


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("method", ["RK45", "BDF", "Radau"])
def test_all_steps_of_a_failed_integration(method: str, counts: bool) -> None:
    """y' = a y² is infinite at t = 1/a. Steps behind those that can be followed have derivatives of NaN, and values.

    So has the time at which it fails.
    """
    calls, words = [0], {"method": method, "rtol": 1e-6, "atol": 1e-6}

    def f(t, y, a):
        calls[0] += counts
        return a * y**2

    def solved(a, end=5.0, **more):
        with np.errstate(all="ignore"):
            return integrate.solve_ivp(f, (0.0, end), [1.0], args=(a,), **words, **more)

    def at_steps(a):
        found = solved(a)
        return np.stack([found.y[0], found.t])

    plain, runs = solved(0.9), calls[0]
    calls[0] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, (slopes, of_times) = wg.value_and_jacobian(at_steps)(0.9)
    assert calls[0] == runs
    np.testing.assert_array_equal(values, [plain.y[0], plain.t])
    np.testing.assert_array_equal(of_times, [*np.zeros(plain.t.size - 1), np.nan])
    early = plain.t < 0.9
    t = plain.t[early]
    np.testing.assert_allclose(slopes[early], t / (1 - 0.9 * t) ** 2, rtol=1e-3)
    assert method == "RK45" or np.isnan(slopes[-1])

    def between(a):
        return solved(a, dense_output=True).sol(np.array([0.5, 0.8, plain.t[-1]]))[0]

    def at_times(a):
        return solved(a, t_eval=np.array([0.0, 0.5, 0.8, 4.0])).y[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slopes = wg.jacobian(between)(0.9)
    np.testing.assert_allclose(slopes[:2], [0.5 / 0.55**2, 0.8 / 0.28**2], rtol=1e-3)
    assert method == "RK45" or np.isnan(slopes[2])
    np.testing.assert_allclose(wg.jacobian(at_times)(0.9), [0.0, 0.5 / 0.55**2, 0.8 / 0.28**2], rtol=1e-3)


@pytest.mark.filterwarnings("ignore::wengert.NoPathWarning")
@pytest.mark.parametrize("words", [{}, {"dense_output": True}, {"t_eval": [0.0]}], ids=["steps", "dense", "times"])
@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_an_integration_over_no_time(method: str, words: dict[str, Any]) -> None:
    def total(a):
        return np.sum(integrate.solve_ivp(lambda t, y: a * y, (0.0, 0.0), [a], method, **words).y)

    plain, (value, slope) = total(1.5), wg.value_and_grad(total)(1.5)
    assert value == plain
    assert slope == plain / 1.5  # SciPy returns the initial value twice, or no value at the times asked for


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
def test_many_slopes_that_read_no_state(method: str) -> None:
    """The pattern of their Jacobian has no entries."""

    def mean(a):
        return np.mean(integrate.solve_ivp(lambda t, y: np.ones(30) * a, (0, 2), np.ones(30) * a, method).y[:, -1])

    assert wg.grad(mean)(0.7) == pytest.approx(3.0)


def test_a_slope_that_reads_no_state() -> None:
    found = wg.jacobian(lambda p: integrate.solve_ivp(lambda t, y: [p[0], 2.0, p[1]], (0, 3), [0, 0, 0]).y[:, -1])(P)
    np.testing.assert_allclose(found, [[3.0, 0.0], [0.0, 0.0], [0.0, 3.0]])


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA"])
def test_second_order(method: str) -> None:
    """y = y₀ exp(-kt): ∂²y/∂k² = t² y, by every mix of modes."""

    def f(k):
        words = {"method": method, "rtol": 1e-9, "atol": 1e-9}
        return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [3.0], **words).y[0, -1]

    wanted = 4 * 3 * np.exp(-2 * 0.7)
    by_hvp = lambda k: wg.hvp(f, (k,), (1.0,))[0]
    for second in (wg.grad(wg.grad(f)), wg.hessian(f), wg.jacobian(wg.jacobian(f)), by_hvp):
        np.testing.assert_allclose(second(0.7), wanted, rtol=1e-5)
    np.testing.assert_allclose(wg.grad(wg.grad(wg.grad(f)))(0.7), -2 * wanted, rtol=1e-4)
    assert np.isnan(wg.hessian(lambda k: np.nan * f(k))(0.7))


def test_examples_and_tapes() -> None:
    def f(k):
        return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [3.0], **EXACT).y[0, -1]

    rates = np.array([0.5, 0.7])
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(rates), -6 * np.exp(-2 * rates), rtol=1e-7)
    tape = wg.gradtape(f, 0.5)
    np.testing.assert_allclose(tape.play(0.5)[1][1], -6 * np.exp(-1.0), rtol=1e-7)
    with pytest.raises(wg.StaleTapeError):
        tape.play(0.6)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_a_table_that_is_read_at_the_time(method: str) -> None:
    """f jumps at times that depend on nothing; the lengths of SciPy's steps have no part in the derivative."""
    table, times = np.linspace(0.0, 1.0, 11), np.linspace(0.0, 1.0, 5)

    def total(a: Any, b: Any) -> Any:
        def f(t: Any, y: Any) -> Any:
            return a * table[min(int(t * 10), 10)] - b * y

        words = {"t_eval": times, "method": method, "max_step": 0.02, "rtol": 1e-8, "atol": 1e-10}
        return np.sum(integrate.solve_ivp(f, (0.0, 1.0), [0.9], **words).y)

    def by_a(t: float) -> float:
        """∫ exp(-b (t - s)) table(s) ds from 0 to t, for b = 1.3."""
        ends = np.minimum(np.arange(12) / 10, t)
        parts = (np.exp(-1.3 * (t - ends[1:])) - np.exp(-1.3 * (t - ends[:-1]))) / 1.3
        return float(np.sum(parts * table))

    assert wg.grad(total)(0.7, 1.3) == pytest.approx(sum(map(by_a, times)), rel=2e-5)
    if method in ("RK23", "RK45", "DOP853"):

        def stepped(a: Any) -> Any:
            def f(t: Any, y: Any) -> Any:
                return a * table[min(int(t * 10), 10)] - 1.3 * y

            solver = getattr(integrate, method)(f, 0.0, np.array([0.9]), 1.0, max_step=0.02, rtol=1e-8, atol=1e-10)
            while solver.status == "running":
                solver.step()
            assert isinstance(solver, getattr(integrate, method))
            return solver.y[0]

        assert wg.grad(stepped)(0.7) == pytest.approx(by_a(1.0), rel=1e-3)


OPTIONS = [{}, {"mxordn": 4}, {"hmax": 0.05}, {"tcrit": [1.0]}, {"rtol": 1e-5, "atol": 1e-5}]


@pytest.mark.parametrize("words", OPTIONS, ids=str)
def test_odeint_with_its_options(words: dict[str, Any]) -> None:
    """The error, relative to the largest number, is ten times that of the values at most, without a warning."""
    p = np.array([1.0, 1.0])

    def swing(t, y, p):
        return [y[1], p[0] * (1.0 - y[0] ** 2) * y[1] - p[1] * y[0]]

    def exact(p):
        return integrate.solve_ivp(swing, (0.0, 10.0), Y, "DOP853", [5.0, 10.0], args=(p,), rtol=1e-12, atol=1e-13).y

    def found(p):
        return integrate.odeint(swing, Y, [0.0, 5.0, 10.0], (p,), tfirst=True, **words)[1:].T

    with warnings.catch_warnings(action="error"):
        y, J = wg.value_and_jacobian(found)(p)
    np.testing.assert_array_equal(y, found(p))
    wanted = np.stack([(exact(p + h) - exact(p - h)) / 2e-5 for h in 1e-5 * np.eye(2)], axis=-1)
    of_values = np.max(np.abs(y - exact(p))) / np.max(np.abs(y))
    assert np.max(np.abs(J - wanted)) / np.max(np.abs(wanted)) <= 10 * max(of_values, 1e-8)


@pytest.mark.parametrize("method", ["odeint", "LSODA", "BDF"])
def test_a_solution_whose_errors_grow(method: str) -> None:
    """Van der Pol's, in whose jumps the values are many tolerances off; f is not traced for each step, for all that."""

    def swing(t, y, p):
        return [y[1], p[0] * (1.0 - y[0] ** 2) * y[1] - p[1] * y[0]]

    def solved(p, method=method, tolerance=1e-8):
        words = {"rtol": tolerance, "atol": tolerance}
        if method == "odeint":
            return integrate.odeint(swing, Y, [0.0, 6.0], (p,), tfirst=True, **words)[-1]
        return integrate.solve_ivp(swing, (0.0, 6.0), Y, method, args=(p,), t_eval=[6.0], **words).y[:, -1]

    def exact(p):
        return solved(p, "DOP853", 1e-12)

    p = np.array([5.0, 1.0])
    with Counted(swing) as plain:
        solved(p)
    with Counted(swing) as traced:
        found = wg.jacobian(solved)(p)
    assert traced.calls <= 4 * plain.calls
    wanted = np.stack([(exact(p + h) - exact(p - h)) / 2e-5 for h in 1e-5 * np.eye(2)], axis=-1)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


SPANS = {"forward": ([0.0, 3.0, 7.0], {}), "backward": ([0.0, -1.0], {}), "by first step": ([0.1, 5.0], {"h0": 1e-3})}


@pytest.mark.parametrize(("times", "words"), SPANS.values(), ids=SPANS)
def test_the_right_hand_side_of_odeint_runs_once_more(times: list[float], words: dict[str, Any]) -> None:
    """The second call of odeint, for the values between its steps, gets the slopes of the first."""

    def end(a):
        return integrate.odeint(hunt, Y, times, (a, 0.4), tfirst=True, rtol=1e-9, atol=1e-9, **words)[-1, 0]

    with Counted(hunt) as plain:
        end(1.1)
    with Counted(hunt) as traced:
        slope = wg.grad(end)(1.1)
    assert traced.calls <= plain.calls + 1
    assert slope == pytest.approx((end(1.1 + 1e-5) - end(1.1 - 1e-5)) / 2e-5, rel=1e-4)


@pytest.mark.parametrize(("start", "same"), [(0.0, -1.0), (2.3, recorded.SAME)])
def test_odeint_that_may_take_other_steps(start: float, same: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then its second call calls the right-hand side."""

    def end(a):
        return integrate.odeint(hunt, Y, [start, 5.0], (a, 0.4), tfirst=True, rtol=1e-9, atol=1e-9)[-1, 0]

    monkeypatch.setattr(recorded, "SAME", same)
    assert wg.grad(end)(1.1) == pytest.approx((end(1.1 + 1e-5) - end(1.1 - 1e-5)) / 2e-5, rel=1e-4)


@pytest.mark.parametrize("counts", [False, True])
def test_odeint_with_its_longest_step(counts: bool) -> None:
    """A pulse at t = 5, which hmax= makes the solver see: y = a ∫ exp(-100 (s - 5)²) ds = a √π / 10."""
    seen = []

    def end(a):
        def pulse(y, t):
            if counts:
                seen.append(t)
            return a * np.exp(-100 * (t - 5.0) ** 2)

        return integrate.odeint(pulse, [0.0], [0.0, 10.0], hmax=0.1)[-1, 0]

    np.testing.assert_allclose(wg.grad(end)(0.7), np.sqrt(np.pi) / 10, rtol=1e-6)


@pytest.mark.parametrize("stiffness", [1.0, 1e4])
def test_odeint_along_its_own_steps(stiffness: float) -> None:
    """y' = -s (y - cos at) from y = 1, which ends near cos at; backward in time, too, where it is not stiff."""

    def end(a, s, t):
        found = integrate.odeint(lambda y, t: -s * (y - np.cos(a * t)), [1.0], [0.0, t], rtol=1e-9, atol=1e-9)
        return found[-1, 0]

    def closed(a, s, t):
        forced = lambda t: (s * np.cos(a * t) + a * np.sin(a * t)) * s / (s * s + a * a)
        return forced(t) + (1.0 - forced(0.0)) * np.exp(-s * t)

    for t in (2.0, -1.0) if stiffness == 1.0 else (2.0,):
        with warnings.catch_warnings(action="error"):
            found = wg.grad(end, argnums=(0, 1, 2))(1.3, stiffness, t)
        for x_bar, wanted in zip(found, wg.grad(closed, argnums=(0, 1, 2))(1.3, stiffness, t), strict=True):
            np.testing.assert_allclose(x_bar, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("counts", [False, True])
def test_odeint_that_gives_up(counts: bool) -> None:
    """y' = a y² from y = 1: y = 1 / (1 - a t), infinite at t = 1. Rows before that have their derivative."""
    calls = [0]

    def f(y, t, a):
        calls[0] += counts
        return a * y * y

    def rows(a):
        return integrate.odeint(f, [1.0], np.linspace(0.0, 2.0, 5), (a,))[:, 0]

    with pytest.warns(integrate.ODEintWarning):
        wanted = rows(1.0)
    plain, calls[0] = calls[0], 0
    with pytest.warns(integrate.ODEintWarning), np.errstate(over="ignore"):
        values, slopes = wg.value_and_jacobian(rows)(1.0)
    assert calls[0] == plain
    np.testing.assert_array_equal(values[:3], wanted[:3])
    assert slopes[0] == 0.0
    assert slopes[1] == pytest.approx(2.0, rel=1e-6)
    assert np.isnan(slopes[2:]).all()


def test_no_tape_is_recorded_of_odeint_that_gives_up() -> None:
    def total(a):
        return np.sum(integrate.odeint(lambda y, t: a * y * y, [1.0], [0.0, 0.5, 2.0]))

    with pytest.warns(integrate.ODEintWarning), np.errstate(over="ignore"):
        with pytest.raises(wg.NoDerivativeError, match="behind the time at which odeint gives up"):
            wg.trace(total, 1.0)
    with pytest.warns(integrate.ODEintWarning), np.errstate(over="ignore"):
        assert np.isnan(wg.compile(wg.grad(total), native=False)(1.0))


def test_odeint_that_reaches_no_later_time() -> None:
    def end(a, y):
        return integrate.odeint(hunt, y, [0.0, 5.0], (a, 0.4), tfirst=True, mxstep=3)[-1, 0]

    with pytest.warns(integrate.ODEintWarning):
        a_bar, y_bar = wg.grad(end, argnums=(0, 1))(1.1, np.array(Y))
    assert np.isnan(a_bar) and np.isnan(y_bar).all()


def test_odeint_of_numbers_that_end() -> None:
    """f is not a number from t = 0.6 on: y is exp(a t) before."""

    def rows(a):
        return integrate.odeint(lambda y, t: np.nan * y if t > 0.6 else a * y, [1.0], [0.0, 0.5, 1.0])[:, 0]

    slopes = wg.jacobian(rows)(1.0)
    assert slopes[1] == pytest.approx(0.5 * np.exp(0.5), rel=1e-6)
    assert np.isnan(slopes[2])


@pytest.mark.parametrize("method", ["odeint", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_a_right_hand_side_with_effects_runs_as_often_as_scipys(method: str) -> None:
    p, seen, box = np.array([1.1, 0.4]), [], types.SimpleNamespace(count=0, last=np.zeros(2))

    def f(t, y, a, b):
        seen.append(t)
        box.count += 1
        box.last[:] = t
        return hunt(t, y, a, b)

    def end(p):
        if method == "odeint":
            return integrate.odeint(f, Y, [0.0, 1.0, 2.0], (p[0], p[1]), tfirst=True, rtol=1e-9, atol=1e-9)[-1]
        return integrate.solve_ivp(f, (0.0, 2.0), Y, method, args=(p[0], p[1]), rtol=1e-9, atol=1e-9).y[:, -1]

    def effects():
        found = [*map(float, seen)], box.count, box.last.copy()
        seen.clear()
        box.count, box.last[:] = 0, 0.0
        return found

    value = end(p)
    plain = effects()
    traced, slopes = wg.value_and_jacobian(end)(p)
    np.testing.assert_equal(effects(), plain)
    np.testing.assert_array_equal(traced, value)
    wanted = np.stack([(end(p + h) - end(p - h)) / 2e-4 for h in 1e-4 * np.eye(2)], axis=-1)
    np.testing.assert_allclose(slopes, wanted, rtol=1e-5)


@pytest.mark.parametrize("method", ["odeint", "Radau"])
def test_a_right_hand_side_that_stores_traced_values(method: str) -> None:
    """The derivative of the solution is right, and a warning tells of the values that are stored."""

    def end(a):
        stored = []

        def f(t, y):
            stored.append(a * y)
            return -a * y

        if method == "odeint":
            return integrate.odeint(f, [1.0], [0.0, 1.0], tfirst=True)[-1, 0]
        return integrate.solve_ivp(f, (0.0, 1.0), [1.0], method, rtol=1e-8).y[0, -1]

    with pytest.warns(wg.WengertWarning, match="stores values outside"):
        assert wg.grad(end)(0.7) == pytest.approx(-np.exp(-0.7), rel=1e-6)


@pytest.mark.parametrize("f", [hunt, lambda t, y, a, b: np.array([-1e4 * (y[0] - np.cos(a * t)), y[0] - b * y[1]])])
def test_the_paths_of_lsoda(f: Any) -> None:
    """They are those of SciPy, while the order grows and falls."""

    paths: list[Any] = []

    class Both(recorded.recording(integrate.LSODA, lambda solver: paths.append(recorded.Nordsieck.of(solver)))):
        def step(self):
            super().step()
            wanted.append(self.dense_output()(np.linspace(self.t_old, self.t, 4)).T)

    wanted: list[Any] = []
    solver = Both(lambda t, y: f(t, y, 1.1, 0.4), 0.0, Y, 20.0, rtol=1e-9, atol=1e-9)
    while solver.status == "running":
        solver.step()
    times = np.array([np.linspace(path.t_old, path.t, 4) for path in paths])
    np.testing.assert_allclose(recorded.interpolated(paths, times), wanted, rtol=1e-13, atol=1e-13)
    orders = np.array([path.integers for path in paths])
    assert (orders[:, 1] < orders[:, 0]).any()


def test_lsoda_without_known_work_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's own interpolants serve instead."""

    def end(a):
        return integrate.solve_ivp(hunt, (0.0, 5.0), Y, method="LSODA", args=(a, 0.4), rtol=1e-9, atol=1e-9).y[0, -1]

    expected = wg.grad(end)(1.1)
    monkeypatch.setattr(recorded.Nordsieck, "of", staticmethod(lambda solver: None))
    assert wg.grad(end)(1.1) == pytest.approx(expected, rel=1e-9)
    assert (end(1.1 + 1e-5) - end(1.1 - 1e-5)) / 2e-5 == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("t_eval", [None, np.linspace(0.0, 2.0, 7)], ids=["steps", "times"])
def test_solutions_have_the_memory_order_of_scipy(method: str, t_eval: Any) -> None:
    """So that sums over them have the same bits."""
    strides = []

    def total(a):
        found = integrate.solve_ivp(hunt, (0.0, 2.0), Y, method, t_eval, True, args=(a, 0.4), rtol=1e-7, atol=1e-7)
        between = found.sol(np.linspace(0.1, 1.9, 9))
        strides.append((found.y.strides, found.t.strides, between.strides))
        return np.sum(found.y) + np.sum(between)

    value = total(1.1)
    assert wg.value_and_grad(total)(1.1)[0] == value
    assert strides[0] == strides[1]


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
@pytest.mark.parametrize("start", [Y, Y * (1.0 + 0.3j)], ids=["real", "complex"])
def test_solutions_have_the_bits_of_scipy(method: str, start: Any) -> None:
    """At the steps, at other times, and at events."""

    def solved(a):
        words = {"t_eval": np.linspace(0.0, 8.0, 23), "dense_output": True, "args": (a, 0.4), "rtol": 1e-7}
        crossing = lambda t, y, a, b: np.abs(y[0]) - 2.5
        found = integrate.solve_ivp(hunt, (0.0, 8.0), start, method, events=crossing, **words)
        kept.append((found.y, found.sol(1.234), found.sol([0.5, 7.0]), found.t_events[0], found.y_events[0]))
        return np.sum(np.abs(found.y))

    kept: list[Any] = []
    assert solved(1.1) == wg.value_and_grad(solved)(1.1)[0]
    for wanted, found in zip(*kept, strict=True):
        assert wanted.size
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("method", ["odeint", "BDF", "Radau", "LSODA"])
def test_a_jacobian_that_writes_into_an_array(method: str) -> None:
    """The factor of a is the array's number before the solver runs, 2."""

    def f(a):
        buffer = np.array([2.0])
        product = np.sum(a * buffer)

        def jacobian(t, y):
            buffer[0] = 7.0
            return [[-1.0]]

        if method == "odeint":
            end = integrate.odeint(lambda t, y: -a * y, [1.0], [0.0, 50.0], tfirst=True, Dfun=jacobian)[-1, 0]
        else:
            end = integrate.solve_ivp(lambda t, y: -a * y, (0.0, 50.0), [1.0], method, jac=jacobian).y[0, -1]
        assert buffer[0] == 7.0
        return product + 0.0 * end

    assert wg.grad(f)(1.0) == 2.0
