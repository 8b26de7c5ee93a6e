"""Records as rows of numbers, which NumPy shows by views of other dtypes."""

from __future__ import annotations

import numpy as np
from numpy.lib import recfunctions

from wengert.extend import stands_for


def columns_of(part, ndim):
    """The numbers of a field, each as an array of the shape of the records."""
    if part.dtype.names is not None:
        return [column for name in part.dtype.names for column in columns_of(part[name], ndim)]
    return [part[(..., *place)] for place in np.ndindex(part.shape[ndim:])]


@stands_for(recfunctions.structured_to_unstructured)
def structured_to_unstructured(arr, dtype=None, copy=False, casting="unsafe"):
    """A copy; where NumPy may have given a view of the records, it cannot be written."""
    columns = columns_of(arr, arr.ndim)
    made = np.stack(columns, axis=-1).astype(np.result_type(*columns) if dtype is None else dtype)
    made.setflags(write=copy)
    return made
