"""Native functions that native kernels call: the code of tapes behind one signature, and the kernels themselves."""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import getsource, isfunction
from typing import Any

import numpy as np

from wengert.compiling.native.compiled import NativeTape
from wengert.compiling.native.module import compile_source
from wengert.compiling.native.values import PartOf, Scalar, UnsupportedOp
from wengert.errors import NotNativeError
from wengert.tape.interface import AnyRunningTape
from wengert.tape.ops import Call, Input, Op

_OWN_NAME = re.compile(r"\b(branch|native|part\d+)\b")


class Callback:
    """The native code of tapes, whose results are vectors, as `f(x, p, q, out, work)`; it returns whether it failed.

    The tapes are the branches of a function, with the same inputs: the first runs whose guards hold. x holds the first
    inputs, flat, and p the others and then the `constants`; q is `integers`. `work` has room for `work_size` numbers.
    """

    def __init__(self, tapes: Sequence[AnyRunningTape], first: int) -> None:
        self.constants, self.integers = np.empty(0), np.empty(0, np.int64)
        self.helpers, self.ufuncs, self.work_size = dict[str, None](), dict[str, np.ufunc](), 0
        self._branches = [self._branch(NativeTape(tape, is_part=True).writer, first) for tape in tapes]

    def _branch(self, writer: Any, first: int) -> str:
        """Return the source of a branch, which returns whether it failed."""
        sizes, places = {"x": 0, "p": 0}, dict[Op, str]()
        for k, v in enumerate([v for v in writer.tape.inputs if not v.op.callee]):
            memory = "x" if k < first else "p"
            places[v.op] = f"{memory}[{sizes[memory]}{':' * bool(np.ndim(v.op.val))}]"
            sizes[memory] += np.size(v.op.val)
        self._parameters = sizes["p"]
        result, program = writer.tape.result.op, writer.program
        if not isinstance(result, Call):
            source = self._argument(result, None, places).replace(":", " + i")
            lines = [f"for i in range({np.size(result.val)}):", f"    out[i] = {source}", "return False"]
            return _function("branch", lines)
        if program.callouts:
            raise UnsupportedOp("a call of a function in Python by a callback")
        self.helpers |= program.helpers
        self.ufuncs |= program.ufuncs
        self.work_size = max(self.work_size, program.size)
        args = [self._argument(source, x, places) for source, x in program.parameters.values()]
        call = f"(failed,) = native({', '.join([*args, 'out', *['work'] * bool(program.size)])})"
        return "\n\n".join([*program.functions, program.text, _function("branch", [call, "return failed != 0"])])

    def _argument(self, source: Any, x: Any, places: Mapping[Op, str]) -> str:
        """Return the expression of an argument of the native code: a part of x, p or q."""
        op = source.op if isinstance(source, PartOf) else source
        if isinstance(op, Input):
            if np.iscomplexobj(op.val):
                raise UnsupportedOp("complex arguments of a callback")
            return places[op]
        value = op.val if isinstance(op, Op) else op
        flat = np.ravel(getattr(value, source.part) if isinstance(source, PartOf) else value)
        if flat.dtype == np.complex128:
            flat = flat.view(float)
        if not isinstance(source, Op) and flat.dtype == np.int64:
            begin = self.integers.size
            self.integers = np.concatenate([self.integers, flat])
            return f"q[{begin}:]"
        begin = self._parameters + self.constants.size
        self.constants = np.concatenate([self.constants, flat.astype(float)])
        return f"p[{begin}]" if isinstance(x, Scalar) else f"p[{begin}:]"

    def source(self, name: str) -> str:
        """Return the source of the function with this name, and of those that it calls."""
        branches = [_OWN_NAME.sub(rf"\1_{name}_{k}", text) for k, text in enumerate(self._branches)]
        lines = []
        for k in range(len(branches)):
            lines += [f"if not branch_{name}_{k}(x, p, q, out, work):", "    return False"]
        return "\n\n".join([*branches, _function(name, [*lines, "return True"])])

    def parameters(self, values: Sequence[Any]) -> np.ndarray:
        """Return p, for the values of the other inputs."""
        return np.concatenate([*map(np.ravel, values), self.constants], dtype=float)


def _function(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"def {name}(x, p, q, out, work):", *[f"    {line}" for line in lines]])


def kernel(
    module: types.ModuleType, name: str, parameters: str, callbacks: Mapping[str, Callback], **sizes: int
) -> Callable[..., tuple[Any, ...]]:
    """Compile a function of a `module` to machine code, with those that it calls.

    They are written in a part of Python: floats, integers, bools and flat memory, loops and branches; each name has one
    type. The function returns a tuple, whose first number is an integer: 0 unless it failed.

    Parameters:
        module (module): The module, whose source is read, and that of modules from which it imports functions. Numbers
            that it defines are constants of the code.
        name (str): The name of the function.
        parameters (str): The kinds of its parameters: NUMBER for a float, READ or WRITE for the memory of an array of
            floats, PLACES for that of integers.
        callbacks (Mapping[str, Callback]): The code of traced functions by the names under which the module calls
            them, as `f(x, p, q, out, work)`.
        **sizes (int): Other values for numbers that the module defines.
    Returns:
        Callable[..., tuple[Any, ...]]: The compiled function. If an argument is not as expected, it returns 1.
    Raises:
        NotNativeError: The function cannot be compiled.
    See Also:
        native_function, compiled_by

    Examples:
        >>> total = wg.extend.kernel(sums, "total", "NUMBER READ", {})  # doctest: +SKIP
        >>> total(3, np.ones(3))  # doctest: +SKIP
        (0, 3.0)
    """
    parts: dict[str, None] = {}
    ufuncs: dict[str, np.ufunc] = {}
    for callback in callbacks.values():
        parts |= callback.helpers
        ufuncs |= callback.ufuncs
    modules = {f.__module__: sys.modules[f.__module__] for f in vars(module).values() if isfunction(f)}
    texts = [text for each in modules.values() for text in _functions(each, sizes)]
    sources = [callback.source(each) for each, callback in callbacks.items()]
    own = _own_name(vars(module)[name])
    try:
        return compile_source("\n\n".join([*parts, *sources, *texts]), own, parameters.split(), ufuncs)
    except Exception as error:  # of LLVM, or of the translation to its language
        raise NotNativeError(f"compiling {name} raised {type(error).__name__}: {error!s:.200}") from error


def _functions(module: types.ModuleType, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield the source of each function of a module, with its numbers, or else these sizes, inlined."""
    own = {key: value for key, value in vars(module).items() if type(value) in (int, float, bool)}
    names = {key: _own_name(value) for key, value in vars(module).items() if isfunction(value)}
    for node in ast.parse(getsource(module)).body:
        if isinstance(node, ast.FunctionDef):
            yield ast.unparse(_WithNumbers({**own, **sizes}, names).visit(node))


def _own_name(f: Any) -> str:
    """Return the name of a function in the code, which no function of another module has, and no callback's helper."""
    return f"kernel_{f.__module__}_{f.__name__}".replace(".", "_")


class _WithNumbers(ast.NodeTransformer):
    """Replaces names of numbers by these and names of functions by others, and leaves out annotations."""

    def __init__(self, numbers: Mapping[str, Any], functions: Mapping[str, str]) -> None:
        self.numbers, self.functions = numbers, functions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.numbers:
            return ast.Constant(self.numbers[node.id])
        return ast.Name(self.functions.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns = self.functions[node.name], None
        return self.generic_visit(node)
