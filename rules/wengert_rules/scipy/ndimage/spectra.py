"""Filters of spectra, each a product with fixed numbers."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import fourier_ellipsoid, fourier_gaussian, fourier_shift, fourier_uniform

from wengert.extend import linear, vjp_rule


@vjp_rule(fourier_gaussian)
def fourier_gaussian_(y_bar, y, input, *, sigma, n=-1, axis=-1, output=None):
    return fourier_gaussian(y_bar, sigma, n, axis)


@vjp_rule(fourier_uniform)
def fourier_uniform_(y_bar, y, input, *, size, n=-1, axis=-1, output=None):
    return fourier_uniform(y_bar, size, n, axis)


@vjp_rule(fourier_ellipsoid)
def fourier_ellipsoid_(y_bar, y, input, *, size, n=-1, axis=-1, output=None):
    return fourier_ellipsoid(y_bar, size, n, axis)


@vjp_rule(fourier_shift)
def fourier_shift_(y_bar, y, input, *, shift, n=-1, axis=-1, output=None):
    """Turns of phases, which are undone by a shift back."""
    return fourier_shift(y_bar, np.negative(shift), n, axis)


linear(fourier_gaussian, fourier_uniform, fourier_ellipsoid, fourier_shift)
