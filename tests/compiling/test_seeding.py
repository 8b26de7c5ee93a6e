"""Compiled functions that seed generators: they draw the same numbers as the plain ones, and leave the same states."""

# ruff: noqa: NPY002 (the old way to draw is what is tested)

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

R, P = np.random.RandomState(5), random.Random(7)
HELD = {"seed": 3}


@pytest.fixture(autouse=True)
def states() -> Iterator[None]:
    kept = np.random.get_state(), random.getstate()
    yield
    np.random.set_state(kept[0]), random.setstate(kept[1])


def monte_carlo(x: Any) -> Any:
    np.random.seed(HELD["seed"])
    return np.mean(np.tanh(np.random.randn(20, 3) @ x))


def of_an_object(x: Any) -> Any:
    R.seed(4)
    return x.sum() * R.rand() + R.normal()


def of_python(x: Any) -> Any:
    random.seed(11)
    return x.sum() * random.random()


def between_draws(x: Any) -> Any:
    before = np.random.rand()
    np.random.seed(2)
    return x.sum() * (before - np.random.rand())


def of_integers(x: Any) -> Any:
    P.seed(HELD["seed"])
    return x[P.randint(0, 2)] * P.random()


def by_an_input(x: Any) -> Any:
    np.random.seed(int(x[0]))
    return x.sum() * np.random.rand()


def shuffled(x: Any) -> Any:
    np.random.seed(3)
    y = np.arange(3.0)
    np.random.shuffle(y)
    return x @ y


def by_the_clock(x: Any) -> Any:
    R.seed(None)
    R.seed(1)
    return x.sum() * R.rand()


PROGRAMS = [monte_carlo, of_an_object, of_python, between_draws, of_integers, by_an_input, shuffled, by_the_clock]


def outcomes(f: Callable[..., Any]) -> Iterator[Any]:
    """What seven calls give, and what is drawn after each."""
    np.random.seed(0), random.seed(0), R.seed(0), P.seed(0)
    HELD["seed"] = 3
    for k in range(7):
        if k == 2:
            HELD["seed"] = 8
        if k == 4:
            np.random.seed(1), random.seed(2), R.seed(3), P.seed(4)
        yield f(np.array([1.0 + k, 2.0, 3.0])), np.random.rand(), random.random(), R.rand(), P.random()


@pytest.mark.parametrize("f", PROGRAMS)
def test_they_draw_as_the_plain_ones_do(f: Callable[..., Any]) -> None:
    compiled = wg.compile(lambda x: f(x), quiet=True)
    assert [*outcomes(compiled)] == [*outcomes(f)]
    assert ("uncompiled" in compiled.explain()) == (f is by_the_clock)


@pytest.mark.parametrize("f", PROGRAMS[:3])
def test_their_gradients_are_those_of_these_draws(f: Callable[..., Any]) -> None:
    compiled, x = wg.compile(wg.grad(f), quiet=True), np.array([0.3, 0.2, 0.1])
    for _ in range(3):
        expected = [(f(x + h) - f(x - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-8)
