"""Predicates keep where they are true through every simplification; programs print in the paper's notation."""

from __future__ import annotations

import itertools
import random

import pytest

from wengert.tensor.language.notation import show_expr, show_predicate, show_program
from wengert.tensor.language.predicates import free_index_names, substituted
from wengert.tensor.language.ranges import simplify_predicate
from wengert.tensor.language.terms import (
    FALSE,
    REAL,
    TRUE,
    Access,
    Add,
    AffineExpr,
    And,
    Bracket,
    Compare,
    Const,
    Exists,
    Gen,
    LetIn,
    Mul,
    Or,
    Pair,
    Predicate,
    Proj,
    Related,
    Sum,
    TensorProgram,
    TensorType,
    Unrelated,
    Var,
    affine,
    at_most,
    compare_to_zero,
    conjoin,
    disjoin,
    equal,
    exists,
    in_range,
    less,
    negate,
)

i, j, k, n, m = map(affine, "ijknm")
R = {(0, 1), (1, 1), (2, 0)}


def holds(p: Predicate, at: dict[str, int]) -> bool:
    def value(a: AffineExpr) -> int:
        return a.constant + sum(c * at[name] for name, c in a.terms)

    match p:
        case Compare(op, side):
            return {"=": value(side) == 0, ">": value(side) > 0, ">=": value(side) >= 0}[op]
        case Related(_, places):
            return tuple(map(value, places)) in R
        case Unrelated(_, places):
            return tuple(map(value, places)) not in R
        case And(parts):
            return all(holds(q, at) for q in parts)
        case Or(parts):
            return any(holds(q, at) for q in parts)
        case Exists(index, size, of):
            return any(holds(of, {**at, index: k}) for k in range(value(size)))


def some_affine(rng: random.Random, of: str) -> AffineExpr:
    return sum((affine(name) * rng.randint(-2, 2) for name in rng.sample(of, 2)), AffineExpr(rng.randint(-3, 3)))


def some_atom(rng: random.Random, of: str) -> Predicate:
    if rng.random() < 0.2:
        kind = rng.choice((Related, Unrelated))
        return kind("R", (some_affine(rng, of), some_affine(rng, of)))
    return Compare(rng.choice(("=", ">", ">=")), some_affine(rng, of))


def built(p: Predicate) -> Predicate:
    """The same predicate through the constructors that simplify."""
    match p:
        case Compare(op, side):
            return compare_to_zero(op, side)
        case And(parts):
            return conjoin(*map(built, parts))
        case Or(parts):
            return disjoin(*map(built, parts))
        case Exists(index, size, of):
            return exists([(index, size)], built(of))
    return p


def some_predicate(rng: random.Random, depth: int, of: str = "ijn") -> Predicate:
    if depth == 0:
        return some_atom(rng, of)
    kind = rng.choice((And, Or, Exists))
    if kind is Exists:
        return Exists("k", rng.choice((n, AffineExpr(2))), some_predicate(rng, depth - 1, of + "k"))
    return kind(tuple(some_predicate(rng, depth - 1, of) for _ in range(rng.randint(0, 3))))


@pytest.mark.parametrize("seed", range(150))
def test_constructors_keep_where_a_predicate_is_true(seed: int) -> None:
    rng = random.Random(seed)
    p = some_predicate(rng, rng.randint(0, 3))
    q = built(p)
    shifted = substituted(q, {"i": j - 1})
    for a, b, size in itertools.product(range(-1, 4), range(-1, 4), range(4)):
        at = {"i": a, "j": b, "n": size}
        assert holds(q, at) == holds(p, at)
        assert holds(shifted, at) == holds(p, {**at, "i": b - 1})


@pytest.mark.parametrize("seed", range(40))
def test_negation(seed: int) -> None:
    rng = random.Random(seed)
    p = conjoin(disjoin(some_atom(rng, "ijn"), some_atom(rng, "ijn")), some_atom(rng, "ijn"))
    for a, b in itertools.product(range(-1, 4), repeat=2):
        at = {"i": a, "j": b, "n": 3}
        assert holds(negate(p), at) != holds(p, at)


def test_not_exists_is_refused() -> None:
    with pytest.raises(ValueError, match="no ∀"):
        negate(Exists("k", n, Related("R", (i, k))))


