"""A program of the tensor language means what the Python function that it was read from gives."""

from __future__ import annotations

import builtins
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from tensor_checks import agrees, meant, read

import wengert as wg
from wengert.tensor.language.notation import show_program

X = np.array([0.7, -1.2, 2.5, 0.3, 1.1])
W = np.array([0.5, -0.25, 2.0])
A = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0]])
S = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0], [2.0, 0.25, -3.0]])

SHIFT = 2
SCALE = 1.5
TABLE = np.array([2.0, -1.0, 0.5, 3.0, 1.0])


def convolution(x: Any, w: Any) -> Any:
    n, m = len(x), len(w)
    return [sum(w[j] * (x[i - j] if 0 <= i - j else 0.0) for j in range(m)) for i in range(n)]


def inside_only(x: Any, w: Any) -> Any:
    n, m = len(x), len(w)
    return np.array([sum(w[j] * x[i + j] for j in range(m)) for i in range(n - m + 1)])


def matmul(a: Any, b: Any) -> Any:
    n, m = a.shape
    p = b.shape[1]
    return [[sum(a[i, k] * b[k, j] for k in range(m)) for j in range(p)] for i in range(n)]


def masked_product(r: Any, a: Any, x: Any) -> Any:
    return [sum(a[i, j] * x[j] for j in range(len(x)) if r[i, j]) for i in range(len(a))]


def in_set(r: Any, x: Any) -> Any:
    n = len(x)
    return [sum(x[j] for j in range(n) if (i, j) in r) for i in range(n)]


def not_in_set(r: Any, x: Any) -> Any:
    n = len(x)
    return [sum(x[j] for j in range(n) if (i, j) not in r or j == 0) for i in range(n)]


def one_index(r: Any, x: Any) -> Any:
    return sum(x[i] for i in range(len(x)) if i in r)


def running_sum(x: Any) -> Any:
    return [sum(x[j] for j in range(i + 1)) for i in range(len(x))]


def pairs_after(x: Any) -> Any:
    n = len(x)
    return sum(x[i] * x[j] for i in range(n) for j in range(i + 1, n))


def with_step(x: Any) -> Any:
    return sum(x[i] for i in range(0, len(x), 2)) - sum(x[i] for i in range(len(x) - 1, 0, -3))


def choice(x: Any) -> Any:
    n = len(x)
    return [x[i + 1] - x[i] if i + 1 < n else x[0] - x[i] for i in range(n)]


def two_conditions(x: Any) -> Any:
    n = len(x)
    return [x[i - 1] + x[i + 1] if i > 0 and i + 1 < n else 0.0 for i in range(n)]


def either(x: Any) -> Any:
    n = len(x)
    return [0.0 if i < 1 or i >= n - 1 else x[i - 1] * x[i + 1] for i in range(n)]


def skipped(x: Any, k: int) -> Any:
    return sum(x[i] for i in range(len(x)) if i != k) + sum((i == k) * x[i] for i in range(len(x)))


def some(r: Any, x: Any) -> Any:
    n = len(x)
    return [x[i] if any(r[i, j] for j in range(n)) else 0.0 for i in range(n)]


def every(x: Any) -> Any:
    n = len(x)
    return [x[i] if all(j >= i for j in range(2, n)) else 0.0 for i in range(n)]


def nested_conditions(x: Any) -> Any:
    n = len(x)
    return [(x[i] if i < 4 else 0.0) if i > 1 else -x[i] for i in range(n)]


def length(v: Any) -> Any:
    return np.sqrt(sum(a * a for a in v))


def apart(p: Any, q: Any) -> Any:
    difference = [a - b for a, b in zip(p, q)]  # noqa: B905
    return length(difference)


def energy(points: Any) -> Any:
    n = len(points)
    return sum(1 / apart(points[i], points[j]) for i in range(n) for j in range(i))


def lets(x: Any) -> Any:
    return sum(y * y / (1 + y) for v in x for y in [v * v])


def walrus(x: Any) -> Any:
    return [(t := v * v) + t * t for v in x]


def parts(x: Any) -> Any:
    def_ = (len(x), [v * 2 for v in x])
    n, doubled = def_
    best = doubled[0], doubled[n - 1]
    return best[1], doubled, best


def gradient_pair(x: Any) -> Any:
    n = len(x)
    both = [(x[i + 1] - x[i], x[i] * x[i]) if i + 1 < n else (0.0, x[i]) for i in range(n)]
    return [a + b for a, b in both], [p[1] for p in both]


