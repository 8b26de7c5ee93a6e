"""Random loops with branches: NumPy code and native code give the gradient of the function as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from branch_sources import branch_arguments, branch_function
from test_fuzz_matrices import native_code

import wengert as wg


def flat(value_and_gradient: Any) -> np.ndarray:
    value, gradient = value_and_gradient
    return np.concatenate([np.ravel(value), *map(np.ravel, gradient)])


def compiled_without_warnings(f: Any) -> Any:
    return wg.compile(wg.value_and_grad(f, argnums=(0, 1)), native=False, quiet=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::wengert.NoPathWarning")
@pytest.mark.parametrize("seed", range(40))
def test_loops_with_branches(seed: int) -> None:
    text, f = branch_function(seed)
    plain, compiled, args = wg.value_and_grad(f, argnums=(0, 1)), compiled_without_warnings(f), branch_arguments(seed)
    compiled(*args)
    native, rng = native_code(compiled), np.random.default_rng(seed + 1)
    for given in (args, tuple([1.01 * x for x in args]), tuple([0.7 * rng.normal(size=x.shape) for x in args])):
        expected = flat(plain(*given))
        near = flat(plain(*[(1 + 1e-13) * x for x in given]))
        size = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
        if not np.allclose(near, expected, rtol=0.0, atol=1e-8 * size, equal_nan=True):
            continue  # rounding decides
        np.testing.assert_allclose(flat(compiled(*given)), expected, rtol=0.0, atol=1e-8 * size, err_msg=text)
        if native is not None:
            try:
                found = np.concatenate([*map(np.ravel, native(*given))])
            except wg.StaleTapeError:
                continue
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * size, err_msg=text)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::wengert.NoPathWarning")
def test_most_of_them_are_one_loop() -> None:
    """A trace serves other arguments, which take other branches."""
    loops = 0
    for seed in range(20):
        compiled = compiled_without_warnings(branch_function(seed)[1])
        compiled(*branch_arguments(seed))
        loops += "takes either branch in each" in compiled.explain()
    assert loops >= 12
