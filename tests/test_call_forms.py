"""Each call by position, by name and as a method, each argument traced alone: right or refused, never a silent zero.

FUZZ_EXAMPLES=1000 takes up to so many samples of each function.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from call_forms import forms, gradient_outcome, keys_of, unused_options
from samples import SAMPLES, Sample

from wengert.registry import callable_name

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "3"))
BY_FUNCTION: dict[Callable[..., Any], list[Sample]] = defaultdict(list)
for _sample in SAMPLES:
    BY_FUNCTION[_sample.f].append(_sample)


def some(f: Callable[..., Any]) -> list[Sample]:
    """A few samples of a function, spread over the table."""
    return BY_FUNCTION[f][:: -(-len(BY_FUNCTION[f]) // EXAMPLES)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", BY_FUNCTION, ids=callable_name)
def test_every_form_of_call(f: Callable[..., Any]) -> None:
    for sample in some(f):
        right = {key: gradient_outcome(sample, (key,)) for key in keys_of(sample)}
        wanted = tuple(key for key in right if right[key] == "right")
        assert len(wanted) < 2 or gradient_outcome(sample, wanted) == "right"
        for form in forms(sample):
            outcomes = sorted(gradient_outcome(form, (key,)) for key in keys_of(form))
            assert "idle" in outcomes or outcomes == sorted(right.values()), f"{form}, not as {sample}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", BY_FUNCTION, ids=callable_name)
def test_options_given_a_traced_number(f: Callable[..., Any]) -> None:
    for sample in some(f):
        for call, name in unused_options(sample):
            gradient_outcome(call, (name,))
