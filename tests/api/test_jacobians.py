"""Jacobians and Hessians: by closed forms, complex steps and differences, in JAX's shapes and structures."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg

X = np.array([0.5, -1.2, 2.0])
MODES: dict[str, Callable[..., Any]] = {"picked": wg.jacobian, "rev": wg.jacrev, "fwd": wg.jacfwd}
both = pytest.mark.parametrize("jac", MODES.values(), ids=MODES)


def complex_step(f: Callable[[Any], Any], x: Any, h: float = 1e-30) -> Any:
    """∂f/∂x of an analytic f of an array, column by column, exact to rounding."""
    columns = []
    for index in np.ndindex(x.shape):
        at = x.astype(complex)
        at[index] += 1j * h
        columns.append(np.imag(f(at)) / h)
    return np.moveaxis(np.array(columns), 0, -1).reshape(np.shape(f(x)) + x.shape)


def coupled(x: Any) -> Any:
    y = np.sin(x) * x[0]
    y[1] = y[0] * y[2]
    y *= x
    return y


def table(x: Any) -> Any:
    return np.outer(x, x**2) + np.cumsum(x)


VECTOR_FUNCTIONS = {
    "in place": coupled,
    "to a matrix": table,
    "of a matrix": lambda x: np.tanh(np.reshape(x, (1, 3)) @ np.ones((3, 2))),
    "more results": lambda x: np.concatenate([x * x, np.exp(x), x[::-1]]),
    "fewer results": lambda x: x[:2] / x[2],
    "one result": lambda x: np.sum(x**3),
    "loops": lambda x: np.array([sum(x[j] ** (i + 1) for j in range(i)) + x[i] for i in range(3)]),
}


# numbers


@both
@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_jacobians_are_those_of_complex_steps(name: str, jac: Callable[..., Any]) -> None:
    f = VECTOR_FUNCTIONS[name]
    found = jac(f)(X)
    expected = complex_step(f, X)
    assert found.shape == expected.shape == np.shape(f(X)) + X.shape
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@both
@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_hessians_are_jacobians_of_gradients_by_complex_steps(name: str, jac: Callable[..., Any]) -> None:
    f = VECTOR_FUNCTIONS[name]

    def g(x: Any) -> Any:
        return np.sum(f(x) * np.cos(x[0]))

    expected = complex_step(lambda z: wg.grad(g, holomorphic=np.iscomplexobj(z))(z), X)
    np.testing.assert_allclose(wg.hessian(g)(X), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(jac(wg.grad(g))(X), expected, rtol=1e-11, atol=1e-12)


@both
def test_hips_autograd_has_the_same(jac: Callable[..., Any]) -> None:
    autograd = pytest.importorskip("autograd")
    anp = pytest.importorskip("autograd.numpy")

    def net(np: Any) -> Callable[[Any], Any]:
        return lambda w: np.tanh(np.dot(np.reshape(w, (2, 3)), np.ones((3, 2)))) ** 2

    w = np.linspace(-1, 1, 6)
    np.testing.assert_allclose(jac(net(np))(w), autograd.jacobian(net(anp))(w), rtol=1e-12)
    ours = wg.hessian(lambda w: np.sum(net(np)(w)))(w)
    np.testing.assert_allclose(ours, autograd.hessian(lambda w: anp.sum(net(anp)(w)))(w), rtol=1e-11, atol=1e-12)


# structure


class Pair(NamedTuple):
    a: Any
    b: Any


@both
def test_containers_in_containers_out(jac: Callable[..., Any]) -> None:
    def f(p: Any) -> Any:
        return {"y": p["w"] @ p["x"], "n": 3, "rest": [Pair(p["b"] ** 2, "name")]}

    p = {"w": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "x": np.array([0.5, 0.25]), "b": 3.0, "k": 7}
    found = jac(f)(p)
    assert list(found) == ["y", "n", "rest"] and found["n"] is None
    assert found["y"]["k"] is None and found["y"]["w"].shape == (3, 3, 2)
    np.testing.assert_array_equal(found["y"]["x"], p["w"])
    np.testing.assert_array_equal(found["y"]["w"], np.einsum("ik,j->ikj", np.eye(3), p["x"]))
    np.testing.assert_array_equal(found["y"]["b"], np.zeros(3))
    pair = found["rest"][0]
    assert type(pair) is Pair and pair.b is None and pair.a["b"] == 6.0 and type(pair.a["b"]) is float
    np.testing.assert_array_equal(pair.a["w"], np.zeros((3, 2)))


@both
def test_several_arguments_in_order_by_position_and_name(jac: Callable[..., Any]) -> None:
    def f(a: Any, b: Any, *, c: Any = 1.0) -> Any:
        return a * b * c

    by_b, by_a = jac(f, argnums=(1, "a"))(2.0, X)
    np.testing.assert_array_equal(by_b, 2 * np.eye(3))
    np.testing.assert_array_equal(by_a, X)
    np.testing.assert_array_equal(jac(f, argnums="c")(2.0, X, c=3.0), 2 * X)
    np.testing.assert_array_equal(jac(f, argnums=-1)(2.0, X), 2 * np.eye(3))
    inside = jac(lambda a, b: {"y": a * b}, (0, 1))(2.0, X)["y"]
    assert type(inside) is tuple
    np.testing.assert_array_equal(inside[1], 2 * np.eye(3))
    with pytest.raises(wg.ArgumentError, match="twice"):
        jac(f, argnums=(0, "a"))(2.0, X)
    with pytest.raises(wg.ArgumentError, match="names no arguments"):
        jac(f, X)


@both
def test_it_is_a_decorator_and_keeps_the_name(jac: Callable[..., Any]) -> None:
    @jac(argnums="b", has_aux=True)
    def f(a: float, b: float) -> Any:
        return a * b, "aux"

    assert f(3.0, 5.0) == (3.0, "aux") and f.__name__ == "f"


@both
def test_has_aux(jac: Callable[..., Any]) -> None:
    found, aux = jac(lambda x: (x * x, {"seen": x}), has_aux=True)(X)
    np.testing.assert_array_equal(found, np.diag(2 * X))
    assert aux["seen"] is X
    second, aux = wg.hessian(lambda x: (np.sum(x**3), "aux"), has_aux=True)(X)
    np.testing.assert_allclose(second, np.diag(6 * X), rtol=1e-14)
    assert aux == "aux"


def test_value_and_jacobian() -> None:
    y, found = wg.value_and_jacobian(lambda x: x * x)(X)
    np.testing.assert_array_equal(y, X * X)
    np.testing.assert_array_equal(found, np.diag(2 * X))
    (y, aux), found = wg.value_and_jacobian(lambda x: (x * x, 1), has_aux=True)(X)
    assert aux == 1


@both
def test_numbers_and_arrays_of_no_dimension(jac: Callable[..., Any]) -> None:
    for x, kind in [(2.0, float), (np.float64(2.0), np.float64), (np.float32(2.0), np.float32), (3, float)]:
        found = jac(lambda x: x**3)(x)
        assert found == 3 * x**2 and type(found) is kind
    found = jac(lambda x: x**3)(np.array(2.0))
    assert type(found) is np.ndarray and found.shape == () and found == 12.0
    assert jac(lambda x: np.array([x, 2 * x]))(1.5).tolist() == [1.0, 2.0]
    assert jac(lambda x: np.array(x * x))(2.0) == 4.0
    assert wg.hessian(lambda x: x**3)(2.0) == 12.0


@both
def test_the_dtype_is_that_of_the_argument(jac: Callable[..., Any]) -> None:
    x = X.astype(np.float32)
    assert jac(lambda x: x * x)(x).dtype == np.float32
    assert jac(lambda x: x.astype(float) ** 2)(x).dtype == np.float32
    assert jac(lambda x: x * 1j)(x).dtype == np.complex64
    assert jac(lambda x: x.astype(np.float32) ** 2)(X).dtype == float


@both
def test_empty_arrays(jac: Callable[..., Any]) -> None:
    assert jac(lambda x: x[:0])(X).shape == (0, 3)
    assert jac(lambda x: x * 2)(np.zeros((0, 2))).shape == (0, 2, 0, 2)
    assert jac(lambda x: np.sum(x))(np.zeros(0)).shape == (0,)
    assert jac(lambda x: x[:0], as_matrix=True)(X).shape == (0, 3)
    assert wg.hessian(lambda x: np.sum(x * x))(np.zeros(0)).shape == (0, 0)


@both
def test_arrays_that_are_shared_have_the_total_derivative(jac: Callable[..., Any]) -> None:
    found = jac(lambda p: p[0] * p[1])([X, X])
    for block in found:
        np.testing.assert_array_equal(block, np.diag(2 * X))
    a, b = jac(lambda x: [x, x])(X)
    np.testing.assert_array_equal(a, np.eye(3))
    np.testing.assert_array_equal(b, np.eye(3))


@both
def test_the_arguments_stay_as_they_are(jac: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        x *= 2
        return x * x

    x = X.copy()
    np.testing.assert_allclose(jac(f)(x), np.diag(8 * X))
    np.testing.assert_array_equal(x, 2 * X)  # f itself writes it


# as a matrix


@both
def test_as_matrix(jac: Callable[..., Any]) -> None:
    def f(p: Any) -> Any:
        return {"a": np.outer(p["x"], p["x"]), "b": p["s"] * 2}

    p = {"s": 3.0, "x": X[:2]}
    found = jac(f, as_matrix=True)(p)
    rows = jac(f)(p)
    assert found.shape == (5, 3)
    np.testing.assert_array_equal(found[:4, 1:], rows["a"]["x"].reshape(4, 2))
    np.testing.assert_array_equal(found[4], [2.0, 0.0, 0.0])


def test_hessian_as_matrix() -> None:
    def f(p: Any, y: Any) -> Any:
        return np.sum(p["x"] ** 2) * p["s"] * y

    p, one = {"s": 3.0, "x": X[:2]}, wg.hessian(f, as_matrix=True)({"s": 3.0, "x": X[:2]}, 5.0)
    a, b = X[:2]
    np.testing.assert_allclose(one, 5 * np.array([[0, 2 * a, 2 * b], [2 * a, 6, 0], [2 * b, 0, 6]]))
    whole = wg.hessian(f, argnums=(0, 1), as_matrix=True)(p, 5.0)
    assert whole.shape == (4, 4)
    np.testing.assert_allclose(whole, whole.T)
    np.testing.assert_allclose(whole[3], [np.sum(X[:2] ** 2), 6 * a, 6 * b, 0.0])
    for f in (lambda x: x * x, lambda x: {"y": x * x}):
        with pytest.raises(wg.NonScalarOutputError, match="as_matrix"):
            wg.hessian(f, as_matrix=True)(X)


def test_the_hessian_of_a_vector_has_its_shape_in_front() -> None:
    found = wg.hessian(lambda x: x**3)(X)
    assert found.shape == (3, 3, 3)
    np.testing.assert_allclose(np.einsum("iii->i", found), 6 * X)


# complex numbers


@both
def test_complex_numbers(jac: Callable[..., Any]) -> None:
    z = np.array([0.3 + 1j, -0.5 + 0.2j])
    np.testing.assert_allclose(jac(np.exp, holomorphic=True)(z), np.diag(np.exp(z)))
    np.testing.assert_allclose(jac(lambda t: np.exp(1j * t))(X), np.diag(1j * np.exp(1j * X)))
    by_real, by_imaginary = (jac(lambda a, b: np.abs(a + 1j * b) ** 3, k)(z.real, z.imag) for k in (0, 1))
    np.testing.assert_allclose(jac(lambda z: np.abs(z) ** 3)(z), by_real - 1j * by_imaginary)
    assert jac(lambda t: 1j * t)(2.0) == 1j
    parts = jac(lambda p: {"u": p["t"] * np.exp(2j), "v": np.real(p["z"]) * p["t"]}, argnums="p")
    with pytest.raises(wg.ArgumentError, match="holomorphic=True"):
        parts({"t": 2.0, "z": 1j})
    np.testing.assert_allclose(wg.hessian(lambda z: z**4, holomorphic=True)(1 + 2j), 12 * (1 + 2j) ** 2)


@both
def test_what_is_not_holomorphic_is_refused(jac: Callable[..., Any]) -> None:
    with pytest.raises(wg.ArgumentError, match="pass holomorphic=True"):
        jac(np.exp)(np.array([1j]))
    with pytest.raises(wg.ArgumentError, match="is real"):
        jac(np.exp, holomorphic=True)(X)
    with pytest.raises(wg.NonScalarOutputError, match="complex result"):
        jac(np.abs, holomorphic=True)(np.array([1j]))


# what has no derivative


@both
def test_integers(jac: Callable[..., Any]) -> None:
    with pytest.raises(wg.IntegerInputError, match="allow_int=True"):
        jac(lambda x: x * 2.0)(np.arange(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jac(lambda x: x * 2.0, allow_int=True)(np.arange(3)) is None
        assert jac(lambda x: x * 2.0, allow_int=True, as_matrix=True)(np.arange(3)) is None
        n, x = jac(lambda n, x: x * n, argnums=(0, 1), allow_int=True)(np.arange(3), X)
    assert n is None
    np.testing.assert_array_equal(x, np.diag([0.0, 1.0, 2.0]))


@both
@pytest.mark.parametrize("result", [3, None, "text", np.arange(3), {"n": 1}, []])
def test_a_result_without_floats_is_refused(result: Any, jac: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(wg.NoGradientPathError, match="nothing has a derivative"):
            jac(lambda x: result)(X)


@both
def test_constants_have_zeros_and_a_warning(jac: Callable[..., Any]) -> None:
    with pytest.warns(wg.NoPathWarning, match="does not depend on x"):
        np.testing.assert_array_equal(jac(lambda x: np.ones(2))(X), np.zeros((2, 3)))
    with pytest.warns(wg.NoPathWarning, match="does not depend on x"):
        np.testing.assert_array_equal(jac(lambda x: x.astype(int) * 1.0)(X), np.zeros((3, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(wg.hessian(lambda x: np.sum(3.0 * x))(X), np.zeros((3, 3)))
        np.testing.assert_array_equal(jac(jac(lambda x: 3.0 * x))(X), np.zeros((3, 3, 3)))


# inside other derivatives


@both
def test_inside_a_gradient_in_a_loop(jac: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(1, 4):
            total = total + np.sum(jac(lambda z, k=k: x[0] * z**k)(x) ** 2)
        return total

    def by_hand(x: Any) -> Any:
        return sum(np.sum((k * x[0] * x ** (k - 1)) ** 2) for k in range(1, 4))

    np.testing.assert_allclose(f(X), by_hand(X))
    np.testing.assert_allclose(wg.grad(f)(X), complex_step(by_hand, X), rtol=1e-12)


@both
def test_of_a_function_that_takes_gradients(jac: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        return np.sum(wg.grad(lambda z: np.sum(z**3 * x))(x) ** 2)  # Σ (3x³)²

    np.testing.assert_allclose(jac(f)(X), 54 * X**5)
    np.testing.assert_allclose(wg.hessian(f)(X), np.diag(270 * X**4), rtol=1e-12, atol=1e-12)


@both
def test_a_variable_of_outside_is_not_confused_with_that_inside(jac: Callable[..., Any]) -> None:
    """d/dx (x · d/dy (x + y)) = 1, not 2."""
    assert wg.grad(lambda x: x * jac(lambda y: x + y)(1.0))(1.0) == 1.0
    assert jac(lambda x: x * jac(lambda y: x * y)(2.0))(3.0) == 6.0


@both
def test_derivatives_of_any_order_by_nesting(jac: Callable[..., Any]) -> None:
    f, t = (lambda t: np.array([t**4, np.exp(2 * t)])), 0.7
    for order, expected in enumerate([[t**4, 1], [4 * t**3, 2], [12 * t**2, 4], [24 * t, 8], [24, 16]]):
        value = f(t)
        np.testing.assert_allclose(value, [expected[0], expected[1] * np.exp(2 * 0.7)], rtol=1e-12, err_msg=str(order))
        f = jac(f)


# the bugs of a course project that computes Jacobians block by block


@both
def test_a_diamond_above_a_chain(jac: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        y = np.sin(np.sin(x))
        return np.exp(y + y)

    inner = np.sin(np.sin(X))
    expected = np.exp(2 * inner) * 2 * np.cos(np.sin(X)) * np.cos(X)
    np.testing.assert_allclose(jac(f)(X), np.diag(expected), rtol=1e-13)


@both
def test_three_doublings(jac: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        for _ in range(3):
            x = x + x
        return x

    assert jac(f)(1.5) == 8.0


@both
def test_an_unused_argument_has_zeros_of_its_shape(jac: Callable[..., Any]) -> None:
    used, unused = jac(lambda x, y: np.sum(x), argnums=(0, 1), as_matrix=True)(X[:2], X)
    assert used.shape == (1, 2) and unused.shape == (1, 3)
    np.testing.assert_array_equal(unused, np.zeros((1, 3)))


@both
def test_twice_is_the_same(jac: Callable[..., Any]) -> None:
    both_of = jac(lambda x, y: x * y, argnums=(0, 1))
    first, second = both_of(X, 2.0), both_of(X, 2.0)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


@both
def test_two_arguments_have_derivatives_of_their_own(jac: Callable[..., Any]) -> None:
    assert jac(lambda x, y: x * y, argnums=(0, 1))(1.0, 2.0) == (2.0, 1.0)


@both
def test_square_roots_logarithms_with_a_base_and_negative_slices(jac: Callable[..., Any]) -> None:
    import math

    assert jac(np.sqrt)(4.0) == 0.25
    assert jac(lambda x: math.log(x, 10))(2.0) == pytest.approx(1 / (2 * math.log(10)), rel=1e-15)
    np.testing.assert_array_equal(jac(lambda x: x[-2:])(X), np.eye(3)[1:])
    np.testing.assert_array_equal(jac(lambda x: x[::-1])(X), np.eye(3)[::-1])
    np.testing.assert_array_equal(jac(lambda x: x[-1])(X), [0.0, 0.0, 1.0])


@both
def test_inputs_of_several_lengths_give_one_matrix_each(jac: Callable[..., Any]) -> None:
    found = jac(lambda x, v: x * v[:2], argnums=(0, 1), as_matrix=True)(2.0, X)
    np.testing.assert_array_equal(found[0], [[X[0]], [X[1]]])
    np.testing.assert_array_equal(found[1], [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])


# which mode


@pytest.mark.parametrize(("count", "mode"), [(2, "rev"), (3, "rev"), (4, "fwd"), (30, "fwd")])
def test_the_mode_is_picked_by_sizes_and_the_function_runs_once(count: int, mode: str) -> None:
    x = np.linspace(0.1, 1.0, 12)
    calls: list[str] = []

    def part(x: Any) -> Any:
        calls.append("run")
        return np.resize(np.sin(x), count)

    @wg.rrule(part)
    def part_rule(x: Any) -> Any:
        calls.append("run")

        def part_pullback(y_bar: Any) -> Any:
            calls.append("rev")
            return np.sum(np.pad(y_bar, (0, -count % 12)).reshape(-1, 12), axis=0) * np.cos(x)

        return np.resize(np.sin(x), count), part_pullback

    try:
        found = wg.jacobian(part)(x)
    finally:
        wg.rules.remove(part)
    np.testing.assert_allclose(found, np.resize(np.diag(np.cos(x)), (count, 12)), rtol=1e-13)
    assert calls.count("run") == 1
    assert mode == "fwd" or calls.count("rev") == count


def test_many_rows_take_one_walk_back() -> None:
    walks: list[int] = []

    def wide(x: Any) -> Any:
        return np.outer(x, x)

    @wg.vjp_rule(wide)
    def wide_rule(y_bar: Any, y: Any, x: Any) -> Any:
        walks.append(1)
        return y_bar @ x + x @ y_bar

    x = np.linspace(0.1, 1.0, 12)
    try:
        found = wg.jacrev(wide)(x)
    finally:
        wg.rules.remove(wide)
    np.testing.assert_allclose(found, wg.jacfwd(lambda x: np.outer(x, x))(x), rtol=1e-13)
    assert len(walks) < 10


def test_many_rows_of_containers_complex_results_and_pullbacks_that_cannot_be_traced() -> None:
    a = np.random.default_rng(0).normal(size=(150, 3))

    def opaque(x: Any) -> Any:
        return a @ x

    @wg.rrule(opaque)
    def opaque_rule(x: Any) -> Any:
        return a @ x, lambda y_bar: np.array(memoryview(y_bar).tolist()) @ a

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(wg.jacrev(opaque)(X), a, rtol=1e-12)
    finally:
        wg.rules.remove(opaque)

    def f(x: Any) -> Any:
        return {"z": np.exp(1j * (a @ x)), "r": [np.sort(a @ x), x[0]], "n": 1}

    rows, columns = wg.jacrev(f, as_matrix=True)(X), wg.jacfwd(f, as_matrix=True)(X)
    assert rows.shape == (301, 3) and rows.dtype == complex
    np.testing.assert_allclose(rows, columns, rtol=1e-12)
