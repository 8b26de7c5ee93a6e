"""Find the steps of a tape that repeat, as those of an unrolled loop do, for a page that shows one iteration."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

FEWEST_ITERATIONS = 4
FEWEST_HIDDEN = 8  # steps that a repeat must hide
MOST_PERIODS = 16  # periods tried at each step


class Repeat(NamedTuple):
    """`times` equal iterations of `period` steps, with the repeats inside one iteration, `inner`.

    `first` counts from the start of the tape, or of the iteration around it.
    """

    first: int
    period: int
    times: int
    inner: tuple[Repeat, ...] = ()


class _Item(NamedTuple):
    """A step, or a repeat that the search has already found; `length` in steps."""

    token: Hashable
    length: int = 1
    repeat: Repeat | None = None


def repeats(tokens: Sequence[Hashable]) -> tuple[Repeat, ...]:
    """Return the repeats in a sequence of steps; equal tokens are equal steps.

    >>> repeats("a" + "bcd" * 5 + "e")
    (Repeat(first=1, period=3, times=5, inner=()),)
    """
    items, longest = [_Item(token) for token in tokens], 8
    while longest < 2 * len(items):  # short periods first, so that inner loops are found before outer ones
        while len(folded := _fold_once(items, longest)) < len(items):
            items = folded
        longest *= 2
    return _repeats_among(items)


def _fold_once(items: Sequence[_Item], longest: int) -> list[_Item]:
    """Replace each run of equal iterations of at most `longest` items by one item."""
    search, folded, k = _Search(items, longest), list[_Item](), 0
    while k < len(items):
        period, times = search.iterations_at(k)
        folded.append(_folded(items[k : k + period], times) if times > 1 else items[k])
        k += period * times
    return folded


def _folded(body: Sequence[_Item], times: int) -> _Item:
    period = sum(item.length for item in body)
    token = (times, tuple([item.token for item in body]))
    return _Item(token, period * times, Repeat(0, period, times, _repeats_among(body)))


def _repeats_among(items: Sequence[_Item]) -> tuple[Repeat, ...]:
    found, first = list[Repeat](), 0
    for item in items:
        if item.repeat is not None:
            found.append(item.repeat._replace(first=first))
        first += item.length
    return tuple(found)


class _Search:
    """A search for runs of equal iterations in one sequence, of at most `longest` items each."""

    def __init__(self, items: Sequence[_Item], longest: int) -> None:
        numbers: dict[Hashable, int] = {}
        self.longest = longest
        self.starts = list(accumulate((item.length for item in items), initial=0))
        self.tokens = tokens = [numbers.setdefault(item.token, len(numbers)) for item in items]
        self.next = [0] * len(tokens)  # the next place of each token
        self.ends: dict[int, int] = {}  # by period: up to where each token is equal to the one a period later
        latest: dict[int, int] = {}
        for k in range(len(tokens) - 1, -1, -1):
            self.next[k] = latest.get(self.tokens[k], 0)
            latest[self.tokens[k]] = k

    def iterations_at(self, start: int) -> tuple[int, int]:
        """Return the period and the number of iterations that begin at `start`: 1 and 1 if nothing repeats."""
        for period in islice(self._periods(start), MOST_PERIODS):
            times = self._equal_from(start, period) // period + 1
            hidden = (times - 1) * (self.starts[start + period] - self.starts[start])
            if times >= FEWEST_ITERATIONS and hidden >= FEWEST_HIDDEN:
                return period, times
        return 1, 1

    def _periods(self, start: int) -> Iterator[int]:
        """Yield the distances from a token to its next places, up to the longest period."""
        k = self.next[start]
        while k and k - start <= self.longest:
            yield k - start
            k = self.next[k]

    def _equal_from(self, start: int, period: int) -> int:
        """Return how many tokens from `start` on are equal to those a period later."""
        if self.ends.get(period, 0) <= start:
            k, tokens = start, self.tokens
            while k + period < len(tokens) and tokens[k] == tokens[k + period]:
                k += 1
            self.ends[period] = k
        return self.ends[period] - start


__all__ = ["Repeat", "repeats"]
