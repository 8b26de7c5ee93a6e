"""The branch tree of a loop: the calls of its iterations, which fork where a test had several outcomes, and may join.

If the state at two heads differs only in the loop variables (`compiling/watched/loop_states.py`), an iteration is a
function of these variables. So all iterations make the same calls up to a test, and after an outcome of it always the
calls that were recorded after that outcome. Nothing is known of outcomes that were not recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.tape.ops import Call, Constant, Op, references, with_variables
from wengert.values.identity_set import Functions


@dataclass(frozen=True, order=True)
class Link:
    """The source of an operand in an iteration, with its number among those of one kind."""

    number: int


class StepValue(Link):
    """The value of the step of this number on the path."""


class LoopVariable(Link):
    """The loop-carried variable of this number, at the head."""


class OuterValue(Link):
    """The value of this number among those computed before the loop."""


class IterationNumber(Link):
    """The number of the iteration."""


class AnotherFollows(Link):
    """Whether another iteration follows, of a number that is computed."""


ITERATION, MORE = IterationNumber(0), AnotherFollows(0)
ANY = "any"
"""A value that nothing reads."""
_OF_LISTS = Functions(np.array, np.asarray, np.stack)


def takes_list(op: Any) -> bool:
    """Whether a call makes an array of the numbers or arrays in a list."""
    known = isinstance(op, Call) and op.fn in _OF_LISTS and not op.kwargs and len(op.args) == 1
    return known and isinstance(op.args[0], list | tuple)


def link_order(link: Link) -> Any:
    """Return a key that sorts links of several kinds."""
    return type(link).__name__, link


class PathStep(NamedTuple):
    """A call on a path: its number, links in its arguments, and its op in one iteration."""

    at: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    op: Call


class Fork(NamedTuple):
    """Steps; then the `end` of the path, or `branches` by the outcome of the last step.

    If the branches join, `joined` has the values of variables that differ between them, each with its op in one
    iteration, and `rest` is what follows.
    """

    steps: list[PathStep]
    branches: dict[Any, Fork]
    end: PathEnd | BranchEnd | None
    joined: dict[StepValue, Op]
    rest: Fork | None

    @property
    def known(self) -> int:
        """The number that all later steps exceed, if the last step is a test."""
        return self.steps[-1].at


class BranchEnd(NamedTuple):
    """The end of a branch that joins others: the source of each joined value."""

    outputs: dict[StepValue, Link]
    exits: bool = False


class PathEnd(NamedTuple):
    """The end of a path: its outputs are the variables of the next iteration, or, if it `exits`, the loop's results.

    `variables` are those at the head of an iteration that took this path; `ending` is the number of the end among those
    that exit. If there are several of these, all have the same outputs, and ANY is one that nothing reads.
    """

    exits: bool
    outputs: list[Any]
    variables: list[Op]
    ending: int = 0


class TakenList(NamedTuple):
    """A call after a loop, `reader`, that makes an array of a list to which each iteration has appended.

    Variables of these numbers had the items as their values; if items are lists, the parts of these, of which the
    calls `rows` make arrays for the reader.
    """

    reader: Call
    numbers: list[int]
    rows: list[Any]

    @property
    def calls(self) -> list[Any]:
        """The reader and the calls that only it reads."""
        return [self.reader, *self.rows]


class WhileLoop(NamedTuple):
    """A loop: its branch tree, its variables at the first head, the outer values it reads, and where its ops are.

    `results` are the ops of the outputs of the end that exits, None for one that has none; `ending` is the number of
    that end, of so many `endings`, and `unlike` has the numbers of results, each with a float that it must not be. A
    `for` has at most `max_count` iterations; `exhausted` is the end after the last one, if the trace reached it.
    `items` are the ops of list items that are read after the loop, each with two numbers: that of the variable that had
    its value after an iteration, and that of the iteration. `lists` are the later calls that take a whole list.
    `number` is the number of iterations, if that is computed.
    """

    tree: Fork
    variables: list[Op]
    outer_values: list[Op]
    start: int
    stop: int
    results: list[Op | None]
    max_count: int | None
    exhausted: PathEnd | None
    items: list[tuple[Op, int, int]]
    lists: list[TakenList]
    number: Link | None
    ending: int
    endings: int
    unlike: list[tuple[int, float]]

    @property
    def listed(self) -> set[int]:
        """The numbers of the variables that had the values of list items that are read after the loop."""
        return {j for _, j, _ in self.items} | {j for taken in self.lists for j in taken.numbers}

    def op_of(self, link: Any) -> Op:
        """Return the op of a loop variable at the first head, of an outer value, or of the number 0 of an iteration."""
        if link == ITERATION:
            return Constant(0.0)
        return (self.variables if type(link) is LoopVariable else self.outer_values)[link.number]

    def ends(self) -> Iterator[PathEnd]:
        """Yield the ends of the paths through an iteration."""
        yield from ends_of(self.tree)
        if self.exhausted is not None:
            yield self.exhausted


def ends_of(fork: Fork) -> Iterator[Any]:
    """Yield the ends of all paths from a fork on."""
    if fork.end is not None:
        yield fork.end
    for inner in fork.branches.values() if fork.rest is None else [fork.rest]:
        yield from ends_of(inner)


def forks_of(fork: Fork) -> Iterator[Fork]:
    """Yield a fork and all in it."""
    yield fork
    for inner in (*fork.branches.values(), *([] if fork.rest is None else [fork.rest])):
        yield from forks_of(inner)


def links_in(tree: Any) -> list[Any]:
    """Return the links in arguments, in order."""
    return list(references(tree, Link))


def drop_unread_variables(runs: list[WhileLoop]) -> list[WhileLoop]:
    """Return the runs of a loop without the variables that iterations only pass on."""
    if not runs:
        return []
    loop = runs[0]
    read = _read_links(loop, {j for one in runs for j in one.listed})
    numbers = [j for j in range(len(loop.variables)) if LoopVariable(j) in read]
    new: dict[Link, Link] = {LoopVariable(j): LoopVariable(k) for k, j in enumerate(numbers)}
    tree = _renewed(loop.tree, new, numbers, read)
    exhausted = loop.exhausted and _renewed_end(loop.exhausted, new, numbers, read)
    found = []
    for one in runs:
        items = [(op, numbers.index(j), k) for op, j, k in one.items]
        variables = [one.variables[j] for j in numbers]
        lists = [taken._replace(numbers=[*map(numbers.index, taken.numbers)]) for taken in one.lists]
        found.append(one._replace(tree=tree, variables=variables, exhausted=exhausted, items=items, lists=lists))
    return found


def _read_links(loop: WhileLoop, listed: Collection[int]) -> set[Link]:
    """Return the links that steps read or the loop returns, and those from which these come."""
    forks = [*forks_of(loop.tree)]
    ends: list[Any] = [fork.end for fork in forks if fork.end is not None]
    ends += [] if loop.exhausted is None else [loop.exhausted]
    todo = [link for fork in forks for step in fork.steps for link in links_in((step.args, step.kwargs))]
    todo += [link for end in ends if end.exits for link in end.outputs]
    todo += map(LoopVariable, listed)
    sources: dict[Any, list[Link]] = {}
    for end in [end for end in ends if not end.exits]:
        given = end.outputs if type(end) is BranchEnd else {LoopVariable(j): x for j, x in enumerate(end.outputs)}
        for link, source in given.items():
            sources.setdefault(link, []).append(source)
    read: set[Link] = set()
    while todo:
        link = todo.pop()
        if link not in read:
            read.add(link)
            todo += sources.get(link, ())
    return read


def _renewed(fork: Fork, new: dict[Link, Link], numbers: list[int], read: Collection[Link]) -> Fork:
    """Return a fork with the `new` links, the variables of these numbers, and the joined values that are read.

    If a joined value has one source, which was there before the fork, that takes its place.
    """
    steps = [PathStep(at, _with_links(args, new), _with_links(kwargs, new), op) for at, args, kwargs, op in fork.steps]
    branches = {key: _renewed(inner, new, numbers, read) for key, inner in fork.branches.items()}
    end = fork.end and _renewed_end(fork.end, new, numbers, read)
    if fork.rest is None:
        return Fork(steps, branches, end, {}, None)
    ends = [end for inner in branches.values() for end in ends_of(inner)]
    joined = {}
    for link, op in fork.joined.items():
        sources = {end.outputs[link] for end in ends} if link in read else set()
        if len(sources) > 1 or any([type(source) is StepValue and source.number > fork.known for source in sources]):
            joined[link] = op
        elif sources:
            new = {**new, link: sources.pop()}
    return Fork(steps, branches, end, joined, _renewed(fork.rest, new, numbers, read))


def _renewed_end(end: Any, new: dict[Link, Link], numbers: list[int], read: Collection[Link]) -> Any:
    if type(end) is BranchEnd:
        return BranchEnd({link: new.get(source, source) for link, source in end.outputs.items() if link in read})
    outputs = end.outputs if end.exits else [end.outputs[j] for j in numbers]
    return end._replace(outputs=_with_links(outputs, new), variables=[end.variables[j] for j in numbers])


def _with_links(tree: Any, new: dict[Link, Link]) -> Any:
    return with_variables(tree, lambda link: new.get(link, link), Link)
