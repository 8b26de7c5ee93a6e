"""Index maps of functions that only move elements, found by running each function twice on labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.sparse.dependences import shaped_like
from wengert.sparse.sets import EMPTY
from wengert.values.numeric_trees import as_kind, numbers


class NotAMove(Exception):
    """A function did more than move labels."""


def draw_labels(total: int, digits: int, seed: int) -> np.ndarray:
    """Draw `total` different labels, in random order: integers that a float with `digits` binary digits represents.

    They lie in one octave, so that no sum, difference or multiple of labels is a label. A mean of labels may be one by
    chance; labels drawn with another `seed` show that.
    """
    low = 2**digits
    if 4 * total > low:
        raise NotAMove
    random = np.random.default_rng([seed, total])
    steps = np.sort(random.integers(0, low - total, total, endpoint=True))
    return random.permutation(low + steps + np.arange(total)).astype(float)


def moved_sets(run: Callable[[list[Any]], Any], values: Sequence[Any], result: Any, sets: np.ndarray) -> Any:
    """Return the dependences of the elements of `result`, if each is an element of `values` or a constant.

    `run(values)` computes a result from other values; `sets` are the dependences of all elements of `values`.
    Errors: NotAMove if the function does more than move elements.
    """
    digits = min([np.finfo(np.result_type(x)).nmant for x in [*values, *numbers(result)]], default=52)
    total = len(sets)
    first, second = draw_labels(total, digits, 1), draw_labels(total, digits, 2)
    with np.errstate(all="ignore"):
        one, other = run(_labelled(values, first)), run(_labelled(values, second))
    if not _has_same_form(one, result) or not _has_same_form(other, result):
        raise NotAMove
    pairs = zip(numbers(one), numbers(other), strict=True)
    found = iter([_source_positions(np.asarray(a), np.asarray(b), first, second) for a, b in pairs])
    numbered = np.concatenate([sets, [EMPTY]])  # of a constant
    return shaped_like(result, lambda _: numbered[next(found)])


def _labelled(values: Sequence[Any], labels: np.ndarray) -> list[Any]:
    """Replace values by labels of the same type, shape and memory layout."""
    ends = np.cumsum([np.size(value) for value in values])
    return [_labels_like(value, part) for value, part in zip(values, np.split(labels, ends[:-1]), strict=True)]


def _labels_like(value: Any, labels: np.ndarray) -> Any:
    if not isinstance(value, np.ndarray):
        return as_kind(value, labels.astype(np.result_type(value)).reshape(()))
    out = np.empty_like(value)
    out[...] = labels.reshape(value.shape)
    return out


def _has_same_form(made: Any, result: Any) -> bool:
    """Whether a result computed from labels has the type and shapes of the recorded one."""
    shapes = [[np.shape(x) for x in numbers(whole)] for whole in (made, result)]
    return type(made) is type(result) and shapes[0] == shapes[1]


def _source_positions(a: np.ndarray, b: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Find the index of each element of `a` in the `first` labels, -1 for constants; check it on `b` and `second`."""
    order = np.argsort(first)
    places = order[np.minimum(np.searchsorted(first, a.real, sorter=order), len(first) - 1)]
    is_moved = (first[places] == a) & (second[places] == b)
    if not np.all(is_moved | (a == b)):
        raise NotAMove
    return np.where(is_moved, places, -1)
