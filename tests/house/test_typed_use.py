"""A user's program with types: mypy infers the types stated here, and the program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

import wengert as wg

Vector = NDArray[np.float64]
X: Vector = np.array([0.5, -1.0, 2.0])


def energy(x: Vector, stiffness: float = 1.0) -> np.float64:
    return np.float64(0.5 * stiffness * np.sum(x**2))


def forces(x: Vector, stiffness: float = 1.0) -> Vector:
    return -stiffness * x


def pendulum(angle: float) -> float:
    return 1.0 - np.cos(angle)


def test_gradients_have_the_type_of_the_argument() -> None:
    slope = assert_type(wg.grad(pendulum)(0.5), float)
    gradient = assert_type(wg.grad(energy)(X, 2.0), Vector)
    value, same = wg.value_and_grad(energy)(X, stiffness=2.0)
    assert_type(value, np.float64)
    assert_type(same, Vector)
    np.testing.assert_allclose([slope, *gradient, *same, value], [np.sin(0.5), *2 * X, *2 * X, np.sum(X**2)])


def test_compiled_functions_keep_the_type() -> None:
    gradient = wg.compile(wg.grad(energy))
    assert_type(gradient(X, 2.0), Vector)
    np.testing.assert_allclose(assert_type(gradient(X), Vector), X)
    assert_type(gradient.explain(), str)


def test_jacobians_and_hessians_are_of_any_type() -> None:
    np.testing.assert_allclose(assert_type(wg.jacobian(forces)(X), Any), -np.eye(3))
    np.testing.assert_allclose(assert_type(wg.hessian(energy)(X, 3.0), Any), 3 * np.eye(3))
    batched = wg.vmap(pendulum)
    assert_type(batched, Callable[..., Any])
    np.testing.assert_allclose(batched(X), 1 - np.cos(X))
    assert assert_type(wg.check_grads(energy, X), Any) < 1e-6


def test_products_keep_the_type() -> None:
    np.testing.assert_allclose(assert_type(wg.hvp(energy, X, X), Vector), X)
    value, tangent = wg.jvp(forces, (X,), (X,))
    np.testing.assert_allclose(assert_type(value, Vector), assert_type(tangent, Vector))


def test_jacobians_and_hessians_keep_the_parameters() -> None:
    with pytest.raises(TypeError):
        wg.jacobian(forces)(X, 1.0, 2.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        wg.hessian(energy)(X, "soft")  # type: ignore[arg-type]
