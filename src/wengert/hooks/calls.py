"""What a call site calls in place of a callable: its twin, its recorder, or itself.

`resolve` sees the callable alone, right before the call; CPython makes the call, so there is no frame in between for a
Python function, and recursion goes as deep as untraced.
"""

from __future__ import annotations

import abc
import atexit
import contextvars
import functools
import io
import operator
import types
from collections.abc import Generator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import bind, enter, lookup, python_method
from wengert.hooks.construction import constructor
from wengert.hooks.exchange import HOOKS, NATIVE_MODULES, TRACEABLE, copied, of_user, put_in, twin_of
from wengert.hooks.exchange import prepare as prepare_class
from wengert.hooks.generated import prepare
from wengert.hooks.items import SAYING_WHAT_IS_RAISED
from wengert.hooks.lookups import tape, told
from wengert.hooks.policy import RULED, STANDINS
from wengert.hooks.readers import check_step
from wengert.hooks.search import CARRIER_TYPES, search
from wengert.hooks.standins import execution, iteration, numpy_helpers, randomness, specials  # noqa: F401 (they register)
from wengert.hooks.standins.containers import (
    CARRIER_CLASSES,
    CARRIERS,
    FREE_OWNERS,
    carrier_method,
    class_method,
    text_method,
    unbound_method,
)
from wengert.hooks.standins.functions import array_function, guarded, number_method, recorder
from wengert.hooks.standins.operator_functions import CALLABLE_OBJECTS, DUNDERS
from wengert.hooks.standins.ordering import Ordered
from wengert.hooks.standins.randomness import METHOD
from wengert.hooks.standins.specials import exception_method
from wengert.hooks.standins.texts import stream_method
from wengert.hooks.standins.totals import ITERATING, STATISTICS, of_numbers, sequence_recorder
from wengert.hooks.standins.ufunc_methods import ufunc_method
from wengert.recording.learnt import forget, twins
from wengert.recording.primitives import Primitive, primitive_of
from wengert.recording.recording import STATE, Modes, here
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW
from wengert.rewrite import original
from wengert.rulebook.registry import rules
from wengert.values.codes import code_of
from wengert.values.frames import ENGINE
from wengert.values.names import LIBRARIES, home_of, is_heap_type
from wengert.values.sites import Site

BY_HAND = {(ENGINE + "rulebook/registry.py", "rrule"), (ENGINE + "rulebook/calling.py", "pullback")}
"""A rule, called by a user."""

UNSEARCHED = frozenset(
    (
        "logging",
        "warnings",
        "traceback",
        "rich",
        "pdb",
        "bdb",
        "typing",
        "inspect",
        "dis",
        "abc",
        "weakref",
        "_weakrefset",
        "linecache",
        "gc",
        "faulthandler",
        "_pytest",
        "pytest",
        "pluggy",
        "coverage",
    )
)
_resolved: dict[Any, Any] = {}
"""What stands for callables that are the same in each trace, under the rules as they are."""


def _rules_changed() -> None:
    """Forget what stood for callables under the rules before, also in the middle of a trace."""
    _let_go()
    if SESSION.recordings:
        rules.once(prepare)


@atexit.register
def _let_go() -> None:
    """Keep no function, and through it the names of its module, from being finalised with the interpreter."""
    global _resolved
    _resolved = {}  # another, lest what is found meanwhile under the rules before be entered in it
    forget()


rules.watchers.append(_rules_changed)


def resolve(f: Any, site: Site | None = None) -> Any:
    """What to call where the user's code calls `f`."""
    STATE.site = site
    t = type(f)
    if t is types.FunctionType:
        twin = twins.get(f)
        return function(f) if twin is None else twin
    if t is types.MethodType:
        return method(f)
    if t is types.BuiltinFunctionType:
        owner = f.__self__
        if owner is not None and type(owner) is not types.ModuleType:
            return bound_builtin(f, owner)
    found = _resolved.get(f) if t in _HASHABLE else None
    if found is None or (Modes.asking and primitive_of(f) is not None):  # a context is asked at each call
        return other(f, t)
    return found


def resolve_plain(f: Any) -> Any:
    """`resolve` where no line of the user's is at hand."""
    return resolve(f, STATE.site)


def function(f: types.FunctionType) -> Any:
    """The instrumented twin of a Python function, or its recorder where it has a rule."""
    recording = STATE.recording
    if recording is None:
        return f
    if recording.context is not None:
        return recording.context.choose(recording, f, lambda: function_plain(f), lambda: function_plain(f, False))
    return function_plain(f)


