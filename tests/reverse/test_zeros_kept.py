"""A factor of exactly zero: what stands behind a mask has no part in a derivative, whatever its partial is.

The primitives have a singular point at the first element, where each mask hides it. The derivatives in the other
elements are checked against central differences, and that of the first is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg

X = np.array([0.0, 1.0, 2.0])
M = X > 0
ZERO_ONE = M.astype(float)
Fn = Callable[[Any], Any]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

PRIMITIVES: dict[str, Fn] = {
    "sqrt": np.sqrt, "cbrt": np.cbrt, "log": np.log, "log2": np.log2, "log10": np.log10, "reciprocal": np.reciprocal,
    "log1p": lambda x: np.log1p(x - 1.0), "arcsin": lambda x: np.arcsin(1 - x / 3),
    "arccosh": lambda x: np.arccosh(x + 1), "arctanh": lambda x: np.arctanh(1 - x / 3),
    "divide": lambda x: np.sin(x) / x, "**": lambda x: x**0.5, "** -1.5": lambda x: x**-1.5,
    "power": lambda x: np.power(x, 1 / 3), "float_power": lambda x: np.float_power(x, 0.3),
    "sqrt of negative": lambda x: np.sqrt(x - 0.5), "nan": lambda x: np.where(x > 0, x, np.nan) ** 2,
    "exp(-1/x)": lambda x: np.exp(-1 / x), "logaddexp": lambda x: np.logaddexp(np.log(x), np.log(x)),
    "complex sqrt": lambda x: np.abs(np.sqrt(x + 0j)), "norm": lambda x: np.linalg.norm([x, x], axis=0) / x,
    "arctan2": lambda x: np.arctan2(x, x), "prod": lambda x: np.prod(np.stack([x, 1 / x, x]), axis=0),
    "std": lambda x: np.std(np.stack([np.sqrt(x), -x]), axis=0), "var": lambda x: np.var([np.sqrt(x), 1 / x], axis=0),
    "matmul": lambda x: np.sqrt(x) @ np.diag(ZERO_ONE), "dot": lambda x: np.dot(np.sqrt(x)[None], np.diag(ZERO_ONE))[0],
    "einsum": lambda x: np.einsum("i,ij->j", np.sqrt(x), np.diag(ZERO_ONE)),
    "tensordot": lambda x: np.tensordot(np.sqrt(x)[:, None], np.ones((1, 2)), 1)[:, 0],
    "outer": lambda x: np.outer(np.sqrt(x), np.ones(3))[:, 0], "xlogy": lambda x: sp.xlogy(x, x), "entr": sp.entr,
    "gammaln": sp.gammaln, "digamma": sp.digamma, "logit": lambda x: sp.logit(x / 3),
    "betaln": lambda x: sp.betaln(x, 1.0),
    "erfinv": lambda x: sp.erfinv(1 - x / 3), "math.sqrt": lambda x: np.array([math.sqrt(v) for v in x]),
    "math.log": lambda x: np.array([math.log(v) if v else 0.0 for v in x]),
}  # fmt: skip


def by_copyto(y: Any) -> Any:
    out = np.zeros(3)
    np.copyto(out, y, where=M)
    return np.sum(out)


def by_store(y: Any) -> Any:
    y = y.copy()
    y[~M] = 0.0
    return np.sum(y)


def finite(y: Any) -> Any:
    return np.nan_to_num(y, nan=0.0, posinf=0.0, neginf=0.0)


MASKS: dict[str, Callable[[Fn], Fn]] = {
    "where": lambda p: lambda x: np.sum(np.where(x > 0, p(x), 0.0)),
    "boolean index": lambda p: lambda x: np.sum(p(x)[M]),
    "integer index": lambda p: lambda x: np.sum(p(x)[[1, 2]]),
    "slice": lambda p: lambda x: np.sum(p(x)[1:]),
    "times zero": lambda p: lambda x: np.nansum(p(x) * ZERO_ONE),
    "dot with zeros": lambda p: lambda x: np.dot(finite(p(x)), ZERO_ONE),
    "matrix of zeros": lambda p: lambda x: np.sum(np.diag(ZERO_ONE) @ finite(p(x))),
    "select": lambda p: lambda x: np.sum(np.select([M], [p(x)], 1.0)),
    "sum where": lambda p: lambda x: np.sum(p(x), where=M),
    "copyto": lambda p: lambda x: by_copyto(p(x)),
    "store": lambda p: lambda x: by_store(p(x)),
    "masked array": lambda p: lambda x: np.ma.sum(np.ma.masked_where(~M, p(x))),
}


def ways(f: Fn) -> Iterator[tuple[str, Fn]]:
    units = np.eye(3)
    yield "grad", wg.grad(f)
    yield "vjp", lambda x: wg.vjp(f, x)[1](1.0)[0]
    yield "jacrev", wg.jacrev(f)
    yield "jacfwd", wg.jacfwd(f)
    yield "jvp", lambda x: np.array([wg.jvp(f, (x,), (e,))[1] for e in units])
    compiled = wg.compile(wg.grad(f), native=False)
    compiled(X + 0.25)  # its trace meets no infinity
    yield "compiled", compiled


def difference(f: Fn, h: float = 1e-6) -> np.ndarray:
    return np.array([0.0, *[(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)[1:]]])


def bent(f: Fn, h: float = 1e-4) -> np.ndarray:
    """The diagonal of the Hessian: each mask leaves the elements apart."""
    return np.array([0.0, *[(f(X + h * e) - 2 * f(X) + f(X - h * e)) / h**2 for e in np.eye(3)[1:]]])


@pytest.mark.parametrize("mask", MASKS)
def test_what_a_mask_hides_has_no_part_in_a_derivative(mask: str) -> None:
    wrong = []
    for name, primitive in PRIMITIVES.items():
        f = MASKS[mask](primitive)
        if not np.isfinite(f(X)):
            continue
        expected = difference(f)
        for way, derivative in ways(f):
            found = derivative(X)
            if not np.allclose(found, expected, rtol=1e-4, atol=1e-4):
                wrong.append(f"{name} {way}: {found}, not {expected}")
        curvature = bent(f)
        for way, found in (("hessian", wg.hessian(f)(X)), ("reverse twice", wg.jacrev(wg.grad(f))(X))):
            if not np.allclose(found, np.diag(curvature), rtol=1e-3, atol=1e-3):
                wrong.append(f"{name} {way}: {found}, not the diagonal {curvature}")
    assert not wrong, "\n".join(wrong)


def test_a_branch_that_nobody_reads() -> None:
    def f(x: Any) -> Any:
        hidden = np.sqrt(x), np.log(x), x / x
        return np.sum(x**2) + 0.0 * np.sum(np.nan_to_num(hidden[0]))

    for derivative in (wg.grad(f), wg.jacfwd(f), wg.jacrev(f)):
        np.testing.assert_array_equal(derivative(X), 2 * X)


def test_zeros_are_kept_in_large_arrays() -> None:
    """Their entries are dropped on the way, so each step is looked at."""
    x = np.linspace(0.0, 1.0, 100_000)

    def f(x: Any) -> Any:
        y = np.where(x > 0, np.sqrt(x), 0.0)
        for _ in range(3):
            y = np.sin(y)
        return np.sum(np.log(np.where(x > 0.5, x, 0.0))[x > 0.5]) + np.sum(y)

    h = 1e-7
    slope = (f(x + h * (x > 0.1)) - f(x - h * (x > 0.1))) / (2 * h)
    gradient = wg.grad(f)(x)
    assert gradient[0] == 0.0
    assert np.sum(gradient[x > 0.1]) == pytest.approx(slope, rel=1e-5)


def test_under_a_checkpoint_and_after_a_write() -> None:
    def f(x: Any) -> Any:
        y = wg.checkpoint(lambda x: np.where(x > 0, np.sqrt(x), 0.0))(x)
        z = y * x
        y[0] = 7.0
        return np.sum(z + y)

    expected = 1.5 * np.sqrt(X) + np.array([0.0, 0.5, 0.5 / np.sqrt(2)])
    for gradient in (wg.grad(f)(X), wg.vjp(f, X)[1](1.0)[0], wg.jacfwd(f)(X)):
        np.testing.assert_allclose(gradient, expected)


def test_what_is_infinite_or_a_nan_stays() -> None:
    """A cotangent that is not zero, times an infinite partial; and a function that is a nan itself."""
    assert np.array_equal(wg.grad(lambda x: np.sum(np.sqrt(x)))(X), [np.inf, 0.5, 0.5 / np.sqrt(2)])
    for derivative in (wg.grad, wg.jacfwd):
        assert np.isnan(derivative(lambda x: np.sum(np.sqrt(x)))(np.array([-1.0, 1.0]))[0])
        assert np.isnan(derivative(lambda x: np.sum(x * x))(np.array([np.nan, 1.0]))[0])


def test_debug_nans_reports_no_nan_that_is_no_part_of_the_derivative() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(x) * x, 0.0))

    with wg.debug_nans():
        np.testing.assert_allclose(wg.grad(f)(X), 1.5 * np.sqrt(X))
        with pytest.raises(wg.NonFiniteError, match=r"np.sqrt\(0.0\)"):
            wg.grad(lambda x: np.sum(np.sqrt(x)))(X)
