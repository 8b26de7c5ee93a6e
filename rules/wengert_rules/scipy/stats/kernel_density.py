"""Kernel density estimates: a sum of normal densities about points, which SciPy computes in C."""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg
from scipy.stats import _stats

from wengert.extend import stands_for

PRECISIONS = ("float", "double", "long double")


def squares(points, xi, cho_cov):
    """The squared distance of each point from each place, in terms of the covariance."""
    points = linalg.solve_triangular(cho_cov, points.T, lower=True).T
    xi = linalg.solve_triangular(cho_cov, xi.T, lower=True).T
    return np.sum((points[:, np.newaxis] - xi) ** 2, axis=-1)


def log_norm(cho_cov):
    return -np.sum(np.log(np.diagonal(cho_cov))) - np.shape(cho_cov)[0] * math.log(2 * math.pi) / 2


@stands_for(*[_stats.gaussian_kernel_estimate[precision] for precision in PRECISIONS])
def gaussian_kernel_estimate(points, values, xi, cho_cov, dtype):
    kernels = np.exp(log_norm(cho_cov) - squares(points, xi, cho_cov) / 2)
    return (kernels.T @ values).astype(dtype)


@stands_for(*[_stats.gaussian_kernel_estimate_log[precision] for precision in PRECISIONS])
def gaussian_kernel_estimate_log(points, values, xi, cho_cov, dtype):
    logs = log_norm(cho_cov) - squares(points, xi, cho_cov)[..., np.newaxis] / 2 + np.log(values[:, np.newaxis])
    highest = np.max(logs, axis=0)
    return (highest + np.log(np.sum(np.exp(logs - highest), axis=0))).astype(dtype)
