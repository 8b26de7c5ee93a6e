"""Loops from a conjunction: narrowed ranges, solved equalities, walked relations and tests (S2, S3, S5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import prod

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import Compare, Predicate, Related, at_most, free_index_names
from wengert.tensor.planning.regions import Conjunction, Ranges, all_implied, value_range


@dataclass(frozen=True, slots=True)
class Limit:
    """The loop bound `of`/`by`; a lower one is rounded up, an upper one down."""

    of: AffineExpr
    by: int = 1


@dataclass(frozen=True, slots=True)
class Span:
    """A loop: the index runs from the greatest of `lows` to the least of `highs`, both included."""

    index: str
    lows: tuple[Limit, ...]
    highs: tuple[Limit, ...]


@dataclass(frozen=True, slots=True)
class Solve:
    """Sets the index to `of`/`by`; skips the iteration unless that is an integer in 0..size-1."""

    index: str
    of: AffineExpr
    by: int
    size: int


@dataclass(frozen=True, slots=True)
class EntryLoop:
    """A loop over the entries of R whose first arguments, in `order`, are `known`; the other arguments bind indices.

    `binds`: (argument, index, sign, rest, size) with argument = sign·index + rest and the index in 0..size-1.
    """

    relation: str
    at: tuple[AffineExpr, ...]
    order: tuple[int, ...]
    known: tuple[AffineExpr, ...]
    binds: tuple[tuple[int, str, int, AffineExpr, int], ...]


@dataclass(frozen=True, slots=True)
class Test:
    """Skips the iteration unless the atom holds."""

    atom: Predicate


LoopStep = Span | Solve | EntryLoop | Test


def bound_by(step: LoopStep) -> tuple[str, ...]:
    """The indices whose values the step sets."""
    match step:
        case Span(index, _, _) | Solve(index, _, _, _):
            return (index,)
        case EntryLoop():
            return tuple(b[1] for b in step.binds)
    return ()


def facts_of(step: LoopStep) -> tuple[Predicate, ...]:
    """The atoms that hold after the step: the bounds of a loop, or a test."""
    match step:
        case Span(index, lows, highs):
            i = affine(index)
            return (*(at_most(b.of, i * b.by) for b in lows), *(at_most(i * b.by, b.of) for b in highs))
        case Test(atom):
            return (atom,)
    return ()


def always_iterates(steps: Iterable[LoopStep], facts: Conjunction, ranges: Ranges) -> bool:
    """Whether the loops are sure to run at least once where the facts hold."""
    for step in steps:
        if not isinstance(step, Span) or any(b.by != 1 for b in (*step.lows, *step.highs)):
            return False
        if not all_implied((at_most(low.of, high.of) for low in step.lows for high in step.highs), facts, ranges):
            return False
        facts = (*facts, *facts_of(step))
    return True


STRIP_SUFFIX = "_strip"


def strip_mined(span: Span, size: int, length: int) -> tuple[Span, Span]:
    """Split a loop into two: over strips of the index, and over the part of the span in a strip."""
    number = affine(span.index + STRIP_SUFFIX)
    over = Span(span.index + STRIP_SUFFIX, (Limit(affine(0)),), (Limit(affine(-(-size // length) - 1)),))
    first, last = Limit(number * length), Limit(number * length + length - 1)
    lows = (b for b in span.lows if not b.of.is_constant or b.of.constant > 0)
    return over, Span(span.index, (first, *lows), (last, *span.highs))


@dataclass
class _StepMaker:
    """Builds the steps; `bind` is called once for each index, in the order of the loops."""

    sizes: Ranges
    pending: list[Predicate]  # the atoms that no step uses yet
    whole: bool  # allow one loop over all entries of a relation, rather than row by row
    walks: bool  # walk relations rather than test them
    bound: set[str] = field(default_factory=set)
    steps: list[LoopStep] = field(default_factory=list)

    def bind(self, index: str) -> None:
        if index not in self.bound:
            step = self._solve(index) or self._row(index) or self._span(index)
            self.steps.append(step)
            self.bound |= {index} if not isinstance(step, EntryLoop) else {b[1] for b in step.binds}
        self.test()

    def test(self) -> None:
        for atom in [a for a in self.pending if free_index_names(a) <= self.bound]:
            self.pending.remove(atom)
            self.steps.append(Test(atom))

    def _solve(self, index: str) -> Solve | None:
        for atom in self.pending:
            if isinstance(atom, Compare) and atom.op == "=" and index in free_index_names(atom) <= self.bound | {index}:
                self.pending.remove(atom)
                c = atom.side.coefficient(index)
                rest = atom.side - affine(index) * c
                return Solve(index, -rest if c > 0 else rest, abs(c), self.sizes[index])
        return None

    def _row(self, index: str) -> EntryLoop | None:
        for atom in self.pending if self.walks else ():
            if isinstance(atom, Related) and index in free_index_names(atom) and self._can_walk(atom):
                self.pending.remove(atom)
                return self._walked(atom)
        return None

    def _can_walk(self, atom: Related) -> bool:
        unknown = [self._unknown(a) for a in atom.at]
        fresh = [name for u in unknown for name in u]
        alone = all(len(u) <= 1 for u in unknown) and len(set(fresh)) == len(fresh)
        unit = all(abs(a.coefficient(name)) == 1 for a in atom.at for name in self._unknown(a))
        return alone and unit and (self.whole or len(fresh) < len(atom.at) or len(fresh) == 1)

    def _unknown(self, at: AffineExpr) -> list[str]:
        return [name for name in at.names if name not in self.bound]

    def _walked(self, atom: Related) -> EntryLoop:
        known = [k for k, a in enumerate(atom.at) if not self._unknown(a)]
        binding = [(k, name) for k, a in enumerate(atom.at) for name in self._unknown(a)]
        binds = tuple(self._binding(atom.at[k], k, name) for k, name in binding)
        order = (*known, *(k for k, _ in binding))
        return EntryLoop(atom.relation, atom.at, order, tuple(atom.at[k] for k in known), binds)

    def _binding(self, at: AffineExpr, argument: int, name: str) -> tuple[int, str, int, AffineExpr, int]:
        sign = at.coefficient(name)
        rest = at - affine(name) * sign
        return argument, name, sign, rest, self.sizes[name]

    def _span(self, index: str) -> Span:
        about = [
            a for a in self.pending if isinstance(a, Compare) and index in free_index_names(a) <= self.bound | {index}
        ]
        self.pending = [a for a in self.pending if a not in about]
        lows, highs = [Limit(affine(0))], [Limit(affine(self.sizes[index] - 1))]
        for side in (a.side for a in about if isinstance(a, Compare)):
            c = side.coefficient(index)
            rest = side - affine(index) * c
            (lows if c > 0 else highs).append(Limit(-rest if c > 0 else rest, abs(c)))
        return Span(index, self._tightest(lows, 1), self._tightest(highs, -1))

    def _tightest(self, bounds: list[Limit], sign: int) -> tuple[Limit, ...]:
        """The bounds without those that another bound implies; constants fold into one."""
        kept = list(dict.fromkeys(_constant_limit(b, sign) for b in bounds))
        for b in list(kept):
            if any(o != b and self._beyond(o, b, sign) for o in kept):
                kept.remove(b)
        return tuple(kept)

    def _beyond(self, a: Limit, b: Limit, sign: int) -> bool:
        return a.by == b.by and value_range((a.of - b.of) * sign, self.sizes)[0] >= 0


def _constant_limit(b: Limit, sign: int) -> Limit:
    if not b.of.is_constant:
        return b
    return Limit(affine(-(-b.of.constant // b.by) if sign > 0 else b.of.constant // b.by))


def steps_in_order(
    order: Iterable[str], sizes: Ranges, where: Conjunction, whole: bool = False, walks: bool = True
) -> tuple[LoopStep, ...]:
    maker = _StepMaker(sizes, list(where), whole, walks)
    maker.test()
    for index in order:
        maker.bind(index)
    return tuple(maker.steps)


def loop_orders(sizes: Ranges) -> Iterable[Sequence[str]]:
    """The loop orders to compare: all of up to five indices, else the given one."""
    return permutations(sizes) if len(sizes) <= 5 else [tuple(sizes)]


def cheapest_steps(
    sizes: Ranges, where: Conjunction, counts: Mapping[str, int], whole: bool = False
) -> tuple[LoopStep, ...]:
    """The steps in the loop order that has the fewest iterations."""
    made = (steps_in_order(order, sizes, where, whole) for order in loop_orders(sizes))
    return min(made, key=lambda m: iterations(m, sizes, counts))


ENTRIES_PER_ROW = 8.0  # assumed entries of a row, if the relation is unknown
MASK_RATIO = 4  # a relation that holds for at least one tuple in so many is tested for each, not walked


def is_mask(relation: str, shape: Sequence[int], counts: Mapping[str, int]) -> bool:
    """Whether a relation holds so often that walking its entries does not pay."""
    return counts.get(relation, 0) * MASK_RATIO >= prod(shape) > 0


def is_masked(atom: Related, sizes: Ranges, counts: Mapping[str, int]) -> bool:
    """Whether `is_mask` holds over the ranges of the atom's indices."""
    return is_mask(atom.relation, [sizes[i] for i in free_index_names(atom)], counts)


