"""Optimise: a tape that computes the same and does less, and the function that it compiles to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compiling.graphs.from_tape import deciding, graph_of, has_steps
from wengert.compiling.graphs.to_tape import to_tape
from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.loops.across_loops import optimise_across_loops
from wengert.compiling.loops.rolling import rolled
from wengert.compiling.native.tiering import chosen
from wengert.compiling.numpy_source import compile_with_floats
from wengert.compiling.rules import shifts, stores, structures, sums  # noqa: F401 -- importing them enters their rules
from wengert.compiling.rules.rewriting import EXACT, RULES
from wengert.compiling.views import set_apart
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import MemoryGroups, loop_memory, memory_groups
from wengert.tape.loops import Loop
from wengert.tape.tape import Tape, verify


class OptimisedTape(Tape):
    """A tape whose compiled function keeps buffers for what it computes; `exact` says that it rounds as the tape."""

    exact = True

    def compile(self, name: str = "f", *, native: bool | None = False) -> Callable[..., Any]:
        """The function that computes what this tape does, ready to call; its text is its `source`.

        It may be called from several threads, and inside of itself: each run has buffers of its own. With `native` it
        is machine code, by numba, as far as there are words for that; with None from when that has paid.
        Errors: NativeUnavailableError where native code is asked for without numba.
        """
        return compile_with_floats(self, name, self.exact) if native is False else chosen(self, name, native)


def optimised(tape: AnyTape, exact: bool = False) -> OptimisedTape:
    """A new tape that computes what this one does with less work: `tape.optimise().compile()` is the fast function.

    Equal calls are done once, constants are folded, what is the same everywhere is not written out, sums of products
    are products, diagonals and outer products stay what they are, and what repeats is a loop. Results are those of
    `play` to 1e-12 of the largest entry; with `exact` no sum and no product is computed in another order than it was
    recorded.

    >>> tape = wg.gradtape(lambda x: np.trace(np.outer(x, x)), np.ones(3))
    >>> len(tape), len(tape.optimise())
    (20, 8)
    """
    made = _optimised(rolled(tape), exact)
    if any([type(op.fn) is Loop for op in made.calls]):
        made = _optimised(optimise_across_loops(made), exact)
    made.exact = exact
    if not exact:
        _set_apart(made, memory_groups(list(made), made.result), set())
    return check_guards_kept(tape, made)


def _set_apart(tape: Any, memory: MemoryGroups, seen: set[Loop]) -> None:
    """Have views not stand in the way of stores, also in the bodies of loops."""
    for op in tape.calls:
        if type(op.fn) is Loop and op.fn not in seen:
            seen.add(op.fn)
            _set_apart(op.fn.body, loop_memory(op.fn).memory, seen)
    set_apart(tape, memory, deciding(list(tape)))


def _optimised(tape: AnyTape, exact: bool) -> OptimisedTape:
    """The tape with the rules applied, and its loops by themselves, each with its body optimised."""
    made = to_tape(tape, *graph_of(tape, EXACT if exact else RULES, EXACT), OptimisedTape(tape.ctx))
    decides, known = deciding(list(made)), dict[Any, Loop]()
    for op in made.calls:
        if isinstance(op.fn, Loop):
            key = op.fn, exact or op in decides
            op.fn = known[key] = known.get(key) or _optimised_loop(*key)
    return verify(made)  # type: ignore[return-value]


def _optimised_loop(loop: Loop, exact: bool) -> Loop:
    """A loop of an optimised body; what decides in it may come from any number in the iteration before."""
    body = _optimised(loop.body, exact or any(map(has_steps, loop.body)))
    return Loop(body, loop.count, loop.steps, loop.carried)


def lower(tape: AnyTape, exact: bool = False) -> Callable[..., Any]:
    """The compiled function of a tape, optimised; its text is its `source`."""
    return optimised(tape, exact).compile()


Tape.optimise = optimised
