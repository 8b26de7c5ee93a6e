"""Taylor coefficients of tanh by nesting first derivatives, in every mix of modes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

ORDER, AT = 6, 0.3

AT_ONCE: dict[str, Callable[[Any], Any]] = {
    "reverse": wg.grad,
    "forward": lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1],
}
LATER: dict[str, Callable[[Any], Any]] = {
    "reverse": lambda f: lambda x: wg.vjp(f, x)[1](1.0)[0],
    "forward": lambda f: lambda x: wg.linearize(f, x)[1](1.0),
}


def coefficients(x: float) -> list[float]:
    """Those at x: the n-th derivative is a polynomial in t = tanh x, since t′ = 1 - t²."""
    polynomial, found = np.polynomial.Polynomial([0.0, 1.0]), []
    for n in range(ORDER + 1):
        found.append(polynomial(math.tanh(x)) / math.factorial(n))
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([1.0, 0.0, -1.0])
    return found


def by_exponentials(x: Any) -> Any:
    y = np.zeros(2)
    for k, sign in enumerate((1.0, -1.0)):
        y[k] = np.exp(sign * x)
    return (y[0] - y[1]) / (y[0] + y[1])


@pytest.mark.parametrize("mix", [*itertools.product(AT_ONCE, repeat=ORDER)], ids=lambda mix: "".join(m[0] for m in mix))
def test_every_mix_of_modes(mix: tuple[str, ...]) -> None:
    for modes, tanh in [(AT_ONCE, math.tanh), (AT_ONCE, np.tanh), (LATER, math.tanh)]:
        f, found = tanh, [tanh(AT)]
        for n, name in enumerate(mix, 1):
            f = modes[name](f)
            found.append(f(AT) / math.factorial(n))
        np.testing.assert_allclose(found, coefficients(AT), rtol=1e-12)


@pytest.mark.parametrize("mix", [*itertools.product(AT_ONCE, repeat=4)], ids=lambda mix: "".join(m[0] for m in mix))
def test_through_a_buffer(mix: tuple[str, ...]) -> None:
    f = by_exponentials
    for name in mix:
        f = AT_ONCE[name](f)
    np.testing.assert_allclose(f(AT) / math.factorial(4), coefficients(AT)[4], rtol=1e-11)
