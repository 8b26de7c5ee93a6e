"""Products with the Hessian, and derivatives of functions of one number: by the Hessian itself and by closed forms."""

from __future__ import annotations

import functools
import inspect
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_hess_prod

import wengert as wg

X = np.array([0.5, -1.2, 2.0])
V = np.array([1.0, 10.0, -3.0])
products = pytest.mark.parametrize("product", [wg.hvp, wg.vhp], ids=["hvp", "vhp"])


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@products
def test_the_product_is_that_of_scipy(product: Callable[..., Any]) -> None:
    np.testing.assert_allclose(product(rosenbrock, X, V), rosen_hess_prod(X, V), rtol=1e-13)


@products
def test_it_is_the_hessp_of_scipy(product: Callable[..., Any]) -> None:
    hessp = functools.partial(product, rosenbrock)
    found = minimize(rosen, np.zeros(3), method="Newton-CG", jac=wg.grad(rosenbrock), hessp=hessp)
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)


@products
def test_the_product_function_is_the_hessp_of_scipy(product: Callable[..., Any]) -> None:
    def f(x: Any, scale: float, power: int = 2) -> Any:
        return scale * rosenbrock(x) ** (power - 1)

    hessp = product(f)
    expected = 3.0 * rosen_hess_prod(X, V)
    np.testing.assert_allclose(hessp(X, V, 3.0), expected, rtol=1e-13)
    np.testing.assert_allclose(hessp(X, V, scale=3.0, power=2), expected, rtol=1e-13)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(product(rosen)))(X, V), expected / 3.0, rtol=1e-13)
    found = minimize(f, np.zeros(3), args=(2.0,), method="trust-ncg", jac=wg.grad(f), hessp=hessp)
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)


@products
def test_the_product_function_takes_primals_as_the_product_does(product: Callable[..., Any]) -> None:
    assert product(lambda x, y: x * x * y)((3.0, 5.0), (1.0, 0.0)) == (10.0, 6.0)
    assert product(lambda x, y: x * x * y)((3.0,), (1.0,), 5.0) == (10.0,)
    assert product(lambda x: (x**3, "aux"), has_aux=True)(2.0, 10.0) == (120.0, "aux")
    assert wg.grad(product(lambda x: x**4))(2.0, 1.0) == 48.0
    assert list(inspect.signature(product(rosen)).parameters) == ["primals", "vectors", "args", "kwargs"]
    with pytest.raises(wg.ArgumentError, match="the directions must be a tuple of 2"):
        product(lambda x, y: x * x * y)((3.0, 5.0), 1.0)


