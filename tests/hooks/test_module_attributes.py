"""Attributes that a module computes by its function `__getattr__`, which reads traced values."""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

SOURCE = """
k = 5.0
def __getattr__(name):
    if name == "square":
        return k * k
    raise AttributeError(name)
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    made = types.ModuleType("computed")
    exec(SOURCE, vars(made))
    monkeypatch.setitem(sys.modules, "computed", made)
    return made


def imported(_: Any) -> Any:
    from computed import square

    return square


READS: dict[str, Callable[[Any], Any]] = {
    "attribute": lambda m: m.square,
    "import": imported,
    "attrgetter": operator.attrgetter("square"),
    "getattr": lambda m: getattr(m, "square"),  # noqa: B009
    "default": lambda m: getattr(m, "square", 1.0) + getattr(m, "missing", 0.0),
    "hasattr": lambda m: m.k * m.k * hasattr(m, "square") + hasattr(m, "missing"),
}


@pytest.mark.parametrize("read", READS)
def test_its_function_is_traced(module: types.ModuleType, read: str) -> None:
    def f(x: Any) -> Any:
        module.k = x
        return 3.0 * READS[read](module)

    step = f(2.0 + 1e-30j).imag / 1e-30
    assert wg.value_and_grad(f)(2.0) == (12.0, step)
    assert wg.jvp(f, (2.0,), (1.0,)) == (12.0, step)
    assert wg.trace(f, 2.0)[1].play(3.0) == f(3.0)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(np.array([2.0, 3.0])), [12.0, 18.0])


def test_an_attribute_that_it_does_not_know_is_missing(module: types.ModuleType) -> None:
    with pytest.raises(AttributeError, match="other"):
        wg.grad(lambda x: x * module.other)(2.0)
