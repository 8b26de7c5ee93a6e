"""Functions of the tensor language as people write them, each with arguments, of which numbers stand first.

Conditions and ranges hide in them what may not be looked at: empty rows, borders, zeros below a division.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

N = 4


@dataclass(frozen=True)
class Written:
    """A function, its arguments, and how many of them are numbers."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    numbers: int


WRITTEN: list[Written] = []


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + len(shape)).uniform(0.5, 2.0, shape)


X, Y, A, B = numbers(N), numbers(N, seed=1), numbers(N, N), numbers(N, N, seed=1)
RELATED = np.array([[0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1], [1, 1, 1, 1]], bool)
GRAPH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], bool)
SOME = np.array([True, False, True, False])
NEXT = np.array([2, 0, 3, 3])


def of(*args: Any, count: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The function belongs here, called with these."""

    def kept(f: Callable[..., Any]) -> Callable[..., Any]:
        WRITTEN.append(Written(f, args, len(args) if count is None else count))
        return f

    return kept


@of(A)
def integral_image(a):
    n = len(a)
    s = [[sum(a[k, m] for k in range(i + 1) for m in range(j + 1)) for j in range(n)] for i in range(n)]
    return [
        [s[i][j] * (s[i - 1][j] if i > 0 else 1.0) - (s[i][j - 1] if j > 0 else 0.0) * s[i][j] for j in range(n)]
        for i in range(n)
    ]


@of(A, X)
def forward_substitution_step(a, x):
    n = len(x)
    first = [(x[i] - sum(a[i, j] * x[j] for j in range(i))) / a[i, i] for i in range(n)]
    return [(first[i] - sum(a[i, j] * first[j] for j in range(i))) / a[i, i] for i in range(n)]


@of(X, Y)
def window_around(x, y):
    n = len(x)
    return [
        sum(x[j] * y[j] for j in range(max(i - 1, 0), min(i + 2, n))) / sum(y[j] for j in range(max(i - 1, 0), i + 1))
        for i in range(n)
    ]


@of(A)
def distances(p):
    n, d = p.shape
    return [
        [np.sqrt(sum((p[i, k] - p[j, k]) ** 2 for k in range(d))) if i != j else 0.0 for j in range(n)]
        for i in range(n)
    ]


@of(A, RELATED, count=1)
def masked_softmax(a, r):
    n = len(a)
    e = [[np.exp(a[i, j]) if r[i, j] else 0.0 for j in range(n)] for i in range(n)]
    total = [sum(e[i][j] for j in range(n)) for i in range(n)]
    return [[e[i][j] / total[i] if any(r[i, k] for k in range(n)) else 0.0 for j in range(n)] for i in range(n)]


@of(A, B)
def causal_attention(q, v):
    n = len(q)
    e = [[np.exp(sum(q[i, k] * q[j, k] for k in range(n)) * 0.3) for j in range(n)] for i in range(n)]
    return [
        [sum(e[i][j] * v[j, c] for j in range(i + 1)) / sum(e[i][j] for j in range(i + 1)) for c in range(n)]
        for i in range(n)
    ]


@of(A, numbers(3, 3))
def blurred(image, w):
    n, m = image.shape
    return [
        [
            sum(
                w[k, c] * image[i + k - 1, j + c - 1]
                for k in range(3)
                for c in range(3)
                if 0 <= i + k - 1 < n and 0 <= j + c - 1 < m
            )
            for j in range(m)
        ]
        for i in range(n)
    ]


@of(X, numbers(2))
def strided(x, w):
    return [sum(w[k] * x[2 * i + k] for k in range(2)) ** 2 for i in range(len(x) // 2)]


@of(X, Y, RELATED, count=2)
def segments(x, w, r):
    n = len(x)
    total = [sum(w[j] for j in range(n) if r[i, j]) for i in range(n)]
    return [
        sum(w[j] * x[j] for j in range(n) if r[i, j]) / total[i] if any(r[i, j] for j in range(n)) else x[i]
        for i in range(n)
    ]


@of(X, GRAPH, count=1)
def laplacian_energy(x, g):
    n = len(x)
    return sum((x[i] - x[j]) ** 2 * x[i] for i in range(n) for j in range(n) if g[i, j] and i < j)


@of(X, Y, GRAPH, count=2)
def normalised_laplacian(x, w, g):
    n = len(x)
    degree = [sum(w[i] * w[j] for j in range(n) if g[i, j]) for i in range(n)]
    return [x[i] - sum(x[j] / np.sqrt(degree[i] * degree[j]) for j in range(n) if g[i, j]) for i in range(n)]


@of(X)
def evens_and_odds(x):
    n = len(x)
    return [x[i] ** 2 if any(2 * k == i for k in range(n)) else 1.0 / x[i] for i in range(n)]


@of(X, X + 2 * np.arange(N))
def vandermonde(x, y):
    n = len(x)
    return sum(x[i] * x[j] / (y[i] - y[j]) for i in range(n) for j in range(i))


@of(X, Y)
def toeplitz(x, y):
    n = len(x)
    return [
        sum((x[i - j] if j <= i else x[j - i]) * y[j] ** 2 for j in range(n) if abs(i - j) + 1 < n) for i in range(n)
    ]


@of(X)
def poisson(x):
    n = len(x)
    return [x[i] ** 2 if i == 0 or i == n - 1 else (x[i - 1] - 2 * x[i] + x[i + 1]) * x[i] for i in range(n)]


@of(X, Y)
def trapezoids(x, y):
    n = len(x)
    return [sum((x[k + 1] - x[k]) * (y[k] + y[k + 1]) / 2 for k in range(i)) for i in range(n)]


@of(X)
def running_products(x):
    return [np.exp(sum(np.log(x[k]) for k in range(i + 1))) for i in range(len(x))]


@of(X)
def autocorrelation(x):
    n = len(x)
    r = [sum(x[i] * x[i + lag] for i in range(n - lag)) for lag in range(n)]
    return [r[lag] / r[0] if lag > 0 else r[0] for lag in range(n)]


@of(X, NEXT, count=1)
def pointers(x, after):
    n = len(x)
    return [(x[after[i]] - x[i]) / (x[after[after[i]]] + sum(x[after[k]] for k in range(i))) for i in range(n)]


@of(X * SOME, Y, SOME, count=2)
def divergence(p, q, seen):
    return sum(p[i] * np.log(p[i] / q[i]) for i in range(len(p)) if seen[i])


@of(A, RELATED, count=1)
def rows_that_are_full(a, r):
    n = len(a)
    return [sum(a[i, j] * a[j, i] for j in range(n) if all(r[j, k] or k == j for k in range(n))) for i in range(n)]


@of(A)
def outer_of_triangle(a):
    n = len(a)
    return [[sum(a[i, k] * a[j, k] for k in range(min(i, j) + 1)) for j in range(n)] for i in range(n)]


@of(A)
def batch_normalised(a):
    n, m = a.shape
    mean = [sum(a[i, j] for i in range(n)) / n for j in range(m)]
    spread = [sum((a[i, j] - mean[j]) ** 2 for i in range(n)) / n for j in range(m)]
    return [[(a[i, j] - mean[j]) / np.sqrt(spread[j] + 0.1) for j in range(m)] for i in range(n)]


@of(X, RELATED, count=1)
def leaders(x, r):
    n = len(x)
    return [
        x[i] / sum(x[j] for j in range(i)) if i > 0 and not any(r[j, i] and j < i for j in range(n)) else x[i] * x[0]
        for i in range(n)
    ]


@of(X * SOME, A, SOME, count=2)
def only_those_seen(x, a, seen):
    n = len(x)
    inverse = [1.0 / x[i] if seen[i] else 0.0 for i in range(n)]
    return [sum(a[i, j] * inverse[j] for j in range(n) if j > i) / (x[i] if seen[i] else 2.0) for i in range(n)]


@of(X, A)
def several(x, a):
    n = len(x)
    y = [sum(a[i, j] * x[j] for j in range(i, n)) for i in range(n)]
    return sum(y[i] * x[n - 1 - i] for i in range(n)), [np.tanh(y[i]) * (y[i - 1] if i else 1.0) for i in range(n)]


@of(X, A, RELATED, count=2)
def walks_of_two(x, a, r):
    n = len(x)
    return sum(
        x[i] * a[i, j] * a[j, k] / x[k] for i in range(n) for j in range(n) if r[i, j] for k in range(n) if r[j, k]
    )


@of(A, X)
def corners(a, x):
    n = len(x)
    return [
        [
            a[i, j] * x[j] if i <= j else sum(a[k, j] / x[k] for k in range(j + 1, i)) if i - j > 1 else 0.0
            for j in range(n)
        ]
        for i in range(n)
    ]
