"""`.reduce`, `.accumulate`, `.outer`, `.reduceat` and `.at` of ufuncs in traced functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_forms import gradient_outcome, keys_of
from sampling import Sample, values

import wengert as wg

BINARY = [
    np.add, np.subtract, np.multiply, np.true_divide, np.power, np.float_power, np.maximum, np.minimum, np.fmax,
    np.fmin, np.remainder, np.fmod, np.copysign, np.nextafter, np.heaviside, np.logaddexp, np.logaddexp2,
    np.arctan2, np.hypot, np.divmod,
]  # fmt: skip


@pytest.mark.parametrize("ufunc", BINARY)
def test_outer(ufunc: np.ufunc) -> None:
    a, b = values(2, 3, low=1.3, high=1.4), values(2, low=0.31, high=0.32)
    for args in ((a, b), (a, 0.3), (1.35, b), (a.astype(np.float32), b), ([1.35, 1.32], b)):
        for kwargs in ({}, {"dtype": np.float64}):
            sample = Sample(ufunc.outer, args, kwargs)
            assert [gradient_outcome(sample, (key,)) for key in keys_of(sample)] == ["right"] * len(keys_of(sample))


def at(ufunc: np.ufunc, key: Any) -> Callable[..., Any]:
    def changed(x: Any, *operands: Any) -> Any:
        y = x * 1.5
        ufunc.at(y, key, *operands)
        return y

    return changed


KEYS = [2, [0, 2], [1, 1, 0, 1], np.array([[0, 1], [1, 3]]), slice(1, 3), np.array([True, False, True, True]), (..., 1)]


@pytest.mark.parametrize(
    "ufunc", [np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.power, np.logaddexp]
)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_at(ufunc: np.ufunc, key: Any) -> None:
    wide = values(4, low=0.5, high=0.9)
    for x, b in ((wide, 0.45), (wide, values(*wide[key].shape, low=0.2, high=0.3)), (wide.astype(np.float32), 0.3)):
        sample = Sample(at(ufunc, key), (x, b), {})
        assert [gradient_outcome(sample, (k,)) for k in (0, 1)] == ["right", "right"]
        assert gradient_outcome(sample, (0, 1)) == "right"


@pytest.mark.parametrize("ufunc", [np.exp, np.negative, np.sqrt])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_at_of_one_argument(ufunc: np.ufunc, key: Any) -> None:
    assert gradient_outcome(Sample(at(ufunc, key), (values(4),), {}), (0,)) == "right"


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply])
@pytest.mark.parametrize("key", [[0, 9], np.array([0, 9]), np.array([0, 1, 2]), 1.5, (0, 0)], ids=str)
def test_at_raises_the_error_of_numpy(ufunc: np.ufunc, key: Any) -> None:
    errors = []

    def f(x: Any) -> Any:
        y = x * 1.5
        try:
            ufunc.at(y, key, x[:2])
        except (IndexError, ValueError) as error:
            errors.append((type(error), str(error)))
        return np.sum(y)

    f(values(4))
    wg.grad(f)(values(4))
    assert len(errors) == 2
    assert errors[0] == errors[1]


@pytest.mark.parametrize("term", [True, np.uint8(1), [1, 2], np.array([True, False])], ids=repr)
def test_integers_and_booleans_are_subtracted_at_indices(term: Any) -> None:
    f, x = at(np.subtract, [0, 2]), values(4)
    found, slope = wg.jvp(lambda x: f(x, term), (x,), (x,))
    assert np.array_equal(found, f(x, term)) and np.array_equal(slope, 1.5 * x)


def test_at_on_a_view_is_seen_by_its_owner() -> None:
    def f(x: Any, b: Any) -> Any:
        y = x.copy()
        np.multiply.at(y.T, ([0, 0, 1], [1, 1, 0]), b)
        return y

    sample = Sample(f, (values(2, 3), values(3)), {})
    assert gradient_outcome(sample, (0,)) == gradient_outcome(sample, (1,)) == "right"


def test_at_on_an_array_that_is_not_traced() -> None:
    def f(b: Any) -> Any:
        y = np.full(3, 2.0)
        np.multiply.at(y, [0, 1, 1], b)
        return y

    assert gradient_outcome(Sample(f, (values(3),), {}), (0,)) == "right"


def test_an_array_that_at_overwrites_is_read_as_it_was() -> None:
    def f(x: Any) -> Any:
        scratch = np.ones(3)
        y = np.sum(x * scratch)
        np.multiply.at(scratch, [0, 0], 5.0)
        return y + np.sum(x * scratch)

    assert np.array_equal(wg.grad(f)(np.ones(3)), [26.0, 2.0, 2.0])


def test_a_tape_plays_at_and_refuses_other_repeats() -> None:
    def f(x: Any, b: Any) -> Any:
        y = x * 1.0
        np.multiply.at(y, np.argsort(x[:2]), b)
        return np.sum(y)

    x, b = np.array([1.0, 2.0, 3.0]), np.array([0.5, 4.0])
    _, tape = wg.trace(f, x, b)
    assert tape.play(x * 2, b) == f(x * 2, b)


@pytest.mark.parametrize(
    "method", [np.power.reduce, np.arctan2.accumulate, np.true_divide.reduce, np.multiply.reduceat, np.copysign.reduce]
)
def test_a_method_without_a_rule_is_named_in_full(method: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(method(x, [0, 1]) if method.__name__ == "reduceat" else method(x))

    with pytest.raises(wg.NoRuleError) as caught:
        wg.grad(f)(np.ones(3))
    assert f"np.{method.__self__.__name__}.{method.__name__} has no rule" in str(caught.value)


def test_an_option_without_a_derivative_is_named_in_full() -> None:
    with pytest.raises(wg.NoRuleError, match=r"'initial' of subtract\.reduce depends on an input"):
        wg.grad(lambda x: np.subtract.reduce(np.ones(3), initial=x))(2.0)


def test_source_has_the_methods_by_name() -> None:
    source = wg.gradtape(lambda x: np.logaddexp.reduce(np.multiply.accumulate(x)), values(3)).to_source("df")
    assert "np.logaddexp.reduce(" in source and "np.multiply.accumulate(" in source


def test_reductions_into_out() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3)
        np.multiply.reduce(x, 0, None, y)
        np.add.accumulate(y, out=y)
        return y

    assert gradient_outcome(Sample(f, (values(2, 3),), {}), (0,)) == "right"


ZEROS = [([2.0, 3.0, 4.0], [12, 8, 6]), ([0.0, 3.0, 4.0], [12, 0, 0]), ([0.0, 0.0, 4.0], [0, 0, 0])]


@pytest.mark.parametrize(("x", "expected"), ZEROS)
@pytest.mark.parametrize("f", [np.prod, np.multiply.reduce, lambda x: x.prod(), lambda x: np.nanprod(x), math.prod])
def test_product_is_exact_at_zeros(f: Any, x: list[float], expected: list[float]) -> None:
    for at in (np.array(x), np.array(x, np.float32)):
        x_bar = wg.grad(f)(at)
        assert x_bar.dtype == at.dtype and np.array_equal(x_bar, expected)
    curvature = wg.grad(lambda y: wg.grad(f)(y)[0])(np.array(x))
    assert np.array_equal(curvature, [0, x[2], x[1]])


def test_products_neither_overflow_nor_vanish_where_their_parts_would() -> None:
    x = np.array([1e-200, 1e-200, 1e300])
    assert np.array_equal(wg.grad(np.prod)(x)[:2], [1e-200 * 1e300] * 2)
    with np.errstate(over="ignore"):
        x_bar = wg.grad(lambda x: np.sum(np.cumprod(x)))(np.array([1e-300, 1e200, 1e200, 0.0]))
    assert np.allclose(x_bar[1:3], 1e-100, rtol=1e-9)


def test_cumulative_product_is_exact_at_zeros() -> None:
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    for f in (np.cumprod, np.multiply.accumulate, lambda x: x.cumprod(), np.nancumprod):
        rows = [wg.grad(lambda x: f(x)[k])(x) for k in range(5)]
        assert np.array_equal(rows, [[1, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 6, 0, 0, 0], [0] * 5, [0] * 5])


def test_running_extremum_shares_among_all_that_tie() -> None:
    x = np.array([1.0, 3.0, 2.0, 3.0, 3.0, 4.0])
    rows = [wg.grad(lambda x: np.maximum.accumulate(x)[k])(x) for k in range(6)]
    third = 1 / 3
    assert np.allclose(rows, [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0],
                              [0, 0.5, 0, 0.5, 0, 0], [0, third, 0, third, third, 0], [0, 0, 0, 0, 0, 1]])  # fmt: skip
    assert np.array_equal(wg.grad(lambda x: np.fmax.accumulate(x)[2])(np.array([np.nan, 1.0, 1.0])), [0, 0.5, 0.5])
    for f in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert np.array_equal(wg.grad(f.reduce)(np.ones(4)), [0.25] * 4)


def test_empty_terms_of_a_log_of_sums_count_for_nothing() -> None:
    x = np.array([-np.inf, 0.0, -np.inf])
    assert np.array_equal(wg.grad(np.logaddexp.reduce)(x), [0, 1, 0])
    assert np.array_equal(wg.grad(np.logaddexp.reduce)(x[::2]), [0, 0])
    assert np.array_equal(wg.grad(np.hypot.reduce)(np.zeros(2)), [0, 0])


def test_constant_reductions_pass() -> None:
    def f(x: Any) -> Any:
        return np.sum(x[np.logical_or.reduce([x > 2, x < 1])]) + np.sum(x) * np.logical_and.reduce(x > 0)

    assert np.array_equal(wg.grad(f)(np.array([0.5, 1.5, 2.5])), [2, 1, 2])


def test_what_overflows_behind_does_not_reach_what_is_read() -> None:
    """Products of thousands of tens are infinite, and their cotangents 0."""
    with np.errstate(all="ignore"):
        x_bar = wg.grad(lambda x: np.sum(np.cumprod(x)[:3]))(np.full(5000, 10.0))
    assert np.allclose(x_bar[:4], [111, 110, 100, 0])


@pytest.mark.parametrize("n", [15, 16, 17, 300])
def test_a_long_product_with_zeros(n: int) -> None:
    """Against the products of all others, one by one."""
    x, weights = values(n, low=-1.5), np.cos(np.arange(n))
    x[[n // 3, n // 2]] = 0
    got = wg.grad(lambda x: np.sum(np.cumprod(x) * weights))(x)
    for k in range(n):
        others = np.where(np.arange(n) == k, 1, x)
        assert np.isclose(got[k], np.sum((np.cumprod(others) * weights)[k:]), rtol=1e-9, atol=1e-12)
