"""Views whose place a traced integer decides (`a[k]`): a tape reads and writes them where they lie, or is stale."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

WEIGHTS = np.random.default_rng(2).normal(size=(3, 3))

MATRICES: dict[str, Callable[[Any], Any]] = {
    "traced": lambda x: np.outer(x, [1.0, 2.0, 3.0]),
    "constant": lambda x: np.arange(9.0).reshape(3, 3).copy(),
    "a view": lambda x: np.outer(np.append(x, x[0]), [1.0, 2.0, 3.0])[1:],
    "columns": lambda x: np.asfortranarray(np.outer(x, [1.0, 2.0, 3.0])),
    "integers": lambda x: np.arange(9).reshape(3, 3).copy(),
}
VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "a[k]": lambda a, k: a[k],
    "a[:, k]": lambda a, k: a[:, k],
    "a[k, 1:]": lambda a, k: a[k, 1:],
    "a[..., k]": lambda a, k: a[..., k],
    "a[None, k]": lambda a, k: a[None, k],
    "a[k][1:]": lambda a, k: a[k][1:],
    "a[k].T": lambda a, k: a[k].T,
    "a[k].reshape": lambda a, k: a[k].reshape(3, 1),
    "a.T[k]": lambda a, k: a.T[k],
    "a[np.array(k)]": lambda a, k: a[np.array(k)],
    "a[k, ...]": lambda a, k: a[k, ...],
    "diagonal": lambda a, k: np.diagonal(a, k - 1)[:1],
    "take": lambda a, k: np.take(a, k, axis=0),
    "swapaxes": lambda a, k: np.swapaxes(a, 0, k % 2)[0],
    "split": lambda a, k: np.split(a, 3)[k],
}


def add(a: Any, v: Any, x: Any) -> None:
    v += 2


def set_one(a: Any, v: Any, x: Any) -> None:
    v[0] = 5


def set_at_an_integer(a: Any, v: Any, x: Any) -> None:
    v[np.argmin(x) % len(v)] = 5


def set_all(a: Any, v: Any, x: Any) -> None:
    v[...] = 7


def fill(a: Any, v: Any, x: Any) -> None:
    v.fill(3)


def write_whole(a: Any, v: Any, x: Any) -> None:
    a *= 2


def write_element(a: Any, v: Any, x: Any) -> None:
    a[0, 0] = 4


def write_row(a: Any, v: Any, x: Any) -> None:
    a[1] = 1


def overwrite(a: Any, v: Any, x: Any) -> None:
    a[:] = WEIGHTS.astype(a.dtype)


def write_traced(a: Any, v: Any, x: Any) -> None:
    a[2, :2] = x[:2].astype(a.dtype)


def twice(a: Any, v: Any, x: Any) -> None:
    v += 1
    a[1] *= 2
    v -= 3


def nothing(a: Any, v: Any, x: Any) -> None:
    pass


WRITES = [
    add, set_one, set_at_an_integer, set_all, fill, write_whole, write_element, write_row, overwrite, write_traced,
    twice, nothing,
]  # fmt: skip
ARGUMENTS = [np.array([3.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0]), np.array([1.0, 2.0, 3.0])]


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_a_tape_writes_where_the_integer_says_or_is_stale(matrix: str, view: str, write: Any) -> None:
    def f(x: Any) -> Any:
        a = MATRICES[matrix](x)
        v = VIEWS[view](a, np.argmax(x))
        write(a, v, x)
        return np.sum(a * WEIGHTS) * x[0] + np.sum(v) * x[1]

    for first, second in itertools.permutations(ARGUMENTS, 2):
        try:
            value, tape = wg.trace(f, first)
        except (wg.WengertError, ValueError):  # diagonals are read-only
            continue
        assert value == f(first)
        try:
            found = tape.play(second)
        except wg.StaleTapeError:
            continue
        np.testing.assert_allclose(found, f(second), rtol=1e-12)


@pytest.mark.parametrize("view", ["a[k]", "a[:, k]", "a[k, 1:]", "a[k, ...]"])
def test_an_item_that_is_changed_in_place_needs_no_guard(view: str) -> None:
    def f(x: Any) -> Any:
        a = np.outer(x, [1.0, 2.0, 3.0])
        v = VIEWS[view](a, np.argmax(x))
        v += x[0]
        v *= 2.0
        return np.sum(a * WEIGHTS)

    tape = wg.trace(f, ARGUMENTS[0])[1]
    for x in ARGUMENTS:
        assert tape.play(x) == pytest.approx(f(x), rel=1e-12)


@pytest.mark.parametrize("integer", [lambda n: n % 3, lambda n: -(n % 3) - 1])
def test_compiled_with_a_changing_integer(integer: Any) -> None:
    def f(x: Any, n: int) -> Any:
        a = np.zeros((3, 3))
        a[integer(n)] += x
        a[:, integer(n)] *= 2.0
        return np.sum(a * WEIGHTS)

    compiled = wg.compile(wg.grad(f), quiet=True)
    for n in range(20):
        x = ARGUMENTS[n % 3] + n
        np.testing.assert_allclose(compiled(x, n), wg.grad(f)(x, n), rtol=1e-12)
    assert "3 traces" in compiled.explain()


def swaps(a: Any, k: int, m: int) -> None:
    a[k], a[m] = a[m], a[k]


def stores_an_item(a: Any, k: int, m: int) -> None:
    row = a[k]
    row[m] = 5.0
    a[m] = row


def turns(a: Any, k: int, m: int) -> None:
    a[:] = np.rot90(a, k) + m


@pytest.mark.parametrize("change", [swaps, stores_an_item, turns])
def test_compiled_with_two_changing_integers(change: Any) -> None:
    """Whether a row is stored into its own place depends on the integers."""

    def f(x: Any, k: int, m: int) -> Any:
        a = np.outer(x, [1.0, 2.0, 3.0])
        change(a, k, m)
        return np.sum(a * WEIGHTS)

    compiled = wg.compile(wg.grad(f), quiet=True)
    rng = np.random.default_rng(4)
    for n in range(30):
        x, (k, m) = ARGUMENTS[n % 3] + n, map(int, rng.integers(0, 3, 2))
        np.testing.assert_allclose(compiled(x, k, m), wg.grad(f)(x, k, m), rtol=1e-12)
    assert "runs uncompiled" not in compiled.explain()
