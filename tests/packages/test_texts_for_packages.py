"""Packages whose compiled functions have a text in Python stand for them: the same values, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(3)
X = RNG.normal(size=11)


@pytest.mark.parametrize("wavelet", ["haar", "db3", "bior2.2"])
@pytest.mark.parametrize("size", [8, 11])
def test_wavelets_in_each_mode(wavelet: str, size: int) -> None:
    pywt = pytest.importorskip("pywt")
    for mode in pywt.Modes.modes:
        x = X[:size]
        a, d = pywt.dwt(x, wavelet, mode)
        for f in (
            lambda x, mode=mode: pywt.dwt(x, wavelet, mode)[0] * 2 + pywt.dwt(x, wavelet, mode=mode)[1],
            lambda x, mode=mode: pywt.idwt(x[: len(a)], x[-len(a) :], wavelet, mode),
            lambda x, mode=mode: pywt.idwt(None, x[: len(d)], wavelet, mode),
        ):
            weights = np.arange(1.0, len(f(x)) + 1)
            loss = lambda x, f=f, weights=weights: np.sum(f(x) * weights)
            value, gradient = wg.value_and_grad(loss)(x)
            np.testing.assert_allclose(value, loss(x), rtol=1e-12)
            slopes = [loss(row) for row in np.eye(size)]  # it is linear
            np.testing.assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(wg.jvp(loss, (x,), (X[::-1][:size],))[1], loss(X[::-1][:size]), rtol=1e-10)


def test_wavelets_of_several_axes_and_levels() -> None:
    pywt = pytest.importorskip("pywt")
    image = RNG.normal(size=(6, 8))
    assert wg.vjp(lambda x: pywt.dwt(x, "db2")[1], X.astype(np.float32))[0].dtype == np.float32
    wg.check_grads(lambda x: np.sum(pywt.dwt(x, "db2", axis=0)[0] ** 2 * np.arange(8)), image)
    wg.check_grads(lambda x: np.sum(pywt.waverec(pywt.wavedec(x, "db2", level=1), "db2") ** 3), X)
    value, _ = wg.value_and_grad(lambda x: np.sum(pywt.wavedec(x, "haar")[0] ** 2))(image)
    np.testing.assert_allclose(value, np.sum(pywt.wavedec(image, "haar")[0] ** 2), rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "parameters"),
    [
        (lambda u: u.GARCH(1, 1, 1), [0.05, 0.1, 0.05, 0.8]),
        (lambda u: u.ARCH(2), [0.5, 0.2, 0.1]),
        (lambda u: u.HARCH([1, 3]), [0.1, 0.3, 0.2]),
        (lambda u: u.EGARCH(1, 0, 1), [0.05, 0.1, 0.8]),
        (lambda u: u.FIGARCH(), [0.1, 0.2, 0.4, 0.3]),
        (lambda u: u.APARCH(), [0.05, 0.1, 0.05, 0.8, 1.5]),
    ],
)
def test_variances_of_arch(make: Any, parameters: list[float]) -> None:
    model = make(pytest.importorskip("arch.univariate"))
    bounds = np.tile([1e-6, 1e6], (len(X), 1))

    def f(p: Any, r: Any) -> Any:
        return np.sum(model.compute_variance(p, r, np.zeros(len(X)), 0.9, bounds) ** 2)

    p = np.array(parameters)
    assert wg.value_and_grad(f)(p, X)[0] == pytest.approx(f(p, X), rel=1e-12)
    wg.check_grads(lambda p: f(p, X), p)
