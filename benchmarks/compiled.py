"""Gradients of straight-line programs by optimised tapes, beside gradients that were written by hand in NumPy.

Run by hand: `python benchmarks/compiled.py [repeats [row ...]]`. Each figure is a ratio to the time of the gradient by
hand, medians of turns in one process; "built" is the time until the first gradient, "kept" what the pool of buffers
holds. JAX (jit, 64 bits) is measured where it is installed, on the same functions with its own NumPy.
"""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import compiled_rows
import numpy as np
from clock import medians
from compiled_rows import ROWS, Row

import wengert as wg
from wengert.values.trees import leaves

COLUMNS = ("function", "recorded", "exact", "compiled", "JAX")


def works(row: Row) -> tuple[dict[str, Callable[[], Any]], str]:
    """What is timed of a row, and what is told of its compiled function."""
    args = row.args
    start = time.perf_counter()
    tape = wg.gradtape(row.f, *args, argnums=row.wrt)
    compiled: Any = tape.optimise().compile()
    found = compiled(*args)
    built = time.perf_counter() - start
    check(found, row.by_hand(*args))
    recorded, exact = tape.compile(), tape.optimise(exact=True).compile()
    kept = sum([np.empty(*buffer).nbytes for buffer in compiled.pool.buffers]) if compiled.pool else 0
    table: dict[str, Callable[[], Any]] = {
        "by hand": lambda: row.by_hand(*args),
        "function": lambda: row.f(*args),
        "recorded": lambda: recorded(*args),
        "exact": lambda: exact(*args),
        "compiled": lambda: compiled(*args),
    }
    if find_spec("jax"):
        table["JAX"] = by_jax(row)
    return table, f"{built:8.2f} s {kept / 1e6:7.1f} MB"


def check(found: Any, expected: Any) -> None:
    """Compare gradients with those by hand, by the largest entry of each."""
    mine = [leaf for _, leaf in leaves([found[0], *[g for g in found[1] if g is not None]])]
    for a, (_, b) in zip(mine, leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.max(np.abs(b)))


def by_jax(row: Row) -> Callable[[], Any]:
    """Value and gradient of a row by JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    names = {**vars(compiled_rows), "np": jax.numpy}
    names["normal"] = types.FunctionType(compiled_rows.normal.__code__, names)
    gradient = jax.jit(jax.value_and_grad(types.FunctionType(row.f.__code__, names), row.wrt))
    args = jax.tree.map(jax.numpy.asarray, row.args)
    return lambda: jax.block_until_ready(gradient(*args))


def main(repeats: int = 15, *names: str) -> None:
    """Print the table, of the rows of these names or of all."""
    print(f"{'':20}{'by hand':>12}" + "".join([f"{column:>10}" for column in COLUMNS]) + f"{'built':>10}{'kept':>11}")
    for name, make in ROWS.items():
        if not names or name in names:
            table, told = works(make())
            times = medians(table, repeats)
            hand = times["by hand"]
            ratios = [f"{times[c] / hand:10.2f}" if c in times else f"{'':10}" for c in COLUMNS]
            print(f"{name:20}{hand * 1e6:9.0f} µs{''.join(ratios)}{told}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
