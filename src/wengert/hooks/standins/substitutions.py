"""`re.sub` and `subn` with a function: they call it for each match, and the trace enters it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from wengert.hooks.classes import as_traced
from wengert.hooks.policy import Decision, decides_methods_of, stand_in_call, stand_in_for
from wengert.hooks.search import opaque
from wengert.hooks.standins.texts import holds_texts
from wengert.recording.recording import STATE, Recording

_PARAMETERS_AFTER_PATTERN = ("repl", "string", "count")


@stand_in_for(re.sub, re.subn, made=True)
def _of_module(f: Any) -> Callable[..., Any]:
    """Replace `re.sub` or `subn` by the method of the compiled pattern."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        given = {**dict(zip(("pattern", *_PARAMETERS_AFTER_PATTERN, "flags"), args, strict=False)), **kwargs}
        if recording is None or len(args) > 5 or not _calls_a_function(recording, given):
            return f(*args, **kwargs) if recording is None else opaque(recording, f, args, kwargs)
        pattern = re.compile(given.pop("pattern"), given.pop("flags", 0))
        return _of_matches(getattr(pattern, f.__name__), given)

    return call


@decides_methods_of(re.Pattern)
def _of_pattern(f: Any, t: type, name: str) -> Decision | None:
    return stand_in_call("It calls a function for each match, which is traced.", _method) if name in _MADE else None


def _method(f: Any) -> Callable[..., Any]:
    """Replace `sub` or `subn` of a compiled pattern."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording, given = STATE.recording, {**dict(zip(_PARAMETERS_AFTER_PATTERN, args, strict=False)), **kwargs}
        if recording is None or len(args) > 3 or not _calls_a_function(recording, {"pattern": f.__self__, **given}):
            return f(*args, **kwargs) if recording is None else opaque(recording, f, args, kwargs, f.__self__)
        return _of_matches(f, given)

    return call


def _calls_a_function(recording: Recording, given: dict[str, Any]) -> bool:
    """Whether a function replaces the matches in a string that depends on no traced value."""
    is_call = {"pattern", "repl", "string"} <= given.keys() <= {"pattern", *_PARAMETERS_AFTER_PATTERN, "flags"}
    is_plain = is_call and callable(given["repl"]) and type(given["string"]) in (str, bytes)
    return is_plain and not holds_texts(recording, (given["pattern"], given["string"]))


def _of_matches(f: Any, given: dict[str, Any]) -> Any:
    """Call the function for each match, as `f`, a pattern's `sub` or `subn`, does."""
    string, count, each = given["string"], given.get("count", 0), as_traced(given["repl"])
    f("", string[:0], count)  # raises where the kinds of strings differ, or the count is none
    parts, end, made = [], 0, 0
    for match in f.__self__.finditer(string):
        if count and made >= count:
            break
        piece = each(match)
        parts += [string[end : match.start()]] if end < match.start() else []
        parts += [] if piece is None else [piece]
        end, made = match.end(), made + 1
    parts += [string[end:]] if end < len(string) else []
    return _MADE[f.__name__](as_traced(string[:0].join)(parts), made)


_MADE: dict[str, Callable[[Any, int], Any]] = {"sub": lambda text, made: text, "subn": lambda text, made: (text, made)}
