"""`debug_nans` names the line that makes a nan or an inf, forward and backward, and blames no other.

The oracle of forward runs is NumPy itself: the plain run under `np.errstate(all="raise")` raises at that line.
"""

from __future__ import annotations

import inspect
import math
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([1.0, 0.0, 2.0])
LARGE = np.ones(5000)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def log_of_zero(x):
    a = x * 2.0
    b = np.log(a)
    return np.sum(b) + np.sum(a)


def division_in_place(x):
    y = x.copy()
    z = x - x
    y /= z
    return np.sum(y)


def into_out(x):
    y = np.empty_like(x)
    np.log(x, out=y)
    return np.sum(y)


def over_its_own_reverse(x):
    y = x + 0.0
    np.divide(x[::-1], y, out=y)
    return np.sum(y)


def overflow(x):
    y = x * 1000.0
    z = np.exp(y)
    return np.sum(z)


def lost_again(x):
    y = np.log(x)
    z = np.where(np.isfinite(y), y, 0.0)
    return np.sum(z)


def in_a_loop(x):
    y = x[0]
    for k in range(3):
        y = y / np.float64(2.0 - k)
    return y


def numbers(x):
    a = x[0] - x[0]
    b = np.float64(a) / a
    return b


def in_a_helper(x):
    return np.sum(x) + log_of_zero(x)


FORWARD = [
    log_of_zero, division_in_place, into_out, over_its_own_reverse, overflow, lost_again, in_a_loop, numbers,
    in_a_helper,
]  # fmt: skip


def plain_line(f: Callable[..., Any], *args: Any) -> int:
    """The line at which NumPy raises in the plain run."""
    with np.errstate(all="raise", under="ignore"):
        try:
            f(*args)
        except FloatingPointError as error:
            return traceback.extract_tb(error.__traceback__)[-1].lineno or 0
    raise AssertionError("the plain run raises nothing")


def told(run: Callable[[], Any]) -> str:
    with pytest.raises(wg.NonFiniteError) as caught, wg.debug_nans():
        run()
    return str(caught.value)


WAYS = {
    "grad": lambda f, x: wg.grad(f)(x),
    "at once": lambda f, x: wg.grad(f, x),
    "value_and_grad": lambda f, x: wg.value_and_grad(f)(x),
    "vjp": lambda f, x: wg.vjp(f, x),
    "gradtape": lambda f, x: wg.gradtape(f, x),
    "nested": lambda f, x: wg.grad(lambda x: np.sum(wg.grad(f)(x) ** 2))(x),
}


@pytest.mark.parametrize("f", FORWARD)
@pytest.mark.parametrize("way", WAYS)
def test_the_first_line_forward_is_numpys_own(f: Callable[..., Any], way: str) -> None:
    said = told(lambda: WAYS[way](f, X))
    assert re.match(rf"{re.escape(__file__)}:{plain_line(f, X.copy())} in ", said)
    assert "for finite arguments." in said and "the pullback of" not in said


def line(f: Callable[..., Any], text: str) -> int:
    lines, first = inspect.getsourcelines(f)
    return first + next(k for k, found in enumerate(lines) if text in found)


def root(x):
    y = x * 1.0
    z = np.sqrt(y)  # its derivative at 0 is inf
    return np.sum(z * 3.0)


def power(x):
    return np.sum(x**0.5 + x)  # so is this one's


def norm(x):
    y = np.hypot(x, 0.0)
    return np.sum(np.arccos(y / 2.0))  # and this one's, at 1


BACKWARD = [(root, "np.sqrt", "sqrt"), (power, "x**0.5", "** 0.5"), (norm, "arccos", "arccos")]


@pytest.mark.parametrize(("f", "text", "call"), BACKWARD)
@pytest.mark.parametrize("way", ["grad", "at once", "value_and_grad"])
def test_a_step_back_is_named_with_the_line_that_it_steps_back_through(f, text, call, way) -> None:
    assert np.all(np.isfinite(f(X)))
    said = told(lambda: WAYS[way](f, X))
    assert said.startswith(f"{__file__}:{line(f, text)} in {f.__name__}: the pullback of ")
    assert call in said and "returned " in said and "finite arguments and ȳ = " in said


