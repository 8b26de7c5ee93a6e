"""Stand-ins of functions with `functools.lru_cache`.

For constant arguments, the result in the user's cache is taken. Else the function runs traced. A constant result goes
into the user's cache, any other into a cache of the recording: an equal float from before is another variable.
"""

from __future__ import annotations

import enum
import functools
import gc
import itertools
import types
from typing import Any

from wengert.hooks.classes import as_traced
from wengert.hooks.code_swap import copy_function, dispatching_code
from wengert.hooks.policy import Decision, decides_methods_of, decides_type, stand_in_call
from wengert.hooks.search import search
from wengert.recording.recording import STATE
from wengert.recording.shadow import SHADOW


class _Memo(dict[Any, Any]):
    """The results of a function in this trace, each with its arguments; and how often one was found here, or made."""

    hits = misses = 0

    def copy(self) -> _Memo:
        """Return a copy, which counts on."""
        made = _Memo(self)
        made.hits, made.misses = self.hits, self.misses
        return made


@decides_type(functools._lru_cache_wrapper)
def _of_cached(f: Any) -> Decision:
    return stand_in_call("Each trace has its own cache: an equal float from before is another variable.", _cached)


def _cached(f: Any) -> Any:
    """The stand-in of a function with a cache."""
    size = f.cache_parameters()["maxsize"]

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or is_in_users_cache(recording, f, args, kwargs):
            return f(*args, **kwargs)
        memo: Any = recording.caches.setdefault(f, _Memo())
        key = _key_in_trace(f, args, kwargs)
        if key in memo:
            memo.hits += 1
            found = memo[key] = memo.pop(key)  # the last used is the last to go
            return found[1]
        value = as_traced(f.__wrapped__)(*args, **kwargs)
        given = (*args, *kwargs.values())
        is_constant = are_constants(given) and not search(recording, [value])
        is_constant = is_constant and (recording.reads is None or recording.reads.is_plain(value))
        if is_constant and _fill(recording, f, args, kwargs, value):
            return value
        memo.misses += 1
        if size != 0:
            memo[key] = given, value
            if size is not None and len(memo) > size:
                del memo[next(iter(memo))]
        return value

    return call


def is_in_users_cache(recording: Any, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the user's cache has the result of a call with constant arguments, and this trace has made none."""
    if not are_constants((*args, *kwargs.values())) or not holds_result(f, args, kwargs):
        return False
    memo = recording.caches.get(f)  # of results that depend on traced values; code outside the trace may make them, too
    return not memo or _key_in_trace(f, args, kwargs) not in memo


def _key_in_trace(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    words = {name: _identity(a) for name, a in kwargs.items()}
    return functools._make_key(tuple([_identity(a) for a in args]), words, f.cache_parameters()["typed"])


def holds_result(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the cache of a function has a result for constant arguments. The function does not run."""
    key, parts = args, gc.get_referents(f)
    if kwargs:  # as C makes the key, with an object before the words
        key = (*args, *[part for part in parts if type(part) is object], *itertools.chain(*kwargs.items()))
    if f.cache_parameters()["typed"]:
        key = (*key, *map(type, (*args, *kwargs.values())))
    elif len(key) == 1 and type(args[0]) in (str, int):
        key = args[0]
    return any([type(part) is dict and part is not vars(f) and key in part for part in parts])


def are_constants(args: tuple[Any, ...]) -> bool:
    """Whether no argument of a cached function can be equal to a traced value, as a key of a cache."""
    return all(map(_is_constant_key, args))


def _is_constant_key(a: Any) -> bool:
    t: Any = type(a)
    if t is tuple:
        return are_constants(a)
    if t is float or t is complex:
        return id(a) not in SHADOW
    return t in _KEY_TYPES or t.__hash__ is object.__hash__ or issubclass(t, enum.Enum)


_KEY_TYPES = {int, bool, str, bytes, types.NoneType, type}


def _fill(recording: Any, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> bool:
    """Have the user's cache keep a result, by a call in which the function returns it; return whether it can."""
    function = f.__wrapped__
    if type(function) is not types.FunctionType:
        return False
    code, plain = function.__code__, copy_function(function)

    def find(_: Any, active: Any) -> Any:
        return (lambda *args, **kwargs: value) if active is recording else plain

    try:
        function.__code__ = dispatching_code(function, find)
        f(*args, **kwargs)
    finally:
        function.__code__ = code
    return True


def _identity(a: Any) -> Any:
    """The key of an argument of a cached function: of a traced value its identity, of any other the value."""
    if type(a) is tuple:
        return tuple([_identity(part) for part in a])
    return ("traced", id(a)) if id(a) in SHADOW else a


@decides_methods_of(functools._lru_cache_wrapper)
def _of_cache(f: Any, t: type, name: str) -> Decision | None:
    standin = {"cache_clear": _clearing, "cache_info": _told_counts}.get(name)
    return standin and stand_in_call("The function has another cache in this trace, too.", standin)


def _clearing(f: Any) -> Any:
    def clear() -> None:
        if STATE.recording is not None:
            STATE.recording.caches.pop(f.__self__, None)
        f()

    return clear


def _told_counts(f: Any) -> Any:
    def info() -> Any:
        caches: Any = {} if STATE.recording is None else STATE.recording.caches
        memo = caches.get(f.__self__, _Memo())
        hits, misses, size, found = f()
        found = found + len(memo) if size is None else min(size, found + len(memo))
        return type(f())(hits + memo.hits, misses + memo.misses, size, found)

    return info
