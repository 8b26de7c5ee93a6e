"""Resolution of call sites: each calls the twin of a callable, its recorder, or the callable itself.

Instrumented code passes the callable alone to `resolve`, right before the call. CPython then makes the call, so a
Python function gets no extra frame, and recursion goes as deep as untraced. The module `decide` makes the decision.
"""

from __future__ import annotations

import atexit
import functools
import types
import weakref
from typing import Any

from wengert.hooks.classes import lookup
from wengert.hooks.code_swap import HOOKS, put_in
from wengert.hooks.decide import CALLS_ON, GOES_ON, HASHABLE, IN_PLACE, decide, decide_method
from wengert.hooks.generated import prepare
from wengert.hooks.items import SAYING_WHAT_IS_RAISED
from wengert.hooks.lookups import tape
from wengert.hooks.standins import (  # noqa: F401 (they enter their decisions in the policy)
    arrays,
    containers,
    conversions,
    execution,
    iteration,
    listing,
    number_methods,
    numpy_helpers,
    objects,
    randomness,
    specials,
    standard,
    substitutions,
    totals,
    ufunc_methods,
    uniques,
)
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE, Modes
from wengert.recording.session import SESSION
from wengert.recording.trace_caches import calling_on, forget, twins
from wengert.rulebook.registry import rules
from wengert.values.names import is_heap_type
from wengert.values.sites import Site
from wengert.values.transformed import Transformed

_decided: weakref.WeakKeyDictionary[types.FunctionType, Any] = weakref.WeakKeyDictionary()
"""Functions whose Decision is IN_PLACE, with what it depends on: code, version of the rules, and module."""
_resolved: dict[Any, Any] = {}
"""The cache of resolved callables that stay valid across traces, until a rule changes.

The key of a C method is the class of its object and its name; the value is a function that resolves a bound method.
"""


def _rules_changed() -> None:
    """Clear the cache of resolved callables after a rule has changed, also in the middle of a trace."""
    _let_go()
    if SESSION.recordings:
        rules.once(prepare)


@atexit.register
def _let_go() -> None:
    """Drop all cached functions, also when the interpreter exits: they would keep their modules' globals alive."""
    global _resolved
    _resolved = {}  # a new dictionary: a resolution still under way must not enter an outdated result in it
    forget()


rules.watchers.append(_rules_changed)


def resolve(f: Any, site: Site | None = None) -> Any:
    """Return the callable to call where the user's code calls `f`; instrumented code asks before each call."""
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
    found = _resolved.get(f) if t in HASHABLE else f if t in calling_on else None
    if found is None or (Modes.asking and primitive_of(f) is not None):  # a context is asked at each call
        return other(f, t)
    return found


def resolve_plain(f: Any) -> Any:
    """Resolve `f` where the line of the user's code is unknown."""
    return resolve(f, STATE.site)


def function(f: types.FunctionType) -> Any:
    """Resolve a Python function: to its recorder if it has a rule, else to its instrumented twin."""
    recording = STATE.recording
    if recording is None:
        return f
    if recording.context is not None:
        return recording.context.choose(recording, f, lambda: function_plain(f), lambda: function_plain(f, False))
    return function_plain(f)


def function_plain(f: types.FunctionType, by_rule: bool = True) -> Any:
    """Resolve a Python function under no context: to its recorder (`by_rule`) or its twin."""
    code, known = f.__code__, _decided.get(f)
    if code.co_filename in _SAYS_WHAT_IS_RAISED and tape() is not None:
        _be_loud()
    if by_rule and known is not None and known[0] is code and known[1:] == (rules.version, f.__module__):
        put_in(f)
        twin: Any = f
    else:
        decision = decide(f, by_rule)
        if decision is IN_PLACE and by_rule:
            _decided[f] = code, rules.version, f.__module__
        twin = decision.of(f)
        if decision is GOES_ON:  # this trace may have made it; the cache must not keep it alive
            return twin
    if f.__closure__ is None and STATE.recording is not None and STATE.recording.context is None:
        twins[f] = twin
    return twin


_SAYS_WHAT_IS_RAISED = {lookup(t, "__enter__").__code__.co_filename for t in SAYING_WHAT_IS_RAISED}


def _be_loud() -> None:
    """Guard from now on that replay raises no floating-point error where none was raised; turn the short paths off."""
    recording = tape()
    assert recording is not None
    recording.checks_fp_errors, STATE.quick = True, None


def method(f: types.MethodType) -> Any:
    """Resolve a bound method: resolve its function, and bind the result to the same object."""
    inner = f.__func__
    if types.MethodType in rules.types and f in rules:
        return other(f, types.MethodType)
    if type(inner) is types.FunctionType:
        twin = twins.get(inner)
        return types.MethodType(function(inner) if twin is None else twin, f.__self__)
    return functools.partial(resolve_plain(inner), f.__self__)


def bound_builtin(f: Any, owner: Any) -> Any:
    """Resolve `f`, a C method bound to the object `owner`, as in `x.sum(...)`."""
    if STATE.recording is None:
        return f
    t = type(owner)
    key = t, f.__name__
    of = _resolved.get(key) or twins.get(key) if type(t) is type else None  # else the class may have no hash
    return _first_of_class(f, t, key) if of is None else of(f)


def _first_of_class(f: Any, t: type, key: tuple[type, str]) -> Any:
    """Resolve a bound C method that is not in the cache yet, or that belongs to a class itself."""
    if issubclass(t, type):
        return other(f, type(f))
    known = twins if is_heap_type(t) else _resolved
    of = decide_method(f, *key).of
    if type(t) is type:
        known[key] = of
    return of(f)


def other(f: Any, t: type) -> Any:
    """Resolve any other callable, such as a class, a C function or a callable object."""
    recording = STATE.recording
    if recording is None:
        return f
    if t is Transformed:
        return resolve_plain(f.__func__)
    if recording.context is not None and f is not super:  # which looks at the frame that calls it
        return recording.context.choose(recording, f, lambda: _other(f, t), lambda: _other(f, t))
    return _other(f, t)


def _other(f: Any, t: type) -> Any:
    """Resolve by identity, or by type if the callable is unhashable."""
    if t not in HASHABLE:
        decision = decide(f)
        if decision is CALLS_ON and STATE.recording.context is None and t not in rules.types:  # type: ignore[union-attr]
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
