"""Functions written for HIPS autograd, on its own NumPy, are differentiated like those on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

autograd = pytest.importorskip("autograd")
anp = pytest.importorskip("autograd.numpy")
X = np.array([0.5, 1.5, -0.25])


def loss(x: Any) -> Any:
    z = anp.concatenate([anp.sin(x) * x, anp.array([x[0], x[1] ** 2]), anp.where(x > 0, x, anp.exp(x))])
    return anp.sum(anp.logaddexp(z, 0.0)) + anp.dot(x, anp.cumsum(anp.clip(x, 0.0, 1.0)))


def test_a_function_on_autograds_numpy() -> None:
    gradient = autograd.grad(loss)(X)
    np.testing.assert_allclose(wg.grad(loss)(X), gradient, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(loss))(X), gradient, rtol=1e-12)
    np.testing.assert_allclose(wg.hessian(loss)(X), autograd.hessian(loss)(X), rtol=1e-12, atol=1e-12)
    assert loss(X) == wg.value_and_grad(loss)(X)[0]


def test_derivatives_of_autograds_derivatives() -> None:
    def slope(x: Any) -> Any:
        return anp.sum(autograd.grad(loss)(x) ** 2)

    expected = 2 * autograd.hessian(loss)(X) @ autograd.grad(loss)(X)
    np.testing.assert_allclose(wg.grad(slope)(X), expected, rtol=1e-10)
    np.testing.assert_allclose(wg.compile(wg.grad(slope))(X), expected, rtol=1e-10)


def test_a_primitive_with_its_own_derivative() -> None:
    extend = pytest.importorskip("autograd.extend")
    cubed = extend.primitive(lambda x: x**3)
    extend.defvjp(cubed, lambda y, x: lambda y_bar: y_bar * 3 * x**2)
    np.testing.assert_allclose(wg.grad(lambda x: anp.sum(cubed(x)))(X), 3 * X**2)
    np.testing.assert_allclose(wg.grad(lambda x: anp.sum(autograd.elementwise_grad(cubed)(x)))(X), 6 * X)
    extend.defvjp(cubed, lambda y, x: lambda y_bar: y_bar * x)  # another one is used by autograd alone
    np.testing.assert_allclose(wg.grad(lambda x: anp.sum(cubed(x)))(X), 3 * X**2)
    np.testing.assert_allclose(wg.grad(lambda x: anp.sum(autograd.elementwise_grad(cubed)(x) ** 2))(X), 2 * X)
