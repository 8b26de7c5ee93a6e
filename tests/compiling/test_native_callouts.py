"""Native code calls Python for operations that it does not support."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special as sp
from native_by_python import interpret_program
from random_tapes import arguments, random_tape

import wengert as wg
from wengert.compiling.native import compiled, source
from wengert.compiling.native.callouts import Callout
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.values import UnsupportedOp
from wengert.tape.ops import Call, Input
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.callables import callable_name

EYE = np.eye(4)
X = np.random.default_rng(0).uniform(0.2, 0.9, 12)
TALL = np.random.default_rng(1).normal(size=(3000, 12))


def stepped(f: Callable[[np.ndarray], Any], steps: int = 6) -> Callable[[np.ndarray], Any]:
    """Return a loop in which f is called beside arithmetic."""

    def run(x: np.ndarray) -> Any:
        for _ in range(steps):
            y = f(x)
            x = x + 0.1 * (np.sin(y) * 1.3 - x) + 0.01 * np.tanh(x * y) - 0.001 * np.exp(-x) * (1 + x**2) / 7
        return np.sum(x**2)

    return run


def nested(x: np.ndarray) -> Any:
    """A callout in an inner loop, which reads both counters."""
    for i in range(3):
        for j in range(4):
            y = np.partition(x + 0.1 * i * x[j], j)
            x = x + 0.1 * (np.sin(y) * 1.3 - x) + 0.01 * np.tanh(x * y) - 0.001 * np.exp(-x) * (1 + x**2) / (i + j + 7)
    return np.sum(x**2)


def until_small(x: np.ndarray) -> Any:
    """A callout in a while loop, whose branches may be other ones."""
    while np.sum(x**2) > 0.5:
        y = np.partition(x, 4)
        x = np.where(x > 0.3, 0.8 * x, 0.9 * x) + 0.01 * y * np.sin(x) - 0.001 * np.tanh(x + y) * np.exp(-y)
    return np.sum(x**3)


FUNCTIONS: dict[str, Callable[[np.ndarray], Any]] = {
    "partition": stepped(lambda x: np.partition(x, 5)),
    "an array of integers": stepped(lambda x: x[np.argpartition(-x, 4)]),
    "a mask": stepped(lambda x: np.where(np.isin(np.round(x, 1), [0.5, 0.6]), x, 2 * x)),
    "a bool": stepped(lambda x: np.where(np.array_equal(np.partition(x, 0), x), 2 * x, x)),
    "one integer": stepped(lambda x: x[np.argmax(x.reshape(2, 2, 3))] * x[::-1]),
    "three results": stepped(lambda x: np.linalg.svd(x[:9].reshape(3, 3) + EYE[:3, :3], hermitian=True)[1][1] * x),
    "of a list": stepped(lambda x: x[np.lexsort([x, -x])]),
    "a large product": stepped(lambda x: (np.tanh(TALL @ x) @ TALL) / 3000),
    "complex numbers": stepped(lambda x: np.linalg.det(x[:9].reshape(3, 3) * 1j + EYE[:3, :3]).real * x),
    "keywords": stepped(lambda x: np.partition(x, kth=3) + np.linalg.norm(x, ord=3, axis=None)),
    "nested": nested,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("build", ["Python", "LLVM"])
def test_gradients(name: str, build: str) -> None:
    """They are those of the derivative that is not compiled, whose tests are elsewhere, and of differences."""
    f = FUNCTIONS[name]
    if build == "LLVM":
        pytest.importorskip("numba")
    tape = wg.trace(wg.value_and_grad(f), X)[1].optimise()
    run: Any = compile_native(tape, **({"build": interpret_program} if build == "Python" else {}))
    assert "python(c" in run.source
    if "plain" in (run.__kwdefaults__ or {}):
        run.__kwdefaults__["plain"] = None  # native code does not fail
    for x in (X, 1.01 * X, X[::-1].copy(), X):
        value, x_bar = run(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        np.testing.assert_allclose(x_bar, wg.grad(f)(x), rtol=1e-9, atol=1e-11)
    d = np.cos(np.arange(12.0))
    slope = [(f(X + h * d) - f(X - h * d)) / (2 * h) for h in (1e-5, 2e-5)]
    assert np.sum(run(X)[1] * d) == pytest.approx((4 * slope[0] - slope[1]) / 3, rel=1e-7)


def test_a_while_loop() -> None:
    pytest.importorskip("numba")
    g = wg.compile(wg.value_and_grad(until_small), native=True)
    for x in (X, 1.5 * X, X[::-1].copy(), 0.5 * X):
        value, x_bar = g(x)
        assert value == pytest.approx(until_small(x), rel=1e-12)
        np.testing.assert_allclose(x_bar, wg.grad(until_small)(x), rtol=1e-9, atol=1e-11)
    assert g.status == "compiled natively in part"
    assert "which calls NumPy for np.partition" in g.explain()


def inverted(x: np.ndarray) -> Any:
    for _ in range(5):
        y = np.partition(x, 2) / np.linalg.norm(x, 3)
        a = np.linalg.pinv(y.reshape(3, 4) + x[0])
        x = np.tanh(x + 0.1 * a.ravel() * np.sin(y)) * np.exp(-y * y) + y / (1 + x**2)
    return np.sum(x * x)


def test_errors_are_those_of_numpy() -> None:
    """The singular value decomposition of nan does not converge."""
    pytest.importorskip("numba")
    run = compile_native(wg.trace(wg.value_and_grad(inverted), X)[1].optimise())
    assert run(X)[0] == pytest.approx(inverted(X), rel=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        run(np.full(12, np.nan))
    assert run(X)[0] == pytest.approx(inverted(X), rel=1e-12)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_leaves_native_code(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    """Of other exceptions NumPy decides."""
    pytest.importorskip("numba")

    def raising(self: Any, given: Any, made: Any) -> Any:
        def call() -> None:
            raise error

        return call

    monkeypatch.setattr(Callout, "bound", raising)
    run = compile_native(wg.trace(wg.value_and_grad(FUNCTIONS["partition"]), X)[1].optimise())
    if error is ValueError:
        assert run(X)[0] == pytest.approx(FUNCTIONS["partition"](X), rel=1e-12)
    else:
        with pytest.raises(error):
            run(X)


def test_another_result_than_recorded_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    run: Any = compile_native(wg.trace(FUNCTIONS["partition"], X)[1].optimise(), build=interpret_program)
    (pool,) = [x for x in run.__kwdefaults__.values() if hasattr(x, "callout")]
    run.__kwdefaults__["plain"] = lambda x: None
    assert run(X) == pytest.approx(FUNCTIONS["partition"](X), rel=1e-12)
    for fn in (lambda x: x[:-1], lambda x: x.astype(np.float32), lambda x: 1.0, lambda x: x > 0.0):
        monkeypatch.setattr(pool.callout, "fn", fn)
        pool.free.clear()
        assert run(X) is None


def test_threads_share_no_memory() -> None:
    pytest.importorskip("numba")
    run = compile_native(wg.trace(wg.value_and_grad(FUNCTIONS["partition"]), X)[1].optimise())
    expected = {k: run(X * k)[0] for k in (1, 2, 3, 4)}
    found: dict[int, list[Any]] = {k: [] for k in expected}

    def work(k: int) -> None:
        found[k] += [run(X * k)[0] for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in expected]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {k: [value] * 50 for k, value in expected.items()}


MEMORY: dict[str, Callable[[np.ndarray], Any]] = {
    "shared": lambda x: x * (2.0 if np.shares_memory(x, x[::2]) else 3.0),
    "shared or not, as a number": lambda x: np.where(np.may_share_memory(x[:3], x), x, 2.0 * x),
    "order": lambda x: np.array(x.reshape(4, 3).T, order="K").ravel(order="K") * np.arange(12),
    "order of elements": lambda x: x * np.isfortran(np.outer(x[:2], x).T),
}


@pytest.mark.parametrize("name", MEMORY)
def test_python_is_not_asked_about_memory(name: str) -> None:
    """It gets copies."""
    f = stepped(MEMORY[name])
    try:
        run: Any = compile_native(wg.trace(f, X)[1].optimise(), build=interpret_program)
    except UnsupportedOp:
        return
    assert "python(c" not in run.source
    assert run(X) == pytest.approx(f(X), rel=1e-13)


E = np.random.default_rng(0).normal(size=(9, 4))
AT = np.random.default_rng(1).integers(0, 9, 40)


def recurrence(e: np.ndarray, s: Any) -> Any:
    for k in range(40):
        s = s * 0.3 + np.sin(e[AT[k], k % 4] * s)
    return s


def flattened_and_written(y: np.ndarray, x: Any) -> np.ndarray:
    """A result that shows whether `ravel` copies: it does unless the array is in C order."""
    y[1] += x
    flat = y.ravel()
    y[0] = 2.0 + x
    return np.partition(flat, 4)[:5] * flat[:5]


OUTSIDE: dict[str, Callable[[np.ndarray], Any]] = {
    "before a loop": lambda e: recurrence(e, np.partition(e[:, 0], 3)[3]),
    "before a loop, a function of a number": lambda e: recurrence(e, sp.polygamma(1, 1.0 + e[0, 0] ** 2)),
    "after a loop": lambda e: np.sum(np.partition(recurrence(e, e[0]), 1) * np.arange(4)),
    "between loops": lambda e: recurrence(e, np.sum(np.partition(recurrence(e, e[:, 1]), 4) ** 2)),
    "beside a loop": lambda e: recurrence(e, 0.2) + np.sum(np.partition(e.ravel(), 7)[3:] ** 2),
    "indices for a loop": lambda e: np.sum(recurrence(e, e[0])[np.argpartition(e[1], 1)] * e[np.argmax(e[:, 2])]),
    "eigenvectors, whose rule asks for bools": lambda e: recurrence(
        e, np.sum(scipy.linalg.eigh(e[:4] + e[:4].T)[1][:, 0] ** 4)
    ),
    "beside complex numbers": lambda e: recurrence(e, np.sum(np.abs(np.fft.fft(e[:, 0] * (1 + 0.5j), 8)) ** 2) * 0.1),
    "beside a question for memory": lambda e: recurrence(e, np.sum(flattened_and_written(e * 0.5, e[0, 0]))),
    "beside a question for new memory": lambda e: recurrence(
        e, np.sum(flattened_and_written(np.zeros((9, 4)), e[0, 0]))
    ),
    "indices by partition": lambda e: recurrence(e, np.sum(e[np.argpartition(e[:, 1], 3)[:3], 0])),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_calls_outside_of_loops(name: str) -> None:
    gradient = wg.value_and_grad(OUTSIDE[name])
    compiled = wg.compile(gradient, native=False)
    compiled(E)
    (entries,) = compiled._entries.values()
    tape = entries[0].tape
    run: Any = compile_native(tape, build=interpret_program)
    assert run.state.startswith("native code, which calls NumPy for")
    for e in (E, 1.1 * E, E[:, ::-1].copy()):
        try:
            value, x_bar = run(e)[:2]
        except wg.StaleTapeError:
            with pytest.raises(wg.StaleTapeError):
                tape.play(e)
            continue
        assert value == pytest.approx(gradient(e)[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, gradient(e)[1], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["beside a question for memory", "beside a question for new memory"])
def test_another_memory_order_is_noticed(name: str) -> None:
    compiled = wg.compile(wg.value_and_grad(OUTSIDE[name]), native=False)
    compiled(E)
    (entries,) = compiled._entries.values()
    run: Any = compile_native(entries[0].tape, build=interpret_program)
    assert run.state.startswith("native code, which calls")
    for e in (E, np.asfortranarray(E), E[:, ::-1], 0.7 * E.T.copy().T):
        wanted = OUTSIDE[name](e)
        try:
            assert run(e)[0] == pytest.approx(wanted, rel=1e-12)
        except wg.StaleTapeError:
            assert not e.flags.c_contiguous
        assert compiled(e)[0] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("branch", [int, round, np.ndarray.item])
def test_branches_on_integers(branch: Callable[[Any], Any]) -> None:
    """Native code, or the function in Python, compares the integer with the recorded one."""

    def f(e: np.ndarray) -> Any:
        return (
            recurrence(e, 0.1) * branch(np.sum(e[0]) * 2.0 if branch is not np.ndarray.item else np.rint(e[0, :1]))
            + e[1, 0]
        )

    tape = wg.trace(f, E)[1].optimise()
    run: Any = compile_native(tape, build=interpret_program)
    for e in (E, E + 1e-9, E + 3.0):
        try:
            expected = tape.play(e)
        except wg.StaleTapeError:
            with pytest.raises(wg.StaleTapeError):
                run(e)
            continue
        assert run(e) == pytest.approx(expected, rel=1e-12)


def test_views_in_the_result() -> None:
    """NumPy makes them of the arrays of native code, so that results share memory as those of the function do."""

    def f(e: np.ndarray) -> Any:
        y = np.zeros((20, 4))
        for t in range(20):
            y[t] = np.sin(e[0] + 0.1 * t)
        return y[:, 0], y[-1], e[::2]

    run: Any = compile_native(wg.trace(f, E)[1].optimise(), build=interpret_program)
    assert run.state == "native code"
    found, expected = run(E), f(E)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
        assert a.strides == b.strides
    assert np.shares_memory(found[0], found[1].base) and np.shares_memory(found[2], E)


def test_a_loop_that_native_code_does_not_support() -> None:
    """Its NumPy code runs between native code."""

    def f(e: np.ndarray) -> Any:
        v = np.abs(e[0])
        while np.sum(v) > 0.05:
            v = np.partition(v, 1) * 0.7
        return recurrence(e, np.sum(v))

    gradient = wg.value_and_grad(f)
    plain = wg.compile(gradient, native=False)
    plain(E)
    (entries,) = plain._entries.values()
    run: Any = compile_native(entries[0].tape, build=interpret_program)
    assert run.state.startswith("native code, which calls NumPy for np.partition")
    assert 1 <= run.source.count("python(c") <= 4
    for e in (E, 1.1 * E):
        assert run(e)[0] == pytest.approx(f(e), rel=1e-12)
        np.testing.assert_allclose(run(e)[1], gradient(e)[1], rtol=1e-11, atol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_random_tapes_without_some_words(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Whichever ops run in Python, the result is the same, and so is the error."""
    plain = source.Body.call

    def call(self: Any, op: Call) -> Any:
        if random.Random(f"{seed} {callable_name(op.fn)} {getattr(op.val, 'shape', None)}").random() < share:
            raise UnsupportedOp("this op")
        return plain(self, op)

    monkeypatch.setattr(source.Body, "call", call)
    monkeypatch.setattr(compiled, "CALLS_PER_CALLOUT", 1)
    calling = 0
    for seed in range(120):
        tape = random_tape(seed)
        try:
            run: Any = compile_native(tape, build=interpret_program)
        except UnsupportedOp:
            continue
        calling += "calls NumPy" in run.state
        for values in (seed, seed + 1):
            given = arguments(values)
            try:
                expected = tape.play(*arguments(values))
            except Exception as error:
                with pytest.raises(type(error)):
                    run(*given)
                continue
            for a, b in zip(run(*given), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * np.max(np.abs(b)))
            for a, b in zip(given, arguments(values), strict=True):
                np.testing.assert_array_equal(a, b)
    assert calling > 30


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_guard_comes_before_what_it_guards() -> None:
    """NumPy would run `np.partition` first, and raise an IndexError at its result; the tape is stale before."""

    def f(x: np.ndarray, n: float) -> Any:
        s = recurrence(E * x[0], 0.5)
        if s * n > 0.0:
            s = s + np.take(x, np.partition(np.array([n, 0.0]), 0).astype(int))[1] * recurrence(E, s)
        return s

    x = np.arange(1.0, 4.0)
    tape = wg.trace(f, x, 2.0)[1].optimise()
    run: Any = compile_native(tape, build=interpret_program)
    assert "calls NumPy" in run.state
    assert run(x, 1.0) == pytest.approx(f(x, 1.0), rel=1e-13)
    sign = np.sign(recurrence(E * x[0], 0.5))
    assert sign > 0.0
    with pytest.raises(wg.StaleTapeError):
        run(x, -7.0)
    with pytest.raises(IndexError):
        run(x, 7.0)


