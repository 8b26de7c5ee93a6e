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
from wengert.hooks import foreign
from wengert.hooks.classes import REDUCED_BY, bind, enter, lookup, python_method
from wengert.hooks.code_swap import copied, prepare, put_in, twin_of
from wengert.hooks.lazy_instrumentation import is_waiting
from wengert.hooks.modules import MODULES
from wengert.hooks.native_values import with_values_of
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
    itself,
    plain,
    replaced,
    searched,
)
from wengert.hooks.readers import check_step
from wengert.hooks.search import function_of, guarded, opaque, search
from wengert.hooks.solver_callbacks import reaches, unseen
from wengert.hooks.standins.compiled import source_of
from wengert.hooks.standins.functions import recorded, recorder
from wengert.recording.primitives import Primitive, hashable, primitive_of
from wengert.recording.recording import STATE, here
from wengert.rewrite import original
from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Carrier
from wengert.values.callables import TOLD_APART
from wengert.values.codes import code_of
from wengert.values.frames import ENGINE
from wengert.values.names import LIBRARIES, home_of
from wengert.values.transformed import Transformed

HASHABLE = (TOLD_APART | {type(np.random.Generator.normal)}) - {types.MethodType}
"""Types of callables that are looked up by identity, and hash by it."""


def decide(f: Any, by_rule: bool = True) -> Decision:
    """Return the Decision on the callable `f`; consult the rule of a function only if `by_rule`."""
    t = type(f)
    if t is types.FunctionType:
        return (_by_itself(f) if by_rule or primitive_of(f) is None else None) or _of_function(f, by_rule)
    if t is types.MethodType and not (types.MethodType in rules.types and f in rules):
        return _of_method(f)
    if issubclass(t, types.BuiltinFunctionType):
        t = types.BuiltinFunctionType  # CPython has a subclass for methods that are given the class which defines them
        if _is_bound(f):
            return decide_method(f, type(f.__self__), f.__name__)
    return _by_itself(f) or TYPES.get(type if issubclass(t, type) else t, _of_object)(f) or _of_object(f)


def decide_method(f: Any, t: type, name: str) -> Decision:
    """The Decision on the method of C `name` of class `t`: bound to an object, or the class's where there is none."""
    for base in t.__mro__:
        found = METHODS[base](f, t, name) if type(base) is type and base in METHODS else None
        if found is not None:
            return found
    raise AssertionError("object has a decision on every method")


def _is_bound(f: Any) -> bool:
    owner = f.__self__
    return owner is not None and not issubclass(type(owner), (types.ModuleType, type))


def _by_itself(f: Any) -> Decision | None:
    """The Decision on this very callable, if it has a rule or a stand-in, or is declared plain; else None."""
    t = type(f)
    if t not in HASHABLE and not issubclass(t, type) and not _is_only_itself(t):
        return recorded(Primitive(hashable(f), rules[f])) if f in rules else _stood_for(f)
    primitive, found = primitive_of(f), CALLABLES.get(f)
    if found is not None and (primitive is None or f in RULED):
        return found
    if primitive is None:
        return _stood_for(f)
    record = RECORDERS.get(f)
    return recorded(primitive) if record is None else recorded(primitive, lambda _: record(primitive))


def _is_only_itself(t: Any) -> bool:
    """Whether objects of a class are found in a table by identity, as scipy.fft's functions are."""
    is_itself = (type(t), t.__hash__, t.__eq__) == (type, object.__hash__, object.__eq__)
    return is_itself and not issubclass(t, Carrier)  # which goes when nobody has it any more, and its rule with it


_DECLARED = plain("It is declared to compute nothing on numbers.")
_STOOD_FOR = "A function in Python stands for it."


def _stood_for(f: Any) -> Decision | None:
    """Return the Decision on a callable that has a stand-in in Python; else None."""
    text = rules.standin_of(f)
    if text is f:
        return _DECLARED
    return None if text is None else replaced(_STOOD_FOR, partial(_followed, text), text)


