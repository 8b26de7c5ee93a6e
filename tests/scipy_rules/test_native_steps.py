"""Initial value problems in compiled functions: values and derivatives of the uncompiled ones, by kernels in Python.

What SciPy computes is the oracle for values, and differences of it for derivatives. The code of the kernels runs in
Python here, so that the tests need no compiler; one test compiles it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_source
from scipy.integrate import DOP853, RK23, solve_ivp

import wengert as wg
from wengert.api import native_functions
from wengert.compiling.native import callbacks
from wengert.extend import NotNativeError, native_function
from wengert.values.kernel_cache import has_compiler
from wengert_rules.scipy.integrate import native_initial_values, native_steps

X = np.array([0.8, 0.6, 0.5, 0.9])
TIMES = np.linspace(0.0, 1.0, 4)
A = np.array([[-0.3, 1.0], [-1.2, -0.1]])
RATES = {"k": 0.7}
GRAVITY = 0.4


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels in Python."""
    monkeypatch.setattr(callbacks, "compile_source", interpret_source)
    monkeypatch.setattr(native_functions, "has_compiler", lambda: True)


class Spring:
    def __init__(self) -> None:
        self.k, self.A = 0.9, A.copy()

    def slope(self, t, y):
        return self.k * (self.A @ y)


SPRING = Spring()


def solved(f: Any, x: Any, span: Any = (0.0, 1.0), t_eval: Any = TIMES, **words: Any) -> Any:
    return solve_ivp(f, span, x[:2], t_eval=t_eval, **words).y


def in_a_closure(x):
    return solved(lambda t, y: [x[2] * y[1], -x[3] * y[0] * y[1]], x)


def with_arguments(x):
    return solved(lambda t, y, a, b: (a * y[1], -b * y[0]), x, args=(x[2], x[3]))


def by_an_order(x):
    return solved(lambda t, y: A @ y * x[2] + np.sin(t), x, method="RK23")


def by_a_class(x):
    return solved(lambda t, y: A @ y * x[2], x, method=RK23, max_step=0.2)


def of_high_order(x):
    return solved(lambda t, y: A @ y * x[2] + np.sin(t * x[3]), x, method=DOP853)


def with_globals(x):
    return solved(lambda t, y: [GRAVITY * y[1], -RATES["k"] * y[0] * x[2]], x)


def of_an_object(x):
    return solved(SPRING.slope, x)


def backwards(x):
    return solved(lambda t, y: A @ y * x[2], x, (1.0, 0.0), TIMES[::-1])


def vectorized(x):
    return solved(lambda t, y: np.array([y[1] * x[2], -y[0]]), x, vectorized=True)


def with_options(x):
    return solved(lambda t, y: A @ y * x[2], x, rtol=np.array([1e-4, 1e-6]), atol=[1e-6, 1e-7], first_step=0.01)


def of_one_equation(x):
    return solve_ivp(lambda t, y: -x[1] * y, (0, 1), x[:1], t_eval=[0, 1]).y


def at_traced_times(x):
    return solved(lambda t, y: A @ y * np.sin(t), x, (x[2], x[2] + 1.0), [x[2] + 0.5 * x[3], x[2] + 1.0])


def one_after_the_other(x):
    y = solved(lambda t, y: A @ y * x[2], x, t_eval=[0.5, 1.0])
    return solve_ivp(lambda t, y: -y * x[3], (1.0, 2.0), y[:, -1], t_eval=[1.5, 2.0]).y


def in_a_loop(x):
    return sum([solved(lambda t, y, k=k: A @ y * x[2] * k, x, t_eval=[1.0]) for k in (1.0, 2.0)])


def with_a_table(x):
    table = np.array([0.1, 0.4, 0.2]) * x[3]
    return solved(lambda t, y: [y[1], np.interp(t, [0.0, 0.41, 1.0], table) - x[2] * y[0]], x)


def switched(x):
    return solved(lambda t, y: [y[1], -x[2] * y[0] if t < 0.47 else x[3]], x)


def in_a_buffer(x):
    def slope(t, y):
        out = np.empty(2)
        out[0], out[1] = y[1] * x[2], -y[0]
        return out

    return solved(slope, x)


