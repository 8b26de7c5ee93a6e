"""The branch tree of a loop: the calls of its recorded iterations, which fork where a test had several outcomes.

If the state at two heads differs only in the loop variables (`compiling/watched/loop_states.py`), an iteration is a
function of these variables. So all iterations make the same calls up to a test, and after an outcome of it always the
calls that were recorded after that outcome. Nothing is known of outcomes that were not recorded. Runs of a loop whose
states differ in more share only what each of these states shows.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.anti_unify import NotUniform
from wengert.compiling.loops.periodicity import call_signature, constant_key
from wengert.tape.ops import Call, Constant, Op, Variable, references, sequence_like, with_variables
from wengert.values import functional
from wengert.values.identity_set import Functions
from wengert.values.specs import FLOATS, is_inexact


class Link:
    """The source of an operand in an iteration."""


@dataclass(frozen=True, order=True)
class StepValue(Link):
    """The value of the step with this index on the path."""

    at: int


@dataclass(frozen=True, order=True)
class LoopVariable(Link):
    """The loop-carried variable of this number, at the head."""

    number: int


@dataclass(frozen=True, order=True)
class OuterValue(Link):
    """The value of this number among those computed before the loop."""

    number: int


def link_order(link: Link) -> Any:
    """Return a key that sorts links of several kinds."""
    return type(link).__name__, link


class PathStep(NamedTuple):
    """A call on a path, with links in its arguments, and its op in one iteration."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    op: Call


class Fork(NamedTuple):
    """Steps from the index `start` on; then `branches`, by the outcome of the last step, or the `end` of the path."""

    start: int
    steps: list[PathStep]
    branches: dict[Any, Fork]
    end: PathEnd | None


class PathEnd(NamedTuple):
    """The end of a path: its outputs are the variables of the next iteration, or, if it `exits`, the loop's results.

    `variables` are those at the head of an iteration that took this path.
    """

    exits: bool
    outputs: list[Link]
    variables: list[Op]


class WhileLoop(NamedTuple):
    """A loop: its branch tree, its variables at the first head, the outer values it reads, and where its ops are.

    `results` are the ops of the outputs of the end that exits. A `for` has at most `max_count` iterations; `exhausted`
    is the end after the last one, if the trace reached it. `items` are the ops of list items that are read after the
    loop, each with two numbers: that of the variable that had its value after an iteration, and that of the iteration.
    `lists` are the later calls that take a whole list, each with the number of the variable that had its items as
    values. `number` is the number of iterations, if that is computed.
    """

    tree: Fork
    variables: list[Op]
    outer_values: list[Op]
    start: int
    stop: int
    results: list[Op]
    max_count: int | None
    exhausted: PathEnd | None
    items: list[tuple[Op, int, int]]
    lists: list[tuple[Call, int]]
    number: Link | None

    @property
    def listed(self) -> set[int]:
        """The numbers of the variables that had the values of list items that are read after the loop."""
        return {j for _, j, _ in self.items} | {j for _, j in self.lists}

    def op_of(self, link: Any) -> Op:
        """Return the op of a loop variable at the first head, or of an outer value."""
        return (self.variables if type(link) is LoopVariable else self.outer_values)[link.number]

    def paths(self) -> Iterator[tuple[list[PathStep], PathEnd]]:
        """Yield the paths through an iteration: all steps from the head on, and the end."""
        yield from _paths_of(self.tree, [])
        if self.exhausted is not None:
            yield [], self.exhausted


class _Iteration(NamedTuple):
    """An iteration: that of the loop and its number, its ops, the variables at its head, and the index of each op."""

    run: int
    number: int
    ops: Sequence[Op]
    variables: list[Op]
    index_of: dict[Op, int]


class _UnconfirmedError(NotUniform):
    """Only runs of other states took a path."""


class _Irregular(NotUniform):
    """The iteration of this number, or one near it, of this run of a loop differs from the others."""

    def __init__(self, row: _Iteration) -> None:
        self.row = row


