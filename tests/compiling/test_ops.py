"""The table of operations: its words, twins and shapes agree with NumPy, and one row is enough for every pass."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program

import wengert as wg
from wengert.compiling import ops, split_columns
from wengert.compiling.loops import deferred_reverse
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.row_ops import row_plan
from wengert.compiling.scalar_specialisation import with_floats
from wengert.compiling.split_columns import split_into_columns

ROWS = {row.name: row for row in ops._TABLE.values()}
VALUES = [0.3, -1.7, 2.5, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, 40.0, -40.0, math.inf, -math.inf, math.nan]
SPACE = {"np": np, "fast_exp": np.exp, **{name: getattr(math, name) for name in ops.math_functions()}}


def by_word(word: ops.ScalarOp, *args: Any) -> Any:
    given = {f"x{k}": np.float64(x) if type(x) is float else x for k, x in enumerate(args)}
    try:
        return eval(word.template.format(*given), SPACE, given)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None  # Python raises, where compiled code returns nan or inf


def functions_of(rows: Any) -> list[Any]:
    return [
        pytest.param(fn, row, id=f"{row.name}: {getattr(fn, '__name__', fn)}")
        for row in rows
        for fn in row.functions
        if row.word is not None and not isinstance(fn, type(np.ndarray.copy))  # of numbers
    ]


def scipy_rows() -> Iterator[ops.OpInfo]:
    special = pytest.importorskip("scipy.special")
    for name in ops._OF_SCIPY:
        row = ops.info(getattr(special, name))
        assert row.name == name, name
        yield row


def check_word(fn: Any, row: ops.OpInfo) -> None:
    assert row.word is not None
    for k, x in enumerate(VALUES):
        args: list[Any] = [x, *(VALUES[k + 3 :] + VALUES)[: row.arity - 1]]
        args = [bool(a > 0.0) if place in row.word.bools else a for place, a in enumerate(args)]
        if "and" in (row.name,) or row.name in ("or", "xor", "not"):
            args = [np.bool_(a) for a in args]
        try:
            with np.errstate(all="ignore"):
                expected = fn(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue
        with np.errstate(all="ignore"):
            got = by_word(row.word, *args)
        if not np.isfinite(expected):
            assert got is None or not np.isfinite(got), args  # compiled code is run again by NumPy then
        elif got is not None:
            np.testing.assert_allclose(float(got), float(expected), rtol=1e-12, atol=1e-300, err_msg=f"{args}")


@pytest.mark.parametrize(("fn", "row"), functions_of(ROWS.values()))
def test_words_are_the_function(fn: Any, row: ops.OpInfo) -> None:
    check_word(fn, row)


def test_words_of_scipy_are_the_function() -> None:
    for row in scipy_rows():
        check_word(row.functions[0], row)


def test_words_in_native_code() -> None:
    """Numba's functions are those of Python, which `check_word` runs: all words in one function, on floats."""
    numba = pytest.importorskip("numba")
    rows = [row for row in (*ROWS.values(), *scipy_rows()) if row.word is not None and not row.word.bools]
    space = {**SPACE, "njit": numba.njit}
    words = [row.word.template.format("x", "y", "z") for row in rows if row.word]
    lines = [f"(1.0 * ({word}))" for word in words if "fast_" not in word]
    stores = [f"    out[{k}] = {line}" for k, line in enumerate(lines)]
    exec("\n".join(["@njit(error_model='numpy')", "def native(x, y, z, out):", *stores]), space)
    for point in ((0.3, 0.7, 0.9), (0.9, -0.4, 0.2), (0.5, 0.25, 2.0)):
        given = dict(zip("xyz", point, strict=True))
        out = np.zeros(len(lines))
        space["native"](*point, out)
        for line, got in zip(lines, out, strict=True):
            try:
                expected = float(eval(line, SPACE, {k: np.float64(v) for k, v in given.items()}))
            except ValueError:
                continue
            assert got == pytest.approx(expected, rel=1e-13, nan_ok=True), (line, point)


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.on_floats is not None], ids=lambda row: row.name)
def test_twins_of_floats(row: ops.OpInfo) -> None:
    for k, x in enumerate(VALUES):
        args = [x, *(VALUES[k + 3 :] + VALUES)[: row.arity - 1]]
        try:
            got = row.on_floats(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue
        if isinstance(got, complex):
            continue
        with np.errstate(all="ignore"):
            expected = row.functions[0](*map(np.float64, args))
        if row.exact:
            assert np.float64(got).tobytes() == np.float64(expected).tobytes() or (got != got and expected != expected)
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-14)


