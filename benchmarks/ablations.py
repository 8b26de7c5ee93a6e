"""The gain of each compiler pass: the time of each row without the pass, as a ratio to the time with it.

Run by hand: `python benchmarks/ablations.py [repeats [pass ...]]`. Rows are those of `compiled.py` and
`compiled_loops.py`, and a few of code that writes through views or lists of indices, as NumPy code, and where numba is
installed as native code; medians of turns in one process. A row that has the same code without the pass is not timed.
Delete a pass that changes no row by 5 %.

The largest ratio of each pass, two cores, NumPy 2.3 (27 November 2026; below 2, late views and the last
six: 29 or 30 November):

| pass                  | ratio | row                  | other rows of 1.05 and more               |
|-----------------------|-------|----------------------|-------------------------------------------|
| all rules             | 1116  | trace(diag), 2000    | 10                                        |
| rules of structures   | 917   | trace(diag), 2000    | 4                                         |
| late views            | 12.5  | rows, 400            | none                                      |
| floats                | 6.23  | until t = 20         | 3                                         |
| rules of sums         | 3.60  | mixture, d=64 k=50   | 5                                         |
| buffers               | 2.75  | bundle adjustment    | 8                                         |
| columns               | 2.74  | bundle adjustment    | 1                                         |
| lists of floats       | 1.97  | until t = 20         | 1 (soft DTW, no row of these: 1.29)       |
| blocks                | 1.78  | options, 1e6         | 2                                         |
| rolling               | 1.64  | rows, 400            | 2 (floats, 1000: 0.67); the first calls   |
|                       |       |                      | are 5 to 15, native code is up to 92      |
| rules of shifts       | 1.39  | mixture, d=64 k=50   | 1                                         |
| results in stores     | 1.35  | Rosenbrock, 1e5      | 1                                         |
| rows computed again   | 1.34  | neural ODE, 200      | 1                                         |
| readers first         | 1.25  | mixture, d=64 k=50   | 1 (options, 1e6: 0.96)                    |
| zeros filled by loops | 1.18  | neural ODE, 200      | 2                                         |
| rules of stores       | 1.14  | Rosenbrock, 1e5      | 2 (bundle adjustment: 0.93)               |
| hoisting              | 1.05  | LSTM, 1000           | none (a GRU, natively: 1.11)              |
| memory layout         | 670   | covariances, native  | covariances: 2.1, transposed writes       |
| keys                  | 52    | lists as keys, native| lists as keys: 2.6                        |
| windows               | 1.20  | transposed writes    | 1 (natively: 1.06)                        |
| stencils, native      | 1.56  | Rosenbrock, 1e5      | none                                      |
| blocks, native        | 3.03  | mixture, d=64 k=50   | 1 (softmax: 0.74)                         |
| columns, native       | 2.28  | bundle adjustment    | 2 more have other code                    |
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple
from unittest.mock import patch

import compiled_rows
import loop_rows
import numpy as np
from clock import medians

import wengert as wg
from wengert.compiling import numpy_source, pipeline, placement, scalar_specialisation
from wengert.compiling.graphs import to_tape
from wengert.compiling.loops import adjoint_loops, lowering
from wengert.compiling.rules import rewriting, shifts, stores, structures, sums

RULE_TABLES = (rewriting.RULES, rewriting.EXACT)
SHOWN = 0.05  # ratios nearer to one are left out


class Row(NamedTuple):
    """An objective of one argument."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)


def covariances(x: np.ndarray) -> Any:
    total = 0.0
    for k in range(100):
        total = total + np.sum(np.cov(x[:, k : k + 20]) ** 2)
    return total


def lists_as_keys(x: np.ndarray) -> Any:
    total = 0.0
    for k in range(100):
        total = total + np.sum((x * (1.0 + 1e-3 * total))[:, [k % 3, 5, 7]] ** 2) * 0.01
    return total


def transposed_writes(x: np.ndarray) -> Any:
    total = 0.0
    for _ in range(50):
        y = np.array(x * (1.0 + total))
        y.T[1:] -= y.T[:-1] * 0.1
        total = total + np.sum(y**3) * 1e-4
    return total


