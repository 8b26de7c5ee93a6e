"""Write the function around native code: it checks arguments, allocates results, and falls back to NumPy code."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from wengert.compiling.graphs.ownership import display_calls, read_by_result, share_recorded_memory
from wengert.compiling.native.callouts import Callout
from wengert.compiling.native.source import TapeProgram
from wengert.compiling.native.values import FlatMemory, PartOf, Scalar, UnsupportedOp, real_parts
from wengert.compiling.numpy_source import PlacedWriter
from wengert.compiling.placement import Buffer, Pool
from wengert.tape.interface import AnyTape
from wengert.tape.literals import Snippet
from wengert.tape.liveness import is_new_memory
from wengert.tape.loops import with_bodies
from wengert.tape.needed import only_computes
from wengert.tape.ops import Call, Constant, Input, Op, references
from wengert.tape.source import compile_source
from wengert.values.names import TIGHT
from wengert.values.specs import is_int_array


class NativeWriter(PlacedWriter):
    """Writes a function that calls native code and, if that fails, `plain`, which does the same in NumPy.

    Native code may depend on the values of integer arrays on the `recorded` tape; the function checks these.
    """

    def __init__(self, tape: AnyTape, recorded: AnyTape, any_order: bool = False, calls_out: bool = False) -> None:
        super().__init__(tape, sites=True)
        self.recorded = recorded
        self.late = late_calls(tape)
        self.argument_guards = [op for op in self.ops if self.is_argument_guard(op)]
        read = set[Op]()
        for op in reversed(self.ops):
            if op not in self.late or op in read:
                read.update([v.op for v in op.references()])  # type: ignore[misc]
        others = {*(self.late - read), *self.argument_guards}
        needed = [op for op in self.ops if op.id in self.needed and op not in others]
        shown = {tape.result.op, *[v.op for op in self.late for v in op.references()]} - self.late
        self.results = [op for op in self.ops if isinstance(op, Call) and op in shown]
        self.program = TapeProgram(tape, needed, self.results, any_order, calls_out)
        self.tested |= self.program.guarded

    def recorded_ints(self) -> list[np.ndarray]:
        """Return the integer arrays on the recorded tape."""
        found = [a for op in with_bodies(list(self.recorded)) for a in arrays_of(op) if is_int_array(a)]
        return list({id(a): a for a in found}.values())

    def is_argument_guard(self, op: Op) -> bool:
        """Whether an op is a guard on an attribute of an argument, checked before anything is computed."""
        known = isinstance(op, Call) and op.guard and op.fn is getattr and not self.uses[op.id]
        return known and all([isinstance(v.op, Input) for v in op.references()])

    def function(self, native: Any, plain: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Compile the function around the compiled native code."""
        self.native, self.plain, self.conversions = native, plain, list[str]()
        return compile_source(self, name)

    def body(self) -> None:
        """Write the call, and the result."""
        for op in self.argument_guards:
            self.write(op)
        native, fallback = self.name("native"), self.return_of(self.plain)
        self.outside.constants[native] = self.native
        args = [self.argument(op, x) for op, x in self.program.parameters.values()]
        for x in self.recorded_ints() if self.program.depends_on_ints else ():
            now, then = self.outside.bind(x).text, self.outside.bind(x.tobytes()).text
            self.lines.append(f"if {now}.tobytes() != {then}: {fallback}")
        numbers, arrays = [], []
        for op, x in self.program.results:
            parts = real_parts(x)
            if isinstance(parts[0], Scalar):
                made = [self.name(f"v{op.id}{part}") for part in ("", "i")[: len(parts)]]
                numbers += made
                self.exprs[op.id] = Snippet(self.as_recorded(op, ", ".join(made)), TIGHT)
            else:
                arrays.append(self.allocate_result(op))
        failed = self.name("failed")
        begin, end, space = self.workspace() if self.program.size else ([], [], [])
        shared = [self.shared_memory(callout) for callout in self.program.callouts]
        space += [name for names, _, _ in shared for name in names]
        call = f"{', '.join([failed, *numbers])}{',' * (not numbers)} = {native}({', '.join([*args, *arrays, *space])})"
        if self.program.callouts:
            begin, end = [*begin, *["try:"] * (not begin)], [f"except Exception: {fallback}", *end]
        calls = [*[take for _, take, _ in shared], call, *[give for _, _, give in shared]]
        self.lines += [*begin, *[f"{'    ' * bool(begin)}{line}" for line in calls], *end, f"if {failed}: {fallback}"]
        self.lines += self.conversions
        for op in self.ops:
            if not isinstance(op, (Input, Call)) or op in self.late:
                self.write(op)
        self.statement(None, lambda: f"return {self.arg(self.tape.result).text}")

    def as_recorded(self, op: Op, number: str) -> str:
        """Return the source of a result of native code, a float or two, as a number of the recorded type."""
        kind = type(op.val)
        if kind is float:
            return number
        if kind is np.complex128:
            return f"{self.outside.numpy('complex128')}(complex({number}))"
        if kind in (bool, int, complex):
            return f"{kind.__name__}({number})"
        return f"{self.outside.numpy(kind.__name__)}({number})"

    def workspace(self) -> tuple[list[str], list[str], list[str]]:
        """Return the lines that take workspace from a pool, those that return it, and its expression."""
        taken, pool = self.name("w"), self.name("pool")
        self.pool = self.outside.constants[pool] = Pool([Buffer((self.program.size,), np.dtype(float))])
        return [f"{taken} = {pool}.take()", "try:"], ["finally:", f"    {pool}.give({taken})"], [f"{taken}[0]"]

    def shared_memory(self, callout: Callout) -> tuple[tuple[str, ...], str, str]:
        """Return the arguments of native code for a callout, and the lines that take them from a pool and return them.

        An exception keeps them from the pool.
        """
        names = tuple(map(self.name, callout.names))
        taken, pool = self.name("shared"), self.name("calls")
        self.outside.constants[pool] = callout.pool()
        return names, f"{', '.join(names)} = {taken} = {pool}.take()", f"{pool}.give({taken})"

    def argument(self, source: Any, x: FlatMemory | Scalar) -> str:
        """Return the source of an argument of the native code."""
        if isinstance(source, PartOf):
            return f"{self.exprs[source.op.id].text}.{source.part}"
        value = source.val if isinstance(source, Op) else source
        dtype = getattr(value, "dtype", np.float64)
        is_float = dtype in (np.float64, np.complex128)
        is_converted = dtype == np.bool_ or (isinstance(source, Op) and not is_float)
        if isinstance(source, Input):
            name = self.exprs[source.id].text
            if isinstance(x, Scalar):
                return f"float({name})" if is_converted else name
            flat = f"{name}.ravel()" if value.shape else f"{self.outside.numpy('ravel')}({name})"
            return f"{flat}{'.astype(float)' * is_converted}"
        value = value.astype(float) if is_converted else value
        flat = value.flags.c_contiguous
        bound = self.outside.bind(value.reshape(-1) if flat else value).text
        return bound if flat else f"{bound}.ravel()"

    def allocate_result(self, op: Op) -> str:
        """Write the line that allocates a result array; return the source of its flat memory."""
        name, dtype = self.name(f"v{op.id}"), self.outside.numpy(f"dtype({op.val.dtype.name!r})")
        fortran = op.val.flags.f_contiguous and not op.val.flags.c_contiguous
        shape, is_complex = op.val.shape[::-1] if fortran else op.val.shape, op.val.dtype == np.complex128
        self.lines.append(f"{name} = {self.outside.numpy('empty')}({shape}{f', {dtype}' * is_complex})")
        if op.val.dtype != np.float64 and not is_complex:
            self.conversions.append(f"{name} = {name}.astype({dtype})")
        self.exprs[op.id] = Snippet(f"{name}.T" if fortran else name, TIGHT)
        return name if op.val.ndim == 1 else f"{name}.reshape(-1)"


