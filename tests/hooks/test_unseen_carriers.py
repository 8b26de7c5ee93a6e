"""Places from which a Python function that C calls reads a traced value: it is refused wherever the value lies."""

# ruff: noqa: F821 (names that a program defines; a function per line)

from __future__ import annotations

import argparse
import builtins
import collections
import contextvars
import ctypes
import enum
import functools
import operator
import queue
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

DOUBLES = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


class Local(threading.local):
    shared = 1.0


class Colour(enum.Enum):
    RED = 1


class Key:
    value: Any = 1.0


class Meta(type):
    pass


class Made(metaclass=Meta):
    t: Any = 1.0


class Slots:
    __slots__ = ("t",)


class Structure(ctypes.Structure):
    _fields_ = [("a", ctypes.c_double)]


class Descriptor:
    def __get__(self, obj: Any, owner: Any = None) -> Any:
        return Key.value


class Described:
    d = Descriptor()


local, sub, variable, other = threading.local(), Local(), contextvars.ContextVar("v"), contextvars.ContextVar("w")
context, key, space, slots = contextvars.copy_context(), Key(), types.SimpleNamespace(), Slots()
user, users, chained = collections.UserDict(), collections.UserList([1.0]), collections.ChainMap({})
ordered, filled, counts, row = (
    collections.OrderedDict(),
    collections.defaultdict(float),
    collections.Counter(),
    collections.deque([1.0]),
)
weak, reference, shown = weakref.WeakKeyDictionary(), weakref.ref(key), {"t": 1.0}
waiting, thread, event, options = queue.Queue(), threading.Thread(), threading.Event(), argparse.Namespace()
proxy, module, error, struct = types.MappingProxyType(shown), types.ModuleType("module"), ValueError(1.0), Structure()
objects, array, partial, held, described = (
    np.empty(1, object),
    np.ones(1),
    functools.partial(min, 1.0),
    ctypes.py_object(space),
    Described(),
)
items: list[Any] = [None]
HERE = sys.modules[__name__]


def function() -> None:
    pass


@functools.lru_cache
def cached() -> Any:
    return Key.value


def imported(v: float) -> Any:
    import module_of_a_carrier  # type: ignore[import-not-found]

    return module_of_a_carrier.t * v


sys.modules["module_of_a_carrier"] = module


def refilled(t: Any) -> None:
    while not waiting.empty():
        waiting.get()
    waiting.put(t)


def in_attribute(thing: Any, name: str = "t") -> Callable[[Any], Any]:
    return lambda t: setattr(thing, name, t)


def in_item(thing: Any, place: Any) -> Callable[[Any], Any]:
    return lambda t: operator.setitem(thing, place, t)


