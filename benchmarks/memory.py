"""Peak memory of a gradient: by wengert, by HIPS autograd and by PyTorch.

Run by hand: `python benchmarks/memory.py [python ...]`; each other Python is asked for the libraries that this one
lacks. Each gradient runs in a process of its own. Shown is what its resident memory rises by at most, above the
inputs, in MB; first runs on small arrays have made what is made once. The gate: wengert's is at most that of either.
"""

import gc
import importlib
import math
import subprocess
import sys
from functools import partial

import numpy

LIBRARIES = ("wengert", "autograd", "torch")
MB = 1e6

# Each piece of work is written once, for the NumPy that it is given: autograd and PyTorch need their own.


def heat(np, u, k, steps=100):
    """Explicit steps of the heat equation with a conductivity of each cell, in place where the library can."""
    if np.__name__ == "autograd.numpy":
        for _ in range(steps):
            flow = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            u = u + np.pad(k[1:-1, 1:-1] * flow, 1, "constant")
    else:
        u = u.clone() if np.__name__ == "torch" else u.copy()
        for _ in range(steps):
            flow = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            u[1:-1, 1:-1] += k[1:-1, 1:-1] * flow
    return np.sum(u * u)


def heat_of_start(np, u, k):
    """The same for the gradient with respect to the first temperatures only, which needs nothing of the steps."""
    return heat(np, u, k)


def options(np, spot, volatility):
    """The price of a call on each of so many spots, each with a volatility, by Black and Scholes."""
    strike, rate, time = 100.0, 0.02, 1.5
    spread = volatility * math.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread
    d2 = d1 - spread
    return np.sum(spot * normal(np, d1) - strike * math.exp(-rate * time) * normal(np, d2))


def normal(np, x):
    """The cumulative normal distribution, by Abramowitz and Stegun's 26.2.17."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    tail = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = tail * np.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return np.where(x > 0.0, 1.0 - tail, tail)


def field(n):
    """Temperatures and conductivities of n by n cells."""
    random = numpy.random.default_rng(0)
    return random.uniform(size=(n, n)), random.uniform(0.1, 0.2, size=(n, n))


def market(n):
    """Spots and volatilities."""
    random = numpy.random.default_rng(0)
    return random.uniform(80.0, 120.0, n), random.uniform(0.1, 0.5, n)


WORKS = {  # the function, what makes its arguments, their size, how many of them are wanted
    "heat": (heat, field, 512, 2),
    "heat, of u": (heat_of_start, field, 512, 1),
    "options": (options, market, 10**6, 2),
}


def gradient_by(library, f, wanted):
    """A function of the arguments that gives the gradients with respect to the first of them."""
    if library == "torch":
        return partial(by_torch, f, wanted)
    np = importlib.import_module("autograd.numpy") if library == "autograd" else numpy
    grad = importlib.import_module(library).grad
    return grad(partial(f, np), tuple(range(wanted))) if library == "autograd" else by_wengert(grad, f, wanted)


def by_wengert(grad, f, wanted):
    return grad(lambda *args: f(numpy, *args), argnums=tuple(range(wanted)))


def by_torch(f, wanted, *arrays):
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    leaves = [torch.from_numpy(a).requires_grad_(k < wanted) for k, a in enumerate(arrays)]
    f(torch, *leaves).backward()
    return [leaf.grad.numpy() for leaf in leaves[:wanted]]


def measure(name, library):
    """The peak of one gradient above what its inputs take, in bytes; and a sum of its entries, to compare."""
    f, make, n, wanted = WORKS[name]
    gradient = gradient_by(library, f, wanted)
    for _ in range(2):
        gradient(*make(8))
    args = make(n)
    gc.collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts again from here
    before = status("VmRSS")
    gradients = gradient(*args)
    return status("VmHWM") - before, sum(float(numpy.sum(g * g)) for g in gradients)


def status(field):
    """A line of this process's status, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def measured(name, library, pythons):
    """`measure` in a process of its own, by the first Python that has the library; None where none has it."""
    for python in pythons:
        done = subprocess.run([python, __file__, "--one", name, library], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            peak, total = done.stdout.split()
            return int(peak), float(total)
        if "ModuleNotFoundError" not in done.stderr:
            raise RuntimeError(done.stderr)
    return None


def main(pythons):
    print(f"{'peak, MB':14}" + "".join(f"{library:>14}" for library in LIBRARIES) + f"{'gate':>8}")
    for name in WORKS:
        found = [measured(name, library, pythons) for library in LIBRARIES]
        numpy.testing.assert_allclose([total for _, total in filter(None, found)], found[0][1], rtol=1e-6)
        shown = "".join(f"{'not installed' if one is None else format(one[0] / MB, '.0f'):>14}" for one in found)
        held = all(found[0][0] <= one[0] for one in found[1:] if one is not None)
        print(f"{name:14}{shown}{'held' if held else 'MISSED':>8}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(*measure(*sys.argv[2:]))
    else:
        main([sys.executable, *sys.argv[1:]])
