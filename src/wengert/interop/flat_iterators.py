"""The handler of flat iterators, `a.flat`: reads and writes of them are reads and writes of the array."""

from __future__ import annotations

from typing import Any

from wengert.hooks.flat_iterators import assign_flat, read_flat, remaining_items
from wengert.hooks.foreign import NOT_FOREIGN, ForeignHandler
from wengert.recording.recording import Recording


class _FlatIteratorHandler(ForeignHandler):
    def item(self, recording: Recording, container: Any, key: Any) -> Any:
        return read_flat(container.base, key) if recording.memory.is_traced(container.base) else NOT_FOREIGN

    def store(self, recording: Recording, container: Any, key: Any, value: Any) -> bool:
        assign_flat(container.base, key, value)
        return True

    def iterate(self, recording: Recording, obj: Any) -> Any:
        return remaining_items(obj)


HANDLER = _FlatIteratorHandler()
