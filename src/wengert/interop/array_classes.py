"""Operators of arrays of subclasses of `np.ndarray`: the class's methods for the ufunc are called and traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.hooks.foreign import ForeignHandler
from wengert.hooks.standins.probes import by_ufunc
from wengert.recording.recording import Recording


class _ArrayClassHandler(ForeignHandler):
    def operate(self, recording: Recording, fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        return by_ufunc(fn, *operands)

    def update(self, recording: Recording, fn: Callable[..., Any], inplace: Any, left: Any, right: Any) -> Any:
        return by_ufunc(inplace, left, right)


HANDLER = _ArrayClassHandler()
