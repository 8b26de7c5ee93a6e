"""Gradients of loops by `wg.compile`, beside gradients that were written by hand in NumPy, and JAX's `scan`.

Run by hand: `python benchmarks/compiled_loops.py [repeats [row ...]]`. Each figure is a ratio to the time of the
gradient by hand, medians of turns in one process, guards included; "built" is the time of the first call by NumPy
and by native code, which is kept on disk from one process to the next. JAX (jit, 64 bits) runs the same objective
rewritten with `lax.scan`, which the others do not need.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from clock import print_ratios
from loop_rows import ROWS, Row

import wengert as wg
from wengert.values.trees import leaves

COLUMNS = ("function", "eager", "NumPy", "native", "JAX")


def works(row: Row) -> tuple[dict[str, Callable[[], Any]], str]:
    """What is timed of a row, and what is told of the building."""
    args, built = row.args, []
    eager = wg.value_and_grad(row.f, argnums=row.wrt)
    table: dict[str, Callable[[], Any]] = {
        "by hand": lambda: row.by_hand(*args),
        "function": lambda: row.f(*args),
        "eager": lambda: eager(*args),
    }
    expected = row.by_hand(*args)
    for name, native in (("NumPy", False), ("native", True)):
        if native and not find_spec("numba"):
            continue
        compiled = wg.compile(eager, native=native)
        start = time.perf_counter()
        compiled(*args)
        built.append(time.perf_counter() - start)
        check(compiled(*args), expected)
        table[name] = lambda compiled=compiled: compiled(*args)
    if find_spec("jax") and row.by_scan is not None:
        table["JAX"] = by_jax(row, expected)
    return table, "".join([f"{seconds:8.2f} s" for seconds in built])


def check(found: Any, expected: Any) -> None:
    """Compare values and gradients, by the largest entry of each."""
    for (_, a), (_, b) in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.max(np.abs(b)))


def by_jax(row: Row, expected: Any) -> Callable[[], Any]:
    """Value and gradient of a row by JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    gradient = jax.jit(jax.value_and_grad(row.by_scan, row.wrt))
    args = jax.tree.map(jax.numpy.asarray, row.args)
    check(jax.tree.map(np.asarray, gradient(*args)), jax.tree.map(np.asarray, expected))
    return lambda: jax.block_until_ready(gradient(*args))


def main(repeats: int = 15, *names: str) -> None:
    """Print the table, of the rows of these names or of all."""
    print_ratios(ROWS, works, "by hand", COLUMNS, f"{'built':>10}", repeats, names)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
