"""Loops of native code call Python for operations that it does not support."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program

import wengert as wg
from wengert.compiling.native.callouts import Callout
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.values import UnsupportedOp

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
    (callout,) = [x for x in run.__kwdefaults__.values() if getattr(x, "__func__", None) is Callout.bound]
    run.__kwdefaults__["plain"] = lambda x: None
    assert run(X) == pytest.approx(FUNCTIONS["partition"](X), rel=1e-12)
    for fn in (lambda x: x[:-1], lambda x: x.astype(np.float32), lambda x: 1.0, lambda x: x > 0.0):
        monkeypatch.setattr(callout.__self__, "fn", fn)
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
