"""Gradients of gradients: the rules of elementwise functions and of ufuncs are differentiated as they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_forms import _map, _random, _weighted, gradient_outcome, keys_of
from sampled_pullbacks import is_usable
from samples import SAMPLES
from sampling import Sample

import wengert as wg
from wengert.extend import rules

MODULES = ("elementwise", "choices", "scalars", "complexes", "special_functions", "ufunc_methods")


def one_of_each() -> dict[Callable[..., Any], Sample]:
    """A call of each function whose rule stands in these modules."""
    mine = [s for s in SAMPLES if any(f"{module}.py:" in rules[s.f].where for module in MODULES)]
    return {s.f: s for s in reversed(mine) if is_usable(s)}


def gradient_of(sample: Sample) -> Callable[..., Any]:
    """The gradient of a weighted sum of a call's result, as a function of the call's arguments."""
    weights = _map(_random, sample.f(*sample.args, **sample.kwargs), np.random.default_rng(0))
    keys = tuple(keys_of(sample))

    def gradient(*args: Any, **kwargs: Any) -> Any:
        weighted = _weighted(Sample(sample.f, args, kwargs), keys, weights)
        return tuple(wg.grad(weighted, *[args[key] for key in keys])[1])[1:]

    return gradient


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", one_of_each().values(), ids=str)
def test_the_gradient_has_a_gradient(sample: Sample) -> None:
    again = Sample(gradient_of(sample), sample.args, sample.kwargs)
    assert gradient_outcome(again, tuple(keys_of(sample))) == "right"


def test_powers_with_the_exponent_zero() -> None:
    """∂²aᵇ/∂a∂b = aᵇ⁻¹ (1 + b log a), which is 1/a at b = 0; where a is 0 as well the derivative stays finite."""
    assert wg.grad(lambda b: wg.grad(lambda a: a**b)(2.0))(0.0) == 0.5
    a, b = np.array([2.0, 0.0, 4.0]), np.array([0.0, 0.0, 1.0])
    for exponent in (b, 0.0):
        mixed = wg.grad(lambda b: wg.grad(lambda a: np.sum(a**b))(a)[0])(exponent)
        np.testing.assert_array_equal(np.ravel(mixed)[0], 0.5)
        assert np.isfinite(wg.grad(lambda a, b=exponent: np.sum(a**b))(a)).all()
    assert wg.grad(lambda a: a**0.0)(0.0) == 0
