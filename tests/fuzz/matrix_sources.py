"""Random loops over small matrices, vectors and numbers, as text: linear algebra, statistics, masks, stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STATEMENTS = [
    "p = np.linalg.inv(p @ p.T + eye) * 0.5 + a", "b = np.linalg.solve(a + 6 * eye, b) + b * 0.1",
    "p = 0.3 * np.linalg.cholesky(p @ p.T + eye)", "c = c * 0.5 + np.linalg.slogdet(p @ p.T + eye)[1]",
    "c = c * 0.1 + np.linalg.det(a * 0.2 + eye)", "p = np.tril(p) + 0.5 * np.triu(p, 1)",
    "p = np.where(p > 0.1, p * 0.9, 0.1 * p + 0.01)", "b = b - b.mean(); b = b / (1.0 + np.var(b))",
    "p = p - p.mean(axis=0)", "p = p / (1.0 + np.std(p, axis=1, keepdims=True))", "p = p * 0.5 + np.diag(b)",
    "b = b + np.diag(p) * 0.1", "c = c + np.trace(p) * 0.1", "c = 0.5 * c + np.dot(b, b) * 0.1", "b = a.dot(b) * 0.2",
    "c = min(c, 3.0, float(b[0]) * 2.0)", "c = max(c * 0.9, float(b[1]), -1.0)",
    "c = 0.3 * c + sum([float(x) for x in b])",
    "b = np.clip(b, -1.0, 0.8)", "b = np.floor(b * 3.0) * 0.1 + b * 0.5", "b = np.remainder(b, 0.7)",
    "b = np.logaddexp(b, 0.1) * 0.5", "p[i % 3] = b", "b = b + p[i % 3, :] * 0.1", "u[i] = c", "c = c + u[i - 1] * 0.1",
    "b = np.abs(b) ** 1.5 * 0.3", "b = np.add.reduce(p) * 0.1 + b * 0.5", "c = c * 0.5 + np.linalg.norm(b)",
    "m = p > 0.0; p = p * m + 0.1 * a", "b = np.maximum(b, a[0]) * 0.7", "b = np.concatenate([b[1:], b[:1]])",
    "for w in (a[0] * 0.5, a[1] + 0.1, b * 0.3): b = np.tanh(b * w) + 0.1 * w", "if c > 0.5: b = b * 0.9",
    "b = np.sqrt(np.square(b) + 0.1)", "p = p @ a * 0.2 + 0.3 * eye",
]  # fmt: skip


def matrix_function(seed: int) -> tuple[str, Callable[..., Any]]:
    """A random function of a matrix and a vector, and its text."""
    rng = np.random.default_rng(seed)
    chosen = [STATEMENTS[k] for k in rng.choice(len(STATEMENTS), rng.integers(2, 7))]
    lines = ["def f(a, b):", f"    n = {int(rng.integers(6, 25))}"]
    lines += ["    p, c, u, b = a * 0.5, float(b[0]), np.zeros(n), b * 1.0", "    for i in range(n):"]
    lines += [*[f"        {line}" for line in chosen], "    return np.sum(p * p) + np.sum(b) + c + np.sum(u)"]
    space: dict[str, Any] = {"np": np, "eye": np.eye(3)}
    exec("\n".join(lines), space)
    return "\n".join(lines), space["f"]


def matrix_arguments(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Arguments for a random function."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, 3)), rng.normal(size=3)
