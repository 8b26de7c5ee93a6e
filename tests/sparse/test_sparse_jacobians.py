"""Sparse Jacobians and Hessians as they are called: passes, arguments, changing patterns, solvers, errors."""

from __future__ import annotations

import dataclasses
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares, minimize
from scipy.sparse.linalg import spsolve

import wengert as wg


def tridiagonal(x):
    y = -2.0 * x
    y[1:] += x[:-1] ** 2
    y[:-1] += np.sin(x[1:])
    return y


def tridiagonal_by_hand(x: np.ndarray) -> Any:
    n = len(x)
    return sparse.diags_array([2 * x[:-1], np.full(n, -2.0), np.cos(x[1:])], offsets=[-1, 0, 1])


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_by_hand(x: np.ndarray) -> Any:
    main = np.zeros(len(x))
    main[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    main[1:] += 200
    return sparse.diags_array([-400 * x[:-1], main, -400 * x[:-1]], offsets=[-1, 0, 1])


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_a_tridiagonal_jacobian_takes_three_passes(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n)
    jac = wg.sparse_jacobian(tridiagonal)
    found = jac(x)
    assert jac.passes == 3
    assert abs(found - tridiagonal_by_hand(x)).max() < 1e-14
    assert found.nnz == 3 * n - 2


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_the_hessian_of_chained_rosenbrock_takes_three_passes(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n)
    hess = wg.sparse_hessian(rosenbrock)
    start = time.perf_counter()
    found = hess(x)
    assert time.perf_counter() - start < 20  # seconds: n passes would take hours
    assert hess.passes == 3
    assert abs(found - rosenbrock_by_hand(x)).max() < 1e-9


def test_a_loop_over_elements() -> None:
    def residual(x):
        r = np.zeros(len(x))
        for i in range(len(x)):
            left = x[i - 1] if i > 0 else 0.0
            r[i] = x[i] ** 3 - left
        return r

    x = np.linspace(1, 2, 200)
    jac = wg.sparse_jacobian(residual)
    expected = sparse.diags_array([-np.ones(199), 3 * x**2], offsets=[-1, 0])
    assert abs(jac(x) - expected).max() < 1e-12
    assert jac.passes == 2


def test_a_laplacian_in_the_plane_takes_few_passes() -> None:
    def laplacian(u):
        v = np.zeros((len(u) + 2, len(u) + 2))
        v[1:-1, 1:-1] = u
        return v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * u**2

    u = np.random.default_rng(0).normal(size=(30, 30))
    jac = wg.sparse_jacobian(laplacian)
    line = sparse.diags_array([np.ones(29), np.ones(29)], offsets=[-1, 1])
    expected = sparse.kron(line, sparse.eye_array(30)) + sparse.kron(sparse.eye_array(30), line)
    expected = expected - sparse.diags_array(8 * u.ravel())
    assert abs(jac(u) - expected).max() < 1e-14
    assert jac.passes <= 8


def arrow(x):
    """Each number beside the next one and the first, and a sum of all at the end."""
    return np.concatenate([x[1:] ** 2 * x[0] + np.sin(x[:-1]), [np.sum(x**3)]])


def test_a_full_row_and_a_full_column_take_few_passes() -> None:
    x = np.random.default_rng(3).normal(size=300)
    jac = wg.sparse_jacobian(arrow)
    np.testing.assert_allclose(jac(x).toarray(), wg.jacobian(arrow)(x), atol=1e-14)
    assert jac.passes <= 4

    def energy(x):
        return np.sum(x[0] * x[1:] ** 2) + np.sum(np.sin(x[1:-1] * x[2:])) + x[5] * np.sum(x**2)

    hess = wg.sparse_hessian(energy)
    np.testing.assert_allclose(hess(x).toarray(), wg.hessian(energy)(x), atol=1e-12)
    assert hess.passes <= 7


def test_a_full_column_takes_one_pass_by_columns() -> None:
    jac = wg.sparse_jacobian(lambda x: x[3] ** 2 * np.arange(1.0, 500.0))
    np.testing.assert_array_equal(jac(np.arange(7.0)).toarray()[:, 3], 6 * np.arange(1.0, 500.0))
    assert jac.passes == 1
    empty = wg.sparse_jacobian(lambda x: np.floor(x))
    assert empty(np.ones(4)).nnz == empty.passes == 0


def test_many_columns_at_once() -> None:
    """More than are pushed at once: 40 columns, on each of which 5 of 200 rows depend, and 60 full ones."""

    def f(x):
        return (np.ones((200, 60)) @ x[40:] ** 2) * np.repeat(x[:40], 5)

    x = np.random.default_rng(4).normal(size=100)
    jac = wg.sparse_jacobian(f)
    np.testing.assert_allclose(jac(x).toarray(), wg.jacobian(f)(x), rtol=1e-12)
    assert jac.passes == 61


def test_the_pattern_follows_the_branches() -> None:
    def upwind(x):
        return np.array([x[i] - x[i - 1] if x[i] > 0 else x[(i + 1) % len(x)] * x[i] for i in range(len(x))])

    jac = wg.sparse_jacobian(upwind)
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = rng.normal(size=7)
        np.testing.assert_allclose(jac(x).toarray(), wg.jacobian(upwind)(x), atol=1e-14)


def test_the_pattern_follows_indices_and_masks_made_of_values() -> None:
    def f(x):
        y = x[np.argsort(x)] ** 2
        y[x > 0.0] = 1.0
        return y * np.take(x, np.argmax(x))

    jac = wg.sparse_jacobian(f)
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = rng.normal(size=6)
        np.testing.assert_allclose(jac(x).toarray(), wg.jacobian(f)(x), atol=1e-14)


def test_the_pattern_follows_what_the_function_reads_outside() -> None:
    state: dict[str, Any] = {"matrix": np.eye(4), "places": [0, 1, 2, 3], "next": lambda x: x}

    def f(x):
        return state["matrix"] @ state["next"](x)[state["places"]] ** 2

    jac, x = wg.sparse_jacobian(f), np.arange(1.0, 5.0)
    for change in [{}, {"matrix": np.diag(np.ones(3), 1)}, {"places": [3, 3, 1, 0]}, {"next": lambda x: np.roll(x, 1)}]:
        state.update(change)
        np.testing.assert_allclose(jac(x).toarray(), wg.jacobian(f)(x), atol=1e-14)


def test_the_pattern_is_found_once_for_alike_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    sparse_jacobians = sys.modules["wengert.api.sparse_jacobians"]
    real = sparse_jacobians.SparsityPattern
    monkeypatch.setattr(sparse_jacobians, "SparsityPattern", lambda *args: made.append(args) or real(*args))

    def f(t, x, scale=1.0):
        return np.where(x > 0, x**2, scale * t * x) + np.roll(x, 1)

    jac = wg.sparse_jacobian(f, argnums="x")
    for t in range(5):
        x = np.random.default_rng(t).normal(size=8)
        np.testing.assert_allclose(jac(float(t), x, scale=t + 2.0).toarray(), wg.jacobian(f, "x")(float(t), x, t + 2.0))
    assert len(made) == 1
    jac(1.0, np.ones(9))
    assert len(made) == 2


def test_arguments_and_results_in_containers() -> None:
    def f(p, scale):
        return {"y": p["a"] * p["b"][1:] * scale, "z": (p["b"][0], [p["a"][0] ** 2])}

    p = {"a": np.array([2.0, 3.0]), "b": np.array([[1.0], [4.0], [5.0]])[:, 0]}
    found = wg.sparse_jacobian(f)(p, 2.0)
    expected = [[8, 0, 0, 4, 0], [0, 10, 0, 0, 6], [0, 0, 1, 0, 0], [4, 0, 0, 0, 0]]
    np.testing.assert_array_equal(found.toarray(), expected)
    np.testing.assert_array_equal(wg.sparse_jacobian(f, "scale")(p, scale=2).toarray(), [[8], [15], [0], [0]])


def test_numbers_and_dtypes() -> None:
    assert wg.sparse_jacobian(lambda x: x**2)(3).toarray() == [[6.0]]
    found = wg.sparse_jacobian(lambda x: x[1:] ** 2)(np.arange(3, dtype=np.float32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), [[0, 2, 0], [0, 0, 4]])
    assert wg.sparse_jacobian(lambda x: x[:0])(np.ones(3)).shape == (0, 3)
    assert wg.sparse_jacobian(lambda x: np.sum(x) * np.ones(2))(np.zeros(0)).shape == (2, 0)


def test_as_a_decorator() -> None:
    @wg.sparse_jacobian
    def f(x):
        """Says this."""
        return x[::2] ** 2

    assert (f.__name__, f.__doc__, f.passes) == ("f", "Says this.", None)
    np.testing.assert_array_equal(f(np.ones(3)).toarray(), [[2, 0, 0], [0, 0, 2]])
    hess = wg.sparse_hessian(argnums=1)(lambda a, x: a * np.sum(x**3))
    np.testing.assert_array_equal(hess(2.0, np.ones(2)).toarray(), 12 * np.eye(2))


def test_a_pattern_of_ones_own() -> None:
    x = np.linspace(0, 1, 50)
    pattern = wg.jacobian_pattern(tridiagonal, x)
    assert pattern.dtype == bool
    for given in (pattern, pattern.toarray(), pattern.tocoo(), sparse.csr_matrix(pattern.astype(float))):
        jac = wg.sparse_jacobian(tridiagonal, pattern=given)
        assert abs(jac(x) - tridiagonal_by_hand(x)).max() < 1e-14
        assert jac.passes == 3


@pytest.mark.parametrize("missing", [(0, 1), (25, 24), (49, 49)])
def test_a_pattern_that_misses_an_entry_is_refused(missing: tuple[int, int]) -> None:
    x = np.linspace(0.1, 1, 50)
    pattern = wg.jacobian_pattern(tridiagonal, x).toarray()
    pattern[missing] = False
    with pytest.raises(wg.ArgumentError, match=r"pattern= misses entries of the Jacobian of .*\btridiagonal:"):
        wg.sparse_jacobian(tridiagonal, pattern=pattern)(x)
    with pytest.raises(wg.ArgumentError, match=r"has shape \(50, 50\), its pattern \(50, 49\)"):
        wg.sparse_jacobian(tridiagonal, pattern=pattern[:, 1:])(x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_entries_that_are_no_numbers_do_not_look_like_missing_ones() -> None:
    x = np.linspace(0.1, 1, 50)
    x[20], x[30] = np.nan, np.inf
    pattern = wg.jacobian_pattern(tridiagonal, x).toarray()
    with np.errstate(all="ignore"):
        expected = tridiagonal_by_hand(x).toarray()
        for given in (None, pattern):
            found = wg.sparse_jacobian(tridiagonal, pattern=given)(x).toarray()
            assert np.isnan(found[:, [20, 30]]).any(axis=0).all()
            others = np.delete(np.arange(50), [20, 30])
            np.testing.assert_allclose(found[:, others], expected[:, others], atol=1e-14)
        pattern[2, 1] = False
        with pytest.raises(wg.ArgumentError, match=r"misses entries .* in column 1\."):
            wg.sparse_jacobian(tridiagonal, pattern=pattern)(x)


def test_a_function_that_differs_when_it_runs_again_is_refused() -> None:
    rng = np.random.default_rng(0)

    def noisy(x):
        return x[rng.permutation(len(x))]

    with pytest.raises(wg.RecomputationError, match="returned another result when it ran again"):
        wg.sparse_jacobian(noisy)(np.arange(20.0))


def test_two_arguments_may_be_the_same_array() -> None:
    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(wg.sparse_jacobian(lambda x, y: x * y**2, 1)(x, x).toarray(), np.diag(2 * x * x))


def test_what_is_refused() -> None:
    x = np.ones(3)

    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any

    with pytest.raises(wg.ArgumentError, match="has one argument"):
        wg.sparse_jacobian(np.sin, (0, 1))
    with pytest.raises(wg.ArgumentError, match="takes complex numbers"):
        wg.sparse_jacobian(np.sin)(1j * x)
    with pytest.raises(wg.ArgumentError, match="returns complex numbers"):
        wg.sparse_jacobian(lambda x: 1j * x)(x)
    with pytest.raises(wg.ArgumentError, match="same array"):
        wg.sparse_jacobian(lambda p: p[0] * p[1])([x, x])
    with pytest.raises(wg.ArgumentError, match="Return a number, an array, or a tuple"):
        wg.sparse_jacobian(lambda x: Pair(x, 2 * x))(x)
    with pytest.raises(wg.NoGradientPathError):
        wg.sparse_jacobian(lambda x: 3)(x)
    with pytest.raises(wg.IntegerInputError):
        wg.sparse_jacobian(np.sin)(np.arange(3))
    with pytest.raises(wg.NonScalarOutputError):
        wg.sparse_hessian(np.sin)(x)
    with pytest.raises(wg.WengertError, match="inside another derivative"):
        wg.grad(lambda x: wg.sparse_jacobian(np.sin)(x).sum())(x)
    with wg.rules.scope():
        wg.rules.remove(np.fft.fft)
        with pytest.raises(wg.NoRuleError):
            wg.sparse_jacobian(lambda x: np.fft.fft(x).real)(x)


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        wg.sparse_jacobian(np.sin)(np.ones(3))


def test_a_pattern_that_is_not_sparse_is_refused_before_memory_ends() -> None:
    def products(x):
        return np.sum(x[:, None] * x[None, :-1], axis=1) * np.sum(x[1:])

    with pytest.raises(wg.ArgumentError, match="not sparse"):
        wg.jacobian_pattern(lambda x: np.cumsum(x)[:-1] * x[1:] + np.sum(x[:-1]), np.ones(60_000))
    assert wg.jacobian_pattern(products, np.ones(50)).nnz == 50 * 50


# Solvers


def test_least_squares() -> None:
    def residuals(x):
        return np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])

    found = least_squares(residuals, np.full(60, 0.7), jac=wg.sparse_jacobian(residuals), tr_solver="lsmr")
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)


