"""An exception or a gradient at any instruction of this package changes nothing: Ctrl-C, signal handlers, forks."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import hostile_faults
import numpy as np
import pytest
from hostile_faults import MARKS, held, plain_states, reset
from instructions import Watch, instructions

import wengert as wg
from wengert.hooks import tracer
from wengert.recording import trace_state
from wengert.recording.recording import C_ONLY_TYPES, OPERANDS, STATE, OpenCounts
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW
from wengert.values.settings import SETTINGS

EVERY = "EVERY_INSTRUCTION" in os.environ  # takes half an hour
ERRORS = (KeyboardInterrupt, MemoryError, RecursionError)
LIST = [1.0, 2.0, [3.0]]
DICT = {"a": 1.5, "b": np.ones(3)}
BUFFER = np.ones(3)
WIDE = np.ones(2000)


class Weights:
    def __init__(self) -> None:
        self.w, self.s, self.t = np.ones(2), 3.0, (1.0, [2.0])


WEIGHTS = Weights()


def _closure() -> Callable[[Any], Any]:
    w = np.array([1.0, 2.0])
    return lambda x: np.sum(w * x)


CLOSURE = _closure()


def _inner(x: Any) -> Any:
    return x * wg.grad(lambda y: y * y * x)(x)


def _writes(x: Any) -> Any:
    own = np.zeros(3)
    own[0] = x
    own[:] = own * 2
    BUFFER[1] = x
    BUFFER[2] = BUFFER[1] * x
    return np.sum(own * BUFFER)


@wg.checkpoint
def _again(x: Any) -> Any:
    return np.sin(x) * x


def _weights() -> Any:
    found = wg.grad(lambda o: o.s * np.sum(o.w) * o.t[0] * o.t[1][0])(WEIGHTS)
    return found.w.tolist(), found.s, found.t


PROGRAMS: dict[str, Callable[[], Any]] = {
    "numbers": lambda: wg.grad(lambda x: x * x + 2 * x)(3.0),
    "arrays": lambda: wg.grad(lambda q: np.sum(np.exp(q * WIDE) * q))(WIDE).tolist(),
    "a list": lambda: wg.grad(lambda a: a[0] * a[1] * a[2][0])(LIST),
    "a dict": lambda: wg.grad(lambda d: d["a"] * np.sum(d["b"]))(DICT)["a"],
    "an object": _weights,
    "a closure": lambda: wg.grad(CLOSURE, np.ones(2))[0],
    "vjp": lambda: wg.vjp(lambda x: x * x, 2.0)[1](1.0),
    "trace": lambda: len(list(wg.trace(lambda x: x * x, 2.0)[1])),
    "gradtape": lambda: len(list(wg.gradtape(lambda x: x * x, 2.0, strategy="accumulate"))),
    "a gradient inside": lambda: wg.grad(_inner)(2.0),
    "writes": lambda: wg.grad(_writes)(2.0),
    "a checkpoint": lambda: wg.grad(lambda x: _again(x) * x)(2.0),
}


def _state() -> tuple[Any, ...]:
    """All that a trace may change and has to put back."""
    held = (*LIST, LIST[2][0], *DICT.values(), *vars(WEIGHTS).values(), WEIGHTS.t[1][0])  # type: ignore[index]
    return (
        ([*SESSION.recordings], [*SESSION.turns], SESSION.shown),
        {**SHADOW},
        STATE.recording,
        STATE.fast,
        (OpenCounts.tapes, OpenCounts.contexts, SESSION.inside),
        (np.ndarray in C_ONLY_TYPES, np.ndarray in OPERANDS),
        (gc.get_threshold(), sys.getrecursionlimit()),
        (SETTINGS.add, SETTINGS.strategy),
        _learnt(),
        [id(value) for value in held],
        id(CLOSURE.__closure__[0].cell_contents),  # type: ignore[index]
    )


def _learnt() -> dict[str, set[Any]]:
    tables = vars(trace_state).items()
    return {name: {*table} for name, table in tables if isinstance(table, dict | set) and name[0] != "_"}


def test_what_was_learnt_is_forgotten_wherever_an_error_hit_the_first_time() -> None:
    class Own:
        pass

    def forgetting() -> None:
        learnt = trace_state
        for table in (learnt.twins, learnt.methods, learnt.plain_names, learnt.plain_names_of_classes):
            table[Own] = Own  # type: ignore[index]
        trace_state.clear_caches()

    before = _learnt()
    for k in range(1, instructions(forgetting) + 1):
        with pytest.raises(KeyboardInterrupt):
            Watch(k, _interrupt).over(forgetting)
        trace_state.plain_names[Own] = set()
        trace_state.clear_caches()
        assert _learnt() == before, k


def _interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_error_at_any_instruction_leaves_all_as_it_was(name: str) -> None:
    """Each 60th part of the way, and every third of the last 300 instructions, which close what was opened.

    With EVERY_INSTRUCTION in the environment, at each one.
    """
    program = PROGRAMS[name]
    program()  # the first time takes longer
    BUFFER[:] = 1
    count = instructions(program)
    BUFFER[:] = 1
    expected, before = program(), _state()
    places = [*range(1, count - 300, 1 + count // 60), *range(count - 300, count + 1, 3)]
    raised = 0
    for k in range(1, count + 1) if EVERY else places:
        error = ERRORS[k % 3]

        def fail(error: type[BaseException] = error) -> None:
            raise error

        BUFFER[:] = 1
        try:
            Watch(k, fail).over(program)
        except error:
            raised += 1
        assert _state() == before, k
        BUFFER[:] = 1
        assert program() == expected, k
    assert raised > 0.8 * len(places)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", hostile_faults.PROGRAMS)
def test_what_the_user_holds_is_as_far_as_the_function_came(name: str) -> None:
    """Arrays, containers, objects and random numbers hold what a plain run could have left there, wherever an interrupt
    hits: rewound memory, a second run of a checkpoint, what a pullback is shown are put back."""
    program = hostile_faults.PROGRAMS[name]

    def run() -> Any:
        reset()
        return program.run()

    count = instructions(run)
    states, expected, before = plain_states(program), run(), _state()
    steps = range(1, count + 1, 1 if EVERY else count // 40)
    for k in steps:
        error = ERRORS[k % 3]

        def fail(error: type[BaseException] = error) -> None:
            raise error

        try:
            Watch(k, fail).over(run)
        except error:
            pass
        assert held() in states[min(len(MARKS), max(states))], k
        assert _state() == before, k
        assert repr(run()) == repr(expected), k


def _guest() -> list[Any]:
    """Gradients of all kinds, as a signal handler or a finaliser may take them."""
    return [
        wg.grad(lambda y: y * y * y)(2.0),
        wg.vjp(lambda y: np.sum(_again(y) * y), np.ones(2))[1](1.0)[0].tolist(),
        wg.grad(lambda a: a[0] * a[1] * a[2][0])([2.0, 3.0, [4.0]]),
        wg.grad(lambda q: np.sum(q * q * WIDE))(WIDE).tolist(),
        wg.trace(lambda x: x * x, 2.0)[0],
        wg.grad(_inner)(3.0),
    ]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gradient_at_any_instruction_changes_nothing(name: str) -> None:
    """What breaks in on a trace is none of the function's: both come out as if alone."""
    program, guests = PROGRAMS[name], _guest()
    count = instructions(program)
    BUFFER[:] = 1
    expected, before = program(), _state()
    for k in range(1, count + 1, 1 + count // 60):
        BUFFER[:] = 1
        found: list[Any] = []
        assert Watch(k, lambda found=found: found.extend(_guest())).over(program) == expected, k
        assert found in ([], guests), k
        assert _state() == before, k


def test_a_finaliser_that_takes_a_gradient_changes_nothing() -> None:
    found: list[float] = []

    class Last:
        def __del__(self) -> None:
            found.append(wg.grad(lambda y: y * y)(3.0))

    class Cycle:
        def __init__(self) -> None:
            self.me, self.last = self, Last()

    def f(x: float) -> float:
        total = 0.0
        for _ in range(50):
            Cycle()
            last = Last()
            total = total + x * x
            del last
            gc.collect(0)
        watched = Last()
        weakref.finalize(watched, lambda: found.append(wg.grad(lambda y: y * y)(3.0)))
        return total

    assert wg.grad(f)(3.0) == 300.0
    gc.collect()
    assert len(found) == 102 and {*found} == {6.0}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals here")
def test_a_signal_handler_that_takes_gradients_changes_nothing() -> None:
    found: list[Any] = []
    before = signal.signal(signal.SIGALRM, lambda *_: found.append(wg.grad(lambda y: y * y)(3.0)))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        until = time.monotonic() + 1
        while time.monotonic() < until:
            assert PROGRAMS["numbers"]() == 8.0
            assert PROGRAMS["a list"]() == [6.0, 3.0, [2.0]]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(found) > 10 and {*found} == {6.0}
    assert not (SESSION.recordings or SHADOW or STATE.recording)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals here")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_at_random_times_leaves_all_clean() -> None:
    """Python itself drops an interrupt that hits in a finaliser or in a weak reference's callback: few are lost so."""
    before = _state()

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    hits = 0
    try:
        for k in range(300):
            until = time.monotonic() + 0.1
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + k % 50 * 1e-5)
                while time.monotonic() < until:
                    PROGRAMS["numbers"]()
                    PROGRAMS["a list"]()
                    PROGRAMS["a gradient inside"]()
            except KeyboardInterrupt:
                hits += 1
            assert _state() == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert hits > 250 and PROGRAMS["numbers"]() == 8.0


