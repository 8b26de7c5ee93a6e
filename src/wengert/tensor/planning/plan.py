"""A plan: loop nests that compute the outputs of an SSA program at given sizes, in no more operations than its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wengert.tensor.language.predicates import Exists, Predicate, relation_names
from wengert.tensor.passes.statements import SSA, output_names
from wengert.tensor.planning.elimination import eliminated
from wengert.tensor.planning.lowering import input_shapes, lowered, supports
from wengert.tensor.planning.nests import Nest, Piece, renamed
from wengert.tensor.planning.pieces import Planning, adds_zeros, settled
from wengert.tensor.planning.sharing import all_passes, live, shared, straightened, without_virtuals
from wengert.tensor.running.spelling import INDICES

RelationToMake = tuple[tuple[tuple[str, int], ...], Predicate]


@dataclass(frozen=True)
class Plan:
    """The nests in order. `tables`: relations to make of others first; `output`: names, nested as the result is."""

    nests: tuple[Nest, ...]
    output: Any
    tables: Mapping[str, RelationToMake] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    relations: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def plan(ssa: SSA, sizes: Mapping[str, int], counts: Mapping[str, int] | None = None, optimise: bool = True) -> Plan:
    """The Plan of an SSA program; `counts` says how many entries each relation has, where that is known.

    Without `optimise`, only what costs nothing is put in place: what remains is what the cost model counts.
    """
    context = Planning(counts or {}, supports(ssa) if optimise else {}, relations=frozenset(dict(ssa.relations)))
    made = _planned(ssa, sizes, context, optimise)
    if context.unguarded and adds_zeros(made.nests, context):  # a summand was put in no place: its guard is missing
        context = Planning(counts or {}, relations=context.relations)
        made = _planned(ssa, sizes, context, optimise)
    return made


def _planned(ssa: SSA, sizes: Mapping[str, int], context: Planning, optimise: bool) -> Plan:
    names = list(output_names(ssa.output))
    nests = {s.name: lowered(s, sizes, context) for s in ssa.statements}
    if optimise:
        nests = live(nests, names)
    nests = without_virtuals(nests, names, context)
    if optimise:
        nests = contracted_in_order(all_passes(live(shared(nests, names), names), names, context), names, context)
        nests = {name: banded(nest, context) for name, nest in nests.items()}
    made = tuple(legible(without_existentials(nest, context)) for nest in nests.values())
    shapes = dict(shape for name, of in ssa.inputs for shape in input_shapes(f"in.{name}", of, sizes))
    related = {name: tuple(a.substitute(sizes).constant for a in of) for name, of in ssa.relations}
    return with_tables(Plan(made, ssa.output, {}, context.counts, shapes, related), context)


def with_tables(plan: Plan, context: Planning) -> Plan:
    """The plan with those of the relations made of existentials that its nests ask."""
    asked = {name for nest in plan.nests for piece in nest.pieces for p in piece.where for name in relation_names(p)}
    asked |= {n for nest in plan.nests for n in nest.shape if isinstance(n, str)}
    for name, (_, p) in reversed(context.tables.items()):  # one is made of those before it
        asked |= relation_names(p) if name in asked else set()
    tables = {name: table for name, table in context.tables.items() if name in asked}
    shapes = {name: tuple(n for _, n in indices) for name, (indices, _) in tables.items()}
    return replace(plan, tables=tables, relations={**plan.relations, **shapes})


def contracted_in_order(nests: Mapping[str, Nest], names: list[str], context: Planning) -> dict[str, Nest]:
    """The nests after eliminating until no index can be summed earlier; what is summed no more may be put in place."""
    while (made := eliminated(nests, context)) != nests:
        nests = all_passes(shared(made, names), names, context)
    return made


def without_existentials(nest: Nest, context: Planning) -> Nest:
    """The nest with relations in place of the existentials that are left."""
    return replace(nest, pieces=tuple(q for p in nest.pieces for q in _decided(p, context)))


def _decided(piece: Piece, context: Planning) -> tuple[Piece, ...]:
    if not any(isinstance(p, Exists) for p in piece.where):
        return (piece,)
    where = (context.table(p, piece.ranges) if isinstance(p, Exists) else p for p in piece.where)
    return settled(replace(piece, where=tuple(where)), context)


def banded(nest: Nest, context: Planning) -> Nest:
    return replace(nest, pieces=tuple(q for p in nest.pieces for q in settled(straightened(p, context), context)))


def legible(nest: Nest) -> Nest:
    """The nest with indices called i, j, k, ... in each piece."""
    return replace(nest, pieces=tuple(renamed(p, iter(INDICES)) for p in nest.pieces))
