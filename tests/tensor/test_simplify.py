"""Each simplification keeps the value and never raises the cost; what it makes of programs that show what it is for.

WENGERT_TENSOR_PROGRAMS sets how many programs are tried (300, of which a third here).
"""

from __future__ import annotations

import os
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tensor_examples import EXAMPLES, MATRIX, VECTOR, A, B, lets, outer, program, read, x
from tensor_random import random_case, random_value
from tensor_wellformed import complaints

from wengert.tensor.language.terms import (
    REAL,
    Add,
    AffineExpr,
    Apply,
    BlackBox,
    Bracket,
    Const,
    Expr,
    Gen,
    LetIn,
    Mul,
    Sum,
    Var,
    affine,
    equal,
    less,
)
from wengert.tensor.language.typechecking import arrays, type_of
from wengert.tensor.passes.adjoint import adjoint_program
from wengert.tensor.passes.invariants import invariants_hoisted
from wengert.tensor.passes.merging import contractions_merged
from wengert.tensor.passes.simplify import (
    constants_folded,
    simplified,
    without_copies,
    without_dead_code,
    without_duplicates,
)
from wengert.tensor.passes.ssa import to_ssa
from wengert.tensor.passes.statements import SSA, evaluate_ssa, show_ssa, ssa_cost

PROGRAMS = int(os.environ.get("WENGERT_TENSOR_PROGRAMS", "300")) // 3
STEPS = (
    constants_folded,
    without_copies,
    contractions_merged,
    invariants_hoisted,
    without_duplicates,
    without_dead_code,
)
i, j, k, n = map(affine, "ijkn")


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    return list(np.asarray(value, object).flat)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_every_step(seed: int) -> None:
    case = random_case(seed, binary=seed % 4 == 0)
    y_bar = random_value(arrays(type_of(case.program)), case.sizes, random.Random(seed))
    primal = to_ssa(case.program)
    for ssa in (primal, adjoint_program(primal, dict(case.program.inputs)).ssa):
        check_steps(ssa, {**case.inputs, "y_bar": y_bar}, case.sizes, case.relations)


def check_steps(ssa: SSA, inputs: Any, sizes: Any, relations: Any) -> None:
    def value_and_cost(ssa: SSA) -> tuple[Any, int]:
        return flat(evaluate_ssa(ssa, inputs, sizes, relations, Fraction)), ssa_cost(ssa, sizes, relations)

    value, cost = value_and_cost(ssa)
    for step in STEPS:
        ssa = step(ssa)
        new_value, new_cost = value_and_cost(ssa)
        assert new_value == value and new_cost <= cost, step.__name__
        assert not complaints(ssa), step.__name__
        cost = new_cost
    new_value, new_cost = value_and_cost(simplified(ssa))
    assert new_value == value and new_cost <= cost


def statements(e: Expr, sizes: str = "n", **inputs: Any) -> list[str]:
    """The simplified statements without the inputs'."""
    shown = show_ssa(simplified(to_ssa(program(e, sizes, **inputs)))).splitlines()
    return [line.removesuffix(" in") for line in shown if not line.startswith("input")][:-1]


def cost_of(e: Expr, n: int, **inputs: Any) -> int:
    return ssa_cost(simplified(to_ssa(program(e, **inputs))), {"n": n})


def test_a_matrix_product_is_one_contraction() -> None:
    assert statements(EXAMPLES["13 matrix product"].program.body, A=MATRIX, B=MATRIX)[-1] == (
        "let out = ⊞[i0:n, i1:n] Σ[j0:n, j1:n, k0:n, k1:n] [i0 = j0 ∧ i1 = k1 ∧ j1 = k0]·A_1[j0][j1]·B_1[k0][k1]"
    )


def test_a_convolution_is_one_contraction() -> None:
    example = EXAMPLES["1 convolution"].program
    assert statements(example.body, "nm", **dict(example.inputs))[-1] == (
        "let out = ⊞[i0:n] Σ[j0:m, k0:n] [i0 = j0+k0]·w_1[j0]·x_1[k0]"
    )


def test_a_masked_product_keeps_its_mask_and_nothing_else() -> None:
    example = EXAMPLES["15 masked matrix times vector"]
    shown = show_ssa(simplified(adjoint_program(to_ssa(example.program), example.wrt).ssa))
    assert "∃" not in shown and shown.count("R(") == 2


def product_of_three() -> Expr:
    def product(A: Expr, B: Expr) -> Expr:
        return Gen("i", n, Gen("j", n, Sum("k", n, Mul(read(A, i, k), read(B, k, j)))))

    return LetIn("P", product(A, B), product(Var("P"), Var("C")))