def _followed(text: Callable[..., Any], f: Any, owner: Any = None) -> Callable[..., Any]:
    """Make a function that calls `f`, a method of `owner`, or its stand-in `text` if traced values reach the call."""
    takes_callbacks = type(f) is types.FunctionType  # which may read global names
    is_of_c = not takes_callbacks and rules.standin_of(f) is text  # and no method, nor what numba compiled

    def follow(*args: Any, **kwargs: Any) -> Any:
        site = STATE.site
        try:
            return enter(text)(*args, **kwargs)
        except NoDerivativeError as error:
            STATE.site = site
            raise error if STATE.recording is None else STATE.recording.refuse(error) from None

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return f(*args, **kwargs)
        if takes_callbacks and reaches(args, kwargs):
            return follow(*args, **kwargs)
        seen = partial(with_values_of, f, follow) if is_of_c else follow
        return opaque(recording, f, args, kwargs, owner, run=partial(unseen, f), text=seen)

    return call


def _of_function(f: types.FunctionType, by_rule: bool) -> Decision:
    has_rule = not by_rule and primitive_of(f) is not None
    if not has_rule and original(f.__code__) is not None and not is_waiting(f):
        return GOES_ON
    home, is_ours = home_of(f).partition(".")[0], f.__code__.co_filename.startswith(ENGINE)
    if is_ours and getattr(f, "by_hand", False):
        return _BY_HAND
    if is_ours and "ENTERED" not in f.__globals__:
        return _OURS
    if home in MODULES and not is_ours:
        return MODULES[home]
    return _APART if has_rule or is_ours or home in LIBRARIES else IN_PLACE


def _by_hand(f: types.FunctionType) -> Any:
    """Refuse traced arguments of a function that calls a rule by hand: nothing that it computes would be recorded."""

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


def _put_in(f: types.FunctionType) -> Any:
    put_in(f)
    return f


def _apart(f: types.FunctionType) -> types.FunctionType:
    """Copy a function of a library, or one with a rule; the copy runs the twin's code.

    The function keeps its own code, since others call it where nothing may be recorded.
    """
    return copied(f, twin_of(code_of(f), False))


_OURS = plain("It is a function of wengert's own, which records what it computes.")
_BY_HAND = searched("It calls a rule by hand, and nothing of what that computes is recorded.", _by_hand)
GOES_ON = Decision(Kind.ENTERED, "It is written in Python, and instrumented already.", itself)
CALLS_ON = Decision(Kind.ENTERED, "Its class has a `__call__` in Python, which is instrumented.", itself)
IN_PLACE = Decision(Kind.ENTERED, "It is written in Python: while a trace lasts it runs instrumented code.", _put_in)
_APART = Decision(
    Kind.ENTERED,
    "It is written in Python: a copy of it is instrumented, for others call it, too.",
    _apart,
)


def _of_method(f: types.MethodType) -> Decision:
    """The decision on the function that is bound, which gets the object in front."""
    inner = decide(f.__func__)
    bound = types.MethodType if type(f.__func__) is types.FunctionType else functools.partial
    return inner._replace(of=lambda f: bound(inner.of(f.__func__), f.__self__))


def _of_object(f: Any) -> Decision:
    text = source_of(f)
    if text is not None:
        return replaced("It was compiled of a function in Python, which stands for it.", partial(_followed, text), text)
    call = python_method(type(f), "__call__")
    if type(call) is types.FunctionType and original(call.__code__) is not None:
        return CALLS_ON
    if call is not None:
        why = "Its class has a `__call__` in Python, which is followed."
        return Decision(Kind.ENTERED, why, functools.partial(bind, call), call)
    text = rules.standin_of(lookup(type(f), "__call__"))
    if text is not None:
        return replaced(_STOOD_FOR, lambda f: partial(enter(text), f), text)
    return searched(IN_C, _object_of_c) if callable(f) else plain("It cannot be called, and Python says so.")


def _object_of_c(f: Any) -> Callable[..., Any]:
    """Guard the call of an object of C, which may call functions that it holds on objects that it holds."""
    return guarded(f, f)


@decides_methods_of(object)
def _of_any_method(f: Any, t: type, name: str) -> Decision:
    if name in REDUCED_BY:
        return plain("It gives what the object holds, by methods that are followed.", _with_class_prepared)
    if name in ("__dir__", "__sizeof__", "__init_subclass__"):
        return plain("It tells of the object what is no number of its.")
    if t.__module__ == "builtins" and issubclass(t, Generator):
        return plain("It is a step of a coroutine, which runs code that is instrumented.")
    primitive, text = _rule_of_method(f, t), _text_of_method(f, t)
    if primitive is None and text is not None:
        return replaced(_STOOD_FOR, _method_of_c, text)
    return searched(IN_C, _method_of_c) if primitive is None else recorded(primitive, _method_of_c)