@pytest.mark.parametrize(("f", "text", "call"), BACKWARD)
@pytest.mark.parametrize("way", ["gradtape", "nested"])
def test_so_it_is_where_an_outer_derivative_watches(f, text, call, way) -> None:
    said = told(lambda: WAYS[way](f, X))
    assert said.startswith(f"{__file__}:{line(f, text)} in {f.__name__}: in the pullback of ")


def test_the_pullback_of_a_vjp_is_looked_at_when_it_is_called() -> None:
    _, pullback = wg.vjp(root, X)
    assert np.isinf(pullback(1.0)[0][1])
    assert ":" + str(line(root, "np.sqrt")) in told(lambda: pullback(1.0))


def test_the_elements_that_made_it_are_shown() -> None:
    assert "np.log(0.0) returned -inf at [1] of shape [3]" in told(lambda: wg.grad(log_of_zero)(X))
    assert "the pullback of np.sqrt(0.0) returned inf at [1] of shape [3]" in told(lambda: wg.grad(root)(X))
    assert "ȳ = 3.0" in told(lambda: wg.grad(root)(X))
    assert "0.0 / 0.0 returned nan" in told(lambda: wg.grad(numbers)(X))
    whole = told(lambda: wg.grad(lambda x: np.sum(np.cumsum(x * 1e308)))(np.full(100, 1.0)))
    assert "np.cumsum(float64[100] from 1e+308 to 1e+308) returned inf at [1]" in whole


def test_second_derivatives_name_the_users_line() -> None:
    def f(x):
        return np.float64(x) ** 2.5

    said = told(lambda: wg.grad(wg.grad(wg.grad(f)))(0.0))
    assert said.startswith(f"{__file__}:{line(f, '2.5')} in ") and said.count("in the pullback of pow") == 2


def test_a_line_in_a_checkpoint_is_named() -> None:
    assert f":{line(root, 'np.sqrt')} in root" in told(lambda: wg.grad(lambda x: wg.checkpoint(root)(x) * 2.0)(X))


def test_a_rule_of_the_users_own_is_named() -> None:
    def sixth(x):
        return x / 6.0

    with wg.rules.scope():

        @wg.rrule(sixth)
        def sixth_rule(x):
            return x / 6.0, lambda y_bar: y_bar / (x - x)

        said = told(lambda: wg.grad(lambda x: sixth(x) * 2.0)(np.float64(3.0)))
    assert "the pullback of" in said and "sixth(3.0) returned inf" in said


PUSHES = {
    "jvp": lambda f: wg.jvp(f, (X,), (X + 2.0,)),
    "linearize": lambda f: wg.linearize(f, X)[1](X + 2.0),
    "jvp of jvp": lambda f: wg.jvp(lambda x: wg.jvp(f, (x,), (x + 2.0,))[1], (X,), (X,)),
    "grad of jvp": lambda f: wg.grad(lambda x: wg.jvp(f, (x,), (x + 2.0,))[1])(X),
    "jvptape": lambda f: wg.jvptape(f, (X,), (X + 2.0,)),
}


@pytest.mark.parametrize(("f", "text", "call"), BACKWARD)
@pytest.mark.parametrize("way", PUSHES)
def test_so_is_a_step_forward(f, text, call, way) -> None:
    said = told(lambda: PUSHES[way](f))
    assert said.startswith(f"{__file__}:{line(f, text)} in {f.__name__}: ") and "the pushforward of " in said


@pytest.mark.parametrize("f", FORWARD)
def test_the_first_line_of_a_jvp_is_numpys_own(f: Callable[..., Any]) -> None:
    said = told(lambda: wg.jvp(f, (X,), (np.ones(3),)))
    assert re.match(rf"{re.escape(__file__)}:{plain_line(f, X.copy())} in ", said)
    assert "the pushforward of" not in said


