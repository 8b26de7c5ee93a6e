"""Sets of functions compared by identity: a tape may call any object, hashable or not."""

from __future__ import annotations

from typing import Any


class Functions(tuple[Any, ...]):
    """A tuple of functions; `fn in` it compares identities only."""

    ids: frozenset[int]

    def __new__(cls, *fns: Any) -> Functions:
        made = tuple.__new__(cls, fns)
        made.ids = frozenset(map(id, fns))
        return made

    def __contains__(self, fn: object) -> bool:
        return id(fn) in self.ids
