"""The hooks of a trace that counts: what becomes of a counter at each site that may ask for its value."""

from __future__ import annotations

import functools
import operator
import sys
import types
import warnings
from typing import Any

import numpy as np

from wengert.compiling.watched.symbolic_ints import Counted, of_whole, refuse, twin
from wengert.compiling.watched.trusted import is_of_user
from wengert.compiling.watched.watching import WATCHING
from wengert.hooks.classes import python_method
from wengert.hooks.operators import BINARY, COMPARISONS, INPLACE, UNARY
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE, Recording
from wengert.recording.trace_caches import prepared
from wengert.values.callables import callable_name
from wengert.values.functional import WHOLE
from wengert.values.identity_set import Functions
from wengert.values.sites import Site
from wengert.values.specs import is_inexact

_INTS = {int, bool, Counted}


def _beside(a: Any, other: Any) -> Any:
    """Return an operand for arithmetic with `other`, a number or an array of floats."""
    return twin(a) if type(a) is not Counted or is_inexact(other) else refuse("a counter beside what is no float")


def _binary(fn: Any, hook: Any) -> Any:
    def call(right: Any, left: Any, site: Site | None) -> Any:
        if type(left) is not Counted and type(right) is not Counted:
            return hook(right, left, site)
        STATE.site = site
        if type(left) not in _INTS or type(right) not in _INTS:
            return hook(_beside(right, left), _beside(left, right), site)
        if fn is not operator.truediv:
            return of_whole(fn, left, right)
        if not all([-WHOLE <= twin(a) <= WHOLE for a in (left, right)]):
            refuse("a counter beside a large whole number")
        return hook(twin(right), twin(left), site)

    return call


def _compare(hook: Any) -> Any:
    def call(right: Any, left: Any, site: Site | None) -> Any:
        if type(left) is Counted or type(right) is Counted:
            STATE.site = site
            is_plain = type(left) in _INTS and type(right) in _INTS
            right, left = (twin(right), twin(left)) if is_plain else (_beside(right, left), _beside(left, right))
        return hook(right, left, site)

    return call


def _unary(fn: Any, hook: Any) -> Any:
    def call(a: Any, site: Site | None) -> Any:
        if type(a) is not Counted:
            return hook(a, site)
        STATE.site = site
        return of_whole(fn, a)

    return call


def _truth(hook: Any) -> Any:
    return lambda a, site: hook(twin(a), site)


def _never(hook: Any, what: str, is_told: Any) -> Any:
    """A hook that is given nothing of which something tells that it is a counter, or has one."""

    def call(*things: Any) -> Any:
        if any(map(is_told, things)):
            STATE.site = things[-1]
            refuse(what)
        return hook(*things)

    return call


def _holds(thing: Any) -> bool:
    """Whether a thing is a counter, or something to look for, to count or to show that has one in it."""
    t = type(thing)
    if t is Counted:
        return True
    if t is slice:
        return any(map(_holds, (thing.start, thing.stop, thing.step)))
    if t is dict:
        return any(map(_holds, (*thing, *thing.values())))
    if issubclass(t, tuple):
        return any(map(_holds, tuple.__iter__(thing)))
    return t in _LISTED and any(map(_holds, thing))


_LISTED = {list, set, frozenset}


def _setitem(container: Any, key: Any, value: Any, site: Site | None) -> None:
    if _holds(key) or (isinstance(container, np.ndarray) and (_holds(value) and not is_inexact(container))):
        STATE.site = site
        refuse("a counter that is a key, or goes into an array")
    WATCHING["setitem"](container, key, twin(value) if isinstance(container, np.ndarray) else value, site)


def _getitem(key: Any, container: Any, site: Site | None) -> Any:
    if _holds(key) or type(container) is Counted:
        STATE.site = site
        refuse("a counter that is a key")
    return WATCHING["getitem"](key, container, site)


def _resolve(f: Any, site: Site | None = None) -> Any:
    resolved = WATCHING["resolve"](f, site)
    if _is_entered(f):
        return resolved

    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(map(_holds, args)) and not any(map(_holds, kwargs.values())):
            return resolved(*args, **kwargs)
        return _called(f, resolved, args) if not kwargs else refuse(f"{callable_name(f)} of a counter")

    return call


