"""Native code computes what NumPy computes: its text run by Python on many tapes, and compiled on some."""

from __future__ import annotations

import math
import operator
import os
import re
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program
from random_tapes import arguments, random_tape

import wengert as wg
from wengert.compiling.native import compiled as native_compiled
from wengert.compiling.native import module as native_module
from wengert.compiling.native import nests
from wengert.compiling.native import source as source_module
from wengert.compiling.native import tiering as native_choosing
from wengert.compiling.native.compiled import NativeTape, compile_native
from wengert.compiling.native.tiering import TieredFunction
from wengert.compiling.native.values import Affine, FlatMemory, UnsupportedOp, View
from wengert.compiling.native.writer import NativeWriter
from wengert.errors import NativeUnavailableError
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Input
from wengert.tape.tape import Tape
from wengert.values import functional, kernel_cache

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "150"))


def of(f: Callable[..., Any], *args: Any) -> wg.Tape:
    return wg.trace(f, *args)[1].optimise()


def by_python(tape: wg.Tape) -> Any:
    """The native code of all of a tape, run by Python; what NumPy runs where it fails gives None."""
    run: Any = compile_native(tape, build=interpret_program)
    assert "plain" in run.__kwdefaults__
    run.__kwdefaults__["plain"] = lambda *args: None
    return run


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif expected is not None:
        largest = np.max(np.abs(expected), initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * largest)
        if isinstance(expected, np.ndarray):
            assert (found.dtype, found.strides) == (expected.dtype, expected.strides)


# -- many tapes, run by Python


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_tapes() -> None:
    native_ones = 0
    for seed in range(EXAMPLES):
        tape = random_tape(seed)
        try:
            run: Any = compile_native(tape, build=interpret_program)
        except UnsupportedOp:
            continue
        run = by_python(tape)
        for values in (seed, seed + 1):
            given = arguments(values)
            found, expected = run(*given), tape.play(*arguments(values))
            if found is not None:
                native_ones += 1
                for a, b in zip(found, expected, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * np.max(np.abs(b)))
            for a, b in zip(given, arguments(values), strict=True):
                np.testing.assert_array_equal(a, b)
    assert native_ones > EXAMPLES


def rosenbrock(x: np.ndarray) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


