"""Works on dense matrices."""

from __future__ import annotations

import numpy as np
from tensor_programs import attraction, factorisation, normal_form
from tensor_works import HESSIAN, TANGENT, Work, random


def quadratic(x, a):
    n = len(x)
    return sum(x[i] * sum(a[i, j] * x[j] for j in range(n)) for i in range(n))


def normal_form_tangent(x, a, a_dot):
    """In the order in which the program is written: the Gram matrix first."""
    return x @ ((a_dot.T @ a + a.T @ a_dot) @ x)


def factorisation_peer(np, w, h, a):
    product = w @ h
    return np.sum(np.log(product) + a / product)


def factorisation_gradient(w, h, a):
    product = w @ h
    bar = 1 / product - a / product**2
    return bar @ h.T, w.T @ bar


def attraction_peer(np, points, mass):
    apart = points[:, None] - points
    distance = np.sqrt(np.sum(apart * apart, axis=2) + 0.01)
    return (np.sum(mass * mass) / 0.1 - np.sum(mass[:, None] * mass / distance)) / 2


def attraction_gradient(points, mass):
    apart = points[:, None] - points
    cube = (np.sum(apart * apart, axis=2) + 0.01) ** -1.5
    return (np.einsum("i,j,ij,ijd->id", mass, mass, cube, apart, optimize=True),)


WORKS = (
    Work(
        "xᵀAx",
        quadratic,
        lambda np, x, a: x @ (a @ x),
        lambda x, a: (a @ x + a.T @ x,),
        lambda n: (random(n), random(n, n)),
        (500, 1000, 2000, 4000),
    ),
    Work(
        "xᵀAx, Hessian",
        quadratic,
        lambda np, x, a: x @ (a @ x),
        lambda x, a: a + a.T,
        lambda n: (random(n), random(n, n)),
        (125, 250, 500, 1000),
        derivative=HESSIAN,
    ),
    Work(
        "xᵀ(AᵀA)x along Ȧ",
        normal_form,
        lambda np, x, a: x @ ((a.T @ a) @ x),
        normal_form_tangent,
        lambda n: (random(n), random(n, n), random(n, n) - 1),
        (100, 200, 400, 800),
        argnums=(1,),
        derivative=TANGENT,
    ),
    Work(
        "matrix factorisation",
        factorisation,
        factorisation_peer,
        factorisation_gradient,
        lambda n: (random(n, 20), random(20, n), random(n, n)),
        (125, 250, 500, 1000),
        argnums=(0, 1),
    ),
    Work(
        "n bodies",
        attraction,
        attraction_peer,
        attraction_gradient,
        lambda n: (random(n, 2), random(n)),
        (125, 250, 500, 1000),
    ),
)
