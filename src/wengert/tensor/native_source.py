"""The text of a plan as loop nests for a compiler; what BLAS does better stays NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wengert.tensor.indices import Affine
from wengert.tensor.joining import is_apart, is_full
from wengert.tensor.layout import Box, layout
from wengert.tensor.loops import Row, Solve, Span, Step, Test, iterations, points, steps
from wengert.tensor.nests import Body, Entry, Nest, Piece, Position, Read, factors, product, reads
from wengert.tensor.numpy_source import Source
from wengert.tensor.pieces import Context
from wengert.tensor.plan import Plan, legible
from wengert.tensor.predicates import Compare, Predicate, Related, Unrelated
from wengert.tensor.regions import span
from wengert.tensor.sharing import fused
from wengert.tensor.spelling import end_text, index_text, lowest_text, number_text
from wengert.tensor.statements import leaves
from wengert.tensor.terms import Add, Apply, Const, Mul

PARALLEL = 1e6  # points from which threads pay
BLAS_FROM = 4096  # points from which a matrix product goes to BLAS


class NativeSource(Source):
    """Writes `run` as the NumPy source does, and kernels that it calls with arrays."""

    joins = 0

    def __init__(self, plan: Plan) -> None:
        nests = {nest.name: nest for nest in plan.nests}
        nests = fused(nests, leaves(plan.output), Context(), repeats=True)
        super().__init__(replace(plan, nests=tuple(map(legible, nests.values()))))
        self.taken |= {"e", "acc", "prange", "find", "first_of", "kernel"}
        self.kernels: list[str] = []
        self.walks: dict[str, tuple[str, tuple[int, ...], str]] = {}
        self.parallel = False
        self.pending: list[Nest] = []

    def nest(self, nest: Nest) -> None:
        if is_blas(nest, self.plan):
            self.flush()
            super().nest(nest)
        else:
            self.pending.append(nest)

    def output(self) -> str:
        self.flush()
        return super().output()

    def flush(self) -> None:
        """One kernel for the nests since the last product."""
        if not self.pending:
            return
        kernel = Kernel(self)
        for nest in self.pending:
            fill = "empty" if is_full(nest) else "zeros"
            self.line(1, f"{self.name(nest.name)} = np.{fill}({self.shape_text(nest)}, dtype)")
            kernel.nest(nest)
        name = f"kernel{len(self.kernels)}"
        self.kernels.append(kernel.text(name))
        self.parallel |= kernel.parallel
        walks = [f"walks[{key!r}]" for key in kernel.walks]
        self.line(1, f"{name}({', '.join([*map(self.name, kernel.tensors), *walks])})")
        self.pending = []


def is_blas(nest: Nest, plan: Plan) -> bool:
    """A product of two tensors along shared axes, large enough."""
    if len(nest.pieces) != 1:
        return False
    (piece,) = nest.pieces
    how = layout(piece, plan.counts)
    if not isinstance(how, Box) or how.loops or piece.where or len(factors(piece.body)) != 2:
        return False
    kept = {i for a in piece.target for i in a.names}
    every = points(steps(piece.ranges, (), plan.counts), piece.ranges, plan.counts)
    own = [frozenset(i for a in r.at for i in a.names) for r in reads(piece.body)]
    if len(own) != 2 or not all(isinstance(f, Read) for f in factors(piece.body)):
        return False
    shared, alone = own[0] & own[1], own[0] ^ own[1]
    return every >= BLAS_FROM and bool(shared) and not shared & kept and alone <= kept and len(kept) > 1


class Kernel:
    """The text of one compiled function."""

    def __init__(self, source: NativeSource) -> None:
        self.source = source
        self.lines: list[str] = []
        self.tensors: list[str] = []
        self.walks: dict[str, str] = {}  # "R.0.1.keys" → parameter
        self.entries: dict[tuple[str, tuple[Affine, ...]], str] = {}
        self.ranges: dict[str, int] = {}
        self.scalars: dict[str, str] = {}
        self.parallel = False
        self.made = 0

    def text(self, name: str) -> str:
        parameters = [*map(self.source.name, self.tensors), *self.walks.values()]
        return f"def {name}({', '.join(parameters)}):\n" + "\n".join(self.lines or ["    pass"]) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def new(self, letter: str) -> str:
        self.made += 1
        return f"{letter}_{self.made}"

    def tensor(self, name: str) -> str:
        if name not in self.tensors:
            self.tensors.append(name)
        return self.source.name(name)

    def walk(self, relation: str, order: tuple[int, ...], part: str) -> str:
        key = ".".join([relation, *map(str, order), part])
        if key not in self.walks:
            self.walks[key] = f"{relation}_{''.join(map(str, order))}_{part}"
            self.source.walks[key] = (relation, order, part)
        return self.walks[key]

    # ---- nests ----

    def nest(self, nest: Nest) -> None:
        self.tensor(nest.name)
        apart = is_apart(nest)
        for piece in nest.pieces:
            self.piece(nest, piece, apart)

    def piece(self, nest: Nest, piece: Piece, apart: bool) -> None:
        counts = self.source.plan.counts
        made = list(steps(piece.ranges, piece.where, counts, weight=lambda order: strides(piece, order)))
        self.entries, self.ranges = {}, piece.ranges
        self.read_scalars(piece.body)
        kept = {i for a in piece.target for i in a.names}
        last = max((k for k, s in enumerate(made) if bound_by(s) & kept), default=-1)
        outer, inner = made[: last + 1], made[last + 1 :]
        loops = any(bound_by(s) for s in inner)
        many = points(made, piece.ranges, counts) >= PARALLEL and iterations(made[:1], piece.ranges, counts) > 1
        depth = self.steps(outer, 1, many and self.may_split(made, piece))
        if not loops:
            depth = self.steps(inner, depth)
            self.line(
                depth,
                f"{self.cell(nest.name, piece.target, depth)} {'=' if apart else '+='} {self.value(piece.body, depth)}",
            )
            return
        invariant, inside = _invariant(piece.body, {i for s in inner for i in bound_by(s)})
        self.line(depth, "acc = 0.0")
        below = self.steps(inner, depth)
        self.line(below, f"acc += {self.value(inside, below)}")
        result = " * ".join([*(self.value(f, depth, nested=True) for f in invariant), "acc"])
        self.line(depth, f"{self.cell(nest.name, piece.target, depth)} {'=' if apart else '+='} {result}")

    def read_scalars(self, body: Body) -> None:
        """Tensors of no dimension, before the loops: in parallel ones numba cannot read them."""
        self.scalars = {r.name: self.new("v") for r in reads(body) if not r.at}
        for name, local in self.scalars.items():
            self.line(1, f"{local} = {self.tensor(name)}[()]")

    def may_split(self, made: Sequence[Step], piece: Piece) -> bool:
        """The outermost index picks the cells: no two turns meet."""
        first = made[0] if made else None
        alone = {n for a in piece.target if isinstance(a, Affine) and len(a.terms) == 1 for n in a.names}
        return isinstance(first, Span) and first.index in alone

    def steps(self, made: Sequence[Step], depth: int, parallel: bool = False) -> int:
        for step in made:
            match step:
                case Span(index, lows, highs):
                    turns = f"{lowest_text(lows)}, {end_text(highs)}"
                    self.line(depth, f"for {index} in {'prange' if parallel else 'range'}({turns}):")
                    self.parallel |= parallel
                    parallel = False
                    depth += 1
                case Solve(index, of, by, size):
                    self.line(depth, f"{index} = ({index_text(of)}) // {by}")
                    self.line(depth, f"if {index} * {by} == {index_text(of)} and 0 <= {index} < {size}:")
                    depth += 1
                case Row():
                    depth = self.row(step, depth)
                case Test(atom):
                    self.line(depth, f"if {self.test(atom, depth)}:")
                    depth += 1
        return depth

    def row(self, step: Row, depth: int) -> int:
        e, first, last = self.new("e"), self.new("from"), self.new("to")
        shape = self.shape(step.relation)
        keys = self.walk(step.relation, step.order, "keys")
        if not step.given:
            self.line(depth, f"{first}, {last} = 0, len({keys})")
        elif len(step.given) == 1:
            starts = self.walk(step.relation, step.order, "starts")
            at = index_text(step.given[0])
            if not self.is_within(step.given[0], shape[step.order[0]]):
                self.line(depth, f"if 0 <= {at} < {shape[step.order[0]]}:")
                depth += 1
            self.line(depth, f"{first}, {last} = {starts}[{at}], {starts}[{at} + 1]")
        else:
            depth = self.range_of_keys(step, keys, first, last, depth)
        self.line(depth, f"for {e} in range({first}, {last}):")
        depth += 1
        for argument, index, sign, rest, size in step.binds:
            column = self.walk(step.relation, step.order, f"column{argument}")
            value = (
                f"{column}[{e}]" if not rest.terms and not rest.constant else f"({column}[{e}] - ({index_text(rest)}))"
            )
            self.line(depth, f"{index} = {'-' if sign < 0 else ''}{value}")
            if sign < 0 or rest.terms or rest.constant or size != shape[argument]:
                self.line(depth, f"if 0 <= {index} < {size}:")
                depth += 1
        entry = self.walk(step.relation, step.order, "entry")
        self.entries[step.relation, step.at] = f"{entry}[{e}]"
        return depth

    def range_of_keys(self, step: Row, keys: str, first: str, last: str, depth: int) -> int:
        sizes = [self.shape(step.relation)[k] for k in step.order]
        known = list(zip(step.given, sizes, strict=False))
        self.line(depth, f"if {' and '.join(f'0 <= {index_text(a)} < {n}' for a, n in known)}:")
        after = 1
        for n in sizes[len(known) :]:
            after *= n
        key = _key_text(step.given, sizes)
        self.line(depth + 1, f"{first} = first_of({keys}, ({key}) * {after})")
        self.line(depth + 1, f"{last} = first_of({keys}, ({key} + 1) * {after})")
        return depth + 1

    def shape(self, relation: str) -> tuple[int, ...]:
        return self.source.plan.relations[relation]

    def test(self, atom: Predicate, depth: int) -> str:
        match atom:
            case Compare(op, side):
                return f"{index_text(side)} {'==' if op == '=' else '>='} 0"
            case Related(relation, at):
                return f"{self.found(relation, at)} >= 0"
            case Unrelated(relation, at):
                return f"{self.found(relation, at)} < 0"
        raise TypeError(f"an existential must have become a relation: {atom}")

    def found(self, relation: str, at: tuple[Affine, ...]) -> str:
        shape = self.shape(relation)
        order = tuple(range(len(shape)))
        keys, table = self.walk(relation, order, "keys"), self.walk(relation, order, "table")
        found = f"find({keys}, {table}, {_key_text(at, shape)})"
        beyond = [(a, n) for a, n in zip(at, shape, strict=True) if not self.is_within(a, n)]
        inside = " and ".join(f"0 <= {index_text(a)} < {n}" for a, n in beyond)
        return f"({found} if {inside} else -1)" if inside else found

    def is_within(self, a: Affine, size: int) -> bool:
        low, high = span(a, self.ranges)
        return low >= 0 and high < size

    # ---- values ----

    def cell(self, name: str, at: tuple[Position, ...], depth: int) -> str:
        return f"{self.tensor(name)}[{', '.join(map(self.position, at)) or '()'}]"

    def position(self, a: Position) -> str:
        if isinstance(a, Entry):
            return self.entries.get((a.relation, a.at)) or self.found(a.relation, a.at)
        return index_text(a)

    def value(self, body: Body, depth: int, nested: bool = False) -> str:
        match body:
            case Read(name, at):
                return self.scalars[name] if not at else self.cell(name, at, depth)
            case Const(value):
                return number_text(value)
            case Add(x, y):
                text = f"{self.value(x, depth)} + {self.value(y, depth, True)}"
                return f"({text})" if nested else text
            case Mul(x, y):
                return f"{self.value(x, depth, True)} * {self.value(y, depth, True)}"
            case Apply(f, args):
                return f"{self.source.function(f)}({', '.join(self.value(a, depth) for a in args)})"
        raise TypeError(f"not a body: {body}")


def bound_by(step: Step) -> set[str]:
    match step:
        case Span(index, _, _) | Solve(index, _, _, _):
            return {index}
        case Row():
            return {b[1] for b in step.binds}
    return set()


def _invariant(body: Body, inner: set[str]) -> tuple[list[Body], Body]:
    """Factors that the inner loops do not change, and the product of the others."""
    parts = factors(body)
    moving = tuple(p for p in parts if any(i in inner for r in reads(p) for a in r.at for i in a.names))
    if not moving or any(isinstance(a, Entry) for p in parts for r in reads(p) for a in r.at):
        return [], body
    return [p for p in parts if p not in moving], product(moving)


def strides(piece: Piece, order: Sequence[str]) -> float:
    """How badly the loops run through memory: accesses that the innermost one does not step through cell by cell."""
    if not order:
        return 0.0
    kept = {i for a in piece.target for i in a.names}
    bad = sum(any(order[-1] in a.names for a in at[:-1]) for at in (piece.target, *(r.at for r in reads(piece.body))))
    return bad + (0.5 if order[0] not in kept else 0.0)


def _key_text(at: Sequence[Affine], sizes: Sequence[int]) -> str:
    key = ""
    for a, n in zip(at, sizes, strict=False):
        key = f"({key}) * {n} + ({index_text(a)})" if key else f"({index_text(a)})"
    return key or "0"
