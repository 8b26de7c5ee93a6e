"""Long work tells how far it is, on a terminal and nowhere else; what interrupts it leaves nothing behind."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import logging
import numbers
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.recording.recording import STATE
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW
from wengert.values import progress
from wengert.values.progress import Telling

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join(map(str, (ROOT / "src", ROOT / "rules")))
ENVIRONMENT = {**os.environ, "PYTHONPATH": PATH, "TERM": "xterm", "COLUMNS": "100"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal, for `redirect_stderr`, on which long work tells after 0.1 seconds."""
    monkeypatch.setattr(progress, "AFTER", 0.1)
    monkeypatch.setattr(progress, "PERIOD", 0.02)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    import rich.progress  # noqa: F401 -- which takes as long as the work

    return Terminal()


def told(terminal: Terminal) -> list[str]:
    """What was shown, without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()).replace("\r", "\n").splitlines()


def slow(x: np.ndarray) -> float:
    time.sleep(0.005)
    return np.sum(x**2)


def step(x: float, i: int) -> float:
    time.sleep(0.02)
    return np.sin(x) + 0.1 * x * x


def stencil(x: np.ndarray) -> np.ndarray:
    time.sleep(0.3)
    return x[1:] * x[:-1]


def looped(x: float) -> float:
    return wg.checkpoint_loop(step, x, 30)


def quietly(x: float) -> float:
    return wg.checkpoint_loop(step, x, 30, quiet=True)


def long(x: float) -> float:
    """Its trace takes a second, and asks what is an instance of an abstract class."""
    for _ in range(6000):
        x = x * 0.999 + isinstance(x, numbers.Real)
    return x


def compiled(quiet: bool) -> None:
    f = wg.compile(long, quiet=quiet)
    assert f(0.3) == pytest.approx(long(0.3)) and "1 trace" in f.explain()


WORK = {
    "check_grads of test_progress.slow": (
        lambda quiet: wg.check_grads(slow, np.arange(1.0, 17.0), quiet=quiet),
        r"\d+/16 numbers",
    ),
    "loop of test_progress.step": (lambda quiet: wg.grad(quietly if quiet else looped)(0.3), r"\d+/30 steps"),
    "walk back over the loop of test_progress.step": (
        lambda quiet: wg.grad(quietly if quiet else looped)(0.3),
        r"\d+/30 steps",
    ),
    "sparse Jacobian of test_progress.stencil": (
        lambda quiet: wg.sparse_jacobian(stencil, quiet=quiet)(np.ones(4)),
        r"\d/2 passes",
    ),
    "trace of test_progress.long": (compiled, "…"),
}
STOPPED = [words for words in WORK if not words.startswith("walk back")]


@pytest.mark.parametrize("words", WORK)
def test_long_work_tells_on_a_terminal(words: str, terminal: Terminal, capsys) -> None:
    work, parts = WORK[words]
    with contextlib.redirect_stderr(terminal):
        work(False)
    assert [line for line in told(terminal) if words in line and re.search(parts, line)]
    assert capsys.readouterr().out == ""
    until_alone()


def test_one_thread_tells_of_the_whole_walk_back(terminal: Terminal, monkeypatch) -> None:
    """What it is at is not put back for each stretch that runs again."""
    begun: list[str] = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (begun.append(thread.name), start(thread))[1])
    with contextlib.redirect_stderr(terminal):
        wg.grad(looped)(0.3)
    until_alone()
    assert begun == ["loop of test_progress.step", "walk back over the loop of test_progress.step"]


def until_alone() -> None:
    """The thread that showed it ends; that of a walk back looks each tenth of a second."""
    for thread in threading.enumerate():
        if thread.name in WORK:
            thread.join(5.0)
            assert not thread.is_alive()


@pytest.mark.parametrize("words", STOPPED)
def test_quiet_work_does_not(words: str, terminal: Terminal) -> None:
    with contextlib.redirect_stderr(terminal):
        WORK[words][0](True)
    assert terminal.getvalue() == ""


def test_short_work_and_work_without_a_terminal_tell_nothing(terminal: Terminal, monkeypatch) -> None:
    monkeypatch.setattr(progress, "AFTER", 60.0)
    with contextlib.redirect_stderr(terminal):
        wg.check_grads(np.sin, 0.5)
    assert terminal.getvalue() == ""
    closed = io.StringIO()
    closed.close()
    for other in (io.StringIO(), None, closed, types.SimpleNamespace(write=print)):
        with contextlib.redirect_stderr(other), Telling("work", slow, "parts", 2) as work:
            assert work._thread is None


TOOK = ["loop of test_progress.step took "] * 2 + ["walk back over the loop of test_progress.step took "]


def test_long_work_is_logged_where_the_program_wants_that(monkeypatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.1)
    monkeypatch.setattr(progress, "PERIOD", 0.02)
    with contextlib.redirect_stderr(io.StringIO()):
        for level in (logging.WARNING, logging.INFO):
            caplog.set_level(level, "wengert")
            looped(0.3)
            wg.grad(looped)(0.3)
            with Telling("work", slow, quiet=True):
                time.sleep(0.3)
    messages = [record.getMessage() for record in caplog.records]
    assert [re.sub(r"\d\.\d s", "", message) for message in messages] == TOOK


def test_what_is_over_when_it_would_be_shown_is_not(monkeypatch) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.0)
    work = Telling("work", slow, "parts", 2)
    progress._begun.append(work)
    work._over.set()
    work._show(lambda: True)
    assert not progress._begun


def test_one_is_shown_at_a_time(terminal: Terminal) -> None:
    with contextlib.redirect_stderr(terminal), Telling("outer", slow, "parts", 2), Telling("inner", slow, "parts", 3):
        until = time.monotonic() + 20.0
        while "outer" not in terminal.getvalue() and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(0.5)
    assert any("outer" in line for line in told(terminal)) and not any("inner" in line for line in told(terminal))


def interrupted(work) -> KeyboardInterrupt:
    """The exception that ends some work, done again and again, after 0.15 seconds: anywhere in it."""
    return interrupted_once(lambda: True, work)


def interrupted_once(may: Callable[[], bool], work: Callable[[], Any]) -> KeyboardInterrupt:
    """`interrupted`, at the first moment after that at which it may be.

    Python loses an interrupt that comes in a callback of the garbage collector, such as Hypothesis has: then again.
    """
    ended = threading.Event()

    def interrupt() -> None:
        time.sleep(0.15)
        until = time.monotonic() + 60.0
        while not may() and time.monotonic() < until:
            time.sleep(0.001)
        while not ended.is_set():
            signal.raise_signal(signal.SIGINT)
            ended.wait(10.0)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt) as found:
        list(iter(work, "done"))
    ended.set()
    thread.join()
    return found.value


@pytest.mark.parametrize("words", STOPPED)
def test_an_interrupt_says_what_was_running_and_leaves_nothing(words: str, terminal: Terminal) -> None:
    codes = slow.__code__, step.__code__, stencil.__code__

    def is_telling() -> bool:
        return any([not one.is_over and str(one).startswith(words) for one in [*progress._begun]])

    with contextlib.redirect_stderr(terminal):
        error = interrupted_once(is_telling, lambda: WORK[words][0](False))
    assert [note for note in error.__notes__ if note.startswith(f"interrupted: {words}")]
    assert codes == (slow.__code__, step.__code__, stencil.__code__)
    assert STATE.recording is None and not SESSION.recordings and not SHADOW
    until_alone()
    assert wg.grad(lambda x: x * x)(3.0) == 6.0


def test_an_interrupt_of_its_beginning_says_it_too(terminal: Terminal, monkeypatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    with contextlib.redirect_stderr(terminal), pytest.raises(KeyboardInterrupt) as found:
        wg.checkpoint_loop(step, 0.3, 3)
    assert found.value.__notes__ == ["interrupted: loop of test_progress.step, 0 of 3 steps done"]
    assert not progress._begun


def interrupting(y_bar: float) -> float:
    raise KeyboardInterrupt


@pytest.mark.parametrize("runs_again", [True, False], ids=["in the second run", "in a pullback"])
@pytest.mark.parametrize("loops", [True, False])
def test_an_interrupt_of_the_walk_back_says_so(runs_again: bool, loops: bool) -> None:
    runs, steps = itertools.count(), 4 if loops else 1

    def stepped(x: float, i: int = 0) -> float:
        if next(runs) >= steps and runs_again:
            raise KeyboardInterrupt
        return barrier(x) * 0.5

    def barrier(x: float) -> float:
        return x

    with wg.rules.scope():
        if not runs_again:
            wg.rrule(barrier)(lambda x: (x, interrupting))
        work = functools.partial(wg.checkpoint_loop, stepped, n=4) if loops else wg.checkpoint(stepped)
        with pytest.raises(KeyboardInterrupt) as found:
            wg.grad(lambda x: work(state=x) if loops else work(x))(0.3)
    (note,) = found.value.__notes__
    over = "the loop of stepped" if loops else "stepped"
    assert re.sub(r" \(.*?\)", "", note).startswith(f"interrupted: walk back over {over}")
    assert note.endswith(", 0 of 4 steps done") == loops
    assert STATE.recording is None and not SESSION.recordings and not SHADOW


def test_an_interrupt_puts_arrays_and_containers_back() -> None:
    x, kept = np.array([1.0, 2.0]), [np.ones(2)]

    def writes(x: np.ndarray, kept: list) -> float:
        y = kept[0] * x
        for _ in range(1000):
            time.sleep(0.005)
        return np.sum(y)

    before = x, kept[0]
    interrupted(lambda: wg.check_grads(writes, x, kept))
    assert kept[0] is before[1] and x.tolist() == [1.0, 2.0] and kept[0].tolist() == [1.0, 1.0]


PROGRAM = """
import sys, time
import numpy as np
import wengert as wg

def slow(x):
    time.sleep(0.01)
    return np.sum(x ** 2)

if "short" in sys.argv:
    wg.check_grads(slow, np.ones(1))
    assert "rich" not in sys.modules
else:
    print(wg.check_grads(slow, np.arange(1.0, 61.0)) < 1e-6)
"""


def test_in_a_real_terminal() -> None:
    """The line is gone at the end; rich is loaded where it is needed only."""
    pty = pytest.importorskip("pty")
    assert terminal_says(pty, "short") == ""
    shown = terminal_says(pty)
    assert re.search(r"check_grads of slow.*/60.* numbers", shown)
    assert shown.rstrip().endswith("True") and "\x1b[2K" in shown.rsplit("numbers", 1)[1]


def terminal_says(pty, *words: str) -> str:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", PROGRAM, *words]
    program = subprocess.Popen(command, env=ENVIRONMENT, stdout=theirs, stderr=theirs)
    os.close(theirs)
    parts = []
    with contextlib.suppress(OSError):  # how a terminal ends
        while part := os.read(ours, 4096):
            parts.append(part)
    os.close(ours)
    assert program.wait() == 0
    return b"".join(parts).decode()
