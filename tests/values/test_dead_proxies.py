"""Weak proxies of objects that are gone, which raise when they are asked anything: derivatives do not ask them."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq

import wengert as wg


class Gone:
    pass


PROXY = weakref.proxy(Gone())


def in_a_callback(x: float) -> float:
    def step(a: float, b: float, kept: list[Gone] = [PROXY]) -> float:  # noqa: B006
        return a * b + x

    return functools.reduce(step, [x, 2.0, 3.0])


def in_a_residual(x: float) -> float:
    root: float = brentq(lambda t, kept=(PROXY,): t**3 - x, 0.0, 5.0)
    return root


def beside_a_vectorized_function(x: float) -> float:
    twice = np.vectorize(lambda a, kept=PROXY: a * 2.0)
    return float(twice(np.array([1.0]))[0]) * x


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [in_a_callback, in_a_residual, beside_a_vectorized_function])
def test_a_function_that_holds_one(f: Callable[[float], float]) -> None:
    expected = pytest.approx(wg.ngradient(f, 2.0)[0])
    assert wg.grad(f)(2.0) == expected
    assert wg.compile(wg.grad(f), quiet=True)(2.0) == expected
