"""Radial basis functions: the matrices that SciPy computes in C, written with NumPy, smooth where the functions are."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import _rbfinterp_pythran

from wengert.extend import stands_for
from wengert_rules.scipy.spatial.distances import power


def thin_plate_spline(s):
    """r² log r."""
    return np.where(s == 0, 0.0, 0.5 * s * np.log(np.where(s == 0, 1.0, s)))


OF_SQUARE = {
    "linear": lambda s: -power(s, 0.5),
    "thin_plate_spline": thin_plate_spline,
    "cubic": lambda s: power(s, 1.5),
    "quintic": lambda s: -power(s, 2.5),
    "multiquadric": lambda s: -np.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / np.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: np.exp(-s),
}


def kernels(kernel, x, y):
    """The functions around each y, at each x, of the squares of their distances."""
    return OF_SQUARE[kernel](np.sum((x[:, np.newaxis] - y) ** 2, axis=-1))


@stands_for(_rbfinterp_pythran._polynomial_matrix)
def monomials(x, powers):
    return np.prod(x[:, np.newaxis] ** powers, axis=-1)


@stands_for(_rbfinterp_pythran._kernel_matrix)
def kernel_matrix(x, kernel):
    return kernels(kernel, x, x)


@stands_for(_rbfinterp_pythran._build_system)
def system(y, d, smoothing, kernel, epsilon, powers):
    """The functions and the monomials at the points, and the values; how the monomials' domain is moved and scaled."""
    low, high = np.min(y, axis=0), np.max(y, axis=0)
    shift, scale = (high + low) / 2, (high - low) / 2
    scale = np.where(scale == 0, 1.0, scale)
    polynomial = monomials((y - shift) / scale, powers)
    none = np.zeros((len(powers), len(powers)))
    radial = kernels(kernel, y * epsilon, y * epsilon) + np.diag(smoothing)
    left = np.concatenate([np.concatenate([radial, polynomial], 1), np.concatenate([polynomial.T, none], 1)])
    return left, np.concatenate([d, np.zeros((len(powers), d.shape[1]))]), shift, scale


@stands_for(_rbfinterp_pythran._build_evaluation_coefficients)
def evaluation_coefficients(x, y, kernel, epsilon, powers, shift, scale):
    return np.concatenate([kernels(kernel, x * epsilon, y * epsilon), monomials((x - shift) / scale, powers)], axis=1)
