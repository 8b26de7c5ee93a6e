"""Resolution of call sites: each calls the twin of a callable, its recorder, or the callable itself.

Instrumented code passes the callable alone to `resolve`, right before the call. CPython then makes the call, so a
Python function gets no extra frame, and recursion goes as deep as untraced. The module `decide` makes the decision.
"""

from __future__ import annotations

import atexit
import functools
import types
import weakref
from functools import partial
from typing import Any

from wengert.hooks import data_reads
from wengert.hooks.code_swap import HOOKS
from wengert.hooks.decide import (
    ENTERED_COPY,
    HASHABLE,
    INSTRUMENTED,
    INSTRUMENTED_OBJECT,
    OWN_FUNCTION,
    SWAPPED_IN_PLACE,
    decide,
    decide_method,
)
from wengert.hooks.generated import bind_hooks
from wengert.hooks.items import ERROR_CONTEXTS
from wengert.hooks.lazy_instrumentation import is_lazy
from wengert.hooks.lookups import kept_recording
from wengert.hooks.policy import CALLABLES
from wengert.hooks.standins import (  # noqa: F401 (they register their decisions)
    arrays,
    cached,
    containers,
    conversions,
    execution,
    iteration,
    listing,
    number_methods,
    numpy_helpers,
    objects,
    specials,
    standard,
    substitutions,
    totals,
    ufunc_methods,
    uniques,
)
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE, OpenCounts
from wengert.recording.session import SESSION
from wengert.recording.trace_state import calling_on, clear_caches, twins
from wengert.rulebook.registry import rules
from wengert.values.codes import original
from wengert.values.data_classes import READS
from wengert.values.names import is_heap_type, lookup
from wengert.values.sites import Site
from wengert.values.transformed import Transformed

rules.when_imported("statistics", "wengert.hooks.standins.averages")
rules.when_imported("numpy.random", "wengert.hooks.standins.numpy_draws")
rules.when_imported("random", "wengert.hooks.standins.python_draws")
rules.when_imported("csv", "wengert.hooks.standins.csv_writers")
rules.when_imported("queue", "wengert.hooks.standins.queues")
rules.when_imported("heapq", "wengert.hooks.standins.orderings")
rules.when_imported("bisect", "wengert.hooks.standins.orderings")

_decisions: dict[int, Any] = {}
"""Decisions on functions that hold no reference to them, by id, with what they depend on: code, rules and module."""
_resolved: dict[Any, Any] = {}
"""The cache of resolved callables that stay valid across traces, until a rule changes.

The key of a C method is the class of its object and its name; the value is a function that resolves a bound method.
"""


def _drop_after_rule_change() -> None:
    """Clear the cache of resolved callables after a rule has changed, also in the middle of a trace."""
    _drop_cached()
    if SESSION.recordings:
        rules.once(bind_hooks)


@atexit.register
def _drop_cached() -> None:
    """Drop all cached functions, also when the interpreter exits: they would keep their modules' globals alive."""
    global _resolved
    _resolved = {}  # a new dictionary: a resolution still under way must not enter an outdated result in it
    clear_caches()


rules.watchers.append(_drop_after_rule_change)


def resolve(f: Any, site: Site | None = None) -> Any:
    """Return the callable to call where the user's code calls `f`; instrumented code asks before each call."""
    STATE.site = site
    t = type(f)
    if t is types.FunctionType:
        twin = twins.get(f)
        return resolve_function(f) if twin is None else twin
    if t is types.MethodType:
        return resolve_method(f)
    if t is types.BuiltinFunctionType:
        owner = f.__self__
        if owner is not None and type(owner) is not types.ModuleType:
            return resolve_c_method(f, owner)
    found = _resolved.get(f) if t in HASHABLE else f if t in calling_on else None
    if found is None or (OpenCounts.contexts and primitive_of(f) is not None):  # a context decides anew at each call
        return resolve_other(f, t)
    return found


def resolve_plain(f: Any) -> Any:
    """Resolve `f` where the line of the user's code is unknown."""
    recording = STATE.recording
    if type(f) is types.FunctionType and f not in twins and recording is not None and recording.context is None:
        return resolve_without_context(f)
    return resolve(f, STATE.site)


def resolve_function(f: types.FunctionType) -> Any:
    """Resolve a Python function: to its recorder if it has a rule, else to its instrumented twin."""
    recording = STATE.recording
    if recording is None:
        return f
    if recording.context is not None:
        return recording.context.choose(
            recording, f, lambda: resolve_without_context(f), lambda: resolve_without_context(f, False)
        )
    return resolve_without_context(f)


