"""Loops of tapes: what a tape calls in the place of many equal iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.values.computed import computed_once


class Loop:
    """`count` runs of `body`, each on what the one before gave; a tape calls it, as `Call(loop, args)`.

    The arguments, and the inputs of the body, are in this order
    - the places: ints that are another in each iteration, the first of each; `steps` says what is added to it;
    - what is carried: the values that the first iteration begins with;
    - what is the same in all iterations.
    The body gives a tuple: what is carried on, in that order, then what is read of the last iteration alone. The last
    iteration's tuple is the result of the loop, so there is one iteration at least. An array that is carried and
    written by a store in the body is written in place: that is how a loop fills an array, a row at a time.
    """

    def __init__(self, body: Any, count: int, steps: Sequence[int], carried: int) -> None:
        self.body, self.count, self.steps, self.carried = body, count, tuple(steps), carried

    @property
    def __name__(self) -> str:
        return f"loop of {self.count}"

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        n = len(self.steps)
        places, carried, same = args[:n], args[n : n + self.carried], args[n + self.carried :]
        for k in range(self.count):
            at = [place + k * step for place, step in zip(places, self.steps, strict=True)]
            found = self.iteration(*at, *carried, *same)
            carried = found[: self.carried]
        return found

    @computed_once
    def iteration(self) -> Callable[..., tuple[Any, ...]]:
        """One iteration as a function."""
        return self.body.compile("iteration")
