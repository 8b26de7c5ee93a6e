"""Evenly spaced numbers, and the powers of numbers."""

from __future__ import annotations

import numpy as np

from wengert.extend import jvp_rule, vjp_rule


@vjp_rule(np.linspace, broadcasts=True)
def linspace(y_bar, y, start, stop, *, num=50, endpoint=True, retstep=False, dtype=None, axis=0, device=None):
    """y = (1 - t) start + t stop, where t runs from 0 to 1; the step is a part of stop - start."""
    num = int(num)
    intervals = max(num - 1 if endpoint else num, 1)
    samples = y_bar[0] if retstep else y_bar
    step_bar = y_bar[1] / intervals if retstep else 0
    shape = [1] * np.ndim(samples)
    shape[axis] = num
    t = np.reshape(np.arange(num) / intervals, tuple(shape))
    return np.sum(samples * (1 - t), axis=axis) - step_bar, np.sum(samples * t, axis=axis) + step_bar


@jvp_rule(np.linspace)
def push_linspace(tangents, y, start, stop, *, num=50, endpoint=True, retstep=False, dtype=None, axis=0, device=None):
    num, samples = int(num), y[0] if retstep else y
    intervals = max(num - 1 if endpoint else num, 1)
    start_dot, stop_dot = [across(0.0 if tangent is None else tangent, np.ndim(samples), axis) for tangent in tangents]
    shape = [1] * np.ndim(samples)
    shape[axis] = num
    t = np.reshape(np.arange(num) / intervals, tuple(shape))
    made = start_dot + t * (stop_dot - start_dot)
    step_dot = (stop_dot - start_dot) / intervals
    return (made, np.squeeze(step_dot, axis)) if retstep else made


def across(x, ndim, axis):
    """`x` with a new axis, so that it broadcasts against an array of `ndim` axes."""
    return np.expand_dims(np.reshape(x, (*(1,) * (ndim - 1 - np.ndim(x)), *np.shape(x))), axis)


@vjp_rule(np.arange)
def arange(y_bar, y, start, stop, step, *, dtype=None, device=None, like=None):
    """yₖ = start + k step."""
    return np.sum(y_bar), 0.0, np.sum(y_bar * np.arange(np.size(y)))


@jvp_rule(np.arange)
def push_arange(tangents, y, start, stop, step, *, dtype=None, device=None, like=None):
    start_dot, _, step_dot = [0.0 if tangent is None else tangent for tangent in tangents]
    return start_dot + step_dot * np.arange(np.size(y))


@vjp_rule(np.vander)
def vander(y_bar, y, x, *, N=None, increasing=False):
    """The columns of y are the powers of x, highest first unless `increasing`."""
    rising = y_bar if increasing else np.flip(y_bar, 1)
    slopes = rising[:, 1:] * np.arange(1, np.shape(y)[1])
    powers = np.vander(x, max(np.shape(y)[1] - 1, 0), increasing=True)
    return np.sum(slopes * np.conjugate(powers), axis=1)


@jvp_rule(np.vander)
def push_vander(tangents, y, x, *, N=None, increasing=False):
    columns = np.shape(y)[1]
    powers = np.vander(x, max(columns - 1, 0), increasing=True) * np.arange(1, columns)
    constant = np.zeros((np.shape(x)[0], min(columns, 1)), y.dtype)
    rising = np.concatenate([constant, powers * tangents[0][:, np.newaxis]], axis=1)
    return rising if increasing else np.flip(rising, 1)
