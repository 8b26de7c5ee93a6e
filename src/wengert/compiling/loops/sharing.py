"""Loops that do the same but for numbers: these become what the loops are called with, so that they are one loop.

So the inner loop of two, whose code takes a number from the outer one (a time, a step), is one function that is called
in each iteration of the outer one. Each of them was found to be a loop with numbers of its own; nothing is supposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.compiling.loops.repeats import constant_key
from wengert.compiling.loops.ways import Fork, Found, Outer, Step
from wengert.tape.ops import Constant, sequence_like
from wengert.values.specs import FLOATS


def shared(loops: Sequence[Found]) -> list[Found]:
    """The loops, of which those that differ in floats alone have these as values from before."""
    alike: dict[Any, list[int]] = {}
    for k, loop in enumerate(loops):
        alike.setdefault(_with_floats(loop, lambda place, x: type(x)).key, []).append(k)
    made = [*loops]
    for group in alike.values():
        some = [loops[k] for k in group]
        if len({loop.key for loop in some}) > 1:
            for k, loop in zip(group, _given_floats(some), strict=True):
                made[k] = loop
    return made


def _given_floats(loops: list[Found]) -> list[Found]:
    """Loops that differ in floats alone, with these as values from before: one for those that are always equal."""
    floats: list[dict[Any, float]] = [{} for _ in loops]
    for loop, own in zip(loops, floats, strict=True):
        _with_floats(loop, lambda place, x, own=own: own.setdefault(place, x))  # type: ignore[misc]
    columns = {place: tuple([constant_key(own[place]) for own in floats]) for place in floats[0]}
    numbers: dict[Any, int] = {}
    for column in columns.values():
        if len({*column}) > 1:
            numbers.setdefault(column, len(numbers))
    made = []
    for loop, own in zip(loops, floats, strict=True):
        first = len(loop.outer)
        outer = [*loop.outer, *[Constant(own[next(p for p in columns if columns[p] == c)]) for c in numbers]]

        def given(place: Any, x: float, first: int = first) -> Any:
            number = numbers.get(columns[place])
            return x if number is None else Outer(first + number)

        made.append(_with_floats(loop, given)._replace(outer=outer))
    return made


def _with_floats(loop: Found, change: Callable[[Any, float], Any]) -> Found:
    """The loop with `change(place, x)` for each float in the arguments of its steps."""

    def fork(one: Fork, place: tuple[Any, ...]) -> Fork:
        steps = [
            Step(tree(step.args, (*place, k)), tree(step.kwargs, (*place, k)), step.op)
            for k, step in enumerate(one.steps)
        ]
        return Fork(one.start, steps, {key: fork(inner, (*place, key)) for key, inner in one.nexts.items()}, one.end)

    def tree(x: Any, place: tuple[Any, ...]) -> Any:
        if type(x) in FLOATS:
            return change(place, x)
        if type(x) is tuple or type(x) is list:
            return sequence_like(x, [tree(part, (*place, k)) for k, part in enumerate(x)])
        return {key: tree(part, (*place, key)) for key, part in x.items()} if type(x) is dict else x

    return loop._replace(ways=fork(loop.ways, ()))
