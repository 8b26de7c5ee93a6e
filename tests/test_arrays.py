"""Functions of whole arrays as users call them, traced: the value is NumPy's, the slope that of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import values

import wengert as wg

X, A, C = values(6), values(3, 4), values(2, 3, 4)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, complex])
@pytest.mark.parametrize("view", [lambda x, t: x.view(t), lambda x, t: x.view(dtype=t), np.ndarray.view])
def test_a_view_of_another_dtype_is_refused(view: Callable[..., Any], dtype: Any) -> None:
    with pytest.raises(wg.RefusedCallError, match=r"test_arrays.py:\d+ .*viewed as ndarray of .*\.astype"):
        wg.grad(lambda x: np.sum(np.abs(view(x * 1, dtype) * 1.0)))(X)
    assert np.array_equal(wg.grad(lambda x: np.sum(view(x * 1, float) ** 2))(X), 2 * X)
