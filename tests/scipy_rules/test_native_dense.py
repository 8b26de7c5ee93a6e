"""Dense solutions of `solve_ivp` in compiled functions: native code solves again for the times of each evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_source
from scipy.integrate import solve_ivp

import wengert as wg
from wengert.api import native_functions
from wengert.compiling.native import callbacks

X = np.array([0.8, 0.6, 0.5])


@pytest.fixture(autouse=True)
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels in Python."""
    monkeypatch.setattr(callbacks, "compile_source", interpret_source)
    monkeypatch.setattr(native_functions, "has_compiler", lambda: True)


def solved(x, method="RK45", **words):
    return solve_ivp(lambda t, y: [y[1], -x[2] * y[0]], (0.0, 1.0), x[:2], method, dense_output=True, **words)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_a_dense_solution(method: str) -> None:
    is_explicit = method in ("RK23", "RK45", "DOP853")  # of others, a time moves the state along its slope
    words = {} if is_explicit else {"rtol": 1e-7, "atol": 1e-8}

    def f(x):
        found = solved(x, method, **words)
        return np.concatenate([np.ravel(found.sol(np.array([0.0, 0.4, 1.0]))), found.sol(x[2])])

    compiled, slopes = wg.compile(f, strict=True), wg.compile(wg.jacrev(f), strict=True)
    for x in (X, 1.1 * X):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)
        rtol = 1e-9 if is_explicit else 1e-4
        np.testing.assert_allclose(slopes(x), wg.jacrev(f)(x), rtol=rtol, atol=1e-3 * rtol)


def swallows(x):
    try:
        return solved(x).y[:, 1]
    except Exception:
        return np.zeros(2)


OTHERS: dict[str, Callable[..., Any]] = {
    "backward": lambda x: solved(x).sol(np.array([0.7, 0.2])),
    "outside": lambda x: solved(x).sol(1.2),
    "steps": lambda x: solved(x).sol.ts * x[0],
    "swallows": swallows,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_uses_run_uncompiled(name: str) -> None:
    """No wrong number comes from the first call either."""
    f = OTHERS[name]
    with warnings.catch_warnings(action="ignore", category=wg.NotCompiledWarning):
        slopes = wg.compile(wg.jacobian(f))
        for x in (X, 1.1 * X):
            np.testing.assert_array_equal(slopes(x), wg.jacobian(f)(x))
    assert "not compiled" in slopes.explain()


def test_a_result_that_leaves_the_function() -> None:
    with warnings.catch_warnings(action="ignore", category=wg.NotCompiledWarning):
        found, wanted = wg.compile(solved)(X), solved(X)
    np.testing.assert_array_equal(found.y, wanted.y)
    np.testing.assert_array_equal(found.sol.ts, wanted.sol.ts)
    np.testing.assert_allclose(found.sol(0.3), wanted.sol(0.3), rtol=1e-12)
