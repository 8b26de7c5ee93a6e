"""Calls for their effect alone, in a watched trace, as of `print` and loggers; the generated code makes them again.

It makes them from functions that have the file, the line, the name and the globals of the user's frame: what asks for
its caller, such as `warnings.warn`, finds the user's line.
"""

from __future__ import annotations

import functools
import logging
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.effects import Place
from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.results import result_expression
from wengert.compiling.watched.trusted import frames_in_trace
from wengert.compiling.watched.watchable import ATOMS, OUTLETS, nested_leaves
from wengert.recording.recording import STATE
from wengert.values.callables import callable_name
from wengert.values.frames import is_ours
from wengert.values.identity_set import Functions

_LOGGED = ("debug", "info", "warning", "error", "critical", "exception", "log")
_OF_TYPES = (
    np.exceptions.ComplexWarning, np.exceptions.VisibleDeprecationWarning, DeprecationWarning, FutureWarning,
)  # fmt: skip
"""Categories of warnings that NumPy gives by the types of arguments, which guards check."""
_FILTERING = Functions(warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings)
_TAKING_TIME = time.sleep, np.save, np.savez, np.savez_compressed, np.savetxt
"""Functions that take a time which the user's code may measure."""
_EFFECTS = Functions(
    print,
    *_TAKING_TIME,
    warnings.warn,
    *_FILTERING,
    *[getattr(owner, name) for owner in (logging, logging.Logger) for name in _LOGGED],
    logging.Logger.setLevel,
)
"""Functions and methods that return None, and change nothing that code computes with but the level of a logger."""


def is_effect(f: Any) -> bool:
    """Whether a callable is called for its effect alone."""
    if type(f) is types.BuiltinFunctionType and f.__name__ == "flush":
        return isinstance(f.__self__, OUTLETS)
    return (f.__func__ if type(f) is types.MethodType else f) in _EFFECTS


def watched_effect(f: Any, reads: Reads) -> Callable[..., None]:
    """Return the replacement of such a callable: it makes the call, and has the generated code make it, too."""

    @functools.wraps(getattr(f, "__func__", f))
    def call(*args: Any, **kwargs: Any) -> None:
        frames = [frame for frame in frames_in_trace(sys._getframe(1)) if not is_ours(frame)]
        reads.effects.take_time |= f in _TAKING_TIME
        at = functools.reduce(_calling, frames if f is warnings.warn else frames[:1], None)
        if f in _FILTERING:
            reads.effects.filters_warnings = True
            filtered = (*args, *kwargs.values())
            if "error" in filtered and not any([kind in filtered for kind in _OF_TYPES]):
                reads.give_up("it turns warnings into errors. Do so around the call")
        if reads.obstacle is None and getattr(f, "__func__", None) is logging.Logger.setLevel:
            reads.effects.note_write(Place(f.__self__, "level", reads.accessor_of(f.__self__) or reads.pin(f.__self__)))
        if reads.obstacle is None:
            _note_call(f, at, args, kwargs, reads)
        given = {name: _as_now(reads.effects.untraced(a)) for name, a in [*enumerate(args), *kwargs.items()]}
        words = {name: given[name] for name in kwargs}
        reads.effects.delayed.append(functools.partial(at, f, tuple([given[k] for k in range(len(args))]), words))
        if not (reads.effects.learned.needs_counters and all(map(_cannot_change, given.values()))):
            reads.effects.make_delayed()

    return call


def _as_now(a: Any) -> Any:
    """Return a copy of an array, into which the code may write before a delayed call."""
    return a.copy() if type(a) is np.ndarray and not a.dtype.hasobject else a


def _cannot_change(a: Any) -> bool:
    """Whether a call with this argument may wait until the trace has ended, which may be refused until then."""
    t = type(a)
    is_copy = t is np.ndarray and not a.dtype.hasobject
    return is_copy or t in ATOMS or t in (float, complex) or issubclass(t, (np.generic, type, *OUTLETS))


def _note_call(f: Any, at: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reads: Reads) -> None:
    """Note the line that makes a call again."""
    if STATE.recording is not reads.recording:
        reads.give_up(f"a function under wg.vmap calls {callable_name(f)}. Return the values, and call it with them")
    reads.effects.given_arrays += [a for a in nested_leaves((args, kwargs)) if type(a) is np.ndarray]

    def expression(value: Any) -> str:
        if reads.accessor_of(value) and not issubclass(type(value), OUTLETS):  # it may change later
            reads.give_up(
                f"it passes a {type(value).__name__} from outside to {callable_name(f)}. Pass its numbers and strings"
            )
        return result_expression(reads, reads.recording, value, reads.slots, is_effect=True)

    owner = getattr(f, "__self__", None)
    callee = reads.pin(f) if type(owner) in (type(None), types.ModuleType) else f"{expression(owner)}.{f.__name__}"
    given = "".join([f"{expression(a)}, " for a in args])
    words = ", ".join([f"{name!r}: {expression(a)}" for name, a in kwargs.items()])
    reads.effects.note_call(f"{reads.pin(at)}({callee}, ({given}), {{{words}}})")


_INNERMOST: Any = lambda call, args, words: call(*args, **words)  # noqa: E731
_OUTER: Any = lambda inner, call, args, words: inner(call, args, words)  # noqa: E731


def _calling(inner: Any, frame: types.FrameType) -> Any:
    """Return a function that calls another as from a frame, by way of `inner` if that is one."""
    code, like = frame.f_code, _INNERMOST if inner is None else _OUTER
    alike = like.__code__.replace(co_filename=code.co_filename, co_firstlineno=frame.f_lineno, co_name=code.co_name)
    made = types.FunctionType(alike, frame.f_globals, code.co_name)
    return made if inner is None else functools.partial(made, inner)


class WatchedFilters:
    """Replaces `warnings.catch_warnings` in a watched trace."""

    def __init__(self, reads: Reads, **words: Any) -> None:
        self.reads, self.own = reads, warnings.catch_warnings(**words)
        self.name = f"c{len(reads.effects.calls)}"
        reads.effects.filters_warnings = True
        if words:
            reads.give_up("it reads the warnings that it catches. Catch them around the call")
        reads.effects.note_call(f"{self.name} = {reads.pin(warnings.catch_warnings)}()")

    def __enter__(self) -> Any:
        self.reads.effects.note_call(f"{self.name}.__enter__()")
        return self.own.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.reads.effects.note_call(f"{self.name}.__exit__(None, None, None)")
        self.own.__exit__(*error)
