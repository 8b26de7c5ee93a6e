"""Back ends: NumPy and compiled loops against the evaluator, and what their source must and must not hold."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_examples import EXAMPLES
from tensor_runs import Run, assert_same, example_run, random_run, run_of

import wengert as wg
from wengert.tensor.language.indices import affine
from wengert.tensor.language.terms import (
    REAL,
    Add,
    Apply,
    BlackBox,
    Bracket,
    Gen,
    Mul,
    Related,
    Sum,
    TensorProgram,
    TensorType,
    Var,
    at_most,
)
from wengert.tensor.passes.adjoint import adjoint_program
from wengert.tensor.passes.gen_pushout import accessed
from wengert.tensor.passes.ssa import to_ssa
from wengert.tensor.planning import loops
from wengert.tensor.planning.plan import Plan, plan
from wengert.tensor.planning.walks import Entries
from wengert.tensor.running import backends, native, native_source, numpy_backend, unrolling
from wengert.tensor.running.backends import build_program, run_program, saved_by_loops
from wengert.tensor.running.numpy_source import NumpySource
from wengert.tensor.running.numpy_support import window

SEEDS = range(int(os.environ.get("WENGERT_TENSOR_CASES", "50")))
CASES = [(name, sizes) for name, example in EXAMPLES.items() for sizes in example.sizes]
i, j, k, n, m = map(affine, "ijknm")
VECTOR, MATRIX = TensorType(n, REAL), TensorType(n, TensorType(n, REAL))


def interpreted(plan: Plan) -> Any:
    return native.compiled_loops(plan, interpreted=True)


def joined(plan: Plan) -> Any:
    """NumPy as it is at sizes at which pieces are joined."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NumpySource, "cells_to_join", 0)
        return numpy_backend.numpy_program(plan)


def bordered(plan: Plan) -> Any:
    """Loops as they are at sizes at which borders are apart, none of them written out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unrolling, "MANY_CELLS", 2)
        patch.setattr(unrolling, "SHORT_LOOP", 0)
        return interpreted(plan)


BACKENDS = {"numpy": numpy_backend.numpy_program, "joined": joined, "loops": interpreted, "bordered": bordered}
both = pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)


def value(given: Run, backend: Callable[[Plan], Any] = numpy_backend.numpy_program) -> Any:
    return run_program(backend(given.plan()), given.floats, given.relations)


@both
@pytest.mark.parametrize("reverse", [False, True], ids=["primal", "adjoint"])
@pytest.mark.parametrize("seed", sorted({*SEEDS, 303}))
def test_random_programs(seed: int, reverse: bool, backend: Any) -> None:
    given = random_run(1000 + seed, reverse)
    assert_same(value(given, backend), given.value)


@both
@pytest.mark.parametrize("reverse", [False, True], ids=["primal", "adjoint"])
@pytest.mark.parametrize("seed", sorted({*SEEDS, 253, 437, 468, 914, 1066, 1791}))
def test_random_programs_with_masks(seed: int, reverse: bool, backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relations that hold often are arrays of booleans; here all that hold at all."""
    monkeypatch.setattr(loops, "MASK_RATIO", 100)
    given = random_run(3000 + seed, reverse)
    assert_same(run_program(backend(given.plan(counts=True)), given.floats, given.relations), given.value)


@both
@pytest.mark.parametrize("reverse", [False, True], ids=["primal", "adjoint"])
@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_examples(name: str, sizes: dict[str, int], reverse: bool, backend: Any) -> None:
    given = example_run(name, sizes, reverse)
    assert_same(value(given, backend), given.value)


@both
@pytest.mark.parametrize("name", ["1 convolution", "12 weight fit", "16 cumulative sum"])
def test_at_sizes_where_loops_are_views(name: str, backend: Any) -> None:
    sizes = {"n": 60, "m": 5, "N": 3}
    given = example_run(name, {s: sizes[s] for s in EXAMPLES[name].program.sizes}, reverse=True)
    assert_same(value(given, backend), given.value)


# ---- compiled ----


