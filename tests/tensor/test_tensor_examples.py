"""The worked examples: gradients against closed forms, operations counted exactly."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tensor_examples import EXAMPLES, Example, chained_example, lets
from tensor_random import random_case, random_value
from test_adjoint import flat

from wengert.tensor.language.predicates import Predicate
from wengert.tensor.language.terms import REAL, TRUE, Add, Mul, Pair, TensorProgram, Type, Var
from wengert.tensor.language.typechecking import arrays, shape_of_type, type_of
from wengert.tensor.passes.adjoint import AdjointProgram, AdjointRewriter, adjoint_program, interface_size
from wengert.tensor.passes.differential import differential
from wengert.tensor.passes.let_lifting import lets_of
from wengert.tensor.passes.ssa import to_ssa
from wengert.tensor.passes.statements import SSA, evaluate_ssa, ssa_cost

CASES = [(name, sizes) for name, example in EXAMPLES.items() for sizes in example.sizes]


def integers(of: Type, sizes: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    """Whole numbers, on which floats are exact."""
    shape = [size.constant + sum(c * sizes[name] for name, c in size.terms) for size in shape_of_type(of)]
    return rng.integers(-2, 4, shape).astype(float)


def relations(example: Example, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    return {"R": example.relation(**sizes)} if example.relation else {}


def counts(example: Example, sizes: dict[str, int]) -> tuple[int, int, int, int]:
    """Primal; D with the primal; adjoint with the primal; interface."""
    ssa = to_ssa(example.program)
    result = adjoint_program(ssa, example.wrt)
    world = sizes, relations(example, sizes)
    programs = ssa, differential(ssa, example.wrt), result.ssa
    first, second, third = (ssa_cost(each, *world) for each in programs)
    return first, second, third, interface_size(result, *world)


@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_gradient(name: str, sizes: dict[str, int]) -> None:
    example, rng = EXAMPLES[name], np.random.default_rng(0)
    inputs = {x: integers(of, sizes, rng) for x, of in example.program.inputs}
    y_bar = integers(type_of(example.program), sizes, rng)
    result = adjoint_program(to_ssa(example.program), example.wrt)
    found = evaluate_ssa(result.ssa, {**inputs, "y_bar": y_bar}, sizes, relations(example, sizes))
    for x_bar, expected in zip(found, example.gradient(y_bar, **inputs, **sizes), strict=True):
        np.testing.assert_array_equal(x_bar, expected)


@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_counts(name: str, sizes: dict[str, int]) -> None:
    example = EXAMPLES[name]
    primal, total, reverse, interface = counts(example, sizes)
    assert primal == example.primal(**sizes)
    assert reverse - primal == example.extra(**sizes)
    if example.interface:
        assert interface == example.interface(**sizes)
    output = int(np.prod(integers(type_of(example.program), sizes, np.random.default_rng(0)).shape))
    assert reverse + interface <= total + output
    assert total <= 4 * primal
    assert reverse <= 4 * primal + output


def test_the_derivative_of_a_product_is_four_times_the_product() -> None:
    """The constant of the theorem is attained."""
    for name in ("14 product of scalars", "14 product of scalars, lets"):
        primal, total, _, _ = counts(EXAMPLES[name], {})
        assert total == 4 * primal == 20


def test_weight_fit_at_small_sizes() -> None:
    example = EXAMPLES["12 weight fit"]
    assert [counts(example, sizes)[0] for sizes in example.sizes[:2]] == [27, 41]


@pytest.mark.parametrize("steps", [4, 8])
def test_the_chained_example_grows_with_n_not_with_its_square(steps: int) -> None:
    """Every framework makes n² of it."""
    example = chained_example(steps)
    extras = [reverse - primal for primal, _, reverse, _ in (counts(example, {"n": n}) for n in (8, 16, 32))]
    assert extras == [example.extra(n=n) for n in (8, 16, 32)]
    assert extras[2] - extras[1] == 2 * (extras[1] - extras[0])


def weaken_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """To true, or to what a guarded sum says."""
    pair = AdjointRewriter.pair

    def weaker(self: AdjointRewriter, dx: str, where: Predicate, a: str, within: Predicate = TRUE) -> None:
        pair(self, dx, within, a, within)

    monkeypatch.setattr(AdjointRewriter, "pair", weaker)


@pytest.mark.parametrize("seed", range(60))
def test_a_weaker_filter_changes_no_value_and_saves_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(seed, binary=seed % 4 == 0)
    wrt, ssa = list(dict(case.program.inputs)), to_ssa(case.program)
    y_bar = random_value(arrays(type_of(case.program)), case.sizes, random.Random(seed))
    world = case.sizes, case.relations

    def found() -> tuple[Any, int]:
        result = adjoint_program(ssa, wrt).ssa
        return evaluate_ssa(result, {**case.inputs, "y_bar": y_bar}, *world, Fraction), ssa_cost(result, *world)

    value, cost = found()
    weaken_filters(monkeypatch)
    weaker_value, weaker_cost = found()
    assert flat(weaker_value) == flat(value) and weaker_cost >= cost


@pytest.mark.parametrize(
    ("name", "n", "bound", "without"),
    [
        ("8 trace(outer(first column, first row))", 3, 4 * 11 + 1, 50),
        ("7 three traces", 4, 4 * 27 + 1, 119),
    ],
)
def test_without_filters_the_bound_fails(
    name: str, n: int, bound: int, without: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the bound tests the filters; and a filter never changes a value."""
    example, sizes = EXAMPLES[name], {"n": n}
    assert counts(example, sizes)[2] <= bound
    weaken_filters(monkeypatch)
    assert counts(example, sizes)[2] == without > bound
    test_gradient(name, {"n": n})


