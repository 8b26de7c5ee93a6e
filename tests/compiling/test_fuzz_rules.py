"""Random expressions of what the rules know, with their gradients: the optimised tape gives what the tape gives.

FUZZ_EXAMPLES=10000 runs so many.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling import placement
from wengert.values.trees import leaves

PROGRAMS = int(os.environ.get("FUZZ_EXAMPLES", "120"))
NUMBERS = [1.0, -1.0, 2, 3.0, -0.5, 0.0, -0.0, 0.1]
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::wengert.NoPathWarning", "error::DeprecationWarning"),
]


def unary(draw: random.Random, x: Any) -> Any:
    """A function of one array or number."""
    return draw.choice(
        [
            lambda: -x,
            lambda: x**2,
            lambda: x**3,
            lambda: x**1,
            lambda: np.exp(x * 0.1),
            lambda: np.tanh(x),
            lambda: np.sqrt(np.abs(x) + 1.0),
            lambda: draw.choice(NUMBERS) * x,
            lambda: x * draw.choice(NUMBERS),
            lambda: x / draw.choice([4.0, 3.0, -2.0]),
            lambda: x + draw.choice(NUMBERS),
            lambda: draw.choice(NUMBERS) - x,
            lambda: np.full(np.shape(x), draw.choice(NUMBERS)) * x,
        ]
    )()


def arranged(draw: random.Random, x: Any) -> Any:
    """The elements of an array arranged otherwise, picked, or summed."""
    axis = draw.randrange(x.ndim) if x.ndim else None
    picks = [lambda: np.reshape(x, (-1,)), lambda: np.sum(x), lambda: np.mean(x), lambda: x.copy(), lambda: x.T]
    if x.ndim:
        picks += [
            lambda: np.sum(x, axis=axis),
            lambda: np.sum(x, axis=axis, keepdims=True),
            lambda: np.max(x, axis=axis),
            lambda: np.expand_dims(x, axis),
            lambda: x[1:],
            lambda: x[..., ::-1],
            lambda: x[np.array([0, -1, 0])] if len(x) else x,
        ]
    if x.ndim == 1:
        picks += [lambda: np.diag(x), lambda: np.outer(x, x * 2.0), lambda: np.broadcast_to(x, (2, *x.shape))]
    if x.ndim == 2:
        picks += [lambda: np.trace(x), lambda: np.diagonal(x), lambda: x @ x.T, lambda: np.diag(np.sum(x, axis=0))]
    return draw.choice(picks)()


def combined(draw: random.Random, x: Any, y: Any) -> Any:
    """Two values together, where their shapes go together."""
    together = draw.choice([np.add, np.subtract, np.multiply, np.divide, np.maximum, np.matmul])
    return together(x, y)


def program(seed: int) -> Any:
    """A function of three arrays and a number, made of some twelve of these steps."""

    def f(x: Any, y: Any, z: Any, s: Any) -> Any:
        draw = random.Random(seed)
        values: list[Any] = [x, y, z, s]
        for _ in range(12):
            a, b = draw.choice(values[-5:]), draw.choice(values)
            kind = draw.random()
            try:
                if kind < 0.4:
                    made = unary(draw, a)
                elif kind < 0.7 and isinstance(a, np.ndarray):
                    made = arranged(draw, a)
                else:
                    made = combined(draw, a, b)
            except ValueError:
                continue
            if np.size(made) <= 400:
                values.append(made)
        return sum([np.sum(np.tanh(v * 0.01)) for v in values[-4:]])

    return f


def arguments(seed: int) -> tuple[Any, ...]:
    draw = np.random.default_rng(seed)
    return draw.normal(size=(4, 3)), draw.normal(size=3), draw.normal(size=(4, 1)), float(draw.normal())


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_expression(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "LEAST_BYTES", 1)
    f = program(seed)
    for tape in (wg.trace(f, *arguments(0))[1], wg.gradtape(f, *arguments(0))):
        exact, optimised = tape.optimise(exact=True).compile(), tape.optimise().compile()
        for given in range(3):
            try:
                expected = tape.play(*arguments(given))
            except wg.StaleTapeError:
                with pytest.raises(wg.StaleTapeError):
                    exact(*arguments(given))
                continue
            check(exact(*arguments(given)), expected, 4e-15)  # sums of what is not in C order may be rounded otherwise
            check(optimised(*arguments(given)), expected, 1e-12)


def check(found: Any, expected: Any, tolerance: float) -> None:
    scale = max([1.0, *(np.max(np.abs(leaf), initial=0.0) for _, leaf in leaves(expected))])
    for (_, a), (_, b) in zip(leaves(found), leaves(expected), strict=True):
        assert type(a) is type(b) and np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (scale if np.isfinite(scale) else 1.0))
        if tolerance < 1e-13:
            signs = [np.where(np.isnan(v), False, np.signbit(v)) for v in (a, b)]
            np.testing.assert_array_equal(*signs)
