"""Random functions that choose items by masks and indices, as text: in loops, too, and items of the chosen ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TESTS = [
    "{z} > 0.0", "{z} < {c}", "np.abs({z}) > 0.4", "({z} > -0.5) & ({z} < 0.5)", "~({z} > 0.3)", "{z} > {z}.mean()",
    "{z} != {z}", "{z} > -9.0", "np.isfinite({z}) & ({z} > 0.1)", "{z} > 3.0",
]  # fmt: skip
CHOICES = [
    "p = z[m]", "p = z[m] * u[m]", "i = np.where(m)[0]; p = z[i] + u[i]", "i = np.flatnonzero(m); p = z[i - 1] * z[i]",
    "i = np.nonzero(m)[0]; p = z[(2 * i) % n]", "p = X[m] @ w", "p = X[m, 1] * z[m]", "p = np.exp(-(z[m] ** 2))",
    "p = np.concatenate([z[m], u[~m]])", "p = np.zeros(len(z[m])) + c", "p = np.take(z, np.flatnonzero(m)).copy()",
    "p = (X * w)[m].sum(axis=1)", "p = (X * w)[m][:, 0]", "p = z[m]; p *= 0.5", "q = z[m]; p = q[q > 0.1]",
    "p = np.sqrt(np.abs(z[m]) + 0.1)", "p = np.cumsum(z[m])", "p = np.interp(z[m], [-1.0, 0.0, 1.0], [0.0, 1.0, 3.0])",
    "p = np.linalg.norm(X[m] * w, axis=1)", "p = z[m]; p = p - c * len(p)", "p = np.minimum(z[m], c)",
]  # fmt: skip
CHANGES = [
    "p = p[p < c]", "p = np.where(p > c, p, 0.5 * p)", "p = p * 0.9 + 0.1 * np.sin(p)", "p[p > 0.0] *= 0.3",
    "p[p < c] = c", "p += c", "p = np.clip(p, -1.0, 1.0)", "p = p[p == p]",
    "p = np.log1p(p * p)", "p = p / (1.0 + p.size)",
]  # fmt: skip
WRITES = [
    "z[m] = 0.5 * z[m]", "z[m] += c", "z[m] *= u[m]", "z[~m] = c", "z = z.copy(); z[m] = np.tanh(z[m]) + 0.1",
    "u[m] = z[m] ** 2", "i = np.where(m)[0]; u[i] = z[i] * c", "np.add.at(u, np.flatnonzero(m) // 2, z[m])",
    "X2[m] = X2[m] * 0.5", "z = np.where(m, z * 0.7, z)",
]  # fmt: skip
SUMS = [
    "s = s + p.sum()", "s = s + np.sum(p * p)", "s = s + (p.mean() if len(p) else c)", "s = s + p @ p",
    "s = s + (p.max() - p.min() if p.size > 0 else 0.0)", "s = s + np.sum(p) / max(len(p), 1)",
    "s = s + (p.var() if len(p) > 1 else 0.0)", "s = s + np.prod(1.0 + 0.01 * p)",
    "s = s + (p[0] + p[-1] if len(p) > 1 else c)",
    "s = s + c * len(p)", "s = s + (c if np.any(p > 0.2) else 0.1)", "s = s + c * np.count_nonzero(p > 0.0)",
    "s = s + (np.sqrt(p.var(ddof=1) + 0.01) if len(p) > 2 else c)", "s = s + np.linalg.norm(p + 0.1)",
    "s = s + np.sum(np.ones(len(p)) * p)",
    "s = s + 0.1 * np.sum(np.sort(p)[:2])", "s = s + sum(v * v for v in p)", "s = s + c * len(list(p))",
    "s = s + np.sum(np.full_like(p, 0.5)) * c", "s = s + np.median(p) if len(p) else s",
]  # fmt: skip


def selection_function(seed: int) -> tuple[str, Callable[..., Any]]:
    """A random function of a matrix and a vector, and its text."""
    rng = np.random.default_rng(seed)

    def line(lines: list[str]) -> str:
        return str(rng.choice(lines))

    def block() -> list[str]:
        found = ["m = " + line(TESTS).format(z=line(["z", "z", "u"]), c="c")]
        if rng.random() < 0.6:
            found.append(line(WRITES))
        if rng.random() < 0.9:
            found.append(line(CHOICES))
            found += [line(CHANGES) for _ in range(int(rng.integers(0, 3)))]
            found += [line(SUMS[:15] if rng.random() < 0.85 else SUMS) for _ in range(int(rng.integers(1, 3)))]
        return found

    lines = ["z, u, c, s, n = X @ w, X[:, 0] * w[1], w[2] * 0.3, 0.0, len(X)", "X2 = X * w[0]"]
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.4:
            lines.append(f"for k in range({rng.integers(2, 16)}):")
            lines += [f"    {each}" for each in block()]
            lines.append(f"    {line(['c = 0.9 * c + 0.01', 'z = z * 0.95 + 0.02 * k', 'u = u * 0.9 + 0.1 * z'])}")
        else:
            lines += block()
    lines.append("return s + np.sum(z * z) + np.sum(u) + c + np.sum(X2)")
    text = "\n    ".join(["def f(X, w):", *lines])
    space: dict[str, Any] = {}
    exec("import numpy as np\n" + text, space)
    return text, space["f"]


def selection_arguments(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Arguments for several calls of a random function: the same data, and other parameters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(2, 25)), 3))
    return [(X, rng.normal(size=3)) for _ in range(7)]
