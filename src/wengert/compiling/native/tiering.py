"""Which code a compiled tape runs: NumPy's at first, and native code once compiling that has paid.

A thread compiles what has cost more time than compiling would, one function after the other. Whatever goes wrong there
leaves NumPy's code where it is.
"""

from __future__ import annotations

import atexit
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from wengert.compiling.native.compiled import native
from wengert.compiling.native.values import UnsupportedOp
from wengert.errors import NativeUnavailableError
from wengert.tape.interface import AnyRunningTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call
from wengert.values.kernel_cache import has_compiler

SECONDS, EACH = 2.0, 0.04
"""Seconds that compiling costs: numba itself, and each op."""

TRIED = 5  # calls of native code that are timed

_UNWORDED = "NumPy: native code has no words for {}"

_queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
_worker: list[threading.Thread] = []
_starting = threading.Lock()


def chosen(tape: AnyRunningTape, name: str, wanted: bool | None) -> Callable[..., Any]:
    """The function of a tape: native code if `wanted`, never if not, and where it pays if that is None.

    Errors: NativeUnavailableError where native code is wanted and numba is not installed.
    """
    if wanted is None and has_compiler():
        return Chosen(tape, name)
    if not wanted:
        return tape.compile(name)
    if not has_compiler():
        raise NativeUnavailableError(
            "native=True compiles with numba, which is not installed: pip install 'wengert[native]', or leave it out"
        )
    try:
        return native(tape, name)
    except UnsupportedOp as error:
        plain: Any = tape.compile(name)
        plain.state = _UNWORDED.format(error)
        return plain


class Chosen:
    """A function that is run by NumPy, and natively from when that is compiled and has shown to be faster.

    `state` says in words what runs.
    """

    def __init__(self, tape: AnyRunningTape, name: str) -> None:
        self.tape, self.name = tape, name
        self.plain: Any = tape.compile(name)
        self.run: Any = None  # what was chosen
        self.spent, self.fastest, self.calls = 0.0, float("inf"), 0
        self.cost = SECONDS + EACH * _ops(tape)
        self.state = "NumPy, until compiling pays"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.measured(*args, **kwargs) if self.run is None else self.run(*args, **kwargs)

    @property
    def source(self) -> str:
        return str(getattr(self.run, "source", self.plain.source))

    @property
    def blocks(self) -> list[str]:
        return getattr(self.run or self.plain, "blocks", [])

    def measured(self, *args: Any, **kwargs: Any) -> Any:
        """Run by NumPy, and note what that costs."""
        begin = time.perf_counter()
        result = self.plain(*args, **kwargs)
        took = time.perf_counter() - begin
        self.spent += took
        self.fastest = min(took, self.fastest)
        if self.spent > self.cost:
            self.settle(self.plain, "NumPy, until it is compiled")
            _compile_soon(self)
        return result

    def compile(self) -> None:
        """Compile, and go on with native code for a trial; on a thread of its own."""
        try:
            found = native(self.tape, self.name)
        except UnsupportedOp as error:
            self.settle(self.plain, _UNWORDED.format(error))
        else:
            self.settle(Trial(self, found), "native code, on trial")

    def settle(self, run: Callable[..., Any], state: str) -> None:
        """Run this from now on."""
        self.run, self.state = run, state


class Trial:
    """Native code whose first calls are timed: it stays if one of them is faster than NumPy's fastest."""

    def __init__(self, chosen: Chosen, run: Any) -> None:
        self.chosen, self.run, self.source, self.times = chosen, run, run.source, list[float]()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        result = self.run(*args, **kwargs)
        self.times.append(time.perf_counter() - begin)
        if len(self.times) == TRIED:
            if min(self.times) < self.chosen.fastest:
                self.chosen.settle(self.run, self.run.state)
            else:
                self.chosen.settle(self.chosen.plain, "NumPy: native code is slower")
        return result


def _ops(tape: AnyRunningTape) -> int:
    """The ops of a tape, and of the bodies of its loops."""
    loops = [op.fn for op in tape if isinstance(op, Call) and isinstance(op.fn, Loop)]
    return len(list(tape)) + sum([_ops(loop.body) for loop in loops])


def _compile_soon(what: Chosen) -> None:
    with _starting:
        if not _worker or not _worker[0].is_alive():
            _worker[:] = [threading.Thread(target=_work, name="wengert compiles", daemon=True)]
            _worker[0].start()
    _queue.put(what)


def _work() -> None:
    while (what := _queue.get()) is not None:
        try:
            what.compile()
        except Exception as error:
            what.settle(what.plain, f"NumPy: compiling ended with {type(error).__name__}")


@atexit.register
def _finish_compiling() -> None:
    """Let what is being compiled come to its end: the compiler must not be cut off by the end of the process."""
    if _worker and _worker[0].is_alive():
        while not _queue.empty():
            _queue.get()
        _queue.put(None)
        _worker[0].join()
