"""Where the code of a trace writes items of lists and dictionaries, and whether loops write them out of turn."""

from __future__ import annotations

from typing import Any

from wengert.compiling.watched.trusted import calling_frame


class ItemStores:
    """The last writes of items, by the slots of the entries before which they were."""

    def __init__(self, recording: Any) -> None:
        self.recording = recording
        self.last = 0
        self.last_jump = 0  # the last one at an index that does not follow those before by one step
        self.places: dict[Any, tuple[int, int | None]] = {}  # for each place in the code the last index, and the step

    def note(self, container: Any, key: int) -> None:
        """Note that the code writes an item of a list or dictionary."""
        self.last, frame = len(self.recording.entries), calling_frame()
        place = id(container), frame.f_code, frame.f_lasti
        before, step = self.places.get(place, (key, None))
        if step not in (None, key - before):
            self.last_jump = self.last
        self.places[place] = key, key - before if place in self.places else None
