"""A plan: loop nests that compute an SSA program's outputs at given sizes, in no more operations than its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wengert.tensor.language.predicates import Exists, Predicate, relation_names
from wengert.tensor.passes.statements import SSA, output_names
from wengert.tensor.planning.elimination import indices_eliminated
from wengert.tensor.planning.lowering import input_shapes, lower_statement, supports
from wengert.tensor.planning.nests import LoopNest, NestPiece, with_fresh_indices
from wengert.tensor.planning.pieces import PlanningContext, adds_zeros, normalised
from wengert.tensor.planning.sharing import (
    all_passes,
    equal_nests_merged,
    live_nests,
    with_band_index,
    without_virtuals,
)
from wengert.tensor.running.spelling import INDICES

RelationToMake = tuple[tuple[tuple[str, int], ...], Predicate]


@dataclass(frozen=True)
class Plan:
    """The nests in order. `tables`: relations to tabulate first; `output`: names, nested like the result."""

    nests: tuple[LoopNest, ...]
    output: Any
    tables: Mapping[str, RelationToMake] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    relations: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def plan(ssa: SSA, sizes: Mapping[str, int], counts: Mapping[str, int] | None = None, optimise: bool = True) -> Plan:
    """The Plan of an SSA program; `counts` has the number of entries of each relation, if known.

    Without `optimise`, only definitions that cost nothing are inlined, and the operations are those of the cost model.
    """
    context = PlanningContext(counts or {}, supports(ssa) if optimise else {}, relations=frozenset(dict(ssa.relations)))
    made = _planned(ssa, sizes, context, optimise)
    if context.guard_dropped and adds_zeros(made.nests, context):  # a summand was not inlined, so its guard is missing
        context = PlanningContext(counts or {}, relations=context.relations)
        made = _planned(ssa, sizes, context, optimise)
    return made


def _planned(ssa: SSA, sizes: Mapping[str, int], context: PlanningContext, optimise: bool) -> Plan:
    names = list(output_names(ssa.output))
    nests = {s.name: lower_statement(s, sizes, context) for s in ssa.statements}
    if optimise:
        nests = live_nests(nests, names)
    nests = without_virtuals(nests, names, context)
    if optimise:
        nests = contracted_in_order(
            all_passes(live_nests(equal_nests_merged(nests, names), names), names, context), names, context
        )
        nests = {name: banded(nest, context) for name, nest in nests.items()}
    made = tuple(with_readable_indices(without_existentials(nest, context)) for nest in nests.values())
    shapes = dict(shape for name, of in ssa.inputs for shape in input_shapes(f"in.{name}", of, sizes))
    related = {name: tuple(a.substitute(sizes).constant for a in of) for name, of in ssa.relations}
    return with_tables(Plan(made, ssa.output, {}, context.counts, shapes, related), context)


def with_tables(plan: Plan, context: PlanningContext) -> Plan:
    """The plan with the tables of existentials that its nests use."""
    asked = {name for nest in plan.nests for piece in nest.pieces for p in piece.where for name in relation_names(p)}
    asked |= {n for nest in plan.nests for n in nest.shape if isinstance(n, str)}
    for name, (_, p) in reversed(context.tables.items()):  # a table may use those before it
        asked |= relation_names(p) if name in asked else set()
    tables = {name: table for name, table in context.tables.items() if name in asked}
    shapes = {name: tuple(n for _, n in indices) for name, (indices, _) in tables.items()}
    return replace(plan, tables=tables, relations={**plan.relations, **shapes})


def contracted_in_order(
    nests: Mapping[str, LoopNest], names: list[str], context: PlanningContext
) -> dict[str, LoopNest]:
    """Eliminate indices until none can be summed earlier; after each round, run all passes on the new nests."""
    while (made := indices_eliminated(nests, context)) != nests:
        nests = all_passes(equal_nests_merged(made, names), names, context)
    return made


def without_existentials(nest: LoopNest, context: PlanningContext) -> LoopNest:
    """Replace the remaining existentials of a nest by tabulated relations."""
    return replace(nest, pieces=tuple(q for p in nest.pieces for q in _existentials_tabulated(p, context)))


def _existentials_tabulated(piece: NestPiece, context: PlanningContext) -> tuple[NestPiece, ...]:
    if not any(isinstance(p, Exists) for p in piece.where):
        return (piece,)
    where = (context.table(p, piece.ranges) if isinstance(p, Exists) else p for p in piece.where)
    return normalised(replace(piece, where=tuple(where)), context)


def banded(nest: LoopNest, context: PlanningContext) -> LoopNest:
    return replace(nest, pieces=tuple(q for p in nest.pieces for q in normalised(with_band_index(p, context), context)))


def with_readable_indices(nest: LoopNest) -> LoopNest:
    """The nest with indices named i, j, k, ... in each piece."""
    return replace(nest, pieces=tuple(with_fresh_indices(p, iter(INDICES)) for p in nest.pieces))
