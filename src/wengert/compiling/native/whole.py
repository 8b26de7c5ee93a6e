"""Compile a tape, all of it, to a native function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.native.writer import NativeWriter, check_separate_results
from wengert.compiling.pipeline import NATIVE, Context, run_passes
from wengert.tape.interface import AnyRunningTape
from wengert.tape.ops import Call


class NativeTape:
    """A tape, and the writer of its native function; what the results of a part share does not matter.

    Errors: UnsupportedOp, whose `op` is on the tape.
    """

    def __init__(self, tape: AnyRunningTape, is_part: bool = False, calls_out: bool = False) -> None:
        self.tape, self.context = tape, Context(exact=False)
        for each in reversed(run_passes(NATIVE, tape, self.context)):
            try:
                self.writer = NativeWriter(each, tape, is_part, calls_out)
                if not is_part:
                    check_separate_results([op for op in each if not isinstance(op, Call)], self.writer.results)
                break
            except UnsupportedOp:
                if each is tape:
                    raise

    def function(self, name: str, build: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function; `build` compiles the native code."""
        writer = self.writer
        found: Any = writer.function(build(writer.program), compiled_when_called(self.tape, name), name)
        found.source = "\n\n".join([*writer.program.functions, writer.program.text, found.source])
        callouts = writer.program.callouts
        found.state = f"native code, which calls NumPy for {callouts[0].reason}" if callouts else "native code"
        found.passes = self.context.log
        return found


def compiled_when_called(tape: AnyRunningTape, name: str) -> Callable[..., Any]:
    """Return the NumPy function of a tape, which is compiled at its first call."""
    made = functools.cache(lambda: tape.compile(name))
    return lambda *args, **kwargs: made()(*args, **kwargs)
