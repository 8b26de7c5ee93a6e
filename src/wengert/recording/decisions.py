"""Where a traced value turns into a decision of Python's, and each decision is written down as a guard.

A tape repeats what a run did, so what the run decided by a traced value must come out the same when the tape is played:
a test, an integer used as an index, a key looked up, a text compared, a call that raised. Every door through which
a value gets there calls one of the functions below. What is promised:

- A guard repeats the decision, not the value: `x in {0, 1}` is asked again, and x may be another number that is not in
  it. Where only the value itself tells what C code decided, the guard is on that (`exact`).
- Played on the recorded inputs, every guard holds.
- Only a recording that is kept as a tape gets guards: who calls asks `OpenCounts.tapes` or `recording.keep` first, so a
  gradient at once pays nothing.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable
from numbers import Number
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError, WengertError
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE, Recording, Traced, users_line, users_site
from wengert.recording.session import run_outside_turn
from wengert.recording.slots import slot_of
from wengert.values.functional import getfield, raises
from wengert.values.named_tuples import NamedTuple
from wengert.values.names import home_of, is_of_library
from wengert.values.sites import Site
from wengert.values.specs import is_inexact


class Origin(NamedTuple):
    """The call that made a text, and the slots of its arguments then, except of those that are texts themselves."""

    text: Any
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    words: dict[str, Any]
    slots: tuple[Any, ...]


def guard(recording: Recording, fn: Callable[..., Any], value: Any, slot: int, site: Site | None = None) -> None:
    """Record a guard, by default at the running line: `fn(value)` must return the same when the tape is played."""
    recording.append((Primitive(fn, None, "guard"), fn(value), (slot,), (value,), None, site or users_site()))


def decided(
    recording: Recording, fn: Callable[..., Any], args: tuple[Any, ...], outcome: Any, words: Any = None
) -> None:
    """Guard that `fn(*args)` gives `outcome`, if an argument is traced."""
    ins = variables(recording, args)
    named = {name: _as_traced(recording, value) for name, value in (words or {}).items()}
    if ins is not None or any([issubclass(type(value), Traced) for value in named.values()]):
        ins = (None,) * len(args) if ins is None else ins
        kept = recording.memory.capture(args)
        recording.append((Primitive(fn, None, "guard"), outcome, ins, kept, named or None, users_site()))


def variables(recording: Recording, args: Iterable[Any], with_texts: bool = True) -> tuple[Any, ...] | None:
    """Return the slots of arguments, strings and items of lists and tuples; None if nothing is traced."""
    found = tuple([_slot_or_text(recording, a, with_texts) for a in args])
    return None if all([slot is None for slot in found]) else found


def _slot_or_text(recording: Recording, a: Any, with_texts: bool = True) -> Any:
    if issubclass(type(a), (str, bytes)):
        return _text(recording, a) if with_texts else None
    return variables(recording, a, with_texts) if issubclass(type(a), (tuple, list)) else slot_of(recording, a)


def _as_traced(recording: Recording, value: Any) -> Any:
    slot = _slot_or_text(recording, value)
    return Traced(slot, value) if type(slot) is int else value


def made_text(
    recording: Recording, text: Any, fn: Callable[..., Any], args: tuple[Any, ...], words: dict[str, Any] | None = None
) -> None:
    """Note the call that made a string, in case the code later branches on the string.

    CPython shares strings of one character, which cannot be recognised later: these are guarded now.
    """
    if type(text) in (str, bytes) and len(text) <= 1:
        decided(recording, fn, args, text, words)
    elif any([a is text for a in args]):
        _unchanged(recording, text, fn, args, words or {})
    elif id(text) not in recording.origins:
        named = {name: _as_traced(recording, value) for name, value in (words or {}).items()}
        slots = variables(recording, args, False) or (None,) * len(args)
        recording.origins[id(text)] = Origin(text, fn, args, named, slots)


def _unchanged(recording: Recording, text: Any, fn: Callable[..., Any], args: tuple[Any, ...], words: Any) -> None:
    """Guard that a call returns its own argument: `text.strip()` where there is nothing to strip."""
    ins = variables(recording, args)
    if ins is None or fn is str or fn is str.join:
        return
    named = {name: _as_traced(recording, value) for name, value in words.items()}
    made = recording.append((Primitive(fn, None, "text"), text, ins, args, named or None, STATE.site))
    recording.inert.add(made)
    before = _text(recording, text)
    recording.append((Primitive(operator.eq, None, "guard"), True, (made, before), (text, text), None, users_site()))


def _text(recording: Recording, text: Any) -> int | None:
    """Return the slot of a string; the call that made it is recorded on first request."""
    origin = recording.origins.get(id(text))
    if origin is None or type(origin) is int:
        return origin
    ins = tuple([_with_texts(recording, a, slot) for a, slot in zip(origin.args, origin.slots, strict=True)])
    if all([slot is None for slot in ins]) and not any([type(a) is Traced for a in origin.words.values()]):
        return None
    made = Primitive(origin.fn, None, "text")
    slot = recording.append((made, text, ins, origin.args, origin.words or None, STATE.site))
    recording.inert.add(slot)
    recording.origins[id(text)] = slot
    return slot


def _with_texts(recording: Recording, a: Any, slot: Any) -> Any:
    if issubclass(type(a), (tuple, list)):
        slots = slot or (None,) * len(a)
        parts = tuple([_with_texts(recording, part, s) for part, s in zip(a, slots, strict=True)])
        return None if all([part is None for part in parts]) else parts
    return _text(recording, a) if type(a) is str or type(a) is bytes else slot


def exact(recording: Recording, values: Iterable[Any]) -> None:
    """Guard the traced values among these by equality, where no weaker condition describes the decision."""
    for value in values:
        slot = _slot_or_text(recording, value)
        if slot is None:
            continue
        if issubclass(type(value), (tuple, list)):
            exact(recording, value)
        elif issubclass(type(value), np.ndarray) and is_inexact(value):
            decided(recording, np.array_equal, (value, value.copy(), True), True)
        elif issubclass(type(value), (np.ndarray, np.integer)):
            guard(recording, np.asarray if issubclass(type(value), np.ndarray) else operator.index, value, slot)
        else:
            same = value == value  # a nan is not
            equal = Primitive(operator.eq, None, "guard")
            recording.append((equal, same, (slot, None if same else slot), (value, value), None, users_site()))


def kinds_stay(recording: Recording) -> None:
    """Guard the kind and shape of each result whose kind or shape depends on values: later code may use them."""
    seen: set[Any] = set()
    several: dict[int, bool] = {}
    for slot, entry in enumerate(recording.entries[:]):
        if entry is None or entry[0].kind != "call":
            continue
        call: Any = recording.entries[entry[2][0]] if entry[0].fn is getfield else entry
        fn = call[0].fn
        if id(fn) not in several:
            several[id(fn)] = _is_of_several_kinds(fn)
        if fn is operator.pow or fn is pow:
            _power_is_real(recording, slot, entry, seen)
        elif several[id(fn)] and isinstance(entry[1], (np.ndarray, Number)):
            for asked in _kind_of(entry[1]):
                guard(recording, asked, entry[1], slot, entry[5])


def _kind_of(value: Any) -> tuple[Any, ...]:
    """Return the functions that give the kind of an array or number; a number has the shape of a 0-d array, too."""
    if not isinstance(value, np.ndarray):
        return (type,)
    return (np.shape, np.result_type) if value.ndim else (type, np.shape, np.result_type)


def _is_of_several_kinds(fn: Any) -> bool:
    """Whether the kind or shape of a call's result may depend on the arguments' values."""
    of_numpy = any([fn is f for f in (np.linalg.eig, np.linalg.eigvals, np.linalg.lstsq)])
    return of_numpy or not is_of_library(fn) or home_of(fn).startswith("scipy.")


def _power_is_real(recording: Recording, slot: int, entry: Any, seen: set[Any]) -> None:
    """Guard that a power of floats is a float again: of a base below zero it is complex."""
    (base, exponent), ins = entry[3], entry[2]
    if not type(base) is type(exponent) is float:
        return
    which = (ins[0], exponent if ins[1] is None else ins)
    is_whole = ins[1] is None and exponent == exponent // 1
    if not (is_whole or which in seen):
        seen.add(which)
        guard(recording, type, entry[1], slot, entry[5])


def attempt(recording: Recording, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `fn(*args, **kwargs)`; guard it if it raises, since the user's code may catch the exception."""
    try:
        value = fn(*args, **kwargs) if STATE.silenced is None else run_outside_turn(recording, fn, *args, **kwargs)
    except Exception as error:
        raised(recording, error, fn, args, kwargs)
        raise
    if recording.checks_fp_errors:
        unharmed(recording, fn, args, kwargs)
        if recording.nan_checker is not None:
            recording.nan_checker.look(recording, fn, args, kwargs, value)
    return value


