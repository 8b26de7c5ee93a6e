"""Arrays with labels and units (xarray, pint) as arguments: their gradients have them, too."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

X = np.array([[1.0, 2.0], [0.5, 3.0]])


def test_data_of_xarray() -> None:
    xr = pytest.importorskip("xarray")
    a = xr.DataArray(X, dims=("t", "s"), coords={"t": [10, 20]}, name="height")
    gradient = wg.grad(lambda a: np.sum((a * a).sel(t=20).values))(a)
    xr.testing.assert_identical(gradient, a.copy(data=np.array([[0.0, 0.0], [1.0, 6.0]])))
    ds = xr.Dataset({"a": a, "b": ("t", X[0])})
    gradient = wg.grad(lambda d: np.sum((d.a * d.b).values))(ds)
    xr.testing.assert_identical(
        gradient, xr.Dataset({"a": a.copy(data=[[1.0, 1.0], [2.0, 2.0]]), "b": ("t", [3.0, 3.5])})
    )
    assert np.array_equal(a, X)


def test_quantities_of_pint() -> None:
    unit = pytest.importorskip("pint").UnitRegistry()
    q = X[0] * unit.km
    gradient = wg.grad(lambda q: np.sum((q**2).to("m^2").magnitude))(q)
    assert gradient.units == q.units and gradient.magnitude == pytest.approx(2e6 * X[0])
    assert wg.grad(lambda q: (q**2).to("m^2").magnitude)(2.0 * unit.km).magnitude == pytest.approx(4e6)
