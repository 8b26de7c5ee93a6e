"""Calls of functions with `functools.lru_cache` in a watched trace: a guard looks for results in the user's cache."""

from __future__ import annotations

import enum
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.trusted import is_user_function
from wengert.compiling.watched.watchable import ATOMS, nested_leaves
from wengert.hooks.calls import resolve
from wengert.hooks.standins.cached import are_constants, holds_result, is_in_users_cache
from wengert.recording.recording import STATE
from wengert.recording.slots import slot_of
from wengert.recording.trace_state import is_born


def watched_cached(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function with a cache: a guard asks whether the user's cache holds the result.

    No guard runs the function, which may have effects, or read what the compiled function writes first. If the cache
    holds nothing yet, this trace puts it there, and the next is kept. Give up if a function whose cache is that of the
    trace has effects, which the cache would leave out.
    """
    resolved, wrapped = resolve(f, STATE.site), f.__wrapped__

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_user_function(wrapped) and not is_born(wrapped) and are_constants((*args, *kwargs.values())):
            given = _constant_expression(args, reads)
            words = [(name, _constant_expression(a, reads)) for name, a in kwargs.items()]
            is_known = bool(given) and all([word for _, word in words])
            is_held = is_in_users_cache(reads.recording, f, args, kwargs)
            if is_known and is_held:
                cached, named = reads.pin(f, wrapped.__qualname__), [f"{name!r}: {word}" for name, word in words]
                reads.add_guard(f"{reads.pin(holds_result)}({cached}, {given}, {{{', '.join(named)}}})")
                question = given[1:-1] + ", ".join([f"{name}={word}" for name, word in words])
                return reads.read(f(*args, **kwargs), f"{cached}({question.removesuffix(', ')})")
            if is_held:
                reads.give_up(f"it calls {wrapped.__qualname__}, which has a cache, with an object that it makes")
            elif is_known and f.cache_parameters()["maxsize"] != 0:
                reads.effects.learned.waits_for_cache()
                reads.give_up(f"it calls {wrapped.__qualname__}, whose cache is empty", may_retry=True)
        before = reads.effects.count
        found = resolved(*args, **kwargs)
        if reads.effects.count > before:
            reads.give_up(f"it calls {f.__wrapped__.__qualname__}, which has a cache and side effects")
        for part in nested_leaves(found):
            if type(part) is np.ndarray and slot_of(reads.recording, part) is None:
                reads.cached_arrays.append((part, part.copy()))
        return found

    return call


def _constant_expression(a: Any, reads: Reads) -> str:
    """Return the expression of a constant argument in a guard; empty if there is none."""
    if type(a) is tuple:
        parts = [_constant_expression(part, reads) for part in a]
        return f"({''.join([f'{part}, ' for part in parts])})" if all(parts) else ""
    if type(a) in ATOMS:
        return reads.constant(a)
    is_lasting = type(a) in (float, complex) or issubclass(type(a), _ALWAYS_SAME)
    return reads.accessor_of(a) or (reads.pin(a) if is_lasting and not is_born(a) else "")


_ALWAYS_SAME = (type, enum.Enum, types.FunctionType, types.ModuleType)
