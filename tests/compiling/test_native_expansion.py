"""Functions in Python run on stand-ins for arrays, which emit native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.special as sp
from native_by_python import interpret_program
from test_native import by_python

import wengert as wg
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.module import compile_program

E = np.random.default_rng(0).normal(size=(6, 4))
ONES = np.array([0.0, 1.0, 0.0, 0.0])[:, None] * np.ones(4)
WIDE = np.random.default_rng(1).normal(size=(1200,))[::5]
LOGS = np.array([[0.0, -50.0, -90.0], [700.0, 700.0, 1.0], [-np.inf, 2.0, -np.inf], [-800.0, -900.0, -800.0]])
COLUMNS, ROWS = np.array([[0, -1], [3, 1], [2, 2], [0, 1], [1, -4], [3, 3]]), np.array([[0, 5, 2, 1], [3, 3, -1, 0]])

PERMUTED = np.random.default_rng(2).permutation(20)
LONG = np.cos(np.arange(41.0))
KNOTS = np.linspace(-2.0, 2.0, 9)

FUNCTIONS: dict[str, Callable[[np.ndarray], Any]] = {
    "logsumexp": lambda e: sp.logsumexp(e) * sp.logsumexp(e[0]),
    "logsumexp of rows": lambda e: np.sum(sp.logsumexp(e, axis=1) ** 2 + sp.logsumexp(e, axis=-1, keepdims=True)),
    "softmax": lambda e: np.sum(sp.softmax(e, axis=1) ** 2) + sp.softmax(e)[0, 1],
    "roll": lambda e: np.sum(np.roll(e, 1, axis=0) * np.roll(e, (2, -5), axis=(0, 1)) + np.roll(e[0], -1)),
    "repeat": lambda e: np.sum(np.repeat(e[0] * e[1], 3) * np.arange(3 * e.shape[1])),
    "flip": lambda e: np.sum(np.flip(e) * np.flip(e, 0) * np.flip(e, axis=(0, 1)) * np.arange(4)),
    "betaln": lambda e: np.sum(sp.betaln(np.exp(e), 2.0)) + sp.betaln(np.exp(4.0 + e[0, 0]), 30.0),
    "log_ndtr": lambda e: np.sum(sp.log_ndtr(e)) + sp.log_ndtr(10.0 * e[0, 0]),
    "any and all": lambda e: np.sum(e) * (2.0 if np.any(e > 1.0) and np.all(np.abs(e) < 20.0) else 3.0),
    "any of rows": lambda e: np.sum(np.where(np.any(e > 1.0, axis=1) | np.all(e < 0.5, axis=1), e[:, 0], e[:, 1] ** 2)),
    "linspace": lambda e: np.sum(np.linspace(e[0, 0], e[0, 1], 7) ** 2) + np.sum(np.linspace(e[1, 0], 2.0, 4) ** 3),
    "interp": lambda e: np.sum(np.interp(e[:, 0], np.linspace(-1.0, 1.0, 4), e[0]) ** 2),
    "interp beyond the end": lambda e: np.interp(e[1, 1], e[2] - 9.0, e[3]) + np.interp(e[1, 1], e[2] + 9.0, e[3] ** 2),
    "interp in a table": lambda e: np.sum(np.interp(e, KNOTS, np.sin(KNOTS)) * e),
    "stacked products": lambda e: (
        np.sum((e.reshape(3, 2, 4) @ e.reshape(3, 4, 2)) ** 2) + np.sum(e.reshape(2, 3, 4) @ e.T)
    ),
    "interp of a number": lambda e: np.interp(e[0, 0], np.cumsum(np.exp(e[1])) - 2.0, e[2]) ** 2,
    "solve_triangular": lambda e: np.sum(
        sl.solve_triangular(e[:4] + 3.0 * np.eye(4), e.T, lower=True)
        + sl.solve_triangular(e[:4] + 3.0 * np.eye(4), e.T) * e[0, 0]
        + sl.solve_triangular(e[:4] + 3.0 * np.eye(4), e.T, trans=1) ** 2
    ),
    "cholesky": lambda e: np.sum(sl.cholesky(e.T @ e, lower=True)[2] ** 3) + np.sum(sl.cholesky(e.T @ e)[1] ** 2),
    "a unit diagonal": lambda e: np.sum(sl.solve_triangular(e[:4], e[4], lower=True, unit_diagonal=True) ** 2),
    "cho_factor": lambda e: (
        np.sum(sl.cho_solve(sl.cho_factor(e.T @ e + np.eye(4)), e[:4]) ** 3)
        + np.sum(sl.cho_solve(c := sl.cho_factor(e.T @ e + np.eye(4), lower=True), e[1])) * np.sum(c[0] ** 2)
    ),
    "solve_banded": lambda e: (
        np.sum(sl.solve_banded((1, 1), e[:3] + 3.0 * ONES[:3], e[3]) ** 2)
        + np.sum(sl.solve_banded((2, 1), e[:4] + 3.0 * ONES, e.T) * e[0, 0])
    ),
    "lu_factor": lambda e: (
        np.sum(sl.lu_solve(lu := sl.lu_factor(e[:4] + np.eye(4)[::-1]), e[0]) ** 2)
        + np.sum(sl.lu_solve(lu, e[1:5], trans=1)) * np.prod(np.diag(lu[0]))
        + np.sum(sl.lu_factor(e)[0] ** 2)
    ),
    "qr": lambda e: (
        np.sum(np.linalg.qr(e).Q ** 3)
        + np.sum(np.linalg.qr(e)[1] ** 3)
        + np.sum(np.linalg.qr(e.T @ e, mode="r")) * np.sum(np.linalg.qr(e[:4], mode="complete")[0] ** 3)
    ),
    "svd": lambda e: (
        np.sum(np.abs(np.linalg.svd(e, full_matrices=False)[0]) * (usv := np.linalg.svd(e.T, False))[2].T)
        + np.sum(usv.S**3) * np.sum(np.linalg.svd(e[:3], compute_uv=False))
        + np.sum(np.linalg.svd(e)[2][1] ** 4)
    ),
    "eigh": lambda e: (
        np.sum(np.linalg.eigh(e.T @ e)[1][0] ** 4)
        + np.sum(np.linalg.eigh(e[:4], UPLO="U").eigenvalues ** 3)
        + np.sum(np.linalg.eigvalsh(e[2:]) * e[0])
    ),
    "real eigenvalues": lambda e: np.real(
        np.sum(np.linalg.eigvals(np.triu(e[:4]) + 0.01 * e[2:]) ** 3 * np.linalg.eig(e.T @ e + np.diag(e[0] ** 2))[0])
        + np.sum(np.linalg.eig(e.T @ e @ np.diag(e[1] ** 2))[1][0] ** 4)
    ),
    "lstsq": lambda e: (
        np.sum(np.linalg.lstsq(e, np.sin(e[:, 0]))[0] ** 3)
        + np.sum(np.linalg.lstsq(e, e**2)[1]) * (1.0 if np.linalg.lstsq(e, e, rcond=None)[2] == 4 else 2.0)
        + np.sum((x := np.linalg.lstsq(e.T, e[0] ** 2, rcond=1e-9))[0] ** 2) * np.sum(x[3] ** 3)
    ),
    "pinv": lambda e: np.sum(np.linalg.pinv(e) ** 3) + np.sum(np.linalg.pinv(e[:3], rtol=None) * e[:3].T),
    "nan as missing": lambda e: (
        np.sum(np.nanvar(n := np.where(e > 0.5, np.nan, e * e), axis=0, ddof=1) * e[0]) * np.nanvar(n)
        + np.sum(np.nanstd(n, axis=0, keepdims=True) * e)
    ),
    "where of reductions": lambda e: (
        np.sum(np.mean(e * e, axis=0, where=e > -2.0) * np.var(e, axis=0, where=E > -1.0) * np.sum(e, 0, where=e < 0.7))
        + np.std(e, where=E[0] > 0.3, ddof=1) * (e**3).mean(where=COLUMNS[:, :1] > 1)
    ),
    "stacks of matrices": lambda e: (
        np.sum(np.linalg.solve(m := e.reshape(3, 2, 2, 2)[:, :1] + 3.0 * np.eye(2), e[:4, :2].reshape(2, 2, 2)) ** 2)
        + np.sum(np.linalg.inv(m[0]) * np.linalg.solve(m[:1, 0], e[0, :2])) * np.sum(np.linalg.det(m))
        + np.sum(np.linalg.cholesky(m[:, 0] @ m[:, 0].transpose(0, 2, 1))) * np.sum(np.linalg.slogdet(m)[1] ** 2)
        + np.sum(np.linalg.svd(m[:, 0], compute_uv=False)[0] ** 3 + np.linalg.eigvalsh(m)[2, 0] ** 3)
        + np.sum(np.linalg.qr(e.reshape(2, 3, 4)[..., :2])[0] ** 3 * np.linalg.pinv(e.reshape(2, 3, 4)[:, :2])[:, :3])
    ),
    "determinants by more rows": lambda e: (
        np.linalg.slogdet(np.outer(e, e) * 0.1 + np.diag(np.cos(e.ravel())))[1]
        + np.linalg.det(np.outer(e[:5], e[:5]) + np.eye(20)[PERMUTED])
    ),
    "outer of matrices": lambda e: np.sum(np.outer(e.T, e) * np.outer(e[0, 0], e**2) * np.outer(e, LONG[:24])),
    "long convolutions": lambda e: np.sum(
        np.convolve(e.ravel(), np.sin(e).ravel()) ** 2 + np.convolve(e.T.ravel(), LONG, "same")[0] ** 3
    ),
    "systems of SciPy": lambda e: (
        np.sum(sl.solve(e[:4], e[0]) ** 2 + sl.inv(e[1:5] + np.eye(4))[0] ** 3) * sl.det(e[2:])
        + np.sum(sl.pinv(e)[0] ** 3 * (sl.toeplitz(e[:, 0]) @ sl.toeplitz(e[:, 1], e[0])).T[0])
    ),
    "factors of SciPy": lambda e: (
        np.sum(sl.qr(e, mode="economic")[0] ** 3 * sl.svd(e, full_matrices=False)[1] ** 2) + sl.svdvals(e)[1] ** 2
    ),
    "expm": lambda e: (
        np.sum(np.sin(sl.expm(e[:4]))) * sl.expm(1e-9 * e[2:])[0, 0]
        + sl.expm(np.triu(e[:3, :3]) * 2.0)[0, 1]
        + sl.expm((e[:3, :3] - e[:3, :3].T) * 40.0)[0, 1]
    ),
    "diagonals beside the main one": lambda e: (
        np.sum(np.diag(np.exp(e), 1) * np.diagonal(e, offset=-2)[:3]) + np.sum(np.diag(e[0], -1) @ e[:5])
    ),
    "copies": lambda e: np.sum(np.ascontiguousarray(e.T) * np.array(e.T, copy=None, subok=True)),
    "arange": lambda e: np.sum(np.arange(e[0, 0] * 0.1, 5.0, 0.7) ** 2),
    "any as a method": lambda e: np.sum(e) * (2.0 if (e > 1.0).any() and (np.abs(e) < 20.0).all() else 3.0),
    "clip on one side": lambda e: np.sum(np.clip(e, 0.1, None) ** 2) + np.sum((e * e).clip(None, 0.5) * e),
    "take_along_axis": lambda e: (
        np.sum(np.take_along_axis(e, COLUMNS, axis=1) ** 2)
        + np.sum(np.take_along_axis(np.sin(e), ROWS, axis=0) * e[:2])
    ),
    "reduce": lambda e: np.sum(np.minimum.reduce([e[0], e[1], e[2] ** 2]) * np.maximum.reduce(e)),
    "vander": lambda e: np.sum(np.vander(e[0], 3) * e[:4, :3]) + np.sum(np.vander(e[1], increasing=True) @ e[2]),
    "where alone": lambda e: np.sum(e[np.where(e[:, 0] ** 2 + 1.0 > 0.0)[0], 1] ** 2),
    "isinf": lambda e: np.sum(np.where(np.isinf(1.0 / (e - E)), e, 2.0 * e)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_native(name: str) -> None:
    gradient = wg.value_and_grad(FUNCTIONS[name])
    tape = wg.trace(gradient, E)[1].optimise()
    run = by_python(tape)
    for e in (E, -2.0 * E):
        (value, x_bar), expected = run(e), gradient(e)
        assert value == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, expected[1], rtol=1e-11, atol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_logsumexp_is_scipys_where_terms_are_tiny_or_infinite() -> None:
    run = by_python(wg.trace(lambda x: sp.logsumexp(x, axis=1), LOGS)[1].optimise())
    np.testing.assert_allclose(run(LOGS), sp.logsumexp(LOGS, axis=1), rtol=1e-14)
    for bad in (np.nan, np.inf, -np.inf):
        x = LOGS.copy()
        x[2] = bad
        assert run(x) is None


def test_guards_on_arrays() -> None:
    run = by_python(wg.trace(lambda e: np.sum(e) * (2.0 if np.any(e > 9.0) else 3.0), E)[1].optimise())
    assert run(E) == pytest.approx(3.0 * np.sum(E), rel=1e-13)
    assert run(E * 9.0) is None
    run = by_python(wg.trace(lambda e: np.sum(e) * (2.0 if np.all(e < 9.0) else 3.0), E)[1].optimise())
    assert run(E) == pytest.approx(2.0 * np.sum(E), rel=1e-13)
    assert run(E * 9.0) is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_factors_are_numpys_and_fail_with_them() -> None:
    of_products, least_squares = lambda a: np.linalg.eigh(a.T @ a), lambda a: np.linalg.lstsq(a, a[:, 0] ** 2)[::3]
    signed = lambda values, vectors: (values, vectors * np.sign(np.real(vectors[0])))  # LAPACK may return either sign
    of_any = lambda a: signed(*np.linalg.eig(a[:4] @ a[:4].T @ np.diag(a[4] ** 2)))
    of_scipy = lambda a: (*sl.qr(a[:4]), sl.solve(a[:4], a[4]))
    for function in (np.linalg.qr, np.linalg.svd, of_products, of_scipy, of_any, least_squares):
        run = by_python(wg.trace(lambda a, f=function: [1.0 * x for x in f(a)], E)[1].optimise())
        for a in (E, E[::-1] ** 3):
            for found, expected in zip(run(a), function(a), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        assert run(np.full_like(E, np.nan)) is None
    assert run(np.ones_like(E)) is None  # of another rank
    run = by_python(wg.trace(lambda a: 1.0 * sl.solve(a @ a.T, a[:, 0]), E[:4])[1].optimise())
    assert run(E[:4] * 1e-9) is not None
    assert run(E[:4] * np.array([1.0, 1.0, 1.0, 1e-9])) is None  # so that SciPy warns


def test_index_arrays_of_take_along_axis_may_change() -> None:
    places = np.array([[0, 1], [3, 1], [2, 2], [0, 1], [1, 0], [3, 3]])
    g = wg.compile(wg.value_and_grad(lambda e: np.sum(np.take_along_axis(e, places, axis=1) ** 2)))
    for _ in range(3):
        value, x_bar = g(E)
        assert value == pytest.approx(np.sum(np.take_along_axis(E, places, axis=1) ** 2), rel=1e-12)
        places[0] = (places[0] + 1) % 4
        assert x_bar.shape == E.shape


def test_a_smaller_integer_is_read_as_a_number() -> None:
    """The rank that lstsq returns is an int32."""

    def f(e: Any) -> Any:
        a = np.vander(np.sin(e[:, 0]), 3)
        return np.sum((a @ np.linalg.lstsq(a, e[:, 1], rcond=None)[0]) ** 2) + np.sum(np.exp(e) / (1.0 + e * e))

    gradient = wg.value_and_grad(f)
    run: Any = compile_native(wg.trace(gradient, E)[1].optimise(), build=interpret_program)
    for e in (E, -2.0 * E):
        (value, x_bar), expected = run(e), gradient(e)
        assert value == pytest.approx(expected[0], rel=1e-10)
        np.testing.assert_allclose(x_bar, expected[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("build", [interpret_program, compile_program], ids=["by Python", "by LLVM"])
def test_larger_matrices_are_left_to_lapack_and_blas(build: Any) -> None:
    if build is compile_program:
        pytest.importorskip("numba")

    def f(x: Any, b: Any) -> Any:
        a = np.outer(x, x) + np.diag(np.cosh(x))
        y = np.linalg.solve(a, b)
        wide = np.tanh(a[:, ::-1] @ np.outer(x, WIDE))  # of 240 columns
        square = wide.T @ (a.T[::-1] @ wide)
        z = square @ WIDE + WIDE @ square
        return np.sum(np.linalg.solve(a + y[:, 0], x * np.mean(z))) + np.sum(np.log(np.diag(np.linalg.cholesky(a))))

    gradient = wg.value_and_grad(f, argnums=(0, 1))
    x, b = np.linspace(-1.0, 1.0, 40), np.cos(np.arange(120.0)).reshape(40, 3)
    run: Any = compile_native(wg.trace(gradient, x, b)[1].optimise(), build=build)
    assert run.state == "native code"
    for scale in (1.0, 0.5):
        for found, expected in zip(run(scale * x, b)[1], gradient(scale * x, b)[1], strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    run = compile_native(wg.trace(np.linalg.solve, np.eye(40), b)[1].optimise(), build=build)
    with pytest.raises(np.linalg.LinAlgError):
        run(np.ones((40, 40)), b)
