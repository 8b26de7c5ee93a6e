"""From tensor SSA with known sizes to loop nests, statement by statement."""

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
from wengert.tensor.passes.statements import SSA, Contract, Fill, Load, Map, Statement, Sum2, arguments, output_names
from wengert.tensor.planning.nests import Body, Nest, Piece, Read, product, renamed, sum_of
from wengert.tensor.planning.pieces import Planning
from wengert.tensor.planning.regions import split

Sizes = Mapping[str, int]


def lowered(statement: Statement, sizes: Sizes, context: Planning) -> Nest:
    """The nest that computes a statement."""
    gens = tuple((i, _value(n, sizes)) for i, n in statement.gens)
    pieces = (renamed(p, context.fresh) for p in _pieces(statement, gens, sizes, context))
    return Nest(statement.name, tuple(n for _, n in gens), tuple(pieces))


SizedGens = tuple[tuple[str, int], ...]


def _pieces(statement: Statement, gens: SizedGens, sizes: Sizes, context: Planning) -> Iterator[Piece]:
    own = tuple(affine(i) for i, _ in gens)
    match statement.form:
        case Load(of, at):
            yield Piece(gens, (), own, Read(input_name(of), tuple(map(affine, at))))
        case Fill(where, value):
            yield from _parts(where, gens, own, Const(value), sizes, context)
        case Map(where, f, args):
            yield from _parts(where, gens, own, _applied(f, args, own), sizes, context)
        case Sum2(where0, x, where1, y):
            yield from _sum(where0, Read(x, own), where1, Read(y, own), gens, own, sizes, context)
        case Contract(sums, where, of):
            indices = (*gens, *((i, _value(n, sizes)) for i, n in sums))
            body = product(tuple(Read(name, tuple(map(affine, at))) for name, at in of))
            yield from _parts(where, indices, own, body, sizes, context)


def _sum(
    where0: Predicate,
    x: Read,
    where1: Predicate,
    y: Read,
    gens: SizedGens,
    own: tuple[AffineExpr, ...],
    sizes: Sizes,
    context: Planning,
) -> Iterator[Piece]:
    """The pieces of a guarded addition (S7): both summands add into the cells, or regions where the cells are few.

    By regions, a cell has one value, and a reader need not be given a tensor of mostly zeros.
    """
    p, q = substituted(where0, sizes), substituted(where1, sizes)
    if p == q:
        parts = [(p, sum_of(x, y))]
    elif is_thin(p, gens, context) and is_thin(q, gens, context):
        parts = [(conjoin(p, q), sum_of(x, y)), (conjoin(p, negate(q)), x), (conjoin(q, negate(p)), y)]
    else:
        needed = ((substituted(_needed(w, t.name, context), sizes), t) for w, t in ((where0, x), (where1, y)))
        parts = sorted(needed, key=lambda part: part[0] != TRUE)  # first what fills most cells
    for where, body in parts:
        yield from _parts(where, gens, own, body, {}, context)


def _needed(where: Predicate, name: str, context: Planning) -> Predicate:
    """The guard of a summand; none where the summand is zero outside of it anyway, and will be put in its place."""
    if where == TRUE or name not in context.supports or not implies(context.supports[name], where):
        return where
    context.unguarded = True
    return TRUE


def support(statement: Statement) -> Predicate:
    """The predicate outside of which a statement is zero."""
    match statement.form:
        case Fill(where, _) | Map(where, _, _):
            return where
        case Sum2(where0, _, where1, _):
            return disjoin(where0, where1)
        case Contract(sums, where, _):
            return exists(sums, where)
    return TRUE


def supports(ssa: SSA) -> dict[str, Predicate]:
    """The supports of those statements that only one statement reads, once."""
    uses = Counter(name for s in ssa.statements for name in arguments(s.form))
    kept = output_names(ssa.output)
    return {s.name: support(s) for s in ssa.statements if uses[s.name] == 1 and s.name not in kept}


THIN = 8  # a predicate is thin where it holds for less than one in so many assignments


def is_thin(p: Predicate, gens: SizedGens, context: Planning) -> bool:
    """Whether every way to satisfy p pins an index of the statement, or needs one of a relation's few entries."""
    return not has_existential(p) and all(any(_thins(a, gens, context) for a in conjuncts(q)) for q in disjuncts(p))


def _thins(atom: Predicate, gens: SizedGens, context: Planning) -> bool:
    if isinstance(atom, Related):
        sizes = [n for i, n in gens if i in free_index_names(atom)]
        return context.counts.get(atom.relation, prod(sizes)) * THIN < prod(sizes)
    return any(pins(atom, i) for i, n in gens if n > 1)


def has_existential(p: Predicate) -> bool:
    match p:
        case And(parts) | Or(parts):
            return any(map(has_existential, parts))
    return isinstance(p, Exists)


def _parts(
    where: Predicate, indices: SizedGens, own: tuple[AffineExpr, ...], body: Body, sizes: Sizes, context: Planning
) -> Iterator[Piece]:
    ranges = dict(indices)
    p = substituted(where, sizes) if where != TRUE else TRUE
    for part in split(p, ranges, lambda e: context.table(e, ranges)):
        yield Piece(indices, part, own, body)


def _value(size: AffineExpr, sizes: Sizes) -> int:
    return size.substitute(sizes).constant


def input_name(of: Expr) -> str:
    """The name of an input, in.x, or of a part of a pair, in.x.0.1; no statement has such a name."""
    match of:
        case Var(name):
            return f"in.{name}"
        case Proj(k, inner):
            return f"{input_name(inner)}.{k}"
    raise TypeError(f"not an input: {of}")


def input_shapes(name: str, of: Type, sizes: Sizes) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The tensors that an input is made of, by name, with their shapes; pairs are taken apart."""
    shape: tuple[int, ...] = ()
    while isinstance(of, TensorType):
        shape, of = (*shape, _value(of.size, sizes)), of.of
    if isinstance(of, PairType):
        for k, part in enumerate((of.left, of.right)):
            for inner, rest in input_shapes(f"{name}.{k}", part, sizes):
                yield inner, (*shape, *rest)
    else:
        yield name, shape


def _applied(f: BlackBox, args: tuple[str, ...], at: tuple[AffineExpr, ...]) -> Body:
    parts: tuple[Body, ...] = tuple(Read(a, at) for a in args)
    return Apply(f, parts)
