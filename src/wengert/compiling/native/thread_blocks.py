"""Compile blocks of rows to native code, which runs on several threads without the lock of the interpreter."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.compiling.native.module import compile_program
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.native.whole import NativeTape
from wengert.compiling.numpy_source import compile_numpy, compile_numpy_block
from wengert.tape.interface import AnyOptimisedTape


def compile_native_blocks(tape: AnyOptimisedTape, name: str) -> Callable[..., Any] | None:
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
