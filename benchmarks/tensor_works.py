"""What the tensor benchmark runs: each program as a tensor function, by hand in NumPy, and for JAX and PyTorch.

A peer's version is what its user would write; both get the same arrays. `np` stands for a peer's own NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Work:
    """A scalar function of its first `count` arguments, which `program` has after the relation, if there is one."""

    name: str
    program: Callable[..., Any]
    peer: Callable[..., Any]  # (np, *args) -> a scalar, in the operations that NumPy, JAX and PyTorch share
    gradient: Callable[..., Any]  # by hand: (*args) -> what count says
    args: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...]
    argnums: tuple[int, ...] = (0,)
    slope: float = 1.0  # of the function's own cost


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).random(shape) + 0.5


# ---- dense ----


def quadratic(x, a):
    n = len(x)
    return sum(x[i] * sum(a[i, j] * x[j] for j in range(n)) for i in range(n))


def factorisation(w, h, a):
    n, m = a.shape
    product = [[sum(w[i, k] * h[k, j] for k in range(h.shape[0])) for j in range(m)] for i in range(n)]
    return sum(np.log(product[i][j]) + a[i, j] / product[i][j] for i in range(n) for j in range(m))


def factorisation_peer(np, w, h, a):
    product = w @ h
    return np.sum(np.log(product) + a / product)


def factorisation_gradient(w, h, a):
    product = w @ h
    bar = 1 / product - a / product**2
    return bar @ h.T, w.T @ bar


def attraction(points, mass):
    n = len(mass)
    return sum(
        mass[i] * mass[j] / np.sqrt(sum((points[i, d] - points[j, d]) ** 2 for d in range(2)) + 0.01)
        for i in range(n)
        for j in range(n)
        if i < j
    )


def attraction_peer(np, points, mass):
    apart = points[:, None] - points
    distance = np.sqrt(np.sum(apart * apart, axis=2) + 0.01)
    each = mass[:, None] * mass / distance
    return (np.sum(each) - np.sum(mass * mass) / 0.1) / 2


def attraction_gradient(points, mass):
    apart = points[:, None] - points
    cube = (np.sum(apart * apart, axis=2) + 0.01) ** -1.5
    return (-np.einsum("i,j,ij,ijd->id", mass, mass, cube, apart, optimize=True),)


# ---- stencils ----


def blurred(image):
    """Σ of the squared image after three taps along each row, nothing beyond the border."""
    h, w = image.shape
    taps = [
        [
            (image[i, j - 1] if j > 0 else 0.0) + 2.0 * image[i, j] + (image[i, j + 1] if j + 1 < w else 0.0)
            for j in range(w)
        ]
        for i in range(h)
    ]
    return sum(taps[i][j] * taps[i][j] for i in range(h) for j in range(w))


def taps(np, image):
    edge = np.zeros_like(image[:, :1])
    wide = np.concatenate([edge, image, edge], 1)
    return wide[:, :-2] + 2 * image + wide[:, 2:]


def blurred_peer(np, image):
    each = taps(np, image)
    return np.sum(each * each)


def laplacian(image):
    h, w = image.shape
    across = sum((image[i, j + 1] - image[i, j]) ** 2 for i in range(h) for j in range(w - 1))
    return across + sum((image[i + 1, j] - image[i, j]) ** 2 for i in range(h - 1) for j in range(w))


def laplacian_peer(np, image):
    return np.sum((image[:, 1:] - image[:, :-1]) ** 2) + np.sum((image[1:] - image[:-1]) ** 2)


def laplacian_gradient(image):
    bar = np.zeros_like(image)
    across, down = 2 * (image[:, 1:] - image[:, :-1]), 2 * (image[1:] - image[:-1])
    bar[:, 1:] += across
    bar[:, :-1] -= across
    bar[1:] += down
    bar[:-1] -= down
    return (bar,)


def convolved(x, w, y):
    """Squared error of a filter of 16 taps."""
    n, m = len(y), len(w)
    error = [sum(w[j] * x[i + j] for j in range(m)) - y[i] for i in range(n)]
    return sum(error[i] * error[i] for i in range(n))


def convolved_peer(np, x, w, y):
    error = sum(w[j] * x[j : j + len(y)] for j in range(16)) - y
    return np.sum(error * error)


def convolved_gradient(x, w, y):
    error = np.convolve(x, w[::-1], "valid") - y
    return (np.convolve(2 * error, w),)


# ---- traps: dense on the way, small in the end ----


def trace_of_diagonal(x):
    n = len(x)
    matrix = [[x[i] if i == j else 0.0 for j in range(n)] for i in range(n)]
    return sum(matrix[i][i] for i in range(n))


def chained_products(x):
    """Outer products of a first column and a first row, three times over; the trace of the last."""
    n = len(x)
    a = [[x[i] * x[j] for j in range(n)] for i in range(n)]
    b = [[a[i][0] * a[0][j] for j in range(n)] for i in range(n)]
    c = [[b[i][0] * b[0][j] for j in range(n)] for i in range(n)]
    return sum(c[i][i] for i in range(n))


def chained_peer(np, x):
    a = x[:, None] * x
    b = a[:, :1] * a[0]
    c = b[:, :1] * b[0]
    return np.trace(c)


def chained_gradient(x):
    bar = 2 * x[0] ** 6 * x
    bar[0] += 6 * x[0] ** 5 * (x @ x)
    return (bar,)


def skipped(x):
    n = len(x)
    return sum(x[i] for i in range(n) if i < 7) + sum(x[i] for i in range(n) if i > 7)


def skipped_gradient(x):
    bar = np.ones_like(x)
    bar[7] = 0
    return (bar,)


def masked_product(near, a, x):
    """|A x|², of A only what the relation has: 8 entries a row."""
    n = len(x)
    y = [sum(a[i, j] * x[j] for j in range(n) if near[i, j]) for i in range(n)]
    return sum(y[i] * y[i] for i in range(n))


def masked_peer(np, near, a, x):
    y = np.where(near, a, 0.0) @ x
    return np.sum(y * y)


def masked_gradient(near, a, x):
    kept = np.where(near, a, 0.0)
    return (2 * kept.T @ (kept @ x),)


def masked_args(n):
    near = np.zeros((n, n), bool)
    near[np.arange(n)[:, None], np.random.default_rng(0).integers(0, n, (n, 8))] = True
    return near, random(n, n), random(n)


IMAGES, VECTORS, SQUARES = (128, 256, 512), (10_000, 100_000, 1_000_000), (500, 1000, 2000)

WORKS = (
    Work(
        "xᵀAx",
        quadratic,
        lambda np, x, a: x @ (a @ x),
        lambda x, a: (a @ x + a.T @ x,),
        lambda n: (random(n), random(n, n)),
        SQUARES,
        slope=2,
    ),
    Work(
        "matrix factorisation",
        factorisation,
        factorisation_peer,
        factorisation_gradient,
        lambda n: (random(n, 20), random(20, n), random(n, n)),
        (250, 500, 1000),
        argnums=(0, 1),
        slope=2,
    ),
    Work(
        "n bodies",
        attraction,
        attraction_peer,
        attraction_gradient,
        lambda n: (random(n, 2), random(n)),
        (250, 500, 1000),
        slope=2,
    ),
    Work(
        "blur",
        blurred,
        blurred_peer,
        lambda image: (taps(np, 2 * taps(np, image)),),
        lambda n: (random(n, n),),
        IMAGES,
        slope=2,
    ),
    Work("Laplacian", laplacian, laplacian_peer, laplacian_gradient, lambda n: (random(n, n),), IMAGES, slope=2),
    Work(
        "filter of 16 taps",
        convolved,
        convolved_peer,
        convolved_gradient,
        lambda n: (random(n + 15), random(16), random(n)),
        VECTORS,
    ),
    Work(
        "trace(diag(x))",
        trace_of_diagonal,
        lambda np, x: np.trace(np.diag(x)),
        lambda x: (np.ones_like(x),),
        lambda n: (random(n),),
        (500, 1000, 2000),
    ),
    Work(
        "chained outer products",
        chained_products,
        chained_peer,
        chained_gradient,
        lambda n: (random(n),),
        (500, 1000, 2000),
    ),
    Work(
        "skipped entry",
        skipped,
        lambda np, x: np.sum(x[:7]) + np.sum(x[8:]),
        skipped_gradient,
        lambda n: (random(n),),
        VECTORS,
    ),
    Work(
        "masked A x, 8 a row",
        masked_product,
        masked_peer,
        masked_gradient,
        masked_args,
        (500, 1000, 2000),
        argnums=(2,),
    ),
)