def function_plain(f: types.FunctionType, by_rule: bool = True) -> Any:
    """What calls a function: its recorder if it has a rule (and `by_rule`), else its twin."""
    primitive = primitive_of(f) if by_rule else None
    if primitive is not None:
        twin: Any = of_numbers(primitive) if f in STATISTICS else recorder(primitive)
    else:
        code = f.__code__
        if code.co_filename in _SAYS_WHAT_IS_RAISED and tape() is not None:
            _be_loud()
        if (code.co_filename, code.co_name) in BY_HAND:
            return by_hand(f)
        is_ours = code.co_filename.startswith(ENGINE)
        if is_ours and code.co_filename not in TRACEABLE:
            return f
        module = home_of(f).partition(".")[0]
        if module in NATIVE_MODULES:
            return guarded(f) if module not in UNSEARCHED else f
        ruled = not by_rule and primitive_of(f) is not None
        if original(code) is not None and not ruled:
            return f
        if ruled or is_ours or module in LIBRARIES:
            twin = _twin(f)
        else:
            put_in(f)
            twin = f
    if f.__closure__ is None and STATE.recording is not None and STATE.recording.context is None:
        twins[f] = twin
    return twin


def _twin(f: types.FunctionType) -> types.FunctionType:
    """Another function, which runs instrumented what this one runs plain: libraries' functions and those with a rule.

    Where a call is recorded as one, what it does is not; and such functions call each other.
    """
    return copied(f, twin_of(code_of(f), False))


_SAYS_WHAT_IS_RAISED = {lookup(t, "__enter__").__code__.co_filename for t in SAYING_WHAT_IS_RAISED}


def _be_loud() -> None:
    """From now on this tape guards that what raised no floating-point error raises none: no quick path does."""
    recording = tape()
    assert recording is not None
    recording.loud, STATE.quick = True, None


