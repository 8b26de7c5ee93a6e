"""A tape as the data of a page: one row for each op, with its operands, line and memory."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from wengert.tape.dump import OUTERMOST, LoopScope, note_text, op_pieces, type_text
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import MISSING, Call, Constant, Input, Op, Variable
from wengert.tape.usage import bytes_held
from wengert.tools.repeats import repeats
from wengert.tools.sources import Sources
from wengert.tools.words import in_words
from wengert.values.functional import make_tuple
from wengert.values.names import in_line

REVERSE_NOTES = ("pullback of", "passed through", "x̄ of", "seed of")  # begin the notes of ops of a reverse pass

_NUMBERS = re.compile(r"%[\d.]+|(?<![\w.])\d+(?![\w.])")


class OpRow(NamedTuple):
    """An op on a page; `inside` is its place in loop bodies, `around` the group of the innermost loop, or -1."""

    op: Op
    inside: LoopScope
    around: int


def tape_data(
    tape: AnyTape, values: Mapping[Op, Any], cotangents: Mapping[Op, Any], sources: Sources
) -> dict[str, Any]:
    """Return the data of a page that shows a tape, with the known `values` and `cotangents` of its ops."""
    reverse = _reverse_ops(tape)
    rows = list(_op_rows(tape, OUTERMOST, -1, sources, reverse))
    places = {row.op: k for k, row in enumerate(rows)}
    name = next((op.name for op in tape if isinstance(op, Input) and op.callee), None)
    columns = {
        "id": [f"%{row.inside.path}{row.op.id}" for row in rows],
        "text": [in_line("".join(piece for piece, _ in op_pieces(row.op, row.inside))) for row in rows],
        "type": [_op_type(row.op) for row in rows],
        "kind": [_op_kind(row.op) for row in rows],
        "value": [in_words(values[row.op]) if row.op in values else "" for row in rows],
        "bar": [in_words(cotangents[row.op]) if row.op in cotangents else "" for row in rows],
        "note": [in_line(note_text(row.inside.text(row.op.note))) for row in rows],
        "line": [sources.line(row.op.site) for row in rows],
        "group": [_group_of(row, sources, reverse) for row in rows],
        "reads": [[places[v.op] for v in row.op.references() if v.op in places] for row in rows],
        "depth": [row.inside.path.count(".") for row in rows],
        "result": -1 if tape._result is None else places[tape.result.op],  # type: ignore[index]
        "bodies": [[places[row.op], _body_group(row, sources, reverse)] for row in rows if _loop_of(row.op)],
        "carried": [[places[a], places[b]] for row in rows for a, b in _carried(row.op) if a in places and b in places],
        **_memory_columns(tape, places),
    }
    columns["folds"] = repeats(_tokens(columns))
    return {"title": f"{name or 'tape'}: {len(rows)} ops", "tape": columns, **sources.data()}


def _tokens(columns: Mapping[str, Any]) -> list[Hashable]:
    """Return what two ops of equal iterations have in common: all but the numbers of ops, and integers that count."""
    texts = [_NUMBERS.sub("#", text) for text in columns["text"]]
    return list(zip(texts, *(columns[name] for name in ("kind", "type", "group", "depth")), strict=True))


def _op_rows(ops: Iterable[Op], inside: LoopScope, around: int, sources: Sources, reverse: Set[Op]) -> Iterator[OpRow]:
    """Yield the rows of ops; after a loop, those of its body."""
    for op in ops:
        row = OpRow(op, inside, around)
        yield row
        if isinstance(op, Call) and (loop := _loop_of(op)):
            yield from _op_rows(loop.body, inside.body(op), _body_group(row, sources, reverse), sources, reverse)


def _loop_of(op: Op) -> Loop | None:
    return op.fn if isinstance(op, Call) and isinstance(op.fn, Loop) else None


def _body_group(row: OpRow, sources: Sources, reverse: Set[Op]) -> int:
    """Return the group of the ops in the body of a loop."""
    loop: Loop = row.op.fn  # type: ignore[attr-defined]
    name = f"loop × {loop.count}" if loop.ending == "count" else loop.__name__
    return sources.group(_group_of(row, sources, reverse), f"%{row.inside.path}{row.op.id} {name}", "loop")


def _carried(op: Op) -> Iterator[tuple[Op | None, Op | None]]:
    """Yield the ops of the values that a loop carries, each with the input of the body that reads it next."""
    if loop := _loop_of(op):
        for v, result in zip(loop.inputs[len(loop.steps) :][: loop.carried], loop.results, strict=False):
            if isinstance(result, Variable):
                yield result.op, v.op


def _group_of(row: OpRow, sources: Sources, reverse: Set[Op]) -> int:
    """Return the group of an op: its line, in its pass or loop."""
    op, parent = row.op, row.around
    if parent < 0:
        parent = sources.group(-1, "reverse pass" if op in reverse else "forward pass", "pass")
    return parent if op.site is None else sources.group_of(parent, op.site)


def _reverse_ops(tape: AnyTape) -> Set[Op]:
    """Return the ops of a tape's reverse pass, with those that only unpack or pack its results."""
    end, found = _end_of_reverse_pass(tape), set[Op]()
    for op in tape:
        of_no_line = op.site is None and not op.note
        if is_reverse(op) or op.id > end or (of_no_line and any(v.op in found for v in op.references())):
            found.add(op)
    return found


def _end_of_reverse_pass(tape: AnyTape) -> int:
    """Return the id of the last op of a tape's reverse pass; later ops put value and cotangents into the result."""
    primal, result = primal_of(tape), tape._result
    ops = list(tape)
    if result is None or result.op is None or primal == result or primal not in list(result.op.references()):
        return len(ops)
    return max(op.id for op in ops if is_reverse(op))


def is_reverse(op: Op) -> bool:
    """Whether an op belongs to a reverse pass; a loop does if an op of its body does."""
    if loop := _loop_of(op):
        return any(map(is_reverse, loop.body))
    return (op.note[0] if isinstance(op.note, tuple) else op.note or "").startswith(REVERSE_NOTES)


def _op_type(op: Op) -> str:
    return "" if op.val is MISSING or (isinstance(op, Call) and op.guard) else in_line(type_text(op.val))


def _op_kind(op: Op) -> str:
    if isinstance(op, Call):
        return "guard" if op.guard else "call"
    return "const" if isinstance(op, Constant) else "input"


def _memory_columns(tape: AnyTape, places: Mapping[Op, int]) -> dict[str, list[int]]:
    """Return for each row the bytes of its value's own memory, and the last row that needs it."""
    own, until = [0] * len(places), list(range(len(places)))
    ops = list(tape)
    if tape._result is not None:
        for op, nbytes, last in zip(ops, *bytes_held(ops, tape.result), strict=True):
            own[places[op]], until[places[op]] = nbytes, places[ops[min(last, len(ops)) - 1]]
    return {"own": own, "until": until}


def primal_of(tape: AnyTape) -> Variable | None:
    """Return the value whose gradient a tape computes; for any other tape, its result."""
    result = tape._result
    op = result and result.op
    if isinstance(op, Call) and op.fn is make_tuple and op.args and any(map(is_reverse, tape)):
        first = op.args[0]
        return first if isinstance(first, Variable) else result
    return result
