"""Masked arrays as arguments: their gradients lie under the same mask, and agree with differences of what is shown."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([0.5, 1.2, 0.7, 2.1])
MASK = np.array([False, True, False, False])

FUNCTIONS: list[Any] = [
    lambda a: (a**3).sum(),
    lambda a: np.ma.mean(np.ma.exp(a)),
    lambda a: a.compressed().sum(),
    lambda a: (a.filled(3.0) ** 2).sum(),
    lambda a: np.sum(np.ma.where(a > 1, a, a * 2)),
    lambda a: a.std(),
    lambda a: (np.ma.minimum(a, 0.6) * np.ma.maximum(a, a[::-1])).sum(),
    lambda a: (np.ma.masked_less(a, 0.6) / np.ma.array(X + 0.5, mask=MASK[::-1])).sum(),
]
OF_SEVERAL: list[Any] = [
    lambda a: np.linalg.lstsq(np.vander(X, 2), a, rcond=None)[0],
    lambda a: np.linalg.slogdet(np.diag(X) + a * np.ones((4, 1)))[1],
    lambda a: np.linalg.eigh(np.diag(X) + a + a[:, None])[0],
    lambda a: np.linalg.svd(a * np.diag(X))[1],
    lambda a: np.modf(a)[0] + np.frexp(a + 0.1)[0],
]


def masked() -> Any:
    return np.ma.array(X, mask=MASK)


def expected(f: Any) -> np.ndarray:
    """By central differences of the numbers that are not masked."""
    steps = [np.ma.array(1e-5 * e, mask=MASK) for e in np.eye(4)]
    return np.array([(f(masked() + h) - f(masked() - h)) / 2e-5 for h in steps]) * ~MASK


@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_gradient_lies_under_the_mask_of_its_argument(f: Any) -> None:
    with warnings.catch_warnings(action="ignore"):  # what reads so much is not compiled, and says so
        compiled = wg.compile(wg.grad(f))
        found = [wg.grad(f)(masked()), wg.value_and_grad(f)(masked())[1], compiled(masked()), compiled(masked())]
    for gradient in found:
        assert type(gradient) is np.ma.MaskedArray
        assert gradient.mask.tolist() == MASK.tolist()
        np.testing.assert_allclose(gradient.data, expected(f), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(wg.jacobian(f)(masked()), expected(f), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_differences_leave_the_mask_as_it_is(f: Any) -> None:
    wg.check_grads(f, masked())
    np.testing.assert_allclose(wg.ngradient(f, masked())[0], expected(f), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("f", OF_SEVERAL)
def test_functions_that_give_several_arrays(f: Any) -> None:
    """Without a mask: NumPy's linear algebra does not look at it."""
    total = lambda x: np.sum(np.asarray(f(np.ma.array(x, mask=False))) ** 2)
    slopes = wg.ngradient(total, X)[0]
    np.testing.assert_allclose(wg.grad(total)(X), slopes, rtol=1e-7)
    assert wg.jvp(total, (X,), (X,))[1] == pytest.approx(slopes @ X)


@pytest.mark.parametrize("derivative", [wg.jacobian, wg.jacrev, wg.jacfwd])
def test_jacobians_are_plain(derivative: Any) -> None:
    found = derivative(lambda a: (a**3).filled(0.0))(masked())
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, np.diag(3 * X**2 * ~MASK))
    hessian = wg.hessian(lambda a: (a**3).sum())(masked())
    assert type(hessian) is np.ndarray
    np.testing.assert_allclose(hessian, np.diag(6 * X * ~MASK))


def test_a_masked_cotangent_is_zero_under_its_mask() -> None:
    y, pullback = wg.vjp(lambda x: np.ma.array(x, mask=MASK) ** 2, X)
    np.testing.assert_allclose(pullback(y)[0], 2 * X**3 * ~MASK)
    _, (_, gradient) = wg.grad(lambda a: a**2, masked(), seed=masked())
    np.testing.assert_allclose(gradient.data, 2 * X**2 * ~MASK)


def test_the_mask_of_a_gradient_is_its_own() -> None:
    a = masked()
    gradient = wg.grad(lambda a: (a**2).sum())(a)
    gradient.mask[0] = True
    assert a.mask.tolist() == MASK.tolist()


def test_what_is_masked_may_have_no_derivative() -> None:
    a = np.ma.masked_less(np.array([-1.0, 1.0, 2.0]), 0)
    np.testing.assert_allclose(wg.grad(lambda a: np.ma.log(a).sum())(a).compressed(), [1.0, 0.5])


def test_within_another_derivative() -> None:
    f = lambda a: (wg.grad(lambda a: (a**3).sum())(a) ** 2).sum()
    np.testing.assert_allclose(wg.grad(f)(masked()).data, 36 * X**3 * ~MASK)


def test_a_masked_array_of_objects_is_refused_by_name() -> None:
    rows = masked().reshape(2, 2)
    with pytest.raises(wg.RefusedCallError, match="object array"):
        wg.grad(lambda a: np.ma.apply_along_axis(np.sum, 0, a).sum())(rows)
