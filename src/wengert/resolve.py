"""What a call site calls in place of a callable: its twin, its recorder, or itself.

`resolve` sees the callable alone, right before the call; CPython makes the call, so there is no frame in between for a
Python function, and recursion goes as deep as untraced.
"""

from __future__ import annotations

import abc
import builtins
import functools
import inspect
import io
import itertools
import operator
import os
import sys
import types
import typing
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dispatch
from wengert.dispatch import HOOKS, enter, iterable, lookup, python_method
from wengert.errors import RefusedCallError
from wengert.functional import additem
from wengert.opaque import CARRIER_TYPES, opaque, refusal, remember, search, watched
from wengert.record import NUMERIC, as_array, holds_traced, record_call, record_one, record_plain, slot_of, slots_in
from wengert.recording import PLAIN, STATE, Modes, Primitive, primitive_of
from wengert.registry import rules
from wengert.rewrite import instrument, original
from wengert.shadow import SHADOW
from wengert.sites import Site
from wengert.writes import record_store, record_write

ENGINE = os.path.dirname(os.path.abspath(__file__)) + os.sep
TRACEABLE = {ENGINE + name + ".py" for name in ("projection", "forms", "bodies", "bars")}
NATIVE_MODULES = frozenset((
    "abc", "ast", "asyncio", "bdb", "codeop", "concurrent", "ctypes", "dis", "enum", "faulthandler", "gc", "importlib",
    "inspect", "io", "linecache", "logging", "multiprocessing", "pdb", "pickle", "re", "sre_compile", "sre_parse",
    "subprocess", "tempfile", "threading", "tokenize", "traceback", "typing", "warnings", "weakref", "_weakrefset",
    "_pytest", "pytest", "pluggy", "rich", "coverage"))
UNSEARCHED = frozenset(("logging", "warnings", "traceback", "rich", "pdb", "bdb", "typing", "inspect", "dis", "abc", "weakref",
                        "_weakrefset", "linecache", "enum", "gc", "faulthandler", "_pytest", "pytest", "pluggy", "coverage"))

_resolved: dict[Any, Any] = {}
_twins: dict[types.FunctionType, types.FunctionType] = {}
_version = -1


def forget() -> None:
    """Drop twins and recorders: between two traces, functions, classes and rules may have changed."""
    global _version
    _twins.clear()
    dispatch.forget_classes()
    if rules.version != _version:
        _resolved.clear()
        _version = rules.version


def resolve(f: Any, site: Site | None = None) -> Any:
    """What to call where the user's code calls `f`."""
    STATE.site = site
    t = type(f)
    if t is types.FunctionType:
        twin = _twins.get(f)
        return function(f) if twin is None else twin
    if t is types.MethodType:
        return method(f)
    if t is types.BuiltinFunctionType:
        owner = f.__self__
        if owner is not None and type(owner) is not types.ModuleType:
            return bound_builtin(f, owner)
    found = _resolved.get(f) if t in _HASHABLE else None
    return other(f, t) if found is None else found


def resolve_plain(f: Any) -> Any:
    """`resolve` where no line of the user's is at hand."""
    return resolve(f, STATE.site)


# -- Python functions -----------------------------------------------------------------------------------------------


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
        twin: Any = recorder(primitive)
    else:
        code = f.__code__
        if code.co_filename.startswith(ENGINE) and code.co_filename not in TRACEABLE:
            return f
        module = (f.__module__ or "").partition(".")[0]
        if module in NATIVE_MODULES:
            return _guarded(f) if module not in UNSEARCHED else f
        if original(code) is not None:
            return f
        twin = types.FunctionType(instrument(code, HOOKS), f.__globals__, f.__name__, f.__defaults__, f.__closure__)
        twin.__kwdefaults__ = f.__kwdefaults__
        twin.__qualname__ = f.__qualname__
    if f.__closure__ is None and STATE.recording is not None and STATE.recording.context is None:
        _twins[f] = twin
    return twin


def method(f: types.MethodType) -> Any:
    """A bound method, entered or recorded with its object in front."""
    inner = f.__func__
    if type(inner) is types.FunctionType:
        twin = _twins.get(inner)
        return types.MethodType(function(inner) if twin is None else twin, f.__self__)
    return functools.partial(resolve_plain(inner), f.__self__)


# -- C functions ----------------------------------------------------------------------------------------------------


def recorder(primitive: Primitive) -> Callable[..., Any]:
    """A function that calls a primitive, and records the call where an argument is traced."""
    if primitive.recorder is None:
        fn = primitive.fn
        primitive.recorder = _ufunc_recorder(primitive, fn) if isinstance(fn, np.ufunc) else _recorder(primitive)
    return primitive.recorder


