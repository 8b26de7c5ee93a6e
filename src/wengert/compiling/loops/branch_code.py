"""Write a branch tree as the code of an iteration, in which the branches are loops that run at most once."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiling.loops.affine_forms import AffineForm, affine_form
from wengert.compiling.loops.body_code import BodyCode, closed_tape, input_like
from wengert.compiling.loops.branch_tree import ANY, Fork, Link, PathStep, StepValue, ends_of, forks_of, links_in
from wengert.compiling.ops import is_item_store
from wengert.tape.loops import Loop
from wengert.tape.needed import stays
from wengert.tape.ops import Call, Input, Variable, value_of, with_variables
from wengert.values.functional import as_index, whole

GOES_ON, ENDING, ZEROS = "goes on", "ending", "zeros"
"""The flag by which a loop goes on, the number of the end that it took, and zeros of some shape."""


class UnsupportedTreeError(Exception):
    """A branch tree cannot be written as a Loop."""


class BranchCode:
    """The code of the body of a BranchingLoop, or of a branch in it; a branch has another one `around` it.

    `values` are those of the steps so far, joined values, and the inputs of a branch. The steps that compute integers
    are written when another step reads them.
    """

    def __init__(self, loop: Any, around: BranchCode | None = None) -> None:
        self.loop, self.around = loop, around
        self.code = BodyCode()
        self.values: dict[Any, Any] = {}
        self.captured: dict[Any, tuple[Any, Variable]] = {}  # the values from around, and the inputs for them
        self.given: dict[Any, Any] = loop.begun  # the values of variables with which the scope begins

    # -- values

    def value(self, link: Any) -> Any:
        """Return the value of a link; a bool is a flag, and a float the number of an end."""
        if type(link) in (bool, float):
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
                return self.push(step)
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
        return affine_form(link, self.loop.steps, self.loop.counters)

    def capture(self, x: Any) -> Any:
        """Return a value from around a branch in it."""
        if not isinstance(x, Variable):
            return x
        if x.op not in self.captured:
            self.captured[x.op] = x, input_like(x.op)
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
            if is_needed or any(map(stays, one_way_calls(fork.branches[outcome]))):
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
        inner = BranchCode(self.loop, self)
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


def _stored_into(loop: Any, fork: Fork, x: Any, known: int) -> Any:
    """Return the array from before step `known` into which the first path from a fork on stores to make x."""
    links = [loop.end_value(end, x) for end in ends_of(fork)]
    link: Any = next((each for each in links if each != ANY), None)
    while type(link) is StepValue and link.number > known:
        if link in loop.joining:
            found = [_stored_into(loop, branch, link, known) for branch in loop.joining[link].branches.values()]
            return next((source for source in found if source is not None), None)
        step = loop.steps[link]
        if not is_item_store(step.op) or not links_in(step.args[0]):
            return None
        link = step.args[0]
    return link


def _alike(a: Any, b: Any) -> bool:
    return type(a) is type(b) and np.shape(a) == np.shape(b) and getattr(a, "dtype", 0) == getattr(b, "dtype", 0)


def one_way_calls(tree: Fork) -> list[Call]:
    """Return the calls of a tree but the tests at its forks."""
    return [step.op for fork in forks_of(tree) for step in fork.steps[: -1 if fork.branches else None]]
