"""Arrays into which another one was stored whole: on a tape and compiled they are arrays of their own, as for NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


def stored(x: Any) -> np.ndarray:
    y = np.empty(np.shape(x))
    y[...] = x
    return y


def twice(x: Any) -> Any:
    y = stored(x)
    return y, y, y[:]


def one_after_the_other(x: Any) -> Any:
    y = stored(x)
    return [y, stored(y), x]


def of_a_result(x: Any) -> Any:
    y = x * 2.0
    return y, stored(y), stored(y[::-1])


def by_copyto(x: Any) -> Any:
    y = np.zeros(3)
    np.copyto(y, x)
    return {"y": y, "x": x}


def of_a_part(x: Any) -> Any:
    return stored(x[:2]), x[:2]


def changed_afterwards(x: Any) -> Any:
    y = stored(x)
    z = stored(y)
    z *= 2.0
    return y, z


FUNCTIONS = [stored, twice, one_after_the_other, of_a_result, by_copyto, of_a_part, changed_afterwards]


def arrays_in(result: Any) -> list[Any]:
    if isinstance(result, np.ndarray):
        return [result]
    return [*result.values()] if isinstance(result, dict) else [*result]


def sharing(result: Any, x: Any) -> list[bool]:
    arrays = [x, *arrays_in(result)]
    return [np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[k + 1 :]]


def compiled(f: Any, x: Any) -> Callable[[Any], Any]:
    made = wg.compile(f)
    made(x)
    return made


WAYS: dict[str, Callable[..., Any]] = {"tape": lambda f, x: wg.trace(f, x)[1].play, "compiled": compiled}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_results_share_memory_where_those_of_the_function_do(f: Any, way: str) -> None:
    made, x = WAYS[way](f, np.array([1.0, 2.0, 3.0])), np.array([4.0, 2.0, 1.0])
    found, expected = made(x), f(x)
    for a, b in zip(arrays_in(found), arrays_in(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    assert sharing(found, x) == sharing(expected, x)
    arrays_in(found)[0][...] = 0.0
    other = np.array([1.0, 5.0, 2.0])
    np.testing.assert_array_equal(arrays_in(made(other))[0], arrays_in(f(other))[0])


def test_an_attribute_is_an_array_of_its_own() -> None:
    class Model:
        pass

    mine, theirs = Model(), Model()
    for m in (mine, theirs):
        m.a, m.b = np.ones(3), np.zeros(3)  # type: ignore[attr-defined]

    def f(m: Any, x: Any) -> Any:
        m.b = stored(m.a)
        m.a[0] += 1.0
        m.b *= 2.0
        m.c = stored(x)
        return np.sum(m.b * x)

    g = wg.compile(lambda x: f(mine, x))
    for k in range(5):
        x = np.arange(3.0) + k
        assert g(x) == f(theirs, x)
        for name in "abc":
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
        assert not np.shares_memory(mine.c, x)  # type: ignore[attr-defined]
    assert "runs uncompiled" not in g.explain()
