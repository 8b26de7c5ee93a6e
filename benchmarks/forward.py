"""What a jvp costs in units of the function, by wengert, by HIPS autograd and by JAX, on the same work.

Run by hand: `python benchmarks/forward.py [repeats]`; needs autograd, and JAX to be compared with (compiled, in
doubles). `grad` is the gradient of the sum of the results. A `-` stands for what a peer cannot do.
"""

import sys
from functools import partial

import autograd
import autograd.numpy
import numpy
from clock import medians

import wengert as wg

try:
    import jax

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

N = 100_000


def chain(np):
    def f(x):
        a = np.sin(x) * x
        b = np.exp(-a * a)
        c = b / (1 + x**2)
        return np.sum(c[1:] * c[:-1]) + np.sum(np.log(c))

    return f


def norm(np):
    return lambda x: np.sqrt(np.sum(x * x))


def curve(np):
    times = numpy.linspace(0, 1, N)
    return lambda t: np.sin(t * times) * np.exp(-t)


def network(np):
    weights = numpy.random.default_rng(0).normal(size=(4, 300, 300)) / 300**0.5

    def f(x):
        for w in weights:
            x = np.tanh(np.dot(x, w))
        return x

    return f


def stencil(np):
    def f(x):
        u = x.copy()
        for _ in range(20):
            u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u

    return f


def numbers(np):
    def f(x):
        s = 0.0
        for i in range(200):
            s = s + x * i / (1 + s * s)
        return s

    return f


WORKS = [
    (chain, numpy.linspace(0.1, 1, N), True),
    (norm, numpy.linspace(0.1, 1, N), True),
    (curve, 0.3, True),
    (network, numpy.full((300, 300), 0.01), True),
    (stencil, numpy.linspace(0.1, 1, N), False),
    (numbers, 0.3, True),
]


def row(make, x, peers, repeats):
    f = make(numpy)
    dot = numpy.ones_like(x) if isinstance(x, numpy.ndarray) else 1.0
    works = {
        "f": partial(f, x),
        "jvp": lambda: wg.jvp(f, (x,), (dot,)),
        "grad": partial(wg.grad(lambda x: numpy.sum(f(x))), x),
    }
    expected = wg.jvp(f, (x,), (dot,))[1]
    if peers:
        theirs = autograd.make_jvp(make(autograd.numpy))
        numpy.testing.assert_allclose(theirs(x)(dot)[1], expected, rtol=1e-8, atol=1e-10)
        works["autograd"] = lambda: theirs(x)(dot)
    if peers and jax is not None:
        plain, pushed = jax.jit(make(jax.numpy)), jax.jit(lambda x, dot: jax.jvp(make(jax.numpy), (x,), (dot,)))
        numpy.testing.assert_allclose(pushed(x, dot)[1], expected, rtol=1e-8, atol=1e-10)
        works["jax f"] = lambda: jax.block_until_ready(plain(x))
        works["jax jvp"] = lambda: jax.block_until_ready(pushed(x, dot))
    t = medians(works, repeats)
    ratios = [t[key] / t["f"] if key in t else None for key in ("jvp", "grad", "autograd")]
    ratios.append(t["jax jvp"] / t["jax f"] if "jax f" in t else None)
    cells = "".join("         -" if ratio is None else f"{ratio:9.1f}x" for ratio in ratios)
    print(f"{make.__name__:10}{1e3 * t['f']:10.3f}{cells}")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    print(f"{'':10}{'f [ms]':>10}{'jvp':>10}{'grad':>10}{'autograd':>10}{'jax':>10}")
    for work in WORKS:
        row(*work, count)
