"""Recursive filters: Σ aₖ yₙ₋ₖ = Σ bₖ xₙ₋ₖ, and filters between two rates of sampling."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import convolve1d, median_filter
from scipy.signal import lfilter, upfirdn

from wengert.extend import RuleError, jvp_rule, multilinear, setitem, stands_for, vjp_rule
from wengert_rules.ffts import fitted
from wengert_rules.products import conj
from wengert_rules.scipy.boundaries import part
from wengert_rules.scipy.optional import present


def row(x):
    """The coefficients of a polynomial, of which a number is one."""
    return np.reshape(np.asarray(x), (-1,))


def lengthened(x, count):
    """`x` with so many zeros behind it."""
    return np.concatenate([x, np.zeros((*np.shape(x)[:-1], count), x.dtype)], axis=-1)


def lags(later, x, count):
    """Σₙ laterₙ₊ₖ x*ₙ over all rows, for each k below `count`, by which number `later` has more in a row, less one."""
    ahead = np.reshape(later, (-1,))
    return np.correlate(lengthened(ahead, count - 1), np.reshape(lengthened(x, count - 1), (-1,)), "valid")


def beyond(tail, a):
    """The state in which the filter 1/a starts after giving `tail`, its last value first."""
    order = np.size(a) - 1
    i = np.arange(order)
    return -fitted(tail, (*np.shape(tail)[:-1], order)) @ lengthened(a, order)[i[:, np.newaxis] + i + 1]


def onward(y_bar, tail_bar, a, count):
    """λₙ = ȳₙ - Σ a*ₖ λₙ₊ₖ along the last axis, from the end on, where λ is `tail_bar`, or zero."""
    if tail_bar is None:
        return lengthened(np.flip(lfilter(np.ones(1), conj(a), np.flip(y_bar, -1)), -1), count)
    if np.size(a) == 1:
        return np.concatenate([y_bar, tail_bar], axis=-1)
    head, _ = lfilter(np.ones(1), conj(a), np.flip(y_bar, -1), zi=beyond(tail_bar, conj(a)))
    return np.concatenate([np.flip(head, -1), tail_bar], axis=-1)


@vjp_rule(lfilter, broadcasts=True)
def lfilter_(y_bar, y, b, a, x, axis=-1, zi=None):
    """With the coefficients divided by a₀, and all continued: a * y + zf = b * x + zi, each of which λ multiplies."""
    lead, order = row(a)[0], max(np.size(a), np.size(b)) - 1
    over, under = conj(row(b) / lead), row(a) / lead
    values_bar, tail_bar = (y_bar, None) if zi is None else y_bar
    values = y if zi is None else y[0]
    tail_bar = None if tail_bar is None else np.swapaxes(tail_bar, axis, -1)
    multiplier = onward(np.swapaxes(values_bar, axis, -1), tail_bar, under, order)
    x_bar = np.flip(lfilter(over, np.ones(1), np.flip(multiplier, -1)), -1)[..., : np.shape(x)[axis]]
    to_b = lags(multiplier, np.swapaxes(x, axis, -1), order + 1)[: np.size(b)]
    to_a = -lags(multiplier, np.swapaxes(values, axis, -1), order + 1)[1 : np.size(a)]
    to_lead = -np.sum(to_b * over) - np.sum(to_a * conj(under[1:]))
    a_bar = np.concatenate([np.reshape(to_lead, (1,)), to_a]) / conj(lead)
    zi_bar = np.swapaxes(multiplier[..., :order], axis, -1)
    return (
        np.reshape(to_b / conj(lead), np.shape(b)),
        np.reshape(a_bar, np.shape(a)),
        np.swapaxes(x_bar, axis, -1),
        None,
        zi_bar,
    )


@jvp_rule(lfilter)
def push_lfilter(tangents, y, b, a, x, axis=-1, zi=None):
    """a * ẏ = b * ẋ + ḃ * x - ȧ * y, with the coefficients divided by a₀."""
    b_dot, a_dot, x_dot, *others = tangents
    zi_dot = others[1] if len(others) > 1 else None
    lead, values = row(a)[0], y if zi is None else y[0]
    fed = [] if b_dot is None else [(row(b_dot) / lead, x)]
    if a_dot is not None:
        slope = row(a_dot)[0] / lead
        fed += [((row(a) * slope - row(a_dot)) / lead, values), (-row(b) * slope / lead, x)]
    if x_dot is not None:
        fed.append((row(b) / lead, x_dot))
    if zi is None:
        return sum([lfilter(over, row(a) / lead, signal, axis) for over, signal in fed])
    under, state = fitted(row(a) / lead, (max(np.size(a), np.size(b)),)), np.zeros(np.shape(y[1]), y[1].dtype)
    made = [lfilter(over, under, signal, axis, state) for over, signal in fed]
    if zi_dot is not None:
        made.append(lfilter(row(b) / lead, under, np.zeros(np.shape(x)), axis, state + zi_dot))
    return sum([part[0] for part in made]), sum([part[1] for part in made])


@stands_for(*present("signal._sosfilt._sosfilt"))
def sosfilt_in_python(sos, x, zi):
    """Each section filters the rows of x in place; their states stand in zi."""
    for k in range(np.shape(sos)[0]):
        values, state = lfilter(sos[k, :3], sos[k, 3:], x, zi=zi[:, k])
        x[...] = values
        zi[:, k] = state


@vjp_rule(upfirdn)
def upfirdn_(y_bar, y, h, x, *, up=1, down=1, axis=-1, mode="constant", cval=0):
    """yₙ = Σ hᵢ xₖ over i + k up = n down: the adjoint in x goes from the rate of y to that of x."""
    if mode != "constant" or cval != 0:
        raise RuleError(
            f"upfirdn has no derivative with mode={mode!r} and cval={cval!r}. Use mode='constant' and cval=0"
        )
    late = -(np.size(h) - 1) % up
    mirrored = np.concatenate([np.zeros(late, h.dtype), np.flip(conj(h))])
    first, count = (np.size(h) - 1 + late) // up, np.shape(x)[axis]
    read = part(upfirdn(mirrored, y_bar, down, up, axis), axis, first, first + count)
    x_bar = fitted(read, np.shape(x))
    h_bar = matches(spaced(y_bar, axis, down), spaced(x, axis, up), np.size(h))
    return h_bar, x_bar


def spaced(x, axis, step):
    """`x` with step - 1 zeros behind each element along an axis, which is the last one then."""
    x = np.swapaxes(x, axis, -1)
    return setitem(np.zeros((*np.shape(x)[:-1], np.shape(x)[-1] * step), x.dtype), (..., slice(None, None, step)), x)


def matches(later, x, count):
    """Σₙ laterₙ₊ₖ x*ₙ over all rows, for each k below `count`, by Fourier transforms."""
    n = np.shape(later)[-1] + np.shape(x)[-1]
    spectrum = np.fft.fft(later, n) * conj(np.fft.fft(x, n))
    found = np.fft.ifft(np.sum(spectrum, axis=tuple(range(np.ndim(spectrum) - 1))))[:count]
    return fitted(found, (count,))


multilinear(upfirdn)


@stands_for(*present("signal._spline.sepfir2d"))
def sepfir2d_in_python(input, hrow, hcol):
    """An image reflected at its edges, convolved along each axis."""
    return convolve1d(convolve1d(input, hrow, -1, mode="reflect"), hcol, 0, mode="reflect")


@stands_for(*present("signal._sigtools._medfilt2d"))
def medfilt2d_in_python(input, size):
    return median_filter(input, tuple(size), mode="constant")


@stands_for(*present("_lib.array_api_compat.numpy.linalg.solve"))
def solve_in_python(x1, x2):
    """By this name the states in which filters rest are solved for."""
    return np.linalg.solve(x1, x2)
