"""The module in which a native function stands: compiled by numba, or run as it is."""

from __future__ import annotations

import importlib.util
import math
import platform
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from wengert.compiling.native_source import Program
from wengert.compiling.native_values import Memory, Scalar
from wengert.compiling.native_words import CALLED
from wengert.values import kernel_cache

_HEAD = f'''"""{{about}}"""

from math import {", ".join((*CALLED, "inf", "nan"))}

from numba import njit, types
from numba.extending import intrinsic
from numpy import uint64 as u

READ = types.Array(types.float64, 1, "C", readonly=True)
WRITE = types.Array(types.float64, 1, "C")


@intrinsic
def radd(context, a, b):
    """A sum that may be taken in any order."""

    def built(context, builder, signature, args):
        return builder.fadd(*args, flags=("reassoc",))

    return types.float64(types.float64, types.float64), built


'''


@cache
def has_compiler() -> bool:
    """Whether numba is there."""
    return importlib.util.find_spec("numba") is not None


def text_of(program: Program, cached: bool = True) -> str:
    """The whole text of the module."""
    names = ["READ" if isinstance(x, Memory) else "types.float64" for _, x in program.parameters.values()]
    names += ["WRITE" for _, x in program.results if not isinstance(x, Scalar)]
    numbers = ["types.int64", *["types.float64" for _, x in program.results if isinstance(x, Scalar)]]
    signature = f"types.Tuple(({', '.join(numbers)},))({', '.join([*names, 'WRITE'])})"
    options = f"error_model='numpy', cache={cached}"
    return f"{_HEAD.format(about=_versions())}@njit({signature}, {options})\n{program.text}"


@cache
def _versions() -> str:
    """What the machine code depends on: another text is another file."""
    others = ", ".join([f"{name} {version(name)}" for name in ("numba", "numpy")])
    return f"Emitted by wengert {version('wengert')}, {others}, Python {platform.python_version()}."


def compiled(program: Program) -> Any:
    """The native function, compiled, from the disk where it was kept there; others' folders are not used."""
    try:
        return kernel_cache.kernels(text_of(program)).functions["native"]
    except (OSError, kernel_cache.CacheFolderError):
        space: dict[str, Any] = {"__name__": "native"}
        exec(compile(text_of(program, cached=False), "<native>", "exec"), space)
        return space["native"]


def interpreted(program: Program) -> Any:
    """The native function, run by Python: for tests."""
    space: dict[str, Any] = {"radd": lambda a, b: a + b, "u": int, "inf": math.inf, "nan": math.nan}
    renamed = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
    space |= {name: getattr(np, renamed.get(name, name), getattr(math, name)) for name in CALLED}
    exec(compile(program.text, "<native>", "exec"), space)

    def run(*args: Any) -> Any:
        failed, *numbers = space["native"](*[np.float64(x) if type(x) is float else x for x in args])
        return failed, *map(float, numbers)

    return run
