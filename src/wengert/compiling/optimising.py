"""Optimise a tape: make one that computes the same with fewer operations, and compile it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from wengert.compiling.native.tiering import choose_code
from wengert.compiling.numpy_source import compile_numpy, compile_numpy_block
from wengert.compiling.pipeline import OPTIMISING, Context, LogEntry, Pass, run_passes
from wengert.tape.interface import AnyTape
from wengert.tape.tape import Tape
from wengert.values.garbage import collections_paused


class OptimisedTape(Tape):
    """A tape whose compiled function reuses buffers.

    If `exact`, it rounds as the recorded tape does; if `parallel`, blocks of rows run on several threads.
    """

    exact = True
    parallel = False
    passes: Sequence[LogEntry] = ()  # that made it

    def compile(self, name: str = "f", *, native: bool | None = False) -> Callable[..., Any]:
        """Compile the tape to a function; its attribute `source` is the generated code.

        It may be called from several threads, and recursively: each run has buffers of its own. With `native`, numba
        compiles what it supports; with None, once that pays.
        Errors: NativeUnavailableError for native=True without numba.
        """
        if native is False:
            block = compile_numpy_block if self.parallel else None
            return compile_numpy(self, name, self.exact, compile_block=block)
        return choose_code(self, name, native)


def optimised(tape: AnyTape, exact: bool = False) -> OptimisedTape:
    """Return a tape that computes the same with less work; `tape.optimise().compile()` is the fast function.

    Equal calls are made once, constants are folded, uniform arrays, diagonals and outer products are not written out,
    sums of products become products, and repeated operations become loops. Results equal those of `play` to 1e-12 of
    the largest entry; with `exact` all sums and products are computed in the recorded order.

    >>> tape = wg.gradtape(lambda x: np.trace(np.outer(x, x)), np.ones(3))
    >>> len(tape), len(tape.optimise())
    (20, 8)
    """
    return optimised_by(OPTIMISING, tape, Context(exact))


def optimised_by(passes: Iterable[Pass], tape: AnyTape, context: Context) -> OptimisedTape:
    """Return the tape that these passes make of a tape: OPTIMISING, or more."""
    with collections_paused():
        made: Any = run_passes(passes, tape, context)[-1]
    made.__class__, made.exact, made.passes = OptimisedTape, context.exact, context.log
    return made