def linear_program(rng: random.Random) -> tuple[TensorProgram, int, int]:
    """A linear program of additions in which everything is used: with how many inputs and outputs."""
    inputs = [f"x{t}" for t in range(rng.randint(1, 4))]
    nodes, bindings, unused = list(inputs), [], set(inputs)
    for t in range(rng.randint(1, 12)):
        left, right = rng.choice(sorted(unused)) if rng.random() < 0.7 else rng.choice(nodes), rng.choice(nodes)
        bindings.append((f"v{t}", Add(Var(left), Var(right))))
        nodes.append(f"v{t}")
        unused = (unused - {left, right}) | {f"v{t}"}
    outputs = sorted(unused)
    body: Any = Var(outputs[-1])
    for name in reversed(outputs[:-1]):
        body = Pair(Var(name), body)
    return TensorProgram(tuple((x, REAL) for x in inputs), lets(*bindings, then=body)), len(inputs), len(outputs)


@pytest.mark.parametrize("seed", range(30))
def test_additions_of_a_transpose(seed: int) -> None:
    """adds(fᵀ) = adds(f) + outputs − inputs, of a linear program with neither zeros nor dead code."""
    program, inputs, outputs = linear_program(random.Random(seed))
    ssa = to_ssa(program)
    adds = ssa_cost(ssa)
    assert adds == len(lets_of(program.body)[0])
    assert ssa_cost(adjoint_program(ssa, dict(program.inputs)).ssa) - adds == adds + outputs - inputs


def test_an_input_that_nothing_comes_to_has_a_structural_zero() -> None:
    program = TensorProgram(
        (("x", REAL), ("p", type_of(TensorProgram((("a", REAL),), Pair(Var("a"), Var("a")))))), Mul(Var("x"), Var("x"))
    )
    result = adjoint_program(to_ssa(program), ("x", "p"))
    assert evaluate_ssa(result.ssa, {"x": 3.0, "p": (1.0, 2.0), "y_bar": 1.0}) == (6.0, (0.0, 0.0))
    assert interface_size(result) == 1


def test_a_relation_that_is_not_given_is_missed_by_its_name() -> None:
    """A program in which a size or a relation stands for nothing has no value."""
    name, sizes = next((name, sizes) for name, sizes in CASES if EXAMPLES[name].relation)
    program = EXAMPLES[name].program
    inputs = {x: integers(of, sizes, np.random.default_rng(0)) for x, of in program.inputs}
    with pytest.raises(KeyError, match="R"):
        evaluate_ssa(to_ssa(program), inputs, sizes)


def test_a_function_of_an_adjoint_is_a_program_again() -> None:
    """Twice: the Hessian of Σ x³ at x, times v, is 6xv."""
    ssa = to_ssa(EXAMPLES["3 sum of squares"].program)
    gradient: AdjointProgram = adjoint_program(ssa, ("x",))
    second: SSA = differential(gradient.ssa, ("x",))
    inputs = {"x": np.arange(3.0), "y": np.ones(3), "y_bar": 1.0, "x_dot": np.array([1.0, 5.0, 2.0])}
    (found,) = evaluate_ssa(second, inputs, {"n": 3})
    np.testing.assert_array_equal(found, 2 * inputs["x_dot"])