X = np.linspace(-1, 2, 12)
M = X.reshape(3, 4)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: (x[1:] * 2.0, x[0], float(x[1])), (X,)),
        (lambda m: (m.T * 3.0, np.sum(m, axis=0), m.sum(1), m.mean(), m.max(), np.min(m)), (M,)),
        (lambda m, x: (m @ x[:4], x[:3] @ m, m @ m.T, np.vdot(m, m)), (M, X)),
        (lambda m: np.einsum("ij,kj->ki", m, m) + np.outer(m[0, :3], m[1, :3]), (M,)),
        (lambda m: np.where(m > 0, np.sqrt(np.abs(m)), m**3), (M,)),
        (lambda m: np.concatenate([m, -m], axis=1)[:, ::-2] * 2.0, (M,)),
        (lambda m: np.stack([m, m + 1])[1] / 3, (M,)),
        (lambda x, y: (math.exp(x) / y, x**2.5, y**-1, abs(-x)), (0.5, 2.0)),
        (lambda x, y: (np.hypot(x, y), np.arctan2(x, y), np.maximum(x, y)), (0.5, 2.0)),
        (lambda x: (np.maximum(x, 0.5), np.minimum(x, x[::-1]), np.full(3, x[1])), (X,)),
        (lambda x: (np.broadcast_to(x[:2], (3, 2)) * 1.0, np.expand_dims(x, 1) + np.zeros(2)), (X,)),
        (lambda x: (np.clip(x, -0.5, 0.5), np.clip(x, 1.0, -1.0), x.clip(0.0, x[::-1]), np.sign(x * (x > 0))), (X,)),
        (lambda x: (np.logaddexp(x, x[::-1]), np.logaddexp(-800.0 * x, x), max(x[0], x[1]), min(x[3], 0.5)), (X,)),
        (lambda m: (np.linalg.norm(m), np.linalg.norm(m, axis=1), np.linalg.norm(m, axis=0, keepdims=True)), (M,)),
        (lambda x: (np.mean([x[0], x[1]]), np.sum([x, x[::-1]], axis=0), np.sum(x[0]), np.max([x[2], 0.1])), (X,)),
        (lambda x: np.where((x > 0) & ~(x > 1) | (x < -0.5) ^ np.isfinite(x), x, 2.0), (X,)),
        (lambda m: (m.T.reshape(2, 6, order="C") * 2.0, np.ravel(m, "C") + 1.0), (M,)),
        (lambda m: (np.array(m.T, order="C") @ m, np.asarray(m.T, None, "F") * m.T, np.array(m, order="F")), (M,)),
        (lambda x: (x**0, x**1 * 3.0, x[1] ** 0), (X,)),
        (lambda x: x[:0] * 2.0, (X,)),
        (lambda x: np.sum(x[:0]) + x[3], (X,)),
        (lambda x: x * (x > 0.3) + np.array([0.0, -0.0] * 6), (X,)),
    ],
)
def test_a_function_and_its_result(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    tape = of(f, *args)
    same(by_python(tape)(*args), tape.compile()(*args))
    same(by_python(tape)(*args), f(*args))


@pytest.mark.parametrize("word", ["ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ji,jk->ik", "ij,jk,k->i", "ij,j->i"])
@pytest.mark.parametrize("sizes", [(5, 2, 7), (2, 7, 3), (7, 5, 2), (2, 3, 4), (1, 4, 6), (6, 1, 2), (9, 8, 1)])
def test_products_with_short_axes(word: str, sizes: tuple[int, ...]) -> None:
    shapes = [[dict(zip("ijk", sizes, strict=True))[k] for k in part] for part in word.partition("->")[0].split(",")]
    arrays = [np.random.default_rng(k).normal(size=shape) for k, shape in enumerate(shapes)]

    def f(*xs: np.ndarray) -> Any:
        y = np.einsum(word, *[np.tanh(x) for x in xs])
        for _ in range(8):
            y = 0.5 * np.cos(y) + np.einsum(word, *xs)
        return y

    tape = of(f, *arrays)
    same(by_python(tape)(*arrays), f(*arrays))


def test_what_is_told_apart_is_apart() -> None:
    rng = np.random.default_rng(0)
    memory = FlatMemory(1000)
    for _ in range(2000):
        views = []
        for _ in range(2):
            shape, strides = (tuple(map(int, rng.integers(1, n, 2))) for n in (4, 7))
            views.append(View(memory, Affine(int(rng.integers(0, 12))), strides, shape))
        places = [
            {view.offset.first + sum(np.multiply(at, view.strides)) for at in np.ndindex(view.shape)} for view in views
        ]
        if views[0].is_disjoint(views[1]):
            assert not places[0] & places[1]


def test_what_an_argument_is_like_is_tested_before_native_code() -> None:
    def f(u: np.ndarray) -> Any:
        u = u.copy()
        for _ in range(12):
            u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1])
        return np.sum(u * u)

    u = np.linspace(0.0, 1.0, 36).reshape(6, 6)
    tape = wg.gradtape(f, u).optimise()
    same(by_python(tape)(u)[1][-1], tape.compile()(u)[1][-1])
    compiled, numpy = (wg.compile(wg.grad(f), native=native) for native in (None, False))
    for given in (u, u.T, np.asfortranarray(u), u[::-1]):
        np.testing.assert_allclose(compiled(given), numpy(given), rtol=1e-13)
        np.testing.assert_allclose(numpy(given), wg.grad(f)(given), rtol=1e-13)


def labelled(x: np.ndarray) -> Any:
    """With tables of whole numbers, by which is read and written, and of others."""
    y, s = x * 2.0, x[0]
    for k, label in enumerate(np.random.default_rng(3).permutation(np.arange(60) % 10)):
        y[label] = y[label + 1] * (0.3 if k % 3 else np.float64(0.4)) + np.sin(s * label)
        s = 0.5 * s + y[k % 7] * x[label]
    return np.sum(y * y) + s


def listed(x: np.ndarray) -> Any:
    """With arrays of numbers in lists, and in lists in a list."""
    y = x[:2]
    for k in range(40):
        y = y + 0.1 * np.array([y[1], -np.sin(y[0]) + x[3]])
        y = np.array([[0.1 * y[0], 0.1], [np.sin(x[k % 12]), 0.2]]) @ y
    return np.sum(y)


