"""A function in a tensor program is that function, and not another that has the same rule."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tensor.reading import functions

BACKENDS = ["numpy", "reference"]
A, B = np.array([-7.5, -2.0, 3.0, 5.25, 1.0]), np.array([2.0, 3.0, -2.0, 1.5, 0.75])
P = np.array([0.5, 1.25, 2.0, 0.1, 0.9])


def shared() -> list[Any]:
    """The functions of one, two and three numbers that have a rule by partials."""
    found = []
    for module in (math, np, operator, builtins):
        for name in dir(module):
            f = getattr(module, name)
            if callable(f) and not isinstance(f, type) and functions.black_box(f) is not None:
                found.append(f)
    return found


def call(f: Any, count: int) -> Any:
    if count == 1:

        def one(x: Any) -> Any:
            return [f(x[i]) for i in range(len(x))]

        return one

    def two(x: Any, y: Any) -> Any:
        return [f(x[i], y[i]) for i in range(len(x))]

    def three(x: Any, y: Any, z: Any) -> Any:
        return [f(x[i], y[i], z[i]) for i in range(len(x))]

    return two if count == 2 else three


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", shared(), ids=lambda f: f"{f.__module__ if f is not np else ''}.{f.__name__}")
def test_every_function_gives_its_own_values(f: Any, backend: str) -> None:
    tried = 0
    for every in ([(A,), (P,), (P + 1,), (P / 4,)], [(A, B), (P, B), (P, np.round(B))], [(A, B, P)]):
        for args in every:
            with np.errstate(all="ignore"):
                try:
                    expected = np.array([f(*map(float, numbers)) for numbers in zip(*args, strict=True)], float)
                except (TypeError, ValueError, OverflowError):
                    continue
                tensor = wg.tensor.function(call(f, len(args)), backend=backend)
                np.testing.assert_allclose(tensor(*args), expected, rtol=1e-12)
                tried += 1
    assert tried


def test_logarithms_to_any_base() -> None:
    def f(x: Any) -> Any:
        return sum(math.log(x[i]) + math.log(x[i], 2.0) + math.erf(x[i]) for i in range(len(x)))

    for backend in BACKENDS:
        tensor = wg.tensor.function(f, backend=backend)
        assert tensor(P) == pytest.approx(f(P), rel=1e-13)
        expected = 1 / P + 1 / (P * math.log(2)) + 2 / math.sqrt(math.pi) * np.exp(-P * P)
        np.testing.assert_allclose(tensor.grad()(P), expected, rtol=1e-12)


def test_a_function_of_arrays_is_not_that_of_their_elements() -> None:
    """√(Σ x²) of one number is |x|."""

    def size(x: Any) -> Any:
        return np.sqrt(np.sum(x * x))

    with wg.rules.scope():
        wg.partials(size)(lambda y, x: x / y)

        def f(x: Any) -> Any:
            return [size(x[i]) for i in range(len(x))]

        np.testing.assert_allclose(wg.tensor.function(f, backend="numpy")(A), np.abs(A))


def test_a_function_that_branches_takes_numbers_one_by_one() -> None:
    def leaky(x: Any) -> Any:
        return x if x > 0 else 0.1 * x

    with wg.rules.scope():
        wg.partials(leaky)(lambda y, x: np.where(x > 0, 1.0, 0.1))

        def f(x: Any) -> Any:
            return sum(leaky(x[i]) ** 2 for i in range(len(x)))

        tensor = wg.tensor.function(f, backend="numpy")
        assert tensor(A) == pytest.approx(f(A))
        np.testing.assert_allclose(tensor.grad()(A), wg.ngradient(f, A)[0], rtol=1e-6)
