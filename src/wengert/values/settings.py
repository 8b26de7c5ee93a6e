"""Settings of a `with` block of the user's: how cotangents are summed, and what is checked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["SETTINGS", "accumulation", "debug"]

ADDITIONS = ("actions", "in place", "plus")
STRATEGIES = ("auto", "accumulate", "pass through")


class Settings(threading.local):
    """Of this thread: by what kind of addition, when a sum goes on to the arguments of a call, and what is checked.

    `are_default` is False inside each block that changes a setting: compiled functions run uncompiled there.
    """

    def __init__(self) -> None:
        self.add, self.strategy = "actions", "auto"
        self.debug = self.debug_nans = False
        self.are_default = True

    @contextmanager
    def changed(self, **settings: Any) -> Iterator[None]:
        """Put these settings in force inside the `with` block."""
        before = {name: getattr(self, name) for name in (*settings, "are_default")}
        vars(self).update(settings, are_default=False)
        try:
            yield
        finally:
            vars(self).update(before)


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
    add = _one_of(ADDITIONS, add or SETTINGS.add, "add")
    strategy = _one_of(STRATEGIES, strategy or SETTINGS.strategy, "strategy")
    with SETTINGS.changed(add=add, strategy=strategy):
        yield


def _one_of(words: tuple[str, ...], word: str, name: str) -> str:
    if word not in words:
        raise ValueError(f"{name}={word!r}: it is one of {', '.join(map(repr, words))}")
    return word


@contextmanager
def debug() -> Iterator[None]:
    """Check, inside the `with` block and on this thread, each thunk that adds itself to a buffer.

    What is checked: its `add` returns the very array that it was given, and no other cotangent shares that memory.

    >>> with wg.debug():
    ...     wg.grad(lambda x: np.sum(x * x) + np.sum(x[:1]))(np.array([1.0, 2.0]))
    array([3., 4.])

    Errors: RuleError, which names the rule and its line.
    """
    with SETTINGS.changed(debug=True):
        yield
