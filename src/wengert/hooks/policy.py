"""The policy of calls: which callable traced code calls in place of another, and why.

Decisions are registered here by callable, by owner or by type.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from wengert.hooks.search import guarded
from wengert.values.callables import fits
from wengert.values.named_tuples import NamedTuple
from wengert.values.sites import Site

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Kind(enum.Enum):
    """The ways in which a trace treats a call."""

    RECORDED = "recorded as one call"
    ENTERED = "traced"
    STAND_IN = "replaced by a stand-in"
    SEARCHED = "called untraced; refused if a traced value can reach it"
    PLAIN = "called untraced"


class Decision(NamedTuple):
    """The decision on a callable f: a call site calls `of(f)` in its place.

    `why` is a sentence. `by` is the rule, the stand-in or the line of this package that decided; None if the
    callable's own code did.
    """

    kind: Kind
    why: str
    of: Callable[[Any], Any]
    by: Any = None


def same_callable(f: Any) -> Any:
    return f


def native_call(why: str, of: Callable[[Any], Any] = same_callable, by: Any = None) -> Decision:
    """Return the Decision on a callable that is called untraced, whatever its arguments."""
    return Decision(Kind.PLAIN, why, of, by or _deciding_line())


def opaque_call(why: str, of: Callable[[Any], Any] = guarded) -> Decision:
    """Return the Decision on an opaque callable, whose arguments are searched for traced values."""
    return Decision(Kind.SEARCHED, why, of, _deciding_line())


def _deciding_line() -> Site:
    """Return the line that decides: the caller of this function's caller."""
    frame = sys._getframe(2)
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def stand_in_call(why: str, of: Callable[[Any], Any], by: Any = None) -> Decision:
    """Return the Decision on a callable with a stand-in: `by`, or the result of `of`.

    If the arguments do not fit, the callable itself raises the error.
    """
    return Decision(Kind.STAND_IN, why, lambda f: _with_native_errors(f, of(f)), by or of)


IN_C = "It is written in C, which cannot be traced, and it has no rule."
MOVES = "It moves its arguments and computes nothing on them."

CALLABLES: dict[Any, Decision] = {}
RULED: set[Any] = set()
"""Callables whose stand-in applies their rule."""
RECORDERS: dict[Any, Callable[[Any], Callable[..., Any]]] = {}
"""Map a callable with a rule and its own recorder to the function that makes the recorder from the primitive."""
METHODS: dict[type, Callable[[Any, type, str], Decision | None]] = {}
"""Map the class of an object, or a base of it, to the function that decides on its C methods.

The function gets the method, the class and the method's name.
"""
UNBOUND: dict[type, Callable[[Any], Decision | None]] = {}
"""Map a class to the function that decides on the C methods that it defines, when called on the class."""
TYPES: dict[type, Callable[[Any], Decision | None]] = {}
"""Map the type of a callable to the function that decides on it."""

_SAME_BUT_SEEN = "C code calls, compares or unpacks objects untraced; the stand-in does the same traced."


def stand_in_for(*callables: Any, ruled: bool = False, made: bool = False) -> Callable[[_Function], _Function]:
    """Register a function as the stand-in of these callables: it runs in their place where something records.

    A rule of the callable takes precedence, unless the stand-in is `ruled`: it applies the rule itself. With `made` the
    function is not the stand-in, but makes the stand-in of each callable.
    """

    def register(standin: _Function) -> _Function:
        of = standin if made else lambda _: standin
        for f in callables:
            CALLABLES[f] = stand_in_call(_SAME_BUT_SEEN, of, standin)
        if ruled:
            RULED.update(callables)
        return standin

    return register


def _with_native_errors(native: Any, standin: Any) -> Any:
    """Wrap a stand-in: if the arguments do not fit, call the original, which raises its own error."""
    inner = _function_run_by(standin)
    if type(native) in _IN_PYTHON or type(inner) is not types.FunctionType:
        return standin

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return standin(*args, **kwargs)
        except TypeError as error:
            is_uncalled = error.__traceback__ is not None and error.__traceback__.tb_next is None
            if is_uncalled or not fits(native, args, kwargs):
                return native(*args, **kwargs)
            raise

    call.__name__, call.__qualname__, call.__module__ = inner.__name__, inner.__qualname__, inner.__module__
    return call


_IN_PYTHON = types.FunctionType, types.MethodType


def _function_run_by(standin: Any) -> Any:
    """Return the function that a call of a stand-in runs."""
    if isinstance(standin, types.MethodType):
        return standin.__func__
    return standin.func if isinstance(standin, functools.partial) else standin


def records(*callables: Any) -> Callable[[_Function], _Function]:
    """Register a function that makes the recorder of these callables from the primitive, if they have rules."""
    return _registering(RECORDERS, callables)


def declare_native(why: str, *callables: Any) -> None:
    """Declare that these callables are called untraced."""
    CALLABLES.update(dict.fromkeys(callables, native_call(why, by=_deciding_line())))


def decides_methods_of(*owners: type) -> Callable[[_Function], _Function]:
    """Register a function that decides on the C methods of objects of these classes."""
    return _registering(METHODS, owners)


def decides_unbound(*owners: type) -> Callable[[_Function], _Function]:
    """Register a function that decides on the C methods that these very classes define, when called on the class."""
    return _registering(UNBOUND, owners)


def decides_type(*kinds: type) -> Callable[[_Function], _Function]:
    """Register a function that decides on callables of these very types; for `type`, on classes."""
    return _registering(TYPES, kinds)


def _registering(table: dict[Any, Any], keys: tuple[Any, ...]) -> Callable[[_Function], _Function]:
    def register(decide: _Function) -> _Function:
        table.update(dict.fromkeys(keys, decide))
        return decide

    return register
