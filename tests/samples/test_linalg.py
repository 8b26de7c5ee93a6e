"""Linear algebra and contractions in whole functions: entered code, second order, emitted source, costs, refusals."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import wengert as wg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 3)) + 2 * np.eye(3)
V = RNG.normal(size=3)
W = RNG.normal(size=(3, 3))


def written_into(x: Any) -> Any:
    out = np.zeros(3)
    np.einsum("ij->i", x * x, out=out)
    return np.sum(out * out)


def through_a_view(x: Any) -> Any:
    y = x.copy()
    np.einsum("ii->i", y)[:] = y[0] ** 2
    return np.sum(y * y)


def gaussian_process(x: Any, y: Any) -> Any:
    kernel = np.exp(-((x[:, None] - x) ** 2)) + 0.1 * np.eye(len(x))
    factor = np.linalg.cholesky(kernel)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return y @ alpha / 2 + np.sum(np.log(np.diag(factor)))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "einsum of two": lambda x: np.einsum("ij,jk->", x, np.sin(x)),
    "einsum of one twice": lambda x: np.sum(np.einsum("ij,jk,kl", x, x, x) * W),
    "einsum of numbers": lambda x: np.einsum("i,i", [x[0, 0], x[1, 1]], [2.0, 3.0]),
    "einsum by lists": lambda x: np.sum(np.einsum(x, [0, 1], x, [1, 2]) * W),
    "einsum diagonal": lambda x: np.sum(np.einsum("ii->i", x) ** 3),
    "einsum out=": written_into,
    "einsum view": through_a_view,
    "trace": lambda x: np.trace(x @ x, 1) ** 2 + x.trace() ** 2 + np.linalg.trace(x @ x, offset=-1) ** 2,
    "kron": lambda x: np.sum(np.kron(x, x) ** 2),
    "tensordot": lambda x: np.sum(np.tensordot(x, W, 1) * x) + np.tensordot(x, x, ((0, 1), (1, 0))),
    "tensordot of no axes": lambda x: np.sum(np.linalg.tensordot(x, x[0], axes=0) ** 2),
    "cross": lambda x: np.sum(np.cross(x, V) * np.linalg.cross(V + x, x * x)),
    "multi_dot": lambda x: np.sum(np.linalg.multi_dot([x, W, x, V])),
    "matrix_power": lambda x: np.sum(np.linalg.matrix_power(x, 5) * W),
    "vecdot": lambda x: np.sum(np.vecdot(x, x * x) * np.linalg.vecdot(x, W, axis=0)),
    "outer, matmul": lambda x: np.sum(np.linalg.outer(x[0], x[1]) * np.linalg.matmul(x, x)),
    "solve": lambda x: np.sum(np.linalg.solve(x, V) ** 2) + np.sum(np.linalg.solve(x, x[:, :2] ** 2) * W[:, :2]),
    "inv": lambda x: np.sum(np.linalg.inv(x) * W),
    "det": lambda x: np.linalg.det(x) * np.linalg.det(x[1:, 1:]),
    "slogdet": lambda x: np.linalg.slogdet(x)[1] ** 2,
    "slogdet by name": lambda x: np.linalg.slogdet(x).logabsdet * np.linalg.slogdet(x).sign,
    "matrix_power -2": lambda x: np.sum(np.linalg.matrix_power(x, -2) * W),
    "pinv": lambda x: np.sum(np.linalg.pinv(x[:, :2]) * W[:2]),
    "lstsq": lambda x: np.sum(np.linalg.lstsq(x[:, :2], x[:, 2])[0] ** 2),
    "residuals of lstsq": lambda x: np.linalg.lstsq(x[:, :2], V)[1][0] * np.linalg.lstsq(x, V)[3][0],
    "tensorinv": lambda x: np.sum(np.linalg.tensorinv(x, 1) * W),
    "tensorsolve": lambda x: np.sum(np.linalg.tensorsolve(x, V) ** 2),
    "norm": lambda x: np.linalg.norm(x) * np.linalg.norm(x, 1) + np.sum(np.linalg.norm(x, axis=0)),
    "vector_norm": lambda x: np.sum(np.linalg.vector_norm(x, ord=3, axis=1)) * np.linalg.vector_norm(x, ord=np.inf),
    "spectral norms": lambda x: np.linalg.norm(x, 2) * np.linalg.matrix_norm(x, ord="nuc") * np.linalg.norm(x, -2),
    "cond": lambda x: np.linalg.cond(x) + np.linalg.cond(x, 1) + np.linalg.cond(x, "fro"),
    "eigvalsh": lambda x: np.sum(np.linalg.eigvalsh(x) ** 3 * V),
    "eigh": lambda x: np.sum(np.linalg.eigh(x)[1] ** 2 * W) * np.linalg.eigh(x).eigenvalues[0],
    "eigenvectors of the upper triangle": lambda x: np.sum(np.linalg.eigh(x, UPLO="U").eigenvectors[0] ** 2 * V),
    "eigvals": lambda x: np.sum(np.abs(np.linalg.eigvals(x)) ** 2),
    "real eigenvectors": lambda x: np.sum(np.real(np.linalg.eig(x @ x.T * [1, 2, 3])[1]) ** 3 * W),
    "eig": lambda x: np.sum(np.abs(np.linalg.eig(x @ x.T * [1, 2, 3])[1]) ** 2 * W),
    "svdvals": lambda x: np.sum(np.linalg.svdvals(x) * V) ** 2,
    "svd": lambda x: np.sum(np.linalg.svd(x[:2], full_matrices=False)[2] ** 2 * W[:2]) * np.linalg.svd(x).S[1],
    "rank": lambda x: np.sum(x**2) * np.linalg.matrix_rank(x),
    "cholesky": lambda x: np.sum(np.linalg.cholesky(x @ x.T) * W) + np.linalg.cholesky(x @ x.T, upper=True)[0, 2] ** 2,
    "qr": lambda x: np.sum(np.linalg.qr(x)[0] * W) * np.linalg.qr(x[:2]).R[0, 2],
    "R of qr": lambda x: np.sum(np.linalg.qr(x, mode="r") ** 3),
    "Gaussian process": lambda x: gaussian_process(x[0], V),
    "diagonal, transpose": lambda x: np.sum(np.linalg.diagonal(x) * np.linalg.matrix_transpose(x) ** 2),
}  # fmt: skip


def agree(got: Any, expected: Any, rtol: float = 1e-8) -> None:
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * (1 + np.max(np.abs(expected))))


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradient_and_its_gradient_against_differences(f: Callable[[Any], Any]) -> None:
    agree(wg.grad(f)(X), wg.ngradient(f, X)[0])

    def slope(x: Any) -> Any:
        return np.sum(wg.grad(f)(x) * W)

    agree(wg.grad(slope)(X), wg.ngradient(slope, X)[0], 1e-7)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_emitted_source_agrees(f: Callable[[Any], Any]) -> None:
    value, (_, x_bar) = wg.gradtape(f, X).compile()(X)
    agree(value, f(X), 1e-14)
    agree(x_bar, wg.grad(f)(X), 1e-13)


Z = X + 1j * RNG.normal(size=(3, 3))
COMPLEX: dict[str, Callable[[Any], Any]] = {
    "eigenvalues": lambda z: np.sum(np.linalg.eigvalsh(z + z.conj().T) * V),
    "function of a Hermitian matrix": lambda z: through_eigh(z + z.conj().T),
    "absolute eigenvectors": lambda z: np.sum(np.abs(np.linalg.eigh(z)[1]) ** 2 * W),
    "absolute eigenvectors of any matrix": lambda z: np.sum(np.abs(np.linalg.eig(z)[1]) ** 2 * W),
    "function by eig": lambda z: through_eig(z),
    "function by svd": lambda z: through_svd(z),
    "tall": lambda z: through_svd(z[:, :2]),
    "wide": lambda z: through_svd(z[:2]),
    "solve, inv": lambda z: np.abs(np.sum(np.linalg.solve(z, V) + np.linalg.inv(z @ z)[0])),
    "det": lambda z: np.abs(np.linalg.det(z) + 1j),
    "slogdet": lambda z: np.real(np.linalg.slogdet(z)[0] * (1 + 2j)) + np.linalg.slogdet(z)[1],
    "Cholesky": lambda z: np.abs(np.sum(np.linalg.cholesky(z @ z.conj().T + np.eye(3)) * W)),
    "qr": lambda z: np.abs(np.sum(np.linalg.qr(z[:, :2])[0] * W[:, :2])),
    "norms": lambda z: np.linalg.norm(z, "nuc") * np.linalg.norm(z, 1) * np.linalg.norm(z[0], 3),
    "einsum": lambda z: np.abs(np.einsum("ij,kj,ik->", z, np.conj(z), z)),
}  # fmt: skip


def through_eigh(a: Any) -> Any:
    values, vectors = np.linalg.eigh(a)
    return np.sum(np.real((vectors * np.sin(values)) @ vectors.conj().T) * W)


def through_eig(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    return np.sum(np.imag((vectors * np.sin(values)) @ np.linalg.inv(vectors)) * W)


def through_svd(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(np.real((u * np.sin(s)) @ vh) * W[: a.shape[0], : a.shape[1]])


@pytest.mark.parametrize("f", COMPLEX.values(), ids=COMPLEX)
def test_complex_against_differences(f: Callable[[Any], Any]) -> None:
    agree(wg.grad(f)(Z), wg.ngradient(f, Z)[0])
    wg.check_grads(lambda z: np.real(np.sum(wg.grad(f)(z) * W)), Z)


def test_a_complex_step_agrees() -> None:
    """f(x + ih) = f(x) + ih f'(x) without any difference of near numbers."""
    for f in (
        lambda x: np.linalg.det(x),
        lambda x: np.sum(np.linalg.inv(x) * W),
        lambda x: np.sum(np.linalg.solve(x, V) ** 2),
        lambda x: np.sum(np.linalg.matrix_power(x, 3) * W),
        lambda x: np.einsum("ij,jk,ki->", x, np.exp(x), W),
        lambda x: np.sum(np.kron(x, x) ** 2),
    ):
        units = np.eye(9).reshape(9, 3, 3)
        step = np.reshape([np.imag(f(X + 1e-30j * unit)) / 1e-30 for unit in units], (3, 3))
        agree(wg.grad(f)(X), step, 1e-13)


