"""Rules on random variants of their samples: dtypes, layouts, broadcasts, 0-d, empty. FUZZ_EXAMPLES=20000 runs more."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_forms import gradient_outcome, keys_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import SAMPLES, Sample, call
from sampling import values
from variants import OF_MEMORY, variant

import wengert as wg
from wengert.api.rulecheck import test_rrule
from wengert.errors import GradientCheckError, RuleError, WengertError
from wengert.values.callables import callable_name
from wengert.values.specs import is_inexact
from wengert_rules.recurrences import products_of_others, sums_onward

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))
OF_RULES = {sums_onward, products_of_others}
"""Functions that rules call, never with single numbers."""
CALLS = [sample for sample in SAMPLES if sample.f not in {*OF_MEMORY, *OF_RULES}]

READING_BEYOND = {np.fft.irfft, np.fft.irfft2, np.fft.irfftn, np.fft.hfft}
"""What NumPy computes, of no numbers, from memory that was never written."""


def is_defined(sample: Sample) -> bool:
    """Whether there is such a call, without a warning and with finite numbers only."""
    if sample.f in READING_BEYOND and np.size(sample.args[0]) == 0:
        return False
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


UFUNCS = [np.add, np.multiply, np.subtract, np.maximum, np.minimum, np.fmax, np.fmin]
UFUNCS += [np.logaddexp, np.logaddexp2, np.hypot]
NAMES = ["sum", "mean", "max", "min", "prod", "var", "std", "nanmax", "nanmin", "nanvar", "nanstd", "cumsum", "cumprod"]
REDUCTIONS: list[Any] = [getattr(np, name) for name in NAMES]
REDUCTIONS += [getattr(ufunc, name) for ufunc in UFUNCS for name in ("reduce", "accumulate")]
REDUCTIONS += [getattr(kind, name) for kind in (np.ndarray, np.generic) for name in NAMES if not name.startswith("nan")]
REDUCED = [1.5, np.float64(1.5), np.array(1.5 - 0.4j), values(2)]
AXES: list[Any] = [0, -1, None, (), (0,), 1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", REDUCTIONS, ids=callable_name)
def test_numbers_and_arrays_are_reduced_along_every_axis(f: Callable[..., Any]) -> None:
    right = 0
    for x in REDUCED:
        if isinstance(x, getattr(f, "__objclass__", object)):
            for sample in (call(f, x), *[call(f, x, axis=axis) for axis in AXES]):
                right += is_reduced(sample)
    assert right >= 3


def is_reduced(sample: Sample) -> bool:
    """Whether the derivative is right; it may not be where the call raises, and then it raises the same error."""
    f, (x,), kwargs = sample
    if is_defined(sample):
        test_rrule(f, x, **kwargs)
        assert gradient_outcome(sample, (0,)) == "right"
        return True
    try:
        with np.errstate(all="raise"):
            f(x, **kwargs)
    except FloatingPointError:
        return False
    except Exception as error:
        with pytest.raises(type(error)):
            wg.grad(lambda x: np.sum(np.real(f(x, **kwargs))), x)
    return False
