"""DataArrays and Datasets of xarray as arguments: their data, of floats, not their coordinates."""

from __future__ import annotations

import numpy as np
from xarray import DataArray, Dataset

from wengert.extend import holds


def is_of_floats(variable):
    return type(variable._data) is np.ndarray and variable._data.dtype.kind in "fc"


def copy(held):
    return held.copy(deep=False)


holds(
    DataArray,
    keys=lambda held: ["data"] if is_of_floats(held._variable) else [],
    load=lambda held, _: held._variable._data,
    store=lambda held, _, values: setattr(held._variable, "_data", values),
    copy=copy,
    is_array=True,
)
holds(
    Dataset,
    keys=lambda held: [name for name in held.data_vars if is_of_floats(held._variables[name])],
    load=lambda held, name: held._variables[name]._data,
    store=lambda held, name, values: setattr(held._variables[name], "_data", values),
    copy=copy,
)
