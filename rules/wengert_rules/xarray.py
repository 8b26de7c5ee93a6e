"""DataArrays and Datasets of xarray as arguments: their data, of floats, not their coordinates; and gaps in these."""

from __future__ import annotations

import functools
import types

import numpy as np
from xarray import DataArray, Dataset, Variable, apply_ufunc

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

_applied = apply_ufunc.__globals__["apply_variable_ufunc"]


def _as_written(f):
    """A function of its own, for which nothing stands."""
    made = types.FunctionType(f.__code__, f.__globals__)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


_operated, _called = _as_written(Variable._binary_op), _as_written(_applied)


@stands_for(Variable._binary_op)
def binary_op(self, other, f, reflexive=False):
    """Missing numbers are constants, as in pandas."""
    return _operated(self, other, functools.partial(past_gaps, f), reflexive)


@stands_for(_applied)
def apply_variable_ufunc(func, *args, **options):
    """The same of what a ufunc computes."""
    return _called(functools.partial(past_gaps, func) if isinstance(func, np.ufunc) else func, *args, **options)
