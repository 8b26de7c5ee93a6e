"""What a prototype of the language got wrong, one program each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tensor.function import TensorFunction
from wengert.tensor.passes.simplify import simplified
from wengert.tensor.passes.statements import ssa_cost

BACKENDS = ["numpy", "reference"]


def tensor(plain: Any, backend: str = "numpy") -> TensorFunction:
    return wg.tensor.function(plain, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sum_keeps_its_constant(backend: str) -> None:
    """3x + 2 at 5 gave 15, simplified twice."""

    def f(x):
        return sum(3 * x[i] + 2 for i in range(1))

    assert tensor(f, backend)(np.array([5.0])) == 17
    np.testing.assert_array_equal(tensor(f, backend).grad()(np.array([5.0])), [3.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_gradients_of_powers(backend: str) -> None:
    """x³/y²: of two powered factors one got the other's clobbered cotangent."""

    def f(x, y):
        return x[0] ** 3 / y[0] ** 2

    x_bar, y_bar = tensor(f, backend).grad((0, 1))(np.array([2.0]), np.array([4.0]))
    np.testing.assert_allclose((x_bar[0], y_bar[0]), (3 * 4 / 16, -2 * 8 / 64), rtol=1e-15)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("least", "a_bar"), [(True, 1.0), (False, 0.0)])
def test_the_gradient_of_min_goes_to_the_smaller(least: bool, a_bar: float, backend: str) -> None:
    def smallest(a, b):
        return np.minimum(a[0], b[0])

    def largest(a, b):
        return np.maximum(a[0], b[0])

    f = tensor(smallest if least else largest, backend)
    found = f.grad((0, 1))(np.array([1.0]), np.array([2.0]))
    assert [float(x[0]) for x in found] == [a_bar, 1.0 - a_bar]


def test_a_tie_is_one_thing_everywhere() -> None:
    """The interpreter said >, the compiled code ≥."""

    def f(a, b):
        return np.maximum(a[0], b[0])

    same = np.array([3.0])
    shares = [tensor(f, backend).grad((0, 1))(same, same) for backend in BACKENDS]
    assert [[float(x[0]) for x in found] for found in shares] == [[0.5, 0.5]] * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_input_that_is_a_tuple_has_a_gradient(backend: str) -> None:
    """A NameError, once."""

    def f(p):
        a, b = p
        return sum(a[i] * b for i in range(len(a)))

    (a_bar, b_bar) = tensor(f, backend).grad()((np.array([1.0, 2.0]), 3.0))
    np.testing.assert_array_equal(a_bar, [3.0, 3.0])
    assert b_bar == 3.0


def test_functions_do_not_see_each_other() -> None:
    """Projections of one function's inputs leaked into the next, by a mutable default."""

    def f(p):
        a, b = p
        return a[0] * b[0]

    def g(p):
        a, b = p
        return a[0] + 2 * b[0]

    p = np.array([3.0]), np.array([5.0])
    assert [float(tensor(h)(p)) for h in (f, g, f, g)] == [15, 13, 15, 13]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_false_bracket_leaves_nothing_behind(backend: str) -> None:
    """A reused buffer showed the last call's numbers where the predicate was false."""

    def f(R, x):
        return [x[i] * x[i] if R[i] else 0.0 for i in range(len(x))]

    g = tensor(f, backend)
    np.testing.assert_array_equal(g(np.ones(3, bool), np.full(3, 7.0)), [49, 49, 49])
    np.testing.assert_array_equal(g(np.array([True, False, False]), np.ones(3)), [1, 0, 0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_disjunction_counts_once(backend: str) -> None:
    """Σj [R(i, j) ∨ R(j, i)] x[j] gave (35, 60, 34): relations had become sums, and sums count twice."""

    def f(R, x):
        n = len(x)
        return [sum(x[j] for j in range(n) if R[i, j] or R[j, i]) for i in range(n)]

    R = np.zeros((3, 3), bool)
    R[[0, 0, 1], [1, 0, 2]] = True
    np.testing.assert_array_equal(tensor(f, backend)(R, np.array([1.0, 2.0, 4.0])), [3.0, 5.0, 2.0])


def product_of_three(a, b, c):
    n = len(a)
    p = [[sum(a[i, k] * b[k, j] for k in range(n)) for j in range(n)] for i in range(n)]
    return [[sum(p[i][k] * c[k, j] for k in range(n)) for j in range(n)] for i in range(n)]


@pytest.mark.parametrize("n", [4, 8])
def test_simplifying_does_not_merge_two_products_into_one(n: int) -> None:
    """(A·B)·C went from n³ to n⁴: 256 operations became 832."""
    matrices = [np.ones((n, n))] * 3
    instance = tensor(product_of_three).instance(tuple(matrices))
    assert ssa_cost(simplified(instance.ssa), instance.sizes) == 2 * (2 * n**3 - n**2)


def test_a_window_stays_as_long_as_it_is() -> None:
    """Pinning by name order turned a loop over K = 2 taps into one over all data: 387 operations became 1,107."""

    def fit(w, x, y):
        n, m = len(y), len(w)
        return sum((sum(w[j] * x[i + j] for j in range(m)) - y[i]) ** 2 for i in range(n))

    w, n = np.ones(2), 64
    f = tensor(fit)
    x, y = np.ones(n + 1), np.ones(n)
    f.grad()(w, x, y)
    assert f.cost(w, x, y) == n * (2 * 2 + 3) - 1
    assert f.grad().cost(w, x, y) <= 4 * f.cost(w, x, y) + 1


def test_the_trace_of_an_outer_product_has_a_cheap_gradient() -> None:
    """Two n² tensors added densely: n² + 2n."""

    def f(a):
        n = len(a)
        outer = [[a[i, 0] * a[0, j] for j in range(n)] for i in range(n)]
        return sum(outer[k][k] for k in range(n))

    g = tensor(f)
    for n in (8, 16, 32):
        a = np.ones((n, n))
        assert g.grad().cost(a) - g.cost(a) == 2 * n + 1


def test_attributes_of_the_function_are_not_those_of_the_tensor_function() -> None:
    def squares(x: Any) -> Any:
        return sum(v * v for v in x)

    vars(squares).update(grad=3, only=("x",), backend="none", parameters=("q",), own_rule=5, _derived={})
    f, x = wg.tensor.function(squares, backend="numpy"), np.array([1.0, 2.0])
    np.testing.assert_array_equal(f.grad()(x), 2 * x)
    np.testing.assert_array_equal(wg.grad(lambda x: f(x=x))(x), 2 * x)


@pytest.mark.parametrize("f", [math.gamma, math.lgamma])
def test_the_rule_of_a_function_of_math_may_be_of_single_numbers(f: Any) -> None:
    def total(x: Any) -> Any:
        return sum(f(v) * v for v in x)

    x = np.array([0.7, 1.5, 3.2])
    np.testing.assert_allclose(wg.tensor.function(total, backend="numpy").grad()(x), wg.ngradient(total, x)[0], 1e-7)
