"""What stands otherwise for a while in what is the user's: containers with fresh leaves, memory as it was."""

from __future__ import annotations

from collections.abc import Callable


class Owed(list[Callable[[], object]]):
    """What puts everything back, in the order in which it was changed.

    Noted before a thing is changed, forgotten when it has been put back, which may be repeated: wherever an interrupt
    hits, the next one who pays completes it.
    """

    __slots__ = ()

    def pay(self, mark: int = 0) -> None:
        """Put back what was changed since there were `mark` of them, the last first."""
        while len(self) > mark:
            self[-1]()
            self.pop()
