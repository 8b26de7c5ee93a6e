"""Loops of a tape in native code: carried numbers are variables, carried arrays stay in one place in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.blocks import BlockLevel
from wengert.compiling.native.values import (
    FLOAT,
    Affine,
    Computed,
    Counter,
    FlatMemory,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_native_array,
    is_table,
)
from wengert.compiling.uninitialised import fills_carried_array
from wengert.tape.ops import Call


def loop_value(body: Any, op: Call, *args: Any) -> Any:
    """The value of a call of a Loop: the tuple of what it carries, and of what is read of its last iteration."""
    return Repeated(body, op, args).value()


class Repeated:
    """A call of a Loop, as it is turned into blocks."""

    def __init__(self, body: Any, op: Call, args: tuple[Any, ...]) -> None:
        self.body, self.op, self.loop = body, op, op.fn
        n, m = len(self.loop.steps), self.loop.carried
        self.places, self.begin, self.same = args[:n], args[n : n + m], args[n + m :]
        names = body.level.names
        self.counter = Counter(f"k{next(names)}", self.loop.count)
        self.inner = BlockLevel(names)
        self.inside = type(body)(body.program, self.loop.body, self.inner)
        self.inputs = [v.op for v in self.loop.inputs]
        self.before: list[str] = []
        self.after: list[str] = []

    def value(self) -> tuple[Any, ...]:
        given = [*map(self.place, self.places, self.loop.steps), *self.carried(), *map(self.outside, self.same)]
        for input, value in zip(self.inputs, given, strict=True):
            self.inside.know(input, value)
        self.inside.read(self.inside.ops)
        found = self.inside.value(self.inside.result)
        if not isinstance(found, tuple):
            raise UnsupportedOp("a loop whose result is no tuple")
        n, m = len(self.places), self.loop.carried
        carried = given[n : n + m]
        stays = [c.memory for x, c in zip(found[:m], carried, strict=True) if self.is_in_place(x, c)]
        last = [self.kept(x, stays) for x in found[m:]]
        handed = [self.apart(x, c) for x, c in zip(found[:m], carried, strict=True)]
        pairs = [self.handed(x, c) for x, c in zip(handed, carried, strict=True)]
        if ends := [pair for pair in pairs if pair is not None]:
            self.after.append(f"{', '.join([a for a, _ in ends])} = {', '.join([b for _, b in ends])}")
        at = self.body.level.repeat(self.counter, self.inner, self.before, self.after)
        for x in (*carried, *last):
            if isinstance(x, Scalar):
                self.body.level.known[x.text] = at + 1
            else:
                x.memory.owner = self.body.level
        return (*carried, *last)

    # -- what an iteration begins with

    def place(self, first: Any, step: int) -> Affine:
        if isinstance(first, bool) or not isinstance(first, (int, np.integer, Affine)):
            raise UnsupportedOp("a place that is computed")
        begin = first if isinstance(first, Affine) else Affine(int(first))
        return begin + Affine(0, ((self.counter, step),) if step else ())

    def outside(self, x: Any) -> Any:
        """Return what is the same in all iterations, as the body reads it."""
        if isinstance(x, Computed):
            return self.body.level.view(x)
        if isinstance(x, tuple) and not is_table(x):
            raise UnsupportedOp("a tuple for a loop")
        return x

    def carried(self) -> list[Any]:
        return [self.carry(x, fills_carried_array(self.loop, k, self.places)) for k, x in enumerate(self.begin)]

    def carry(self, x: Any, filled: bool) -> Any:
        """Return the variable or memory of a carried value, which holds its first value unless it is `filled` anew."""
        level = self.body.level
        if not is_native_array(x):
            x = self.body.operand(x)
            if x.kind != FLOAT:
                raise UnsupportedOp("a bool that is carried")
            name = f"c{next(level.names)}"
            self.before.append(f"{name} = {x.text}")
            return Scalar(name)
        x = self.body.as_float(x)
        if self.may_take(x):
            view = level.view(x)
        elif isinstance(x, Splat):
            view = self.body.view(replace(x, blank=x.blank or filled))
        else:
            view = View.whole(level.memory(x.shape), x.shape)
            level.store(view, "=", x)
        view.memory.owner = self.inner
        return view

    def may_take(self, x: Any) -> bool:
        """Whether an array's memory may be written by the loop: nobody else reads it."""
        if isinstance(x, Splat) or sum([y is x for y in (*self.begin, *self.same)]) > 1:
            return False
        if isinstance(x, Computed):
            mine, memory, aliases = x.level is self.body.level, x.view and x.view.memory, x.aliases
        else:
            mine, memory, aliases = x.memory.owner is self.body.level and x.is_whole, x.memory, x.memory.aliases
        others = [y.view if isinstance(y, Computed) else y for y in (*self.begin, *self.same) if y is not x]
        shared = [y for y in others if isinstance(y, View) and y.memory is memory]
        return mine and not shared and not self.body.read_after(aliases, self.op)

    # -- what an iteration ends with

    def is_in_place(self, x: Any, carried: Any) -> bool:
        """Whether an array is handed on in the memory of what is carried."""
        alike = isinstance(x, View) and isinstance(carried, View) and x.memory is carried.memory
        return alike and x.is_whole and x.shape == carried.shape

    def kept(self, x: Any, stays: list[FlatMemory]) -> Any:
        """Return a result of the last iteration that outlives the loop; it may lie in memory that `stays`."""
        level = self.body.level
        view = self.inner.view(x) if isinstance(x, Computed) else x
        if isinstance(view, View) and view.memory.home is self.inner and view.is_whole:
            view.memory.home = view.memory.owner = level
            return view
        if isinstance(view, View) and any([view.memory is memory for memory in stays]):
            steps = dict(view.offset.steps)
            last = Affine(view.offset.first + steps.pop(self.counter, 0) * (self.loop.count - 1), tuple(steps.items()))
            return replace(view, offset=last)
        if is_native_array(x):
            view = View.whole(level.memory(x.shape), x.shape)
            self.inner.store(view, "=", x.number if isinstance(x, Splat) else self.body.as_float(x))
            return view
        if isinstance(x, tuple):
            raise UnsupportedOp("a tuple that a loop gives")
        x = self.body.operand(x)
        if x.kind != FLOAT:
            raise UnsupportedOp("a bool that a loop gives")
        name = f"r{next(level.names)}"
        self.before.append(f"{name} = 0.0")
        self.after.append(f"{name} = {x.text}")
        return Scalar(name)

    def apart(self, x: Any, carried: Any) -> Any:
        """Return a loop-carried value, in a copy where its memory is about to change."""
        changes = isinstance(x, View) and x.memory.owner is self.inner and isinstance(carried, View)
        return self.inner.let("{0}", [x], x.shape) if changes and not self.is_in_place(x, carried) else x

    def handed(self, x: Any, carried: Any) -> tuple[str, str] | None:
        """Hand on a value: a number by an assignment, an array in the memory of what is carried."""
        if isinstance(carried, Scalar):
            x = self.body.operand(x)
            if not isinstance(x, Scalar) or x.kind != FLOAT:
                raise UnsupportedOp("a number that becomes another kind of value")
            return None if x.text == carried.text else (carried.text, x.text)
        if not is_native_array(x) or x.shape != carried.shape:
            raise UnsupportedOp("an array that changes its shape")
        if isinstance(x, View) and x.memory is carried.memory:
            return None
        if isinstance(x, Computed) and self.inner.may_write_at(x, carried):
            self.inner.give_memory(x, carried)
        else:
            self.inner.store(carried, "=", x.number if isinstance(x, Splat) else x)
        return None
