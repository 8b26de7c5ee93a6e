"""Classes made and called inside a traced function: right, or refused, wherever Python calls the user's code."""

from __future__ import annotations

import contextlib
import sys

import pytest
from class_machinery import PROGRAMS

import wengert as wg
from wengert.errors import WengertError

REFUSED = {"enum_float", "enum_float_value", "float_sub", "float_sub_plain"}
"""Those that may be."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_or_refused(name: str) -> None:
    f, x, h = PROGRAMS[name], 1.3, 1e-6
    if name == "set_name_partial" and sys.version_info >= (3, 14):  # where a partial is bound as a method
        return
    expected = (f(x + h) - f(x - h)) / (2 * h)
    value = f(x)
    with contextlib.suppress(WengertError) if name in REFUSED else contextlib.nullcontext():
        assert wg.value_and_grad(f)(x) == (value, pytest.approx(expected, rel=1e-5))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refusal_names_the_line(name: str) -> None:
    with pytest.raises(WengertError, match=r"class_machinery\.py:"):
        wg.grad(PROGRAMS[name])(1.3)
