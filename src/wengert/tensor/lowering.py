"""From tensor SSA with its sizes known to nests, statement by statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wengert.tensor.indices import Affine, affine
from wengert.tensor.nests import Body, Nest, Piece, Read, product, renamed, sum_of
from wengert.tensor.pieces import Context
from wengert.tensor.predicates import TRUE, And, Exists, Or, Predicate, conjoin, negate, substituted
from wengert.tensor.regions import split
from wengert.tensor.statements import Constant, Contract, Input, Map, Statement, Sum2
from wengert.tensor.terms import Apply, BlackBox, Const, Expr, PairType, Proj, TensorType, Type, Var

Sizes = Mapping[str, int]


def lowered(statement: Statement, sizes: Sizes, context: Context) -> Nest:
    """A statement as a nest."""
    gens = tuple((i, _value(n, sizes)) for i, n in statement.gens)
    pieces = (renamed(p, context.fresh) for p in _pieces(statement, gens, sizes, context))
    return Nest(statement.name, tuple(n for _, n in gens), tuple(pieces))


Gens = tuple[tuple[str, int], ...]


def _pieces(statement: Statement, gens: Gens, sizes: Sizes, context: Context) -> Iterator[Piece]:
    own = tuple(affine(i) for i, _ in gens)
    match statement.form:
        case Input(of, at):
            yield Piece(gens, (), own, Read(input_name(of), tuple(map(affine, at))))
        case Constant(where, value):
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
    gens: Gens,
    own: tuple[Affine, ...],
    sizes: Sizes,
    context: Context,
) -> Iterator[Piece]:
    """The guarded add by regions: x + y where both are, and each alone (S7)."""
    p, q = (substituted(w, sizes) if w != TRUE else TRUE for w in (where0, where1))
    parts: list[tuple[Predicate, Body]]
    both = sum_of(x, y)
    if has_existential(p) or has_existential(q):
        parts = [(p, both)] if p == q else [(p, x), (q, y)]  # they meet in the cells
    else:
        parts = [(conjoin(p, q), both), (conjoin(p, negate(q)), x), (conjoin(q, negate(p)), y)]
    for where, body in parts:
        yield from _parts(where, gens, own, body, {}, context)


def has_existential(p: Predicate) -> bool:
    match p:
        case And(parts) | Or(parts):
            return any(map(has_existential, parts))
    return isinstance(p, Exists)


def _parts(
    where: Predicate, indices: Gens, own: tuple[Affine, ...], body: Body, sizes: Sizes, context: Context
) -> Iterator[Piece]:
    ranges = dict(indices)
    p = substituted(where, sizes) if where != TRUE else TRUE
    for part in split(p, ranges, lambda e: context.table(e, ranges)):
        yield Piece(indices, part, own, body)


def _value(size: Affine, sizes: Sizes) -> int:
    return size.substitute(sizes).constant


def input_name(of: Expr) -> str:
    """in.x, or in.x.0.1 for a part of a pair: no statement is called so."""
    match of:
        case Var(name):
            return f"in.{name}"
        case Proj(k, inner):
            return f"{input_name(inner)}.{k}"
    raise TypeError(f"not an input: {of}")


def input_shapes(name: str, of: Type, sizes: Sizes) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The tensors that an input is made of, pairs taken apart."""
    shape: tuple[int, ...] = ()
    while isinstance(of, TensorType):
        shape, of = (*shape, _value(of.size, sizes)), of.of
    if isinstance(of, PairType):
        for k, part in enumerate((of.left, of.right)):
            for inner, rest in input_shapes(f"{name}.{k}", part, sizes):
                yield inner, (*shape, *rest)
    else:
        yield name, shape


def _applied(f: BlackBox, args: tuple[str, ...], at: tuple[Affine, ...]) -> Body:
    parts: tuple[Body, ...] = tuple(Read(a, at) for a in args)
    return Apply(f, parts)
