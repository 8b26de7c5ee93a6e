"""A tape as NumPy source that says where results go: `v7 = np.add(v5, v6, b1)`, with b1 of a pool of buffers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from wengert.compiling.blocking import Blocks, blocked
from wengert.compiling.placement import (
    MAKERS,
    Placement,
    Pool,
    is_elementwise_call,
    is_plain,
    may_reuse,
    placement,
    rows_written,
    taking_turns,
    ufunc_at,
)
from wengert.compiling.scalar_specialisation import with_floats
from wengert.compiling.split_columns import split_into_columns
from wengert.compiling.uninitialised import filled
from wengert.compiling.warn_once import warn_once
from wengert.compiling.watched.around import handles_fp_errors
from wengert.tape.interface import AnyTape
from wengert.tape.literals import Snippet
from wengert.tape.liveness import LoopMemory, is_atom
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.tape.source import SourceWriter, compile_source
from wengert.values import functional
from wengert.values.identity_set import Functions
from wengert.values.keys import as_view
from wengert.values.lazy_attribute import computed_once
from wengert.values.names import TIGHT

_BY_KEY = Functions(functional.setitem, functional.additem)
SHORT_ROW = 100  # elements; a row of a loop over two arrays that are widened costs as much as some 25 of them


def compile_with_floats(tape: AnyTape, name: str, exact: bool) -> Callable[..., Any]:
    """As `compile_placed`, by Python's floats where that is faster; unless `exact`, these may be rounded otherwise."""
    floats = with_floats(tape, exact)
    if floats is None:
        return compile_placed(tape, name, exact)
    return _compile_placed(FloatWriter(_arranged(floats, exact), sites=True, plain=Later(tape, name, exact)), name)


def compile_placed(tape: AnyTape, name: str = "f", exact: bool = True) -> Callable[..., Any]:
    """The function that computes what `tape` does, in buffers that it keeps; its text is its `source`.

    Long work on large arrays is done by blocks; unless `exact`, sums are added up block by block.
    """
    return _compile_placed(PlacedWriter(_arranged(tape, exact), sites=True), name)


def _arranged(tape: AnyTape, exact: bool) -> AnyTape:
    """The tape with what is done by blocks, or by columns."""
    made = blocked(tape, exact)
    return made if exact else split_into_columns(made, faithful=True)


def _compile_placed(writer: PlacedWriter, name: str) -> Callable[..., Any]:
    """The function that a PlacedWriter writes; its `blocks` say which calls go by blocks."""
    function: Any = compile_source(writer, name)
    function.pool = writer.pool
    function.blocks = [
        f"{op.site}: {op.fn.said()}" for op in writer.ops if isinstance(op, Call) and type(op.fn) is Blocks
    ]
    return function


class Later:
    """The function of a tape, which is written when it is first called."""

    def __init__(self, tape: AnyTape, name: str, exact: bool) -> None:
        self.tape, self.name, self.exact = tape, name, exact

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)

    @computed_once
    def run(self) -> Callable[..., Any]:
        """The function."""
        return compile_placed(self.tape, self.name, self.exact)


