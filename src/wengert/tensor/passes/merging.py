"""Inlining of contractions into the contractions that read them, where that costs nothing (S9).

A gather has at most one term per element, so inlining it is always free. A sum is inlined into a plain sum that is its
only reader and reads each element at most once: products and additions stay the same. (A·B)·C stays two products,
since as one it would cost n⁴.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from wengert.tensor.language.predicates import Compare, Predicate, conjoin, conjuncts, exists, pins, substituted
from wengert.tensor.language.terms import affine
from wengert.tensor.passes.statements import SSA, Contract, Statement, canonical_statement, form_arguments, output_names


def contractions_merged(ssa: SSA) -> SSA:
    uses = readers(ssa)
    done: dict[str, Statement] = {}
    for statement in ssa.statements:
        done[statement.name] = _merge_producers(statement, done, uses, ssa.sizes)
    return replace(ssa, statements=tuple(s for s in done.values() if uses[s.name]))


def readers(ssa: SSA) -> Counter[str]:
    """Count the readers of each statement: other statements, and the output."""
    read = [name for statement in ssa.statements for name in form_arguments(statement.form)]
    return Counter([*read, *output_names(ssa.output)])


def _merge_producers(
    statement: Statement, done: dict[str, Statement], uses: Counter[str], sizes: tuple[str, ...]
) -> Statement:
    """The statement with each producer inlined that may be."""
    while isinstance(form := statement.form, Contract):
        found = (k for k, (name, _) in enumerate(form.factors) if _may_merge(statement, form, done[name], uses))
        k = next(found, None)
        if k is None:
            break
        producer = done[form.factors[k][0]]
        _count_merge(producer, done, uses)
        form = _with_producer_inlined(form, k, producer)
        statement = canonical_statement(Statement(statement.name, statement.gens, form), sizes)
    return statement


def _count_merge(producer: Statement, done: dict[str, Statement], uses: Counter[str]) -> None:
    """Update the reader counts after `producer` is inlined into one of its readers."""
    uses.update(form_arguments(producer.form))
    _drop_reader(producer.name, done, uses)


def _drop_reader(name: str, done: dict[str, Statement], uses: Counter[str]) -> None:
    uses[name] -= 1
    if not uses[name]:
        for read in form_arguments(done[name].form):
            _drop_reader(read, done, uses)


def _may_merge(statement: Statement, form: Contract, producer: Statement, uses: Counter[str]) -> bool:
    if is_gather(producer):
        return True
    alone = len(form.factors) == 1 and uses[producer.name] == 1
    return alone and isinstance(producer.form, Contract) and _reads_once(statement, form)


def is_gather(statement: Statement) -> bool:
    """Whether each element of a statement is one element of another statement, or zero."""
    form = statement.form
    if not isinstance(form, Contract) or len(form.factors) != 1:
        return False
    return {index for index, _ in form.sums} <= determined_by(form.where, statement.at)


def _reads_once(statement: Statement, form: Contract) -> bool:
    """Whether a contraction reads each element of its only factor at most once."""
    known = determined_by(form.where, form.factors[0][1])
    return {*statement.at, *(index for index, _ in form.sums)} <= known


def determined_by(where: Predicate, known: Iterable[str]) -> set[str]:
    """The indices that have at most one value once the `known` ones are fixed."""
    found = set(known)
    sides = [q.side for q in conjuncts(where) if isinstance(q, Compare) and q.op == "="]
    indices = {name for side in sides for name in side.names}
    while new := {name for side in sides if len(rest := side.names - found) == 1 for name in rest} & indices:
        found |= new
    return found


def _with_producer_inlined(form: Contract, k: int, producer: Statement) -> Contract:
    """The contraction with its k-th factor replaced by the producer's sum."""
    inner = producer.form
    assert isinstance(inner, Contract)
    new = {index: f"{index}'" for index, _ in inner.sums}
    rename = {old: affine(name) for old, name in new.items()}
    rename |= dict(zip(producer.at, map(affine, form.factors[k][1]), strict=True))
    factors = tuple((name, tuple(new[index] for index in at)) for name, at in inner.factors)
    return without_pinned(
        Contract(
            (*form.sums, *((new[index], size) for index, size in inner.sums)),
            conjoin(form.where, substituted(inner.where, rename)),
            (*form.factors[:k], *factors, *form.factors[k + 1 :]),
        )
    )


def without_pinned(form: Contract) -> Contract:
    """S2: the form without the summed indices that an equality pins and no factor reads.

    Σ[l:n] [l = a ∧ p] is [0 ≤ a < n ∧ p[l ↦ a]].
    """
    read = {index for _, at in form.factors for index in at}
    for index, size in form.sums:
        if index not in read and any(pins(q, index) for q in conjuncts(form.where)):
            sums = tuple(one for one in form.sums if one[0] != index)
            return without_pinned(Contract(sums, exists([(index, size)], form.where), form.factors))
    return form