@pytest.mark.parametrize("method", ["BDF", "Radau"])
def test_solve_ivp(method: str) -> None:
    def heat(t, u):
        v = np.concatenate([[0.0], u, [0.0]])
        return (v[2:] - 2 * v[1:-1] + v[:-2]) * len(v) ** 2 - u**3 + np.sin(t)

    u = np.sin(np.pi * np.linspace(0, 1, 42)[1:-1])
    jac = wg.sparse_jacobian(heat, 1)
    found = solve_ivp(heat, (0, 0.05), u, method=method, jac=jac, rtol=1e-6, atol=1e-8)
    plain = solve_ivp(heat, (0, 0.05), u, method=method, rtol=1e-6, atol=1e-8)
    assert found.success
    assert jac.passes == 3
    np.testing.assert_allclose(found.y[:, -1], plain.y[:, -1], atol=1e-5)


def test_newton_on_a_poisson_problem() -> None:
    """-u'' + u³ = f with the solution sin πx, by second differences: the error is of second order."""

    def error(n: int) -> float:
        x = np.linspace(0, 1, n + 2)
        exact = np.sin(np.pi * x)[1:-1]

        def residual(u):
            v = np.zeros(n + 2)
            v[1:-1] = u
            return (2 * v[1:-1] - v[2:] - v[:-2]) * (n + 1) ** 2 + u**3 - (np.pi**2 * exact + exact**3)

        u, jac = np.zeros(n), wg.sparse_jacobian(residual)
        for _ in range(8):
            u = u - spsolve(jac(u).tocsc(), residual(u))
        assert np.max(abs(residual(u))) < 1e-6
        return float(np.max(abs(u - exact)))

    assert 3.8 < error(50) / error(101) < 4.2


