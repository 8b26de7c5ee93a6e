"""Write a tape as NumPy source that names where results go: `v7 = np.add(v5, v6, b1)`, with b1 from a buffer pool."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from wengert.compiling.blocking import BlockLoop
from wengert.compiling.graphs.ownership import read_by_result
from wengert.compiling.ops import as_ufunc, is_allocation, is_item_store, source_of_floats
from wengert.compiling.parallel_blocks import ParallelBlocks
from wengert.compiling.pipeline import NUMPY, Context, Pass, run_passes
from wengert.compiling.placement import (
    Placement,
    Pool,
    computed_in_stores,
    has_known_memory_use,
    may_reuse,
    place_results,
)
from wengert.compiling.uninitialised import zeros_filled_by_loops
from wengert.compiling.warn_once import warn_once
from wengert.compiling.watched.around import handles_fp_errors
from wengert.tape.interface import AnyTape
from wengert.tape.literals import Snippet
from wengert.tape.liveness import LoopMemory, is_atom
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.tape.source import SourceWriter, compile_source
from wengert.values import functional
from wengert.values.keys import as_view, full_key, key_parts
from wengert.values.names import TIGHT

FLOATS, *WITHOUT_FLOATS = NUMPY


def compile_numpy(
    tape: AnyTape,
    name: str,
    exact: bool,
    passes: Sequence[Pass] = NUMPY,
    compile_block: Callable[[AnyTape], Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Compile a tape to a NumPy function that reuses buffers; its attribute `source` is the generated code.

    Unless `exact`, it may round otherwise. With `compile_block`, which compiles the tape of a block of rows, blocks run
    on several threads. Its attribute `passes` logs the passes.
    """
    context = Context(exact, parallel=compile_block is not None)
    made = run_passes(passes, tape, context)[-1]
    if any([entry.name == FLOATS.name for entry in context.log]):
        plain = compiled_when_called(lambda: compile_numpy(tape, name, exact, WITHOUT_FLOATS, compile_block))
        writer: PlacedWriter = FloatWriter(made, sites=True, plain=plain)
    else:
        writer = PlacedWriter(made, sites=True)
    writer.compile_block = compile_block
    function: Any = compile_source(writer, name)
    function.pool, function.passes = writer.pool, context.log
    loops = [op for op in writer.ops if isinstance(op, Call) and type(op.fn) is BlockLoop]
    threads = ", on several threads" if compile_block else ""
    function.blocks = [f"{op.site}: {op.fn.describe()}{threads}" for op in loops]
    return function


