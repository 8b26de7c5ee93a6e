"""`play(debug=True)`: prints each op with its value as it runs, and marks what is not as it was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.tape.dump import SHOWN, line, show_pieces, type_text, value_text
from wengert.tape.ops import MISSING, Call, Op


class Watch:
    """Prints the ops of one run of a tape, with marks."""

    def __init__(self) -> None:
        self.bad: dict[Op, str] = {}

    def show(self, op: Op, value: Any) -> None:
        """Print an op and the value that it has now."""
        shown = "" if isinstance(op, Call) and op.guard else f" = {_summary(value)}"
        marks = "; ".join(self._marks(op, value))
        show_pieces([(line(op), "fn"), (shown, ""), (f"  <- {marks}" if marks else "", "alarm")])

    def _marks(self, op: Op, value: Any) -> Iterator[str]:
        """The warnings about a value: its type is not as recorded, or it is the first to hold a nan or inf."""
        if op.val is not MISSING and type_text(value) != type_text(op.val):
            yield f"was {type_text(op.val)} when recorded, now {type_text(value)}"
        bad = _bad(value)
        if bad:
            inherited = any(v.op in self.bad and self.bad[v.op] == bad for v in op.references())
            self.bad[op] = bad
            yield bad if inherited else f"first {bad}"


def _summary(value: Any) -> str:
    """A value in a few words: small ones in full, of a large array its type and range."""
    if isinstance(value, np.ndarray) and value.size > SHOWN and value.dtype.kind in "fiu":
        return f"{type_text(value)} from {np.min(value):.6g} to {np.max(value):.6g}"
    return value_text(value)


def _bad(value: Any) -> str:
    """`nan` or `inf` where a value holds one."""
    if not isinstance(value, float | complex | np.inexact | np.ndarray) or np.asarray(value).dtype.kind not in "fc":
        return ""
    return "nan" if np.any(np.isnan(value)) else "inf" if np.any(np.isinf(value)) else ""


def note(error: BaseException, op: Op) -> None:
    """Add to an exception the line of the tape that raised it, and the user's line behind that."""
    error.add_note(f"in `{line(op)}` of the tape" + (f", from {op.site}" if op.site else ""))
