"""The generated forward steps on floats, beside the function of partials; `test_rrule` compares them on all samples."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import wengert as wg


def stepped(f: Any, args: tuple[Any, ...], dots: tuple[Any, ...], y: Any = None) -> Any:
    """The tangent of a call, all arguments of which have slots."""
    entry = (None, f(*args) if y is None else y, tuple(range(len(args))), args, None, None)
    return wg.rules[f].forward_step((True,) * len(args))(entry, dict(enumerate(dots)))


def test_it_calls_the_functions_of_math() -> None:
    step = wg.rules[math.sin].forward_step((True,))
    assert "math_cos" in step.__code__.co_freevars
    assert "forward step 1 of sin" in step.__code__.co_filename
    assert type(stepped(math.sin, (0.5,), (2.0,))) is float


@pytest.mark.parametrize(
    ("f", "args", "dots", "expected"),
    [
        (operator.mul, (2.0, 3.0), (0.5, 0.25), 2.0),
        (operator.mul, (2.0, 3.0), (None, 0.25), 0.5),
        (operator.mul, (2.0, 3.0), (None, None), None),
        (operator.add, (2.0, 3.0), (None, 0.25), 0.25),
        (operator.sub, (2.0, 3.0), (None, 0.25), -0.25),
        (operator.neg, (2.0,), (None,), None),
        (operator.truediv, (2.0, 4.0), (1.0, 1.0), 0.125),
        (math.copysign, (2.0, -3.0), (0.5, 1.0), -0.5),
        (math.sqrt, (4.0,), (3.0,), 0.75),
    ],
)
def test_with_tangents_that_are_zero(f: Any, args: Any, dots: Any, expected: Any) -> None:
    assert stepped(f, args, dots) == expected


def test_where_floats_of_python_raise_those_of_numpy_answer() -> None:
    with np.errstate(all="ignore"):
        assert stepped(math.sqrt, (0.0,), (1.0,)) == np.inf
        assert stepped(np.log, (0.0,), (1.0,), -np.inf) == np.inf
        assert np.isnan(stepped(math.log1p, (math.nan,), (1.0,)))


def test_a_rule_whose_text_cannot_be_copied() -> None:
    def twice(x):
        return 2 * x

    with wg.rules.scope():
        exec("def rule(y, x): return 2.0", space := {})
        wg.partials(twice)(space["rule"])
        assert stepped(twice, (3.0,), (0.5,)) == 1.0
        assert wg.jvp(twice, (3.0,), (0.5,)) == (6.0, 1.0)
