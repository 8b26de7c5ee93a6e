"""Each pass keeps the value, reaches its normal form and never raises the cost, on random programs.

WENGERT_TENSOR_PROGRAMS sets how many programs are tried (300).
"""

from __future__ import annotations

import os
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tensor_random import Case, random_case, square
from tensor_wellformed import complaints

from wengert.errors import OutOfRangeError, TensorLanguageError
from wengert.tensor.language.cost import cost
from wengert.tensor.language.evaluation import evaluate
from wengert.tensor.language.notation import show_program
from wengert.tensor.language.substitution import uniquely_named
from wengert.tensor.language.terms import (
    REAL,
    TRUE,
    Access,
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
    PairType,
    Proj,
    Related,
    Sum,
    TensorProgram,
    TensorType,
    Var,
    affine,
    at_most,
    equal,
    less,
)
from wengert.tensor.language.typechecking import arrays, type_of
from wengert.tensor.passes import let_lifting
from wengert.tensor.passes.gen_pushout import gens_are_pushed_out, push_out_gens
from wengert.tensor.passes.let_lifting import lets_are_lifted, lift_lets
from wengert.tensor.passes.pair_elimination import eliminate_pairs, pairs_are_eliminated
from wengert.tensor.passes.ssa import statements_of, to_ssa
from wengert.tensor.passes.statements import (
    SSA,
    Contract,
    Fill,
    Pointwise,
    Statement,
    evaluate_ssa,
    show_ssa,
    ssa_cost,
    to_program,
)

PROGRAMS = int(os.environ.get("WENGERT_TENSOR_PROGRAMS", "300"))
i, j, k, n, m = map(affine, "ijknm")
x, y = Var("x"), Var("y")
vector = TensorType(n, REAL)


def same(a: Any, b: Any) -> bool:
    """Equal exactly, in value and in structure."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))


def exact(program: TensorProgram, case: Case) -> Any:
    return evaluate(program, case.inputs, case.sizes, case.relations, Fraction)


def check_pass(before: TensorProgram, after: TensorProgram, case: Case) -> None:
    assert same(exact(before, case), exact(after, case))
    assert cost(after, case.sizes, case.relations) <= cost(before, case.sizes, case.relations)
    assert arrays(type_of(after)) == arrays(type_of(before))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_passes(seed: int) -> None:
    case = random_case(seed, binary=seed % 4 == 0)
    type_of(case.program)
    check_pass(case.program, uniquely_named(case.program), case)
    lifted = lift_lets(case.program)
    check_pass(case.program, lifted, case)
    assert lets_are_lifted(lifted)
    unpaired = eliminate_pairs(lifted)
    check_pass(lifted, unpaired, case)
    assert pairs_are_eliminated(unpaired) and lets_are_lifted(unpaired)
    pushed = push_out_gens(unpaired)
    check_pass(unpaired, pushed, case)
    assert gens_are_pushed_out(pushed) and pairs_are_eliminated(pushed) and lets_are_lifted(pushed)
    ssa = statements_of(pushed)
    check_pass(pushed, to_program(ssa), case)
    assert not complaints(ssa)
    assert ssa_cost(ssa, case.sizes, case.relations) == cost(to_program(ssa), case.sizes, case.relations)
    assert same(evaluate_ssa(ssa, case.inputs, case.sizes, case.relations, Fraction), exact(to_program(ssa), case))


def test_the_random_programs_hold_everything() -> None:
    """What is tested on random programs occurs in them."""
    shown = "\n".join(show_program(random_case(seed, binary=True).program) for seed in range(100))
    assert all(sign in shown for sign in ("let", "⊞", "Σ", "·", "π₀", "π₁", "∃", "∨", "∧", "¬R", "Q(", "bend", "2·"))
    assert re.search(r"\[i\d+:\d", shown) and "[n]" in shown


def test_without_the_bracket_around_a_lifted_value_programs_become_dearer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrapping of 5.9 is what keeps the cost."""
    true_lifted = let_lifting.lift_from

    def unwrapped(e: Expr) -> Any:
        if isinstance(e, Bracket):
            bindings, body = true_lifted(e.body)
            return bindings, Bracket(e.where, body)
        return true_lifted(e)

    monkeypatch.setattr(let_lifting, "lift_from", unwrapped)
    cases = [random_case(seed) for seed in range(300)]
    dearer = [cost(lift_lets(c.program), c.sizes, c.relations) > cost(c.program, c.sizes, c.relations) for c in cases]
    assert any(dearer)