@pytest.mark.parametrize("size", [4, 8])
def test_a_product_of_three_matrices_stays_two_products(size: int) -> None:
    """Greedy merging made n⁴ of it."""
    assert cost_of(product_of_three(), size, A=MATRIX, B=MATRIX, C=MATRIX) == 2 * (2 * size**3 - size**2)


def test_an_invariant_let_is_computed_once() -> None:
    """⊞j (let y = Σ x² in y·x[j]): n² before."""
    inside = Gen("j", n, LetIn("y", Sum("i", n, Mul(read(x, i), read(x, i))), Mul(Var("y"), read(x, j))))
    assert ssa_cost(to_ssa(program(inside, x=VECTOR)), {"n": 8}) == 8 * 15 + 8
    assert cost_of(inside, 8, x=VECTOR) == 15 + 8
    assert cost_of(inside, 0, x=VECTOR) == 0


def test_an_invariant_map_is_computed_once_and_not_at_all_where_there_is_no_place() -> None:
    box = BlackBox("box", lambda x: x * x, ())
    inside = Gen("j", n, Apply(box, (Add(Var("s"), Var("s")),)))
    assert cost_of(inside, 5, s=REAL) == 2
    assert cost_of(inside, 0, s=REAL) == 0


def test_three_traces_are_one() -> None:
    """Only what the trace reads is computed, and once."""
    assert cost_of(EXAMPLES["7 three traces"].program.body, 10, x=VECTOR) == 2 * 10 - 1 + 2


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (Add(Var("s"), Bracket(less(n, 0), Var("s"))), []),
        (Mul(Var("s"), Bracket(less(n, 0), Var("s"))), ["let out = [false]·0"]),
        (Mul(Const(1), Var("s")), []),
        (Gen("i", n, Mul(Const(1), Bracket(equal(i, 0), Var("s")))), ["let t1 = ⊞[i0:n] [i0 = 0]·s_1"]),
        (lets(("a", Add(Var("s"), Const(2))), ("b", Add(Const(2), Var("s"))), then=Mul(Var("a"), Var("b"))), 4),
        (Add(Bracket(equal(n, 1), Var("s")), Var("s")), ["let out = [n = 1]·s_1 + s_1"]),
    ],
)
def test_zeros_ones_copies_and_repetitions(e: Expr, expected: list[str] | int) -> None:
    found = [line for line in statements(e, s=REAL) if line != "let s_1 = s"]
    assert found == expected if isinstance(expected, list) else len(found) == expected - 1


def test_one_and_one_point_zero_stay_apart() -> None:
    both = Add(Mul(Const(2), Var("s")), Mul(Const(2.0), Var("s")))
    assert sum(" = 2" in line for line in statements(both, s=REAL)) == 2


def test_a_gather_of_a_product_read_many_times_is_not_repeated() -> None:
    """P = outer(x, x) is read n times: it stays a statement of its own."""
    total = Sum("i", n, Sum("j", n, read(Var("P"), i, j)))
    e = LetIn("P", outer(lambda i: read(x, i), lambda j: read(x, j)), Gen("k", n, total))
    assert cost_of(e, 6, x=VECTOR) == 36 + 35


def test_at_known_sizes_there_is_nothing_left_to_guard() -> None:
    e = Gen("j", AffineExpr(3), Mul(Var("s"), Var("s")))
    assert statements(e, s=REAL)[-2:] == ["let t0 = s_1·s_1", "let out = ⊞[i0:3] t0"]


@pytest.mark.parametrize("simplify", [False, True])
def test_a_guarded_sum_that_reads_an_input_masks_its_cotangent(simplify: bool) -> None:
    """y = [i > 0]·x[i] + s: x̄ is ȳ, but 0 at the first place."""
    e = Gen("i", n, Add(Bracket(less(0, i), read(x, i)), Var("s")))
    ssa = to_ssa(program(e, x=VECTOR, s=REAL))
    result = adjoint_program(simplified(ssa) if simplify else ssa, ["x", "s"])
    found = evaluate_ssa(result.ssa, {"x": np.ones(3), "s": 1.0, "y_bar": np.array([5.0, 6.0, 7.0])}, {"n": 3})
    np.testing.assert_array_equal(found[0], [0.0, 6.0, 7.0])
    assert found[1] == 18.0


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_the_adjoint_of_simplified_statements(seed: int) -> None:
    """It is that of the statements as they were."""
    case = random_case(seed, binary=seed % 4 == 0)
    wrt = list(dict(case.program.inputs))
    y_bar = random_value(arrays(type_of(case.program)), case.sizes, random.Random(seed))
    ssa = to_ssa(case.program)

    def cotangents(ssa: SSA) -> list[Any]:
        inputs = {**case.inputs, "y_bar": y_bar}
        return flat(evaluate_ssa(adjoint_program(ssa, wrt).ssa, inputs, case.sizes, case.relations, Fraction))

    assert cotangents(simplified(ssa)) == cotangents(ssa)
