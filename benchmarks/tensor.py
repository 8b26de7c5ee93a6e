"""Gradients of tensor functions beside the same gradients by hand in NumPy, by JAX (jit) and by PyTorch.

Run by hand: `python benchmarks/tensor.py [repeats] [name]`; JAX, PyTorch and numba are measured where they are there.
Milliseconds at the largest size, in one process, medians of repeats taken in turns. The slopes are those of log time
over log size between the two largest sizes, of function and gradient; the gradient's must be no more.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
from clock import medians
from tensor_works import WORKS, Work

import wengert as wg
from wengert.tensor.native import has_compiler

Gradient = Callable[[], object]


def ours(work: Work, args: tuple[Any, ...], backend: str) -> Gradient:
    f = wg.tensor.function(work.program, backend=backend).grad(work.argnums)
    return lambda: f(*args)


def in_jax(work: Work, args: tuple[Any, ...]) -> Gradient:
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    f = jax.jit(jax.grad(lambda *a: work.peer(jnp, *a), work.argnums))
    held = [jnp.asarray(a) for a in args]
    return lambda: jax.block_until_ready(f(*held))


class TorchNumpy:
    """PyTorch under the names that the works use."""

    def __init__(self, torch: Any) -> None:
        self.sqrt, self.log, self.trace, self.diag = torch.sqrt, torch.log, torch.trace, torch.diag
        self.zeros_like, self.where, self.concatenate = torch.zeros_like, torch.where, torch.cat
        self.sum = lambda x, axis=None: x.sum() if axis is None else x.sum(axis)


def in_torch(work: Work, args: tuple[Any, ...]) -> Gradient:
    import torch

    torch.set_num_threads(1)
    held = [torch.tensor(a) for a in args]
    wanted = [held[k].requires_grad_() for k in work.argnums]
    names = TorchNumpy(torch)
    return lambda: torch.autograd.grad(work.peer(names, *held), wanted)


def gradients(work: Work, args: tuple[Any, ...]) -> dict[str, Gradient]:
    """Each way to the gradient that there is."""
    found = {"by hand": lambda: work.gradient(*args), "numpy": ours(work, args, "numpy")}
    if has_compiler():
        found["native"] = ours(work, args, "native")
    for name, make in (("jax", in_jax), ("torch", in_torch)):
        if importlib.util.find_spec(name):
            found[name] = make(work, args)
    return found


def agree(work: Work, found: dict[str, Gradient]) -> None:
    """All ways give the same gradient."""
    expected = found["by hand"]()
    for name, gradient in found.items():
        for x, y in zip(gradient(), expected, strict=True):
            np.testing.assert_allclose(np.asarray(x), y, rtol=1e-6, err_msg=f"{work.name}, {name}")


def slope(smaller: float, larger: float, work: Work) -> float:
    return log(larger / smaller) / log(work.sizes[-1] / work.sizes[-2])


def measured(work: Work, repeats: int) -> tuple[dict[str, float], float, float]:
    """Seconds of each way at the largest size; slopes of function and gradient by the fastest of ours."""
    args, before = work.args(work.sizes[-1]), work.args(work.sizes[-2])
    found = gradients(work, args)
    agree(work, found)
    times = medians(found, repeats)
    best = min((name for name in times if name in ("numpy", "native")), key=times.__getitem__)
    f = wg.tensor.function(work.program, backend=best)
    grown = medians({"f": lambda: f(*args), "f before": lambda: f(*before), "g": ours(work, before, best)}, repeats)
    return times, slope(grown["f before"], grown["f"], work), slope(grown["g"], times[best], work)


def main(repeats: int, only: str) -> None:
    ways = ["by hand", "numpy", "native", "jax", "torch"]
    print(f"{'milliseconds':24}{'n':>9}" + "".join(f"{way:>10}" for way in ways) + f"{'slope f':>9}{'slope g':>9}")
    for work in WORKS:
        if only in work.name:
            times, of_function, of_gradient = measured(work, repeats)
            columns = "".join(f"{times[way] * 1e3:10.3f}" if way in times else f"{'-':>10}" for way in ways)
            print(f"{work.name:24}{work.sizes[-1]:9}{columns}{of_function:9.2f}{of_gradient:9.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, sys.argv[2] if len(sys.argv) > 2 else "")
