"""Random tapes of floats with loops: what native code has words for, in all orders."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Variable, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional as fun

N, SHAPE = 6, (3, 4)


class Maker:
    """Puts random ops on a tape; `known` are the Variables that they may read, `places` those that are indices."""

    def __init__(self, rng: np.random.Generator, inputs: list[Any], places: list[Any], depth: int) -> None:
        self.rng, self.tape, self.depth = rng, Tape(), depth
        self.places = [self.tape.push(Input(place)) for place in places]
        self.known = [self.tape.push(Input(x)) for x in inputs]

    def of(self, *kinds: str) -> Any:
        """A value of one of these kinds: a number, a vector, a matrix."""
        found = [v for v in self.known if kind_of(value_of(v)) in kinds]
        return found[self.rng.integers(len(found))]

    def choose(self, items: Any) -> Any:
        return items[self.rng.integers(len(items))]

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Variable:
        op = Call(fn, args, kwargs)
        with np.errstate(all="ignore"):
            op.val = fn(*with_variables(op.args, value_of), **with_variables(op.kwargs, value_of))
        v = self.tape.push(op)
        if kind_of(op.val):
            self.known.append(v)
        return v

    def index(self) -> Any:
        return self.choose(self.places) if self.places and self.rng.random() < 0.6 else int(self.rng.integers(-3, 3))

    def step(self) -> None:
        getattr(self, self.choose(STEPS if self.depth else [s for s in STEPS if s != "loop"]))()

    def both(self) -> None:
        kind = self.choose(["number", "vector", "matrix"])
        fn = self.choose([operator.add, operator.sub, operator.mul, np.maximum, np.multiply, np.subtract])
        x, y = self.of(kind), self.of(kind, "number")
        self.call(fn, *((x, y) if self.rng.random() < 0.5 else (y, x)))

    def one(self) -> None:
        x = self.of("number", "vector", "matrix")
        self.call(self.choose([operator.neg, np.tanh, np.sin, np.abs, np.square, np.copy, np.negative]), x)

    def mask(self) -> None:
        kind = self.choose(["vector", "matrix"])
        test = self.call(self.choose([np.greater, operator.lt, np.equal]), self.of(kind), self.of(kind, "number"))
        if self.rng.random() < 0.5:
            self.call(np.where, test, self.of(kind), self.of(kind, "number"))
        else:
            self.call(operator.mul, test, self.of(kind))

    def number(self) -> None:
        x = self.of("number", "vector")
        fn = self.choose([float, math.sin, math.tanh])
        self.call(fn, x if kind_of(value_of(x)) == "number" else self.call(operator.getitem, x, self.index()))

    def element(self) -> None:
        self.call(operator.getitem, self.of("matrix"), (self.index(), int(self.rng.integers(-4, 4))))
        self.call(np.ndarray.item, self.of("vector"), int(self.rng.integers(0, N)))

    def row(self) -> None:
        row = self.call(operator.getitem, self.of("matrix"), (slice(None), None, self.index()))
        self.call(np.concatenate, (self.call(np.reshape, row, (3,)), self.call(np.reshape, row, -1)))

    def part(self) -> None:
        x = self.of("vector")
        n = int(self.rng.integers(1, N))
        a, b = self.call(operator.getitem, x, slice(n, None)), self.call(operator.getitem, x, slice(None, n))
        self.call(np.concatenate, [a, b])
        self.call(operator.getitem, x, slice(None, None, -1))

    def matrix(self) -> None:
        x = self.of("matrix")
        self.call(np.reshape, self.call(np.transpose, x), SHAPE)
        self.call(operator.matmul, self.call(operator.matmul, x, self.call(np.transpose, self.of("matrix"))), x)
        self.call(np.stack, [self.call(operator.getitem, x, (slice(None), k)) for k in (2, 0, 1, 3)], axis=1)

    def sums(self) -> None:
        x = self.of("matrix")
        rows = self.call(np.sum, x, axis=1, keepdims=True)
        columns = self.call(np.sum, self.of("matrix"), axis=0)
        self.call(operator.mul, rows, columns)
        self.call(np.max, self.of("vector", "matrix"))
        self.call(np.vdot, x, self.of("matrix"))
        self.call(np.einsum, "ij,ij->j", x, self.of("matrix"))
        self.call(np.broadcast_to, columns, SHAPE)

    def store(self) -> None:
        fn = self.choose([fun.setitem, fun.additem])
        how = self.rng.integers(5)
        if how == 0:
            self.call(fn, self.of("vector"), self.index(), self.of("number"))
        elif how == 1:
            self.call(fn, self.of("matrix"), (self.index(), 1), self.of("number"))
        elif how == 2:
            part = self.call(operator.getitem, self.of("vector"), slice(None, -1))
            self.call(fn, self.of("vector"), slice(1, None), part)
        elif how == 3:
            row = self.call(operator.getitem, self.of("matrix"), (self.index() if self.places else 1))
            self.call(fn, self.of("matrix"), self.index(), row)
        else:
            part = self.call(operator.getitem, self.of("vector"), slice(2, None))
            self.call(fn, self.call(np.zeros, (N,)), self.choose([slice(1, -1), slice(-2, 0, -1)]), part)
            self.call(fn, self.call(np.zeros, (N,)), slice(None, None, -1), self.of("vector"))

    def loop(self) -> None:
        """A loop whose body is random."""
        rng, count = self.rng, int(self.rng.integers(1, 4))
        steps = [self.choose([1, -1, 0]) for _ in range(2)]
        places = [int(rng.integers(0, 4 - count)) if step >= 0 else count - 1 for step in steps]
        carried = [self.of("number", "vector", "matrix") for _ in range(rng.integers(1, 4))]
        same = [self.of("number", "vector", "matrix") for _ in range(3)]
        inside = Maker(rng, [value_of(v) for v in (*carried, *same)], places, self.depth - 1)
        inside.known.append(inside.tape.push(Constant(0.5)))
        inside.call(np.copy, np.arange(1.0, N + 1))
        inside.call(np.copy, np.ones(SHAPE))
        for _ in range(rng.integers(1, 7)):
            inside.step()
        ends = [inside.of(kind_of(value_of(v))) for v in carried]
        further = [inside.of("number", "vector", "matrix") for _ in range(rng.integers(0, 3))]
        ends = [
            e if isinstance(value_of(v), np.ndarray) else inside.call(type(value_of(v)), e)
            for e, v in zip(ends, carried, strict=True)
        ]
        inside.tape.result = inside.call(fun.make_tuple, *ends, *further)
        loop = self.call(Loop(inside.tape, count, steps, len(carried)), *places, *carried, *same)
        for k in range(len(ends) + len(further)):
            self.call(fun.getfield, loop, k)


STEPS = ["both", "one", "mask", "number", "element", "row", "part", "matrix", "sums", "store", "store", "loop", "loop"]


def kind_of(x: Any) -> str:
    if type(x) in (float, np.float64):
        return "number"
    if type(x) is not np.ndarray or x.dtype != np.float64:
        return ""
    return {(N,): "vector", SHAPE: "matrix"}.get(x.shape, "")


def arguments(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [float(rng.normal()), np.float64(rng.normal()), rng.normal(size=N), rng.normal(size=SHAPE)]


def random_tape(seed: int) -> Tape:
    """A tape of a few random ops, whose result is a tuple of what they computed."""
    rng = np.random.default_rng(seed)
    maker = Maker(rng, arguments(seed), [], 2)
    for _ in range(rng.integers(1, 9)):
        maker.step()
    maker.tape.result = maker.call(fun.make_tuple, *[maker.known[k] for k in rng.integers(2, len(maker.known), 3)])
    return maker.tape
