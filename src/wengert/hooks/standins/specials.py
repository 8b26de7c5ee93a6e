"""Stand-ins of builtins and C functions that call back, follow a protocol or ask for the frame that calls them."""

from __future__ import annotations

import builtins
import functools
import sys
import types
import warnings
import weakref
from typing import Any

import numpy as np

from wengert.hooks import foreign
from wengert.hooks.attributes import (
    delete_attribute,
    forget_changed,
    generic_attribute,
    generic_set_attribute,
    get_named_attribute,
    has_attribute,
    set_attribute,
)
from wengert.hooks.classes import as_traced, bind_method, python_method
from wengert.hooks.code_swap import of_user
from wengert.hooks.construction import build_class, instantiate, make_class
from wengert.hooks.generated import convert
from wengert.hooks.lookups import guard_decisive
from wengert.hooks.policy import stand_in_for
from wengert.hooks.protocols import truth
from wengert.hooks.search import search
from wengert.hooks.standins.iteration import entered
from wengert.recording.recording import STATE
from wengert.values.frames import frame_module_name, get_frame, warn
from wengert.values.specs import is_certain


@stand_in_for(np.broadcast)
def _broadcast(*args: Any) -> np.broadcast:
    """Stand in for `np.broadcast`: its shape can be used, but iterating over it cannot be traced."""
    made = np.broadcast(*args)
    recording = STATE.recording
    if recording is not None and search(recording, args):
        recording.caches.setdefault(np.broadcast, {})[id(made)] = made
    return made


@stand_in_for(np.nditer)
def _nditer(*args: Any, **kwargs: Any) -> Any:
    return foreign.FROMPYFUNC.module.nditer(*args, **kwargs)


@stand_in_for(type)
def _type(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 3 and type(args[2]) is dict:  # `type` itself asks the frame that it is called from
        args = (*args[:2], {"__module__": get_frame().f_globals.get("__name__"), **args[2]})
    return type(*args, **kwargs) if len(args) == 1 else make_class(type.__call__, type, *args, **kwargs)


@stand_in_for(hash)
def _hashed(a: Any, /) -> int:
    """The stand-in of `hash`, whose result may be the key of a cache."""
    value, recording = hash(guard_decisive(a)), STATE.recording
    if recording is not None and not is_certain(value) and search(recording, (a,)):
        recording.rounded[id(value)] = value
    return value


def _type_question(native: Any, name: str) -> Any:
    """Make the stand-in of `isinstance` or `issubclass`, which enters the method of a metaclass."""

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
        return truth(bind_method(method, cls)(asked), STATE.site)

    return call


stand_in_for(isinstance)(_type_question(isinstance, "__instancecheck__"))
stand_in_for(issubclass)(_type_question(issubclass, "__subclasscheck__"))
stand_in_for(getattr)(get_named_attribute)
stand_in_for(hasattr)(has_attribute)
stand_in_for(builtins.__build_class__)(build_class)
stand_in_for(object.__getattribute__)(generic_attribute)
stand_in_for(type.__call__)(instantiate)
stand_in_for(type.__new__)(functools.partial(make_class, type.__new__))
stand_in_for(sys._getframe)(get_frame)
stand_in_for(warnings.warn)(warn)
stand_in_for(getattr(sys, "_getframemodulename", frame_module_name))(frame_module_name)


@stand_in_for(setattr)
def _setattr(obj: Any, name: str, value: Any, /) -> None:
    set_attribute(obj, value, guard_decisive(name), STATE.site)


@stand_in_for(delattr)
def _delattr(obj: Any, name: str, /) -> None:
    delete_attribute(obj, guard_decisive(name), STATE.site)


@stand_in_for(object.__setattr__)
def _generic_setattr(obj: Any, name: str, value: Any, /) -> None:
    generic_set_attribute(obj, value, name)


@stand_in_for(type.__setattr__, type.__delattr__, made=True)
def _changing(change: Any) -> Any:
    """Make the stand-in of `type.__setattr__` or `type.__delattr__`, which forgets cached facts about the class."""

    def call(cls: Any, /, *args: Any) -> None:
        forget_changed(cls)
        change(cls, *args)

    return call


@stand_in_for(object.__str__)
def _str_of_object(obj: Any) -> Any:
    """The stand-in of `object.__str__`: the `repr` of the object's own class."""
    return convert(obj, 2, STATE.site)


@stand_in_for(property.__get__)
def _property(p: property, obj: Any, owner: Any = None) -> Any:
    return p if obj is None else as_traced(p.fget)(obj)


@stand_in_for(range)
def _range(*args: Any) -> range:
    return range(*[guard_decisive(a) for a in args])


@stand_in_for(chr)
def _chr(a: Any, /) -> str:
    return chr(guard_decisive(a))


@stand_in_for(weakref.ref)
def _ref(obj: Any, callback: Any = None, /) -> Any:
    return weakref.ref(obj, entered(callback))


@stand_in_for(weakref.finalize)
def _finalize(obj: Any, func: Any, /, *args: Any, **kwargs: Any) -> Any:
    return weakref.finalize(obj, as_traced(func), *args, **kwargs)


@stand_in_for(np.ufunc.__call__)
def _call_ufunc(ufunc: Any, *args: Any, **kwargs: Any) -> Any:
    return as_traced(ufunc)(*args, **kwargs)
