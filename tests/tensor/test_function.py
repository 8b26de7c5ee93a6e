"""Tensor functions as users call them: against plain runs, derivatives by hand, exact numbers, and on the tape."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import test_surface as surface
from tensor_checks import meant
from tensor_programs import Case, cases
from tensor_scalars import plain_cost, plain_jvp
from tensor_traps import TRAPS, Trap, band, convolution, product, squares, trace_of_outer, traces

import wengert as wg

CASES = cases()
BACKENDS = ["numpy", "reference"]


def random_like(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, tuple):
        return tuple(random_like(part, rng) for part in value)
    return rng.normal(size=np.shape(value))


def same(a: Any, b: Any, rtol: float = 1e-10) -> None:
    if isinstance(b, tuple):
        assert isinstance(a, tuple) and len(a) == len(b)
        for p, q in zip(a, b, strict=True):
            same(p, q, rtol)
    else:
        np.testing.assert_allclose(a, np.asarray(b), rtol=rtol, atol=rtol)


def size(value: Any) -> int:
    return sum(map(size, value)) if isinstance(value, tuple) else np.size(value)


# ---- the programs ----


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_and_adjoint_are_those_by_hand(case: Case, backend: str) -> None:
    f = wg.tensor.function(case.f, backend=backend)
    y = f(*case.args)
    same(y, case.f(*case.args))
    bar = random_like(y, np.random.default_rng(1))
    by_hand = tuple(x_bar for x_bar in case.by_hand(bar, *case.args) if x_bar is not None)
    same(f.adjoint(*case.args, bar), by_hand)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_differential_is_that_of_dual_numbers(case: Case) -> None:
    f, rng = wg.tensor.function(case.f, backend="numpy"), np.random.default_rng(2)
    wanted = tuple(k for k, a in enumerate(case.args) if isinstance(a, np.ndarray) and a.dtype == float)
    tangents = [random_like(case.args[k], rng) for k in wanted]
    along = [tangents[wanted.index(k)] if k in wanted else None for k in range(len(case.args))]
    same(f.differential(wanted)(*case.args, *tangents), plain_jvp(case.f, case.args, tuple(along)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gauss_newton_is_the_tangent_of_dual_numbers_pulled_back_by_hand(case: Case) -> None:
    f, rng = wg.tensor.function(case.f, backend="numpy"), np.random.default_rng(4)
    wanted = tuple(k for k, a in enumerate(case.args) if isinstance(a, np.ndarray) and a.dtype == float)
    tangents = [random_like(case.args[k], rng) for k in wanted]
    along = [tangents[wanted.index(k)] if k in wanted else None for k in range(len(case.args))]
    y_dot = plain_jvp(case.f, case.args, tuple(along))
    bars = case.by_hand(y_dot, *case.args)
    product = f.gauss_newton(wanted)
    same(product(*case.args, *tangents), tuple(bars[k] for k in wanted))
    apart = f.differential(wanted).cost(*case.args, *tangents) + f.pullback(wanted).cost(*case.args, y_dot)
    assert product.cost(*case.args, *tangents) <= apart


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_jacobian_is_dual_numbers_along_each_axis(case: Case) -> None:
    f = wg.tensor.function(case.f, backend="numpy")
    k = next(k for k, a in enumerate(case.args) if isinstance(a, np.ndarray) and a.dtype == float)
    axes = np.eye(case.args[k].size).reshape(-1, *case.args[k].shape)
    columns = [plain_jvp(case.f, case.args, tuple(e if m == k else None for m in range(len(case.args)))) for e in axes]
    found = f.jacobian(k)(*case.args)
    for part, along in zip(*map(parts, (found, tuple(zip(*map(parts, columns), strict=True)))), strict=True):
        same(part, np.stack(along, axis=-1).reshape(part.shape))


def parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_a_hessian_costs_what_is_in_it() -> None:
    """One-hot brackets leave nothing to add up but A and Aᵀ."""
    hessian = wg.tensor.function(form, backend="numpy").grad().jacobian()
    same(hessian(X, A), A + A.T)
    source = hessian.to_source()
    assert "@" not in source and "sum" not in source and "zeros" not in source


def form(x: Any, a: Any) -> Any:
    n = len(x)
    return sum(x[i] * a[i, j] * x[j] for i in range(n) for j in range(n))


def test_a_jacobian_by_a_number_and_of_what_does_not_depend() -> None:
    f = wg.tensor.function(norms_and_scale)
    same(f.jacobian("c")(X, 2.0), (X, 0.0))
    same(f.jacobian()(X, 2.0), (2.0 * np.eye(3), np.ones(3)))
    with pytest.raises(wg.TensorLanguageError, match=r"jacobian\(0\): a Jacobian is by one array"):
        wg.tensor.function(norms).jacobian()((X, X), 1.0)


def norms_and_scale(x: Any, c: Any) -> Any:
    return [c * v for v in x], sum(x)


@pytest.mark.parametrize("case", [case for case in CASES if np.ndim(case.f(*case.args)) == 0], ids=str)
def test_the_gradient_is_that_by_differences(case: Case) -> None:
    f = wg.tensor.function(case.f, backend="numpy")
    k = next(k for k, a in enumerate(case.args) if isinstance(a, np.ndarray) and a.dtype == float)

    def of(x: Any) -> Any:
        return f(*case.args[:k], x, *case.args[k + 1 :])

    same(f.grad(k)(*case.args), wg.ngradient(of, case.args[k])[0], 1e-5)
    value, gradient = f.value_and_grad(k)(*case.args)
    same((value, gradient), (f(*case.args), f.grad(k)(*case.args)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_run_that_counts_costs_what_the_model_says(case: Case) -> None:
    f = wg.tensor.function(case.f)
    assert f.cost(*case.args) == plain_cost(case.f, *case.args)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_adjoint_costs_at_most_four_times_the_program(case: Case) -> None:
    f = wg.tensor.function(case.f, backend="numpy")
    y = f(*case.args)
    assert f.adjoint.cost(*case.args, y) <= 4 * f.cost(*case.args) + size(y)


# ---- the traps ----


@pytest.mark.parametrize("n", [4, 7])
@pytest.mark.parametrize("trap", TRAPS, ids=str)
def test_a_trap_costs_what_its_formula_says(trap: Trap, n: int) -> None:
    f, args = wg.tensor.function(trap.f, backend="numpy"), trap.args(n)
    bar = random_like(f(*args), np.random.default_rng(0))
    cost = f.cost(*args)
    assert cost == trap.cost(n) == plain_cost(trap.f, *args)
    extra = f.adjoint.cost(*args, bar) - cost
    assert extra <= 3 * cost + size(bar)
    assert trap.extra is None or extra == trap.extra(n)


@pytest.mark.parametrize("trap", TRAPS, ids=str)
def test_the_adjoint_of_a_trap_is_the_transpose_of_its_differential(trap: Trap) -> None:
    f, args, rng = wg.tensor.function(trap.f, backend="numpy"), trap.args(5), np.random.default_rng(3)
    wanted = tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype == float)
    tangents = tuple(random_like(args[k], rng) for k in wanted)
    along = tuple(tangents[wanted.index(k)] if k in wanted else None for k in range(len(args)))
    y_dot = plain_jvp(trap.f, args, along)
    bar = random_like(y_dot, rng)
    bars = f.pullback(wanted)(*args, bar)
    total = sum(np.sum(x_bar * t) for x_bar, t in zip(bars, tangents, strict=True))
    assert total == pytest.approx(np.sum(bar * y_dot), rel=1e-10)


@pytest.mark.parametrize("f", [convolution, squares, traces, trace_of_outer, product], ids=lambda f: f.__name__)
def test_polynomial_programs_are_exact_in_rational_numbers(f: Any) -> None:
    trap = next(trap for trap in TRAPS if trap.f is f)
    args = tuple(np.round(8 * a) / 16 for a in trap.args(4))
    rational = [np.vectorize(Fraction, otypes=[object])(a) for a in args]
    found = meant(f, *args, number=Fraction)
    assert np.asarray(found).tolist() == np.asarray(f(*rational)).tolist()


@pytest.mark.parametrize(("f", "args"), surface.PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_what_runs_gives_what_python_gives(f: Any, args: tuple[Any, ...]) -> None:
    same(flattened(wg.tensor.function(f, backend="numpy")(*args)), flattened(f(*args)))


def flattened(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    return tuple(leaf for part in value for leaf in (flattened(part) if isinstance(part, tuple) else (part,)))


# ---- arguments ----


def quadratic(x: Any, a: Any, k: int = 2, *, scale: float = 1.0) -> Any:
    n = len(x)
    return scale * sum(x[i] * a[i, j] * x[j] for i in range(n) for j in range(n)) * k


def norms(pair: Any, third: Any) -> Any:
    a, b = pair
    return sum(v * v for v in a) * sum(v for v in b) + third


def both(x: Any) -> Any:
    return [v * v for v in x], sum(x)


def nothing_of(x: Any, y: Any) -> Any:
    return sum(x)


X, A = np.array([1.0, 2.0, -0.5]), np.arange(9.0).reshape(3, 3)


def test_arguments_by_name_and_defaults() -> None:
    f = wg.tensor.function(quadratic)
    assert f(X, A) == quadratic(X, A)
    assert f(a=A, x=X, k=3, scale=0.5) == quadratic(X, A, 3, scale=0.5)
    same(f.grad("a")(X, A, scale=2.0), 4 * np.outer(X, X))
    same(f.grad((0, "a"))(X, A), (2 * (A + A.T) @ X, 2 * np.outer(X, X)))
    with pytest.raises(TypeError):
        f(X)


def test_a_tuple_of_arrays_has_a_tuple_of_cotangents() -> None:
    f = wg.tensor.function(norms)
    a, b = np.array([1.0, 2.0]), np.array([3.0, -1.0, 4.0])
    assert f((a, b), 0.5) == norms((a, b), 0.5)
    gradient, by_third = f.grad((0, 1))((a, b), 0.5)
    same(gradient, (2 * a * 6.0, np.full(3, 5.0)))
    assert by_third == 1.0


def test_an_argument_without_influence_has_zeros() -> None:
    f = wg.tensor.function(nothing_of)
    same(f.grad(1)(X, A), np.zeros((3, 3)))


def test_the_same_array_twice() -> None:
    f = wg.tensor.function(product)
    same(f(A, A), A @ A)
    same(f.adjoint(A, A, np.ones((3, 3))), (np.ones((3, 3)) @ A.T, A.T @ np.ones((3, 3))))


def test_precision_is_kept() -> None:
    f = wg.tensor.function(squares)
    x, y = X.astype(np.float32), (X + 1).astype(np.float32)
    assert f(x, y).dtype == np.float32 and f.grad()(x, y).dtype == np.float32
    assert f(x, X).dtype == np.float64
    same(f.grad()(x, y), 2 * (x - y), 1e-6)


def test_whole_numbers_are_promoted() -> None:
    f = wg.tensor.function(squares)
    assert f([1, 2, 3], np.array([0, 0, 1])) == 9.0
    same(f.grad()([1, 2, 3], np.array([0, 0, 1])), np.array([2.0, 4.0, 4.0]))


def test_no_elements() -> None:
    f = wg.tensor.function(squares)
    empty = np.zeros(0)
    assert f(empty, empty) == 0.0 and f.grad()(empty, empty).shape == (0,)


@pytest.mark.parametrize("form", ["bools", "sparse", "set"])
def test_relations_in_any_form(form: str) -> None:
    r = band(4)
    entries = {tuple(map(int, at)) for at in np.argwhere(r)}
    f = wg.tensor.function(surface.in_set if form == "set" else in_relation)
    given = {"bools": r, "sparse": scipy.sparse.csr_array(r), "set": entries}[form]
    x = np.arange(4.0)
    same(f(given, x), r @ x)
    same(f.adjoint(given, x, np.ones(4)), (r.T @ np.ones(4),))


def in_relation(r: Any, x: Any) -> Any:
    n = len(x)
    return [sum(x[j] for j in range(n) if r[i, j]) for i in range(n)]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_relation_that_is_changed_is_seen(sparse: bool) -> None:
    f, x = wg.tensor.function(in_relation), np.arange(3.0)
    r: Any = np.eye(3, dtype=bool)
    if sparse:
        r = scipy.sparse.lil_array(r).tocsr()
    same(f(r, x), x)
    if sparse:
        r.data[:] = [True, False, True]
    else:
        r[1, 1] = False
    same(f(r, x), np.array([0.0, 0.0, 2.0]))


def test_whole_numbers_as_indices() -> None:
    f = wg.tensor.function(surface.gather_rows)
    pairs = np.array([[0, 1], [2, 2], [1, 0], [0, 2]])
    a, bar = np.random.default_rng(0).normal(size=(3, 4)), np.arange(4.0)
    apart = 2 * bar[:, None] * (a[pairs[:, 0]] - a[pairs[:, 1]])
    by_hand = np.zeros_like(a)
    np.add.at(by_hand, pairs[:, 0], apart)
    np.add.at(by_hand, pairs[:, 1], -apart)
    same(f.pullback(0)(a, pairs, bar), by_hand)
    assert f.cost(a, pairs) == plain_cost(surface.gather_rows, a, pairs)
    pairs[0] = [1, 2]
    same(f(a, pairs), np.sum((a[pairs[:, 0]] - a[pairs[:, 1]]) ** 2, axis=1))
    on_the_tape(lambda a: np.sum(np.sin(f(a, pairs))), a)
    with pytest.raises(wg.OutOfRangeError, match="pairs contains 3 and indexes an array of length 3"):
        f(a, pairs + 1)
    with pytest.raises(wg.OutOfRangeError, match="pairs contains -1"):
        f(a, pairs - 1)


def test_floats_where_whole_numbers_were_are_no_index() -> None:
    f = wg.tensor.function(surface.gather)
    f(X, np.array([0, 1, 2]))
    with pytest.raises(wg.TensorLanguageError, match="an index or size is computed"):
        f(X, np.array([0.0, 1.0, 2.0]))


FACTOR = 2.0


def scaled(x: Any) -> Any:
    return [FACTOR * v for v in x]


def test_a_global_that_is_changed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    f = wg.tensor.function(scaled)
    same(f(X), 2 * X)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    same(f(X), 3 * X)
    same(f.adjoint(X, np.ones(3)), (np.full(3, 3.0),))


def test_an_array_around_the_function_is_a_constant() -> None:
    weights = np.array([1.0, -1.0, 2.0])

    @wg.tensor.function
    def weighted(x: Any) -> Any:
        return sum(weights[i] * x[i] for i in range(len(x)))

    same(weighted.grad()(X), weights)
    weights[0] = 5.0
    assert weighted(X) == np.sum(weights * X)


def test_helpers_may_be_tensor_functions() -> None:
    @wg.tensor.function
    def twice(x: Any) -> Any:
        return sum(total(x) * v for v in x)

    same(twice.grad()(X), 2 * np.full(3, np.sum(X)))


@wg.tensor.function
def total(x: Any) -> Any:
    return sum(x)


# ---- refused ----


def test_what_has_no_derivative_is_refused_by_name() -> None:
    f = wg.tensor.function(quadratic)
    with pytest.raises(wg.IntegerInputError, match="k is an integer"):
        f.grad("k")(X, A)
    with pytest.raises(wg.TensorLanguageError, match="r is a relation"):
        wg.tensor.function(in_relation).pullback(0)(band(3), X, X)
    with pytest.raises(wg.NonScalarOutputError, match=r"both.adjoint\(\*args, y_bar\)"):
        wg.tensor.function(both).grad()(X)
    with pytest.raises(wg.TensorLanguageError, match="needs arguments"):
        wg.tensor.function(both).show()


def test_a_cotangent_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"y_bar has the shape \(2,\)"):
        wg.tensor.function(scaled).adjoint(X, np.ones(2))


def test_another_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="there are auto, numpy"):
        wg.tensor.function(scaled, backend="cuda")


# ---- in the family ----


def on_the_tape(f: Any, *args: Any) -> None:
    gradients = wg.grad(f, argnums=tuple(range(len(args))))(*args)
    for mine, theirs in zip(gradients, wg.ngradient(f, *args), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


conv, quad, two = map(wg.tensor.function, (convolution, quadratic, both))
W = np.array([0.5, -1.0])


def test_grad_goes_through_a_tensor_function() -> None:
    on_the_tape(lambda x, w: np.sum(np.sin(conv(x * 2.0, w)) ** 2), X, W)
    on_the_tape(lambda x, a: quad(np.cos(x), a, scale=2.0), X, A)
    on_the_tape(lambda x, a: quad(x, k=1, a=np.exp(a / 9)), X, A)


def test_grad_goes_through_a_result_of_several_parts() -> None:
    on_the_tape(lambda x: np.sum(two(x * x)[0]) * two(x)[1], X)
    on_the_tape(lambda x: two(x)[1] ** 2, X)


def test_grad_of_grad() -> None:
    on_the_tape(lambda x: np.sum(wg.grad(lambda x: np.sum(conv(x, W) ** 3))(x) ** 2), X)
    on_the_tape(lambda x: np.sum(wg.grad(lambda x: quad(x, A) * two(x)[1])(x) ** 2), X)


def test_derivatives_are_tensor_functions() -> None:
    on_the_tape(lambda x: np.sum(np.exp(quad.grad()(x / 50, A))), X)
    hessian_vector = quad.grad().differential()
    same(hessian_vector(X, A, 2, 1.0, np.ones(3)), 2 * (A + A.T) @ np.ones(3))
    third = conv.adjoint.adjoint.cost(X, W, np.ones(3), np.ones(3), np.ones(2))
    assert third <= 4 * conv.adjoint.cost(X, W, np.ones(3)) + 5


def test_the_derivative_is_named_on_the_tape() -> None:
    tape = wg.gradtape(lambda x: np.sum(conv(x, W)), X)
    assert "adjoint(convolution)(" in str(tape)


def test_a_tuple_on_the_tape_is_refused() -> None:
    f = wg.tensor.function(norms)
    with pytest.raises(wg.NoRuleError, match="Pass them as separate arguments"):
        wg.grad(lambda x: f((x, X), 0.5))(X)
    with pytest.raises(wg.TensorLanguageError, match="Pass its arrays one by one"):
        wg.grad(lambda x: f((X, X), x))(0.5)


def test_a_float_argument_and_a_relation_on_the_tape() -> None:
    f = wg.tensor.function(in_relation)
    on_the_tape(lambda x: np.sum(f(band(3), x) ** 2), X)
    catenary = next(case for case in CASES if str(case) == "catenary")
    g = wg.tensor.function(catenary.f)
    on_the_tape(lambda p, rest, stiffness: g(p, rest, stiffness, 0.5) ** 2, *catenary.args[:3])


# ---- read ----


def test_it_shows_its_stages(capsys: pytest.CaptureFixture[str]) -> None:
    conv(X, W)
    conv.show()
    assert "⊞[i:n] Σ[j:m] [j ≤ i]·w[j]·x[i-j]" in capsys.readouterr().out
    for stage in ("lets", "pairs", "gens", "ssa", "source"):
        conv.show(stage, X, W)
        assert capsys.readouterr().out
    with pytest.raises(wg.TensorLanguageError, match="there is no stage 'soup'"):
        conv.show("soup")


def test_it_gives_its_source() -> None:
    assert "def run(" in wg.tensor.function(convolution, backend="numpy").to_source(X, W)


def test_costs_at_other_sizes() -> None:
    conv(X, W)
    assert conv.cost({"n": 100, "m": 7}) == 2 * (100 * 7 - 21) - 100


def test_it_looks_like_the_function() -> None:
    assert conv.__name__ == "convolution" and conv.__wrapped__ is convolution
    assert repr(conv.grad()) == "<tensor function grad(convolution)(x, w)>"


# ---- what is around the function ----


def made_with(factor: Any) -> Any:
    def times(v: Any) -> Any:
        return factor * v

    return times


def test_two_helpers_of_one_definition_keep_their_own_values() -> None:
    twice, thrice = made_with(2.0), made_with(3.0)

    @wg.tensor.function
    def f(x: Any) -> Any:
        return sum(twice(v) * thrice(v) for v in x)

    assert f(X) == pytest.approx(6 * np.sum(X * X))


def test_helpers_may_be_made_of_one_another() -> None:
    def around(inner: Any) -> Any:
        def outer(v: Any) -> Any:
            return inner(v) + 1.0

        return outer

    more = around(around(lambda_free))

    @wg.tensor.function
    def f(x: Any) -> Any:
        return [more(v) for v in x]

    same(f(X), X + 2)


def lambda_free(v: Any) -> Any:
    return v


def test_what_is_around_the_function_may_change_in_place() -> None:
    counts, mask, numbers, scale = np.array([1, 2, 3]), np.array([True, False, True]), [1.0, 1.0, 1.0], np.array(2.0)

    @wg.tensor.function
    def f(x: Any) -> Any:
        return sum(counts[i] * numbers[i] * x[i] * scale for i in range(len(x)) if mask[i])

    def plain() -> float:
        return float(np.sum(mask * counts * np.array(numbers) * X * scale))

    assert f(X) == plain()
    counts[0] = 5
    assert f(X) == plain()
    mask[1] = True
    assert f(X) == plain()
    numbers[2] = -1.0
    assert f(X) == plain()
    scale[...] = 7.0
    assert f(X) == plain()
    same(f.grad()(X), mask * counts * np.array(numbers) * scale)


def test_an_array_around_the_function_may_be_replaced_by_another_length() -> None:
    weights = [1.0, 2.0]

    @wg.tensor.function
    def f(x: Any) -> Any:
        return sum(weights[i] * x[i] for i in range(len(weights)))

    assert f(X) == X[0] + 2 * X[1]
    weights.append(3.0)
    assert f(X) == X[0] + 2 * X[1] + 3 * X[2]
