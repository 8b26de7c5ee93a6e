"""A check of the normal form of the fourth pass, which every function from statements to statements must give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wengert.tensor.language.predicates import free_index_names
from wengert.tensor.passes.statements import (
    SSA,
    Contract,
    Gens,
    Pointwise,
    Statement,
    Sum2,
    form_arguments,
    form_predicates,
    output_names,
    positional_names,
)


def complaints(ssa: SSA) -> list[str]:
    """What is wrong with statements, as texts; none if they are in tensor SSA form."""
    shapes: dict[str, Gens] = {}
    found = []
    for statement in ssa.statements:
        found += [f"{statement.name}: {complaint}" for complaint in _of_statement(statement, shapes, ssa.sizes)]
        shapes[statement.name] = statement.gens
    return [*found, *(f"the result {name} is not defined" for name in output_names(ssa.output) if name not in shapes)]


def _of_statement(statement: Statement, shapes: Mapping[str, Gens], sizes: tuple[str, ...]) -> Iterator[str]:
    form = statement.form
    if statement.name in shapes:
        yield "defined twice"
    missing = [name for name in form_arguments(form) if name not in shapes]
    yield from (f"reads {name}, which is not defined above" for name in missing)
    if not missing:
        yield from _shapes(statement, shapes)
    if any(old != new for old, new in positional_names(statement, sizes).items()):
        yield "indices are not named by position"
    sums = form.sums if isinstance(form, Contract) else ()
    scope = {index for index, _ in (*statement.gens, *sums)} | set(sizes)
    yield from (f"{name} is no index here" for p in form_predicates(form) for name in free_index_names(p) - scope)


def _shapes(statement: Statement, shapes: Mapping[str, Gens]) -> Iterator[str]:
    own = [size for _, size in statement.gens]
    match statement.form:
        case Pointwise(_, _, args):
            yield from (f"{arg} is of another shape" for arg in args if [n for _, n in shapes[arg]] != own)
        case Sum2(_, x, _, y):
            yield from (f"{arg} is of another shape" for arg in (x, y) if [n for _, n in shapes[arg]] != own)
        case Contract(sums, _, factors):
            ranges = dict(sums)
            for name, at in factors:
                if [ranges.get(index) for index in at] != [size for _, size in shapes[name]]:
                    yield f"{name} is read by indices of another range"
            read = [index for _, at in factors for index in at]
            if len(set(read)) < len(read) or not 1 <= len(factors) <= 2:
                yield "an index stands for two, or there are not one or two factors"
