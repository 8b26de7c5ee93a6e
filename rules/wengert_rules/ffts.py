"""Fourier transforms along one axis, of NumPy and, by the same formulas, of SciPy."""

from __future__ import annotations

import numpy as np

from wengert.extend import linear, setitem, vjp_rule


def turned(norm):
    """The norm with which the inverse transform has the factor that the transform has with `norm`."""
    return "ortho" if norm == "ortho" else "backward" if norm == "forward" else "forward"


def fitted(x, shape):
    """`x` cut, or filled up with zeros, to a shape, as transforms do with their argument."""
    if np.shape(x) == shape:
        return x
    common = tuple([slice(min(have, want)) for have, want in zip(np.shape(x), shape, strict=True)])
    return x[common] if np.shape(x[common]) == shape else setitem(np.zeros(shape, x.dtype), common, x[common])


def inside(x, factor, n, axis):
    """Half of a Hermitian spectrum of `n` along `axis`, all multiplied but what is its own conjugate."""
    k = np.arange(np.shape(x)[axis])
    own = np.reshape((k == 0) | (2 * k == n), [-1 if i == axis % np.ndim(x) else 1 for i in range(np.ndim(x))])
    return np.where(own, x, factor * x)


def of_complex(transform, inverse):
    """The rule of a transform of complex numbers: Y = F x  ⇒  x̄ = Fᴴ Ȳ."""

    @vjp_rule(transform)
    def fft(y_bar, y, x, *, n=None, axis=-1, norm=None, **options):
        return fitted(inverse(y_bar, axis=axis, norm=turned(norm)), np.shape(x))

    linear(transform)


def of_real(transform, inverse):
    """The rule of a transform of real numbers to half of their spectrum, whose other half is the conjugate of it."""

    @vjp_rule(transform)
    def rfft(y_bar, y, x, *, n=None, axis=-1, norm=None, **options):
        n = np.shape(x)[axis] if n is None else int(n)
        return fitted(inverse(inside(y_bar, 0.5, n, axis), n, axis, turned(norm)), np.shape(x))

    linear(transform)


def of_half(transform, inverse):
    """The rule of a transform of half of a Hermitian spectrum to real numbers."""

    @vjp_rule(transform)
    def irfft(y_bar, y, x, *, n=None, axis=-1, norm=None, **options):
        x_bar = inside(inverse(y_bar, axis=axis, norm=turned(norm)), 2, np.shape(y)[axis], axis)
        return fitted(x_bar, np.shape(x))

    linear(transform)


of_complex(np.fft.fft, np.fft.ifft)
of_complex(np.fft.ifft, np.fft.fft)
of_real(np.fft.rfft, np.fft.irfft)
of_half(np.fft.irfft, np.fft.rfft)