def with_a_helper_named_like_a_kernel(x):
    return solved(lambda t, y: np.linalg.solve(np.eye(2) + A * x[2], -y), x)


def with_whole_numbers(x):
    return solved(lambda t, y: [1, x[2] * y[0]], x, (0, 2), np.arange(3))


def of_constants(x):
    return solved(lambda t, y: [1.0, 2.0], x)


def of_an_array_written_later(x):
    matrix = np.array([[0.0, 1.0], [-1.0, 0.0]])
    before = solved(lambda t, y: matrix @ y * x[2], x)
    matrix[0, 0] = -3.0
    return before + solved(lambda t, y: matrix @ y * x[2], x) + matrix[0, 0] * x[0]


def rebound(x):
    k = x[2]
    f = lambda t, y: [k * y[1], -y[0]]
    before = solved(f, x)
    k = x[3]
    return before + solved(f, x)


def that_asks_for_success(x):
    found = solve_ivp(lambda t, y: A @ y * x[2], (0.0, 1.0), x[:2], t_eval=TIMES)
    if not found.success or found.status or found["message"][:3] != "The":
        raise ValueError(found.message)
    return found.y * found.t


def with_events(x):
    landed = lambda t, y, k: y[0] + 0.1 * k
    landed.terminal, landed.direction = 1, -1.0
    words = {"args": (x[2],), "events": landed, "t_eval": np.arange(3.0)}
    found = solve_ivp(lambda t, y, k: [k * y[1], -2.0 * k * y[0]], (0, 100), x[:2], **words)
    return np.concatenate([found.t_events[0], found.y_events[0][0], np.ravel(found.y), [found.status, len(found.t)]])


def with_events_backwards(x):
    events = [lambda t, y: y[0] - 0.7 * x[3], lambda t, y: y[0] + 9.0]
    found = solve_ivp(lambda t, y: x[2] * (A @ y), (1.0, 0.0), x[:2], "DOP853", events=events)
    return np.concatenate([found.t_events[0], found.t_events[1], np.ravel(found.y_events[0])])


def without_times(x):
    found = solve_ivp(lambda t, y: A @ y * x[2], (x[3], 2), x[:2])
    first, _ = found.y
    kinds = [isinstance(found.y, np.ndarray), type(found.t) is np.ndarray, "y" in found]
    ends = [first[-1] * found.t[-1], found.t[0]]
    return np.concatenate([found.y[:, -1], found.y[1, -1:], found.y[..., 0], ends, kinds])


def without_times_to_an_event(x):
    landed, never = lambda t, y: y[0] + 0.1 * x[3], lambda t, y: y[0] - 9.0
    landed.terminal = True
    found = solve_ivp(lambda t, y: [y[1], -2.0 * x[2] * y[0]], (0, 100), x[:2], events=[never, landed])
    return np.append(found.y[:, -1], found.t[-1])


def of_complex_numbers(x):
    f, event = lambda t, y: 1j * y * x[2] + np.abs(y) ** 2 * x[3], lambda t, y: np.imag(y[1]) - 0.7
    words = {"t_eval": TIMES, "atol": [1e-6, 1e-7], "events": event}
    found = solve_ivp(f, (0.0, 1.0), x[:2] + 0.1j * x[2:], **words)
    return np.concatenate([np.ravel(found.y.real), np.ravel(found.y.imag), found.t_events[0]])


PAULI = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, -1j], [1j, 0.0]])


def of_complex_matrices(x):
    """The matrix depends on x outside the right-hand side; a number, and another matrix, inside it."""
    H, c = x[2] * PAULI[1] + PAULI[0], np.exp(1j * x[3])
    found = solve_ivp(lambda t, y: -1j * (H @ y) + c * x[0] * (PAULI[1] @ y), (0.0, 1.0), x[:2] + 0.3j, t_eval=TIMES)
    return np.concatenate([np.abs(found.y), np.real(found.y)])


