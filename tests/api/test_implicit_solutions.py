"""`wg.implicit`: a solver of the user's, differentiated by the equation that it solves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad

import wengert as wg


def kepler(anomaly, mean, eccentricity):
    return anomaly - eccentricity * np.sin(anomaly) - mean


@wg.implicit(kepler)
def solve(mean, eccentricity):
    anomaly = mean
    for _ in range(200):
        anomaly = mean + eccentricity * np.sin(anomaly)
    return anomaly


def steps(mean, eccentricity):
    return solve.__wrapped__(mean, eccentricity)


def test_a_decorated_solver_has_the_derivatives_of_its_steps() -> None:
    assert solve(1.0, 0.5) == steps(1.0, 0.5)
    np.testing.assert_allclose(wg.grad(solve, argnums=(0, 1))(1.0, 0.5), wg.grad(steps, argnums=(0, 1))(1.0, 0.5))
    wg.check_grads(solve, 1.0, 0.5, order=2, modes=("rev", "fwd"))


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_any_order(depth: int) -> None:
    found, expected = (lambda m: solve(m, 0.5)), (lambda m: steps(m, 0.5))
    for _ in range(depth):
        found, expected = wg.grad(found), wg.grad(expected)
    np.testing.assert_allclose(found(1.0), expected(1.0), rtol=1e-9)


def test_forward_over_reverse_and_reverse_over_forward() -> None:
    one = wg.jvp(wg.grad(lambda m: solve(m, 0.5)), (1.0,), (1.0,))[1]
    other = wg.grad(lambda m: wg.jvp(lambda m: solve(m, 0.5), (m,), (1.0,))[1])(1.0)
    np.testing.assert_allclose([one, other], wg.grad(wg.grad(lambda m: steps(m, 0.5)))(1.0), rtol=1e-9)


def test_the_solver_may_be_anything() -> None:
    matrix = np.array([[2.0, 1.0], [0.0, 3.0]])

    def f(p):
        def opaque(p):
            return np.frombuffer(np.cbrt(np.linalg.solve(matrix, p)).tobytes())

        return np.sum(wg.implicit(lambda x, p: matrix @ x**3 - p, opaque, p) ** 2)

    wg.check_grads(f, np.array([1.0, 2.0]), order=2, modes=("rev", "fwd"))


def test_what_the_residual_holds() -> None:
    def f(a):
        return wg.implicit(lambda x: x * x - a, np.sqrt(wg.stop_gradient(a)))

    np.testing.assert_allclose(wg.grad(f)(2.0), 0.5 / np.sqrt(2), rtol=1e-12)


def test_a_solution_in_containers() -> None:
    def residual(s, p):
        return {"a": s["a"] ** 2 - p, "b": [s["b"][0] - s["a"] * p]}

    def f(p):
        s = wg.implicit(residual, lambda p: {"a": p**0.5, "b": [p**1.5]}, p)
        return s["a"] + s["b"][0]

    np.testing.assert_allclose(wg.grad(f)(2.0), 0.5 * 2**-0.5 + 1.5 * 2**0.5, rtol=1e-12)
    np.testing.assert_allclose(wg.grad(wg.grad(f))(2.0), -0.25 * 2**-1.5 + 0.75 * 2**-0.5, rtol=1e-12)


def test_a_jacobian_of_the_users() -> None:
    asked = []

    def slope(x, a):
        asked.append(x)
        return np.diag(2 * x)

    def f(a):
        return wg.implicit(lambda x, a: x * x - a, np.sqrt, a, jacobian=slope)

    np.testing.assert_allclose(wg.jacobian(f)(np.array([2.0, 3.0])), np.diag(0.5 / np.sqrt([2.0, 3.0])), rtol=1e-12)
    assert len(asked) == 1


def test_a_complex_solution() -> None:
    def f(a):
        z = wg.implicit(lambda z: z * z + np.array([a]), np.array([1j * np.sqrt(2.0)]))
        return np.imag(z[0])

    np.testing.assert_allclose(wg.grad(f)(2.0), 0.5 / np.sqrt(2), rtol=1e-12)


def test_outside_of_a_derivative_it_is_the_solution() -> None:
    x = np.array([1.0])
    assert wg.implicit(lambda x: x - 2.0, x) is not x
    assert wg.implicit(lambda x, a: x - a, lambda a: a, 3.0) == 3.0


def test_what_is_no_solution_is_told() -> None:
    with pytest.warns(wg.NotConvergedWarning, match=r"test_implicit_solutions.py"):
        wg.grad(lambda a: wg.implicit(lambda x: x * x - a, 1.0))(2.0)


def test_a_singular_jacobian_is_refused() -> None:
    with pytest.raises(wg.NoDerivativeError, match="singular"):
        wg.grad(lambda a: wg.implicit(lambda x: (x - a) ** 2, a))(2.0)


@pytest.mark.parametrize("size", [1e-15, 1.0, 1e15])
def test_a_tape_is_stale_for_another_solution_of_whatever_size(size: float) -> None:
    def one(a):
        return wg.implicit(lambda x, a: x - size * a, lambda a: size * a, a)

    def beside_a_large_one(a):
        solve = lambda a: np.array([1e6 * size, 1e-6 * size * a])
        return wg.implicit(lambda x, a: x - solve(a), solve, a)[1]

    def integrated(a):
        return quad(lambda t: size * a * t, 0, 1)[0]

    for f in (one, beside_a_large_one, integrated):
        tape = wg.trace(f, 2.0)[1]
        np.testing.assert_allclose(tape.play(2.0), f(2.0))
        with pytest.raises(wg.StaleTapeError):
            tape.play(3.0)
        with pytest.warns(wg.NoBatchingRuleWarning):
            np.testing.assert_allclose(wg.vmap(f)(np.array([2.0, 3.0])), [f(2.0), f(3.0)])


def diffusion(u, source):
    """A nonlinear boundary value problem on a grid: its Jacobian has three diagonals."""
    inner = np.concatenate([np.zeros(1), u, np.zeros(1)])
    return inner[2:] - 2 * u + inner[:-2] - u**3 + source


def steady(source):
    u = np.zeros(len(source))
    for _ in range(30):
        u = u - sparse.linalg.spsolve(wg.sparse_jacobian(diffusion)(u, source).tocsc(), diffusion(u, source))
    return u


@pytest.mark.parametrize(
    "jacobian",
    [
        wg.sparse_jacobian(diffusion),
        wg.jacobian(diffusion),
        lambda u, source: wg.sparse_jacobian(diffusion)(u, source).tocoo(),
    ],
)
def test_a_sparse_jacobian_of_the_residual(jacobian):
    source, weights = np.linspace(0.5, 1.5, 8), np.arange(8.0)

    def f(source):
        return weights @ np.sin(wg.implicit(diffusion, steady, source, jacobian=jacobian))

    np.testing.assert_allclose(
        wg.grad(f)(source), wg.ngradient(lambda s: weights @ np.sin(steady(s)), source)[0], rtol=1e-6
    )
    curvature = wg.hvp(f, source, weights)
    expected = wg.ngradient(lambda e: wg.grad(f)(source + e * weights) @ weights, 0.0)[0]
    np.testing.assert_allclose(curvature @ weights, expected, rtol=1e-6)


def test_sparse_jacobians_of_numbers_of_another_shape_and_singular_ones():
    def f(t, jacobian):
        return np.sum(wg.implicit(lambda x, t: x**3 - t, np.cbrt, t, jacobian=jacobian))

    t = np.array([1.0, 8.0])
    with pytest.raises(
        wg.ArgumentError, match=r"jacobian= returns an array of shape \(2, 3\) for 2 unknowns.*\(2, 2\)"
    ):
        wg.grad(f)(t, lambda x, t: sparse.csr_array(np.ones((2, 3))))
    for singular in (np.ones((2, 2)), np.diag([1.0, 0.0]), np.array([[1.0, 1.0], [1.0, 1.0 + 1e-15]])):
        with pytest.raises(wg.NoDerivativeError, match="singular"):
            wg.grad(f)(t, lambda x, t, singular=singular: sparse.csr_array(singular))
    scales = np.array([1e-12, 1e12])

    def scaled(t, jacobian=None):
        return np.sum(wg.implicit(lambda x, t: scales * (x**3 - t), np.cbrt, t, jacobian=jacobian))

    by_sparse = wg.grad(scaled)(t, lambda x, t: sparse.diags_array(scales * 3 * x**2))
    np.testing.assert_allclose(by_sparse, 1 / (3 * np.cbrt(t) ** 2), rtol=1e-12)


def overwriting_its_argument(p):
    def solve(a):
        a *= 0.5
        return np.sqrt(a)

    return np.sum(wg.implicit(lambda x, a: x * x - a, solve, p * 1.0))


def overwriting_a_variable(p):
    a = p * 1.0

    def solve():
        a[:] = 0.5 * a
        return np.sqrt(a)

    return np.sum(wg.implicit(lambda x: x * x - a, solve))


@pytest.mark.parametrize("compiled", [False, True], ids=["uncompiled", "compiled"])
@pytest.mark.parametrize("f", [overwriting_its_argument, overwriting_a_variable], ids=lambda f: f.__name__)
def test_a_solver_that_writes_what_the_residual_reads_is_refused(f, compiled: bool) -> None:
    gradient = wg.compile(wg.grad(f)) if compiled else wg.grad(f)
    with pytest.raises(wg.RefusedCallError, match="writes into an array that the residual reads"):
        gradient(np.array([2.0, 3.0]))
