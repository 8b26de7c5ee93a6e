"""Fourier transforms of each example."""

from __future__ import annotations

import numpy as np

from wengert.extend import batching
from wengert_rules.batches.axes import shifted


@batching(np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft)
def along_axis(batch, x, n=None, axis=-1, *args, **kwargs):
    return batch.fn(x, n, shifted(axis), *args, **kwargs) if batch.first else NotImplemented
