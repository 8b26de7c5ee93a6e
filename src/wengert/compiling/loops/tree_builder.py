"""Build the branch tree of a loop from its recorded iterations.

Iterations of one state are a function of the loop's variables, so what some of them did holds for all. Runs of a loop
in several states share only what each of these states shows. Paths join where marks of one form say that the rest of
the iteration is a function of the variables there.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from wengert.compiling.constants import are_equal_constants, constant_key, outcome_key
from wengert.compiling.loops.branch_tree import (
    ANY,
    BranchEnd,
    Fork,
    Link,
    LoopVariable,
    OuterValue,
    PathEnd,
    PathStep,
    StepValue,
    TakenList,
    WhileLoop,
    ends_of,
    link_order,
    takes_list,
)
from wengert.compiling.loops.lifted_integers import integer_results
from wengert.compiling.loops.loop_iterations import Irregular, Iteration, Joining, RecordedRuns, UnconfirmedError
from wengert.compiling.loops.periodicity import call_signature, static_spec
from wengert.tape.ops import Call, Constant, Op, Variable, sequence_like
from wengert.values import functional
from wengert.values.specs import FLOATS, is_inexact


class TreeBuilder(RecordedRuns):
    """Builds the branch tree of the runs of a loop; raises Irregular where iterations differ without a test."""

    def __init__(self, *recorded: Any) -> None:
        super().__init__(*recorded)
        self.items: list[list[tuple[Op, int, int]]] = [[] for _ in self.cuts]
        self.lists: list[list[TakenList]] = [[] for _ in self.cuts]
        self.readers: dict[Any, list[Any]] = {}
        for op in self.ops if self.grown else ():
            for v in op.references():
                self.readers.setdefault(v.op, []).append(op)
        self.is_short = all([len(starts) < 3 for starts in self.cuts])
        self.count = 0  # of the steps so far
        self.joins: list[Joining] = []  # those before the current step
        self.constants: dict[tuple[Any, ...], tuple[Op, ...]] = {}  # floats that differ between runs
        self.ends: list[PathEnd] = []  # of all paths, once these are known
        self.endings: list[tuple[PathEnd, list[Iteration]]] = []  # the ends that exit, with the last iterations
        self.stops = [-1] * len(self.cuts)
        self.results: list[list[Op | None]] = []
        self.unlike: list[list[tuple[int, float]]] = [[] for _ in self.cuts]  # integers that results are not

    def check_integers(self, tree: Fork, exhausted: PathEnd | None) -> None:
        """Raise Irregular if a float that was lifted from an integer may be used, or was read, as only integers are.

        A result is no such integer if it has another value than all of them.
        """
        heads: list[Any] = [self.ops[k] for run in self.heads for k in run]
        lifted = {[*head.references()][k].op for head in heads for k in head.fn.integers}
        rows = [row for row in itertools.chain(*self.iterations) if lifted.intersection(row.variables)]
        links: set[Link] = {LoopVariable(k) for row in rows for k, op in enumerate(row.variables) if op in lifted}
        links |= {OuterValue(k) for k, ops in enumerate(self.outer_values) if lifted.intersection(ops)}
        found = links and integer_results(links, tree, exhausted, self.number_link is not None)
        odd = rows[0] if rows else self.iterations[0][0]
        if found is None:
            raise Irregular(odd)
        integers = sorted({float(op.val) for op in lifted})
        for end, lasts in self.endings if found else ():
            unlike = [(k, n) for k, link in enumerate(end.outputs) if link in found for n in integers]
            for run in [row.run for row in lasts]:
                if any([self.results[run][k].val == n for k, n in unlike]):  # type: ignore[union-attr]
                    raise Irregular(odd)
                self.unlike[run] = unlike

    def loops(self) -> list[WhileLoop]:
        """Return the loop for each run."""
        lefts = [self.ops[heads[0]].fn.left for heads in self.heads]  # type: ignore[attr-defined]
        are_exhausted = [left == len(rows) - 1 for left, rows in zip(lefts, self.iterations, strict=True)]
        last = [rows[-1] for rows, is_exhausted in zip(self.iterations, are_exhausted, strict=True) if is_exhausted]
        self.results = [[] for _ in self.cuts]
        grows = any([self.ops[heads[0]].fn.grown is not None for heads in self.heads])  # type: ignore[attr-defined]
        if grows and (not all(are_exhausted) or self.number_link is not None):
            return []  # the length of a list depends on the number of iterations
        tree = self.fork([row for rows in self.iterations for row in rows if row not in last])
        self.ends = [end for end in ends_of(tree) if type(end) is PathEnd and not end.exits]
        exhausted = self.exhausted_end(last) if last else None
        self.unite_endings()
        self.check_integers(tree, exhausted)
        counts = any([step.op.fn is functional.whole for step in tree.steps])
        if min(self.stops) < 0 or not (tree.branches or counts):  # other loops of one path are found by rolling
            return []
        found = []
        for run, (rows, starts) in enumerate(zip(self.iterations, self.cuts, strict=True)):
            outer, ends = [ops[run] for ops in self.outer_values], (self.stops[run], self.results[run], lefts[run])
            lists = self.items[run], self.lists[run], self.number_link
            start = starts[0] + self.after_tests
            ending = next(end.ending for end, those in self.endings if rows[-1] in those), len(self.endings)
            ended = *ending, self.unlike[run]
            found.append(WhileLoop(tree, rows[0].variables, outer, start, *ends, exhausted, *lists, *ended))
        return found

    def fork(self, rows: list[Iteration], to: Joining | None = None) -> Fork:
        """Build the branch tree for these iterations from where they are, up to where they join others."""
        if {self.forms[row.run] for row in rows} != {*self.forms}:
            raise UnconfirmedError
        steps: list[PathStep] = []
        while True:
            if to is not None and all([row.at == to.at[row] for row in rows]):
                self.check_unambiguous(rows)
                sources = {link: self.link(rows, [row.values[link.number] for row in rows]) for link in to.read}
                return Fork(steps, {}, BranchEnd(sources), {}, None)
            if any([row.at == len(row.ops) for row in rows]):
                return Fork(steps, {}, self.end(rows), {}, None)
            steps.append(self.step(rows))
            if steps[-1].op.guard:
                outcomes: dict[Any, list[Iteration]] = {}
                for row in rows:
                    outcomes.setdefault(outcome_key(row.ops[row.at - 1].val), []).append(row)
                if len(outcomes) > 1:
                    key = self.joining(rows, to)
                    if key is not None:
                        return self.joined(steps, rows, [*outcomes.items()], key, to)
                    return Fork(steps, {key: self.branch(some, to) for key, some in outcomes.items()}, None, {}, None)

    def branch(self, rows: list[Iteration], to: Joining | None) -> Fork:
        is_end = all([row is self.iterations[row.run][-1] for row in rows])
        return Fork([], {}, self.ending(rows), {}, None) if is_end else self.fork(rows, to)

    def joining(self, rows: list[Iteration], to: Joining | None) -> Any:
        """Return the key of the first mark that all of these iterations reach; None if there is none."""
        for key in rows[0].marks:
            ats = [(row, row.marks.get(key, (-1,))[0]) for row in rows]
            if all([row.at <= at and (to is None or at <= to.at[row]) for row, at in ats]):
                return key
        return None

    def joined(self, steps: list[PathStep], rows: list[Iteration], outcomes: Any, key: Any, to: Joining | None) -> Fork:
        """Build the tree of branches that join at a mark, and of what follows."""
        join = Joining(key, rows, self.count)
        self.count += join.size
        before = [(row.at, dict(row.numbers)) for row in rows]
        for row in rows:
            row.at = join.at[row]
        self.joins.append(join)
        rest = self.fork(rows, to)  # it tells which values are read
        self.joins.pop()
        for row, (at, numbers) in zip(rows, before, strict=True):
            row.at, row.numbers = at, numbers
        branches = {outcome: self.fork(some, join) for outcome, some in outcomes}
        return Fork(steps, branches, None, join.read, rest)

    def end(self, rows: list[Iteration]) -> PathEnd:
        """Return the end of iterations that others follow."""
        for row in rows:
            if len(row.ops) != row.at or row is self.iterations[row.run][-1]:
                raise Irregular(row)
        self.check_unambiguous(rows)
        nexts = [self.iterations[row.run][row.number + 1].variables for row in rows]
        columns = [[variables[j] for variables in nexts] for j in range(len(self.kept))]
        return PathEnd(False, [self.link(rows, ops) for ops in columns], rows[-1].variables)

    def unite_endings(self) -> None:
        """Give all ends that exit outputs of the same types, in the same order, by which one op is read after each run.

        An end that has no value for an output gives ANY.
        """
        types, placed = list[Any](), list[list[int]]()
        for _, rows in self.endings:
            free, places = [*range(len(types))], list[int]()
            for op in self.results[rows[0].run]:
                spec = static_spec(op.val)  # type: ignore[union-attr]
                place = next((k for k in free if types[k] == spec), len(types))
                types += [spec] * (place == len(types))
                free = [k for k in free if k != place]
                places.append(place)
            placed.append(places)
        for (end, rows), places in zip(self.endings, placed, strict=True):
            at = [places.index(k) if k in places else None for k in range(len(types))]
            for row in rows:
                results = self.results[row.run]
                self.results[row.run] = [None if k is None else results[k] for k in at]
            end.outputs[:] = [ANY if k is None else end.outputs[k] for k in at]

    def exhausted_end(self, last: list[Iteration]) -> PathEnd:
        """Return the end of a `for` after its last iteration."""
        for run in range(len(self.cuts)) if self.grown else ():
            self.read_later(run)
            self.find_lists(run)
            for j in self.grown:
                self.find_items(run, j)
        return self.ending(last, self.past)

    def values_of(self, run: int, j: int) -> list[Op]:
        """Return the values that variable j had after each iteration of a run."""
        return [row.variables[j] for row in self.iterations[run][1:]]

    def readers_of(self, run: int, values: Sequence[Op]) -> list[Any]:
        """Return the calls after a run that read some of these values."""
        readers = [op for value in values for op in self.readers.get(value, ()) if self.place[op] >= self.stops[run]]
        return [*dict.fromkeys(readers)]

    def find_lists(self, run: int) -> None:
        """Find the later calls that take whole lists, whose items, or the parts of these, variables had as values."""
        known = {j: self.values_of(run, j) for j in self.grown}
        readers = self.readers_of(run, [values[-1] for values in known.values()])
        readers += [op for inner in readers for op in self.readers.get(inner, ())]
        for reader in dict.fromkeys(filter(takes_list, readers)):
            items: list[Any] = [getattr(item, "op", None) for item in reader.args[0][1 - len(self.iterations[run]) :]]
            columns, rows = [items], []
            if all([takes_list(op) and self.readers[op] == [reader] for op in items]):  # an array of lists
                parts = [[getattr(part, "op", None) for part in op.args[0]] for op in items]
                if {*map(len, parts)} == {len(parts[0])}:
                    columns, rows = [*map(list, zip(*parts, strict=True))], items
            numbers = [j for column in columns for j, values in known.items() if values == column]
            if len(numbers) == len(columns):
                self.lists[run].append(TakenList(reader, numbers, rows))

    def find_items(self, run: int, j: int) -> None:
        """Find the later reads of the list items that variable j had as its values.

        Raise Irregular for a read of a value that was put into the list twice, or that was there before the loop.
        """
        values, taken = self.values_of(run, j), [op for each in self.lists[run] for op in each.calls]
        for reader in [reader for reader in self.readers_of(run, values) if reader not in taken]:
            for op in dict.fromkeys([v.op for v in reader.references() if v.op in values]):
                if values.count(op) > 1 or self.is_before(op, run):
                    raise Irregular(self.iterations[run][-1])
                if op is not values[-1]:
                    self.items[run].append((op, j, values.index(op)))
        if self.items[run] and self.items[run][-1][1] == j:  # the last one, too, so that all are rows of one array
            self.items[run].append((values[-1], j, len(values) - 1))

    def ending(self, rows: list[Iteration], past: Collection[int] = ()) -> PathEnd:
        """Return the end of the runs of which these are the last iterations, after the last step.

        Its outputs are the values that are read later; nothing reads the variables in `past`.
        """
        items: set[Any] = {op for run in self.items for op, _, _ in run}
        items |= {v.op for run in self.lists for taken in run for op in taken.calls for v in op.references()}
        links, odd = set[Link](), list[Iteration]()
        for row in rows:
            try:
                read = [op for op in self.read_later(row.run) if op in row.variables or op not in items]
                links.update([self.link([row], [op], is_read_later=True, past=past) for op in read])
            except Irregular:
                odd.append(row)
        if odd:
            raise Irregular(*odd)
        outputs: list[Any] = sorted(links, key=link_order)
        for row in rows:
            self.results[row.run] = [
                row.values[link.number] if type(link) is StepValue else row.variables[link.number] for link in outputs
            ]
        self.endings.append((PathEnd(True, outputs, rows[-1].variables, len(self.endings)), rows))
        return self.endings[-1][0]

    def read_later(self, run: int) -> list[Op]:
        """Return the ops of a run, up to the last step of its last iteration, that are read after it."""
        row, starts, last = self.iterations[run][-1], self.cuts[run], self.last[run]
        stop = self.stops[run] = (self.place[row.ops[row.at - 1]] if row.at else starts[-1]) + 1
        if len(self.iterations[run]) == 1 and not row.at:  # it never runs, so its variables are those before it
            return []
        later: list[Op] = [op for op in self.ops[starts[0] : stop] if type(op) is Call and last.get(op, -1) >= stop]
        others = [op for op in dict.fromkeys(row.variables) if op not in later and last.get(op, -1) >= stop]
        if not self.alone.issuperset(others):  # of the variables or of what was before the loop
            raise Irregular(row)
        return [*later, *others]

    def check_unambiguous(self, rows: list[Iteration]) -> None:
        """Raise Irregular if a variable coincides in these iterations with one that seems to be never changed."""
        for given in self.unchanged:
            if self.joins:
                join = self.joins[-1]
                here, everywhere = [join.links_of(some, [given[row.run] for row in some]) for some in (rows, join.rows)]
                coincides = here != everywhere
            else:
                columns = zip(*[row.variables for row in rows], strict=True)
                coincides = any(
                    [all(map(operator.is_, column, [given[row.run] for row in rows])) for column in columns]
                )
            if coincides:
                raise Irregular(rows[0])

    def step(self, rows: list[Iteration]) -> PathStep:
        """Return the call that all iterations make next."""
        calls: list[Any] = [row.ops[row.at] for row in rows]
        like = self.signature(calls[-1])
        for row, call in zip(rows, calls, strict=True):
            if self.signature(call) != like or like is None:
                raise Irregular(row)
        args = self.tree(rows, [call.args for call in calls])
        kwargs = self.tree(rows, [call.kwargs for call in calls])
        step = PathStep(self.count, args, kwargs, calls[-1])
        for row, call in zip(rows, calls, strict=True):
            row.numbers[call] = self.count
            row.values[self.count] = call
            row.at += 1
        self.count += 1
        return step

    def signature(self, op: Any) -> Any:
        """Return the signature of a call; that of a test without its outcome."""
        if not op.guard:
            return call_signature(op)
        return "test", call_signature(Call(op.fn, op.args, op.kwargs))

    def are_alike(self, variables: list[Link]) -> bool:
        """Whether loop variables are equal after each iteration."""
        return bool(self.ends) and all([len({end.outputs[x.number] for x in variables}) == 1 for end in self.ends])

    def tree(self, rows: list[Iteration], trees: list[Any]) -> Any:
        first, t = trees[-1], type(trees[-1])
        for row, x in zip(rows, trees, strict=True):
            if (type(x) is Variable) is not (t is Variable):  # a computed number equals a constant only by chance
                raise Irregular(row)
        if t is Variable:
            return self.link(rows, [v.op for v in trees])
        if t is tuple or t is list:
            return sequence_like(first, [self.tree(rows, [*parts]) for parts in zip(*trees, strict=True)])
        if t is dict:
            return {key: self.tree(rows, [tree[key] for tree in trees]) for key in first}
        if t is slice:
            return slice(*[self.tree(rows, [getattr(s, name) for s in trees]) for name in _BOUNDS])
        for row, x in zip(rows, trees, strict=True):
            if not are_equal_constants(x, first):
                return self.constant_of_run(rows, trees, row)
        return first

    def constant_of_run(self, rows: list[Iteration], values: list[Any], odd: Iteration) -> Link:
        """Return the outer value that stands for a float which differs between runs, as the iteration `odd` shows."""
        known: dict[int, Any] = {}
        for row, x in zip(rows, values, strict=True):
            if type(x) not in FLOATS or not are_equal_constants(known.setdefault(row.run, x), x):
                raise Irregular(odd)
        if len(known) < len(self.cuts):
            raise Irregular(odd)
        key = tuple([constant_key(known[run]) for run in range(len(self.cuts))])
        if key not in self.constants:
            self.constants[key] = tuple([Constant(known[run]) for run in range(len(self.cuts))])
        return OuterValue(self.number(self.constants[key]))

    def link(
        self, rows: list[Iteration], ops: list[Any], is_read_later: bool = False, past: Collection[int] = ()
    ) -> Link:
        """Return the source (step, joined value, loop variable or outer value) that all rows share for these operands.

        What follows a join reads only values from there, or those that no variable holds there. What was computed
        before the loop, also a lifted constant, is read only from variables, or by all iterations from an iterator.
        """
        numbers = {row.numbers.get(op, -1) for row, op in zip(rows, ops, strict=True)}
        number = numbers.pop() if len(numbers) == 1 else -1
        for join in reversed(self.joins):
            if number > join.first:
                return StepValue(number)
            links = join.links_of(rows, ops)
            if len(links) > 1:
                raise Irregular(rows[0])
            if links:
                join.read[links[0]] = ops[0]
                return links[0]
        if number >= 0:
            return StepValue(number)
        are_numbers = all([is_inexact(op.val) for op in ops])
        if numbers - {-1} or not (are_numbers or all([type(op.val) is np.ndarray for op in ops])):
            raise Irregular(rows[0])
        if all([self.is_constant(op) and are_equal_constants(op.val, ops[0].val) for op in ops]):
            ops = [ops[0]] * len(ops)  # states with other constants would differ
        pairs = [*zip(rows, ops, strict=True)]
        kept = [j for j in range(len(self.kept)) if j not in past and (is_read_later or j not in self.unread)]
        found: list[Link] = [LoopVariable(j) for j in kept if all([row.variables[j] is op for row, op in pairs])]
        outer = {given for given in self.given if all([given[row.run] is op for row, op in pairs])}
        is_computed = isinstance(ops[0], Call) or (self.is_constant(ops[0]) and type(ops[0].val) is float)
        may_be_outer = bool(is_read_later or self.is_short or self.joins or not found or not is_computed)
        is_one = all([op is ops[0] for op in ops]) and self.is_before(ops[0], 0) and self.is_shared(ops[0])
        is_one &= ops[0] not in self.alone
        if may_be_outer and is_one:
            outer.add((ops[0],) * len(self.cuts))
        if is_read_later and found and self.number_link is None and self.are_alike(found):
            found = found[:1]
        found += [OuterValue(self.number(given)) for given in outer]
        if len(found) != 1 or not (are_numbers or outer):  # they do not say which, or none carries it
            raise Irregular(rows[0])
        return found[0]


_BOUNDS = ("start", "stop", "step")
