"""Derivatives of tensor functions beside the same by hand in NumPy, by JAX (jit) and by PyTorch.

Run by hand: `python benchmarks/tensor.py [repeats] [name]`; JAX, PyTorch and numba are measured where they are there.
Milliseconds at a size that all can hold, in one process, medians of repeats taken in turns. `ratio` is the faster of
the two back ends over the better of JAX and NumPy by hand. The slopes are those of log time over log size, by least
squares over all sizes, of the function and of its derivative in that back end, and of the points that their loops
visit; the derivative's must be no more.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("src", "rules", "tests/corpus")]

import numpy as np  # noqa: E402
import tensor_dense  # noqa: E402
import tensor_sparse  # noqa: E402
import tensor_stencils  # noqa: E402
from clock import medians  # noqa: E402
from tensor_works import Work  # noqa: E402

import wengert as wg  # noqa: E402
from wengert.tensor.planning.loops import cheapest_steps, points  # noqa: E402
from wengert.values.kernel_cache import has_compiler  # noqa: E402

WORKS = (*tensor_dense.WORKS, *tensor_stencils.WORKS, *tensor_sparse.WORKS)
WAYS = ("by hand", "numpy", "native", "jax", "torch")
SLOPES = ("f time", "g time", "f points", "g points")

Run = Callable[[], object]


def mapped(convert: Callable[[Any], Any], x: Any) -> Any:
    """An argument with its arrays converted, also those in a tuple."""
    if isinstance(x, tuple):
        return tuple(mapped(convert, part) for part in x)
    return convert(x.toarray() if hasattr(x, "toarray") else x)


def functions(work: Work, backend: str) -> tuple[Any, Any]:
    """The program and its derivative as tensor functions."""
    f = wg.tensor.function(work.program, backend=backend)
    return f, work.derivative.ours(f, work.argnums)


def in_jax(work: Work, args: tuple[Any, ...]) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    g = jax.jit(work.derivative.peer(jax, lambda *a: work.peer(jnp, *a), work.argnums))
    held = mapped(jnp.asarray, args)
    return lambda: jax.block_until_ready(g(*held))


class TorchNumpy:
    """PyTorch under the names that the works use."""

    def __init__(self, torch: Any) -> None:
        for name in ("sqrt", "log", "sin", "cos", "trace", "diag", "zeros_like", "where", "stack"):
            setattr(self, name, getattr(torch, name))
        self.concatenate = torch.cat
        self.sum = lambda x, axis=None: x.sum() if axis is None else x.sum(axis)


def in_torch(work: Work, args: tuple[Any, ...]) -> Run:
    import torch

    torch.set_num_threads(1)
    names = TorchNumpy(torch)
    g = work.derivative.peer(torch.func, lambda *a: work.peer(names, *a), work.argnums)
    held = mapped(torch.tensor, args)
    return lambda: g(*held)


def ways(work: Work, args: tuple[Any, ...]) -> dict[str, Run]:
    """Each way to the derivative that there is."""
    found: dict[str, Run] = {"by hand": partial(work.by_hand, *args)}
    for backend in ("numpy", "native") if has_compiler() else ("numpy",):
        found[backend] = partial(functions(work, backend)[1], *args)
    for name, make in (("jax", in_jax), ("torch", in_torch)):
        if importlib.util.find_spec(name):
            found[name] = make(work, args)
    return found


def agree(work: Work, found: dict[str, Run]) -> None:
    """All ways give the same derivative."""
    expected = list(arrays(found["by hand"]()))
    for name, run in found.items():
        for x, y in zip(arrays(run()), expected, strict=True):
            tolerance = 1e-9 * np.max(np.abs(y))
            np.testing.assert_allclose(x, y, rtol=1e-6, atol=tolerance, err_msg=f"{work.name}, {name}")


def arrays(x: Any) -> Iterator[np.ndarray]:
    if isinstance(x, tuple):
        for part in x:
            yield from arrays(part)
    else:
        yield np.asarray(x)


# ---- growth ----


def visited(f: Any, args: tuple[Any, ...]) -> float:
    """About how many points the loops of a tensor function visit, all nests together."""
    instance = f.instance(args)
    plan = instance.plan(instance.values(f.given(args))[1])
    pieces = [p for nest in plan.nests for p in nest.pieces]
    return sum(points(cheapest_steps(p.ranges, p.where, plan.counts), p.ranges, plan.counts) for p in pieces)


def slopes(work: Work, backend: str, repeats: int) -> list[float]:
    """Of time and of points visited, of the function and of its derivative."""
    f, g = functions(work, backend)
    runs: dict[Any, Run] = {}
    counted: dict[Any, float] = {}
    for n in work.sizes:
        args = work.args(n)
        own = args[: len(f.parameters)]
        runs |= {("f", n): partial(f, *own), ("g", n): partial(g, *args)}
        counted |= {("f", n): visited(f, own), ("g", n): visited(g, args)}
    times = medians(runs, repeats)
    return [slope(work, [of[kind, n] for n in work.sizes]) for of in (times, counted) for kind in "fg"]


def slope(work: Work, costs: list[float]) -> float:
    return np.polyfit(np.log(work.sizes), np.log(np.maximum(costs, 1e-9)), 1)[0]


# ---- calls ----


def dot(a: Any, b: Any) -> Any:
    return sum(a[i] * b[i] for i in range(len(a)))


def call_row(repeats: int) -> str:
    """Calls of a short function and its adjoint in microseconds: the program alone, called, and in compiled code."""
    f, a, y_bar = wg.tensor.function(dot, backend="numpy"), np.ones(10), np.float64(1.0)
    program = f.instance((a, a)).runner("numpy", {}).function
    inside = wg.compile(lambda a: f(a, a) * 2.0)
    alone, run = partial(program, {"in.a": a, "in.b": a}, {}, {}), partial(inside, a)
    works: dict[str, Run] = {"program": alone, "f": partial(f, a, a), "adjoint": partial(f.adjoint, a, a, y_bar)}
    times = medians({**works, "compiled f": run}, repeats)
    return "microseconds of a call: " + ", ".join(f"{name} {taken * 1e6:.1f}" for name, taken in times.items())


# ---- the table ----


def row(work: Work, repeats: int) -> str:
    size = work.compared or work.sizes[-1]
    found = ways(work, work.args(size))
    agree(work, found)
    times = medians(found, repeats)
    best = min(times.keys() & {"numpy", "native"}, key=times.__getitem__)
    ratio = times[best] / min(times[way] for way in ("by hand", "jax") if way in times)
    columns = "".join(f"{times[way] * 1e3:10.3f}" if way in times else f"{'-':>10}" for way in WAYS)
    grown = "".join(f"{s:10.2f}" for s in slopes(work, best, repeats))
    return f"{work.name:26}{size:9}{columns}{ratio:8.2f}{grown}"


def main(repeats: int, only: str) -> None:
    head = "".join(f"{way:>10}" for way in WAYS) + f"{'ratio':>8}" + "".join(f"{name:>10}" for name in SLOPES)
    print(f"{'milliseconds':26}{'n':>9}{head}")
    for work in WORKS:
        if only in work.name:
            print(row(work, repeats), flush=True)
    print(call_row(repeats))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, sys.argv[2] if len(sys.argv) > 2 else "")
