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
from wengert.compiling.native.whole import NativeTape
from wengert.compiling.numpy_source import compile_numpy, compile_numpy_block
from wengert.tape.interface import AnyOptimisedTape, AnyRunningTape


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