class PlacedWriter(SourceWriter):
    """Writes the statements of one tape, with the places of results."""

    def __init__(self, tape: AnyTape, sites: bool, loop: LoopMemory | None = None) -> None:
        self.reuses = may_reuse if is_plain(list(tape)) else None
        super().__init__(tape, sites, loop)
        self.found = Placement([], {}, {}, {})
        self.names: list[str] = []  # of the buffers
        self.places: dict[int, str] = {}
        self.rows, self.filled = rows_written(self.ops, self.memory), filled(self.ops)
        self.spots: dict[int, str] = {}  # names of the parts where stores put something
        self.pool: Pool | None = None
        self.once = ""  # the name of what has warnings told once
        stores = [op for op in self.ops if isinstance(op, Call) and self.begins_with_zeros(op)]
        self.begins = {op.id: op.args[0].op for op in stores}
        self.begun = {op.id for op in self.begins.values()}

    def begins_with_zeros(self, op: Call) -> bool:
        """Whether an op puts something into the larger part of zeros that nothing else reads, or adds it."""
        if op.fn not in _BY_KEY or op.id not in self.in_place or not isinstance(op.args[0], Variable):
            return False
        zeros, key, value = op.args[0].op, op.args[1], value_of(op.args[2])
        fresh = isinstance(zeros, Call) and zeros.fn is np.zeros and self.uses[zeros.id] == 1
        if not fresh or op.val.dtype != np.float64 or edges(key, op.val.shape) is None:
            return False
        part = op.val[as_view(key)]
        same = type(value) is np.ndarray and value.dtype == np.float64 and value.shape == part.shape
        return same and part.size * 2 >= op.val.size >= 2

    def body(self) -> None:
        """Write the statements, inside of those that take buffers and give them back."""
        self.found = placement(self.ops, self.memory)
        buffers = self.found.buffers
        if not buffers:
            super().body()
            return
        self.names = names = [self.name(f"b{k + 1}") for k in range(len(buffers))]
        self.places = {op: names[k] for op, k in self.found.places.items()}
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

    def inner(self, op: Call, memory: LoopMemory) -> Self:
        inner = super().inner(op, memory)
        inner.reuses = self.reuses  # as `memory` was found
        inner.found, inner.names = self.found.inside(op.id), self.names
        inner.places = {each: self.names[k] for each, k in inner.found.places.items()}
        return inner

    def take_turns(self, op: Call, names: Sequence[str]) -> tuple[list[str], list[str]]:
        before, after = [], []
        for maker, k in taking_turns(op.fn, self.memory).items():
            one, other = self.name(f"{names[k]}_1"), self.name(f"{names[k]}_2")
            new = f"{self.outside.numpy('empty')}({self.like(maker.val)})"
            pair = [self.names[n] for n in self.found.pairs.get(maker.id, ())] or [new, new]
            before.append(f"{one}, {other} = {', '.join(pair)}")
            after.append(f"{one}, {other} = {other}, {one}")
            self.places[maker.id] = one
        return before, after

    def write(self, op: Op) -> None:
        """Write an op, but for zeros that a store writes at once."""
        if isinstance(op, Call) and op.id in self.rows:
            self.row(op, self.rows[op.id])
        elif isinstance(op, Call) and op.id in self.memory.overwritten:
            self.into(op, self.exprs[self.memory.overwritten[op.id].id].text)
        elif isinstance(op, Call) and type(op.fn) is Blocks:
            self.blocks(op)
        elif op.id not in self.begun:
            super().write(op)

    def blocks(self, op: Call) -> None:
        """Write a loop over blocks; NumPy's warnings in it are told once."""
        self.once = self.once or self.name("warn_once")
        self.outside.constants[self.once] = warn_once
        begin = len(self.lines)
        super().write(op)
        self.lines[begin:] = [f"with {self.once}():", *(f"    {line}" for line in self.lines[begin:])]

    def row(self, op: Call, store: Call) -> None:
        """Write an op whose result goes where a store puts it, or on the way there."""
        for v in references(store.args[1]):
            if v.id in self.pending:
                self.settle(v.id)
        if store.id in self.begins and self.begins[store.id].id not in self.exprs:
            self.begin(store)
        place = self.spots.get(store.id) or f"{self.exprs[store.args[0].id].text}[{self.key(store.args[1])}]"
        if store.id not in self.spots and (self.uses[op.id] > 1 or store.args[2].op is not op):
            super().assign(op, lambda: Snippet(place, TIGHT))
            place = self.spots[store.id] = self.exprs[op.id].text
        self.into(op, place)

    def into(self, op: Call, place: str) -> None:
        """Write an op whose result goes into an array that is there already."""
        self.places[op.id] = place
        self.mutation(op, lambda: self.call(op).text)
        self.exprs[op.id] = Snippet(place, TIGHT)

    def store(self, op: Call, target: str) -> None:
        """Write a store, unless what it puts there is there; the first sum into zeros writes what it adds."""
        value = op.args[-1]
        if isinstance(value, Variable) and self.rows.get(value.id) is op:
            self.exprs[op.id] = self.exprs[op.args[0].id]
            return
        if op.id in self.begins:
            self.begin(op)
        if op.id not in self.begins or op.fn is functional.setitem:
            super().store(op, target)
            return
        name = self.exprs[op.id] = self.exprs[op.args[0].id]
        add, place = self.outside.numpy("add"), f"{name.text}[{self.key(op.args[1])}]"
        self.mutation(op, lambda: f"{add}({self.arg(value).text}, 0.0, {place})")  # 0.0 + -0.0 is 0.0

    def begin(self, op: Call) -> None:
        """Write the zeros that a store leaves of those into which it is the first to write."""
        zeros = self.begins[op.id]
        name = self.new_name(zeros)
        new = f"{self.outside.numpy('empty')}({self.like(zeros.val)})"
        self.lines.append(f"{name} = {self.places.get(zeros.id, new)}")
        self.lines += [f"{name}[{edge}] = 0.0" for edge in edges(op.args[1], zeros.val.shape) or ()]
        self.exprs[zeros.id] = Snippet(name, TIGHT)

    def folds(self, op: Call) -> bool:
        """A number that is made of arrays has a line of its own: where it is read, they may be overwritten."""
        return super().folds(op) and (not is_atom(op.val) or all([is_atom(value_of(v)) for v in op.references()]))

    def type_changed(self, name: str, recorded: Any) -> str:
        """The test of an argument, of an array's dtype by the dtype itself: several times faster than by its name."""
        test = super().type_changed(name, recorded)
        if isinstance(recorded, np.ndarray) and test:
            dtype = self.outside.bind(recorded.dtype).text
            test = test.replace(f".dtype != {str(recorded.dtype)!r}", f".dtype != {dtype}")
        return test

    def assign(self, op: Op, build: Callable[[], Snippet]) -> None:
        """Write `name = ...`; np.full takes several times as long as what it does."""
        if isinstance(op, Call) and op.fn is np.full and len(op.args) == 2 and is_atom(value_of(op.args[1])):
            super().assign(op, lambda: Snippet(f"{self.outside.numpy('empty')}({self.like(op.val)})", TIGHT))
            self.statement(None, lambda: f"{self.exprs[op.id].text}.fill({self.arg(op.args[1]).text})")
        elif isinstance(op, Call) and op.fn in MAKERS and op.id in self.places:
            super().assign(op, lambda: Snippet(self.places[op.id], TIGHT))
            if op.fn is np.zeros and op not in self.filled:
                self.statement(None, lambda: f"{self.exprs[op.id].text}.fill(0)")
        elif isinstance(op, Call) and op.fn is np.copy and op.id in self.places:
            super().assign(op, lambda: Snippet(self.places[op.id], TIGHT))
            self.statement(None, lambda: self.call(op).text)
        elif isinstance(op, Call) and op.id in self.places and is_spread(op):
            first, second = op.args
            copyto, place = self.outside.numpy("copyto"), Snippet(self.places[op.id], TIGHT)
            self.statement(None, lambda: f"{copyto}({place.text}, {self.arg(first).text})")
            super().assign(op, lambda: self.placed(op, [place, self.arg(second)]))
        else:
            super().assign(op, build)

    def like(self, x: np.ndarray) -> str:
        """The shape and dtype of an array, as arguments."""
        return f"{x.shape}" if x.dtype == np.float64 else f"{x.shape}, {self.outside.expr(x.dtype).text}"

    def call(self, op: Call) -> Snippet:
        if op.fn is np.vdot and all(map(is_vector, op.args)):
            return Snippet("{}.dot({})".format(*(self.arg(arg).inside(TIGHT) for arg in op.args)), TIGHT)
        if takes_rows(op):
            rows, places = map(self.arg, op.args)
            return Snippet(f"{rows.inside(TIGHT)}.take({places.text}, 0)", TIGHT)
        if op.id not in self.places or op.fn in MAKERS:
            return super().call(op)
        return self.placed(op, [self.arg(arg) for arg in op.args])

    def placed(self, op: Call, args: Sequence[Snippet]) -> Snippet:
        """The text of a call that is told where its result goes."""
        fn, place = ufunc_at(op.fn), self.places[op.id]
        if fn is np.copy:
            return Snippet(f"{self.outside.numpy('copyto')}({place}, {args[0].text})", TIGHT)
        named = fn in (np.einsum, np.maximum, np.minimum)  # where a third argument by position means something else
        out = f"out={place}" if named else f"None, {place}" if not isinstance(fn, np.ufunc) else place
        return Snippet(f"{self.arg(fn).inside(TIGHT)}({', '.join([*(arg.text for arg in args), out])})", TIGHT)


