"""`eval` and `exec`, whose code is rewritten and runs in the calling frame's namespaces, `breakpoint`, `raises`."""

from __future__ import annotations
import __future__

import functools
import inspect
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from wengert.hooks import rule_errors
from wengert.hooks.code_swap import twin_of
from wengert.hooks.policy import declare_native, stand_in_for
from wengert.recording.decisions import decided
from wengert.recording.recording import STATE
from wengert.values.frames import get_frame
from wengert.values.functional import raises

INHERITED = functools.reduce(
    operator.or_, [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
)
"""The compiler flags of `from __future__ import ...`, which evaluated source inherits from its caller."""
_NAMESPACES = ("globals", "locals")
_BY_NAME = sys.version_info >= (3, 13)

declare_native("A debugger shows the frame that calls it, so no other frame may be in between.", breakpoint)


@stand_in_for(eval, exec, made=True)
def _evaluated(f: Any) -> Callable[..., Any]:
    """The stand-in of `eval` or `exec`."""

    def call(source: Any, /, *given: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        spaces = dict(zip(_NAMESPACES, given, strict=False))
        named = kwargs.keys() & _NAMESPACES
        if recording is None or len(given) > 2 or (named and (not _BY_NAME or named & spaces.keys())):
            return f(source, *given, **kwargs)
        spaces |= {name: kwargs.pop(name) for name in named}
        frame = get_frame()
        if id(source) in recording.texts:
            raise rule_errors.no_rule_error(recording, f, "its source was made from a traced value")
        if not isinstance(source, types.CodeType):
            text = source.lstrip(" \t") if f is eval and isinstance(source, str) else source
            flags = frame.f_code.co_flags & INHERITED
            source = compile(text, "<string>", f.__name__, flags, dont_inherit=True)
        return f(twin_of(source), *_namespaces(frame, **spaces), **kwargs)

    return call


def _namespaces(frame: types.FrameType, globals: Any = None, locals: Any = None) -> tuple[Any, Any]:
    """Return the globals and locals in which code runs: the given ones, or those of the frame."""
    if globals is None:
        globals = frame.f_globals
        optimized = frame.f_code.co_flags & inspect.CO_OPTIMIZED
        locals = locals if locals is not None else dict(frame.f_locals) if optimized else frame.f_locals
    return globals, locals


@stand_in_for(raises, made=True)
def _raising(f: Any) -> Callable[..., Any]:
    """The stand-in of `raises`, by which a tape asks whether a call raises: a tape of its play gets a guard of it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        outcome, recording = f(*args, **kwargs), STATE.recording
        if recording is not None and recording.keep:
            decided(recording, f, args, outcome, kwargs)
        return outcome

    return call
