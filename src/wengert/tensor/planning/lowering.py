"""Lowering of tensor SSA with known sizes to loop nests, statement by statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import (
    TRUE,
    And,
    Exists,
    Or,
    Predicate,
    Related,
    conjoin,
    conjuncts,
    disjoin,
    disjuncts,
    exists,
    free_index_names,
    implies,
    negate,
    pins,
    substituted,
)
from wengert.tensor.language.terms import Apply, BlackBox, Const, Expr, PairType, Proj, TensorType, Type, Var
from wengert.tensor.passes.statements import (
    SSA,
    Contract,
    Fill,
    Load,
    Pointwise,
    Statement,
    Sum2,
    form_arguments,
    output_names,
)
from wengert.tensor.planning.nests import LoopNest, NestPiece, PieceBody, Read, product_of, sum_of, with_fresh_indices
from wengert.tensor.planning.pieces import PlanningContext
from wengert.tensor.planning.regions import disjoint_conjunctions

Sizes = Mapping[str, int]


def lower_statement(statement: Statement, sizes: Sizes, context: PlanningContext) -> LoopNest:
    """The nest that computes a statement."""
    gens = tuple((i, _size_value(n, sizes)) for i, n in statement.gens)
    pieces = (with_fresh_indices(p, context.fresh) for p in _statement_pieces(statement, gens, sizes, context))
    return LoopNest(statement.name, tuple(n for _, n in gens), tuple(pieces))


SizedGens = tuple[tuple[str, int], ...]


def _statement_pieces(
    statement: Statement, gens: SizedGens, sizes: Sizes, context: PlanningContext
) -> Iterator[NestPiece]:
    own = tuple(affine(i) for i, _ in gens)
    match statement.form:
        case Load(of, at):
            yield NestPiece(gens, (), own, Read(input_name(of), tuple(map(affine, at))))
        case Fill(where, value):
            yield from _disjoint_pieces(where, gens, own, Const(value), sizes, context)
        case Pointwise(where, f, args):
            yield from _disjoint_pieces(where, gens, own, _black_box_call(f, args, own), sizes, context)
        case Sum2(where0, x, where1, y):
            yield from _addition_pieces(where0, Read(x, own), where1, Read(y, own), gens, own, sizes, context)
        case Contract(sums, where, of):
            indices = (*gens, *((i, _size_value(n, sizes)) for i, n in sums))
            body = product_of(tuple(Read(name, tuple(map(affine, at))) for name, at in of))
            yield from _disjoint_pieces(where, indices, own, body, sizes, context)


def _addition_pieces(
    where0: Predicate,
    x: Read,
    where1: Predicate,
    y: Read,
    gens: SizedGens,
    own: tuple[AffineExpr, ...],
    sizes: Sizes,
    context: PlanningContext,
) -> Iterator[NestPiece]:
    """The pieces of a guarded addition (S7): one per summand, or one per region if both summands have few cells.

    With one piece per region each cell is written once, and a reader need not read a tensor of mostly zeros.
    """
    p, q = substituted(where0, sizes), substituted(where1, sizes)
    if p == q:
        parts = [(p, sum_of(x, y))]
    elif is_thin(p, gens, context) and is_thin(q, gens, context):
        parts = [(conjoin(p, q), sum_of(x, y)), (conjoin(p, negate(q)), x), (conjoin(q, negate(p)), y)]
    else:
        needed = ((substituted(_summand_guard(w, t.name, context), sizes), t) for w, t in ((where0, x), (where1, y)))
        parts = sorted(needed, key=lambda part: part[0] != TRUE)  # the piece that fills most cells first
    for where, body in parts:
        yield from _disjoint_pieces(where, gens, own, body, {}, context)


def _summand_guard(where: Predicate, name: str, context: PlanningContext) -> Predicate:
    """The guard of a summand, or TRUE if the summand is zero outside of it and may be inlined."""
    if where == TRUE or name not in context.supports or not implies(context.supports[name], where):
        return where
    context.guard_dropped = True
    return TRUE


def support(statement: Statement) -> Predicate:
    """The predicate outside which a statement is zero."""
    match statement.form:
        case Fill(where, _) | Pointwise(where, _, _):
            return where
        case Sum2(where0, _, where1, _):
            return disjoin(where0, where1)
        case Contract(sums, where, _):
            return exists(sums, where)
    return TRUE


def supports(ssa: SSA) -> dict[str, Predicate]:
    """The supports of the statements that are read once, by one statement, and are no outputs."""
    uses = Counter(name for s in ssa.statements for name in form_arguments(s.form))
    kept = output_names(ssa.output)
    return {s.name: support(s) for s in ssa.statements if uses[s.name] == 1 and s.name not in kept}


THIN = 8  # a relation is thin if it holds for less than one in so many assignments


def is_thin(p: Predicate, gens: SizedGens, context: PlanningContext) -> bool:
    """Whether each disjunct of p pins an index of the statement or tests a relation with few entries."""
    return not has_existential(p) and all(
        any(_is_selective(a, gens, context) for a in conjuncts(q)) for q in disjuncts(p)
    )


def _is_selective(atom: Predicate, gens: SizedGens, context: PlanningContext) -> bool:
    if isinstance(atom, Related):
        sizes = [n for i, n in gens if i in free_index_names(atom)]
        return context.counts.get(atom.relation, prod(sizes)) * THIN < prod(sizes)
    return any(pins(atom, i) for i, n in gens if n > 1)


def has_existential(p: Predicate) -> bool:
    match p:
        case And(parts) | Or(parts):
            return any(map(has_existential, parts))
    return isinstance(p, Exists)


def _disjoint_pieces(
    where: Predicate,
    indices: SizedGens,
    own: tuple[AffineExpr, ...],
    body: PieceBody,
    sizes: Sizes,
    context: PlanningContext,
) -> Iterator[NestPiece]:
    ranges = dict(indices)
    p = substituted(where, sizes) if where != TRUE else TRUE
    for part in disjoint_conjunctions(p, ranges, lambda e: context.table(e, ranges)):
        yield NestPiece(indices, part, own, body)


def _size_value(size: AffineExpr, sizes: Sizes) -> int:
    return size.substitute(sizes).constant


def input_name(of: Expr) -> str:
    """The name of an input, in.x, or of a part of a pair, in.x.0.1; no statement has a name with a dot."""
    match of:
        case Var(name):
            return f"in.{name}"
        case Proj(k, inner):
            return f"{input_name(inner)}.{k}"
    raise TypeError(f"not an input: {of}")


def input_shapes(name: str, of: Type, sizes: Sizes) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The names and shapes of the tensors of an input, whose pairs are split."""
    shape: tuple[int, ...] = ()
    while isinstance(of, TensorType):
        shape, of = (*shape, _size_value(of.size, sizes)), of.of
    if isinstance(of, PairType):
        for k, part in enumerate((of.left, of.right)):
            for inner, rest in input_shapes(f"{name}.{k}", part, sizes):
                yield inner, (*shape, *rest)
    else:
        yield name, shape


def _black_box_call(f: BlackBox, args: tuple[str, ...], at: tuple[AffineExpr, ...]) -> PieceBody:
    parts: tuple[PieceBody, ...] = tuple(Read(a, at) for a in args)
    return Apply(f, parts)
