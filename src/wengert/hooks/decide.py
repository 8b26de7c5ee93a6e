"""The choice of a policy decision for a callable: by identity, by owner and name, by type, or by module.

Deciding has no side effects: code is swapped, and a stand-in made, only when a call applies the decision.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError, RefusedCallError
from wengert.hooks import foreign, native_values, solver_callbacks, solver_effects
from wengert.hooks.classes import REDUCED_BY, as_traced, bind_method, python_method
from wengert.hooks.code_swap import copy_function, is_entered, prepare, swap_in, twin_of
from wengert.hooks.lazy_instrumentation import is_lazy
from wengert.hooks.modules import MODULE_DECISIONS
from wengert.hooks.policy import (
    CALLABLES,
    IN_C,
    METHODS,
    RECORDERS,
    RULED,
    TYPES,
    UNBOUND,
    Decision,
    Kind,
    decides_methods_of,
    decides_type,
    native_call,
    opaque_call,
    same_callable,
    stand_in_call,
)
from wengert.hooks.readers import check_reader
from wengert.hooks.search import function_of, guarded, opaque, search
from wengert.hooks.standins import compiled
from wengert.hooks.standins.functions import recorded, recorder
from wengert.recording.primitives import Primitive, hashable, primitive_of
from wengert.recording.recording import STATE, users_line
from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Carrier
from wengert.values.callables import TOLD_APART
from wengert.values.codes import code_of, original
from wengert.values.frames import ENGINE
from wengert.values.names import LIBRARIES, home_of, lookup
from wengert.values.transformed import Transformed

HASHABLE = TOLD_APART - {types.MethodType}
"""Types of callables that are looked up by identity and hashed by it; `numpy_draws` adds that of NumPy's draws."""


def decide(f: Any, by_rule: bool = True) -> Decision:
    """Return the Decision on the callable `f`; consult the rule of a function only if `by_rule`."""
    rules.load()
    t = type(f)
    if t is types.FunctionType:
        return (_decide_by_identity(f) if by_rule or primitive_of(f) is None else None) or _decide_function(f, by_rule)
    if t is types.MethodType and not (types.MethodType in rules.types and f in rules):
        return _decide_bound_method(f)
    if issubclass(t, types.BuiltinFunctionType):
        t = types.BuiltinFunctionType  # its subclass has methods that get their defining class
        if _is_bound(f):
            return decide_method(f, type(f.__self__), f.__name__)
    return (
        _decide_by_identity(f) or TYPES.get(type if issubclass(t, type) else t, _decide_object)(f) or _decide_object(f)
    )


def decide_method(f: Any, t: type, name: str) -> Decision:
    """Return the Decision on the C method `name` of class `t`, bound to an object or not."""
    for base in t.__mro__:
        found = METHODS[base](f, t, name) if type(base) is type and base in METHODS else None
        if found is not None:
            return found
    raise AssertionError("object has a decision on every method")


def _is_bound(f: Any) -> bool:
    owner = f.__self__
    return owner is not None and not issubclass(type(owner), (types.ModuleType, type))


def _decide_by_identity(f: Any) -> Decision | None:
    """Return the Decision on this very callable if it has a rule or a stand-in, or is declared plain; else None."""
    t = type(f)
    if t not in HASHABLE and not issubclass(t, type) and not _is_found_by_identity(t):
        return recorded(Primitive(hashable(f), rules[f])) if f in rules else _decide_stand_in(f)
    primitive, found = primitive_of(f), CALLABLES.get(f)
    if found is not None and (primitive is None or f in RULED):
        return found
    if primitive is None:
        return _decide_stand_in(f)
    record = RECORDERS.get(f)
    return recorded(primitive) if record is None else recorded(primitive, lambda _: record(primitive))


def _is_found_by_identity(t: Any) -> bool:
    """Whether objects of a class hash and compare by identity, as scipy.fft's functions do."""
    is_itself = (type(t), t.__hash__, t.__eq__) == (type, object.__hash__, object.__eq__)
    return is_itself and not issubclass(t, Carrier)  # a Carrier dies with its last reference, and its rule with it


_DECLARED_PLAIN = native_call("It is declared to compute nothing on numbers.")
_HAS_STAND_IN = "It has a stand-in in Python."


def _decide_stand_in(f: Any) -> Decision | None:
    """Return the Decision on a callable that has a stand-in in Python; else None."""
    standin = rules.standin_of(f)
    if standin is f:
        return _DECLARED_PLAIN
    return None if standin is None else stand_in_call(_HAS_STAND_IN, partial(_native_or_stand_in, standin), standin)