def raised(
    recording: Recording, error: Exception, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Guard that a call raises `error`, as it has just done."""
    if not recording.keep or issubclass(type(error), WengertError):
        return
    loud = what_raises()
    outcome = raises(fn, *loud, *args, **kwargs) if issubclass(type(error), Warning) else type(error)
    if outcome is None:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: a warning that depends on an input raises {type(error).__name__}, which a tape "
                "cannot repeat. Test for its cause with `if`, and raise an exception."
            )
        ) from None
    decided(recording, raises, (fn, *loud, *args), outcome, kwargs)


def unharmed(recording: Recording, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Guard on a tape that a call raises no floating-point error and no warning, where the settings would let it."""
    if not recording.keep:
        return
    if {"call", "log"} & {*np.geterr().values()}:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: NumPy reports floating-point errors to a function, which a tape cannot repeat. "
                "Let them raise: np.errstate(all='raise')."
            )
        )
    loud = what_raises()
    if any(loud):
        decided(recording, raises, (fn, *loud, *args), None, kwargs)


def what_raises() -> tuple[dict[str, Any], type[Warning] | None]:
    """Which floating-point errors are raised, by themselves or as warnings, and the class of warnings that are."""
    warned = _raised_warnings()
    return {name: how for name, how in np.geterr().items() if how == "raise" or (how == "warn" and warned)}, warned


def _raised_warnings() -> Any:
    for action, message, category, module, _ in warnings.filters:
        if issubclass(RuntimeWarning, category) and message is None and module is None:
            return category if action == "error" else None
    return None
