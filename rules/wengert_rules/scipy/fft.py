"""Rules for scipy.fft: transforms over several axes, of which those over one are the case of one number."""

from __future__ import annotations

import numpy as np
import scipy.fft

from wengert.extend import batching, linear, non_differentiable, vjp_rule
from wengert_rules.batches.axes import shifted
from wengert_rules.batches.ffts import along_axis
from wengert_rules.ffts import fitted, inside, turned
from wengert_rules.scipy.optional import present
from wengert_rules.shapes import integers


def over(s, axes, axis, ndim):
    """The axes of a transform: those named, else as many of the last as there are lengths, else all."""
    if axes is None and axis is None:
        return tuple(range(ndim)) if s is None else tuple(range(-np.size(s), 0))
    return integers(axes if axis is None else axis)


def lengths(x, axes, n):
    """Those of a transform of `x` that has `n` numbers along the last of its axes."""
    return (*[np.shape(x)[axis] for axis in axes[:-1]], n)


def of_complex(transform, inverse, default):
    """The rule of a transform of complex numbers: Y = F x  ⇒  x̄ = Fᴴ Ȳ."""

    @vjp_rule(transform)
    def fftn_(
        y_bar, y, x, *, s=None, axes=default, norm=None, overwrite_x=False, workers=None, plan=None, n=None, axis=None
    ):
        return fitted(inverse(y_bar, axes=over(s, axes, axis, np.ndim(x)), norm=turned(norm)), np.shape(x))

    linear(transform)


def of_real(transform, inverse, default):
    """The rule of a transform of real numbers to half of their spectrum, whose other half is the conjugate of it."""

    @vjp_rule(transform)
    def rfftn_(
        y_bar, y, x, *, s=None, axes=default, norm=None, overwrite_x=False, workers=None, plan=None, n=None, axis=None
    ):
        along = over(s, axes, axis, np.ndim(x))
        whole = -1 if s is None and n is None else integers(s if n is None else n)[-1]
        whole = np.shape(x)[along[-1]] if whole == -1 else whole
        half = inside(y_bar, 0.5, whole, along[-1])
        return fitted(inverse(half, lengths(y_bar, along, whole), along, turned(norm)), np.shape(x))

    linear(transform)


def of_half(transform, inverse, default):
    """The rule of a transform of half of a Hermitian spectrum to real numbers."""

    @vjp_rule(transform)
    def irfftn_(
        y_bar, y, x, *, s=None, axes=default, norm=None, overwrite_x=False, workers=None, plan=None, n=None, axis=None
    ):
        along = over(s, axes, axis, np.ndim(x))
        x_bar = inverse(y_bar, axes=along, norm=turned(norm))
        return fitted(inside(x_bar, 2, np.shape(y)[along[-1]], along[-1]), np.shape(x))

    linear(transform)


AXES = (("", -1), ("2", (-2, -1)), ("n", None))
"""The endings of the names of transforms, and the axes that each has by default."""

for declare, kind, inverse in (
    (of_complex, "fft", "ifftn"), (of_complex, "ifft", "fftn"), (of_real, "rfft", "irfftn"),
    (of_real, "ihfft", "hfftn"), (of_half, "irfft", "rfftn"), (of_half, "hfft", "ihfftn"),
):  # fmt: skip
    for ending, default in AXES:
        declare(getattr(scipy.fft, kind + ending), getattr(scipy.fft, inverse), default)


# Transforms by cosines and sines


def weighted(x, axes, places, factor):
    """`x` with what stands at one of `places`, of its first and last, multiplied along each axis."""
    for axis in axes:
        k, n = np.arange(np.shape(x)[axis]), np.shape(x)[axis]
        chosen = (("first" in places) & (k == 0)) | (("last" in places) & (k == n - 1))
        x = np.where(
            np.reshape(chosen, [-1 if i == axis % np.ndim(x) else 1 for i in range(np.ndim(x))]), factor * x, x
        )
    return x


