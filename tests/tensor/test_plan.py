"""Plans: their values, the operations that they execute, and how these grow."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import numpy as np
import pytest
from tensor_counting import counted
from tensor_examples import EXAMPLES
from tensor_random import Making, Scope
from tensor_runs import Run, assert_same, example_run, random_run, run_of

import wengert as wg
from wengert.tensor.language.assignments import Assignments, World
from wengert.tensor.language.indices import affine
from wengert.tensor.language.predicates import Exists, conjoin, exists, less, substituted
from wengert.tensor.language.terms import (
    REAL,
    Add,
    Apply,
    BlackBox,
    Bracket,
    Const,
    Gen,
    LetIn,
    Mul,
    Or,
    Related,
    Sum,
    TensorProgram,
    TensorType,
    Var,
    at_most,
    disjoin,
    equal,
)
from wengert.tensor.passes.gen_pushout import accessed
from wengert.tensor.planning.enumeration import assignments
from wengert.tensor.planning.loops import EntryLoop, Span, cheapest_steps, iterations
from wengert.tensor.planning.nests import LoopNest, body_reads
from wengert.tensor.planning.pieces import PlanningContext
from wengert.tensor.planning.regions import disjoint_conjunctions, is_empty, without_implied
from wengert.tensor.planning.walks import Entries
from wengert.tensor.running.backends import build_program, inputs_by_name
from wengert.tensor.running.backends import run_program as backend_run

SEEDS = range(int(os.environ.get("WENGERT_TENSOR_CASES", "100")))
i, j, k, n, m = map(affine, "ijknm")
VECTOR, MATRIX = TensorType(n, REAL), TensorType(n, TensorType(n, REAL))


def read(name: str, *at: Any) -> Any:
    return accessed(Var(name), tuple(map(affine, at)))


def executed(run: Run, optimise: bool = True) -> tuple[Any, int]:
    entries = {name: Entries.of(r, r.shape) for name, r in run.relations.items()}
    value, operations = counted(run.plan(optimise), inputs_by_name(run.floats), entries)
    return value, operations.total()


def program(body: Any, sizes: str = "n", relations: Any = (), **inputs: Any) -> TensorProgram:
    return TensorProgram(tuple(inputs.items()), body, relations, tuple(sizes))


# ---- values and counts ----


@pytest.mark.parametrize("reverse", [False, True], ids=["primal", "adjoint"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_run_right_and_never_dearer_than_the_model(seed: int, reverse: bool) -> None:
    run = random_run(seed, reverse)
    for optimise in (False, True):
        value, operations = executed(run, optimise)
        assert_same(value, run.value)
        assert operations <= run.model


CASES = [(name, sizes) for name, example in EXAMPLES.items() for sizes in example.sizes]


@pytest.mark.parametrize("reverse", [False, True], ids=["primal", "adjoint"])
@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_examples_execute_what_the_model_counts(name: str, sizes: dict[str, int], reverse: bool) -> None:
    run = example_run(name, sizes, reverse)
    value, operations = executed(run, optimise=False)
    assert_same(value, run.value)
    assert operations == run.model
    value, operations = executed(run)
    assert_same(value, run.value)
    assert operations <= run.model


# ---- growth: operations counted, not seconds ----

LINEAR = {
    "6 trace of a diagonal matrix": 2,
    "7 three traces": 8,
    "8 trace(outer(first column, first row))": 5,
    "8b chained 3 times": 30,
}


@pytest.mark.parametrize(("name", "most"), LINEAR.items())
def test_traps_of_dense_tensors_grow_with_n(name: str, most: int) -> None:
    counts = [executed(example_run(name, {"n": n}, reverse=True))[1] for n in (4, 8, 16)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])
    assert counts[2] <= most * 16


def test_a_skipped_entry_costs_nothing() -> None:
    assert executed(example_run("11 skipped entry", {"n": 9, "k": 4}, reverse=True))[1] == 9 - 2 - (9 - 2)


def test_a_masked_product_grows_with_the_entries() -> None:
    example, counts = EXAMPLES["15 masked matrix times vector"], []
    for size in (8, 16, 32):
        relation = np.eye(size, dtype=bool) | np.eye(size, k=1, dtype=bool)
        run = run_of(example.program, {"n": size}, {"R": relation}, example.wrt)
        counts.append(executed(run)[1])
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])
    assert counts[2] <= 3 * (2 * 32)


# ---- predicates ----


def random_predicate(seed: int) -> tuple[Any, dict[str, int]]:
    rng = random.Random(seed)
    ranges = {"i": rng.randint(1, 4), "j": rng.randint(1, 4)}
    scope = Scope((), tuple((name, affine(size)) for name, size in ranges.items()))
    making = Making(rng, ())
    making.affine = lambda scope: _affine_without_sizes(rng)  # type: ignore[method-assign]
    making.related = lambda scope: less(_affine_without_sizes(rng), 1)  # type: ignore[method-assign]
    return making.predicate(scope, 3), ranges


def _affine_without_sizes(rng: random.Random) -> Any:
    return i * rng.randint(-2, 2) + j * rng.randint(-2, 2) + rng.randint(-2, 2)


def holds(p: Any, at: dict[str, int]) -> bool:
    return Assignments(World({"n": 3, "m": 2}), 1, {name: np.array([v]) for name, v in at.items()}).where(p).rows == 1


@pytest.mark.parametrize("seed", range(120))
def test_a_predicate_splits_into_disjoint_conjunctions(seed: int) -> None:
    p, ranges = random_predicate(seed)
    p = substituted(p, {"n": 3, "m": 2})
    context = PlanningContext()
    parts = disjoint_conjunctions(p, ranges, lambda e: context.table(e, ranges))
    if context.tables or any(isinstance(a, Exists) for part in parts for a in part):
        return
    for at in itertools.product(*map(range, ranges.values())):
        names = dict(zip(ranges, at, strict=True))
        assert sum(holds(conjoin(*part), names) for part in parts) == holds(p, names)


def test_bounds_that_exclude_each_other_are_empty() -> None:
    ranges = {"i": 10, "j": 10}
    assert is_empty((less(i, j), less(j, i)), ranges)
    assert is_empty((at_most(10, i),), ranges)
    assert is_empty((equal(i, 0), at_most(1, i), equal(j, k)), {**ranges, "k": 10})
    assert not is_empty((less(i, j),), ranges)
    assert without_implied((at_most(0, i), less(i, 10), less(i, 3)), ranges) == (less(i, 3),)


def test_loops_are_as_long_as_their_bounds() -> None:
    """A band is walked in 3n steps, whichever way round it is written."""
    ranges = {"i": 1000, "j": 1000}
    band = (at_most(i - 1, j), at_most(j, i + 1))
    assert iterations(cheapest_steps(ranges, band, {}), ranges, {}) < 5000
    outer, inner = cheapest_steps(ranges, band, {})
    assert isinstance(outer, Span)
    assert isinstance(inner, Span)


def test_a_relation_is_walked_from_the_side_that_is_known() -> None:
    R = Related("R", (i, j))
    first, row = cheapest_steps({"i": 5, "j": 7}, (R,), {})
    assert isinstance(first, Span)
    assert isinstance(row, EntryLoop)
    (whole,) = cheapest_steps({"i": 5, "j": 7}, (R,), {}, whole=True)
    assert isinstance(whole, EntryLoop)
    assert whole.known == ()


# ---- what each rule of execution is about ----


def test_the_pinned_index_is_the_long_one() -> None:
    """S2: Σ_i Σ_j [i = k + j] over a tap of 2 is a loop of n·2, not of n·n."""
    run = example_run("12 weight fit", {"n": 30, "m": 2, "N": 2}, reverse=True)
    for nest in run.plan().nests:
        for piece in nest.pieces:
            assert iterations(cheapest_steps(piece.ranges, piece.where, {}), piece.ranges, {}) <= 2 * 30 * 2 * 2 + 200


def test_a_disjunction_counts_each_assignment_once() -> None:
    """S4, S6: Σ_j [R(i,j) ∨ R(j,i)] x_j, where an ∃ taken for a Σ gives (35, 60, 34)."""
    either = disjoin(Related("R", (i, j)), Related("R", (j, i)))
    assert isinstance(either, Or)
    body = Gen("i", n, Sum("j", n, Bracket(either, read("x", j))))
    R = np.zeros((3, 3), bool)
    R[0, 1] = R[1, 0] = R[2, 0] = True
    run = run_of(program(body, relations=(("R", (n, n)),), x=VECTOR), {"n": 3}, {"R": R})
    run.inputs["x"] = np.array([1.0, 2.0, 1.0])
    assert_same(executed(run)[0], np.array([3.0, 1.0, 1.0]))


def test_products_are_not_merged_into_a_longer_loop() -> None:
    """S9: (A·B)·C stays at 2(2n³ − n²)."""
    product = lambda x, y: Gen("i", n, Gen("j", n, Sum("k", n, Mul(read(x, i, k), read(y, k, j)))))
    body = LetIn("X", product("A", "B"), product("X", "C"))
    run = run_of(program(body, A=MATRIX, B=MATRIX, C=MATRIX), {"n": 4}, {})
    assert executed(run)[1] == run.model == 2 * (2 * 4**3 - 4**2)


def test_a_definition_is_not_repeated_for_an_index_that_it_ignores() -> None:
    """S11: ⊞j let s = Σ_i x_i·x_i in s·y_j takes the sum once."""
    total = Sum("i", n, Mul(read("x", i), read("x", i)))
    body = Gen("j", n, LetIn("s", total, Mul(Var("s"), read("y", j))))
    run = run_of(program(body, x=VECTOR, y=VECTOR), {"n": 6}, {})
    assert executed(run)[1] == (2 * 6 - 1) + 6


def test_a_sparse_tensor_is_stored_by_its_entries() -> None:
    """S7: a masked matrix that is read twice takes no n² cells."""
    R = Related("R", (i, j))
    body = LetIn(
        "S",
        Gen("i", n, Gen("j", n, Bracket(R, Mul(read("x", i), read("x", j))))),
        Gen("i", n, Sum("j", n, Add(read("S", i, j), Mul(read("S", i, j), read("x", j))))),
    )
    run = run_of(program(body, relations=(("R", (n, n)),), x=VECTOR), {"n": 5}, {"R": np.eye(5, dtype=bool)})
    assert_same(executed(run)[0], run.value)
    assert all(len(nest.shape) == 1 for nest in run.plan().nests)


@pytest.mark.parametrize("size", [8, 40])
def test_a_band_is_stored_as_one(size: int) -> None:
    """Where |i − j| ≤ 1, the difference is the second dimension: 3n cells and 3n steps."""
    band = conjoin(at_most(i - 1, j), at_most(j, i + 1))
    body = LetIn(
        "S",
        Gen("i", n, Gen("j", n, Bracket(band, Mul(read("x", i), read("x", j))))),
        Gen("i", n, Sum("j", n, Add(read("S", i, j), Mul(read("S", i, j), read("x", j))))),
    )
    run = run_of(program(body, x=VECTOR), {"n": size}, {}, wrt=("x",))
    value, operations = executed(run)
    assert_same(value, run.value)
    assert operations <= run.model
    if size == 40:
        assert operations <= 3 * size * 12
        assert {n for nest in run.plan().nests for n in nest.shape} <= {1, 3, 40}
        assert all(nest.shape != (40, 40) for nest in run.plan().nests)


def test_what_an_unused_index_says_of_the_others_stays() -> None:
    """k < 2i keeps x[i - 1] in range, also where the value is stored without k."""
    square = Mul(read("x", i - 1), read("x", i - 1))
    body = LetIn(
        "t",
        Gen("i", n, Gen("k", n, Bracket(less(k, i * 2), square))),
        Gen("i", n, Sum("k", n, Mul(read("t", i, k), read("t", i, k)))),
    )
    run = run_of(program(body, x=VECTOR), {"n": 4}, {})
    run.inputs["x"] = np.arange(1.0, 5.0)
    assert_same(executed(run)[0], run.value)
    assert all(at >= 1 for nest in run.plan().nests for at in _first_rows(nest))


def _first_rows(nest: LoopNest) -> list[int]:
    """The least i of the pieces that read x[i - 1]."""
    reading = [p for p in nest.pieces if any(r.name == "in.x" for r in body_reads(p.body))]
    return [int(assignments(p.ranges, p.where, {})[0]["i"].min()) for p in reading]


def test_an_existential_of_a_disjunction_is_a_table() -> None:
    """∃k [R(i,k) ∨ R(k,i)] as a mask, and not in its stead."""
    either = exists([("k", n)], disjoin(Related("R", (i, k)), Related("R", (k, i))))
    mask = Exists("k", n, disjoin(Related("R", (i, k)), Related("R", (k, i))))
    R = np.zeros((4, 4), bool)
    R[0, 2] = True
    for p in (either, mask):
        run = run_of(
            program(Gen("i", n, Bracket(p, read("x", i))), relations=(("R", (n, n)),), x=VECTOR), {"n": 4}, {"R": R}
        )
        run.inputs["x"] = np.arange(1.0, 5.0)
        assert_same(executed(run)[0], np.array([1.0, 0.0, 3.0, 0.0]))
        assert_same(
            backend_run(build_program(run.plan(), "numpy"), run.floats, run.relations), np.array([1.0, 0.0, 3.0, 0.0])
        )


def test_a_factor_of_one_is_no_operation() -> None:
    body = Gen("i", n, Mul(Const(1), Mul(Const(2), Mul(read("x", i), Const(3)))))
    run = run_of(program(body, x=VECTOR), {"n": 5}, {})
    assert_same(executed(run)[0], run.value)
    assert executed(run)[1] == 5


def test_equal_definitions_are_one() -> None:
    square = Gen("i", n, Mul(read("x", i), read("x", i)))
    body = LetIn("a", square, LetIn("b", square, Gen("i", n, Mul(read("a", i), read("b", n - 1 - i)))))
    assert executed(run_of(program(body, x=VECTOR), {"n": 5}, {}))[1] == 10


def test_an_equality_with_a_factor_walks_every_other_cell() -> None:
    body = Gen("i", n, Sum("j", n, Bracket(equal(j * 2, i), read("x", j))))
    run = run_of(program(body, x=VECTOR), {"n": 7}, {}, wrt=("x",))
    assert_same(executed(run)[0], run.value)


# ---- the order of a contraction ----


def chain(*body: Any, sums: str = "jk", where: Any = None, relations: Any = ()) -> TensorProgram:
    """⊞[i] Σ[sums] [where] of a product over a, b: [n][n]ℝ and x: [n]ℝ."""
    expr = body[0]
    for factor in body[1:]:
        expr = Mul(expr, factor)
    expr = Bracket(where, expr) if where is not None else expr
    for index in reversed(sums):
        expr = Sum(index, n, expr)
    return TensorProgram((("a", MATRIX), ("b", MATRIX), ("x", VECTOR)), Gen("i", n, expr), relations, ("n",))


def test_a_product_of_two_matrices_and_a_vector_takes_the_vector_first() -> None:
    program = chain(read("a", "i", "j"), read("b", "j", "k"), read("x", "k"))
    for size in (5, 9):
        run = run_of(program, {"n": size}, {})
        found, operations = executed(run)
        assert_same(found, run.floats["a"] @ (run.floats["b"] @ run.floats["x"]))
        assert operations == 2 * (2 * size**2 - size)
        assert run.model == 3 * size**3 - size


def test_sums_of_separate_factors_are_separate() -> None:
    program = chain(read("x", "i"), read("x", "j"), read("x", "k"))
    run = run_of(program, {"n": 7}, {})
    x = run.floats["x"]
    found, operations = executed(run)
    assert_same(found, x * x.sum() ** 2)
    assert operations <= 4 * 7


def test_a_relation_goes_with_the_factors_that_it_is_about() -> None:
    """[R(j, k)] with b and x; the guard of i and j stays, and binds what it is about to the same sum."""
    rng = np.random.default_rng(0)
    R = rng.random((8, 8)) < 0.3
    body = read("a", "i", "j"), read("b", "j", "k"), read("x", "k")
    run = run_of(chain(*body, where=Related("R", (j, k)), relations=(("R", (n, n)),)), {"n": 8}, {"R": R})
    a, b, x = (run.floats[name] for name in "abx")
    found, operations = executed(run)
    assert_same(found, a @ ((R * b) @ x))
    assert operations <= 2 * R.sum() + 2 * 8**2
    guarded = run_of(chain(*body, where=less(j, i)), {"n": 8}, {})
    found, _ = executed(guarded)
    a, b, x = (guarded.floats[name] for name in "abx")
    assert_same(found, np.tril(a, -1) @ (b @ x))


def test_black_boxes_stay_behind_their_guard() -> None:
    """log(x[k]) is not asked for where the guard of the whole term excludes it."""
    asked: list[float] = []

    def log(x: Any) -> Any:
        asked.extend(np.ravel(x))
        return np.log(x)

    boxed = Apply(BlackBox("log", log, ()), (read("x", "k"),))
    run = run_of(chain(read("a", "i", "j"), boxed, where=at_most(1, k)), {"n": 4}, {})
    run.inputs["x"] = np.array([-1.0, 1.0, 2.0, 3.0])
    found = backend_run(build_program(run.plan(), "numpy"), run.floats, {})
    np.testing.assert_allclose(found, run.floats["a"].sum(1) * np.log([1, 2, 3]).sum())
    assert min(asked) >= 1


def test_products_in_another_order_are_the_same() -> None:
    """y = x[i]·x[0] and z = x[0]·x[i], and what is made of each, are computed once."""

    def chained(x: Any) -> Any:
        y = [x[i] * x[0] for i in range(len(x))]
        z = [x[0] * x[i] for i in range(len(x))]
        return sum(np.sin(y[i]) * np.cos(z[i]) for i in range(len(x)))

    f = wg.tensor.function(chained, backend="numpy")
    x = np.arange(1.0, 5.0)
    np.testing.assert_allclose(f(x), np.sin(x * x[0]) @ np.cos(x * x[0]))
    assert f.to_source().count("x[0]") == 1
