"""A traced value that a class gets in the middle of a trace is found by the next search, and C code is refused it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg


class Scaled:
    scale: Any = 1.0


class Other:
    scale: Any = 1.0


def _set_bases(cls: Any, x: float) -> None:
    Other.scale = x
    cls.__bases__ = (Other,)


CHANGES: dict[str, Callable[[Any, float], Any]] = {
    "an attribute": lambda cls, x: setattr(cls, "scale", x),
    "past its class": lambda cls, x: type.__setattr__(cls, "scale", x),
    "of a base": lambda cls, x: setattr(Scaled, "scale", x),
    "a method": lambda cls, x: setattr(cls, "weight", lambda self: x),
    "a list": lambda cls, x: cls.held.append(x),
    "bases": _set_bases,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_search_after_a_change_of_a_class_sees_it(change: Callable[[Any, float], Any]) -> None:
    def f(x: float) -> float:
        class Made(Scaled):
            held: Any = []  # noqa: RUF012

        made = Made()
        before = gc.is_tracked(made)
        change(Made, x)
        return x * (before + gc.is_tracked(made))

    try:
        with pytest.raises(wg.NoRuleError, match="is_tracked has no rule, and a traced value reaches it"):
            wg.grad(f)(2.0)
    finally:
        Scaled.scale = Other.scale = 1.0


def test_a_search_of_a_class_without_traced_values_runs_the_function() -> None:
    assert wg.grad(lambda x: x * (gc.is_tracked(Scaled()) + gc.is_tracked(Scaled())))(2.0) == 2.0
