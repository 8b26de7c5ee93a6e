"""A plain interpreter of plans that counts what it executes: the check that plans cost what the model says (L2).

Counted as in the cost model: multiplications, black-box calls, and an addition where a term meets another in a cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.language.predicates import And, Compare, Exists, Or, Predicate, Related, Unrelated
from wengert.tensor.language.terms import Add, Apply, Const, Mul
from wengert.tensor.passes.statements import output_names
from wengert.tensor.planning.loops import EntryLoop, Limit, LoopStep, Solve, Span, Test, cheapest_steps
from wengert.tensor.planning.nests import CellIndex, EntryIndex, LoopNest, PieceBody, Read
from wengert.tensor.planning.plan import Plan
from wengert.tensor.planning.walks import Entries

Cells = dict[tuple[int, ...], Any]
Values = Mapping[str, int]


@dataclass
class Machine:
    """Runs nests on cells; a cell that nothing has filled is a structural zero."""

    plan: Plan
    inputs: Mapping[str, Any]
    relations: dict[str, Entries]
    cells: dict[str, Cells] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        for name, (indices, p) in self.plan.tables.items():
            self.relations[name] = self.tabulated(indices, p)
        for nest in self.plan.nests:
            self.cells[nest.name] = {}
            self.fill(nest)

    def fill(self, nest: LoopNest) -> None:
        cells = self.cells[nest.name]
        for piece in nest.pieces:
            for at in self.assignments(cheapest_steps(piece.ranges, piece.where, self.plan.counts), {}):
                place = tuple(self.position(t, at) for t in piece.target)
                value = self.value(piece.body, at)
                self.counted["add"] += place in cells
                cells[place] = cells[place] + value if place in cells else value

    def value(self, body: PieceBody, at: Values) -> Any:
        match body:
            case Read(name, positions):
                return self.read(name, tuple(self.position(p, at) for p in positions))
            case Const(value):
                return value
            case Add(x, y):
                self.counted["add"] += 1
                return self.value(x, at) + self.value(y, at)
            case Mul(x, y):
                self.counted["mul"] += 1
                return self.value(x, at) * self.value(y, at)
            case Apply(f, args):
                self.counted["call"] += 1
                return f.fn(*(self.value(a, at) for a in args))
        raise TypeError(f"not a body: {body}")

    def read(self, name: str, place: tuple[int, ...]) -> Any:
        if name in self.cells:
            return self.cells[name].get(place, 0)
        return self.inputs[name][place] if place else self.inputs[name]

    def position(self, p: CellIndex, at: Values) -> int:
        if isinstance(p, EntryIndex):
            return int(self.relations[p.relation].find(tuple(np.array(valued(a, at)) for a in p.at)))
        return valued(p, at)

    def assignments(self, left: tuple[LoopStep, ...], at: dict[str, int]) -> Iterator[dict[str, int]]:
        if not left:
            yield at
            return
        for more in self.turns(left[0], at):
            yield from self.assignments(left[1:], {**at, **more})

    def turns(self, step: LoopStep, at: Values) -> Iterator[dict[str, int]]:
        match step:
            case Span(index, lows, highs):
                low, high = max(lowest(b, at) for b in lows), min(highest(b, at) for b in highs)
                yield from ({index: k} for k in range(low, high + 1))
            case Solve(index, of, by, size):
                value, rest = divmod(valued(of, at), by)
                if not rest and 0 <= value < size:
                    yield {index: value}
            case EntryLoop():
                yield from self.row(step, at)
            case Test(atom):
                if self.holds(atom, at):
                    yield {}

    def row(self, step: EntryLoop, at: Values) -> Iterator[dict[str, int]]:
        given = tuple(valued(a, at) for a in step.known)
        columns = self.relations[step.relation].walk(step.order).coordinates
        for arguments in zip(*columns, strict=True):
            if tuple(arguments[k] for k in step.order[: len(given)]) == given:
                found = {i: sign * (int(arguments[k]) - valued(rest, at)) for k, i, sign, rest, _ in step.binds}
                if all(0 <= found[i] < size for _, i, _, _, size in step.binds):
                    yield found

    def holds(self, atom: Predicate, at: Values) -> bool:
        match atom:
            case Compare(op, side):
                value = valued(side, at)
                return value == 0 if op == "=" else value >= 0
            case Related(relation, of):
                return bool(self.relations[relation].find(tuple(np.array(valued(a, at)) for a in of)) >= 0)
            case Unrelated(relation, of):
                return not self.holds(Related(relation, of), at)
            case And(parts):
                return all(self.holds(p, at) for p in parts)
            case Or(parts):
                return any(self.holds(p, at) for p in parts)
            case Exists(index, size, of):
                return any(self.holds(of, {**at, index: k}) for k in range(valued(size, at)))
        raise TypeError(f"not an atom: {atom}")

    def tabulated(self, indices: tuple[tuple[str, int], ...], p: Predicate) -> Entries:
        shape = tuple(n for _, n in indices)
        names = [i for i, _ in indices]
        return Entries.of([at for at in np.ndindex(*shape) if self.holds(p, dict(zip(names, at, strict=True)))], shape)


def valued(a: AffineExpr, at: Values) -> int:
    return a.constant + sum(c * at[name] for name, c in a.terms)


def lowest(b: Limit, at: Values) -> int:
    return -(-valued(b.of, at) // b.by)


def highest(b: Limit, at: Values) -> int:
    return valued(b.of, at) // b.by


def counted(plan: Plan, inputs: Mapping[str, Any], relations: Mapping[str, Entries]) -> tuple[Any, Counter[str]]:
    """The outputs of a plan, and how many operations of each kind it took."""
    machine = Machine(plan, inputs, dict(relations))
    machine.run()
    shapes = {nest.name: nest.shape for nest in plan.nests}
    outputs = {name: _array(machine.cells[name], shapes[name]) for name in output_names(plan.output)}
    return output_values(plan.output, outputs), machine.counted


def _array(cells: Cells, shape: Any) -> Any:
    result = np.zeros(shape)
    for place, value in cells.items():
        result[place] = value
    return result


def output_values(output: Any, values: Mapping[str, Any]) -> Any:
    """The output with values in the places of their names."""
    return tuple(output_values(part, values) for part in output) if isinstance(output, tuple) else values[output]
