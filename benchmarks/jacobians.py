"""Jacobians, Hessians and products with them by wengert and by HIPS autograd, on the same work.

Run by hand: `python benchmarks/jacobians.py [repeats]`; needs autograd. Times are in milliseconds. autograd's
Jacobians are by reverse mode.
"""

import sys
from functools import partial

import autograd
import autograd.numpy
import numpy
from clock import medians

import wengert as wg


def layers(np, n, m):
    """Three layers of a network as a function of its n inputs, with m results."""
    random = numpy.random.default_rng(0)
    sizes = [(n, n), (n, n), (m, n)]
    weights = [random.normal(size=size) / n**0.5 for size in sizes]

    def f(x):
        for w in weights:
            x = np.tanh(np.dot(w, x))
        return x

    return f


def rosenbrock(np):
    def f(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    return f


JACOBIANS = [("square", 30, 30), ("wide", 5, 200), ("tall", 200, 5), ("large", 200, 200)]
HESSIANS = [5, 50, 200]
PRODUCTS = [5, 1000, 100_000]


def jacobians(repeats):
    print(f"{'Jacobian':18}{'jacobian':>10}{'jacrev':>10}{'jacfwd':>10}{'autograd':>10}{'faster':>9}")
    for name, n, m in JACOBIANS:
        f, x = layers(numpy, n, m), numpy.linspace(-1, 1, n)
        ways = {way.__name__: way(f) for way in (wg.jacobian, wg.jacrev, wg.jacfwd)}
        works = {**ways, "autograd": autograd.jacobian(layers(autograd.numpy, n, m))}
        compare(f"{name} {n} → {m}", works, (x,), "jacobian", repeats)


def hessians(repeats):
    print(f"\n{'Hessian':18}{'hessian':>10}{'autograd':>10}{'faster':>9}")
    for n in HESSIANS:
        works = {"ours": wg.hessian(rosenbrock(numpy)), "autograd": autograd.hessian(rosenbrock(autograd.numpy))}
        compare(f"of {n} numbers", works, (numpy.linspace(-1, 1, n),), "ours", repeats)


def products(repeats):
    print(f"\n{'H v':18}{'hvp':>10}{'vhp':>10}{'gradient':>10}{'autograd':>10}{'faster':>9}")
    for n in PRODUCTS:
        f, x = rosenbrock(numpy), numpy.linspace(-1, 1, n)
        theirs = autograd.hessian_vector_product(rosenbrock(autograd.numpy))
        works = {
            "hvp": partial(wg.hvp, f),
            "vhp": partial(wg.vhp, f),
            "gradient": partial(gradient, f),
            "autograd": theirs,
        }
        compare(f"of {n} numbers", works, (x, numpy.ones(n)), "hvp", repeats)


def gradient(f, x, v):
    return wg.grad(f)(x)


def compare(name, works, args, ours, repeats):
    """Print the times of pieces of work that give the same, to rounding, and how much faster `ours` is."""
    expected = works["autograd"](*args)
    for key, work in works.items():
        if key != "gradient":
            numpy.testing.assert_allclose(work(*args), expected, rtol=1e-8, atol=1e-10)
    t = medians({key: partial(work, *args) for key, work in works.items()}, repeats)
    times = "".join(f"{1e3 * seconds:10.3f}" for seconds in t.values())
    print(f"{name:18}{times}{t['autograd'] / t[ours]:8.1f}x")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    jacobians(count)
    hessians(count)
    products(count)
