"""Native functions that native kernels call: the code of a tape behind one signature, and the kernels themselves."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.compiling.native.module import module_source
from wengert.compiling.native.values import Scalar
from wengert.compiling.native.whole import NativeTape
from wengert.tape.interface import AnyRunningTape
from wengert.tape.ops import Call, Input, Op
from wengert.values import kernel_cache

CALLBACK = "types.FunctionType(types.int64(READ, READ, PLACES, WRITE))"
"""The numba type of a Callback's function."""
_OPTIONS = "error_model='numpy', cache=True"
_KERNEL_HEAD = f'''"""Kernels of rules."""

import numpy as np
from numba import njit, types

READ = types.Array(types.float64, 1, "C", readonly=True)
PLACES = types.Array(types.int64, 1, "C", readonly=True)
WRITE = types.Array(types.float64, 1, "C")
ROWS = types.Array(types.float64, 2, "C", readonly=True)
CALLBACK = {CALLBACK}


'''


class Callback:
    """The native code of a tape, whose result is a vector, as `function(x, p, q, out)`; it returns whether it failed.

    x holds the first inputs of the tape, flat, and p the others and then the `constants`; q is `integers`.
    """

    def __init__(self, tape: AnyRunningTape, first: int) -> None:
        self.constants, self.integers = np.empty(0), np.empty(0, np.int64)
        made: Any = NativeTape(tape, is_part=True).writer
        self._places: dict[Op, str] = {}
        sizes = {"x": 0, "p": 0}
        for k, v in enumerate([v for v in made.tape.inputs if not v.op.callee]):
            memory = "x" if k < first else "p"
            begin = sizes[memory]
            sizes[memory] = end = begin + np.size(v.op.val)
            self._places[v.op] = f"{memory}[{begin}:{end}]" if np.ndim(v.op.val) else f"{memory}[{begin}]"
        self._parameters = sizes["p"]
        self.function: Any = self._compiled(made.tape.result.op, made.program)

    def _compiled(self, result: Op, program: Any) -> Any:
        if isinstance(result, Call):
            args = [self._argument(source, x) for source, x in program.parameters.values()]
            work = [f"np.empty({program.size})"] * bool(program.size)
            lines = [f"return native({', '.join([*args, 'out', *work])})[0]"]
        else:
            lines = [f"out[:] = {self._argument(result, None)}", "return 0"]
        body = "".join([f"    {line}\n" for line in lines])
        signature = "types.int64(READ, READ, PLACES, WRITE)"
        text = f"{module_source(program)}\n\n@cfunc({signature}, {_OPTIONS})\ndef call(x, p, q, out):\n{body}"
        text = text.replace("from numba import njit, types", "from numba import cfunc, njit, types", 1)
        self._module = kernel_cache.kernels(text)
        return self._module.functions["call"]

    def _argument(self, source: Any, x: Any) -> str:
        """Return the expression of an argument of the native code: a part of x, p or q."""
        if isinstance(source, Input):
            return self._places[source]
        value = source.val if isinstance(source, Op) else source
        flat = np.ravel(value)
        if not isinstance(source, Op) and flat.dtype == np.int64:
            begin = self.integers.size
            self.integers = np.concatenate([self.integers, flat])
            return f"q[{begin}:{self.integers.size}]"
        begin = self._parameters + self.constants.size
        self.constants = np.concatenate([self.constants, flat.astype(float)])
        return f"p[{begin}]" if isinstance(x, Scalar) else f"p[{begin}:{begin + flat.size}]"

    def parameters(self, values: Sequence[Any]) -> np.ndarray:
        """Return p, for the values of the other inputs."""
        return np.concatenate([*map(np.ravel, values), self.constants], dtype=float)


def kernels(module: types.ModuleType, signatures: Mapping[str, str]) -> dict[str, Any]:
    """Compile the functions of a module with numba; those without a signature are called by these only.

    The module may import NumPy and use constants of its own. Signatures may use CALLBACK, READ, PLACES, WRITE and ROWS.
    """
    parts = [_KERNEL_HEAD]
    source = textwrap.dedent(inspect.getsource(module))
    for node in ast.parse(source).body:
        text = ast.unparse(node)
        if isinstance(node, ast.Assign):
            parts.append(f"{text}\n\n\n")
        elif isinstance(node, ast.FunctionDef):
            signature = signatures.get(node.name)
            options = f"{signature}, {_OPTIONS}" if signature else _OPTIONS
            parts.append(f"@njit({options})\n{_without_annotations(node)}\n\n\n")
    found = kernel_cache.kernels("".join(parts))
    return {"module": found, **found.functions}


def _without_annotations(node: ast.FunctionDef) -> str:
    node.returns = None
    for arg in node.args.args:
        arg.annotation = None
    return ast.unparse(node)
