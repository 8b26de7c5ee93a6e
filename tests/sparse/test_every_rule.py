"""The pattern of a call of each primitive, on every sample: what moves when a number of an argument does is in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import BY_FUNCTION, Sample
from sampling import naming

import wengert as wg
from wengert.sparse.pattern import SparsityPattern
from wengert.values.functional import strided_copy
from wengert.values.trees import leaves, shallow_copy, walk


def numbers(tree: Any) -> np.ndarray:
    """The floats in a structure, one after the other."""
    return np.concatenate([np.zeros(0), *[np.ravel(leaf) for _, leaf in leaves(tree)]])


def with_one_moved(tree: Any, k: int, step: float) -> Any:
    """A copy of a structure whose k-th float is larger by `step`."""
    starts = itertools.accumulate([np.size(leaf) for _, leaf in leaves(tree)], initial=0)

    def change(leaf: Any, path: Any) -> Any:
        place = k - next(starts)
        if not 0 <= place < np.size(leaf):
            return leaf
        if not isinstance(leaf, np.ndarray):
            return type(leaf)(leaf + step)
        out = strided_copy(leaf)
        out[np.unravel_index(place, leaf.shape)] += step
        return out

    return walk(tree, "", {}, at_leaf=change, hold=shallow_copy)


def moving(f: Callable[..., Any], args: tuple[Any, ...]) -> np.ndarray:
    """Which numbers of the result move when one of the arguments does."""
    y = numbers(f(*args))
    found = np.zeros((len(y), len(numbers(args))), bool)
    for k in range(found.shape[1]):
        for step in (2e-3, -3e-3):
            found[:, k] |= abs(numbers(f(*with_one_moved(args, k, step))) - y) > 1e-7 * (1 + abs(y))
    return found


def pattern(f: Callable[..., Any], args: tuple[Any, ...]) -> np.ndarray:
    _, tape = wg.trace(f, *args)
    found = SparsityPattern(tape, [v.id for v in tape.inputs if not v.op.callee]).csr
    dense = np.zeros(found.shape, bool)
    dense[found.rows, found.indices] = True
    return dense


def wanted_together(sample: Sample) -> list[int]:
    """The places of the arguments of a sample that have a derivative."""
    plan = wg.rules[sample.f].plan(len(sample.args))
    return [k for k, x in enumerate(sample.args) if leaves(x) and k in (plan.positions or [0])]


def of_places(sample: Sample, places: list[int]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The call of a sample as a function of the arguments at `places`, and copies of these."""

    def f(*xs: Any) -> Any:
        args = list(sample.args)
        for k, x in zip(places, xs, strict=True):
            args[k] = x
        return sample.f(*args, **sample.kwargs)

    return f, tuple(with_one_moved(sample.args[k], 0, 0.0) for k in places)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_FUNCTION)
def test_what_moves_is_in_the_pattern(name: str) -> None:
    """Of all arguments that have a derivative, and of each of them alone, which moves the same numbers."""
    for sample in BY_FUNCTION[name]:
        places = wanted_together(sample)
        moves = moving(*of_places(sample, places))
        sizes = [len(numbers(sample.args[k])) for k in places]
        alone = np.split(moves, np.cumsum(sizes)[:-1], axis=1) if len(places) > 1 else []
        for some, given in [(places, moves), *zip([[k] for k in places], alone, strict=False)]:
            with naming(f"{sample}, arguments {some}"):
                found = pattern(*of_places(sample, some))
                assert given.shape == found.shape
                assert not (given & ~found).any()
