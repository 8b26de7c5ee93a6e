"""The choice of the back end that runs a plan, and how inputs and relations reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from wengert.tensor.planning.loops import points, steps
from wengert.tensor.planning.plan import Plan
from wengert.tensor.planning.walks import Entries
from wengert.tensor.running import native, numpy_backend
from wengert.tensor.running.layout import POINT, layout, seconds
from wengert.tensor.running.native_source import is_blas
from wengert.tensor.running.numpy_backend import NumpyProgram

Backend = Literal["auto", "numpy", "native"]

SAVES = 5e-5  # seconds a call that compiled loops must save: less does not repay the second that they take to compile


def built(plan: Plan, backend: Backend = "auto") -> NumpyProgram:
    """The plan as a program to call. Errors: NativeUnavailableError where native is asked for without numba."""
    if backend == "auto":
        backend = "native" if native.has_compiler() and saved_by_loops(plan) > SAVES else "numpy"
        if backend == "native":
            return replace(native.compiled_loops(plan), otherwise=numpy_backend.numpy_program(plan))
    return native.compiled_loops(plan) if backend == "native" else numpy_backend.numpy_program(plan)


def saved_by_loops(plan: Plan) -> float:
    """By how many seconds compiled loops are faster than NumPy, estimated by the measured constants of the layout.

    Products that are BLAS's in both are left out.
    """
    pieces = [p for nest in plan.nests if not is_blas(nest, plan) for p in nest.pieces]
    arrays = sum(seconds(p, layout(p, plan), plan.counts) for p in pieces)
    return arrays - POINT * sum(points(steps(p.ranges, p.where, plan.counts), p.ranges, plan.counts) for p in pieces)


def run_program(program: NumpyProgram, inputs: Mapping[str, Any], relations: Mapping[str, Any]) -> Any:
    """The outputs of a program, nested as they are, for inputs that may be pairs and relations of any form."""
    shapes = program.plan.relations
    entries = {name: Entries.of(r, shapes[name]) for name, r in relations.items() if name in shapes}
    return program(inputs_by_name(inputs), entries)


def inputs_by_name(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The inputs under the names that plans have for them: in.x, or in.x.0 and in.x.1 for a pair."""
    return dict(leaf for name, value in inputs.items() for leaf in _leaves(f"in.{name}", value))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, tuple):
        for k, part in enumerate(value):
            yield from _leaves(f"{name}.{k}", part)
    else:
        yield name, np.asarray(value)