def test_trust_region_with_a_sparse_hessian() -> None:
    hess = wg.sparse_hessian(rosenbrock)
    found = minimize(wg.value_and_grad(rosenbrock), np.full(40, 0.5), jac=True, hess=hess, method="trust-constr")
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, places, _: x[places],
        lambda x, places, _: np.take(x, indices=places),
        lambda x, places, _: x[(places,)] * x,
        lambda x, _, matrix: matrix @ x,
        lambda x, _, matrix: np.convolve(x, matrix[0]),
        lambda x, _, matrix: np.sum(np.ones((3, 1)) * x, axis=1, where=matrix != 0),
    ],
)
def test_arrays_from_outside_may_be_written_between_calls(f: Any) -> None:
    places, matrix, x = np.arange(3), np.eye(3), np.array([1.0, 2.0, 4.0])
    jac = wg.sparse_jacobian(f)
    for _ in range(2):
        expected = wg.jacobian(f, as_matrix=True)(x, places, matrix)
        np.testing.assert_array_equal(jac(x, places, matrix).toarray(), expected)
        places[:], matrix[:] = [2, 0, 0], np.arange(9.0).reshape(3, 3)


def test_an_axis_of_the_result_is_none_of_the_argument() -> None:
    ends = np.arange(9.0).reshape(3, 3)
    for f in (
        lambda x: np.linspace(x, np.ones((3, 3)), 4, axis=1),
        lambda x: np.linspace(np.ones((3, 3)), x, 3, axis=1),
    ):
        np.testing.assert_allclose(wg.sparse_jacobian(f)(ends).toarray(), wg.jacobian(f, as_matrix=True)(ends))
    halves = np.arange(289, dtype=np.float16).reshape(17, 17)
    pattern = wg.jacobian_pattern(lambda x: np.stack([x, np.ones_like(x)], axis=1), halves).toarray()
    assert pattern.reshape(17, 2, 17, 289)[:, 0].reshape(289, 289).diagonal().all()


