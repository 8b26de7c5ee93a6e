"""Native: a tape as compiled code, where numba is there and it has the words; loops alone where the rest has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compiling.blocking import NATIVE_LIMITS, with_block_loops
from wengert.compiling.native.module import compile_program
from wengert.compiling.native.stencil_fusion import by_pieces
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.native.writer import NativeWriter
from wengert.compiling.split_columns import split_into_columns
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyRunningTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of
from wengert.values import functional


def native(tape: AnyRunningTape, name: str = "f", build: Callable[..., Any] = compile_program) -> Callable[..., Any]:
    """The function that computes what a tape does by native code; its `state` says what of it does.

    Errors: UnsupportedOp where that has no words for it.
    """
    try:
        return _whole_tape(tape, name, build)
    except UnsupportedOp as error:
        return _loops(tape, name, build, error)


def _whole_tape(tape: AnyRunningTape, name: str, build: Callable[..., Any]) -> Callable[..., Any]:
    columns = split_into_columns(by_pieces(tape))
    for each in dict.fromkeys([with_block_loops(columns, False, NATIVE_LIMITS), columns, tape]):
        try:
            writer = NativeWriter(each, tape)
            break
        except UnsupportedOp:
            if each is tape:
                raise
    plain = tape.compile(name)
    found: Any = writer.function(build(writer.program), plain, name)
    found.source = "\n\n".join([*writer.program.functions, writer.program.text, found.source])
    found.state = "native code"
    return found


def _loops(tape: AnyRunningTape, name: str, build: Callable[..., Any], error: UnsupportedOp) -> Callable[..., Any]:
    """The function of a tape whose loops alone are native, since the whole has an error."""
    new = TapeRewriter(tape, type(tape)(tape.ctx))
    texts: list[str] = []
    others: list[Op] = []
    for op in tape:
        copy = new.copy(op)
        if isinstance(copy, Call) and isinstance(copy.fn, Loop):
            found = _loop(copy, type(tape), build)
            if found is not None:
                texts.append(found.fn.source)
                copy = found
        if getattr(copy, "fn", None) is getattr(op, "fn", None):
            others.append(op)
        new.table[op] = new.new.push(copy)
    if not texts:
        raise error
    made: Any = new.finished(others).compile(name)
    made.source = "\n\n".join([*texts, made.source])
    made.state = f"native code for loops; it has no words for {error}"
    return made


def _loop(op: Call, made: Callable[[], Any], build: Callable[..., Any]) -> Any:
    """A call of a loop as one of a native function; None where there are no words for it."""
    tape = made()
    given = dict.fromkeys([a for a in op.args if isinstance(a, Variable)])
    inside = {v: tape.push(v.op.copy() if isinstance(v.op, Constant) else Input(value_of(v))) for v in given}
    call = tape.push(Call(op.fn, [inside[a] if isinstance(a, Variable) else a for a in op.args], val=op.val))
    parts = [tape.push(Call(functional.getfield, [call, k], val=part)) for k, part in enumerate(op.val)]
    tape.result = tape.push(Call(functional.make_tuple, parts, val=op.val))
    try:
        found = _whole_tape(tape, "loop", build)
    except UnsupportedOp:
        return None
    read = [v for v in inside if not isinstance(v.op, Constant)]
    return Call(found, read, val=op.val, site=op.site, note=op.note)
