"""The logistic function and its kin, and sums of exponentials."""

from __future__ import annotations

import numpy as np
from scipy import special

from wengert.extend import batching, is_complex, jvp_rule, partials, vjp_rule
from wengert_rules.batches.axes import of_example, shifted
from wengert_rules.products import conj


@partials(special.expit)
def expit(y, x):
    return y * special.expit(-x)


@partials(special.logit)
def logit(y, p):
    return 1 / (p * (1 - p))


@partials(special.log_expit)
def log_expit(y, x):
    return special.expit(-x)


@vjp_rule(special.softmax)
def softmax(y_bar, y, x, *, axis=None):
    shares = y_bar * conj(y)
    return shares - conj(y) * np.sum(shares, axis=axis, keepdims=True)


@jvp_rule(special.softmax)
def push_softmax(tangents, y, x, *, axis=None):
    shares = y * tangents[0]
    return shares - y * np.sum(shares, axis=axis, keepdims=True)


@vjp_rule(special.log_softmax)
def log_softmax(y_bar, y, x, *, axis=None):
    return y_bar - conj(np.exp(y)) * np.sum(y_bar, axis=axis, keepdims=True)


@jvp_rule(special.log_softmax)
def push_log_softmax(tangents, y, x, *, axis=None):
    return tangents[0] - np.sum(np.exp(y) * tangents[0], axis=axis, keepdims=True)


def kept(x, a, axis):
    """A result of a reduction of `a` with the axes that it went over."""
    return np.reshape(x, np.shape(np.sum(a, axis=axis, keepdims=True)))


def weights(y, a, axis, b, return_sign):
    """exp(a - y), the weight of each b; with the sign of the sum, where that is apart. 0 where the sum is."""
    log = kept(y[0] if return_sign else y, spread(a, b), axis)
    found = np.exp(a - np.where(log == -np.inf, 0, log))
    return found * np.conj(kept(y[1], spread(a, b), axis)) if return_sign else found


def spread(a, b):
    """The terms in the shape of what is summed."""
    return a if b is None else a + np.zeros(np.shape(b))


@vjp_rule(special.logsumexp, broadcasts=True)
def logsumexp(y_bar, y, a, axis=None, b=None, *, keepdims=False, return_sign=False):
    """y = log Σ b exp(a), or its real part with exp of its imaginary one, the sign."""
    cotangent = kept(turned(y_bar, y) if return_sign else y_bar, spread(a, b), axis)
    share = cotangent * conj(weights(y, a, axis, b, return_sign))
    return share if b is None else share * conj(b), None, None if b is None else share


def turned(y_bar, y):
    """The cotangent of the complex logarithm, from those of its real part and of the sign."""
    if not is_complex(y[1]):
        return y_bar[0]
    return y_bar[0] + 1j * np.real(conj(y_bar[1]) * 1j * y[1])


@jvp_rule(special.logsumexp)
def push_logsumexp(tangents, y, a, axis=None, b=None, *, keepdims=False, return_sign=False):
    moved = 0.0 if tangents[0] is None else tangents[0] if b is None else b * tangents[0]
    moved = moved if b is None or tangents[2] is None else moved + tangents[2]
    share = weights(y, a, axis, b, return_sign) * moved
    tangent = np.reshape(np.sum(share, axis=axis, keepdims=True), np.shape(y[0] if return_sign else y))
    if not return_sign:
        return tangent
    return np.real(tangent), 1j * y[1] * np.imag(tangent) if is_complex(y[1]) else None


@batching(special.softmax, special.log_softmax, special.logsumexp)
def along_axes(batch, x, axis=None, *args, **kwargs):
    if not batch.first or np.ndim(x) == 1:
        return NotImplemented
    return batch.fn(x, of_example(x) if axis is None else shifted(axis), *args, **kwargs)
