"""Debuggers, tracers, profilers and introspection at work inside traced functions: they see what they see untraced."""

from __future__ import annotations

import bdb
import cProfile
import gc
import inspect
import os
import pstats
import subprocess
import sys
import threading
import trace
import tracemalloc
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

MODES = [
    pytest.param(lambda f, *args: wg.grad(f, *args)[0], id="grad"),
    pytest.param(lambda f, *args: wg.trace(f, *args)[0], id="trace"),
    pytest.param(lambda f, *args: wg.vjp(f, *args)[0], id="vjp"),
]
each_mode = pytest.mark.parametrize("mode", MODES)


class Scaled:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __mul__(self, other: Any) -> Any:
        return self.v * other

    @property
    def half(self) -> Any:
        half = self.v / 2
        return half


def helper(v: Any, n: int) -> Any:
    total = v
    for k in range(n):
        if k % 2:
            total = total * v
        else:
            total = total + k
    return total


def numbers(v: Any) -> Any:
    yield v
    yield v * 2


def program(x: Any) -> Any:
    scaled = Scaled(x)
    y = scaled * 3.0 + scaled.half
    try:
        y = y / (x - x)
    except ZeroDivisionError:
        y = y + 1
    squares = [v * v for v in numbers(x)]
    return helper(y, 3) + sum(squares) + (lambda v: v * 2)(x)


