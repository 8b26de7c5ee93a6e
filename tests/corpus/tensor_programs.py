"""Programs that a tensor language is for, as plain functions, each with its derivative written by hand in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# ---- images ----


def blur(image: Any) -> Any:
    """Three taps along each row, then along each column; nothing beyond the border."""
    h, w = image.shape
    rows = [
        [
            ((image[i, j - 1] if j > 0 else 0.0) + 2.0 * image[i, j] + (image[i, j + 1] if j + 1 < w else 0.0)) / 4
            for j in range(w)
        ]
        for i in range(h)
    ]
    return [
        [
            ((rows[i - 1][j] if i > 0 else 0.0) + 2.0 * rows[i][j] + (rows[i + 1][j] if i + 1 < h else 0.0)) / 4
            for j in range(w)
        ]
        for i in range(h)
    ]


def smoothed(x: np.ndarray) -> np.ndarray:
    """The taps along the last axis."""
    wide = np.pad(x, [(0, 0), (1, 1)])
    return (wide[:, :-2] + 2 * x + wide[:, 2:]) / 4


def blur_bar(bar: np.ndarray, image: np.ndarray) -> tuple[np.ndarray]:
    """The taps are symmetric: the transpose is the blur itself."""
    return (smoothed(smoothed(bar).T).T,)


def image_gradient(image: Any) -> Any:
    """Differences to the right and downwards; 0 at the border."""
    h, w = image.shape
    right = [[image[i, j + 1] - image[i, j] if j + 1 < w else 0.0 for j in range(w)] for i in range(h)]
    down = [[image[i + 1, j] - image[i, j] if i + 1 < h else 0.0 for j in range(w)] for i in range(h)]
    return right, down


def image_gradient_bar(bars: tuple[np.ndarray, np.ndarray], image: np.ndarray) -> tuple[np.ndarray]:
    right, down = bars
    x_bar = np.zeros_like(image)
    x_bar[:, 1:] += right[:, :-1]
    x_bar[:, :-1] -= right[:, :-1]
    x_bar[1:] += down[:-1]
    x_bar[:-1] -= down[:-1]
    return (x_bar,)


def laplacian(image: Any) -> Any:
    """Dirichlet's energy: the squared differences, added up."""
    h, w = image.shape
    across = sum((image[i, j + 1] - image[i, j]) ** 2 for i in range(h) for j in range(w - 1))
    return across + sum((image[i + 1, j] - image[i, j]) ** 2 for i in range(h - 1) for j in range(w))


def laplacian_bar(bar: float, image: np.ndarray) -> tuple[np.ndarray]:
    right, down = np.zeros_like(image), np.zeros_like(image)
    right[:, :-1], down[:-1] = np.diff(image, axis=1), np.diff(image, axis=0)
    return image_gradient_bar((2 * bar * right, 2 * bar * down), image)


def masked_laplacian(inside: Any, image: Any) -> Any:
    """The same between pixels that both belong to a region."""
    h, w = image.shape
    across = sum(
        (image[i, j + 1] - image[i, j]) ** 2
        for i in range(h)
        for j in range(w - 1)
        if inside[i, j] and inside[i, j + 1]
    )
    return across + sum(
        (image[i + 1, j] - image[i, j]) ** 2
        for i in range(h - 1)
        for j in range(w)
        if inside[i, j] and inside[i + 1, j]
    )


def masked_laplacian_bar(bar: float, inside: np.ndarray, image: np.ndarray) -> tuple[None, np.ndarray]:
    right, down = np.zeros_like(image), np.zeros_like(image)
    right[:, :-1] = np.diff(image, axis=1) * (inside[:, 1:] & inside[:, :-1])
    down[:-1] = np.diff(image, axis=0) * (inside[1:] & inside[:-1])
    return None, *image_gradient_bar((2 * bar * right, 2 * bar * down), image)


# ---- mechanics ----


def catenary(points: Any, rest: float, stiffness: float, weight: float) -> Any:
    """Energy of a hanging chain: springs between neighbours, and height."""
    n = len(points)
    springs = sum(stretched(points[i], points[i + 1], rest) ** 2 for i in range(n - 1))
    return stiffness / 2 * springs + weight * sum(points[i, 1] for i in range(n))


def stretched(p: Any, q: Any, rest: float) -> Any:
    """How much longer than at rest a spring is; one that is shorter is slack."""
    return np.maximum(distance(p, q) - rest, 0.0)


