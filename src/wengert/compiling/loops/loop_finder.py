"""Find loops whose iterations are a function of their variables: choose the runs, and the iterations from which on."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Sequence
from typing import Any

from wengert.compiling.constants import outcome_key
from wengert.compiling.guard_check import is_guard
from wengert.compiling.loops.branch_tree import WhileLoop
from wengert.compiling.loops.loop_iterations import Irregular, UnconfirmedError
from wengert.compiling.loops.tree_builder import TreeBuilder
from wengert.tape.ops import Call, Constant, Op
from wengert.values import functional


def find_while_loops(
    ops: Sequence[Op],
    place: dict[Op, int],
    runs: Sequence[list[int]],
    last: Sequence[dict[Any, int]],
    traces: Sequence[int],
    constants: Collection[Op] = (),
) -> list[WhileLoop]:
    """Return the loop that was run so often, one for each run; each run has the positions of its heads.

    Runs whose iterations are not a function of their variables are left out, as are the first iterations of others.
    `place` maps ops to their positions, and `last` for each trace to the positions where it reads them last. `traces`
    has the number of each op's trace. The inputs `constants` have the same values in each call.
    """
    heads = [_recurring(ops, run) for run in runs if all([ops[k].fn.ran_back_once for k in run])]  # type: ignore[attr-defined]
    never = {run[0] for run in runs if never_runs(ops, run, constants)}
    forms = {ops[run[-1]].fn.form for run in heads if len(run) > 1}  # type: ignore[attr-defined]
    once = {run[-1] for run in heads if ops[run[-1]].fn.form in forms}  # type: ignore[attr-defined]
    tries = 0
    while any([len(run) > 1 for run in heads]) and tries < MOST_TRIES + MOST_DROPPED:
        heads = [run for run in heads if len(run) > 1 or (run and run[0] in never | once)]
        tests = [_ending_tests(ops, run) for run in heads]
        if None not in tests:
            with contextlib.suppress(Irregular, UnconfirmedError):
                if found := TreeBuilder(ops, place, heads, tests, last, traces, constants).loops():
                    return found
        try:
            return TreeBuilder(ops, place, heads, heads, last, traces, constants).loops()
        except UnconfirmedError:
            return []
        except Irregular as error:
            if len({ops[run[-1]].fn.form for run in heads}) > 1:  # type: ignore[attr-defined]
                return []
            if all([len(heads[row.run]) == 1 for row in error.rows]):
                heads = [run for run in heads if len(run) > 1]
                continue
            for row in error.rows:
                heads[row.run] = heads[row.run][row.number + 1 :] if tries < MOST_TRIES else []
        tries += 1
    return []


def _ending_tests(ops: Sequence[Any], heads: list[int]) -> list[int] | None:
    """Return the positions of the test with which each iteration begins, if in the last one it ends the loop."""
    if ops[heads[0]].fn.left is not None or len(heads) < 2:
        return None
    starts, outcomes = [], []
    for a, b in itertools.pairwise([*heads, len(ops)]):
        at = next((k for k in range(a + 1, b) if is_guard(ops[k])), None)
        if at is None:
            return None
        starts.append(at)
        outcomes.append(outcome_key(ops[at].val))
    return starts if len({*outcomes[:-1]}) == 1 and outcomes[-1] != outcomes[0] else None


def never_runs(ops: Sequence[Any], heads: list[int], constants: Collection[Op]) -> bool:
    """Whether a loop ran never, because of a number of iterations that the tape computes from constants."""
    head = ops[heads[0]]
    number = len(heads) == 1 and head.fn.number
    waiting = [[*head.references()][-1].op] if number else []
    for op in waiting:
        if isinstance(op, Call) and op.fn is functional.whole:
            waiting += [v.op for v in op.references()]
        elif type(op) is not Constant and op not in constants:
            return False
    return bool(number)


MOST_TRIES, MOST_DROPPED = 20, 40
"""How often a loop is searched for without its first iterations, and then without runs that are irregular."""


def _recurring(ops: Sequence[Any], heads: list[int]) -> list[int]:
    """Return the heads from which on the state recurs."""
    first = len(heads) - 1
    while first and ops[heads[first]].fn.same:
        first -= 1
    return heads[first:]
