"""Native functions that native kernels call: the code of a tape behind one signature, and the kernels themselves."""

from __future__ import annotations

import ast
import inspect
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

_CALL = "types.int64(READ, READ, PLACES, WRITE)"
_OPTIONS = "error_model='numpy', cache=True"
_KERNEL_HEAD = f'''"""Kernels of rules."""

import numpy as np
from numba import njit, types

READ = types.Array(types.float64, 1, "C", readonly=True)
PLACES = types.Array(types.int64, 1, "C", readonly=True)
WRITE = types.Array(types.float64, 1, "C")
ROWS = types.Array(types.float64, 2, "C", readonly=True)
CALLBACK = types.FunctionType({_CALL})


'''


class Callback:
    """The native code of tapes, whose results are vectors, as `function(x, p, q, out)`; it returns whether it failed.

    The tapes are the branches of a function, with the same inputs: the first runs whose guards hold. x holds the first
    inputs, flat, and p the others and then the `constants`; q is `integers`.
    """

    def __init__(self, tapes: Sequence[AnyRunningTape], first: int) -> None:
        self.constants, self.integers = np.empty(0), np.empty(0, np.int64)
        self._modules: list[kernel_cache.Kernels] = []
        for tape in tapes:
            self._add(NativeTape(tape, is_part=True).writer, first)
        self.function: Any = self._modules[-1].functions["call"]

    def _add(self, writer: Any, first: int) -> None:
        """Compile a branch, and a function that runs it after the others."""
        sizes, places = {"x": 0, "p": 0}, dict[Op, str]()
        for k, v in enumerate([v for v in writer.tape.inputs if not v.op.callee]):
            memory = "x" if k < first else "p"
            begin = sizes[memory]
            sizes[memory] = end = begin + np.size(v.op.val)
            places[v.op] = f"{memory}[{begin}:{end}]" if np.ndim(v.op.val) else f"{memory}[{begin}]"
        self._parameters = sizes["p"]
        result, program = writer.tape.result.op, writer.program
        if isinstance(result, Call):
            args = [self._argument(source, x, places) for source, x in program.parameters.values()]
            work = [f"np.empty({program.size})"] * bool(program.size)
            lines = [f"return native({', '.join([*args, 'out', *work])})[0]"]
        else:
            lines = [f"out[:] = {self._argument(result, None, places)}", "return 0"]
        names = [module.functions["__name__"] for module in self._modules]
        text = f"{module_source(program)}\n\nimport numpy as np\nfrom numba import cfunc\n"
        text += "".join([f"from {name} import branch as branch{k}\n" for k, name in enumerate(names)])
        text += _function(f"njit({_CALL}, {_OPTIONS})", "branch", lines)
        tests = [f"if branch{k}(x, p, q, out) == 0: return 0" for k in range(len(names))]
        text += _function(f"cfunc({_CALL}, {_OPTIONS})", "call", [*tests, "return branch(x, p, q, out)"])
        self._modules.append(kernel_cache.kernels(text))

    def _argument(self, source: Any, x: Any, places: Mapping[Op, str]) -> str:
        """Return the expression of an argument of the native code: a part of x, p or q."""
        if isinstance(source, Input):
            return places[source]
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


def _function(decorator: str, name: str, lines: Sequence[str]) -> str:
    body = "".join([f"    {line}\n" for line in lines])
    return f"\n\n@{decorator}\ndef {name}(x, p, q, out):\n{body}"


def kernels(module: types.ModuleType, signatures: Mapping[str, str]) -> dict[str, Any]:
    """Compile functions of a `module` with numba: those with `signatures`, and those that these call.

    The module may import NumPy and use constants of its own.

    Parameters:
        module (module): The module, whose source is read.
        signatures (Mapping[str, str]): The numba types of each function's arguments, as source. It may use READ and
            WRITE for vectors of floats, ROWS for matrices, PLACES for vectors of integers, and CALLBACK for the
            `function` of the native code of a traced function.
    Returns:
        dict[str, Any]: The compiled functions by name.
    Raises:
        WengertError: Other users can write into the folder of compiled kernels.
    See Also:
        native_function, compiled_by

    Examples:
        >>> wg.extend.kernels(sums, {"total": "types.float64(READ)"})["total"](np.ones(3))  # doctest: +SKIP
        3.0
    """
    parts = [_KERNEL_HEAD]
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Assign):
            parts.append(f"{ast.unparse(node)}\n\n\n")
        elif isinstance(node, ast.FunctionDef):
            signature = signatures.get(node.name)
            options = f"{signature}, {_OPTIONS}" if signature else _OPTIONS
            parts.append(f"@njit({options})\n{_without_annotations(node)}\n\n\n")
    found = kernel_cache.kernels("".join(parts))
    return {"": found, **found.functions}


def _without_annotations(node: ast.FunctionDef) -> str:
    node.returns = None
    for arg in node.args.args:
        arg.annotation = None
    return ast.unparse(node)
