"""Random functions with loops, as text: carried, invariant and affine values, histories, peeled starts, nests."""

# ruff: noqa: E501 (several statements a line)

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

N = 4
STATEMENTS = [
    "a = np.tanh(a + b)", "a = a * 0.5 + np.sin(b)", "a, b = b, a * 0.25", "b = a - x", "b = -b + np.exp(x) * s",
    "a = np.tanh(w @ a)", "b = w[1] * a", "b = b * w[2] + w.T[1]", "a = a * w.T[0] - b", "b = (a + w[0]).reshape(2, 2).T.reshape(4)",
    "a = a + z[i]", "a = np.tanh(a) * z[i + 1] + z[i]", "b = b + z[n - i] * c", "t = a - z[i]; c = c + np.sum(t ** 2)",
    "c = c * 0.5 + np.sum(a * b)", "c = math.sin(c) + s", "c = c + a[1] * b[2] - z[i, 1]", "c = (z[i, 0] - z[i + 1, 0] ** 2) ** 2 * 0.5 + c",
    "u[i] = c * 0.5", "u[i + 1] = u[i] * 0.5 + c", "u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - u[2:])", "c = c + u[i] * u[i + 1]", "u[i] += a[0]",
    "v[:] = a * 0.5; b = b + v", "v[1:3] = b[1:3]; a = a + v", "m[i] = a", "b = b + m[i] * m[i + 1]", "m[i + 1] = b * w[3]",
    "kept.append(a)", "kept.append(a + c)", "a = a - p; p = b", "p, q = q, a; b = b * q + p", "a = a * 0.9 ** i", "b = b + x[i % 4] * x[(i * 3) % 4]",
    "e = a * a + b; a = np.tanh(e * e - b)", "e = 1.0 + np.exp(-a); b = b / e", "a = np.concatenate((a[:2], b[2:])) * s",
    "a = np.where(b > 0.0, a, 0.5 * b)", "a = a * np.sum(x * w[0])", "b = np.outer(a, x)[i % 2] + b", "a = np.tanh(a @ w) + z[2]",
    "for j in range(7): b = np.sin(b) * w[3] + a", "for j in range(12): c = c * 0.9 + x[2] * z[j % 5, 1]",
    "for j in range(9): a = a * 0.5 + np.tanh(b) * z[j]; b = b * s + z[i]", "for j in range(8): u[j] = u[j] * 0.5 + c",
    "if i < 2: a = a + x", "if i == n - 1: b = b * s", "if i > 0: c = c + b[0] * p[1]",
]  # fmt: skip
STARTS = [
    ("a", ["x", "np.zeros(4)", "w[0]", "x * s", "np.ones(4)"]), ("b", ["x", "w[1] * 0.5", "np.zeros(4)", "z[0]"]),
    ("c", ["0.0", "s", "x[0] * 0.5", "1.0"]), ("u", ["np.zeros(n + 3)", "z[:, 0].copy()", "np.ones(n + 3) * s"]),
    ("v", ["np.zeros(4)", "x.copy()"]), ("m", ["np.zeros((n + 2, 4))", "z.copy()"]), ("p", ["x", "np.zeros(4)"]),
    ("q", ["w[2]", "np.ones(4)"]),
]  # fmt: skip
ENDS = [
    "np.sum(a * b)",
    "c",
    "np.sum(u ** 2)",
    "np.sum(np.stack([k * s for k in kept]) ** 2) if kept else c",
    "np.sum(m)",
    "a[0] * c",
    "np.sum(p - q)",
]


def loop_source(seed: int) -> str:
    """The text of a random function f(x, w, z, s)."""
    rng = np.random.default_rng(seed)
    chosen = [STATEMENTS[k] for k in rng.choice(len(STATEMENTS), rng.integers(2, 9))]
    nested = any(["for j" in line for line in chosen])
    lines = ["def f(x, w, z, s):", f"    n = {int(rng.integers(6, 12 if nested else 51))}", "    kept = []"]
    lines += [f"    {name} = {ways[rng.integers(len(ways))]}" for name, ways in STARTS]
    lines += ["    for i in range(n):", *[f"        {line}" for line in chosen]]
    found = [ENDS[k] for k in rng.choice(len(ENDS), rng.integers(1, 4), replace=False)]
    return "\n".join([*lines, f"    return {' + '.join(found)}"])


def loop_function(seed: int) -> tuple[str, Callable[..., Any]]:
    """A random function, and its text."""
    text = loop_source(seed)
    space: dict[str, Any] = {"np": np, "math": math}
    exec(text, space)
    return text, space["f"]


def loop_arguments(seed: int) -> tuple[Any, ...]:
    """Arguments for a random function."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=N), rng.normal(size=(N, N)) * 0.4, rng.normal(size=(53, N)), float(rng.normal())
