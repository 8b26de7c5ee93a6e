"""Derivatives inside of a function whose tangents go along while it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

X = np.array([0.3, -0.5, 0.8])


def halved_square(x: Any) -> Any:
    return x * x * 0.5


def test_rules_after_the_transpose_of_a_pullback() -> None:
    """Finding that runs rules of NumPy's functions traced; their arithmetic was then recorded amid another call."""
    with wg.rules.scope():
        wg.vjp_rule(halved_square)(lambda y_bar, y, x: y_bar * x)

        def f(x: Any) -> Any:
            y = halved_square(x)
            for _ in range(2):
                y = np.sort(y + x)
            return y

        x = np.sort(X)
        np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], x * x + 2 * x, rtol=1e-14)


def test_a_pullback_made_before() -> None:
    _, back = wg.vjp(np.prod, X)

    def f(x: Any) -> Any:
        return np.prod(x) * back(np.prod(x))[0]

    others = np.prod(X) / X
    np.testing.assert_allclose(wg.jvp(f, (X,), (X,))[1], 6 * np.prod(X) ** 2 * others, rtol=1e-14)


def test_a_constant_that_an_inner_derivative_keeps_and_writes() -> None:
    """The copy of it that was kept is no variable, and could not be forgotten as one."""

    def inner(p: Any) -> Any:
        for _ in range(2):
            c = np.zeros(3)
            c *= p
        return p * p

    def f(x: Any) -> Any:
        slope = wg.grad(inner)(x)
        return slope * np.sum(x * x)

    np.testing.assert_allclose(wg.jvp(f, (0.4,), (1.0,)), (2 * 0.4**3, 6 * 0.4**2), rtol=1e-14)