def steps(run: Callable[..., Any], *args: Any) -> list[tuple[str, str, int]]:
    """What a debugger is told of the code in this file: the event, the function and the line."""
    seen: list[tuple[str, str, int]] = []

    def watch(frame: types.FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name != "<lambda>":
            seen.append((event, frame.f_code.co_name, frame.f_lineno))
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        run(*args)
    finally:
        sys.settrace(before)
    return seen


@each_mode
def test_settrace_sees_the_same_steps(mode: Any) -> None:
    plain, traced = steps(program, 1.5), steps(mode, program, 1.5)
    assert traced == plain
    assert len(plain) > 30


@each_mode
def test_lines_counted_for_coverage(mode: Any) -> None:
    def counted(run: Callable[..., Any], *args: Any) -> dict[int, int]:
        tool = trace.Trace(count=True, trace=False)
        tool.runfunc(run, *args)
        lines = {line: n for (file, line), n in tool.results().counts.items() if file == __file__}
        own = range(helper.__code__.co_firstlineno, steps.__code__.co_firstlineno)
        return {line: n for line, n in lines.items() if line in own}

    assert counted(mode, program, 1.5) == counted(program, 1.5) != {}


@each_mode
def test_a_breakpoint_stops_where_the_values_are(mode: Any) -> None:
    line = helper.__code__.co_firstlineno + 4  # total = total * v
    found: list[tuple[str, Any]] = []

    class Debugger(bdb.Bdb):
        def user_line(self, frame: types.FrameType) -> None:
            if self.break_here(frame):
                found.append((frame.f_code.co_name, dict(frame.f_locals)))
                assert frame.f_back is not None and frame.f_back.f_code.co_name == "program"
            self.set_continue()

    def debugged(run: Callable[..., Any], *args: Any) -> list[tuple[str, Any]]:
        found.clear()
        debugger = Debugger()
        assert debugger.set_break(__file__, line) is None
        debugger.runcall(run, *args)
        return list(found)

    before = sys.gettrace()
    try:
        plain, traced = debugged(program, 1.5), debugged(mode, program, 1.5)
    finally:
        sys.settrace(before)
    assert traced == plain and len(plain) == 1


@each_mode
def test_a_profiler_counts_the_same_calls(mode: Any) -> None:
    def calls(run: Callable[..., Any], *args: Any) -> dict[str, int]:
        profiler = cProfile.Profile()
        profiler.runcall(run, *args)
        stats: Any = pstats.Stats(profiler)
        names = ("program", "helper", "numbers", "__init__", "__mul__", "half")
        return {k[2]: v[0] for k, v in stats.stats.items() if k[0] == __file__ and k[2] in names}

    assert calls(mode, program, 1.5) == calls(program, 1.5) != {}


@each_mode
def test_introspection_inside(mode: Any) -> None:
    def inspected(x: Any, *rest: Any, scale: float = 2.0) -> Any:
        """Looks at itself."""
        frame = inspect.currentframe()
        stack = [info.function for info in inspect.stack()[:1]]
        named = inspect.signature(inspected).parameters
        assert frame is not None
        said.append((stack, list(named), inspect.getsource(frame.f_code), sorted(frame.f_locals), frame.f_lineno))
        said.append((inspected.__doc__, inspected.__qualname__, inspect.getsourcelines(inspected)[1]))
        return x * scale

    said: list[Any] = []
    inspected(1.5)
    plain = list(said)
    said.clear()
    mode(inspected, 1.5)
    assert said == plain


def test_a_gradient_looks_like_its_function() -> None:
    gradient = wg.grad(helper)
    assert inspect.signature(gradient) == inspect.signature(helper)
    assert gradient.__name__ == "helper" and inspect.unwrap(gradient) is helper


def live(x: Any) -> list[bool]:
    """Which arrays are still there once nobody but a pullback may need them."""
    refs = []
    y = x + 1.0
    refs.append(weakref.ref(y))
    z = y * 2.0
    del y
    refs.append(weakref.ref(z))
    w = np.concatenate([z, z])
    del z
    refs.append(weakref.ref(w))
    w = w.reshape(2, -1)[0] - 3.0
    dead = [ref() is None for ref in refs]
    DEAD.append(dead)
    return np.sum(w)


DEAD: list[list[bool]] = []


@pytest.mark.parametrize("mode", MODES[:1])
def test_arrays_are_freed_where_no_pullback_needs_them(mode: Any) -> None:
    x = np.ones(20_000)
    DEAD.clear()
    live(x)
    mode(live, x)
    assert DEAD[0] == DEAD[1] == [True] * 3


def test_a_long_loop_of_sums_takes_no_more_memory_than_untraced() -> None:
    def f(x: Any) -> Any:
        y = x
        for k in range(200):
            y = y + k
            y = y * 0.5
        return np.sum(y)

    def peak(run: Callable[..., Any], *args: Any) -> int:
        gc.collect()
        tracemalloc.start()
        run(*args)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    x = np.ones(50_000)
    wg.grad(f, x)
    assert peak(wg.grad, f, x) < peak(f, x) + 4 * x.nbytes


def test_threads_that_trace_while_others_are_watched() -> None:
    results: list[Any] = []
    seen: list[str] = []

    def work(k: int) -> None:
        results.append((k, wg.grad(helper)(1.0 + k, 4)))

    def watch(frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_name == "helper":
            seen.append(threading.current_thread().name)

    before = threading.getprofile() if hasattr(threading, "getprofile") else None
    threading.setprofile(watch)
    try:
        threads = [threading.Thread(target=work, args=(k,), name=f"t{k}") for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.setprofile(before)  # type: ignore[arg-type]
    assert dict(results) == {k: wg.grad(helper)(1.0 + k, 4) for k in range(4)}
    assert sorted(seen) == ["t0", "t1", "t2", "t3"]


@each_mode
def test_an_assert_that_pytest_has_rewritten_fails_as_untraced(mode: Any) -> None:
    def f(x: Any) -> Any:
        doubled = x * 2
        assert np.all(doubled == x * 3)
        return np.sum(doubled)

    with pytest.raises(AssertionError, match=r"array\(\[2\., 2\.\]\)"):
        mode(f, np.ones(2))


def test_what_main_defines_is_called_so_whatever_multiprocessing_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return 0.0

    f.__module__, f.__qualname__ = "__main__", "f"
    for name in ("__main__", "__mp_main__"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(f=f))
    with pytest.warns(wg.NoPathWarning, match="the result of f does not"):
        wg.grad(f)(1.0)


DEBUGGED = """
import wengert as wg

def inner(y):
    z = y * 3.0
    breakpoint()
    w = z + 1.0
    return w * z

def f(x):
    t = x + 1.0
    return inner(t)

print("gradient", wg.grad(f)(1.0))
"""


def test_breakpoint_stops_in_the_users_frame(tmp_path: Path) -> None:
    (tmp_path / "debugged.py").write_text(DEBUGGED)
    commands = "\n".join(["p z", "up", "p ('t', t)", "down", "next", "next", "p ('w', w)", "w", "continue", ""])
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root / 'rules'}"}
    done = subprocess.run(
        [sys.executable, "debugged.py"], input=commands, env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    shown = [line.removeprefix("(Pdb) ") for line in done.stdout.splitlines()]
    assert "debugged.py" in shown[0] and "inner()" in shown[0]
    assert {"6.0", "('t', 2.0)", "('w', 7.0)", "gradient 39.0"} <= {*shown}  # (3 t + 1) 3 t, of which 18 t + 3
    stack = [line for line in shown if "debugged.py" in line][-3:]
    assert [name in line for name, line in zip(("<module>", "f()", "inner()"), stack, strict=True)] == [True] * 3
