"""Calls of LAPACK and BLAS by native code: the C functions that SciPy exports to Cython.

In sources, `lapack_dgesv(n, m, ...)` passes numbers by reference and memory as it is, and returns the `info` of LAPACK,
which is 0 if nothing failed. Letters are passed as their codes. LAPACK has columns where native code has rows: so
matrices are copied to memory of their columns, and a result is a view of such memory.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from wengert.compiling.native.nests import SourceText
from wengert.compiling.native.scipy_functions import exported_address
from wengert.compiling.native.values import UnsupportedOp, View

LAPACK = "lapack_"
EXPORTS = {LAPACK: "scipy.linalg.cython_lapack", "blas_": "scipy.linalg.cython_blas"}
"""Modules that export routines, by the prefixes of their names in sources."""

WORKSPACE = "workspace"
"""Two arguments of a routine: memory, and as many numbers as the routine says that it would like to have there."""


@cache
def is_available() -> bool:
    """Whether SciPy is installed, which exports the routines."""
    try:
        return all([hasattr(import_module(module), "__pyx_capi__") for module in EXPORTS.values()])
    except ImportError:
        return False


def routines_in(source: str) -> dict[str, tuple[str, str]]:
    """Return the routines that a source calls: the module and the name there, by the name in the source."""
    found = {*re.findall(rf"\b({'|'.join(EXPORTS)})(\w+)\(", source)}
    return {f"{prefix}{name}": (EXPORTS[prefix], name) for prefix, name in sorted(found)}


def call_from_python(routine: str, *args: Any) -> int:
    """Call a routine as native code does, with arrays as memory; return the `info` of LAPACK."""
    prefix, name = routine.split("_")
    info = ctypes.c_int(0)
    numbers = [ctypes.c_double(x) if isinstance(x, float) else ctypes.c_int(x) for x in args if np.ndim(x) == 0]
    places = iter(map(ctypes.addressof, numbers))
    given = [x.ctypes.data if np.ndim(x) else next(places) for x in args]
    given += [ctypes.addressof(info)] * (f"{prefix}_" == LAPACK)
    found = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(given))(exported_address(EXPORTS[f"{prefix}_"], name))
    found(*given)
    return info.value


@dataclass(eq=False)
class LapackCall:
    """A call of a routine between nests; `args` are constants, numbers and views of memory."""

    routine: str
    args: list[Any]

    def write(self, text: SourceText) -> None:
        shown = [
            f"{x.memory.text}[{x.offset.text}:]" if isinstance(x, View) else getattr(x, "text", repr(x))
            for x in self.args
        ]
        text.line(f"if {self.routine}({', '.join(shown)}) != 0: return FAILED")


def call_lapack(body: Any, name: str, *args: Any) -> None:
    """Append the call of a routine that may read and write all memory that it is given."""
    if not is_available():
        raise UnsupportedOp("linear algebra without SciPy")
    routine, given, read = f"{LAPACK}{name}", [*args], np.zeros(1)
    if WORKSPACE in args:
        at = args.index(WORKSPACE)
        given[at : at + 1] = read, -1
        call_from_python(routine, *[np.zeros(1) if isinstance(x, View) else x for x in given])
        given[at : at + 2] = body.level.new_array((int(read[0]),)), int(read[0])
    at = body.level.append(LapackCall(routine, given))
    for view in given:
        if isinstance(view, View):
            body.level.note_access(view.memory, at, None, body.level.reads)
            body.level.note_access(view.memory, at, None, body.level.writes)


def new_columns(body: Any, *shape: int) -> View:
    """Return a vector, or a matrix by columns, in new memory."""
    made: View = body.level.new_array(shape[::-1])
    return made.transposed(range(len(shape))[::-1])


def copy_by_columns(body: Any, x: View) -> View:
    """Return a copy of a vector, or of a matrix by columns."""
    made = new_columns(body, *x.shape)
    body.level.store(made, "=", x)
    return made


def integers(body: Any, n: int) -> View:
    """Return memory for integers of LAPACK, which may have 8 bytes."""
    made: View = body.level.new_array((n,))
    return made
