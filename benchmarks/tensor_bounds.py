"""The theorem's bounds against counted operations, for the worked examples of the tensor language.

Run by hand: `python benchmarks/tensor_bounds.py`; docs/how-the-tensor-language-works.md shows its output.
By the cost model: a program y = f(x), its total derivative Df and its adjoint f*, each with f in it; what the filters
leave at the inputs. Counted: the operations that a run of the adjoint takes, after all simplification.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("src", "rules", "tests/corpus", "tests/fuzz", "tests/tensor")]

import numpy as np  # noqa: E402
from tensor_counting import counted  # noqa: E402
from tensor_examples import EXAMPLES  # noqa: E402
from tensor_runs import example_run  # noqa: E402

from wengert.tensor.passes.adjoint import adjoint_program, interface_size  # noqa: E402
from wengert.tensor.passes.differential import differential  # noqa: E402
from wengert.tensor.passes.statements import ssa_cost  # noqa: E402
from wengert.tensor.planning.walks import Entries  # noqa: E402
from wengert.tensor.running.backends import inputs_by_name  # noqa: E402

HEAD = ("y = f(x)", "sizes", "f", "Df", "f*", "left", "f* + left ≤ Df + |y|", "f* ≤ 4f + |y|", "run")


def row(name: str, sizes: dict[str, int]) -> tuple[str, ...]:
    run, wrt = example_run(name, sizes, reverse=False), EXAMPLES[name].wrt
    world = run.sizes, run.relations
    reverse = adjoint_program(run.ssa, wrt)
    programs = run.ssa, differential(run.ssa, wrt), reverse.ssa
    f, d, back = (ssa_cost(each, *world) for each in programs)
    left, output = interface_size(reverse, *world), int(np.size(run.value))
    bounds = f"{back + left} ≤ {d + output}", f"{back} ≤ {4 * f + output}"
    shown = " ".join(f"{size}={number}" for size, number in sizes.items())
    return name.split(" ", 1)[1], shown, *map(str, (f, d, back, left)), *bounds, str(executed(name, sizes))


def executed(name: str, sizes: dict[str, int]) -> int:
    """Operations of the adjoint as it is run."""
    run = example_run(name, sizes, reverse=True)
    entries = {relation: Entries.of(table, table.shape) for relation, table in run.relations.items()}
    return counted(run.plan(), inputs_by_name(run.floats), entries)[1].total()


def main() -> None:
    rows = [HEAD, *(row(name, example.sizes[-1]) for name, example in EXAMPLES.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, second, *cells in rows:
        numbers = (f"{cell:>{width}}" for cell, width in zip(cells, widths[2:], strict=True))
        print(f"{first:{widths[0]}}", f"{second:{widths[1]}}", *numbers, sep="  ")


if __name__ == "__main__":
    main()