def test_closed_forms() -> None:
    agree(wg.grad(np.linalg.det)(X), np.linalg.det(X) * np.linalg.inv(X).T, 1e-13)
    agree(wg.grad(lambda x: np.linalg.slogdet(x)[1])(X), np.linalg.inv(X).T, 1e-13)
    agree(wg.grad(np.trace)(X), np.eye(3))
    agree(wg.grad(lambda x: np.sum(np.linalg.eigvals(x).real))(X), np.eye(3), 1e-12)
    agree(wg.grad(np.linalg.norm)(X), X / np.sqrt(np.sum(X * X)), 1e-14)
    u, _, vh = np.linalg.svd(X)
    agree(wg.grad(lambda x: np.linalg.norm(x, "nuc"))(X), u @ vh, 1e-13)
    agree(wg.grad(lambda x: np.linalg.norm(x, 2))(X), np.outer(u[:, 0], vh[0]), 1e-13)


def test_a_triangle_that_is_not_read_has_no_derivative() -> None:
    """A matrix of which the caller filled one triangle only has the derivative of what is computed from it."""

    def filled(x: Any) -> Any:
        a = np.diag(x[:3]).copy()
        a[1, 0] = x[3]
        return a

    x = np.array([2.0, 3.0, 4.0, 0.5])
    for f in (np.linalg.eigvalsh, np.linalg.cholesky, lambda a: np.abs(np.linalg.eigh(a)[1])):
        wg.check_grads(lambda x: np.sum(f(filled(x)) * W), x)
    assert np.all(np.triu(wg.grad(lambda a: np.sum(np.linalg.cholesky(a)))(X @ X.T), 1) == 0)
    assert np.all(np.tril(wg.grad(lambda a: np.linalg.eigvalsh(a, "U")[0])(X @ X.T), -1) == 0)


