"""Compile a tape to native code; only its loops, if native code does not support the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.native.module import compile_program
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.native.writer import NativeWriter
from wengert.compiling.pipeline import NATIVE, Context, run_passes
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyRunningTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of
from wengert.values import functional


def compile_native(
    tape: AnyRunningTape, name: str = "f", build: Callable[..., Any] = compile_program
) -> Callable[..., Any]:
    """Compile a tape to native code; the function's `state` tells which part runs natively.

    Errors: UnsupportedOp if native code supports neither the tape nor one of its loops.
    """
    try:
        return _compile_whole(tape, name, build)
    except UnsupportedOp as error:
        return _compile_loops_only(tape, name, build, error)


def _compile_whole(tape: AnyRunningTape, name: str, build: Callable[..., Any]) -> Callable[..., Any]:
    context = Context(exact=False)
    for each in reversed(run_passes(NATIVE, tape, context)):
        try:
            writer = NativeWriter(each, tape)
            break
        except UnsupportedOp:
            if each is tape:
                raise
    plain = tape.compile(name)
    found: Any = writer.function(build(writer.program), plain, name)
    found.source = "\n\n".join([*writer.program.functions, writer.program.text, found.source])
    found.state, found.passes = "native code", context.log
    return found


def _compile_loops_only(
    tape: AnyRunningTape, name: str, build: Callable[..., Any], error: UnsupportedOp
) -> Callable[..., Any]:
    """Compile only the loops of a tape to native code, since compiling the whole tape raised `error`."""
    new = TapeRewriter(tape, type(tape)(tape.ctx))
    texts: list[str] = []
    others: list[Op] = []
    for op in tape:
        is_loop = isinstance(op, Call) and isinstance(op.fn, Loop)
        found = _native_loop_call(new.copy(op), type(tape), build) if is_loop else None
        if found is None:
            new.push(op)
            others.append(op)
        else:
            texts.append(found.fn.source)
            new.table[op] = new.new.push(found)
    if not texts:
        raise error
    made: Any = check_guards_kept(others, new.finished()).compile(name)
    made.source = "\n\n".join([*texts, made.source])
    made.state = f"native code for loops only, since it does not support {error}"
    return made


def _native_loop_call(op: Call, new_tape: Callable[[], Any], build: Callable[..., Any]) -> Any:
    """Return a call of a native function that replaces a call of a loop; None if native code does not support it."""
    tape = new_tape()
    given = sorted({a for a in op.args if isinstance(a, Variable)}, key=lambda a: (isinstance(a.op, Constant), a.id))
    inside = {v: tape.push(v.op.copy() if isinstance(v.op, Constant) else Input(value_of(v))) for v in given}
    call = tape.push(Call(op.fn, [inside[a] if isinstance(a, Variable) else a for a in op.args], val=op.val))
    parts = [tape.push(Call(functional.getfield, [call, k], val=part)) for k, part in enumerate(op.val)]
    tape.result = tape.push(Call(functional.make_tuple, parts, val=op.val))
    try:
        found = _compile_whole(tape, "loop", build)
    except UnsupportedOp:
        return None
    read = [v for v in inside if not isinstance(v.op, Constant)]
    return Call(found, read, val=op.val, site=op.site, note=op.note)
