"""The choice of the back end for a plan, and the conversion of its inputs and relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from wengert.tensor.planning.loops import cheapest_steps, points
from wengert.tensor.planning.plan import Plan
from wengert.tensor.planning.walks import Entries
from wengert.tensor.running import native, numpy_backend
from wengert.tensor.running.layout import POINT, estimated_seconds, layout
from wengert.tensor.running.native_source import is_blas
from wengert.tensor.running.numpy_backend import NumpyProgram

Backend = Literal["auto", "numpy", "native"]

SAVES = 5e-5  # seconds per call that compiled loops must save, to repay about a second of compilation


def build_program(plan: Plan, backend: Backend = "auto") -> NumpyProgram:
    """Build the program that runs a plan. Errors: NativeUnavailableError for "native" without numba."""
    if backend == "auto":
        backend = "native" if native.has_numba() and saved_by_loops(plan) > SAVES else "numpy"
        if backend == "native":
            return replace(native.compiled_loops(plan), fallback=numpy_backend.numpy_program(plan))
    return native.compiled_loops(plan) if backend == "native" else numpy_backend.numpy_program(plan)


def saved_by_loops(plan: Plan) -> float:
    """Estimate the seconds that compiled loops save over NumPy, from the measured constants of `layout`.

    Products that both back ends give to BLAS are left out.
    """
    pieces = [p for nest in plan.nests if not is_blas(nest, plan) for p in nest.pieces]
    arrays = sum(estimated_seconds(p, layout(p, plan), plan.counts) for p in pieces)
    return arrays - POINT * sum(
        points(cheapest_steps(p.ranges, p.where, plan.counts), p.ranges, plan.counts) for p in pieces
    )


def run_program(program: NumpyProgram, inputs: Mapping[str, Any], relations: Mapping[str, Any]) -> Any:
    """Run a program; inputs may be pairs, and relations may have any form that `Entries.of` takes."""
    shapes = program.plan.relations
    entries = {name: Entries.of(r, shapes[name]) for name, r in relations.items() if name in shapes}
    return program(inputs_by_name(inputs), entries)


def inputs_by_name(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The inputs under their names in plans: in.x, or in.x.0 and in.x.1 for a pair."""
    return dict(leaf for name, value in inputs.items() for leaf in _named_leaves(f"in.{name}", value))


def _named_leaves(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, tuple):
        for k, part in enumerate(value):
            yield from _named_leaves(f"{name}.{k}", part)
    else:
        yield name, np.asarray(value)
