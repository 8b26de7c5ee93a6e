"""Checks of `debug_nans`: find the first call, or step back, that makes a nan or an inf out of finite values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.errors import NonFiniteError, WengertError
from wengert.recording.recording import PUSHED, STATE, Recording, leave_array_fast_path, users_site
from wengert.rulebook.registry import rules
from wengert.values.callables import path_in
from wengert.values.named_tuples import NamedTuple
from wengert.values.names import display, infix
from wengert.values.numeric_trees import numbers
from wengert.values.sites import Site
from wengert.values.specs import Spec, is_inexact

_SHOWN = 6  # elements of an array that are shown
_UNSET = (np.empty, np.empty_like)  # what they give is left over from before


class Bad(NamedTuple):
    """A non-finite number: its value, its first position in an array, and the array's shape."""

    number: Any
    place: tuple[int, ...]
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.number}" + (f" at {list(self.place)} of shape {list(self.shape)}" if self.shape else "")


def first_bad(value: Any) -> Bad | None:
    """Return the first non-finite number in a value."""
    for leaf in numbers(value):
        finite = np.isfinite(leaf)
        if not np.all(finite):
            place = tuple(map(int, np.argwhere(~np.asarray(finite))[0])) if np.ndim(leaf) else ()
            return Bad(np.asarray(leaf)[place].item(), place, np.shape(leaf))
    return None


def check_every_call(recording: Recording) -> None:
    """Check every recorded call from now on; the short paths are off."""
    recording.nan_checker, recording.checks_fp_errors, STATE.fast = NanChecker(), True, None
    leave_array_fast_path()


class NanChecker:
    """Checks the calls of one recording; `given` says where a non-finite number first entered."""

    def __init__(self) -> None:
        self.given = ""

    def look(self, recording: Recording, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], value: Any) -> None:
        """Refuse a non-finite result of a call with finite arguments."""
        bad = None if fn in _UNSET else first_bad(value)
        if bad is not None and not self._was_given(recording, fn, (*args, *kwargs.values())):
            raise _refusal(recording, fn, args, kwargs, bad)

    def around(
        self,
        recording: Recording,
        fn: Any,
        run: Callable[[], Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        target: np.ndarray,
    ) -> Callable[[], Any]:
        """Wrap `run`, which writes a call's result into `target`, so that the result is checked."""
        was_given = self._was_given(recording, fn, (*args, *kwargs.values()))
        kept = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]

        def call() -> Any:
            value, bad = run(), first_bad(target)
            if bad is not None and not was_given:
                raise _refusal(recording, fn, kept, kwargs, bad)
            return value

        return call

    def _was_given(self, recording: Recording, fn: Any, given: Iterable[Any]) -> bool:
        """Whether an argument holds a non-finite number; note where the first one came from."""
        for k, a in enumerate(given, 1):
            bad = first_bad(a)
            if bad is not None:
                name = _origin(recording, a) or f"argument {k}"
                place = _line_of_entry(recording, len(recording.entries), users_site())
                self.given = self.given or f"{place}{name}, passed to {_rule_or_function_name(fn)}, is {bad}"
                return True
        return False


def _refusal(recording: Recording, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], bad: Bad) -> WengertError:
    place = _line_of_entry(recording, len(recording.entries), users_site())
    error = NonFiniteError(f"{place}{called(fn, args, kwargs, bad)} returned {bad} for finite arguments.")
    return recording.refuse(error)


def _origin(recording: Recording, a: Any) -> str:
    """Return the path of an input of the function; an empty string for any other value."""
    for here_ in recording.levels:
        for path, leaf in here_.swaps.paths if here_.swaps is not None and recording.roots is not None else ():
            if any(leaf is part for part in numbers(a)):
                return path_in(recording.roots[0], path)
    return ""


def _line_of_entry(recording: Recording, slot: int, site: Site | None) -> str:
    """Return the user's line of the entry at a slot, as the beginning of a message.

    For a step of an inner reverse pass it is the line of the call whose pullback runs.
    """
    steps = ""
    while words := next((note for note in reversed(recording.notes) if note[0] <= slot), (0, "", 0)):
        slot = words[2]
        entry = recording.entries[slot] if words[1] else None
        if entry is None:
            break
        step = words[1] if words[1] == PUSHED else "pullback of"
        site, steps = entry[5], f"in the {step} {_rule_or_function_name(entry[0].fn)}: {steps}"
    return f"{site}: {steps}" if site else steps


def check_push(recording: Recording, slot: int, tangents: Any, tangent: Any) -> None:
    """Refuse a non-finite tangent that a forward step made from finite ones."""
    _check(recording, slot, "pushforward", tangents, [tangent])


def check_step(recording: Recording, slot: int, y_bar: Any, x_bars: Iterable[Any]) -> None:
    """Refuse non-finite cotangents `x_bars` that a reverse step made from finite ones."""
    _check(recording, slot, "pullback", y_bar, x_bars)


def _check(recording: Recording, slot: int, step: str, given: Any, made: Iterable[Any]) -> None:
    primitive, y, _, args, kwargs, site = recording.entries[slot]  # type: ignore[misc]
    bad = next(filter(None, map(first_bad, made)), None)
    if bad is None or any(map(first_bad, (given, y, args, list((kwargs or {}).values())))):
        return
    call = called(primitive.fn, args, kwargs or {}, bad)
    given = next((tangent for tangent in given if tangent is not None), None) if step == "pushforward" else given
    shown = _abbreviated(given, bad if isinstance(given, np.ndarray) and given.shape == bad.shape else None)
    letter = "ẋ" if step == "pushforward" else "ȳ"
    place = _line_of_entry(recording, slot, site)
    raise NonFiniteError(f"{place}the {step} of {call} returned {bad} for finite arguments and {letter} = {shown}.")


# How a call is told


def called(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], bad: Bad) -> str:
    """Format a call; an elementwise one with the elements that made the non-finite one."""
    words = [_abbreviated(a, bad if _is_elementwise(fn, args, bad) else None) for a in args]
    sign = infix(fn)
    if sign and len(words) == 2:
        return f"{words[0]} {sign[0]} {words[1]}"
    words += [f"{name}={_abbreviated(a, None)}" for name, a in kwargs.items()]
    return f"{_rule_or_function_name(fn)}({', '.join(words)})"


def _rule_or_function_name(fn: Any) -> str:
    """Return the name of a function; for a rule's body, the name of its primitive."""
    return next((rules[f].name for f in rules if rules[f].body is fn), None) or display(fn)


def _is_elementwise(fn: Any, args: Sequence[Any], bad: Bad) -> bool:
    rule = rules.get(fn)
    if rule is None or rule.kind != "partials":
        return False
    return np.broadcast_shapes(*map(np.shape, args)) == bad.shape


def _abbreviated(a: Any, bad: Bad | None) -> str:
    """Format an argument: small ones in full, large arrays by type and range."""
    if isinstance(a, np.ndarray) and bad is not None:
        a = np.broadcast_to(a, bad.shape)[bad.place]
    if isinstance(a, (tuple, list)):
        return f"[{', '.join(_abbreviated(part, None) for part in a)}]"
    if isinstance(a, Spec) or (isinstance(a, np.ndarray) and a.size > _SHOWN):
        kind = f"{a.dtype}{list(a.shape)}"
        return kind if isinstance(a, Spec) or not is_inexact(a) else f"{kind} from {np.min(a):.6g} to {np.max(a):.6g}"
    return str(a.tolist() if isinstance(a, (np.ndarray, np.generic)) else a)
