"""Samples of numpy.fft."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sampling import Sample, call, values


def fourier() -> Iterator[Sample]:
    """Even and odd lengths, cut, filled up and whole, along each axis, in every norm."""
    z = values(3, 4, dtype=complex)
    for f in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft):
        for x in (z.real, z) if f is not np.fft.rfft else (z.real,):
            yield call(f, x)
            yield call(f, x, axis=0)
            for n in (1, 3, 6, 7):
                yield call(f, x, n)
                yield call(f, x, n, 0, "forward")
            for norm in ("backward", "ortho", "forward"):
                yield call(f, x, norm=norm)
        yield call(f, values(5))
        yield call(f, values(2, 3, 2), None, 1)
        yield call(f, values(4, dtype=np.float32))
    yield call(np.fft.fft, values(4, dtype=np.complex64))
    yield call(np.fft.irfft, values(3, dtype=np.complex64), 5)
