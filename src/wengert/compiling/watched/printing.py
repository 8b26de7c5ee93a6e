"""Settings of the conversion of numbers and arrays to strings: a watched trace that converts one guards them."""

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

_PRINT_ALIKE = {str, bytes, bool, float, type(None)}
"""Types whose strings do not depend on any setting."""
_LIMITED_DIGITS_FROM = 2**63
"""From this size on the limit on the digits of integers may apply."""


def print_settings() -> Any:
    """Return NumPy's print options, the largest number of digits of an integer, and the locale of numbers."""
    return np.get_printoptions(), sys.get_int_max_str_digits(), locale.setlocale(locale.LC_NUMERIC)


def guard_print_settings(reads: Any) -> None:
    """Guard the settings by which values are converted to strings."""
    reads.add_guard(f"{reads.pin(print_settings)}() == {reads.pin(print_settings())}")


def _watch_printing(things: tuple[Any, ...], spec: Any = "") -> None:
    """Guard the print settings if the string of one of these things depends on them."""
    recording = STATE.recording
    reads: Any = None if recording is None else recording.reads
    if reads is not None and reads.obstacle is None and ("n" in spec or not all(map(_prints_alike, things))):
        guard_print_settings(reads)


def _prints_alike(thing: Any) -> bool:
    t = type(thing)
    if t is tuple:
        return all(map(_prints_alike, thing))
    return t in _PRINT_ALIKE or (t is int and abs(thing) < _LIMITED_DIGITS_FROM)


def _watched_string_maker(native: Callable[..., str]) -> Callable[..., str]:
    """Return the replacement of a builtin that returns a string; it guards the print settings."""

    @functools.wraps(native)
    def call(*args: Any, **kwargs: Any) -> str:
        _watch_printing((*args[:1], *kwargs.values()), "".join(args[1:]) if native is format else "")
        text: str = resolve(native, STATE.site)(*args, **kwargs)
        return text

    return call


STRING_MAKERS: dict[Any, Callable[..., str]] = {f: _watched_string_maker(f) for f in (str, repr, ascii, format)}
STRING_FUNCTIONS = {"array2string", "array_repr", "array_str", "__str__", "__repr__", "__format__"}
"""Names of functions and methods of libraries that return strings of arrays and objects."""


def _watched_format(value: Any, spec: str, site: Site | None) -> Any:
    _watch_printing((value,), spec)
    return HOOKS["format"](value, spec, site)


def _watched_convert(value: Any, *conversion_and_site: Any) -> Any:
    _watch_printing((value,))
    return HOOKS["convert"](value, *conversion_and_site)


def _watched_mod(right: Any, left: Any, *site: Any) -> Any:
    """Hook the operator `%`, which formats if its left operand is a string."""
    if type(left) is str:
        _watch_printing((right,))
    return HOOKS["mod"](right, left, *site)


PRINTING_HOOKS: dict[str, Callable[..., Any]] = {
    "format": _watched_format,
    "convert": _watched_convert,
    "mod": _watched_mod,
}
