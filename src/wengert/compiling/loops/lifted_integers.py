"""Decide whether a loop may begin with a float in place of a constant integer, as in `total = 0`, then `total += v`.

It may if no path through an iteration uses the integer, or a variable that may still hold it, otherwise than in sums
and products with floats of NumPy, and comparisons. The code checks that no result of the loop is that integer.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection
from typing import Any

import numpy as np

from wengert.compiling.loops.branch_tree import (
    BranchEnd,
    Fork,
    Link,
    LoopVariable,
    PathEnd,
    PathStep,
    forks_of,
    links_in,
)
from wengert.tape.ops import value_of
from wengert.values.identity_set import Functions
from wengert.values.specs import is_inexact


def integer_results(
    integers: set[Link], tree: Fork, exhausted: PathEnd | None, may_run_never: bool
) -> set[Link] | None:
    """Return the results of a loop that may be one of the integers that these links hold at first.

    Return None unless the loop computes all others from floats as from these integers.
    """
    forks = [*forks_of(tree)]
    ends: list[Any] = [fork.end for fork in forks if fork.end is not None]
    held, held_later = _held(integers, ends)
    results = {link for end in ends if end.exits for link in end.outputs} & held
    if exhausted is not None:
        results |= {*exhausted.outputs} & (held if may_run_never else held_later)
    uses = [step for fork in forks for step in fork.steps if held.intersection(links_in((step.args, step.kwargs)))]
    return results if all([_takes_floats(step, held) for step in uses]) else None


def _held(integers: set[Link], ends: list[Any]) -> tuple[set[Link], set[Link]]:
    """Return the links that may hold one of the integers, and those of variables that may do so after an iteration."""
    held, later = {*integers}, set[Link]()
    while True:
        before = len(held), len(later)
        for end in ends:
            if type(end) is BranchEnd:
                held |= {link for link, source in end.outputs.items() if source in held}
            elif not end.exits:
                variables = zip(map(LoopVariable, itertools.count()), end.outputs, strict=False)
                later |= {link for link, source in variables if source in held}
        held |= later
        if (len(held), len(later)) == before:
            return held, later


def _takes_floats(step: PathStep, held: Collection[Link]) -> bool:
    """Whether a step computes the same from integers in these links as from floats."""
    if step.op.fn in _COMPARISONS:
        return True
    pairs = [(x, value_of(value)) for x, value in zip(step.args, step.op.args, strict=True)]
    are_floats = [
        is_inexact(value) and (isinstance(value, np.ndarray | np.generic) or not isinstance(x, Link))
        for x, value in pairs
        if not (isinstance(x, Link) and x in held)
    ]  # a traced float of Python may be an integer of the function
    return step.op.fn in _ARITHMETIC and any(are_floats) and all(are_floats)


_ARITHMETIC = Functions(operator.add, operator.sub, operator.mul, np.add, np.subtract, np.multiply)
_COMPARISONS = Functions(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
