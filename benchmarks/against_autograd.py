"""Gradients by wengert and by HIPS autograd on the same work, and what tracing costs where nothing is traced.

Run by hand: `python benchmarks/against_autograd.py [repeats]`; needs autograd. Times are in milliseconds.
"""

import math
import sys
from functools import partial

import autograd
import autograd.numpy
import numpy
from clock import medians

import wengert as wg

# Each piece of work is written once, for the NumPy that it is given: autograd needs its own.


class Scalars:
    """Functions of floats, for wengert; autograd's stand in its own NumPy."""

    sin = math.sin


def recurrence(np):
    """1000 steps on Python floats, 7 operations each."""

    def f(x):
        y = x
        for _ in range(1000):
            y = y + 0.01 * (x - y * y) + 0.001 * np.sin(y)
        return y

    return f, (0.7,)


def small_mlp(np):
    """Two hidden layers of 16, a batch of 8: nearly all the time is overhead per operation."""
    random = numpy.random.default_rng(0)
    inputs, targets = random.normal(size=(8, 4)), random.normal(size=(8, 1))

    def f(w1, b1, w2, b2, w3, b3):
        a = np.tanh(inputs @ w1 + b1)
        a = np.tanh(a @ w2 + b2)
        error = a @ w3 + b3 - targets
        return np.sum(error * error)

    shapes = [(4, 16), (16,), (16, 16), (16,), (16, 1), (1,)]
    return f, tuple(random.normal(size=shape) / 4 for shape in shapes)


def mixture(np):
    """Log-likelihood of 2000 points in 4 dimensions under 8 normal distributions."""
    random = numpy.random.default_rng(0)
    points = random.normal(size=(2000, 4))

    def f(logits, mean, log_deviation):
        z = (points[:, None, :] - mean) * np.exp(-log_deviation)
        terms = logits - np.sum(log_deviation, axis=1) - 0.5 * np.sum(z * z, axis=2)
        top = np.max(terms, axis=1, keepdims=True)
        total = np.sum(np.log(np.sum(np.exp(terms - top), axis=1)) + top[:, 0])
        return total - 2000 * np.log(np.sum(np.exp(logits)))

    return f, tuple(random.normal(size=size) / 2 for size in (8, (8, 4), (8, 4)))


GATES = [  # the work, the NumPy that wengert is given, how much faster than autograd it has to be
    ("float loop", recurrence, Scalars, 15),
    ("small MLP", small_mlp, numpy, 4),
    ("GMM", mixture, numpy, 1),
]


def gradients(repeats):
    print(f"{'gradient of':14}{'function':>10}{'wengert':>10}{'autograd':>10}{'faster':>9}{'gate':>7}")
    for name, make, namespace, gate in GATES:
        (f, args), (f_autograd, _) = make(namespace), make(autograd.numpy)
        places = tuple(range(len(args)))
        ours = wg.value_and_grad(f, argnums=places)
        theirs = autograd.value_and_grad(f_autograd, places)
        check(ours(*args), theirs(*args))
        works = {"f": f, "ours": ours, "theirs": theirs}
        t = medians({key: partial(work, *args) for key, work in works.items()}, repeats)
        times = "".join(f"{1e3 * t[key]:10.3f}" for key in works)
        print(f"{name:14}{times}{t['theirs'] / t['ours']:8.1f}x{gate:6}x")


def check(ours, theirs):
    """The same value and the same gradients, to rounding."""
    numpy.testing.assert_allclose(ours[0], theirs[0], rtol=1e-10)
    for a, b in zip(ours[1], theirs[1], strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def untraced(repeats):
    """The same functions inside a trace in which nothing depends on the one traced argument.

    Each runs many times in one trace, so that this is what hooks cost, and not what opening a trace costs.
    """
    print(f"\n{'untraced':14}{'plain':>10}{'wengert':>10}{'slower':>10}{'gate':>7}")
    for name, make, namespace, _ in GATES:
        f, args = make(namespace)
        many = 200 if name == "small MLP" else 5

        def repeated(dummy, f=f, args=args, many=many):
            for _ in range(many):
                f(*args)
            return dummy

        runs = {"plain": partial(repeated, 0.0), "traced": partial(wg.value_and_grad(repeated), 0.0)}
        t = {run: seconds / many for run, seconds in medians(runs, repeats).items()}
        times = f"{1e3 * t['plain']:10.3f}{1e3 * t['traced']:10.3f}{t['traced'] / t['plain']:9.1f}x"
        print(f"{name:14}{times}{'2x' if namespace is numpy else '-':>7}")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 41
    gradients(count)
    untraced(count)
