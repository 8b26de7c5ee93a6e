"""Programs that decide by a number, on a batch whose examples decide differently: they give what the loop gives."""

from __future__ import annotations

import copy
import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from decision_programs import CASES
from programs import DECISIONS, HOSTILE
from sampling import naming

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore")


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


def families(*tables: dict[str, Any]) -> list[Any]:
    """The programs of tables, those of one prefix of their names together."""
    programs = sorted(itertools.chain(*[table.items() for table in tables]), key=prefix)
    return [pytest.param(list(group), id=name) for name, group in itertools.groupby(programs, prefix)]


def prefix(entry: tuple[str, Any]) -> str:
    return entry[0].split("_")[0]


@pytest.mark.parametrize("family", families(CASES, DECISIONS))
def test_examples_that_decide_differently(family: list[Any]) -> None:
    for name, (f, *points) in family:
        examples = [copy.copy(x) for x in points if x is not None]
        if len({np.shape(x) for x in examples}) == 1:  # examples of one shape only are a batch
            with naming(name):
                check(f, *examples)
                check(f, *examples[::-1])


@pytest.mark.parametrize("family", families(HOSTILE))
def test_hostile_programs(family: list[Any]) -> None:
    """Value and gradient; each call has a program of its own."""
    for name, (make, x, _) in family:
        if np.asarray(x).dtype.kind == "f":
            with naming(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(lambda x, make=make: make()(x), *[np.asarray(x) * factor for factor in (1.0, 1.01)])
