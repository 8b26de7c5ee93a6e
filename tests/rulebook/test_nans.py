"""The test for nans in tangents and cotangents, by either reduction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.values.cotangents import FASTER_BY_MAXIMUM, has_nan


@pytest.mark.parametrize("size", [0, 1, FASTER_BY_MAXIMUM - 1, FASTER_BY_MAXIMUM, 3 * FASTER_BY_MAXIMUM])
@pytest.mark.parametrize("fill", [0.0, 1.0, 1e-200, -np.inf, np.inf])
def test_arrays(size: int, fill: float) -> None:
    x: Any = np.full((size, 2), fill)
    x[::2] *= -1.0
    for view in (x, x.T, x[::2], x.reshape(2, -1)):
        assert not has_nan(view)
    if size:
        x[size // 2, 1] = np.nan
        for view in (x, x.T, x[:, 1], (1.0, {"a": x})):
            assert has_nan(view)
