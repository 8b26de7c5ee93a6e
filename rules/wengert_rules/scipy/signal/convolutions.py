"""Convolutions and correlations of arrays of any number of axes."""

from __future__ import annotations

import numpy as np
import scipy.signal
from scipy.signal import correlate

from wengert.extend import multilinear, setitem, stands_for, vjp_rule
from wengert_rules.products import conj
from wengert_rules.scipy.boundaries import continued
from wengert_rules.scipy.optional import present


def in_full(y_bar, n, m, mode):
    """`y_bar` at its place in the convolution of arrays of shapes n and m without anything cut off."""
    if mode == "full":
        return y_bar
    pairs = list(zip(n, m, strict=True))
    starts = [(b - 1) // 2 if mode == "same" else min(a, b) - 1 for a, b in pairs]
    place = tuple([slice(start, start + k) for start, k in zip(starts, np.shape(y_bar), strict=True)])
    return setitem(np.zeros([a + b - 1 for a, b in pairs], y_bar.dtype), place, y_bar)


@vjp_rule(scipy.signal.convolve)
def convolve_(y_bar, y, in1, in2, *, mode="full", method="auto"):
    """yₖ = Σ aᵢ vₖ₋ᵢ  ⇒  āᵢ = Σ ȳₖ v*ₖ₋ᵢ, a correlation, and the same for v."""
    every = in_full(y_bar, np.shape(in1), np.shape(in2), mode)
    return correlate(every, in2, "valid", method), correlate(every, in1, "valid", method)


@vjp_rule(correlate)
def correlate_(y_bar, y, in1, in2, *, mode="full", method="auto"):
    """The convolution of the first with the second read backwards, and conjugate."""
    every = in_full(y_bar, np.shape(in1), np.shape(in2), mode)
    in1_bar = scipy.signal.convolve(every, in2, "valid", method)
    return in1_bar, np.flip(conj(correlate(every, in1, "valid", method)))


multilinear(scipy.signal.convolve, correlate)

BOUNDARIES = {0: "constant", 4: "symmetric", 8: "wrap", 16: "reflect"}


@stands_for(*present("signal._sigtools._convolve2d"))
def convolve2d_in_python(in1, in2, flip, mode, boundary, fillvalue):
    """A convolution or correlation of the whole that it reads; modes 0, 1 and 2 are "valid", "same" and "full"."""
    kernel = in2 if flip else np.flip(in2)
    for axis, m in enumerate(np.shape(kernel)):
        ahead = (0, m // 2 if flip else (m - 1) // 2, m - 1)[mode]
        behind = (0, m - 1 - ahead, m - 1)[mode]
        in1 = continued(in1, axis, (ahead, behind), BOUNDARIES[boundary], fillvalue)
    return scipy.signal.convolve(in1, kernel, "valid")
