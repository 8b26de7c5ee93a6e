"""Programs that decide by a number, on a batch whose examples decide differently: they give what the loop gives."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from decision_programs import CASES
from programs import DECISIONS, HOSTILE

import wengert as wg

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def stacked(results: list[Any]) -> Any:
    if isinstance(results[0], (tuple, list)):
        return [stacked([result[k] for result in results]) for k in range(len(results[0]))]
    return np.stack([np.asarray(result) for result in results])


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, list):
        for pair in zip(found, expected, strict=True):
            assert_same(*pair)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def check(f: Any, *examples: Any) -> None:
    """Check a batch of examples against the loop, an error against the loop's."""
    batch = np.stack([np.asarray(x, float) for x in examples])
    try:
        expected = stacked([f(x) for x in batch.copy()])
    except Exception as error:
        with pytest.raises((type(error), wg.WengertError)):
            wg.vmap(f)(batch)
        return
    try:
        found = wg.vmap(f)(batch)
    except wg.WengertError:
        return
    assert_same(found, expected)


@pytest.mark.parametrize("name", [*CASES, *DECISIONS])
def test_examples_that_decide_differently(name: str) -> None:
    f, *examples = CASES[name] if name in CASES else DECISIONS[name]
    examples = [copy.copy(x) for x in examples if x is not None]
    if len({np.shape(x) for x in examples}) > 1:
        pytest.skip("examples of one shape only are a batch")
    check(f, *examples)
    check(f, *examples[::-1])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs(name: str) -> None:
    """Value and gradient; each call has a program of its own."""
    make, x, _ = HOSTILE[name]
    near = [np.asarray(x) * factor for factor in (1.0, 1.01)]
    if np.asarray(x).dtype.kind != "f":
        pytest.skip("of floats only")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(lambda x: make()(x), *near)
