"""A user's program with types: mypy infers the types stated here, and the program runs."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

import wengert as wg

Vector = NDArray[np.float64]
X: Vector = np.array([0.5, -1.0, 2.0])


def energy(x: Vector, stiffness: float = 1.0) -> np.float64:
    return np.float64(0.5 * stiffness * np.sum(x**2))


def named_energy(x: Vector) -> tuple[np.float64, str]:
    return energy(x), "energy"


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


def test_batches_of_arrays_are_arrays() -> None:
    np.testing.assert_allclose(assert_type(wg.vmap(forces)(np.stack([X, X])), Vector), [-X, -X])
    np.testing.assert_allclose(assert_type(wg.vmap(pendulum)(X), Any), 1 - np.cos(X))
    energies = assert_type(wg.vmap(energy)(np.stack([X, 2 * X])), Any)
    np.testing.assert_allclose(energies, [energy(X), energy(2 * X)])


def test_a_check_keeps_the_parameters() -> None:
    assert wg.check_grads(energy, X) < 1e-6
    assert wg.check_grads(energy, order=2)(X, 3.0) < 1e-6
    assert_type(wg.check_grads(pendulum)(0.5).errors, dict[str, float])
    with pytest.raises(TypeError):
        wg.check_grads(pendulum)(0.5, 1.0)  # type: ignore[call-arg]


def test_products_keep_the_type() -> None:
    np.testing.assert_allclose(assert_type(wg.hvp(energy, X, X), Vector), X)
    np.testing.assert_allclose(assert_type(wg.hvp(energy)(X, X, 3.0), Vector), 3 * X)
    product, name = wg.vhp(named_energy, has_aux=True)(X, X)
    np.testing.assert_allclose(assert_type(product, Vector), X)
    assert assert_type(name, str) == "energy"
    value, tangent = wg.jvp(forces, (X,), (X,))
    np.testing.assert_allclose(assert_type(value, Vector), assert_type(tangent, Vector))


def test_jacobians_and_hessians_keep_the_parameters() -> None:
    with pytest.raises(TypeError):
        wg.jacobian(forces)(X, 1.0, 2.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        wg.hessian(energy)(X, "soft")  # type: ignore[arg-type]
