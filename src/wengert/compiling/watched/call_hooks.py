"""Hooks of calls in a watched trace: they replace or refuse callables that may read or change what is outside."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.drawing import GENERATOR_MAKERS, is_draw, watched_draw, watched_generator_maker
from wengert.compiling.watched.instances import guard_class_check, is_abc_method
from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.printing import STRING_FUNCTIONS, STRING_MAKERS, guard_print_settings
from wengert.compiling.watched.read_hooks import ATTRIBUTE_BUILTINS, reads_here, watch_write
from wengert.compiling.watched.ruled import recorded_if_traced
from wengert.compiling.watched.trusted import (
    belongs_to_user,
    calls_python,
    format_reads_attributes,
    is_library_namespace,
    is_solver,
    refused_call,
)
from wengert.compiling.watched.watchable_types import is_tensor_function
from wengert.hooks.calls import resolve
from wengert.hooks.decide import decide
from wengert.hooks.policy import Kind
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE
from wengert.values.frames import ENGINE, user_frame
from wengert.values.names import home_of
from wengert.values.sites import Site


def watch_resolve(f: Any, site: Site | None = None) -> Any:
    """Resolve a callable in a watched trace, and check that a kept trace may call it."""
    if f is id:
        return resolve(id, site) if sys._getframe(1).f_code.co_filename.startswith(ENGINE) else _watched_id_at(site)
    if (reads := reads_here()) is not None:
        STATE.site = site
        found = _replacement_of(f, reads)
        if found is not None:
            return found
    return resolve(f, site)


def _watched_id_at(site: Site | None) -> Callable[[Any], int]:
    """Return the replacement of `id`, which user code may not call, but libraries such as `copy` may."""
    STATE.site = site
    if (reads := reads_here()) is not None:
        _check_call(reads, id)
    return _watched_id


def _watched_id(thing: Any) -> int:
    """Replace `id`: return that of the original of an object which was made for the trace."""
    reads: Any = None if STATE.recording is None else STATE.recording.reads
    if reads is not None:
        reads.identities.ask(thing)
        thing = reads.identities.original_of(thing)
    number: int = resolve(id, STATE.site)(thing)
    return number


def _watched_class_check(native: Callable[..., bool]) -> Callable[..., bool]:
    """Return the replacement of isinstance or issubclass; it guards the answer."""

    @functools.wraps(native)
    def call(thing: Any, classes: Any, /) -> bool:
        reads = reads_here()
        if reads is not None:
            guard_class_check(reads, native, thing, classes)
        answer: bool = resolve(native, STATE.site)(thing, classes)
        return answer

    return call


def resolve_without_site(f: Any) -> Any:
    """Resolve a callable in a watched trace for a call that has no line of user code."""
    if f is id:
        return _watched_id_at(STATE.site)
    reads = reads_here()
    found = None if reads is None else _replacement_of(f, reads)
    return resolve(f, STATE.site) if found is None else found


def _replacement_of(f: Any, reads: Reads) -> Any:
    """Return the replacement of a callable in a watched trace; None if it needs none."""
    if is_draw(f):
        return watched_draw(f, reads)
    if type(f) in _GENERATOR_MAKER_TYPES and f in GENERATOR_MAKERS:
        return watched_generator_maker(f, reads)
    _check_call(reads, f)
    if f is str or (type(f) in (types.BuiltinFunctionType, types.WrapperDescriptorType) and f in _BUILTIN_HOOKS):
        return _BUILTIN_HOOKS[f]
    if _has_rule(f):
        return recorded_if_traced(f, reads)
    return _with_attributes_read(f, reads) if _may_read_attributes(f) else None


def _may_read_attributes(f: Any) -> bool:
    """Whether a callable belongs to this package, so that it may read all attributes of its arguments."""
    t = type(f)
    if t is types.FunctionType:
        return f.__code__.co_filename.startswith(ENGINE)
    return not issubclass(t, type) and home_of(t).startswith("wengert.") and not is_tensor_function(t)


def _with_attributes_read(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a callable of this package; it guards all attributes of the arguments."""
    resolved = resolve(f, STATE.site)

    def call(*args: Any, **kwargs: Any) -> Any:
        reads.parts([*args, *kwargs.values()])
        return resolved(*args, **kwargs)

    return call


