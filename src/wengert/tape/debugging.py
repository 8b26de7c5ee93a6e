"""`play(debug=True)`: prints each op with its value as it runs, and marks values that differ from the recording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.tape.dump import SHOWN, line, show_pieces, type_text, value_text
from wengert.tape.ops import MISSING, Call, Op


class PlayPrinter:
    """Prints the ops of one run of a tape, with marks."""

    def __init__(self) -> None:
        self.bad: dict[Op, str] = {}

    def show(self, op: Op, value: Any) -> None:
        """Print an op and its value in this run."""
        shown = "" if isinstance(op, Call) and op.guard else f" = {_summary(value)}"
        marks = "; ".join(self._marks(op, value))
        show_pieces([(line(op), "fn"), (shown, ""), (f"  <- {marks}" if marks else "", "alarm")])

    def _marks(self, op: Op, value: Any) -> Iterator[str]:
        """Yield the warnings about a value: its type is not the recorded one, or it holds a nan or inf."""
        if op.val is not MISSING and type_text(value) != type_text(op.val):
            yield f"was {type_text(op.val)} when recorded, now {type_text(value)}"
        bad = _nan_or_inf(value)
        if bad:
            inherited = any(v.op in self.bad and self.bad[v.op] == bad for v in op.references())
            self.bad[op] = bad
            yield bad if inherited else f"first {bad}"


def _summary(value: Any) -> str:
    """Format a small value in full, and a large array as its type and range."""
    if isinstance(value, np.ndarray) and value.size > SHOWN and value.dtype.kind in "fiu":
        return f"{type_text(value)} from {np.min(value):.6g} to {np.max(value):.6g}"
    return value_text(value)


def _nan_or_inf(value: Any) -> str:
    """Return "nan" or "inf" if a value holds one, else an empty string."""
    if not isinstance(value, float | complex | np.inexact | np.ndarray) or np.asarray(value).dtype.kind not in "fc":
        return ""
    return "nan" if np.any(np.isnan(value)) else "inf" if np.any(np.isinf(value)) else ""


def add_tape_note(error: BaseException, op: Op) -> None:
    """Add to an exception a note of the tape's line that raised it, and of the user's line."""
    error.add_note(f"in `{line(op)}` of the tape" + (f", from {op.site}" if op.site else ""))
