"""Means and variances of Python's `statistics`, whose exact fractions no derivative passes through."""

from __future__ import annotations

import statistics

from wengert.extend import jvp_rule, vjp_rule
from wengert_rules.elementwise import nonzero
from wengert_rules.products import weighted


@vjp_rule(statistics.mean, sequence=0)
def mean(y_bar, y, *data):
    """∂y/∂xᵢ = 1/n."""
    return (y_bar / len(data),) * len(data)


@jvp_rule(statistics.mean)
def push_mean(tangents, y, *data):
    return weighted(mean(1.0, y, *data), tangents)


@vjp_rule(statistics.variance, sequence=0)
def variance(y_bar, y, *data, xbar=None):
    """∂y/∂xᵢ = 2 (xᵢ - x̄)/(n - 1)."""
    return tuple([2 * y_bar / (len(data) - 1) * d for d in deviations(data, xbar)])


@jvp_rule(statistics.variance)
def push_variance(tangents, y, *data, xbar=None):
    return weighted(variance(1.0, y, *data, xbar=xbar), tangents)


@vjp_rule(statistics.pvariance, sequence=0)
def pvariance(y_bar, y, *data, mu=None):
    """∂y/∂xᵢ = 2 (xᵢ - μ)/n."""
    return tuple([2 * y_bar / len(data) * d for d in deviations(data, mu)])


@jvp_rule(statistics.pvariance)
def push_pvariance(tangents, y, *data, mu=None):
    return weighted(pvariance(1.0, y, *data, mu=mu), tangents)


@vjp_rule(statistics.stdev, sequence=0)
def stdev(y_bar, y, *data, xbar=None):
    """∂y/∂xᵢ = (xᵢ - x̄)/((n - 1) y); 0 where all are equal."""
    return tuple([y_bar / ((len(data) - 1) * nonzero(y)) * d for d in deviations(data, xbar)])


@jvp_rule(statistics.stdev)
def push_stdev(tangents, y, *data, xbar=None):
    return weighted(stdev(1.0, y, *data, xbar=xbar), tangents)


@vjp_rule(statistics.pstdev, sequence=0)
def pstdev(y_bar, y, *data, mu=None):
    """∂y/∂xᵢ = (xᵢ - μ)/(n y); 0 where all are equal."""
    return tuple([y_bar / (len(data) * nonzero(y)) * d for d in deviations(data, mu)])


@jvp_rule(statistics.pstdev)
def push_pstdev(tangents, y, *data, mu=None):
    return weighted(pstdev(1.0, y, *data, mu=mu), tangents)


def deviations(data, centre):
    centre = sum(data) / len(data) if centre is None else centre
    return [x - centre for x in data]