def iterations(made: Iterable[LoopStep], sizes: Ranges, counts: Mapping[str, int]) -> float:
    """Estimate the number of iterations of all loops together."""
    total, here, middle = 0.0, 1.0, {name: (n - 1) / 2 for name, n in sizes.items()}
    for step in made:
        here *= _step_iterations(step, sizes, counts, middle)
        total += here
    return total


def points(made: Iterable[LoopStep], sizes: Ranges, counts: Mapping[str, int]) -> float:
    """Estimate the number of assignments that pass all steps."""
    here, middle = 1.0, {name: (n - 1) / 2 for name, n in sizes.items()}
    for step in made:
        here *= _step_iterations(step, sizes, counts, middle)
    return here


def _step_iterations(step: LoopStep, sizes: Ranges, counts: Mapping[str, int], middle: Mapping[str, float]) -> float:
    match step:
        case Span(_, lows, highs):
            width = min(_limit_value(b, middle) for b in highs) - max(_limit_value(b, middle) for b in lows) + 1
            return max(width, 1.0)
        case EntryLoop(relation, _, _, known, binds):
            every = counts.get(relation, ENTRIES_PER_ROW * max(sizes[b[1]] for b in binds))
            return max(every / (max(sizes[n] for a in known for n in a.names) if any(a.names for a in known) else 1), 1)
        case Solve(_, _, by, _):
            return 1 / by
        case Test(Compare("=", _)) | Test(Related()):
            return 0.5
    return 1.0


def _limit_value(b: Limit, middle: Mapping[str, float]) -> float:
    return (b.of.constant + sum(c * middle.get(name, 0) for name, c in b.of.terms)) / b.by
