"""Random loops that count: programs of a float whose whole numbers go up, around, decide and are computed with."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np

_WHOLE = [
    "{n} + 1", "{n} + 2", "{n} - 1", "{n} + {m}", "{n} * 2 % 1009", "({n} + {m}) % 7", "{n} // 2", "-{n}", "3",
    "{n} * {m} % 101", "{n} ^ 5", "{n} & 6", "abs({n}) + 1", "{n} if x > 1.0 else {m}", "{n} * {n} % 37", "~{n}",
    "{n} + (x > 1.0)", "{n} % ({m} % 3 + 1)", "2 ** ({n} % 5)", "int({n}) + 1", "{n} << 1 if {n} < 50 else 1",
    "len(table) + {n}", "{n} | 1", "(-1) ** {n} if {n} >= 0 else {n} - 1",
]  # fmt: skip
_FLOAT = [
    "x * {c}", "x - 0.1 * x / (abs({n}) + 1)", "x * (0.9 if {n} % 2 == 0 else 0.7)", "x * {c} + 0.001 * {n} / 1009",
    "x * math.exp(-0.1 * ({n} % 3 + 1))", "x * {c} if {n} < {m} else x * 0.95", "x * 0.9 ** ({n} % 4)",
    "x * (1 - 1 / ({n} * {n} + 2))", "x * {c} * np.cos(0.01 * {n})", "x * 0.9 - 1e-4 * ({n} % 10) ** 2",
    "x * table[{n} % 3]", "x * 0.9 * float(1 if {n} else 2) / 2", "x * np.sqrt({n} % 7 + 2) / 3", "x * t / (t + 0.3)",
    "x * (0.8 if {n} == {m} else 0.9)", "x * (0.5 if {n} in (2, 5) else 0.9)", "x * min(0.9, 0.5 + t)",
    "x * {c} * np.mean(np.ones({n} % 3 + 1))", "x * (0.6 if bool({n}) and not {m} else 0.85)", "helper(x, {n})",
]  # fmt: skip
_STATEMENTS = [
    "x = {float}", "x = {float}", "{n} = {whole}", "{n} += 1", "{n} -= 1", "{n}, {m} = {m}, {n} + 1", "t = t + 0.1",
    "s = s + x * {n}", "s = s + x", "if {n} % 3 == 1:\n    {n} = {whole}", "if x > 0.7:\n    {n} = {whole}",
    "if {n} > 40 or {n} < -40:\n    {n} = 0", "t *= 0.97", "if {n} % 5 == 3:\n    continue", "s = s + t * x / 3",
    "while {k} < 3 and x > 0.4:\n    x, {k} = x * 0.9, {k} + 1\n{k} = 0", "bag.n = {n}", "s = s + bag.n * x",
    "for j in range({n} % 3):\n    x = x * (0.97 - 0.01 * j)", "{n} = {n} + table.index(0.7)", "y = x\nx = x * {c}",
]  # fmt: skip
_HEADS = [
    "while x > {low}:", "while x > {low} and n < {most}:", "for k in range({most}):\n    if x < {low}:\n        break",
    "while True:\n    if x < {low} or n > {most}:\n        break",
    "while n < {most}:\n    if x < {low}:\n        break",
    "for k in range({most}, 0, -2):\n    if x * k < {low}:\n        break", "while abs(x) > {low}:",
]  # fmt: skip
_ENDS = ["x", "x * n", "x + s", "s * x - m", "x * t + n / (abs(k) + 1)", "s / (n * n + 1)", "x * (n // 2) + m % 3 * s"]


class Bag:
    """An object made inside."""

    n = 1


def helper(x: Any, n: Any) -> Any:
    if n % 2:
        return x * 0.9
    return x * (0.8 + 0.1 / (n * n + 1))


def a_program(seed: int) -> tuple[Callable[..., Any], str]:
    """A program, and its text."""
    r = random.Random(seed)

    def filled(text: str) -> str:
        words = {
            "n": r.choice("nnmk"), "m": r.choice("nmk"), "k": r.choice("mk"), "c": r.choice(["0.9", "0.8", "0.65"]),
            "low": r.choice(["0.1", "0.3", "0.02"]), "most": r.choice(["7", "12", "30", "60"]),
        }  # fmt: skip
        words |= {"float": "", "whole": ""}
        words["float"] = r.choice(_FLOAT).format(**words) if "{float}" in text else ""
        words["whole"] = r.choice(_WHOLE).format(**words) if "{whole}" in text else ""
        return text.format(**words)

    head = filled(r.choice(_HEADS))
    body = [filled(r.choice(_STATEMENTS)) for _ in range(r.randint(1, 4))]
    body = ["tries += 1\nif tries > 80:\n    break", filled("x = {float}"), *body] if r.random() < 0.8 else [
        "if x < -50 or x > 1e6 or abs(n) > 300:\n    break", "n += 1", "x = x * 0.93", *body]  # fmt: skip
    r.shuffle(body)
    if "tries += 1\nif tries > 80:\n    break" in body:  # which no `continue` jumps over
        body.remove("tries += 1\nif tries > 80:\n    break")
        body.insert(0, "tries += 1\nif tries > 80:\n    break")
    else:
        body = [line for line in body if "continue" not in line]
        body.insert(0, "rounds += 1\nif rounds > 90:\n    break")
    lines = "\n".join(body).replace("\n", "\n    ")
    text = (
        "def program(x):\n    n, m, k, t, s, y, tries, rounds = 0, 1, 0, 0.5, 0.0, x, 0, 0\n"
        "    table, bag = [0.9, 0.8, 0.7], Bag()\n    "
        + f"{head}\n    {lines}\nreturn {r.choice(_ENDS)}\n".replace("\n", "\n    ").rstrip()
        + "\n"
    )
    space: dict[str, Any] = {"np": np, "math": __import__("math"), "Bag": Bag, "helper": helper}
    exec(compile(text, f"<counting {seed}>", "exec"), space)
    return space["program"], text


@functools.cache
def arguments(seed: int) -> list[float]:
    r = random.Random(seed)
    return [r.uniform(0.05, 6.0) for _ in range(8)] + [r.uniform(5.0, 100.0), 0.2, 1.0]