COMPILED = [
    in_a_closure, with_arguments, by_an_order, by_a_class, of_high_order, with_globals, of_an_object, backwards,
    vectorized, with_options, of_one_equation, at_traced_times, one_after_the_other, in_a_loop, with_a_table, switched,
    in_a_buffer, with_whole_numbers, with_a_helper_named_like_a_kernel, of_constants, of_an_array_written_later,
    rebound, that_asks_for_success, with_events, with_events_backwards, of_complex_numbers, without_times,
    without_times_to_an_event, of_complex_matrices,
]  # fmt: skip


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_values_and_derivatives(f: Callable[..., Any], in_python: None) -> None:
    compiled = wg.compile(f, strict=True)
    jacobian = wg.compile(wg.jacobian(f), strict=True)
    gradient = wg.compile(wg.value_and_grad(lambda x: np.sum(f(x) ** 2)), strict=True)
    for x in (X, 1.1 * X, X):
        close(compiled(x), f(x))
        close(jacobian(x), wg.jacobian(f)(x))
        value, x_bar = gradient(x)
        close(value, np.sum(f(x) ** 2))
        close(x_bar, wg.grad(lambda x: np.sum(f(x) ** 2))(x))


@pytest.mark.parametrize("transform", [wg.jacrev, wg.jacfwd], ids=["jacrev", "jacfwd"])
def test_modes(transform: Any, in_python: None) -> None:
    close(wg.compile(transform(in_a_closure), strict=True)(X), wg.jacobian(in_a_closure)(X))


def with_events_alone(x):
    found = solve_ivp(lambda t, y: A @ y * x[2], (0.0, 1.0), x[:2], events=lambda t, y: y[0] - 0.1)
    return found.t_events[0], found.y[:, -2]


def with_an_event_that_is_an_array(x):
    return solved(lambda t, y: A @ y * x[2], x, events=lambda t, y: y[:1] - 0.1)


def with_an_event_that_counts(x):
    count = [0]

    def event(t, y):
        count[0] += 1
        return y[0] - 0.1

    return solved(lambda t, y: A @ y * x[2], x, events=event) * count[0]


def with_events_and_a_dense_solution(x):
    return solve_ivp(lambda t, y: A @ y, (0.0, 1.0), x[:2], dense_output=True, events=lambda t, y: y[0]).sol(0.5)


def that_reads_a_step(x):
    return solve_ivp(lambda t, y: A @ y * x[2], (0.0, 1.0), x[:2]).y[:, 1]


def that_returns_the_steps(x):
    found = solve_ivp(lambda t, y: A @ y * x[2], (0.0, 1.0), x[:2])
    return {"t": found.t, "y": [found.y]}


def that_writes_into_the_steps(x):
    found = solve_ivp(lambda t, y: A @ y * x[2], (0.0, 1.0), x[:2])
    found.y[0, -1] = x[3]
    return found.y[:, -1]


def that_computes_with_all_steps(x):
    found = solve_ivp(lambda t, y: A @ y * x[2], (0.0, 1.0), x[:2])
    return np.concatenate([np.trapezoid(found.y, found.t), 2.0 * found.y[0], [found.t.size]])


def that_counts(x):
    count = [0]

    def slope(t, y):
        count[0] += 1
        return A @ y * x[2]

    return solved(slope, x) * count[0]


def broadcast(x):
    return solved(lambda t, y: y[:1] * x[2], x)


def that_writes_its_state(x):
    def slope(t, y):
        y[0] *= 1.0
        return [y[1], -y[0]]

    return solved(slope, x)


def with_evaluations(x):
    found = solve_ivp(lambda t, y: A @ y * x[2], (0.0, 1.0), x[:2], t_eval=TIMES)
    return found.y * found.nfev


def of_all_items(x):
    found = solve_ivp(lambda t, y: A @ y * x[2], (0.0, 1.0), x[:2], t_eval=TIMES)
    return dict(found)["y"] * {**found}["nfev"]


def that_blows_up(x):
    return np.nan_to_num(solve_ivp(lambda t, y: x[2] * y**2, (0.0, 9.0), x[:2], t_eval=[0.1, 0.2, 9.0]).y)


UNCOMPILED = [
    with_events_alone, with_an_event_that_is_an_array, with_an_event_that_counts, with_events_and_a_dense_solution,
    that_reads_a_step, that_returns_the_steps, that_writes_into_the_steps, that_computes_with_all_steps,
    that_counts, broadcast, that_writes_its_state, with_evaluations, of_all_items, that_blows_up,
]  # fmt: skip


