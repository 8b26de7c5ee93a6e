"""The gradient of a loop makes calls in proportion to its length: counted, so that no clock decides."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls import calls
from cheap_gradients import PROGRAMS, slopes, sorting
from growth import reads, stores, updates

import wengert as wg
from wengert.reverse import walk


def slices(x: np.ndarray) -> Any:
    """n reads of three neighbours."""
    total = 0.0
    for i in range(len(x) - 2):
        total = total + np.sum(x[i : i + 3] * 0.5)
    return total


def recurrence(x: np.ndarray) -> Any:
    """A list that grows, each element made from the last."""
    states = [1.0]
    for i in range(len(x)):
        states.append(states[-1] * 0.9 + x[i])
    return sum(states)


def repeated(x: np.ndarray) -> Any:
    """One element multiplied n times."""
    y = np.ones(3)
    np.multiply.at(y, np.zeros(len(x), int), x)
    return y[0]


@pytest.mark.parametrize("f", [reads, stores, updates, slices, recurrence, repeated], ids=lambda f: f.__name__)
def test_calls_grow_as_the_loop(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "WARM_USES", 0)  # no step is generated under way
    gradient = wg.value_and_grad(f)
    gradient(np.full(299, 0.5))  # what is made once
    small, middle, large = (calls(gradient, np.full(n, 0.5)) for n in (300, 500, 700))
    assert middle - small > 800  # that the counter sees the work
    assert large - middle == pytest.approx(middle - small, rel=0.01)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_work_grows_as_that_of_the_function(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """On the tape of the gradient, where a small constant is all that it takes more, and as it runs without one."""
    monkeypatch.setattr(walk, "WARM_USES", 0)  # no step is generated under way
    grown, constant = slopes(f, [64, 128, 256])
    assert grown["gradient"] < grown["function"] + 0.05
    assert grown["run"] < grown["function"] + 0.08
    assert constant < (7 if f is sorting else 4)


def test_a_warm_gradient_of_three_operations_runs_few_functions_of_few_files() -> None:
    gradient, x, entered = wg.grad(lambda x: np.sum(np.sin(x) * x)), np.arange(5.0), list[str]()
    for _ in range(2 * walk.WARM_USES):
        gradient(x)
    gc.collect()
    gc.disable()
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        gradient(x)
    finally:
        sys.setprofile(None)
        gc.enable()
    assert len(entered) <= 75
    assert len({file for file in entered if f"{os.sep}wengert{os.sep}" in file}) <= 20
