"""Tapes as text: plain, one op a line with its type; compact, a call and its result's parts on one."""

from __future__ import annotations

import reprlib
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.errors import TapeError
from wengert.tape.interface import AnyTape
from wengert.tape.ops import MISSING, Call, Constant, Input, Op, Variable
from wengert.values.functional import Path, getfield
from wengert.values.names import display, in_line
from wengert.values.specs import Spec

SHOWN = 6  # elements of an array that are printed
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 40
_STYLES = {"variable": "cyan", "fn": "bold", "type": "green", "comment": "dim", "word": "magenta", "alarm": "bold red"}

StyledText = tuple[str, str]  # (text, style)


def type_text(value: Any) -> str:
    """`float`, `float64[3, 4]`, `(float, function)`."""
    if isinstance(value, np.ndarray):
        kind = "" if type(value) is np.ndarray else f"{type(value).__name__} "
        return f"{kind}{value.dtype}{list(value.shape)}"
    if isinstance(value, Spec):
        return f"{value.dtype}{list(value.shape)}" if value.pytype is np.ndarray else value.pytype.__name__
    if type(value) is tuple and len(value) <= SHOWN:
        return f"({', '.join(map(type_text, value))}{',' * (len(value) == 1)})"
    if value is None:
        return "None"
    return "function" if isinstance(value, types.FunctionType | types.BuiltinFunctionType) else type(value).__name__


def value_text(value: Any) -> str:
    """A value as it is shown inside a line: short, and arrays of more than a few elements by type and shape."""
    if isinstance(value, Variable | Spec | slice):
        return _slice_text(value) if isinstance(value, slice) else repr(value) if isinstance(value, Variable) else "?"
    if isinstance(value, np.ndarray):
        return repr(value.tolist()) if value.size <= SHOWN and value.dtype != object else type_text(value)
    if isinstance(value, tuple | list | dict):
        return repr(value) if type(value) is Path else _container_text(value)
    if isinstance(value, np.generic):
        return str(value)
    if value is None or value is Ellipsis or isinstance(value, int | float | complex | str | bytes):
        return "..." if value is Ellipsis else _short.repr(value) if isinstance(value, str | bytes) else repr(value)
    return str(value) if isinstance(value, np.dtype) else display(value) if callable(value) else f"<{type_text(value)}>"


def _container_text(value: Any) -> str:
    if len(value) > 2 * SHOWN and not any(isinstance(part, Variable) for part in value):
        return f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{value_text(key)}: {value_text(part)}" for key, part in value.items()) + "}"
    inside = ", ".join(map(value_text, value))
    if isinstance(value, list):
        return f"[{inside}]"
    return f"{type(value).__name__ if hasattr(value, '_fields') else ''}({inside}{',' * (len(value) == 1)})"


def _slice_text(part: slice) -> str:
    bounds = ["" if bound is None else value_text(bound) for bound in (part.start, part.stop, part.step)]
    return ":".join(bounds[:2] if bounds[2] == "" else bounds)


def note_text(note: Any) -> str:
    """What an op is on a derivative tape, as text."""
    return note if isinstance(note, str) else " ".join(str(part) for part in note or ())


def line(op: Op) -> str:
    """An op as one line of plain text, with its type."""
    return in_line("".join(piece for piece, _ in _pieces(op, types=True)).strip())


def op_pieces(op: Op) -> list[StyledText]:
    """An op as pieces of text, each with the style in which it is shown; without its type."""
    return list(_pieces(op, types=False))


def _pieces(op: Op, types: bool) -> Iterator[StyledText]:
    yield from _head(op)
    yield from _body(op)
    if types and op.val is not MISSING and not (isinstance(op, Call) and op.guard):
        yield f"::{type_text(op.val)}", "type"


def _head(op: Op) -> Iterator[StyledText]:
    if isinstance(op, Input):
        yield "inp ", "word"
        yield f"%{op.id}", "variable"
        yield f" = {op.name}" if op.name else "", ""
    elif isinstance(op, Call) and op.guard:
        yield "guard ", "word"
    else:
        yield "const " if isinstance(op, Constant) else "", "word"
        yield f"%{op.id}", "variable"
        yield " = ", ""


def _body(op: Op) -> Iterator[StyledText]:
    if isinstance(op, Constant):
        yield value_text(op.val), ""
    elif isinstance(op, Call):
        yield value_text(op.fn), "fn"
        named = [f"{name}={value_text(value)}" for name, value in op.kwargs.items()]
        yield f"({', '.join([*map(value_text, op.args), *named])})", ""
        if op.guard:
            yield " is ", "word"
            yield value_text(op.val), ""


