"""What a call site calls in place of a callable: its twin, its recorder, or the callable itself.

`resolve` sees the callable alone, right before the call; CPython makes the call, so there is no frame in between for a
Python function, and recursion goes as deep as untraced. What is called is decided in `decide`.
"""

from __future__ import annotations

import atexit
import functools
import types
import weakref
from typing import Any

from wengert.hooks.classes import lookup
from wengert.hooks.code_swap import HOOKS
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
"""Functions that run instrumented code in a trace, with the code, the version of the rules and the module for it."""
_resolved: dict[Any, Any] = {}
"""What stands for callables that are the same in each trace, under the rules as they are.

For methods of C, by the class of the object and the name: what gives it for each.
"""


def _rules_changed() -> None:
    """Forget what stands for callables by rules that have changed, also in the middle of a trace."""
    _let_go()
    if SESSION.recordings:
        rules.once(prepare)


@atexit.register
def _let_go() -> None:
    """Drop all functions when the interpreter ends: they would keep the names of their modules alive."""
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
    found = _resolved.get(f) if t in HASHABLE else f if t in calling_on else None
    if found is None or (Modes.asking and primitive_of(f) is not None):  # a context is asked at each call
        return other(f, t)
    return found


def resolve_plain(f: Any) -> Any:
    """`resolve` where no line of the user's is known."""
    return resolve(f, STATE.site)


def function(f: types.FunctionType) -> Any:
    """What is called in place of a Python function: its recorder if it has a rule, else its instrumented twin."""
    recording = STATE.recording
    if recording is None:
        return f
    if recording.context is not None:
        return recording.context.choose(recording, f, lambda: function_plain(f), lambda: function_plain(f, False))
    return function_plain(f)


def _decision_on(f: types.FunctionType) -> Any:
    """Decide about a function, once for its code, its module and the rules as they are."""
    code, known = f.__code__, _decided.get(f)
    if known is not None and known[0] is code and known[1:] == (rules.version, f.__module__):
        return IN_PLACE
    decision = decide(f)
    if decision is IN_PLACE:
        _decided[f] = code, rules.version, f.__module__
    return decision


def function_plain(f: types.FunctionType, by_rule: bool = True) -> Any:
    """The recorder (`by_rule`) or the twin that is called in place of a Python function, under no context."""
    if f.__code__.co_filename in _SAYS_WHAT_IS_RAISED and tape() is not None:
        _be_loud()
    decision = _decision_on(f) if by_rule else decide(f, by_rule)
    twin = decision.of(f)
    if decision is GOES_ON:  # it may have been made by this trace, and is let go when it is
        return twin
    if f.__closure__ is None and STATE.recording is not None and STATE.recording.context is None:
        twins[f] = twin
    return twin


_SAYS_WHAT_IS_RAISED = {lookup(t, "__enter__").__code__.co_filename for t in SAYING_WHAT_IS_RAISED}


def _be_loud() -> None:
    """Guard on this tape from now on that what raised no floating-point error raises none: no short path does."""
    recording = tape()
    assert recording is not None
    recording.checks_fp_errors, STATE.quick = True, None


def method(f: types.MethodType) -> Any:
    """What is called in place of a bound method: its function entered or recorded, with its object in front."""
    inner = f.__func__
    if types.MethodType in rules.types and f in rules:
        return other(f, types.MethodType)
    if type(inner) is types.FunctionType:
        twin = twins.get(inner)
        return types.MethodType(function(inner) if twin is None else twin, f.__self__)
    return functools.partial(resolve_plain(inner), f.__self__)


def bound_builtin(f: Any, owner: Any) -> Any:
    """What to call where the user's code calls `f`, a method of C of the object `owner`, as in `x.sum(...)`."""
    if STATE.recording is None:
        return f
    t = type(owner)
    key = t, f.__name__
    of = _resolved.get(key) or twins.get(key) if type(t) is type else None  # else the class may have no hash
    return _first_of_class(f, t, key) if of is None else of(f)


def _first_of_class(f: Any, t: type, key: tuple[type, str]) -> Any:
    """`bound_builtin` where nothing is known yet of methods of this name, or of a class itself."""
    if issubclass(t, type):
        return other(f, type(f))
    known = twins if is_heap_type(t) else _resolved
    of = decide_method(f, *key).of
    if type(t) is type:
        known[key] = of
    return of(f)


def other(f: Any, t: type) -> Any:
    """What is called in place of any other callable, such as a class, a function of C or a callable object."""
    recording = STATE.recording
    if recording is None:
        return f
    if t is Transformed:
        return resolve_plain(f.__func__)
    if recording.context is not None and f is not super:  # which looks at the frame that calls it
        return recording.context.choose(recording, f, lambda: _other(f, t), lambda: _other(f, t))
    return _other(f, t)


def _other(f: Any, t: type) -> Any:
    """What stands for a callable that is found by itself, or by its type where it cannot be a key."""
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
    """Whether a method is bound to a class that may go when the trace is over."""
    owner = f.__self__
    return issubclass(type(owner), type) and is_heap_type(owner)


HOOKS["resolve"] = resolve
