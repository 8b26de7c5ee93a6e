"""Native code run by Python, so that tests of what it computes need no compiler."""

from __future__ import annotations

import ast
import hashlib
import math
import sys
import types
from functools import partial
from typing import Any

import numpy as np

from wengert.compiling.native.source import TapeProgram
from wengert.compiling.ops import math_functions
from wengert.values import kernel_cache


def _without_dispatch(ufunc: np.ufunc, *args: Any) -> Any:
    return ufunc(*args[: ufunc.nin])


_INVERSES = ("sin", "cos", "tan", "sinh", "cosh", "tanh")


def interpret_program(program: TapeProgram) -> Any:
    """Return the native function, run by Python."""
    source = "\n".join([*program.helpers, *program.functions, program.text])
    native = _native_of(source, {name: partial(_without_dispatch, f) for name, f in program.ufuncs.items()})

    def run(*args: Any) -> Any:
        failed, *numbers = native(*[np.float64(x) if type(x) is float else x for x in args])
        return failed, *map(float, numbers)

    return run


def _native_of(source: str, functions: dict[str, Any]) -> Any:
    """Return the function `native` of a source of native code, which calls other functions, too."""
    space: dict[str, Any] = {"np": np, "radd": lambda a, b: a + b, "u": int, "inf": math.inf, "nan": math.nan}
    renamed = {"atan2": "arctan2", "pow": "power", **{f"a{name}": f"arc{name}" for name in _INVERSES}}
    space |= {name: getattr(np, renamed.get(name, name), getattr(math, name)) for name in math_functions()}
    exec(compile(source, "<native>", "exec"), space)
    space |= {"fast_exp": np.exp, "fast_log": np.log, "fast_tanh": np.tanh, **functions}
    return space["native"]


def interpret_kernels(text: str) -> kernel_cache.Kernels:
    """Return the functions of a module of kernels, run by Python, in place of `kernel_cache.kernels`."""
    name = f"interpreted_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    tree = ast.parse(text)
    kept = [node for node in tree.body if not isinstance(node, ast.ImportFrom) or node.module == "math"]
    others = [node for node in tree.body if isinstance(node, ast.ImportFrom) and str(node.module).startswith("inter")]
    made = types.ModuleType(name)
    made.__dict__.update(njit=_undecorated, cfunc=_undecorated, types=_AnyType())
    made.__dict__.update(intrinsic=lambda f: _native_of(f.__globals__["SOURCE"], {}))
    for node in kept:
        exec(compile(ast.Module([node], []), name, "exec"), made.__dict__)
    for node in others:
        for alias in node.names:
            made.__dict__[alias.asname] = getattr(sys.modules[str(node.module)], alias.name)
    sys.modules[name] = made
    return kernel_cache.Kernels(vars(made))


def _undecorated(*_: Any, **__: Any) -> Any:
    return lambda function: function


class _AnyType:
    """A stand-in for the types of numba."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __getitem__(self, _: Any) -> Any:
        return self
