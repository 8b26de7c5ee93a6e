"""Write the branch tree of a loop as a Loop, in whose body the branches are loops that run at most once.

Loop counters, which the trace computes as floats, become counters of the Loop: integers that keys and arithmetic read.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.body_code import BodyCode, closed_tape
from wengert.compiling.loops.branch_tree import (
    Fork,
    Link,
    LoopVariable,
    OuterValue,
    PathStep,
    StepValue,
    WhileLoop,
    ends_of,
    forks_of,
    link_order,
    links_in,
)
from wengert.compiling.loops.residual_rows import row_call, rows_like, zero_rows
from wengert.compiling.loops.rolling import rolled
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.functional import as_index, whole

MOST_STEPS = 3000
"""The largest number of calls on all paths together: if branches do not join, each combination is a path."""
_STORES = (functional.setitem, functional.additem)


class UnsupportedTreeError(Exception):
    """A branch tree cannot be written as a Loop."""


class AffineForm(NamedTuple):
    """An integer as a sum: of a constant, and of links with integer factors, in order."""

    constant: int
    terms: tuple[tuple[Any, int], ...] = ()

    def __add__(self, other: Any) -> AffineForm:
        factors = dict(self.terms)
        for link, factor in other.terms:
            factors[link] = factors.get(link, 0) + factor
        terms = sorted([term for term in factors.items() if term[1]], key=lambda term: link_order(term[0]))
        return AffineForm(self.constant + other.constant, tuple(terms))

    def times(self, factor: int) -> AffineForm:
        """Return the form of `factor` times this integer."""
        terms = tuple([(link, factor * n) for link, n in self.terms if factor])
        return AffineForm(factor * self.constant, terms)

    def step(self, counters: dict[Link, int]) -> int:
        """Return how much the integer grows in each iteration."""
        return sum([factor * counters.get(link, 0) for link, factor in self.terms])


class ExitValue(Link):
    """The result of this number of a loop that a test ends."""


class Items(Link):
    """The values of the loop variable of this number after each iteration, one in each row of an array."""


class IterationNumber(Link):
    """The number of the iteration."""


ITERATION = IterationNumber(0)
GOES_ON, ANY, NUMBER, ZEROS = "goes on", "any", "number", "zeros"
"""The flag by which a loop goes on, a value that nothing reads, the number of iterations, and zeros of some shape."""


class BranchingLoop:
    """The body of a loop for all of its runs; `call` returns the ops of one run.

    If a test ends the loop, its first loop-carried value is a flag that it goes on, and the last ones are its results.
    """

    def __init__(self, runs: Sequence[WhileLoop], usual: int) -> None:
        self.runs = runs
        self.one = one = max(runs, key=lambda run: run.max_count or 0)
        self.most = one.max_count
        self.steps = {StepValue(step.at): step for fork in forks_of(one.tree) for step in fork.steps}
        self.joining = {link: fork for fork in forks_of(one.tree) for link in fork.joined}
        if len(self.steps) > MOST_STEPS:
            raise UnsupportedTreeError("too many paths")
        self.usual = usual
        self.counters = _counters_of(one, self.steps)
        outputs = one.exhausted.outputs if one.exhausted else ()
        if one.number is not None and any([x in self.counters for x in outputs]):
            raise UnsupportedTreeError("a counter is read after a loop with a computed number of iterations")
        self.carried = [j for j in range(len(one.variables)) if LoopVariable(j) not in self.counters]
        self.exit = next((end for end in ends_of(one.tree) if end.exits), None)
        if self.exit is not None and one.number is not None:
            raise UnsupportedTreeError("a loop with a computed number of iterations ends early")
        self.loops: dict[Any, Loop] = {}
        self.forms: dict[AffineForm, Variable] = {}  # the integers that the body counts or reads
        self.begun: dict[Any, Variable] = {LoopVariable(j): _input(one.variables[j]) for j in self.carried}
        self.results: list[Any] = []  # what holds each result of a loop that a test ends
        self.at_exit: dict[Any, Any] = {}  # the sources of variables after the iteration that ends the loop
        if self.exit is not None:
            self.begun = {GOES_ON: Variable(Input(True)), **self.begun}
            for k, op in enumerate(one.results):
                self.results.append(self.holder(self.exit.outputs[k]) or ExitValue(k))
                if type(self.results[k]) is ExitValue:
                    self.begun[self.results[k]] = _input(op)
        wanted = [*self.begun]
        self.outer: dict[Link, Variable] = {}
        scope = _Scope(self)
        ends = scope.run(one.tree, wanted)
        after = dict(zip(wanted, ends, strict=True))
        ends += [self.store_items(scope.code, j, after) for j in sorted({j for run in runs for j in run.listed})]
        self.body = self._body(scope.code, ends)

    def store_items(self, code: BodyCode, j: int, ends: dict[Any, Any]) -> Variable:
        """Write the store of the next value of variable j into a row."""
        if LoopVariable(j) not in ends:
            raise UnsupportedTreeError("a counter is put into a list")
        self.counters[ITERATION] = 1
        rows = rows_like(self.one.max_count or 0, value_of(ends[LoopVariable(j)]))
        self.begun[Items(j)] = Variable(Input(rows))
        row = self.integer(AffineForm(0, ((ITERATION, 1),)))
        return code.push(Call(functional.setitem, [self.begun[Items(j)], row, ends[LoopVariable(j)]], val=rows))

    def holder(self, result: Any) -> Any:
        """Return the variable that may hold a result of a loop that a test ends; None if there is none."""
        ends = [end for end in self.one.ends() if not end.exits]
        for x in [x for x in self.begun if type(x) is LoopVariable]:
            is_next = {end.outputs[x.number] for end in ends} == {result}
            if (x == result or is_next) and self.at_exit.setdefault(x, result) == result:
                return x
        return None

    def end_value(self, end: Any, x: Any) -> Any:
        """Return the source of a variable, a result or the flag at the end of a path; ANY if nothing reads it."""
        if type(x) is StepValue:
            return end.outputs[x]
        if x == GOES_ON:
            return not end.exits
        if type(x) is ExitValue:
            return end.outputs[x.number] if end.exits else x
        return self.at_exit.get(x, ANY) if end.exits else end.outputs[x.number]

    def _body(self, code: BodyCode, ends: Sequence[Any]) -> Tape:
        counting = [form for form in self.forms if form.step(self.counters)]
        fixed = [form for form in self.forms if form not in counting]
        self.increments = [form.step(self.counters) for form in counting]
        numbers = {} if self.one.number is None else {NUMBER: _input(self.one.op_of(self.one.number))}
        self.given = [*counting, *self.begun, *numbers, *fixed, *self.outer]
        known: dict[Any, Any] = {**self.forms, **self.begun, **numbers, **self.outer}
        body: Tape = rolled(closed_tape([known[given].op for given in self.given], code, ends))
        return body

    def integer(self, form: AffineForm) -> Any:
        """Return an integer in the body of the loop: a constant, a counter, or an invariant."""
        if not form.terms:
            return form.constant
        if form not in self.forms:
            recorded = form.constant + sum([factor * int(_op_of(self.one, link).val) for link, factor in form.terms])
            self.forms[form] = Variable(Input(recorded))
        return self.forms[form]

    def value(self, link: Any) -> Any:
        """Return the value of a link, other than a counter, in the body of the loop."""
        if link in self.begun:
            return self.begun[link]
        ops = [run.op_of(link) for run in self.runs]
        constants = {repr(op.val) if type(op) is Constant and type(op.val) is float else None for op in ops}
        if len(constants) == 1 and None not in constants:
            return ops[0].val
        if link not in self.outer:
            self.outer[link] = _input(self.one.op_of(link))
        return self.outer[link]

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

        def part(x: Any, op: Op) -> Op:
            return code.push(Call(functional.getfield, [call, names.index(x)], val=op.val)).op  # type: ignore[return-value]

        if self.exit is None:
            assert run.exhausted is not None
            pairs = zip(run.exhausted.outputs, run.results, strict=True)
            parts = [self.counter_after(code, x, run) if x in self.counters else part(x, op) for x, op in pairs]
            rows = {x.number: Variable(part(x, v.op)) for x, v in self.begun.items() if type(x) is Items}  # type: ignore[arg-type]
            for reader, j in run.lists:
                reader.args = (_with_rows(code, reader.args[0], rows[j]),)
            return code, [*parts, *[code.push(row_call(rows[j], k, op.val)).op for op, j, k in run.items]]  # type: ignore[list-item]
        if count is not None:  # the trace does not tell what follows the last iteration
            flag = code.push(Call(functional.getfield, [call, 0], val=False))
            code.push(Call(operator.not_, [flag], val=True, site=site, guard=True))
        return code, [part(x, op) for x, op in zip(self.results, run.results, strict=True)]

    def argument(self, code: BodyCode, x: Any, run: WhileLoop) -> Any:
        """Return the argument of a run for an input of the body."""
        if type(x) is AffineForm:
            return _integer_outside(code, x, run)
        if x == GOES_ON:
            return True
        if x == NUMBER:
            return self.number(code, run)
        if type(x) is Items:
            return code.push(zero_rows(value_of(self.begun[x])))
        return code.zero(run.results[x.number].val) if type(x) is ExitValue else _outside(code, run.op_of(x))

    def number(self, code: BodyCode, run: WhileLoop) -> Any:
        """Return the number of iterations of a run, without those before its first head."""
        op: Any = run.op_of(run.number)
        number, before = _outside(code, op), int(op.val) - run.max_count  # type: ignore[operator]
        return code.call(whole, operator.sub, number, float(before)) if before else number

    def counter_after(self, code: BodyCode, x: Any, run: WhileLoop) -> Op:
        """Return the value of a counter after a run with a fixed number of iterations."""
        more = float(self.counters[x] * run.max_count)  # type: ignore[operator]
        return code.call(whole, operator.add, _outside(code, run.op_of(x)), more).op  # type: ignore[return-value]


def _with_rows(code: BodyCode, items: Sequence[Any], rows: Variable) -> Variable:
    """Return the array of a list that ends with the values in these rows."""
    first = [*items[: len(items) - len(value_of(rows))]]
    if not first:
        return rows
    lead = code.push(Call(np.array, [first], val=np.array([*map(value_of, first)])))
    return code.push(Call(np.concatenate, [[lead, rows]], val=np.array([*map(value_of, items)])))


def _counters_of(one: WhileLoop, steps: dict[Any, PathStep]) -> dict[Link, int]:
    """Return the variables that each iteration changes by the same integer, and these integers."""
    ends = [end for end in one.ends() if not end.exits]
    found: dict[Link, int] = {}
    for j in range(len(one.variables)):
        increments = {_increment(steps.get(end.outputs[j]), LoopVariable(j)) for end in ends}
        if len(increments) == 1 and None not in increments:
            found[LoopVariable(j)] = increments.pop()  # type: ignore[assignment]
    return found


def _increment(step: PathStep | None, variable: Link) -> int | None:
    """Return the integer that a step adds to a variable; None if another value takes its place."""
    if step is None or step.op.fn is not whole:
        return None
    fn, a, b = (*step.args, None, None)[:3]
    return int(b) if fn is operator.add and a == variable and type(b) in (int, float) else None


def _input(op: Any) -> Variable:
    return Variable(Input(op.val))


def _outside(code: BodyCode, op: Op) -> Any:
    """Return the argument for an op before the loop; a float constant is inlined, another constant copied."""
    if type(op) is not Constant:
        return Variable(op)
    return op.val if type(op.val) is float else code.push(op.copy())


def _op_of(run: WhileLoop, link: Any) -> Any:
    """Return the op of a link in the first iteration of a run."""
    return Constant(0.0) if link == ITERATION else run.op_of(link)


def _integer_outside(code: BodyCode, form: AffineForm, run: WhileLoop) -> Any:
    """Return the value of an integer in the first iteration of a run."""
    constant, total = form.constant, None
    for link, factor in form.terms:
        op = _op_of(run, link)
        if type(op) is Constant:
            constant += factor * int(op.val)
            continue
        term = Variable(op) if factor == 1 else code.call(whole, operator.mul, Variable(op), float(factor))
        total = term if total is None else code.call(whole, operator.add, total, term)
    if total is None:
        return constant
    return code.call(as_index, code.call(whole, operator.add, total, float(constant)) if constant else total)


class _Scope:
    """The code of the body of the loop, or of a branch in it; a branch has a scope `around` it.

    `values` are those of the steps so far, joined values, and the inputs of a branch. The steps that compute integers
    are written when another step reads them.
    """

    def __init__(self, loop: BranchingLoop, around: _Scope | None = None) -> None:
        self.loop, self.around = loop, around
        self.code = BodyCode()
        self.values: dict[Any, Any] = {}
        self.captured: dict[Any, tuple[Any, Variable]] = {}  # the values from around, and the inputs for them
        self.given: dict[Any, Any] = loop.begun  # the values of variables with which the scope begins

    # -- values

    def value(self, link: Any) -> Any:
        """Return the value of a link; a bool is a flag."""
        if type(link) is bool:
            return link
        if link not in self.values:
            self.values[link] = self._compute(link)
        return self.values[link]

    def _compute(self, link: Any) -> Any:
        step = self.loop.steps.get(link)
        if step is not None and step.op.fn is as_index:
            return self.index(step.args[0])
        if (step is not None and step.op.fn is whole) or link in self.loop.counters:
            form = self.form(link)
            if form is None:
                return self.push(step)  # type: ignore[arg-type]
            n = self.integer(form)
            return float(n) if type(n) is int else self.code.push(Call(float, [n], val=float(value_of(n))))
        return self.loop.value(link) if self.around is None else self.capture(self.around.value(link))

    def index(self, link: Any) -> Any:
        """Return the integer that the trace stores as a float."""
        form = self.form(link)
        return self.code.call(as_index, self.value(link)) if form is None else self.integer(form)

    def integer(self, form: AffineForm) -> Any:
        """Return an integer in this scope."""
        return self.loop.integer(form) if self.around is None else self.capture(self.around.integer(form))

    def form(self, link: Any) -> AffineForm | None:
        """Return the sum of counters and outer values that an integer is; None if it is no such sum."""
        if type(link) in (int, float):
            return AffineForm(int(link))
        if type(link) is OuterValue or link in self.loop.counters:
            return AffineForm(0, ((link, 1),))
        step = self.loop.steps.get(link)
        if step is None or step.op.fn is not whole:
            return None
        fn, *args = step.args
        forms = [self.form(a) for a in args]
        return _AFFINE[fn](*forms) if fn in _AFFINE and None not in forms else None

    def capture(self, x: Any) -> Any:
        """Return a value from around a branch in it."""
        if not isinstance(x, Variable):
            return x
        if x.op not in self.captured:
            self.captured[x.op] = x, _input(x.op)
        return self.captured[x.op][1]

    # -- steps

    def push(self, step: PathStep, guard: bool = False) -> Variable:
        """Write the call of a step."""
        op = step.op
        args, kwargs = with_variables((step.args, step.kwargs), self.value, Link)
        return self.code.push(Call(op.fn, args, kwargs, op.val, op.site, guard=guard))

    def run(self, fork: Fork, wanted: Sequence[Any]) -> list[Any]:
        """Write the steps from a fork on; return the values at the end of the iteration of what is `wanted`."""
        for step in fork.steps:
            if step.op.fn not in (whole, as_index):
                is_test = bool(fork.branches) and step is fork.steps[-1]
                self.values[StepValue(step.at)] = self.push(step, step.op.guard and not is_test)
        if fork.end is not None:
            ends = [(x, self.loop.end_value(fork.end, x)) for x in wanted]
            return [self.given[x] if source == ANY else self.value(source) for x, source in ends]
        if fork.branches.keys() != {True, False}:
            raise UnsupportedTreeError("a test with other outcomes than True and False")
        if fork.rest is None:
            return self.branch(fork, wanted)
        self.values.update(zip(fork.joined, self.branch(fork, [*fork.joined]), strict=True))
        return self.run(fork.rest, wanted)

    def branch(self, fork: Fork, wanted: Sequence[Any]) -> list[Any]:
        """Write the branches of a fork; return the values after them of what is `wanted`."""
        passed = {x: self.sources(fork, x) for x in wanted}
        test: Any = self.values[StepValue(fork.known)]
        if passed.get(GOES_ON) == [True, False]:
            del passed[GOES_ON]
        changed = [x for x in passed if None in passed[x] or passed[x][0] != passed[x][1]]
        bases = {x: self.base(fork, x, passed[x]) for x in changed}
        now = {x: self.code.zero(fork.joined[x].val) if bases[x] == ZEROS else self.value(bases[x]) for x in changed}
        begin = test
        for outcome in (True, False):
            is_needed = any([passed[x][not outcome] not in (ANY, bases[x]) for x in changed])
            if is_needed or _has_guards(fork.branches[outcome]):
                test = begin if outcome else self.code.push(Call(operator.not_, [begin], val=not value_of(begin)))
                now = dict(zip(changed, self.conditional(fork.branches[outcome], test, now, bases), strict=True))
        for x in passed.keys() - now.keys():
            now[x] = self.given[x] if passed[x][0] == ANY else self.value(passed[x][0])
        return [now.get(x, begin) for x in wanted]

    def sources(self, fork: Fork, x: Any) -> list[Any]:
        """Return the sources of x after the branches, for the outcomes True and False."""
        found = [self.passed_on(fork.branches[outcome], x, fork.known) for outcome in (True, False)]
        others = [source for source in found if source != ANY]
        return [others[0]] * 2 if len(others) == 1 and others[0] is not None else found

    def passed_on(self, fork: Fork, x: Any, known: int) -> Any:
        """Return the source of x at the end of all paths, if it is one and was there before the fork; or ANY."""
        sources = {self.loop.end_value(end, x) for end in ends_of(fork)}
        sources = sources - {ANY} or sources
        source: Any = sources.pop()
        return None if sources or (type(source) is StepValue and source.number > known) else source

    def conditional(self, fork: Fork, test: Any, now: dict[Any, Any], bases: dict[Any, Any]) -> list[Variable]:
        """Write a branch; return the values after it of the variables that have the values `now`."""
        inner = _Scope(self.loop, self)
        begun = [Input(value_of(v)) for v in now.values()]
        inner.given = {x: Variable(given) for x, given in zip(now, begun, strict=True)}
        for x in reversed(inner.given):
            if isinstance(bases[x], Link):
                inner.values[bases[x]] = inner.given[x]
        ends = inner.run(fork, [*now])
        captured = [*inner.captured.values()]
        body = closed_tape([*begun, Input(value_of(test)), *[v.op for _, v in captured]], inner.code, ends)
        args = [*now.values(), test, *[outer for outer, _ in captured]]
        return self.code.results_of(Loop(body, 1, (), len(ends), "number"), args, test.op.site)

    def base(self, fork: Fork, x: Any, passed: list[Any]) -> Any:
        """Return the value that the branches change to the next value of x, or with which it may begin.

        For an array it is that into which they store, so that they can store in place.
        """
        found = [source for source in passed if source is not None and source != ANY]
        found += [_stored_into(self.loop, inner, x, fork.known) for inner in fork.branches.values()]
        like = fork.joined[x].val if x in fork.joined else value_of(self.loop.begun[x])
        for source in found if x in fork.joined else [*found, x]:
            if x == GOES_ON:
                return True if source == GOES_ON else source
            if source is not None and _alike(value_of(self.value(source)), like):
                return source
        if x in fork.joined:
            return ZEROS
        raise UnsupportedTreeError("a variable changes its type in a branch")


def _stored_into(loop: BranchingLoop, fork: Fork, x: Any, known: int) -> Any:
    """Return the array from before step `known` into which the first path from a fork on stores to make x."""
    links = [loop.end_value(end, x) for end in ends_of(fork)]
    link: Any = next((each for each in links if each != ANY), None)
    while type(link) is StepValue and link.number > known:
        if link in loop.joining:
            found = [_stored_into(loop, branch, link, known) for branch in loop.joining[link].branches.values()]
            return next((source for source in found if source is not None), None)
        step = loop.steps[link]
        if step.op.fn not in _STORES or not links_in(step.args[0]):
            return None
        link = step.args[0]
    return link


def _alike(a: Any, b: Any) -> bool:
    return type(a) is type(b) and np.shape(a) == np.shape(b) and getattr(a, "dtype", 0) == getattr(b, "dtype", 0)


def _has_guards(fork: Fork) -> bool:
    """Whether a path from a fork on has a guard: a test with one recorded outcome."""
    return any([step.op.guard for inner in forks_of(fork) for step in inner.steps[: -1 if inner.branches else None]])


def _product(a: AffineForm, b: AffineForm) -> AffineForm | None:
    if a.terms and b.terms:
        return None
    return b.times(a.constant) if b.terms else a.times(b.constant)


_AFFINE: dict[Any, Any] = {
    operator.add: operator.add,
    operator.sub: lambda a, b: a + b.times(-1),
    operator.mul: _product,
    operator.neg: lambda a: a.times(-1),
    operator.pos: lambda a: a,
}
"""The functions of integers whose values are sums of counters, if their operands are."""
