"""The gain of each compiler pass: the time of each row without the pass, as a ratio to the time with it.

Run by hand: `python benchmarks/ablations.py [repeats [pass ...]]`. Rows are those of `compiled.py` and
`compiled_loops.py`, as NumPy code; medians of turns in one process. A row that has the same code without the pass is
not timed. Delete a pass that changes no row by 5 %.

The largest ratio of each pass, two cores, NumPy 2.3 (27 November 2026; below 2 and late views: 29 or 30 November):

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
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
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

ROWS = {**compiled_rows.ROWS, **loop_rows.ROWS}
RULE_TABLES = (rewriting.RULES, rewriting.EXACT)
SHOWN = 0.05  # ratios nearer to one are left out


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
    lists = pipeline.OPTIMISING, pipeline.NUMPY
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
    "late views": lambda: without_pass("late views"),
    "blocks": lambda: without_pass("blocks"),
    "columns": lambda: without_pass("columns"),
    "floats": lambda: without_pass("Python floats"),
    "lists of floats": lambda: patch.object(scalar_specialisation, "keep_arrays_in_lists", nothing),
    "buffers": lambda: patch.object(placement._BufferAllocator, "may_place", lambda *_: False),
    "results in stores": lambda: patch.object(numpy_source, "computed_in_stores", lambda *_: {}),
    "zeros filled by loops": lambda: patch.object(numpy_source, "zeros_filled_by_loops", lambda *_: set()),
}


def compiled(row: Any) -> Any:
    """Return the compiled gradient of a row, called once."""
    gradient = wg.compile(wg.value_and_grad(row.f, argnums=row.wrt), native=False, quiet=True)
    with np.errstate(all="ignore"):
        gradient(*row.args)
    return gradient


def main(repeats: int = 9, *names: str) -> None:
    for row_name, make in ROWS.items():
        row = make()
        gradients = {"": compiled(row)}
        for name in names or PASSES:
            with PASSES[name]():
                gradients[name] = compiled(row)
        sources = {name: gradient.source() for name, gradient in gradients.items()}
        works = {
            name: partial(gradients[name], *row.args) for name in sources if not name or sources[name] != sources[""]
        }
        times = medians(works, repeats)
        ratios = {name: times[name] / times[""] for name in works}
        shown = [f"{name} {ratio:.2f}" for name, ratio in ratios.items() if name and abs(ratio - 1.0) >= SHOWN]
        print(f"{row_name:20}{times[''] * 1e6:10.0f} µs   {', '.join(shown) or '-'}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 9, *sys.argv[2:])