def _with_class_prepared(f: Any) -> Any:
    prepare(type(f.__self__))
    return f


def _rule_of_method(f: Any, t: type) -> Primitive | None:
    return primitive_of(f) or primitive_of(lookup(t, f.__name__))


def _text_of_method(f: Any, t: type) -> Any:
    """Find the stand-in of a C method: that of its class, else its own, as pybind11 binds functions to objects."""
    text = rules.standin_of(lookup(t, f.__name__))
    return rules.standin_of(f) if text is None else partial(text, getattr(f, "__self__", None))


def _method_of_c(f: Any) -> Any:
    owner = f.__self__
    primitive = _rule_of_method(f, type(owner))
    if primitive is None:
        text = _text_of_method(f, type(owner))
        return guarded(f, owner) if text is None else _followed(text, f, owner)
    return recorder(primitive) if primitive.fn == f else functools.partial(recorder(primitive), owner)


_CODE_OF: dict[type, Callable[[Any], types.CodeType]] = {
    types.GeneratorType: operator.attrgetter("gi_code"),
    types.CoroutineType: operator.attrgetter("cr_code"),
    types.AsyncGeneratorType: operator.attrgetter("ag_code"),
}


@decides_methods_of(*_CODE_OF)
def _of_generator(f: Any, t: type, name: str) -> Decision:
    """The decision on a generator's method: it depends on the generator's code, so that it is asked at each call."""
    if name in ("close", "aclose") or (hasattr(f, "__self__") and original(_CODE_OF[t](f.__self__))):
        return Decision(Kind.ENTERED, "It runs code that is instrumented.", _stepped)
    return searched("It was made where nothing was instrumented.", _stepped)


def _stepped(f: Any) -> Any:
    owner = f.__self__
    if original(_CODE_OF[type(owner)](owner)) is not None or f.__name__ in ("close", "aclose"):
        return f
    check_step(owner)
    return guarded(f)


@decides_type(
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc,
    types.ClassMethodDescriptorType,
)  # fmt: skip
def _of_c(f: Any) -> Decision:
    owner = getattr(f, "__objclass__", None) or getattr(f, "__self__", None)
    if type(f) is types.WrapperDescriptorType and f.__name__ in _STEPS:
        return replaced("It is `iter` or `next`, but where a class that overrides it asks its base.", _step)
    if f.__name__ == "__prepare__" and isinstance(owner, type):
        return plain("It gives the namespace of a class that is about to be made.")
    if type(f) is np.ufunc and function_of(f) is not None:
        followed = foreign.FROMPYFUNC.module.followed
        return replaced("It calls a function in Python, which is followed.", followed, function_of(f))
    found = UNBOUND[owner](f) if isinstance(owner, type) and owner in UNBOUND else None
    return found or searched(IN_C)


_STEPS = {"__iter__": iter, "__next__": next}


def _step(f: Any) -> Any:
    def call(obj: Any, /) -> Any:
        is_own = lookup(type(obj), f.__name__) is f
        return enter(_STEPS[f.__name__])(obj) if is_own else f(obj)

    return call


@decides_type(types.MethodWrapperType)
def _of_method_wrapper(f: Any) -> Decision:
    """The decision on the method of C that is bound, which gets the object in front."""
    inner = decide(f.__objclass__.__dict__[f.__name__])
    return inner._replace(of=lambda f: functools.partial(enter(f.__objclass__.__dict__[f.__name__]), f.__self__))


@decides_type(functools.partial)
def _of_partial(f: Any) -> Decision:
    """The decision on what a partial calls."""
    return decide(f.func)._replace(of=lambda f: functools.partial(enter(f.func), *f.args, **f.keywords))


@decides_type(Transformed)
def _of_transformed(f: Any) -> Decision:
    """The decision on the function that it calls."""
    return decide(f.__func__)._replace(of=lambda f: enter(f.__func__))
