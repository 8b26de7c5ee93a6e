"""Random functions that choose items by masks: compiled, they give the gradient of the function as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from selection_sources import selection_arguments, selection_function

import wengert as wg


def outcome(f: Any, X: np.ndarray, w: np.ndarray) -> Any:
    """Return the value and the gradient as a vector, or the class of the exception."""
    try:
        value, slope = f(X.copy(), w.copy())
    except (ValueError, IndexError) as error:
        return type(error)
    return np.append(slope, value)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(24))
def test_selections(seed: int) -> None:
    text, f = selection_function(seed)
    plain = wg.value_and_grad(f, argnums=1)
    compiled = wg.compile(plain, native=False, quiet=True)
    for X, w in selection_arguments(seed):
        expected, found = outcome(plain, X, w), outcome(compiled, X, w)
        near = outcome(plain, X, w * (1 + 1e-13))
        if isinstance(expected, type) or isinstance(near, type):
            assert isinstance(near, type) != isinstance(expected, type) or found is expected, text
            continue
        size = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
        if np.allclose(near, expected, rtol=0.0, atol=1e-8 * size, equal_nan=True):  # else rounding decides
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * size, err_msg=text)