def late_calls(tape: AnyTape) -> set[Op]:
    """Return the calls that NumPy makes of results of native code: they build the result, and the views in it."""
    late, todo = {*display_calls(tape.result.op)}, read_by_result(tape)
    arrays = [op for op in tape if isinstance(op.val, np.ndarray) and (not isinstance(op, Call) or op in todo)]
    while todo:
        op = todo.pop()
        shown = [v.op for v in op.references() if share_recorded_memory(op, v.op)]
        is_view = bool(shown) and only_computes(op.fn) and not (op.guard or is_new_memory(op))
        if is_view and (not op.val.flags.forc or any([share_recorded_memory(op, x) for x in arrays if x is not op])):
            late.add(op)
            arrays += [x for x in shown if x is not None]
            todo += [v.op for v in op.references() if isinstance(v.op, Call)]
    return late


def check_separate_results(given: Iterable[Op], results: Iterable[Op]) -> None:
    """Refuse results that share memory with each other or with arguments: native code allocates each separately."""
    for a, b in itertools.combinations([*results, *given], 2):
        if share_recorded_memory(a, b) and isinstance(a, Call):
            raise UnsupportedOp("results that share memory")


def arrays_of(op: Op) -> Iterator[np.ndarray]:
    """Yield the arrays in an op."""
    if isinstance(op, Constant):
        yield from references(op.val, np.ndarray)
    if isinstance(op, Call):
        yield from references((op.args, op.kwargs), np.ndarray)
