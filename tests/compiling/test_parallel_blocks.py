"""Blocks of rows on several threads: the bits of one thread, and the numbers of plain NumPy."""

from __future__ import annotations

import multiprocessing
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling import parallel_blocks

ROWS = 200_003
X = np.linspace(0.1, 2.0, ROWS)
TABLE = np.random.default_rng(0).normal(size=(60_001, 20))


def vector(x, w):
    y = np.sin(x) * w
    z = np.exp(-y * y) + y**3 - np.tanh(x * y) / (1.0 + y * y)
    return np.sum(z * z)


def vector_gradients(x, w):
    y = np.sin(x) * w
    one, tanh = 1.0 + y * y, np.tanh(x * y)
    z = np.exp(-y * y) + y**3 - tanh / one
    by_y = -2 * y * np.exp(-y * y) + 3 * y**2 - (1 - tanh**2) * x / one + tanh * 2 * y / one**2
    by_x = -(1 - tanh**2) * y / one
    return 2 * z * (by_y * w * np.cos(x) + by_x), np.sum(2 * z * by_y * np.sin(x))


def softmax(w, table):
    scores = table * w
    shifted = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    p = shifted / np.sum(shifted, axis=1, keepdims=True)
    return np.sum(p * p * scores) + np.sum(np.sqrt(p + 1.0) * p)


CASES = [(vector, (X, 1.3)), (softmax, (np.linspace(0.5, 1.5, 20), TABLE))]


@pytest.fixture(params=["1", "2", "5"])
def threads(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("NUMBA_NUM_THREADS", request.param)
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["NumPy", "native"])
def native(request: Any) -> bool:
    if request.param:
        pytest.importorskip("numba")
    return bool(request.param)


def flat(found: Any) -> np.ndarray:
    value, slopes = found
    return np.concatenate([np.ravel(part) for part in (value, *slopes)])


@pytest.mark.parametrize(("f", "args"), CASES, ids=["vector", "softmax"])
def test_results_have_the_same_bits(
    f: Any, args: Any, threads: str, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gradient = wg.value_and_grad(f, argnums=(0, 1))
    compiled = wg.compile(gradient, native=native, parallel=True)
    compiled(*args)
    found = flat(compiled(*args))
    assert "on several threads" in compiled.explain()
    assert ("native code in part" in compiled.explain()) == native
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    np.testing.assert_array_equal(found, flat(compiled(*args)))
    np.testing.assert_allclose(found, flat(gradient(*args)), rtol=1e-11, atol=1e-11)


def test_against_the_formula(threads: str, native: bool) -> None:
    compiled = wg.compile(wg.grad(vector, argnums=(0, 1)), native=native, parallel=True)
    compiled(X, 0.7)
    by_x, by_w = compiled(X + 0.01, 0.7)
    wanted = vector_gradients(X + 0.01, 0.7)
    np.testing.assert_allclose(by_x, wanted[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(by_w, wanted[1], rtol=1e-11)


def test_results_are_new_arrays(threads: str, native: bool) -> None:
    compiled = wg.compile(
        lambda x: (np.exp(np.sin(x) * x) * np.cos(x) + x) / (1.0 + x * x), native=native, parallel=True
    )
    compiled(X)
    first = compiled(X)
    kept = first.copy()
    compiled(2 * X)
    np.testing.assert_array_equal(first, kept)


def test_errors_and_warnings_are_those_of_one_thread(threads: str) -> None:
    compiled = wg.compile(lambda x: np.sum(np.log(x) * x + np.sqrt(x) / (1 + x * x)), native=False, parallel=True)
    compiled(X)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert np.isnan(compiled(X - 1.0))
    assert len({str(w.message) for w in said}) == len(said) == 2
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        compiled(X - 1.0)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(compiled(X - 1.0))


def test_calls_from_several_threads(threads: str, native: bool) -> None:
    compiled, found = wg.compile(wg.grad(vector), native=native, parallel=True), {}
    compiled(X, 1.0)

    def call(k: int) -> None:
        found[k] = compiled(X, 1.0 + k)

    workers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(4):
        np.testing.assert_allclose(found[k], vector_gradients(X, 1.0 + k)[0], rtol=1e-11, atol=1e-11)


def test_a_block_in_which_python_raises_runs_by_numpy(threads: str, native: bool) -> None:
    compiled = wg.compile(lambda x, k: np.sum(np.exp(np.sin(x) * x) * (x + 1.0 / k)), native=native, parallel=True)
    assert compiled(X, 2.0) == pytest.approx(np.sum(np.exp(np.sin(X) * X) * (X + 0.5)), rel=1e-12)
    with pytest.raises(ZeroDivisionError):
        compiled(X, 0.0)
    turned = X[::-1]  # not in order in memory
    assert compiled(turned, 2.0) == pytest.approx(compiled(X, 2.0), rel=1e-12)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, FloatingPointError])
def test_an_error_waits_for_the_other_threads(raised: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    main, begun, finished = threading.get_ident(), threading.Event(), []

    def work() -> None:
        if threading.get_ident() == main:
            assert begun.wait(60)
            raise raised
        begun.set()
        time.sleep(0.2)
        finished.append(True)

    with pytest.raises(raised):
        parallel_blocks._run_on_threads(work, 2)
    assert finished == [True]


def test_a_thread_that_cannot_start_lets_the_others_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    real, finished = parallel_blocks._pool(), []

    class Pool:
        calls = 0

        def submit(self, *work: Any) -> Any:
            Pool.calls += 1
            if Pool.calls == 2:
                raise RuntimeError("can't start new thread")
            begun = threading.Event()
            started = real.submit(lambda: (begun.set(), work[0](*work[1:])))
            assert begun.wait(60)
            return started

    def work() -> None:
        time.sleep(0.2)
        finished.append(True)

    monkeypatch.setattr(parallel_blocks, "_pools", [Pool()])
    with pytest.raises(RuntimeError, match="new thread"):
        parallel_blocks._run_on_threads(work, 3)
    assert finished == [True]


def _in_child(compiled: Any, results: Any) -> None:
    results.put(float(compiled(X, 1.0)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    compiled = wg.compile(vector, native=False, parallel=True)
    compiled(X, 1.0)
    wanted, context = compiled(X, 1.0), multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python: it forks beside threads
        child = context.Process(target=_in_child, args=(compiled, results))
        child.start()
    child.join(60)
    assert results.get() == wanted
