"""Random tapes with loops, whose carried arrays are shared, swapped, returned and written in every way."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.tape.loops import Loop
from wengert.tape.ops import value_of
from wengert.values.functional import additem, getfield, make_tuple, setitem

N = 4
CONSTANT = np.array([0.5, -0.25, 0.125, 1.0])
MATRIX = np.arange(-8.0, 8.0).reshape(N, N) / 32


def tape_of(values: Sequence[Any], f: Any, names: Sequence[str] = ()) -> Any:
    """The tape of what `f(call, *inputs)` calls; it returns what the tape gives, as a Variable or several."""
    tape: Any = wg.Tape()
    named = dict(enumerate(names))
    inputs = [tape.push(wg.Input(value, named.get(k))) for k, value in enumerate(values)]

    def call(fn: Any, *args: Any, guard: bool = False, **kwargs: Any) -> Any:
        op = wg.mkcall(fn, *args, **kwargs)
        op.guard = guard
        return tape.push(op)

    result = f(call, *inputs)
    tape.result = call(make_tuple, *result) if isinstance(result, list | tuple) else result
    return tape


def itself(x: Any, y: Any) -> Any:
    """A function in Python, of which nobody knows that it returns what it was given."""
    return x


class Maker:
    """Makes random calls on arrays of N floats, numbers, and places among the N."""

    def __init__(self, rng: Any, call: Any, arrays: list[Any], numbers: list[Any], places: list[Any]) -> None:
        self.rng, self.call, self.arrays, self.numbers, self.places = rng, call, arrays, numbers, places

    def one(self, things: list[Any]) -> Any:
        return things[self.rng.integers(len(things))]

    def step(self, depth: int) -> None:
        """Make one call."""
        call, a, b = self.call, self.one(self.arrays), self.one(self.arrays)
        kind = self.rng.integers(15 if depth else 14)
        if kind == 0:
            self.arrays.append(call(self.one([np.add, operator.sub]), a, b))
        elif kind == 1:
            self.arrays.append(call(self.one([np.sin, np.copy, np.negative]), a))
        elif kind == 12:
            self.arrays.append(call(np.matmul, MATRIX, a))
        elif kind == 13:
            self.stored(a, call(np.multiply, call(operator.getitem, b, slice(1, 3)), 0.5))
        elif kind == 2:
            self.arrays.append(call(operator.mul, a, self.one([0.5, 1.0, CONSTANT, np.float64(-0.75)])))
        elif kind == 3:
            self.arrays.append(call(operator.getitem, a, slice(None, None, -1)))
        elif kind == 4:
            self.numbers.append(call(operator.getitem, a, self.one(self.places)))
        elif kind == 5:
            self.numbers.append(call(operator.mul, self.one(self.numbers), self.one([0.5, *self.numbers])))
        elif kind == 6:
            self.arrays.append(call(itself, a, b))
        elif kind == 7:
            part = call(operator.getitem, b, slice(1, 3))
            self.arrays.append(call(self.one([setitem, additem]), a, self.one([slice(0, 2), slice(2, 4)]), part))
        elif kind < 12:
            value = self.one([1.5, *self.numbers])
            self.arrays.append(call(self.one([setitem, additem]), a, self.one(self.places), value))
        else:
            self.loop(depth - 1)

    def stored(self, x: Any, part: Any) -> None:
        """Store a part of its own memory, with calls between, and perhaps read it later."""
        for _ in range(self.rng.integers(2)):
            self.step(0)
        self.arrays.append(self.call(setitem, x, self.one([slice(0, 2), slice(2, 4)]), part))
        for _ in range(self.rng.integers(2)):
            self.step(0)
        if self.rng.random() < 0.5:
            self.arrays.append(self.call(additem, self.one(self.arrays), slice(1, 3), part))

    def loop(self, depth: int) -> None:
        """Call a random loop."""
        rng = self.rng
        count = int(rng.integers(1, N + 1))
        carried = [self.one(self.arrays) for _ in range(rng.integers(1, 4))]
        numbers = [self.one([0.5, *self.numbers]) for _ in range(rng.integers(2))]
        same = [self.one([CONSTANT, *self.arrays]) for _ in range(rng.integers(3))]
        starts = [self.one([(0, 1), (N - 1, -1), (2, 0), *[(place, 0) for place in self.places]]) for _ in range(2)]
        given = [*[start for start, _ in starts], *carried, *numbers, *same]
        values = [value_of(v) for v in given]

        def body(call: Any, i: Any, j: Any, *rest: Any) -> Any:
            arrays = [v for v in rest if isinstance(value_of(v), np.ndarray)]
            inner = Maker(rng, call, arrays, [v for v in rest if v not in arrays] or [0.25], [i, j, 1])
            for _ in range(rng.integers(1, 6)):
                inner.step(depth)
            further = [inner.one([*inner.arrays, *inner.numbers, CONSTANT]) for _ in range(rng.integers(3))]
            latest = [inner.arrays[-1 - k % len(inner.arrays)] for k in range(len(carried))]
            arrays = [inner.one([latest[k], *inner.arrays]) for k in range(len(carried))]
            return [*arrays, *[inner.one(inner.numbers) for _ in numbers], *further]

        loop = Loop(tape_of(values, body), count, [step for _, step in starts], len(carried) + len(numbers))
        found = self.call(loop, *given)
        for k, part in enumerate(value_of(found)):
            if rng.random() < 0.8:
                into = self.arrays if isinstance(part, np.ndarray) else self.numbers
                into.append(self.call(getfield, found, k))


def random_tape(seed: int) -> Any:
    """A random tape of two arrays and a number, with loops in loops."""
    rng = np.random.default_rng(seed)

    def f(call: Any, x: Any, y: Any, s: Any) -> Any:
        made = Maker(rng, call, [x, y], [s], [1, 2])
        for _ in range(rng.integers(3)):
            made.step(2)
        made.loop(2)
        for _ in range(rng.integers(4)):
            made.step(2)
        read = [v for v in made.arrays[2:] if rng.random() < 0.4]
        return [*(read or made.arrays[-1:]), *made.numbers[1:], *[x] * int(rng.integers(2))]

    return tape_of(arguments(seed), f, ["x", "y", "s"])


def arguments(seed: int) -> list[Any]:
    """Arguments for a random tape."""
    rng = np.random.default_rng(seed + 1)
    return [rng.uniform(-1, 1, N), rng.uniform(-1, 1, N), np.float64(rng.uniform(-1, 1))]
