"""Gradients of straight-line programs by optimised tapes, beside gradients that were written by hand in NumPy.

Run by hand: `python benchmarks/compiled.py [repeats [row ...]]`. Each figure is a ratio to the time of the gradient by
hand, medians of turns in one process; "built" is the time until the first gradient, "numba" the CPU time until native
code is ready, without a cache, and "kept" what the pool of buffers holds; "threads" is NumPy code with
`parallel=True`. Native code (by numba), autograd, JAX (jit, 64 bits) and torch.compile(wrap_numpy) are measured where
they are installed, the last three on the same functions, autograd and JAX with their NumPy.
"""

from __future__ import annotations

import os
import sys
import time
import types
from collections.abc import Callable
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import compiled_rows
import numpy as np
from clock import print_ratios
from compiled_rows import ROWS, Row

import wengert as wg
from wengert.values.trees import leaves

COLUMNS = ("function", "recorded", "exact", "compiled", "threads", "native", "autograd", "JAX", "torch")


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
    threads = tape.optimise()
    threads.parallel = True
    on_threads = threads.compile()
    kept = sum([np.empty(*buffer).nbytes for buffer in compiled.pool.buffers]) if compiled.pool else 0
    table: dict[str, Callable[[], Any]] = {
        "by hand": lambda: row.by_hand(*args),
        "function": lambda: row.f(*args),
        "recorded": lambda: recorded(*args),
        "exact": lambda: exact(*args),
        "compiled": lambda: compiled(*args),
        "threads": lambda: on_threads(*args),
    }
    ready = ""
    if find_spec("numba"):
        begin = time.process_time()
        native = tape.optimise().compile(native=True)
        ready = f"{time.process_time() - begin:8.2f} s"
        table["native"] = lambda: native(*args)
    if find_spec("autograd"):
        table["autograd"] = by_autograd(row)
    if find_spec("jax"):
        table["JAX"] = by_jax(row)
    if find_spec("torch"):
        table["torch"] = by_torch(row)
    return table, f"{built:8.2f} s{ready:>10} {kept / 1e6:7.1f} MB"


def check(found: Any, expected: Any) -> None:
    """Compare gradients with those by hand, by the largest entry of each."""
    mine = [leaf for _, leaf in leaves([found[0], *[g for g in found[1] if g is not None]])]
    for a, (_, b) in zip(mine, leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.max(np.abs(b)))


def by_jax(row: Row) -> Callable[[], Any]:
    """Value and gradient of a row by JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    gradient = jax.jit(jax.value_and_grad(on(jax.numpy, row.f), row.wrt))
    args = jax.tree.map(jax.numpy.asarray, row.args)
    return lambda: jax.block_until_ready(gradient(*args))


def by_torch(row: Row) -> Callable[[], Any]:
    """Value and gradient of a row by torch.compile, of the function as it is."""
    import torch
    from torch.utils._pytree import tree_leaves, tree_map_only

    torch.set_num_threads(1)
    wrapped = torch.compile(torch.compiler.wrap_numpy(row.f))
    args = tree_map_only((np.ndarray, float), lambda arg: torch.tensor(np.asarray(arg)), row.args)
    wanted = [leaf.requires_grad_() for leaf in tree_leaves([args[i] for i in row.wrt])]

    def gradient() -> tuple[Any, ...]:
        value = wrapped(*args)
        return value, torch.autograd.grad(value, wanted)

    value, grads = gradient()
    check((value.item(), [g.numpy() for g in grads]), row.by_hand(*row.args))
    return gradient


def by_autograd(row: Row) -> Callable[[], Any]:
    """Value and gradient of a row by HIPS autograd."""
    import autograd

    gradient = autograd.value_and_grad(on(autograd.numpy, row.f), row.wrt)
    check(gradient(*row.args), row.by_hand(*row.args))
    return lambda: gradient(*row.args)


def on(module: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the rows, with another module for NumPy in it and in what it calls."""
    names = {**vars(compiled_rows), "np": module}
    own = [g for g in vars(compiled_rows).values() if type(g) is types.FunctionType]
    names |= {g.__name__: types.FunctionType(g.__code__, names) for g in own}
    return types.FunctionType(f.__code__, names)


def main(repeats: int = 15, *names: str) -> None:
    """Print the table, of the rows of these names or of all."""
    with TemporaryDirectory() as folder:
        os.environ["WENGERT_CACHE"] = folder
        print_ratios(ROWS, works, "by hand", COLUMNS, f"{'built':>10}{'numba':>10}{'kept':>11}", repeats, names)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
