"""A stack of changes to undo: of leaves in the user's containers, and of contents of memory."""

from __future__ import annotations

from collections.abc import Callable


class Owed(list[Callable[[], object]]):
    """A list of functions that each undo one change to the user's objects, in the order of the changes.

    A function is appended before its change and removed after its call, so it may be called twice. If an interrupt
    occurs at any point, the next `pay` completes the work.
    """

    __slots__ = ()

    def pay(self, mark: int = 0) -> None:
        """Undo the changes appended since the list had `mark` items, the last first."""
        while len(self) > mark:
            self[-1]()
            self.pop()
