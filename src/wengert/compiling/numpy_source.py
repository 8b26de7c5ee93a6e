"""A tape as NumPy source that says where results go: `v7 = np.add(v5, v6, b1)`, with b1 of a pool of buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.placement import Pool, placement, ufunc_at
from wengert.tape.interface import AnyTape
from wengert.tape.literals import Snippet
from wengert.tape.liveness import is_atom
from wengert.tape.ops import Call, Op, value_of
from wengert.tape.source import Writer, compiled
from wengert.values.names import TIGHT


def compile_placed(tape: AnyTape, name: str = "f") -> Callable[..., Any]:
    """The function that computes what `tape` does, in buffers that it keeps; its text is its `source`."""
    writer = PlacedWriter(tape, sites=True)
    function: Any = compiled(writer, name)
    function.pool = writer.pool
    return function


class PlacedWriter(Writer):
    """Writes the statements of one tape, with the places of results."""

    def __init__(self, tape: AnyTape, sites: bool) -> None:
        super().__init__(tape, sites)
        self.places: dict[int, str] = {}
        self.pool: Pool | None = None

    def body(self) -> None:
        """Write the statements, inside of those that take buffers and give them back."""
        buffers, places = placement(self.ops, self.tape.result)
        if not buffers:
            super().body()
            return
        names = [self.name(f"b{k + 1}") for k in range(len(buffers))]
        self.places = {op: names[k] for op, k in places.items()}
        pool, taken = self.name("pool"), self.name("buffers")
        self.pool = self.outside.constants[pool] = Pool(buffers)
        before = len(self.lines)
        super().body()
        inside = [f"{', '.join(names)}{',' * (len(names) == 1)} = {taken}", *self.lines[before:]]
        self.lines[before:] = [
            f"{taken} = {pool}.take()",
            "try:",
            *(f"    {line}" for line in inside),
            "finally:",
            f"    {pool}.give({taken})",
        ]

    def folds(self, op: Call) -> bool:
        """A number that is made of arrays has a line of its own: where it is read, they may be overwritten."""
        return super().folds(op) and (not is_atom(op.val) or all([is_atom(value_of(v)) for v in op.references()]))

    def misfit(self, name: str, recorded: Any) -> str:
        """The test of an argument, of an array's dtype by the dtype itself: several times faster than by its name."""
        test = super().misfit(name, recorded)
        if isinstance(recorded, np.ndarray) and test:
            dtype = self.outside.bind(recorded.dtype).text
            test = test.replace(f".dtype != {str(recorded.dtype)!r}", f".dtype != {dtype}")
        return test

    def assign(self, op: Op, build: Callable[[], Snippet]) -> None:
        """Write `name = ...`; np.full takes several times as long as what it does."""
        if isinstance(op, Call) and op.fn is np.full and len(op.args) == 2 and is_atom(value_of(op.args[1])):
            super().assign(op, lambda: Snippet(f"{self.outside.numpy('empty')}({self.like(op.val)})", TIGHT))
            self.statement(None, lambda: f"{self.exprs[op.id].text}.fill({self.arg(op.args[1]).text})")
        else:
            super().assign(op, build)

    def like(self, x: np.ndarray) -> str:
        """The shape and dtype of an array, as arguments."""
        return f"{x.shape}" if x.dtype == np.float64 else f"{x.shape}, {self.outside.expr(x.dtype).text}"

    def call(self, op: Call) -> Snippet:
        place = self.places.get(op.id)
        if place is None:
            return super().call(op)
        fn = ufunc_at(op.fn)
        out = f"out={place}" if fn is np.einsum else f"None, {place}" if not isinstance(fn, np.ufunc) else place
        args = ", ".join([*(self.arg(arg).text for arg in op.args), out])
        return Snippet(f"{self.arg(fn).inside(TIGHT)}({args})", TIGHT)
