"""Every rule for SciPy against numbers, to second order in both modes; and what is traced through instead.

The calls stand in `samples_*.py` beside this file: SAMPLES of functions with rules, TRACED of functions without. Those
BY_HAND have rules whose numbers other tests check.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from call_forms import gradient_outcome
from sampled_pullbacks import is_usable, of_both, pieces
from sampling import Sample, naming
from test_second_pushforwards import of_both as pushed_of_both
from traced_check import check_traced

import wengert as wg
from wengert.api.rulecheck import test_rrule
from wengert.extend import rules
from wengert.values.callables import callable_name

TABLES = [importlib.import_module(path.stem) for path in sorted(Path(__file__).parent.glob("samples_*.py"))]
SAMPLES = [sample for table in TABLES for sample in table.SAMPLES]
TRACED = [sample for table in TABLES for sample in getattr(table, "TRACED", [])]
BY_HAND = {f for table in TABLES for f in getattr(table, "BY_HAND", [])}
BY_FUNCTION: dict[Callable[..., Any], list[Sample]] = {}
for _sample in SAMPLES:
    BY_FUNCTION.setdefault(_sample.f, []).append(_sample)
SMOOTH = {f: next(filter(is_usable, samples), None) for f, samples in BY_FUNCTION.items()}


@pytest.mark.whole
@pytest.mark.parametrize("f", BY_FUNCTION, ids=callable_name)
def test_rule_on_samples(f: Callable[..., Any]) -> None:
    for sample in BY_FUNCTION[f]:
        with naming(sample), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            test_rrule(sample.f, *sample.args, **sample.kwargs)


def test_every_rule_has_a_sample() -> None:
    rules.load()
    ruled = {f for f in rules if rules[f].kind != "constant" and "wengert_rules/scipy/" in rules[f].where}
    assert BY_FUNCTION.keys() | BY_HAND == ruled


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [f for f in SMOOTH if SMOOTH[f] is not None], ids=callable_name)
def test_second_order(f: Callable[..., Any]) -> None:
    """The pullback and the pushforward, as functions of the arguments and of what they are given, have gradients."""
    parts, xs, bars = pieces(SMOOTH[f])
    with contextlib.suppress(wg.NoRuleError):  # a float for an argument without derivative
        for again in (of_both(parts, xs, bars), pushed_of_both(parts, xs)):
            assert gradient_outcome(again, tuple(range(len(again.args)))) == "right"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", TRACED, ids=str)
def test_what_is_traced_through(sample: Sample) -> None:
    check_traced(sample)
