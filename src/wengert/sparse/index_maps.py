"""Index maps of functions that only move elements, found by running them twice on labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.sparse.dependences import shaped
from wengert.sparse.sets import EMPTY
from wengert.values.numeric_trees import as_kind, numbers


class NotMoved(Exception):
    """A function computed something else than labels."""


def drawn(total: int, digits: int, seed: int) -> np.ndarray:
    """So many different labels: whole numbers that a float of so many binary `digits` has exactly, in no order.

    They lie in one octave, so that sums, differences and multiples of them are none. A mean of labels may be one by
    chance, as a second drawing tells.
    """
    low = 2**digits
    if 4 * total > low:
        raise NotMoved
    random = np.random.default_rng([seed, total])
    steps = np.sort(random.integers(0, low - total, total, endpoint=True))
    return random.permutation(low + steps + np.arange(total)).astype(float)


def moved_sets(run: Callable[[list[Any]], Any], values: Sequence[Any], result: Any, sets: np.ndarray) -> Any:
    """The dependences of the elements of `result`, each of which is an element of `values`, or constant.

    `run(values)` computes a result from values in the place of these; `sets` are the dependences of all their elements.
    Errors: NotMoved where the function does more than to move elements.
    """
    digits = min([np.finfo(np.result_type(x)).nmant for x in [*values, *numbers(result)]], default=52)
    total = len(sets)
    first, second = drawn(total, digits, 1), drawn(total, digits, 2)
    with np.errstate(all="ignore"):
        one, other = run(_labelled(values, first)), run(_labelled(values, second))
    if not _alike(one, result) or not _alike(other, result):
        raise NotMoved
    pairs = zip(numbers(one), numbers(other), strict=True)
    found = iter([_sources(np.asarray(a), np.asarray(b), first, second) for a, b in pairs])
    numbered = np.concatenate([sets, [EMPTY]])  # of a constant
    return shaped(result, lambda _: numbered[next(found)])


def _labelled(values: Sequence[Any], labels: np.ndarray) -> list[Any]:
    """Labels in the place of values, each of its kind, shape and layout in memory."""
    ends = np.cumsum([np.size(value) for value in values])
    return [_like(value, part) for value, part in zip(values, np.split(labels, ends[:-1]), strict=True)]


def _like(value: Any, labels: np.ndarray) -> Any:
    if not isinstance(value, np.ndarray):
        return as_kind(value, labels.astype(np.result_type(value)).reshape(()))
    out = np.empty_like(value)
    out[...] = labels.reshape(value.shape)
    return out


def _alike(made: Any, result: Any) -> bool:
    """Whether what was computed from labels has the form of the recorded result."""
    shapes = [[np.shape(x) for x in numbers(whole)] for whole in (made, result)]
    return type(made) is type(result) and shapes[0] == shapes[1]


def _sources(a: np.ndarray, b: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which of the `first` labels each element of `a` is, checked on `b`, made of the `second`; -1 for constants."""
    order = np.argsort(first)
    places = order[np.minimum(np.searchsorted(first, a.real, sorter=order), len(first) - 1)]
    is_moved = (first[places] == a) & (second[places] == b)
    if not np.all(is_moved | (a == b)):
        raise NotMoved
    return np.where(is_moved, places, -1)
