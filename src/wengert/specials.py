"""What stands for each builtin and C function that calls back, follows a protocol or asks its frame."""

from __future__ import annotations

import builtins
import functools
import sys
import warnings
import weakref
from typing import Any

import numpy as np

from wengert.algorithms import ALGORITHMS
from wengert.attributes import (
    asked_attribute,
    delete_attribute,
    generic_attribute,
    generic_set_attribute,
    has_attribute,
    set_attribute,
)
from wengert.classes import enter
from wengert.construction import build_class, construct, instantiate
from wengert.conversions import CONVERSIONS
from wengert.dispatch import convert
from wengert.executing import evaluated
from wengert.frames import frame_module_name, get_frame, warn
from wengert.iteration import ITERATION, entered
from wengert.natives import ARRAY_FUNCTIONS, copied, view
from wengert.opaque import search
from wengert.operator_functions import OPERATOR_FUNCTIONS
from wengert.ordering import cmp_to_key
from wengert.primitives import ruled
from wengert.recording import STATE
from wengert.substitutes import SUBSTITUTES
from wengert.texts import SHOWING, interned, printed
from wengert.totals import OF_POINTS


def _broadcast(*args: Any) -> np.broadcast:
    """`np.broadcast`, for the shape's sake; what it gives when iterated over cannot be followed."""
    made = np.broadcast(*args)
    recording = STATE.recording
    if recording is not None and search(recording, args):
        recording.caches.setdefault(np.broadcast, {})[id(made)] = made
    return made


def exception_method(f: Any, name: str) -> Any:
    """A method of an exception, which moves what it holds; `split` and `subgroup` may ask a function."""
    return (lambda condition: f(_condition(condition))) if name in ("split", "subgroup") else f


def _condition(a: Any) -> Any:
    return a if isinstance(a, (type, tuple)) else enter(a)


def _type(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 3 and type(args[2]) is dict:  # `type` itself asks the frame that it is called from
        args = (*args[:2], {"__module__": get_frame().f_globals.get("__name__"), **args[2]})
    return type(*args, **kwargs) if len(args) == 1 else construct(type, *args, **kwargs)


SPECIAL: dict[Any, Any] = {
    getattr: asked_attribute,
    hasattr: has_attribute,
    type: _type,
    setattr: lambda obj, name, value, /: set_attribute(obj, value, name, STATE.site),
    delattr: lambda obj, name, /: delete_attribute(obj, name, STATE.site),
    builtins.__build_class__: build_class,
    object.__str__: lambda a: convert(a, 2, STATE.site),  # it is that of the object
    sys.intern: interned,
    object.__getattribute__: lambda obj, name: generic_attribute(obj, name),
    object.__setattr__: lambda obj, name, value: generic_set_attribute(obj, value, name),
    np.ndarray.__copy__: copied,
    np.ndarray.__deepcopy__: copied,
    np.broadcast: _broadcast,
    np.ufunc.__call__: lambda ufunc, *args, **kwargs: enter(ufunc)(*args, **kwargs),
    np.ndarray.view: lambda a, *args, **kwargs: view(ruled(np.ndarray.view), a, *args, **kwargs),
    print: printed,
    weakref.ref: lambda obj, callback=None, /: weakref.ref(obj, entered(callback)),
    weakref.finalize: lambda obj, func, /, *args, **kwargs: weakref.finalize(obj, enter(func), *args, **kwargs),
    type.__call__: instantiate,
    functools.cmp_to_key: cmp_to_key,
    property.__get__: lambda p, obj, owner=None: p if obj is None else enter(p.fget)(obj),
    sys._getframe: get_frame,
    warnings.warn: warn,
    getattr(sys, "_getframemodulename", frame_module_name): frame_module_name,
    eval: evaluated(eval),
    exec: evaluated(exec),
    **ITERATION,
    **CONVERSIONS,
    **OPERATOR_FUNCTIONS,
    **OF_POINTS,
    **ALGORITHMS,
    **SHOWING,
    **SUBSTITUTES,
    **ARRAY_FUNCTIONS,
}


def _as_called(native: Any, stand: Any) -> Any:
    """What stands for a builtin; where the arguments do not fit it, the error is the builtin's own."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return stand(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # it was not even entered
                return native(*args, **kwargs)
            raise

    return call


for _fn in (
    getattr, hasattr, setattr, iter, next, len, bool, any, all, filter, reversed, sorted,
    repr, ascii, format, eval, exec,
):  # fmt: skip
    SPECIAL[_fn] = _as_called(_fn, SPECIAL[_fn])