class FloatWriter(PlacedWriter):
    """Writes a function that computes with Python's floats, and runs `plain` where these raise or are not finite."""

    def __init__(self, tape: AnyTape, sites: bool, loop: LoopMemory | None = None, plain: Any = None) -> None:
        super().__init__(tape, sites, loop)
        self.plain = plain
        found = results_of(tape.result) if plain else ()
        self.numbers = list(dict.fromkeys([v for v in found if type(value_of(v)) in (float, np.float64)]))
        for v in self.numbers:
            self.uses[v.id] += 1  # each has a line of its own

    def arguments(self) -> tuple[list[str], list[str]]:
        self.given = super().arguments()
        return self.given

    def body(self) -> None:
        plain = self.name("plain")
        self.outside.constants[plain] = self.plain
        self.otherwise = f"return {plain}({', '.join([*self.given[0], *(f'{k}={k}' for k in self.given[1])])})"
        self.lines.append(f"if {self.outside.expr(handles_fp_errors).text}(): {self.otherwise}")
        before = len(self.lines)
        super().body()
        self.lines[before:] = [
            "try:",
            *(f"    {line}" for line in self.lines[before:]),
            "except (ArithmeticError, ValueError):  # where NumPy has inf or nan",
            f"    {self.otherwise}",
        ]

    def end(self) -> None:
        if self.numbers:
            finite = self.outside.expr(math.isfinite).text
            tests = " and ".join([f"{finite}({self.exprs[v.id].text})" for v in self.numbers])
            self.lines.append(f"if not ({tests}): {self.otherwise}")
        super().end()