def softest(x: np.ndarray) -> Any:
    """With extrema, whose pullbacks count the elements that are one."""
    s = x[0]
    for k in range(40):
        three = np.array([x[k % 12], s, x[(5 * k + 1) % 12]])
        s = np.sum(np.exp(three - three.max())) * 0.3 + three.min()
    return s


@pytest.mark.parametrize(
    "f",
    [
        *(rosenbrock, lambda x: np.sum(np.outer(x, x) * x), lambda x: np.sum(np.exp(x) * x[::-1])),
        *(labelled, listed),
    ],
)
def test_gradients(f: Callable[..., Any]) -> None:
    run = by_python(wg.gradtape(f, X).optimise())
    step = np.zeros(12, complex)
    found = [run(X)[1][-1][k] for k in range(12)]
    for k in range(12):
        step[:] = X
        step[k] += 1e-30j
        assert found[k] == pytest.approx(np.imag(f(step)) / 1e-30, rel=1e-13)


def pooled(x: np.ndarray) -> Any:
    """With a table of arrays, and the two kinks of networks."""
    s, eye = x, np.eye(12)
    for k in range(60):
        s = np.maximum(0.4 * s[::-1] + 0.3 * eye[(5 * k) % 12], 0.1 * s)
    return np.sum(s.reshape(3, 2, 2).max(axis=(1, 2)) * np.arange(1.0, 4.0))


@pytest.mark.parametrize("f", [softest, pooled])
def test_the_gradient_of_extrema(f: Callable[..., Any]) -> None:
    x = np.random.default_rng(5).normal(size=12)
    found = by_python(wg.gradtape(f, x).optimise())(x)[1][-1]
    for k, step in enumerate(1e-6 * np.eye(12)):
        assert found[k] == pytest.approx((f(x + step) - f(x - step)) / 2e-6, rel=1e-6, abs=1e-9)


def test_elements_that_are_read_and_written_by_turns() -> None:
    def f(x: np.ndarray) -> Any:
        y = np.zeros(3, x.dtype)
        y[0] = x[0] * 2.0
        y[1] = y[0] * x[1]
        y[2] = y[1] * y[0]
        return np.sum(y * y)

    found = by_python(wg.gradtape(f, X[:3]).optimise())(X[:3])[1][-1]
    steps = [np.imag(f(X[:3] + 1e-30j * row)) / 1e-30 for row in np.eye(3)]
    np.testing.assert_allclose(found, steps, rtol=1e-13)


def test_a_value_that_is_computed_in_the_array_to_which_it_is_added() -> None:
    def f(x: np.ndarray) -> Any:
        middle = 0.5 * (x[1:] + x[:-1])
        return np.sum((np.eye(3) + middle[0])[0])

    assert by_python(wg.gradtape(f, X[:3]).optimise())(X[:3])[1][-1].tolist() == [1.5, 1.5, 0.0]


def test_arrays_that_are_written_over_as_a_whole() -> None:
    def f(x: np.ndarray) -> Any:
        y, z = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
        y[:] = x
        z[:] = np.cos(x)
        return y @ z + y[1] * z[::-1][0]

    x = X[:3]
    assert by_python(of(f, x))(x) == pytest.approx(f(x), rel=1e-14)


def test_what_lies_in_another_order_is_given_in_that_order() -> None:
    tape = of(lambda m: (m.T * 2.0).T @ np.ones((4, 2)) + 0 * m.T[:3, :2], M)
    same(by_python(tape)(M), tape.compile()(M))
    tape = of(lambda m: m.T * 2.0, M)
    found = by_python(tape)(np.asfortranarray(M))
    np.testing.assert_array_equal(found, M.T * 2)


def test_arguments_need_not_be_contiguous() -> None:
    run = by_python(of(lambda x: x * 2.0, X[:6]))
    np.testing.assert_array_equal(run(X[::2]), X[::2] * 2)
    np.testing.assert_array_equal(run(X[5::-1]), X[5::-1] * 2)


