"""Roots that SciPy finds, differentiated by the equation: through closures, args and objects, nested, refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from solver_cases import Case, check, table

import wengert as wg

CASES, case = table()


class Cubic:
    """A residual that reads its parameter from its object."""

    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return x**3 + x - self.a


@case(2.0, closed=0.25)
def brentq_by_closure(a):
    return optimize.brentq(lambda x: x**3 + x - a, 0.0, 10.0)


@case(2.0, closed=0.25)
def brenth_by_args(a):
    return optimize.brenth(lambda x, b: x**3 + x - b, 0.0, 10.0, args=(a,))


@case(2.0, closed=0.25)
def ridder_by_the_only_arg(a):
    return optimize.ridder(lambda x, b: x**3 + x - b, 0.0, 10.0, args=a)


@case(2.0, closed=0.25)
def bisect_by_object(a):
    return optimize.bisect(Cubic(a), 0.0, 10.0)


@case(2.0, closed=0.25)
def toms748_with_all_that_it_gives(a):
    x, found = optimize.toms748(Cubic(a), 0.0, 10.0, full_output=True)
    return (x + found.root) / 2


@case(2.0, 0.5)
def a_root_in_the_residual_of_another(a, b):
    r = optimize.brentq(lambda x: x**3 + b * x - a, 0.0, 10.0)
    return optimize.brentq(lambda y: optimize.brentq(lambda z: z**3 + y * z - r, 0.0, 10.0) + y - a, 0.0, 10.0)


@case(2.0)
def the_bracket_depends_too(a):
    return optimize.brentq(lambda x: np.cos(x) - x / a, 0.0, a)


@case(2.0, closed=0.5 / np.sqrt(2))
def newton(a):
    return optimize.newton(lambda x: x * x - a, 1.0)


@case(2.0, closed=0.5 / np.sqrt(2))
def newton_with_the_slope(a):
    return optimize.newton(lambda x, b: x * x - b, 1.0, lambda x, b: 2 * x, (a,), full_output=True)[1].root


@case(np.array([2.0, 3.0, 4.0]))
def newton_of_an_array(a):
    return optimize.newton(lambda x: x * x - a, np.ones(3))


@case(1.5)
def newton_in_the_complex_plane(a):
    return np.imag(optimize.newton(lambda z: z * z + a, 0.5 + 1j, tol=1e-12))


@pytest.mark.parametrize("method", ["bisect", "brentq", "brenth", "ridder", "toms748", "newton", "secant", "halley"])
def test_root_scalar(method: str) -> None:
    where = {"x0": 1.0, "x1": 1.5} if method in ("newton", "secant", "halley") else {"bracket": (0.0, 3.0)}
    slopes = {"fprime": lambda x, a: 2 * x, "fprime2": lambda x, a: 2.0} if method in ("newton", "halley") else {}

    def f(a):
        return optimize.root_scalar(lambda x, a: x * x - a, args=(a,), method=method, **where, **slopes).root

    check(Case(f, (2.0,), 0.5 / np.sqrt(2), 2, 1e-5))


@case(2.0, closed=0.5 / np.sqrt(2))
def root_scalar_of_a_value_and_a_slope(a):
    return optimize.root_scalar(lambda x: (x * x - a, 2 * x), x0=1.0, fprime=True, method="newton").root


def plane(x, p):
    return [x[0] * np.cos(x[1]) - p[0], x[1] * x[0] - x[1] - p[1]]


def plane_slopes(x, p):
    return np.array([[np.cos(x[1]), -x[0] * np.sin(x[1])], [x[1], x[0] - 1.0]])


@case(np.array([4.0, 5.0]))
def fsolve(p):
    return optimize.fsolve(lambda x: plane(x, p), [6.0, 1.0], xtol=1e-12)


@case(np.array([4.0, 5.0]))
def fsolve_with_columns(p):
    x, _, flag, _ = optimize.fsolve(
        plane, [6.0, 1.0], (p,), lambda x, p: plane_slopes(x, p).T, col_deriv=True, full_output=True
    )
    return x * flag


@pytest.mark.parametrize(
    "method",
    ["hybr", "lm", "broyden1", "broyden2", "anderson", "diagbroyden", "krylov", "df-sane"],
)
def test_root(method: str) -> None:
    def f(p):
        return optimize.root(lambda x: x + 0.1 * x[::-1] ** 2 - p, np.zeros(2), method=method, tol=1e-10).x

    check(Case(f, (np.array([0.4, 0.5]),), None, 2, 1e-5))


@case(np.array([4.0, 5.0]))
def root_with_the_jacobian(p):
    return optimize.root(plane, [6.0, 1.0], args=(p,), jac=plane_slopes).x


@case(np.array([4.0, 5.0]))
def root_with_both_in_one(p):
    return optimize.root(lambda x: (plane(x, p), plane_slopes(x, p)), [6.0, 1.0], jac=True).x


@pytest.mark.parametrize("name", ["broyden1", "broyden2", "anderson", "diagbroyden", "newton_krylov"])
def test_solvers_of_large_systems(name: str) -> None:
    def f(p):
        return getattr(optimize, name)(lambda x: x + 0.1 * x[::-1] ** 2 - p, np.zeros((2, 1)), f_tol=1e-10)

    check(Case(f, (np.array([[0.4], [0.5]]),), None, 2, 1e-5))


@case(1.2)
def fixed_point(a):
    return optimize.fixed_point(lambda x: np.cos(a * x), 0.5)


@case(np.array([1.2, 0.7]))
def fixed_points_that_depend_on_each_other(a):
    return optimize.fixed_point(lambda x: np.cos(a * x[::-1]), np.array([0.5, 0.5]), method="iteration", xtol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives(case: Case) -> None:
    check(case)


def test_third_order() -> None:
    third = wg.grad(wg.grad(wg.grad(brentq_by_closure)))
    np.testing.assert_allclose(third(2.0), wg.ngradient(wg.grad(wg.grad(brentq_by_closure)), 2.0)[0], rtol=1e-7)


def test_a_batch() -> None:
    a = np.array([1.0, 2.0, 5.0])
    with pytest.warns(wg.NoBatchingRuleWarning):
        found = wg.vmap(brentq_by_closure)(a)
    np.testing.assert_array_equal(found, [brentq_by_closure(float(x)) for x in a])
    with pytest.warns(wg.NoBatchingRuleWarning):
        slopes = wg.vmap(wg.grad(brentq_by_closure))(a)
    np.testing.assert_allclose(slopes, 1 / (3 * found**2 + 1), rtol=1e-9)


def test_a_tape_knows_when_the_root_is_another() -> None:
    _, tape = wg.trace(brentq_by_closure, 2.0)
    assert tape.play(2.0) == brentq_by_closure(2.0)
    np.testing.assert_allclose(wg.grad(wg.grad(tape.play))(2.0), -6 / 4**3, rtol=1e-9)
    with pytest.raises(wg.StaleTapeError, match="brentq_by_closure"):
        tape.play(2.1)


def test_under_a_checkpoint() -> None:
    assert wg.grad(wg.checkpoint(brentq_by_closure))(2.0) == wg.grad(brentq_by_closure)(2.0)
    twice = wg.grad(wg.grad(lambda a: wg.checkpoint(brentq_by_closure)(a)))
    np.testing.assert_allclose(twice(2.0), -6 / 4**3, rtol=1e-9)


def test_nothing_traced_is_run_as_it_is() -> None:
    calls = []

    def residual(x):
        calls.append(x)
        return x * x - 2.0

    assert wg.grad(lambda a: a * optimize.brentq(residual, 0.0, 2.0))(1.0) == optimize.brentq(residual, 0.0, 2.0)
    assert len(calls) % 2 == 0


OUTSIDE = [0.0]


def of_a_global_name(x):
    return x**3 + x - OUTSIDE[0]


def test_what_is_read_by_a_global_name() -> None:
    def f(a):
        OUTSIDE[0] = a
        return optimize.brentq(of_a_global_name, 0.0, 10.0)

    assert wg.grad(f)(2.0) == 0.25
    OUTSIDE[0] = 0.0


def test_what_the_closure_itself_holds() -> None:
    a = np.array([2.0])
    _, (held, _) = wg.grad(lambda x: x * optimize.brentq(lambda y: y**3 + y - a[0], 0.0, 10.0), 3.0)
    np.testing.assert_allclose(held["a"], [0.75], rtol=1e-12)


def test_a_singular_jacobian_is_refused() -> None:
    with pytest.raises(wg.NoDerivativeError, match=r"test_roots.py.*singular"):
        wg.grad(lambda a: optimize.fsolve(lambda x: (x - a) ** 3 * (x > 0), 1.0)[0])(1.0)
    with pytest.raises(wg.NoDerivativeError, match=r"test_roots.py.*singular"):
        wg.jacobian(lambda a: optimize.fsolve(lambda x: [x[0] + x[1] - a, 2 * (x[0] + x[1] - a)], [0.0, 1.0]))(1.0)


STEPS = {
    "if": lambda a: lambda x: 1.0 if x > a else -1.0,
    "comparison": lambda a: lambda x: (x > a) - 0.5,
    "where": lambda a: lambda x: np.where(x > a, 1.0, -1.0),
}


@pytest.mark.parametrize("of", STEPS.values(), ids=STEPS)
def test_a_root_of_a_step_is_refused(of: Any) -> None:
    """It moves with a, which the step reads in a condition alone; roots that do not move have the derivative 0."""
    root = lambda a: optimize.brentq(of(a), 0.0, 3.0)
    with warnings.catch_warnings(action="ignore"):
        for gradient in (wg.grad(root), wg.compile(wg.grad(root))):
            with pytest.raises(wg.NoDerivativeError, match=r"test_roots.py.*singular"):
                gradient(0.7)
        assert wg.grad(lambda a: a * optimize.brentq(of(0.7), 0.0, 3.0))(2.0) == root(0.7)
        assert wg.grad(lambda a: optimize.brentq(lambda x: x - 1.0 if a > 0 else x, 0.0, 3.0))(0.7) == 0.0


def test_a_residual_of_another_size_is_refused() -> None:
    with pytest.raises(wg.ArgumentError, match="returns 3 numbers for 2 unknowns"):
        wg.jacobian(
            lambda a: optimize.root(lambda x: [x[0] - a, x[1] - a, x[0] + x[1] - 3 * a], [0.0, 1.0], method="lm").x
        )(1.0)


def test_no_root_is_told() -> None:
    with pytest.warns(wg.NotConvergedWarning, match=r"test_roots.py.*Give the solver more iterations"):
        wg.grad(lambda a: optimize.newton(lambda x: x * x - a, 1.0, maxiter=2, disp=False))(2000.0)
    with pytest.raises(RuntimeError, match="Failed to converge"):
        wg.grad(lambda a: optimize.newton(lambda x: x * x - a, 1.0, maxiter=2))(2000.0)


def overwrites_what_a_pullback_reads(a):
    buffer = np.array([a, 2 * a])
    total = np.sum(np.sin(buffer))

    def residual(x):
        buffer[0] = x
        return x**3 + buffer[0] - a

    return total + optimize.brentq(residual, 0.0, 10.0)


def reads_what_the_residual_wrote(a):
    buffer = np.array([a, 2 * a])
    total = np.sum(buffer * buffer)

    def residual(x):
        buffer[:] = x
        return x**3 + buffer[0] - a

    return (total + optimize.brentq(residual, 0.0, 10.0)) * buffer[1]


def reads_what_the_residual_kept(a):
    kept = {}

    def residual(x):
        kept["last"] = x * a
        return x**3 + x - a

    return optimize.brentq(residual, 0.0, 10.0) * kept["last"]


@pytest.mark.parametrize(
    "f", [overwrites_what_a_pullback_reads, reads_what_the_residual_wrote, reads_what_the_residual_kept]
)
def test_a_residual_that_writes(f) -> None:
    np.testing.assert_allclose(wg.grad(f)(2.0), wg.ngradient(f, 2.0)[0], rtol=1e-7)
