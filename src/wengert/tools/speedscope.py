"""A profile in the file format of speedscope: seconds and bytes by stacks of the user's lines.

Source: https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources, the "sampled" profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def speedscope_text(profile: Any) -> str:
    """Return the text of the file: the stacks of seconds, and of bytes, each forward and in reverse."""
    frames: dict[tuple[Any, ...], int] = {}
    seconds = _samples(profile, frames, lambda row: (row.forward, row.reverse))
    sizes = _samples(profile, frames, lambda row: (row.forward_bytes, row.reverse_bytes))
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "name": profile.title,
            "exporter": "wengert",
            "activeProfileIndex": 0,
            "shared": {"frames": [dict(frame) for frame in frames]},
            "profiles": [
                {"type": "sampled", "name": "time", "unit": "seconds", **seconds},
                {"type": "sampled", "name": "allocated at once", "unit": "bytes", **sizes},
            ],
        }
    )


def _samples(profile: Any, frames: dict[tuple[Any, ...], int], amounts: Callable[[Any], Any]) -> dict[str, Any]:
    samples, weights = [], []
    for row in profile.rows:
        stack, primitive = row.what
        for name, amount in zip(("forward", "reverse"), amounts(row), strict=True):
            if amount > 0:
                stack_frames = [(("name", name),), *map(_frame, stack), (("name", primitive or "Python"),)]
                samples.append([frames.setdefault(frame, len(frames)) for frame in stack_frames])
                weights.append(amount)
    return {"startValue": 0, "endValue": sum(weights), "samples": samples, "weights": weights}


def _frame(line: tuple[str, int, str]) -> tuple[Any, ...]:
    file, number, function = line
    return ("name", f"{function}:{number}"), ("file", file), ("line", number)