def test_another_thread_goes_on_where_one_was_stopped_for_good() -> None:
    """A recording whose frame runs no more does not keep others waiting, even where nothing closed it."""

    def leave_open() -> None:
        level = tracer.open_level()
        level.__enter__()

    stopped = threading.Thread(target=leave_open)
    stopped.start()
    stopped.join()
    assert len(SESSION.recordings) == 1
    assert wg.grad(lambda x: x * x)(3.0) == 6.0
    assert not (SESSION.recordings or SHADOW)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_child_of_a_fork_has_gradients_while_another_thread_traces() -> None:
    tracing, done = threading.Event(), threading.Event()

    def slow(x: float) -> float:
        tracing.set()
        done.wait()
        return x * x

    thread = threading.Thread(target=lambda: wg.grad(slow)(2.0))
    thread.start()
    tracing.wait()
    child = os.fork()
    if child == 0:
        right = wg.grad(lambda x: x * x)(3.0) == 6.0 and wg.grad(_inner)(2.0) == PROGRAMS["a gradient inside"]()
        os._exit(0 if right and not SESSION.recordings and not SHADOW and not SESSION.inside else 1)
    until = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < until:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
    done.set()
    thread.join()
    assert ended[0] == child and os.waitstatus_to_exitcode(ended[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_function_that_forks_goes_on_in_both() -> None:
    def f(x: float) -> float:
        y = x * x
        pid = os.fork()
        if pid:
            _, status = os.waitpid(pid, 0)
            assert os.waitstatus_to_exitcode(status) == 6
            return y * x
        return y

    home = os.getpid()
    slope = wg.grad(f)(3.0)
    if os.getpid() != home:
        os._exit(int(slope))
    assert slope == 27.0
