"""Loops that do the same but for numbers: these become what the loops are called with, so that they are one loop.

So the inner loop of two, whose code takes a number from the outer one (a time, a step), is one function that is called
in each iteration of the outer one. Each of them was found to be a loop with numbers of its own; nothing is supposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.compiling.loops.branch_tree import Fork, OuterValue, Step, WhileLoop
from wengert.compiling.loops.periodicity import constant_key
from wengert.tape.ops import Constant, sequence_like
from wengert.values.specs import FLOATS


def shared(loops: Sequence[WhileLoop]) -> list[WhileLoop]:
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


def _given_floats(loops: list[WhileLoop]) -> list[WhileLoop]:
    """Loops that differ in floats alone, with these as values from before: one for those that are always equal."""
    floats = [*map(_floats_of, loops)]
    columns = {place: tuple([constant_key(own[place]) for own in floats]) for place in floats[0]}
    places = {column: place for place, column in columns.items() if len({*column}) > 1}
    numbers = {column: k for k, column in enumerate(places)}

    def given(loop: WhileLoop, own: dict[Any, Any]) -> WhileLoop:
        n, added = len(loop.outer), [Constant(own[place]) for place in places.values()]

        def outer(place: Any, x: float) -> Any:
            return OuterValue(n + numbers[columns[place]]) if columns[place] in numbers else x

        return _with_floats(loop, outer)._replace(outer=[*loop.outer, *added])

    return [*map(given, loops, floats)]


def _floats_of(loop: WhileLoop) -> dict[Any, Any]:
    """The floats in the arguments of a loop's steps, by their places."""
    found: dict[Any, Any] = {}
    _with_floats(loop, found.setdefault)
    return found


def _with_floats(loop: WhileLoop, change: Callable[[Any, float], Any]) -> WhileLoop:
    """The loop with `change(place, x)` for each float in the arguments of its steps."""

    def fork(one: Fork, place: tuple[Any, ...]) -> Fork:
        nexts = {key: fork(inner, (*place, Fork, key)) for key, inner in one.nexts.items()}
        return one._replace(steps=[step(s, (*place, k)) for k, s in enumerate(one.steps)], nexts=nexts)

    def step(one: Step, place: tuple[Any, ...]) -> Step:
        return one._replace(args=tree(one.args, place), kwargs=tree(one.kwargs, place))

    def tree(x: Any, place: tuple[Any, ...]) -> Any:
        if type(x) in FLOATS:
            return change(place, x)
        if type(x) is tuple or type(x) is list:
            return sequence_like(x, [tree(part, (*place, k)) for k, part in enumerate(x)])
        return {key: tree(part, (*place, key)) for key, part in x.items()} if type(x) is dict else x

    return loop._replace(ways=fork(loop.ways, ()))
