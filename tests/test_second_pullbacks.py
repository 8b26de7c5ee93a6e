"""Pullbacks differentiated: by the primals and by the cotangents, for every sampled call of every rule.

What `vjp` gives for a call is a function of the call's arguments and of ȳ, one for each inexact part of the result; its
gradient is compared with differences of its own values.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_forms import _leaves, _random, gradient_outcome, keys_of
from samples import SAMPLES
from sampling import Sample
from test_second_order import is_usable

import wengert as wg

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


def of_cotangents(parts: Callable[..., Any], xs: list[Any], bars: list[Any]) -> Sample:
    """The pullback as a function of the cotangents, made outside of the trace that watches them."""
    pullback = wg.vjp(parts, *xs)[1]
    return Sample(lambda *bars: pullback(list(bars)), tuple(bars), {})


BY_FUNCTION: dict[Callable[..., Any], list[Sample]] = defaultdict(list)
for _sample in SAMPLES:
    if is_usable(_sample):
        BY_FUNCTION[_sample.f].append(_sample)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("as_function", [of_both, of_cotangents])
@pytest.mark.parametrize("f", BY_FUNCTION, ids=lambda f: str(BY_FUNCTION[f][0]))
def test_the_pullback_has_a_gradient(f: Callable[..., Any], as_function: Callable[..., Sample]) -> None:
    found = set()
    for sample in BY_FUNCTION[f]:
        parts, xs, bars = pieces(sample)
        with contextlib.suppress(wg.NoRuleError):  # a float for an argument without derivative
            wg.vjp(parts, *xs)
            again = as_function(parts, xs, bars)
            found.add(gradient_outcome(again, tuple(range(len(again.args)))) if bars else "idle")
    assert found <= {"right", "idle"}
