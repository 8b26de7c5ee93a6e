"""What the gradient of each kind of array function costs, against the function: a small constant, at every size.

Run by hand: `python benchmarks/rule_costs.py [repeats [names]]`. Of each function the times of `f` and of its value and
gradient in milliseconds, their ratio, and the slopes of log time over log n from 10,000 elements on, where the fixed
cost of tracing a call has gone. A slope of the gradient that is more than 0.1 above that of the function is marked. Of
`dot`, `trace` and `diagonal` it has to be: they only read, and a gradient is a new array as large as the argument.
"""

import sys
from functools import partial

import numpy as np
from clock import medians

import wengert as wg

SIZES = [1_000, 10_000, 100_000, 1_000_000]
LARGE = slice(1, None)  # of the sizes, those that the slopes are of


def vector(n):
    """Numbers whose product is 1, so that no accumulation leaves the floats."""
    x = np.random.default_rng(n).uniform(0.5, 2.0, n)
    return x / np.exp(np.mean(np.log(x)))


def with_zeros(n):
    x = vector(n)
    x[[n // 3, n // 2]] = 0
    return x


def short_rows(n):
    return vector(n)[: n // 4 * 4].reshape(-1, 4)


def square(n):
    side = int(n**0.5)
    return vector(side * side).reshape(side, side) + 3 * np.sqrt(side) * np.eye(side)


def order(x):
    return np.random.default_rng(0).permutation(x.size)


def written(x):
    y = np.zeros(len(x))
    y[::2] = x[::2]
    y[order(x)[: len(x) // 2]] += 1.0
    return y


def added_at(x):
    y = np.zeros(len(x))
    np.add.at(y, order(x) // 2, x)
    return y


def maximum_at(x):
    y = np.zeros(len(x))
    np.maximum.at(y, order(x) // 2, x)
    return y


FUNCTIONS = {
    "x * x + x": (lambda x: x * x + x, vector),
    "exp(sin(x))": (lambda x: np.exp(np.sin(x)), vector),
    "x ** 1.5": (lambda x: x**1.5, vector),
    "maximum(x, 1)": (lambda x: np.maximum(x, 1.0), vector),
    "where": (lambda x: np.where(x > 1, x, 0.5 * x), vector),
    "clip": (lambda x: np.clip(x, 0.7, 1.2), vector),
    "rows + a row": (lambda x: x + x[0], short_rows),
    "rows * a column": (lambda x: x * x[:, :1], short_rows),
    "sum": (np.sum, vector),
    "sum(axis=1)": (lambda x: np.sum(x, axis=1), short_rows),
    "mean": (np.mean, vector),
    "var": (np.var, vector),
    "std(axis=1)": (lambda x: np.std(x, axis=1), short_rows),
    "max": (np.max, vector),
    "ptp": (np.ptp, vector),
    "prod": (np.prod, vector),
    "prod with zeros": (np.prod, with_zeros),
    "prod(axis=1)": (lambda x: np.prod(x, axis=1), short_rows),
    "logaddexp.reduce": (np.logaddexp.reduce, vector),
    "cumsum": (np.cumsum, vector),
    "cumprod": (np.cumprod, vector),
    "cumprod with zeros": (np.cumprod, with_zeros),
    "cumprod(axis=1)": (lambda x: np.cumprod(x, axis=1), short_rows),
    "maximum.accumulate": (np.maximum.accumulate, vector),
    "true_divide.accumulate": (np.true_divide.accumulate, vector),
    "logaddexp.accumulate": (np.logaddexp.accumulate, vector),
    "add.reduceat": (lambda x: np.add.reduceat(x, np.arange(0, len(x), 5)), vector),
    "subtract.outer": (lambda x: np.subtract.outer(x[: int(len(x) ** 0.5)], x[: int(len(x) ** 0.5)]), vector),
    "add.at": (added_at, vector),
    "maximum.at": (maximum_at, vector),
    "sort": (np.sort, vector),
    "partition": (lambda x: np.partition(x, len(x) // 2), vector),
    "sum of the smallest": (lambda x: np.partition(x, len(x) // 2)[: len(x) // 2], vector),
    "median": (np.median, vector),
    "quantile": (lambda x: np.quantile(x, [0.1, 0.5, 0.9]), vector),
    "average": (lambda x: np.average(x, weights=x), vector),
    "x[1:] - x[:-1]": (lambda x: x[1:] - x[:-1], vector),
    "diff": (np.diff, vector),
    "x[indices]": (lambda x: x[order(x)], vector),
    "x[mask]": (lambda x: x[x > 1], vector),
    "take": (lambda x: np.take(x, order(x)), vector),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argsort(x, axis=1), 1), short_rows),
    "writes": (written, vector),
    "repeat": (lambda x: np.repeat(x, 3), vector),
    "tile": (lambda x: np.tile(x, 3), vector),
    "tile of columns": (lambda x: np.tile(x[:, :1], 3), short_rows),
    "roll": (lambda x: np.roll(x, 5), vector),
    "flip": (lambda x: np.flip(x), vector),
    "pad": (lambda x: np.pad(x, 5, mode="edge"), vector),
    "concatenate": (lambda x: np.concatenate([x, x]), vector),
    "stack": (lambda x: np.stack([x, x], axis=1), vector),
    "transpose": (lambda x: np.ascontiguousarray(x.T), square),
    "meshgrid": (lambda x: np.meshgrid(x[: int(len(x) ** 0.5)], x[: int(len(x) ** 0.5)])[0], vector),
    "diag of a vector": (lambda x: np.diag(x[: int(len(x) ** 0.5)]), vector),
    "diagonal": (np.diagonal, square),
    "trace": (np.trace, square),
    "tril": (np.tril, square),
    "A @ A": (lambda a: a @ a, square),
    "dot": (lambda x: np.dot(x, x), vector),
    "outer": (lambda x: np.outer(x[: int(len(x) ** 0.5)], x[: int(len(x) ** 0.5)]), vector),
    "einsum ij,ij->i": (lambda x: np.einsum("ij,ij->i", x, x), short_rows),
    "kron": (lambda x: np.kron(x[: int(len(x) ** 0.5)], x[: int(len(x) ** 0.5)]), vector),
    "convolve": (lambda x: np.convolve(x, x[:5]), vector),
    "interp": (lambda x: np.interp(x, np.linspace(0, 5, 50), np.linspace(0, 5, 50) ** 2), vector),
    "sliding windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 4).mean(-1), vector),
    "histogram": (lambda x: np.histogram(x, bins=20, range=(0, 5), weights=x)[0], vector),
    "bincount": (lambda x: np.bincount(order(x) // 3, weights=x), vector),
    "solve": (lambda a: np.linalg.solve(a, a[0]), square),
    "inv": (np.linalg.inv, square),
    "det": (lambda a: np.linalg.slogdet(a)[1], square),
    "cholesky": (lambda a: np.linalg.cholesky(a @ a.T), square),
    "norm": (np.linalg.norm, vector),
    "eigh": (lambda a: np.linalg.eigh(a + a.T)[0], square),
    "svd": (lambda a: np.linalg.svd(a)[1], square),
    "qr": (lambda a: np.linalg.qr(a)[0], square),
}
CUBIC = {"A @ A", "solve", "inv", "det", "cholesky", "eigh", "svd", "qr"}  # up to 100,000 elements


def total(f, x):
    return np.sum(f(x))


def slope(sizes, times):
    return np.polyfit(np.log(sizes[LARGE]), np.log(times[LARGE]), 1)[0]


def line(name, repeats):
    """One line of the table."""
    f, make = FUNCTIONS[name]
    sizes = SIZES[: 3 if name in CUBIC else None]
    g = partial(total, f)
    works = {"f": g, "gradient": wg.value_and_grad(g)}
    t = medians({(kind, n): partial(work, make(n)) for kind, work in works.items() for n in sizes}, repeats)
    times = {kind: np.array([t[kind, n] for n in sizes]) for kind in works}
    cells = [
        f"{1e3 * a:8.3f}{1e3 * b:9.3f}{b / a:6.1f}" for a, b in zip(times["f"], times["gradient"], strict=True)
    ] + [" " * 23] * (len(SIZES) - len(sizes))
    of_f, of_gradient = (slope(sizes, times[kind]) for kind in works)
    return f"{name:24}{' '.join(cells)} {of_f:6.2f}{of_gradient:6.2f}{' *' if of_gradient > of_f + 0.1 else ''}"


def main(repeats=5, *names):
    print(" " * 24 + " ".join(f"{f'n={n}: f, gradient, ratio':>23}" for n in SIZES) + "  slopes")
    for name in names or FUNCTIONS:
        print(line(name, int(repeats)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