def _check_call(reads: Reads, f: Any) -> None:
    """Give up if a call cannot be watched: user functions must be entered, C functions known to be pure."""
    if id(f) in reads.checked_calls:
        return
    caller = user_frame(sys._getframe(3))
    is_inside = caller is not None and is_library_namespace(caller.f_globals)
    reason = refused_call(f, is_inside) or _why_not_entered(f)
    if type(f) in _WITH_NAMES and f.__name__ in (*STRING_FUNCTIONS, *_FORMAT_METHODS):
        guard_print_settings(reads)
    if is_abc_method(f):
        reads.guard_registrations()
    if type(f) is types.BuiltinFunctionType and f.__name__ in _FORMAT_METHODS and format_reads_attributes(f.__self__):
        reason = f"it uses a format string that reads attributes ({f.__self__!r})"
    elif type(f) is types.MethodDescriptorType and f.__name__ in _FORMAT_METHODS:
        reason = f"it calls {f.__qualname__} as a function, so that the format string is unknown"
    elif type(f) in (types.MethodWrapperType, types.BuiltinFunctionType) and f.__name__ in _WHOLE_OBJECT_METHODS:
        if f.__name__ in ("__setattr__", "__delattr__"):
            watch_write(f.__self__, "", STATE.site)
        else:
            reads.read_all_attributes(f.__self__)
    elif type(f) in _UNBOUND_METHOD_TYPES and f.__name__ in _WHOLE_OBJECT_METHODS and f not in _BUILTIN_HOOKS:
        reason = f"it calls {f.__qualname__}"
    if reason is not None:
        reads.give_up(reason)
    elif type(f) in (types.FunctionType, type, np.ufunc) and not is_inside:
        reads.checked_calls[id(f)] = f


def _why_not_entered(f: Any) -> str | None:
    """Return why a call of Python code cannot be watched: the code is not entered. None if it is."""
    t = type(f)
    if t is types.FunctionType and _is_user_function(f):
        is_watched = decide(f).kind is Kind.ENTERED or _has_rule(f)
        return None if is_watched else f"it calls {f.__qualname__}, which wengert does not trace"
    if t is types.FunctionType and is_solver(f) and decide(f).kind is not Kind.ENTERED:
        public = home_of(f).partition("._")[0]
        return f"wg.compile does not support {public}.{f.__qualname__}"
    is_user_code = _is_user_function(f.__func__) if t is types.MethodType else calls_python(t) and belongs_to_user(t)
    if is_user_code and decide(f).kind is not Kind.ENTERED:
        return f"it calls a {t.__name__} with a custom rule or a replacement, which wengert does not trace"
    return None


def _has_rule(f: Any) -> bool:
    """Whether a plain user function has a rule."""
    return type(f) is types.FunctionType and _is_user_function(f) and primitive_of(f) is not None


def _is_user_function(f: Any) -> bool:
    """Whether a callable is a Python function of the user."""
    is_python = type(f) is types.FunctionType and not is_library_namespace(f.__globals__)
    return is_python and not f.__code__.co_filename.startswith(ENGINE)


_BUILTIN_HOOKS: dict[Any, Callable[..., Any]] = {
    **ATTRIBUTE_BUILTINS,
    **STRING_MAKERS,
    **{f: _watched_class_check(f) for f in (isinstance, issubclass)},
}
_GENERATOR_MAKER_TYPES = {type(f) for f in GENERATOR_MAKERS}
_FORMAT_METHODS = {"format", "format_map"}
"""Methods of strings that read attributes by the names in the string."""
_WHOLE_OBJECT_METHODS = {"__setattr__", "__delattr__", "__reduce__", "__reduce_ex__", "__getstate__"}
"""Methods written in C that change their object, or read all of it."""
_WITH_NAMES = (types.FunctionType, types.BuiltinFunctionType, types.MethodWrapperType)
_UNBOUND_METHOD_TYPES = (types.WrapperDescriptorType, types.MethodDescriptorType)