def test_lifting_a_let_can_uncover_that_an_addition_is_free() -> None:
    hidden = LetIn("y", Const(2), Bracket(equal(n, 0), x))
    program = TensorProgram((("x", REAL),), Add(hidden, x), (), ("n",))
    assert (cost(program, {"n": 1}), cost(lift_lets(program), {"n": 1})) == (1, 0)


# ---- what things mean and cost ----


def scalar(e: Expr) -> TensorProgram:
    return TensorProgram((("x", vector), ("y", vector)), e, (("R", (n, n)),), ("n",))


def xs(at: AffineExpr) -> Expr:
    return Access(x, at)


@pytest.mark.parametrize(
    ("e", "counted"),
    [
        (Sum("i", n, xs(i)), 4),
        (Sum("i", n, Bracket(equal(i, 2), xs(i))), 0),
        (Sum("i", n, Bracket(less(i, 0), xs(i))), 0),
        (Sum("i", n, Sum("j", n, Bracket(equal(i, j), Mul(xs(i), xs(j))))), 9),
        (Sum("i", n, Bracket(at_most(2, i), Sum("j", n, xs(j)))), 3 * 4 + 2),
        (Sum("i", n, Bracket(at_most(2, i), Bracket(at_most(i, 2), xs(i)))), 0),
        (Gen("i", n, Add(Bracket(less(i, 3), xs(i)), Bracket(less(1, i), xs(i)))), 1),
        (Gen("i", n, Bracket(equal(2 * i, 4), Mul(xs(i), xs(i)))), 1),
        (LetIn("z", Mul(xs(i - i), xs(i - i)), Add(Var("z"), Var("z"))), 2),
        (Gen("i", n, Sum("j", n, Bracket(Related("R", (i, j)), xs(j)))), 7 - 4),
    ],
)
def test_costs(e: Expr, counted: int) -> None:
    relation = np.zeros((5, 5), bool)
    relation[[0, 0, 0, 1, 2, 4, 4], [0, 1, 4, 1, 3, 0, 2]] = True
    assert cost(scalar(e), {"n": 5}, {"R": relation}) == counted


def test_a_black_box_is_not_evaluated_where_its_result_is_masked() -> None:
    log = BlackBox("log", np.log, ())
    program = scalar(Gen("i", n, Bracket(at_most(1, i), Apply(log, (xs(i),)))))
    inputs = {"x": np.array([0.0, 1.0, np.e]), "y": np.zeros(3)}
    with np.errstate(all="raise"):
        for stage in (program, to_program(to_ssa(program))):
            np.testing.assert_allclose(evaluate(stage, inputs, {"n": 3}), [0, 0, 1])


def test_reading_out_of_range_is_an_error() -> None:
    program = scalar(Gen("i", n, xs(i + 1)))
    with pytest.raises(OutOfRangeError, match=r"x.* is read at index 3; its indices are 0..2"):
        evaluate(program, {"x": np.zeros(3), "y": np.zeros(3)}, {"n": 3})


def test_a_false_bracket_around_a_tensor_or_a_pair_is_zero_of_its_type() -> None:
    program = TensorProgram((("p", PairType(vector, REAL)),), Bracket(less(n, 0), Var("p")), (), ("n",))
    value = evaluate(program, {"p": (np.ones(3), 1.0)}, {"n": 3})
    assert same(value, (np.zeros(3), np.float64(0)))


def test_a_tensor_of_no_elements() -> None:
    program = scalar(Sum("i", n, Mul(xs(i), xs(i))))
    for stage in (program, to_program(to_ssa(program))):
        assert evaluate(stage, {"x": np.zeros(0), "y": np.zeros(0)}, {"n": 0}) == 0
        assert cost(stage, {"n": 0}) == 0


