"""Missing numbers, which pandas writes as nan: what is computed of one is a constant.

The partials there are nan as well, so that without this a cotangent of 0, that of a row which is dropped or passed
over, would make the gradient nan.
"""

from __future__ import annotations

import functools

import numpy as np
from pandas import DataFrame, Series
from pandas.core.computation import expressions
from pandas.core.generic import NDFrame
from pandas.core.ops import array_ops
from pandas.core.window import common

from wengert.extend import stands_for, stopped
from wengert_rules.pandas.names import present


def missing_in(*operands):
    """Where a number is missing in one of the arrays of floats among the `operands`."""
    return functools.reduce(np.logical_or, [np.isnan(x) for x in operands if holds_floats(x)], np.False_)


def holds_floats(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def filled(x, missing):
    return np.where(missing, 1.0, x) if holds_floats(x) else x


def constant(x):
    return stopped(x) if isinstance(x, (np.ndarray, np.inexact, float, complex)) else x


def past_gaps(op, *operands):
    """Return `op(*operands)`, with constants where an operand has a missing number."""
    missing = missing_in(*operands)
    whole = op(*[constant(x) for x in operands]) if np.any(missing) else None
    if not isinstance(whole, np.ndarray):
        return op(*operands)
    return np.where(missing, whole, op(*[filled(x, missing) for x in operands]))


@stands_for(expressions._evaluate_standard)
def evaluate(op, op_str, a, b):
    return past_gaps(op, a, b)


def elementwise(self, ufunc):
    """Apply a unary ufunc to a Series or DataFrame past its missing numbers; return None if there are none."""
    dtypes = {self.dtype} if self.ndim == 1 else set(self.dtypes)
    if not isinstance(self, (Series, DataFrame)) or len(dtypes) != 1 or np.dtype(object) in dtypes:
        return None
    values = self.to_numpy()
    if not np.any(missing_in(values)):
        return None
    return self._constructor(past_gaps(ufunc, values), **self._construct_axes_dict()).__finalize__(self)


@stands_for(NDFrame.abs)
def absolute(self):
    found = elementwise(self, np.abs)
    if found is None:
        managed = self._mgr.apply(np.abs)
        found = self._constructor_from_mgr(managed, axes=managed.axes).__finalize__(self, name="abs")
    return found


@stands_for(*present(array_ops, "fill_binop"))
def fill_binop(left, right, fill_value):
    """Of two Series' numbers those that are missing in one filled in; what is missing then, in both as constants."""
    if fill_value is not None:
        gaps = missing_in(left), missing_in(right)
        left = np.where(gaps[0] & ~gaps[1], fill_value, left) if np.any(gaps[0]) else left
        right = np.where(gaps[1] & ~gaps[0], fill_value, right) if np.any(gaps[1]) else right
    missing = missing_in(left, right)
    return constant_where(missing, left), constant_where(missing, right)


def constant_where(missing, x):
    return np.where(missing, constant(x), x) if np.any(missing) else x


@stands_for(common.zsqrt)
def zsqrt(x):
    """The deviations of windows from variances: where they are 0 or, by rounding, less, a constant 0."""
    rest = np.where(np.isnan(x), np.nan, 0.0)
    if isinstance(x, NDFrame):
        return np.sqrt(x.where(x > 0, 1.0)).where(x > 0, rest)
    return np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), rest)
