"""xarray: DataArrays and Datasets of floats, made inside the function."""

import numpy as np
import xarray as xr
from case import case

X = np.array([[0.5, 1.2, 0.7], [2.1, 1.4, 0.3]])


@case(X)
def arithmetic(x):
    a = xr.DataArray(x, dims=("t", "s"), coords={"t": [0, 1]})
    return ((a * 2 + np.sin(a) - a.mean("t")) ** 2).sum().item()


@case(X)
def values_of_reductions(x):
    a = xr.DataArray(x, dims=("t", "s"))
    return (a - a.mean("s")).std("t").values


@case(X)
def selection(x):
    a = xr.DataArray(x, dims=("t", "s"), coords={"t": [10, 20]})
    return (a.sel(t=20) * a.isel(t=0)).values


@case(X)
def dataset(x):
    ds = xr.Dataset({"a": (("t", "s"), x), "b": (("t",), x[:, 0])})
    ds["c"] = ds.a * ds.b
    return ds.c.sum("t").values


@case(X)
def shifted_and_dot(x):
    a = xr.DataArray(x, dims=("t", "s"))
    return xr.dot(a, a.shift(s=1, fill_value=0.0), dim="s").values


@case(X)
def where_and_weighted(x):
    a = xr.DataArray(x, dims=("t", "s"))
    w = xr.DataArray([1.0, 2.0, 3.0], dims="s")
    return a.where(a > 0.6, 0.0).weighted(w).mean("s").values


@case(X)
def apply_ufunc(x):
    a = xr.DataArray(x, dims=("t", "s"))
    return xr.apply_ufunc(lambda v: np.tanh(v) * v, a).values
