"""Elements taken by position and gaps filled: compiled functions that write into what they are given."""

from __future__ import annotations

import numpy as np
from pandas._libs import algos, hashtable

from wengert.extend import non_differentiable, stands_for
from wengert_rules.pandas.names import present

_FLOATS = ("float32_float32", "float32_float64", "float64_float64")

non_differentiable(hashtable.duplicated)
non_differentiable(*present(algos, "rank_1d", "rank_2d", "is_monotonic", "pad", "backfill", "groupsort_indexer"))


@stands_for(*present(algos, *[f"take_1d_{types}" for types in _FLOATS]))
@stands_for(*present(algos, *[f"take_2d_axis0_{types}" for types in _FLOATS]))
def take_first(values, indexer, out, fill_value=np.nan, allow_fill=True):
    absent = indexer == -1
    out[...] = values[indexer]
    out[absent] = fill_value


@stands_for(*present(algos, *[f"take_2d_axis1_{types}" for types in _FLOATS]))
def take_second(values, indexer, out, fill_value=np.nan, allow_fill=True):
    out[...] = values[:, indexer]
    out[:, indexer == -1] = fill_value


@stands_for(*present(algos, *[f"take_2d_multi_{types}" for types in _FLOATS]))
def take_both(values, indexer, out, fill_value=np.nan, allow_fill=True):
    rows, columns = indexer
    out[...] = values[np.ix_(rows, columns)]
    out[rows == -1, :] = fill_value
    out[:, columns == -1] = fill_value


@stands_for(*present(algos, "scalar_fillna_inplace", "scalar_fillna_2d_inplace"))
def fill_with(values, fill_val, mask=None, is_datetimelike=False, limit=None):
    """Fill the gaps of each row, at most `limit`, and return how many."""
    missing = np.isnan(values) if mask is None else mask.astype(bool)
    if limit is not None:
        missing = missing & (np.cumsum(missing, axis=-1) <= limit)
    values[missing] = fill_val
    if mask is not None:
        mask[missing] = False
    return int(np.sum(missing))


@stands_for(algos.ensure_float64)
def ensure_float64(arr, copy=True):
    return np.asarray(arr).astype(np.float64, copy=False)


@stands_for(algos.kth_smallest)
def kth_smallest(arr, k):
    return np.sort(arr)[k]


@stands_for(algos.pad_inplace, algos.pad_2d_inplace)
def pad_inplace(values, mask, limit=None):
    """Each gap filled with the last number before it, at most `limit` in a row."""
    for row, gaps in zip(np.atleast_2d(values), np.atleast_2d(mask), strict=True):
        filled = 0
        for k in range(1, len(row)):
            filled = filled + 1 if gaps[k] else 0
            if gaps[k] and not gaps[k - 1] and (limit is None or filled <= limit):
                row[k] = row[k - 1]
                gaps[k] = False


@stands_for(algos.backfill_inplace, algos.backfill_2d_inplace)
def backfill_inplace(values, mask, limit=None):
    pad_inplace(values[..., ::-1], mask[..., ::-1], limit)


@stands_for(algos.diff_2d)
def diff_2d(arr, out, periods, axis, datetimelike=False):
    """Each element less that `periods` before it, where there is one."""
    start, stop = max(periods, 0), arr.shape[axis] + min(periods, 0)
    here = (slice(start, stop), slice(None)) if axis == 0 else (slice(None), slice(start, stop))
    there = slice(start - periods, stop - periods)
    out[here] = arr[here] - arr[(there, slice(None)) if axis == 0 else (slice(None), there)]


@stands_for(algos.nancorr)
def nancorr(mat, cov=False, minp=None):
    """Covariances of the columns, or their correlations, each of the rows in which both are present."""
    columns = mat.shape[1]
    result = np.empty((columns, columns))
    for i in range(columns):
        for j in range(i + 1):
            result[i, j] = result[j, i] = pair(mat[:, i], mat[:, j], cov, minp or 1)
    return result


def pair(x, y, cov, minp):
    """The covariance or correlation of two columns, of the rows in which both are present."""
    both = ~(np.isnan(x) | np.isnan(y))
    if np.count_nonzero(both) < minp:
        return np.nan
    x, y = x[both] - np.mean(x[both]), y[both] - np.mean(y[both])
    if cov:
        return np.sum(x * y) / (len(x) - 1) if len(x) > 1 else np.nan
    scale = np.sqrt(np.sum(x * x) * np.sum(y * y))
    return np.clip(np.sum(x * y) / scale, -1.0, 1.0) if scale != 0 else np.nan