# -- what Python would raise, and decisions


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("f", "x", "error"),
    [
        (lambda x: 1 / (1 / x), 0.0, ZeroDivisionError),
        (lambda x: 1 / math.exp(x), 1000.0, OverflowError),
        (lambda x: math.sqrt(x) * 0.0, -1.0, ValueError),
        (lambda x: math.log(x) * 0.0, 0.0, ValueError),
        (lambda x: x**-1, 0.0, ZeroDivisionError),
        (lambda x: 1 / x**3, 1e200, OverflowError),
        (lambda x: math.sin(x) * 0.0, math.inf, ValueError),
        (lambda x: x if x > 0 else -x, -1.0, wg.StaleTapeError),
    ],
)
def test_what_python_raises(f: Callable[..., Any], x: float, error: type[Exception]) -> None:
    tape = of(f, 0.5)
    assert by_python(tape)(x) is None
    run: Any = compile_native(tape, build=interpret_program)
    assert run(0.25) == f(0.25)
    with pytest.raises(error):
        run(x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_and_inf_are_numpys() -> None:
    run: Any = compile_native(of(lambda x: (1 / x, np.max(x), np.maximum(x, 0.0)), X), build=interpret_program)
    for bad in (0.0, -0.0, math.nan, math.inf):
        x = X.copy()
        x[3] = bad
        for a, b in zip(run(x), (1 / x, np.max(x), np.maximum(x, 0.0)), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("f", [lambda x: np.sum(x * 2.0, 1, np.float32), lambda x: (x * 2.0).sum(1, np.float32)])
def test_there_are_no_words_for_sums_of_another_kind(f: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedOp, match="a reduction of anything but a float array"):
        compile_native(of(f, np.ones((600, 3))), build=interpret_program)


def test_another_kind_of_argument_is_stale() -> None:
    run = by_python(of(lambda x: x * 2.0, X))
    with pytest.raises(wg.StaleTapeError):
        run(X[:3])
    with pytest.raises(wg.StaleTapeError):
        run(X.astype(np.float32))


# -- loops, and tapes with loops in them


def recurrence(n: int) -> Loop:
    """x, S = 0.5 x + k, S with x at k."""
    body = Tape()
    k, x, s = [body.push(Input(v)) for v in (0, 1.0, np.zeros(n))]
    stored = body.push(Call(functional.setitem, [s, k, x], val=np.ones(n)))
    half = body.push(Call(operator.mul, [x, 0.5], val=0.5))
    sum_ = body.push(Call(operator.add, [half, k], val=0.5))
    body.result = body.push(Call(functional.make_tuple, [sum_, stored], val=(0.5, np.ones(n))))
    return Loop(body, n, (1,), 2)


def test_a_loop_is_native_where_the_rest_is_not() -> None:
    loop = recurrence(5)
    tape = wg.trace(lambda x: x, 1.0)[1].optimise()
    x = tape.result
    start = tape.push(Call(np.zeros, [5], val=np.zeros(5)))
    call = tape.push(Call(loop, [0, x, start], val=(1.0, np.ones(5))))
    part = tape.push(Call(functional.getfield, [call, 1], val=np.ones(5)))
    tape.result = tape.push(Call(np.sort, [part], val=np.ones(5)))
    run: Any = compile_native(tape, build=interpret_program)
    assert run.source.count("def native") == 1
    values = [1.0]
    for k in range(4):
        values.append(values[-1] * 0.5 + k)
    np.testing.assert_array_equal(run(1.0), np.sort(values))


def test_rows_that_are_not_yet_written_are_zero() -> None:
    """An array that a loop fills may be read by the loop where it is not filled yet."""
    body = Tape()
    k, x, s = [body.push(Input(v)) for v in (0, 1.0, np.zeros(4))]
    stored = body.push(Call(functional.setitem, [s, k, x], val=np.ones(4)))
    last = body.push(Call(np.ndarray.item, [stored, 3], val=0.0))
    more = body.push(Call(operator.add, [last, 1.0], val=1.0))
    body.result = body.push(Call(functional.make_tuple, [more, stored], val=(1.0, np.ones(4))))
    tape = Tape()
    x = tape.push(Input(5.0))
    start = tape.push(Call(np.zeros, [4], val=np.zeros(4)))
    call = tape.push(Call(Loop(body, 4, (1,), 2), [0, x, start], val=(1.0, np.ones(4))))
    tape.result = tape.push(Call(functional.getfield, [call, 1], val=np.ones(4)))
    run = by_python(tape)
    for _ in range(2):
        np.testing.assert_array_equal(run(5.0), [5.0, 1.0, 1.0, 1.0])
    assert list(tape.play(5.0)) == [5.0, 1.0, 1.0, 1.0]


def test_what_there_are_no_words_for_stays_numpy() -> None:
    with pytest.raises(UnsupportedOp, match=r"np.partition \(.*test_native.py:\d+ in test_what"):
        compile_native(of(lambda x: np.partition(x, 2), X), build=interpret_program)
    with pytest.raises(UnsupportedOp, match="sin and similar functions of large arrays"):
        compile_native(of(np.sin, np.ones(100_000)), build=interpret_program)


UNIFORM: dict[str, Callable[[np.ndarray], Any]] = {
    "copy": np.copy, "a copy in any order": lambda a: a.copy(order="K"), "array": np.array, "diagonal": np.diagonal,
    "astype": lambda a: a.astype(float), "diag": np.diag, "trace": np.trace, "tril": np.tril, "triu": np.triu,
    "getitem": lambda a: a[::2, None], "take": lambda a: a[[0, 2]], "item": lambda a: a[1, 1], "max": np.max,
    "reshape": lambda a: a.reshape(9), "swapaxes": lambda a: a.swapaxes(0, 1), "transpose": np.transpose,
    "stack": lambda a: np.stack([a, a]), "concatenate": lambda a: np.concatenate([a, a]), "sum": np.sum,
    "sum of columns": lambda a: np.sum(a, axis=0), "mean": lambda a: np.mean(a, axis=1), "cumsum": np.cumsum,
    "min of columns": lambda a: np.min(a, axis=0), "norm": np.linalg.norm, "power": lambda a: a**3, "sign": np.sign,
    "matmul": lambda a: a @ a, "dot": lambda a: a[0].dot(a[1]), "vdot": lambda a: np.vdot(a, a),
    "outer": lambda a: np.outer(a[0], a[1]), "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "where": lambda a: np.where(a > 1.0, a, -a), "where of a mask": lambda a: np.where(np.eye(3) > 0, a, 0.0),
    "nonzero": lambda a: np.nonzero(a)[0] * 1.0, "flatnonzero": np.flatnonzero, "all": lambda a: np.all(a > 0),
    "searchsorted": lambda a: np.searchsorted(a[0], 1.0), "bincount": lambda a: np.bincount(np.arange(3), a[0]),
    "broadcast": lambda a: np.broadcast_to(a, (2, 3, 3)), "inv": lambda a: np.linalg.inv(a + np.eye(3)),
    "solve": lambda a: np.linalg.solve(a + np.eye(3), a[0]), "det": lambda a: np.linalg.det(a + np.eye(3)),
    "cholesky": lambda a: np.linalg.cholesky(a + np.eye(3)), "like": np.zeros_like,
}  # fmt: skip


@pytest.mark.parametrize("name", UNIFORM)
def test_functions_of_uniform_arrays(name: str) -> None:
    """Each is supported or refused: an array that is one number in native code raises no other error."""
    of_uniform = UNIFORM[name]
    for f in (lambda x: of_uniform(np.full((3, 3), x[0])) + x[1], lambda x: of_uniform(np.zeros((3, 3))) + x[1]):
        tape = wg.trace(f, np.array([1.5, 2.0]))[1]  # not optimised, which leaves few uniform arrays
        try:
            writer = NativeWriter(tape, tape)
        except UnsupportedOp:
            continue
        run = writer.function(interpret_program(writer.program), lambda *args: None, "f")
        found = run(np.array([2.5, 3.0]))
        if found is not None:
            np.testing.assert_allclose(found, f(np.array([2.5, 3.0])), rtol=1e-13)


# -- compiled


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("numba")
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    return kernel_cache.folder()


def test_compiled_tapes(folder: Path) -> None:
    tapes = [(wg.gradtape(rosenbrock, X).optimise(), (X,))]
    tapes += [(random_tape(seed), tuple(arguments(seed))) for seed in (15, 317, 318)]
    for tape, args in tapes:
        run: Any = compile_native(tape)
        expected = tape.play(*args)
        same(run(*args), expected)
        for x in args:
            if isinstance(x, np.ndarray):
                x.flags.writeable = False
        same(run(*args), expected)
    assert {path.suffix for path in folder.iterdir()} == {".bin"}
    unaligned = np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float64)
    run = compile_native(tapes[0][0])
    same(run(unaligned), run(X))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fn", [np.exp, np.log, np.tanh])
def test_functions_without_branches(fn: Any) -> None:
    pytest.importorskip("numba")
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 709.7, 709.8, -709.0, -746.0, 1e300, -1e300, 0.25, -0.25]
    many = [np.linspace(-700, 700, 5000), np.linspace(-1, 1, 5000), np.geomspace(1e-300, 1, 5000)]
    x = np.concatenate([*many, special])
    x = x[np.isfinite(fn(x))]
    run: Any = compile_native(of(fn, x))
    assert "fast_" in run.source
    np.testing.assert_allclose(run(x), fn(x), rtol=1e-15, atol=1e-307)
    np.testing.assert_array_equal(np.signbit(run(x)), np.signbit(fn(x)))
    given, found = np.array(special), np.empty(len(special))
    native_module.compile_program(NativeTape(of(fn, given)).writer.program)(given, found)
    np.testing.assert_allclose(found, fn(given), rtol=1e-15, atol=1e-307)


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_folder_that_others_can_write_is_left_alone(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(stat.S_IRWXU | stat.S_IWOTH)
    run: Any = compile_native(of(lambda x: x * 2.0, 1.0))
    assert run(3.0) == 6.0
    assert not [*folder.iterdir()]


def test_compiled_in_the_background(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_choosing, "COMPILE_SECONDS", 0.0)
    monkeypatch.setattr(native_choosing, "SECONDS_PER_OP", 0.0)
    done = threading.Event()
    monkeypatch.setattr(TieredFunction, "use", _then(TieredFunction.use, done))
    run: Any = wg.gradtape(rosenbrock, X).optimise().compile(native=None)
    expected = run(X)
    assert done.wait(60)
    assert run.state == "native code, on trial"
    for _ in range(native_choosing.TRIAL_CALLS + 1):
        same(run(X), expected)
    assert run.state in ("native code", "NumPy: native code is slower")


def _then(settle: Callable[..., None], done: threading.Event) -> Callable[..., None]:
    def settled(self: TieredFunction, run: Any, state: str) -> None:
        settle(self, run, state)
        if "until" not in state:
            done.set()

    return settled


def test_a_compiler_that_fails_leaves_numpys_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> None:
        raise RuntimeError

    done = threading.Event()
    monkeypatch.setattr(native_choosing, "has_compiler", lambda: True)
    monkeypatch.setattr(native_choosing, "COMPILE_SECONDS", 0.0)
    monkeypatch.setattr(native_choosing, "SECONDS_PER_OP", 0.0)
    monkeypatch.setattr(native_compiled, "native_or_reason", fails)
    monkeypatch.setattr(TieredFunction, "use", _then(TieredFunction.use, done))
    run: Any = of(lambda x: x * 2.0, 1.0).compile(native=None)
    assert run(3.0) == 6.0
    assert done.wait(60)
    assert run(3.0) == 6.0 and run.state == "NumPy: compiling raised RuntimeError"


def test_the_code_of_a_new_trace_goes_on_counting_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_choosing, "has_compiler", lambda: True)
    compiled: Any = wg.compile(lambda x: np.sum(x**2 if x[0] > 0.0 else x**3))
    spent = [0.0]
    for x in (np.ones(3), -np.ones(3), np.ones(4), -np.ones(4)):
        compiled(x)
        compiled(x)
        runs = [entry.run for entries in compiled._entries.values() for entry in entries]
        spent.append(max([run.spent for run in runs]))
        assert spent[-1] > spent[-2]


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_choosing, "has_compiler", lambda: False)
    tape = of(lambda x: x * 2.0, 1.0)
    assert tape.compile(native=None)(3.0) == tape.compile(native=False)(3.0) == 6.0
    with pytest.raises(NativeUnavailableError, match=r"pip install -U 'wengert\[native\]'"):
        tape.compile(native=True)
    with pytest.raises(NativeUnavailableError, match="needs numba"):
        wg.compile(lambda x: x * 2.0, native=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_told_by_compiled_code(bad: float) -> None:
    """A nan or an infinity anywhere in a result has NumPy's code run; sums of many elements tell of one."""
    pytest.importorskip("numba")

    def f(x: np.ndarray) -> Any:
        u = 100.0 * (x[1:] - x[:-1])
        return np.sum(np.where(x > -3.0, x, 0.0)), x.copy(), np.concatenate([u, x]), np.outer(x[:3], x)

    x = np.linspace(-1.0, 2.0, 5003)
    run: Any = compile_native(of(f, x))
    called = []
    plain = run.__kwdefaults__["plain"]
    run.__kwdefaults__["plain"] = lambda *args: called.append(1) or plain(*args)
    same(run(x), f(x))
    assert not called
    for k in (0, 2, 777, 4999, 5002):
        y = x.copy()
        y[k] = bad
        called.clear()
        for a, b in zip(run(y), f(y), strict=True):
            np.testing.assert_array_equal(a, b)
        assert called


@pytest.mark.parametrize("build", [interpret_program, None], ids=["by Python", "compiled"])
def test_repeated_steps_are_one_function(build: Any) -> None:
    """Each step reads other arrays, writes other memory and returns other numbers; the last has another length."""
    if build is None:
        pytest.importorskip("numba")
    rng = np.random.default_rng(1)
    data = [rng.normal(size=(n, 3)) for n in (4, 4, 4, 4, 4, 5)]

    def f(w: Any, *data: Any) -> Any:
        total = 0.0
        for x in data:
            y = np.tanh(x @ w)
            top = np.max(y, axis=0)
            total += np.log(np.sum(np.exp(y - top))) + np.max(top * w)
        return total

    tape = wg.gradtape(f, rng.normal(size=3), *data).optimise()
    args = [rng.normal(size=3), *[rng.normal(size=x.shape) for x in data]]
    run: Any = compile_native(tape, build=build) if build else compile_native(tape)
    assert run.state == "native code"
    value, (_, *gradients) = run(*args)
    assert value == pytest.approx(f(*args), rel=1e-12)
    for k, found in enumerate(gradients):
        np.testing.assert_allclose(found, wg.grad(f, argnums=k)(*args), rtol=1e-11, atol=1e-13)
    assert run.source.count("def part") < 0.6 * len(re.findall(r"\bpart\d+\(", run.source))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(24))
