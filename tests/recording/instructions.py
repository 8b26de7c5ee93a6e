"""Acting at a chosen instruction of this package, as an interrupt, a finaliser or a signal's handler may."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from wengert.values.frames import ENGINE

OURS = (ENGINE, "<wengert")
TOOL = 2


class Watch:
    """Acts at the k-th instruction in this package's frames."""

    def __init__(self, k: int, act: Callable[[], Any]) -> None:
        self.k, self.act, self.seen = k, act, 0

    def over(self, program: Callable[[], Any]) -> Any:
        """The result of the program under watch."""
        return self._traced(program) if sys.version_info < (3, 12) else self._monitored(program)

    def _traced(self, program: Callable[[], Any]) -> Any:
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            return program()
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            self._count()
        return self._step

    def _monitored(self, program: Callable[[], Any]) -> Any:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        event = monitoring.events.INSTRUCTION
        monitoring.use_tool_id(TOOL, "tests")
        try:
            monitoring.register_callback(TOOL, event, self._instruction)
            monitoring.set_events(TOOL, event)
            return program()
        finally:
            monitoring.set_events(TOOL, 0)
            monitoring.register_callback(TOOL, event, None)
            monitoring.free_tool_id(TOOL)

    def _instruction(self, code: CodeType, offset: int) -> Any:
        if not code.co_filename.startswith(OURS):
            return sys.monitoring.DISABLE  # type: ignore[attr-defined]
        self._count()

    def _count(self) -> None:
        self.seen += 1
        if self.seen == self.k:
            self.act()


def instructions(program: Callable[[], Any]) -> int:
    for _ in range(130):  # until all steps have been generated
        program()
    watch = Watch(-1, lambda: None)
    watch.over(program)
    return watch.seen