def transposed(f: Any, y_bar: Any) -> Any:
    return np.array([y_bar @ f(e) for e in np.eye(8)])


def pullback_of(f: Any) -> Any:
    return lambda y_bar, y, x: transposed(f, y_bar)


def moved_by(places: Any) -> Any:
    """Functions that are declared linear and move elements to places that they read elsewhere than in arguments."""
    held, table = SimpleNamespace(places=places), {"places": places}

    class Permutation:
        places: Any = None

        def __call__(self, x):
            return x[self.places]

    def of_a_closure(x):
        return x[places]

    def of_an_attribute(x):
        return x[held.places]

    def of_a_dictionary(x):
        return x[table["places"]]

    def of_a_class(x):
        return x[Permutation.places]

    def of_an_argument(x, which):
        return x[which.places]

    def of_two_arguments(c, x):
        return c * x[places]

    def replace(new: Any) -> None:
        nonlocal places
        places = held.places = table["places"] = Permutation.places = new

    replace(places)
    for f in (of_a_closure, of_an_attribute, of_a_dictionary, of_a_class, permutation := Permutation()):
        wg.vjp_rule(f)(pullback_of(f))
    wg.vjp_rule(of_an_argument)(lambda y_bar, y, x, *, which: transposed(lambda e: e[which.places], y_bar))
    wg.vjp_rule(of_two_arguments)(
        lambda y_bar, y, c, x: (y_bar @ x[places], transposed(lambda e: c * e[places], y_bar))
    )
    linear = [of_a_closure, of_an_attribute, of_a_dictionary, of_a_class, permutation]
    wg.extend.linear(*linear, of_an_argument)
    wg.extend.multilinear(of_two_arguments)
    return replace, [*linear, lambda x: of_an_argument(x, held), lambda x: of_two_arguments(2.0, x)]