def find_while_loops(
    ops: Sequence[Op],
    place: dict[Op, int],
    runs: Sequence[list[int]],
    last: dict[Any, int],
    constants: Collection[Op] = (),
) -> list[WhileLoop]:
    """Return the loop that was run so often, one for each run; each run has the positions of its heads.

    Runs whose iterations are not a function of their variables are left out, as are the first iterations of others.
    `place` maps ops to their positions, `last` to the positions where they are read last. The inputs `constants` have
    the same values in each call.
    """
    heads = [_recurring(ops, run) for run in runs if all([ops[k].fn.is_all for k in run])]  # type: ignore[attr-defined]
    never = {run[0] for run in runs if never_runs(ops, run, constants)}
    tries = 0
    while any([len(run) > 1 for run in heads]):
        heads = [run for run in heads if len(run) > 1 or (run and run[0] in never)]
        tests = [_ending_tests(ops, run) for run in heads]
        if None not in tests:
            with contextlib.suppress(_Irregular, _UnconfirmedError):
                if found := _LoopFinder(ops, place, heads, tests, last).loops():  # type: ignore[arg-type]
                    return found
        try:
            return _LoopFinder(ops, place, heads, heads, last).loops()
        except _UnconfirmedError:
            return []
        except _Irregular as error:
            heads[error.row.run] = heads[error.row.run][error.row.number + 1 :] if tries < MOST_TRIES else []
        tries += 1
    return []


def _ending_tests(ops: Sequence[Any], heads: list[int]) -> list[int] | None:
    """Return the positions of the test with which each iteration begins, if in the last one it ends the loop."""
    if ops[heads[0]].fn.left is not None or len(heads) < 2:
        return None
    starts, outcomes = [], []
    for a, b in itertools.pairwise([*heads, len(ops)]):
        at = next((k for k in range(a + 1, b) if isinstance(ops[k], Call) and ops[k].guard), None)
        if at is None:
            return None
        starts.append(at)
        outcomes.append(outcome_key(ops[at].val))
    return starts if len({*outcomes[:-1]}) == 1 and outcomes[-1] != outcomes[0] else None


def never_runs(ops: Sequence[Any], heads: list[int], constants: Collection[Op]) -> bool:
    """Whether a loop ran never, because of a number of iterations that the tape computes from constants."""
    head = ops[heads[0]]
    number = len(heads) == 1 and head.fn.number
    waiting = [[*head.references()][-1].op] if number else []
    for op in waiting:
        if isinstance(op, Call) and op.fn is functional.whole:
            waiting += [v.op for v in op.references()]
        elif type(op) is not Constant and op not in constants:
            return False
    return bool(number)


MOST_TRIES = 20
"""How often a loop is searched for without its first iterations; after it, without the run that is irregular."""


def _recurring(ops: Sequence[Any], heads: list[int]) -> list[int]:
    """Return the heads from which on the state recurs."""
    first = len(heads) - 1
    while first and ops[heads[first]].fn.same:
        first -= 1
    return heads[first:]


_OF_LISTS = Functions(np.array, np.asarray, np.stack)


def takes_list(op: Any) -> bool:
    """Whether a call makes an array of the numbers or arrays in a list."""
    known = isinstance(op, Call) and op.fn in _OF_LISTS and not op.kwargs and len(op.args) == 1
    return known and isinstance(op.args[0], list | tuple)


