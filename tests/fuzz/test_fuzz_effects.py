"""Random functions with effects: a compiled gradient leaves and prints what the plain function does, at each call."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from effect_sources import Model, aliases_in, effect_function, state_of

import wengert as wg


def left_by(run: Callable[[Any], Any], f: Any, model: Model, x: Any) -> tuple[Any, Any]:
    """The result of a call, or its exception; and the state and the output that it left."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), np.errstate(all="ignore"):
        try:
            result = run(x)
        except Exception as error:
            result = type(error), str(error)
    return result, (state_of([model, f.__globals__["X"]]), aliases_in(model), out.getvalue(), x.tobytes())


def check_effects(seed: int, calls: int = 9) -> bool:
    """Compare the calls of a random function; return whether it compiled."""
    (text, f), (_, g), (_, h) = (effect_function(seed) for _ in range(3))
    plain, other, own, rng = Model(), Model(), Model(), np.random.default_rng(seed)
    gradient = wg.grad(lambda x: g(other, x))
    compiled = wg.compile(wg.grad(lambda x: h(own, x)), exact=True, quiet=True)
    for _ in range(calls):
        x = rng.normal(size=3)
        _, expected_left = left_by(lambda x: f(plain, x), f, plain, x.copy())
        expected, _ = left_by(gradient, g, other, x.copy())
        found, left = left_by(compiled, h, own, x.copy())
        assert left == expected_left, text
        if isinstance(expected, tuple):
            assert found == expected, text
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=text)
    return "runs uncompiled" not in compiled.explain()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(60))
def test_functions_with_effects(seed: int) -> None:
    check_effects(seed)


if __name__ == "__main__":
    first, number = map(int, sys.argv[1:])
    print(sum(map(check_effects, range(first, first + number))), "of", number, "compiled")
