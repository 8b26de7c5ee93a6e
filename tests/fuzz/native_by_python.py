"""Native code run by Python, so that tests of what it computes need no compiler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from wengert.compiling.native.lapack import call_from_python, routines_in
from wengert.compiling.native.source import TapeProgram
from wengert.compiling.ops import math_functions


def _without_dispatch(ufunc: np.ufunc, *args: Any) -> Any:
    return ufunc(*args[: ufunc.nin])


def _as_memory(x: Any) -> Any:
    """Return a number of NumPy's, or memory of floats: complex numbers are pairs of them."""
    if type(x) is float:
        return np.float64(x)
    return x.view(float) if type(x) is np.ndarray and x.dtype == np.complex128 else x


_INVERSES = ("sin", "cos", "tan", "sinh", "cosh", "tanh")


def interpret_program(program: TapeProgram) -> Any:
    """Return the native function, run by Python."""
    source = "\n".join([*program.helpers, *program.functions, program.text])
    native = interpret_source(source, "native", [], program.ufuncs)

    def run(*args: Any) -> Any:
        failed, *numbers = native(*map(_as_memory, args))
        return failed, *map(float, numbers)

    return run


def interpret_source(source: str, name: str, _: Any, ufuncs: Mapping[str, np.ufunc]) -> Any:
    """Return a function of a source of native code, run by Python, in place of `compile_source`."""
    space: dict[str, Any] = {"np": np, "radd": lambda a, b: a + b, "u": int, "inf": math.inf, "nan": math.nan}
    renamed = {"atan2": "arctan2", "pow": "power", **{f"a{name}": f"arc{name}" for name in _INVERSES}}
    names = ("sqrt", "nextafter", *math_functions())
    space |= {name: getattr(np, renamed.get(name, name), getattr(math, name)) for name in names}
    space |= {routine: partial(call_from_python, routine) for routine in routines_in(source)}
    exec(compile(source, "<native>", "exec"), space)
    space |= {"python": lambda function: function(), "fast_exp": np.exp, "fast_log": np.log, "fast_tanh": np.tanh}
    space |= {name: partial(_without_dispatch, f) for name, f in ufuncs.items()}
    return space[name]