SHAPES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "add_reduce": (((2, 3, 4), (0, 2)), np.add.reduce),
    "vdot": (((3,), (3,)), np.vdot),
    "einsum": (("ij,jk->ik", (2, 3), (3, 4)), np.einsum),
    "matmul": (((5, 2, 3), (3, 4)), np.matmul),
    "outer": (((3,), (4,)), np.outer),
    "trace": (((3, 3),), np.trace),
    "diag": (((3,),), np.diag),
    "transpose": (((2, 3, 4), (2, 0, 1)), np.transpose),
    "copy": (((2, 3),), np.copy),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    """An argument that is a shape stands for an array, but for axes, which come second."""
    args, fn = SHAPES[name]
    arrays = [np.ones(a) if type(a) is tuple and (k != 1 or name not in ("add_reduce", "transpose")) else a
              for k, a in enumerate(args)]  # fmt: skip
    shape = ROWS[name].shape
    assert shape is not None and shape(*args) == np.shape(fn(*arrays))


def test_every_spelling_is_of_one_row() -> None:
    spellings = [fn for row in ROWS.values() for fn in row.functions]
    assert len(spellings) == len({*spellings}) and len(ROWS) == len({*ops._TABLE.values()})


def test_what_numpy_says_is_asked() -> None:
    assert ops.float_ufunc(np.logaddexp2) is np.logaddexp2 and ops.float_ufunc(np.fix) is np.trunc
    assert ops.float_ufunc(np.ldexp) is None and ops.float_ufunc(np.matmul) is None
    assert ops.float_ufunc(np.modf) is None and ops.float_ufunc(np.frompyfunc(abs, 1, 1)) is None


# -- one row is enough


@pytest.fixture
def new_row(monkeypatch: pytest.MonkeyPatch) -> Any:
    """np.logaddexp2, which has no row, with one."""
    assert ops.info(np.logaddexp2) is ops.UNKNOWN

    def on_floats(x: float, y: float) -> float:
        return math.log2(2.0**x + 2.0**y)

    word = ops.ScalarOp("log2(pow(2.0, {0}) + pow(2.0, {1}))")
    monkeypatch.setitem(ops._TABLE, np.logaddexp2, ops.OpInfo("logaddexp2", (np.logaddexp2,), 2, word, on_floats))
    return np.logaddexp2


def test_a_new_function_is_native(new_row: Any) -> None:
    def f(x: np.ndarray) -> Any:
        return np.sum(new_row(x, 0.5) * x)

    x = np.linspace(-1.0, 2.0, 50)
    _, tape = wg.trace(f, x)
    run = compile_native(tape.optimise(), "f", interpret_program)
    assert run.state == "native code" and run(x) == pytest.approx(f(x), rel=1e-12)


def test_a_new_function_is_computed_by_columns_and_by_rows(new_row: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_columns, "GAIN", 0)

    def f(x: np.ndarray) -> Any:
        y = new_row(x, 0.5)
        return np.sum(y * y, axis=1)

    x = np.linspace(-1.0, 2.0, 900).reshape(300, 3)
    _, tape = wg.trace(f, x)
    calls = [op for op in tape.calls if op.fn is new_row]
    assert row_plan(calls[0], 300, True) is not None
    columns = split_into_columns(tape.optimise())
    assert sum([op.fn is new_row for op in columns.calls]) == 3
    np.testing.assert_allclose(columns.play(x), f(x), rtol=1e-14)


def test_a_new_function_takes_floats(new_row: Any) -> None:
    def f(x: Any) -> Any:
        return new_row(np.sin(x[0]), 0.5) * 2.0

    x = np.array([0.7])
    _, tape = wg.trace(f, x)
    made = with_floats(tape.optimise(), False, Counter())
    assert made is not None and not any([op.fn is new_row for op in made.calls])
    assert made.play(x) == pytest.approx(f(x), rel=1e-15)