def accumulated(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        t = x[i] * SCALE
        if i != SHIFT:
            total += t * y[i]
        for j in range(i):
            total -= x[j] / 3
    return total


def unrolled(x: Any) -> Any:
    total = 1.0
    for k in (1, 2, 3):
        total = total * x[k] + k
    for k in range(2):
        total += x[k] * 0.5
    return total + sum(c * x[0] for c in (0.5, 0.25))


def functions(x: Any) -> Any:
    return [math.sin(v) * np.exp(-v) + np.maximum(v, 0.0) + abs(v) ** 1.5 + max(v, 0.2, -v) - np.tanh(v) for v in x]


def masked_log(r: Any, x: Any) -> Any:
    return [np.log(x[i]) if r[i] else 0.0 for i in range(len(x))]


def powers(x: Any) -> Any:
    return [
        x[i] ** 2 + x[i] ** 3 - x[i] ** 4 + (x[i] * x[i]) ** 0.5 + x[i] ** -1 + 2 ** abs(x[i]) for i in range(len(x))
    ]


def around(x: Any) -> Any:
    return [x[i] * TABLE[i] * SCALE + math.pi - np.e if i >= SHIFT else x[i + SHIFT] for i in range(len(x))]


def literals(x: Any) -> Any:
    return [[x[0], x[1], 2.0 * x[2]], [x[-1], x[-2], 0.5]], [x[0]]


def by_size(x: Any, how: str = "mean", center: bool = True) -> Any:
    n = len(x)
    if how == "mean":
        middle = sum(x) / n
    else:
        middle = x[n // 2]
    return [v - middle if center else v for v in x]


def early(x: Any) -> Any:
    return [clipped(x, i) for i in range(len(x))]


def clipped(x: Any, i: Any) -> Any:
    if i == 0:
        return x[i]
    if i == len(x) - 1:
        return 0.5 * x[i]
    middle = x[i - 1] + x[i + 1]
    return middle / 2


def transposed(a: Any) -> Any:
    n, m = a.shape
    return [[a[i][j] for i in range(n)] for j in range(m)]


def same_names(x: Any) -> Any:
    n = len(x)
    return [sum(x[i] for i in range(n)) * x[i] for i in range(n)]


def indexed(x: Any) -> Any:
    return sum(v * x[len(x) - 1 - i] for i, v in enumerate(x)) + sum(a * b for a, b in zip(x, reversed(x)))  # noqa: B905


def with_defaults(x: Any, k: int = 2, *, scale: float = 2.0) -> Any:
    return helper(x, scale=scale) + helper(x, 3.0) + k * x[k]


def helper(x: Any, scale: float, shift: float = 1.0) -> Any:
    return sum(scale * v + shift for v in x)


def shapes(a: Any) -> Any:
    n, m = a.shape
    return [sum(a[i, j] for j in range(m)) / m for i in range(n)], sum(a[i][i] for i in range(min(n, m)))


def gather(x: Any, index: Any) -> Any:
    return [x[index[i]] * x[i] for i in range(len(index))]


def gather_rows(a: Any, pairs: Any) -> Any:
    count, m = len(pairs), a.shape[1]
    return [sum((a[pairs[e, 0], c] - a[pairs[e, 1]][c]) ** 2 for c in range(m)) for e in range(count)]


def gather_guarded(x: Any, index: Any) -> Any:
    n = len(index)
    return sum(x[index[i + 1]] if i + 1 < n else 0.0 for i in range(n))


def gather_local(x: Any, index: Any) -> Any:
    y = [v * v for v in x]
    return [y[index[i]] for i in range(len(index))]


def called_on_the_right(x: Any) -> Any:
    return [2.0 * x[i] * length(x) + x[i] * (length(x) * x[i]) for i in range(len(x))]


def condition_on_the_right(x: Any) -> Any:
    return [length(x) * (i > 1) + (i < 3) * length(x) for i in range(len(x))]


def window_sum(x: Any) -> Any:
    n = len(x)
    return [sum(x[j] for j in range(max(0, i - 1), min(n, i + 2, 4))) for i in range(n)]


def extremes(a: Any) -> Any:
    n, m = a.shape
    far = sum(a[i, j] for i in range(n) for j in range(m) if 1 <= abs(i - j))
    first = sum(a[i, j] for i in range(n) for j in range(m) if min(i, j) > 0)
    late = sum(a[i, j] for i in range(n) for j in range(m) if max(i, j) >= 2 > min(i, j))
    return far, first, late, sum(a[i, j] for i in range(n) for j in range(m) if abs(i - j) < 2)


def other_names(x: Any) -> Any:
    return [builtins.max(v, 0.5) - largest_of(v, -v) for v in x]


largest_of = max


BOOLS = np.array([True, False, True, True, False])
NEIGHBOURS = {(i, j) for i in range(5) for j in range(5) if abs(i - j) == 1}
RELATION = np.array([[(i, j) in NEIGHBOURS for j in range(5)] for i in range(5)])

PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (convolution, (X, W)), (convolution, (W, X)), (inside_only, (X, W)), (matmul, (A, S)), (matmul, (A, A.T)),
    (masked_product, (A > 1, A, W)), (masked_product, (scipy.sparse.csr_array(A > 1), A, W)),
    (in_set, (NEIGHBOURS, X)), (in_set, ({(0, 1), (4, 4)}, X)), (in_set, (frozenset(), X)),
    (not_in_set, (NEIGHBOURS, X)),
    (one_index, ({1, 3}, X)), (running_sum, (X,)), (pairs_after, (X,)), (with_step, (X,)), (choice, (X,)),
    (two_conditions, (X,)), (either, (X,)), (skipped, (X, 2)), (skipped, (X, 99)), (some, (RELATION, X)),
    (some, (np.diag(BOOLS), X)), (every, (X,)), (nested_conditions, (X,)), (energy, (S,)), (lets, (X,)), (walrus, (X,)),
    (parts, (X,)), (gradient_pair, (X,)), (accumulated, (X, TABLE)), (unrolled, (X,)),
    (functions, (X,)), (powers, (X,)),
    (around, (X,)), (literals, (X,)), (by_size, (X,)), (by_size, (X, "middle")), (by_size, (X, "mean", False)),
    (early, (X,)), (transposed, (A,)), (same_names, (X,)), (indexed, (X,)), (with_defaults, (X,)), (shapes, (A,)),
    (shapes, (A.T.copy(),)), (running_sum, (np.zeros(0),)), (pairs_after, (np.zeros(1),)), (convolution, (list(X), W)),
    (gather, (X, np.array([2, 0, 4, 4, 1]))), (gather_rows, (S, np.array([[0, 1], [2, 2], [1, 0], [0, 2]]))),
    (gather_guarded, (X, [1, 1, 0])), (gather_local, (X, np.array([3, 0]))), (gather, (X, np.zeros(0, int))),
    (window_sum, (X,)), (window_sum, (X[:1],)), (extremes, (A,)), (extremes, (S,)), (other_names, (X,)),
    (called_on_the_right, (X,)), (condition_on_the_right, (X,)),
    (running_sum, (np.array([1, 2, 3]),)), (inside_only, (W, X)),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_program_means_what_python_gives(f: Any, args: tuple[Any, ...]) -> None:
    agrees(f, *args)


def test_masked_functions_are_not_evaluated() -> None:
    x = np.array([2.0, 0.0, 3.0, 4.0, -1.0])
    with np.errstate(all="raise"):
        np.testing.assert_allclose(meant(masked_log, BOOLS, x), [np.log(2), 0, np.log(3), np.log(4), 0])


def test_a_bracket_hides_what_python_would_multiply_by_false() -> None:
    """False * nan is nan in Python, and 0 in the language."""

    def first(x: Any) -> Any:
        return sum((i == 0) * x[i] for i in range(len(x)))

    assert meant(first, np.array([2.0, np.nan, np.inf])) == 2.0


def test_rational_numbers_are_kept() -> None:
    x = np.array([Fraction(1, 3), Fraction(2, 7), Fraction(5)])

    def mean(x: Any) -> Any:
        return sum(v * v for v in x) / 3

    assert read(mean, x).program
    assert meant(mean, [1.0, 2.0, 3.0], number=Fraction) == Fraction(14, 3)


def test_a_registered_scalar_function_is_a_black_box() -> None:
    def cube(x: Any) -> Any:
        return x * x * x

    def total(x: Any) -> Any:
        return sum(cube(v) for v in x)

    with wg.rules.scope():

        @wg.partials(cube)
        def cube_partials(y: Any, x: Any) -> Any:
            return 3 * x * x

        assert show_program(read(total, X).program).endswith("Σ[v:n_x] cube_partials(x[v])")
        agrees(total, X)


def test_names_are_the_users() -> None:
    program = read(matmul, A, S).program
    assert program.sizes == ("n", "m", "p")
    assert [name for name, _ in program.inputs] == ["a", "b"]
