"""Random functions as people write them: guards and ranges that hide what must not be looked at, as source.

Vectors x and y of n, a matrix a of n × n, relations R on n × n and Q on n, whole numbers p and q below n, a number s.
Numbers are small and whole, so that what stands below a division is often zero where a guard hides it.
"""

from __future__ import annotations

import linecache
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse


@dataclass(frozen=True)
class Scope:
    """The indices; what is known to stand in 0..n-1; the names of vectors and of matrices that can be read."""

    indices: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ("x", "x", "y")
    matrices: tuple[str, ...] = ("a",)

    def knowing(self, *inside: str, index: str | None = None) -> Scope:
        return replace(self, indices=(*self.indices, *([index] if index else [])), inside=(*self.inside, *inside))


@dataclass
class Writer:
    seed: int
    rng: random.Random = field(init=False)
    made: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def index(self) -> str:
        self.made += 1
        return f"{self.pick(*'ijklr')}{self.made}"

    def function(self) -> str:
        lines, scope = ["def f(x, y, a, R, Q, p, q, s):", "    n = len(x)"], Scope()
        for k in range(self.rng.randrange(3)):
            name = f"{self.pick('t', 'u', 'e', 'acc')}{k}"
            if self.rng.random() < 0.6:
                lines.append(f"    {name} = {self.vector(scope, 2)}")
                scope = replace(scope, vectors=(*scope.vectors, name, name))
            else:
                lines.append(f"    {name} = {self.matrix(scope, 1)}")
                scope = replace(scope, matrices=(*scope.matrices, name, name))
        result = self.rng.randrange(5)
        text = (
            self.total(scope, 3) if result < 2 else
            self.vector(scope, 3) if result == 2 else
            self.matrix(scope, 2) if result == 3 else
            f"({self.total(scope, 2)}, {self.vector(scope, 2)})"
        )  # fmt: skip
        return "\n".join([*lines, f"    return {text}"]) + "\n"

    def vector(self, scope: Scope, depth: int) -> str:
        i = self.index()
        return f"[{self.number(scope.knowing(i, index=i), depth)} for {i} in range(n)]"

    def matrix(self, scope: Scope, depth: int) -> str:
        i, j = self.index(), self.index()
        inner = scope.knowing(i, index=i).knowing(j, index=j)
        return f"[[{self.number(inner, depth)} for {j} in range(n)] for {i} in range(n)]"

    def number(self, scope: Scope, depth: int) -> str:
        if depth <= 0:
            return self.leaf(scope)
        kind = self.rng.randrange(12)
        if kind <= 1:
            return f"({self.number(scope, depth - 1)} {self.pick('+', '-', '*', '*')} {self.number(scope, depth - 1)})"
        if kind <= 3:
            return self.quotient(scope, depth)
        if kind == 4:
            return f"{self.pick('np.sin', 'np.tanh', 'math.cos', 'math.atan')}({self.number(scope, depth - 1)} * 0.3)"
        if kind == 5:
            f = self.pick("np.log", "np.sqrt", "math.log", "np.reciprocal", "math.sqrt")
            return f"{f}({self.leaf(scope)})"
        if kind == 6:
            return f"{self.leaf(scope)} ** {self.pick('2', '3', '0.5', '-1')}"
        if kind <= 8:
            return self.choice(scope, depth)
        return self.total(scope, depth)

    def quotient(self, scope: Scope, depth: int) -> str:
        below = self.pick(self.leaf(scope), self.leaf(scope), f"({self.leaf(scope)} - {self.leaf(scope)})",
                          f"({self.leaf(scope)} + 1.0)", f"({self.leaf(scope)} * {self.leaf(scope)})")  # fmt: skip
        return f"({self.pick('1.0', '2', self.number(scope, depth - 1))} / {below})"

    def choice(self, scope: Scope, depth: int) -> str:
        test, known = self.condition(scope)
        inner = scope.knowing(*known)
        other = self.pick("0.0", "0.0", "0", self.number(scope, depth - 1))
        return f"({self.number(inner, depth - 1)} if {test} else {other})"

    def total(self, scope: Scope, depth: int) -> str:
        k = self.index()
        inner, span = self.span(scope, k)
        tests = []
        while self.rng.random() < 0.35:
            test, known = self.condition(inner)
            tests.append(f" if {test}")
            inner = inner.knowing(*known)
        more = ""
        if self.rng.random() < 0.25:
            m = self.index()
            inner, other = self.span(inner, m)
            more = f" for {m} in {other}"
        body = self.number(inner, depth - 1)
        if self.rng.random() < 0.4:
            body = f"{body} {self.pick('*', '/', '*')} {self.leaf(scope if scope.indices else inner)}"
        return f"sum({body} for {k} in {span}{''.join(tests)}{more})"

    def span(self, scope: Scope, k: str) -> tuple[Scope, str]:
        """A range, and what it keeps inside."""
        kind = self.rng.randrange(9) if scope.indices else 0
        i = self.rng.choice(scope.indices) if scope.indices else "0"
        in_range = i in scope.inside
        if kind <= 2 or not in_range:
            return scope.knowing(k, f"n - 1 - {k}", index=k), "range(n)"
        if kind <= 4:
            return scope.knowing(k, f"{i} + 1", f"{k} - 1", f"{k} - {i} - 1", index=k), f"range({i} + 1, n)"
        if kind == 5:
            return scope.knowing(k, f"{i} - 1", f"{i} - {k}", f"{i} - 1 - {k}", index=k), f"range({i})"
        if kind == 6:
            return scope.knowing(k, f"{i} + {k}", f"n - 1 - {i} - {k}", index=k), f"range(n - {i})"
        if kind == 7:
            return scope.knowing(k, f"{k} + 1", index=k), "range(n - 1)"
        return scope.knowing(k, index=k), f"range(max({i} - 1, 0), min({i} + 2, n))"

    def condition(self, scope: Scope) -> tuple[str, tuple[str, ...]]:
        """A condition and what it keeps inside."""
        if not scope.indices:
            return self.pick("n > 1", "n == 2", "n < 3"), ()
        i, j = self.rng.choice(scope.indices), self.rng.choice(scope.indices)
        both = i in scope.inside and j in scope.inside
        kind = self.rng.randrange(14)
        if kind == 0 and i in scope.inside:
            return f"{i} > 0", (f"{i} - 1",)
        if kind == 1 and i in scope.inside:
            return f"{i} + 1 < n", (f"{i} + 1",)
        if kind == 2:
            at = self.pick(f"{i} + {j}", f"{i} - {j}", f"2 * {i}", f"{i} + 1", f"{i} - 2", f"2 * {i} - {j}")
            return f"0 <= {at} < n", (at,)
        if kind == 3 and both:
            return f"{i} < {j}", (f"{i} + 1", f"{j} - 1", f"{j} - {i}", f"{j} - {i} - 1")
        if kind == 4:
            return f"{i} {self.pick('!=', '==', '<', '>=')} {j}", ()
        if kind in (5, 6, 7) and both:
            return self.pick(f"R[{i}, {j}]", f"R[{i}, {j}]", f"not R[{j}, {i}]", f"Q[{i}]"), ()
        if kind == 8 and i in scope.inside:
            k = self.index()
            test = self.pick("", f" and {k} > {i}", f" and {k} < {i}", f" and {k} != {i}")
            known = (f"{i} + 1",) if ">" in test else (f"{i} - 1",) if "<" in test else ()
            return f"{self.pick('any', 'any', 'not any')}(R[{i}, {k}]{test} for {k} in range(n))", ()
        if kind == 9 and i in scope.inside:
            k = self.index()
            return f"all(R[{i}, {k}] or {k} {self.pick('<', '>', '!=')} {i} for {k} in range(n))", ()
        if kind == 10:
            (p, known), (r, more) = self.condition(scope), self.condition(scope)
            return (f"({p} and {r})", (*known, *more)) if self.rng.random() < 0.5 else (f"({p} or {r})", ())
        return f"{i} {self.pick('<', '>=', '==', '!=')} {self.pick('1', 'n - 1', '2')}", ()

    def leaf(self, scope: Scope) -> str:
        kind = self.rng.randrange(8)
        if not scope.inside or kind == 0:
            return self.pick("s", "1.5", "2.0", "s")
        if kind <= 4:
            return f"{self.rng.choice(scope.vectors)}[{self.place(scope)}]"
        matrix = self.rng.choice(scope.matrices)
        left, right = self.place(scope), self.place(scope)
        return f"{matrix}[{left}, {right}]" if matrix == "a" else f"{matrix}[{left}][{right}]"

    def place(self, scope: Scope) -> str:
        at = self.rng.choice(scope.inside)
        kind = self.rng.random()
        if kind < 0.1:
            return f"{self.pick('p', 'q')}[{at}]"
        return f"p[q[{at}]]" if kind < 0.15 else at


