"""Methods of numbers and arrays that do what an operator or builtin does: `x.__add__(y)`, `float.__repr__(x)`."""

from __future__ import annotations

import operator
import types
from functools import partial
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced, python_method
from wengert.hooks.operators import BINARY, COMPARISONS, INPLACE, UNARY
from wengert.hooks.policy import Decision, decides_unbound, stand_in_call
from wengert.hooks.search import guarded
from wengert.hooks.standins.functions import dunder
from wengert.hooks.standins.probes import by_ufunc
from wengert.hooks.writes import record_store
from wengert.recording.primitives import primitive_of
from wengert.recording.record import record_as
from wengert.recording.recording import C_ONLY_TYPES
from wengert.recording.slots import holds_traced
from wengert.recording.subclasses import is_of_subclass


def _classes_under(t: type) -> list[type]:
    classes: list[type] = type.__subclasses__(t)
    return [t, *[under for each in classes for under in _classes_under(each)]]


@decides_unbound(float, complex, np.ndarray, *[t for t in _classes_under(np.generic) if t is not np.void])
def _of_number(f: Any) -> Decision | None:
    if type(f) is not types.WrapperDescriptorType or f.__name__ not in DUNDERS:
        return None
    return stand_in_call("It is an operator, which is recorded.", _past_override, DUNDERS[f.__name__])


def _of_first(fn: Any, a: Any, *others: Any) -> Any:
    """Apply an operator of which only the first operand's method is called: `x.__neg__()`, `x.__iadd__(y)`."""
    return by_ufunc(fn, a, *others) if is_of_subclass(a) else as_traced(fn)(a, *others)


def _past_override(f: Any) -> Any:
    """Make the stand-in of `float.__repr__(x)`, which bypasses a Python method of that name in the class of x."""
    standin = DUNDERS[f.__name__]

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not args or not isinstance(args[0], f.__objclass__):
            return guarded(f)(*args, **kwargs)
        if f.__objclass__ in _CONVERTERS:
            args = tuple(map(_plain_number, args))
        elif not _is_past(f) and python_method(type(args[0]), f.__name__) is not None:
            return guarded(f)(*args)
        return as_traced(standin)(*args)

    return call


def _is_past(f: Any) -> bool:
    """Whether the stand-in of this method bypasses the classes of its arguments."""
    return f.__objclass__ is np.ndarray and f.__name__ in _PAST


_CONVERTERS = {float: float.__float__, complex: complex.__complex__}


def _plain_number(x: Any) -> Any:
    """Convert an instance of a `float` or `complex` subclass to its plain number, recorded; return others unchanged."""
    t = type(x)
    base = None if t in C_ONLY_TYPES else next((base for base in _CONVERTERS if issubclass(t, base)), None)
    if base is None or not holds_traced((x,)):
        return x if base is None else _CONVERTERS[base](x)
    primitive = primitive_of(base)
    assert primitive is not None
    return record_as(primitive, _CONVERTERS[base](x), (x,))


DUNDERS: dict[str, Any] = {
    "__getitem__": operator.getitem,
    "__setitem__": record_store,
    "__len__": len,
    "__hash__": hash,
    "__repr__": repr,
    "__str__": str,
    "__bool__": bool,
    "__float__": float,
    "__complex__": complex,
    "__int__": int,
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__abs__": abs,
    "__contains__": operator.contains,
}

for _op in (*BINARY.values(), *COMPARISONS.values()):
    DUNDERS[_op.method] = dunder(_op, False)
    if _op.name not in COMPARISONS:
        DUNDERS[_op.reflected] = dunder(_op, True)
for _fn, _name in (*INPLACE.values(), *UNARY.values(), (abs, "__abs__")):
    DUNDERS[_name] = partial(_of_first, _fn)
_PAST = DUNDERS.keys() - {"__getitem__", "__len__", "__hash__", "__repr__", "__str__", "__bool__", "__contains__"}
"""Those whose stand-in asks no class of arrays."""
