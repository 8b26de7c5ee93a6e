"""Random Python functions in the tensor language, as source that can be read."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np

Scope = dict[str, str]
"""The indices in scope, and the range of each."""


class Writer:
    """Writes functions of a vector x of n, a matrix a of n × m and a relation r on n × m."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.counter = 0

    def name(self, base: str) -> str:
        self.counter += 1
        return f"{base}{self.counter}" if self.rng.random() < 0.7 else base

    def function(self) -> str:
        scope: Scope = {}
        lines = ["def f(r, x, a, s):", "    n, m = a.shape"]
        vectors = ["x"]
        for _ in range(self.rng.randrange(3)):
            lines.append(f"    y{len(vectors)} = {self.vector(scope, vectors)}")
            vectors.append(f"y{len(vectors)}")
        lines.append(f"    return {self.result(scope, vectors)}")
        return "\n".join(lines) + "\n"

    def result(self, scope: Scope, vectors: list[str]) -> str:
        kind = self.rng.randrange(4)
        if kind == 0:
            return self.scalar(scope, vectors, 3)
        if kind == 1:
            return self.vector(scope, vectors)
        if kind == 2:
            return f"({self.scalar(scope, vectors, 2)}, {self.vector(scope, vectors)})"
        i, j = self.name("i"), self.name("j") + "_"
        inner = {**scope, i: "n", j: "m"}
        return f"[[{self.scalar(inner, vectors, 2)} for {j} in range(m)] for {i} in range(n)]"

    def vector(self, scope: Scope, vectors: list[str]) -> str:
        i = self.name("i")
        return f"[{self.scalar({**scope, i: 'n'}, vectors, 3)} for {i} in range(n)]"

    def scalar(self, scope: Scope, vectors: list[str], depth: int) -> str:
        kind = self.rng.randrange(9) if depth else 0
        if kind <= 1:
            return self.leaf(scope, vectors)
        if kind == 2:
            op = self.rng.choice(["+", "-", "*", "+"])
            return f"({self.scalar(scope, vectors, depth - 1)} {op} {self.scalar(scope, vectors, depth - 1)})"
        if kind == 3:
            return f"np.{self.rng.choice(['sin', 'tanh', 'exp'])}({self.scalar(scope, vectors, depth - 1)} * 0.1)"
        if kind == 4:
            p = self.predicate(scope)
            other = self.rng.choice(["0.0", "0", self.scalar(scope, vectors, depth - 1)])
            return f"({self.scalar(scope, vectors, depth - 1)} if {p} else {other})"
        if kind == 5:
            return f"{self.scalar(scope, vectors, depth - 1)} * {self.rng.choice(['s', '2', '0.5', 's'])}"
        return self.sum(scope, vectors, depth)

    def sum(self, scope: Scope, vectors: list[str], depth: int) -> str:
        k = self.name("k")
        inner = {name: n for name, n in scope.items() if name != k}
        spans = [("n", "n"), ("m", "m"), *[(f"{i}, n", "n") for i in inner]]
        spans += [(f"{i} + 1", n) for i, n in inner.items()]
        span, n = self.rng.choice(spans)
        inner[k] = n
        test = f" if {self.predicate(inner)}" if self.rng.random() < 0.5 else ""
        return f"sum({self.scalar(inner, vectors, depth - 1)} for {k} in range({span}){test})"

    def leaf(self, scope: Scope, vectors: list[str]) -> str:
        if not scope or self.rng.random() < 0.1:
            return self.rng.choice(["s", "1.5", "x[0]", "a[0, -1]"])
        if self.rng.random() < 0.6:
            return self.access(self.rng.choice(vectors), [("n", self.affine(scope))], scope)
        return self.access("a", [("n", self.affine(scope)), ("m", self.affine(scope))], scope)

    def affine(self, scope: Scope) -> str:
        """An index, or something near it."""
        i = self.rng.choice(list(scope))
        other = self.rng.choice(list(scope))
        return self.rng.choice([i, i, i, f"{i} + 1", f"{i} - 1", f"2 * {i}", f"{i} - {other}", f"n - 1 - {i}"])

    def access(self, array: str, places: list[tuple[str, str]], scope: Scope) -> str:
        text = f"{array}[{', '.join(at for _, at in places)}]"
        loose = [f"0 <= {at} < {n}" for n, at in places if scope.get(at) != n]
        return f"({text} if {' and '.join(loose)} else 0.0)" if loose else text

    def predicate(self, scope: Scope) -> str:
        if not scope:
            return self.rng.choice(["n > m", "m >= 2", "n == m"])
        kind = self.rng.randrange(6)
        i, j = self.rng.choice(list(scope)), self.rng.choice(list(scope))
        if kind <= 1:
            op = self.rng.choice(["<", "<=", "==", "!=", ">", ">="])
            return f"{i} {op} {self.rng.choice([j, '1', f'2 * {j}', 'n - 2'])}"
        if kind == 2:
            return f"({self.predicate(scope)} {self.rng.choice(['and', 'or'])} {self.predicate(scope)})"
        if kind == 3:
            return f"not {self.predicate(scope)}"
        rows, columns = [i for i, n in scope.items() if n == "n"], [j for j, n in scope.items() if n == "m"]
        if rows and columns:
            return f"r[{self.rng.choice(rows)}, {self.rng.choice(columns)}]"
        if rows and kind == 4:
            return f"any(r[{self.rng.choice(rows)}, q] and q < {i} + 1 for q in range(m))"
        return f"{i} > 0"


def written(seed: int) -> tuple[Callable[..., Any], str]:
    """The function of a seed, and its source."""
    source = Writer(seed).function()
    file = f"<random function {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), namespace)
    return namespace["f"], source


def arguments(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 5, size=2)
    return rng.random((n, m)) < 0.5, rng.normal(size=n), rng.normal(size=(n, m)), float(rng.normal())
