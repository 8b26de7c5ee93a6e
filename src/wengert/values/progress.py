"""Progress of long work: on a terminal after two seconds, and in a note of the KeyboardInterrupt that stops it.

Work that took longer is logged as INFO by `logging.getLogger("wengert")`, if the program uses `logging`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from wengert.values.callables import callable_name

AFTER = 2.0  # seconds until progress is shown
PERIOD = 0.1  # seconds between two updates
_begun: list[Telling] = []  # only one is shown: the outermost, which began first


class Telling:
    """A context manager for long work, of which `done` of `total` parts are done; the total is 0 if unknown.

    `words` name the work on `f`, `parts` its units; without `parts` it is a watched trace. Unless `quiet`, a separate
    thread shows the progress on the standard error if that is a terminal, and logs the time that it took. The working
    thread may be traced, so it only counts.
    """

    def __init__(self, words: str, f: Any, parts: str = "", total: int = 0, quiet: bool = False) -> None:
        self.words, self.f, self.parts, self.total, self.done, self.quiet = words, f, parts, total, 0, quiet
        self.back: Telling | None = None  # the progress of the reverse pass
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __str__(self) -> str:
        return f"{self.title}, {self.done} of {self.total} {self.parts} done" if self.total else self.title

    @property
    def title(self) -> str:
        """The label, computed when shown because finding the name of the function takes time."""
        return f"{self.words} of {callable_name(self.f)}"

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def count(self, parts: int = 1) -> None:
        """Count further parts as done."""
        self.done += parts

    def begin(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Show progress once the work has taken AFTER seconds, while `goes_on()` is true."""
        if self.quiet or not (_is_terminal(sys.stderr) or _logger() is not None):
            return
        self._thread = threading.Thread(target=self._show, args=(goes_on,), name=self.title, daemon=True)
        _begun.append(self)
        self._thread.start()

    def __enter__(self) -> Telling:
        try:
            self.begin()
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self._over.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()
        self._forget()  # a thread that did not start cannot
        if isinstance(error, KeyboardInterrupt):
            error.add_note(f"interrupted: {self}")

    def _show(self, goes_on: Callable[[], bool]) -> None:
        begun = time.monotonic()
        try:
            while time.monotonic() < begun + AFTER:
                if self._over.wait(PERIOD) or not goes_on():
                    return
            if _is_terminal(sys.stderr) and next((one for one in _begun if not one.is_over), None) is self:
                self._follow(goes_on) if self.parts else self._say()
            while not self._over.wait(PERIOD) and goes_on():
                pass
        finally:
            self._forget()
        logger = _logger()
        if logger is not None:
            logger.info("%s took %.1f s", self.title, time.monotonic() - begun)

    def _forget(self) -> None:
        if self in _begun:
            _begun.remove(self)

    def _say(self) -> None:
        """Show the title without rich: a watched trace would see rich's new classes as a change outside."""
        sys.stderr.write(f"{self.title} …")
        sys.stderr.flush()
        self._over.wait()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    def _follow(self, goes_on: Callable[[], bool]) -> None:
        """Show a progress bar until the work is over."""
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


def _logger() -> Any:
    """Return the logger of this package, if the program uses `logging` and wants INFO."""
    logging = sys.modules.get("logging")
    found = None if logging is None else logging.getLogger("wengert")
    return found if found is not None and found.isEnabledFor(logging.INFO) else None  # type: ignore[union-attr]


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # None, closed, or an object with `write` only
        return False


__all__ = ["Telling"]