@pytest.mark.parametrize("f", UNCOMPILED, ids=lambda f: f.__name__)
def test_uncompiled(f: Callable[..., Any], in_python: None) -> None:
    compiled = wg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (X, 1.1 * X):
            for found, wanted in zip(wg.tree_leaves(compiled(x)), wg.tree_leaves(f(x)), strict=True):
                close(found, wanted)
    assert "runs uncompiled" in compiled.explain()
    strict = wg.compile(f, strict=True)
    with pytest.raises(wg.NotCompiledError):
        [strict(X) for _ in range(2)]  # the second trace joins no paths, in case that was the reason


def test_a_step_as_an_event_runs_uncompiled(in_python: None) -> None:
    def fallen(a):
        words = {"events": lambda t, y: np.sign(y[0] - 0.5), "t_eval": [0.2]}
        found = solve_ivp(lambda t, y: -a * y, (0.0, 3.0), [1.0], **words)
        return np.array([found.t_events[0][0], found.y[0, 0]])

    f = wg.value_and_jacobian(fallen)
    with pytest.warns(wg.NotCompiledWarning, match="slope 0"):
        y, slopes = wg.compile(f)(0.7)
    np.testing.assert_array_equal(y, fallen(0.7))
    np.testing.assert_array_equal(slopes, f(0.7)[1])


TWICE: dict[str, Any] = {
    "hessian": wg.hessian,
    "by rows": lambda f: wg.jacrev(wg.grad(f)),
    "rows of tangents": lambda f: wg.jacrev(lambda x: wg.jvp(f, (x,), (np.cos(X),))[1]),
    "product": lambda f: lambda x: wg.hvp(f, (x,), (np.cos(X),)),
    "gradient of a gradient": lambda f: wg.grad(lambda x: np.sum(np.sin(wg.grad(f)(x)))),
    "gradient of a slope": lambda f: wg.grad(lambda x: np.sum(np.sin(wg.jacfwd(f)(x)))),
    "of a batch": lambda f: lambda x: wg.vmap(wg.hessian(f))(np.stack([x, 1.1 * x])),
    "of a batch within": lambda f: wg.hessian(lambda x: np.sum(wg.vmap(f)(np.stack([x, 1.1 * x, x * x])))),
    "of a batch by rows": lambda f: lambda x: wg.vmap(wg.jacrev(wg.grad(f)))(np.stack([x, 1.1 * x])),
}


@pytest.mark.parametrize("transform", TWICE.values(), ids=TWICE)
@pytest.mark.parametrize(
    "f", [in_a_closure, of_high_order, switched, vectorized, of_complex_matrices], ids=lambda f: f.__name__
)
def test_second_derivatives(f: Callable[..., Any], transform: Any, in_python: None) -> None:
    twice = transform(lambda x: np.sum(f(x) ** 3))
    compiled = wg.compile(twice, strict=True)
    for x in (X, 1.1 * X):
        with warnings.catch_warnings(action="ignore", category=wg.NoBatchingRuleWarning):
            wanted = wg.tree_leaves(twice(x))
        for found, each in zip(wg.tree_leaves(compiled(x)), wanted, strict=True):
            np.testing.assert_allclose(found, each, rtol=1e-7, atol=1e-9)


def third(f: Any) -> Any:
    return wg.grad(lambda x: np.sum(wg.hessian(f)(x)))


@pytest.mark.parametrize("transform", [lambda f: wg.jacfwd(wg.jacfwd(f)), third], ids=["forward", "third"])
def test_other_higher_derivatives_run_uncompiled(transform: Any, in_python: None) -> None:
    derivative = transform(lambda x: np.sum(in_a_closure(x) ** 2))
    with pytest.warns(wg.NotCompiledWarning, match="derivative"):
        np.testing.assert_array_equal(wg.compile(derivative)(X), derivative(X))


def test_second_derivatives_by_times_run_uncompiled(in_python: None) -> None:
    hessian = wg.hessian(lambda x: np.sum(at_traced_times(x) ** 2))
    compiled = wg.compile(hessian)
    for x in (X, 1.1 * X):
        with warnings.catch_warnings(action="ignore"):
            close(compiled(x), hessian(x))