PLACES: dict[str, tuple[Callable[[Any], Any], Callable[[float], Any]]] = {
    "threading.local": (in_attribute(local), lambda v: local.t * v),
    "a class made of it": (in_attribute(sub), lambda v: sub.t * v),
    "ContextVar": (lambda t: variable.set(t), lambda v: variable.get() * v),
    "ContextVar, an object": (lambda t: (in_attribute(space)(t), other.set(space)), lambda v: other.get().t * v),
    "Context": (lambda t: context.run(variable.set, t), lambda v: context[variable] * v),
    "globals()": (in_attribute(space), lambda v: globals()["space"].t * v),
    "eval": (in_attribute(space), lambda v: eval("space.t") * v),
    "sys.modules": (in_attribute(space), lambda v: sys.modules[__name__].space.t * v),
    "sys.modules, by a string": (in_attribute(module), lambda v: sys.modules["module_of_a_carrier"].t * v),
    "vars": (in_attribute(space), lambda v: vars(sys.modules[__name__])["space"].t * v),
    "__globals__": (in_attribute(space), lambda v: function.__globals__["space"].t * v),
    "an import": (in_attribute(module), imported),
    "__import__": (in_attribute(module), lambda v: __import__("module_of_a_carrier").t * v),
    "__dict__": (in_attribute(module), lambda v: module.__dict__["t"] * v),
    "attrgetter": (in_attribute(space), lambda v: operator.attrgetter("space.t")(sys.modules[__name__]) * v),
    "builtins": (in_attribute(builtins, "of_builtins"), lambda v: of_builtins * v),  # type: ignore[name-defined]
    "a global name": (in_attribute(HERE, "made"), lambda v: made * v),  # type: ignore[name-defined]
    "SimpleNamespace": (in_attribute(space), lambda v: space.t * v),
    "argparse.Namespace": (in_attribute(options), lambda v: options.t * v),
    "slots": (in_attribute(slots), lambda v: slots.t * v),
    "UserDict": (in_item(user, "t"), lambda v: user["t"] * v),
    "UserList": (in_item(users, 0), lambda v: users[0] * v),
    "ChainMap": (in_item(chained, "t"), lambda v: chained["t"] * v),
    "OrderedDict": (in_item(ordered, "t"), lambda v: ordered["t"] * v),
    "defaultdict": (in_item(filled, "t"), lambda v: filled["t"] * v),
    "Counter": (in_item(counts, "t"), lambda v: counts["t"] * v),
    "deque": (in_item(row, 0), lambda v: row[0] * v),
    "mappingproxy": (in_item(shown, "t"), lambda v: proxy["t"] * v),
    "WeakKeyDictionary": (in_item(weak, key), lambda v: weak[key] * v),
    "weakref": (in_attribute(key), lambda v: reference().t * v),
    "Queue": (refilled, lambda v: waiting.queue[0] * v),
    "Thread": (in_attribute(thread), lambda v: thread.t * v),
    "Event": (in_attribute(event), lambda v: event.t * v),
    "an exception": (in_attribute(error), lambda v: error.t * v),
    "an exception's arguments": (lambda t: setattr(error, "args", (t,)), lambda v: error.args[0] * v),
    "a ctypes structure": (in_attribute(struct), lambda v: struct.t * v),
    "py_object": (in_attribute(space), lambda v: held.value.t * v),
    "an array": (in_item(array, 0), lambda v: array[0] * v),
    "an array of objects": (in_item(objects, 0), lambda v: objects[0] * v),
    "a function": (in_attribute(function), lambda v: function.t * v),
    "a partial": (in_attribute(partial), lambda v: partial.t * v),
    "an enumeration": (in_attribute(Colour.RED), lambda v: Colour.RED.t * v),
    "its value": (in_attribute(Colour.RED, "_value_"), lambda v: Colour.RED.value * v),
    "a class": (in_attribute(Made), lambda v: Made.t * v),
    "a descriptor": (in_attribute(Key, "value"), lambda v: described.d * v),
    "lru_cache": (lambda t: (cached.cache_clear(), setattr(Key, "value", t)), lambda v: cached() * v),
    "an iterator": (lambda t: in_item(items, 0)(iter([t])), lambda v: next(items[0]) * v),
    "a generator": (lambda t: in_item(items, 0)(a for a in [t]), lambda v: next(items[0]) * v),
    "a map": (lambda t: in_item(items, 0)(map(t.__mul__, [1.0])), lambda v: next(items[0]) * v),
}  # fmt: skip
CALLBACKS = {name: DOUBLES(read) for name, (_, read) in PLACES.items()}


def program(name: str) -> Callable[[Any], Any]:
    store, call = PLACES[name][0], CALLBACKS[name]

    def f(t: Any) -> Any:
        store(t)
        return call(2.0) + t

    return f


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("go", [wg.grad, wg.jacfwd, wg.trace, wg.vjp], ids=lambda go: go.__name__)
def test_a_callback_of_c_that_reads_a_traced_value_is_refused(go: Any, name: str) -> None:
    f = program(name)
    assert (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6 == pytest.approx(3.0)
    f(1.5)
    with pytest.raises(wg.WengertError):
        go(f)(1.5) if go in (wg.grad, wg.jacfwd) else go(f, 1.5)


@pytest.mark.parametrize("name", PLACES)
def test_a_callback_of_c_that_reads_constants_runs(name: str) -> None:
    program(name)(1.5)
    space.t = 1.5
    assert wg.grad(lambda t: CALLBACKS["SimpleNamespace"](2.0) * t)(1.5) == 2.0 * 1.5
