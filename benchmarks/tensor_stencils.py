"""Works on neighbours: images, a filter, a hanging chain."""

from __future__ import annotations

import numpy as np
from tensor_programs import (
    blur,
    catenary,
    image_gradient,
    image_gradient_bar,
    laplacian,
    masked_laplacian,
)
from tensor_works import HESSIAN_VECTOR, PULLBACK, Work, random

# ---- images ----


def smoothed(np, x):
    edge = np.zeros_like(x[:, :1])
    wide = np.concatenate([edge, x, edge], 1)
    return (wide[:, :-2] + 2 * x + wide[:, 2:]) / 4


def blur_peer(np, image):
    return smoothed(np, smoothed(np, image).T).T


def image_gradient_peer(np, image):
    right, down = image[:, 1:] - image[:, :-1], image[1:] - image[:-1]
    return np.concatenate([right, np.zeros_like(image[:, :1])], 1), np.concatenate([down, np.zeros_like(image[:1])], 0)


def laplacian_peer(np, image):
    return np.sum((image[:, 1:] - image[:, :-1]) ** 2) + np.sum((image[1:] - image[:-1]) ** 2)


def laplacian_gradient(image):
    return (from_neighbours(2 * (image[:, 1:] - image[:, :-1]), 2 * (image[1:] - image[:-1])),)


def from_neighbours(right, down):
    """The transpose of the differences to the right and downwards."""
    bar = np.zeros((len(right), *down.shape[1:]))
    bar[:, 1:] += right
    bar[:, :-1] -= right
    bar[1:] += down
    bar[:-1] -= down
    return bar


def masked_differences(np, inside, image):
    right = np.where(inside[:, 1:] & inside[:, :-1], image[:, 1:] - image[:, :-1], 0.0)
    return right, np.where(inside[1:] & inside[:-1], image[1:] - image[:-1], 0.0)


def masked_laplacian_peer(np, inside, image):
    right, down = masked_differences(np, inside, image)
    return np.sum(right * right) + np.sum(down * down)


def masked_laplacian_gradient(inside, image):
    right, down = masked_differences(np, inside, image)
    return (from_neighbours(2 * right, 2 * down),)


def disc(n):
    """Half of a square's pixels."""
    at = np.arange(n) - (n - 1) / 2
    return at[:, None] ** 2 + at**2 < n * n / (2 * np.pi)


# ---- a filter ----


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


# ---- a hanging chain ----


def catenary_peer(np, points, rest, stiffness, weight):
    apart = points[1:] - points[:-1]
    stretch = (np.sqrt(np.sum(apart * apart, axis=1)) - rest).clip(0)
    return stiffness / 2 * np.sum(stretch * stretch) + weight * np.sum(points[:, 1])


def springs(points, rest):
    """How long each is, by how much too long, and its direction."""
    apart = points[1:] - points[:-1]
    length = np.sqrt(np.sum(apart * apart, axis=1))[:, None]
    return length, np.maximum(length - rest, 0.0), apart / length


def pulled(force):
    bar = np.zeros((len(force) + 1, 2))
    bar[1:] += force
    bar[:-1] -= force
    return bar


def catenary_gradient(points, rest, stiffness, weight):
    _, stretch, direction = springs(points, rest)
    bar = pulled(stiffness * stretch * direction)
    bar[:, 1] += weight
    return (bar,)


def catenary_hessian_vector(points, rest, stiffness, weight, along):
    (v,) = along
    length, stretch, direction = springs(points, rest)
    apart = v[1:] - v[:-1]
    longer = np.sum(direction * apart, axis=1)[:, None]
    turned = stretch / length * (apart - direction * longer)
    return (pulled(stiffness * np.where(stretch > 0, direction * longer + turned, 0.0)),)


def chain(n):
    return np.stack([np.arange(float(n)), random(n)], axis=1), np.float64(0.9), np.float64(3.0), np.float64(0.5)


IMAGES, VECTORS = (128, 256, 512, 1024), (125_000, 250_000, 500_000, 1_000_000)

WORKS = (
    Work(
        "blur",
        blur,
        blur_peer,
        lambda image, bar: (blur_peer(np, bar),),
        lambda n: (random(n, n), random(n, n)),
        IMAGES,
        derivative=PULLBACK,
    ),
    Work(
        "image gradient",
        image_gradient,
        image_gradient_peer,
        lambda image, bars: image_gradient_bar(bars, image),
        lambda n: (random(n, n), (random(n, n), 2 * random(n, n))),
        IMAGES,
        derivative=PULLBACK,
    ),
    Work("Laplacian", laplacian, laplacian_peer, laplacian_gradient, lambda n: (random(n, n),), IMAGES),
    Work(
        "masked Laplacian",
        masked_laplacian,
        masked_laplacian_peer,
        masked_laplacian_gradient,
        lambda n: (disc(n), random(n, n)),
        IMAGES,
        argnums=(1,),
    ),
    Work(
        "filter of 16 taps",
        convolved,
        convolved_peer,
        convolved_gradient,
        lambda n: (random(n + 15), random(16), random(n)),
        VECTORS,
    ),
    Work("catenary", catenary, catenary_peer, catenary_gradient, chain, VECTORS),
    Work(
        "catenary, Hessian times v",
        catenary,
        catenary_peer,
        catenary_hessian_vector,
        lambda n: (*chain(n), (random(n, 2) - 1,)),
        VECTORS,
        derivative=HESSIAN_VECTOR,
    ),
)