def _is_entered(f: Any) -> bool:
    """Whether a callable is code in Python, each site of which is a door, or looks at the frame that calls it.

    A counter refuses to be asked for attributes.
    """
    t = type(f)
    if t is types.FunctionType or f in _ASKING_FRAMES:
        return True
    if t is types.MethodType or t is functools.partial:
        return _is_entered(f.__func__ if t is types.MethodType else f.func)
    if issubclass(t, type):
        return any([python_method(f, name) is not None for name in ("__init__", "__new__")])
    return python_method(t, "__call__") is not None


_ASKING_FRAMES = Functions(
    getattr, hasattr, vars, setattr, delattr, locals, globals, eval, exec, dir, super, sys._getframe, warnings.warn
)


def _called(f: Any, resolved: Any, args: tuple[Any, ...]) -> Any:
    """A call of what is in C, with a counter among what it is given."""
    if f is type and len(args) == 1 and type(args[0]) is Counted:
        return int
    if f is int and len(args) == 1 and type(args[0]) is Counted:
        return args[0]
    if f is abs:
        return of_whole(operator.abs, *args)
    if f is isinstance and type(args[0]) is Counted and _is_plain_class(args[1]):
        return isinstance(0, args[1])
    if f in (float, np.float64, bool) or _makes_floats(f, args):
        return resolved(*map(twin, args))
    return refuse(f"{callable_name(f)} of a counter")


def _is_plain_class(cls: Any) -> bool:
    return all(map(_is_plain_class, cls)) if type(cls) is tuple else type(cls) is type or cls.__module__ == "numbers"


def _makes_floats(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function of numbers gives the same floats for whole numbers that stand as floats."""
    if not (type(f) is np.ufunc or getattr(f, "__module__", "") == "math") or primitive_of(f) is None:
        return False
    if any([type(a) in (list, tuple) for a in args]):
        return False
    try:
        made, like = f(*map(twin, args)), f(*[int(twin(a)) if type(a) is Counted else a for a in args])
    except Exception:
        return False
    return is_inexact(like) and _form(made) == _form(like)


def _form(x: Any) -> Any:
    return type(x), np.asarray(x).dtype, np.shape(x), np.asarray(x).tobytes()


def _is_counter(thing: Any) -> bool:
    return type(thing) is Counted


_NEVER = {
    "contains": "whether a counter is in something", "not_contains": "whether a counter is in something",
    "delitem": "a counter that is a key", "convert": "the text of a counter", "format": "the text of a counter",
    "build_set": "a counter in a set", "added": "a counter in a set", "added_all": "a counter in a set",
    "match_keys": "a counter that is a key", "match_class": "the class of a counter",
}  # fmt: skip


def _build_map(items: tuple[Any, ...], site: Site | None) -> Any:
    if any(map(_holds, items[::2])):
        STATE.site = site
        refuse("a counter that is a key")
    return WATCHING["build_map"](items, site)


COUNTING = {
    **WATCHING,
    **{op.name: _binary(op.fn, WATCHING[op.name]) for op in BINARY.values()},
    **{f"i{name.rstrip('_')}": _binary(BINARY[name].fn, WATCHING[f"i{name.rstrip('_')}"]) for name in INPLACE},
    **{name: _compare(WATCHING[name]) for name in COMPARISONS},
    **{name: _unary(fn, WATCHING[name]) for name, (fn, _) in UNARY.items()},
    **{name: _truth(WATCHING[name]) for name in ("truth", "not_")},
    **{name: _never(WATCHING[name], "which object a counter is", _is_counter) for name in ("is_", "is_not")},
    **{name: _never(WATCHING[name], what, _holds) for name, what in _NEVER.items()},
    "setitem": _setitem,
    "getitem": _getitem,
    "build_map": _build_map,
    "resolve": _resolve,
}
"""The hooks of a trace in which numbers are counted."""


def check_counters(recording: Recording) -> None:
    """Refuse a trace in which a counter may have gone past these doors."""
    for entry in recording.entries:
        if entry is not None and any(map(_holds, (entry[1], entry[3], *(entry[4] or {}).values()))):
            refuse("a counter that is recorded as what it is")
    for cls in prepared.values():
        if is_of_user(cls) and any([python_method(cls, name) for name in _GIVING_NUMBERS]):
            refuse(f"a {cls.__name__}, of which C may have asked for a number")


_GIVING_NUMBERS = ("__len__", "__index__", "__length_hint__", "__hash__")
"""Methods in Python whose result C takes for the number that it is."""