def test_nests_in_functions_of_their_own(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """As in large programs: parts of the workspace and their offsets are parameters, which LLVM takes for separate."""
    monkeypatch.setattr(source_module, "NESTS_IN_LINE", -1)
    monkeypatch.setattr(nests, "LINES_PER_FUNCTION", 1 + seed % 8)
    monkeypatch.setattr(nests, "_LARGE_OFFSET", re.compile(nests._LARGE_OFFSET.pattern.replace("3,", "1,")))
    tape, args = random_tape(seed), tuple(arguments(seed))
    builds: list[Any] = [interpret_program, *([native_module.compile_program] if kernel_cache.has_compiler() else [])]
    for build in builds:
        try:
            run: Any = compile_native(tape, build=build)
        except UnsupportedOp:
            return
        same(run(*args), tape.play(*args))


@pytest.mark.parametrize("shape", [(), (5,)], ids=["numbers", "arrays"])
def test_a_loop_reads_another_argument_in_each_iteration(shape: tuple[int, ...]) -> None:
    def f(*values: Any) -> Any:
        y = values[0] * 1.0
        for v in values:
            y = np.sin(y) * v + np.cos(v) * y - y * y * 0.1 + np.tanh(y + v) * v
        return np.sum(y)

    rng = np.random.default_rng(0)
    first, second = [[0.5 * rng.normal(size=shape or None) for _ in range(30)] for _ in range(2)]
    tape = wg.gradtape(f, *first).optimise()
    run: Any = compile_native(tape, build=interpret_program)
    assert run.state == "native code" and "for " in run.source
    for given in (first, second):
        same(run(*given), tape.play(*given))
