"""Compile a tape to native code, which calls NumPy for what it does not support.

Blocks of rows become native code that runs on several threads without the lock of the interpreter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.compiling.native.callouts import CALLS_PER_CALLOUT
from wengert.compiling.native.module import compile_program
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.native.writer import NativeWriter, check_separate_results
from wengert.compiling.numpy_source import compile_numpy, compile_numpy_block, compiled_when_called
from wengert.compiling.pipeline import NATIVE, Context, run_passes
from wengert.tape.interface import AnyOptimisedTape, AnyRunningTape
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
        found: Any = writer.function(build(writer.program), compiled_when_called(lambda: self.tape.compile(name)), name)
        found.source = "\n\n".join([*writer.program.functions, writer.program.text, found.source])
        callouts = writer.program.callouts
        found.state = f"native code, which calls NumPy for {callouts[0].reason}" if callouts else "native code"
        found.passes = self.context.log
        return found


def native_or_reason(tape: AnyOptimisedTape, name: str) -> tuple[Any, str]:
    """Return the native code of a tape; or None, and the state of the NumPy code that runs instead."""
    try:
        return (_compile_blocks(tape, name) if tape.parallel else None) or compile_native(tape, name), ""
    except UnsupportedOp as error:
        return None, f"NumPy: native code does not support {error}"


def compile_native(
    tape: AnyRunningTape, name: str = "f", build: Callable[..., Any] = compile_program
) -> Callable[..., Any]:
    """Compile a tape to native code; the function's `state` tells for which calls that runs NumPy.

    Errors: UnsupportedOp if native code can neither run nor make some call, or would make too many.
    """
    try:
        return NativeTape(tape).function(name, build)
    except UnsupportedOp:
        made = NativeTape(tape, calls_out=True)
        program = made.writer.program
        if len(program.body.unsupported) * CALLS_PER_CALLOUT > program.ops:
            raise
        return made.function(name, build)


def _compile_blocks(tape: AnyOptimisedTape, name: str) -> Callable[..., Any] | None:
    """Compile a tape to NumPy code with native code for its blocks of rows; None if none can be native."""
    sources: list[str] = []

    def compile_block(body: Any) -> Callable[..., Any]:
        try:
            block: Any = NativeTape(body).function("block", functools.partial(compile_program, unlocked=True))
        except UnsupportedOp:
            return compile_numpy_block(body)
        sources.append(block.source)
        return block

    made: Any = compile_numpy(tape, name, tape.exact, compile_block=compile_block)
    if not sources:
        return None
    made.source = "\n\n".join([*sources, made.source])
    made.state = "native code in part: blocks of rows, on several threads"
    return made
