"""How the cost of a gradient grows with the length of a loop: no steeper than that of the function.

Run by hand: `python benchmarks/growth.py [repeats]`. The slope is that of log time over log n: 1 is linear. For a
gradient it is given of the calls made too, in Python and in C, which depend on the program alone. Time also shows the
caches being outgrown, as no program avoids that keeps something of each step: `keep` does nothing but that.
"""

import sys
from functools import partial

import numpy as np
from calls import calls
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


def keep(x):
    """The reads, with a line kept of each of their two operations: the least that a tape can be."""
    lines, total = [], 0.0
    for i in range(len(x)):
        y = x[i]
        lines.append(("getitem", y, (0, None), (x, i), None, i))
        z = y * 0.5
        lines.append(("mul", z, (i, None), (y, 0.5), None, i))
        total += z
    return total


def slope(costs):
    return np.polyfit(np.log(SIZES), np.log(costs), 1)[0]


def main(repeats):
    print(f"{'milliseconds':14}" + "".join(f"{f'n={n}':>10}" for n in SIZES) + f"{'time':>8}{'calls':>8}")
    for f in (reads, stores, updates, keep):
        works = {"f": f} if f is keep else {"f": f, "gradient": wg.value_and_grad(f)}
        arrays = {n: np.full(n, 0.5) for n in SIZES}
        t = medians({(kind, n): partial(g, x) for kind, g in works.items() for n, x in arrays.items()}, repeats)
        for kind, g in works.items():
            times = [t[kind, n] for n in SIZES]
            line = f"{f.__name__ if kind == 'f' else '  gradient':14}" + "".join(f"{1e3 * s:10.2f}" for s in times)
            counted = f"{slope([calls(g, x) for x in arrays.values()]):8.2f}" if kind == "gradient" else ""
            print(f"{line}{slope(times):8.2f}{counted}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
