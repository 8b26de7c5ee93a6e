"""Enumeration of the assignments that satisfy a conjunction, as columns of indices: a piece's loops, vectorised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

import numpy as np

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import (
    Compare,
    Exists,
    Or,
    Predicate,
    Related,
    Unrelated,
    conjuncts,
    disjuncts,
    fresh_name,
    substituted,
)
from wengert.tensor.planning.loops import EntryLoop, Limit, LoopStep, Solve, Span, Test, cheapest_steps
from wengert.tensor.planning.regions import Conjunction, Ranges
from wengert.tensor.planning.walks import Entries, row_keys

IndexColumns = dict[str, np.ndarray]
Relations = Mapping[str, Entries]


def assignments(ranges: Ranges, where: Conjunction, relations: Relations) -> tuple[IndexColumns, int]:
    """The column of values of each index, and the columns' length, to which the running time is proportional."""
    counts = {name: r.count for name, r in relations.items()}
    columns, length = IndexColumns(), 1
    for step in cheapest_steps(ranges, where, counts, whole=True):
        columns, length = _apply_step(step, columns, length, relations)
    return columns, length


def _apply_step(step: LoopStep, columns: IndexColumns, length: int, relations: Relations) -> tuple[IndexColumns, int]:
    match step:
        case Span(index, lows, highs):
            low = np.maximum.reduce([lower_ends(b, columns, length) for b in lows])
            high = np.minimum.reduce([upper_ends(b, columns, length) for b in highs])
            which, values = ragged_ranges(low, high - low + 1)
            return {**_rows_selected(columns, which), index: values}, len(which)
        case Solve(index, of, by, size):
            value, rest = np.divmod(affine_values(of, columns, length), by)
            kept = np.flatnonzero((rest == 0) & (value >= 0) & (value < size))
            return {**_rows_selected(columns, kept), index: value[kept]}, len(kept)
        case EntryLoop():
            return _entry_columns(step, columns, length, relations)
        case Test(atom):
            kept = np.flatnonzero(atom_mask(atom, columns, length, relations))
            return _rows_selected(columns, kept), len(kept)


def _rows_selected(columns: IndexColumns, which: np.ndarray) -> IndexColumns:
    return {name: column[which] for name, column in columns.items()}


def ragged_ranges(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each row number r `lengths[r]` times, and beside it starts[r], starts[r] + 1, ..."""
    lengths = np.maximum(lengths, 0)
    which = np.repeat(np.arange(len(starts)), lengths)
    ends = np.cumsum(lengths)
    within = np.arange(len(which)) - (ends - lengths)[which]
    return which, starts[which] + within


def _entry_columns(
    step: EntryLoop, columns: IndexColumns, length: int, relations: Relations
) -> tuple[IndexColumns, int]:
    relation = relations[step.relation]
    walk = relation.walk(step.order)
    known = tuple(affine_values(a, columns, length) for a in step.known)
    first, last = _range_of_keys(known, tuple(relation.shape[k] for k in step.order), walk.keys, length)
    which, position = ragged_ranges(first, last - first)
    columns = _rows_selected(columns, which)
    kept = np.ones(len(which), bool)
    for argument, index, sign, rest, size in step.binds:
        value = sign * (walk.coordinates[argument][position] - affine_values(rest, columns, len(which)))
        kept &= (value >= 0) & (value < size)
        columns[index] = value
    return _rows_selected(columns, np.flatnonzero(kept)), int(kept.sum())


def _range_of_keys(
    known: tuple[np.ndarray, ...], shape: tuple[int, ...], keys: np.ndarray, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each row, the range of sorted keys whose entries begin with the `known` arguments."""
    if not known:
        return np.zeros(length, np.int64), np.full(length, len(keys))
    inside = np.logical_and.reduce([(g >= 0) & (g < n) for g, n in zip(known, shape, strict=False)])
    after = prod(shape[len(known) :])
    prefix = row_keys(tuple(np.where(inside, g, 0) for g in known), shape[: len(known)])
    first = np.searchsorted(keys, prefix * after)
    return first, np.where(inside, np.searchsorted(keys, (prefix + 1) * after), first)


def affine_values(a: AffineExpr, columns: IndexColumns, length: int) -> np.ndarray:
    value = np.full(length, a.constant, np.int64)
    for name, c in a.terms:
        value += c * columns[name]
    return value


def lower_ends(b: Limit, columns: IndexColumns, length: int) -> np.ndarray:
    return -(-affine_values(b.of, columns, length) // b.by)


def upper_ends(b: Limit, columns: IndexColumns, length: int) -> np.ndarray:
    return affine_values(b.of, columns, length) // b.by


def atom_mask(atom: Predicate, columns: IndexColumns, length: int, relations: Relations) -> np.ndarray:
    match atom:
        case Compare(op, side):
            value = affine_values(side, columns, length)
            return value == 0 if op == "=" else value >= 0
        case Related(relation, at):
            return relations[relation].find(tuple(affine_values(a, columns, length) for a in at)) >= 0
        case Unrelated(relation, at):
            return relations[relation].find(tuple(affine_values(a, columns, length) for a in at)) < 0
    raise TypeError(f"cannot test an existential that is not tabulated: {atom}")


def tabulated(indices: Iterable[tuple[str, int]], p: Predicate, relations: Relations) -> Entries:
    """The relation over `indices` for which a predicate holds: its assignments, without witnesses of existentials."""
    indices = tuple(indices)
    found = [np.empty((len(indices), 0), np.int64)]
    for witnesses, where in _alternatives(conjuncts(p), frozenset(name for name, _ in indices)):
        columns, _ = assignments({**dict(indices), **witnesses}, where, relations)
        found.append(np.array([columns[name] for name, _ in indices], np.int64))
    return Entries.of_columns(tuple(n for _, n in indices), list(np.concatenate(found, axis=1)))


def _alternatives(atoms: Conjunction, taken: frozenset[str]) -> Iterator[tuple[dict[str, int], Conjunction]]:
    """The conjunctions, possibly overlapping, whose disjunction the atoms are, each with the sizes of its witnesses."""
    for k, atom in enumerate(atoms):
        rest = atoms[:k] + atoms[k + 1 :]
        if isinstance(atom, Or):
            for part in disjuncts(atom):
                yield from _alternatives((*rest, *conjuncts(part)), taken)
            return
        if isinstance(atom, Exists):
            index = fresh_name(atom.index, taken)
            inside = conjuncts(substituted(atom.of, {atom.index: affine(index)}))
            for witnesses, where in _alternatives((*rest, *inside), taken | {index}):
                yield {index: atom.size.constant, **witnesses}, where
            return
    yield {}, atoms
