"""Reductions of the columns of a table by groups: compiled functions that write into `out`."""

from __future__ import annotations

import numpy as np
from pandas._libs import groupby

from wengert.extend import non_differentiable, stands_for
from wengert_rules.pandas.names import present

non_differentiable(*present(groupby, "group_rank", "group_idxmin_idxmax", "group_fillna_indexer"))


def _reduces(name, least=1):
    """Have a function of the numbers of a column in a group, those that are present, stand for the `name`d one."""

    def declare(reduce):
        def by_group(out, counts, values, labels, min_count=-1, mask=None, result_mask=None, skipna=True, **options):
            options = {key: value for key, value in options.items() if key in ("ddof", "name", "rank")}
            for group in range(len(counts)):
                rows = labels == group
                counts[group] = np.count_nonzero(rows)
                for column in range(values.shape[1]):
                    there = rows & _present(values[:, column], None if mask is None else mask[:, column], skipna)
                    enough = np.count_nonzero(there) >= (min_count if min_count >= 0 else least)
                    if result_mask is not None:
                        result_mask[group, column] = not enough
                    out[group, column] = reduce(values[there, column], **options) if enough else np.nan

        stands_for(*present(groupby, name))(by_group)
        return reduce

    return declare


def _present(column, mask, skipna):
    if not skipna:
        return np.ones(len(column), bool)
    return ~np.isnan(column) if mask is None else mask == 0


@_reduces("group_sum", 0)
def _sum(x):
    return np.sum(x)


@_reduces("group_prod", 0)
def _prod(x):
    return np.prod(x)


@_reduces("group_mean")
def _mean(x):
    return np.sum(x) / len(x) if len(x) else np.nan


@_reduces("group_median_float64")
def _median(x):
    return np.median(x) if len(x) else np.nan


@_reduces("group_min")
def _min(x):
    return np.min(x) if len(x) else np.nan


@_reduces("group_max")
def _max(x):
    return np.max(x) if len(x) else np.nan


@_reduces("group_last")
def _last(x):
    return x[-1] if len(x) else np.nan


@_reduces("group_nth")
def _nth(x, rank=1):
    return x[rank - 1] if len(x) >= rank else np.nan


@_reduces("group_var")
def _var(x, ddof=1, name="var"):
    if len(x) <= ddof:
        return np.nan
    var = np.sum((x - np.mean(x)) ** 2) / (len(x) - ddof)
    return var if name == "var" else np.sqrt(var if name == "std" else var / len(x))


def _accumulates(name, start, accumulate):
    """Have what `accumulate` makes of the number before and the next stand for the `name`d function."""

    def by_group(out, values, labels, ngroups=0, is_datetimelike=False, skipna=True, mask=None, result_mask=None):
        for column in range(values.shape[1]):
            before: dict[int, float] = {}
            for row in range(len(values)):
                group, value = labels[row], values[row, column]
                if group < 0:
                    continue
                if value == value:
                    before[group] = accumulate(before.get(group, start), value)
                    out[row, column] = before[group]
                else:
                    out[row, column] = np.nan
                    before[group] = before.get(group, start) if skipna else np.nan

    stands_for(*present(groupby, name))(by_group)


_accumulates("group_cumsum", 0.0, lambda total, value: total + value)
_accumulates("group_cumprod", 1.0, lambda total, value: total * value)
_accumulates("group_cummax", -np.inf, lambda most, value: value if not most >= value else most)
_accumulates("group_cummin", np.inf, lambda least, value: value if not least <= value else least)


@stands_for(*present(groupby, "group_quantile"))
def group_quantile(out, values, labels, mask, qs, starts, ends, interpolation="linear", **options):
    """Quantiles of each group, whose numbers lie side by side, from `starts` to `ends`."""
    for group in range(len(out)):
        rows = slice(starts[group], ends[group])
        there = values[rows][mask[rows] == 0]
        for k, q in enumerate(qs):
            out[group, k] = np.quantile(there, q, method=interpolation) if len(there) else np.nan
