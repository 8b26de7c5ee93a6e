"""Functions compiled by numba: if traced values reach one, its original Python function runs instead."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.code_swap import instrumented


def source_of(f: Any) -> Callable[..., Any] | None:
    """Return an instrumented copy of the Python function behind `f`, compiled by `njit`, `jit` or `vectorize`.

    Return None for any other `f`. The compiled function keeps its code, which numba may read later.
    """
    if not is_of_numba(f):
        return None
    made = instrumented(getattr(f, "py_func", None) or f._dispatcher.py_func)
    return elementwise(made) if type(f).__name__ == "DUFunc" else made


def is_of_numba(f: Any) -> bool:
    """Whether numba has compiled a callable from a Python function, which it still has."""
    if type(f).__module__.partition(".")[0] != "numba":
        return False
    if type(getattr(f, "py_func", None)) is types.FunctionType:
        return True
    function = getattr(getattr(f, "_dispatcher", None), "py_func", None)
    # a generalised ufunc works on whole arrays, and writes its results
    return type(function) is types.FunctionType and type(f).__name__ == "DUFunc" and f.nout == 1


def elementwise(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a ufunc in Python: it broadcasts its arguments and calls `f` for each element."""

    def each(*args: Any) -> Any:
        shown = np.broadcast_arrays(*args)
        made = np.array([f(*items) for items in zip(*[a.ravel() for a in shown], strict=True)])
        return made.reshape(shown[0].shape) if shown[0].ndim else made[0]

    return instrumented(each)
