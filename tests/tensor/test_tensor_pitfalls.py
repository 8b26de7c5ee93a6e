"""What the prototype of the tensor language could not say, or looped over in vain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

BACKENDS = ["numpy", "reference"]
X = np.array([3.0, 4.0, 2.0])


def gradient_by_differences(f: Any, *args: Any) -> None:
    """grad of a tensor function is what differences of the plain one give, in all arguments."""
    tensor = wg.tensor.function(f)
    wanted = tuple(range(len(args)))
    for mine, theirs in zip(tensor.grad(wanted)(*args), wg.ngradient(f, *args), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


def every_second(x: Any) -> Any:
    n = len(x)
    return [sum(x[2 * j] * x[j] for j in range(n) if 2 * j < n and j != 1) for i in range(2)]


def test_scaled_indices_and_inequality() -> None:
    x = np.arange(1.0, 7.0)
    np.testing.assert_allclose(wg.tensor.function(every_second)(x), every_second(x))
    gradient_by_differences(odd_elements, x)


def odd_elements(x: Any) -> Any:
    n = len(x)
    return sum(x[2 * j + 1] * x[n - 1 - j] for j in range(n) if 2 * j + 1 < n) + sum(
        np.exp(x[i]) for i in range(n) if not (i == 2 or i > 3)
    )


def with_some(r: Any, x: Any) -> Any:
    n = len(x)
    return [x[i] if any(r[i, j] or r[j, i] for j in range(n)) else 0.0 for i in range(n)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_existential_is_no_sum(backend: str) -> None:
    r = np.array([[False, True, False], [True, False, False], [False, False, False]])
    f = wg.tensor.function(with_some, backend=backend)
    np.testing.assert_array_equal(f(r, X), [3.0, 4.0, 0.0])
    np.testing.assert_array_equal(f.adjoint(r, X, np.ones(3))[0], [1.0, 1.0, 0.0])


def powers(x: Any, y: Any) -> Any:
    return sum(np.exp(-a) * a**b for a, b in zip(x, y))  # noqa: B905


def test_a_variable_exponent_has_a_derivative() -> None:
    gradient_by_differences(powers, X, np.array([0.5, 2.0, -1.0]))


def squared_halves(w: Any) -> Any:
    n = len(w)
    return sum((w[i] / 2) ** 2 for i in range(n) if i + 1 < n)


def test_a_sum_runs_over_what_its_condition_leaves() -> None:
    source = wg.tensor.function(squared_halves, backend="numpy").to_source(np.ones(5))
    assert "where" not in source
    gradient_by_differences(squared_halves, X)
