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
    if type(f).__module__.partition(".")[0] != "numba":
        return None
    function = getattr(f, "py_func", None)
    if type(function) is types.FunctionType:
        return instrumented(function)
    function = getattr(getattr(f, "_dispatcher", None), "py_func", None)
    if type(function) is not types.FunctionType or type(f).__name__ != "DUFunc" or f.nout != 1:
        return None  # a generalised ufunc works on whole arrays, and writes its results
    return elementwise(instrumented(function))


def elementwise(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a ufunc in Python: it broadcasts its arguments and calls `f` for each element."""

    def each(*args: Any) -> Any:
        shown = np.broadcast_arrays(*args)
        made = np.array([f(*items) for items in zip(*[a.ravel() for a in shown], strict=True)])
        return made.reshape(shown[0].shape) if shown[0].ndim else made[0]

    return instrumented(each)