@pytest.mark.parametrize("least", [0, 1e6], ids=["parallel", "serial"])
@pytest.mark.parametrize("name", ["12 weight fit", "8b chained 2 times", "15 masked matrix times vector"])
def test_compiled_loops(name: str, least: float, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(native_source, "PARALLEL_POINTS", least)
    monkeypatch.setattr(native_source, "POINTS_PER_ITERATION", 0)
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    given = example_run(name, EXAMPLES[name].sizes[-1], reverse=True)
    assert_same(value(given, native.compiled_loops), given.value)
    kept = {path: path.stat().st_mtime for path in tmp_path.rglob("*.nb?")}
    assert kept
    program = native.compiled_loops(given.plan())  # as another process would: from the disk
    assert_same(run_program(program, given.floats, given.relations), given.value)
    assert kept == {path: path.stat().st_mtime for path in tmp_path.rglob("*.nb?")}


def lengths(x: Any) -> Any:
    return sum(np.maximum(np.sqrt(v), 0.5) * np.arctan(v) for v in x)


def test_partials_that_call_partials_compile() -> None:
    pytest.importorskip("numba")
    second = wg.tensor.function(lengths, backend="native").grad().differential()
    x, along = np.array([0.1, 0.3, 2.0]), np.array([1.0, -1.0, 0.5])
    expected = wg.ngradient(lambda t: np.sum(wg.tensor.function(lengths).grad()(x + t * along)), 0.0)[0]
    np.testing.assert_allclose(np.sum(second(x, along)), expected, rtol=1e-6)


def test_a_black_box_that_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for, compiled loops are refused; chosen, they give way to NumPy."""
    pytest.importorskip("numba")
    box = BlackBox("looked_up", lambda x: np.vectorize({0.5: 2.0}.get)(x), ())
    body = Gen("i", n, Apply(box, (accessed(Var("x"), (i,)),)))
    given = run_of(TensorProgram((("x", VECTOR),), body, (), ("n",)), {"n": 3}, {})
    inputs = {"x": np.full(3, 0.5)}
    with pytest.raises(native.NativeUnavailableError, match="cannot compile a black box"):
        run_program(build_program(given.plan(), "native"), inputs, {})
    monkeypatch.setattr(backends, "SAVES", -1)
    chosen = build_program(given.plan())
    assert isinstance(chosen, native.NativeProgram)
    for _ in range(2):
        np.testing.assert_array_equal(run_program(chosen, inputs, {}), np.full(3, 2.0))


def test_products_of_matrices_save_nothing_and_long_bodies_do() -> None:
    """What both back ends leave to BLAS is no one's gain; NumPy takes a pass for each operation, loops one for all."""
    square = {"n": 200}
    assert abs(saved_by_loops(example_run("13 matrix product", square, reverse=True).plan())) < backends.SAVES
    x = accessed(Var("A"), (i, j))
    body = Gen("i", n, Gen("j", n, Add(Mul(x, x), Add(x, Mul(x, Mul(x, x))))))
    saved = saved_by_loops(run_of(TensorProgram((("A", MATRIX),), body, (), ("n",)), square, {}).plan())
    assert saved > backends.SAVES


def test_native_without_a_compiler_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "has_numba", lambda: False)
    given = example_run("4 trace", {"n": 3}, reverse=False)
    with pytest.raises(native.NativeUnavailableError, match=r"pip install 'wengert\[native\]'"):
        build_program(given.plan(), "native")
    assert type(build_program(given.plan())) is numpy_backend.NumpyProgram


# ---- what the source holds ----


def source(given: Run) -> str:
    return numpy_backend.numpy_program(given.plan()).text


def test_a_convolution_slices_and_does_not_gather() -> None:
    text = source(example_run("1 convolution", {"n": 5000, "m": 7}, reverse=True))
    assert "x_1_bar" in text or "x_bar" in text
    assert "points[" not in text
    assert "for " in text


def test_a_matrix_product_is_one() -> None:
    assert "A @ B" in source(example_run("13 matrix product", {"n": 50}, reverse=False))


