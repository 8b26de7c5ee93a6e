"""Stand-ins of functions with `functools.lru_cache`.

What the user's cache holds for constant arguments is the result. Else the function runs traced, and its result is kept
in a cache of the recording: an equal float from before is another variable. A constant goes into the user's cache, too.
"""

from __future__ import annotations

import enum
import functools
import gc
import itertools
import types
from typing import Any

from wengert.hooks.classes import as_traced
from wengert.hooks.code_swap import dispatching_code
from wengert.hooks.policy import Decision, decides_methods_of, decides_type, stand_in_call
from wengert.hooks.search import search
from wengert.recording.recording import STATE
from wengert.recording.shadow import SHADOW


@decides_type(functools._lru_cache_wrapper)
def _of_cached(f: Any) -> Decision:
    return stand_in_call("Each trace has its own cache: an equal float from before is another variable.", _cached)


def _cached(f: Any) -> Any:
    """The stand-in of a function with a cache."""
    limits = f.cache_parameters()
    size, typed = limits["maxsize"], limits["typed"]

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or holds_result(f, args, kwargs):
            return f(*args, **kwargs)
        memo = recording.caches.setdefault(f, {})
        words = {name: _identity(a) for name, a in kwargs.items()}
        key = functools._make_key(tuple([_identity(a) for a in args]), words, typed)
        if key in memo:
            found = memo[key] = memo.pop(key)  # the last used is the last to go
            return found[1]
        value = as_traced(f.__wrapped__)(*args, **kwargs)
        if size != 0:
            memo[key] = (*args, *kwargs.values()), value
            if size is not None and len(memo) > size:
                del memo[next(iter(memo))]
        is_plain = recording.reads is None or recording.reads.is_plain(value)
        if is_plain and are_constants((*args, *kwargs.values())) and not search(recording, [value]):
            _fill(f, args, kwargs, value)
        return value

    return call


def holds_result(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the cache of a function has a result for these arguments, and they are constants."""
    given, parts = (*args, *kwargs.values()), gc.get_referents(f)
    if not are_constants(given):
        return False
    key: Any = args  # as C makes it, with an object before the words
    if kwargs:
        key = (*args, *[part for part in parts if type(part) is object], *itertools.chain(*kwargs.items()))
    if f.cache_parameters()["typed"]:
        key = (*key, *map(type, given))
    elif len(key) == 1 and type(args[0]) in (str, int):
        key = args[0]
    return any([type(part) is dict and part is not vars(f) and key in part for part in parts])


def are_constants(args: tuple[Any, ...]) -> bool:
    """Whether no argument of a cached function, as a key, can be one for a traced value."""
    return all(map(_is_constant_key, args))


def _is_constant_key(a: Any) -> bool:
    t: Any = type(a)
    if t is tuple:
        return are_constants(a)
    if t is float or t is complex:
        return id(a) not in SHADOW
    return t in _KEY_TYPES or t.__hash__ is object.__hash__ or issubclass(t, enum.Enum)


_KEY_TYPES = {int, bool, str, bytes, types.NoneType, type}


def _fill(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> None:
    """Have the user's cache keep a result, by a call in which the function returns it."""
    function = f.__wrapped__
    if type(function) is types.FunctionType:
        code = function.__code__
        function.__code__ = dispatching_code(function, lambda _, recording: lambda *args, **kwargs: value)
        try:
            f(*args, **kwargs)
        finally:
            function.__code__ = code


def _identity(a: Any) -> Any:
    """The key of an argument of a cached function: of a traced value its identity, of any other the value."""
    if type(a) is tuple:
        return tuple([_identity(part) for part in a])
    return ("traced", id(a)) if id(a) in SHADOW else a


@decides_methods_of(functools._lru_cache_wrapper)
def _of_cache(f: Any, t: type, name: str) -> Decision | None:
    return stand_in_call("It clears the cache of this trace, too.", _clearing) if name == "cache_clear" else None


def _clearing(f: Any) -> Any:
    def clear() -> None:
        if STATE.recording is not None:
            STATE.recording.caches.pop(f.__self__, None)
        f()

    return clear
