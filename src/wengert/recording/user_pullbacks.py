"""Entries for calls of users' rules, which hold a pullback in place of a primitive."""

from __future__ import annotations

from typing import Any

from wengert.recording.primitives import Primitive
from wengert.recording.pullback_reads import Hindsight


class Pull:
    """A call of a user's rule: its pullback, the level that this belongs to, and the forms of its containers."""

    is_simple = False
    __slots__ = ("fn", "forms", "kind", "level", "name", "pullback", "rule", "seen", "step")

    def __init__(
        self, primitive: Primitive, rule: Any, pullback: Any, level: int, forms: dict[int, Any], seen: Hindsight
    ) -> None:
        self.fn, self.name, self.rule, self.kind = primitive.fn, primitive.name, rule, "call"
        self.pullback, self.level, self.forms, self.seen, self.step = pullback, level, forms, seen, None
