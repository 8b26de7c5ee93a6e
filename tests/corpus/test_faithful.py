"""What the language shows of itself is the same while a function is traced."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from faithful_programs import PROGRAMS

import wengert as wg


def traced(program: Callable[[], Any], mode: Callable[..., Any]) -> Any:
    told: list[Any] = []

    def around(x: float) -> float:
        told.append(program())
        return x * x

    with warnings.catch_warnings():
        mode(around, 1.5)
    return told[0]


@pytest.mark.parametrize("mode", [wg.grad, wg.trace], ids=["grad", "trace"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_traced_it_says_the_same(name: str, mode: Callable[..., Any]) -> None:
    program = PROGRAMS[name]
    assert repr(traced(program, mode)) == repr(program())
