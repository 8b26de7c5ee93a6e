"""bottleneck's reductions, which skip nan: NumPy's stand for them."""

from __future__ import annotations

import bottleneck
import numpy as np

from wengert.extend import non_differentiable, stands_for

non_differentiable(
    bottleneck.nanargmin, bottleneck.nanargmax, bottleneck.anynan, bottleneck.allnan, bottleneck.rankdata,
    bottleneck.nanrankdata,
)  # fmt: skip


def _stands_for(name, function):
    def reduced(a, axis=None, **options):
        return function(np.asarray(a), axis=axis, **options)

    stands_for(getattr(bottleneck, name))(reduced)


for _name in ("nansum", "nanmean", "nanstd", "nanvar", "nanmin", "nanmax", "nanmedian", "median"):
    _stands_for(_name, getattr(np, _name))


@stands_for(bottleneck.ss)
def ss(a, axis=None):
    return np.sum(np.asarray(a) ** 2, axis=axis)


@stands_for(bottleneck.replace)
def replace(a, old, new):
    a[np.isnan(a) if old != old else a == old] = new


@stands_for(bottleneck.move_sum)
def move_sum(a, window, min_count=None, axis=-1):
    return _moved(a, window, min_count, axis, np.nansum)


@stands_for(bottleneck.move_mean)
def move_mean(a, window, min_count=None, axis=-1):
    return _moved(a, window, min_count, axis, np.nanmean)


@stands_for(bottleneck.move_std)
def move_std(a, window, min_count=None, axis=-1, ddof=0):
    return _moved(a, window, min_count, axis, np.nanstd, ddof=ddof)


@stands_for(bottleneck.move_var)
def move_var(a, window, min_count=None, axis=-1, ddof=0):
    return _moved(a, window, min_count, axis, np.nanvar, ddof=ddof)


@stands_for(bottleneck.move_min)
def move_min(a, window, min_count=None, axis=-1):
    return _moved(a, window, min_count, axis, np.nanmin)


@stands_for(bottleneck.move_max)
def move_max(a, window, min_count=None, axis=-1):
    return _moved(a, window, min_count, axis, np.nanmax)


def _moved(a, window, min_count, axis, reduce, **options):
    """A reduction of each element and those before it, `window` in all; nan where fewer than `min_count` are there."""
    moved = np.moveaxis(np.asarray(a), axis, 0)
    made = np.full(moved.shape, np.nan)
    for k in range(len(moved)):
        shown = moved[max(k - window + 1, 0) : k + 1]
        enough = np.count_nonzero(~np.isnan(shown), axis=0) >= max(window if min_count is None else min_count, 1)
        if np.all(enough):
            made[k] = reduce(shown, axis=0, **options)
        elif np.any(enough):
            made[k, enough] = reduce(shown[:, enough], axis=0, **options)
    return np.moveaxis(made, 0, axis)
