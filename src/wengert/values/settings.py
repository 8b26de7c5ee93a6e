"""Settings that a `with` block changes: how cotangents are summed, and which checks run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["SETTINGS", "accumulation_options", "debug"]

ADDITIONS = ("actions", "in place", "plus")
STRATEGIES = ("auto", "accumulate", "pass through")


class Settings(threading.local):
    """The settings of this thread: kind of addition, strategy of accumulation, and checks.

    `are_default` is False inside a block that changes a setting: compiled functions run uncompiled there.
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
def accumulation_options(*, add: str | None = None, strategy: str | None = None) -> Iterator[None]:
    """Choose how gradients on this thread sum cotangents inside the `with` block, to compare or to debug.

    The gradients agree up to rounding.

    Parameters:
        add (str | None): "plus" makes a new array for each sum; "in place" adds into buffers that only the engine
            reads; "actions" (the default) also lets rules and thunks add to a buffer themselves.
        strategy (str | None): "accumulate" sums the contributions of all uses of a value and runs its pullback once;
            "pass through" runs it for each use; "auto" (the default) chooses the cheaper one for each value.
    Yields:
        None: A context manager to use in a `with` statement.
    Raises:
        ValueError: Another string.
    See Also:
        debug, grad

    Examples:
        >>> with wg.accumulation_options(add="plus"):
        ...     wg.grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
        array([2., 4.])
    """
    add = _one_of(ADDITIONS, add or SETTINGS.add, "add")
    strategy = _one_of(STRATEGIES, strategy or SETTINGS.strategy, "strategy")
    with SETTINGS.changed(add=add, strategy=strategy):
        yield


def _one_of(words: tuple[str, ...], word: str, name: str) -> str:
    if word not in words:
        raise ValueError(f"{name}={word!r}: pass one of {', '.join(map(repr, words))}")
    return word


@contextmanager
def debug() -> Iterator[None]:
    """Check, inside the `with` block and on this thread, each rule and thunk that adds to a buffer in place.

    It must return the array that it received, and no other cotangent may share that memory.

    Yields:
        None: A context manager to use in a `with` statement.
    Raises:
        RuleError: From the derivative: a rule breaks this; the error has its name and line.
    See Also:
        accumulates, accumulation_options

    Examples:
        >>> with wg.debug():
        ...     wg.grad(lambda x: np.sum(x * x) + np.sum(x[:1]))(np.array([1.0, 2.0]))
        array([3., 4.])
    """
    with SETTINGS.changed(debug=True):
        yield
