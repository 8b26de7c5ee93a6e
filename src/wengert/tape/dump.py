"""Tapes as text: plain, one op a line with its type; compact, a call and its result's parts on one.

The body of a loop stands below the call, `%4.7` being the seventh op in the body of that at %4. Its inputs say what
they are: `from %1, then %4.6` is carried.
"""

from __future__ import annotations

import reprlib
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import TapeError
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import MISSING, Call, Constant, Input, Op, Variable, with_variables
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
    if isinstance(value, str | bytes):
        return _short.repr(value)
    if value is None or value is Ellipsis or isinstance(value, int | float | complex):
        return "..." if value is Ellipsis else number_text(value)
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


def number_text(value: Any) -> str:
    """Return the literal of a number; Python refuses to write long integers in decimal digits."""
    return hex(value) if isinstance(value, int) and value.bit_length() > 2048 else repr(value)


def _slice_text(part: slice) -> str:
    bounds = ["" if bound is None else value_text(bound) for bound in (part.start, part.stop, part.step)]
    return ":".join(bounds[:2] if bounds[2] == "" else bounds)


def note_text(note: Any) -> str:
    """Format an op's note, which says what the op is on a derivative tape."""
    return note if isinstance(note, str) else " ".join(str(part) for part in note or ())


def line(op: Op) -> str:
    """An op as one line of plain text, with its type."""
    return in_line("".join(piece for piece, _ in _pieces(op, types=True)).strip())


class Inside(NamedTuple):
    """Where ops stand: `path` is before the numbers of those in the body of a loop, whose inputs are as `given`."""

    path: str = ""
    given: Mapping[Op, str] = {}

    def body(self, op: Call) -> Inside:
        """The body of the loop that `op` calls."""
        loop: Loop = op.fn
        inner = Inside(f"{self.path}{op.id}.")
        n, m = len(loop.steps), len(loop.steps) + loop.carried
        args, after = ([value_text(at.text(v)) for v in vs] for at, vs in ((self, op.args), (inner, loop.results)))
        texts = [f" from {a} by {step}" for a, step in zip(args, loop.steps, strict=False)]
        texts += [f" from {a}, then {b}" for a, b in zip(args[n:m], after, strict=False)]
        texts += [f", always {a}" for a in args[m:]]
        return inner._replace(given={v.op: text for v, text in zip(loop.inputs, texts, strict=False) if v.op})

    def text(self, tree: Any) -> Any:
        """An argument, with Variables that are shown with the path."""
        return with_variables(tree, lambda v: _Shown(v, self.path)) if self.path else tree


class _Shown(Variable):
    """A Variable in the body of a loop, shown as `%4.7`."""

    __slots__ = ("path",)

    def __init__(self, v: Variable, path: str) -> None:
        super().__init__(v.id)
        self.path = path

    def __repr__(self) -> str:
        return f"%{self.path}{self.id or '?'}"


TOP = Inside()


def op_pieces(op: Op, inside: Inside = TOP) -> list[StyledText]:
    """An op as pieces of text, each with the style in which it is shown; without its type."""
    return list(_pieces(op, False, inside))


def _pieces(op: Op, types: bool, inside: Inside = TOP) -> Iterator[StyledText]:
    yield from _head(op, inside)
    yield from _body(op, inside)
    if types and op.val is not MISSING and not (isinstance(op, Call) and op.guard):
        yield f"::{type_text(op.val)}", "type"


def _head(op: Op, inside: Inside) -> Iterator[StyledText]:
    if isinstance(op, Input):
        yield "inp ", "word"
        yield f"%{inside.path}{op.id}", "variable"
        yield f" = {op.name}" if op.name else "", ""
        yield inside.given.get(op, ""), ""
    elif isinstance(op, Call) and op.guard:
        yield "guard ", "word"
    else:
        yield "const " if isinstance(op, Constant) else "", "word"
        yield f"%{inside.path}{op.id}", "variable"
        yield " = ", ""


def _body(op: Op, inside: Inside) -> Iterator[StyledText]:
    if isinstance(op, Constant):
        yield value_text(op.val), ""
    elif isinstance(op, Call):
        yield value_text(inside.text(op.fn)), "fn"
        named = [f"{name}={value_text(value)}" for name, value in inside.text(op.kwargs).items()]
        yield f"({', '.join([*map(value_text, inside.text(op.args)), *named])})", ""
        if op.guard:
            yield " is ", "word"
            yield value_text(op.val), ""


def _comment(ops: Sequence[Op], sites: bool, notes: bool, inside: Inside) -> Iterator[StyledText]:
    said = [note_text(inside.text(op.note)) for op in ops if notes and op.note and not _about(op.note, ops)]
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
    """Count the ops after `ops[k]` that read the parts 0, 1, ... of its value, in turn."""
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


def _group_pieces(group: Sequence[Op], types: bool, inside: Inside) -> Iterator[StyledText]:
    if len(group) == 1:
        yield from _pieces(group[0], types, inside)
        return
    yield ", ".join(f"%{inside.path}{op.id}" for op in group[1:]), "variable"
    yield " = [", ""
    yield f"%{inside.path}{group[0].id}", "variable"
    yield "] = ", ""
    yield from _body(group[0], inside)


def _lines(tape: AnyTape, form: str, types: bool, sites: bool, notes: bool) -> Iterator[list[StyledText]]:
    if form not in ("plain", "compact"):
        raise TapeError(f"no form {form!r} of a tape; there are 'plain' and 'compact'")
    yield [(f"Tape({type(tape.ctx).__name__})", "word")]
    yield from _block(tape, TOP, form, types, sites, notes)


def _block(
    tape: AnyTape, inside: Inside, form: str, types: bool, sites: bool, notes: bool
) -> Iterator[list[StyledText]]:
    """The lines of a tape, or of a body."""
    margin = "  " * (1 + inside.path.count("."))
    for group in _groups(list(tape), form):
        pieces = _group_pieces(group, types and form == "plain", inside)
        yield [(margin, ""), *pieces, *_comment(group, sites, notes, inside)]
        op = group[0]
        if isinstance(op, Call) and isinstance(op.fn, Loop):
            yield from _block(op.fn.body, inside.body(op), form, types, sites, notes)
    if tape._result is not None:
        yield [(f"{margin}return ", "word"), (repr(inside.text(tape.result)), "variable")]


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
