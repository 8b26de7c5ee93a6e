"""Strings and streams made from traced values: parts read from them are noted, and parsing in C is refused."""

from __future__ import annotations

import io
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.foreign import NOT_FOREIGN, ForeignHandler
from wengert.hooks.lookups import guard_reachable
from wengert.hooks.search import note_made_text, opaque
from wengert.hooks.standins.functions import native_of
from wengert.hooks.standins.texts import characters, holds_texts, lines
from wengert.recording.decisions import made_text
from wengert.recording.primitives import Primitive
from wengert.recording.recording import Recording
from wengert.recording.shadow import SHADOW


class _TextHandler(ForeignHandler):
    def call(self, recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs.get("out") is not None or any([id(a) in SHADOW for a in args]):
            return NOT_FOREIGN
        if not holds_texts(recording, (*args, *kwargs.values())):
            return NOT_FOREIGN
        return opaque(recording, primitive.fn, args, kwargs, run=native_of(primitive))

    def operate(self, recording: Recording, fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        left, right = operands if len(operands) == 2 else (None, None)
        first = type(left) in _STRINGS
        if fn is operator.mul and recording.keep and (first or type(right) in _STRINGS):
            times = right if first else left
            if issubclass(type(times), (int, np.integer)):
                guard_reachable(times)
            repeated = fn(left, right)
            made_text(recording, repeated, fn, operands)
            return repeated
        if first and fn in (operator.add, operator.mod):
            return note_made_text(recording, fn(left, right), operands, fn)
        return NOT_FOREIGN

    def item(self, recording: Recording, container: Any, key: Any) -> Any:
        if type(container) is not str:
            return NOT_FOREIGN
        return note_made_text(recording, container[key], (container, key), operator.getitem)

    def iterate(self, recording: Recording, obj: Any) -> Any:
        return lines(obj) if isinstance(obj, io.IOBase) else characters(obj)


_STRINGS = (str, bytes)
HANDLER = _TextHandler()