def test_calls_with_side_effects_are_left_to_numpy() -> None:
    def noted(x: float) -> float:
        raise AssertionError

    tape = wg.trace(lambda e: recurrence(e, e[0, 0]), E)[1].optimise()
    tape.result = tape.push(Call(noted, [tape.result], val=0.5))
    with pytest.raises(UnsupportedOp):
        compile_native(tape, build=interpret_program)


def test_a_pair_that_is_returned_and_read() -> None:
    tape = Tape()
    x = tape.push(Input(2.0))
    pair = tape.push(Call(functional.make_tuple, [x, tape.push(Call(math.sin, [x], val=math.sin(2.0)))]))
    pair.op.val = 2.0, math.sin(2.0)
    item = tape.push(Call(functional.getfield, [pair, 1], val=math.sin(2.0)))
    tape.result = tape.push(Call(functional.make_tuple, [pair, item], val=(pair.op.val, math.sin(2.0))))
    run: Any = compile_native(tape, build=interpret_program)
    assert run.state == "native code"
    assert run(0.5) == ((0.5, math.sin(0.5)), math.sin(0.5))


def test_machine_code_grows_with_returns_and_with_results_not_with_both() -> None:
    """LLVM would write all results, values that a function returns, at each of its returns."""
    pytest.importorskip("llvmlite")
    from wengert.compiling.native.machine_code import load_code, object_code

    def source(n: int) -> str:
        steps = "".join([f"    t{k} = x * {k + 1}.0\n    if t{k} > 1e9: return FAILED\n" for k in range(n)])
        results = ", ".join([f"t{k}" for k in range(n)])
        return f"def native(x):\n    FAILED = (1, {'0.0, ' * n})\n{steps}    return (0, {results})\n"

    small, large = [object_code(source(n), "native", ["NUMBER"], False) for n in (100, 400)]
    assert len(large) < 6 * len(small)
    run = load_code(large)
    assert run(2.0) == (0, *[2.0 * (k + 1) for k in range(400)])
    assert run(1e8)[0] == 1


def test_small_operations_outside_of_loops_do_not_cut_a_program() -> None:
    def f(x: np.ndarray) -> Any:
        for k in range(4):
            y = np.sin(np.partition(x, k)) * 1.3 - x
            x = x + 0.1 * y + 0.01 * np.tanh(x * y) - 0.001 * np.exp(-x) * (1 + x**2) / 7
        return np.sum(x**2)

    gradient = wg.value_and_grad(f)
    run: Any = compile_native(wg.trace(gradient, X)[1].optimise(), build=interpret_program)
    assert run.state.startswith("native code, which calls NumPy for np.partition")
    for x in (X, X[::-1].copy()):
        np.testing.assert_allclose(run(x)[1], gradient(x)[1], rtol=1e-12, atol=1e-14)
