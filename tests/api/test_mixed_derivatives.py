"""The family inside itself, inside other derivatives, checkpoints, batches and tapes: closed forms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X, V = np.array([0.5, -1.2, 2.0]), np.array([1.0, 10.0, -3.0])
CUBED = np.einsum("i,ij,ik->ijk", 6 * X, np.eye(3), np.eye(3))  # of x³, twice
BOTH = np.stack([X, V])


def cube(x: Any) -> Any:
    return x**3


def quartic(x: Any) -> Any:
    return np.sum(x**4)


class Scaled:
    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        return self.w * x

    def squared(self, x: Any) -> Any:
        return self.w**2 * x


SCALED = Scaled(np.array([2.0, 3.0, 4.0]))

CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "grad of hvp": (lambda: wg.grad(lambda x: wg.hvp(quartic, x, V) @ V)(X), 24 * X * V**2),
    "grad of vhp": (lambda: wg.grad(lambda x: wg.vhp(quartic, x, V) @ V)(X), 24 * X * V**2),
    "jvp of hvp": (lambda: wg.jvp(lambda x: wg.hvp(quartic, x, V), (X,), (V,))[1], 24 * X * V**2),
    "hvp of hvp": (lambda: wg.hvp(lambda x: wg.hvp(quartic, x, V) @ V, X, V), 24 * V**3),
    "jacobian of hessian": (lambda: wg.jacobian(wg.hessian(quartic))(X), 4 * CUBED),
    "hessian of a sum of jacobians": (
        lambda: wg.hessian(lambda x: np.sum(wg.jacobian(lambda z: z**2 * x)(x)))(X), 4 * np.eye(3)),
    "jacfwd of jacfwd": (lambda: wg.jacfwd(wg.jacfwd(cube))(X), CUBED),
    "jacrev of jacfwd": (lambda: wg.jacrev(wg.jacfwd(cube))(X), CUBED),
    "jacfwd of jacrev": (lambda: wg.jacfwd(wg.jacrev(cube))(X), CUBED),
    "jacrev of jacrev": (lambda: wg.jacrev(wg.jacrev(cube))(X), CUBED),
    "jacrev of value_and_jacobian": (lambda: wg.jacrev(lambda x: wg.value_and_jacobian(cube)(x)[1])(X), CUBED),
    "grad of elementwise_grad": (
        lambda: wg.grad(lambda x: np.sum(wg.elementwise_grad(lambda z: z**3 * x)(x)))(X), 9 * X**2),
    "derivative in derivative": (lambda: wg.derivative(lambda t: wg.derivative(lambda s: s**2 * t)(t))(3.0), 12.0),
    "a closure over the outer variable": (
        lambda: wg.jacobian(lambda x: wg.jacobian(lambda y: x * y)(2 * x))(X), CUBED / (6 * X[:, None, None])),
    "vmap of jacobian": (lambda: wg.vmap(wg.jacobian(cube))(BOTH), np.stack([np.diag(3 * x**2) for x in BOTH])),
    "vmap of hessian": (lambda: wg.vmap(wg.hessian(quartic))(BOTH), np.stack([np.diag(12 * x**2) for x in BOTH])),
    "jacobian of vmap": (lambda: wg.jacobian(wg.vmap(cube))(X), np.diag(3 * X**2)),
    "jacobian in a checkpoint": (
        lambda: wg.grad(lambda x: np.sum(wg.checkpoint(lambda z: wg.jacobian(cube)(z))(x)))(X), 6 * X),
    "jacobian of a checkpoint": (lambda: wg.jacobian(lambda x: wg.checkpoint(cube)(x))(X), np.diag(3 * X**2)),
    "hessian of a checkpoint": (
        lambda: wg.hessian(lambda x: np.sum(wg.checkpoint(cube)(x)))(X), np.diag(6 * X)),
    "tape of a jacobian": (lambda: wg.trace(wg.jacobian(cube), X)[1].play(V), np.diag(3 * V**2)),
    "tape of a hessian": (lambda: wg.trace(wg.hessian(quartic), X)[1].play(V), np.diag(12 * V**2)),
    "tape of a gradient of a jacobian": (
        lambda: wg.gradtape(lambda x: np.sum(wg.jacobian(cube)(x)), X).play(V)[1][1], 6 * V),
    "an object": (lambda: wg.jacobian(SCALED)(X), np.diag(SCALED.w)),
    "a method": (lambda: wg.jacobian(SCALED.squared)(X), np.diag(SCALED.w**2)),
    "an object as argument": (lambda: wg.jacobian(lambda o, x: o(x))(SCALED, X).w, np.diag(X)),
    "a partial": (lambda: wg.jacobian(functools.partial(np.multiply, 3.0))(X), 3 * np.eye(3)),
    "hvp through ravel": (
        lambda: wg.hvp(lambda p: np.sum(wg.ravel(p)[0] ** 3), {"a": X, "b": 2.0}, {"a": V, "b": 1.0})["a"], 6 * X * V),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_mix_of_derivatives_is_right(name: str) -> None:
    found, expected = CASES[name]
    np.testing.assert_allclose(found(), expected, rtol=1e-10, atol=1e-12)


def test_layouts_of_memory() -> None:
    x = np.arange(6.0).reshape(2, 3).T
    expected = np.einsum("ij,ik,jl->jikl", 2 * x, np.eye(3), np.eye(2))
    for jac in (wg.jacrev, wg.jacfwd):
        np.testing.assert_array_equal(jac(lambda x: x.T**2)(x), expected)
        np.testing.assert_array_equal(jac(lambda x: x[::-2])(X), np.eye(3)[::-2])
