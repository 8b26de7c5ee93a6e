"""Share the code of loops that differ only in floats: pass these floats to the loop as arguments.

An inner loop whose code depends on a float of the outer one (a time, a step) so becomes one function, called in each
iteration of the outer loop. Each was recorded as a loop with its own floats, so nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.compiling.loops.branch_tree import Fork, OuterValue, PathStep, WhileLoop
from wengert.compiling.loops.periodicity import constant_key
from wengert.tape.ops import Constant, sequence_like
from wengert.values.specs import FLOATS


def share_loops(loops: Sequence[WhileLoop]) -> list[WhileLoop]:
    """Return the loops; those that differ only in floats get these as outer values."""
    alike: dict[Any, list[int]] = {}
    for k, loop in enumerate(loops):
        alike.setdefault(_map_floats(loop, lambda place, x: type(x)).key, []).append(k)
    made = [*loops]
    for group in alike.values():
        some = [loops[k] for k in group]
        if len({loop.key for loop in some}) > 1:
            for k, loop in zip(group, _with_floats_as_arguments(some), strict=True):
                made[k] = loop
    return made


def _with_floats_as_arguments(loops: list[WhileLoop]) -> list[WhileLoop]:
    """Return loops that differ only in floats, with these as outer values, one for those that are always equal."""
    floats = [*map(_floats_of, loops)]
    columns = {place: tuple([constant_key(own[place]) for own in floats]) for place in floats[0]}
    places = {column: place for place, column in columns.items() if len({*column}) > 1}
    numbers = {column: k for k, column in enumerate(places)}

    def parametrised(loop: WhileLoop, own: dict[Any, Any]) -> WhileLoop:
        n, added = len(loop.outer_values), [Constant(own[place]) for place in places.values()]

        def outer(place: Any, x: float) -> Any:
            return OuterValue(n + numbers[columns[place]]) if columns[place] in numbers else x

        return _map_floats(loop, outer)._replace(outer_values=[*loop.outer_values, *added])

    return [*map(parametrised, loops, floats)]


def _floats_of(loop: WhileLoop) -> dict[Any, Any]:
    """Map the place of each float in the arguments of a loop's steps to the float."""
    found: dict[Any, Any] = {}
    _map_floats(loop, found.setdefault)
    return found


def _map_floats(loop: WhileLoop, change: Callable[[Any, float], Any]) -> WhileLoop:
    """Replace each float x in the arguments of a loop's steps by `change(place, x)`."""

    def fork(one: Fork, place: tuple[Any, ...]) -> Fork:
        branches = {key: fork(inner, (*place, Fork, key)) for key, inner in one.branches.items()}
        return one._replace(steps=[step(s, (*place, k)) for k, s in enumerate(one.steps)], branches=branches)

    def step(one: PathStep, place: tuple[Any, ...]) -> PathStep:
        return one._replace(args=tree(one.args, place), kwargs=tree(one.kwargs, place))

    def tree(x: Any, place: tuple[Any, ...]) -> Any:
        if type(x) in FLOATS:
            return change(place, x)
        if type(x) is tuple or type(x) is list:
            return sequence_like(x, [tree(part, (*place, k)) for k, part in enumerate(x)])
        return {key: tree(part, (*place, key)) for key, part in x.items()} if type(x) is dict else x

    return loop._replace(tree=fork(loop.tree, ()))