def test_a_name_is_again_what_it_was_after_an_inner_let() -> None:
    inner = LetIn("v", Const(5), Mul(Var("v"), Const(10)))
    program = scalar(LetIn("v", Const(2), Add(inner, Var("v"))))
    for stage in (program, uniquely_named(program), to_program(to_ssa(program))):
        assert evaluate(stage, {"x": np.zeros(0), "y": np.zeros(0)}, {"n": 0}) == 52


def test_single_precision_stays() -> None:
    value = evaluate(scalar(Gen("i", n, Mul(xs(i), Const(3)))), {"x": [1, 2], "y": [1, 2]}, {"n": 2}, number=np.float32)
    assert value.dtype == np.float32


# ---- types ----


@pytest.mark.parametrize(
    ("e", "message"),
    [
        (Add(x, y), r"x in x \+ y must be a scalar but is a \[n\]ℝ"),
        (Sum("i", n, x), "must be a scalar"),
        (Proj(0, xs(n - n)), "which is not a pair"),
        (Access(xs(n - n), n - n), "which is not a tensor"),
        (Var("z"), "z is not defined"),
        (xs(k), "k is not an index or size in scope"),
        (Bracket(Related("R", (n,)), xs(n - n)), "R is not a relation of 1 indices"),
        (Gen("i", m, xs(i)), "m is not an index or size"),
        (Bracket(equal(k, 0), x), "the predicate names k"),
    ],
)
def test_what_has_no_type(e: Expr, message: str) -> None:
    with pytest.raises(TensorLanguageError, match=message):
        type_of(scalar(e))


# ---- how the statements look ----


def test_convolution_in_statements() -> None:
    window = Mul(Access(y, j), xs(i - j))
    program = scalar(Gen("i", n, Sum("j", n, Bracket(at_most(0, i - j), window))))
    assert show_ssa(to_ssa(program)).splitlines()[3:] == [
        "let y_1 = ⊞[i0:n] y[i0] in",
        "let t0 = ⊞[i0:n, i1:n] Σ[j0:n] [i1 = j0 ∧ i1 ≤ i0]·y_1[j0] in",
        "let x_1 = ⊞[i0:n] x[i0] in",
        "let t1 = ⊞[i0:n, i1:n] Σ[j0:n] [i0 = i1+j0]·x_1[j0] in",
        "let t2 = ⊞[i0:n, i1:n] Σ[j0:n, j1:n, k0:n, k1:n] "
        "[i0 = j0 ∧ i0 = k0 ∧ i1 = j1 ∧ i1 = k1 ∧ i1 ≤ i0]·t0[j0][j1]·t1[k0][k1] in",
        "let out = ⊞[i0:n] Σ[j0:n, j1:n] [i0 = j0 ∧ j1 ≤ i0]·t2[j0][j1] in",
        "out",
    ]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ((Statement("a", (), Pointwise(TRUE, square, ("b",))),), "a: reads b, which is not defined above"),
        ((Statement("a", (), Fill(TRUE, 1)), Statement("a", (), Fill(TRUE, 2))), "a: defined twice"),
        ((Statement("a", (("q", n),), Fill(TRUE, 1)),), "a: indices are not named by position"),
        ((Statement("a", (), Fill(equal(k, 0), 1)),), "a: k is no index here"),
        (
            (Statement("b", (), Fill(TRUE, 1)), Statement("a", (("i0", n),), Pointwise(TRUE, square, ("b",)))),
            "a: b is of another shape",
        ),
        (
            (Statement("b", (("i0", n),), Fill(TRUE, 1)), Statement("a", (), Contract((), TRUE, (("b", ()),)))),
            "a: b is read by indices of another range",
        ),
    ],
)
def test_what_is_not_in_the_last_normal_form(statements: tuple[Statement, ...], message: str) -> None:
    assert complaints(SSA(statements, "a", sizes=("n",))) == [message]


def test_a_result_that_is_not_there() -> None:
    assert complaints(SSA((), ("a",))) == ["the result a is not defined"]
