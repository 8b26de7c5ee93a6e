"""Means and variances of Python's `statistics`, whose exact fractions no derivative passes through."""

from __future__ import annotations

import statistics

from wengert.extend import pullback
from wengert_rules.elementwise import nonzero


@pullback(statistics.mean, sequence=0)
def mean(y_bar, y, *data):
    """∂y/∂xᵢ = 1/n."""
    return (y_bar / len(data),) * len(data)


@pullback(statistics.variance, sequence=0)
def variance(y_bar, y, *data, xbar=None):
    """∂y/∂xᵢ = 2 (xᵢ - x̄)/(n - 1)."""
    return tuple([2 * y_bar / (len(data) - 1) * d for d in deviations(data, xbar)])


@pullback(statistics.pvariance, sequence=0)
def pvariance(y_bar, y, *data, mu=None):
    """∂y/∂xᵢ = 2 (xᵢ - μ)/n."""
    return tuple([2 * y_bar / len(data) * d for d in deviations(data, mu)])


@pullback(statistics.stdev, sequence=0)
def stdev(y_bar, y, *data, xbar=None):
    """∂y/∂xᵢ = (xᵢ - x̄)/((n - 1) y); 0 where all are equal."""
    return tuple([y_bar / ((len(data) - 1) * nonzero(y)) * d for d in deviations(data, xbar)])


@pullback(statistics.pstdev, sequence=0)
def pstdev(y_bar, y, *data, mu=None):
    """∂y/∂xᵢ = (xᵢ - μ)/(n y); 0 where all are equal."""
    return tuple([y_bar / (len(data) * nonzero(y)) * d for d in deviations(data, mu)])


def deviations(data, centre):
    centre = sum(data) / len(data) if centre is None else centre
    return [x - centre for x in data]
