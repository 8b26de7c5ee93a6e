"""Traces inside traces: gradients of code that itself calls grad and vjp. All numbers are closed forms."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np

import wengert as wg
from wengert.recording.recording import STATE
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW

X = np.array([1.0, 2.0, 3.0])


def weighted(w: np.ndarray) -> Any:
    """Σ ∂/∂v Σ (v w²)² at v = 1, which is Σ 2w⁴."""

    def inner(v: np.ndarray) -> Any:
        y = np.zeros(3)
        for i in range(3):
            y[i] = v[i] * w[i] ** 2
        return (y * y).sum()

    return wg.grad(inner)(np.ones(3)).sum()


def test_gradient_through_an_inner_gradient() -> None:
    np.testing.assert_allclose(wg.grad(weighted)(X), 8 * X**3)


def test_tape_of_a_gradient_through_an_inner_gradient() -> None:
    tape = wg.verify(wg.gradtape(weighted, X))
    for run in (tape.play, tape.compile()):
        np.testing.assert_allclose(run(X + 1)[1][1], 8 * (X + 1) ** 3)


def test_inner_vjp() -> None:
    def f(x: np.ndarray) -> Any:
        y, pullback = wg.vjp(lambda z: z**3, x)
        return pullback(np.ones(3))[0].sum() + y.sum()

    np.testing.assert_allclose(wg.grad(f)(X), 6 * X + 3 * X**2)


def test_inner_pullback_keeps_what_the_outer_code_overwrites() -> None:
    def constant_over_it(x: np.ndarray) -> Any:
        a = x * 2
        _, pullback = wg.vjp(lambda z: z * z, a)
        a[0] = 100.0
        return pullback(np.ones(3))[0].sum()

    def update_over_it(x: np.ndarray) -> Any:
        a = x * 2
        _, pullback = wg.vjp(lambda z: z * z, a)
        a *= x
        return (pullback(np.ones(3))[0] * a).sum()

    np.testing.assert_allclose(wg.grad(constant_over_it)(X), [4.0, 4.0, 4.0])
    np.testing.assert_allclose(wg.grad(update_over_it)(X), 24 * X**2)


def test_hessian_row_by_row() -> None:
    def f(x: np.ndarray) -> Any:
        return np.sum(np.sin(x) * x[0])

    hessian = np.array([wg.grad(lambda x, i=i: wg.grad(f)(x)[i])(X) for i in range(3)])
    expected = np.diag(-np.sin(X) * X[0])
    expected[0] += np.cos(X)
    expected[:, 0] += np.cos(X)
    np.testing.assert_allclose(hessian, expected)


def test_what_an_inner_trace_leaves_is_constant_outside() -> None:
    def f(x: float) -> float:
        g = wg.grad(lambda y: y**2)(3.0)
        return x * json.loads(json.dumps(g))  # g does not depend on x: any code may have it

    assert wg.grad(f)(2.0) == 6.0


def test_threads_each_with_their_own_trace() -> None:
    found: list[Any] = [None] * 4

    def work(k: int) -> None:
        for _ in range(20):
            found[k] = wg.grad(lambda x: ((x * k) ** 2).sum())(X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, gradient in enumerate(found):
        np.testing.assert_allclose(gradient, 2 * k * k * X)
    assert not SHADOW
    assert not SESSION.recordings
    assert STATE.recording is None
