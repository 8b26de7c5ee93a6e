"""Programs to be interrupted: each writes into what the user holds, and marks how far it came.

Whatever is shown otherwise for a while (memory rewound, containers as they were at a call, fresh leaves) stands as
the function left it once the interrupt is out.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

MARKS: list[None] = []
"""One for each step of a program that is done."""

BUFFER = np.ones(4)
WIDE = np.ones(1000)
WORK = np.ones(3)
ITEMS: list[Any] = [1.0, 2.0]
TABLE: dict[str, Any] = {"a": 1.0}


class Box:
    total: Any = 1.0


BOX = Box()


class Fault(NamedTuple):
    """A program: what runs, and what makes it run from the beginning again."""

    run: Callable[[], Any]
    traced: Callable[..., Any]


def mark() -> None:
    """A step is done; a function with a rule, so that nothing of it is traced."""
    MARKS.append(None)


wg.non_differentiable(mark)


def reset() -> None:
    MARKS.clear()
    BUFFER[:] = 1.0
    WIDE[:] = 1.0
    WORK[:] = 1.0
    ITEMS[:] = [1.0, 2.0]
    TABLE.clear()
    TABLE["a"] = 1.0
    BOX.total = 1.0
    BOX.__dict__.pop("more", None)
    random.seed(1)


def held() -> tuple[Any, ...]:
    """What the user holds, without a look at who made it."""
    lists = [repr([float(v) for v in values]) for values in (ITEMS, TABLE.values(), vars(BOX).values())]
    return BUFFER.tobytes(), WIDE.tobytes(), WORK.tobytes(), *lists, random.getstate()


def plain_states(program: Fault) -> dict[int, set[Any]]:
    """What the user may hold after so many marks: what is there at each instruction of a run that nothing traces."""
    states: dict[int, set[Any]] = {}

    def step(frame: Any, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes = frame.f_code.co_filename == __file__
        if frame.f_trace_opcodes and event != "call":
            states.setdefault(len(MARKS), set()).add(held())
        return step

    reset()
    states[0] = {held()}
    before = sys.gettrace()
    sys.settrace(step)
    try:
        program.traced(1.5)
    finally:
        sys.settrace(before)
    states.setdefault(len(MARKS), set()).clear()  # of the last mark, what is there at the end
    states[len(MARKS)].add(held())
    return states


def overwrites(x: Any) -> Any:
    """Each write overwrites what a pullback reads."""
    BUFFER[0] = x
    mark()
    y = BUFFER * x
    BUFFER[1:] = y[1:] * x
    mark()
    z = np.sum(BUFFER * y)
    BUFFER[:] = BUFFER * BUFFER
    mark()
    WIDE[:] = WIDE * x
    mark()
    w = np.sum(WIDE * WIDE * x)
    WIDE[:] = WIDE * WIDE
    mark()
    u = np.sum(WIDE * BUFFER[0])
    WIDE[::2] *= 2.0
    BUFFER[2] = 7.0
    mark()
    return z + w + u


def inside(x: Any) -> Any:
    """An inner gradient rewinds what it wrote, and the outer goes on."""
    BUFFER[0] = x
    mark()

    def inner(y: Any) -> Any:
        BUFFER[1] = y * x
        z = BUFFER * BUFFER
        BUFFER[1] = 3.0 * y
        mark()
        return np.sum(z * BUFFER)

    slope = wg.grad(inner)(x)
    BUFFER[2] = slope
    mark()
    return slope * BUFFER[1]


def pulled(x: Any) -> Any:
    """A vjp inside, whose pullback is called when its memory is overwritten."""
    value, pull = wg.vjp(lambda y: BUFFER * y * y, x)
    BUFFER[:] = value
    mark()
    slope = pull(BUFFER)[0]
    BUFFER[3] = slope
    mark()
    return slope * np.sum(BUFFER)


@wg.checkpoint
def block(x: Any, items: list[Any], table: dict[str, Any], box: Any) -> Any:
    items.append(x)
    items[0] = items[1] * x
    table["a"] = table["a"] * x
    table["b"] = x
    box.total = box.total * x
    box.more = x
    BUFFER[0] = BUFFER[0] * x + random.random()
    BUFFER[1:] = BUFFER[1:] * BUFFER[0]
    WIDE[:] *= x
    return np.sum(BUFFER) * items[0] * table["a"] * box.total * WIDE[0]


def again(x: Any) -> Any:
    """Checkpoints put containers, objects, memory and random numbers back, and forth again."""
    y = block(x, ITEMS, TABLE, BOX)
    mark()
    ITEMS[0] = 5.0
    TABLE["c"] = 1.0
    BUFFER[0] = 2.0
    mark()
    z = block(x * 0.5, ITEMS, TABLE, BOX)
    mark()
    WIDE[:] = 3.0
    ITEMS.pop()
    BOX.total = 4.0
    mark()
    return y + z


def looked_up(x: Any) -> Any:
    return x * WORK[0] * ITEMS[0] * BOX.total


@wg.rrule(looked_up)
def looked_up_rule(x: Any) -> Any:
    def pullback(y_bar: Any) -> Any:
        return y_bar * WORK[0] * ITEMS[0] * BOX.total

    return looked_up(x), pullback


def looks_back(x: Any) -> Any:
    """A pullback is shown what its rule read: arrays, a list, an attribute."""
    y = looked_up(x)
    WORK[0] = 3.0
    mark()
    ITEMS[0] = 4.0
    BOX.total = 2.0
    mark()
    z = looked_up(y)
    WORK[:] = 5.0
    ITEMS.append(1.0)
    BOX.total = 6.0
    mark()
    return y * z


def loops(x: Any) -> Any:
    """A loop whose stretches run again, in memory that they share."""

    def step(state: Any, i: int) -> Any:
        BUFFER[i % 4] = state * x
        return state * 0.5 + BUFFER[i % 4]

    y = wg.checkpoint_loop(step, x, 4)
    mark()
    BUFFER[:] = 1.0
    mark()
    return y


def short(x: Any) -> Any:
    BUFFER[0] = x
    mark()
    y = BUFFER * x
    BUFFER[1:] = y[1:] * x
    mark()
    return np.sum(BUFFER * y)


def later(x: Any) -> Any:
    """A pullback of a rule that is called when the trace is over."""
    value, pull = wg.vjp(looks_back, x)
    return value, pull(1.0), pull(2.0)


def tape(x: Any) -> Any:
    return repr(wg.gradtape(short, x).play(x))


def recorded(x: Any) -> Any:
    value, made = wg.trace(short, x)
    return value, made.play(2.0)


PROGRAMS: dict[str, Fault] = {
    f.__name__: Fault(lambda f=f: wg.value_and_grad(f)(1.5), f)  # type: ignore[misc]
    for f in (overwrites, inside, pulled, again, looks_back, loops)
}
PROGRAMS["later"] = Fault(lambda: later(1.5), looks_back)
PROGRAMS["tape"] = Fault(lambda: tape(1.5), short)
PROGRAMS["recorded"] = Fault(lambda: recorded(1.5), short)
PROGRAMS["outer vjp"] = Fault(lambda: (lambda v, p: (v, p(1.0)))(*wg.vjp(inside, 1.5)), inside)
PROGRAMS["gradient of a gradient"] = Fault(lambda: wg.grad(lambda x: wg.grad(short)(x) * x)(1.5), short)
