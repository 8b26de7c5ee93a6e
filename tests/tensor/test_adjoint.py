"""D and the adjoint of random programs: exact against dual numbers, and within the bounds of the theorem.

WENGERT_TENSOR_PROGRAMS sets how many programs are tried (300).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tensor_random import Case, random_case, random_value
from tensor_wellformed import complaints

from wengert.tensor.language.evaluation import evaluate
from wengert.tensor.language.terms import (
    REAL,
    Access,
    Apply,
    BlackBox,
    Bracket,
    Const,
    Gen,
    LetIn,
    Mul,
    TensorProgram,
    TensorType,
    Var,
    affine,
    at_most,
)
from wengert.tensor.language.typechecking import arrays, type_of
from wengert.tensor.passes.adjoint import adjoint_program, interface_size
from wengert.tensor.passes.differential import differential
from wengert.tensor.passes.simplify import simplified
from wengert.tensor.passes.ssa import to_ssa
from wengert.tensor.passes.statements import SSA, evaluate_ssa, ssa_cost

PROGRAMS = int(os.environ.get("WENGERT_TENSOR_PROGRAMS", "300"))


class Dual:
    """x + ẋ·ε with ε² = 0, over fractions: forward mode that owes nothing to the rules under test."""

    def __init__(self, x: Fraction, x_dot: Fraction = Fraction(0)) -> None:
        self.x, self.x_dot = x, x_dot

    def __add__(self, other: Any) -> Dual:
        other = dual(other)
        return Dual(self.x + other.x, self.x_dot + other.x_dot)

    def __mul__(self, other: Any) -> Dual:
        other = dual(other)
        return Dual(self.x * other.x, self.x * other.x_dot + self.x_dot * other.x)

    __radd__, __rmul__ = __add__, __mul__


def dual(x: Any) -> Dual:
    return x if isinstance(x, Dual) else Dual(Fraction(x))


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    return list(np.asarray(value, object).flat)


def zipped(f: Callable[..., Any], a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(zipped(f, *parts) for parts in zip(a, b, strict=True))
    return np.vectorize(f, otypes=[object])(a, b)


def inner(a: Any, b: Any) -> Fraction:
    return sum((x * y for x, y in zip(flat(a), flat(b), strict=True)), Fraction(0))


def exact(ssa: SSA, case: Case, **more: Any) -> Any:
    return evaluate_ssa(ssa, {**case.inputs, **more}, case.sizes, case.relations, Fraction)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_derivatives(seed: int) -> None:
    binary = seed % 4 == 0
    case, rng = random_case(seed, binary), random.Random(seed)
    ssa, types = to_ssa(case.program), dict(case.program.inputs)
    wrt = rng.sample(sorted(types), rng.randint(1, len(types)))
    dx = {x: random_value(arrays(types[x]), case.sizes, rng) for x in wrt}

    tangent = differential(ssa, wrt)
    y_dot = exact(tangent, case, **{f"{x}_dot": dx[x] for x in wrt})
    duals = {x: zipped(Dual, value, dx[x]) if x in dx else value for x, value in case.inputs.items()}
    assert flat(y_dot) == [y.x_dot for y in flat(evaluate(case.program, duals, case.sizes, case.relations, dual))]

    y_bar = random_value(arrays(type_of(case.program)), case.sizes, rng)
    result = adjoint_program(ssa, wrt)
    assert inner(exact(result.ssa, case, y_bar=y_bar), tuple(dx[x] for x in wrt)) == inner(y_bar, y_dot)

    assert not [*complaints(tangent), *complaints(result.ssa)]
    primal, total, reverse = (ssa_cost(each, case.sizes, case.relations) for each in (ssa, tangent, result.ssa))
    factor, output = 6 if binary else 4, len(flat(y_dot))
    assert total <= factor * primal
    assert reverse + interface_size(result, case.sizes, case.relations) <= total + output
    assert reverse <= factor * primal + output


@pytest.mark.parametrize("seed", range(PROGRAMS // 3))
def test_second_derivatives(seed: int) -> None:
    """The tangent of a simplified adjoint against dual numbers, and the transpose of that again."""
    case, rng = random_case(seed, binary=seed % 4 == 0), random.Random(seed)
    x = next(name for name, _ in case.program.inputs)
    gradient = simplified(adjoint_program(to_ssa(case.program), [x]).ssa)
    types = {**dict(case.program.inputs), "y_bar": type_of(case.program)}
    y_bar, dx = (random_value(arrays(types[name]), case.sizes, rng) for name in ("y_bar", x))

    tangent = exact(differential(gradient, [x]), case, y_bar=y_bar, **{f"{x}_dot": dx})
    duals = {**case.inputs, "y_bar": y_bar, x: zipped(Dual, case.inputs[x], dx)}
    assert flat(tangent) == [g.x_dot for g in flat(evaluate_ssa(gradient, duals, case.sizes, case.relations, dual))]

    seed_value = random_value(arrays(types[x]), case.sizes, rng)
    second = adjoint_program(gradient, [x], "x_bar_bar")
    assert not complaints(second.ssa)
    assert inner(exact(second.ssa, case, y_bar=y_bar, x_bar_bar=seed_value), dx) == inner(seed_value, tangent)


def test_a_partial_is_not_evaluated_where_it_is_masked() -> None:
    """ln 0 and 1/0 stay unasked in the function, in D and in the adjoint."""
    reciprocal = BlackBox("reciprocal", lambda x: 1 / x, ())
    log = BlackBox("log", np.log, (lambda x: Apply(reciprocal, (x,)),))
    i, n = affine("i"), affine("n")
    body = Gen("i", n, Bracket(at_most(1, i), Apply(log, (Access(Var("x"), i),))))
    ssa = to_ssa(TensorProgram((("x", TensorType(n, REAL)),), body, (), ("n",)))
    inputs = {"x": np.array([0.0, 1.0, 2.0]), "x_dot": np.ones(3), "y_bar": np.ones(3)}
    with np.errstate(all="raise"):
        tangent = evaluate_ssa(differential(ssa, ["x"]), inputs, {"n": 3})
        (x_bar,) = evaluate_ssa(adjoint_program(ssa, ["x"]).ssa, inputs, {"n": 3})
    np.testing.assert_array_equal(tangent, [0, 1, 0.5])
    np.testing.assert_array_equal(x_bar, [0, 1, 0.5])


def test_a_partial_may_be_any_expression_and_a_zero_one_is_absent() -> None:
    """∂/∂a of a²·b with a let in it; ∂/∂b said to be 0."""
    a_part = lambda a, b: LetIn("t", Mul(a, b), Mul(Const(2), Var("t")))
    box = BlackBox("box", lambda a, b: a * a * b, (a_part, lambda a, b: Const(0)))
    ssa = to_ssa(TensorProgram((("a", REAL), ("b", REAL)), Apply(box, (Var("a"), Var("b")))))
    result = adjoint_program(ssa, ["a", "b"])
    assert evaluate_ssa(result.ssa, {"a": 3.0, "b": 5.0, "y_bar": 1.0}) == (30.0, 0.0)
    assert interface_size(result) == 1
