"""Long work tells how far it is: on a terminal after two seconds, and on the exception that interrupts it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from wengert.values.callables import callable_name

AFTER = 2.0  # seconds until it tells
PERIOD = 0.1  # seconds between two looks at the work
_begun: list[Telling] = []  # what may be shown, of which one is at a time: the outermost, which began first


class Telling:
    """A context around long work, of which `done` of `total` parts are done; the total is 0 where it is not known.

    `words` say what is done with `f`, `parts` what there are of it; without these it is a trace that is watched. A
    thread of its own shows it on the standard error, where that is a terminal and unless it is to be `quiet`: the one
    that works may trace, and only counts.
    """

    def __init__(self, words: str, f: Any, parts: str = "", total: int = 0, quiet: bool = False) -> None:
        self.words, self.f, self.parts, self.total, self.done, self.quiet = words, f, parts, total, 0, quiet
        self.back: Telling | None = None  # what tells of the way back
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __str__(self) -> str:
        return f"{self.title}, {self.done} of {self.total} {self.parts} done" if self.total else self.title

    @property
    def title(self) -> str:
        """The label; computed when it is shown, because finding the name of the function takes time."""
        return f"{self.words} of {callable_name(self.f)}"

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def count(self, parts: int = 1) -> None:
        """So many parts more are done."""
        self.done += parts

    def begin(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Have it shown from when it has taken long, as long as it `goes_on`."""
        if self.quiet or not _is_terminal(sys.stderr):
            return
        self._thread = threading.Thread(target=self._show, args=(goes_on,), name=self.title, daemon=True)
        _begun.append(self)
        self._thread.start()

    def __enter__(self) -> Telling:
        try:
            self.begin()
        except BaseException:
            self._over.set()
            raise
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self._over.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()
        if isinstance(error, KeyboardInterrupt):
            error.add_note(f"interrupted: {self}")

    def _show(self, goes_on: Callable[[], bool]) -> None:
        begun = time.monotonic()
        try:
            while time.monotonic() < begun + AFTER:
                if self._over.wait(PERIOD) or not goes_on():
                    return
            if next((one for one in _begun if not one.is_over), None) is self:
                self._follow(goes_on) if self.parts else self._say()
        finally:
            _begun.remove(self)

    def _say(self) -> None:
        """Show the words alone, without rich: its classes would be a change outside to a trace that is watched."""
        sys.stderr.write(f"{self.title} …")
        sys.stderr.flush()
        self._over.wait()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    def _follow(self, goes_on: Callable[[], bool]) -> None:
        """Show it until it is over."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(self.parts),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as progress:
            task = progress.add_task(self.title, total=None)
            while not self._over.wait(PERIOD) and goes_on():
                progress.update(task, completed=self.done, total=self.total or None, refresh=True)


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # there is none, or it is closed, or it is what can only be written to
        return False


__all__ = ["Telling"]