def _recorder(primitive: Primitive) -> Callable[..., Any]:
    fn = primitive.fn

    def record(*args: Any, **kwargs: Any) -> Any:
        plain = not kwargs
        for a in args:
            if id(a) in SHADOW:
                if not kwargs:
                    return record_plain(primitive, args)
                return _write_out(primitive, args, kwargs) if "out" in kwargs else record_call(primitive, args, kwargs)
            t = type(a)
            if t not in PLAIN or t is list or t is tuple:
                plain = False
        return fn(*args, **kwargs) if plain else _careful(primitive, args, kwargs)

    return record


def _careful(primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Arguments that are no traced objects themselves, but may hold or show traced values."""
    recording = STATE.recording
    if recording is None:
        return primitive.fn(*args, **kwargs)
    if kwargs.get("out") is not None:
        return _write_out(primitive, args, kwargs)
    if isinstance(primitive.fn, np.ufunc):
        kwargs = {name: value for name, value in kwargs.items() if name not in _LAYOUT}
    if slots_in(recording, (*args, *kwargs.values())) is not None:
        return record_call(primitive, args, kwargs)
    if any(type(a) not in PLAIN and search(recording, (a,)) for a in (*args, *kwargs.values())):
        return opaque(recording, primitive.fn, args, kwargs)
    return primitive.fn(*args, **kwargs)


def _write_out(primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs["out"]
    out = out[0] if type(out) is tuple and len(out) == 1 else out
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    if out is None:
        return record_call(primitive, args, rest)
    if out is ...:
        value = record_call(primitive, args, rest)
        return value if isinstance(value, np.ndarray) else enter(np.copy)(enter(np.broadcast_to)(value, ()))
    recording = STATE.recording
    if recording is not None and (not isinstance(out, np.ndarray) or rest.get("where", True) is not True):
        if search(recording, (*args, *rest.values(), out)) or not isinstance(out, np.ndarray):
            raise recording.refuse(RefusedCallError(
                f"{STATE.site}: {primitive.name} writes into out= in a form that cannot be followed (where=, several "
                "outputs). Assign the result instead."))
        return watched(recording, primitive.fn, args, kwargs)
    run_args, words = args, rest
    rest = {name: value for name, value in rest.items() if name not in _LAYOUT}
    if rest:
        assert primitive.rule is not None
        args, rest = primitive.rule.normalise(args, rest)
    return record_write(primitive, lambda: primitive.fn(*run_args, out=out, **words), out, args, rest)


def _ufunc_recorder(primitive: Primitive, fn: np.ufunc) -> Callable[..., Any]:
    nin = fn.nin

    def record(*args: Any, **kwargs: Any) -> Any:
        if nin == 1 == len(args) and not kwargs:
            i = SHADOW.get(id(args[0]))
            if i is not None and type(args[0]) in NUMERIC and not Modes.shared and STATE.quick is not None and (
                    np.ndarray in PLAIN):
                return record_one(primitive, args[0], i)
        if kwargs or len(args) != nin:
            if len(args) > nin:
                kwargs["out"] = args[nin:]
                args = args[:nin]
            return _careful(primitive, args, kwargs)
        for a in args:
            if id(a) in SHADOW:
                return record_plain(primitive, args)
        for a in args:
            t = type(a)
            if t not in PLAIN or t is list or t is tuple:
                return _careful(primitive, args, kwargs)
        return fn(*args)

    return record


def bound_builtin(f: Any, owner: Any) -> Any:
    """A method of a built-in object, such as `x.sum`."""
    if STATE.recording is None:
        return f
    t = type(owner)
    if isinstance(owner, type):
        return other(f, type(f))
    name = f.__name__
    if isinstance(owner, CARRIER_TYPES):
        return _carrier_method(f, owner, name)
    if t is str or t is bytes:
        return _text_method(f, owner)
    if isinstance(owner, (np.ndarray, np.generic, float, complex, int)):
        return _number_method(f, owner, t, name)
    if t is types.GeneratorType or t is types.CoroutineType:
        code = owner.gi_code if t is types.GeneratorType else owner.cr_code
        return f if original(code) is not None or name == "close" else _guarded(f)
    if t is np.ufunc:
        return _ufunc_method(f, owner, name)
    if name in _OF_OBJECT or name in ("write", "writelines", "flush") and isinstance(owner, io.TextIOBase):
        return f
    if t in _FREE_OWNERS:
        return f
    return _guarded(f, owner)


def _order(a: np.ndarray, order: str | None) -> str | None:
    """The order of elements that "K" and "A" (as in memory) mean for an array; a rule does not see its layout."""
    if order not in ("K", "A"):
        return order
    return "C" if a.ndim < 2 or a.flags.c_contiguous else "F" if a.flags.f_contiguous else order


def _copied(a: Any, memo: Any = None) -> Any:
    """`copy.copy` and `copy.deepcopy` of an array or number."""
    return enter(np.ndarray.copy)(a, "K") if isinstance(a, np.ndarray) else a


def _ufunc_method(f: Any, ufunc: np.ufunc, name: str) -> Any:
    """`np.add.reduce` and its like, by the function that does the same and has a rule."""
    twin = _UFUNC_METHODS.get((ufunc, name))

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or not search(recording, (*args, *kwargs.values())):
            return f(*args, **kwargs) if recording is None else _unseen(recording, f, name, args, kwargs)
        if name == "at" and ufunc is np.add and len(args) == 3:
            added = enter(additem)(args[0], args[1], as_array(args[2]) if type(args[2]) is list else args[2])
            return record_store(args[0], ..., added)
        if name == "outer" and len(args) == 2 and not kwargs:
            left = enter(np.reshape)(args[0], np.shape(args[0]) + (1,) * np.ndim(args[1]))
            return enter(ufunc)(left, args[1])
        if twin is None or primitive_of(twin) is None:
            return opaque(recording, f, args, kwargs)
        words = {"axis": 0, **dict(zip(_REDUCTION, args[1:], strict=False)), **kwargs}
        words = {word: value for word, value in words.items() if word == "axis" or value is not None and value is not np._NoValue}
        return enter(twin)(args[0], **words)

    return call


def _unseen(recording: Any, f: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "at":
        recording.memory.before_write(args[0], ..., len(recording.entries))
    return watched(recording, f, args, kwargs)


def _number_method(f: Any, owner: Any, t: type, name: str) -> Any:
    if isinstance(owner, np.ndarray) and name in _ARRAY_WRITERS:
        return functools.partial(_ARRAY_WRITERS[name], owner, f)
    if id(owner) not in SHADOW and t in PLAIN and not isinstance(owner, np.ndarray):
        return f
    if name in ("__copy__", "__deepcopy__"):
        return functools.partial(_copied, owner)
    if name == "conjugate" and t is float:
        return f if id(owner) not in SHADOW else lambda: owner
    descriptor = getattr(t, name, None)
    primitive = primitive_of(descriptor)
    if primitive is None and isinstance(owner, np.generic):
        primitive = primitive_of(getattr(np.ndarray, name, None)) or primitive_of(getattr(np, name, None))
        if primitive is not None:
            primitive = primitive_of(getattr(np, name, None)) or primitive
            return functools.partial(recorder(primitive), owner)
    if primitive is None:
        return _guarded(f, owner)
    if name in ("ravel", "flatten") and isinstance(owner, np.ndarray):
        return lambda order="C": recorder(primitive)(owner, order=_order(owner, order))
    return functools.partial(recorder(primitive), owner)


def _carrier_method(f: Any, owner: Any, name: str) -> Any:
    if name in ("extend", "update", "extendleft", "__init__"):
        return lambda *args, **kwargs: f(*[iterable(a, STATE.site) for a in args], **kwargs)
    if name == "sort":
        return lambda *, key=None, reverse=False: _sort(f, list(owner), key, reverse)
    return f


def _text_method(f: Any, owner: Any) -> Any:
    recording = STATE.recording

    def call(*args: Any, **kwargs: Any) -> Any:
        text = f(*args, **kwargs)
        return remember(recording, text, (owner, args, kwargs)) if recording is not None else text

    return call if recording is not None and (recording.texts or f.__name__ in ("format", "join", "format_map")) else f


def _guarded(f: Any, owner: Any = None) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        return f(*args, **kwargs) if recording is None else opaque(recording, f, args, kwargs, owner)

    return call


def other(f: Any, t: type) -> Any:
    """The slow path: classes, C functions, callable objects."""
    recording = STATE.recording
    if recording is None:
        return f
    if recording.context is not None:
        return recording.context.choose(recording, f, lambda: _other(f, t), lambda: _other(f, t))
    return _other(f, t)


def _other(f: Any, t: type) -> Any:
    if t is functools.partial:
        return functools.partial(enter(f.func), *f.args, **f.keywords)
    found = _classify(f, t)
    if found is None:
        call = python_method(t, "__call__")
        found = f if call is None else types.MethodType(enter(call), f)
        if call is None:
            found = _guarded(f)
    elif t in _HASHABLE:
        _resolved[f] = found
    return found


def _classify(f: Any, t: type) -> Any:
    """What stands for a callable that is the same in each trace."""
    if t in _HASHABLE or isinstance(f, type):
        special = _SPECIAL.get(f)
        if special is not None:
            return special
        primitive = primitive_of(f)
        if primitive is not None:
            return _sequence_recorder(primitive) if f in _ITERATING else recorder(primitive)
        if f in _CARRIERS:
            return f
        if f in _HIGHER:
            return _higher(f)
    if isinstance(f, type):
        return f if issubclass(f, _Ordered) else functools.partial(construct, f)
    if t is type(np.sum):
        return _array_function(f)
    if t is functools._lru_cache_wrapper:
        return _cached(f)
    if t is types.WrapperDescriptorType and issubclass(f.__objclass__, (float, complex, np.ndarray, np.generic)):
        special = _DUNDERS.get(f.__name__)
        return _guarded(f) if special is None else special
    if t in (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc,
             types.ClassMethodDescriptorType):
        if getattr(f, "__objclass__", None) in _CARRIER_CLASSES or getattr(f, "__self__", None) in _CARRIER_CLASSES:
            return f
        return _guarded(f)
    if t is types.MethodWrapperType:
        return functools.partial(other(f.__objclass__.__dict__[f.__name__], types.WrapperDescriptorType), f.__self__)
    return _CALLABLE_OBJECTS[t](f) if t in _CALLABLE_OBJECTS else None


def _array_function(f: Any) -> Any:
    """A NumPy function without a rule: run where nothing is traced, else its Python implementation is entered."""
    inner = f._implementation

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or not search(recording, (*args, *kwargs.values())):
            return f(*args, **kwargs) if recording is None else watched(recording, f, args, kwargs)
        if f in _WRITERS:
            return _WRITERS[f](f, *args, **kwargs)
        if isinstance(inner, types.FunctionType):
            return function(inner)(*args, **kwargs)
        return opaque(recording, f, args, kwargs)

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


# -- classes --------------------------------------------------------------------------------------------------------


def construct(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`cls(...)`, entering a metaclass's `__call__`."""
    meta = python_method(type(cls), "__call__")
    if meta is not None:
        return enter(types.MethodType(meta, cls))(*args, **kwargs)
    return instantiate(cls, *args, **kwargs)


def instantiate(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`type.__call__(cls, ...)`, entering `__new__` and `__init__`."""
    new, init = lookup(cls, "__new__"), lookup(cls, "__init__")
    python_new = isinstance(new, staticmethod) and isinstance(new.__func__, types.FunctionType)
    python_init = isinstance(init, types.FunctionType)
    if not python_new and not python_init:
        if _is_carrier_class(cls):
            return cls(*[iterable(a, STATE.site) if issubclass(cls, CARRIER_TYPES) else a for a in args], **kwargs)
        recording = STATE.recording
        return type.__call__(cls, *args, **kwargs) if recording is None else opaque(recording, cls, args, kwargs)
    if python_new:
        obj = enter(new.__func__)(cls, *args, **kwargs)
    elif new is lookup(object, "__new__"):
        obj = object.__new__(cls)
    else:
        obj = _native_new(cls, args, kwargs)
    if isinstance(obj, cls):
        init = lookup(type(obj), "__init__")
        if isinstance(init, types.FunctionType):
            result = enter(init)(obj, *args, **kwargs)
            if result is not None:
                raise TypeError(f"__init__() should return None, not {type(result).__name__!r}")
        elif init is not lookup(object, "__init__"):
            type(obj).__init__(obj, *args, **kwargs)
    return obj


def _build_class(body: types.FunctionType, name: str, *bases: Any, **options: Any) -> Any:
    """A class statement; a metaclass written in Python is entered, as are the statements of the body."""
    resolved = types.resolve_bases(bases)
    meta, namespace, rest = types.prepare_class(name, resolved, options)
    if python_method(meta, "__call__") is None and not any(
            type(found := lookup(meta, method)) in (types.FunctionType, staticmethod) and _of_user(getattr(found, "__func__", found))
            for method in ("__new__", "__init__")) and python_method(type(meta), "__call__") is None:
        return builtins.__build_class__(enter(body), name, *bases, **options)
    exec(instrument(body.__code__, HOOKS), body.__globals__, namespace, closure=body.__closure__)
    if resolved is not bases:
        namespace["__orig_bases__"] = bases
    return construct(meta, name, resolved, namespace, **rest)


def _of_user(f: Any) -> bool:
    return (f.__module__ or "").partition(".")[0] not in NATIVE_MODULES


def _native_new(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    recording = STATE.recording
    if recording is None or issubclass(cls, (*CARRIER_TYPES, BaseException)):
        return cls.__new__(cls, *args, **kwargs)
    return opaque(recording, cls.__new__, (cls, *args), kwargs)


def _is_carrier_class(cls: type) -> bool:
    new = lookup(cls, "__new__")
    return issubclass(cls, BaseException) or any(new is lookup(base, "__new__") for base in (object, *CARRIER_TYPES))


# -- builtins with callbacks, iterables or protocols ----------------------------------------------------------------


def _higher(f: Any) -> Any:
    """A C callable that calls back or iterates: its function arguments are entered, its iterables recorded."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return f(*[_argument(a) for a in args], **{name: _argument(a) for name, a in kwargs.items()})

    return call


def _argument(a: Any) -> Any:
    if a is None or type(a) in PLAIN and type(a) is not np.ndarray:
        return a
    if isinstance(a, (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial, np.ufunc)):
        return resolve_plain(a)
    if isinstance(a, type) or python_method(type(a), "__call__") is not None:
        return resolve_plain(a)
    return iterable(a, STATE.site)


def _sequence_recorder(primitive: Primitive) -> Callable[..., Any]:
    """`sum`, `min`, `max` and their like, which iterate over one argument."""
    fn = primitive.fn
    splat = fn in (min, max)

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return fn(*args, **kwargs)
        if splat and ("key" in kwargs or "default" in kwargs):
            return _extreme(fn, args[0] if len(args) == 1 else args, **kwargs)
        if splat and len(args) > 1:
            return record_call(primitive, args, kwargs) if holds_traced(args) else fn(*args)
        if not args:
            return fn(**kwargs)
        items = list(iterable(args[0], STATE.site))
        if fn is sum and any(python_method(type(item), "__add__") or python_method(type(item), "__radd__") for item in items):
            return functools.reduce(lambda a, b: HOOKS["add"](b, a, STATE.site), items, *args[1:] or (0,))
        if not holds_traced((items, *args[1:], *kwargs.values())):
            return fn(items, *args[1:], **kwargs)
        if not splat:
            return record_call(primitive, (items, *args[1:]), kwargs)
        return items[0] if len(items) == 1 else record_call(primitive, tuple(items), {})

    return call


def _extreme(fn: Any, items: Any, key: Any = None, **default: Any) -> Any:
    """`min` or `max` with a key or a default: its comparisons are guards."""
    candidates = list(iterable(items, STATE.site))
    if not candidates:
        return fn(candidates, **default)
    if key is None:
        return enter(fn)(candidates)
    key = enter(key)
    best, best_key = candidates[0], key(candidates[0])
    for item in candidates[1:]:
        item_key = key(item)
        if _less(item_key, best_key) if fn is min else _less(best_key, item_key):
            best, best_key = item, item_key
    return best


def _getattr(obj: Any, name: str, *default: Any) -> Any:
    try:
        return dispatch.get_attribute(obj, name, STATE.site)
    except AttributeError:
        if not default:
            raise
        return default[0]


def _hasattr(obj: Any, name: str) -> bool:
    try:
        dispatch.get_attribute(obj, name, STATE.site)
    except AttributeError:
        return False
    return True


def _iter(obj: Any, *sentinel: Any) -> Any:
    if sentinel:
        return iter(enter(obj), *sentinel)
    return iter(iterable(obj, STATE.site))


def _next(iterator: Any, *default: Any) -> Any:
    step = python_method(type(iterator), "__next__")
    if step is None:
        return next(iterator, *default)
    try:
        return enter(step)(iterator)
    except StopIteration:
        if not default:
            raise
        return default[0]


def _broadcast(*args: Any) -> np.broadcast:
    """`np.broadcast`, for the shape's sake; what it gives when iterated over cannot be followed."""
    made = np.broadcast(*args)
    recording = STATE.recording
    if recording is not None and search(recording, args):
        recording.caches.setdefault(np.broadcast, {})[id(made)] = made
    return made


def _len(a: Any) -> Any:
    method = python_method(type(a), "__len__")
    return len(a) if method is None else _checked(len, dispatch.bind(method, a)())


def _checked(fn: Any, value: Any) -> Any:
    """A length as `len` gives it, with the errors that it raises."""
    return len(range(value)) if type(value) is int and 0 <= value <= sys.maxsize else value


def _any(items: Any) -> bool:
    return any(dispatch.truth(item, STATE.site) for item in iterable(items, STATE.site))


def _all(items: Any) -> bool:
    return all(dispatch.truth(item, STATE.site) for item in iterable(items, STATE.site))


def _filter(f: Any, items: Any) -> Any:
    f = enter(bool if f is None else f)
    return filter(lambda item: dispatch.truth(f(item), STATE.site), iterable(items, STATE.site))


def _chained(iterables: Any) -> Any:
    return itertools.chain.from_iterable(iterable(items, STATE.site) for items in iterable(iterables, STATE.site))


def _accumulate(items: Any, func: Any = operator.add, *, initial: Any = None) -> Any:
    return itertools.accumulate(iterable(items, STATE.site), enter(operator.add if func is None else func), initial=initial)


def _reversed(items: Any) -> Any:
    t = type(items)
    method = python_method(t, "__reversed__")
    if method is not None:
        return iterable(dispatch.bind(method, items)(), STATE.site)
    if isinstance(items, np.ndarray) or lookup(t, "__reversed__") is None and python_method(t, "__getitem__"):
        return (HOOKS["getitem"](k, items, STATE.site) for k in range(_len(items) - 1, -1, -1))
    return reversed(items)


def _sorted(items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    ordered = list(iterable(items, STATE.site))
    _sort(ordered.sort, ordered, key, reverse)
    return ordered


def _sort(sort: Any, items: list[Any], key: Any, reverse: Any) -> None:
    """Sort a list; on a tape, or with a `__lt__` of the user's, each comparison goes through the hook."""
    recording = STATE.recording
    key = None if key is None else enter(key)
    if recording is not None and (recording.keep or any(python_method(type(item), "__lt__") for item in items)):
        sort(key=_Ordered if key is None else lambda item: _Ordered(key(item)), reverse=reverse)
    else:
        sort(key=key, reverse=reverse)


class _Ordered:
    """A sort key that compares as the hook of `<` does."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: _Ordered) -> bool:
        return _less(self.key, other.key)


def _less(a: Any, b: Any) -> bool:
    """`a < b`; tuples and lists by their first differing parts."""
    if type(a) is type(b) and type(a) in (tuple, list):
        for p, q in zip(a, b, strict=False):
            if p is not q and not dispatch.truth(HOOKS["eq"](q, p, STATE.site), STATE.site):
                return _less(p, q)
        return len(a) < len(b)
    return dispatch.truth(HOOKS["lt"](b, a, STATE.site), STATE.site)


def _cmp_to_key(compare: Any) -> type:
    compare = enter(compare)

    class Key(_Ordered):
        __slots__ = ()

        def __lt__(self, other: _Ordered) -> bool:
            return dispatch.truth(HOOKS["lt"](0, compare(self.key, other.key), STATE.site), STATE.site)

    return Key


def _getter(f: operator.itemgetter) -> Any:
    keys = f.__reduce__()[1]
    if len(keys) == 1:
        return lambda obj: HOOKS["getitem"](keys[0], obj, STATE.site)
    return lambda obj: tuple([HOOKS["getitem"](key, obj, STATE.site) for key in keys])


def _attribute_getter(f: operator.attrgetter) -> Any:
    names = f.__reduce__()[1]

    def get(obj: Any, path: str) -> Any:
        return functools.reduce(lambda part, name: _getattr(part, name), path.split("."), obj)

    return lambda obj: get(obj, names[0]) if len(names) == 1 else tuple([get(obj, name) for name in names])


def _method_caller(f: operator.methodcaller) -> Any:
    made = f.__reduce__()
    words = {} if isinstance(made[0], type) else made[0].keywords
    name, *args = made[1] if isinstance(made[0], type) else (*made[0].args, *made[1])
    return lambda obj: enter(_getattr(obj, name))(*args, **words)


def _str(*args: Any, **kwargs: Any) -> Any:
    return dispatch.convert(args[0], 1, STATE.site) if len(args) == 1 and not kwargs else str(*args, **kwargs)


def _type(*args: Any, **kwargs: Any) -> Any:
    return type(*args, **kwargs) if len(args) == 1 else construct(type, *args, **kwargs)


def _through(name: str, fn: Any, convert: type | None = None) -> Any:
    """A builtin that calls one method: `abs`, `len`, `round`, `float`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or not args:
            return fn(*args, **kwargs)
        found = python_method(type(args[0]), name)
        if found is not None:
            value = enter(types.MethodType(found, args[0]) if isinstance(found, types.FunctionType) else found)(
                *args[1:], **kwargs)
            if convert is not None and not isinstance(value, convert):
                return fn(*args, **kwargs)
            return value
        primitive = primitive_of(fn)
        if primitive is None:
            return opaque(recording, fn, args, kwargs) if fn is not len else fn(*args)
        text = args[0] if isinstance(args[0], str) and id(args[0]) in recording.texts else None
        if text is not None:
            return opaque(recording, fn, args, kwargs)
        return recorder(primitive)(*args, **kwargs)

    return call


def _dunder(op: Any, reflected: bool) -> Any:
    """`x.__add__(y)` of a number or array, and from a subclass by `super().__add__(y)`."""

    def call(a: Any, b: Any) -> Any:
        number = (int, float, complex, np.ndarray, np.generic)
        recording = STATE.recording
        if not isinstance(b, number):
            return NotImplemented
        if python_method(type(a), op.method) or python_method(type(b), op.reflected):
            name = op.reflected if reflected else op.method
            fn = next(base.__dict__[name] for base in type(a).__mro__ if isinstance(base.__dict__.get(name), types.WrapperDescriptorType))
            if recording is None or not search(recording, (a, b)):
                return fn(a, b)
            if type(a) in SHADOW or not isinstance(a, float):
                return opaque(recording, fn, (a, b), {})
            a = float.__add__(a, 0.0) if slot_of(recording, a) is None else a
        return HOOKS[op.name](a, b, STATE.site) if reflected else HOOKS[op.name](b, a, STATE.site)

    return call


def _operator(hook: Callable[..., Any], swap: bool) -> Any:
    if swap:
        return lambda a, b: hook(b, a, STATE.site)
    return lambda a: hook(a, STATE.site)


def _evaluated(f: Any) -> Any:
    """`eval` and `exec`: the code is compiled and rewritten, and runs in the namespaces of the calling frame."""

    def call(source: Any, globals: Any = None, locals: Any = None, /, **kwargs: Any) -> Any:
        recording = STATE.recording
        frame = sys._getframe(1)
        if globals is None:
            globals = frame.f_globals
            optimized = frame.f_code.co_flags & inspect.CO_OPTIMIZED
            locals = locals if locals is not None else dict(frame.f_locals) if optimized else frame.f_locals
        if recording is None:
            return f(source, globals, locals, **kwargs)
        if id(source) in recording.texts:
            raise refusal(recording, f, "its text was made from a traced value")
        if not isinstance(source, types.CodeType):
            text = source.lstrip(" \t") if f is eval and isinstance(source, str) else source
            source = compile(text, "<string>", f.__name__, dont_inherit=True)
        return f(instrument(source, HOOKS), globals, locals, **kwargs)

    return call


# -- functions that write -------------------------------------------------------------------------------------------


def _fill(array: np.ndarray, f: Any, value: Any) -> None:
    record_store(array, ..., value)


def _copyto(f: Any, dst: np.ndarray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is True:
        record_store(dst, ..., as_array(src) if type(src) in (list, tuple) else src)
    else:
        where = np.broadcast_to(where, dst.shape)
        source = src if np.ndim(src) == 0 else HOOKS["getitem"](where, enter(np.broadcast_to)(src, dst.shape), STATE.site)
        record_store(dst, where, source)


def _writer_refused(array: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
    """A method that rearranges an array in place: run and logged where nothing is traced, else refused."""
    recording = STATE.recording
    if recording is None:
        return f(*args, **kwargs)
    if recording.memory.is_traced(array) or search(recording, (*args, *kwargs.values())):
        raise recording.refuse(RefusedCallError(
            f"{STATE.site}: ndarray.{f.__name__} changes a traced array in place and cannot be followed yet. "
            "Assign a new array instead."))
    recording.memory.before_write(array, ..., len(recording.entries))
    return f(*args, **kwargs)


def _rearrange(order_of: Any) -> Any:
    """`a.sort()` or `a.partition(k)`: the order found is a constant, the elements are read in it and stored."""

    def call(array: np.ndarray, f: Any, *args: Any, **kwargs: Any) -> None:
        recording = STATE.recording
        if recording is None or not recording.memory.is_traced(array):
            return _writer_refused(array, f, *args, **kwargs)
        order = enter(order_of)(array, *args, **kwargs)
        axis = kwargs.get("axis", args[-1] if order_of is np.argsort and args else -1)
        moved = HOOKS["getitem"](order, array, STATE.site) if array.ndim == 1 else enter(np.take_along_axis)(array, order, axis)
        return record_store(array, ..., moved)

    return call


def _setitem_method(array: np.ndarray, f: Any, key: Any, value: Any) -> None:
    record_store(array, key, value)


_ARRAY_WRITERS: dict[str, Any] = {
    "fill": _fill, "__setitem__": _setitem_method,
    "sort": _rearrange(np.argsort), "partition": _rearrange(np.argpartition),
    **dict.fromkeys(("put", "resize", "byteswap", "setfield", "itemset", "setflags"), _writer_refused)}
_WRITERS: dict[Any, Any] = {np.copyto: _copyto}

_OF_OBJECT = {"__reduce__", "__reduce_ex__", "__getstate__", "__dir__", "__sizeof__", "__init_subclass__"}
_REDUCTION = ("axis", "dtype", "out", "keepdims", "initial", "where")
_LAYOUT = {"casting", "subok", "order", "out"}
_UFUNC_METHODS: dict[tuple[np.ufunc, str], Any] = {
    (np.add, "reduce"): np.sum, (np.multiply, "reduce"): np.prod, (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min, (np.add, "accumulate"): np.cumsum, (np.multiply, "accumulate"): np.cumprod,
    (np.logical_or, "reduce"): np.any, (np.logical_and, "reduce"): np.all}
_CALLABLE_OBJECTS: dict[type, Any] = {
    operator.itemgetter: _getter, operator.attrgetter: _attribute_getter, operator.methodcaller: _method_caller}
_DUNDERS: dict[str, Any] = {
    "__getitem__": lambda a, key: HOOKS["getitem"](key, a, STATE.site),
    "__setitem__": lambda a, key, value: HOOKS["setitem"](a, key, value, STATE.site),
    "__len__": len, "__hash__": hash, "__repr__": lambda a: dispatch.convert(a, 2, STATE.site),
    "__str__": lambda a: dispatch.convert(a, 1, STATE.site), "__bool__": lambda a: dispatch.truth(a, STATE.site),
    "__iter__": lambda a: iter(iterable(a, STATE.site)),
    "__contains__": lambda a, item: dispatch.contains(a, item, STATE.site)}

_HASHABLE = {types.BuiltinFunctionType, np.ufunc, type, type(np.sum), type(np.where), types.MethodDescriptorType,
             types.WrapperDescriptorType, types.ClassMethodDescriptorType, abc.ABCMeta}
_FREE_OWNERS = {types.GeneratorType, range, slice, types.ModuleType,
                type(iter([])), type(iter(())), type(iter({})), types.CoroutineType}
_CARRIER_CLASSES = {*CARRIER_TYPES, object, type, BaseException, Exception, types.GeneratorType}
_CARRIERS: set[Any] = {
    isinstance, issubclass, id, callable, type, range, slice, super, object, property, staticmethod, classmethod, print,
    globals, locals, vars, dir, input, open, setattr, delattr, builtins.__import__, BaseException, chr, ord,
    hash, operator.is_, operator.is_not, operator.length_hint, sys._getframe, sys.exc_info, functools.partial, getattr,
    functools.update_wrapper, functools.wraps, np.shares_memory, np.may_share_memory, functools._lru_cache_wrapper,
    typing.cast, types.SimpleNamespace, types.MappingProxyType, types.MethodType, types.CellType, weakref.ref, warnings.warn,
    sys.getsizeof, sys.getrefcount, sys.intern}
_ITERATING = {sum, min, max, *(f for f in (getattr(__import__("math"), "fsum", None), getattr(__import__("math"), "prod", None)))}
_HIGHER: set[Any] = {
    map, filter, sorted, zip, enumerate, reversed, functools.reduce, list, tuple, set, frozenset, dict, any, all,
    *(v for v in vars(itertools).values() if isinstance(v, type))}
_SPECIAL: dict[Any, Any] = {
    getattr: _getattr, hasattr: _hasattr, iter: _iter, next: _next, str: _str, type: _type,
    setattr: lambda obj, name, value: dispatch.set_attribute(obj, value, name, STATE.site),
    repr: lambda a: dispatch.convert(a, 2, STATE.site), ascii: lambda a: dispatch.convert(a, 3, STATE.site),
    format: lambda a, spec="": dispatch.format_value(a, spec, STATE.site),
    bool: lambda *a: dispatch.truth(a[0], STATE.site) if a else False,
    operator.truth: lambda a: dispatch.truth(a, STATE.site), operator.not_: lambda a: dispatch.not_(a, STATE.site),
    operator.getitem: lambda a, b: dispatch.getitem(b, a, STATE.site),
    operator.setitem: lambda a, b, c: dispatch.setitem(a, b, c, STATE.site),
    operator.contains: lambda a, b: dispatch.contains(a, b, STATE.site),
    abs: _through("__abs__", abs), round: _through("__round__", round), len: _len,
    float: _through("__float__", float, float), int: _through("__int__", int, int),
    complex: _through("__complex__", complex, complex), pow: _through("__pow__", pow),
    divmod: _through("__divmod__", divmod),
    builtins.__build_class__: _build_class, itertools.chain.from_iterable: _chained, itertools.accumulate: _accumulate,
    reversed: _reversed, sorted: _sorted, any: _any, all: _all, filter: _filter,
    object.__getattribute__: lambda obj, name: dispatch.generic_attribute(obj, name),
    object.__setattr__: lambda obj, name, value: dispatch.generic_set_attribute(obj, value, name),
    np.ndarray.__copy__: _copied, np.ndarray.__deepcopy__: _copied, np.broadcast: _broadcast, type.__call__: instantiate, functools.cmp_to_key: _cmp_to_key,
    operator.call: lambda f, *args, **kwargs: enter(f)(*args, **kwargs),
    eval: _evaluated(eval), exec: _evaluated(exec),
}
for _op in (*dispatch.BINARY.values(), *dispatch.COMPARE.values()):
    _DUNDERS[_op.method] = _dunder(_op, False)
    if _op.name not in dispatch.COMPARE:
        _DUNDERS[_op.reflected] = _dunder(_op, True)
for _name in (*dispatch.BINARY, *dispatch.COMPARE):
    _SPECIAL[getattr(operator, _name)] = _operator(HOOKS[_name], True)
for _name in dispatch.UNARY:
    _SPECIAL[getattr(operator, _name)] = _operator(HOOKS[_name], False)
for _name in dispatch.BINARY:
    _SPECIAL[getattr(operator, f"i{_name.rstrip('_')}")] = _operator(HOOKS[f"i{_name.rstrip('_')}"], True)

HOOKS["resolve"] = resolve
