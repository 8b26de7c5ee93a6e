"""Tapes of gradients inside which there are others: their values as recorded are those of the eager gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

X = np.array([0.3, -0.5, 0.8])


def test_a_view_of_what_is_written_before_an_inner_gradient() -> None:
    """Σ v² s at v = (x₀, s, x₂). The view was taken for what it was before the write."""

    def f(s: Any, x: Any) -> Any:
        view = x.reshape(3, 1)
        x[1] = s
        y = np.sum(view * view)
        assert wg.grad(lambda p: p * s)(s) == s
        return s * y

    s = 0.37
    _, (_, s_bar, x_bar) = wg.gradtape(f, s, X.copy()).play(s, X.copy())
    np.testing.assert_allclose(s_bar, X[0] ** 2 + X[2] ** 2 + 3 * s**2, rtol=1e-14)
    np.testing.assert_allclose(x_bar, 2 * s * X * [1, 0, 1], rtol=1e-14)


def test_an_array_that_holds_another_of_other_strides() -> None:
    """Its views were views of that on the tape, where they are copies: it was stale at once."""

    def f(s: Any, z: Any) -> Any:
        v = np.zeros(3)
        v[:] = np.real(s * z)
        view = v.reshape(3, 1)
        view[0] = s
        return np.sum(view * view)

    s, z = 0.37, X + 0.1j
    tape = wg.trace(f, s, z)[1]
    for run in (tape.play, tape.compile()):
        np.testing.assert_allclose(run(s, z), f(s, z))
