"""The transforms of scipy.fftpack: those of scipy.fft, real spectra in another order."""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.fftpack

from wengert.extend import stands_for

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
"""Of each type of a transform by cosines or sines the one that undoes it but for a factor."""


def along_one(transform):
    def along(x, n=None, axis=-1, overwrite_x=False):
        return transform(x, n, axis)

    return along


def along_some(transform, default):
    def along(x, shape=None, axes=default, overwrite_x=False):
        refuse_unequal(x, shape, axes)
        return transform(x, shape, axes)

    return along


def waves_along_one(transform, type_of):
    def along(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):
        return transform(x, type_of[type], n, axis, norm)

    return along


def waves_along_some(transform, type_of):
    def along(x, type=2, shape=None, axes=None, norm=None, overwrite_x=False):
        refuse_unequal(x, shape, axes)
        return transform(x, type_of[type], shape, axes, norm)

    return along


def refuse_unequal(x, shape, axes):
    if shape is not None and axes is None and np.size(shape) != np.ndim(x):
        raise ValueError("when given, axes and shape arguments have to be of the same length")


for name in ("fft", "ifft"):
    stands_for(getattr(scipy.fftpack, name))(along_one(getattr(scipy.fft, name)))
    for ending, default in (("2", (-2, -1)), ("n", None)):
        stands_for(getattr(scipy.fftpack, name + ending))(along_some(getattr(scipy.fft, f"{name}n"), default))

for name in ("dct", "dst"):
    of = getattr(scipy.fft, name), getattr(scipy.fft, f"{name}n")
    for before, type_of in (("", {k: k for k in INVERSE}), ("i", INVERSE)):
        stands_for(getattr(scipy.fftpack, before + name))(waves_along_one(of[0], type_of))
        stands_for(getattr(scipy.fftpack, f"{before}{name}n"))(waves_along_some(of[1], type_of))


@stands_for(scipy.fftpack.rfft)
def rfft(x, n=None, axis=-1, overwrite_x=False):
    """The real parts and behind each its imaginary part, but for those that are 0 in any spectrum of real numbers."""
    if np.iscomplexobj(x):
        raise TypeError("x must be a real sequence")
    x = np.moveaxis(np.asarray(x), axis, -1)
    n = np.shape(x)[-1] if n is None else n
    spectrum = scipy.fft.rfft(x, n)
    parts = np.stack([spectrum.real, spectrum.imag], axis=-1)
    flat = np.reshape(parts, (*np.shape(spectrum)[:-1], -1))
    return np.moveaxis(np.concatenate([flat[..., :1], flat[..., 2 : n + 1]], axis=-1), -1, axis)


@stands_for(scipy.fftpack.irfft)
def irfft(x, n=None, axis=-1, overwrite_x=False):
    if np.iscomplexobj(x):
        raise TypeError("x must be a real sequence")
    x = np.moveaxis(np.asarray(x), axis, -1)
    n = np.shape(x)[-1] if n is None else n
    x = x[..., :n]
    flat = np.zeros((*np.shape(x)[:-1], n // 2 * 2 + 2), np.result_type(x, np.float32))
    flat[..., 0] = x[..., 0]
    flat[..., 2 : np.shape(x)[-1] + 1] = x[..., 1:]
    return np.moveaxis(scipy.fft.irfft(flat[..., ::2] + 1j * flat[..., 1::2], n), -1, axis)
