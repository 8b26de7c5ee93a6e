"""Short programs whose derivative is cheap, and is not where zeros and sizes are lost sight of; with what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def convolution(x: Any, w: Any) -> Any:
    n, m = len(x), len(w)
    return [sum(w[j] * x[i - j] for j in range(m) if 0 <= i - j) for i in range(n)]


def deconvolution(x: Any, w: Any, y: Any) -> Any:
    n, m = len(x), len(w)
    blurred = [sum(w[j] * x[i - j] for j in range(m) if 0 <= i - j) for i in range(n)]
    return sum((blurred[i] - y[i]) ** 2 for i in range(n))


def squares(x: Any, y: Any) -> Any:
    return sum((a - b) ** 2 for a, b in zip(x, y))  # noqa: B905


def trace(a: Any) -> Any:
    return sum(a[i, i] for i in range(len(a)))


def diagonal(x: Any) -> Any:
    n = len(x)
    return [[x[i] if i == j else 0.0 for j in range(n)] for i in range(n)]


def trace_of_diagonal(x: Any) -> Any:
    n = len(x)
    whole = [[x[i] if i == j else 0.0 for j in range(n)] for i in range(n)]
    return sum(whole[i][i] for i in range(n))


def traces(x: Any) -> Any:
    """Three traces of x xᵀ."""
    n = len(x)
    whole = [[x[i] * x[j] for j in range(n)] for i in range(n)]
    return sum(whole[i][i] for i in range(n)) + sum(whole[i][i] for i in range(n)) + sum(whole[i][i] for i in range(n))


def trace_of_outer(a: Any) -> Any:
    """Of the first column with the first row."""
    n = len(a)
    whole = [[a[i, 0] * a[0, j] for j in range(n)] for i in range(n)]
    return sum(whole[i][i] for i in range(n))


def chained(x: Any) -> Any:
    """Outer products of the first column and row of one another."""
    n = len(x)
    first = [[x[i] * x[j] for j in range(n)] for i in range(n)]
    second = [[first[i][0] * first[0][j] for j in range(n)] for i in range(n)]
    third = [[second[i][0] * second[0][j] for j in range(n)] for i in range(n)]
    return sum(third[i][i] for i in range(n))


def unused(x: float) -> Any:
    a = x * x
    b = a * x  # noqa: F841
    return 2.0 * x


def skipped(x: Any, k: int) -> Any:
    """The sum without one element."""
    return sum(x[i] for i in range(len(x)) if i < k) + sum(x[i] for i in range(len(x)) if i > k)


def weight_fit(x: Any, y: Any, w: Any) -> Any:
    """Squared error of a filter over a batch."""
    batch, n = y.shape
    m = len(w)
    fitted = [[sum(w[j] * x[b, i + j] for j in range(m)) for i in range(n)] for b in range(batch)]
    return sum((fitted[b][i] - y[b, i]) ** 2 for b in range(batch) for i in range(n))


def pointwise(a: Any, b: Any) -> Any:
    n = len(a)
    return [[a[i, j] * b[i, j] for j in range(n)] for i in range(n)]


def product(a: Any, b: Any) -> Any:
    n = len(a)
    return [[sum(a[i, k] * b[k, j] for k in range(n)) for j in range(n)] for i in range(n)]


def masked_product(r: Any, a: Any, x: Any) -> Any:
    n = len(x)
    return [sum(a[i, j] * x[j] for j in range(n) if r[i, j]) for i in range(n)]


def running_sum(x: Any) -> Any:
    return [sum(x[j] for j in range(i + 1)) for i in range(len(x))]


@dataclass(frozen=True)
class Trap:
    """A program, arguments of size n, what it costs, and what its adjoint costs besides it (None: no closed form)."""

    f: Callable[..., Any]
    args: Callable[[int], tuple[Any, ...]]
    cost: Callable[[int], int]
    extra: Callable[[int], int] | None = None

    def __str__(self) -> str:
        return self.f.__name__


def pairs(n: int, m: int) -> int:
    """How many (i, j) have 0 <= i - j."""
    return n * m - m * (m - 1) // 2


def vector(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n)


def matrix(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, n))


def band(n: int) -> np.ndarray:
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1


TRAPS = [
    Trap(convolution, lambda n: (vector(n), vector(3)), lambda n: 2 * pairs(n, 3) - n),
    Trap(deconvolution, lambda n: (vector(n), vector(3), vector(n, 1)), lambda n: 2 * pairs(n, 3) + 3 * n - 1),
    Trap(squares, lambda n: (vector(n), vector(n, 1)), lambda n: 4 * n - 1),
    Trap(trace, lambda n: (matrix(n),), lambda n: n - 1, lambda n: 0),
    Trap(diagonal, lambda n: (vector(n),), lambda n: 0, lambda n: 0),
    Trap(trace_of_diagonal, lambda n: (vector(n),), lambda n: n - 1, lambda n: 0),
    Trap(traces, lambda n: (vector(n),), lambda n: n * n + 3 * (n - 1) + 2, lambda n: 5 * n),
    Trap(trace_of_outer, lambda n: (matrix(n),), lambda n: n * n + n - 1, lambda n: 2 * n + 1),
    Trap(chained, lambda n: (vector(n),), lambda n: 3 * n * n + n - 1),
    Trap(skipped, lambda n: (vector(n), n // 2), lambda n: n - 2, lambda n: 0),
    Trap(weight_fit, lambda n: (matrix(n + 2), matrix(n + 2)[:, :n], vector(3)), lambda n: 9 * n * (n + 2) - 1),
    Trap(pointwise, lambda n: (matrix(n), matrix(n, 1)), lambda n: n * n, lambda n: 2 * n * n),
    Trap(product, lambda n: (matrix(n), matrix(n, 1)), lambda n: 2 * n**3 - n**2, lambda n: 2 * (2 * n**3 - n**2)),
    Trap(masked_product, lambda n: (band(n), matrix(n), vector(n)), lambda n: 2 * (3 * n - 2) - n,
         lambda n: 3 * n - 2 + 2 * (3 * n - 2) - n),
    Trap(running_sum, lambda n: (vector(n),), lambda n: n * (n - 1) // 2, lambda n: n * (n - 1) // 2),
]  # fmt: skip