def resolve_without_context(f: types.FunctionType, by_rule: bool = True) -> Any:
    """Resolve a Python function under no context: to its recorder (`by_rule`) or its twin."""
    code, known, recording = f.__code__, _decisions.get(id(f)), STATE.recording
    if code.co_filename in _ERROR_CONTEXT_FILES and kept_recording() is not None:
        _guard_fp_errors()
    if by_rule and known is not None and known[0] is code and known[1] == rules.version and known[2] == f.__module__:
        decision = known[3]
    elif by_rule and original(code) is not None and rules.has_nothing_for(f) and not (f in CALLABLES or is_lazy(f)):
        decision = INSTRUMENTED
    else:
        decision = decide(f, by_rule)
        if by_rule and any([decision is each for each in _PERMANENT]):
            gone: Any = partial(_decisions.pop, id(f))  # the dead reference becomes the default of `pop`
            _decisions[id(f)] = code, rules.version, f.__module__, decision, weakref.ref(f, gone)
    twin = decision.of(f)
    if recording is None:
        return twin
    if by_rule and recording.callees is not None:
        twin = recording.callees.caller(f, twin)
    is_kept = decision is not INSTRUMENTED  # which this trace may have made: the cache would keep it alive
    if is_kept and f.__closure__ is None and recording.context is None:
        twins[f] = twin
    return twin


_PERMANENT = (SWAPPED_IN_PLACE, OWN_FUNCTION, ENTERED_COPY)


_ERROR_CONTEXT_FILES = {lookup(t, "__enter__").__code__.co_filename for t in ERROR_CONTEXTS}


def _guard_fp_errors() -> None:
    """From now on guard that a replay raises no new floating-point error; turn the short paths off."""
    recording = kept_recording()
    assert recording is not None
    recording.checks_fp_errors, STATE.fast = True, None


def resolve_method(f: types.MethodType, by_reads: bool = True) -> Any:
    """Resolve a bound method: resolve its function, and bind the result to the same object.

    `by_reads`: a declared read of data runs untraced.
    """
    inner = f.__func__
    if types.MethodType in rules.types and f in rules:
        return resolve_other(f, types.MethodType)
    if type(f.__self__) in READS and by_reads:
        return data_reads.reading(f, partial(resolve_method, by_reads=False))
    if type(inner) is types.FunctionType:
        twin = twins.get(inner)
        return types.MethodType(resolve_function(inner) if twin is None else twin, f.__self__)
    return functools.partial(resolve_plain(inner), f.__self__)


def resolve_c_method(f: Any, owner: Any) -> Any:
    """Resolve `f`, a C method bound to the object `owner`, as in `x.sum(...)`."""
    if STATE.recording is None:
        return f
    t = type(owner)
    key = t, f.__name__
    of = _resolved.get(key) or twins.get(key) if type(t) is type else None  # else the class may have no hash
    return _resolve_c_method_anew(f, t, key) if of is None else of(f)


def _resolve_c_method_anew(f: Any, t: type, key: tuple[type, str]) -> Any:
    """Resolve a bound C method that is not in the cache yet, or that belongs to a class itself."""
    if issubclass(t, type):
        return resolve_other(f, type(f))
    known = twins if is_heap_type(t) else _resolved
    of = decide_method(f, *key).of
    if type(t) is type:
        known[key] = of
    return of(f)


def resolve_other(f: Any, t: type) -> Any:
    """Resolve any other callable, such as a class, a C function or a callable object."""
    recording = STATE.recording
    if recording is None:
        return f
    if t is Transformed:
        return resolve_plain(f.__func__)
    if recording.context is not None and f is not super:  # `super` looks at the frame that calls it
        return recording.context.choose(
            recording, f, lambda: _resolve_by_identity(f, t), lambda: _resolve_by_identity(f, t)
        )
    return _resolve_by_identity(f, t)


def _resolve_by_identity(f: Any, t: type) -> Any:
    """Resolve by identity, or by type if the callable is unhashable."""
    rules.load()  # they may add to the types that are hashable
    if t not in HASHABLE:
        decision = decide(f)
        if decision is INSTRUMENTED_OBJECT and STATE.recording.context is None and t not in rules.types:  # type: ignore[union-attr]
            calling_on.add(t)
        return decision.of(f)
    passing = is_heap_type(f) if issubclass(t, type) else t is types.BuiltinFunctionType and _is_of_heap_type(f)
    known = twins if passing else _resolved
    if passing and f in twins:
        return twins[f]
    known[f] = found = decide(f).of(f)
    return found


def _is_of_heap_type(f: Any) -> bool:
    """Whether a method is bound to a heap class, which may be deleted after the trace."""
    owner = f.__self__
    return issubclass(type(owner), type) and is_heap_type(owner)


HOOKS["resolve"] = resolve