def test_what_folds() -> None:
    assert conjoin(equal(i, 0), equal(i, 1)) == FALSE == compare_to_zero("=", 2 * i + 1)
    assert (
        conjoin(equal(i, 0), at_most(0, i), less(i, 3))
        == equal(i, 0)
        == disjoin(equal(i, 0), conjoin(equal(i, 0), less(j, n)))
    )
    assert compare_to_zero(">=", 2 * i - 3) == compare_to_zero(">", i - 1) == at_most(2, i)
    assert negate(TRUE) == FALSE == conjoin(Related("R", (i, j)), Unrelated("R", (i, j)))
    assert exists([("i", n)], equal(i, j + 1)) == in_range(j + 1, n)
    assert exists([("i", n)], at_most(i, j)) == conjoin(at_most(0, j), less(0, n))


def test_a_bound_index_is_renamed_rather_than_captured() -> None:
    p = substituted(Exists("k", n, Related("R", (i, k))), {"i": k})
    assert free_index_names(p) == {"k", "n"}
    assert [holds(p, {"k": a, "n": 2}) for a in range(4)] == [True, True, True, False]


def test_notation() -> None:
    x, w = Var("x"), Var("w")
    window = Mul(Access(w, j), Access(x, i - j))
    body = Gen("i", n, Sum("j", m, Bracket(at_most(0, i - j), window)))
    program = TensorProgram(
        (("x", TensorType(n, REAL)), ("w", TensorType(m, REAL))), body, (("R", (n, m)),), ("n", "m")
    )
    assert show_program(program).splitlines() == [
        "input x : [n]ℝ",
        "input w : [m]ℝ",
        "relation R ⊆ n×m",
        "⊞[i:n] Σ[j:m] [j ≤ i]·w[j]·x[i-j]",
    ]


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (Mul(Add(Var("x"), Var("y")), Const(-1)), "(x + y)·(-1)"),
        (Add(Bracket(equal(i, j), Var("x")), Var("y")), "[i = j]·x + y"),
        (Bracket(equal(i, j), Add(Var("x"), Var("y"))), "[i = j]·(x + y)"),
        (Mul(Bracket(equal(i, j), Var("x")), Var("y")), "([i = j]·x)·y"),
        (Add(Sum("i", n, Var("x")), Var("y")), "(Σ[i:n] x) + y"),
        (Proj(0, Pair(Var("x"), Var("y"))), "π₀ (x, y)"),
        (Access(Proj(1, Var("x")), 2 * i - 1), "(π₁ x)[2·i-1]"),
        (LetIn("y", Var("x"), Var("y")), "let y = x in\ny"),
    ],
)
def test_precedence(e: object, text: str) -> None:
    assert show_expr(e) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (less(i, n), "i < n"),
        (at_most(i, j), "i ≤ j"),
        (equal(i + 1, j), "j = i+1"),
        (equal(i, 0), "i = 0"),
        (less(0, n), "0 < n"),
        (at_most(3, i), "3 ≤ i"),
        (conjoin(disjoin(equal(i, 0), equal(j, 0)), less(i, n)), "i < n ∧ (i = 0 ∨ j = 0)"),
        (Exists("k", n, Related("R", (i, k))), "∃[k:n] R(i, k)"),
    ],
)
def test_predicates_read_like_the_paper(p: Predicate, text: str) -> None:
    assert show_predicate(p) == text


def test_tidying_keeps_where_a_predicate_is_true() -> None:
    """Within ranges; what equalities make equal is said once."""
    ranges = {"i": AffineExpr(3), "j": AffineExpr(3), "n": AffineExpr(4)}
    for seed in range(300):
        rng = random.Random(seed)
        p = built(some_predicate(rng, rng.randint(0, 3)))
        found = simplify_predicate(p, ranges)
        for a, b, size in itertools.product(range(3), range(3), range(4)):
            at = {"i": a, "j": b, "n": size}
            assert holds(found, at) == holds(p, at)
    twice = conjoin(equal(i, k), Related("R", (i, j)), Related("R", (k, j)))
    assert simplify_predicate(twice, ranges) == conjoin(equal(i, k), Related("R", (i, j)))
    assert simplify_predicate(conjoin(equal(i, j), at_most(i, k), at_most(j, k)), ranges) == conjoin(
        equal(i, j), at_most(i, k)
    )
    row = Exists("k", AffineExpr(3), Related("R", (i, k)))
    assert simplify_predicate(conjoin(Related("R", (i, j)), row), ranges) == Related("R", (i, j))