def _comment(ops: Sequence[Op], sites: bool, notes: bool) -> Iterator[StyledText]:
    said = [note_text(op.note) for op in ops if notes and op.note and not _about(op.note, ops)]
    where = [str(op.site) for op in ops[:1] if sites and op.site]
    if said or where:
        yield "  # " + "; ".join(said + where), "comment"


def _about(note: Any, ops: Sequence[Op]) -> bool:
    """Whether a note speaks of an op of the same line, where it tells nothing new."""
    return len(ops) > 1 and isinstance(note, tuple) and any(isinstance(v, Variable) and v.op in ops for v in note)


def _groups(ops: Sequence[Op], form: str) -> Iterator[list[Op]]:
    """The ops that share a line: in the compact form a call and the getfields that take its parts."""
    k = 0
    while k < len(ops):
        n = _parts(ops, k) if form == "compact" else 0
        n = n if n >= 2 else 0
        yield list(ops[k : k + 1 + n])
        k += 1 + n


def _parts(ops: Sequence[Op], k: int) -> int:
    """How many ops after `ops[k]` take the parts 0, 1, ... of its value, in turn."""
    n = 0
    while isinstance(ops[k], Call) and k + n + 1 < len(ops):
        op = ops[k + n + 1]
        if not (
            isinstance(op, Call)
            and op.fn is getfield
            and len(op.args) == 2
            and isinstance(op.args[0], Variable)
            and op.args[0].op is ops[k]
            and op.args[1] == n
        ):
            break
        n += 1
    return n


def _group_pieces(group: Sequence[Op], types: bool) -> Iterator[StyledText]:
    if len(group) == 1:
        yield from _pieces(group[0], types)
        return
    yield ", ".join(f"%{op.id}" for op in group[1:]), "variable"
    yield " = [", ""
    yield f"%{group[0].id}", "variable"
    yield "] = ", ""
    yield from _body(group[0])


def _lines(tape: AnyTape, form: str, types: bool, sites: bool, notes: bool) -> Iterator[list[StyledText]]:
    if form not in ("plain", "compact"):
        raise TapeError(f"no form {form!r} of a tape; there are 'plain' and 'compact'")
    yield [(f"Tape({type(tape.ctx).__name__})", "word")]
    for group in _groups(list(tape), form):
        yield [("  ", ""), *_group_pieces(group, types and form == "plain"), *_comment(group, sites, notes)]
    if tape._result is not None:
        yield [("  return ", "word"), (repr(tape.result), "variable")]


def dump(
    tape: AnyTape,
    form: str = "plain",
    *,
    types: bool = True,
    sites: bool = False,
    notes: bool = True,
    color: bool = False,
) -> str:
    """The tape as text, with terminal colours on demand (these need the rich package)."""
    if color:
        from rich.console import Console

        console = Console(force_terminal=True, color_system="standard", width=10_000)
        with console.capture() as capture:
            console.print(rich_tape(tape, form, types=types, sites=sites, notes=notes), soft_wrap=True, end="")
        return capture.get()
    return "\n".join(
        in_line("".join(piece for piece, _ in pieces)) for pieces in _lines(tape, form, types, sites, notes)
    )


def rich_tape(tape: AnyTape, form: str, *, types: bool, sites: bool, notes: bool) -> Any:
    """The tape as a text of the rich package."""
    from rich.text import Text

    return Text("\n").join(map(_styled, _lines(tape, form, types, sites, notes)))


def _styled(pieces: Iterable[StyledText]) -> Any:
    from rich.text import Text

    return Text.assemble(*((in_line(piece), _STYLES.get(style, "")) for piece, style in pieces))


def show_tape(tape: AnyTape, form: str = "plain", *, types: bool, sites: bool, notes: bool) -> None:
    """Print the tape; in colour where the output is a terminal and the rich package is there."""
    try:
        from rich.console import Console
    except ImportError:
        print(dump(tape, form, types=types, sites=sites, notes=notes))
        return
    Console().print(rich_tape(tape, form, types=types, sites=sites, notes=notes), soft_wrap=True)


def show_pieces(pieces: Sequence[StyledText]) -> None:
    """Print one line of pieces, as `show` does."""
    try:
        from rich.console import Console
    except ImportError:
        print("".join(piece for piece, _ in pieces))
        return
    Console().print(_styled(pieces), soft_wrap=True)
