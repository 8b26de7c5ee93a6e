"""The order of the compiler's passes, and the checks between them.

A traced tape goes through LOWERING and OPTIMISING, then through NUMPY or NATIVE, and is written as code. To add a pass,
write it in a module of its own, and add a line here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from wengert.compiling.blocking import NATIVE_LIMITS, NUMPY_LIMITS, PARALLEL_LIMITS, with_block_loops
from wengert.compiling.graphs.from_tape import asks_for_memory
from wengert.compiling.guard_check import GuardCount
from wengert.compiling.loops.hoisting import hoist
from wengert.compiling.loops.lowering import lower_derivatives, make_loops_free, wanted
from wengert.compiling.loops.rolling import rolled
from wengert.compiling.loops.while_loops import fold_counters
from wengert.compiling.memory_layout import answer_layout
from wengert.compiling.native.stencil_fusion import fuse_stencils
from wengert.compiling.placement import may_retain_arguments
from wengert.compiling.plain_keys import with_plain_keys
from wengert.compiling.rules.applying import apply_rules
from wengert.compiling.rules.rewriting import EXACT, RULES
from wengert.compiling.scalar_specialisation import with_floats
from wengert.compiling.split_columns import split_into_columns
from wengert.compiling.views import copy_late_views
from wengert.compiling.windows import without_windows
from wengert.tape.loops import Loop, calls_in
from wengert.tape.tape import verify


class LogEntry(NamedTuple):
    """A pass that changed a tape: the number of ops before and after it, and its time in seconds."""

    name: str
    before: int
    after: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.name}: {self.before} -> {self.after} ops, {self.seconds * 1e3:.1f} ms"


@dataclass
class Context:
    """The settings of a run of passes, and what these report.

    With `exact` no pass may round otherwise; with `loops` loops are differentiated as such, and may become free; with
    `parallel` blocks of rows run on several threads. `is_wanted` says, once loops are free, whether the code is needed.
    A pass adds the guards that it answers to `answered`. `log` has an entry for each pass that changed the tape.
    """

    exact: bool
    loops: bool = True
    parallel: bool = False
    is_wanted: Callable[[], bool] = lambda: True
    answered: Counter[Any] = field(default_factory=Counter)
    log: list[LogEntry] = field(default_factory=list)


class Scan:
    """The ops of a tape, all calls, also in loops, and the guards; a pass that keeps the `shape` changed nothing."""

    def __init__(self, tape: Any) -> None:
        self.ops = list(tape)
        self.calls = calls_in(self.ops)
        self.guards = GuardCount(self.ops, self.calls)
        self.shape = len(self.ops), [id(Loop if isinstance(op.fn, Loop) else op.fn) for op in self.calls]

    @cached_property
    def looks_at_memory(self) -> bool:
        """Whether a call asks for memory addresses or memory order."""
        return any(map(asks_for_memory, self.calls))


def has_equal_values(scan: Scan) -> bool:
    """Whether an equal value may replace each value."""
    return not scan.looks_at_memory


def has_loops(scan: Scan) -> bool:
    """Whether there are loops, in which an equal value may replace each value."""
    return any([type(op.fn) is Loop for op in scan.calls]) and has_equal_values(scan)


def has_known_memory(scan: Scan) -> bool:
    """Whether it is known how all calls use memory, also in loops."""
    return has_equal_values(scan) and not may_retain_arguments(scan.ops)


class Pass(NamedTuple):
    """A pass: `run` returns a tape that computes the same, or changes the given one.

    It runs on a tape that satisfies `needs`, and with `exact` only if it is `exact`, that is, keeps all rounding.
    Each guard has to be on the new tape or among those answered, unless the pass `counts_guards` itself.
    """

    name: str
    run: Callable[[Any, Context], Any]
    needs: Callable[[Scan], bool] | None = None
    exact: bool = True
    counts_guards: bool = False


LOWERING = [
    Pass("memory layout", lambda tape, to: answer_layout(tape, to.answered)),
    Pass("windows", lambda tape, _: without_windows(tape)),
    Pass("keys", lambda tape, _: with_plain_keys(tape)),
    Pass("lower derivatives", lambda tape, to: lower_derivatives(tape, to.loops, to.is_wanted), counts_guards=True),
    Pass("free loops and marks", lambda tape, to: make_loops_free(tape, to.loops), counts_guards=True),
    Pass("wanted loops", lambda tape, to: wanted(tape, to.is_wanted)),
    Pass("counters", lambda tape, _: fold_counters(tape)),
]
"""The passes for a traced tape: it takes derivatives, and has a mark at each iteration."""

OPTIMISING = [
    Pass("roll loops", lambda tape, _: rolled(tape)),
    Pass("dead code", lambda tape, _: apply_rules(tape, {}), needs=attrgetter("looks_at_memory")),
    Pass("rules", lambda tape, to: apply_rules(tape, EXACT if to.exact else RULES), needs=has_equal_values),
    Pass("invariants", lambda tape, _: hoist(tape), needs=has_loops),
    Pass("late views", lambda tape, _: copy_late_views(tape), needs=has_equal_values, exact=False),
]
"""The passes for any tape."""

NUMPY = [
    Pass("Python floats", lambda tape, to: with_floats(tape, to.exact, to.answered)),
    Pass(
        "blocks",
        lambda tape, to: with_block_loops(tape, to.exact, PARALLEL_LIMITS if to.parallel else NUMPY_LIMITS),
        needs=has_equal_values,
    ),
    Pass("columns", lambda tape, _: split_into_columns(tape, faithful=True), needs=has_known_memory, exact=False),
]
"""The passes before a tape is written as NumPy code, Python floats first."""

NATIVE = [
    Pass("stencils", lambda tape, _: fuse_stencils(tape), needs=has_equal_values),
    Pass("columns", lambda tape, _: split_into_columns(tape), needs=has_equal_values),
    Pass("blocks", lambda tape, to: with_block_loops(tape, to.exact, NATIVE_LIMITS), needs=has_equal_values),
]
"""The passes before a tape is written as native code."""


def run_passes(passes: Iterable[Pass], tape: Any, context: Context) -> list[Any]:
    """Return the tape, and the tape after each pass that changed it.

    After each pass the tape and its guards are checked.

    Errors: TapeError if a tape is ill-formed, LostGuardError if a guard is lost.
    """
    tapes, now = [tape], Scan(tape)
    for each in passes:
        old = tapes[-1]
        if (context.exact and not each.exact) or (each.needs and not each.needs(now)):
            continue
        begin = time.perf_counter()
        context.answered.clear()
        made = each.run(old, context)
        seconds, before, now = time.perf_counter() - begin, now, Scan(made)
        is_changed = now.shape != before.shape
        if not each.counts_guards:
            before.guards.check_kept(now.guards, context.answered)
        if is_changed or made is not old:
            _check_form(made)
        if is_changed:
            context.log.append(LogEntry(each.name, len(before.ops), len(now.ops), seconds))
        if made is not old:
            tapes.append(made)
    return tapes


def _check_form(tape: Any) -> None:
    """Check that a tape and the bodies of its loops are well-formed."""
    verify(tape)
    for loop in {op.fn for op in tape.calls if isinstance(op.fn, Loop)}:
        _check_form(loop.body)
