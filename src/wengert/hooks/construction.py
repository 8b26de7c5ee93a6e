"""Calls of classes, and class statements. CPython makes the objects; C's use of the arguments is seen or refused."""

from __future__ import annotations

import builtins
import types
from functools import partial
from typing import Any

from wengert.hooks.classes import bind, enter, lookup, python_method
from wengert.hooks.code_swap import of_user, prepare
from wengert.hooks.policy import Decision, Kind, decides_type, itself, plain, replaced, searched
from wengert.hooks.search import CARRIER_TYPES, opaque
from wengert.hooks.standins.containers import taken
from wengert.recording.recording import STATE
from wengert.rulebook.registry import rules
from wengert.values.names import is_heap_type, runs_python

_call: Any = type.__call__


@decides_type(type)
def _of_class(cls: Any) -> Decision:
    decision = _of_call(cls)
    return decision._replace(of=lambda cls: decision.of(cls) if prepare(cls) else cls)


def _of_call(cls: Any) -> Decision:
    call = python_method(type(cls), "__call__")
    if call is not None:
        return Decision(Kind.ENTERED, "Its metaclass has a `__call__` in Python.", partial(_by_metaclass, call), call)
    if lookup(type(cls), "__call__") is not lookup(type, "__call__"):
        return searched("Its metaclass is called by C, which cannot be seen into, and it has no rule.")
    return constructor(cls)


def _by_metaclass(call: Any, cls: Any) -> Any:
    return cls if of_user(call) else bind(call, cls)


def constructor(cls: Any) -> Decision:
    """The decision on `type.__call__(cls, ...)`."""
    new, init = lookup(cls, "__new__"), lookup(cls, "__init__")
    python_new = isinstance(new, staticmethod) and isinstance(new.__func__, types.FunctionType)
    if issubclass(cls, CARRIER_TYPES) and not (python_new and isinstance(init, types.FunctionType)):
        fill = _made if isinstance(new, staticmethod) or isinstance(init, types.FunctionType) else _filled
        return replaced("What a container is filled with is handed to it.", partial(partial, fill), fill)
    if issubclass(cls, type):
        return replaced("Its functions are followed.", partial(partial, make_class, _call), make_class)
    if type(new) is types.BuiltinFunctionType and new in rules:
        return replaced("What makes its numbers has a rule.", partial(partial, _made), _made)
    if not python_new and not _takes_nothing(cls, new):
        return searched("C makes its objects, unseen, and it has no rule.", partial(partial, _closed))
    if is_heap_type(cls) and _is_compiled(init):
        text, of = rules.standin_of(init), partial(partial, _initialised)
        return searched("Its `__init__` is C.", of) if text is None else replaced("By its `__init__`.", of, text)
    if is_heap_type(cls):
        return Decision(Kind.ENTERED, "CPython makes the object; its methods in Python are followed.", itself, cls)
    return plain("It keeps what it is given and computes nothing on it.")


def _takes_nothing(cls: Any, new: Any) -> bool:
    """Whether the constructor in C only stores its arguments, as exceptions do."""
    return issubclass(cls, BaseException) or new is lookup(object, "__new__") or rules.standin_of(new) is new


def _filled(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make a container that C fills; iterate over the arguments first, so that the items are seen."""
    given, words = taken(cls, args, kwargs)
    return _call(cls, *given, **words)


def _made(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make a container, or an object whose `__new__` has a rule, by entering `__new__` and `__init__`."""
    obj = enter(cls.__new__)(cls, *args, **kwargs)
    if isinstance(obj, cls) and enter(type(obj).__init__)(obj, *args, **kwargs) is not None:
        raise TypeError("__init__() should return None")
    return obj


def _is_compiled(init: Any) -> bool:
    """Whether an `__init__` is a C function of a compiled class, as Cython makes them."""
    return callable(init) and not isinstance(init, types.WrapperDescriptorType) and not runs_python(init)


def _initialised(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make an object whose `__init__` is in C, in a class compiled by Cython; CPython would call it unseen."""
    obj = enter(cls.__new__)(cls, *args, **kwargs)
    if isinstance(obj, cls) and bind(lookup(type(obj), "__init__"), obj)(*args, **kwargs) is not None:
        raise TypeError("__init__() should return None")
    return obj


def _closed(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make an object by C code that cannot be followed; refuse if traced values can reach it."""
    recording = STATE.recording
    run = partial(_call, cls)
    return run(*args, **kwargs) if recording is None else opaque(recording, cls, args, kwargs, run=run)


def instantiate(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand in for `type.__call__(cls, ...)`."""
    stand = constructor(cls).of(cls)
    make: Any = partial(_call, cls) if stand is cls else stand
    return make(*args, **kwargs)


def build_class(body: types.FunctionType, name: str, /, *bases: Any, **options: Any) -> Any:
    """Stand in for `__build_class__`, which a class statement calls."""
    _prepare_all((*bases, *options.values()))
    return builtins.__build_class__(body, name, *bases, **options)


def make_class(make: Any, meta: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand in for `type.__call__(meta, ...)` or `type.__new__(meta, ...)`."""
    if len(args) == 3 and isinstance(args[1], tuple) and isinstance(args[2], dict):
        _prepare_all((*args[1], *args[2].values()))
    return make(meta, *args, **kwargs)


def _prepare_all(things: tuple[Any, ...]) -> None:
    for thing in things:
        prepare(thing if issubclass(type(thing), type) else type(thing))
