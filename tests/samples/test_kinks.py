"""What the rules give where there is no derivative: exact values, no nan where a subgradient is finite."""

from __future__ import annotations

import cmath
import math
import operator
import warnings
from typing import Any

import numpy as np
import pytest

import wengert_rules  # noqa: F401 (registers the rules)
from wengert import grad, jvp
from wengert.extend import rules, setitem

INF = math.inf


def slopes(f: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The cotangents for a seed of ones."""
    y, pullback = rules.rrule(f, *args, **kwargs)
    return pullback(tuple(map(one, y)) if isinstance(y, tuple) else one(y))


def one(y: Any) -> Any:
    return np.ones_like(y) if isinstance(y, np.ndarray) else type(y)(1)


QUIET = [
    (abs, (0.0,), (0.0,)),
    (operator.abs, (-0.0,), (0.0,)),
    (np.absolute, (0j,), (0j,)),
    (math.fabs, (0.0,), (0.0,)),
    (np.sign, (0.0,), (0.0,)),
    (np.sign, (0j,), (0j,)),
    (np.maximum, (1.5, 1.5), (0.5, 0.5)),
    (np.minimum, (1.5, 1.5), (0.5, 0.5)),
    (np.maximum, (0.0, 0), (0.5, None)),
    (np.maximum, (INF, INF), (0.5, 0.5)),
    (np.fmax, (1.5, math.nan), (1.0, 0.0)),
    (np.fmin, (1.5, 1.5), (0.5, 0.5)),
    (max, (1.0, 1.0, 0.0), (0.5, 0.5, 0.0)),
    (max, (0.0, 0), (0.5, None)),
    (min, (1.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    (max, (math.nan, 1.0), (0.0, 0.0)),
    (np.clip, (1.0, 1.0, 2.0), (0.0, 1.0, 0.0)),
    (np.clip, (2.0, 1.0, 2.0), (0.0, 0.0, 1.0)),
    (np.clip, (1.5, 2.0, 2.0), (0.0, 0.0, 1.0)),
    (np.clip, (1.5, 3.0, 2.0), (0.0, 0.0, 1.0)),
    (operator.pow, (0.0, 0), (0.0, None)),
    (operator.pow, (0.0, 0.0), (0.0, 0.0)),
    (operator.pow, (0.0, 2.0), (0.0, 0.0)),
    (operator.pow, (0.0, 1.0), (1.0, 0.0)),
    (math.pow, (0.0, 2.5), (0.0, 0.0)),
    (np.power, (0.0, 0.0), (0.0, 0.0)),
    (np.power, (-2.0, 2.0), (-4.0, 0.0)),
    (np.power, (0j, 2), (0j, None)),
    (np.hypot, (0.0, 0.0), (0.0, 0.0)),
    (math.hypot, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    (np.arctan2, (0.0, 0.0), (0.0, 0.0)),
    (math.atan2, (0.0, 0.0), (0.0, 0.0)),
    (np.logaddexp, (-INF, -INF), (0.0, 0.0)),
    (np.logaddexp, (-INF, 0.0), (0.0, 1.0)),
    (np.logaddexp2, (-INF, -INF), (0.0, 0.0)),
    (np.copysign, (0.0, -1.0), (0.0, 0.0)),
    (np.heaviside, (0.0, 0.3), (0.0, 1.0)),
    (np.modf, (2.0,), (1.0,)),
    (math.modf, (-0.0,), (1.0,)),
    (np.frexp, (2.0,), (0.25,)),
    (math.frexp, (0.0,), (1.0,)),
    (math.ldexp, (0.0, 3), (8.0, None)),
    (math.dist, (np.ones(1), np.ones(1)), (np.zeros(1), np.zeros(1))),
    (cmath.phase, (0j,), (0j,)),
    (cmath.polar, (0j,), (0j,)),
    (cmath.rect, (np.float64(0), 0.0), (1.0, 0.0)),
    (np.sinc, (0.0,), (0.0,)),
    (np.i0, (0.0,), (0.0,)),
    (math.lgamma, (INF,), (INF,)),
    (np.float_power, (0.0, 0.0), (0.0, 0.0)),
    (np.float_power, (0.0, 2.0), (0.0, 0.0)),
    (np.fmin, (math.nan, math.nan), (0.0, 0.0)),
    (np.fmod, (4.0, 2.0), (1.0, -2.0)),
    (np.remainder, (-4.0, 2.0), (1.0, 2.0)),
    (math.remainder, (4.0, 2.0), (1.0, -2.0)),
    (np.nextafter, (0.0, 1.0), (1.0, 0.0)),
    (np.square, (0.0,), (0.0,)),
    (math.prod, ([0.0, 2.0, 3.0],), ([6.0, 0.0, 0.0],)),
    (math.prod, ([0.0, 0.0, 3.0],), ([0.0, 0.0, 0.0],)),
]

INFINITE = [
    (np.sqrt, (0.0,), (INF,)),
    (math.sqrt, (0.0,), (INF,)),
    (np.cbrt, (0.0,), (INF,)),
    (math.cbrt, (0.0,), (INF,)),
    (operator.pow, (np.float64(0), 0.5), (INF, 0.0)),
    (operator.pow, (0.0, 0.5), (INF, 0.0)),
    (math.pow, (0.0, 0.5), (INF, 0.0)),
    (math.asin, (1.0,), (INF,)),
    (math.acosh, (1.0,), (INF,)),
]


def named(value: Any) -> str:
    return str(getattr(value, "__name__", value))


@pytest.mark.parametrize(("f", "args", "expected"), QUIET, ids=named)
def test_kink(f: Any, args: Any, expected: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert slopes(f, *args) == expected


REAL = [(f, args, slopes) for f, args, slopes in QUIET if all(isinstance(a, (int, float)) for a in args)]


@pytest.mark.parametrize(("f", "args", "expected"), REAL)
def test_kink_forward(f: Any, args: Any, expected: Any) -> None:
    """The tangent along each float is the cotangent that it gets, for ones."""
    for k, slope in enumerate(expected):
        if slope is not None:
            _, found = jvp(lambda x, k=k: f(*args[:k], x, *args[k + 1 :]), (args[k],), (1.0,))
            assert sum([dot for dot in np.atleast_1d(found) if dot is not None]) == slope


@pytest.mark.parametrize(("f", "args", "expected"), INFINITE, ids=named)
def test_infinite_slope(f: Any, args: Any, expected: Any) -> None:
    with np.errstate(all="ignore"):
        assert slopes(f, *args) == expected


@pytest.mark.parametrize(("f", "args", "expected"), QUIET + INFINITE, ids=named)
def test_step_on_floats_meets_the_kink_too(f: Any, args: Any, expected: Any) -> None:
    floats = rules[f].kind == "partials" and all(type(x) is float for x in args)
    if not floats:
        assert rules[f].kind == "pullback" or not all(type(x) is float for x in args)
        return
    wanted = (True,) * len(args)
    bars: list[Any] = [None] * len(args)
    with np.errstate(all="ignore"):
        y = float(f(*args))
        rules[f].scalar_step(wanted)(1.0, (None, y, tuple(range(len(args))), args, None, None), bars)
    assert tuple(bars) == expected


@pytest.mark.parametrize("f", [np.max, np.ndarray.max])
def test_ties_of_a_reduction_share(f: Any) -> None:
    x = np.array([[1.0, 1.0, 0.0], [2.0, 0.0, 2.0]])
    assert np.array_equal(slopes(f, x, axis=1)[0], [[0.5, 0.5, 0], [0.5, 0, 0.5]])
    assert np.array_equal(slopes(f, x)[0], [[0, 0, 0], [0.5, 0, 0.5]])


def test_ties_with_the_initial_value_leave_it_its_share() -> None:
    x = np.array([2.0, 1.0, 2.0])
    assert np.array_equal(slopes(np.max, x, initial=2.0)[0], [1 / 3, 0, 1 / 3])
    assert np.array_equal(slopes(np.max, x, initial=1.0, where=[True, True, False])[0], [1, 0, 0])
    assert np.array_equal(slopes(np.nanmax, np.array([2.0, np.nan, 2.0]))[0], [0.5, 0, 0.5])


@pytest.mark.parametrize("f", [np.std, np.nanstd, np.ndarray.std, np.var])
def test_the_spread_of_equal_values_has_slope_zero(f: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(slopes(f, np.full((2, 3), 1.5), axis=1)[0], np.zeros((2, 3)))
        assert np.array_equal(slopes(f, np.array(1.5))[0], 0)


def test_equal_elements_share_their_sorted_places() -> None:
    x, y_bar = np.array([2.0, 1.0, 2.0, 3.0, 1.0, 2.0]), np.arange(6.0)
    expected = [3, 0.5, 3, 5, 0.5, 3]
    for f, args in [(np.sort, ()), (np.partition, (1,)), (np.partition, ([0, 3],))]:
        y, pullback = rules.rrule(f, x, *args)
        values = np.sort(y_bar[y == 1]).mean(), y_bar[y == 2].mean(), y_bar[y == 3].mean()
        assert np.array_equal(pullback(y_bar)[0], np.choose(x.astype(int) - 1, values))
    assert np.array_equal(rules.rrule(np.sort, x)[1](y_bar)[0], expected)
    rows = rules.rrule(np.sort, np.array([[1.0, 1.0], [1.0, 1.0]]))[1](np.array([[1.0, 3.0], [5.0, 7.0]]))[0]
    assert np.array_equal(rows, [[2, 2], [6, 6]])


def test_equal_middles_share_the_median_and_its_like() -> None:
    equal = np.full(5, 1.5)
    assert np.allclose(grad(np.median)(equal), 1 / 5)
    assert np.allclose(grad(np.median)(equal[1:]), 1 / 4)
    assert np.allclose(grad(np.median)(np.array([1.0, 2.0, 2.0, 2.0, 7.0])), [0, 1 / 3, 1 / 3, 1 / 3, 0])
    assert np.allclose(grad(np.median)(np.array([4.0, 1.0, 3.0, 2.0])), [0, 0, 1 / 2, 1 / 2])
    assert np.allclose(grad(np.ptp)(equal), 0)
    assert np.allclose(grad(np.ptp)(np.array([1.0, 2.0, 2.0, 1.0])), [-1 / 2, 1 / 2, 1 / 2, -1 / 2])


def test_interpolation_at_a_point_takes_the_segment_to_its_right() -> None:
    points, heights = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 7.0])
    at = np.array([-1.0, 0.0, 1.0, 3.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x_bar, _, heights_bar, *_ = slopes(np.interp, at, points, heights)
    assert np.array_equal(x_bar, [0, 1, 3, 3, 0]) and np.array_equal(heights_bar, [2, 1, 2])


def test_interpolation_at_a_last_point_that_is_there_twice_reads_the_last_height() -> None:
    points, heights = np.array([0.0, 1.0, 1.0]), np.array([2.0, 1.0, 7.0])
    x_bar, _, heights_bar, *_ = slopes(np.interp, np.array([1.0, 0.5]), points, heights)
    assert np.array_equal(x_bar, [0, -1]) and np.array_equal(heights_bar, [0.5, 0.5, 1])
    assert jvp(lambda x: np.interp(x, points, heights), (1.0,), (1.0,))[1] == 0


def test_a_nan_is_no_tie() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(slopes(np.max, np.array([1.0, np.nan]))[0], [0, 0])


def test_square_of_a_negative_base_warns_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(slopes(operator.pow, np.array([-2.0, 0.0, 3.0]), 2)[0], [-4, 0, 6])
        for f in (operator.pow, np.power):
            both = slopes(f, np.array([-2.0, 0.0, 3.0]), 2.0)
        assert both[1] == 9 * np.log(3)


def test_masks_do_not_let_infinities_through() -> None:
    seed = np.array([INF, 1.0])
    left, right = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for f, args in [(np.where, ([True, False], left, right)), (np.maximum, (left, right))]:
        _, pullback = rules.rrule(f, *args)
        *_, a_bar, b_bar = pullback(seed)
        assert np.array_equal(a_bar, [INF, 0]) and np.array_equal(b_bar, [0, 1])


def test_an_element_written_twice_keeps_the_last() -> None:
    _, pullback = rules.rrule(setitem, np.zeros(3), [0, 1, 0], np.array([1.0, 2.0, 3.0]))
    x_bar, _, value_bar = pullback(np.array([5.0, 6.0, 7.0]))
    assert np.array_equal(x_bar, [0, 0, 7]) and np.array_equal(value_bar, [0, 6, 5])
