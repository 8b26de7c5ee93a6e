"""A journal of table changes, which the thread that made them can undo."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Undo = Callable[[], None]


class Journal(threading.local):
    """The changes of this thread, one list per open block that may undo them, the innermost last."""

    def __init__(self) -> None:
        self.blocks: list[list[Undo]] = []

    def put(self, table: dict[Any, Any], key: Any, new: Any) -> None:
        """Set an item of a table to `new`, or delete it if `new` is None, and note how to undo that."""
        old = table.get(key)
        _put(table, key, new)
        if self.blocks:
            self.blocks[-1].append(lambda: _put_back(table, key, new, old))

    @contextmanager
    def block(self, undone: Callable[[BaseException | None], bool]) -> Iterator[list[Undo]]:
        """Yield the list of changes made in this block; at its end, undo them if `undone(error)`."""
        changes: list[Undo] = []
        self.blocks.append(changes)
        error: BaseException | None = None
        try:
            yield changes
        except BaseException as raised:
            error = raised
            raise
        finally:
            self.blocks = [block for block in self.blocks if block is not changes]
            if undone(error):
                for undo in reversed(changes):
                    undo()

    def apart(self, run: Callable[[], object]) -> None:
        """Run a function so that no enclosing block undoes its changes.

        Not a context manager: a trace may enter contextlib's class, and then look up rules for what its methods call.
        """
        blocks, self.blocks = self.blocks, []
        try:
            run()
        finally:
            self.blocks = blocks


def _put(table: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _put_back(table: dict[Any, Any], key: Any, new: Any, old: Any) -> None:
    """Undo a change, unless another thread has changed the same item since."""
    if table.get(key) is new:
        _put(table, key, old)
