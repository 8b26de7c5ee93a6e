"""A stack of what must be undone: for a while, leaves in the user's containers and contents of memory are changed."""

from __future__ import annotations

from collections.abc import Callable


class Owed(list[Callable[[], object]]):
    """A list of functions, each of which undoes one change to something of the user's, in the order of the changes.

    A function is noted before its change is made, and forgotten after it has been called, so it may be called twice:
    wherever an interrupt hits, the next `pay` completes the work.
    """

    __slots__ = ()

    def pay(self, mark: int = 0) -> None:
        """Undo the changes noted since the list had `mark` items, the last first."""
        while len(self) > mark:
            self[-1]()
            self.pop()
