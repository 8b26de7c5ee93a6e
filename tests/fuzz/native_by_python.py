"""Native code run by Python, so that tests of what it computes need no compiler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from wengert.compiling.native.source import TapeProgram
from wengert.compiling.ops import math_functions


def _without_dispatch(ufunc: np.ufunc, *args: Any) -> Any:
    return ufunc(*args[: ufunc.nin])


def _as_memory(x: Any) -> Any:
    """Return a number of NumPy's, or memory of floats: complex numbers are pairs of them."""
    if type(x) is float:
        return np.float64(x)
    return x.view(float) if type(x) is np.ndarray and x.dtype == np.complex128 else x


def blas_dgemm(ta: int, tb: int, m: int, n: int, k: int, _: float, *rest: Any) -> None:
    """C = A B of matrices by columns, each turned if its letter is T."""
    a, la, b, lb, _, c, lc = rest
    first = _by_columns(a, *((m, k) if ta == ord("N") else (k, m)), la)
    second = _by_columns(b, *((k, n) if tb == ord("N") else (n, k)), lb)
    _by_columns(c, m, n, lc)[:] = (first if ta == ord("N") else first.T) @ (second if tb == ord("N") else second.T)


def blas_dgemv(turned: int, m: int, n: int, _: float, *rest: Any) -> None:
    a, la, x, step, _, y, _ = rest
    matrix = _by_columns(a, m, n, la)
    matrix = matrix if turned == ord("N") else matrix.T
    y[: len(matrix)] = matrix @ x[: step * (matrix.shape[1] - 1) + 1 : step]


def lapack_dgesv(n: int, m: int, a: Any, la: int, _: Any, b: Any, lb: int) -> int:
    try:
        _by_columns(b, n, m, lb)[:] = np.linalg.solve(_by_columns(a, n, n, la), _by_columns(b, n, m, lb))
    except np.linalg.LinAlgError:
        return 1
    return 0


def lapack_dgbsv(n: int, below: int, above: int, m: int, a: Any, la: int, _: Any, b: Any, lb: int) -> int:
    right = _by_columns(b, n, m, lb)
    right[:] = scipy.linalg.solve_banded((below, above), _by_columns(a, la, n, la)[below:], right.copy())
    return 0


def lapack_dpotrf(_: int, n: int, a: Any, la: int) -> int:
    """The upper factor of a matrix by columns is the lower one of the same memory by rows."""
    try:
        _by_columns(a, n, n, la).T[np.tril_indices(n)] = np.linalg.cholesky(_by_columns(a, n, n, la).T)[
            np.tril_indices(n)
        ]
    except np.linalg.LinAlgError:
        return 1
    return 0


def _by_columns(memory: Any, rows: int, columns: int, lead: int) -> Any:
    return np.lib.stride_tricks.as_strided(memory, (rows, columns), (8, 8 * lead))


ROUTINES = {f.__name__: f for f in (blas_dgemm, blas_dgemv, lapack_dgbsv, lapack_dgesv, lapack_dpotrf)}
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
    space |= ROUTINES
    exec(compile(source, "<native>", "exec"), space)
    space |= {"python": lambda function: function(), "fast_exp": np.exp, "fast_log": np.log, "fast_tanh": np.tanh}
    space |= {name: partial(_without_dispatch, f) for name, f in ufuncs.items()}
    return space[name]
