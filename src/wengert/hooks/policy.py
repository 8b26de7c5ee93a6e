"""The policy of calls: the callable that traced code calls in place of another, and the reason.

Decisions are registered here by callable, by owner, by type or by module.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from wengert.hooks.search import guarded
from wengert.values.callables import fits
from wengert.values.sites import Site

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Kind(enum.Enum):
    """The ways in which a trace treats a call."""

    RECORDED = "recorded as one call"
    ENTERED = "entered"
    STAND_IN = "replaced by a stand-in"
    SEARCHED = "run as it is, but refused where a traced value can reach it"
    PLAIN = "run as it is"


class Decision(NamedTuple):
    """The decision on a callable f: a call site calls `of(f)` in its place.

    `why` is a sentence. `by` is the rule, the stand-in or the line of this package that decided; None if the
    callable's own code did.
    """

    kind: Kind
    why: str
    of: Callable[[Any], Any]
    by: Any = None


def itself(f: Any) -> Any:
    return f


def plain(why: str, of: Callable[[Any], Any] = itself, by: Any = None) -> Decision:
    """Return the Decision on a callable that runs natively, whatever its arguments."""
    return Decision(Kind.PLAIN, why, of, by or _line())


def searched(why: str, of: Callable[[Any], Any] = guarded) -> Decision:
    """Return the Decision on an opaque callable, whose arguments are searched for traced values."""
    return Decision(Kind.SEARCHED, why, of, _line())


def _line() -> Site:
    """Find the line that decides: it calls the function that calls this one."""
    frame = sys._getframe(2)
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def replaced(why: str, of: Callable[[Any], Any], by: Any = None) -> Decision:
    """The Decision on a callable that another function replaces: `by`, or what `of` makes.

    Where the arguments do not fit, the error is the callable's own.
    """
    return Decision(Kind.STAND_IN, why, lambda f: _as_called(f, of(f)), by or of)


IN_C = "It is written in C, which cannot be seen into, and it has no rule."
MOVES = "It moves what it is given and computes nothing on it."

CALLABLES: dict[Any, Decision] = {}
RULED: set[Any] = set()
"""Callables whose stand-in applies their rule."""
RECORDERS: dict[Any, Callable[[Any], Callable[..., Any]]] = {}
"""Map a callable with a rule and a recorder of its own to the function that makes the recorder from the primitive."""
METHODS: dict[type, Callable[[Any, type, str], Decision | None]] = {}
"""Map the class of an object, or a base of it, to the function that decides on its C methods.

The function gets the method, the class and the method's name.
"""
UNBOUND: dict[type, Callable[[Any], Decision | None]] = {}
"""Map a class to the function that decides on the C methods that it defines, when called on the class."""
TYPES: dict[type, Callable[[Any], Decision | None]] = {}
"""Map the type of a callable to the function that decides on it."""

_SEEN = "In C nothing sees what it calls, compares or takes apart; the stand-in does the same where a trace sees it."


def stands_for(*callables: Any, ruled: bool = False, made: bool = False) -> Callable[[_Function], _Function]:
    """Have a function run in place of these callables where something is recorded.

    A rule of the callable goes before it, unless the stand-in is `ruled`: it applies the rule itself. With
    `made` the function is not the stand-in, but makes that of each callable.
    """

    def register(standin: _Function) -> _Function:
        of = standin if made else lambda _: standin
        for f in callables:
            CALLABLES[f] = replaced(_SEEN, of, standin)
        if ruled:
            RULED.update(callables)
        return standin

    return register


def _as_called(native: Any, standin: Any) -> Any:
    """Wrap a stand-in: if the arguments do not fit, call the original, which raises its own error."""
    inner = _entered(standin)
    if type(native) in _IN_PYTHON or type(inner) is not types.FunctionType:
        return standin

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return standin(*args, **kwargs)
        except TypeError as error:
            never = error.__traceback__ is not None and error.__traceback__.tb_next is None
            if never or not fits(native, args, kwargs):
                return native(*args, **kwargs)
            raise

    call.__name__, call.__qualname__, call.__module__ = inner.__name__, inner.__qualname__, inner.__module__
    return call


_IN_PYTHON = types.FunctionType, types.MethodType


def _entered(standin: Any) -> Any:
    """Return the function that a call of a stand-in runs."""
    if isinstance(standin, types.MethodType):
        return standin.__func__
    return standin.func if isinstance(standin, functools.partial) else standin


def records(*callables: Any) -> Callable[[_Function], _Function]:
    """Register a function that makes the recorder of these callables from the primitive, while they have rules."""
    return _entering(RECORDERS, callables)


def runs_plain(why: str, *callables: Any) -> None:
    """Call these natively, unrecorded."""
    CALLABLES.update(dict.fromkeys(callables, plain(why, by=_line())))


def decides_methods_of(*owners: type) -> Callable[[_Function], _Function]:
    """Register a function that decides on the C methods of objects of these classes."""
    return _entering(METHODS, owners)


def decides_unbound(*owners: type) -> Callable[[_Function], _Function]:
    """Register a function that decides on the C methods that these very classes define, when called on the class."""
    return _entering(UNBOUND, owners)


def decides_type(*kinds: type) -> Callable[[_Function], _Function]:
    """Register a function that decides on callables of these very types; for `type`, on classes."""
    return _entering(TYPES, kinds)


def _entering(table: dict[Any, Any], keys: tuple[Any, ...]) -> Callable[[_Function], _Function]:
    def register(decide: _Function) -> _Function:
        table.update(dict.fromkeys(keys, decide))
        return decide

    return register
