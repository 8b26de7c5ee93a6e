"""Calls of classes, and class statements: CPython makes the objects; untraced use of the arguments is refused."""

from __future__ import annotations

import abc
import builtins
import types
from functools import partial
from typing import Any

from wengert.hooks.classes import as_traced, bind_method, python_method
from wengert.hooks.code_swap import of_user, prepare
from wengert.hooks.policy import Decision, Kind, decides_type, native_call, opaque_call, same_callable, stand_in_call
from wengert.hooks.search import CARRIER_TYPES, opaque
from wengert.hooks.standins.containers import taken
from wengert.recording.recording import STATE
from wengert.recording.trace_state import note_born
from wengert.rulebook.registry import rules
from wengert.values.names import is_heap_type, lookup, runs_python

_type_call: Any = type.__call__


@decides_type(type)
def _decide_class(cls: Any) -> Decision:
    decision = _decide_class_call(cls)
    return decision._replace(of=lambda cls: decision.of(cls) if prepare(cls) else cls)


def _decide_class_call(cls: Any) -> Decision:
    call = python_method(type(cls), "__call__")
    if call is not None:
        return Decision(
            Kind.ENTERED, "Its metaclass has a `__call__` in Python.", partial(_bind_metaclass_call, call), call
        )
    if lookup(type(cls), "__call__") is not lookup(type, "__call__"):
        return opaque_call("Its metaclass is called by C code, which cannot be traced, and it has no rule.")
    return decide_constructor(cls)


def _bind_metaclass_call(call: Any, cls: Any) -> Any:
    return cls if of_user(call) else bind_method(call, cls)


def decide_constructor(cls: Any) -> Decision:
    """Return the Decision on `type.__call__(cls, ...)`."""
    new, init = lookup(cls, "__new__"), lookup(cls, "__init__")
    python_new = isinstance(new, staticmethod) and isinstance(new.__func__, types.FunctionType)
    if issubclass(cls, CARRIER_TYPES) and not (python_new and isinstance(init, types.FunctionType)):
        fill = (
            _make_by_new if isinstance(new, staticmethod) or isinstance(init, types.FunctionType) else _fill_container
        )
        return stand_in_call("The items of a container are recorded while it is filled.", partial(partial, fill), fill)
    if issubclass(cls, type):
        return stand_in_call(
            "The functions of the class are traced.", partial(partial, make_class, _type_call), make_class
        )
    if type(new) is types.BuiltinFunctionType and new in rules:
        return stand_in_call("Its `__new__` has a rule.", partial(partial, _make_by_new), _make_by_new)
    if not python_new and not _only_stores_arguments(cls, new):
        return opaque_call(
            "C code, which cannot be traced, makes its objects, and it has no rule.", partial(partial, _make_opaque)
        )
    if is_heap_type(cls) and _is_compiled_init(init):
        standin, of = rules.standin_of(init), partial(partial, _make_with_c_init)
        return (
            opaque_call("Its `__init__` is written in C.", of)
            if standin is None
            else stand_in_call("Its `__init__` has a stand-in.", of, standin)
        )
    if is_heap_type(cls):
        return Decision(Kind.ENTERED, "CPython makes the object; its methods in Python are traced.", same_callable, cls)
    return native_call("It stores its arguments and computes nothing on them.")


def _only_stores_arguments(cls: Any, new: Any) -> bool:
    """Whether the constructor in C only stores its arguments, as exceptions do."""
    return issubclass(cls, BaseException) or new is lookup(object, "__new__") or rules.standin_of(new) is new


def _fill_container(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make a container that C fills; iterate over the arguments first, so that their items are recorded."""
    items, options = taken(cls, args, kwargs)
    return _type_call(cls, *items, **options)


def _make_by_new(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make a container, or an object whose `__new__` has a rule, by entering `__new__` and `__init__`."""
    obj = as_traced(cls.__new__)(cls, *args, **kwargs)
    if isinstance(obj, cls) and as_traced(type(obj).__init__)(obj, *args, **kwargs) is not None:
        raise TypeError("__init__() should return None")
    return obj


def _is_compiled_init(init: Any) -> bool:
    """Whether an `__init__` is a C function of a compiled class, as Cython makes them."""
    return callable(init) and not isinstance(init, types.WrapperDescriptorType) and not runs_python(init)


def _make_with_c_init(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make an object of a class compiled by Cython; CPython would call its `__init__` untraced."""
    obj = as_traced(cls.__new__)(cls, *args, **kwargs)
    if isinstance(obj, cls) and bind_method(lookup(type(obj), "__init__"), obj)(*args, **kwargs) is not None:
        raise TypeError("__init__() should return None")
    return obj


def _make_opaque(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make an object by C code that cannot be traced; refuse if traced values can reach it."""
    recording = STATE.recording
    run = partial(_type_call, cls)
    if recording is None or (cls is types.FunctionType and recording.reads is None):  # it runs nothing
        return run(*args, **kwargs)
    return opaque(recording, cls, args, kwargs, run=run)


def instantiate(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand in for `type.__call__(cls, ...)`."""
    make: Any = decide_constructor(cls).of(cls)
    make = partial(_type_call, cls) if make is cls else make
    return make(*args, **kwargs)


def build_class(body: types.FunctionType, name: str, /, *bases: Any, **options: Any) -> Any:
    """Stand in for `__build_class__`, which a class statement calls."""
    _prepare_all((*bases, *options.values()))
    return _noted(builtins.__build_class__(body, name, *bases, **options))


def make_class(make: Any, meta: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand in for `type.__call__(meta, ...)` or `type.__new__(meta, ...)`."""
    if len(args) == 3 and isinstance(args[1], tuple) and isinstance(args[2], dict):
        _prepare_all((*args[1], *args[2].values()))
        return _noted(make(meta, *args, **kwargs))
    return make(meta, *args, **kwargs)


def _noted(made: Any) -> Any:
    """Note a class that the trace has made, and return it; a metaclass with a `__new__` may return an older one."""
    if STATE.recording is not None and lookup(type(made), "__new__") in _MAKERS_OF_CLASSES:
        note_born(made)
    return made


_MAKERS_OF_CLASSES = [lookup(meta, "__new__") for meta in (type, abc.ABCMeta)]


def _prepare_all(things: tuple[Any, ...]) -> None:
    for thing in things:
        prepare(thing if issubclass(type(thing), type) else type(thing))
