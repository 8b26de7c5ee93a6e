"""Builtins that call a method of their argument (`abs`, `float`, `str`, `len`) or of either (`pow`, `divmod`)."""

from __future__ import annotations

import math
import operator
import re
from typing import Any

from wengert.hooks import data_reads
from wengert.hooks.classes import bind_method, python_method
from wengert.hooks.code_swap import prepare
from wengert.hooks.generated import convert, format_field
from wengert.hooks.lookups import kept_recording
from wengert.hooks.operators import BINARY, Binary
from wengert.hooks.policy import stand_in_for
from wengert.hooks.protocols import binary, truth
from wengert.hooks.search import note_made_text, number_in, opaque
from wengert.hooks.standins.functions import recorder
from wengert.hooks.standins.probes import by_ufunc
from wengert.recording.decisions import decided
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE
from wengert.recording.slots import slot_of
from wengert.recording.subclasses import is_of_subclass


@stand_in_for(str, ruled=True)
def _str(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs:
        return convert(args[0], 1, STATE.site)
    made, recording = str(*args, **kwargs), STATE.recording
    return made if recording is None else note_made_text(recording, made, args, str, kwargs)


@stand_in_for(len, ruled=True)
def _len(a: Any, /) -> Any:
    recording = kept_recording() if type(a) is str or type(a) is bytes else None
    if recording is not None:
        decided(recording, len, (a,), len(a))
    if data_reads.is_data_table(STATE.recording, a):
        return data_reads.run_untraced(len, a)
    prepare(type(a))
    return len(a)


class _Returning:
    """An object whose conversions return a value of another type; the builtin decides how to treat it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __float__(self) -> Any:
        return self.value

    __int__ = __complex__ = __float__


@stand_in_for(abs, round, float, int, complex, math.floor, math.ceil, math.trunc, ruled=True, made=True)
def _by_one_method(fn: Any) -> Any:
    """The stand-in of a builtin that calls one method of its argument, such as `abs`, `round` or `float`."""
    name, convert = f"__{fn.__name__}__", fn if isinstance(fn, type) else None

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or not (args or kwargs):
            return fn(*args, **kwargs)
        found = python_method(type(args[0]), name) if args else None
        if found is not None and convert is None:
            return fn(*args, **kwargs)
        if fn is abs and is_of_subclass(*args):
            return by_ufunc(fn, *args)
        if found is not None and len(args) == 1 and not kwargs:
            value = bind_method(found, args[0])()
            if type(value) is convert:
                return value
            made, primitive = fn(_Returning(value)), primitive_of(fn)
            return made if primitive is None or slot_of(recording, value) is None else recorder(primitive)(value)
        primitive = primitive_of(fn)
        if primitive is None:
            return opaque(recording, fn, args, kwargs)
        if any(id(a) in recording.texts for a in (*args, *kwargs.values())):
            made = _parsed(fn, args[0], *number_in(recording, args[0])) if len(args) == 1 and not kwargs else None
            return opaque(recording, fn, args, kwargs) if made is None else made
        return recorder(primitive)(*args, **kwargs)

    return call


DIGITS = 17
"""So many significant digits hold a float whole."""
_DECIMAL = r"[+-]?0*([0-9]*)(?:[.]([0-9]*))?"


def _parsed(fn: Any, text: Any, number: float | None, is_fixed: bool) -> Any:
    """Return the number that was formatted to this string, rounded as in the string.

    None if it is not known, or if the format may have kept all digits (`str`, `"%.17g"`).
    """
    decimal = re.fullmatch(_DECIMAL, text.strip()) if isinstance(text, str) else None
    if number is None or decimal is None or fn not in (int, float):
        return None
    wanted, places = fn(text), decimal[2] or ""
    if fn is int:
        ways: tuple[Any, ...] = (round, int)
        return next((_by_one_method(way)(number) for way in ways if way(number) == wanted), None)
    value = _by_one_method(float)(number)
    if len((decimal[1] + places).lstrip("0")) >= DIGITS:
        return value if value == wanted else None
    may_be_whole = text.strip() == repr(float(number)) or not places.endswith("0")
    if value == wanted and may_be_whole and not is_fixed:
        return None
    return (
        _by_one_method(float)(_by_one_method(round)(value, len(places)))
        if round(value, len(places)) == wanted
        else None
    )


_TWO_SIDED = {
    pow: BINARY["pow"]._replace(fn=pow, symbol="** or pow()"),
    divmod: Binary("divmod", "divmod()", divmod, "__divmod__", "__rdivmod__"),
}


@stand_in_for(pow, divmod, ruled=True, made=True)
def _by_two_operands(fn: Any) -> Any:
    """The stand-in of `divmod` or `pow`, of whose operands either may have methods of its own."""
    op, alone = _TWO_SIDED[fn], _by_one_method(fn)

    def call(*args: Any, **kwargs: Any) -> Any:
        return binary(op, *args) if len(args) == 2 and not kwargs else alone(*args, **kwargs)

    return call


@stand_in_for(repr)
def _repr(a: Any, /) -> Any:
    return convert(a, 2, STATE.site)


@stand_in_for(ascii)
def _ascii(a: Any, /) -> Any:
    return convert(a, 3, STATE.site)


@stand_in_for(format)
def _format(a: Any, spec: Any = "", /) -> Any:
    return format_field(a, spec, STATE.site) if isinstance(spec, str) else format(a, spec)


@stand_in_for(bool, ruled=True)
def _bool(a: Any = False, /) -> Any:
    return truth(a, STATE.site)


@stand_in_for(hex, oct, bin, chr, operator.index, ruled=True, made=True)
def _of_an_integer(f: Any) -> Any:
    """Make the stand-in of a C function that asks its argument for an integer, by a method which is entered."""

    def call(a: Any, /) -> Any:
        method, recording = python_method(type(a), "__index__"), STATE.recording
        integer = a if method is None else bind_method(method, a)()
        primitive = primitive_of(f)
        given = integer if isinstance(integer, int) else a
        if recording is None:
            return f(given)
        return opaque(recording, f, (given,), {}) if primitive is None else recorder(primitive)(given)

    return call
