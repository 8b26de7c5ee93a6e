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


def test_other_derivatives_of_data_of_xarray() -> None:
    xr = pytest.importorskip("xarray")
    a = xr.DataArray(X, dims=("t", "s"), coords={"t": [10, 20]}, name="height")
    cubes, loss = (lambda a: a**3), (lambda a: (a**3).sum())
    value, gradient = wg.value_and_grad(loss)(a)  # a DataArray of one number is that number
    assert value == np.sum(X**3)
    xr.testing.assert_identical(gradient, 3 * a**2)
    xr.testing.assert_identical(wg.jacobian(lambda a: loss(a).item())(a), 3 * a**2)
    y, y_dot = wg.jvp(cubes, (a,), (a,))
    xr.testing.assert_identical(y, a**3)
    xr.testing.assert_allclose(y_dot, 3 * a**3)
    xr.testing.assert_allclose(wg.hvp(loss, a, a), 6 * a**2)
    np.testing.assert_allclose(wg.jacobian(cubes, as_matrix=True)(a), np.diag(3 * X.ravel() ** 2))
    np.testing.assert_allclose(wg.hessian(loss, as_matrix=True)(a), np.diag(6 * X.ravel()))
    ds = xr.Dataset({"a": a, "b": ("t", X[0])})
    mixed = wg.hessian(lambda d: (d.a * d.b).sum(), as_matrix=True)(ds)
    np.testing.assert_allclose(mixed[:4, 4:], [[1, 0], [1, 0], [0, 1], [0, 1]])
    for f, x in ((cubes, a), (lambda d: (d.a * d.b).values, ds), (lambda x: a * x[0], X[0])):
        with pytest.raises(wg.ArgumentError, match="Pass as_matrix=True for a plain matrix"):
            wg.jacobian(f)(x)
    with pytest.raises(wg.NonScalarOutputError, match=r"returned shape \(2, 2\)"):
        wg.grad(cubes)(a)


def test_functions_of_numpy_take_data_of_xarray() -> None:
    """What NumPy leaves to the method of that name is the method's; what it wraps has its labels."""
    xr = pytest.importorskip("xarray")
    a = xr.DataArray(X, dims=("t", "s"), coords={"t": [10, 20]})
    for f in (
        lambda a: np.sum(np.exp(a)),
        lambda a: np.mean(a**2) + np.std(a),
        lambda a: np.sum(np.asarray(a) ** 2),
        lambda a: np.sum(np.concatenate([a, a**2])),
        lambda a: (np.clip(a, 0.7, 2.5).sel(t=10) * a).sum(),
        lambda a: np.interp(0.3, [0.0, 1.0], a.sel(t=20)),
    ):
        value, gradient = wg.value_and_grad(f)(a)
        assert value == f(a)
        np.testing.assert_allclose(gradient, wg.ngradient(lambda x, f=f: f(a.copy(data=x)), X)[0], rtol=1e-6)
        assert gradient.dims == a.dims


def test_missing_data_of_xarray_are_constants() -> None:
    xr = pytest.importorskip("xarray")
    known = xr.DataArray([1.0, np.nan, 3.0, 5.0], dims="t")
    for f in (
        lambda p: ((known - p * known.t) ** 2).mean().item(),
        lambda p: np.log(p * known).sum().item(),
        lambda p: (np.array([p, p, 1.0, p]) / known).sum().item() + np.float64(p) * known.max().item(),
        lambda p: np.hypot(known, p * known.shift(t=1)).sum().item(),
        lambda p: (p * (known / known.shift(t=1)) ** p).sum().item(),
    ):
        assert wg.grad(f)(1.5) == pytest.approx(wg.ngradient(f, 1.5)[0], rel=1e-7)
    assert wg.grad(lambda a: (a * a.shift(t=1)).sum())(known).values.tolist() == [0.0, 0.0, 5.0, 3.0]


def test_a_compiled_gradient_of_data_of_xarray() -> None:
    a = pytest.importorskip("xarray").DataArray(X, dims=("t", "s"))
    compiled = wg.compile(wg.grad(lambda a: (a**2).sum()))
    with pytest.warns(wg.NotCompiledWarning, match="runs uncompiled"):
        assert compiled(a).identical(2 * a)
    assert compiled(2 * a).identical(4 * a)


def test_a_quantity_is_no_number() -> None:
    unit = pytest.importorskip("pint").UnitRegistry()
    with pytest.raises(wg.NonScalarOutputError, match="not a Quantity"):
        wg.grad(lambda q: q**3)(2.0 * unit.km)


def test_quantities_of_pint() -> None:
    unit = pytest.importorskip("pint").UnitRegistry()
    q = X[0] * unit.km
    gradient = wg.grad(lambda q: np.sum((q**2).to("m^2").magnitude))(q)
    assert gradient.units == q.units and gradient.magnitude == pytest.approx(2e6 * X[0])
    assert wg.grad(lambda q: (q**2).to("m^2").magnitude)(2.0 * unit.km).magnitude == pytest.approx(4e6)
