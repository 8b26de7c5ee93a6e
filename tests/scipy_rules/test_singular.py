"""Linear algebra at singular and degenerate matrices: a derivative, or NoDerivativeError."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import linalg

import wengert as wg

DRAWN = np.random.default_rng(0).normal(size=(4, 4))
MATRICES = {
    "zeros": np.zeros((3, 3)),
    "of rank one": np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
    "of rank two": np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]),
    "a last row of zeros": np.array([[4.0, 1, 0], [1, 3, 0], [0, 0, 0]]),
    "a last pivot of zero": np.array([[2.0, 1, 1], [4, 3, 3], [8, 7, 7]]),
    "a last pivot of rounding": np.column_stack([DRAWN[:, :3], DRAWN[:, :3] @ [1.0, 2.0, 3.0]]),
    "a first column of zeros": np.array([[0.0, 1, 2], [0, 3, 4], [0, 5, 1]]),
    "nilpotent": np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]]),
    "semidefinite": np.diag([2.0, 1, 0]),
    "one zero": np.zeros((1, 1)),
    "empty": np.zeros((0, 0)),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
    "no matrices": np.zeros((0, 3, 3)),
    "a stack": np.array([np.eye(3), np.zeros((3, 3))]),
    "tall": np.ones((4, 2)),
    "wide": np.ones((2, 4)),
    "a number": np.array(2.0),
    "a vector": np.array([1.0, 2.0]),
    "the identity": np.eye(3),
}
B = np.array([1.0, 2.0, 3.0])
FUNCTIONS = {
    "np solve": lambda a: np.linalg.solve(a, B),
    "np inv": np.linalg.inv,
    "np det": np.linalg.det,
    "np slogdet": lambda a: np.linalg.slogdet(a)[1],
    "np cholesky": np.linalg.cholesky,
    "np qr": lambda a: np.linalg.qr(a)[1],
    "np pinv": np.linalg.pinv,
    "np lstsq": lambda a: np.linalg.lstsq(a, np.ones(len(a)))[0],
    "np eigh": lambda a: np.linalg.eigh(a)[1],
    "np eigvalsh": np.linalg.eigvalsh,
    "np svd": lambda a: np.linalg.svd(a)[1],
    "np cond": lambda a: np.linalg.cond(a, 1),
    "np matrix_power": lambda a: np.linalg.matrix_power(a, -1),
    "solve": lambda a: linalg.solve(a, B),
    "inv": linalg.inv,
    "det": linalg.det,
    "lu": lambda a: linalg.lu(a)[2],
    "lu, L": lambda a: linalg.lu(a)[1],
    "lu, P L": lambda a: linalg.lu(a, permute_l=True)[0],
    "lu_factor": lambda a: linalg.lu_factor(a)[0],
    "lu_factor, all but the last row": lambda a: linalg.lu_factor(a)[0][:-1],
    "lu_factor, the first pivot": lambda a: linalg.lu_factor(a)[0][0, 0],
    "lu_factor, the last pivot": lambda a: linalg.lu_factor(a)[0][-1, -1],
    "lu_solve": lambda a: linalg.lu_solve(linalg.lu_factor(a), B),
    "cholesky": linalg.cholesky,
    "cho_factor": lambda a: linalg.cho_factor(a)[0],
    "qr": lambda a: linalg.qr(a, mode="r")[0],
    "pinv": linalg.pinv,
    "lstsq": lambda a: linalg.lstsq(a, np.ones(len(a)))[0],
    "expm": linalg.expm,
    "cosm": linalg.cosm,
    "eigh": lambda a: linalg.eigh(a)[0],
    "svd": lambda a: linalg.svd(a, False)[0],
    "polar": lambda a: linalg.polar(a)[1],
    "solve_triangular": lambda a: linalg.solve_triangular(a, B),
    "solve_sylvester": lambda a: linalg.solve_sylvester(a, a, a),
    "getrf": lambda a: linalg.lapack.dgetrf(a)[0],
    "gesv": lambda a: linalg.lapack.dgesv(a, B)[2],
    "trtri": lambda a: linalg.lapack.dtrtri(a)[0],
}
EXACT = ("lu", "lu, L", "lu, P L", "lu_factor", "lu_factor, all but the last row", "lu_factor, the last pivot")
"""Functions whose derivative exists where the last pivot is zero."""
AT = ("a last row of zeros", "a last pivot of zero", "a last pivot of rounding", "one zero")


def weighted(f):
    def number(a):
        y = f(a)
        return np.sum(np.cos(np.arange(np.size(y))).reshape(np.shape(y)) * y)

    return number


@pytest.mark.filterwarnings("ignore")
def test_no_rule_raises_another_error_where_the_function_raises_none():
    wrong = []
    for name, f in FUNCTIONS.items():
        for kind, a in MATRICES.items():
            if name == "solve_sylvester" and np.ndim(a) == 2 and np.size(a) == 0 < sum(np.shape(a)):
                continue  # SciPy takes what its equation forbids, and gives an empty array
            if name == "trtri" and np.ndim(a) == 0:
                continue  # of LAPACK's routines one takes a number for a matrix, and gives a number
            try:
                plain = weighted(f)(a)
            except Exception:
                continue
            for mode in (wg.value_and_grad, lambda f: lambda a: wg.jvp(f, (a,), (np.ones_like(a),))):
                try:
                    value = mode(weighted(f))(a)[0]
                except (wg.NoDerivativeError, wg.NoRuleError):
                    continue
                except Exception as error:
                    wrong.append(f"{name}, {kind}: {error!r}")
                    continue
                if not np.array_equal(value, plain, equal_nan=True):
                    wrong.append(f"{name}, {kind}: {plain} plain, {value} traced")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", AT)
@pytest.mark.parametrize("name", EXACT)
def test_what_needs_no_division_by_the_last_pivot_has_its_derivatives(name, kind):
    f, a = weighted(FUNCTIONS[name]), MATRICES[kind]
    if np.shape(a) == (1, 1) and name == "lu_factor, all but the last row":
        return
    along = np.cos(1.0 + a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient, (_, slope) = wg.grad(f), wg.jvp(f, (a,), (along,))
        np.testing.assert_allclose(gradient(a), wg.ngradient(f, a)[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(slope, np.sum(gradient(a) * along), rtol=1e-9, atol=1e-9)
        curvature = wg.jvp(gradient, (a,), (along,))[1]
        h = 1e-5
        differences = (gradient(a + h * along) - gradient(a - h * along)) / (2 * h)
        np.testing.assert_allclose(curvature, differences, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("f", [linalg.expm, linalg.cholesky, lambda a: linalg.cho_factor(a)[0]])
def test_a_number_is_a_matrix_of_one(f):
    number, at = (lambda a: np.sum(f(a))), np.array(2.0)
    expected = wg.ngradient(number, at)[0]
    np.testing.assert_allclose(wg.grad(number)(at), expected, rtol=1e-6)
    np.testing.assert_allclose(wg.jvp(number, (at,), (np.array(1.0),))[1], expected, rtol=1e-6)


@pytest.mark.parametrize("a", [np.array(2.0), np.array([2.0, 3.0]), MATRICES["a last row of zeros"]], ids=np.shape)
def test_jacobians_of_lu_factor(a):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forward, backward = [np.asarray(j(lambda a: linalg.lu_factor(a)[0])(a)) for j in (wg.jacfwd, wg.jacrev)]
        np.testing.assert_allclose(forward, backward, atol=1e-12)
        weights = np.cos(np.arange(np.size(a))).reshape(np.shape(a))
        expected = wg.ngradient(lambda a: np.sum(weights * linalg.lu_factor(a)[0]), a)[0]
        np.testing.assert_allclose(np.tensordot(weights, forward, np.ndim(a)), expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_the_error_has_the_users_line():
    for derivative in (wg.grad, lambda f: lambda a: wg.jvp(f, (a,), (a,))):
        with pytest.raises(wg.NoDerivativeError, match=r"test_singular.py:\d+ in .*a pivot of the LU factors is zero"):
            derivative(lambda a: np.sum(np.sin(linalg.lu_factor(a)[0])))(np.ones((3, 3)))
        with pytest.raises(wg.NoDerivativeError, match=r"test_singular.py:\d+ in .*cannot compute.*Singular"):
            derivative(lambda a: np.linalg.cond(a, 1))(np.ones((2, 2)))


def test_a_rules_error_cannot_be_caught_in_the_traced_function():
    def f(a):
        try:
            return np.linalg.cond(a, 1)
        except np.linalg.LinAlgError:
            return np.sum(a)

    with pytest.raises(wg.NoDerivativeError):
        wg.jvp(f, (np.ones((2, 2)),), (np.eye(2),))


@pytest.mark.parametrize("routine", ["dgetrf", "dgesv", "dtrtri", "dtrtrs", "dgetri"])
def test_lapack_tells_of_the_zero_on_the_diagonal(routine):
    a, call = np.array([[4.0, 1, 0], [0, 0, 2], [0, 0, 3]]), getattr(linalg.lapack, routine)
    more = {"dgesv": (B,), "dtrtrs": (B,), "dgetri": (np.array([0, 1, 2], np.int32),)}.get(routine, ())
    wanted = call(a, *more)

    def f(a):
        found = call(a, *more)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        return np.sum(found[0][:1] ** 2)

    assert wg.grad(f)(a).shape == (3, 3)
