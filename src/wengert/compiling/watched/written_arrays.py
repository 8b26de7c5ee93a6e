"""Arrays from outside into which a function writes: the tape computes their content, the generated code copies it back.

The tape writes into copies. It sees one array in each input, so that no other array from outside may share memory with
one that is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert.values.views import owner_of


class WrittenArrays:
    """The memory from outside that a trace reads, and what stood in it before the trace wrote there."""

    def __init__(self) -> None:
        self.outer: dict[int, np.ndarray] = {}  # the arrays that own the memory of inputs, by id
        self.before: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # those that were written, with their contents
        self.names: dict[int, tuple[np.ndarray, str]] = {}  # the inputs that were written, with their variables

    def before_write(self, owner: np.ndarray) -> None:
        """Keep the content of an owner that the code is about to write for the first time, if it is from outside."""
        if id(owner) in self.outer and id(owner) not in self.before:
            self.before[id(owner)] = owner, owner.copy(order="K")

    def name_of(self, array: Any) -> str | None:
        """Return the variable of an input that was written; None for other arrays, "" for other views of its memory."""
        if id(array) in self.names:
            return self.names[id(array)][1]
        return "" if self.names and id(owner_of(array)) in self.before else None

    def undo(self) -> None:
        """Have the contents as they were before the trace."""
        for owner, content in self.before.values():
            owner[...] = content

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Have the contents as they were before the trace for as long as the context is open."""
        after = [(owner, owner.copy(order="K")) for owner, _ in self.before.values()]
        self.undo()
        try:
            yield
        finally:
            for owner, content in after:
                owner[...] = content


def apart_from(written: Sequence[np.ndarray], content: Any) -> Any:
    """Return what is to be written into an array, as a copy if it is another of these arrays, or a view of one."""
    is_view = type(content) is np.ndarray and content.base is not None
    shares = any([content is array or (is_view and np.may_share_memory(content, array)) for array in written])
    return content.copy() if shares else content


def are_apart(written: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    """Whether the arrays `written` are writable and share no memory with each other or with others."""
    arrays = [*written, *others]
    if not all([array.flags.writeable for array in written]):
        return False
    if all([array.base is None for array in arrays]):
        return len({*map(id, arrays)}) == len(arrays)
    return not any([np.may_share_memory(a, b) for k, a in enumerate(written) for b in arrays[k + 1 :]])
