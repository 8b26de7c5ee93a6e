"""Tapes as text. The plain form has one op a line, with its type; in the compact form a call's parts share its line.

The body of a loop is printed below its call. `%4.7` is the seventh op in the body of the loop at %4. An input of a body
shows where its value comes from: `from %1, then %4.6` is loop-carried.
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
_short_repr = reprlib.Repr()
_short_repr.maxstring = _short_repr.maxother = 40
_STYLES = {"variable": "cyan", "fn": "bold", "type": "green", "comment": "dim", "word": "magenta", "alarm": "bold red"}

StyledText = tuple[str, str]  # (text, style)


def type_text(value: Any) -> str:
    """Format a value's type: `float`, `float64[3, 4]`, `(float, function)`."""
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
    """Format a value briefly, for use inside a line; an array of more than a few elements is its type and shape."""
    if isinstance(value, Variable | Spec | slice):
        return _slice_text(value) if isinstance(value, slice) else repr(value) if isinstance(value, Variable) else "?"
    if isinstance(value, np.ndarray):
        return repr(value.tolist()) if value.size <= SHOWN and value.dtype != object else type_text(value)
    if isinstance(value, tuple | list | dict):
        return repr(value) if type(value) is Path else _container_text(value)
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, str | bytes):
        return _short_repr.repr(value)
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
    """Format an op as one line of plain text, with its type."""
    return in_line("".join(piece for piece, _ in op_pieces(op, types=True)).strip())


class LoopScope(NamedTuple):
    """The tape, or the body of a loop, that an op belongs to.

    `path` comes before the numbers of its ops; `origins` says of each input of a body where its value comes from.
    """

    path: str = ""
    origins: Mapping[Op, str] = {}

    def body(self, op: Call) -> LoopScope:
        """Return the scope of the body of the loop that `op` calls."""
        loop: Loop = op.fn
        inner = LoopScope(f"{self.path}{op.id}.")
        n, m = len(loop.steps), len(loop.steps) + loop.carried
        args, after = ([value_text(at.text(v)) for v in vs] for at, vs in ((self, op.args), (inner, loop.results)))
        texts = [f" from {a} by {step}" for a, step in zip(args, loop.steps, strict=False)]
        texts += [f" from {a}, then {b}" for a, b in zip(args[n:m], after, strict=False)]
        texts += [f", always {a}" for a in args[m:]]
        return inner._replace(origins={v.op: text for v, text in zip(loop.inputs, texts, strict=False) if v.op})

    def text(self, tree: Any) -> Any:
        """Return an argument with Variables that are printed with the path."""
        return with_variables(tree, lambda v: _BodyVariable(v, self.path)) if self.path else tree


class _BodyVariable(Variable):
    """A Variable in the body of a loop, printed as `%4.7`."""

    __slots__ = ("path",)

    def __init__(self, v: Variable, path: str) -> None:
        super().__init__(v.id)
        self.path = path

    def __repr__(self) -> str:
        return f"%{self.path}{self.id or '?'}"


OUTERMOST = LoopScope()


def op_pieces(op: Op, inside: LoopScope = OUTERMOST, types: bool = False) -> Iterator[StyledText]:
    """Yield an op as pieces of text, each with the style in which it is shown."""
    yield from _head(op, inside)
    yield from _body(op, inside)
    if types and op.val is not MISSING and not (isinstance(op, Call) and op.guard):
        yield f"::{type_text(op.val)}", "type"


def _head(op: Op, inside: LoopScope) -> Iterator[StyledText]:
    if isinstance(op, Input):
        yield "inp ", "word"
        yield f"%{inside.path}{op.id}", "variable"
        yield f" = {op.name}" if op.name else "", ""
        yield inside.origins.get(op, ""), ""
    elif isinstance(op, Call) and op.guard:
        yield "guard ", "word"
    else:
        yield "const " if isinstance(op, Constant) else "", "word"
        yield f"%{inside.path}{op.id}", "variable"
        yield " = ", ""


def _body(op: Op, inside: LoopScope) -> Iterator[StyledText]:
    if isinstance(op, Constant):
        yield value_text(op.val), ""
    elif isinstance(op, Call):
        yield value_text(inside.text(op.fn)), "fn"
        named = [f"{name}={value_text(value)}" for name, value in inside.text(op.kwargs).items()]
        yield f"({', '.join([*map(value_text, inside.text(op.args)), *named])})", ""
        if op.guard:
            yield " is ", "word"
            yield value_text(op.val), ""


