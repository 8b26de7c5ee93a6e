"""What the range prover calls proven holds for all whole numbers in range, tried one by one."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.tensor.language.bounds import Bounds
from wengert.tensor.language.terms import (
    AffineExpr,
    Predicate,
    Related,
    affine,
    compare_to_zero,
    conjoin,
    disjoin,
    equal,
    exists,
    in_range,
    less,
    negate,
)

INDICES = {"i": 3, "j": 4, "k": 2}


def bounds(n: int = 5) -> Bounds:
    made = Bounds()
    made.sizes["n"] = n
    made.indices.update({"i": affine("n") - 2, "j": affine("n") - 1, "k": AffineExpr(2)})
    return made


def random_affine(rng: random.Random) -> AffineExpr:
    terms = sum((affine(name) * rng.randint(-2, 2) for name in INDICES), AffineExpr(rng.randint(-4, 4)))
    return terms + affine("n") * rng.choice([0, 0, 1, -1])


def random_predicate(rng: random.Random, depth: int = 2) -> Predicate:
    kind = rng.randrange(6 if depth else 2)
    if kind < 2:
        return compare_to_zero(rng.choice(["=", ">", ">="]), random_affine(rng))
    if kind == 2:
        return Related("R", (affine("i"),))
    parts = [random_predicate(rng, depth - 1) for _ in range(2)]
    if kind == 3:
        return disjoin(*parts)
    if kind == 4:
        return exists([("l", AffineExpr(3))], conjoin(parts[0], equal(affine("l"), random_affine(rng))))
    return conjoin(*parts)


def holds(p: Predicate, at: dict[str, int]) -> bool:
    """By trying; R holds of even numbers."""
    match type(p).__name__:
        case "Compare":
            value = p.side.substitute(at).constant  # type: ignore[union-attr]
            return value == 0 if p.op == "=" else value >= 0 if p.op == ">=" else value > 0  # type: ignore[union-attr]
        case "Related":
            return p.at[0].substitute(at).constant % 2 == 0  # type: ignore[union-attr]
        case "And":
            return all(holds(q, at) for q in p.parts)  # type: ignore[union-attr]
        case "Or":
            return any(holds(q, at) for q in p.parts)  # type: ignore[union-attr]
        case "Exists":
            size = p.size.substitute(at).constant  # type: ignore[union-attr]
            return any(holds(p.of, {**at, p.index: k}) for k in range(size))  # type: ignore[union-attr]
    raise AssertionError(p)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9))
def test_what_is_proven_holds(seed: int) -> None:
    rng = random.Random(seed)
    conditions = tuple(random_predicate(rng) for _ in range(rng.randrange(3)))
    goal = random_affine(rng)
    if bounds().proves(conditions, goal):
        for values in itertools.product(*map(range, INDICES.values())):
            at = {**dict(zip(INDICES, values, strict=True)), "n": 5}
            if all(holds(p, at) for p in conditions):
                assert goal.substitute(at).constant >= 0


def proves(*conditions: Predicate, goal: AffineExpr) -> bool:
    return bounds().proves(conditions, goal)


P, Q, S, N = map(affine, "ijkn")


@pytest.mark.parametrize(
    ("conditions", "goal"),
    [
        ((), N - 3 - P), ((), P + Q), ((less(P, Q),), Q - 1), ((equal(P, Q + 1), less(Q, 1)), P * -1 + 1),
        ((less(P, Q), less(Q, S)), S - 2), ((disjoin(less(2, P), less(2, Q)),), P + Q - 3),
        ((exists([("l", AffineExpr(2))], equal(P, affine("l") * 2)),), P * -1 + 2),
        ((negate(equal(P, 0)),), P - 1), ((less(Q * 2, P),), P - 1), ((less(1, S),), AffineExpr(-1)),
    ],
)  # fmt: skip
def test_what_holds_for_a_reason_is_proven(conditions: tuple[Predicate, ...], goal: AffineExpr) -> None:
    assert proves(*conditions, goal=goal)


@pytest.mark.parametrize(
    ("conditions", "goal"),
    [
        ((), P - 1),
        ((), N - 4 - P),
        ((Related("R", (P,)),), P - 1),
        ((in_range(P, AffineExpr(2)),), P * -1),
    ],
)
def test_what_does_not_hold_is_not_proven(conditions: tuple[Predicate, ...], goal: AffineExpr) -> None:
    assert not proves(*conditions, goal=goal)


def test_the_least_and_the_largest() -> None:
    assert bounds().corner(P * 2 - Q, high=True) == N * 2 - 6
    assert bounds().corner(P * 2 - Q, high=False) == N * -1 + 2
