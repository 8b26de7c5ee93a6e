"""Aggregations over windows: `rolling`, `expanding`, `ewm`.

Sums and moments have rules, since their windows overlap: what the derivatives add up is added up by differences of
running sums. The others are followed window by window.
"""

from __future__ import annotations

import numpy as np
from pandas._libs.window import aggregations as windows

from wengert.extend import jvp_rule, stands_for, vjp_rule
from wengert_rules.pandas.filling import pair
from wengert_rules.pandas.names import present


def summed(values, start, end):
    """The sum of the numbers in each window, of which nan counts as zero."""
    running = np.concatenate([np.zeros(1), np.cumsum(np.where(np.isnan(values), 0.0, values))])
    return running[end] - running[start]


def spread(weights, values, start, end):
    """For each number the sum of the `weights` of the windows that it is in; zero for nan."""
    steps = np.zeros(len(values) + 1)
    np.add.at(steps, start, weights)
    np.subtract.at(steps, end, weights)
    return np.where(np.isnan(values), 0.0, np.cumsum(steps)[:-1])


def known(y, y_bar):
    """The cotangents of the windows that have a result."""
    return np.where(np.isnan(y), 0.0, y_bar)


def counted(values, start, end):
    return np.maximum(summed(np.where(np.isnan(values), np.nan, 1.0), start, end), 1.0)


@vjp_rule(windows.roll_sum)
def roll_sum(y_bar, y, values, start, end, minp):
    return spread(known(y, y_bar), values, start, end)


@jvp_rule(windows.roll_sum)
def roll_sum_forward(tangents, y, values, start, end, minp):
    return known(y, summed(np.where(np.isnan(values), 0.0, tangents[0]), start, end))


@vjp_rule(windows.roll_mean)
def roll_mean(y_bar, y, values, start, end, minp):
    return spread(known(y, y_bar) / counted(values, start, end), values, start, end)


@jvp_rule(windows.roll_mean)
def roll_mean_forward(tangents, y, values, start, end, minp):
    total = summed(np.where(np.isnan(values), 0.0, tangents[0]), start, end)
    return known(y, total / counted(values, start, end))


def centred(values, start, end):
    """The numbers less the mean of all, which loses fewer digits, and the mean of each window of these."""
    moved = values - np.nanmean(values)
    return moved, summed(moved, start, end) / counted(values, start, end)


@vjp_rule(windows.roll_var)
def roll_var(y_bar, y, values, start, end, minp, ddof=1):
    moved, mean = centred(values, start, end)
    weights = 2 * known(y, y_bar) / np.maximum(counted(values, start, end) - ddof, 1.0)
    moved = np.where(np.isnan(moved), 0.0, moved)
    return moved * spread(weights, values, start, end) - spread(weights * mean, values, start, end)


@jvp_rule(windows.roll_var)
def roll_var_forward(tangents, y, values, start, end, minp, ddof=1):
    moved, mean = centred(values, start, end)
    moves = np.where(np.isnan(values), 0.0, tangents[0])
    total = summed(moved * moves, start, end) - mean * summed(moves, start, end)
    return known(y, 2 * total / np.maximum(counted(values, start, end) - ddof, 1.0))


def _each(name, reduce, columns=1):
    """Have a function of the numbers of a window, those present in all columns, stand for the `name`d one."""

    def over_windows(*args, **words):
        start, end, minp, *options = args[columns:]
        made = np.full(len(start), np.nan)
        for k in range(len(start)):
            window = np.array([values[start[k] : end[k]] for values in args[:columns]])
            there = window[:, ~np.any(np.isnan(window), axis=0)]
            if there.shape[1] >= max(minp, 1):
                made[k] = reduce(*there, *options, **words)
        return made

    stands_for(*present(windows, name))(over_windows)


def _skewness(x):
    n, moved = len(x), x - np.mean(x)
    a, b = np.sum(moved**2) / n, np.sum(moved**3) / n
    if n < 3 or a <= 1e-14:
        return np.nan
    return np.sqrt(n * (n - 1.0)) * b / ((n - 2) * a**1.5)


def _kurtosis(x):
    n, moved = len(x), x - np.mean(x)
    a, b = np.sum(moved**2) / n, np.sum(moved**4) / n
    if n < 4 or a <= 1e-14:
        return np.nan
    return ((n * n - 1.0) * b / (a * a) - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0))


def _covariance(x, y, ddof=1):
    return np.sum((x - np.mean(x)) * (y - np.mean(y))) / (len(x) - ddof) if len(x) > ddof else np.nan


def _correlation(x, y):
    return pair(x, y, False, 1)


def _quantile(x, quantile, interpolation="linear"):
    return np.quantile(x, quantile, method=interpolation)


_each("roll_median_c", np.median)
_each("roll_max", np.max)
_each("roll_min", np.min)
_each("roll_skew", _skewness)
_each("roll_kurt", _kurtosis)
_each("roll_quantile", _quantile)
_each("roll_cov", _covariance, columns=2)
_each("roll_corr", _correlation, columns=2)


@stands_for(windows.roll_apply)
def roll_apply(obj, start, end, minp, function, raw, args, kwargs):
    made = np.full(len(start), np.nan)
    for k in range(len(start)):
        window = np.asarray(obj[start[k] : end[k]])
        if np.count_nonzero(~np.isnan(window)) >= minp:
            given = window if raw else obj.iloc[start[k] : end[k]]
            made[k] = function(given, *args, **kwargs)
    return made


_GAP = np.array([1.0, np.nan, 5.0]), np.zeros(1, np.int64), np.full(1, 3), 1, 1.0, False, False, np.ones(2), True
_SHARES = windows.ewm(*_GAP)[2] == 4.0
"""Whether the weights before and after a gap add up to 1 at α = 1/2, as from pandas 3 on."""


@stands_for(windows.ewm)
def ewm(vals, start, end, minp, com, adjust, ignore_na, deltas=None, normalize=True):
    """Exponentially weighted means, or sums where not `normalize`d, in the order in which they are compiled."""
    alpha = 1.0 / (1.0 + com)
    factor, new = 1.0 - alpha, 1.0 if adjust else alpha
    made = np.full(len(vals), np.nan)
    for i in range(len(start)):
        weighted, weight, count = vals[start[i]], 1.0, int(vals[start[i]] == vals[start[i]])
        made[start[i]] = weighted if count >= minp else np.nan
        for k in range(start[i] + 1, end[i]):
            value, is_there = vals[k], vals[k] == vals[k]
            count += int(is_there)
            if weighted == weighted:
                if is_there or not ignore_na:
                    if normalize:
                        weight = weight * factor ** (1.0 if deltas is None else deltas[k - 1])
                    else:
                        weighted = factor * weighted
                    if is_there:
                        if normalize:
                            new = 1.0 - weight if _SHARES and com == 1 and not adjust else new
                            if weighted != value:
                                weighted = (weight * weighted + new * value) / (weight + new)
                            weight = weight + new if adjust else 1.0
                        else:
                            weighted = weighted + value
            elif is_there:
                weighted = value
            made[k] = weighted if count >= minp else np.nan
    return made
