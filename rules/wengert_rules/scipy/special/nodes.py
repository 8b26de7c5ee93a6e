"""Sums over nodes on a new last axis: integrals of positive functions, means under them, and what lies in a tail."""

from __future__ import annotations

import numpy as np

STEP = 0.08
TAU = np.arange(-3.9, 6.0, STEP)
DECAYS = np.exp(TAU - np.exp(-TAU))
WEIGHTS = STEP * (1 + np.exp(-TAU)) * DECAYS
"""Nodes and weights of the integral from 0 to ∞ of what falls as exp(-t) does, singular at 0 or not.

Source: Takahasi, Mori, Double exponential formulas for numerical integration (1974).
"""
FARTHEST = 300.0  # in log u, beyond which nothing is left
SPACINGS = np.linspace(0.0, 1.0, 257)


def spread(*args):
    """The arguments with a last axis on which nodes can stand."""
    return [np.expand_dims(np.asarray(a, float), -1) for a in args]


def grid(low, high):
    """Nodes from `low` to `high`, and the logarithm of their distance; the trapezoidal rule of what vanishes there."""
    low, high = spread(low, high)
    return low + (high - low) * SPACINGS, np.log((high - low)[..., 0] * SPACINGS[1])


def sinh_grid(centre, width, left, right):
    """Nodes from centre - left to centre + right, densest at the centre, and the logarithms of their weights."""
    tau, step = grid(-np.arcsinh(left / width), np.arcsinh(right / width))
    centre, width, step = spread(centre, width, step)
    return centre + width * np.sinh(tau), np.log(width * np.cosh(tau)) + step


def shares(logs):
    """e^l over the sum of all e^l."""
    parts = np.exp(logs - np.max(logs, axis=-1, keepdims=True))
    return parts / np.sum(parts, axis=-1, keepdims=True)


def log_sum(logs):
    """The logarithm of the sum of all e^l."""
    largest = np.max(logs, axis=-1, keepdims=True)
    return largest[..., 0] + np.log(np.sum(np.exp(logs - largest), axis=-1))


def mean(weights, values):
    return np.sum(weights * values, axis=-1)


def in_tail(f, x, args, to_left, width):
    """∫ f(u, *args) du, of positive u, from 0 to x or from x to ∞: of f that goes on a scale of log u about `width`."""
    x, width, to_left, *args = spread(x, width, to_left, *args)
    u = x * np.exp(np.where(to_left, -1.0, 1.0) * np.minimum(width * DECAYS, FARTHEST))
    return np.sum(WEIGHTS * width * u * f(u, *args), axis=-1)


def beyond(f, x, args, to_left, width):
    """∫ f(u, *args) du from -∞ to x or from x to ∞, of f that goes on a scale of about `width`."""
    x, width, to_left, *args = spread(x, width, to_left, *args)
    u = x + np.where(to_left, -1.0, 1.0) * width * DECAYS
    return np.sum(WEIGHTS * width * f(u, *args), axis=-1)
