"""Random loops whose number of iterations is an argument: one trace serves fewer iterations, with any branches."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from branch_sources import branch_function

import wengert as wg

BOUNDS = [10, 8, 9, 7, 5, 10, 6, 3, 2, 1, 0, 4, 11, 9]


def bound_function(seed: int) -> tuple[str, Callable[..., Any]]:
    """A random function of two vectors and the bound of its loop, and its text."""
    text = branch_function(seed)[0].replace("def f(x, w):", "def f(x, w, q):")
    text = re.sub(r"(for i in range\(\d), n\)", r"\1, q)", text)
    space: dict[str, Any] = {}
    exec("import math\nimport numpy as np\n" + text, space)
    return text, space["f"]


def flat(value_and_gradient: Any) -> np.ndarray:
    value, gradient = value_and_gradient
    return np.concatenate([np.ravel(value), *map(np.ravel, gradient)])


def check_bounds(seed: int) -> bool:
    """Compare the calls of a random function; return whether it compiled."""
    text, f = bound_function(seed)
    plain = wg.value_and_grad(f, argnums=(0, 1))
    compiled, rng = wg.compile(plain, native=False, quiet=True), np.random.default_rng(seed)
    for k, bound in enumerate(BOUNDS):
        x, w = 0.7 * rng.normal(size=12), 0.5 * rng.normal(size=3)
        expected, near = flat(plain(x, w, bound)), flat(plain((1 + 1e-13) * x, w, bound))
        size = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
        if np.allclose(near, expected, rtol=0.0, atol=1e-8 * size, equal_nan=True):  # else rounding decides
            found = flat(compiled(x, w, bound))
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * size, err_msg=f"{text}\ncall {k}")
    return "runs uncompiled" not in compiled.explain()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_loops_with_a_changing_bound(seed: int) -> None:
    check_bounds(seed)


if __name__ == "__main__":
    first, number = map(int, sys.argv[1:])
    print(sum(map(check_bounds, range(first, first + number))), "of", number, "compiled")
