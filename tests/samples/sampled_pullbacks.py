"""Sampled calls as functions of their inexact arguments; their pullbacks as functions of these and of cotangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from call_forms import _leaves, _random, keys_of
from samples import SAMPLES
from sampling import Sample

import wengert as wg

PRECISE = ("d", "D")


def is_usable(sample: Sample) -> bool:
    """A call with something to differentiate, in double precision throughout."""
    leaves = [np.asarray(leaf) for leaf in _leaves(sample.args)]
    return any(leaf.size for leaf in leaves) and all(leaf.dtype.char in PRECISE for leaf in leaves)


USABLE: dict[Callable[..., Any], list[Sample]] = {}
"""The usable samples of each function."""
for _sample in filter(is_usable, SAMPLES):
    USABLE.setdefault(_sample.f, []).append(_sample)

Call = tuple[Callable[..., Any], list[Any], list[Any]]


def pieces(sample: Sample) -> Call:
    """A call as a function of its inexact arguments alone, these, and a cotangent for each part of its result."""
    keys = keys_of(sample)

    def parts(*xs: Any) -> list[Any]:
        args, kwargs = list(sample.args), dict(sample.kwargs)
        for key, x in zip(keys, xs, strict=True):
            (kwargs if isinstance(key, str) else args)[key] = x
        return list(_leaves(sample.f(*args, **kwargs)))

    xs = [sample.kwargs[key] if isinstance(key, str) else sample.args[key] for key in keys]
    random = np.random.default_rng(3)
    return parts, xs, [cotangent(part, random) for part in parts(*xs)]


def cotangent(part: Any, random: np.random.Generator) -> Any:
    """Random numbers in the form of a part of a result."""
    bar = _random(part, random)
    if isinstance(part, np.ndarray):
        return np.asarray(bar, part.dtype)
    return part.dtype.type(bar) if isinstance(part, np.generic) else type(part)(bar)


def of_both(parts: Callable[..., Any], xs: list[Any], bars: list[Any]) -> Sample:
    """The pullback as a function of everything that is inexact."""
    n = len(xs)
    return Sample(lambda *all_: wg.vjp(parts, *all_[:n])[1](list(all_[n:])), (*xs, *bars), {})