def test_a_float_is_pushed_where_it_is_looked_at() -> None:
    assert "the pushforward of math.sqrt(0.0) returned inf for finite arguments and ẋ = 1.0" in told(
        lambda: wg.jvp(lambda x: math.sqrt(x * 2.0) + x, (0.0,), (0.5,))
    )
    assert "x, passed to math.sqrt, is nan" in told(lambda: wg.jvp(lambda x: math.sqrt(x), (math.nan,), (0.5,)))


# What is not blamed


MISSING = np.array([1.0, np.nan, 2.0])


def test_missing_data_may_be_there_where_the_result_does_not_depend_on_it() -> None:
    def f(x):
        y = x * 2.0
        return np.sum(np.where(np.isnan(y), 0.0, y))

    with wg.debug_nans():
        np.testing.assert_array_equal(wg.grad(f)(MISSING), [2.0, 0.0, 2.0])
        np.testing.assert_array_equal(wg.grad(np.nansum)(MISSING), [1.0, 0.0, 1.0])


def test_an_input_that_is_a_nan_is_named() -> None:
    said = told(lambda: wg.grad(lambda p, s: s * np.sum(p["w"] * 2.0))({"w": MISSING}, 3.0))
    assert "no call made it from finite values" in said and "p['w'], passed to mul, is nan at [1]" in said
    assert "x, passed to mul, is nan" in told(lambda: wg.grad(root)(MISSING))


@pytest.mark.parametrize("op", [np.subtract, np.multiply])
def test_so_is_a_constant_also_a_large_one_that_no_pullback_reads(op) -> None:
    data = LARGE.copy()
    data[7] = np.inf
    said = told(lambda: wg.grad(lambda x: np.sum(op(x, data)))(LARGE))
    assert f"argument 2, passed to np.{op.__name__}, is inf at [7]" in said


def test_a_seed_that_is_a_nan_is_the_users_own() -> None:
    with wg.debug_nans():
        bars = wg.vjp(np.sqrt, np.ones(3))[1](MISSING)
    np.testing.assert_array_equal(bars[0], [0.5, np.nan, 1.0])


def test_finite_code_runs_as_ever() -> None:
    x = np.linspace(0.1, 1.0, 40)

    def f(x):
        y = x.copy()
        for k in range(1, len(y)):
            y[k] *= math.sin(y[k - 1])
        y[1:] /= y[0]
        return np.sum(np.log(y[:3]) @ np.ones(3))

    expected = wg.grad(f)(x)
    with wg.debug_nans():
        assert wg.grad(f)(x).tobytes() == expected.tobytes()


# The switch


def test_it_ends_with_the_block_and_can_be_a_decorator() -> None:
    told(lambda: wg.grad(root)(X))
    assert np.isinf(wg.grad(root)(X)[1])
    with pytest.raises(FloatingPointError):
        wg.debug_nans()(wg.grad(root))(X)
    assert np.isinf(wg.grad(root)(X)[1])
    with wg.debug_nans(), wg.debug_nans():
        pass
    assert np.isinf(wg.grad(root)(X)[1])


def test_a_block_inside_the_function_is_enough() -> None:
    def f(x):
        with wg.debug_nans():
            y = np.log(x)
        return np.sum(y)

    with pytest.raises(wg.NonFiniteError, match=f":{line(f, 'np.log')} in "):
        wg.grad(f)(X)
    assert np.isinf(wg.grad(log_of_zero)(X)[1])


def test_traced_code_cannot_swallow_it() -> None:
    def f(x):
        try:
            return np.sum(np.log(x))
        except FloatingPointError:
            return 0.0

    told(lambda: wg.grad(f)(X))


def test_the_users_array_is_left_as_it_was_when_a_write_is_refused() -> None:
    def f(x):
        x /= x - x
        return np.sum(x)

    x = X.copy()
    told(lambda: wg.grad(f)(x))
    assert wg.grad(root)(np.ones(3)).tolist() == [1.5] * 3
