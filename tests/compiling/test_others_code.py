"""Compiled functions that call functions of numba, and C functions of other packages for which there are rules."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg


def check(f: Any, is_compiled: bool = True) -> None:
    compiled, plain = wg.compile(wg.value_and_grad(f)), wg.value_and_grad(f)
    with warnings.catch_warnings(action="ignore", category=wg.NotCompiledWarning):
        for k in range(4):
            x = np.array([1.0, 2.0, 3.0]) + k
            found, expected = compiled(x), plain(x)
            np.testing.assert_allclose([found[0], *found[1]], [expected[0], *expected[1]], rtol=1e-12)
    assert ("runs uncompiled" not in compiled.explain()) is is_compiled


def test_functions_that_numba_compiled() -> None:
    numba = pytest.importorskip("numba")

    @numba.njit
    def weighted(x: Any, a: float) -> Any:
        total = 0.0
        for i in range(len(x)):
            total += x[i] ** 2 * a
        return total

    @numba.vectorize
    def square(x: Any) -> Any:
        return x * x + 1.0

    @numba.njit
    def doubled(x: Any, out: Any) -> Any:
        for i in range(len(x)):
            out[i] = x[i] * 2.0
        return out

    check(lambda x: weighted(x, 2.0) + np.sum(square(x)) + np.sum(doubled(x, np.empty(3)) * x))
    check(lambda x: np.sum(x) * weighted(np.ones(3), 2.0))


def test_functions_that_numba_compiled_run_uncompiled_if_they_draw_or_write() -> None:
    numba = pytest.importorskip("numba")
    from random import gauss

    counts = np.array([1, 2, 3])

    @numba.njit
    def drawn(n: Any) -> Any:
        return n + np.random.normal()  # noqa: NPY002

    @numba.njit
    def by_another(n: Any) -> Any:
        return drawn(n)

    @numba.njit
    def by_name(n: Any) -> Any:
        return gauss(0.0, 1.0) * n

    @numba.njit
    def counted(a: Any) -> Any:
        a[0] += 1
        return a[0]

    for f in (drawn, by_another, by_name):
        compiled = wg.compile(lambda x, f=f: x * f(3), quiet=True)
        assert compiled(1.0) != compiled(1.0)
        assert "may draw, print or write" in compiled.explain()
    compiled = wg.compile(lambda x: x * counted(counts), quiet=True)
    assert [compiled(1.0), compiled(1.0), counts[0]] == [2.0, 3.0, 3]


def test_functions_of_bottleneck() -> None:
    bn = pytest.importorskip("bottleneck")
    check(lambda x: bn.nansum(x) * bn.nanmean(x) + np.sum(bn.move_mean(x, 2, min_count=1)))
    check(lambda x: np.sum(x) * bn.nansum(np.arange(3.0)))
