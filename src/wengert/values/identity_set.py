"""Sets of functions that are told apart by identity: what a tape calls may be any object, hashable or not."""

from __future__ import annotations

from typing import Any


class Functions(tuple[Any, ...]):
    """Some functions; `fn in` them compares nothing but identities."""

    ids: frozenset[int]

    def __new__(cls, *fns: Any) -> Functions:
        made = tuple.__new__(cls, fns)
        made.ids = frozenset(map(id, fns))
        return made

    def __contains__(self, fn: object) -> bool:
        return id(fn) in self.ids
