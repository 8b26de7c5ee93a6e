"""Where a loop begins, or paths in it meet."""

from __future__ import annotations

from wengert.values.named_tuples import NamedTuple


class LoopHead(NamedTuple):
    """The head of a loop, or a statement in it where paths meet, with the local variables that are live there.

    `number` is the index of the head in the program, `place` that of the statement, for the head the same. All paths
    to the statement pass the place `since`, and no place of this kind that is common to them after it. The loop may
    change only the local variables in `set`. `is_for` says that a `for` begins there; `counts`, that its loop variable
    is not read, so that it only counts iterations. `grown` has the local variables that the loop only appends to, and
    how many of their last items it reads, `indexed` those of them that it also reads at a computed index, `after` those
    that are live when a `for` is exhausted. The loop of a list comprehension `fills` a list that is so deep on the
    stack; for one that yields to a consumer that is -1. It `breaks` if it may end otherwise than with its iterator.
    """

    number: int
    place: int
    since: int
    live: frozenset[str]
    is_for: bool
    counts: bool
    set: frozenset[str]
    grown: tuple[tuple[str, int], ...]
    indexed: frozenset[str]
    after: frozenset[str]
    fills: int
    breaks: bool


STRAIGHT = -1
"""The number of the LoopHead of a statement outside of loops."""