def distance(p: Any, q: Any) -> Any:
    return np.sqrt((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2)


def catenary_bar(
    bar: float, points: np.ndarray, rest: float, stiffness: float, weight: float
) -> tuple[np.ndarray, Any, Any, Any]:
    apart = np.diff(points, axis=0)
    lengths = np.sqrt(np.sum(apart**2, axis=1))
    stretch = np.maximum(lengths - rest, 0.0)
    pull = (stiffness * stretch / lengths)[:, None] * apart
    points_bar = np.zeros_like(points)
    points_bar[1:] += pull
    points_bar[:-1] -= pull
    points_bar[:, 1] += weight
    rest_bar = -stiffness * np.sum(stretch)
    return bar * points_bar, bar * rest_bar, bar * np.sum(stretch**2) / 2, bar * np.sum(points[:, 1])


def warping(inside: Any, pinned: Any, moved: Any, angle: Any, target: Any, strength: float) -> Any:
    """Residuals of warping an image as rigidly as possible: each pixel turns its neighbourhood by one angle.

    For the neighbour to the right and below: the edge as moved, less the edge turned.
    """
    h, w = angle.shape
    right = [
        [
            [
                moved[i, j + 1, c] - moved[i, j, c] - (np.cos(angle[i, j]) if c == 0 else np.sin(angle[i, j]))
                if j + 1 < w and inside[i, j] and inside[i, j + 1]
                else 0.0
                for c in range(2)
            ]
            for j in range(w)
        ]
        for i in range(h)
    ]
    down = [
        [
            [
                moved[i + 1, j, c] - moved[i, j, c] - (-np.sin(angle[i, j]) if c == 0 else np.cos(angle[i, j]))
                if i + 1 < h and inside[i, j] and inside[i + 1, j]
                else 0.0
                for c in range(2)
            ]
            for j in range(w)
        ]
        for i in range(h)
    ]
    fit = [
        [[strength * (moved[i, j, c] - target[i, j, c]) if pinned[i, j] else 0.0 for c in range(2)] for j in range(w)]
        for i in range(h)
    ]
    return right, down, fit


def warping_bar(bars: Any, inside: Any, pinned: Any, moved: Any, angle: Any, target: Any, strength: float) -> Any:
    right, down, fit = (np.array(bar) for bar in bars)
    right[:, -1], down[-1] = 0, 0
    right[:, :-1] *= (inside[:, 1:] & inside[:, :-1])[..., None]
    down[:-1] *= (inside[1:] & inside[:-1])[..., None]
    fit *= pinned[..., None]
    moved_bar = strength * fit
    moved_bar[:, 1:] += right[:, :-1]
    moved_bar[1:] += down[:-1]
    moved_bar -= right + down
    s, c = np.sin(angle), np.cos(angle)
    angle_bar = right[..., 0] * s - right[..., 1] * c + down[..., 0] * c + down[..., 1] * s
    return None, None, moved_bar, angle_bar, -strength * fit, np.sum(fit * (moved - target))


def attraction(points: Any, mass: Any) -> Any:
    """Potential of bodies that attract each other, softened near 0."""
    n = len(points)
    return sum(-mass[i] * mass[j] / np.sqrt(separation(points, i, j) + 0.01) for i in range(n) for j in range(i))


def separation(points: Any, i: Any, j: Any) -> Any:
    return sum((points[i, c] - points[j, c]) ** 2 for c in range(points.shape[1]))


def attraction_bar(bar: float, points: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    apart = points[:, None] - points
    root = np.sqrt(np.sum(apart**2, axis=2) + 0.01)
    np.fill_diagonal(root, np.inf)
    pull = np.outer(mass, mass) / root**3
    return bar * np.einsum("ij,ijc->ic", pull, apart), -bar * np.sum(mass / root, axis=1)


# ---- matrices ----


def quadratic(x: Any, a: Any) -> Any:
    """xᵀ A x."""
    n = len(x)
    return sum(x[i] * a[i, j] * x[j] for i in range(n) for j in range(n))


def quadratic_bar(bar: float, x: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return bar * (a + a.T) @ x, bar * np.outer(x, x)


def normal_form(x: Any, a: Any) -> Any:
    """xᵀ (AᵀA) x."""
    m, n = a.shape
    gram = [[sum(a[k, i] * a[k, j] for k in range(m)) for j in range(n)] for i in range(n)]
    return sum(x[i] * gram[i][j] * x[j] for i in range(n) for j in range(n))


def normal_form_bar(bar: float, x: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return 2 * bar * a.T @ (a @ x), 2 * bar * np.outer(a @ x, x)


def factorisation(w: Any, h: Any, a: Any) -> Any:
    """Itakura and Saito's divergence of A from W H: Σ ln (W H) + A / (W H)."""
    n, k = w.shape
    m = h.shape[1]
    product = [[sum(w[i, r] * h[r, j] for r in range(k)) for j in range(m)] for i in range(n)]
    return sum(np.log(product[i][j]) + a[i, j] / product[i][j] for i in range(n) for j in range(m))


def factorisation_bar(bar: float, w: np.ndarray, h: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
    product = w @ h
    product_bar = bar * (1 / product - a / product**2)
    return product_bar @ h.T, w.T @ product_bar, bar / product


# ---- all of them, with arguments ----


@dataclass(frozen=True)
class Case:
    """A program, its arguments, and its derivative by hand: (ȳ, *args) to one cotangent per argument, or None."""

    f: Callable[..., Any]
    by_hand: Callable[..., Any]
    args: tuple[Any, ...]

    def __str__(self) -> str:
        return self.f.__name__


def cases(seed: int = 0, n: int = 5, m: int = 4) -> list[Case]:
    """The programs at arguments of some size."""
    rng = np.random.default_rng(seed)
    image, x = rng.normal(size=(n, m)), rng.normal(size=n)
    inside, pinned = rng.random((n, m)) < 0.7, rng.random((n, m)) < 0.3
    chain = np.stack([np.arange(float(n)), rng.normal(size=n)], axis=1)
    moved, angle = rng.normal(size=(n, m, 2)), rng.normal(size=(n, m))
    w, h, a = (rng.random(shape) + 0.5 for shape in ((n, 2), (2, m), (n, m)))
    return [
        Case(blur, blur_bar, (image,)),
        Case(image_gradient, image_gradient_bar, (image,)),
        Case(laplacian, laplacian_bar, (image,)),
        Case(masked_laplacian, masked_laplacian_bar, (inside, image)),
        Case(catenary, catenary_bar, (chain, 0.9, 3.0, 0.5)),
        Case(warping, warping_bar, (inside, pinned, moved, angle, moved + 0.1, 0.7)),
        Case(attraction, attraction_bar, (rng.normal(size=(n, 2)), rng.random(n))),
        Case(quadratic, quadratic_bar, (x, rng.normal(size=(n, n)))),
        Case(normal_form, normal_form_bar, (x, rng.normal(size=(m, n)))),
        Case(factorisation, factorisation_bar, (w, h, a)),
    ]
