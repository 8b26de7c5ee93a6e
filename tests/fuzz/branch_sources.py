"""Random loops with branches, as text: stores and reads at loop counters, tests of values and of counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

INNER = [
    "for j in range(i):", "for j in range(k % 5):", "for j in range(i - 1, n):", "for j in range(i % 3):",
    "for j in range(i, 0, -1):", "for j, b in enumerate(w):",
]  # fmt: skip
OF_INNER = [
    "c = c * 0.9 + 0.1 * x[j]", "s[i] += 0.1 * x[j] * c", "s[j] = s[j] * 0.9 + 0.1 * x[i]",
    "c = c + 0.05 * w[1] if x[j] > c else c * 0.95", "c = c + 0.01 * j",
]  # fmt: skip
TESTS = [
    "x[i] > 0.1", "c < 0.5", "s[i - 1] > x[i]", "i % 2 == 0", "i > n // 2", "abs(c) < 1.0 and x[i] < 0.3",
    "not c > 0.2", "c > x[i] or i == 3", "w[1] * x[i - 1] > c", "x[i] * x[i - 1] < 0.0",
]  # fmt: skip
STATEMENTS = [
    "s[i] = 0.5 * c + x[i]", "s[i] += 0.3 * s[i - 1]", "s[i] -= w[0] * x[i]", "c = 0.7 * c + s[i] * x[i]",
    "c += w[1] * x[i - 1]", "c = np.tanh(c) + 0.1", "c = math.exp(-c * c) + s[i - 1]",
    "d = c * w[2]; c = d + 0.1 * x[i]", "s[i] = s[i] * s[i]", "k += 1", "c = c + 0.01 * i",
    "m[i, 0] = c", "m[i, 1] = m[i - 1, 0] * 0.5 + x[i]",
    "m[i] = m[i - 1] * 0.5 + x[i]", "c = c + m[i, 1] * 0.1", "c = min(c, 2.0, s[i] + 1.0)", "c = max(c, x[i])",
    "v = v * 0.9 + x[i]", "v[0] += c", "c = c * 0.9 + v[1] * 0.1", "s[n - i] = s[n - i] * 0.5 + c", "c = abs(c) * 0.8",
    "c = c + 0.1 * float(k)", "c = 0.5 * c + 0.1 * x[2 * i // 3]", "v = np.where(v > c, v, 0.3 * v)",
    "t += x[i]", "t = t * 0.5 + x[i]", "t = x[i] - t", "c = c * 0.9 + 0.1 * t", "t = 0.1 * c", "w = w * 0.9 + 0.1",
]  # fmt: skip
APPENDED = ["c * 0.5", "c if c > 0.1 else 0.0", "0.5 if c > t else x[i]", "h[-1] * 0.5 if h and c > t else x[i]"]
OF_WALK = ["c = c * 0.8 + 0.1 * b", "c = c + 0.1 * mode", "c = 0.3 * b if mode == 1 else 0.7 * c", "c = abs(c) - 0.2"]


def _walk(rng: np.random.Generator) -> list[str]:
    """Return the lines of a function with a loop whose branches depend on values and on a constant."""
    lines = ["def walk(c, x, mode):", "    for b in x:"]
    for word, test in (("if", "c > b"), ("elif", "c * b > 0.1"), ("else", "")):
        lines += [f"        {word} {test}".rstrip() + ":", f"            {rng.choice(OF_WALK)}"]
        if rng.random() < 0.4:
            lines += ["            if mode == 2:", f"                {rng.choice(OF_WALK)}"]
    return [*lines, "    return c"]


def branch_function(seed: int) -> tuple[str, Callable[..., Any]]:
    """A random function of two vectors, with branches in a loop, and its text."""
    rng = np.random.default_rng(seed)
    lines = ["def f(x, w):", "    n, k, c, v, h = len(x), 0, w[0] * 1.0, w * 0.5, []"]
    lines += [f"    t = {rng.choice(['0', '0.0', '1', 'x[0]'])}"]
    lines += ["    s, m = np.zeros(n + 1) + x[0], np.zeros((n, 2)) + x[1]"]
    loop = [f"    for i in range({rng.integers(1, 3)}, n):", *_block(rng, 2, int(rng.integers(2, 5)), 2)]
    loop += [f"        h.append({rng.choice(APPENDED)})"] * (rng.random() < 0.3)
    if rng.random() < 0.3:
        loop = ["    for j in range(3):", "        c = c * 0.9 + 0.1 * w[j]", *[f"    {line}" for line in loop]]
    lines += [*loop, "    return np.sum(s) + c + t + np.sum(m * m) + np.sum(v) + np.sum(np.array(h) ** 2)"]
    if rng.random() < 0.2:
        lines[-1] = f"    {lines[-1].strip()} + walk(x[0], x, 1) + walk(x[1], x[: n // 2], {rng.integers(1, 3)})"
        lines += _walk(rng)
    space: dict[str, Any] = {}
    exec("import math\nimport numpy as np\n" + "\n".join(lines), space)
    return "\n".join(lines), space["f"]


def _block(rng: np.random.Generator, depth: int, count: int, most: int) -> list[str]:
    """Return the lines of a block with `count` statements, of which some are branches, nested at most so often."""
    lines = []
    for _ in range(count):
        kind = rng.random() if most else 1.0
        if most == 2 and kind > 0.9:
            lines.append("    " * depth + str(rng.choice(INNER)))
            lines += ["    " * (depth + 1) + str(line) for line in rng.choice(OF_INNER, int(rng.integers(1, 3)))]
            if rng.random() < 0.3:
                lines += ["    " * (depth + 1) + "if c * x[j] > 0.9:", "    " * (depth + 2) + "break"]
        elif kind < 0.45:
            lines.append("    " * depth + f"if {rng.choice(TESTS)}:")
            lines += _block(rng, depth + 1, int(rng.integers(1, 3)), most - 1)
            if rng.random() < 0.1:
                lines.append("    " * (depth + 1) + "continue")
            if rng.random() < 0.5:
                lines.append("    " * depth + "else:")
                lines += _block(rng, depth + 1, int(rng.integers(1, 3)), most - 1)
        else:
            lines.append("    " * depth + str(rng.choice(STATEMENTS)))
    return lines


def branch_arguments(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Arguments for a random function."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=int(rng.integers(8, 30))) * 0.7, rng.normal(size=3) * 0.5
