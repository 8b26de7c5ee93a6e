"""Write the branch tree of a loop as a Loop.

Loop counters, which the trace computes as floats, become counters of the Loop: integers that keys and arithmetic read.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.loops.affine_forms import AffineForm, counters_of, integer_outside
from wengert.compiling.loops.body_code import BodyCode, closed_tape, input_like, new_rows, row_call, rows_like
from wengert.compiling.loops.branch_code import ENDING, GOES_ON, BranchCode, UnsupportedTreeError, one_way_calls
from wengert.compiling.loops.branch_tree import (
    ANY,
    ITERATION,
    MORE,
    Link,
    LoopVariable,
    StepValue,
    WhileLoop,
    ends_of,
    forks_of,
    takes_list,
)
from wengert.compiling.loops.rolling import rolled
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.functional import whole

MOST_STEPS = 3000
"""The largest number of calls on all paths together: if branches do not join, each combination is a path."""
NUMBER = "number"
"""The number of iterations, if that is computed."""


class ExitValue(Link):
    """The result of this number of a loop that a test ends."""


class Items(Link):
    """The values of the loop variable of this number after each iteration, one in each row of an array."""


class BranchingLoop:
    """The body of a loop for all of its runs; `call` returns the ops of one run.

    Constants that variables of outer loops hold (`held`) stay variables: they differ in later iterations of these.
    If a test ends the loop, its first loop-carried value is a flag that it goes on, and the last ones are its results.
    """

    def __init__(self, runs: Sequence[WhileLoop], usual: int, held: Collection[Any] = ()) -> None:
        self.runs, self.held = runs, held
        self.one = one = max(runs, key=lambda run: run.max_count or 0)
        self.most = one.max_count
        if one.number is not None:
            self.most = max(self.most, *[_most(run.op_of(run.number)) for run in runs])  # type: ignore[type-var]
        self.steps = {StepValue(step.at): step for fork in forks_of(one.tree) for step in fork.steps}
        self.joining = {link: fork for fork in forks_of(one.tree) for link in fork.joined}
        if len(self.steps) > MOST_STEPS:
            raise UnsupportedTreeError("too many paths")
        self.usual = usual
        self.counters = counters_of(one, self.steps)
        self.carried = [j for j in range(len(one.variables)) if LoopVariable(j) not in self.counters]
        self.exit = next((end for end in ends_of(one.tree) if end.exits), None)
        self.loops: dict[Any, Loop] = {}
        self.forms: dict[AffineForm, Variable] = {}  # the integers that the body counts or reads
        self.begun: dict[Any, Variable] = {LoopVariable(j): input_like(one.variables[j]) for j in self.carried}
        self.results: list[Any] = []  # what holds each result of a loop that a test ends
        self.at_exit: dict[Any, int] = {}  # the results that variables hold after the iteration that ends the loop
        if self.exit is not None:
            ending = {ENDING: Variable(Input(0.0))} if one.endings > 1 or one.number is not None else {}
            self.begun = {GOES_ON: Variable(Input(True)), **ending, **self.begun}
            for k, ops in enumerate(zip(*[run.results for run in runs], strict=True)):
                self.results.append(self.holder(k) or ExitValue(k))
                if type(self.results[k]) is ExitValue:
                    self.begun[self.results[k]] = input_like(next(op for op in ops if op is not None))
        wanted = [*self.begun]
        self.outer: dict[Any, Variable] = {}
        code = BranchCode(self)
        if self.exit is not None and one.number is not None:
            code.values[MORE] = self.has_more(code.code)
        ends = code.run(one.tree, wanted)
        after = dict(zip(wanted, ends, strict=True))
        ends += [self.store_items(code.code, j, after) for j in sorted({j for run in runs for j in run.listed})]
        self.body = self._body(code.code, ends)

    def has_more(self, code: BodyCode) -> Variable:
        """Write the test whether another iteration follows, of a number that is computed."""
        self.counters[ITERATION] = 1
        done = self.integer(AffineForm(1, ((ITERATION, 1),)))
        self.outer[NUMBER] = input_like(self.one.op_of(self.one.number))
        return code.call(operator.lt, code.call(float, done), self.outer[NUMBER])

    def store_items(self, code: BodyCode, j: int, ends: dict[Any, Any]) -> Variable:
        """Write the store of the next value of variable j into a row."""
        if LoopVariable(j) not in ends:
            raise UnsupportedTreeError("a counter is put into a list")
        self.counters[ITERATION] = 1
        rows = rows_like(self.one.max_count or 0, value_of(ends[LoopVariable(j)]))
        self.begun[Items(j)] = Variable(Input(rows))
        row = self.integer(AffineForm(0, ((ITERATION, 1),)))
        return code.push(Call(functional.setitem, [self.begun[Items(j)], row, ends[LoopVariable(j)]], val=rows))

    def holder(self, k: int) -> Any:
        """Return the variable that may hold result k of a loop that a test ends; None if there is none."""
        exits = {end.outputs[k] for end in ends_of(self.one.tree) if end.exits} - {ANY}
        if (x := self.followed(k)) is not None:
            return x if x in self.begun and self.at_exit.setdefault(x, k) == k else None
        ends = [end for end in self.one.ends() if not end.exits]
        for x in [x for x in self.begun if type(x) is LoopVariable and len(exits) == 1]:
            is_next = {end.outputs[x.number] for end in ends} == exits
            if ({x} == exits or is_next) and self.at_exit.setdefault(x, k) == k:
                return x
        return None

    def followed(self, k: int) -> Any:
        """Return the link of result k if a `for` is exhausted; None if it has none."""
        link = ANY if self.one.exhausted is None else self.one.exhausted.outputs[k]
        return None if link == ANY else link

    def end_value(self, end: Any, x: Any) -> Any:
        """Return the source of a variable, a result or the flag at the end of a path; ANY if nothing reads it."""
        if type(x) is StepValue:
            return end.outputs[x]
        if x == GOES_ON:
            return False if end.exits else True if self.one.number is None else MORE
        if x == ENDING:
            return float(end.ending) if end.exits else x
        if end.exits:
            k = x.number if type(x) is ExitValue else self.at_exit.get(x)
            return ANY if k is None else end.outputs[k]
        if type(x) is not ExitValue:
            return end.outputs[x.number]
        link = self.followed(x.number)
        return end.outputs[link.number] if type(link) is LoopVariable else x

    def _body(self, code: BodyCode, ends: Sequence[Any]) -> Tape:
        counting = [form for form in self.forms if form.step(self.counters)]
        fixed = [form for form in self.forms if form not in counting]
        self.increments = [form.step(self.counters) for form in counting]
        numbers = {} if self.one.number is None or self.exit else {NUMBER: input_like(self.one.op_of(self.one.number))}
        self.given = [*counting, *self.begun, *numbers, *fixed, *self.outer]
        known: dict[Any, Any] = {**self.forms, **self.begun, **numbers, **self.outer}
        made = closed_tape([known[given].op for given in self.given], code, ends)
        check_guards_kept(one_way_calls(self.one.tree), made)
        body: Tape = rolled(made)
        return body

    def integer(self, form: AffineForm) -> Any:
        """Return an integer in the body of the loop: a constant, a counter, or an invariant."""
        if not form.terms:
            return form.constant
        if form not in self.forms:
            recorded = form.constant + sum([factor * int(self.one.op_of(link).val) for link, factor in form.terms])
            self.forms[form] = Variable(Input(recorded))
        return self.forms[form]

    def value(self, link: Any) -> Any:
        """Return the value of a link, other than a counter, in the body of the loop."""
        if link in self.begun:
            return self.begun[link]
        ops = [run.op_of(link) for run in self.runs]
        constants = {repr(op.val) if self.is_literal(op) else None for op in ops}
        if len(constants) == 1 and None not in constants:
            return ops[0].val
        if link not in self.outer:
            self.outer[link] = input_like(self.one.op_of(link))
        return self.outer[link]

    def is_literal(self, op: Op) -> bool:
        """Whether an op is a constant float that is the same wherever the loop runs."""
        return type(op) is Constant and type(op.val) is float and op not in self.held

    def call(self, run: WhileLoop, site: Any) -> tuple[list[Op], list[Op]]:
        """Return the ops that run the loop as one of its runs was recorded, and those that are its results."""
        code, count = BodyCode(), run.max_count
        if run.number is not None:
            number = self.number(code, run)  # a loop of at most one iteration would be a branch
            count = max(self.most, 2)  # type: ignore[type-var]
            code.push(Call(operator.le, [number, float(self.most)], val=True, site=site, guard=True))  # type: ignore[arg-type]
            if int(run.op_of(run.number).val) > run.max_count:  # type: ignore[operator]
                code.push(Call(operator.ge, [number, 0.0], val=True, site=site, guard=True))
        if count not in self.loops:
            ending = "flag" if self.exit is not None else "count" if run.number is None else "number"
            self.loops[count] = Loop(self.body, count, self.increments, len(self.begun), ending, usual=self.usual)
        args = [self.argument(code, x, run) for x in self.given]
        call = code.push(Call(self.loops[count], args, val=self.body.result.op.val, site=site))  # type: ignore[union-attr]
        names = [*self.begun]

        def part(x: Any, op: Any) -> Op:
            return code.push(Call(functional.getfield, [call, names.index(x)], val=op.val)).op  # type: ignore[return-value]

        if self.exit is None:
            assert run.exhausted is not None
            pairs = zip(run.exhausted.outputs, run.results, strict=True)
            parts = [self.counter_after(code, x, run) if x in self.counters else part(x, op) for x, op in pairs]
            self.check_unlike(code, parts, run, site)
            rows = {x.number: Variable(part(x, v.op)) for x, v in self.begun.items() if type(x) is Items}
            for taken in run.lists:
                columns = [rows[j] for j in taken.numbers]
                made = code.call(np.stack, columns, 1) if taken.rows else columns[0]
                first = taken.reader.args[0][: -len(value_of(made))]
                if taken.rows:  # what comes before the rows, too, is made of lists after the loop
                    first = [code.push(v.op.copy()) if takes_list(getattr(v, "op", None)) else v for v in first]
                taken.reader.args = (_with_rows(code, first, made),)
            return code, [*parts, *[code.push(row_call(rows[j], k, op.val)).op for op, j, k in run.items]]  # type: ignore[list-item]
        pairs = zip(self.results, run.results, strict=True)
        results = [part(x, op or self.begun[x].op) for x, op in pairs]
        number = Variable(part(ENDING, Input(float(run.ending)))) if ENDING in self.begun else None
        if count is not None and run.exhausted is None:  # no trace tells what follows the last iteration
            test: list[Any] = [operator.lt, number, float(run.endings)]
            if number is None:
                test = [operator.not_, code.push(Call(functional.getfield, [call, 0], val=False))]
            code.push(Call(test[0], test[1:], val=True, site=site, guard=True))
        for k in range(min(run.ending + 1, run.endings - 1)):  # what follows depends on the end
            code.push(Call(operator.gt, [number, float(k)], val=run.ending > k, site=site, guard=True))
        self.check_unlike(code, results, run, site)
        return code, results

    def check_unlike(self, code: BodyCode, results: Sequence[Op], run: WhileLoop, site: Any) -> None:
        """Write guards that results are not the integers with which the loop began."""
        for k, n in run.unlike:
            code.push(Call(operator.ne, [Variable(results[k]), n], val=True, site=site, guard=True))

    def argument(self, code: BodyCode, x: Any, run: WhileLoop) -> Any:
        """Return the argument of a run for an input of the body."""
        if type(x) is AffineForm:
            return integer_outside(code, x, run, self.held)
        if x == GOES_ON:
            return run.number is None or code.call(operator.gt, self.number(code, run), 0.0)
        if x == NUMBER:
            return self.number(code, run)
        if type(x) is Items:
            return code.push(new_rows(value_of(self.begun[x])))
        if x == ENDING:
            return float(run.exhausted.ending if run.exhausted else run.endings)
        if type(x) is ExitValue:
            link = self.followed(x.number)
            return code.zero(value_of(self.begun[x])) if link is None else self.outside(code, run.op_of(link))
        return self.outside(code, run.op_of(x))

    def outside(self, code: BodyCode, op: Op) -> Any:
        """Return the argument for an op before the loop; a float constant is inlined, another constant copied."""
        if type(op) is not Constant or op in self.held:
            return Variable(op)
        return op.val if type(op.val) is float else code.push(op.copy())

    def number(self, code: BodyCode, run: WhileLoop) -> Any:
        """Return the number of iterations of a run, without those before its first head."""
        op: Any = run.op_of(run.number)
        number, before = self.outside(code, op), max(int(op.val), 0) - run.max_count  # type: ignore[operator]
        return code.call(whole, operator.sub, number, float(before)) if before else number

    def counter_after(self, code: BodyCode, x: Any, run: WhileLoop) -> Op:
        """Return the value of a counter after a run that no test ends."""
        more: Any = float(self.counters[x] * run.max_count)  # type: ignore[operator]
        if run.number is not None:
            more = code.call(np.maximum, self.number(code, run), 0.0)
            more = code.call(whole, operator.mul, more, float(self.counters[x]))
        return code.call(whole, operator.add, self.outside(code, run.op_of(x)), more).op  # type: ignore[return-value]


def _most(op: Any) -> int:
    """Return the largest integer that an op may compute which counts chosen items; for any other op its value."""
    if isinstance(op, Call):
        args = [getattr(a, "op", a) for a in op.args]
        if op.fn is np.sum and op.args[0].op.val.dtype == bool:
            return int(op.args[0].op.val.size)
        if op.fn is float:
            return _most(args[0])
        if args[0] is operator.sub and isinstance(args[1], Op) and not isinstance(args[2], Call):
            return _most(args[1]) - int(getattr(args[2], "val", args[2]))
    return int(op.val)


def _with_rows(code: BodyCode, first: list[Any], rows: Variable) -> Variable:
    """Return the array of a list of these first items, and then of the values in these rows."""
    if not first:
        return rows
    return code.call(np.concatenate, [code.call(np.array, first), rows])
