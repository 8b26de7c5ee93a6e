"""Interpolation of SciPy: what its texts in Python compute beside C, edges, constants and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import interpolate
from scipy.interpolate import _ppoly
from scipy.sparse import csr_array
from scipy.sparse.linalg import gcrotmk

import wengert as wg
from wengert_rules.scipy.interpolate import products

X = np.array([0.0, 0.8, 1.5, 2.7, 3.6, 4.4, 5.0])
Y = np.sin(X) + 0.3 * X
BEYOND = np.array([-0.5, 0.3, 2.7, 5.0, 5.5])


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
@pytest.mark.filterwarnings("ignore::wengert.NoPathWarning")
@pytest.mark.parametrize("nu", [0, 1, 3, 4])
def test_polynomials_are_those_of_c_to_the_bit(extrapolate: Any, nu: int) -> None:
    """Also at the breakpoints, beyond them and at nan."""
    spline = interpolate.CubicSpline(X, Y)
    at = np.append(BEYOND, np.nan)
    value, _ = wg.vjp(lambda q: spline(q, nu, extrapolate=extrapolate), at)
    np.testing.assert_array_equal(value, spline(at, nu, extrapolate=extrapolate))


def test_falling_breakpoints() -> None:
    c, x = np.random.default_rng(0).normal(size=(3, 4)), np.array([4.0, 2.5, 2.0, 0.5, 0.0])
    of = interpolate.PPoly(c, x)
    at = np.array([3.3, 2.5, 2.2, 0.0, 1.0])
    value, pullback = wg.vjp(of, at)
    np.testing.assert_array_equal(value, of(at))
    np.testing.assert_allclose(pullback(np.ones(5))[0], of(at, 1), rtol=1e-12)
    assert wg.grad(lambda a: of.integrate(a, 1.0))(3.3) == pytest.approx(-of(3.3))


@pytest.mark.parametrize("of", [interpolate.CubicSpline(X, Y, extrapolate=False), interpolate.make_interp_spline(X, Y)])
def test_where_there_is_no_value_there_is_no_slope(of: Any) -> None:
    of.extrapolate = False
    at = np.append(BEYOND, np.nan)
    gradient = wg.grad(lambda q: np.nansum(of(q)))(at)
    assert np.array_equal(gradient == 0, np.isnan(of(at)))


def test_slope_at_a_knot_is_that_to_its_right() -> None:
    lines = interpolate.PPoly(np.array([[1.0, -2.0], [0.0, 1.0]]), np.array([0.0, 1.0, 2.0]))
    assert wg.grad(lambda q: lines(q)[()])(1.0) == -2.0
    assert wg.grad(lambda q: lines(q)[()])(2.0) == -2.0


def test_array_written_by_c_is_traced_through_a_view() -> None:
    def f(c: Any) -> Any:
        whole = np.zeros((2, 3, 1))
        whole[...] = c
        _ppoly.fix_continuity(whole.reshape(2, 3, 1), np.arange(4.0), 0)
        return np.sum(whole[1] ** 2)

    c = np.random.default_rng(1).normal(size=(2, 3, 1))
    np.testing.assert_allclose(wg.grad(f)(c), wg.ngradient(f, c)[0], rtol=1e-6, atol=1e-8)


def test_sparse_systems() -> None:
    """Of a constant matrix: solved exactly, and by an iteration, whose derivative is that of the exact solution."""
    a = csr_array(np.diag([2.0, 3.0, 1.5]) + 0.3 * np.eye(3, k=1))
    b = np.array([1.0, -0.5, 2.0])
    inverse = np.linalg.inv(a.toarray())
    ways = {"a": a.tocsc()}, {"a": a, "solver": gcrotmk, "words": {"rtol": 1e-14, "atol": 1e-14}}
    for f, words in zip((products.solved, products.iterated), ways, strict=True):
        square = lambda b, f=f, words=words: np.sum(f(b, **words) ** 2)
        np.testing.assert_allclose(wg.grad(square)(b), 2 * inverse.T @ inverse @ b, rtol=1e-10)
        np.testing.assert_allclose(wg.hessian(square)(b), 2 * inverse.T @ inverse, rtol=1e-10)
        np.testing.assert_allclose(wg.jvp(square, (b,), (b,))[1], 2 * np.sum((inverse @ b) ** 2), rtol=1e-10)


def test_second_derivative_of_radial_functions_at_their_centres() -> None:
    """They are smooth there, though the distance is not."""
    points, values = np.random.default_rng(2).normal(size=(6, 2)), np.random.default_rng(3).normal(size=6)
    of = interpolate.RBFInterpolator(points, values, kernel="gaussian", epsilon=1.0)
    f = lambda q: of(q[None])[0]
    numeric = np.array([wg.ngradient(lambda q, k=k: wg.grad(f)(q)[k], points[0])[0] for k in range(2)])
    np.testing.assert_allclose(wg.hessian(f)(points[0]), numeric, rtol=1e-5, atol=1e-7)


REFUSED = {
    "a smoothing spline": lambda y: interpolate.splev(1.0, interpolate.splrep(X, y, s=0.01)),
    "of the class": lambda y: interpolate.UnivariateSpline(X, y, s=0.01)(1.0),
    "parametric": lambda y: interpolate.splev(0.3, interpolate.splprep([X, y], s=0)[0])[0],
    "roots": lambda y: interpolate.CubicSpline(X, y - 0.5).roots()[0],
    "roots of FITPACK": lambda y: interpolate.sproot(interpolate.splrep(X, y - 0.5))[0],
    "points of a curved surface": lambda y: interpolate.CloughTocher2DInterpolator(np.stack([y, X**2], 1), X, tol=1e-9)(
        1.0, 2.0
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_here_is_refused(name: str) -> None:
    with pytest.raises((wg.NoRuleError, wg.NoDerivativeError)):
        wg.grad(lambda y: np.sum(REFUSED[name](y)))(Y)


def test_other_errors_are_those_of_scipy() -> None:
    for f, error in (
        (lambda y: interpolate.splev(9.0, interpolate.splrep(X, y), ext=2), "Found x value not in the domain"),
        (lambda y: interpolate.make_interp_spline(X, y)(1.0, -1), "Cannot do derivative order"),
        (lambda y: interpolate.CubicSpline(X, y)(1.0, -1), "cannot be negative"),
        (lambda y: interpolate.LinearNDInterpolator(np.stack([X, X**2], 1), y)(1.0, 2.0, 3.0), "number of dimensions"),
    ):
        with pytest.raises((ValueError, NotImplementedError), match=error):
            wg.grad(lambda y, f=f: np.sum(f(y)))(Y)


def test_level_intervals_of_pchip() -> None:
    """A slope of 0 is divided by where SciPy leaves the quotient out, and had made the gradient nan."""
    x, at = np.array([0.0, 1.0, 1.5, 3.0, 4.0, 6.0]), np.linspace(-0.2, 6.2, 9)
    for pattern in ([0.0, 1.0, 1.0, 2.0, 4.0, 3.0], [1.0, 1.0, 3.0, 4.0, 4.0, 4.0], [2.0, 1.0, 3.0, 4.0, 5.0, 7.0]):
        for shape in ((6,), (6, 1)):
            y = np.reshape(pattern, shape)
            f = lambda a, y=y: np.sum(interpolate.PchipInterpolator(x, np.sin(a) * y)(at) ** 2)
            value, slope = wg.value_and_grad(f)(0.7)
            assert value == f(0.7)
            assert slope == pytest.approx(wg.ngradient(f, 0.7)[0], rel=1e-7)
    assert wg.grad(lambda a: interpolate.pchip_interpolate([0, 2], [a, 3 * a], 1.5))(1.0) == pytest.approx(2.5)
