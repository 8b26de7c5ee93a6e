"""Stand-ins of the functions and callable objects of the module `operator`, and of the methods that do the same."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.attributes import asked_attribute
from wengert.hooks.classes import enter, python_method
from wengert.hooks.generated import HOOKS, convert
from wengert.hooks.items import delitem, getitem, iterable, setitem
from wengert.hooks.operators import BINARY, COMPARE, UNARY
from wengert.hooks.policy import Decision, decides_type, decides_unbound, replaced
from wengert.hooks.protocols import contains, not_, truth
from wengert.hooks.search import guarded
from wengert.hooks.standins.containers import same
from wengert.hooks.standins.functions import dunder
from wengert.hooks.standins.iteration import items_of
from wengert.recording.identity import is_, is_not
from wengert.recording.recording import STATE


def _getter(f: operator.itemgetter) -> Any:
    keys = f.__reduce__()[1]
    if len(keys) == 1:
        return lambda obj: HOOKS["getitem"](keys[0], obj, STATE.site)
    return lambda obj: tuple([HOOKS["getitem"](key, obj, STATE.site) for key in keys])


def _attribute_getter(f: operator.attrgetter) -> Any:
    names = f.__reduce__()[1]

    def get(obj: Any, path: str) -> Any:
        return functools.reduce(lambda part, name: asked_attribute(part, name), path.split("."), obj)

    return lambda obj: get(obj, names[0]) if len(names) == 1 else tuple([get(obj, name) for name in names])


def _method_caller(f: operator.methodcaller) -> Any:
    made: Any = f.__reduce__()
    words = {} if isinstance(made[0], type) else made[0].keywords
    name, *args = made[1] if isinstance(made[0], type) else (*made[0].args, *made[1])
    return lambda obj: enter(asked_attribute(obj, name))(*args, **words)


def _operator(hook: Callable[..., Any], swap: bool) -> Any:
    if swap:
        return lambda a, b: hook(b, a, STATE.site)
    return lambda a: hook(a, STATE.site)


def _index_of(sequence: Any, value: Any, /) -> int:
    """`operator.indexOf`, which reads an iterator no further than it must."""
    for place, item in enumerate(items_of(sequence)):
        if same(item, value):
            return place
    raise ValueError("sequence.index(x): x not in sequence")


_GETTERS: dict[type, Any] = {
    operator.itemgetter: _getter,
    operator.attrgetter: _attribute_getter,
    operator.methodcaller: _method_caller,
}


@decides_type(*_GETTERS)
def _of_getter(f: Any) -> Decision:
    return replaced("It reads a part of what it is given, which is recorded.", _GETTERS[type(f)])


def _classes_under(t: type) -> list[type]:
    classes: list[type] = type.__subclasses__(t)
    return [t, *[under for each in classes for under in _classes_under(each)]]


@decides_unbound(float, complex, np.ndarray, *_classes_under(np.generic))
def _of_number(f: Any) -> Decision | None:
    if type(f) is not types.WrapperDescriptorType or f.__name__ not in DUNDERS:
        return None
    return replaced("It is an operator, which is recorded.", _past_override, DUNDERS[f.__name__])


def _past_override(f: Any) -> Any:
    """The stand-in of `float.__repr__(x)`, which means that method also where the class of x has one in Python."""
    standin = DUNDERS[f.__name__]

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not args or python_method(type(args[0]), f.__name__) is not None:
            return guarded(f)(*args, **kwargs)
        return standin(*args)

    return call


DUNDERS: dict[str, Any] = {
    "__getitem__": lambda a, key: HOOKS["getitem"](key, a, STATE.site),
    "__setitem__": lambda a, key, value: HOOKS["setitem"](a, key, value, STATE.site),
    "__len__": len,
    "__hash__": hash,
    "__repr__": lambda a: convert(a, 2, STATE.site),
    "__str__": lambda a: convert(a, 1, STATE.site),
    "__bool__": lambda a: truth(a, STATE.site),
    "__contains__": lambda a, item: contains(a, item, STATE.site),
}

OPERATOR_FUNCTIONS: dict[Any, Any] = {
    operator.truth: lambda a: truth(a, STATE.site),
    operator.not_: lambda a: not_(a, STATE.site),
    operator.getitem: lambda a, b: getitem(b, a, STATE.site),
    operator.setitem: lambda a, b, c: setitem(a, b, c, STATE.site),
    operator.contains: lambda a, b: contains(a, b, STATE.site),
    operator.is_: lambda a, b: is_(b, a, STATE.site),
    operator.is_not: lambda a, b: is_not(b, a, STATE.site),
    operator.concat: lambda a, b: HOOKS["add"](b, a, STATE.site),
    operator.iconcat: lambda a, b: enter(a.__iadd__)(b) if isinstance(a, list) else HOOKS["iadd"](b, a, STATE.site),
    operator.countOf: lambda a, b: enter([*iterable(a, STATE.site)].count)(b),
    operator.indexOf: _index_of,
    operator.delitem: lambda a, b: delitem(b, a, STATE.site),
    operator.call: lambda f, *args, **kwargs: enter(f)(*args, **kwargs),
}


for _op in (*BINARY.values(), *COMPARE.values()):
    DUNDERS[_op.method] = dunder(_op, False)
    if _op.name not in COMPARE:
        DUNDERS[_op.reflected] = dunder(_op, True)


for _name in (*BINARY, *COMPARE):
    OPERATOR_FUNCTIONS[getattr(operator, _name)] = _operator(HOOKS[_name], True)


for _name in UNARY:
    OPERATOR_FUNCTIONS[getattr(operator, _name)] = _operator(HOOKS[_name], False)


for _name in BINARY:
    OPERATOR_FUNCTIONS[getattr(operator, f"i{_name.rstrip('_')}")] = _operator(HOOKS[f"i{_name.rstrip('_')}"], True)