def test_another_number_of_events(in_python: None) -> None:
    """y = cos(w t) is 0 at t = (k + 1/2) π / w."""

    def zeros(w):
        event = lambda t, y: y[0]
        f = lambda t, y: [w * y[1], -w * y[0]]
        return np.sum(solve_ivp(f, (0.0, 4.0), [1.0, 0.0], events=event, rtol=1e-6, atol=1e-8).t_events[0])

    compiled = wg.compile(wg.value_and_grad(zeros), strict=True)
    for w, count in ((1.0, 1), (2.0, 3), (1.1, 1), (2.1, 3)):
        total = np.sum((np.arange(count) + 0.5) * np.pi / w)
        np.testing.assert_allclose(compiled(w), [total, -total / w], rtol=1e-4)
    assert "2 traces" in compiled.explain()


def test_a_later_call_that_fails_runs_uncompiled(in_python: None) -> None:
    def to_infinity(x):
        found = solve_ivp(lambda t, y: x[2] * y**2, (0.0, 4.0), x[:2], t_eval=[0.1, 4.0])
        return np.sum(found.y) if found.success else -1.0

    compiled = wg.compile(to_infinity, strict=True)
    slow, fast = np.array([0.1, 0.1, 0.1]), np.array([1.0, 1.0, 1.0])
    close(compiled(slow), to_infinity(slow))
    assert compiled(fast) == to_infinity(fast) == -1.0
    close(compiled(slow), to_infinity(slow))


def test_a_later_call_takes_another_branch(in_python: None) -> None:
    def limited(x):
        return np.sum(solved(lambda t, y: [x[2] if y[0] > 0.9 else y[0], y[1]], x))

    compiled = wg.compile(limited)
    for start in (0.2, 0.1, 0.8, 2.0):
        x = np.array([start, 0.5, 0.3])
        close(compiled(x), limited(x))


def test_what_the_right_hand_side_reads_may_change(in_python: None, monkeypatch: pytest.MonkeyPatch) -> None:
    spring = Spring()

    def of_a_spring(x):
        return solved(lambda t, y: spring.slope(t, y) * RATES["k"], x)

    gradient = wg.grad(lambda x: np.sum(of_a_spring(x) ** 2))
    compiled, compiled_gradient = wg.compile(of_a_spring, strict=True), wg.compile(gradient, strict=True)
    for change in (
        lambda: None,
        lambda: monkeypatch.setitem(RATES, "k", 1.3),
        lambda: setattr(spring, "k", 0.2),
        lambda: spring.A.__setitem__((0, 0), 0.7),
    ):
        change()
        close(compiled(X), of_a_spring(X))
        close(compiled_gradient(X), gradient(X))


@pytest.mark.parametrize("t_eval", [[0.2, 0.1], [-1.0], [0.5, np.nan]], ids=["unsorted", "outside", "nan"])
def test_errors_are_scipys(t_eval: list[float], in_python: None) -> None:
    compiled = wg.compile(lambda x, t: solved(lambda t, y: A @ y * x[2], x, t_eval=t))
    compiled(X, np.array([0.1] * len(t_eval)) + 0.1 * np.arange(len(t_eval)))
    try:
        wanted = solved(lambda t, y: A @ y * X[2], X, t_eval=np.array(t_eval))
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            compiled(X, np.array(t_eval))
    else:
        np.testing.assert_array_equal(compiled(X, np.array(t_eval)), wanted)


def test_without_a_compiler_it_runs_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_functions, "has_compiler", lambda: False)
    with pytest.warns(wg.NotCompiledWarning, match="numba"):
        np.testing.assert_array_equal(wg.compile(in_a_closure)(X), in_a_closure(X))
    monkeypatch.setattr(native_functions, "has_compiler", lambda: True)
    with pytest.warns(wg.NotCompiledWarning, match="numba"):
        np.testing.assert_array_equal(wg.compile(in_a_closure, native=False)(X), in_a_closure(X))


# -- the kernels


def problem(f: Any, method: Any, y0: Any) -> Any:
    return native_steps.Problem(native_function(f, 0.0, y0).native, native_steps.Method.of(method))