def _comment(ops: Sequence[Op], sites: bool, notes: bool, inside: LoopScope) -> Iterator[StyledText]:
    texts = [note_text(inside.text(op.note)) for op in ops if notes and op.note and not _notes_same_line(op.note, ops)]
    texts += [str(op.site) for op in ops[:1] if sites and op.site]
    if texts:
        yield "  # " + "; ".join(texts), "comment"


def _notes_same_line(note: Any, ops: Sequence[Op]) -> bool:
    """Whether a note refers to an op of its own line, so that it adds nothing."""
    return len(ops) > 1 and isinstance(note, tuple) and any(isinstance(v, Variable) and v.op in ops for v in note)


def _groups(ops: Sequence[Op], form: str) -> Iterator[list[Op]]:
    """Yield the ops that share a line: in the compact form a call and the getfields that read its parts."""
    k = 0
    while k < len(ops):
        n = _count_field_reads(ops, k) if form == "compact" else 0
        n = n if n >= 2 else 0
        yield list(ops[k : k + 1 + n])
        k += 1 + n


def _count_field_reads(ops: Sequence[Op], k: int) -> int:
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


def _group_pieces(group: Sequence[Op], types: bool, inside: LoopScope) -> Iterator[StyledText]:
    if len(group) == 1:
        yield from op_pieces(group[0], inside, types)
        return
    yield ", ".join(f"%{inside.path}{op.id}" for op in group[1:]), "variable"
    yield " = [", ""
    yield f"%{inside.path}{group[0].id}", "variable"
    yield "] = ", ""
    yield from _body(group[0], inside)


def _tape_lines(tape: AnyTape, form: str, types: bool, sites: bool, notes: bool) -> Iterator[list[StyledText]]:
    if form not in ("plain", "compact"):
        raise TapeError(f"form must be 'plain' or 'compact', not {form!r}")
    yield [(f"Tape({type(tape.ctx).__name__})", "word")]
    yield from _scope_lines(tape, OUTERMOST, form, types, sites, notes)


def _scope_lines(
    tape: AnyTape, inside: LoopScope, form: str, types: bool, sites: bool, notes: bool
) -> Iterator[list[StyledText]]:
    """Yield the lines of a tape, or of the body of a loop."""
    margin = "  " * (1 + inside.path.count("."))
    for group in _groups(list(tape), form):
        pieces = _group_pieces(group, types and form == "plain", inside)
        yield [(margin, ""), *pieces, *_comment(group, sites, notes, inside)]
        op = group[0]
        if isinstance(op, Call) and isinstance(op.fn, Loop):
            yield from _scope_lines(op.fn.body, inside.body(op), form, types, sites, notes)
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
    """Format the tape; with `color`, in terminal colours, which need the rich package."""
    if color:
        from rich.console import Console

        console = Console(force_terminal=True, color_system="standard", width=10_000)
        with console.capture() as capture:
            console.print(rich_tape(tape, form, types=types, sites=sites, notes=notes), soft_wrap=True, end="")
        return capture.get()
    return "\n".join(
        in_line("".join(piece for piece, _ in pieces)) for pieces in _tape_lines(tape, form, types, sites, notes)
    )


def rich_tape(tape: AnyTape, form: str, *, types: bool, sites: bool, notes: bool) -> Any:
    """Return the tape as a `Text` of the rich package."""
    from rich.text import Text

    return Text("\n").join(map(_styled, _tape_lines(tape, form, types, sites, notes)))


def _styled(pieces: Iterable[StyledText]) -> Any:
    from rich.text import Text

    return Text.assemble(*((in_line(piece), _STYLES.get(style, "")) for piece, style in pieces))


def show_tape(tape: AnyTape, form: str = "plain", *, types: bool, sites: bool, notes: bool) -> None:
    """Print the tape; in colour if the output is a terminal and the rich package is installed."""
    try:
        from rich.console import Console
    except ImportError:
        print(dump(tape, form, types=types, sites=sites, notes=notes))
        return
    Console().print(rich_tape(tape, form, types=types, sites=sites, notes=notes), soft_wrap=True)


def show_pieces(pieces: Sequence[StyledText]) -> None:
    """Print one line, in colour under the same conditions as `show_tape`."""
    try:
        from rich.console import Console
    except ImportError:
        print("".join(piece for piece, _ in pieces))
        return
    Console().print(_styled(pieces), soft_wrap=True)
