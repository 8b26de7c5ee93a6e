"""Batches of examples by `vmap`, beside the loop over the examples and, where it is installed, autograd's loop.

Run by hand: `python benchmarks/batches.py [repeats]`. Times are medians in milliseconds, taken in turns.
"""

import sys

import numpy as np
from clock import medians

import wengert as wg

EXAMPLES = 256


def network(np):
    """The loss of one example by a network with two hidden layers of 32, for the NumPy that it is given."""

    def loss(parameters, x, y):
        w1, b1, w2, b2, w3, b3 = parameters
        hidden = np.tanh(np.dot(np.tanh(np.dot(x, w1) + b1), w2) + b2)
        return np.sum((np.dot(hidden, w3) + b3 - y) ** 2)

    return loss


def data():
    random = np.random.default_rng(0)
    shapes = [(8, 32), (32,), (32, 32), (32,), (32, 1), (1,)]
    parameters = tuple(random.normal(size=shape) / 3 for shape in shapes)
    return parameters, random.normal(size=(EXAMPLES, 8)), random.normal(size=(EXAMPLES, 1))


def stacked(gradients):
    return [np.stack(parts) for parts in zip(*gradients, strict=True)]


def gradients_of_each_example():
    """What each example's loss has for a gradient."""
    parameters, xs, ys = data()
    gradient = wg.grad(network(np))
    ways = {
        "vmap": lambda: wg.vmap(gradient, (None, 0, 0))(parameters, xs, ys),
        "loop": lambda: stacked([gradient(parameters, x, y) for x, y in zip(xs, ys, strict=True)]),
    }
    try:
        import autograd
        import autograd.numpy
    except ImportError:
        return ways
    theirs = autograd.grad(network(autograd.numpy))
    ways["autograd"] = lambda: stacked([theirs(parameters, x, y) for x, y in zip(xs, ys, strict=True)])
    return ways


def gradient_of_the_mean():
    """The gradient of the mean loss: of vmap, and of the loss written for the whole batch, which it can at best be."""
    parameters, xs, ys = data()
    each = wg.vmap(network(np), (None, 0, 0))
    whole = network(np)
    by_vmap, by_hand = wg.grad(lambda p: np.mean(each(p, xs, ys))), wg.grad(lambda p: whole(p, xs, ys) / EXAMPLES)
    return {"of vmap": lambda: by_vmap(parameters), "by hand": lambda: by_hand(parameters)}


def rows_of_a_jacobian():
    """All rows of a Jacobian R^64 → R^256: one walk back on all seeds, and one for each."""
    random = np.random.default_rng(0)
    w1, w2, x = random.normal(size=(64, 64)) / 8, random.normal(size=(256, 64)) / 8, random.normal(size=64)
    _, pullback = wg.vjp(lambda x: np.tanh(w2 @ np.tanh(w1 @ x)), x)
    seeds = np.eye(256)
    return {
        "vmap": lambda: wg.vmap(pullback)(seeds)[0],
        "loop": lambda: np.stack([pullback(seed)[0] for seed in seeds]),
    }


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    for work in (gradients_of_each_example, gradient_of_the_mean, rows_of_a_jacobian):
        times = medians(work(), repeats)
        first = next(iter(times.values()))
        told = [f"{name} {1000 * time:.2f} ({time / first:.1f})" for name, time in times.items()]
        print(f"{work.__name__.replace('_', ' ')}: {', '.join(told)}")


if __name__ == "__main__":
    main()