def written(seed: int) -> tuple[Callable[..., Any], str]:
    """The function of a seed, and its source."""
    source = Writer(seed).function()
    file = f"<function as people write {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source, file, "exec"), namespace)
    return namespace["f"], source


def arguments(seed: int, least: int = -1) -> list[Any]:
    """Arguments in the order of the parameters."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))

    def small(*shape: int) -> np.ndarray:
        return rng.integers(least, 4, size=shape).astype(float)

    R = rng.random((n, n)) < rng.choice([0.0, 0.2, 0.5, 0.9])
    p, q = rng.integers(0, n, size=(2, n))
    return [small(n), small(n), small(n, n), R, rng.random(n) < 0.5, p, q, float(rng.integers(1, 4))]


def other_form(R: np.ndarray, seed: int) -> Any:
    """The relation as booleans, or a sparse matrix."""
    return [R, R, scipy.sparse.csr_array(R), scipy.sparse.lil_array(R)][seed % 4]


class Watched:
    """An array that remembers which of its numbers were read; nothing outside it is."""

    def __init__(self, array: Any, read: np.ndarray | None = None) -> None:
        self.array = np.asarray(array)
        self.read = np.zeros(self.array.shape, bool) if read is None else read

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __getitem__(self, at: Any) -> Any:
        for place, size in zip(at if isinstance(at, tuple) else (at,), self.shape, strict=False):
            if not 0 <= place < size:
                raise IndexError(at)
        found = self.array[at]
        if np.ndim(found):
            return Watched(found, self.read[at])
        self.read[at] = True
        return found


def unread(f: Callable[..., Any], args: list[Any]) -> tuple[Any, list[np.ndarray]]:
    """The value of a plain run, and for the three arrays of numbers where it did not look."""
    arrays = [Watched(x) for x in args[:3]]
    with np.errstate(all="raise", under="ignore"):
        value = f(*arrays, *args[3:])
    return value, [~x.read for x in arrays]
