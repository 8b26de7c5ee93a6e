"""Worked examples: each program with its derivative in closed form and what it, its adjoint and the interface cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from wengert.tensor.language.terms import (
    REAL,
    Add,
    AffineExpr,
    Bracket,
    Const,
    Expr,
    Gen,
    LetIn,
    Mul,
    Related,
    Sum,
    TensorProgram,
    TensorType,
    Type,
    Var,
    affine,
    at_most,
    equal,
    less,
)
from wengert.tensor.passes.gen_pushout import accessed

i, j, k, n, m, b, N = map(affine, ("i", "j", "k", "n", "m", "b", "N"))
VECTOR, MATRIX = TensorType(n, REAL), TensorType(n, TensorType(n, REAL))
A, B, X, d, w, x, y = map(Var, ("A", "B", "X", "d", "w", "x", "y"))


@dataclass(frozen=True)
class Example:
    """`gradient(y_bar, inputs, sizes)` gives the cotangents of `wrt`; costs are functions of the sizes."""

    program: TensorProgram
    wrt: tuple[str, ...]
    gradient: Callable[..., Any]
    primal: Callable[..., int]
    extra: Callable[..., int]
    interface: Callable[..., int] | None = None
    relation: Callable[..., np.ndarray] | None = None
    sizes: tuple[dict[str, int], ...] = field(default=({"n": 3}, {"n": 6}))


def program(body: Expr, sizes: str = "n", relations: tuple[Any, ...] = (), **inputs: Type) -> TensorProgram:
    return TensorProgram(tuple(inputs.items()), body, relations, tuple(sizes))


def read(e: Expr, *at: AffineExpr | int | str) -> Expr:
    return accessed(e, tuple(map(affine, at)))


def minus(a: Expr, b: Expr) -> Expr:
    return Add(a, Mul(Const(-1), b))


def squared(e: Expr) -> Expr:
    return LetIn("d", e, Mul(d, d))


def trace(e: Expr) -> Expr:
    return Sum("k", n, read(e, k, k))


def outer(column: Callable[[AffineExpr], Expr], row: Callable[[AffineExpr], Expr]) -> Expr:
    return Gen("i", n, Gen("j", n, Mul(column(i), row(j))))


def lets(*bindings: tuple[str, Expr], then: Expr) -> Expr:
    return reduce(lambda body, binding: LetIn(*binding, body), reversed(bindings), then)


CONVOLUTION = Gen("i", n, Sum("j", m, Bracket(at_most(0, i - j), Mul(read(w, j), read(x, i - j)))))


def terms(n: int, m: int) -> int:
    """How many products a convolution sums."""
    return n * m - m * (m - 1) // 2


def convolved(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.convolve(x, w)[: len(x)]


def correlated(w: np.ndarray, y: np.ndarray) -> np.ndarray:
    return convolved(w, y[::-1])[::-1]


def chained(steps: int) -> Expr:
    """trace(A_k) with A_1 = x xᵀ and A_(t+1) = outer(first column of A_t, first row of A_t)."""
    bindings = [("A1", outer(lambda i: read(x, i), lambda j: read(x, j)))]
    for t in range(1, steps):
        last = Var(f"A{t}")
        bindings.append((f"A{t + 1}", outer(lambda i, A=last: read(A, i, 0), lambda j, A=last: read(A, 0, j))))
    return lets(*bindings, then=trace(Var(f"A{steps}")))


def chained_gradient(steps: int) -> Callable[..., Any]:
    def gradient(y_bar: float, x: np.ndarray, n: int) -> Any:
        p = 2**steps - 2
        first = np.eye(n)[0] * p * x[0] ** (p - 1) * (x @ x) if p else 0
        return (y_bar * (2 * x[0] ** p * x + first),)

    return gradient


def chained_example(steps: int) -> Example:
    return Example(
        program(chained(steps), x=VECTOR),
        ("x",),
        chained_gradient(steps),
        primal=lambda n: steps * n * n + n - 1,
        extra=lambda n: (6 * steps - 3) * n - 3 * (steps - 1),
        interface=lambda n: n,
    )


def products(count: int, chain: bool) -> Example:
    """x0·x1·.., one let for each product or as one expression."""
    names = [f"x{t}" for t in range(count)]
    whole: Expr = reduce(Mul, map(Var, names))
    if chain:
        bindings = [(f"p{t}", Mul(Var(f"p{t - 1}" if t > 1 else "x0"), Var(f"x{t}"))) for t in range(1, count)]
        whole = lets(*bindings, then=Var(f"p{count - 1}"))

    def gradient(y_bar: float, **factors: Any) -> Any:
        return tuple(y_bar * np.prod([factors[other] for other in names if other != name]) for name in names)

    return Example(
        program(whole, "", **dict.fromkeys(names, REAL)),
        tuple(names),
        gradient,
        primal=lambda: count - 1,
        extra=lambda: 2 * (count - 1),
        sizes=({},),
    )


def some_relation(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, n)) < 0.4


def nonempty(relation: np.ndarray, axis: int) -> int:
    return int(relation.any(axis=axis).sum())


def masked_product() -> Example:
    """⊞i Σj [R(i, j)] A[i, j]·x[j]."""

    def gradient(y_bar: np.ndarray, A: np.ndarray, x: np.ndarray, n: int) -> Any:
        R = some_relation(n)
        return R * np.outer(y_bar, x), (R * A).T @ y_bar

    return Example(
        program(
            Gen("i", n, Sum("j", n, Bracket(Related("R", (i, j)), Mul(read(A, i, j), read(x, j))))),
            relations=(("R", (n, n)),),
            A=MATRIX,
            x=VECTOR,
        ),
        ("A", "x"),
        gradient,
        primal=lambda n: 2 * some_relation(n).sum() - nonempty(some_relation(n), 1),
        extra=lambda n: 3 * some_relation(n).sum() - nonempty(some_relation(n), 0),
        interface=lambda n: some_relation(n).sum() + nonempty(some_relation(n), 0),
        relation=some_relation,
        sizes=({"n": 4}, {"n": 9}),
    )


WINDOWED = Sum(
    "b",
    N,
    LetIn(
        "h",
        Gen("i", n, Sum("j", m, Mul(read(w, j), read(X, b, i + j)))),
        Sum("i", n, squared(minus(read(Var("h"), i), read(y, b, i)))),
    ),
)


def weight_gradient(y_bar: float, w: np.ndarray, X: np.ndarray, y: np.ndarray, n: int, m: int, N: int) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(X, m, axis=1)
    return (2 * y_bar * np.einsum("bij,bi->j", windows, windows @ w - y),)


SIZED = ({"n": 3, "m": 2}, {"n": 7, "m": 4})
EXAMPLES: dict[str, Example] = {
    "1 convolution": Example(
        program(CONVOLUTION, "nm", x=VECTOR, w=TensorType(m, REAL)),
        ("x",),
        lambda y_bar, x, w, **_: (correlated(w, y_bar),),
        primal=lambda n, m: 2 * terms(n, m) - n,
        extra=lambda n, m: 2 * terms(n, m) - n,
        interface=lambda n, m: n,
        sizes=SIZED,
    ),
    "2 deconvolution loss": Example(
        program(
            LetIn("c", CONVOLUTION, Sum("i", n, squared(minus(read(Var("c"), i), read(y, i))))),
            "nm",
            x=VECTOR,
            w=TensorType(m, REAL),
            y=VECTOR,
        ),
        ("x",),
        lambda y_bar, x, w, y, **_: (correlated(w, 2 * y_bar * (convolved(w, x) - y)),),
        primal=lambda n, m: 2 * terms(n, m) - n + 4 * n - 1,
        extra=lambda n, m: 3 * n + 2 * terms(n, m) - n,
        sizes=SIZED,
    ),
    "3 sum of squares": Example(
        program(
            LetIn("d", Gen("i", n, minus(read(x, i), read(y, i))), Sum("i", n, Mul(read(d, i), read(d, i)))),
            x=VECTOR,
            y=VECTOR,
        ),
        ("x",),
        lambda y_bar, x, y, n: (2 * y_bar * (x - y),),
        primal=lambda n: 4 * n - 1,
        extra=lambda n: 3 * n,
    ),
    "3 sum of squares, no let": Example(
        program(
            Sum("i", n, Mul(minus(read(x, i), read(y, i)), minus(read(x, i), read(y, i)))),
            x=VECTOR,
            y=VECTOR,
        ),
        ("x",),
        lambda y_bar, x, y, n: (2 * y_bar * (x - y),),
        primal=lambda n: 6 * n - 1,
        extra=lambda n: 3 * n,
    ),
    "4 trace": Example(
        program(trace(A), A=MATRIX),
        ("A",),
        lambda y_bar, A, n: (y_bar * np.eye(n),),
        primal=lambda n: n - 1,
        extra=lambda n: 0,
        interface=lambda n: n,
    ),
    "5 diagonal matrix": Example(
        program(Gen("i", n, Gen("j", n, Bracket(equal(i, j), read(x, i)))), x=VECTOR),
        ("x",),
        lambda y_bar, x, n: (np.diag(y_bar),),
        primal=lambda n: 0,
        extra=lambda n: 0,
        interface=lambda n: n,
    ),
    "6 trace of a diagonal matrix": Example(
        program(LetIn("D", Gen("i", n, Gen("j", n, Bracket(equal(i, j), read(x, i)))), trace(Var("D"))), x=VECTOR),
        ("x",),
        lambda y_bar, x, n: (y_bar * np.ones(n),),
        primal=lambda n: n - 1,
        extra=lambda n: 0,
        interface=lambda n: n,
    ),
    "7 three traces": Example(
        program(
            LetIn("X", outer(lambda i: read(x, i), lambda j: read(x, j)), reduce(Add, [trace(X)] * 3)),
            x=VECTOR,
        ),
        ("x",),
        lambda y_bar, x, n: (6 * x * y_bar,),
        primal=lambda n: n * n + 3 * (n - 1) + 2,
        extra=lambda n: 5 * n,
        interface=lambda n: n,
    ),
    "8 trace(outer(first column, first row))": Example(
        program(LetIn("B", outer(lambda i: read(A, i, 0), lambda j: read(A, 0, j)), trace(B)), A=MATRIX),
        ("A",),
        lambda y_bar, A, n: (y_bar * (np.outer(A[0], np.eye(n)[0]) + np.outer(np.eye(n)[0], A[:, 0])),),
        primal=lambda n: n * n + n - 1,
        extra=lambda n: 2 * n + 1,
        interface=lambda n: 2 * n - 1,
    ),
    **{f"8b chained {steps} times": chained_example(steps) for steps in (1, 2, 3)},
    "9 dead code": Example(
        program(lets(*((f"c{t}", x) for t in range(5)), then=Mul(Const(2), x)), "", x=REAL),
        ("x",),
        lambda y_bar, x: (2 * y_bar,),
        primal=lambda: 1,
        extra=lambda: 1,
        interface=lambda: 1,
        sizes=({},),
    ),
    "11 skipped entry": Example(
        program(
            Add(
                Sum("i", n, Bracket(less(i, k), read(x, i))),
                Sum("i", n, Bracket(less(k, i), read(x, i))),
            ),
            "nk",
            x=VECTOR,
        ),
        ("x",),
        lambda y_bar, x, n, k: (y_bar * (np.arange(n) != k),),
        primal=lambda n, k: n - 2,
        extra=lambda n, k: 0,
        interface=lambda n, k: n - 1,
        sizes=({"n": 4, "k": 1}, {"n": 7, "k": 5}),
    ),
    "12 weight fit": Example(
        program(
            WINDOWED,
            "nmN",
            w=TensorType(m, REAL),
            X=TensorType(N, TensorType(n + m - 1, REAL)),
            y=TensorType(N, VECTOR),
        ),
        ("w",),
        weight_gradient,
        primal=lambda n, m, N: N * n * (2 * m + 3) - 1,
        extra=lambda n, m, N: 3 * N * n + m * (2 * N * n - 1),
        interface=lambda n, m, N: m,
        sizes=({"n": 2, "m": 2, "N": 2}, {"n": 3, "m": 2, "N": 2}, {"n": 5, "m": 3, "N": 4}),
    ),
    "13 pointwise product": Example(
        program(Gen("i", n, Gen("j", n, Mul(read(A, i, j), read(B, i, j)))), A=MATRIX, B=MATRIX),
        ("A", "B"),
        lambda y_bar, A, B, n: (y_bar * B, y_bar * A),
        primal=lambda n: n**2,
        extra=lambda n: 2 * n**2,
    ),
    "13 matrix product": Example(
        program(Gen("i", n, Gen("j", n, Sum("k", n, Mul(read(A, i, k), read(B, k, j))))), A=MATRIX, B=MATRIX),
        ("A", "B"),
        lambda y_bar, A, B, n: (y_bar @ B.T, A.T @ y_bar),
        primal=lambda n: 2 * n**3 - n**2,
        extra=lambda n: 2 * (2 * n**3 - n**2),
    ),
    "14 product of scalars": products(6, chain=False),
    "14 product of scalars, lets": products(6, chain=True),
    "15 masked matrix times vector": masked_product(),
    "16 cumulative sum": Example(
        program(Gen("i", n, Sum("j", n, Bracket(at_most(j, i), read(x, j)))), x=VECTOR),
        ("x",),
        lambda y_bar, x, n: (np.cumsum(y_bar[::-1])[::-1],),
        primal=lambda n: n * (n - 1) // 2,
        extra=lambda n: n * (n - 1) // 2,
    ),
}
