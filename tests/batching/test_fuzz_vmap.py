"""Random programs over all the ways to write an array: batched, and in derivatives, they give what the loop gives."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from random_programs import arguments, program, programs

import wengert as wg

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "60"))
fuzz = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES == 60
)
pytestmark = pytest.mark.filterwarnings("ignore")
FACTORS = (1.0, 1.02, 0.97)


def batches() -> list[np.ndarray]:
    return [np.stack([x * factor for factor in FACTORS]) for x in arguments()]


def on_copies(ops: list[Any]) -> Any:
    """The program on arrays of its own: what writes into its arguments is the loop in any case."""
    f = program(ops)
    return lambda x, y, z: f(x.copy(), y.copy(), z.copy())


def by_loop(f: Any, batch: list[np.ndarray]) -> Any:
    """What a function gives for each example; None where a number is not finite, by which a program may go on."""
    results = [f(*[x[i].copy() for x in batch]) for i in range(len(FACTORS))]
    if isinstance(results[0], tuple):
        return [np.stack([result[k] for result in results]) for k in range(len(results[0]))]
    return [np.stack(results)]


def assert_close(found: list[Any], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@fuzz
@given(programs)
def test_random_programs(ops: list[Any]) -> None:
    f, batch = on_copies(ops), batches()
    values = by_loop(f, batch)
    if not np.all(np.isfinite(values[0])):
        return
    gradient = wg.grad(f, argnums=(0, 1, 2))
    try:
        assert_close([wg.vmap(f)(*batch)], values)
        expected = by_loop(gradient, batch)
    except wg.WengertError as error:
        event(f"refused: {str(error).partition(': ')[2][:40]}")  # also a write into the array of the module
        return
    assert_close(list(wg.vmap(gradient)(*batch)), expected)
    total = wg.grad(lambda *batch: np.sum(wg.vmap(f)(*batch)), argnums=(0, 1, 2))
    assert_close(list(total(*batch)), expected)
    event("right")
