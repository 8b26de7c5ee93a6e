"""Arrays and data sets of xarray, cut into blocks that keep their labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

dask = pytest.importorskip("dask")
xr = pytest.importorskip("xarray")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 4)), RNG.normal(size=12)
W = np.array([1.0, -2.0, 0.5, 0.1])
LABELLED = xr.DataArray(X, dims=("time", "place"), coords={"time": np.arange(12.0)})
DATA = xr.Dataset({"x": LABELLED, "y": ("time", Y)})
RESIDUAL = X @ W - Y


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.sum((x.data @ w - y.data) ** 2)


def loss_of_set(w: Any, data: Any) -> Any:
    return (((data.x * xr.DataArray(w, dims="place")).sum("place") - data.y) ** 2).sum()


def check(found: Any) -> None:
    value, gradient = found
    np.testing.assert_allclose(value, RESIDUAL @ RESIDUAL, rtol=1e-13)
    np.testing.assert_allclose(gradient, 2 * X.T @ RESIDUAL, rtol=1e-12)


@pytest.mark.parametrize("n", [12, 5, 1])
def test_arrays_and_sets_are_cut_along_a_dimension(n: int) -> None:
    data = DATA.chunk(time=n)
    check(wg.dask.value_and_grad(loss)(W, data.x, data.y))
    check(wg.dask.value_and_grad(loss)(W, data.x.transpose("place", "time").transpose(), data.y))
    check(wg.dask.value_and_grad(loss_of_set)(W, data))


def test_it_may_be_any_dimension() -> None:
    turned = DATA.chunk(time=5).transpose("place", "time")
    check(wg.dask.value_and_grad(lambda w, x, y: np.sum((w @ x.data - y.data) ** 2))(W, turned.x, turned.y))


def test_a_block_has_its_labels() -> None:
    """The derivative of Σ exp(-r t) by r, where each block knows its times."""
    _, slope = wg.dask.value_and_grad(lambda r, x: np.sum(np.exp(-r * x.time.values)))(0.3, LABELLED.chunk(time=5))
    np.testing.assert_allclose(slope, -np.sum(np.arange(12) * np.exp(-0.3 * np.arange(12))), rtol=1e-13)


def test_blocks_may_be_cut_along_several_dimensions() -> None:
    def misfit(p: Any, x: Any, y: Any) -> Any:
        return ((np.tanh(p[0] * x) - p[1] * y.transpose(*x.dims)) ** 2).sum()

    x = LABELLED.chunk(time=5, place=3)
    y, p = (x + 1.0), np.array([0.7, 0.2])
    _, gradient = wg.dask.value_and_grad(misfit, blocks=True)(p, x, y)
    r = np.tanh(0.7 * X) - 0.2 * (X + 1)
    expected = [np.sum(2 * r * X / np.cosh(0.7 * X) ** 2), np.sum(-2 * r * (X + 1))]
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


def test_chunks_that_do_not_fit_are_refused() -> None:
    data, g = DATA.chunk(time=5), wg.dask.value_and_grad(loss)
    with pytest.raises(wg.ArgumentError, match=r"DataArray is cut along time and place.*chunk\(place=-1\)"):
        g(W, data.x.chunk(place=2), data.y)
    with pytest.raises(wg.ArgumentError, match=r"time \(5, 5, 2\) and time \(4, 4, 4\)\. .*y\.chunk\(x\.chunksizes\)"):
        g(W, data.x, data.y.chunk(time=4))
    with pytest.raises(wg.ArgumentError, match=r"do not fit together: time .* and place"):
        g(W, data.x.isel(time=slice(4)).chunk(time=2), LABELLED.isel(time=0).chunk(place=2))
    square = LABELLED.isel(time=slice(4)).chunk(time=2, place=2)
    with pytest.raises(wg.ArgumentError, match=r"do not fit together: time .* × place .* and place .* × time"):
        wg.dask.value_and_grad(loss, blocks=True)(W, square, square.transpose())
    with pytest.raises(wg.ArgumentError, match=r"not Dataset.*x\.chunk\(time=1000\)"):
        wg.dask.value_and_grad(loss_of_set)(W, DATA)
    with pytest.raises(wg.ArgumentError, match=r"argument 1, .* goes to each task whole"):
        wg.dask.value_and_grad(loss, (0, 1))(W, data.x, data.y)


def test_they_may_be_read_from_disk(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    DATA.chunk(time=5).to_zarr(tmp_path / "data.zarr")
    check(wg.dask.value_and_grad(loss_of_set)(W, xr.open_zarr(tmp_path / "data.zarr")))
