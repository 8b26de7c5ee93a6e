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
    warping,
)
from tensor_works import GAUSS_NEWTON, HESSIAN_VECTOR, PULLBACK, Work, random

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


# ---- warping an image ----


def warping_energy(inside, pinned, moved, angle, target, strength):
    h, w = angle.shape
    right, down, fit = warping(inside, pinned, moved, angle, target, strength)
    return sum(
        right[i][j][c] ** 2 + down[i][j][c] ** 2 + fit[i][j][c] ** 2
        for i in range(h)
        for j in range(w)
        for c in range(2)
    )


def warping_peer(np, inside, pinned, moved, angle, target, strength):
    """The residuals; none where there is no neighbour."""
    across, along = edges(inside)
    cos, sin = np.cos(angle), np.sin(angle)
    right = np.where(across, moved[:, 1:] - moved[:, :-1] - np.stack([cos, sin], -1)[:, :-1], 0.0)
    down = np.where(along, moved[1:] - moved[:-1] - np.stack([-sin, cos], -1)[:-1], 0.0)
    return right, down, np.where(pinned[..., None], strength * (moved - target), 0.0)


def warping_energy_peer(np, *args):
    return sum(np.sum(residual * residual) for residual in warping_peer(np, *args))


def edges(inside):
    """Which neighbours both belong to the region, to the right and downwards."""
    return (inside[:, 1:] & inside[:, :-1])[..., None], (inside[1:] & inside[:-1])[..., None]


def warping_pullback(bars, pinned, angle, strength):
    """By hand; the cotangents are zero outside the region."""
    right, down, fit = bars
    cos, sin = np.cos(angle), np.sin(angle)
    angle_bar = np.zeros_like(angle)
    angle_bar[:, :-1] += right[..., 0] * sin[:, :-1] - right[..., 1] * cos[:, :-1]
    angle_bar[:-1] += down[..., 0] * cos[:-1] + down[..., 1] * sin[:-1]
    return from_neighbours(right, down) + np.where(pinned[..., None], strength * fit, 0.0), angle_bar


def warping_gradient(inside, pinned, moved, angle, target, strength):
    residuals = warping_peer(np, inside, pinned, moved, angle, target, strength)
    return warping_pullback([2 * residual for residual in residuals], pinned, angle, strength)


def warping_gauss_newton(inside, pinned, moved, angle, target, strength, moved_dot, angle_dot):
    across, along = edges(inside)
    turned = np.stack([-np.sin(angle), np.cos(angle)], -1) * angle_dot[..., None]
    right = np.where(across, moved_dot[:, 1:] - moved_dot[:, :-1] - turned[:, :-1], 0.0)
    turned = np.stack([-turned[..., 1], turned[..., 0]], -1)
    down = np.where(along, moved_dot[1:] - moved_dot[:-1] - turned[:-1], 0.0)
    fit = np.where(pinned[..., None], strength * moved_dot, 0.0)
    return warping_pullback((right, down, fit), pinned, angle, strength)


def warped(n):
    rng = np.random.default_rng(0)
    moved = random(n, n, 2)
    return disc(n), rng.random((n, n)) < 0.01, moved, rng.random((n, n)), moved + 0.1, np.float64(0.7)


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


def catenary_hessian_vector(points, rest, stiffness, weight, v):
    length, stretch, direction = springs(points, rest)
    apart = v[1:] - v[:-1]
    longer = np.sum(direction * apart, axis=1)[:, None]
    turned = stretch / length * (apart - direction * longer)
    return (pulled(stiffness * np.where(stretch > 0, direction * longer + turned, 0.0)),)


def chain(n):
    return np.stack([np.arange(float(n)), random(n)], axis=1), np.float64(0.9), np.float64(3.0), np.float64(0.5)


IMAGES, VECTORS = (256, 512, 1024, 2048), (125_000, 250_000, 500_000, 1_000_000)

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
        "warping",
        warping_energy,
        warping_energy_peer,
        warping_gradient,
        warped,
        (128, 256, 512, 1024),
        argnums=(2, 3),
    ),
    Work(
        "warping, JᵀJ times v",
        warping,
        warping_peer,
        warping_gauss_newton,
        lambda n: (*warped(n), random(n, n, 2) - 1, random(n, n) - 1),
        (128, 256, 512, 1024),
        argnums=(2, 3),
        derivative=GAUSS_NEWTON,
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
        lambda n: (*chain(n), random(n, 2) - 1),
        VECTORS,
        derivative=HESSIAN_VECTOR,
    ),
)
