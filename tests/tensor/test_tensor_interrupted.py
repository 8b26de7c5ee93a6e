"""Calls of a tensor function in the midst of another one, and calls that are broken off: each gives its own values.

What a thread, a signal or a finaliser does at a line of the engine is done there by a trace function, line after line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tensor.running import native

ENGINE = str(Path(wg.tensor.__file__).parent)
FIRST = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1]], bool)
OTHER = np.array([[0, 1, 0], [1, 0, 1], [1, 0, 1]], bool)
X, P, Q = np.array([1.5, -2.0, 0.5]), np.array([1, 2, 0]), np.array([2, 2, 1])
ARGS, MEANWHILE = (X, FIRST, P), (2 * X, OTHER, Q)


def f(x, R, p):
    n = len(x)
    chosen = [sum(x[j] * x[p[j]] for j in range(n) if R[i, j]) for i in range(n)]
    return [chosen[i] if any(R[k, i] for k in range(n)) else 0.0 for i in range(n)]


def made(backend: str) -> Any:
    return wg.tensor.function(f, backend=backend)


def at_line(number: int, act: Callable[[], Any], call: Callable[[], Any]) -> tuple[Any, bool]:
    """The call, `act` done at that line of the engine; and whether it has so many."""
    left = number

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith((ENGINE, "<tensor")):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return call(), left <= 0
    finally:
        sys.settrace(before)


def same(found: Any, args: tuple[Any, ...]) -> None:
    np.testing.assert_allclose(found, f(*args), rtol=1e-12, atol=1e-12)


@pytest.fixture(params=["numpy", "native"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Compiled loops run in Python."""
    monkeypatch.setattr(native, "has_numba", lambda: True)
    monkeypatch.setattr(native, "_compiled", native._interpreted)
    monkeypatch.setattr(native, "_threads", lambda: 1)
    return str(request.param)


STEPS = [lambda number: number + 1, lambda number: 8 * number]  # of warm calls, and of those read and planned anew


@pytest.mark.parametrize("step", STEPS, ids=["warm", "cold"])
def test_another_call_in_the_midst_of_one(step: Callable[[int], int], backend: str) -> None:
    g, there, number = made(backend), True, 1
    while there:
        g = made(backend) if step is STEPS[1] else g
        if step is STEPS[0]:
            g(*ARGS)
        meanwhile: list[Any] = []
        found, there = at_line(number, lambda: meanwhile.append(g(*MEANWHILE)), lambda: g(*ARGS))
        same(found, ARGS)
        for each in meanwhile:
            same(each, MEANWHILE)
        number = step(number)
    assert number > 50


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", STEPS, ids=["warm", "cold"])
def test_a_call_that_is_broken_off(step: Callable[[int], int], backend: str) -> None:
    g, there, number = made(backend), True, 1
    while there:
        g = made(backend) if step is STEPS[1] else g
        if step is STEPS[0]:
            g(*ARGS)
        with suppress(KeyboardInterrupt):
            _, there = at_line(number, interrupt, lambda: g(*ARGS))
        same(g(*MEANWHILE), MEANWHILE)
        same(g(*ARGS), ARGS)
        number = step(number) + 4
    assert number > 50
