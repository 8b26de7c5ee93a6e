"""Numbers that count and numbers with a derivative, against the cost model and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import test_surface as surface
from tensor_checks import given, read
from tensor_programs import Case, cases
from tensor_scalars import Counting, Dual, plain_cost, plain_jvp

from wengert.tensor.language.cost import cost


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_plain_run_costs_what_the_model_says(case: Case) -> None:
    parsed = read(case.f, *case.args)
    assert plain_cost(case.f, *case.args) == cost(parsed.program, parsed.sizes, given(parsed)[1])


def test_what_is_called_in_a_product_is_computed_once() -> None:
    f, x = surface.called_on_the_right, np.array([1.0, 2.0])
    parsed = read(f, x)
    assert plain_cost(f, x) == cost(parsed.program, parsed.sizes, {})


@pytest.mark.parametrize(
    ("f", "count"),
    [
        (lambda x: x + 0, 0), (lambda x: 0.0 + x, 0), (lambda x: x + 1.0, 1), (lambda x: x - x, 2), (lambda x: -x, 1),
        (lambda x: x - 1.0, 1), (lambda x: 1 / x, 1), (lambda x: 2 / x, 2), (lambda x: x / 2, 1), (lambda x: x / x, 2),
        (lambda x: x**2, 1), (lambda x: x**3, 2), (lambda x: x**0.5, 1), (lambda x: np.sin(x) * x, 2),
        (lambda x: True * x, 0), (lambda x: x + False * x, 0), (lambda x: abs(x), 1), (lambda x: max(x, 1.0), 1),
        (lambda x: np.hypot(x, x), 1), (lambda x: np.square(x), 1), (lambda x: np.array([x, x]) @ [x, 1.0], 3),
    ],
)  # fmt: skip
def test_operations_are_counted_as_the_model_counts(f: Any, count: int) -> None:
    assert plain_cost(f, 1.5) == count


@pytest.mark.parametrize(
    ("f", "x", "derivative"),
    [
        (lambda x: x * x * 3, 2.0, 12.0), (lambda x: 1 / x, 2.0, -0.25), (lambda x: x**3 - x, 2.0, 11.0),
        (lambda x: np.exp(np.sin(x)), 0.5, math.exp(math.sin(0.5)) * math.cos(0.5)),
        (lambda x: 2.0**x, 1.0, 2 * math.log(2)),
        (lambda x: x**x, 2.0, 4 * (math.log(2) + 1)), (lambda x: abs(x), -1.0, -1.0), (lambda x: max(x, 3.0), 2.0, 0),
        (lambda x: x / (1 + x), Fraction(1, 2), Fraction(4, 9)),
    ],
)  # fmt: skip
def test_duals_carry_the_derivative(f: Any, x: Any, derivative: Any) -> None:
    found = plain_jvp(f, (x,), (1,))
    assert found == derivative if isinstance(x, Fraction) else found == pytest.approx(derivative)


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(TypeError, match=r"np\.sin, not math\.sin"):
        math.sin(Dual(1.0, 1.0))
    with pytest.raises(TypeError, match=r"np\.sin, not math\.sin"):
        math.sin(Counting(1.0, [0]))