def _native_or_stand_in(standin: Callable[..., Any], f: Any, owner: Any = None) -> Callable[..., Any]:
    """Make a function that calls `f`, a method of `owner`, or its stand-in if traced values reach the call."""
    takes_callbacks = type(f) is types.FunctionType  # they may read global names
    home = home_of(f)
    is_of_library = home.partition(".")[0] in LIBRARIES
    runs_user_code = not is_of_library or home.startswith("scipy.optimize")
    is_of_c = not takes_callbacks and rules.standin_of(f) is standin  # not a method, nor compiled by numba

    def follow(*args: Any, **kwargs: Any) -> Any:
        site = STATE.site
        try:
            with solver_effects.SolverEffects(args, kwargs):
                return as_traced(standin)(*args, **kwargs)
        except NoDerivativeError as error:
            STATE.site = site
            raise error if STATE.recording is None else STATE.recording.refuse(error) from None

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return f(*args, **kwargs)
        may_read = recording.reads is not None and runs_user_code
        if takes_callbacks and (may_read or solver_callbacks.reaches_traced(args, kwargs)):
            return follow(*args, **kwargs)
        traced = partial(native_values.with_values_of, f, follow) if is_of_c else follow
        calls_back = takes_callbacks or is_of_library  # hooks see what callbacks read
        run = partial(solver_callbacks.unseen, f) if calls_back else f
        return opaque(recording, f, args, kwargs, owner, run=run, standin=traced)

    return call


def _decide_function(f: types.FunctionType, by_rule: bool) -> Decision:
    """Return the Decision on a Python function without a rule, or without regard to its rule."""
    has_rule = not by_rule and primitive_of(f) is not None
    if not has_rule and original(f.__code__) is not None and not is_lazy(f):
        return INSTRUMENTED
    home, is_ours = home_of(f).partition(".")[0], f.__code__.co_filename.startswith(ENGINE)
    if is_ours and getattr(f, "by_hand", False):
        return _CALLS_RULE_BY_HAND
    if is_ours and not is_entered(f):
        return OWN_FUNCTION
    if home in MODULE_DECISIONS and not is_ours:
        return MODULE_DECISIONS[home]
    return ENTERED_COPY if has_rule or is_ours or home in LIBRARIES else SWAPPED_IN_PLACE


def _refuse_traced(f: types.FunctionType) -> Any:
    """Wrap a function that calls a rule by hand: refuse traced arguments, since what it computes is not recorded."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is not None and search(recording, [a for a in (*args, *kwargs.values()) if a is not rules]):
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: {f.__qualname__} calls a rule by hand with a traced value. Call the "
                    "function itself. For derivatives of derivatives use wg.grad inside, or play the tape of "
                    "wg.gradtape."
                )
            )
        return f(*args, **kwargs)

    return call


def _instrumented_copy(f: types.FunctionType) -> types.FunctionType:
    """Return a copy that runs the twin's code; the function keeps its own code, since untraced code calls it too."""
    return copy_function(f, twin_of(code_of(f), False))


OWN_FUNCTION = native_call("It is wengert's own function, which records what it computes.")
_CALLS_RULE_BY_HAND = opaque_call("It calls a rule by hand; the rule's operations are not recorded.", _refuse_traced)
INSTRUMENTED = Decision(Kind.ENTERED, "It is written in Python and already instrumented.", same_callable)
INSTRUMENTED_OBJECT = Decision(
    Kind.ENTERED, "Its class has a `__call__` in Python, which is instrumented.", same_callable
)
SWAPPED_IN_PLACE = Decision(
    Kind.ENTERED, "It is written in Python: while a trace lasts it runs instrumented code.", swap_in
)
ENTERED_COPY = Decision(
    Kind.ENTERED,
    "It is written in Python; a copy is instrumented, since untraced code calls it too.",
    _instrumented_copy,
)


def _decide_bound_method(f: types.MethodType) -> Decision:
    """Decide as for the function that is bound; it gets the object as its first argument."""
    inner = decide(f.__func__)
    bound = types.MethodType if type(f.__func__) is types.FunctionType else functools.partial
    return inner._replace(of=lambda f: bound(inner.of(f.__func__), f.__self__))


def _decide_object(f: Any) -> Decision:
    standin = compiled.source_of(f)
    if standin is not None:
        return stand_in_call(
            "It was compiled from a Python function, which is its stand-in.",
            partial(_native_or_stand_in, standin),
            standin,
        )
    call = python_method(type(f), "__call__")
    if type(call) is types.FunctionType and original(call.__code__) is not None:
        return INSTRUMENTED_OBJECT
    if call is not None:
        why = "Its class has a `__call__` in Python, which is traced."
        return Decision(Kind.ENTERED, why, functools.partial(bind_method, call), call)
    standin = rules.standin_of(lookup(type(f), "__call__"))
    if standin is not None:
        return stand_in_call(_HAS_STAND_IN, lambda f: partial(as_traced(standin), f), standin)
    return (
        opaque_call(IN_C, _guard_c_object)
        if callable(f)
        else native_call("It cannot be called; Python raises the error.")
    )


def _guard_c_object(f: Any) -> Callable[..., Any]:
    """Guard the call of a C object: it may call functions that it holds on objects that it holds."""
    return guarded(f, f)