def of_waves(transform, inverse, default, edge, inverts):
    """The rule of a transform by cosines or sines, whose transpose is the inverse but for a factor.

    Where it is not made orthogonal, that holds but for one more at the `edge`: the place of the constant wave, or of
    the one that changes its sign at each step. SciPy looks at `orthogonalize` only where the numbers are real.
    """

    @vjp_rule(transform)
    def dctn_(
        y_bar, y, x, *, type=2, s=None, axes=default, norm=None, overwrite_x=False, workers=None, orthogonalize=None,
        n=None, axis=None,
    ):  # fmt: skip
        along = over(s, axes, axis, np.ndim(x))
        orthogonalize = None if np.iscomplexobj(x) else orthogonalize
        is_odd = not (norm == "ortho" if orthogonalize is None else orthogonalize)
        of = 5 - type if inverts and type in (2, 3) else type
        if is_odd and of == 2:
            y_bar = weighted(y_bar, along, (edge,), 2)
        if is_odd and of == 1 and edge == "first":
            y_bar = weighted(y_bar, along, ("first", "last"), 2)
        x_bar = inverse(y_bar, type, axes=along, norm=turned(norm), orthogonalize=orthogonalize)
        if is_odd and of == 3:
            x_bar = weighted(x_bar, along, (edge,), 0.5)
        if is_odd and of == 1 and edge == "first":
            x_bar = weighted(x_bar, along, ("first", "last"), 0.5)
        return fitted(x_bar, np.shape(x))

    linear(transform)


for kind, inverse, edge in (("dct", "idctn", "first"), ("dst", "idstn", "last")):
    for ending, default in (("", -1), ("n", None)):
        of_waves(getattr(scipy.fft, kind + ending), getattr(scipy.fft, inverse), default, edge, inverts=False)
        of_waves(getattr(scipy.fft, f"i{kind}{ending}"), getattr(scipy.fft, inverse[1:]), default, edge, inverts=True)


@vjp_rule(scipy.fft.fht)
def fht_(y_bar, y, a, *, dln, mu, offset=0.0, bias=0.0):
    """A symmetric matrix: a convolution read backwards, between two equal factors."""
    return scipy.fft.fht(y_bar, dln, mu, offset, bias)


@vjp_rule(scipy.fft.ifht)
def ifht_(y_bar, y, a, *, dln, mu, offset=0.0, bias=0.0):
    return scipy.fft.ifht(y_bar, dln, mu, offset, bias)


linear(scipy.fft.fht, scipy.fft.ifht)
non_differentiable(*present("fft.next_fast_len", "fft.prev_fast_len"))


# Batches


def transforms(kinds, ending):
    return [getattr(scipy.fft, kind + ending) for kind in kinds]


def over_axes(default):
    """The batching rule of transforms over several axes."""

    def shifted_over(batch, x, s=None, axes=default, *args, **kwargs):
        along = shifted(over(s, axes, None, np.ndim(x) - 1))
        return batch.fn(x, s, along, *args, **kwargs) if batch.first else NotImplemented

    return shifted_over


def waves_along_axis(batch, x, type=2, n=None, axis=-1, *args, **kwargs):
    return batch.fn(x, type, n, shifted(axis), *args, **kwargs) if batch.first else NotImplemented


def waves_over_axes(batch, x, type=2, s=None, axes=None, *args, **kwargs):
    along = shifted(over(s, axes, None, np.ndim(x) - 1))
    return batch.fn(x, type, s, along, *args, **kwargs) if batch.first else NotImplemented


KINDS, WAVES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), ("dct", "idct", "dst", "idst")
for ending, default in AXES:
    batching(*transforms(KINDS, ending))(over_axes(default) if ending else along_axis)
batching(*transforms(WAVES, ""))(waves_along_axis)
batching(*transforms(WAVES, "n"))(waves_over_axes)


@batching(scipy.fft.fht, scipy.fft.ifht)
def along_last(batch, a, *args, **kwargs):
    return batch.fn(a, *args, **kwargs) if batch.first else NotImplemented