def compiled_when_called(make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Return the function that `make` compiles, at its first call."""
    made = functools.cache(make)
    return lambda *args, **kwargs: made()(*args, **kwargs)


def compile_numpy_block(body: AnyTape) -> Callable[..., Any]:
    """Compile the tape of a block of rows."""
    return compile_numpy(body, "block", exact=True, passes=())


class PlacedWriter(SourceWriter):
    """Writes the statements of one tape, with the buffers of results."""

    def __init__(self, tape: AnyTape, sites: bool, loop: LoopMemory | None = None) -> None:
        if loop is None and has_known_memory_use(list(tape)):
            self.reuses = may_reuse
        super().__init__(tape, sites, loop)
        self.placement = Placement([], {}, {})
        self.names: list[str] = []  # names of the buffers
        self.targets: dict[int, str] = {}
        self.stores_of = computed_in_stores(self.ops, self.memory)
        self.overwritten_zeros = zeros_filled_by_loops(self.ops)
        self.store_targets: dict[int, str] = {}  # names of the views that stores write
        self.pool: Pool | None = None
        self.compile_block: Any = None  # blocks run on several threads
        self.warn_once_name = ""  # name of the context that issues each warning once
        stores = [op for op in self.ops if isinstance(op, Call) and self.writes_most_of_zeros(op)]
        self.zeros_of_store = {op.id: op.args[0].op for op in stores}
        self.deferred_zeros = {op.id for op in self.zeros_of_store.values()}

    def writes_most_of_zeros(self, op: Call) -> bool:
        """Whether an op writes or adds to at least half of an array of zeros that only it reads."""
        if not is_item_store(op) or op.id not in self.in_place or not isinstance(op.args[0], Variable):
            return False
        zeros, key, value = op.args[0].op, op.args[1], value_of(op.args[2])
        fresh = isinstance(zeros, Call) and zeros.fn is np.zeros and self.uses[zeros.id] == 1
        if not fresh or op.val.dtype != np.float64 or edges(key, op.val.shape) is None:
            return False
        part = op.val[as_view(key)]
        same = type(value) is np.ndarray and value.dtype == np.float64 and value.shape == part.shape
        return same and part.size * 2 >= op.val.size >= 2

    def arguments(self) -> tuple[list[str], list[str]]:
        names, words = super().arguments()
        self.given = [*names], [*words]
        return names, words

    def return_of(self, plain: Callable[..., Any]) -> str:
        """Return the statement that calls another function for the same arguments instead."""
        name, (names, words) = self.name("plain"), self.given
        self.outside.constants[name] = plain
        return f"return {name}({', '.join([*names, *(f'{k}={k}' for k in words)])})"

    def body(self) -> None:
        """Write the statements, between those that take buffers from the pool and return them."""
        self.placement = place_results(self.ops, self.memory)
        buffers = self.placement.buffers
        if not buffers:
            super().body()
            return
        self.names = names = [self.name(f"b{k + 1}") for k in range(len(buffers))]
        self.targets = {op: names[k] for op, k in self.placement.places.items()}
        pool, buffers_name = self.name("pool"), self.name("buffers")
        self.pool = self.outside.constants[pool] = Pool(buffers)
        begin = len(self.lines)
        self.lines.append(f"{', '.join(names)}{',' * (len(names) == 1)} = {buffers_name}")
        super().body()
        self.indent(begin, f"{buffers_name} = {pool}.take()", "try:")
        self.lines += ["finally:", f"    {pool}.give({buffers_name})"]

    def indent(self, begin: int, *head: str) -> None:
        """Indent the lines from `begin` on, under these lines."""
        self.lines[begin:] = [*head, *(f"    {line}" for line in self.lines[begin:])]

    def inner(self, op: Call, memory: LoopMemory) -> Self:
        inner = super().inner(op, memory)
        inner.reuses = self.reuses  # `memory` was computed with it
        inner.placement, inner.names = self.placement.inside(op.id), self.names
        inner.targets = {each: self.names[k] for each, k in inner.placement.places.items()}
        return inner

    def write(self, op: Op) -> None:
        """Write an op, unless it makes zeros that their store overwrites."""
        if isinstance(op, Call) and op.id in self.stores_of:
            self.write_in_store(op, self.stores_of[op.id])
        elif isinstance(op, Call) and op.id in self.memory.overwritten:
            self.write_into(op, self.exprs[self.memory.overwritten[op.id].id].text)
        elif isinstance(op, Call) and type(op.fn) is BlockLoop:
            self.write_blocks(op)
        elif op.id not in self.deferred_zeros:
            super().write(op)

    def write_blocks(self, op: Call) -> None:
        """Write a loop over blocks, in which NumPy issues each warning once."""
        self.warn_once_name = self.warn_once_name or self.name("warn_once")
        self.outside.constants[self.warn_once_name] = warn_once
        begin = len(self.lines)
        if self.compile_block:
            self.write_parallel(op)
        else:
            super().write(op)
        self.indent(begin, f"with {self.warn_once_name}():")

    def write_parallel(self, op: Call) -> None:
        """Write a loop over blocks as a call that runs them on several threads."""
        blocks = ParallelBlocks(op.fn, self.compile_block)
        name = self.name("blocks")
        self.outside.constants[name] = blocks
        args = ", ".join([self.arg(a).text for a in op.args[1:]])
        parts = [self.new_name(op) for _ in range(op.fn.carried)]
        self.lines.append(f"{', '.join(parts)}{',' * (len(parts) == 1)} = {name}({args})")
        self.parts[op.id] = [Snippet(part, TIGHT) for part in parts]

    def write_in_store(self, op: Call, store: Call) -> None:
        """Write an op whose result, final or intermediate, is computed in the target of a store."""
        self.settle_operands(references(store.args[1]))
        if store.id in self.zeros_of_store and self.zeros_of_store[store.id].id not in self.exprs:
            self.write_zeros(store)
        place = self.store_targets.get(store.id) or f"{self.exprs[store.args[0].id].text}[{self.key(store.args[1])}]"
        if store.id not in self.store_targets and (self.uses[op.id] > 1 or store.args[2].op is not op):
            super().assign(op, lambda: Snippet(place, TIGHT))
            place = self.store_targets[store.id] = self.exprs[op.id].text
        self.write_into(op, place)

    def settle_operands(self, variables: Iterable[Variable]) -> None:
        """Write the pending expressions of some variables as statements."""
        for v in variables:
            if v.id in self.pending:
                self.settle(v.id)

    def write_into(self, op: Call, place: str) -> None:
        """Write an op whose result goes into an existing array."""
        self.targets[op.id] = place
        self.mutation(op, lambda: self.call(op).text)
        self.exprs[op.id] = Snippet(place, TIGHT)

    def store(self, op: Call, target: str) -> None:
        """Write a store, unless its value was computed in its target; the first sum into zeros overwrites them."""
        value = op.args[-1]
        if isinstance(value, Variable) and self.stores_of.get(value.id) is op:
            self.exprs[op.id] = self.exprs[op.args[0].id]
            return
        if op.id in self.zeros_of_store:
            self.write_zeros(op)
        if op.id not in self.zeros_of_store or op.fn is functional.setitem:
            super().store(op, target)
            return
        name = self.exprs[op.id] = self.exprs[op.args[0].id]
        add, place = self.outside.numpy("add"), f"{name.text}[{self.key(op.args[1])}]"
        self.mutation(op, lambda: f"{add}({self.arg(value).text}, 0.0, {place})")  # 0.0 + -0.0 is 0.0

    def write_zeros(self, op: Call) -> None:
        """Allocate the array of zeros for its first store, and write zeros only where that store does not write."""
        zeros = self.zeros_of_store[op.id]
        name = self.new_name(zeros)
        new = f"{self.outside.numpy('empty')}({self.shape_and_dtype(zeros.val)})"
        self.lines.append(f"{name} = {self.targets.get(zeros.id, new)}")
        self.lines += [f"{name}[{edge}] = 0.0" for edge in edges(op.args[1], zeros.val.shape) or ()]
        self.exprs[zeros.id] = Snippet(name, TIGHT)

    def folds(self, op: Call) -> bool:
        """Whether an op may be inlined; a number computed from arrays may not, since these may be overwritten later."""
        return super().folds(op) and (not is_atom(op.val) or all([is_atom(value_of(v)) for v in op.references()]))

    def type_changed(self, name: str, recorded: Any) -> str:
        """Return the type guard of an argument; comparing dtypes is several times faster than comparing their names."""
        test = super().type_changed(name, recorded)
        if isinstance(recorded, np.ndarray) and test:
            dtype = self.outside.bind(recorded.dtype).text
            test = test.replace(f".dtype != {str(recorded.dtype)!r}", f".dtype != {dtype}")
        return test

    def assign(self, op: Op, build: Callable[[], Snippet]) -> None:
        """Write `name = ...`, with faster statements for np.full, zeros and copies."""
        if isinstance(op, Call) and op.fn is np.full and len(op.args) == 2 and is_atom(value_of(op.args[1])):
            super().assign(op, lambda: Snippet(f"{self.outside.numpy('empty')}({self.shape_and_dtype(op.val)})", TIGHT))
            self.statement(None, lambda: f"{self.exprs[op.id].text}.fill({self.arg(op.args[1]).text})")
        elif isinstance(op, Call) and is_allocation(op.fn) and op.id in self.targets:
            super().assign(op, lambda: Snippet(self.targets[op.id], TIGHT))
            if op.fn is np.zeros and op not in self.overwritten_zeros:
                self.statement(None, lambda: f"{self.exprs[op.id].text}.fill(0)")
        elif isinstance(op, Call) and op.fn is np.copy and op.id in self.targets:
            super().assign(op, lambda: Snippet(self.targets[op.id], TIGHT))
            self.statement(None, lambda: self.call(op).text)
        else:
            super().assign(op, build)

    def shape_and_dtype(self, x: np.ndarray) -> str:
        """Return the shape and dtype of an array as source of arguments."""
        return f"{x.shape}" if x.dtype == np.float64 else f"{x.shape}, {self.outside.expr(x.dtype).text}"

    def call(self, op: Call) -> Snippet:
        if op.fn is np.vdot and all(map(is_vector, op.args)):
            return Snippet("{}.dot({})".format(*(self.arg(arg).inside(TIGHT) for arg in op.args)), TIGHT)
        if takes_rows(op):
            rows, places = map(self.arg, op.args)
            return Snippet(f"{rows.inside(TIGHT)}.take({places.text}, 0)", TIGHT)
        if op.id not in self.targets or is_allocation(op.fn):
            return super().call(op)
        fn, place, args = as_ufunc(op.fn), self.targets[op.id], [self.arg(arg) for arg in op.args]
        if fn is np.copy:
            return Snippet(f"{self.outside.numpy('copyto')}({place}, {args[0].text})", TIGHT)
        named = not isinstance(fn, np.ufunc) or fn in (np.maximum, np.minimum)  # where `out` is no third argument
        out = f"out={place}" if named else place
        return Snippet(f"{self.arg(fn).inside(TIGHT)}({', '.join([*(arg.text for arg in args), out])})", TIGHT)


class FloatWriter(PlacedWriter):
    """Writes a function that computes with Python floats, and runs `plain` if these raise or are not finite."""

    def __init__(self, tape: AnyTape, sites: bool, loop: LoopMemory | None = None, plain: Any = None) -> None:
        super().__init__(tape, sites, loop)
        self.plain = plain
        found = read_by_result(tape) if plain else ()
        self.numbers = [op for op in found if type(op.val) in (float, np.float64)]
        for op in self.numbers:
            self.uses[op.id] += 1  # so that it gets a line of its own

    def body(self) -> None:
        self.fallback = self.return_of(self.plain)
        self.lines.append(f"if {self.outside.expr(handles_fp_errors).text}(): {self.fallback}")
        before = len(self.lines)
        super().body()
        self.indent(before, "try:")
        self.lines += ["except (ArithmeticError, ValueError):  # where NumPy has inf or nan", f"    {self.fallback}"]

    def call(self, op: Call) -> Snippet:
        """Write a function of floats that has a word as an expression, any other call as usual."""
        source = source_of_floats(op.fn)
        if source is None:
            return super().call(op)
        self.settle_operands(op.references())
        return Snippet(source.format(*[self.arg(a).text for a in op.args]), TIGHT)

    def end(self) -> None:
        if self.numbers:
            finite = self.outside.expr(math.isfinite).text
            tests = " and ".join([f"{finite}({self.exprs[op.id].text})" for op in self.numbers])
            self.lines.append(f"if not ({tests}): {self.fallback}")
        super().end()


def is_vector(v: Any) -> bool:
    """Whether an argument is a vector of floats: unlike np.vdot, its method `dot` warns of invalid values."""
    x = value_of(v)
    return isinstance(v, Variable) and type(x) is np.ndarray and x.ndim == 1 and x.dtype == np.float64


def takes_rows(op: Call) -> bool:
    """Whether a call gathers rows by an integer array: the method `take` is several times faster."""
    if op.fn is not operator.getitem or op.kwargs:
        return False
    x, places = map(value_of, op.args)
    plain = [type(a) is np.ndarray and a.dtype.kind in kinds for a, kinds in ((x, "fc"), (places, "i"))]
    return all(plain) and x.flags.c_contiguous and x.ndim > 1


def edges(key: Any, shape: tuple[int, ...]) -> list[str] | None:
    """Return keys of the rest of an array outside a slice along one axis; None for keys of other kinds."""
    if not all([part is Ellipsis or type(part) is slice for part in key_parts(key)]) or any(references(key)):
        return None
    spans = [range(n)[part] for n, part in zip(shape, full_key(key, len(shape)), strict=True)]
    narrow = [axis for axis, span in enumerate(spans) if len(span) < shape[axis]]
    if any([span.step != 1 for span in spans]) or len(narrow) > 1:
        return None
    if not narrow:
        return []
    (axis,) = narrow
    before = ":, " * axis
    sides = [f"{before}:{spans[axis].start}"] * (spans[axis].start > 0)
    return sides + [f"{before}{spans[axis].stop}:"] * (spans[axis].stop < shape[axis])
