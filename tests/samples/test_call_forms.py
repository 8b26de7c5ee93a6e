"""Each call by position, by name and as a method, each argument traced alone: right or refused, never a silent zero.

FUZZ_EXAMPLES=1000 takes up to so many samples of each function.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_forms import forms, gradient_outcome, keys_of, unused_options
from samples import SAMPLES, Sample, call

import wengert as wg
from wengert.values.callables import callable_name

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))
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
        for option, name in unused_options(sample):
            gradient_outcome(option, (name,))


def test_a_wrong_rule_is_caught() -> None:
    calls = [call(np.tanh, np.array([0.3, 0.7])), call(np.tanh, 0.3), call(np.tanh, np.array([0.3j]))]
    with wg.rules.scope():
        wg.rules.remove(np.tanh)
        for derivative in (lambda y, x: 1.001 - y * y, lambda y, x: 0, lambda y, x: 1 - y * np.conj(y) + 0.01j):
            with wg.rules.scope():
                wg.partials(np.tanh)(derivative)
                for sample in calls[:2] if derivative(0, 0).imag == 0 else calls[2:]:
                    with pytest.raises(AssertionError, match=" is not "):
                        gradient_outcome(sample, (0,))
