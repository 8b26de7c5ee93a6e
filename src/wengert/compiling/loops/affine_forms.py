"""Integers that a loop counts, or computes from its counters, as sums.

The trace computes them as floats; they become integers that keys and arithmetic read.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from wengert.compiling.loops.body_code import BodyCode
from wengert.compiling.loops.branch_tree import Link, LoopVariable, OuterValue, PathStep, WhileLoop, link_order
from wengert.tape.ops import Constant, Variable
from wengert.values.functional import as_index, whole


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


def affine_form(link: Any, steps: Mapping[Any, PathStep], counters: Mapping[Link, int]) -> AffineForm | None:
    """Return the sum of counters and outer values that an integer is; None if it is no such sum."""
    if type(link) in (int, float):
        return AffineForm(int(link))
    if type(link) is OuterValue or link in counters:
        return AffineForm(0, ((link, 1),))
    step = steps.get(link)
    if step is None or step.op.fn is not whole:
        return None
    fn, *args = step.args
    forms = [affine_form(a, steps, counters) for a in args]
    return _AFFINE[fn](*forms) if fn in _AFFINE and None not in forms else None


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


def counters_of(one: WhileLoop, steps: Mapping[Any, PathStep]) -> dict[Link, int]:
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


def integer_outside(code: BodyCode, form: AffineForm, run: WhileLoop, held: Collection[Any]) -> Any:
    """Return the value of an integer in the first iteration of a run; constants in `held` stay variables."""
    constant, total = form.constant, None
    for link, factor in form.terms:
        op = run.op_of(link)
        if type(op) is Constant and op not in held:
            constant += factor * int(op.val)
            continue
        term = Variable(op) if factor == 1 else code.call(whole, operator.mul, Variable(op), float(factor))
        total = term if total is None else code.call(whole, operator.add, total, term)
    if total is None:
        return constant
    return code.call(as_index, code.call(whole, operator.add, total, float(constant)) if constant else total)
