"""Transforms of numpy.fft and scipy.fft in more calls: batches, scratch space, closed forms, second order, cost."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import samples_fft
import scipy.fft
import scipy.fftpack
from sampling import naming, values

import wengert as wg
from wengert.errors import NoBatchingRuleWarning
from wengert.hooks.decide import decide
from wengert.values.callables import callable_name

Z = values(3, 4, dtype=complex)


def energy(y: Any) -> Any:
    return np.sum(np.arange(1.0, y.size + 1) * np.abs(y).ravel() ** 2)


@pytest.mark.parametrize("f", dict.fromkeys(sample.f for sample in samples_fft.SAMPLES), ids=callable_name)
def test_batches_are_transformed_at_once(f: Callable[..., Any]) -> None:
    for sample in [sample for sample in samples_fft.SAMPLES if sample.f is f]:
        x, rest = sample.args[0], sample.args[1:]
        batch = np.stack([x, 2 * x[..., ::-1], x - 1])
        with naming(sample), warnings.catch_warnings():
            warnings.simplefilter("error", NoBatchingRuleWarning)
            found = wg.vmap(lambda x: f(x, *rest, **sample.kwargs))(batch)
        expected = np.stack([f(x, *rest, **sample.kwargs) for x in batch])
        np.testing.assert_allclose(found, expected, rtol=1e-5 if x.dtype == np.float32 else 1e-12, atol=1e-12)


@pytest.mark.parametrize("f", [scipy.fft.fft, scipy.fft.dct, scipy.fft.fftn], ids=callable_name)
def test_scratch_space_is_not_what_a_pullback_reads(f: Callable[..., Any]) -> None:
    """SciPy writes into the array that it may overwrite, which the pullback of the square reads."""

    def loss(x: Any, overwrite: bool = True) -> Any:
        y = x * x
        z = np.exp(y) if f is scipy.fft.dct else np.exp(y) * (1 + 1j)
        return energy(f(z, overwrite_x=overwrite))

    x = values(3, 4)
    np.testing.assert_allclose(wg.grad(loss)(x), wg.grad(lambda x: loss(x, False))(x), rtol=1e-12)
    wg.check_grads(loss, x)


@pytest.mark.parametrize("f", [np.fft.fft, np.fft.irfft, np.fft.fftn, np.fft.ihfft], ids=callable_name)
def test_results_are_written_into_out(f: Callable[..., Any]) -> None:
    x = values(3, 4)
    plain = f(x)

    def loss(x: Any) -> Any:
        out = np.zeros(plain.shape, plain.dtype)
        f(x * x, out=out)
        return energy(out * 2)

    wg.check_grads(loss, x)


def test_the_energy_of_a_spectrum_is_that_of_the_signal() -> None:
    """Parseval: Σ|F x|² = n Σ x², whose gradient is 2 n x."""
    for n in (5, 8):
        x = values(n)
        for f in (np.fft.fft, scipy.fft.fft):
            np.testing.assert_allclose(wg.grad(lambda x: np.sum(np.abs(f(x)) ** 2))(x), 2 * n * x)
        hessian = wg.hessian(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x)
        np.testing.assert_allclose(hessian, 2 * n * np.eye(n), atol=1e-12)


def test_the_fast_hankel_transform_to_second_order() -> None:
    def loss(a: Any) -> Any:
        return np.sum(scipy.fft.fht(a, 0.1, 0.5, 0.2, 0.3) ** 2)

    matrix = np.stack([scipy.fft.fht(row, 0.1, 0.5, 0.2, 0.3) for row in np.eye(6)], axis=1)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(wg.hessian(loss)(values(6)), 2 * matrix.T @ matrix, atol=1e-10)


def test_frequencies_differentiate_in_the_spacing() -> None:
    for library in (np.fft, scipy.fft):
        slope = wg.jacfwd(lambda d: library.fftfreq(6, d))(0.5)
        np.testing.assert_allclose(slope, -np.fft.fftfreq(6, 0.5) / 0.5)


def test_the_recorder_of_a_transform_is_made_once() -> None:
    """It is looked for at each call, thousands of times where a spectrum is taken piece by piece."""
    f = scipy.fft.rfft
    assert decide(f).of(f) is decide(f).of(f)


def test_a_gradient_reads_nothing_of_the_signal() -> None:
    tape = str(wg.gradtape(lambda x: np.sum(scipy.fft.rfft(x).real), values(6)))
    assert "copy" not in tape


REAL = ("rfft", "irfft", "dct", "idct", "dst", "idst")
ALONG_ONE: list[dict[str, Any]] = [{}, {"axis": 0}, {"n": 3}, {"n": 8}, {"n": 2, "axis": 0}]
ALONG_SOME: list[dict[str, Any]] = [{}, {"axes": (0,)}, {"shape": (2, 7)}, {"shape": (5,), "axes": (1,)}]


@pytest.mark.parametrize(
    "name", ["fft", "ifft", *REAL, "fft2", "ifft2", "fftn", "ifftn", "dctn", "idctn", "dstn", "idstn"]
)
def test_transforms_of_fftpack(name: str) -> None:
    """They are those of scipy.fft, bit for bit, and their gradients those of differences."""
    f = getattr(scipy.fftpack, name)
    for x in (values(3, 4), values(4, 5)):
        for form in ALONG_SOME if name[-1] in "2n" else ALONG_ONE:
            seen = []

            def loss(x: Any, f: Any = f, form: Any = form, seen: Any = seen) -> Any:
                y = f(x, **form)
                seen.append(np.array(wg.stop_gradient(y)))
                return energy(y)

            gradient = wg.grad(loss)(x)
            np.testing.assert_array_equal(seen[0], f(x, **form))
            np.testing.assert_allclose(gradient, wg.ngradient(loss, x)[0], rtol=1e-6, atol=1e-6)


def test_types_of_waves_of_fftpack() -> None:
    for f in (scipy.fftpack.dct, scipy.fftpack.idct, scipy.fftpack.dst, scipy.fftpack.idst):
        for type, norm in itertools.product((1, 2, 3, 4), (None, "ortho")):
            wg.check_grads(lambda x, f=f, type=type, norm=norm: energy(f(x, type, norm=norm)), values(3, 4))


def test_shapes_without_axes_are_refused_as_fftpack_does() -> None:
    with pytest.raises(ValueError, match="of the same length"):
        wg.grad(lambda x: energy(scipy.fftpack.fftn(x, shape=(3,))))(values(3, 4))


@pytest.mark.parametrize("f", [scipy.fft.dct, scipy.fft.idct, scipy.fft.dst, scipy.fft.idst], ids=callable_name)
@pytest.mark.parametrize("type_", [1, 2, 3, 4])
def test_waves_of_complex_numbers_are_orthogonal_by_their_norm_alone(f: Callable[..., Any], type_: int) -> None:
    """SciPy does not read `orthogonalize` where the numbers are complex."""
    for norm in (None, "ortho", "forward"):
        for orthogonalize in (None, True, False):

            def loss(x: Any, norm: Any = norm, orthogonalize: Any = orthogonalize) -> Any:
                return energy(f(x, type_, 4, norm=norm, orthogonalize=orthogonalize))

            wg.check_grads(loss, Z[0, :3] if type_ == 1 else values(5, dtype=complex))
