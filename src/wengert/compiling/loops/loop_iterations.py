"""The recorded runs of a loop, and their iterations."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from wengert.compiling.loops.branch_tree import OuterValue, StepValue
from wengert.compiling.watched.marks import Join, Mark
from wengert.tape.ops import Call, Constant, Op
from wengert.values import functional
from wengert.values.specs import spec_of


@dataclass(eq=False)
class Iteration:
    """An iteration: that of the loop and its number, its calls, its marks, and the variables at its head.

    `marks` maps the key of each place where paths may join to the number of calls before it, and the variables there.
    `at` is the number of calls that are on the tree so far; `numbers` has their steps, `values` the ops of steps.
    """

    run: int
    number: int
    ops: list[Call]
    marks: dict[Any, tuple[int, list[Op]]]
    variables: list[Op]
    at: int = 0
    numbers: dict[Op, int] = field(default_factory=dict)
    values: dict[int, Op] = field(default_factory=dict)


class Joining:
    """A place where the paths of these iterations join, with a link for each value there; `read` are those in use."""

    def __init__(self, key: Any, rows: Sequence[Iteration], first: int) -> None:
        self.rows, self.first, self.read = rows, first, dict[StepValue, Op]()
        self.at = {row: row.marks[key][0] for row in rows}
        columns = zip(*[row.marks[key][1] for row in rows], strict=True)
        unique = {tuple(map(id, column)): column for column in columns}
        self.size = len(unique)
        self.links: dict[tuple[Iteration, Op], list[StepValue]] = {}
        for number, column in enumerate(unique.values(), first):
            for row, op in zip(rows, column, strict=True):
                row.values[number] = op
                self.links.setdefault((row, op), []).append(StepValue(number))

    def links_of(self, rows: Sequence[Iteration], ops: Sequence[Op]) -> list[StepValue]:
        """Return the links of the values that are these ops."""
        pairs = [*zip(rows, ops, strict=True)]
        links = self.links.get(pairs[0], ())
        return [link for link in links if all([row.values[link.number] is op for row, op in pairs])]


class UnconfirmedError(Exception):
    """Only runs of other states took a path."""


class Irregular(Exception):
    """These iterations, or some near them, of runs of a loop differ from the others."""

    def __init__(self, *rows: Iteration) -> None:
        self.rows = rows


class RecordedRuns:
    """The runs of a loop, in one or several states; raises Irregular if an iteration begins otherwise than others.

    Iterations are between the positions in `cuts`, one list for each run: the heads, or the tests that follow them.
    """

    def __init__(
        self,
        ops: Sequence[Op],
        place: dict[Op, int],
        runs: Sequence[list[int]],
        cuts: Sequence[list[int]],
        last: Sequence[dict[Any, int]],
        traces: Sequence[int],
        constants: Collection[Any],
    ) -> None:
        self.ops, self.place, self.heads, self.cuts, self.traces = ops, place, runs, cuts, traces
        self.inputs_of_one_value = constants
        self.last = [last[traces[starts[0]]] for starts in cuts]
        self.after_tests = cuts is not runs
        self.forms = [ops[heads[-1]].fn.form for heads in runs]  # type: ignore[attr-defined]
        states: list[list[list[Any]]] = [[[v.op for v in ops[k].references()] for k in heads] for heads in runs]
        columns = [*zip(*[[*zip(*state, strict=True)] for state in states], strict=True)]
        fixed = frozenset.intersection(*[ops[heads[0]].fn.fixed for heads in runs])  # type: ignore[attr-defined]
        self.kept: dict[Any, int] = {}  # the columns that change, of equal ones the first
        self.unchanged: list[tuple[Op, ...]] = []  # variables that the loop sets, to the same value in each iteration
        self.given: dict[tuple[Op, ...], None] = {}  # variables that have one value in each run
        for j, column in enumerate(columns):
            firsts = tuple([values[0] for values in column])
            changes = any([op is not values[0] for values in column for op in values])
            if changes or not all(map(self.is_before, firsts, range(len(runs)))):
                self.kept.setdefault(tuple([id(op) for values in column for op in values]), j)
            else:
                self.given[firsts] = None
                self.unchanged += [firsts] * (j not in fixed)
        grown = {j for heads in runs for j in ops[heads[0]].fn.grown or ()}  # type: ignore[attr-defined]
        lists = {tuple([id(op) for values in columns[j] for op in values]) for j in grown}
        self.grown = [j for j, key in enumerate(self.kept) if key in lists]
        alike: dict[Any, list[int]] = {}
        for j, column in enumerate(columns):
            alike.setdefault(tuple([id(op) for values in column for op in values]), []).append(j)
        lasts: list[Any] = [ops[heads[-1]].fn for heads in runs]  # type: ignore[attr-defined]
        past, unread = [
            frozenset.intersection(*rows) for rows in zip(*[(x.past, x.unread) for x in lasts], strict=True)
        ]
        self.past = {k for k, key in enumerate(self.kept) if past.issuperset(alike[key])}
        self.unread = {k for k, key in enumerate(self.kept) if unread.issuperset(alike[key])}
        self.outer_values: list[tuple[Op, ...]] = []
        has_number = all([ops[heads[0]].fn.number for heads in runs])  # type: ignore[attr-defined]
        self.number_link = OuterValue(self.number(tuple([values[0] for values in columns[-1]]))) if has_number else None
        firsts_of: Any = [ops[heads[0]] for heads in runs]
        self.alone = {[*head.references()][k].op for head in firsts_of for k in head.fn.alone}
        for values in [columns[j] for j in self.kept.values()]:  # what reads an array later sees all that was written
            changed = [op for run in values for op in run if op is not run[0]]
            if changed and all([isinstance(op, Call) and op.fn is functional.setitem for op in changed]):
                self.alone.update([run[0] for run in values if isinstance(run[0], Call)])
        self.iterations = []
        heads = {ops[k] for run in runs for k in run}
        longest = max([b - a for starts in cuts for a, b in itertools.pairwise(starts)], default=0)
        for run, starts in enumerate(cuts):
            spans = [(a, b + self.after_tests) for a, b in itertools.pairwise(starts)]
            if not self.after_tests:  # more tests may end the last iteration; the calls after it do no harm
                spans.append((starts[-1], min(starts[-1] + 1 + 2 * longest, len(ops))))
            rows = []
            for k, (a, b) in enumerate(spans):
                inside = [op for op in ops[a + 1 : b] if isinstance(op, Call) and op not in heads]
                variables = [states[run][k][j] for j in self.kept.values()]
                rows.append(self.iteration(run, k, inside, variables))
            self.iterations.append(rows)
        self.check_inputs_kept()

    def check_inputs_kept(self) -> None:
        """Raise Irregular if only some iterations begin with an array of an input, and some like it are written to."""
        runs = zip(self.iterations, self.heads, strict=True)
        heads: Any = [(row, self.ops[k]) for rows, run in runs for row, k in zip(rows, run, strict=False)]
        given = [head.fn.given for _, head in heads]
        written = frozenset().union(*[head.fn.heads.written_like for _, head in heads])
        for j in frozenset().union(*given).difference(frozenset.intersection(*given)):
            row, head = next((row, head) for row, head in heads if j in head.fn.given)
            if spec_of([*head.references()][j].op.val) in written:
                raise Irregular(row)

    def iteration(self, run: int, number: int, inside: list[Any], variables: list[Op]) -> Iteration:
        """Return the iteration that made these calls."""
        row = Iteration(run, number, [], {}, variables)
        for op in inside:
            if not isinstance(op.fn, Mark):
                row.ops.append(op)
            elif self.may_join_at(op.fn, run):
                row.marks[op.fn.key] = len(row.ops), [v.op for v in op.references()]  # type: ignore[attr-defined]
        return row

    def may_join_at(self, mark: Any, run: int) -> bool:
        """Whether paths through an iteration may join at a mark."""
        return type(mark) is Join and mark.loop is self.ops[self.heads[run][0]].fn.loop  # type: ignore[attr-defined]

    def is_before(self, op: Op, run: int) -> bool:
        return not isinstance(op, Call) or self.place[op] < self.cuts[run][0]

    def is_constant(self, op: Op) -> bool:
        """Whether an op has one value in all calls: a constant, or an input of a derivative's tape that is one."""
        return type(op) is Constant or op in self.inputs_of_one_value

    def is_shared(self, op: Op) -> bool:
        """Whether each trace may read an op: it is a constant, or not one of an earlier trace."""
        return self.is_constant(op) or self.traces[self.place[op]] in (0, self.traces[-1])

    def number(self, given: tuple[Op, ...]) -> int:
        if given not in self.outer_values:
            self.outer_values.append(given)
        return self.outer_values.index(given)
