"""Cheap gradients: for each program, how the work of the gradient grows with n beside the work of the function.

Run by hand: `python benchmarks/cheap_gradients.py [repeats]`. The slope is that of log work over log n: 1 is linear, 2
quadratic. A gradient's slope should be the function's; the constant is the ratio of the two at the largest n. Counted
are the numbers that the calls on a tape read and write, of the function's tape and of the gradient's; and of the
gradient as it runs without a tape, its calls, and the numbers in the arrays that it allocates: what a program allocates
depends on the program alone. Times are medians, and show caches being outgrown.
"""

import operator
import sys
from functools import partial
from pathlib import Path

import numpy as np
from calls import calls
from clock import medians
from growth import reads, stores

import wengert as wg
from wengert.values.functional import additem, setitem

sys.path.append(str(Path(__file__).parent.parent / "tests" / "reverse"))

from allocations import allocations

SIZES = [128, 256, 512]
LARGER = [500, 1000, 2000, 4000]
WRITES = {setitem, additem}


def trace_of_diagonal(x):
    """n² numbers made and n read."""
    return np.trace(np.diag(x))


def trace_of_outer(x):
    return np.trace(np.outer(x, x))


def slices(x):
    """Three neighbours at a time."""
    total = 0.0
    for i in range(len(x) - 2):
        total = total + np.sum(x[i : i + 3] * 0.5)
    return total


def concatenation(x):
    """An array that grows by one number a step, copied each time."""
    y = x[:1]
    for i in range(1, len(x)):
        y = np.concatenate([y, x[i : i + 1] * 2.0])
    return np.sum(y)


def scan(x):
    """A recurrence whose states are all kept."""
    states = [1.0]
    for i in range(len(x)):
        states.append(states[-1] * 0.9 + x[i])
    return sum(states)


def scan_of_arrays(x):
    """A recurrence on arrays of 8, a row of x at each step."""
    h, rows = np.zeros(8), np.resize(np.arange(8), 8)
    for i in range(0, len(x) - 8, 8):
        h = np.tanh(h + x[i + rows])
    return np.sum(h)


def rows_of_a_matrix(x):
    """n rows of n, one at a time."""
    a, total = np.outer(x, x), 0.0
    for i in range(len(x)):
        total = total + np.sum(a[i])
    return total


def entries_of_rows(x):
    """a[i][j]: a view at each step, and one number of it."""
    n = int(len(x) ** 0.5)
    a, total = x[: n * n].reshape(n, n), 0.0
    for i in range(n):
        for j in range(n):
            total = total + a[i][j]
    return total


def entries_of_views(x):
    """A view of all of x at each step, and one number of it."""
    total = 0.0
    for i in range(len(x)):
        total = total + x[::-1][i] * 0.5
    return total


def rows_stored(x):
    """n stores of rows of 4, read again together."""
    y = np.zeros((len(x), 4))
    for i in range(len(x)):
        y[i] = x[i] * np.arange(4.0)
    return np.sum(y * y)


def broadcasts(x):
    """An n by n array of all differences."""
    d = x[:, None] - x[None, :]
    return np.sum(np.exp(-d * d) * (1.0 + x))


def sorting(x):
    return np.sum(np.sort(x) * np.arange(1.0, len(x) + 1))


def products(x):
    """A chain of 8 products of matrices of n numbers."""
    n = int(len(x) ** 0.5)
    a = b = x[: n * n].reshape(n, n) / n
    for _ in range(8):
        b = a @ b
    return np.sum(b)


def stacking(x):
    """A list that grows, stacked at the end."""
    rows = []
    for i in range(len(x) - 3):
        rows.append(x[i : i + 4] * 2.0)
    return np.sum(np.stack(rows) ** 2)


def running_sums(x):
    return np.sum(np.cumsum(x) * np.cumprod(1 + x / len(x)))


def fancy(x):
    """Five numbers at a time, by an array of indices with repetitions."""
    total, places = 0.0, np.array([0, 1, 1, 2, 0])
    for i in range(len(x) - 2):
        total = total + np.sum(x[places + i] ** 2)
    return total


def prefixes(x):
    """The sum of each half: n of n numbers."""
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(x[i // 2 : i])
    return total


PROGRAMS = [
    reads, slices, fancy, prefixes, stores, rows_stored, scan, scan_of_arrays, concatenation, stacking,
    rows_of_a_matrix, entries_of_rows, entries_of_views, trace_of_diagonal, trace_of_outer, broadcasts, sorting,
    running_sums, products,
]  # fmt: skip


def arguments(n):
    return np.linspace(0.1, 0.9, n)


def counted(tape):
    """The numbers that the calls on a tape read and write."""
    return sum(cost(op, tape) for op in tape if isinstance(op, wg.Call))


def cost(op, tape):
    """Of one call: nothing for a view or shape, what an index names, a product's multiplications, else all arrays."""
    args = [tape[a].val if isinstance(a, wg.Variable) else a for a in op.args]
    if op.fn in (operator.matmul, np.matmul):
        return size(op.val) * np.shape(args[0])[-1]
    if op.fn in (np.shape, len):
        return 1
    if op.fn in WRITES:
        return 1 + np.size(args[0][args[1]])
    is_view = isinstance(op.val, np.ndarray) and isinstance(args[0], np.ndarray) and np.shares_memory(op.val, args[0])
    if op.fn is operator.getitem or is_view:
        return 1 if is_view else 1 + np.size(op.val)
    return 1 + size(op.val) + sum(map(size, args))


def size(value):
    """The numbers in arrays, also those in a list."""
    if isinstance(value, (list, tuple)):
        return sum(map(size, value))
    return value.size if isinstance(value, np.ndarray) else 0


def work(f, x):
    """What f and its gradient do: on tapes, and the gradient as it runs."""
    gradient = wg.value_and_grad(f)
    gradient(x)
    with allocations(1) as count:
        gradient(x)
    return {
        "function": counted(wg.trace(f, x)[1]),
        "gradient": counted(wg.gradtape(f, x)),
        "run": calls(gradient, x) + count.bytes / 8,
    }


def slope(sizes, costs):
    """Of the larger half, where what is done once weighs less."""
    return np.polyfit(np.log(sizes), np.log(costs), 1)[0]


def slopes(f, sizes=SIZES):
    """How each kind of work grows, and the ratio of the gradient's to the function's on tapes."""
    found = [work(f, arguments(n)) for n in sizes]
    grown = {kind: slope(sizes, [one[kind] for one in found]) for kind in found[0]}
    return grown, found[-1]["gradient"] / found[-1]["function"]


def main(repeats):
    print(f"{'slopes':20}{'function':>10}{'gradient':>10}{'as run':>10}{'constant':>10}", end="")
    print(f"{'time of f':>12}{'gradient':>10}{'constant':>10}")
    for f in PROGRAMS:
        grown, constant = slopes(f)
        gradient = wg.value_and_grad(f)
        sizes = LARGER if grown["function"] < 1.5 else SIZES
        t = medians({(g, n): partial(g, arguments(n)) for g in (f, gradient) for n in sizes}, repeats)
        times = [slope(sizes, [t[g, n] for n in sizes]) for g in (f, gradient)]
        ratio = t[gradient, sizes[-1]] / t[f, sizes[-1]]
        print(f"{f.__name__:20}" + "".join(f"{s:10.2f}" for s in (*grown.values(), constant)), end="")
        print(f"{times[0]:12.2f}{times[1]:10.2f}{ratio:10.1f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
