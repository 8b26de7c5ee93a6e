"""What scipy.linalg and scipy.sparse are allowed to overwrite, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from samples_linalg import matrices, positive
from scipy import linalg
from scipy.sparse.linalg import eigsh, expm_multiply, splu

import wengert as wg

S, A, B = positive(3, 3), matrices(3, 3), np.array([1.0, -2.0, 0.5])


def solved_in_place(s: Any) -> Any:
    a = np.asfortranarray(s * 1.0)
    b = s[0] * 1.0
    factor = linalg.cho_factor(a, overwrite_a=True)
    x = linalg.cho_solve(factor, b, overwrite_b=True)
    return np.sum(x**2) + np.sum(linalg.solve(np.asfortranarray(s * 1.0), x, overwrite_a=True, overwrite_b=True))


def test_permission_to_overwrite_is_not_used() -> None:
    """A pullback reads what would be overwritten."""
    np.testing.assert_allclose(wg.grad(solved_in_place)(S), wg.ngradient(solved_in_place, S)[0], rtol=1e-6, atol=1e-8)


def weights_kept(x: Any) -> Any:
    b = np.ones(3)
    y = x * b
    linalg.solve_triangular(np.asfortranarray(A), b, overwrite_b=True)
    return np.sum(y)


def test_nor_is_it_where_nothing_is_traced() -> None:
    np.testing.assert_array_equal(wg.grad(weights_kept)(B), np.ones(3))


REFUSED: list[tuple[Callable[..., Any], Any, type[Exception], str]] = [
    (lambda a: linalg.qr(a, mode="raw")[0][0], A, wg.NoRuleError, "tuple"),
    (lambda a: linalg.schur(a)[0], A, wg.NoRuleError, "schur"),
    (lambda a: linalg.null_space(a)[0, 0], A[:1], wg.NoDerivativeError, "basis of the null space"),
    (lambda a: linalg.eigh(a)[1][0, 0], np.eye(3), wg.NoDerivativeError, "two eigenvalues are equal"),
    (lambda a: linalg.qr(a)[0][0, -1], A[:, :2], wg.NoDerivativeError, "complete"),
    (lambda a: splu(sp.csc_array(a)).L.data[1], S, wg.NoDerivativeError, "factors L and U"),
    (lambda a: eigsh(sp.csc_array(a), k=1)[0][0], S, wg.NoRuleError, "eigsh"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("f", "x", "error", "words"), REFUSED)
def test_refused(f: Callable[..., Any], x: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wg.grad(f)(x)


def test_equal_eigenvalues_of_others_do_no_harm() -> None:
    """A vector of an eigenvalue that stands alone has a derivative; two others are equal."""

    def f(a: Any) -> Any:
        return linalg.eigh(a, subset_by_index=[2, 2])[1][0, 0] ** 2

    a = np.diag([1.0, 1.0, 3.0]) + 0.0
    assert np.all(np.isfinite(wg.grad(f)(a)))
    b = a + 0.1 * np.eye(3)[[1, 0, 2]] * np.array([0, 0, 1.0])
    np.testing.assert_allclose(wg.grad(f)(b), wg.ngradient(f, b)[0], atol=1e-6)


OTHERS = [
    lambda a: linalg.eigh(a)[1][:, 0],
    lambda a: linalg.eigh(a, a @ a + np.eye(3))[1].T[0],
    lambda a: linalg.eigh(a, subset_by_index=[0, 1])[1][:, 0],
    lambda a: linalg.svd(a)[2][2],
    lambda a: linalg.eigh_tridiagonal(np.diagonal(a), np.diagonal(a, 1))[1][:, 0],
]


@pytest.mark.parametrize("f", OTHERS)
def test_values_of_vectors_that_are_not_used_may_be_equal(f: Any) -> None:
    """The eigenvalues are 0, 2 and 2; in reverse and in forward mode, beside differences."""
    a = np.array([[2.0, 0, 0], [0, 1, 1], [0, 1, 1]])
    moved = np.array([[0.3, 0.1, 0.4], [0.1, -0.2, 0.2], [0.4, 0.2, 0.5]])
    g = lambda a: np.sum(f(a) ** 2 * np.array([1.0, 2.0, 5.0]))
    slope = (g(a + 1e-4 * moved) - g(a - 1e-4 * moved)) / 2e-4
    assert abs(slope) > 0.01
    np.testing.assert_allclose(np.sum(wg.grad(g)(a) * moved), slope, rtol=1e-6)
    np.testing.assert_allclose(wg.jvp(g, (a,), (moved,))[1], slope, rtol=1e-6)


def less_its_mean(x: Any) -> Any:
    """A matrix of which the mean of the diagonal is taken off, as `expm_multiply` does."""
    a = sp.csr_array(sp.diags_array([x, np.array([1.0, 2.0])], offsets=[0, 1]))
    return np.sum((a - sp.eye_array(3, format="csr") * (a.trace() / 3)) @ np.array([1.0, 2.0, 4.0]))


def test_a_sum_that_happens_to_be_zero_has_a_derivative() -> None:
    """SciPy leaves it out of the sum of two matrices."""
    x = np.ones(3)
    np.testing.assert_allclose(wg.grad(less_its_mean)(x), wg.ngradient(less_its_mean, x)[0], atol=1e-8)


def test_so_has_expm_multiply_where_the_diagonal_is_constant() -> None:
    def f(x: Any) -> Any:
        a = sp.diags_array([x, np.array([0.3, 0.2])], offsets=[0, 1], format="csr")
        return np.sum(expm_multiply(a, np.array([1.0, 2.0, 4.0])))

    np.testing.assert_allclose(wg.grad(f)(np.full(3, 0.5)), wg.ngradient(f, np.full(3, 0.5))[0], rtol=1e-6)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr"])
def test_products_of_sparse_and_dense_matrices(form: str) -> None:
    """Of Σ W (A X) the gradient in A is W Xᵀ where A has elements, that in X is Aᵀ W."""
    rows, columns = np.nonzero(A > np.median(A))
    data, (x, w) = A[rows, columns], matrices(2, 3, 2)
    of = lambda data, x: np.sum(w * (sp.coo_array((data, (rows, columns)), A.shape).asformat(form) @ x))
    to_data, to_x = wg.grad(of, argnums=(0, 1))(data, x)
    np.testing.assert_allclose(to_data, (w @ x.T)[rows, columns], rtol=1e-12)
    np.testing.assert_allclose(to_x, np.where(A > np.median(A), A, 0.0).T @ w, rtol=1e-12, atol=1e-14)


def test_zeros_of_a_dense_array_are_not_in_the_sparse_one() -> None:
    x = np.array([[2.0, 0.0], [0.0, 3.0]])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(sp.csr_array(x) @ np.ones(2)))(x), np.eye(2))


@pytest.mark.parametrize("f", [linalg.logm, lambda a: linalg.fractional_matrix_power(a, 0.3)], ids=["logm", "power"])
def test_functions_of_a_real_matrix_on_the_branch_cut(f: Any) -> None:
    """A negative eigenvalue stays on the same side of the cut, and a gradient on that of the value."""
    wg.check_grads(lambda a: np.sum(np.abs(f(a) - 1j * np.eye(2)) ** 2), np.array([[-1.0, 0.3], [0.2, 2.0]]))
    wg.check_grads(
        lambda a: np.sum(f(a).imag * np.array([[1.0, 2.0], [3.0, 5.0]])), np.array([[-2.0, 1.0], [0.0, -1.0]])
    )


def test_what_cho_factor_leaves_beside_the_factor() -> None:
    for dtype in (float, np.longdouble):
        a = np.array([[4.0, 1.0], [0.5, 3.0]], dtype)
        kept = linalg.cho_factor(a)[0][1, 0] != 0
        assert wg.grad(lambda a: linalg.cho_factor(a)[0][1, 0])(a)[1, 0] == kept


NOT_OF_LAPACK = {
    "solve": lambda a: linalg.solve(a, a[0]),
    "inv": linalg.inv,
    "det": linalg.det,
    "lstsq": lambda a: linalg.lstsq(a, a[0])[0],
    "svdvals": linalg.svdvals,
    "eigvals": lambda a: np.abs(linalg.eigvals(a)),
    "polar": lambda a: linalg.polar(a)[1],
    "qr": lambda a: linalg.qr(a)[1],
    "null_space": lambda a: linalg.null_space(a[:1]) @ linalg.null_space(a[:1]).T,
}


@pytest.mark.parametrize("dtype", [np.longdouble, np.float16])
@pytest.mark.parametrize("name", NOT_OF_LAPACK)
def test_what_scipy_makes_doubles_of_has_their_derivative(name: str, dtype: Any) -> None:
    f, a = NOT_OF_LAPACK[name], np.array([[3.0, 1.0], [0.5, 2.0]])
    try:
        f(a.astype(dtype))
    except (TypeError, ValueError):
        pytest.skip("SciPy takes no such numbers here")
    got, expected = wg.grad(lambda a: np.sum(f(a)))(a.astype(dtype)), wg.grad(lambda a: np.sum(f(a)))(a)
    assert got.dtype == dtype
    close = 2e-3 if dtype == np.float16 else 1e-12
    np.testing.assert_allclose(got.astype(float), expected, rtol=close, atol=close)
    pushed = wg.jvp(lambda a: np.sum(f(a)), (a.astype(dtype),), (np.ones_like(a, dtype),))[1]
    np.testing.assert_allclose(float(pushed), np.sum(expected), rtol=close, atol=close)


@pytest.mark.parametrize("f", [linalg.toeplitz, linalg.hankel, lambda c: linalg.hankel(np.ones(2), c)])
def test_an_empty_vector_has_an_empty_gradient(f: Any) -> None:
    assert wg.grad(lambda c: np.sum(f(c)))(np.zeros(0)).shape == (0,)


def test_a_matrix_of_one_number_without_axes_divides_in_forward_mode_too() -> None:
    b = np.arange(1.0, 4)
    assert np.array_equal(wg.jvp(lambda a: linalg.solve(a, b), (np.array(2.0),), (np.array(1.0),))[1], -b / 4)


OF_MATRICES = [linalg.expm, linalg.logm, linalg.signm, lambda a: linalg.fractional_matrix_power(a, 0.3)]


@pytest.mark.parametrize("f", OF_MATRICES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_derivatives_in_directions_of_any_size(f: Callable[..., Any]) -> None:
    x = S / np.max(S)
    wanted = wg.ngradient(lambda s: np.sum(A * f(s)), x)[0]
    for size in (1e-300, 1e30, 1e100, 1e300):
        gradient = wg.grad(lambda s, size=size: size * np.sum(A * f(s)))(x)
        np.testing.assert_allclose(gradient / size, wanted, rtol=1e-9, atol=1e-9)
        change = wg.jvp(lambda s: np.sum(A * f(s)), (x,), (size * S,))[1]
        assert change / size == pytest.approx(np.sum(wanted * S), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e30, 1e200])
def test_second_derivatives_of_expm_in_directions_of_any_size(size: float) -> None:
    def loss(a: Any, e: Any, size: float) -> Any:
        y, changed = linalg.expm_frechet(a, e)
        return np.sum(A * y) + np.sum(A.T * changed) / size

    x = S / np.max(S)
    of_a, of_e = wg.grad(loss, argnums=(0, 1))(x, size * A, size)
    wanted = [wg.ngradient(lambda a: loss(a, A, 1.0), x)[0], wg.ngradient(lambda e: loss(x, e, 1.0), A)[0]]
    np.testing.assert_allclose([of_a, size * of_e], wanted, rtol=1e-9, atol=1e-9)
    change = wg.jvp(loss, (x, size * A, size), (S, size * S, 0.0))[1]
    assert change == pytest.approx(np.sum(S * wanted), rel=1e-9)


@pytest.mark.parametrize("size", [np.inf, np.nan])
def test_a_direction_without_a_size_gives_nan(size: float) -> None:
    assert np.isnan(wg.grad(lambda s: size * np.sum(linalg.expm(s)))(S)).all()


def test_the_gradient_of_a_logarithm_of_a_tiny_entry() -> None:
    """With a, c and b at the top of a triangular matrix, the entry of expm at c is c (exp a - exp b) / (a - b)."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = np.triu(rng.normal(size=(3, 3))) + np.diag(rng.choice([-45.0, -40.0, 40.0, 5.0], 3))
        c_bar = wg.grad(lambda x: np.log(linalg.expm(x)[0, 1] ** 2))(x)[0, 1]
        assert c_bar == pytest.approx(2.0 / x[0, 1], rel=1e-10)
