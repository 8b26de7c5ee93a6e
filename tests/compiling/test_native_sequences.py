"""Native code of running sums, searches, masks as indices, tables of tables, and joined lists of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_native import by_python

import wengert as wg
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.nests import SourceText
from wengert.compiling.native.values import FlatMemory

E = np.random.default_rng(0).normal(size=(6, 4))
KNOTS = np.linspace(-1.0, 1.0, 7)


def pairs(e: np.ndarray) -> Any:
    """A loop over pairs within a loop: the indices are the same in each iteration."""
    for _ in range(5):
        total = np.zeros(4)
        for i in range(4):
            for j in range(4):
                if i != j:
                    total[i] += np.sin(e[0, j] - e[1, i])
        e = e + 0.1 * total
    return np.sum(e**2)


def weighted_pairs(e: np.ndarray) -> Any:
    """The constants of an inner loop are floats; they make a table in each iteration of the outer loop."""
    weights, v = np.array([0.0, 0.3, 1.7, 0.4, 0.2, 0.9]), e
    for _ in range(15):
        moved = e + 0.1 * v
        for i in [0, 1, 2, 3, 4] * 2:
            change = 0.1 * (weights[i] + weights[i + 1]) * np.sin(moved[i + 1] - moved[i])
            moved[i] += weights[i] * change
            moved[i + 1] -= weights[i + 1] * change
        v, e = moved - e, moved
    return np.sum(e**2)


def ended(e: np.ndarray) -> Any:
    """A loop with a constant mask in each iteration."""
    lengths, last, state = np.array([3, 12, 7, 2, 9, 5]), np.zeros((6, 4)), e
    for t in range(30):
        state = np.sin(state * e)
        last = np.where((lengths == t)[:, None], state, last)
    return np.sum(last**2)


FUNCTIONS: dict[str, Callable[[np.ndarray], Any]] = {
    "cumsum": lambda e: np.sum(np.cumsum(e[0]) ** 2) + np.sum(np.cumsum(e, axis=0) * np.cumsum(e, axis=1) ** 2),
    "cumsum of a transposed part": lambda e: np.sum(
        np.cumsum(e.T[1:, ::-1], axis=0) ** 2 * np.cumsum(e[1], 0)[1:, None]
    ),
    "searched": lambda e: np.sum(e[np.clip(np.searchsorted(KNOTS, e[:, 1]), 0, 5), 0] ** 2),
    "searched from the right": lambda e: np.sum(e[np.searchsorted(KNOTS, e[:3], side="right") % 6, 0] ** 2),
    "searched for a number": lambda e: e[np.searchsorted(KNOTS[1:-2], e[0, 0]), 1] ** 2,
    "rows at a mask": lambda e: np.sum(e[e[:, 0] > 0.0] ** 2 * e[3]),
    "places of true elements": lambda e: np.sum(e[np.nonzero(e > 0.0)] ** 2 * e[np.flatnonzero(e[:, 0] > -9.0)[1], 0]),
    "rows and columns": lambda e: np.sum(e[np.nonzero(~np.isnan(e.T))[1], 0] * e[:, 1][np.nonzero(e[1])[0][:1]]),
    "columns taken": lambda e: np.sum(np.take(e, np.searchsorted(KNOTS[2:5], e[:, 1]), axis=1) ** 2),
    "numbers at a mask": lambda e: np.sum(e[e[:, 0] > -9.0, 2] ** 2 + e[0:6:1, 1][e[:, 0] > -9.0]),
    "columns at a mask": lambda e: np.sum(e[:, e[0] > 0.0] ** 3),
    "list, number and row joined": lambda e: np.sum(np.concatenate([[e[0, 0] ** 2], e[1], [1.0, 2.0]]) ** 2),
    "pairs": pairs,
    "weighted pairs": weighted_pairs,
    "constant masks": ended,
}


def stored(e: np.ndarray) -> Any:
    x = np.sin(e)
    x[e[:, 1] > 0.0] = e[e[:, 1] > 0.0] ** 2
    x[np.abs(e) > 1.0] = 3.0
    x[e < -0.5] += 2.0
    return np.sum(x**2 * e)


def flagged(e: np.ndarray) -> Any:
    """Masks that are stored element by element; the first has only true elements."""
    flags, others = np.zeros(6, dtype=bool), np.zeros(6, dtype=bool)
    for k in range(6):
        flags[k] = True
    others[e[:, 0] > 0.0] = True
    return np.sum(e[flags, 0] ** 2 * np.arange(6.0)) + np.sum(e[others] ** 3)


def in_layers(e: np.ndarray) -> Any:
    """Masks of matrices within layers, constant and computed."""
    x, chosen = np.stack([np.sin(e), e**2]), np.arange(24).reshape(6, 4) % 5 == 1
    x[:, chosen] = x[::-1, chosen] * e[0, 0]
    x[1, e > 0.0] += x[0, e > 0.0] ** 2
    return np.sum(x**3)


def branching_on_flags(e: np.ndarray) -> Any:
    """Branches on elements of an array of bools."""
    flags, total = e[:, 0] > -9.0, 0.0
    for k in range(6):
        if flags[k]:
            total = total + np.sum(np.sin(e[k])) * e[0, 1]
    return total


FUNCTIONS["masks in layers"] = in_layers
FUNCTIONS["flags"] = branching_on_flags
FUNCTIONS["stored at masks"] = stored
FUNCTIONS["stored masks"] = flagged


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_native(name: str) -> None:
    """They are those of the derivative that is not compiled, whose tests are elsewhere, and of differences."""
    f = FUNCTIONS[name]
    run = by_python(wg.trace(wg.value_and_grad(f), E)[1].optimise())
    for e in (E, 1.001 * E):
        value, x_bar = run(e)
        assert value == pytest.approx(f(e), rel=1e-12)
        np.testing.assert_allclose(x_bar, wg.grad(f)(e), rtol=1e-11, atol=1e-13)
        d = np.cos(np.arange(24.0)).reshape(6, 4)
        slope = (f(e + 1e-6 * d) - f(e - 1e-6 * d)) / 2e-6
        assert np.sum(x_bar * d) == pytest.approx(slope, rel=1e-6)


def test_another_number_of_true_elements_is_not_computed() -> None:
    run = by_python(wg.trace(lambda e: np.sum(e[e[:, 0] > 0.0] ** 2), E)[1].optimise())
    assert run(-E) is None


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("table", [[0.0, 1.0, 1.0, 2.0], [3.0, 1.0, 2.0, 0.5], [0.0, 1.0, np.nan, np.nan]])
def test_searches_are_numpys(side: Any, table: list[float]) -> None:
    """Also in tables that are not sorted, and with NaN, which is sorted to the end."""
    keys = np.array([1.0, -1.0, 5.0, 2.0, np.nan, 0.5, 1.0])
    run = by_python(wg.trace(lambda a, v: 1.0 * np.searchsorted(a, v, side), np.array(table), keys)[1].optimise())
    np.testing.assert_array_equal(run(np.array(table), keys), np.searchsorted(table, keys, side))


def test_constant_masks_reach_machine_code() -> None:
    """Its parameters are floats."""
    pytest.importorskip("numba")
    positive = E[:, 1] > 0.0
    run: Any = compile_native(wg.trace(lambda e: np.sum(np.where(positive, e[:, 0], 2.0)) + e[positive, 2][0], E)[1])
    run.__kwdefaults__["plain"] = lambda *args: None
    assert run(E) == pytest.approx(np.sum(np.where(positive, E[:, 0], 2.0)) + E[positive, 2][0], rel=1e-13)


def test_memory_without_elements_is_part_of_the_workspace() -> None:
    """A loop over none of its elements names the workspace, which must be a parameter."""
    text = SourceText(False)
    text.take(FlatMemory(0))
    assert text.size > 0


def test_masks_that_select_nothing_are_compiled() -> None:
    pytest.importorskip("numba")
    f = lambda e: np.sum(e[np.nonzero(e[0] > 9.0)[0]] ** 2) + e[0, 0] * len(np.flatnonzero(e[0] > 9.0))
    compiled = wg.compile(wg.value_and_grad(f), native=True, quiet=True)
    value, x_bar = compiled(E)
    assert value == 0.0
    np.testing.assert_array_equal(x_bar, np.zeros((6, 4)))
    assert "uncompiled" not in compiled.explain()
