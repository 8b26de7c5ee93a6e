"""PyWavelets: one level of a discrete wavelet transform and its inverse, tap by tap; the others are made of these."""

from __future__ import annotations

import numpy as np
import pywt

from wengert.extend import stands_for


def _filters(wavelet, dtype):
    found = wavelet if isinstance(wavelet, pywt.Wavelet) else pywt.DiscreteContinuousWavelet(wavelet)
    return [np.array(taps, np.float32 if dtype in (np.float32, np.complex64) else float) for taps in found.filter_bank]


@stands_for(pywt.dwt)
def dwt(data, wavelet, mode="symmetric", axis=-1):
    """Every second element of the signal, continued at its ends, convolved with the filters."""
    x = np.moveaxis(np.asarray(data), axis, -1)
    low, high, _, _ = _filters(wavelet, x.dtype)
    size = len(low)
    is_periodic, margin = mode == "periodization", size + size // 2
    count = (x.shape[-1] + 1) // 2 if is_periodic else (x.shape[-1] + size - 1) // 2
    rows = [pywt.pad(row, margin, mode) for row in np.reshape(x, (-1, x.shape[-1]))]
    ahead = np.reshape(np.stack(rows), (*x.shape[:-1], -1))
    first = margin + (size // 2 if is_periodic else 1)
    shown = [ahead[..., first - k : first - k + 2 * count - 1 : 2] for k in range(size)]
    return tuple([np.moveaxis(_weighed(taps, shown), -1, axis) for taps in (low, high)])


def _weighed(taps, parts):
    return sum([tap * part for tap, part in zip(taps, parts, strict=True)])


@stands_for(pywt.idwt)
def idwt(cA, cD, wavelet, mode="symmetric", axis=-1):
    """The coefficients with zeros between them, convolved with the filters; None is zero."""
    _, _, low, high = _filters(wavelet, np.asarray(cD if cA is None else cA).dtype)
    given = [(np.moveaxis(np.asarray(c), axis, -1), taps) for c, taps in ((cA, low), (cD, high)) if c is not None]
    whole, size = sum([_spread(c, taps) for c, taps in given]), len(low)
    length = 2 * given[0][0].shape[-1]
    if mode != "periodization":
        return np.moveaxis(whole[..., size - 2 : length], -1, axis)
    turns = [whole[..., k : k + length] for k in range(0, whole.shape[-1], length)]
    turned = sum([_filled(part, length) for part in turns])
    return np.moveaxis(np.roll(turned, 1 - size // 2, axis=-1), -1, axis)


def _spread(c, taps):
    between = np.reshape(np.stack([c, np.zeros(c.shape, c.dtype)], axis=-1), (*c.shape[:-1], -1))
    ends = [(0, 0)] * (c.ndim - 1)
    return sum([tap * np.pad(between, [*ends, (k, len(taps) - 1 - k)]) for k, tap in enumerate(taps)])


def _filled(part, length):
    return np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, length - part.shape[-1])])