def minors(a: Any) -> Any:
    """(-1)ⁱ⁺ʲ times the determinant of A without row i and column j."""
    signs = (-1.0) ** np.add.outer(np.arange(len(a)), np.arange(len(a)))
    return signs * [[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(len(a))] for i in range(len(a))]


OF_LOWER_RANK = {
    "2 of 3": np.arange(1.0, 10).reshape(3, 3),
    "1 of 2, exactly": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "1 of 2, but for rounding": np.array([[0.1, 0.3], [0.2, 0.6]]),
    "1 of 3": np.outer([1.0, 2, 3], [1.0, 1, 2]),
    "0 of 3": np.zeros((3, 3)),
    "1 of 2, complex": np.outer([1.0, 2j], [1 + 1j, 0.5]),
    "2 of 3, complex": np.array([[1, 2j, 0.5], [1j, 1 - 1j, 2], [1 + 1j, 1 + 1j, 2.5]]),
}


@pytest.mark.parametrize("det", [np.linalg.det, scipy.linalg.det])
@pytest.mark.parametrize("rank", OF_LOWER_RANK)
def test_the_determinant_of_a_singular_matrix_has_its_cofactors_as_derivative(rank: str, det: Any) -> None:
    a = OF_LOWER_RANK[rank]
    agree(wg.grad(lambda a: np.real(det(a) * (1 + 2j)))(a), minors(a) * (1 if a.dtype == float else 1 + 2j), 1e-13)
    agree(wg.jvp(det, (a,), (np.ones_like(a),))[1], np.sum(minors(a)), 1e-13)

    def turned(a: Any) -> Any:
        return np.real(np.sum(wg.grad(lambda a: np.real(det(a)))(a) * W[: len(a), : len(a)]))

    agree(wg.grad(turned)(a), wg.ngradient(turned, a)[0], 1e-8)


