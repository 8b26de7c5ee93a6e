"""Check that a pass over a tape keeps all guards, but for those that it declares to be answered.

Code that lost a guard silently returns results for other inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeGuard, TypeVar

from wengert.compiling.constants import constant_key, outcome_key
from wengert.compiling.watched.marks import Mark
from wengert.tape.loops import Loop, with_bodies
from wengert.tape.ops import Call, Op
from wengert.tape.source import LostGuardError

T = TypeVar("T", bound=Iterable[Op])


def is_guard(op: Op) -> TypeGuard[Call]:
    """Whether an op is a guard, other than a mark of where an iteration begins."""
    return isinstance(op, Call) and op.guard and not isinstance(op.fn, Mark)


def count_guards(ops: Iterable[Op]) -> Counter[Any]:
    """Count how often a run checks each guard, by function and outcome: in a loop once an iteration."""
    found: Counter[Any] = Counter()
    for op in ops:
        if is_guard(op):
            found[_guard_key(op)] += 1
        elif isinstance(op, Call) and isinstance(op.fn, Loop):
            found += in_all_iterations(op.fn, count_guards(op.fn.body))
    return found


def in_all_iterations(loop: Loop, counts: Counter[Any]) -> Counter[Any]:
    """Return how often a run of a loop checks the guards that an iteration checks so often."""
    return Counter({guard: n * (loop.count or 1) for guard, n in counts.items()})


class GuardCount:
    """The guards of some ops, which a pass may change in place later; `inside` are these and those of loops' bodies."""

    def __init__(self, ops: Iterable[Op], inside: Iterable[Op] | None = None) -> None:
        self.guards = [*filter(is_guard, with_bodies(ops) if inside is None else inside)]
        self.counts = count_guards(ops) if self.guards else Counter[Any]()

    def check_kept(self, new: GuardCount, answered: Counter[Any] | None = None) -> None:
        """Raise LostGuardError unless `new` has all these guards but those that are `answered`."""
        lost = self.counts - new.counts - (answered or Counter())
        if lost:
            raise LostGuardError(next(op for op in self.guards if _guard_key(op) in lost))


def check_guards_kept(old: Iterable[Op], new: T, answered: Counter[Any] | None = None) -> T:
    """Return `new` if it has all guards of `old` but those that are `answered`; else raise LostGuardError."""
    GuardCount(old).check_kept(GuardCount(new), answered)
    return new


def _guard_key(op: Call) -> Any:
    return constant_key(op.fn), outcome_key(op.val)