@decides_methods_of(object)
def _decide_c_method(f: Any, t: type, name: str) -> Decision:
    if name in REDUCED_BY:
        return native_call("It returns the contents of the object, by methods that are traced.", _prepare_owner)
    if name in ("__dir__", "__sizeof__", "__init_subclass__"):
        return native_call("It returns information about the object, none of its numbers.")
    if name == "__exit__":
        return _ENDS_CONTEXT
    if t.__module__ == "builtins" and issubclass(t, Generator):
        return native_call("It is a step of a coroutine, which runs instrumented code.")
    primitive, standin = _rule_of_method(f, t), _stand_in_of_method(f, t)
    if primitive is None and standin is not None:
        return stand_in_call(_HAS_STAND_IN, _follow_c_method, standin)
    return opaque_call(IN_C, _follow_c_method) if primitive is None else recorded(primitive, _follow_c_method)


def _prepare_owner(f: Any) -> Any:
    prepare(type(f.__self__))
    return f


def _rule_of_method(f: Any, t: type) -> Primitive | None:
    return primitive_of(f) or primitive_of(lookup(t, f.__name__))


def _stand_in_of_method(f: Any, t: type) -> Any:
    """Find the stand-in of a C method: that of its class, else its own, as pybind11 binds functions to objects."""
    standin = rules.standin_of(lookup(t, f.__name__))
    return rules.standin_of(f) if standin is None else partial(standin, getattr(f, "__self__", None))


def _follow_c_method(f: Any) -> Any:
    owner = f.__self__
    primitive = _rule_of_method(f, type(owner))
    if primitive is None:
        standin = _stand_in_of_method(f, type(owner))
        return guarded(f, owner) if standin is None else _native_or_stand_in(standin, f, owner)
    return recorder(primitive) if primitive.fn == f else functools.partial(recorder(primitive), owner)


_CODE_OF: dict[type, Callable[[Any], types.CodeType]] = {
    types.GeneratorType: operator.attrgetter("gi_code"),
    types.CoroutineType: operator.attrgetter("cr_code"),
    types.AsyncGeneratorType: operator.attrgetter("ag_code"),
}


@decides_methods_of(*_CODE_OF)
def _decide_generator_method(f: Any, t: type, name: str) -> Decision:
    """Decide on a generator's method at each call anew, since the Decision depends on the generator's code."""
    if name in ("close", "aclose") or (hasattr(f, "__self__") and original(_CODE_OF[t](f.__self__))):
        return Decision(Kind.ENTERED, "It runs instrumented code.", _check_generator_step)
    return opaque_call("Its generator was made outside of the trace, uninstrumented.", _check_generator_step)


def _check_generator_step(f: Any) -> Any:
    owner = f.__self__
    if original(_CODE_OF[type(owner)](owner)) is not None or f.__name__ in ("close", "aclose"):
        return f
    check_reader(owner)
    return guarded(f)


@decides_type(
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc,
    types.ClassMethodDescriptorType,
)  # fmt: skip
def _decide_c_function(f: Any) -> Decision:
    owner = getattr(f, "__objclass__", None) or getattr(f, "__self__", None)
    if type(f) is types.WrapperDescriptorType and f.__name__ in _ITERATION:
        return stand_in_call(
            "It is `iter` or `next`, unless a class that overrides it calls its base.", _follow_iteration
        )
    if f.__name__ == "__exit__":
        return _ENDS_CONTEXT
    if f.__name__ == "__prepare__" and isinstance(owner, type):
        return native_call("It returns the namespace of a class that is about to be made.")
    if type(f) is np.ufunc and function_of(f) is not None:
        call = foreign.FROMPYFUNC.module.call_by_element
        return stand_in_call("It calls a Python function, which is traced.", call, function_of(f))
    found = UNBOUND[owner](f) if isinstance(owner, type) and owner in UNBOUND else None
    return found or opaque_call(IN_C)


_ENDS_CONTEXT = native_call("It ends a context, as of a lock or a file; an exception that it gets has no derivative.")
_ITERATION = {"__iter__": iter, "__next__": next}


def _follow_iteration(f: Any) -> Any:
    def call(obj: Any, /) -> Any:
        is_own = lookup(type(obj), f.__name__) is f
        return as_traced(_ITERATION[f.__name__])(obj) if is_own else f(obj)

    return call


@decides_type(types.MethodWrapperType)
def _decide_method_wrapper(f: Any) -> Decision:
    """Decide as for the C method that is bound; it gets the object as its first argument."""
    inner = decide(f.__objclass__.__dict__[f.__name__])
    return inner._replace(of=lambda f: functools.partial(as_traced(f.__objclass__.__dict__[f.__name__]), f.__self__))


@decides_type(functools.partial)
def _decide_partial(f: Any) -> Decision:
    """Decide as for the callable of a partial."""
    return decide(f.func)._replace(of=lambda f: functools.partial(as_traced(f.func), *f.args, **f.keywords))


@decides_type(Transformed)
def _decide_transformed(f: Any) -> Decision:
    """Decide as for the function that a Transformed calls."""
    return decide(f.__func__)._replace(of=lambda f: as_traced(f.__func__))