def test_a_stack_may_hold_singular_matrices_beside_others() -> None:
    stack = np.stack([X, OF_LOWER_RANK["2 of 3"], OF_LOWER_RANK["1 of 3"]])
    agree(wg.grad(lambda a: np.sum(np.linalg.det(a)))(stack), np.stack([minors(a) for a in stack]), 1e-13)


def test_the_third_derivative_at_a_singular_matrix_is_refused() -> None:
    with pytest.raises(wg.NoDerivativeError, match="third derivative"):
        wg.grad(lambda a: np.sum(wg.hessian(np.linalg.det)(a) * np.ones((2, 2, 2, 2))))(SINGULAR)


TURN = np.linalg.qr(W)[0]
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
REFUSED = [
    (lambda a: np.linalg.slogdet(a)[1], SINGULAR, "this matrix is singular"),
    (lambda a: np.linalg.slogdet(a)[1], np.stack([np.eye(2), np.zeros((2, 2))]), "this matrix is singular"),
    (lambda a: np.linalg.eigh(a)[1], np.eye(3), "two eigenvalues are equal"),
    (lambda a: np.linalg.eigh(a)[1], TURN @ np.diag([1.0, 1.0, 2.0]) @ TURN.T, "two eigenvalues are equal"),
    (lambda a: np.real(np.linalg.eigvals(a)), np.array([[1.0, 1.0], [0.0, 1.0]]), "two eigenvalues are equal"),
    (lambda a: np.real(np.linalg.eig(a)[1]), np.eye(2), "two eigenvalues are equal"),
    (lambda a: np.linalg.svd(a)[0], np.eye(2), "two singular values are equal"),
    (lambda a: np.linalg.svd(a, full_matrices=False)[0], np.outer([1.0, 2, 3], [1.0, 2]), "a singular value is zero"),
    (lambda a: np.linalg.svd(a)[0][:, 2], W[:, :2], "full_matrices=False"),
    (lambda a: np.linalg.svd(a)[2][2], W[:2], "full_matrices=False"),
    (lambda a: np.linalg.qr(a, "complete")[0], W[:, :2], "mode='reduced'"),
    (lambda a: np.linalg.qr(a, "raw")[0], W, "mode='reduced'"),
    (lambda a: np.linalg.qr(a)[0], SINGULAR * 0, "linearly dependent"),
    (lambda a: np.real(np.linalg.eigh(a)[1]), Z, "depends on the phases"),
    (lambda a: np.real(np.linalg.svd(a)[0]), Z, "depends on the phases"),
    (lambda a: np.imag(np.linalg.eig(a)[1]), Z, "depends on the phases"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "a", "message"), REFUSED)
