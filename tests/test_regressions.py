"""Bugs that were found by use, each with the program that showed it."""

import numpy as np

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