class _LoopFinder:
    """Builds the branch tree of the runs of a loop; raises _Irregular where iterations differ without a test.

    Iterations are between the positions in `cuts`, one list for each run: the heads, or the tests that follow them.
    """

    def __init__(
        self,
        ops: Sequence[Op],
        place: dict[Op, int],
        runs: Sequence[list[int]],
        cuts: Sequence[list[int]],
        last: dict[Any, int],
    ) -> None:
        self.ops, self.place, self.heads, self.cuts, self.last = ops, place, runs, cuts, last
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
        self.outer_values: list[tuple[Op, ...]] = []
        has_number = all([ops[heads[0]].fn.number for heads in runs])  # type: ignore[attr-defined]
        self.number_link = OuterValue(self.number(tuple([values[0] for values in columns[-1]]))) if has_number else None
        self.items: list[list[tuple[Op, int, int]]] = [[] for _ in runs]
        self.lists: list[list[tuple[Call, int]]] = [[] for _ in runs]
        self.readers: dict[Any, list[Any]] = {}
        for op in ops if self.grown else ():
            for v in op.references():
                self.readers.setdefault(v.op, []).append(op)
        self.iterations = []
        heads = {ops[k] for run in runs for k in run}
        for run, starts in enumerate(cuts):
            spans = [(a, b + self.after_tests) for a, b in itertools.pairwise(starts)]
            if not self.after_tests:
                longest = max([b - a for a, b in spans], default=0)
                spans.append((starts[-1], min(starts[-1] + 1 + longest, len(ops))))
            rows = []
            for k, (a, b) in enumerate(spans):
                inside = [op for op in ops[a + 1 : b] if isinstance(op, Call) and op not in heads]
                variables = [states[run][k][j] for j in self.kept.values()]
                rows.append(_Iteration(run, k, inside, variables, {op: n for n, op in enumerate(inside)}))
            self.iterations.append(rows)
        self.constants: dict[tuple[Any, ...], tuple[Op, ...]] = {}  # floats that differ between runs
        self.stops = [-1] * len(runs)
        self.results: list[list[Op]] = []

    def is_before(self, op: Op, run: int) -> bool:
        return not isinstance(op, Call) or self.place[op] < self.cuts[run][0]

    def loops(self) -> list[WhileLoop]:
        """Return the loop for each run."""
        lefts = [self.ops[heads[0]].fn.left for heads in self.heads]  # type: ignore[attr-defined]
        is_exhausted = lefts == [len(rows) - 1 for rows in self.iterations]
        self.results = [[] for _ in self.cuts]
        grows = any([self.ops[heads[0]].fn.grown is not None for heads in self.heads])  # type: ignore[attr-defined]
        if grows and (not is_exhausted or self.number_link is not None):
            return []  # the length of a list depends on the number of iterations
        tree = self.fork([row for rows in self.iterations for row in (rows[:-1] if is_exhausted else rows)], 0)
        exhausted = self.exhausted_end() if is_exhausted else None
        counts = any([step.op.fn is functional.whole for step in tree.steps])
        if min(self.stops) < 0 or not (tree.branches or counts):  # other loops of one path are found by rolling
            return []
        found = []
        for run, (rows, starts) in enumerate(zip(self.iterations, self.cuts, strict=True)):
            outer, ends = [ops[run] for ops in self.outer_values], (self.stops[run], self.results[run], lefts[run])
            lists = self.items[run], self.lists[run], self.number_link
            start = starts[0] + self.after_tests
            found.append(WhileLoop(tree, rows[0].variables, outer, start, *ends, exhausted, *lists))
        return found

    def fork(self, rows: list[_Iteration], start: int) -> Fork:
        """Build the branch tree for these iterations, from op `start` on."""
        if {self.forms[row.run] for row in rows} != {*self.forms}:
            raise _UnconfirmedError
        steps: list[PathStep] = []
        while True:
            at = start + len(steps)
            if any([at == len(row.ops) for row in rows]):
                return Fork(start, steps, {}, self.end(rows, at))
            steps.append(self.step(rows, at))
            if rows[0].ops[at].guard:  # type: ignore[attr-defined]
                outcomes: dict[Any, list[_Iteration]] = {}
                for row in rows:
                    outcomes.setdefault(outcome_key(row.ops[at].val), []).append(row)
                if len(outcomes) > 1:
                    branches = {key: self.branch(some, at + 1) for key, some in outcomes.items()}
                    return Fork(start, steps, branches, None)

    def branch(self, rows: list[_Iteration], at: int) -> Fork:
        is_end = all([row is self.iterations[row.run][-1] for row in rows])
        return Fork(at, [], {}, self.exit_end(rows, at)) if is_end else self.fork(rows, at)

    def end(self, rows: list[_Iteration], at: int) -> PathEnd:
        """Return the end of iterations that others follow."""
        for row in rows:
            if len(row.ops) != at or row is self.iterations[row.run][-1]:
                raise _Irregular(row)
        self.check_unambiguous(rows, self.unchanged)
        nexts = [self.iterations[row.run][row.number + 1].variables for row in rows]
        columns = [[variables[j] for variables in nexts] for j in range(len(self.kept))]
        return PathEnd(False, [self.link(rows, ops, at) for ops in columns], rows[-1].variables)

    def exit_end(self, rows: list[_Iteration], at: int) -> PathEnd:
        """Return the end of last iterations, after step `at - 1`; its outputs are the values that are read later."""
        if len(rows) < len(self.cuts):
            raise _Irregular(rows[0])
        return self.last_end(rows, at)

    def exhausted_end(self) -> PathEnd:
        """Return the end of a `for` after its last iteration."""
        for run in range(len(self.cuts)) if self.grown else ():
            self.read_later(run, 0)
            for j in self.grown:
                self.find_items(run, j)
        return self.last_end([rows[-1] for rows in self.iterations], 0)

    def find_items(self, run: int, j: int) -> None:
        """Find the later reads of the list items that variable j had as its values.

        Raise _Irregular for a read of a value that was put into the list twice, or that was there before the loop.
        """
        rows = self.iterations[run]
        values = [row.variables[j] for row in rows[1:]]
        readers = [op for value in {*values} for op in self.readers.get(value, ()) if self.place[op] >= self.stops[run]]
        for reader in dict.fromkeys(readers):
            if takes_list(reader) and [getattr(a, "op", None) for a in reader.args[0][-len(values) :]] == values:
                self.lists[run].append((reader, j))
                continue
            for op in {v.op for v in reader.references()} & {*values}:
                if values.count(op) > 1 or self.is_before(op, run):
                    raise _Irregular(rows[-1])
                if op is not values[-1]:
                    self.items[run].append((op, j, values.index(op)))

    def last_end(self, rows: list[_Iteration], at: int) -> PathEnd:
        """Return the end of all runs, of which these are the last iterations."""
        items: set[Any] = {op for run in self.items for op, _, _ in run}
        items |= {v.op for run in self.lists for op, _ in run for v in op.references()}
        links = {
            self.link([row], [op], at)
            for row in rows
            for op in self.read_later(row.run, at)
            if op in row.variables or op not in items
        }
        outputs: list[Any] = sorted(links, key=link_order)
        for row in rows:
            self.results[row.run] = [
                row.ops[link.at] if type(link) is StepValue else row.variables[link.number] for link in outputs
            ]
        return PathEnd(True, outputs, rows[-1].variables)

    def read_later(self, run: int, at: int) -> list[Op]:
        """Return the ops of a run, up to step `at - 1` of the last iteration, that are read after it."""
        row, starts = self.iterations[run][-1], self.cuts[run]
        stop = self.stops[run] = (self.place[row.ops[at - 1]] if at else starts[-1]) + 1
        if len(self.iterations[run]) == 1 and not at:  # it never runs, so its variables are those before it
            return []
        later: list[Op] = [
            op for op in self.ops[starts[0] : stop] if type(op) is Call and self.last.get(op, -1) >= stop
        ]
        others = [op for op in row.variables if op not in later and self.last.get(op, -1) >= stop]
        self.check_unambiguous([row], [(op,) * len(self.cuts) for op in others])
        return later

    def check_unambiguous(self, rows: list[_Iteration], outer: list[tuple[Op, ...]]) -> None:
        """Raise _Irregular if a variable coincides in these iterations with one of the values from outside."""
        for ops in outer:
            if any([all([row.variables[j] is ops[row.run] for row in rows]) for j in range(len(self.kept))]):
                raise _Irregular(rows[0])

    def step(self, rows: list[_Iteration], at: int) -> PathStep:
        """Return the call that all iterations make at this index."""
        calls: list[Any] = [row.ops[at] for row in rows]
        like = _step_signature(calls[-1])
        for row, call in zip(rows, calls, strict=True):
            if _step_signature(call) != like or like is None:
                raise _Irregular(row)
        args = self.tree(rows, [call.args for call in calls], at)
        return PathStep(args, self.tree(rows, [call.kwargs for call in calls], at), calls[-1])

    def tree(self, rows: list[_Iteration], trees: list[Any], at: int) -> Any:
        first, t = trees[-1], type(trees[-1])
        for row, x in zip(rows, trees, strict=True):
            if (type(x) is Variable) is not (t is Variable):  # a computed number equals a constant only by chance
                raise _Irregular(row)
        if t is Variable:
            return self.link(rows, [v.op for v in trees], at)
        if t is tuple or t is list:
            return sequence_like(first, [self.tree(rows, [*parts], at) for parts in zip(*trees, strict=True)])
        if t is dict:
            return {key: self.tree(rows, [tree[key] for tree in trees], at) for key in first}
        if t is slice:
            return slice(*[self.tree(rows, [getattr(s, name) for s in trees], at) for name in _BOUNDS])
        for row, x in zip(rows, trees, strict=True):
            if not _same_constant(x, first):
                return self.constant_of_run(rows, trees, row)
        return first

    def constant_of_run(self, rows: list[_Iteration], values: list[Any], odd: _Iteration) -> Link:
        """Return the outer value that stands for a float which differs between runs, as the iteration `odd` shows."""
        known: dict[int, Any] = {}
        for row, x in zip(rows, values, strict=True):
            if type(x) not in FLOATS or not _same_constant(known.setdefault(row.run, x), x):
                raise _Irregular(odd)
        if len(known) < len(self.cuts):
            raise _Irregular(odd)
        key = tuple([constant_key(known[run]) for run in range(len(self.cuts))])
        if key not in self.constants:
            self.constants[key] = tuple([Constant(known[run]) for run in range(len(self.cuts))])
        return OuterValue(self.number(self.constants[key]))

    def link(self, rows: list[_Iteration], ops: list[Any], at: int) -> Link:
        """Return the source (step, loop variable or outer value) that all iterations share for these operands."""
        places = {row.index_of.get(op, at) for row, op in zip(rows, ops, strict=True)}
        if len(places) == 1 and min(places) < at:
            return StepValue(places.pop())
        if min(places) < at or not all([is_inexact(op.val) for op in ops]):
            raise _Irregular(rows[0])
        if all([type(op) is Constant and _same_constant(op.val, ops[0].val) for op in ops]):
            ops = [ops[0]] * len(ops)  # states with other constants would differ
        pairs = [*zip(rows, ops, strict=True)]
        found: list[Link] = [
            LoopVariable(j) for j in range(len(self.kept)) if all([row.variables[j] is op for row, op in pairs])
        ]
        outer = {given for given in self.given if all([given[row.run] is op for row, op in pairs])}
        if all([op is ops[0] for op in ops]) and self.is_before(ops[0], 0):
            outer.add((ops[0],) * len(self.cuts))
        found += [OuterValue(self.number(given)) for given in outer]
        if len(found) != 1:  # these iterations do not say which it is
            raise _Irregular(rows[0])
        return found[0]

    def number(self, given: tuple[Op, ...]) -> int:
        if given not in self.outer_values:
            self.outer_values.append(given)
        return self.outer_values.index(given)