def by_hand(f: types.FunctionType) -> Any:
    """A function that calls a rule outside a trace: nothing of what it does would be recorded."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is not None and search(recording, [a for a in (*args, *kwargs.values()) if a is not rules]):
            raise recording.refuse(
                RefusedCallError(
                    f"{here()}: {f.__qualname__} is called on a traced value, and calls a rule by hand. Call the "
                    "function itself; for derivatives of derivatives, wg.grad inside, or play the tape of wg.gradtape."
                )
            )
        return f(*args, **kwargs)

    return call


def method(f: types.MethodType) -> Any:
    """A bound method, entered or recorded with its object in front."""
    inner = f.__func__
    if rules.has_methods and f in rules:
        return other(f, types.MethodType)
    if type(inner) is types.FunctionType:
        twin = twins.get(inner)
        return types.MethodType(function(inner) if twin is None else twin, f.__self__)
    return functools.partial(resolve_plain(inner), f.__self__)


def bound_builtin(f: Any, owner: Any) -> Any:
    """A method of a built-in object, such as `x.sum`."""
    if STATE.recording is None:
        return f
    t = type(owner)
    if isinstance(owner, type):
        return f if f.__name__ == "__prepare__" else other(f, type(f))
    name = f.__name__
    if isinstance(owner, CARRIER_TYPES):
        return carrier_method(f, owner, name)
    if t is str or t is bytes:
        return text_method(f, owner)
    if isinstance(owner, (np.ndarray, np.generic, float, complex, int)):
        return number_method(f, owner, t, name)
    if t in _CODE_OF:
        if original(_CODE_OF[t](owner)) is not None or name in ("close", "aclose"):
            return f
        check_step(owner)
        return guarded(f)
    if t is np.ufunc:
        return ufunc_method(f, owner, name)
    if issubclass(t, (io.StringIO, io.BytesIO)):
        return stream_method(f, owner)
    if name in _REDUCED_BY:
        prepare_class(t)
        return f
    if name in _OF_OBJECT or (name in ("write", "writelines", "flush") and isinstance(owner, io.TextIOBase)):
        return f
    if t in FREE_OWNERS or (t.__module__ == "builtins" and issubclass(t, Generator)):  # steps of coroutines
        if t is slice:
            told(owner.start, owner.stop, owner.step)
        return f
    if t is contextvars.Context and name == "run":
        return lambda callable, /, *args, **kwargs: f(enter(callable), *args, **kwargs)
    if issubclass(t, BaseException):
        return exception_method(f, name)
    primitive = primitive_of(f) or primitive_of(lookup(t, name))
    if primitive is not None:
        return recorder(primitive) if primitive.fn == f else functools.partial(recorder(primitive), owner)
    return guarded(f, owner)


def other(f: Any, t: type) -> Any:
    """The slow path: classes, C functions, callable objects."""
    recording = STATE.recording
    if recording is None:
        return f
    if recording.context is not None and f is not super:  # which looks at the frame that calls it
        return recording.context.choose(recording, f, lambda: _other(f, t), lambda: _other(f, t))
    return _other(f, t)


def _other(f: Any, t: type) -> Any:
    if t not in _HASHABLE and not issubclass(t, type) and f in rules:
        return recorder(Primitive(f, rules[f]))
    if t is functools.partial:
        return functools.partial(enter(f.func), *f.args, **f.keywords)
    passing = issubclass(t, type) and is_heap_type(f)
    if passing and t in _HASHABLE and f in twins:
        return twins[f]
    known = twins if passing else _resolved
    found = _classify(f, t)
    if found is None:
        call = python_method(t, "__call__")
        found = f if call is None else bind(call, f)
        if call is None:
            found = guarded(f) if callable(f) else f
    elif t in _HASHABLE:
        known[f] = found
    return found


def _classify(f: Any, t: type) -> Any:
    """What stands for a callable that is the same in each trace."""
    if t in _HASHABLE or issubclass(t, type):
        primitive = primitive_of(f)
        if f in STANDINS and (primitive is None or f in RULED):
            return STANDINS[f]
        if primitive is not None:
            return sequence_recorder(primitive) if f in ITERATING else recorder(primitive)
        if f in CARRIERS:
            return f
    if issubclass(t, type):
        prepare_class(f)
        meta = python_method(t, "__call__")
        if meta is not None:
            return f if of_user(meta) else bind(meta, f)
        if lookup(t, "__call__") is not lookup(type, "__call__"):
            return guarded(f)
        return f if issubclass(f, Ordered) else constructor(f)
    if t is type(np.sum):
        return array_function(f)
    if t is functools._lru_cache_wrapper:
        return _cached(f)
    if t is types.WrapperDescriptorType and f.__name__ == "__next__":
        return next
    if t is types.WrapperDescriptorType and f.__name__ in _OF_DESCRIPTORS and f.__objclass__ in _BINDING:
        return f
    if t is types.WrapperDescriptorType and issubclass(f.__objclass__, (float, complex, np.ndarray, np.generic)):
        special = DUNDERS.get(f.__name__)
        return guarded(f) if special is None else _past_override(f, special)
    if t in (
        types.BuiltinFunctionType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        np.ufunc,
        types.ClassMethodDescriptorType,
    ):
        if getattr(f, "__objclass__", None) in CARRIER_CLASSES:
            return unbound_method(f) if f.__objclass__ in CARRIER_TYPES else f
        if getattr(f, "__self__", None) in CARRIER_CLASSES:
            return class_method(f) if f.__self__ in CARRIER_TYPES else f
        return guarded(f)
    if t is types.MethodWrapperType:
        return functools.partial(other(f.__objclass__.__dict__[f.__name__], types.WrapperDescriptorType), f.__self__)
    return CALLABLE_OBJECTS[t](f) if t in CALLABLE_OBJECTS else None


def _past_override(f: Any, special: Any) -> Any:
    """`float.__repr__(x)`: where the class of x has a method of that name in Python, that is not meant."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not args or python_method(type(args[0]), f.__name__) is not None:
            return guarded(f)(*args, **kwargs)
        return special(*args)

    return call


def _cached(f: Any) -> Any:
    """A cached function has a cache of this trace: an equal float from before is another variable."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return f(*args, **kwargs)
        memo = recording.caches.setdefault(f, {})
        key = tuple([_identity(a) for a in (*args, *kwargs.items())])
        if key not in memo:
            memo[key] = args, enter(f.__wrapped__)(*args, **kwargs)
        return memo[key][1]

    return call


def _identity(a: Any) -> Any:
    """What tells an argument of a cached function: a traced value by itself, any other by equality."""
    if type(a) is tuple:
        return tuple([_identity(part) for part in a])
    return ("traced", id(a)) if id(a) in SHADOW else a


_OF_OBJECT = {"__dir__", "__sizeof__", "__init_subclass__"}

_REDUCED_BY = ("__reduce__", "__reduce_ex__", "__getstate__")

_HASHABLE = {
    types.BuiltinFunctionType,
    np.ufunc,
    type,
    type(np.sum),
    type(np.where),
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    abc.ABCMeta,
    METHOD,
}

_CODE_OF: dict[type, Any] = {
    types.GeneratorType: operator.attrgetter("gi_code"),
    types.CoroutineType: operator.attrgetter("cr_code"),
    types.AsyncGeneratorType: operator.attrgetter("ag_code"),
}

_BINDING = {
    types.FunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MemberDescriptorType,
    functools._lru_cache_wrapper,
    staticmethod,
    classmethod,
}
"""Descriptors that run no code: they bind, or read and write what stands in a slot."""
_OF_DESCRIPTORS = {"__get__", "__set__", "__delete__"}

HOOKS["resolve"] = resolve
