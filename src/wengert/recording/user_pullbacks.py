"""The first item of an entry for a call of an rrule, which holds a pullback in place of a Bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.recording.primitives import Primitive

if TYPE_CHECKING:
    from wengert.recording.pullback_reads import OuterState


class RruleCall:
    """A call of an rrule: the pullback that it returned, the level of this, and the forms of its containers."""

    is_simple, at_key = False, None
    __slots__ = ("fn", "forms", "kind", "level", "name", "outer_state", "pullback", "rule", "step")

    def __init__(
        self, primitive: Primitive, rule: Any, pullback: Any, level: int, forms: dict[int, Any], outer_state: OuterState
    ) -> None:
        self.fn, self.name, self.rule, self.kind = primitive.fn, primitive.name, rule, "call"
        self.pullback, self.level, self.forms, self.step = pullback, level, forms, None
        self.outer_state = outer_state