@pytest.mark.parametrize("in_place", [False, True])
def test_the_pattern_of_a_linear_function_follows_what_it_reads(in_place: bool) -> None:
    x, failed = np.random.default_rng(0).normal(size=8), []
    with wg.rules.scope():
        replace, functions = moved_by(np.arange(8))
        for number, f in enumerate(functions):
            replace(places := np.arange(8))
            jac = wg.sparse_jacobian(lambda x, f=f: 3.0 * f(x))
            for _ in range(3):
                expected = np.array([3.0 * f(e) for e in np.eye(8)]).T
                if not np.array_equal(jac(x).toarray(), expected) or jac.passes != 1:
                    failed.append((number, jac.passes))
                places[:] = np.roll(places, 1)
                if not in_place:
                    replace(places := places.copy())
    assert not failed


def test_the_pattern_follows_rules_that_change() -> None:
    def step(x):
        return x[::-1].copy()

    jac, x = wg.sparse_jacobian(step), np.arange(1.0, 5.0)
    for partial in (False, True, False):
        with wg.rules.scope():
            if partial:
                wg.partials(step)(lambda x, y: np.ones(4))
            expected = np.eye(4) if partial else np.eye(4)[::-1]
            np.testing.assert_array_equal(jac(x).toarray(), expected)
