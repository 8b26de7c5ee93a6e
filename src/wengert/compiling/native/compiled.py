"""Compile a tape to native code; only parts of it, if native code does not support the rest.

Blocks of rows become native code that runs on several threads without the lock of the interpreter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.native.callouts import CALLS_PER_CALLOUT
from wengert.compiling.native.module import compile_program
from wengert.compiling.native.parts import TapeCutter, asks_about_memory
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.native.whole import NativeTape, compiled_when_called
from wengert.compiling.numpy_source import compile_numpy, compile_numpy_block
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyOptimisedTape, AnyRunningTape
from wengert.tape.ops import Call, Op

MOST_CUTS = 2  # of a tape that becomes parts


def native_or_reason(tape: AnyOptimisedTape, name: str) -> tuple[Any, str]:
    """Return the native code of a tape; or None, and the state of the NumPy code that runs instead."""
    try:
        return (_compile_blocks(tape, name) if tape.parallel else None) or compile_native(tape, name), ""
    except UnsupportedOp as error:
        return None, f"NumPy: native code does not support {error}"


def compile_native(
    tape: AnyRunningTape, name: str = "f", build: Callable[..., Any] = compile_program
) -> Callable[..., Any]:
    """Compile a tape to native code; the function's `state` tells which part runs natively.

    Errors: UnsupportedOp if native code supports no part that is worth a call.
    """
    try:
        return NativeTape(tape).function(name, build)
    except UnsupportedOp as error:
        whole = _interrupted(tape)
        return _compile_parts(tape, name, build, error) if whole is None else whole.function(name, build)


def _interrupted(tape: AnyRunningTape) -> NativeTape | None:
    """Return the native tape that calls NumPy for small operations, if these would cut it into many parts."""
    calls = [op for op in tape if isinstance(op, Call)]
    if any(map(asks_about_memory, calls)):
        return None
    try:
        made = NativeTape(tape, calls_out=True)
    except UnsupportedOp:
        return None
    outside = len(made.writer.program.body.unsupported)
    return made if outside > MOST_CUTS and outside * CALLS_PER_CALLOUT <= len(calls) else None


def _compile_parts(
    tape: AnyRunningTape, name: str, build: Callable[..., Any], error: UnsupportedOp
) -> Callable[..., Any]:
    """Compile to native code all but what it does not support, of which `error` names the first op."""
    cut = TapeCutter(tape)
    parts = cut.parts()
    if not parts:
        raise error
    new = TapeRewriter(tape, type(tape)(tape.ctx))
    texts: list[str] = []
    by_numpy: list[Op] = [*cut.others]
    for op in by_numpy:
        new.push(op)
    for stage in range(max(cut.stages.values()) + 1):
        if stage in parts:
            texts.append(parts[stage].push(new, build))
            continue
        for op in cut.ops_of(stage):
            new.push(op)
            by_numpy.append(op)
    made: Any = check_guards_kept(by_numpy, new.finished()).compile(name)
    made = made if cut.is_ordered else _with_fallback(made, compiled_when_called(tape, name))
    made.source = "\n\n".join([*texts, made.source])
    made.state = f"native code in part, since it does not support {error}"
    return made


def _with_fallback(run: Any, plain: Callable[..., Any]) -> Any:
    """Return a function that calls `plain` if `run` raises, since `run` does not check and raise in the same order."""

    @functools.wraps(run)
    def in_parts(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*args, **kwargs)
        except Exception:
            return plain(*args, **kwargs)

    return in_parts


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