@products
def test_in_place_code_and_branches(product: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        for i in range(1, 3):
            if y[i] > y[i - 1]:
                y[i] *= np.sin(y[i - 1])
        y *= x
        return np.sum(y**2)

    np.testing.assert_allclose(product(f, X, V), wg.hessian(f)(X) @ V, rtol=1e-12)


@products
def test_several_arguments_and_containers(product: Callable[..., Any]) -> None:
    def f(p: Any, y: Any) -> Any:
        return np.sum(p["w"] ** 3) * p["b"] * y + y**2

    p, v = {"w": X, "b": 2.0, "name": "f"}, {"w": V, "b": 0.5, "name": None}
    of_p, of_y = product(f, (p, 3.0), (v, 0.25))
    vector, unravel = wg.ravel((p, 3.0))
    expected = wg.hessian(lambda x: f(*unravel(x)))(vector) @ wg.ravel((v, 0.25))[0]
    np.testing.assert_allclose(wg.ravel((of_p, of_y))[0], expected, rtol=1e-12)
    assert of_p["name"] is None and type(of_p["b"]) is float


@products
def test_a_tuple_as_the_only_argument(product: Callable[..., Any]) -> None:
    (found,) = product(lambda p: p[0] * p[1] ** 2, ((2.0, 3.0),), ((1.0, 0.0),))
    assert found == (0.0, 6.0)
    assert product(lambda p: p[0] * p[1] ** 2, [2.0, 3.0], [1.0, 0.0]) == [0.0, 6.0]


@products
def test_has_aux(product: Callable[..., Any]) -> None:
    found, aux = product(lambda x: (np.sum(x**3), {"seen": x}), X, V, has_aux=True)
    np.testing.assert_allclose(found, 6 * X * V)
    assert aux["seen"] is X


@products
def test_complex_numbers(product: Callable[..., Any]) -> None:
    z, v = np.array([0.3 + 1j, -0.5 + 0.2j]), np.array([1 + 1j, 0.5j])
    found = product(lambda z: np.sum(np.exp(2 * z)), z, v, holomorphic=True)
    np.testing.assert_allclose(found, 4 * np.exp(2 * z) * v)

    def f(z: Any) -> Any:
        return np.sum(np.abs(z) ** 4)

    t = 1e-6
    change = (wg.grad(f)(z + t * v) - wg.grad(f)(z - t * v)) / (2 * t)
    np.testing.assert_allclose(product(f, z, v), change, rtol=1e-8)


@products
def test_of_linear_and_constant_functions(product: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(product(np.sum, X, V), np.zeros(3))
    with pytest.warns(wg.NoPathWarning):
        np.testing.assert_array_equal(product(lambda x: 3.0, X, V), np.zeros(3))


@products
def test_inside_a_gradient(product: Callable[..., Any]) -> None:
    """∂/∂x of Σ v·H(x)v = Σ 6 x v², and of a direction that is watched too."""
    found = wg.grad(lambda x: np.sum(V * product(lambda z: np.sum(z**3), x, V)))(X)
    np.testing.assert_allclose(found, 6 * V**2)
    found = wg.grad(lambda x: np.sum(product(lambda z: np.sum(z**3 * x), x, x)))(X)  # Σ 6x·x·x
    np.testing.assert_allclose(found, 18 * X**2)


@products
def test_what_does_not_fit_is_refused(product: Callable[..., Any]) -> None:
    with pytest.raises(wg.ArgumentError, match="the directions must be a tuple of"):
        product(lambda x, y: x * y, (1.0, 2.0), (1.0,))
    with pytest.raises(wg.ArgumentError, match=r"pass \(x,\) and \(v,\)"):
        product(lambda p: p[0] * p[1], (1.0, 2.0), 3.0)
    with pytest.raises((ValueError, wg.ArgumentError), match="shape"):
        product(np.sum, X, V[:2])
    for along in ({"b": 1.0}, {"a": 1}, 1.0, {"a": 1.0, "c": 2.0}):
        with pytest.raises(wg.ArgumentError, match=r"floats at \['a'\]"):
            product(lambda p: p["a"] ** 2, {"a": 1.0}, along)
    with pytest.raises(wg.NonScalarOutputError):
        product(np.sin, X, V)


# functions of one number


def test_derivatives_of_any_order() -> None:
    for order in range(7):
        found = wg.derivative(lambda t: t**5, order=order)(2.0)
        assert found == pytest.approx(math.perm(5, order) * 2.0 ** (5 - order) if order <= 5 else 0.0)
    t, h = 0.7, math.tanh(0.7)
    s = 1 - h * h
    expected = [h, s, -2 * h * s, s * (6 * h * h - 2), 8 * h * s * (2 - 3 * h * h)]
    for order, value in enumerate(expected):
        assert wg.derivative(np.tanh, order)(t) == pytest.approx(value, rel=1e-12)


def test_results_of_any_structure() -> None:
    found = wg.derivative(lambda t, k: {"a": np.array([[t, t**k]]), "b": (t**4, "name")}, order=2)(3.0, 3)
    np.testing.assert_allclose(found["a"], [[0.0, 18.0]])
    assert found["b"] == (108.0, None)


def test_by_name_with_aux_as_a_decorator() -> None:
    @wg.derivative(argnums="t", has_aux=True, order=2)
    def f(a: float, t: float) -> Any:
        return a * t**3, "aux"

    assert f(2.0, 5.0) == (60.0, "aux") and f.__name__ == "f"
    assert wg.derivative(lambda t: t * t)(3) == 6.0
    assert wg.derivative(lambda z: z**3, 2, holomorphic=True)(1 + 2j) == 6 + 12j
    assert wg.derivative(lambda t: np.exp(1j * t), 2)(0.0) == pytest.approx(-1.0)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(wg.ArgumentError, match=r"called with an array of shape \(3,\)"):
        wg.derivative(np.sin)(X)
    with pytest.raises(wg.ArgumentError, match="called with 2 numbers"):
        wg.derivative(lambda p: p[0] * p[1])([1.0, 2.0])
    for order in (-1, 1.5, True):
        with pytest.raises(wg.ArgumentError, match="must be an integer"):
            wg.derivative(np.sin, order)
    with pytest.raises(wg.IntegerInputError):
        wg.derivative(lambda t: t)(np.array(3))


# elementwise functions


def test_slopes_of_elementwise_functions() -> None:
    def f(x: Any, a: Any) -> Any:
        y = np.tanh(x) * a
        y[y > 0] **= 2
        return y

    expected = np.diag(wg.jacobian(f)(X, 3.0))
    np.testing.assert_allclose(wg.elementwise_grad(f)(X, 3.0), expected, rtol=1e-13)
    of_a, of_x = wg.elementwise_grad(f, argnums=("a", 0))(X, 3.0)
    np.testing.assert_allclose(of_x, expected, rtol=1e-13)
    np.testing.assert_allclose(of_a, np.where(X > 0, 6 * np.tanh(X) ** 2, np.tanh(X)), rtol=1e-13)
    second = wg.elementwise_grad(wg.elementwise_grad(np.sin))
    np.testing.assert_allclose(second(X), -np.sin(X))
    gradient = wg.grad(lambda x: np.sum(wg.elementwise_grad(np.sin)(x) * x))
    np.testing.assert_allclose(gradient(X), np.cos(X) - X * np.sin(X))
    assert wg.elementwise_grad(math.exp)(0.0) == 1.0


def test_slopes_of_hips_autograd() -> None:
    autograd = pytest.importorskip("autograd")
    anp = pytest.importorskip("autograd.numpy")
    np.testing.assert_allclose(wg.elementwise_grad(np.arctan)(X), autograd.elementwise_grad(anp.arctan)(X))


def test_slopes_with_aux_complex_numbers_and_integers() -> None:
    slopes, aux = wg.elementwise_grad(lambda x: (x**2, "aux"), has_aux=True)(X)
    np.testing.assert_array_equal(slopes, 2 * X)
    assert aux == "aux"
    z = np.array([0.3 + 1j, 2.0])
    np.testing.assert_allclose(wg.elementwise_grad(lambda z: z**3, holomorphic=True)(z), 3 * z**2)
    np.testing.assert_allclose(wg.elementwise_grad(lambda z: np.abs(z) ** 2)(z), 2 * np.conj(z))
    np.testing.assert_allclose(wg.elementwise_grad(lambda x: np.exp(1j * x))(X), 1j * np.exp(1j * X))
    found = wg.elementwise_grad(lambda n, x: x * n, argnums=(0, 1), allow_int=True)(np.arange(3), X)
    assert found[0] is None
    np.testing.assert_array_equal(found[1], [0.0, 1.0, 2.0])
    assert wg.elementwise_grad(np.sin)(X.astype(np.float32)).dtype == np.float32


def test_a_million_slopes_take_no_matrix() -> None:
    x = np.linspace(0, 1, 10**6)
    np.testing.assert_allclose(wg.elementwise_grad(np.sin)(x), np.cos(x))


def test_what_is_not_elementwise_is_refused() -> None:
    for f in (np.sum, lambda x: x[:2], lambda x: [x, x]):
        with pytest.raises(wg.ArgumentError, match="result of the shape of the argument"):
            wg.elementwise_grad(f)(X)
    with pytest.raises(wg.ArgumentError, match="use wg"):
        wg.derivative(np.sin)(X)


MISTAKEN = {
    "a float for an order's argument": (lambda: wg.derivative(np.sin, argnums=1.0), "argnums=1.0 names no arguments"),
    "an array for a number": (lambda: wg.derivative(np.sin)(X), r"with an array of shape \(3,\)\. For an element"),
    "no direction": (lambda: wg.hvp(rosenbrock, X), r"write hvp\(f, x, v\), or hvp\(f\)\(x, v\)"),
    "no function": (lambda: wg.vhp(3.0), "vhp needs a function"),
    "a bare direction": (lambda: wg.hvp(lambda p: p["a"].sum(), {"a": X}, X), r"its direction at none of them"),
    "bare primals": (lambda: wg.jvp(np.sin, X, X), r"jvp: primals must be a tuple, not ndarray"),
    "an input of no tape": (lambda: _taped().generate_adjoints(wrt=[3]), r"must be a list of inputs .* are %2\."),
    "one position": (lambda: _taped().generate_adjoints(wrt=2), "wrt=2 must be a list of inputs"),
}


def _taped() -> wg.Tape:
    return wg.trace(lambda x: np.sum(x), X)[1]


@pytest.mark.parametrize("mistake", MISTAKEN)
def test_a_mistaken_call_is_told_what_is_right(mistake: str) -> None:
    call, said = MISTAKEN[mistake]
    with pytest.raises(wg.ArgumentError, match=said):
        call()


@pytest.mark.parametrize("way", [wg.grad, wg.value_and_grad, wg.jacfwd, wg.jacrev, wg.jacobian, wg.hessian])
def test_has_aux_asks_for_a_pair(way: Any) -> None:
    with pytest.raises(wg.ArgumentError, match=r"has_aux=True needs .* \(value, aux\), but .* returned a float64"):
        way(lambda x: np.sum(x * x), has_aux=True)(X)
    with pytest.raises(wg.ArgumentError, match="returned a ndarray"):  # of two numbers, which is no pair
        way(lambda x: x[:2] * x[:2], has_aux=True)(X)
