"""From Python 3.12 on, a Python function that C code calls with a traced value is an error, not a zero."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import EscapedFrameError
from wengert.hooks import escape_monitor
from wengert.recording.recording import STATE
from wengert.values.frames import ENGINE

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in Python 3.12")

call: Any = ctypes.pythonapi["PyObject_CallOneArg"]
"""A C function that calls what it is given: declared constant below, as if it could not."""
call.restype = ctypes.py_object
call.argtypes = [ctypes.py_object, ctypes.py_object]


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    with wg.rules.scope():
        wg.non_differentiable(call)
        yield


def square(v):
    return v * v


def doubled(v):
    return v[0] * 2


def assert_caught(f: Callable[..., Any], x: Any = 1.3) -> str:
    with pytest.raises(EscapedFrameError) as caught:
        wg.grad(f)(x)
    assert STATE.recording is None
    return str(caught.value)


def test_the_line_and_the_function_are_named() -> None:
    def f(x):
        return x + call(square, x)

    line = f.__code__.co_firstlineno
    message = assert_caught(f)
    assert message.startswith(f"{__file__}:{line + 1} in ")
    assert f"{__file__}:{square.__code__.co_firstlineno} in square" in message


def test_arrays_and_items_of_containers() -> None:
    assert_caught(lambda x: np.sum(x) + call(square, x), np.ones(2))
    assert_caught(lambda x: x + call(doubled, [x]))
    assert_caught(lambda x: x + call(doubled, {0: x}))


def test_a_generator() -> None:
    def squares(v):
        yield v * v

    with pytest.raises(wg.NoRuleError, match="returned a generator with traced values"):
        wg.grad(lambda x: x + sum(list(call(squares, x))))(1.3)


def test_an_escape_cannot_be_swallowed() -> None:
    def f(x):
        try:
            return x + call(square, x)
        except Exception:
            return x

    assert_caught(f)


def test_a_finalizer_of_a_class_that_is_touched_is_seen() -> None:
    def f(x):
        class Last:
            def __del__(self):
                out.append(self.v * self.v)

        out = [x]
        last = Last()
        last.v = x
        del last
        return out[-1]

    assert wg.grad(f)(1.5) == 3.0


def test_what_the_interpreter_evaluates_late_is_seen() -> None:
    late = ["type Square = x * x; return x + Square.__value__"]
    if sys.version_info >= (3, 14):
        late += ["class A: a: x * x\n    return x + A.__annotations__['a']"]
    for body in late:
        space: dict[str, Any] = {}
        exec(compile(f"def f(x):\n    {body}", "<late>", "exec", dont_inherit=True), space)
        assert wg.grad(space["f"])(1.5) == 4.0


def test_levels() -> None:
    assert_caught(lambda x: wg.grad(lambda y: x * y + call(square, y))(2.0))
    assert_caught(lambda x: wg.grad(lambda y: x * y * call(square, x))(2.0))
    with pytest.raises(EscapedFrameError):
        wg.trace(lambda x: x + call(square, x), 1.3)


def test_what_receives_nothing_traced_passes() -> None:
    assert wg.grad(lambda x: x * call(lambda v: v * v, 3.0))(1.3) == 9.0
    assert wg.grad(lambda x: x * wg.stop_gradient(x))(1.3) == 1.3


def test_rules_written_in_python_and_what_they_call_pass() -> None:
    def helper(v):
        return v * v

    def square(v):
        return helper(v) + call(helper, 0.0)

    def named(v):
        return "it" if helper(v) > 0 else ""

    with wg.rules.scope():
        wg.non_differentiable(named)

        @wg.rrule(square)
        def square_rule(v):
            return helper(v), lambda y_bar: 2 * v * y_bar

        assert wg.grad(lambda x: square(x) * len(named(x)))(1.5) == 6.0


def test_comparisons_that_containers_ask_for_pass() -> None:
    class Any_:
        def __eq__(self, other):
            return other > 1

        __hash__ = None  # type: ignore[assignment]

    assert wg.grad(lambda x: x * ([Any_()].index(x) + 2))(1.3) == 2.0


def test_a_function_declined_outside_is_seen_in_the_next_trace() -> None:
    def square(v):
        return v * v

    wg.grad(lambda x: x * x)(1.0)
    for _ in range(escape_monitor.MAX_STARTS + 5):
        square(2.0)
    assert escape_monitor.Monitor.needs_restart
    assert_caught(lambda x: x + call(square, x))
    assert not escape_monitor.Monitor.needs_restart


def test_a_gradient_that_runs_again_is_reported_nothing() -> None:
    reports: list[Any] = []

    def counting(code, offset):
        reports.append(code)
        return escape_monitor._check_start(code, offset)

    def f(x):
        return np.sum(np.tanh(x) * x[0])

    g, x, start = wg.grad(f), np.ones(3), sys.monitoring.events.PY_START
    for _ in range(3):
        g(x)
    sys.monitoring.register_callback(escape_monitor.Monitor.tool, start, counting)
    try:
        g(x)
    finally:
        sys.monitoring.register_callback(escape_monitor.Monitor.tool, start, escape_monitor._check_start)
    assert [code.co_name for code in reports if code.co_filename.startswith(ENGINE)] == []
    assert f.__code__ not in reports


def test_other_tools_see_what_they_would_see() -> None:
    seen: list[str] = []
    start = sys.monitoring.events.PY_START
    sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "a profiler")
    try:
        sys.monitoring.register_callback(sys.monitoring.PROFILER_ID, start, lambda code, _: seen.append(code.co_name))
        sys.monitoring.set_events(sys.monitoring.PROFILER_ID, start)

        def watched(x):
            return x * x

        assert wg.grad(watched)(1.5) == 3.0
        assert_caught(lambda x: x + call(square, x))
    finally:
        sys.monitoring.set_events(sys.monitoring.PROFILER_ID, 0)
        sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
    assert "watched" in seen


def test_taken_identifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    wg.grad(lambda x: x)(1.0)
    free = next(tool for tool in escape_monitor.TOOLS if sys.monitoring.get_tool(tool) is None)
    sys.monitoring.use_tool_id(free, "another")
    try:
        assert escape_monitor._claim_tool() is None
        monkeypatch.setattr(escape_monitor.Monitor, "tool", None)
        monkeypatch.setattr(escape_monitor.Monitor, "needs_restart", True)
        assert wg.grad(lambda x: x * x)(1.5) == 3.0  # without a net
        assert not escape_monitor.Monitor.needs_restart
    finally:
        sys.monitoring.free_tool_id(free)


def test_nothing_is_reported_while_the_interpreter_ends() -> None:
    program = (
        "import logging, wengert as wg; wg.grad(lambda x: x * x)(1.0)\n"
        "class Last:\n    def __del__(self): pass\n"
        "handlers, logging.last = [logging.NullHandler()], Last()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr == ""


def test_the_callers_are_files() -> None:
    assert all(os.path.exists(file) for file in escape_monitor.CALLING_FILES)


def test_only_the_thread_that_traces_is_judged() -> None:
    found: list[float] = []

    def elsewhere():
        found.append(call(lambda v: v * v, 3.0))

    def wait():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    with wg.rules.scope():
        wg.non_differentiable(wait)
        assert wg.grad(lambda x: (wait(), x * x)[1])(1.5) == 3.0
    assert found == [9.0]