def test_no_derivative_is_an_error_at_the_users_line(f: Any, a: Any, message: str) -> None:
    weights = RNG.normal(size=np.shape(f(a)))
    with pytest.raises(wg.NoDerivativeError, match=rf"^\S*test_linalg\.py:\d+ in .*{message}"):
        wg.grad(lambda a: np.sum(f(a) * weights))(a)
    with pytest.raises(wg.NoDerivativeError, match=message):
        wg.grad(lambda a: np.sum(wg.grad(lambda a: np.sum(f(a) * weights))(a)))(a)


def test_eigenvalues_and_singular_values_alone_may_be_equal() -> None:
    for f in (np.linalg.eigvalsh, lambda a: np.linalg.eigh(a)[0], np.linalg.svdvals, lambda a: np.linalg.svd(a).S):
        agree(wg.grad(lambda a: np.sum(f(a)))(np.eye(3)), np.eye(3), 1e-14)
    agree(wg.grad(lambda a: np.linalg.norm(a, 2))(np.eye(4)), np.eye(4) / 4, 1e-14)
    agree(wg.grad(lambda a: np.linalg.norm(a, "nuc"))(np.diag([2.0, 0.0])), np.diag([1.0, 0.0]), 1e-14)


EQUAL = [
    (np.diag([1.0, 2.0, 2.0, 3.0]), lambda a: np.linalg.eigh(a)[1][[3, 0, 1, 2], 3]),
    (np.diag([1.0, 2.0, 2.0, 3.0]), lambda a: np.linalg.eigh(a)[1].T[0] * np.linalg.eigh(a)[0][3]),
    (np.diag([1.0, 2.0, 2.0, 3.0]), lambda a: np.linalg.svd(a).U[:, :1] * np.linalg.svd(a).Vh[3]),
    (np.eye(4, 3) * [3.0, 1.0, 1.0], lambda a: np.linalg.svd(a).U[:, 0] + np.sum(np.linalg.svd(a).Vh[0])),
    (np.eye(4, 3) * [3.0, 1.0, 0.0], lambda a: np.linalg.svd(a, full_matrices=False)[0][:, :2]),
    (np.eye(4, 3)[:3].T * [3.0, 1.0, 0.0], lambda a: np.linalg.svd(a, full_matrices=False)[2].conj().T[:, :2]),
]


@pytest.mark.parametrize(("values", "f"), EQUAL)
def test_vectors_have_a_derivative_where_others_have_none(values: Any, f: Any) -> None:
    """As those have of which a value is not another's, also in forward mode."""
    n, m = values.shape
    turn = np.linalg.qr(RNG.normal(size=(n, n)))[0]
    a = turn @ values @ (turn.T if n == m else np.linalg.qr(RNG.normal(size=(m, m)))[0])
    weights, direction = RNG.normal(size=np.shape(f(a))), RNG.normal(size=(n, m))
    g = lambda a: np.sum(f(a) ** 2 * weights)
    step = 1e-5 * direction
    slope = (8 * (g(a + step) - g(a - step)) - g(a + 2 * step) + g(a - 2 * step)) / 12e-5
    agree(np.sum(wg.grad(g)(a) * direction), slope, 1e-8)
    agree(wg.jvp(g, (a,), (direction,))[1], slope, 1e-8)
    agree(np.sum(wg.jacfwd(g)(a) * direction), slope, 1e-8)


def test_a_derivative_of_zero_says_nothing_of_who_is_used() -> None:
    """The vectors of np.eye(2) jump, and with them a square that is zero at the point."""
    with pytest.raises(wg.NoDerivativeError, match="two eigenvalues are equal"):
        wg.grad(lambda a: np.linalg.eigh(a)[1][0, 1] ** 2)(np.eye(2))


def test_a_write_into_vectors_without_derivative_is_refused_in_forward_mode() -> None:
    def written(a: Any) -> Any:
        vectors = np.linalg.eigh(a)[1]
        vectors[0] = 1.0
        return vectors

    with pytest.raises(wg.NoDerivativeError, match="two eigenvalues are equal"):
        wg.jvp(written, (np.eye(3),), (W,))


