"""Samples of scipy.fft, and of what numpy.fft makes of transforms along one axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.fft
from sampling import Sample, call, values

Z = values(3, 4, dtype=complex)
FORMS: list[dict[str, Any]] = [{}, {"s": (4, 7), "axes": (0, -1), "norm": "forward"}, {"s": (-1, 3)}, {"axes": (1, 0)}]


def fourier() -> Iterator[Sample]:
    for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        one, two, many = (getattr(scipy.fft, kind + end) for end in ("", "2", "n"))
        for x in [Z.real] if kind in ("rfft", "ihfft") else [Z.real, Z]:
            yield call(one, x)
            yield call(one, x, 3, 0, "ortho")
            yield call(one, x, n=6, axis=-1, norm="forward", overwrite_x=True)
            yield call(one, x, 7, workers=1)
            for form in FORMS:
                yield call(two, x, **form)
                yield call(many, x, **form)
        yield call(many, values(2, 3, 2), axes=(0, 2))
        yield call(many, values(2, 3, 2), (4, 2))
        yield call(two, values(2, 3, 2, dtype=np.float32))


def waves() -> Iterator[Sample]:
    for kind in ("dct", "idct", "dst", "idst"):
        one, many = getattr(scipy.fft, kind), getattr(scipy.fft, kind + "n")
        for x in (Z.real, Z):
            yield call(one, x)
            yield call(many, x, 3, (2, 6), norm="ortho")
        for which in (1, 2, 3, 4):
            yield call(one, Z.real, which, 6, 0)
            yield call(one, Z.real, which, norm="ortho", orthogonalize=False)
            yield call(one, values(5), which, n=4, norm="forward", orthogonalize=True)
            yield call(many, values(2, 3, 2), which, axes=(0, 1))
            yield call(many, Z.real, which, norm="ortho")


def hankel() -> Iterator[Sample]:
    for f in (scipy.fft.fht, scipy.fft.ifht):
        yield call(f, values(5), 1, 1)  # of whole numbers, which nobody takes for arguments to differentiate
        yield call(f, values(2, 6), 0.1, 0, -0.2, 0.3)


SAMPLES = [*fourier(), *waves(), *hankel()]


def traced() -> Iterator[Sample]:
    for f in (np.fft.fftn, np.fft.ifftn, np.fft.fft2, np.fft.ifft2, np.fft.irfftn, np.fft.irfft2):
        yield call(f, Z)
        yield call(f, Z, (4, 3), (0, 1), "ortho")
    yield call(np.fft.fftn, Z, axes=(1, 1))
    for f in (np.fft.rfftn, np.fft.rfft2):
        yield call(f, Z.real)
        yield call(f, Z.real, s=(4, 3), axes=(1, 0), norm="forward")
    yield call(np.fft.hfft, Z, 7, norm="ortho")
    yield call(np.fft.ihfft, Z.real, 7)
    for library in (np.fft, scipy.fft):
        yield call(library.fftshift, Z)
        yield call(library.ifftshift, Z, axes=1)
        yield call(library.fftfreq, 5, 0.3)
        yield call(library.rfftfreq, 6, d=0.3)
    yield call(scipy.fft.fhtoffset, 0.1, 0.5, 0.2, 0.3)


TRACED = list(traced())