def test_complex_slopes_of_real_states_are_refused(in_python: None) -> None:
    """SciPy discards their imaginary parts."""
    with pytest.raises(NotNativeError, match="returns complex numbers"):
        native_function(lambda t, y: (1.0 + 1.0j) * y, 0.0, X)


@pytest.mark.parametrize(
    ("method", "span", "tolerance"),
    itertools.product(native_initial_values.EXPLICIT, [(0.0, 3.0), (3.0, -1.0)], [1e-3, 1e-8]),
)
def test_steps_are_scipys(method: str, span: tuple[float, float], tolerance: float, in_python: None) -> None:
    def slope(t, y):
        return [y[1] * np.cos(t), -2.0 * np.sin(y[0])]

    y0, at = np.array([1.0, 0.3]), np.linspace(*span, 7)
    of_native = problem(slope, native_initial_values.EXPLICIT[method], y0)
    found = of_native.solve(*span, at, y0, tolerance, tolerance, np.nan, np.inf)
    words = {"rtol": tolerance, "atol": tolerance}
    wanted, steps = (solve_ivp(slope, span, y0, method, times, **words) for times in (at, None))
    assert (found.evaluations, len(found.steps)) == (wanted.nfev, len(steps.t))
    np.testing.assert_allclose(found.steps[:, 0], steps.t, rtol=1e-4, atol=1e-4)  # estimated errors are mostly rounding
    np.testing.assert_allclose(found.values[0], wanted.y.T, atol=2e-3 * tolerance)


def test_many_steps_find_room(in_python: None) -> None:
    y0, at = np.array([1.0, 0.3]), np.array([40.0])
    of_native = problem(lambda t, y: [y[1], -y[0]], RK23, y0)
    found = of_native.solve(0.0, 40.0, at, y0, 1e-3, 1e-6, np.nan, np.inf)
    assert len(found.steps) > 2 * 64
    assert len(found.steps) == len(solve_ivp(lambda t, y: [y[1], -y[0]], (0.0, 40.0), y0, "RK23").t)


