"""Rules on random variants of their samples: dtypes, layouts, broadcasts, 0-d, empty. FUZZ_EXAMPLES=20000 runs more."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from call_forms import gradient_outcome, keys_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import SAMPLES, Sample, call
from variants import OF_MEMORY, variant

from wengert.errors import GradientCheckError, RuleError, WengertError
from wengert.rulecheck import test_rrule
from wengert.values import is_inexact

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))
CALLS = [sample for sample in SAMPLES if sample.f not in OF_MEMORY]


def is_defined(sample: Sample) -> bool:
    """Whether there is such a call, without a warning and with finite numbers only."""
    try:
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            y = sample.f(*sample.args, **sample.kwargs)
    except Exception:
        return False
    parts = y if isinstance(y, (tuple, list)) else list(y.values()) if isinstance(y, dict) else [y]
    return all(not is_inexact(part) or np.all(np.isfinite(part)) for part in parts)


def check_rule(sample: Sample) -> None:
    """`test_rrule`; a rule may refuse a call by an error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test_rrule(sample.f, *sample.args, **sample.kwargs)
    except GradientCheckError as error:
        if not isinstance(error.__cause__, RuleError):
            raise
    except WengertError:
        pass


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES == 300)
@given(st.data())
def test_variants_of_samples(data: Any) -> None:
    sample = variant(data.draw, CALLS)
    if not is_defined(sample):
        return
    check_rule(sample)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key in keys_of(sample):
            gradient_outcome(sample, (key,))


NUMBER = np.float64(1.5)
ALONG_AXIS_0 = [
    call(np.sum, NUMBER, 0),
    call(np.max, NUMBER, -1),
    call(np.multiply.reduce, NUMBER),
    call(np.add.reduce, NUMBER),
]


@pytest.mark.parametrize("sample", ALONG_AXIS_0, ids=str)
def test_a_number_is_reduced_along_axis_0(sample: Sample) -> None:
    assert is_defined(sample)
    test_rrule(sample.f, *sample.args, **sample.kwargs)
    assert gradient_outcome(sample, (0,)) == "right"