def results_of(v: Any) -> Iterator[Variable]:
    """The values that a result is built of."""
    if isinstance(v.op, Call) and v.op.fn in functional.DISPLAYS:
        for part in v.op.references():
            yield from results_of(part)
    else:
        yield v


def is_vector(v: Any) -> bool:
    """Whether an argument is a vector of floats: the method `dot` is twice as fast to call as np.vdot."""
    x = value_of(v)
    return isinstance(v, Variable) and type(x) is np.ndarray and x.ndim == 1 and x.dtype == np.float64


def takes_rows(op: Call) -> bool:
    """Whether a call takes rows, or many elements, at places: the method `take` does that several times faster."""
    if op.fn is not operator.getitem or op.kwargs:
        return False
    x, places = map(value_of, op.args)
    plain = [type(a) is np.ndarray and a.dtype.kind in kinds for a, kinds in ((x, "fc"), (places, "i"))]
    return all(plain) and x.flags.c_contiguous and (x.ndim > 1 or places.size > SHORT_ROW)


def is_spread(op: Call) -> bool:
    """Whether a call widens both operands to short rows: a copy of one, and the other row by row, takes less time."""
    x, values = op.val, [value_of(arg) for arg in op.args]
    arrays = [type(a) is np.ndarray and a.dtype == x.dtype and a.size < x.size for a in values]
    return len(arrays) == 2 and all(arrays) and is_elementwise_call(op) and x.shape[-1] < SHORT_ROW


def edges(key: Any, shape: tuple[int, ...]) -> list[str] | None:
    """The keys of what a key of slices leaves of an array, where it is narrower along one axis; None for other keys."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not all([part is Ellipsis or type(part) is slice for part in parts]) or any(references(parts)):
        return None
    if Ellipsis in parts:
        k = parts.index(Ellipsis)
        parts[k : k + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    spans = [range(n)[part] for n, part in zip(shape, parts, strict=False)]
    narrow = [axis for axis, span in enumerate(spans) if len(span) < shape[axis]]
    if any([span.step != 1 for span in spans]) or len(narrow) > 1:
        return None
    if not narrow:
        return []
    (axis,) = narrow
    before = ":, " * axis
    sides = [f"{before}:{spans[axis].start}"] * (spans[axis].start > 0)
    return sides + [f"{before}{spans[axis].stop}:"] * (spans[axis].stop < shape[axis])
