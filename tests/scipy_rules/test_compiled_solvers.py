"""SciPy's solvers in compiled functions: values of the plain function, derivatives by differences of it.

Each compiled function is called for other arguments and for other values outside; none may be stale.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import wengert as wg

POINTS = [np.array(p) for p in ([2.0, 3.0], [2.1, 2.9], [1.5, 3.3], [0.9, 2.2], [2.1, 2.9])]
SCALE, RATES, SHIFTS = [2.0], {"k": 3.0}, np.array([1.0, 2.0])
XS = np.linspace(0.0, 1.0, 20)


def change(step: int) -> None:
    SCALE[0], RATES["k"], SHIFTS[1] = 2.0 + step, 3.0 + 0.5 * step, 2.0 + step


class Model:
    def __init__(self, k: float) -> None:
        self.k, self.w, self.calls = k, np.array([k, k + 1]), 0

    def residual(self, x: Any, p: Any) -> Any:
        return x**3 - p * self.k - self.w[0]

    def solve(self, p: Any) -> Any:
        return optimize.brentq(self.residual, 0, 20, args=(p,))


MODEL = Model(1.5)


def brentq(p):
    x = optimize.brentq(lambda x: x**3 - p[0] * x - p[1], 0.0, 10.0)
    return x * x + p[0]


def with_values_outside(p):
    return optimize.brentq(lambda x: x**3 - SCALE[0] * p[0] - RATES["k"] - SHIFTS[1], 0, 20)


def of_an_object(p):
    return MODEL.solve(p[0])


def with_a_branch(p):
    return optimize.brentq(lambda x: (x**3 if x > 0.5 else 0.75 * x - 0.25) - p[0], 0, 20)


def with_math(p):
    return optimize.brentq(lambda x: math.exp(x) - p[0] - p[1], 0, 20)


def within_another(p):
    inner = lambda a: optimize.brentq(lambda x: x**3 - a * x - p[1], 0, 20)
    return optimize.brentq(lambda a: inner(a) - p[0] - 2, 0.1, 50)


def in_a_loop(p):
    first, second = [optimize.newton(lambda x, q=q: x**3 - q, 1.0) for q in p]
    return first * second


def before_a_write(p):
    y = p * 1.0
    root = optimize.brentq(lambda x: x**3 - y[0], 0, 20)
    y[0] = 5.0
    return root * y[0]


def where_it_fails(p):
    try:
        return optimize.brentq(lambda x: x - p[0], 2.05, 20)
    except ValueError:
        return p[1] * 7


def with_all_results(p):
    x, found = optimize.brentq(lambda x: x**3 - p[0], 0, 20, full_output=True)
    return x * (2 if found.converged else 3)


def root_scalar(p):
    found = optimize.root_scalar(lambda x: np.exp(x) - p[0] * p[1], bracket=[0, 10])
    return found.root if found.converged else 0.0


def newton(p):
    return optimize.newton(lambda x, a: x * x - a, 1.5, args=(p[0],)) * p[1]


def newton_of_an_array(p):
    return np.sum(optimize.newton(lambda x: x**3 - p, np.ones(2)))


def newton_of_a_complex_number(p):
    c = p[0] + 1j * p[1]
    return optimize.newton(lambda z: z**3 - c, 1 + 0.5j).real


def root(p):
    found = optimize.root(
        lambda x: np.array([x[0] ** 2 + p[0] * x[1] - 3, x[1] ** 3 - p[1] * x[0]]), np.array([1.0, 1.0])
    )
    return np.sum(found.x**2) if found.success else 0.0


def fsolve(p):
    return optimize.fsolve(lambda x: [x[0] * np.cos(x[1]) - p[0], x[1] * x[0] - x[1] - p[1]], [1, 1])[0]


def fsolve_with_all_results(p):
    x, _, status, _ = optimize.fsolve(lambda x: x**2 - p, np.ones(2), full_output=True)
    return x.sum() * (1 if status == 1 else 2)


def fsolve_from_a_start(p):
    return optimize.fsolve(lambda x, a, b: x**3 - a * b, p * 0.5, args=(p, 2.0)).sum()


def fixed_point(p):
    return optimize.fixed_point(lambda x: np.cos(p[0] * x) * 0.5 + p[1], np.array([0.3, 0.2])).sum()


def minimize(p):
    found = optimize.minimize(lambda x: np.sum((x - p) ** 4 + (x - p) ** 2) + x[0] * x[1], np.zeros(2), tol=1e-11)
    return np.sum(found.x**2)


def minimize_with_a_gradient(p):
    found = optimize.minimize(lambda x: (np.sum((x - p) ** 2), 2 * (x - p)), np.zeros(2), jac=True)
    return found.fun + found.x[1] ** 2


def minimize_with_bounds(p):
    found = optimize.minimize(
        lambda x: np.sum((x - p) ** 2), np.zeros(2), bounds=optimize.Bounds([0, 0], [0.5, 9.0]), tol=1e-13
    )
    return found.x @ p


def minimize_with_bounds_that_are_read_later(p):
    bounds = optimize.Bounds([0.0, 0.0], [p[0] * 0.1, 9.0])
    found = optimize.minimize(lambda x: np.sum((x - p) ** 2), np.zeros(2), bounds=bounds, tol=1e-13)
    return found.x[0] * bounds.ub[0]


def minimize_with_a_constraint(p):
    constraint = {"type": "eq", "fun": lambda x: x[0] + x[1] - p[0]}
    found = optimize.minimize(lambda x: np.sum((x - p) ** 2), np.zeros(2), constraints=constraint, method="SLSQP")
    return found.x[0] ** 2


def minimize_scalar(p):
    found = optimize.minimize_scalar(lambda x: (x - p[0]) ** 4 + (x - p[1]) ** 2, bounds=(0, 5), method="bounded")
    return found.x * found.fun


def least_squares(p):
    found = optimize.least_squares(lambda x: np.array([x[0] - p[0], x[1] * x[0] - p[1], 0.1 * x[1]]), [1.0, 1.0])
    return np.sum(found.x) + found.cost


def curve_fit(p):
    ys = np.exp(-p[0] * XS) * p[1] + 0.01 * np.sin(9 * XS)
    (a, b), _ = optimize.curve_fit(lambda x, a, b: a * np.exp(-b * x), XS, ys)
    return a * b


def nnls(p):
    return optimize.nnls(np.array([[1.0, 2.0], [3.0, 1.0]]), p)[0] @ p


def linprog(p):
    return optimize.linprog([-1.0, -1.0], A_ub=[[1.0, 2.0], [3.0, 1.0]], b_ub=p).fun


def of_an_object_in_args(p):
    return optimize.brentq(lambda x, model: model.residual(x, p[0]), 0, 60, args=(MODEL,))


def without_warnings(p):
    with np.errstate(invalid="ignore"):
        return optimize.newton(lambda x: x * x - p[0] + 0 * np.nan_to_num(np.log(-x)), 1.0)


def in_a_loop_without_end(p):
    x = 5.0
    while x > 1.3:
        x = optimize.brentq(lambda y: (y**2 if y > 2 else y**3) - p[0] * 0.3 - x * 0.5, 0, 60)
    return x


def quad_of_a_middle_without_value(p):
    return integrate.quad(lambda x: p[0] / math.sqrt(abs(x)) + p[1], -1, 1, points=[0.0])[0]


def quad_over_all_numbers(p):
    return integrate.quad(lambda x: abs(x) ** -0.5 * math.exp(-p[0] * x * x), -np.inf, np.inf)[0]


def implicit(p):
    return wg.implicit(lambda x: x**3 - p[0], lambda: optimize.brentq(lambda x: x**3 - p[0], 0, 20))


def quad(p):
    return integrate.quad(lambda x: np.exp(-p[0] * x * x) * np.cos(p[1] * x), 0.0, np.inf)[0]


def quad_of_a_step(p):
    return integrate.quad(lambda x: 1 if x < 0.4 else 0, 0, p[0] * 0.1, points=[0.4])[0] * p[1]


def quad_to_moving_ends(p):
    return integrate.quad(lambda x: p[0] * x**2, p[1] - 1.0, p[0])[0] * p[1]


def quad_with_a_branch(p):
    return integrate.quad(lambda x, a: a * x if x < 1 else p[1] * x * x - SCALE[0] * (x - 1), 0.0, p[0], args=(p[1],))[
        0
    ]


def quad_of_a_singularity(p):
    return integrate.quad(lambda x: np.log(x) * p[0] + 1 / np.sqrt(x), 0.0, p[1])[0]


def quad_with_a_weight(p):
    return integrate.quad(lambda x: np.sum(np.sin(p * x)), -1.0, 2.0, weight="cos", wvar=2.0)[0]


def quad_in_quad(p):
    inner = lambda y: integrate.quad(lambda x: np.exp(-x * y * p[0]), 0, 1)[0]
    return integrate.quad(lambda y: inner(y) * p[1], 0, 1)[0]


def quad_in_brentq(p):
    return optimize.brentq(lambda t: integrate.quad(lambda x: np.exp(-p[0] * x), 0, t)[0] - 0.2, 0.01, 10)


COMPILED = [
    brentq, with_values_outside, of_an_object, with_a_branch, with_math, within_another, in_a_loop, before_a_write,
    with_all_results, root_scalar, newton, newton_of_an_array, newton_of_a_complex_number, root, fsolve,
    fsolve_with_all_results, fsolve_from_a_start, fixed_point, minimize, minimize_with_a_gradient, minimize_with_bounds,
    quad_of_a_step, minimize_with_bounds_that_are_read_later, without_warnings, of_an_object_in_args,
    in_a_loop_without_end, quad_of_a_middle_without_value, quad_over_all_numbers, minimize_with_a_constraint,
    minimize_scalar, least_squares, curve_fit, nnls, linprog, implicit, quad, quad_to_moving_ends, quad_with_a_branch,
    quad_of_a_singularity, quad_with_a_weight, quad_in_quad, quad_in_brentq,
]  # fmt: skip


def differences(f: Any, p: np.ndarray, step: float = 1e-4) -> np.ndarray:
    def slope(e: np.ndarray) -> Any:
        return (8 * (f(p + e) - f(p - e)) - (f(p + 2 * e) - f(p - 2 * e))) / (12 * step)

    return np.array([slope(step * e) for e in np.eye(len(p))])


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_values_and_gradients(f: Any) -> None:
    compiled, gradient = wg.compile(wg.value_and_grad(f), strict=True), wg.value_and_grad(f)
    for step, p in enumerate(POINTS):
        change(step)
        MODEL.k, MODEL.w[0] = 1.5 + step, 1.0 + step
        value, slopes = compiled(p)
        np.testing.assert_allclose(value, f(p), rtol=1e-9)
        np.testing.assert_allclose(slopes, differences(f, p), rtol=2e-4, atol=2e-4)
        np.testing.assert_allclose(slopes, gradient(p)[1], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("f", [brentq, root, minimize, curve_fit], ids=lambda f: f.__name__)
def test_values_alone(f: Any) -> None:
    compiled = wg.compile(f, strict=True)
    for p in POINTS:
        np.testing.assert_allclose(compiled(p), f(p), rtol=1e-12)


@pytest.mark.parametrize("f", [brentq, root, with_values_outside], ids=lambda f: f.__name__)
@pytest.mark.parametrize("derivative", [wg.hessian, wg.jacobian, wg.jacfwd], ids=["hessian", "jacobian", "jacfwd"])
def test_other_derivatives(f: Any, derivative: Any) -> None:
    compiled = wg.compile(derivative(f), strict=True)
    for p in POINTS:
        np.testing.assert_allclose(compiled(p), derivative(f)(p), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("derivative", [wg.jacobian, wg.jacfwd], ids=["jacobian", "jacfwd"])
def test_other_derivatives_of_integrals(derivative: Any) -> None:
    compiled = wg.compile(derivative(quad_to_moving_ends), strict=True)
    for p in POINTS:
        np.testing.assert_allclose(compiled(p), derivative(quad_to_moving_ends)(p), rtol=1e-8, atol=1e-9)


def quad_of_a_vector(p):
    weights = SHIFTS[:, None]
    return np.sin(integrate.quad(lambda x, q: np.sum(np.exp(-q * x) @ weights) * np.cos(x * p[1]), 0.0, 2.0, (p,))[0])


def quad_without_ends(p):
    return integrate.quad(lambda x: np.exp(-p[0] * x * x) * np.cos(p[1] * x) * SCALE[0], -np.inf, np.inf)[0]


def quad_of_a_constant_integrand(p):
    return integrate.quad(lambda x: x * np.exp(-x), p[0], p[1])[0]


SECOND = {
    "hessian": wg.hessian,
    "jacobian": lambda f: wg.jacobian(wg.grad(f)),
    "jacfwd": lambda f: wg.jacfwd(wg.grad(f)),
    "hvp": lambda f: lambda p: np.stack([wg.hvp(f, p, e) for e in np.eye(2)]),
    "grad": lambda f: lambda p: np.stack([wg.grad(lambda p, k=k: wg.grad(f)(p)[k])(p) for k in range(2)]),
}


@pytest.mark.parametrize("kind", SECOND)
@pytest.mark.parametrize(
    "f",
    [quad_to_moving_ends, quad_with_a_branch, quad_of_a_vector, quad_without_ends, quad_of_a_constant_integrand],
    ids=lambda f: f.__name__,
)
def test_second_derivatives_of_integrals(f: Any, kind: str) -> None:
    compiled, gradient = wg.compile(SECOND[kind](f), strict=True), wg.grad(f)
    try:
        for step, p in enumerate(POINTS[:2]):
            change(step)
            wanted = [(gradient(p + e) - gradient(p - e)) / 2e-5 for e in 1e-5 * np.eye(2)]
            np.testing.assert_allclose(compiled(p), wanted, rtol=1e-5, atol=1e-6)
    finally:
        change(0)


def test_third_derivatives_of_integrals_are_uncompiled() -> None:
    third = wg.jacobian(wg.hessian(quad_to_moving_ends))
    compiled = wg.compile(third)
    with pytest.warns(wg.NotCompiledWarning, match="third derivatives of integrals"):
        np.testing.assert_allclose(compiled(POINTS[0]), third(POINTS[0]), rtol=1e-8)


def test_an_object_in_the_arguments() -> None:
    f = wg.value_and_grad(lambda p, model: model.solve(p[0]))
    compiled = wg.compile(f, strict=True)
    for step, p in enumerate(POINTS):
        model = Model(1.0 + step)
        np.testing.assert_allclose(np.hstack(compiled(p, model)), np.hstack(f(p, model)), rtol=1e-10)


def test_errors_are_scipys() -> None:
    compiled = wg.compile(lambda p: optimize.brentq(lambda x: x - p, 0.0, 1.0))
    assert compiled(0.5) == 0.5
    with pytest.raises(ValueError, match="different signs"):
        compiled(2.0)
    assert compiled(0.25) == 0.25


def test_warnings_are_issued_once() -> None:
    f = wg.value_and_grad(lambda p: optimize.newton(lambda x: x * x - p + 0 * np.nan_to_num(np.log(-x)), 1.0))
    said = []
    for g in (f, wg.compile(f, strict=True)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            g(2.0)
        said.append([str(w.message) for w in found])
    assert said[0] == said[1] != []


def test_a_solver_that_returns_another_result_is_not_run_again() -> None:
    def f(p):
        def residual(x):
            try:
                return x**3 - p + np.nan_to_num(np.log(1.0 - x), neginf=0.0)
            except RuntimeWarning:
                return x**3 - p

        return optimize.brentq(residual, 0.0, 20.0)

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        compiled = wg.compile(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wg.NotCompiledWarning)
            np.testing.assert_allclose([compiled(p) for p in (8.0, 27.0)], [2.0, 3.0], rtol=1e-10)


def test_bounds_from_outside_stay() -> None:
    bounds = optimize.Bounds([0.0, 0.0], [0.5, 9.0])
    compiled = wg.compile(lambda p: optimize.minimize(lambda x: np.sum((x - p) ** 2), np.zeros(2), bounds=bounds).x)
    for upper in (0.5, 0.8, 1.1):
        bounds.ub = np.array([upper, 9.0])
        np.testing.assert_allclose(compiled(np.array([2.0, 3.0])), [upper, 3.0], rtol=1e-6)
        assert bounds.ub.tolist() == [upper, 9.0]


def of_an_argument(p, n):
    return optimize.brentq(lambda x, k: x**3 - k * p[0], 0, 50, args=(n,))


def of_a_variable(p, n):
    return optimize.brentq(lambda x: x**3 - n * p[0], 0, 50)


def of_a_counter(p, n):
    total = 0.0
    for i in range(n):
        total = total + optimize.brentq(lambda x, i=i: x**3 - (i + 1) * p[0], 0, 50)
    return total


def of_an_index(p, n):
    rows = np.arange(n) % 2
    return optimize.brentq(lambda x: x**3 - np.sum(p[rows]), 0, 50)


def of_an_exponent(p, n):
    return integrate.quad(lambda x, k: x**k * p[0], 0, n, args=(n,))[0]


@pytest.mark.parametrize(
    "f", [of_an_argument, of_a_variable, of_a_counter, of_an_index, of_an_exponent], ids=lambda f: f.__name__
)
def test_integers_that_change(f: Any) -> None:
    compiled = wg.compile(wg.value_and_grad(f), strict=True)
    for p, n in zip(POINTS, [2, 3, 3, 4, 2], strict=True):
        value, slopes = compiled(p, n)
        np.testing.assert_allclose(value, f(p, n), rtol=1e-9)
        np.testing.assert_allclose(slopes, differences(lambda p, f=f, n=n: f(p, n), p), rtol=2e-4, atol=2e-4)


def counted(p):
    calls = []

    def residual(x):
        calls.append(x)
        return x - p[0] ** 2

    return optimize.brentq(residual, 0, 50) * len(calls)


def printed(p):
    def residual(x):
        print("called")
        return x - p[0] ** 2

    return optimize.brentq(residual, 0, 50)


def drawn(p):
    rng = np.random.default_rng(0)
    return optimize.brentq(lambda x: x**3 - p[0] - 0 * rng.normal(), 0, 20)


def with_the_number_of_steps(p):
    found = optimize.minimize(lambda x: np.sum((x - p) ** 2), np.zeros(2))
    return found.x[0] * found.nit


def with_the_run_time(p):
    found = optimize.minimize(lambda x: np.sum((x - p) ** 2), np.zeros(2), method="trust-constr")
    return found.x[0] + 0.0 * found.execution_time


def counted_in_a_list(p):
    def residual(x, calls):
        calls.append(x)
        return x - p[0] ** 2

    return optimize.brentq(residual, 0, 50, args=(CALLS,)) * len(CALLS)


def counted_in_an_object(p):
    def residual(x, model):
        model.calls += 1
        return x - p[0] ** 2

    return optimize.brentq(residual, 0, 50, args=(COUNTING,)) * COUNTING.calls


def stopped_by_a_callback(p):
    def stop(x):
        raise StopIteration

    return optimize.minimize(lambda x: np.sum((x - p) ** 4), np.zeros(2), callback=stop).x @ p


def of_a_callable_with_attributes(p):
    return optimize.brentq(lambda x, model: x - model.k * p[0], 0, 50, args=(CALLABLE,))


def printed_by_the_solver(p):
    return optimize.minimize(lambda x: np.sum((x - p) ** 2), np.zeros(2), options={"disp": True}).x @ p


class CallableModel(Model):
    def __call__(self, x: Any) -> Any:
        return self.k * x


CALLS, COUNTING, CALLABLE = list[float](), Model(1.0), CallableModel(1.5)


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (counted, "changes something outside"), (printed, "print"), (drawn, "random"),
        (with_the_number_of_steps, "reads nit"), (with_the_run_time, "reads execution_time"),
        (where_it_fails, "raises ValueError"),
        (counted_in_a_list, "changes something outside"), (counted_in_an_object, "changes something outside"),
        (stopped_by_a_callback, "raises StopIteration"), (of_a_callable_with_attributes, "raises AttributeError"),
        (printed_by_the_solver, "it prints"),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)  # fmt: skip
def test_what_is_not_compiled(f: Any, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    compiled, gradient = wg.compile(wg.value_and_grad(f)), wg.value_and_grad(f)
    for step, p in enumerate(POINTS):
        CALLS.clear()
        COUNTING.calls = 0
        with warnings.catch_warnings(action="ignore", category=wg.NotConvergedWarning):
            wanted = gradient(p)
        CALLS.clear()
        COUNTING.calls = 0
        output = capsys.readouterr().out
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = compiled(p)
        assert capsys.readouterr().out == output
        np.testing.assert_allclose(np.hstack(found), np.hstack(wanted), rtol=1e-12)
        reasons = [str(w.message) for w in said if w.category is wg.NotCompiledWarning]
        assert [reason in text for text in reasons] == [True] * (step == 0)


def test_trust_constr_returns_its_run_time():
    def largest(p):
        most = {"type": "ineq", "fun": lambda x: 1.5 - x[0] - x[1]}
        found = optimize.minimize(
            lambda x: np.sum((x - p) ** 2) + x[0] ** 4, np.zeros(2), method="trust-constr", constraints=[most]
        )
        return found.x @ SHIFTS + found.fun

    compiled, gradient = wg.compile(wg.value_and_grad(largest), strict=True), wg.value_and_grad(largest)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        for p in POINTS[:2]:
            (value, p_bar), (wanted, p_wanted) = compiled(p), gradient(p)
            np.testing.assert_allclose(value, wanted, rtol=1e-12)
            np.testing.assert_allclose(p_bar, p_wanted, rtol=1e-9)
        differences = [(largest(p + e) - largest(p - e)) / 2e-3 for e in 1e-3 * np.eye(2)]
        np.testing.assert_allclose(p_bar, differences, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_integrals_within_integrals_with_moving_ends_need_no_derivative():
    def triangle(p):
        return integrate.dblquad(lambda y, x: p[0] * x * y + p[1], 0.0, 1.0, 0.0, lambda x: x * p[1])[0]

    compiled = wg.compile(triangle)
    for p in (np.array([0.7, 0.9]), np.array([1.7, 0.4])):
        assert compiled(p) == triangle(p) == pytest.approx(p[0] * p[1] ** 2 / 8.0 + p[1] ** 2 / 2.0)


def test_a_root_of_a_solution_that_runs_uncompiled():
    """The end y(1) = y₀ exp(-k) of y' = -k y is 1 for y₀ = exp(k)."""

    def start(k):
        def miss(y0):
            found = integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [y0], rtol=1e-10, atol=1e-10)
            return np.ravel(found.y)[-1] - 1.0

        return optimize.brentq(miss, 0.1, 9.0, xtol=1e-12)

    with pytest.warns(wg.NotCompiledWarning):
        assert wg.compile(wg.grad(start))(0.7) == pytest.approx(np.exp(0.7), rel=1e-7)
