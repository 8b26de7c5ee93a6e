"""Accounts of tests: what a pass makes of a tape tests all that the tape did, or the pass says what it need not.

Code that lost a test gives what was right for other numbers, and nothing tells of that.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeGuard, TypeVar

from wengert.compiling.loops.branch_tree import outcome_key
from wengert.compiling.watched.loop_states import Head
from wengert.tape.loops import Loop, with_bodies
from wengert.tape.ops import Call, Op
from wengert.tape.source import LostGuardError

T = TypeVar("T", bound=Iterable[Op])


def is_test(op: Op) -> TypeGuard[Call]:
    """Whether an op is a guard, but for those that only mark where an iteration begins."""
    return isinstance(op, Call) and op.guard and type(op.fn) is not Head


def count_guards(ops: Iterable[Op], times: int = 1) -> Counter[Any]:
    """How often a run makes each test, told by its function and its outcome: in a loop once an iteration."""
    found: Counter[Any] = Counter()
    for op in ops:
        if is_test(op):
            found[_guard_key(op)] += times
        elif isinstance(op, Call) and isinstance(op.fn, Loop):
            found += count_guards(op.fn.body, times * op.fn.count)
    return found


def check_guards_kept(old: Iterable[Op], new: T, answered: Counter[Any] | None = None) -> T:
    """Return `new` if it has all guards of `old` but those that are `answered`; else raise LostTest."""
    tests = count_guards(old) - count_guards(new) - (answered or Counter())
    if tests:
        raise LostGuardError(next(op for op in with_bodies(old) if is_test(op) and _guard_key(op) in tests))
    return new


def _guard_key(op: Call) -> Any:
    is_bound = isinstance(op.fn, (types.BuiltinMethodType, types.MethodType))  # which may be made anew
    return op.fn if is_bound else id(op.fn), outcome_key(op.val)
