"""Calls of helper functions between loop nests: functions of flat memory, to which offsets and strides are passed.

A helper returns whether it failed; NumPy then runs the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wengert.compiling.native.nests import SourceText
from wengert.compiling.native.values import View


@dataclass(eq=False)
class CallBlock:
    """A call of a helper that fills the view `made`, between nests; `sizes` are its last arguments."""

    name: str
    made: View
    operands: list[View]
    sizes: tuple[int, ...]

    def write(self, text: SourceText) -> None:
        args = [*_memory_and_offset(self.made)]
        for view in self.operands:
            strides = (*view.strides, 0)[:2]
            args += [*_memory_and_offset(view), *map(str, strides)]
        text.line(f"if {self.name}({', '.join([*args, *map(str, self.sizes)])}): return FAILED")


def _memory_and_offset(view: View) -> tuple[str, str]:
    return view.memory.text, view.offset.text


def call_helper(
    body: Any, name: str, sources: Sequence[str], operands: list[View], sizes: tuple[int, ...], shape: tuple[int, ...]
) -> View:
    """Append the call of a helper, of which the native module needs these sources, and which fills new memory."""
    body.program.helpers.update(dict.fromkeys(sources))
    made = body.level.new_array(shape)
    body.level.append_call(CallBlock(name, made, operands, sizes))
    return made
