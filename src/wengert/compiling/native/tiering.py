"""Choose the code that a compiled tape runs: NumPy code at first, native code once compiling it pays.

When a function has taken a third of the time that compiling it would, a thread compiles it, one function after the
other. If that fails, the NumPy code stays in use.
"""

from __future__ import annotations

import atexit
import importlib
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from wengert.errors import NativeUnavailableError
from wengert.tape.interface import AnyOptimisedTape
from wengert.tape.loops import with_bodies
from wengert.values.kernel_cache import has_compiler

COMPILE_SECONDS, SECONDS_PER_OP = 0.2, 0.001
"""Compile time in seconds: to load LLVM, and for each op."""

WAITING = 1 / 3
"""Which part of the compile time a function spends in NumPy code first: most functions are called in long loops."""

TRIAL_CALLS = 5  # of native code

_queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
_worker: list[threading.Thread] = []
_starting = threading.Lock()


def choose_code(tape: AnyOptimisedTape, name: str, native: bool | None) -> Callable[..., Any]:
    """Compile a tape: to native code if `native`, to NumPy code if False, to what is faster if None.

    Errors: NativeUnavailableError if `native` and numba is not installed.
    """
    if native is None and has_compiler():
        return TieredFunction(tape, name)
    if not native:
        return tape.compile(name)
    require_compiler()
    found, reason = _native_or_reason(tape, name)
    made: Any = found or tape.compile(name)
    made.state = reason or made.state
    return made


def _native_or_reason(tape: AnyOptimisedTape, name: str) -> tuple[Any, str]:
    from wengert.compiling.native.compiled import native_or_reason  # with 20 modules that NumPy code does not need

    return native_or_reason(tape, name)


def require_compiler() -> None:
    """Raise NativeUnavailableError if numba is not installed, or too old."""
    if not has_compiler():
        raise NativeUnavailableError(
            "native=True needs numba 0.61 or later. Run pip install -U 'wengert[native]', or omit native=True"
        )


def load_compiler() -> None:
    """Import the compiler of numba. Errors: NativeUnavailableError if it is not installed."""
    require_compiler()
    importlib.import_module("wengert.compiling.native.machine_code")


class TieredFunction:
    """A function that runs NumPy code, and native code once that is compiled and proved faster.

    `state` describes the code in use.
    """

    def __init__(self, tape: AnyOptimisedTape, name: str) -> None:
        self.tape, self.name = tape, name
        self.plain: Any = tape.compile(name)
        self.run: Any = None  # the code in use, once it is chosen
        self.spent, self.fastest = 0.0, float("inf")
        self.cost = WAITING * (COMPILE_SECONDS + SECONDS_PER_OP * len(list(with_bodies(tape))))
        self.state = "NumPy, until compiling pays"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run_timed(*args, **kwargs) if self.run is None else self.run(*args, **kwargs)

    @property
    def source(self) -> str:
        return str(getattr(self.run, "source", self.plain.source))

    @property
    def blocks(self) -> list[str]:
        return getattr(self.run or self.plain, "blocks", [])

    @property
    def passes(self) -> list[Any]:
        return getattr(self.run or self.plain, "passes", [])

    def run_timed(self, *args: Any, **kwargs: Any) -> Any:
        """Run the NumPy code, and add up its time."""
        begin = time.perf_counter()
        result = self.plain(*args, **kwargs)
        took = time.perf_counter() - begin
        self.spent += took
        self.fastest = min(took, self.fastest)
        if self.spent > self.cost:
            self.use(self.plain, "NumPy, until it is compiled")
            _enqueue(self)
        return result

    def compile(self) -> None:
        """Compile to native code, and use that on trial; called on the compiler thread."""
        found, reason = _native_or_reason(self.tape, self.name)
        if found is None:
            self.use(self.plain, reason)
        else:
            self.use(TimedTrial(self, found), "native code, on trial")

    def use(self, run: Callable[..., Any], state: str) -> None:
        """Run this code from now on."""
        self.run, self.state = run, state


def continue_timing(run: Any, earlier: Iterable[Any]) -> None:
    """Count for the code of a new trace the time that a function has spent in the code of earlier ones."""
    spent = [other.spent for other in earlier if type(other) is TieredFunction]
    if type(run) is TieredFunction and spent:
        run.spent = max(spent)


class TimedTrial:
    """Native code whose first calls are timed; it stays in use if its fastest call beats the fastest with NumPy."""

    def __init__(self, function: TieredFunction, run: Any) -> None:
        self.function, self.run, self.source, self.times = function, run, run.source, list[float]()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        result = self.run(*args, **kwargs)
        self.times.append(time.perf_counter() - begin)
        if len(self.times) == TRIAL_CALLS:
            if min(self.times) < self.function.fastest:
                self.function.use(self.run, self.run.state)
            else:
                self.function.use(self.function.plain, "NumPy: native code is slower")
        return result


def _enqueue(function: TieredFunction) -> None:
    with _starting:
        if not _worker or not _worker[0].is_alive():
            _worker[:] = [threading.Thread(target=_compile_queued, name="wengert compiles", daemon=True)]
            _worker[0].start()
    _queue.put(function)


def _compile_queued() -> None:
    while (function := _queue.get()) is not None:
        try:
            function.compile()
        except Exception as error:
            function.use(function.plain, f"NumPy: compiling raised {type(error).__name__}")


@atexit.register
def _finish_compiling() -> None:
    """Wait for the function that is being compiled: the end of the process must not interrupt the compiler."""
    if _worker and _worker[0].is_alive():
        while not _queue.empty():
            _queue.get()
        _queue.put(None)
        _worker[0].join()
