"""Classes made and called inside a traced function: right, wherever Python calls the user's code."""

from __future__ import annotations

import sys

import pytest
from class_machinery import PROGRAMS

import wengert as wg


@pytest.mark.parametrize("name", PROGRAMS)
def test_right(name: str) -> None:
    f, x, h = PROGRAMS[name], 1.3, 1e-6
    if name == "set_name_partial" and sys.version_info >= (3, 14):  # where a partial is bound as a method
        return
    expected = (f(x + h) - f(x - h)) / (2 * h)
    value = f(x)
    assert wg.value_and_grad(f)(x) == (value, pytest.approx(expected, rel=1e-5))
