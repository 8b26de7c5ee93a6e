"""Functions that numba compiled: where traced values reach them, the Python functions that they were made of run."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.code_swap import instrumented


def source_of(f: Any) -> Callable[..., Any] | None:
    """What computes in Python as the compiled `f` does (of `njit`, `jit`, `vectorize`); None where it is not such.

    It is another function than the one compiled, whose code numba may yet read.
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
    """A ufunc in Python: `f` of all elements of its arguments, which are broadcast."""

    def each(*args: Any) -> Any:
        shown = np.broadcast_arrays(*args)
        made = np.array([f(*items) for items in zip(*[a.ravel() for a in shown], strict=True)])
        return made.reshape(shown[0].shape) if shown[0].ndim else made[0]

    return instrumented(each)
