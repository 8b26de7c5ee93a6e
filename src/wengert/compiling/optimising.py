"""Optimise a tape: make one that computes the same with fewer operations, and compile it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compiling.graphs.from_tape import deciding, graph_of, has_steps
from wengert.compiling.graphs.to_tape import to_tape
from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.loops.across_loops import optimise_across_loops
from wengert.compiling.loops.rolling import rolled
from wengert.compiling.native.tiering import choose_code
from wengert.compiling.numpy_source import compile_with_floats
from wengert.compiling.rules import shifts, stores, structures, sums  # noqa: F401 -- importing registers their rules
from wengert.compiling.rules.rewriting import EXACT, RULES
from wengert.compiling.views import copy_late_views
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import MemoryGroups, loop_memory, memory_groups
from wengert.tape.loops import Loop
from wengert.tape.tape import Tape, verify


class OptimisedTape(Tape):
    """A tape whose compiled function reuses buffers; if `exact`, it rounds as the recorded tape does."""

    exact = True

    def compile(self, name: str = "f", *, native: bool | None = False) -> Callable[..., Any]:
        """Compile the tape to a function; its attribute `source` is the generated code.

        It may be called from several threads, and recursively: each run has buffers of its own. With `native`, numba
        compiles what it supports; with None, once that pays.
        Errors: NativeUnavailableError for native=True without numba.
        """
        return compile_with_floats(self, name, self.exact) if native is False else choose_code(self, name, native)


def optimised(tape: AnyTape, exact: bool = False) -> OptimisedTape:
    """Return a tape that computes the same with less work; `tape.optimise().compile()` is the fast function.

    Equal calls are made once, constants are folded, uniform arrays, diagonals and outer products are not written out,
    sums of products become products, and repeated operations become loops. Results equal those of `play` to 1e-12 of
    the largest entry; with `exact` all sums and products are computed in the recorded order.

    >>> tape = wg.gradtape(lambda x: np.trace(np.outer(x, x)), np.ones(3))
    >>> len(tape), len(tape.optimise())
    (20, 8)
    """
    made = _apply_rules(rolled(tape), exact)
    if any([type(op.fn) is Loop for op in made.calls]):
        made = _apply_rules(optimise_across_loops(made), exact)
    made.exact = exact
    if not exact:
        _copy_views_in_loops(made, memory_groups(list(made), made.result), set())
    return check_guards_kept(tape, made)


def _copy_views_in_loops(tape: Any, memory: MemoryGroups, seen: set[Loop]) -> None:
    """Copy views that prevent in-place writes, also in the bodies of loops."""
    for op in tape.calls:
        if type(op.fn) is Loop and op.fn not in seen:
            seen.add(op.fn)
            _copy_views_in_loops(op.fn.body, loop_memory(op.fn).memory, seen)
    copy_late_views(tape, memory, deciding(list(tape)))


def _apply_rules(tape: AnyTape, exact: bool) -> OptimisedTape:
    """Apply the rewrite rules to a tape and to the bodies of its loops."""
    made = to_tape(tape, *graph_of(tape, EXACT if exact else RULES, EXACT), OptimisedTape(tape.ctx))
    decides, known = deciding(list(made)), dict[Any, Loop]()
    for op in made.calls:
        if isinstance(op.fn, Loop):
            key = op.fn, exact or op in decides
            op.fn = known[key] = known.get(key) or _optimise_body(*key)
    return verify(made)  # type: ignore[return-value]


def _optimise_body(loop: Loop, exact: bool) -> Loop:
    """Return a loop with an optimised body, exact if it branches: its conditions may depend on any carried number."""
    body = _apply_rules(loop.body, exact or any(map(has_steps, loop.body)))
    return loop.with_body(body)


def lower(tape: AnyTape, exact: bool = False) -> Callable[..., Any]:
    """Optimise and compile a tape; the function's `source` is the generated code."""
    return optimised(tape, exact).compile()


Tape.optimise = optimised
