"""All assignments that a conjunction allows, as columns of indices: the loops of a piece, run by NumPy at once."""

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
from wengert.tensor.planning.loops import Limit, Row, Solve, Span, Step, Test, steps
from wengert.tensor.planning.regions import Conjunction, Ranges
from wengert.tensor.planning.walks import Entries, row_keys

Columns = dict[str, np.ndarray]
Relations = Mapping[str, Entries]


def assignments(ranges: Ranges, where: Conjunction, relations: Relations) -> tuple[Columns, int]:
    """A column of numbers for each index, and their length; it takes time of the order of that."""
    counts = {name: r.count for name, r in relations.items()}
    columns, length = Columns(), 1
    for step in steps(ranges, where, counts, whole=True):
        columns, length = _turned(step, columns, length, relations)
    return columns, length


def _turned(step: Step, columns: Columns, length: int, relations: Relations) -> tuple[Columns, int]:
    match step:
        case Span(index, lows, highs):
            low = np.maximum.reduce([lowest(b, columns, length) for b in lows])
            high = np.minimum.reduce([highest(b, columns, length) for b in highs])
            which, values = ragged(low, high - low + 1)
            return {**_taken(columns, which), index: values}, len(which)
        case Solve(index, of, by, size):
            value, rest = np.divmod(valued(of, columns, length), by)
            kept = np.flatnonzero((rest == 0) & (value >= 0) & (value < size))
            return {**_taken(columns, kept), index: value[kept]}, len(kept)
        case Row():
            return _row(step, columns, length, relations)
        case Test(atom):
            kept = np.flatnonzero(holds(atom, columns, length, relations))
            return _taken(columns, kept), len(kept)


def _taken(columns: Columns, which: np.ndarray) -> Columns:
    return {name: column[which] for name, column in columns.items()}


def ragged(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row r its number `lengths[r]` times, and beside it starts[r], starts[r] + 1, ..."""
    lengths = np.maximum(lengths, 0)
    which = np.repeat(np.arange(len(starts)), lengths)
    ends = np.cumsum(lengths)
    within = np.arange(len(which)) - (ends - lengths)[which]
    return which, starts[which] + within


def _row(step: Row, columns: Columns, length: int, relations: Relations) -> tuple[Columns, int]:
    relation = relations[step.relation]
    walk = relation.walk(step.order)
    given = tuple(valued(a, columns, length) for a in step.given)
    first, last = _range_of_keys(given, tuple(relation.shape[k] for k in step.order), walk.keys, length)
    which, position = ragged(first, last - first)
    columns = _taken(columns, which)
    kept = np.ones(len(which), bool)
    for argument, index, sign, rest, size in step.binds:
        value = sign * (walk.coordinates[argument][position] - valued(rest, columns, len(which)))
        kept &= (value >= 0) & (value < size)
        columns[index] = value
    return _taken(columns, np.flatnonzero(kept)), int(kept.sum())


def _range_of_keys(
    given: tuple[np.ndarray, ...], shape: tuple[int, ...], keys: np.ndarray, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where the entries that begin with the `given` arguments start and end among the sorted keys, for each row."""
    if not given:
        return np.zeros(length, np.int64), np.full(length, len(keys))
    inside = np.logical_and.reduce([(g >= 0) & (g < n) for g, n in zip(given, shape, strict=False)])
    after = prod(shape[len(given) :])
    prefix = row_keys(tuple(np.where(inside, g, 0) for g in given), shape[: len(given)])
    first = np.searchsorted(keys, prefix * after)
    return first, np.where(inside, np.searchsorted(keys, (prefix + 1) * after), first)


def valued(a: AffineExpr, columns: Columns, length: int) -> np.ndarray:
    value = np.full(length, a.constant, np.int64)
    for name, c in a.terms:
        value += c * columns[name]
    return value


def lowest(b: Limit, columns: Columns, length: int) -> np.ndarray:
    return -(-valued(b.of, columns, length) // b.by)


def highest(b: Limit, columns: Columns, length: int) -> np.ndarray:
    return valued(b.of, columns, length) // b.by


def holds(atom: Predicate, columns: Columns, length: int, relations: Relations) -> np.ndarray:
    match atom:
        case Compare(op, side):
            value = valued(side, columns, length)
            return value == 0 if op == "=" else value >= 0
        case Related(relation, at):
            return relations[relation].find(tuple(valued(a, columns, length) for a in at)) >= 0
        case Unrelated(relation, at):
            return relations[relation].find(tuple(valued(a, columns, length) for a in at)) < 0
    raise TypeError(f"an existential must have become a relation: {atom}")


def tabulated(indices: Iterable[tuple[str, int]], p: Predicate, relations: Relations) -> Entries:
    """The relation over `indices` that a predicate is: its assignments, without the witnesses of existentials."""
    indices = tuple(indices)
    found = [np.empty((len(indices), 0), np.int64)]
    for witnesses, where in _alternatives(conjuncts(p), frozenset(name for name, _ in indices)):
        columns, _ = assignments({**dict(indices), **witnesses}, where, relations)
        found.append(np.array([columns[name] for name, _ in indices], np.int64))
    return Entries.of_columns(tuple(n for _, n in indices), list(np.concatenate(found, axis=1)))


def _alternatives(atoms: Conjunction, taken: frozenset[str]) -> Iterator[tuple[dict[str, int], Conjunction]]:
    """Conjunctions of which one holds, or several at once, with an index of its own for each witness."""
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
