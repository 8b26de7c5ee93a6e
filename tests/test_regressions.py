"""Bugs that were found by use, each with the program that showed it."""

import cmath

import numpy as np
import pytest

import wengert as wg


def test_float_stored_into_an_array_of_no_dimension_keeps_the_dtype_of_the_array_on_a_tape():
    def f(s):
        y = np.zeros(())
        y[()] = s
        return np.sum(y * np.float32([0.1, 0.3]))

    tape = wg.trace(f, 1.7)[1]
    for again in (tape.play(2.5), tape.compile()(2.5), wg.gradtape(f, 1.7).compile()(2.5)[0]):
        assert again == f(2.5)
        assert again.dtype == np.float64


def test_float_stored_into_an_array_of_no_dimension_can_be_indexed_on_a_tape():
    def f(s):
        y = np.zeros(())
        y[()] = s
        y[...] *= 2
        return y * 1.0

    tape = wg.trace(f, 1.5)[1]
    assert tape.play(2.0) == tape.compile()(2.0) == f(2.0)
    assert wg.grad(f)(1.5) == wg.gradtape(f, 1.5).play(2.0)[1][1] == 2.0


def test_an_array_of_no_dimension_changed_in_place_stays_an_array_when_played():
    def f(o):
        y = o.copy()
        y += 1
        return y.reshape(1)[0]

    assert wg.trace(f, np.array(1.5))[1].play(np.array(2.5)) == f(np.array(2.5)) == 3.5


def test_reshaping_in_the_order_of_memory():
    def f(a):
        return (a.reshape(6, order="A") * np.arange(6.0)).sum()

    for a in (np.ones((2, 3)), np.asfortranarray(np.ones((2, 3)))):
        np.testing.assert_allclose(wg.grad(f)(a), wg.ngradient(f, a)[0], atol=1e-8)


def test_arrays_of_objects_are_refused_as_arguments():
    with pytest.raises(wg.IntegerInputError, match="array of object"):
        wg.grad(lambda a: a.sum())(np.array([1.0, 2.0], dtype=object))


def test_the_sum_of_numbers_that_are_no_nan_along_an_axis() -> None:
    """`np.nansum` hands its missing keepdims on to `np.sum`, whose rule took it for a true one."""
    x = np.arange(9.0).reshape(3, 3)
    x_bar = wg.grad(lambda x: np.sum(np.nansum(x, axis=1) * np.array([1.0, 2.0, 3.0])))(x)
    assert np.array_equal(x_bar, np.repeat([[1.0], [2.0], [3.0]], 3, axis=1))


def test_a_rule_that_reads_one_of_several_results_has_a_second_derivative() -> None:
    """The pullback of `cmath.polar` divides by the radius; as a number it was no variable to an outer trace."""

    def angle(x: float) -> float:
        return cmath.polar(complex(x, 0.5))[1]

    assert abs(wg.grad(wg.grad(angle))(1.5) - 2 * 1.5 * 0.5 / (1.5**2 + 0.5**2) ** 2) < 1e-15