_BOUNDS = ("start", "stop", "step")


def outcome_key(value: Any) -> Any:
    """Return a key that is equal for equal outcomes of a test; np.bool_ counts as bool."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, tuple):
        return (type(value), *map(outcome_key, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return constant_key(value)


def _step_signature(op: Any) -> Any:
    """Return the signature of a call; that of a test without its outcome."""
    if not op.guard:
        return call_signature(op)
    return "test", call_signature(Call(op.fn, op.args, op.kwargs))


def _same_constant(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and a.tobytes() == b.tobytes()
    return bool(constant_key(a) == constant_key(b))


def _paths_of(fork: Fork, steps: list[PathStep]) -> Iterator[tuple[list[PathStep], PathEnd]]:
    steps = [*steps, *fork.steps]
    if fork.end is not None:
        yield steps, fork.end
    for inner in fork.branches.values():
        yield from _paths_of(inner, steps)


def links_in(tree: Any) -> list[Any]:
    """Return the links in arguments, in order."""
    return list(references(tree, Link))


def drop_unread_variables(runs: list[WhileLoop]) -> list[WhileLoop]:
    """Return the runs of a loop without the variables that iterations only pass on."""
    if not runs:
        return []
    loop = runs[0]
    paths = [*loop.paths()]
    read = {link for steps, end in paths for step in steps for link in links_in((step.args, step.kwargs))}
    read |= {link for _, end in paths if end.exits for link in end.outputs}
    read |= {LoopVariable(j) for one in runs for j in one.listed}
    while True:
        more = {end.outputs[k.number] for _, end in paths if not end.exits for k in read if type(k) is LoopVariable}
        if more <= read:
            break
        read |= more
    numbers = [j for j in range(len(loop.variables)) if LoopVariable(j) in read]
    new: dict[Link, Link] = {LoopVariable(j): LoopVariable(k) for k, j in enumerate(numbers)}

    def renumbered(tree: Any) -> Any:
        return with_variables(tree, lambda link: new.get(link, link), Link)

    def new_fork(fork: Fork) -> Fork:
        steps = [PathStep(renumbered(step.args), renumbered(step.kwargs), step.op) for step in fork.steps]
        branches = {key: new_fork(inner) for key, inner in fork.branches.items()}
        return Fork(fork.start, steps, branches, new_end(fork.end))

    def new_end(end: PathEnd | None) -> PathEnd | None:
        if end is None:
            return None
        outputs = end.outputs if end.exits else [end.outputs[j] for j in numbers]
        return PathEnd(end.exits, renumbered(outputs), [end.variables[j] for j in numbers])

    tree, exhausted = new_fork(loop.tree), new_end(loop.exhausted)
    found = []
    for one in runs:
        items = [(op, numbers.index(j), k) for op, j, k in one.items]
        variables = [one.variables[j] for j in numbers]
        lists = [(op, numbers.index(j)) for op, j in one.lists]
        found.append(one._replace(tree=tree, variables=variables, exhausted=exhausted, items=items, lists=lists))
    return found
