"""How the time of a gradient grows with the length of a loop: no steeper than that of the function.

Run by hand: `python benchmarks/growth.py [repeats]`. The slope is that of log time over log n: 1 is linear.
"""

import sys
from functools import partial

import numpy as np
from clock import medians

import wengert as wg

SIZES = [1_000, 3_000, 10_000, 30_000, 100_000]


def reads(x):
    """n reads of an array of n."""
    return sum(x[i] * 0.5 for i in range(len(x)))


def stores(x):
    """n stores into an array of n, each read again."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] * y[i - 1] + 1.0
    return np.sum(y)


def updates(x):
    """n in-place additions to one array."""
    y = np.zeros(10)
    for i in range(len(x)):
        y[i % 10] += x[i]
    return np.sum(y)


def slope(times):
    return np.polyfit(np.log(SIZES), np.log(times), 1)[0]


def main(repeats):
    print(f"{'milliseconds':14}" + "".join(f"{f'n={n}':>10}" for n in SIZES) + f"{'slope':>8}")
    for f in (reads, stores, updates):
        gradient = wg.value_and_grad(f)
        works = {}
        for n in SIZES:
            x = np.full(n, 0.5)
            works["f", n] = partial(f, x)
            works["gradient", n] = partial(gradient, x)
        t = medians(works, repeats)
        for kind in ("f", "gradient"):
            times = [t[kind, n] for n in SIZES]
            label = f.__name__ if kind == "f" else "  gradient"
            print(f"{label:14}" + "".join(f"{1e3 * s:10.2f}" for s in times) + f"{slope(times):8.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
