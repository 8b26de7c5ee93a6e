"""Native code of loops on a tape: loop-carried numbers are variables, loop-carried arrays keep their memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.blocks import BlockLevel
from wengert.compiling.native.callouts import CALLS_PER_CALLOUT
from wengert.compiling.native.complex_numbers import as_pair
from wengert.compiling.native.values import (
    Affine,
    ComplexPair,
    ComputedArray,
    Counter,
    KnownInts,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_constant_table,
    is_known_whole,
    is_native_array,
    is_of_complex,
    real_parts,
)
from wengert.compiling.native.views import array_of_parts
from wengert.compiling.ops import FLOAT_KIND
from wengert.compiling.uninitialised import fills_carried_array
from wengert.tape.ops import Call

ENDLESS = 1 << 62
"""A number of iterations that no loop reaches."""


class LoopEmitter:
    """Turns a call of a Loop into blocks."""

    def __init__(self, body: Any, op: Call, args: Sequence[Any]) -> None:
        self.body, self.op, self.loop = body, op, op.fn
        n, m = len(self.loop.steps), self.loop.carried
        self.first_indices, self.first_values, self.outer_values = args[:n], args[n : n + m], args[n + m :]
        names = body.level.names
        self.counter = Counter(f"k{next(names)}", ENDLESS if self.loop.count is None else self.loop.count)
        self.inner = BlockLevel(names)
        self.inner_body = type(body)(body.program, self.loop.body, self.inner)
        self.inputs = [v.op for v in self.loop.inputs]
        self.before: list[str] = []
        self.after: list[str] = []

    def value(self) -> tuple[Any, ...]:
        """Return the value of the call: the tuple of its carried values, and of results of its last iteration."""
        given = [
            *map(self.index, self.first_indices, self.loop.steps),
            *self.carried_values(),
            *map(self.outer_value, self.outer_values),
        ]
        for input, value in zip(self.inputs, given, strict=True):
            self.inner_body.set_value(input, value)
        self.inner_body.read(self.inner_body.ops)
        callouts, calls = self.inner_body.unsupported, [op for op in self.inner_body.ops if isinstance(op, Call)]
        if len(callouts) * CALLS_PER_CALLOUT > len(calls):
            raise callouts[0]
        found = self.inner_body.value(self.inner_body.result)
        if not isinstance(found, tuple):
            raise UnsupportedOp("a loop whose result is not a tuple")
        n, m = len(self.first_indices), self.loop.carried
        carried = self.carried = given[n : n + m]
        last = [self.last_result(x) for x in found[m:]]
        ends = [end for x, c in zip(found[:m], carried, strict=True) for end in self.ends_of(x, c)]
        passed = [(self.copy_if_overwritten(x, c), c) for x, c in ends]
        pairs = [self.pass_on(x, c) for x, c in passed]
        if numbers := [pair for pair in pairs if pair is not None]:
            self.after.append(f"{', '.join([a for a, _ in numbers])} = {', '.join([b for _, b in numbers])}")
        at = self.body.level.append_loop(self.head(), self.inner, self.before, self.after)
        for x in itertools.chain(*map(real_parts, (*carried, *last))):
            if isinstance(x, Scalar):
                self.body.level.slot_of_number[x.text] = at + 1
            else:
                x.memory.owner = self.body.level
        return (*carried, *last)

    def head(self) -> list[str]:
        """Return the first lines of the loop."""
        loop, k = self.loop, self.counter.name
        if loop.ending == "number":
            number = self.body.operand(self.outer_values[0]).text
            if loop.is_branch:
                return [f"if {number}:"]
            return [f"for {k} in range(int({number}){' - 1, -1, -1' * loop.descending}):"]
        if loop.ending == "count":
            return [f"for {k} in range({loop.count}):"]
        flag = self.carried[0].text
        if loop.count is not None:
            return [f"for {k} in range({loop.count}):", f"    if not {flag}: break"]
        self.before.append(f"{k} = -1")
        return [f"while {flag}:", f"    {k} += 1"]

    # -- inputs of an iteration

    def index(self, first: Any, step: int) -> Affine | Scalar:
        """Return the integer that an iteration reads; if the first one is computed, each use checks its bounds."""
        if isinstance(first, Scalar) and first.kind == FLOAT_KIND:
            return self.inner.compute_number(f"{{0}} + {step}.0 * {self.counter.name}", first) if step else first
        if isinstance(first, bool) or not isinstance(first, (int, np.integer, Affine)):
            raise UnsupportedOp("a computed loop index")
        begin = first if isinstance(first, Affine) else Affine(int(first))
        return begin + Affine(0, ((self.counter, step),) if step else ())

    def outer_value(self, x: Any) -> Any:
        """Return a loop-invariant value as the body reads it."""
        if isinstance(x, ComplexPair):
            return ComplexPair(*map(self.outer_value, real_parts(x)))
        if isinstance(x, ComputedArray):
            return self.body.level.view(x)
        return x if not isinstance(x, tuple) or is_constant_table(x) else self.table_of(x)

    def table_of(self, parts: tuple[Any, ...]) -> Any:
        """Return an array of the numbers or arrays of a tuple, of which each iteration reads one."""
        ints = [x.array for x in parts if is_known_whole(x)]
        if len(ints) == len(parts) and len({x.shape for x in ints}) == 1:
            return KnownInts(np.stack(ints))
        if any([isinstance(x, ComplexPair) for x in parts]):
            pairs = [as_pair(self.body, x) for x in parts]
            rows = zip(*map(real_parts, pairs), strict=True)
            return ComplexPair(*map(self.table_of, rows))
        shapes = {x.shape if is_native_array(x) else () for x in parts}
        if len(shapes) != 1 or not all([is_native_array(x) or isinstance(x, Scalar) for x in parts]):
            raise UnsupportedOp("a tuple as a loop argument")
        return array_of_parts(self.body, parts)

    def carried_values(self) -> list[Any]:
        return [
            self.carry_all(x, fills_carried_array(self.loop, k, self.first_indices))
            for k, x in enumerate(self.first_values)
        ]

    def carry_all(self, x: Any, is_overwritten: bool) -> Any:
        """Return the variables of both parts of a complex carried value, or that of a real one."""
        if not isinstance(x, ComplexPair) and not is_of_complex(x):
            return self.carry(x, is_overwritten)
        return ComplexPair(*[self.carry(part, is_overwritten) for part in real_parts(as_pair(self.body, x))])

    def carry(self, x: Any, is_overwritten: bool) -> Any:
        """Return the variable or memory of a carried value, set to its first value unless the loop overwrites that."""
        level, x = self.body.level, self.body.operand(x)
        if not is_native_array(x):
            name = f"c{next(level.names)}"
            self.before.append(f"{name} = {x.text}")
            return Scalar(name, x.kind)
        x = self.body.as_float(x)
        if self.may_overwrite(x):
            view = level.view(x)
        elif isinstance(x, Splat):
            view = self.body.view(replace(x, blank=x.blank or is_overwritten))
        else:
            view = level.new_array(x.shape)
            level.store(view, "=", x)
        view.memory.owner = self.inner
        return view

    def may_overwrite(self, x: Any) -> bool:
        """Whether the loop may write an array's memory: nothing else reads it."""
        given = [part for y in (*self.first_values, *self.outer_values) for part in real_parts(y)]
        if isinstance(x, Splat) or sum([y is x for y in given]) > 1:
            return False
        if isinstance(x, ComputedArray):
            mine, memory, aliases = x.level is self.body.level, x.view and x.view.memory, x.aliases
        else:
            mine, memory, aliases = x.memory.owner is self.body.level and x.covers_memory, x.memory, x.memory.aliases
        others = [y for y in given if y is not x]
        views = [y.view if isinstance(y, ComputedArray) else y for y in others]
        shared = [y for y in views if isinstance(y, View) and y.memory is memory]
        return mine and not shared and not self.body.read_after(aliases, self.op)

    # -- results of an iteration

    def is_in_place(self, x: Any, carried: Any) -> bool:
        """Whether an array is already in the memory of a carried one."""
        alike = isinstance(x, View) and isinstance(carried, View) and x.memory is carried.memory
        return alike and x.covers_memory and x.shape == carried.shape

    def last_result(self, x: Any) -> Any:
        """Return a result of the last iteration, which outlives the loop."""
        if isinstance(x, ComplexPair) or is_of_complex(x):
            return ComplexPair(*map(self.last_result, real_parts(as_pair(self.inner_body, x))))
        level = self.body.level
        x = self.inner_body.operand(x) if isinstance(x, KnownInts) else x
        if is_native_array(x):
            view = level.new_array(x.shape)
            self.inner.store(view, "=", x.number if isinstance(x, Splat) else self.body.as_float(x))
            return view
        if isinstance(x, tuple):
            raise UnsupportedOp("a loop that returns nested tuples")
        x = self.body.operand(x)
        if x.kind != FLOAT_KIND:
            raise UnsupportedOp("a loop that returns a bool")
        name = f"r{next(level.names)}"
        self.before.append(f"{name} = 0.0")
        self.after.append(f"{name} = {x.text}")
        return Scalar(name)

    def ends_of(self, x: Any, carried: Any) -> list[tuple[Any, Any]]:
        """Return the next value of a carried variable, and that; of a complex one, both parts."""
        if not isinstance(carried, ComplexPair):
            return [(x, carried)]
        return list(zip(real_parts(as_pair(self.inner_body, x)), real_parts(carried), strict=True))

    def copy_if_overwritten(self, x: Any, carried: Any) -> Any:
        """Return the next value of a carried variable, copied if its memory is about to change."""
        changes = isinstance(x, View) and x.memory.owner is self.inner and isinstance(carried, View)
        return self.inner.let("{0}", [x], x.shape) if changes and not self.is_in_place(x, carried) else x

    def pass_on(self, x: Any, carried: Any) -> tuple[str, str] | None:
        """Pass a value to the next iteration: return the assignment of a number, store an array in carried memory."""
        if isinstance(carried, Scalar):
            x = self.body.operand(x)
            if not isinstance(x, Scalar) or x.kind != carried.kind:
                raise UnsupportedOp("a loop-carried number that changes its type")
            return None if x.text == carried.text else (carried.text, x.text)
        x = self.inner_body.operand(x) if isinstance(x, KnownInts) else x
        x = Splat(x, ()) if isinstance(x, Scalar) else x
        if not is_native_array(x) or x.shape != carried.shape:
            raise UnsupportedOp("a loop-carried array that changes its shape")
        if isinstance(x, View) and x.memory is carried.memory:
            return None
        if isinstance(x, ComputedArray) and self.inner.may_write_at(x, carried):
            self.inner.write_to(x, carried)
        else:
            self.inner.store(carried, "=", x)
        return None
