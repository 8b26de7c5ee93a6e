"""How cotangents are summed: by what kind of addition, and when a sum goes on to the arguments of a call."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["SETTINGS", "accumulation"]

ADDITIONS = ("actions", "in place", "plus")
STRATEGIES = ("auto", "accumulate", "pass through")


class Settings(threading.local):
    """What is in force on this thread."""

    add = "actions"
    strategy = "auto"


SETTINGS = Settings()


@contextmanager
def accumulation(*, add: str | None = None, strategy: str | None = None) -> Iterator[None]:
    """Say how gradients on this thread sum cotangents inside the `with` block: to compare ways, or to debug.

    `add`: "plus" makes a new array for each sum, "in place" adds into buffers that nobody else can read, "actions" (the
    default) also lets rules and thunks add themselves to a buffer. `strategy`: "accumulate" sums what the uses of a
    value contribute and runs its pullback once, "pass through" runs it for each use; "auto" (the default) chooses the
    cheaper one for each value. The gradients agree to rounding.

    >>> with wg.accumulation(add="plus"):
    ...     wg.grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    array([2., 4.])

    Errors: ValueError for another word.
    Source: the seeds "Autodiff" (nGraph) and "Gradient Accumulation" (ChainRulesCore.jl).
    """
    before = SETTINGS.add, SETTINGS.strategy
    SETTINGS.add = _one_of(ADDITIONS, add or SETTINGS.add, "add")
    SETTINGS.strategy = _one_of(STRATEGIES, strategy or SETTINGS.strategy, "strategy")
    try:
        yield
    finally:
        SETTINGS.add, SETTINGS.strategy = before


def _one_of(words: tuple[str, ...], word: str, name: str) -> str:
    if word not in words:
        raise ValueError(f"{name}={word!r}: it is one of {', '.join(map(repr, words))}")
    return word
