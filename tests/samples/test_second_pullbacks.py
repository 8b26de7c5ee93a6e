"""Pullbacks differentiated: by the primals and by the cotangents, for every sampled call of every rule.

What `vjp` gives for a call is a function of the call's arguments and of ȳ, one for each inexact part of the result; its
gradient is compared with differences of its own values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from call_forms import gradient_outcome
from sampled_pullbacks import USABLE, of_both, pieces
from sampling import Sample

import wengert as wg


def of_cotangents(pullback: Callable[..., Any], bars: list[Any]) -> Sample:
    """The pullback as a function of the cotangents, made outside of the trace that watches them."""
    return Sample(lambda *bars: pullback(list(bars)), tuple(bars), {})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("of", ["of_both", "of_cotangents"])
@pytest.mark.parametrize("f", USABLE, ids=lambda f: str(USABLE[f][0]))
def test_the_pullback_has_a_gradient(f: Callable[..., Any], of: str) -> None:
    found = set()
    for sample in USABLE[f]:
        parts, xs, bars = pieces(sample)
        with contextlib.suppress(wg.NoRuleError):  # a float for an argument without derivative
            _, pullback = wg.vjp(parts, *xs)
            again = of_both(parts, xs, bars) if of == "of_both" else of_cotangents(pullback, bars)
            found.add(gradient_outcome(again, tuple(range(len(again.args)))) if bars else "idle")
    assert found <= {"right", "idle"}
