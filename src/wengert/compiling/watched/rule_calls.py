"""Calls of rules in the reverse pass of a watched trace.

A rule of this package computes from its arguments alone. On plain values there is no counter, user's function or object
from outside to watch, so it runs with the hooks of any other trace, which are much faster.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.hooks.calls import resolve_plain
from wengert.recording.recording import Recording
from wengert.recording.trace_state import OtherTwins
from wengert.values.specs import FLOATS

_PLAIN_ARGUMENTS = {
    *FLOATS, complex, np.complex128, int, np.int64, bool, np.bool_, str, types.NoneType, types.EllipsisType, np.dtype,
}  # fmt: skip


class RuleCalls:
    """The calls of rules by the reverse passes of a watched recording."""

    def __init__(self, recording: Recording, reads: Any) -> None:
        self.recording, self.reads, self.twins = recording, reads, OtherTwins()
        self.entered: dict[Any, Any] = {}  # rules, as they run unwatched

    def __call__(self, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a rule of this package."""
        recording, reads = self.recording, self.reads
        if reads.lengths is not None or not _are_plain_arguments((*args, *kwargs.values())):
            return recording.enter(rule)(*args, **kwargs)
        enter, hooks = recording.enter, reads.hooks
        recording.enter, reads.hooks = resolve_plain, None
        try:
            with self.twins:
                entered = self.entered.get(rule) or self.entered.setdefault(rule, resolve_plain(rule))
                return entered(*args, **kwargs)
        finally:
            recording.enter, reads.hooks = enter, hooks


def _are_plain_arguments(things: Iterable[Any]) -> bool:
    """Whether things are arrays of numbers, numbers, strings, or tuples, lists and slices of such things."""
    for thing in things:
        t = type(thing)
        if t is np.ndarray:
            is_plain = not thing.dtype.hasobject
        elif t is slice:
            is_plain = _are_plain_arguments((thing.start, thing.stop, thing.step))
        else:
            is_plain = t in _PLAIN_ARGUMENTS or (t in (tuple, list) and _are_plain_arguments(thing))
        if not is_plain:
            return False
    return True
