"""The native back end: loop nests compiled by numba (the extra `native`) and cached on disk.

A plan's sizes are constants in its kernels, so each set of sizes is compiled separately.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.errors import NativeUnavailableError
from wengert.tensor.elementwise import Elementwise
from wengert.tensor.planning.plan import Plan
from wengert.tensor.planning.walks import Entries
from wengert.tensor.running.native_source import NativeSource
from wengert.tensor.running.numpy_backend import NumpyProgram, source_helpers
from wengert.tensor.running.workspace import Workspaces
from wengert.values import kernel_cache

has_numba = kernel_cache.has_compiler
KERNEL_HELPERS = (
    """
def first_of(keys, key):
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low
""",
    """
def find(keys, table, key):
    if len(table):
        return table[key]
    at = first_of(keys, key)
    return at if at < len(keys) and keys[at] == key else -1
""",
)


@dataclass
class NativeProgram(NumpyProgram):
    """A plan as compiled loops, called like a NumPy program. `walks`: the relations' arrays that its kernels take.

    If numba cannot compile a black box, `fallback` runs. Errors: NativeUnavailableError if there is no fallback.
    """

    walks: Mapping[str, tuple[str, tuple[int, ...], str]] = field(default_factory=dict)
    black_boxes: tuple[str, ...] = ()  # names of the black boxes that it calls
    fallback: NumpyProgram | None = None
    numba_failed: bool = False
    workspaces: Workspaces = field(default_factory=Workspaces, repr=False)

    def __call__(self, inputs: Mapping[str, Any], relations: Mapping[str, Entries]) -> Any:
        if not self.numba_failed:
            try:
                return self.run_loops(inputs, relations)
            except Exception as error:
                if not type(error).__module__.startswith("numba."):
                    raise
                if self.fallback is None:
                    raise NativeUnavailableError(
                        "numba cannot compile a black box of this program or its derivative "
                        f"({', '.join(self.black_boxes)}). Use backend='numpy'."
                    ) from error
                self.numba_failed = True
        assert self.fallback is not None
        return self.fallback(inputs, relations)

    def without_relations(self) -> Callable[[Mapping[str, Any]], Any]:
        return lambda inputs: self(inputs, {})

    def run_loops(self, inputs: Mapping[str, Any], relations: Mapping[str, Entries]) -> Any:
        known, points = self.prepared(relations)
        arrays = {name: np.ascontiguousarray(x) if np.ndim(x) else np.asarray(x) for name, x in inputs.items()}
        walks = {key: _walk_array(known[r], order, part) for key, (r, order, part) in self.walks.items()}
        with self.workspaces.borrow() as space:
            return self.function(arrays, known, points, walks, space)


def _walk_array(relation: Entries, order: tuple[int, ...], part: str) -> np.ndarray:
    if part == "mask":
        return relation.mask
    walk = relation.walk(order)
    return walk.coordinates[int(part[6:])] if part.startswith("column") else getattr(walk, part)


def compiled_loops(plan: Plan, interpreted: bool = False) -> NativeProgram:
    """Build the NativeProgram of a plan. If `interpreted`, its loops run as Python, uncompiled.

    Errors: NativeUnavailableError without numba.
    """
    if not interpreted and not has_numba():
        raise NativeUnavailableError(
            "backend='native' needs numba, which is not installed. "
            "Run pip install 'wengert[native]', or use backend='numpy'."
        )
    source = NativeSource(plan, 1 if interpreted else _threads())
    driver = source.text().replace("(inputs, relations, points):", "(inputs, relations, points, walks, space):")
    space: dict[str, Any] = {"np": np, **source_helpers(), **source.functions}
    space |= _interpreted(source) if interpreted else _compiled(source)
    exec(compile(driver, "<tensor program>", "exec"), space)
    text = f"{_kernels(source)}\n\n{driver}"
    black_boxes = tuple(dict.fromkeys(name.strip("_") for name in source.functions))
    return NativeProgram(
        source.plan, text, space["run"], source.point_specs, walks=source.walks, black_boxes=black_boxes
    )


def _threads() -> int:
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)


def _kernels(source: NativeSource) -> str:
    return "\n\n".join([*map(str.strip, KERNEL_HELPERS), *source.kernels])


def _interpreted(source: NativeSource) -> dict[str, Any]:
    space: dict[str, Any] = {"np": np, "prange": range, **source.functions}
    exec(compile(_kernels(source), "<tensor kernels>", "exec"), space)
    return space


def _compiled(source: NativeSource) -> dict[str, Any]:
    options = f"fastmath={{'reassoc', 'contract', 'nsz', 'arcp'}}, error_model='numpy', cache={not source.functions}"
    decorated = [f"@njit({options})\n{helper.strip()}" for helper in KERNEL_HELPERS]
    decorated += [f"@njit({options}, parallel={source.parallel})\n{kernel}" for kernel in source.kernels]
    text = "\n\n\n".join(["import numpy as np\nfrom numba import njit, prange", *decorated])
    if not source.functions:
        found = kernel_cache.kernels(text)
        return {**found.functions, "kernels": found}
    space = {name: _compiled_function(function) for name, function in source.functions.items()}
    exec(compile(text, "<tensor kernels>", "exec"), space)
    return space


def _compiled_function(function: Any) -> Any:
    """Compile a function and the functions that it calls, listed in its attribute `calls`."""
    import numba

    if isinstance(function, np.ufunc | Elementwise):
        return numba.njit(_as_python_function(function))
    called = getattr(function, "calls", {})
    if not called:
        return numba.njit(function)
    space = {name: _compiled_function(f) for name, f in called.items()}
    return numba.njit(types.FunctionType(function.__code__, function.__globals__ | space))


def _as_python_function(function: Any) -> Any:
    """Wrap a ufunc or elementwise function in a Python function, whose bytecode numba can compile."""
    scalar = function.scalar if isinstance(function, Elementwise) else function
    if isinstance(scalar, types.FunctionType):
        return scalar
    count = function.nin if isinstance(function, np.ufunc) else function.count
    names = ", ".join(f"x{k}" for k in range(count))
    return eval(f"lambda {names}: f({names})", {"f": scalar})
