"""DataArrays and Datasets of xarray as arguments: their data, of floats, not their coordinates; and gaps in these."""

from __future__ import annotations

import functools
import types

import numpy as np
from xarray import DataArray, Dataset, Variable

from wengert.extend import holds, stands_for
from wengert_rules.pandas.gaps import past_gaps


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

_computed = types.FunctionType(Variable._binary_op.__code__, Variable._binary_op.__globals__)


@stands_for(Variable._binary_op)
def binary_op(self, other, f, reflexive=False):
    """Missing numbers are constants, as in pandas."""
    return _computed(self, other, functools.partial(past_gaps, f), reflexive)
