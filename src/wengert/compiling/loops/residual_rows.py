"""Arrays in which loops store the values of all iterations, one row each."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.tape.ops import Call

PYTHON_NUMBERS = (float, bool, complex)
"""Types of the numbers that `item` of an array returns."""


def is_stacked(value: Any) -> bool:
    """Whether an array can store such values, one in each row."""
    if type(value) is np.ndarray:
        return value.ndim > 0 and value.dtype.kind in "fciub"
    is_scalar = isinstance(value, np.number | np.bool_) and value.dtype.kind in "fciub"
    return is_scalar or type(value) is list or type(value) in PYTHON_NUMBERS


def rows_like(count: int, value: Any) -> np.ndarray:
    """Return an array of zeros that has so many rows for values like this one."""
    return np.zeros((count, *np.shape(value)), np.asarray(value).dtype)


def zero_rows(rows: np.ndarray) -> Call:
    """Return the call that makes the array in which a loop stores these rows."""
    return Call(np.zeros, [rows.shape, rows.dtype], val=rows, note="a row for each iteration")


def row_call(whole: Any, index: Any, like: Any) -> Call:
    """Return the call that reads a row of an array of values like this one."""
    if type(like) is np.ndarray and not like.ndim:
        return Call(operator.getitem, [whole, (index, ...)], val=like)  # with an index alone, it would be a number
    return Call(np.ndarray.item if type(like) in PYTHON_NUMBERS else operator.getitem, [whole, index], val=like)
