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
    asked_attribute,
    delete_attribute,
    forget_changed,
    generic_attribute,
    generic_set_attribute,
    has_attribute,
    set_attribute,
)
from wengert.hooks.classes import bind, enter, python_method
from wengert.hooks.code_swap import of_user
from wengert.hooks.construction import build_class, instantiate, make_class
from wengert.hooks.generated import convert
from wengert.hooks.lookups import decisive
from wengert.hooks.policy import stands_for
from wengert.hooks.protocols import truth
from wengert.hooks.search import search
from wengert.hooks.standins.iteration import entered
from wengert.recording.recording import STATE
from wengert.values.frames import frame_module_name, get_frame, warn
from wengert.values.specs import is_certain


@stands_for(np.broadcast)
def _broadcast(*args: Any) -> np.broadcast:
    """Stand in for `np.broadcast`: its shape can be used, but iterating over it cannot be followed."""
    made = np.broadcast(*args)
    recording = STATE.recording
    if recording is not None and search(recording, args):
        recording.caches.setdefault(np.broadcast, {})[id(made)] = made
    return made


@stands_for(np.nditer)
def _nditer(*args: Any, **kwargs: Any) -> Any:
    return foreign.FROMPYFUNC.module.nditer(*args, **kwargs)


@stands_for(type)
def _type(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 3 and type(args[2]) is dict:  # `type` itself asks the frame that it is called from
        args = (*args[:2], {"__module__": get_frame().f_globals.get("__name__"), **args[2]})
    return type(*args, **kwargs) if len(args) == 1 else make_class(type.__call__, type, *args, **kwargs)


@stands_for(hash)
def _hashed(a: Any, /) -> int:
    """The stand-in of `hash`, whose result may be the key of a cache."""
    value, recording = hash(decisive(a)), STATE.recording
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
        return truth(bind(method, cls)(asked), STATE.site)

    return call


stands_for(isinstance)(_type_question(isinstance, "__instancecheck__"))
stands_for(issubclass)(_type_question(issubclass, "__subclasscheck__"))
stands_for(getattr)(asked_attribute)
stands_for(hasattr)(has_attribute)
stands_for(builtins.__build_class__)(build_class)
stands_for(object.__getattribute__)(generic_attribute)
stands_for(type.__call__)(instantiate)
stands_for(type.__new__)(functools.partial(make_class, type.__new__))
stands_for(sys._getframe)(get_frame)
stands_for(warnings.warn)(warn)
stands_for(getattr(sys, "_getframemodulename", frame_module_name))(frame_module_name)


@stands_for(setattr)
def _setattr(obj: Any, name: str, value: Any, /) -> None:
    set_attribute(obj, value, decisive(name), STATE.site)


@stands_for(delattr)
def _delattr(obj: Any, name: str, /) -> None:
    delete_attribute(obj, decisive(name), STATE.site)


@stands_for(object.__setattr__)
def _generic_setattr(obj: Any, name: str, value: Any, /) -> None:
    generic_set_attribute(obj, value, name)


@stands_for(type.__setattr__, type.__delattr__, made=True)
def _changing(change: Any) -> Any:
    """Make the stand-in of `type.__setattr__` or `type.__delattr__`, which forgets cached facts about the class."""

    def call(cls: Any, /, *args: Any) -> None:
        forget_changed(cls)
        change(cls, *args)

    return call


@stands_for(object.__str__)
def _str_of_object(obj: Any) -> Any:
    """The stand-in of `object.__str__`: the `repr` of the object's own class."""
    return convert(obj, 2, STATE.site)


@stands_for(property.__get__)
def _property(p: property, obj: Any, owner: Any = None) -> Any:
    return p if obj is None else enter(p.fget)(obj)


@stands_for(range)
def _range(*args: Any) -> range:
    return range(*[decisive(a) for a in args])


@stands_for(chr)
def _chr(a: Any, /) -> str:
    return chr(decisive(a))


@stands_for(weakref.ref)
def _ref(obj: Any, callback: Any = None, /) -> Any:
    return weakref.ref(obj, entered(callback))


@stands_for(weakref.finalize)
def _finalize(obj: Any, func: Any, /, *args: Any, **kwargs: Any) -> Any:
    return weakref.finalize(obj, enter(func), *args, **kwargs)


@stands_for(np.ufunc.__call__)
def _call_ufunc(ufunc: Any, *args: Any, **kwargs: Any) -> Any:
    return enter(ufunc)(*args, **kwargs)
