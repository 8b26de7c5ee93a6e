"""bottleneck's reductions have those of NumPy stand for them."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

bn = pytest.importorskip("bottleneck")

X = np.array([[1.0, 2.5, 0.3], [4.0, 0.7, 1.9]])
REDUCTIONS = ["nansum", "nanmean", "nanstd", "nanvar", "nanmin", "nanmax", "nanmedian", "median", "ss"]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, axis: int | None) -> None:
    f = lambda x: np.sum(getattr(bn, name)(np.where(X == 2.5, np.nan if "nan" in name else 9.0, x), axis) ** 2)
    value, gradient = wg.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    assert gradient == pytest.approx(wg.ngradient(f, X)[0], rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("name", ["move_sum", "move_mean", "move_std", "move_var", "move_min", "move_max"])
def test_windows(name: str) -> None:
    f = lambda x: np.nansum(getattr(bn, name)(x, 3, min_count=2)[..., 1:] ** 2)
    value, gradient = wg.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    assert gradient == pytest.approx(wg.ngradient(f, X)[0], rel=1e-7, abs=1e-8)
