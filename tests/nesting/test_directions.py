"""Forward mode in all directions at once, inside of other derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

OUTER: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: lambda s: wg.grad(f)(s),
    "jvp": lambda f: lambda s: wg.jvp(f, (s,), (1.0,))[1],
    "jacfwd": lambda f: lambda s: wg.jacfwd(f)(s),
    "gradtape": lambda f: lambda s: wg.gradtape(f, s).play(s)[1][1],
}
outer = pytest.mark.parametrize("outer", OUTER)


def stored(s: Any, p: Any) -> Any:
    """A store has no formula for all directions: each is taken apart."""
    v = np.zeros(2)
    v[0] = s * p
    return v[0] * v[0]


def product(s: Any, p: Any) -> Any:
    return (s * p) ** 2


def total(parts: Any) -> Any:
    return parts[0] * parts[1]


@outer
def test_a_store_takes_the_directions_apart(outer: str) -> None:
    """∂/∂p s² p² at p = s² is 2 s⁴, whose slope is 8 s³. What a tangent was taken apart into was watched by nobody."""
    f = lambda s: wg.jacfwd(lambda p: stored(s, p))(s * s)
    np.testing.assert_allclose(OUTER[outer](f)(0.37), 8 * 0.37**3, rtol=1e-13)


@outer
@pytest.mark.parametrize("given", ["number", "container"])
def test_a_rule_of_which_only_the_pullback_is_known(outer: str, given: str) -> None:
    with wg.rules.scope():
        wg.rrule(product)(lambda s, p: (product(s, p), lambda y_bar: (y_bar * 2 * s * p * p, y_bar * 2 * s * s * p)))
        wg.rrule(total)(lambda x: (total(x), lambda y_bar: ([y_bar * x[1], y_bar * x[0]],)))
        inner = product if given == "number" else lambda s, p: total([s * p, p * s])
        f = lambda s: wg.jacfwd(lambda p: inner(s, p))(s * s)
        np.testing.assert_allclose(OUTER[outer](f)(0.37), 8 * 0.37**3, rtol=1e-13)
