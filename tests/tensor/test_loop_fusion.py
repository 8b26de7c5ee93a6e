"""Compiled loops: which loops become one, what is then not stored, and what is kept between calls."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tensor_programs import attraction, attraction_bar

import wengert as wg
from wengert.tensor.running import layout, native, native_source, workspace
from wengert.tensor.running.workspace import Workspace, Workspaces


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """backend="native" runs the loops in Python."""
    monkeypatch.setattr(native, "has_numba", lambda: True)
    monkeypatch.setattr(native, "_compiled", native._interpreted)
    monkeypatch.setattr(native, "_threads", lambda: 1)
    return monkeypatch


def gradient(f: Any, argnums: Any, *args: Any) -> tuple[Any, str]:
    """Its value and its source."""
    g = wg.tensor.function(f, backend="native").grad(argnums)
    return g(*args), g.to_source()


def bodies(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 2)), rng.random(n) + 0.5


def test_pairs_are_taken_one_by_one(loops: Any) -> None:
    """Forces between all pairs need no matrix: each pair is one turn of two loops, its parts local variables."""
    points, mass = bodies(30)
    found, text = gradient(attraction, (0, 1), points, mass)
    for x, y in zip(found, attraction_bar(1.0, points, mass), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10)
    assert "(30, 30" not in text
    assert text.count("sqrt") <= 3


def test_threads_share_only_cells_of_their_own(loops: Any) -> None:
    """A loop that adds to other rows than its own stays in one thread, apart from those that split."""
    loops.setattr(native, "_threads", lambda: 4)
    loops.setattr(native_source, "PARALLEL_POINTS", 0)
    loops.setattr(native_source, "POINTS_PER_ITERATION", 0)
    points, mass = bodies(30)
    found, text = gradient(attraction, (0,), points, mass)
    np.testing.assert_allclose(found[0], attraction_bar(1.0, points, mass)[0], rtol=1e-10)
    assert "prange" in text
    for block in text.split("for i in prange")[1:]:
        for line in block.split("\n    for ")[0].splitlines():
            assert "[j, 0] +=" not in line


def filtered(x: Any, w: Any, y: Any) -> Any:
    n, m = len(y), len(w)
    return sum((sum(w[j] * x[i + j] for j in range(m)) - y[i]) ** 2 for i in range(n))


def test_borders_of_a_filter_are_apart(loops: Any) -> None:
    """Inside all sums have all their terms: a loop with bounds that are numbers, which compilers unroll."""
    rng = np.random.default_rng(0)
    x, w, y = rng.random(404), rng.random(5), rng.random(400)
    found, text = gradient(filtered, 0, x, w, y)
    error = np.convolve(x, w[::-1], "valid") - y
    np.testing.assert_allclose(found, np.convolve(2 * error, w), rtol=1e-10)
    assert re.search(r"for i in range\(4, 400\):\n        acc\w* = 0.0\n        for j in range\(0, 5\):", text)


def test_numpy_adds_up_long_sums_strip_by_strip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "STRIP", 64)
    monkeypatch.setattr(layout, "ITERATION", 1e-9)
    rng = np.random.default_rng(0)
    x, w, y = rng.random(404), rng.random(5), rng.random(400)
    g = wg.tensor.function(filtered, backend="numpy").grad(0)
    error = np.convolve(x, w[::-1], "valid") - y
    np.testing.assert_allclose(g(x, w, y), np.convolve(2 * error, w), rtol=1e-10)
    assert "for i_strip in range(7):" in g.to_source()


# ---- what is kept between calls ----


def squares_of_sums(x: Any) -> Any:
    n = len(x)
    y = [sum(x[j] for j in range(n) if j <= i) for i in range(n)]
    return [y[i] * y[n - 1 - i] for i in range(n)]


def test_results_are_new_and_what_is_between_is_kept(loops: Any) -> None:
    f = wg.tensor.function(squares_of_sums, backend="native")
    x = np.arange(1.0, 6.0)
    first = f(x)
    kept = first.copy()
    assert "space." in f.to_source()
    second = f(2 * x)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, 4 * kept)
    sums = np.cumsum(x)
    np.testing.assert_array_equal(kept, sums * sums[::-1])


def test_arrays_of_a_workspace() -> None:
    space, dtype = Workspace(), np.dtype(float)
    first = space.empty("t", (3,), dtype)
    first[:] = 7
    assert space.zeros("t", (3,), dtype) is first
    np.testing.assert_array_equal(first, 0)
    assert space.empty("t", (4,), dtype) is not first
    assert space.empty("t", (4,), np.dtype(np.float32)).dtype == np.float32


def test_a_workspace_keeps_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MAX_KEPT_BYTES", 100)
    space, dtype = Workspace(), np.dtype(float)
    small = space.empty("small", (10,), dtype)
    large = space.empty("large", (10,), dtype)
    assert space.empty("small", (10,), dtype) is small
    assert space.empty("large", (10,), dtype) is not large


def test_calls_at_the_same_time_have_each_their_own() -> None:
    spaces = Workspaces()
    with spaces.borrow() as first, spaces.borrow() as second:
        assert first is not second
    with spaces.borrow() as third:
        assert third in (first, second)
    assert len(spaces.free) == 2


def test_a_call_that_fails_gives_its_own_back() -> None:
    spaces = Workspaces()
    with pytest.raises(KeyError), spaces.borrow():
        raise KeyError
    assert len(spaces.free) == 1
