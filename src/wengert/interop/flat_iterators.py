"""Flat iterators, `a.flat`, of arrays: what they read and write is read and written in the array."""

from __future__ import annotations

from typing import Any

from wengert.hooks.flat_iterators import assign_flat, flat_items, read_flat
from wengert.hooks.foreign import NOT_FOREIGN, Handler
from wengert.recording.recording import Recording


class _FlatIterators(Handler):
    def item(self, recording: Recording, container: Any, key: Any) -> Any:
        return read_flat(container.base, key) if recording.memory.is_traced(container.base) else NOT_FOREIGN

    def store(self, recording: Recording, container: Any, key: Any, value: Any) -> bool:
        assign_flat(container.base, key, value)
        return True

    def iterate(self, recording: Recording, obj: Any) -> Any:
        return flat_items(obj)


HANDLER = _FlatIterators()
