"""Native: a tape as compiled code, where numba is there and it has the words; loops alone where the rest has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compiling.native.module import compiled
from wengert.compiling.native.values import Unworded
from wengert.compiling.native.writer import NativeWriter
from wengert.tape.interface import AnyRunningTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Input, Op, Variable, value_of
from wengert.values import functional


def native(tape: AnyRunningTape, name: str = "f", build: Callable[..., Any] = compiled) -> Callable[..., Any] | None:
    """The function that computes what a tape does by native code; None where that has no words for it."""
    try:
        return _whole(tape, name, build)
    except Unworded:
        return _loops(tape, name, build)


def _whole(tape: AnyRunningTape, name: str, build: Callable[..., Any]) -> Callable[..., Any]:
    writer = NativeWriter(tape)
    plain = tape.compile(name)
    found: Any = writer.function(build(writer.program), plain, name)
    found.source = "\n\n".join([*writer.program.functions, writer.program.text, found.source])
    return found


def _loops(tape: AnyRunningTape, name: str, build: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function of a tape whose loops alone are native."""
    new: Any = type(tape)(tape.ctx)
    table: dict[Op | None, Variable] = {}
    texts: list[str] = []
    for op in tape:
        copy = op.copy()
        copy.rewrite(lambda v: table[v.op])
        if isinstance(copy, Call) and isinstance(copy.fn, Loop):
            found = _loop(copy, type(tape), build)
            if found is not None:
                texts.append(found.source)
                read = [a for a in copy.args if isinstance(a, Variable)]
                copy = Call(found, read, val=copy.val, site=copy.site, note=copy.note)
        table[op] = new.push(copy)
    if not texts:
        return None
    new.result = table[tape.result.op]
    if tape.arguments is not None:
        new.arguments = tape.arguments._replace(inputs=tuple([table[v.op] for v in tape.arguments.inputs]))
    made: Any = new.compile(name)
    made.source = "\n\n".join([*texts, made.source])
    return made


def _loop(op: Call, made: Callable[[], Any], build: Callable[..., Any]) -> Any:
    """A call of a loop as a native function of the Variables that it reads; None where there are no words for it."""
    tape = made()
    read = {v: tape.push(Input(value_of(v))) for v in op.args if isinstance(v, Variable)}
    call = tape.push(Call(op.fn, [read[a] if isinstance(a, Variable) else a for a in op.args], val=op.val))
    parts = [tape.push(Call(functional.getfield, [call, k], val=part)) for k, part in enumerate(op.val)]
    tape.result = tape.push(Call(functional.make_tuple, parts, val=op.val))
    try:
        return _whole(tape, "loop", build)
    except Unworded:
        return None
