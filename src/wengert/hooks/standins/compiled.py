"""Functions compiled by numba: if traced values reach one, its original Python function runs instead."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.hooks.code_swap import instrumented
from wengert.values.random_states import generator_types


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


_ACTING = {"random", "print", "objmode", "input", "open"}
"""Names by which code that numba compiled has effects, or draws."""


_STORING = {"fill", "sort", "put", "partition", "copyto", "place", "putmask", "at"}
"""Names of functions and methods that write into an array."""


def is_pure(f: Any, may_store: bool, seen: tuple[Any, ...] = ()) -> bool:
    """Whether a function that numba compiled, and those that it calls, name nothing that acts, draws or stores."""
    source = getattr(f, "py_func", None) or f._dispatcher.py_func
    codes = [*_codes_in(source.__code__)]
    names = {name for code in codes for name in code.co_names}
    used = [source.__globals__[name] for name in names if name in source.__globals__]
    used += [cell.cell_contents for cell in source.__closure__ or ()]
    steps = [step.opname for code in codes for step in dis.get_instructions(code)]
    stores = not _STORING.isdisjoint(names) or not {"STORE_SUBSCR", "STORE_SLICE"}.isdisjoint(steps)
    if not _ACTING.isdisjoint(names) or any(map(_acts, used)) or (stores and not may_store):
        return False
    others = [g for g in used if is_of_numba(g) and not any([g is one for one in seen])]
    return all([is_pure(g, may_store, (*seen, f)) for g in others])


def _acts(thing: Any) -> bool:
    return getattr(thing, "__name__", "") in _ACTING or type(getattr(thing, "__self__", None)) in generator_types()


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object, and those of the functions that it makes."""
    yield code
    for part in code.co_consts:
        if type(part) is types.CodeType:
            yield from _codes_in(part)


def elementwise(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a ufunc in Python: it broadcasts its arguments and calls `f` for each element."""

    def each(*args: Any) -> Any:
        shown = np.broadcast_arrays(*args)
        made = np.array([f(*items) for items in zip(*[a.ravel() for a in shown], strict=True)])
        return made.reshape(shown[0].shape) if shown[0].ndim else made[0]

    return instrumented(each)
