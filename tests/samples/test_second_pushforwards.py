"""Pushforwards differentiated: by the primals and by the tangents, for every sampled call of every rule.

What `jvp` gives for a call is a function of the call's arguments and of their tangents; its gradient, and its own jvp,
are compared with differences of its values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_forms import _map, _random, gradient_outcome
from sampled_pullbacks import USABLE, pieces
from sampling import Sample

import wengert as wg


def of_both(parts: Callable[..., Any], xs: list[Any]) -> Sample:
    """The tangent of a call as a function of its arguments and their tangents."""
    n, random = len(xs), np.random.default_rng(5)

    def pushed(*given: Any) -> Any:
        return [dot for dot in wg.jvp(parts, given[:n], given[n:])[1] if dot is not None]

    dots = [_like(_map(_random, x, random), x) for x in xs]
    return Sample(pushed, (*xs, *dots), {})


def _like(dot: Any, x: Any) -> Any:
    """A tangent of the type of its primal."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(_like, dot, x))
    return dot if isinstance(x, np.ndarray) else type(x)(dot)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", USABLE, ids=lambda f: str(USABLE[f][0]))
def test_the_pushforward_has_a_gradient(f: Callable[..., Any]) -> None:
    found = set()
    for sample in USABLE[f]:
        parts, xs, _ = pieces(sample)
        with contextlib.suppress(wg.NoRuleError, TypeError):
            again = of_both(parts, xs)
            found.add(gradient_outcome(again, tuple(range(len(again.args)))))
    assert found <= {"right", "idle"}