@pytest.mark.parametrize("room", [0, 60, 1 << 20])
def test_steps_are_kept_for_derivatives(room: int, in_python: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the last solutions; others are computed again."""
    monkeypatch.setattr(native_steps, "KEPT", room)

    def ends(x):
        return np.array([solve_ivp(lambda t, y: [y[1], -x[0] * y[0]], (0, 1), [k, x[1]], t_eval=[1.0]).y[0, 0]
                         for k in np.arange(2.0)])  # fmt: skip

    jacobian = wg.jacrev(ends)
    close(wg.compile(jacobian, strict=True)(X[:2]), jacobian(X[:2]))
    of_native = problem(lambda t, y: [y[1], -y[0]], RK23, np.ones(2))
    for k in range(1, 9):
        found = of_native.solve_and_keep(0.0, 1.0, np.array([1.0]), np.array([k, 1.0]), 1e-3, 1e-6, np.nan, np.inf)
        assert len(of_native.kept) == min(k, 1 + room // found.steps.size)


def swing(y, k, end=1.0, **words):
    f = lambda t, y: [y[1] + 0.1 * np.sin(k * t), -k * y[0] * y[1]]
    return solve_ivp(f, (0.0, end), y, t_eval=[0.5 * end, end], **words).y


def batch_of_starts(x):
    return wg.vmap(lambda y: swing(y, 0.7))(np.multiply.outer(np.array([0.7, 1.0, 1.6]), x[:2]))


def of_shared_parameters(x):
    return wg.vmap(swing, (0, None))(np.multiply.outer(np.arange(1.0, 4.0), x[:2]), x[2])


def of_parameters(x):
    return wg.vmap(swing, (None, 0))(x[:2], np.array([0.1, 0.5, 2.0]) * x[2])


def of_times_and_options(x):
    def end(t, step):
        words = {"t_eval": [0.5 * t, t], "max_step": step, "rtol": 1e-3 * step}
        return solve_ivp(lambda t, y: [y[1] * t, -y[0]], (0.1 * x[2], t), x[:2], **words).y

    return wg.vmap(end)(np.array([0.5, 1.0, 2.0]) + x[3], np.array([0.1, 0.2, 0.3]))


def of_batches_of_batches(x):
    inner = wg.vmap(lambda k, y: solve_ivp(lambda t, z: -k * z, (0, 1), [y], t_eval=[1.0]).y[0, 0], (None, 0))
    return wg.vmap(inner, (0, None))(np.array([0.5, 1.0]) * x[0], np.array([1.0, 2.0, 3.0]) * x[1])


def slopes_of_a_batch(x):
    slope = wg.vmap(wg.grad(lambda y, k: np.sum(swing(y, k) ** 2), argnums=(0, 1)), (0, None))
    return slope(np.multiply.outer(np.arange(1.0, 4.0), x[:2]), x[2])


def jacobians_of_a_batch(x):
    ys = np.multiply.outer(np.arange(1.0, 4.0), x[:2])
    return wg.vmap(wg.jacrev(swing), (0, None))(ys, 0.7), wg.vmap(wg.jacfwd(lambda y: swing(y, y[0])))(ys)


BATCHES = [batch_of_starts, of_shared_parameters, of_parameters, of_times_and_options, of_batches_of_batches]


@pytest.mark.parametrize("f", BATCHES, ids=lambda f: f.__name__)
def test_batches(f: Callable[..., Any], in_python: None) -> None:
    """Each example takes its own steps, in one call of native code."""
    transforms: list[Any] = [lambda f: f, wg.jacrev, wg.jacfwd, lambda f: wg.grad(lambda x: np.sum(f(x) ** 2))]
    for transform in transforms:
        with warnings.catch_warnings(action="ignore", category=wg.NoBatchingRuleWarning):
            wanted = [transform(f)(x) for x in (X, 1.1 * X)]
        compiled = wg.compile(transform(f), strict=True)
        for x, each in zip((X, 1.1 * X), wanted, strict=True):
            close(compiled(x), each)


@pytest.mark.parametrize("f", [slopes_of_a_batch, jacobians_of_a_batch], ids=lambda f: f.__name__)
def test_batches_of_derivatives(f: Callable[..., Any], in_python: None) -> None:
    with warnings.catch_warnings(action="ignore", category=wg.NoBatchingRuleWarning):
        wanted = wg.tree_leaves(f(X))
    for each, found in zip(wanted, wg.tree_leaves(wg.compile(f, strict=True)(X)), strict=True):
        close(found, each)


def test_a_batch_is_one_call(in_python: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values are those of the examples one by one, to the last bit."""
    calls, solve = [], native_steps.Problem.solve
    monkeypatch.setattr(native_steps.Problem, "solve", lambda *args, **words: calls.append(1) or solve(*args, **words))
    ys = np.multiply.outer(np.linspace(0.5, 1.5, 7), X[:2])
    one, batch = wg.compile(swing, strict=True), wg.compile(wg.vmap(swing, (0, None)), strict=True)
    batch(ys, 0.7), one(X[:2], 0.7)
    calls.clear()
    found = batch(ys, 0.7)
    assert len(calls) == 1
    np.testing.assert_array_equal(found, [one(y, 0.7) for y in ys])


def test_an_example_that_fails_runs_uncompiled(in_python: None) -> None:
    def found(x):
        made = solve_ivp(lambda t, y: y * y * x, (0.0, 1.0), [1.0], t_eval=[0.5])
        return made.y[0, 0] if made.success else -1.0

    ends = wg.vmap(found)
    compiled = wg.compile(ends)
    with warnings.catch_warnings(action="ignore"):
        for xs in (np.array([0.1, 0.5]), np.array([0.1, 3.0]), np.array([0.2, 0.3])):
            close(compiled(xs), ends(xs))


@pytest.mark.skipif(not has_compiler(), reason="numba is not installed")
@pytest.mark.parametrize("f", [switched, with_events, of_complex_numbers], ids=lambda f: f.__name__)
def test_native(f: Callable[..., Any]) -> None:
    gradient = wg.value_and_grad(lambda x: np.sum(f(x) ** 2))
    compiled = wg.compile(gradient, strict=True)
    for x in (X, 1.1 * X):
        for found, wanted in zip(compiled(x), gradient(x), strict=True):
            close(found, wanted)
