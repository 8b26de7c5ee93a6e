"""Calls with `out=` whose whole result is written into one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.standins.ufuncs import LAYOUT
from wengert.hooks.writes import record_write
from wengert.recording.primitives import Primitive
from wengert.recording.record import as_called
from wengert.recording.recording import Recording, users_line


def write_whole(
    recording: Recording, primitive: Primitive, args: tuple[Any, ...], out: Any, words: dict[str, Any]
) -> Any:
    """Record a call whose whole result is written into one array."""
    if isinstance(out, np.generic):
        return primitive.fn(*args, out=out, **words)  # raises
    if not isinstance(out, np.ndarray):
        error = recording.refuse(
            RefusedCallError(
                f"{users_line()}: {primitive.name} writes into out= of type {type(out).__name__}, which cannot be "
                "traced. Assign the result instead."
            )
        )
        raise as_called(recording, primitive, args, {**words, "out": out}, error)
    rest = {name: value for name, value in words.items() if name not in LAYOUT}
    normal, rule = args, primitive.rule
    assert rule is not None
    if rest or (rule.sequence is not None and len(args) > rule.sequence + 1):
        normal, rest = rule.normalise(args, rest)

    def run() -> Any:
        made = primitive.fn(*args, out=out, **words)
        if made is not out and not primitive.is_trusted:
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: {primitive.name} does not return its out=, and may write another value there, "
                    "which its rule does not know. Rename the parameter, or return the array."
                )
            )
        return made

    return record_write(primitive, run, out, normal, rest)
