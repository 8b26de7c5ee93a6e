"""Source of a plan as loop nests for a compiler; products that BLAS does faster stay NumPy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.language.predicates import Compare, Predicate, Related, Unrelated, free_index_names
from wengert.tensor.language.terms import Add, Apply, Const, Mul
from wengert.tensor.passes.statements import output_names
from wengert.tensor.planning.loops import (
    EntryLoop,
    LoopStep,
    Solve,
    Span,
    Test,
    always_iterates,
    bound_by,
    cheapest_steps,
    facts_of,
    is_mask,
    iterations,
    points,
)
from wengert.tensor.planning.nests import (
    CellIndex,
    EntryIndex,
    LoopNest,
    NestPiece,
    PieceBody,
    Read,
    body_reads,
    product_factors,
    product_of,
)
from wengert.tensor.planning.pieces import PlanningContext
from wengert.tensor.planning.plan import Plan, with_readable_indices, with_tables, without_existentials
from wengert.tensor.planning.regions import is_inside
from wengert.tensor.planning.sharing import fused
from wengert.tensor.running.joining import fills_all_cells, writes_cells_once
from wengert.tensor.running.layout import Box, layout
from wengert.tensor.running.loop_fusion import Job, LoopTree, fused_loops, without_storage
from wengert.tensor.running.numpy_source import NumpySource
from wengert.tensor.running.spelling import end_source, index_source, lowest_source, number_source, spelled
from wengert.tensor.running.unrolling import short_loops_unrolled, with_borders

PARALLEL_POINTS = 1e6  # points of a loop from which threads pay
POINTS_PER_ITERATION = 64  # points per iteration from which threads pay: a parallel innermost loop is not vectorised
BLAS_FROM = 4096  # points from which a matrix product goes to BLAS


class NativeSource(NumpySource):
    """Writes the function `run` like NumpySource, and the kernels that it calls with arrays."""

    cells_to_join = 0

    def __init__(self, plan: Plan, threads: int = 1) -> None:
        context = PlanningContext(plan.counts, tables=dict(plan.tables), relations=frozenset(plan.relations))
        nests = fused({nest.name: nest for nest in plan.nests}, output_names(plan.output), context, repeats=True)
        made = tuple(with_readable_indices(without_existentials(nest, context)) for nest in nests.values())
        super().__init__(with_tables(replace(plan, nests=made), context))
        self.kernels: list[str] = []
        self.walks: dict[str, tuple[str, tuple[int, ...], str]] = {}
        self.parallel = False
        self.parallel_from = PARALLEL_POINTS if threads > 1 else float("inf")
        self.pending: list[LoopNest] = []

    def nest(self, nest: LoopNest) -> None:
        if is_blas(nest, self.plan):
            self.flush()
            super().nest(nest)
        else:
            self.pending.append(with_readable_indices(short_loops_unrolled(with_borders(nest))))

    def output(self) -> str:
        self.flush()
        return super().output()

    def flush(self) -> None:
        """Write one kernel for the nests since the last product."""
        if not self.pending:
            return
        trees = fused_loops(
            [(n, writes_cells_once(n)) for n in self.pending], self.shapes, self.plan.counts, self.parallel_from
        )
        unstored = without_storage(trees, {n.name for n in self.pending} - self.read_elsewhere())
        for nest in self.pending:
            if nest.name not in unstored:
                self.line(1, f"{self.name(nest.name)} = {self.allocation(nest)}")
        kernel = Kernel(self, unstored)
        for tree in trees:
            kernel.tree(tree)
        name = spelled("kernel", self.taken)
        self.kernels.append(kernel.text(name))
        self.parallel |= kernel.parallel
        walks = [f"walks[{key!r}]" for key in kernel.walks]
        self.line(1, f"{name}({', '.join([*map(self.name, kernel.tensors), *walks])})")
        self.pending = []

    def allocation(self, nest: LoopNest) -> str:
        fill, shape = "empty" if fills_all_cells(nest) else "zeros", self.shape_source(nest)
        is_result = nest.name in output_names(self.plan.output)
        return f"np.{fill}({shape}, dtype)" if is_result else f"space.{fill}({nest.name!r}, {shape}, dtype)"

    def read_elsewhere(self) -> set[str]:
        own = {nest.name for nest in self.pending}
        others = (p for nest in self.plan.nests if nest.name not in own for p in nest.pieces)
        return {*output_names(self.plan.output), *(r.name for p in others for r in body_reads(p.body))}


def is_blas(nest: LoopNest, plan: Plan) -> bool:
    """Whether a nest is a product of two tensors along shared axes, large enough for BLAS."""
    return all(_is_product(piece, plan) for piece in nest.pieces)


def _is_product(piece: NestPiece, plan: Plan) -> bool:
    chosen = layout(piece, plan)
    if not isinstance(chosen, Box) or chosen.loops or piece.where or len(product_factors(piece.body)) != 2:
        return False
    kept = {i for a in piece.target for i in a.names}
    every = points(cheapest_steps(piece.ranges, (), plan.counts), piece.ranges, plan.counts)
    own = [frozenset(i for a in r.at for i in a.names) for r in body_reads(piece.body)]
    if len(own) != 2 or not all(isinstance(f, Read) for f in product_factors(piece.body)):
        return False
    shared, alone = own[0] & own[1], own[0] ^ own[1]
    return every >= BLAS_FROM and bool(shared) and not shared & kept and alone <= kept and len(kept) > 1


class Kernel:
    """Writes the source of one compiled function."""

    def __init__(self, source: NativeSource, unstored: Collection[str] = ()) -> None:
        self.source = source
        self.unstored = unstored
        self.lines: list[str] = []
        self.tensors: list[str] = []
        self.walks: dict[str, str] = {}  # "R.0.1.keys" → name of the parameter
        self.entries: dict[tuple[str, tuple[AffineExpr, ...]], str] = {}
        self.ranges: dict[str, int] = {}
        self.facts: tuple[Predicate, ...] = ()  # implied by the enclosing bounds and tests
        self.locals: dict[Read, str] = {}
        self.sums: dict[Job, tuple[str, list[PieceBody], PieceBody]] = {}  # accumulator, hoisted factors, terms
        self.parallel = False

    def text(self, name: str) -> str:
        parameters = [*map(self.source.name, self.tensors), *self.walks.values()]
        return f"def {name}({', '.join(parameters)}):\n" + "\n".join(self.lines or ["    pass"]) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def new(self, letter: str) -> str:
        return spelled(letter, self.source.taken)

    def tensor(self, name: str) -> str:
        if name not in self.tensors:
            self.tensors.append(name)
        return self.source.name(name)

    def walk(self, relation: str, order: tuple[int, ...], part: str) -> str:
        key = ".".join([relation, *map(str, order), part])
        if key not in self.walks:
            self.walks[key] = self.new(f"{relation}_{''.join(map(str, order))}_{part}")
            self.source.walks[key] = (relation, order, part)
        return self.walks[key]

    # ---- loops ----

    def tree(self, tree: LoopTree) -> None:
        """Write a loop tree, its outermost loop parallel if that pays and no two iterations write to the same cell."""
        jobs, counts = list(tree.jobs()), self.source.plan.counts
        self.locals = {}
        self.read_scalars(jobs)
        every = max(points(job.steps, job.piece.ranges, counts) for job in jobs)
        outermost = max(iterations(job.steps[:1], job.piece.ranges, counts) for job in jobs)
        many = outermost > 1 and every >= max(self.source.parallel_from, POINTS_PER_ITERATION * outermost)
        self.loops(tree, 0, 1, many and all(job.splits for job in jobs))

    def read_scalars(self, jobs: Sequence[Job]) -> None:
        """Read 0-d tensors before the loops, since numba cannot read them inside parallel ones."""
        written = {job.nest for job in jobs}
        scalars = (r for j in jobs for r in body_reads(j.piece.body) if not r.at and r.name not in written)
        for read in dict.fromkeys(scalars):
            self.locals[read] = self.new("v")
            self.line(1, f"{self.locals[read]} = {self.tensor(read.name)}[()]")

    def loops(self, node: LoopTree, before: int, depth: int, parallel: bool = False) -> None:
        """Write the loops of `node`, which are inside `before` other steps."""
        entries, facts, opened = self.entries, self.facts, []
        for number, step in enumerate(node.steps, before):
            sums = [job for job in node.jobs() if job.cell_depth == number]
            self.ranges = next(node.jobs()).piece.ranges
            for job in sums:
                self.sums[job] = (acc := self.new("acc")), *self.split(job)
                self.line(depth, f"{acc} = 0.0")
            opened += [(job, depth, self.entries, self.facts) for job in sums]
            depth = self.step(step, depth, parallel and number == 0)
            self.facts += facts_of(step)
        for part in node.parts:
            if isinstance(part, LoopTree):
                self.loops(part, before + len(node.steps), depth)
            else:
                self.job(part, depth)
        for job, outside, self.entries, self.facts in reversed(opened):
            self.ranges = job.piece.ranges
            acc, still, _ = self.sums.pop(job)
            self.set(job, " * ".join([*(self.value(f, nested=True) for f in still), acc]), outside)
        self.entries, self.facts = entries, facts

    def split(self, job: Job) -> tuple[list[PieceBody], PieceBody]:
        """The factors to hoist out of the loops of a sum if these always iterate, and the product of the others."""
        ranges = job.piece.ranges
        facts = tuple(p for p in self.facts if free_index_names(p) <= ranges.keys())
        if not always_iterates(job.steps[job.cell_depth :], facts, ranges):
            return [], job.piece.body
        return _hoisted_factors(job)

    def job(self, job: Job, depth: int) -> None:
        self.ranges = job.piece.ranges
        if job in self.sums:
            acc, _, terms = self.sums[job]
            self.line(depth, f"{acc} += {self.value(terms)}")
        else:
            self.set(job, self.value(job.piece.body), depth)

    def set(self, job: Job, value: str, depth: int) -> None:
        cell = Read(job.nest, job.piece.target)
        first = cell not in self.locals
        if job.nest in self.unstored and first:
            self.locals[cell] = self.local(cell)
        assigns = first if job.nest in self.unstored else job.assigns
        self.line(depth, f"{self.cell(cell)} {'=' if assigns else '+='} {value}")

    def local(self, cell: Read) -> str:
        at = "_".join(str(a.constant) for a in cell.at if isinstance(a, AffineExpr) and a.is_constant)
        return spelled(f"{cell.name}_{at}" if at else f"{cell.name}_here", self.source.taken)

    def step(self, step: LoopStep, depth: int, parallel: bool) -> int:
        match step:
            case Span(index, lows, highs):
                ends = f"{lowest_source(lows)}, {end_source(highs)}"
                self.line(depth, f"for {index} in {'prange' if parallel else 'range'}({ends}):")
                self.parallel |= parallel
            case Solve(index, of, by, size):
                self.line(depth, f"{index} = ({index_source(of)}) // {by}")
                self.line(depth, f"if {index} * {by} == {index_source(of)} and 0 <= {index} < {size}:")
            case EntryLoop():
                return self.row(step, depth)
            case Test(atom):
                self.line(depth, f"if {self.test(atom)}:")
        return depth + 1

    def row(self, step: EntryLoop, depth: int) -> int:
        e, first, last = self.new("e"), self.new("from"), self.new("to")
        shape = self.shape(step.relation)
        keys = self.walk(step.relation, step.order, "keys")
        if not step.known:
            self.line(depth, f"{first}, {last} = 0, len({keys})")
        elif len(step.known) == 1:
            starts = self.walk(step.relation, step.order, "starts")
            at = index_source(step.known[0])
            if not self.is_within(step.known[0], shape[step.order[0]]):
                self.line(depth, f"if 0 <= {at} < {shape[step.order[0]]}:")
                depth += 1
            self.line(depth, f"{first}, {last} = {starts}[{at}], {starts}[{at} + 1]")
        else:
            depth = self.range_of_keys(step, keys, first, last, depth)
        self.line(depth, f"for {e} in range({first}, {last}):")
        depth += 1
        for argument, index, sign, rest, size in step.binds:
            column = self.walk(step.relation, step.order, f"column{argument}")
            shifted = bool(rest.terms or rest.constant)
            value = f"({column}[{e}] - ({index_source(rest)}))" if shifted else f"{column}[{e}]"
            self.line(depth, f"{index} = {'-' if sign < 0 else ''}{value}")
            if sign < 0 or shifted or size != shape[argument]:
                self.line(depth, f"if 0 <= {index} < {size}:")
                depth += 1
        entry = self.walk(step.relation, step.order, "entry")
        self.entries = {**self.entries, (step.relation, step.at): f"{entry}[{e}]"}
        return depth

    def range_of_keys(self, step: EntryLoop, keys: str, first: str, last: str, depth: int) -> int:
        sizes = [self.shape(step.relation)[k] for k in step.order]
        known = list(zip(step.known, sizes, strict=False))
        self.line(depth, f"if {' and '.join(f'0 <= {index_source(a)} < {n}' for a, n in known)}:")
        after = 1
        for n in sizes[len(known) :]:
            after *= n
        key = _key_source(step.known, sizes)
        self.line(depth + 1, f"{first} = first_of({keys}, ({key}) * {after})")
        self.line(depth + 1, f"{last} = first_of({keys}, ({key} + 1) * {after})")
        return depth + 1

    def shape(self, relation: str) -> tuple[int, ...]:
        return self.source.plan.relations[relation]

    def test(self, atom: Predicate) -> str:
        match atom:
            case Compare(op, side):
                return f"{index_source(side)} {'==' if op == '=' else '>='} 0"
            case Related(relation, at):
                return self.holds(relation, at)
            case Unrelated(relation, at):
                return f"not ({self.holds(relation, at)})"
        raise TypeError(f"cannot test an existential that is not tabulated: {atom}")

    def holds(self, relation: str, at: tuple[AffineExpr, ...]) -> str:
        shape = self.shape(relation)
        if not is_mask(relation, shape, self.source.plan.counts):
            return f"{self.found(relation, at)} >= 0"
        mask = self.walk(relation, tuple(range(len(shape))), "mask")
        inside = self.bounds_left(at, shape)
        return f"{inside}{' and ' if inside else ''}{mask}[{', '.join(map(index_source, at))}]"

    def found(self, relation: str, at: tuple[AffineExpr, ...]) -> str:
        shape = self.shape(relation)
        order = tuple(range(len(shape)))
        keys, table = self.walk(relation, order, "keys"), self.walk(relation, order, "table")
        found = f"find({keys}, {table}, {_key_source(at, shape)})"
        inside = self.bounds_left(at, shape)
        return f"({found} if {inside} else -1)" if inside else found

    def bounds_left(self, at: tuple[AffineExpr, ...], shape: tuple[int, ...]) -> str:
        """The range checks of indices that the enclosing loops and tests do not imply."""
        beyond = [(a, n) for a, n in zip(at, shape, strict=True) if not self.is_within(a, n)]
        return " and ".join(f"0 <= {index_source(a)} < {n}" for a, n in beyond)

    def is_within(self, a: AffineExpr, size: int) -> bool:
        return is_inside(a, size, self.facts, self.ranges)

    # ---- values ----

    def cell(self, cell: Read) -> str:
        if cell in self.locals:
            return self.locals[cell]
        return f"{self.tensor(cell.name)}[{', '.join(map(self.position, cell.at)) or '()'}]"

    def position(self, a: CellIndex) -> str:
        if isinstance(a, EntryIndex):
            return self.entries.get((a.relation, a.at)) or self.found(a.relation, a.at)
        return index_source(a)

    def value(self, body: PieceBody, nested: bool = False) -> str:
        match body:
            case Read():
                return self.cell(body)
            case Const(value):
                return number_source(value)
            case Add(x, y):
                text = f"{self.value(x)} + {self.value(y, True)}"
                return f"({text})" if nested else text
            case Mul(x, y):
                return f"{self.value(x, True)} * {self.value(y, True)}"
            case Apply(f, args):
                return f"{self.source.function(f)}({', '.join(self.value(a) for a in args)})"
        raise TypeError(f"not a body: {body}")


def _hoisted_factors(job: Job) -> tuple[list[PieceBody], PieceBody]:
    """The factors that do not change in the loops of a sum, and the product of the others."""
    inner = {i for s in job.steps[job.cell_depth :] for i in bound_by(s)}
    parts = product_factors(job.piece.body)
    moving = tuple(p for p in parts if any(i in inner for r in body_reads(p) for a in r.at for i in a.names))
    if not moving or any(isinstance(a, EntryIndex) for p in parts for r in body_reads(p) for a in r.at):
        return [], job.piece.body
    return [p for p in parts if p not in moving], product_of(moving)


def _key_source(at: Sequence[AffineExpr], sizes: Sequence[int]) -> str:
    key = ""
    for a, n in zip(at, sizes, strict=False):
        key = f"({key}) * {n} + ({index_source(a)})" if key else f"({index_source(a)})"
    return key or "0"