def test_the_columns_that_full_matrices_adds_may_stand_unused() -> None:
    wg.check_grads(lambda a: np.sum(np.linalg.svd(a)[0][:, :2] ** 2 * W[:, :2]), W[:, :2])
    wg.check_grads(lambda a: np.sum(np.linalg.qr(a, "complete")[0][:, :2] * W[:, :2]), W[:, :2])


def test_a_tape_is_stale_where_eigenvalues_have_become_equal() -> None:
    tape = wg.gradtape(lambda a: np.sum(np.linalg.eigh(a)[1] * W), X @ X.T)
    agree(tape.compile()(X @ X.T)[1][1], wg.grad(lambda a: np.sum(np.linalg.eigh(a)[1] * W))(X @ X.T), 1e-12)
    with pytest.raises(wg.StaleTapeError):
        tape.compile()(np.eye(3))


def test_parts_of_a_result_may_be_written() -> None:
    def f(a: Any) -> Any:
        values, vectors = np.linalg.eigh(a)
        values[1] = vectors[0] = 0.0
        return np.sum(vectors**2 * W) + np.sum(values**2)

    agree(wg.grad(f)(X @ X.T), wg.ngradient(f, X @ X.T)[0])


def code_of_gradient(f: Any, x: Any) -> str:
    """The derivative as source, without its comments, which show the user's lines."""
    return re.sub(r"#.*", "", wg.gradtape(f, x).to_source())


def test_only_what_is_wanted_is_computed() -> None:
    source = code_of_gradient(lambda a: np.sum(np.linalg.eigh(a)[0]), X @ X.T)
    assert "StaleTapeError" not in source.partition("def f")[2].partition("\n    v")[2], "no vectors, no gaps"
    assert code_of_gradient(lambda b: np.sum(np.linalg.solve(X, b)), V).count("@") == 0
    assert "np.linalg.inv" not in code_of_gradient(lambda a: np.linalg.slogdet(a)[0] * a[0, 0], X)


def test_norms_at_zero_take_the_least_norm() -> None:
    for ord in (None, 2, 1, np.inf, 3, 1.5):
        assert np.all(wg.grad(lambda x: np.linalg.norm(x, ord))(np.zeros(3)) == 0)
    for ord in (None, "fro", "nuc", 1, 2, np.inf):
        assert np.all(wg.grad(lambda x: np.linalg.norm(x, ord))(np.zeros((2, 2))) == 0)
    for ord in (-1, -2, -0.5, -np.inf):  # one zero makes the norm 0, whatever the other elements are
        with np.errstate(divide="ignore"):
            f = functools.partial(np.linalg.norm, ord=ord)
            assert np.all(wg.grad(f)(np.array([0.0, 1.0, 2.0])) == 0)
            assert np.allclose(wg.grad(f)(V), wg.ngradient(f, V))
    tied = np.array([2.0, -2.0, 1.0])
    assert np.all(wg.grad(lambda x: np.linalg.norm(x, np.inf))(tied) == [0.5, -0.5, 0])
    assert np.all(wg.grad(lambda x: np.linalg.norm(x, 1))(np.diag([3.0, -3.0])) == np.diag([0.5, -0.5]))


def test_operands_that_are_not_wanted_cost_nothing() -> None:
    source = code_of_gradient(lambda x: np.sum(np.einsum("ij,jk,kl->il", W, x, W)), X)
    assert source.count("np.einsum") == 2


def test_a_sum_over_everything_is_not_multiplied_out() -> None:
    source = code_of_gradient(lambda x: np.einsum("ij->", x), X)
    assert source.count("np.einsum") == 1
    assert "np.broadcast_to" in source


def test_ufuncs_below_solve() -> None:
    """array_api_compat calls them itself, with a signature."""
    below = np.linalg._umath_linalg  # type: ignore[attr-defined]
    stack = np.stack([X, X.T])
    assert np.array_equal(below.solve1(X, V), np.linalg.solve(X, V))
    for f, b in ((below.solve, W), (below.solve1, V)):
        loss = lambda a, b, f=f: np.sum(np.sin(f(a, b, signature="dd->d")))
        for a in (X, stack):
            assert wg.value_and_grad(loss)(a, b)[0] == loss(a, b)
            wg.check_grads(loss, a, b)
