"""What stands for each builtin and C function that calls back, follows a protocol or asks its frame."""

from __future__ import annotations

import builtins
import functools
import sys
import types
import warnings
import weakref
from typing import Any

import numpy as np

from wengert.hooks.attributes import (
    asked_attribute,
    delete_attribute,
    generic_attribute,
    generic_set_attribute,
    has_attribute,
    set_attribute,
)
from wengert.hooks.classes import bind, enter, python_method
from wengert.hooks.construction import build_class, instantiate, make_class
from wengert.hooks.exchange import of_user
from wengert.hooks.generated import convert
from wengert.hooks.lookups import decisive
from wengert.hooks.protocols import truth
from wengert.hooks.search import search
from wengert.hooks.standins.algorithms import ALGORITHMS
from wengert.hooks.standins.conversions import CONVERSIONS
from wengert.hooks.standins.execution import evaluated
from wengert.hooks.standins.functions import ARRAY_FUNCTIONS, copied, view
from wengert.hooks.standins.iteration import ITERATION, entered
from wengert.hooks.standins.numpy_helpers import SUBSTITUTES
from wengert.hooks.standins.operator_functions import OPERATOR_FUNCTIONS
from wengert.hooks.standins.ordering import cmp_to_key
from wengert.hooks.standins.texts import SHOWING, interned, ordinal, printed
from wengert.hooks.standins.totals import OF_POINTS
from wengert.recording.primitives import ruled
from wengert.recording.recording import STATE
from wengert.values.frames import frame_module_name, get_frame, warn
from wengert.values.specs import is_certain


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
    return type(*args, **kwargs) if len(args) == 1 else make_class(type.__call__, type, *args, **kwargs)


def _hashed(a: Any, /) -> int:
    """`hash`, which may be the key of a cache."""
    value, recording = hash(decisive(a)), STATE.recording
    if recording is not None and not is_certain(value) and search(recording, (a,)):
        recording.rounded[id(value)] = value
    return value


def _checked(native: Any, name: str) -> Any:
    """`isinstance` or `issubclass`, entering what a metaclass says of it."""

    def call(asked: Any, cls: Any, /) -> bool:
        t = type(cls)
        if t is tuple:
            return any(call(asked, each) for each in cls)
        method = python_method(t, name) if t is not type else None
        if (
            type(method) is not types.FunctionType
            or not of_user(method)
            or (native is isinstance and type(asked) is cls)
        ):
            return native(asked, cls)
        return truth(bind(method, cls)(asked), STATE.site)

    return call


SPECIAL: dict[Any, Any] = {
    isinstance: _checked(isinstance, "__instancecheck__"),
    issubclass: _checked(issubclass, "__subclasscheck__"),
    getattr: asked_attribute,
    hasattr: has_attribute,
    type: _type,
    setattr: lambda obj, name, value, /: set_attribute(obj, value, decisive(name), STATE.site),
    delattr: lambda obj, name, /: delete_attribute(obj, decisive(name), STATE.site),
    builtins.__build_class__: build_class,
    object.__str__: lambda a: convert(a, 2, STATE.site),  # it is that of the object
    sys.intern: interned,
    ord: ordinal,
    object.__getattribute__: lambda obj, name: generic_attribute(obj, name),
    object.__setattr__: lambda obj, name, value: generic_set_attribute(obj, value, name),
    np.ndarray.__copy__: copied,
    np.ndarray.__deepcopy__: copied,
    np.broadcast: _broadcast,
    np.ufunc.__call__: lambda ufunc, *args, **kwargs: enter(ufunc)(*args, **kwargs),
    np.ndarray.view: lambda a, *args, **kwargs: view(ruled(np.ndarray.view), a, *args, **kwargs),
    print: printed,
    range: lambda *args: range(*[decisive(a) for a in args]),
    hash: _hashed,
    chr: lambda a, /: chr(decisive(a)),
    weakref.ref: lambda obj, callback=None, /: weakref.ref(obj, entered(callback)),
    weakref.finalize: lambda obj, func, /, *args, **kwargs: weakref.finalize(obj, enter(func), *args, **kwargs),
    type.__call__: instantiate,
    type.__new__: functools.partial(make_class, type.__new__),
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
    isinstance, issubclass, getattr, hasattr, setattr, iter, next, len, bool, any, all, filter, reversed, sorted,
    repr, ascii, format, eval, exec,
):  # fmt: skip
    SPECIAL[_fn] = _as_called(_fn, SPECIAL[_fn])
