"""Settings by which strings are made of numbers and arrays: a watched trace that makes one tests them."""

from __future__ import annotations

import functools
import locale
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.calls import resolve
from wengert.hooks.code_swap import HOOKS
from wengert.recording.recording import STATE
from wengert.values.sites import Site

_PLAIN = {str, bytes, bool, float, type(None)}
"""Types whose strings are the same under all settings."""
_SMALL = 2**63


def settings() -> Any:
    """NumPy's print options, the most digits of an integer, and the locale of numbers."""
    return np.get_printoptions(), sys.get_int_max_str_digits(), locale.setlocale(locale.LC_NUMERIC)


def watch_settings(reads: Any) -> None:
    """Test that strings are made as they are now."""
    reads.test(f"{reads.pin(settings)}() == {reads.pin(settings())}")


def _watch(things: tuple[Any, ...], spec: Any = "") -> None:
    """Watch the settings where a string is made of things that are not printed alike under all of them."""
    recording = STATE.recording
    reads: Any = None if recording is None else recording.reads
    if reads is not None and reads.unkept is None and ("n" in spec or not all(map(_is_plain, things))):
        watch_settings(reads)


def _is_plain(thing: Any) -> bool:
    t = type(thing)
    if t is tuple:
        return all(map(_is_plain, thing))
    return t in _PLAIN or (t is int and abs(thing) < _SMALL)


def _printing(native: Callable[..., str]) -> Callable[..., str]:
    """Return what is called for a builtin that makes a string."""

    @functools.wraps(native)
    def call(*args: Any, **kwargs: Any) -> str:
        _watch((*args[:1], *kwargs.values()), "".join(args[1:]) if native is format else "")
        text: str = resolve(native, STATE.site)(*args, **kwargs)
        return text

    return call


PRINTING: dict[Any, Callable[..., str]] = {f: _printing(f) for f in (str, repr, ascii, format)}
SHOWING = {"array2string", "array_repr", "array_str", "__str__", "__repr__", "__format__"}
"""Names of functions and methods of libraries that make strings."""


def _format(value: Any, spec: str, site: Site | None) -> Any:
    _watch((value,), spec)
    return HOOKS["format"](value, spec, site)


def _convert(value: Any, *how_and_site: Any) -> Any:
    _watch((value,))
    return HOOKS["convert"](value, *how_and_site)


def _mod(right: Any, left: Any, *site: Any) -> Any:
    """The operator `%`, which formats where its left operand is a string."""
    if type(left) is str:
        _watch((right,))
    return HOOKS["mod"](right, left, *site)


HOOKS_OF_PRINTING: dict[str, Callable[..., Any]] = {"format": _format, "convert": _convert, "mod": _mod}