def test_a_new_function_folds_and_is_shared(new_row: Any) -> None:
    def f(x: np.ndarray) -> Any:
        return np.sum(new_row(x, 1.0) + new_row(x, 1)) + new_row(np.full(3, 2.0), 1.0)[0]

    _, tape = wg.trace(f, np.ones(4))
    fns = [op.fn for op in tape.optimise().calls]
    assert fns.count(new_row) == 1


# -- found by the table


def test_defaults_are_those_of_the_function() -> None:
    """np.add.reduce sums along the first axis, np.sum along all."""

    def f(x: np.ndarray) -> Any:
        return np.sum(np.add.reduce(x * 2.0) ** 2)

    x = np.arange(12.0).reshape(3, 4)
    _, tape = wg.trace(wg.grad(f), x)
    run = compile_native(tape.optimise(), "f", interpret_program)
    np.testing.assert_allclose(run(x), 8.0 * x.sum(0) + 0.0 * x)


def test_a_large_sum_along_the_first_axis_goes_into_a_buffer() -> None:
    """np.add.reduce(x) takes `out` by name only: its second and third arguments are the axis and the dtype."""

    def f(x: np.ndarray) -> Any:
        return np.sum(np.sin(np.add.reduce(x * 2.0)))

    x = np.arange(15000.0).reshape(3, 5000) / 1e4
    _, tape = wg.trace(f, x)
    run = tape.optimise().compile()
    assert "out=" in run.source and run(x) == pytest.approx(f(x), rel=1e-12)


RNG = np.random.default_rng(0)
V, M = RNG.normal(size=5), RNG.normal(size=(5, 5))
IN_NATIVE_CODE: dict[str, Any] = {
    "var": lambda a: np.var(a),
    "var along an axis": lambda a: np.sum(np.var(a, axis=1, ddof=1) * V),
    "std": lambda a: np.sum(np.std(a, axis=0) * a),
    "std that keeps its axis": lambda a: np.sum(a / a.std(axis=1, keepdims=True)),
    "mean along an axis": lambda a: np.sum(a.mean(axis=0) ** 2),
    "mean that keeps its axis": lambda a: np.sum((a - np.mean(a, axis=1, keepdims=True)) ** 3),
    "matrix of a diagonal": lambda a: np.sum(np.diag(a[0]) @ M @ a[1]),
    "diag of a matrix": lambda a: np.sum(np.diag(a) ** 2),
    "diagonal": lambda a: np.sum(np.diagonal(a) * V),
    "trace": lambda a: np.trace(a @ a),
    "dot": lambda a: np.dot(np.dot(M, a[0]), a[1]) + np.sum(M.dot(a) ** 2),
    "least of three": lambda a: min(float(a[0, 0]), float(a[0, 1]) * 2.0, float(a[1, 1])) * a[2, 2],
    "inverse": lambda a: np.sum(np.linalg.inv(a + 5.0 * np.eye(5)) * a),
    "solve": lambda a: np.sum(np.linalg.solve(a + 5.0 * np.eye(5), a[0]) ** 2),
    "solve for a matrix": lambda a: np.sum(np.linalg.solve(a.T + 5.0 * np.eye(5), a[:, :2])),
    "Cholesky": lambda a: np.sum(np.linalg.cholesky(a @ a.T + np.eye(5)) ** 3),
    "slogdet": lambda a: np.linalg.slogdet(a @ a.T + np.eye(5))[1],
    "triangles": lambda a: np.sum(np.tril(a) ** 2 + np.triu(a, 1) ** 3 + np.tril(a, -2)),
    "mask": lambda a: np.sum(np.where(M > 0.1, a**2, 0.5 * a) * (V > 0.0)),
    "sum of a list": lambda a: sum([float(a[0, k]) * float(a[1, k]) for k in range(5)]),
}