TABLE = np.random.default_rng(0).normal(size=(3, 130))
MORE = {
    "covariances": partial(Row, covariances, (TABLE,)),
    "lists as keys": partial(Row, lists_as_keys, (TABLE,)),
    "transposed writes": partial(Row, transposed_writes, (TABLE,)),
}
ROWS: dict[str, Callable[[], Any]] = {**compiled_rows.ROWS, **loop_rows.ROWS, **MORE}


def same(x: Any, *_: Any, **__: Any) -> Any:
    return x


def nothing(*_: Any, **__: Any) -> None:
    return None


@contextmanager
def without_rules(*modules: Any) -> Iterator[None]:
    """Take the rewrite rules of some modules out of the tables."""
    names = {module.__name__ for module in modules}
    kept = [{fn: [*rules] for fn, rules in table.items()} for table in RULE_TABLES]
    for table in RULE_TABLES:
        for fn, rules in table.items():
            table[fn] = [rule for rule in rules if rule.__module__ not in names]
    try:
        yield
    finally:
        for table, before in zip(RULE_TABLES, kept, strict=True):
            table.update(before)


@contextmanager
def without_rolling() -> Iterator[None]:
    """Leave equal iterations as they are recorded, also where a derivative is constructed."""
    with without_pass("roll loops"), patch.object(lowering, "rolled", same):
        yield


@contextmanager
def without_pass(name: str) -> Iterator[None]:
    """Take the pass of this name out of the lists."""
    lists = pipeline.LOWERING, pipeline.OPTIMISING, pipeline.NUMPY, pipeline.NATIVE
    kept = [[*passes] for passes in lists]
    for passes in lists:
        passes[:] = [each for each in passes if each.name != name]
    try:
        yield
    finally:
        for passes, before in zip(lists, kept, strict=True):
            passes[:] = before


PASSES: dict[str, Callable[[], Any]] = {
    "all rules": lambda: without_rules(rewriting, shifts, stores, structures, sums),
    "rules of structures": lambda: without_rules(structures),
    "rules of sums": lambda: without_rules(sums),
    "rules of shifts": lambda: without_rules(shifts),
    "rules of stores": lambda: without_rules(stores),
    "readers first": lambda: patch.object(to_tape, "readers_first", same),
    "rolling": without_rolling,
    "rows computed again": lambda: patch.object(adjoint_loops._BackwardLoop, "cheap_calls", nothing),
    "hoisting": lambda: without_pass("invariants"),
    **{name: partial(without_pass, name) for name in ("memory layout", "windows", "keys", "late views")},
    **{name: partial(without_pass, name) for name in ("blocks", "columns", "stencils")},
    "floats": lambda: without_pass("Python floats"),
    "lists of floats": lambda: patch.object(scalar_specialisation, "keep_arrays_in_lists", nothing),
    "buffers": lambda: patch.object(placement._BufferAllocator, "may_place", lambda *_: False),
    "results in stores": lambda: patch.object(numpy_source, "computed_in_stores", lambda *_: {}),
    "zeros filled by loops": lambda: patch.object(numpy_source, "zeros_filled_by_loops", lambda *_: set()),
}


def compiled(row: Any, native: bool) -> Any:
    """Return the compiled gradient of a row, called once."""
    gradient = wg.compile(wg.value_and_grad(row.f, argnums=row.wrt), native=native, quiet=True)
    with np.errstate(all="ignore"):
        gradient(*row.args)
    return gradient


def main(repeats: int = 9, *names: str) -> None:
    kinds = (False, True) if find_spec("numba") else (False,)
    for row_name, native in itertools.product(ROWS, kinds):
        row = ROWS[row_name]()
        gradients = {"": compiled(row, native)}
        for name in names or PASSES:
            with PASSES[name]():
                gradients[name] = compiled(row, native)
        sources = {name: gradient.source() for name, gradient in gradients.items()}
        works = {
            name: partial(gradients[name], *row.args) for name in sources if not name or sources[name] != sources[""]
        }
        times = medians(works, repeats)
        ratios = {name: times[name] / times[""] for name in works}
        shown = [f"{name} {ratio:.2f}" for name, ratio in ratios.items() if name and abs(ratio - 1.0) >= SHOWN]
        print(f"{row_name:20}{'native' * native:8}{times[''] * 1e6:10.0f} µs   {', '.join(shown) or '-'}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 9, *sys.argv[2:])
