"""Join the straight code of several traces of a function: it forks where a test had several outcomes, as in a loop.

The code of all traces is like one iteration of a loop that each of them ran once; see `branch_tree.py`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from wengert.compiling.guard_check import check_guards_kept, count_guards
from wengert.compiling.loops.affine_forms import AffineForm, integer_outside
from wengert.compiling.loops.branch_code import BranchCode, UnsupportedTreeError, one_way_calls
from wengert.compiling.loops.branch_tree import (
    Fork,
    Link,
    OuterValue,
    PathEnd,
    PathStep,
    StepValue,
    WhileLoop,
    drop_unread_variables,
    ends_of,
    forks_of,
    links_in,
)
from wengert.compiling.loops.loop_iterations import Irregular, Iteration, Joining
from wengert.compiling.loops.periodicity import call_signature, static_spec
from wengert.compiling.loops.tree_builder import TreeBuilder
from wengert.compiling.ops import RAISING, info
from wengert.compiling.watched.marks import Earlier, Ending, StraightJoin
from wengert.tape.ops import Call, Constant, Op, Variable
from wengert.values.functional import as_index
from wengert.values.specs import FLOATS

MOST_STEPS, MOST_STEPS_APART, FEW_PATHS = 10_000, 500, 4
"""The most calls on all paths together, and the most if more than FEW_PATHS paths share under two fifths of them."""


class Output(Link):
    """The value of this number that is read after the straight code."""


class StraightTree(TreeBuilder):
    """Builds the branch tree of the straight code of traces, which are between marks on one tape."""

    def __init__(self, ops: Sequence[Op], spans: Sequence[tuple[int, int]], constants: Collection[Any]) -> None:
        self.ops, self.place, self.inputs_of_one_value = ops, {op: k for k, op in enumerate(ops)}, constants
        marks = [k for k, op in enumerate(ops) if _is(op, Earlier)]
        self.start, self.stop, self.cuts = marks[0], spans[-1][1] + 1, [[marks[0]] for _ in spans]
        self.traces = [bisect(marks, k) for k in range(len(ops))]
        self.outputs: list[list[Any]] = [[v.op for v in ops[end].references()] for _, end in spans]
        self.forms, self.number_link, self.is_short = [0 for _ in spans], None, True
        self.kept, self.given, self.constants = {}, {}, {}
        self.unchanged, self.joins, self.outer_values = [], [], []
        self.past, self.unread, self.alone = set(), set(), set()
        self.count = 0
        calls = [[op for op in ops[a:b] if isinstance(op, Call)] for a, b in spans]
        self.iterations = [[self.iteration(run, 0, inside, [])] for run, inside in enumerate(calls)]

    def joined_paths(self) -> WhileLoop:
        """Return the tree as that of a loop which ends in its first iteration."""
        results = self.outputs[-1]
        for outputs in self.outputs:
            if [_loose_spec(op.val) for op in outputs] != [_loose_spec(op.val) for op in results]:
                raise UnsupportedTreeError("the results differ in type")
        tree = self.fork([row for rows in self.iterations for row in rows])
        outer = [given[0] for given in self.outer_values]
        loop = WhileLoop(tree, [], outer, self.start, self.stop, results, None, None, [], [], None, 0, 1, [])
        [found] = drop_unread_variables([loop])
        check_floats(found)
        return found

    def may_join_at(self, mark: Any, run: int) -> bool:
        """Whether paths through straight code may join at a mark."""
        return type(mark) is StraightJoin and mark.ran_back_once

    def signature(self, op: Any) -> Any:
        """Return the signature of a call, where a float is like np.float64, and an outcome like any other."""
        known = call_signature(op)
        spec = int if op.fn is as_index else _loose_spec(op.val)
        return known and (op.guard, *known[:3], spec)

    def branch(self, rows: list[Iteration], to: Joining | None) -> Fork:
        """Build the tree of a branch that joins no other."""
        return self.fork(rows, to)

    def end(self, rows: list[Iteration]) -> PathEnd:
        """Return the end of these paths."""
        if any([row.at < len(row.ops) for row in rows]):
            raise Irregular(*rows)
        columns = zip(*[self.outputs[row.run] for row in rows], strict=True)
        return PathEnd(True, [self.link(rows, [*column]) for column in columns], [])

    def constant_of_run(self, rows: list[Iteration], values: list[Any], odd: Iteration) -> Link:
        """Refuse a constant that differs between traces, although no test has told them apart."""
        raise Irregular(odd)


def check_floats(loop: WhileLoop) -> None:
    """Refuse a division or power of what is a float after some branches, np.float64 after others: only one may raise.

    Errors: UnsupportedTreeError.
    """
    forks = [*forks_of(loop.tree)]
    steps = [step for fork in forks for step in fork.steps]
    types: dict[Any, type] = {OuterValue(k): type(op.val) for k, op in enumerate(loop.outer_values)}
    types |= {StepValue(step.at): type(step.op.val) for step in steps}
    types |= {link: type(op.val) for fork in forks for link, op in fork.joined.items()}
    mixed = set[Any]()
    for fork in forks:
        for link in fork.joined:
            if len({types[source] for source in _sources(fork, link)}) > 1:
                mixed.add(link)
    todo = [*mixed]
    while todo:
        link = todo.pop()
        new = {StepValue(step.at) for step in steps if link in links_in((step.args, step.kwargs)) and _is_mixed(step)}
        new |= {joined for fork in forks for joined in fork.joined if link in _sources(fork, joined)}
        todo += new - mixed
        mixed |= new


def _sources(fork: Fork, joined: Link) -> set[Link]:
    return {end.outputs[joined] for inner in fork.branches.values() for end in ends_of(inner)}


def _is_mixed(step: PathStep) -> bool:
    """Whether the result of a step is a float or np.float64, as its operand is. Errors: UnsupportedTreeError."""
    if info(step.op.fn).name in RAISING:
        raise UnsupportedTreeError("a float may raise an error where np.float64 does not")
    return type(step.op.val) in FLOATS


class StraightCode:
    """The code of a branch tree of straight code: its ops in order, and the `results` among them."""

    def __init__(self, one: WhileLoop, paths: int, steps: int) -> None:
        self.one = one
        self.steps = {StepValue(step.at): step for fork in forks_of(one.tree) for step in fork.steps}
        self.joining = {link: fork for fork in forks_of(one.tree) for link in fork.joined}
        is_apart = paths > FEW_PATHS and len(self.steps) > 0.6 * steps
        if len(self.steps) > (MOST_STEPS_APART if is_apart else MOST_STEPS):
            raise UnsupportedTreeError("too many paths")
        self.counters: dict[Link, int] = {}
        self.begun: dict[Any, Any] = {}
        code = BranchCode(self)
        self.ops = code.code
        self.begun.update({Output(k): self.ops.zero(op.val) for k, op in enumerate(one.results) if op is not None})
        self.results = code.run(one.tree, [*self.begun])
        check_guards_kept(one_way_calls(one.tree), self.ops)

    def end_value(self, end: Any, x: Any) -> Any:
        """Return the source of a joined value or an output at the end of a path."""
        return end.outputs[x if type(x) is StepValue else x.number]

    def value(self, link: Any) -> Any:
        """Return the value of a link from before the code; a constant float as such."""
        if link in self.begun:
            return self.begun[link]
        op: Any = self.one.op_of(link)
        return op.val if type(op) is Constant and type(op.val) is float else Variable(op)

    def integer(self, form: AffineForm) -> Any:
        """Return an integer that is computed from values before the code."""
        return integer_outside(self.ops, form, self.one, ())


def join_paths(ops: list[Op], result: Any, constants: Collection[Any]) -> tuple[list[Op], Any]:
    """Join the straight code of the traces on a tape, if there are several; return the ops, and that of the result.

    Earlier traces are left out whose path differs from others without a test that tells them apart.
    """
    marks = [k for k, op in enumerate(ops) if _is(op, Earlier)]
    spans = [*zip(marks, [k for k, op in enumerate(ops) if _is(op, Ending)], strict=False)]
    code = None
    while len(spans) > 1 and code is None:
        try:
            one = StraightTree(ops, spans, constants).joined_paths()
            code = StraightCode(one, len(spans), sum([b - a for a, b in spans]))
        except Irregular as error:
            odd = {row.run for row in error.rows} - {len(spans) - 1} or {0}
            spans = [span for k, span in enumerate(spans) if k not in odd]
        except UnsupportedTreeError:
            break
    if code is None:
        return ops, result
    mark: Any = ops[marks[0]]
    mark.fn.joined, mark.fn.paths = True, [marks.index(a) for a, _ in spans]
    return _with_code(ops, result, one, code)


def _with_code(ops: list[Op], result: Any, one: WhileLoop, code: StraightCode) -> tuple[list[Op], Any]:
    """Replace the straight code of all traces; return the ops, and that of the result."""
    inside = ops[one.start : one.stop]
    made: list[Op] = [*ops[: one.start], *[op for op in inside if not isinstance(op, Call)], *code.ops]
    parts: dict[Any, Any] = {}
    for old, new in zip(one.results, code.results, strict=True):
        if not isinstance(new, Variable):
            made.append(Constant(new))
            new = Variable(made[-1])
        parts[old] = new
    for op in ops[one.stop :]:
        if any([v.op in parts for v in op.references()]):
            parts[op] = Variable(op.copy(lambda v: parts.get(v.op, v)))
        made.append(parts[op].op if op in parts else op)
    new_result = parts[result].op if result in parts else result
    return check_guards_kept(ops, made, count_guards(inside)), new_result


def _loose_spec(value: Any) -> Any:
    """Return the static type of a value; float for np.float64, and bool for np.bool_."""
    if type(value) in FLOATS:
        return float
    return bool if type(value) in (bool, np.bool_) else static_spec(value)


def _is(op: Any, mark: type) -> bool:
    return isinstance(op, Call) and type(op.fn) is mark