@pytest.mark.parametrize("name", ["6 trace of a diagonal matrix", "7 three traces", "8b chained 3 times"])
def test_no_square_is_stored_where_a_line_is_asked_for(name: str) -> None:
    """n = 3000: a matrix is 72 MB, everything that is needed under 2 MB."""
    example = EXAMPLES[name]
    program = build_program(plan(adjoint_program(to_ssa(example.program), example.wrt).ssa, {"n": 3000}), "numpy")
    inputs = {"x": np.full(3000, 0.01), "y_bar": 1.0}
    tracemalloc.start()
    run_program(program, inputs, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6


@both
def test_a_mask_hides_what_is_infinite(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a relation does not hold, nothing is added, be it infinite; a mask is a view, and points are not listed."""
    body = Gen(
        "i",
        n,
        Sum("j", m, Bracket(Related("R", (i, j + 1)), Mul(accessed(Var("a"), (i, j)), accessed(Var("x"), (j,))))),
    )
    inputs = (("a", TensorType(n, TensorType(m, REAL))), ("x", TensorType(m, REAL)))
    R = np.array([[1, 1, 0, 1], [1, 1, 0, 1], [0, 1, 0, 1]], bool)
    given = run_of(TensorProgram(inputs, body, (("R", (n, m + 1)),), ("n", "m")), {"n": 3, "m": 3}, {"R": R})
    given.inputs["x"] = np.array([2.0, np.inf, 4.0])
    a, x = given.floats["a"], np.array([2.0, 0.0, 4.0])
    program = backend(given.plan(counts=True))
    np.testing.assert_allclose(run_program(program, given.floats, {"R": R}), (R[:, 1:] * a) @ x)
    assert "mask" in program.text
    assert "points[" not in program.text


@both
def test_a_masked_black_box_is_not_evaluated(backend: Any) -> None:
    """S10: log is asked only where the mask holds."""
    asked: list[float] = []

    def log(x: Any) -> Any:
        asked.extend(np.ravel(x))
        return np.log(x)

    box = BlackBox("log", log, ())
    body = Gen("i", n, Bracket(at_most(2, i), Apply(box, (accessed(Var("x"), (i,)),))))
    given = run_of(TensorProgram((("x", VECTOR),), body, (), ("n",)), {"n": 5}, {})
    given.inputs["x"] = np.array([0.0, -1.0, 1.0, 2.0, 3.0])
    found = value(given, backend)
    np.testing.assert_allclose(found, [0, 0, 0, np.log(2), np.log(3)])
    assert min(asked) >= 1


@both
def test_a_black_box_may_overlook_an_argument(backend: Any) -> None:
    """f(x, a_i) = x² is one number for each i."""
    box = BlackBox("first_square", lambda x, y: x * x, ())
    body = Apply(box, (accessed(Var("x"), (affine(0),)), accessed(Var("a"), (i,))))
    inputs = (("x", TensorType(m, REAL)), ("a", VECTOR))
    for whole, expected in ((Gen("i", n, body), [9.0, 9.0, 9.0]), (Sum("i", n, body), 27.0)):
        given = run_of(TensorProgram(inputs, whole, (), ("n", "m")), {"n": 3, "m": 1}, {})
        given.inputs |= {"x": np.array([3.0]), "a": np.ones(3)}
        np.testing.assert_array_equal(value(given, backend), expected)


@both
def test_single_precision_stays(backend: Any) -> None:
    given = example_run("13 matrix product", {"n": 4}, reverse=True)
    inputs = {name: x.astype(np.float32) for name, x in given.floats.items()}
    found = run_program(backend(given.plan()), inputs, {})
    assert {x.dtype for x in found} == {np.dtype(np.float32)}
    assert_same(found, given.value, rtol=1e-5)


@both
def test_an_empty_range_is_zero(backend: Any) -> None:
    body = Gen("i", n, Sum("j", m, Mul(accessed(Var("A"), (i, j)), accessed(Var("x"), (j,)))))
    program = TensorProgram(
        (("A", TensorType(n, TensorType(m, REAL))), ("x", TensorType(m, REAL))), body, (), ("n", "m")
    )
    given = run_of(program, {"n": 3, "m": 0}, {})
    np.testing.assert_array_equal(value(given, backend), np.zeros(3))


@both
@pytest.mark.parametrize("factor", [None, "b"])
def test_a_transpose_is_transposed(backend: Any, factor: str | None) -> None:
    body: Any = accessed(Var("a"), (i, j))
    body = Mul(body, accessed(Var("b"), (j,))) if factor else body
    program = TensorProgram(
        (("a", TensorType(n, TensorType(m, REAL))), ("b", TensorType(m, REAL))),
        Gen("j", m, Gen("i", n, body)),
        (),
        ("n", "m"),
    )
    given = run_of(program, {"n": 2, "m": 3}, {})
    a, b = given.floats["a"], given.floats["b"]
    np.testing.assert_array_equal(value(given, backend), (a * b).T if factor else a.T)


def test_a_stencil_is_written_once() -> None:
    """Three guarded taps are an interior and two borders, into a tensor that nothing fills with zeros first."""
    left = Bracket(at_most(1, i), accessed(Var("x"), (i - 1,)))
    right = Bracket(at_most(i, n - 2), accessed(Var("x"), (i + 1,)))
    body = Gen("i", n, Add(Add(left, accessed(Var("x"), (i,))), right))
    given = run_of(TensorProgram((("x", VECTOR),), body, (), ("n",)), {"n": 9}, {})
    text = joined(given.plan()).text
    assert "+=" not in text
    assert "zeros" not in text
    assert text.count("] = ") == 3


# ---- relations ----


def masked() -> TensorProgram:
    body = Gen("i", n, Sum("j", m, Bracket(Related("R", (i, j)), accessed(Var("x"), (j,)))))
    return TensorProgram((("x", TensorType(m, REAL)),), body, (("R", (n, m)),), ("n", "m"))


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "boolean": lambda r: r,
    "tuples": lambda r: set(zip(*map(list, np.nonzero(r)), strict=True)),
    "entries": lambda r: Entries.of(r, r.shape),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_a_relation(form: Callable[[np.ndarray], Any]) -> None:
    R = np.random.default_rng(0).random((4, 6)) < 0.5
    x = np.arange(6.0)
    given = run_of(masked(), {"n": 4, "m": 6}, {"R": R})
    np.testing.assert_allclose(run_program(build_program(given.plan(), "numpy"), {"x": x}, {"R": form(R)}), R @ x)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array"])
def test_sparse_matrices_as_relations(form: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    R = np.random.default_rng(0).random((4, 6)) < 0.5
    x = np.arange(6.0)
    given = run_of(masked(), {"n": 4, "m": 6}, {"R": R})
    matrix = getattr(sparse, form)(R.astype(float))
    np.testing.assert_allclose(run_program(build_program(given.plan(), "numpy"), {"x": x}, {"R": matrix}), R @ x)


def test_points_are_listed_again_when_a_relation_changes() -> None:
    x = np.arange(6.0)
    program = build_program(run_of(masked(), {"n": 4, "m": 6}, {"R": np.ones((4, 6), bool)}).plan(), "numpy")
    for seed in range(3):
        R = np.random.default_rng(seed).random((4, 6)) < 0.5
        np.testing.assert_allclose(run_program(program, {"x": x}, {"R": R}), R @ x)


def test_a_window_is_a_view() -> None:
    x = np.arange(10.0)
    view = window(x, [1], [(1,), (1,)], [4, 3])
    np.testing.assert_array_equal(view, np.add.outer(np.arange(4), np.arange(3)) + 1.0)
    assert np.shares_memory(view, x)
    assert window(x, [0], [(1,)], [-2]).shape == (0,)


@pytest.mark.parametrize("shape", [(3, 4), (400, 300)])
def test_entries_are_found_within_the_shape_alone(shape: tuple[int, int]) -> None:
    """In rows of n, place n of one row is not place 0 of the next; few entries of many are searched for."""
    n = shape[1]
    entries = Entries.of({(0, 1), (1, 0)}, shape)
    rows, columns = np.array([0, 0, 1, 0, 0, 1]), np.array([1, n, 0, -1, 0, n])
    np.testing.assert_array_equal(entries.find((rows, columns)), [0, -1, 1, -1, -1, -1])
    assert bool(len(entries.walk((0, 1)).table)) == (n == 4)