@pytest.mark.parametrize("name", IN_NATIVE_CODE)
def test_functions_of_arrays_are_native(name: str) -> None:
    f = IN_NATIVE_CODE[name]
    gradient = wg.value_and_grad(f)
    _, tape = wg.trace(gradient, M)
    run = compile_native(tape.optimise(), "f", interpret_program)
    assert run.state == "native code"
    exact = wg.compile(gradient, exact=True)
    exact(M)
    for a in (M, 1.1 * M, M + 0.01 * V):
        (value, x_bar), expected = run(a), gradient(a)
        assert value == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, expected[1], rtol=1e-11, atol=1e-13)
        assert exact(a)[0] == expected[0]
        np.testing.assert_array_equal(exact(a)[1], expected[1])


def test_a_singular_matrix_raises_as_in_numpy() -> None:
    def f(a: np.ndarray) -> Any:
        return np.sum(np.linalg.inv(a)) + np.linalg.slogdet(a)[1]

    _, tape = wg.trace(f, M)
    run = compile_native(tape.optimise(), "f", interpret_program)
    assert run.state == "native code" and run(M) == pytest.approx(f(M), rel=1e-11)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        run(np.zeros((5, 5)))


def kalman(x: np.ndarray) -> Any:
    """The log-likelihood of a filter of two states: inverses, determinants and a table of data in a loop."""
    data, p, m, total = np.sin(np.arange(40.0)), np.eye(2), np.zeros(2), 0.0
    step, seen = np.array([[1.0, 0.1], [0.0, 1.0]]) * x[0], np.array([[1.0, 0.0]])
    for y in data:
        m, p = step @ m, step @ p @ step.T + np.diag(x[1:3] ** 2)
        s = seen @ p @ seen.T + x[3] ** 2
        gain = p @ seen.T @ np.linalg.inv(s)
        miss = y - seen @ m
        m, p = m + gain @ miss, p - gain @ seen @ p
        total = total - 0.5 * (np.linalg.slogdet(s)[1] + miss @ np.linalg.inv(s) @ miss)
    return total


def masked_steps(x: np.ndarray) -> Any:
    """A loop whose backward loop reads masks."""
    s = x[:3] * 1.0
    for _ in range(60):
        s = np.where(s > x[3], s * 0.9, s + 0.1 * np.sin(s))
    return np.sum(s * s)


def test_masks_that_a_loop_keeps_are_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 20)
    gradient, x = wg.value_and_grad(masked_steps), np.array([0.9, -0.3, 0.2, 0.5])
    compiled = wg.compile(gradient, native=False)
    compiled(x)
    (entries,) = compiled._entries.values()
    run = compile_native(entries[0].tape, "run", interpret_program)
    assert run.state == "native code"
    for other in (x, x[::-1].copy()):
        value, x_bar = run(other)[0:2]
        assert value == pytest.approx(gradient(other)[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, gradient(other)[1], rtol=1e-12)


def test_a_filter_is_native() -> None:
    gradient, x = wg.value_and_grad(kalman), np.array([0.9, 0.3, 0.2, 0.5])
    compiled = wg.compile(gradient, native=False)
    compiled(x)
    (entries,) = compiled._entries.values()
    run = compile_native(entries[0].tape, "run", interpret_program)
    assert run.state == "native code"
    for other in (x, 1.1 * x):
        (value, x_bar), expected = run(other)[0:2], gradient(other)
        assert value == pytest.approx(expected[0], rel=1e-11)
        np.testing.assert_allclose(x_bar, expected[1], rtol=1e-9)


@pytest.mark.parametrize("name", ["square", "reciprocal", "logaddexp", "clip", "fmax", "fmin", "heaviside", "exp2"])
def test_the_function_of_floats_that_is_made_from_a_word_is_that_of_numpy(name):
    ufunc = getattr(np, name)
    row = ops.info(ufunc)
    numbers = [-math.inf, -2.5, -0.5, 0.25, 1.0, 3.0, math.inf]
    for operands in itertools.product(numbers, repeat=row.arity):
        if name == "clip" and operands[1] > operands[2]:
            continue
        found, expected = row.on_floats(*operands), float(ufunc(*operands))
        assert type(found) is float
        assert found == expected if row.exact else found == pytest.approx(expected, rel=1e-14)
