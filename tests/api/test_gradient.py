"""The public functions: their uses, conventions and errors. Numbers are closed forms or differences."""

from __future__ import annotations

import cmath
import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special

import wengert as wg

X = np.array([1.0, -2.0, 3.0])


def product(a: Any, b: Any, *, scale: Any = 1.0) -> Any:
    return np.sum(a * b) * scale


# uses


def test_at_once_gives_value_and_gradients() -> None:
    value, gradients = wg.grad(product, X, 2.0, scale=3.0)
    assert value == 12.0
    assert gradients[0] is None
    np.testing.assert_array_equal(gradients[1], [6.0, 6.0, 6.0])
    assert gradients[2] == 6.0
    assert gradients["scale"] == 4.0
    np.testing.assert_array_equal(gradients["a"], gradients[1])


def test_seed_of_the_documents() -> None:
    def f(x1: float, x2: float) -> float:
        return x1 * x2 + math.sin(x1)

    assert wg.grad(f, 2.0, 3.0) == (6.909297426825682, (None, 2.5838531634528574, 2.0))


def test_as_a_function_and_as_a_decorator() -> None:
    @wg.grad
    def cube(x: float) -> float:
        return x**3

    @wg.grad(argnums="b")
    def f(a: float, b: float) -> float:
        return a * b**2

    assert cube(2.0) == 12.0
    assert f(3.0, 5.0) == 30.0
    assert wg.grad(lambda x: x**3)(2.0) == 12.0


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [(0, 5.0), (1, 2.0), (-1, 2.0), ("b", 2.0), ((1, 0), (2.0, 5.0)), (("a", 1), (5.0, 2.0))],
)
def test_argnums(argnums: Any, expected: Any) -> None:
    def f(a: float, b: float) -> float:
        return a * b

    assert wg.grad(f, argnums=argnums)(2.0, 5.0) == expected


def test_keyword_arguments_by_name() -> None:
    assert wg.grad(product, argnums="scale")(X, X, scale=2.0) == 14.0
    assert wg.grad(product, argnums=1)(X, b=2.0) == 2.0


def test_has_aux() -> None:
    (value, aux), gradient = wg.value_and_grad(lambda x: (x.sum(), {"seen": x}), has_aux=True)(X)
    assert value == 2.0
    assert aux["seen"] is X  # the caller's own object
    np.testing.assert_array_equal(gradient, [1.0, 1.0, 1.0])
    gradient, aux = wg.grad(lambda x: (x.sum(), 7), has_aux=True)(X)
    assert aux == 7


def test_vjp_of_several_results_twice() -> None:
    value, pullback = wg.vjp(lambda x, y: {"a": x * y, "b": x.sum()}, X, 2.0)
    np.testing.assert_array_equal(value["a"], 2 * X)
    for _ in range(2):
        x_bar, y_bar = pullback({"a": np.array([1.0, 10.0, 100.0]), "b": 1000.0})
        np.testing.assert_array_equal(x_bar, [1002.0, 1020.0, 1200.0])
        assert y_bar == 1.0 - 20.0 + 300.0


def test_vjp_survives_what_the_caller_writes() -> None:
    x = X.copy()
    _, pullback = wg.vjp(lambda x: x * x, x)
    x[:] = 0.0
    np.testing.assert_array_equal(pullback(np.ones(3))[0], 2 * X)


def test_vjp_refuses_another_structure() -> None:
    _, pullback = wg.vjp(lambda x: (x, x.sum()), X)
    with pytest.raises(ValueError, match="structure of the result"):
        pullback(np.ones(3))
    with pytest.raises(ValueError, match="is complex, but the result is real"):
        wg.vjp(np.abs, np.array([3 + 4j, 1j]))[1](np.array([1.0, 1j]))
    with pytest.raises(ValueError, match=r"shape \(2,\), but the result has \(3,\)"):
        pullback((np.ones(2), 1.0))


@pytest.mark.parametrize("y_bar", [{"v": 1.0}, [1.0], (1.0,), {"u": [1.0]}, None, "1.0", []])
def test_one_leaf_has_a_bare_cotangent_or_one_in_its_own_place(y_bar: Any) -> None:
    for f in (lambda x: {"u": x * x}, lambda x: x * x):
        with pytest.raises(ValueError, match=r"the cotangent must have the structure of the result: .*, not "):
            wg.vjp(f, 3.0)[1](y_bar)
    for fits in (10.0, 10, {"u": 10.0}):
        assert wg.vjp(lambda x: {"u": x * x}, 3.0)[1](fits) == (60.0,)


def test_seed() -> None:
    value, gradients = wg.grad(lambda x: x**2, X, seed=np.array([1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(value, X**2)
    np.testing.assert_array_equal(gradients[1], [2.0, 0.0, 12.0])


def test_stop_gradient() -> None:
    np.testing.assert_array_equal(wg.grad(lambda x: (x * wg.stop_gradient(x)).sum())(X), X)
    assert wg.grad(lambda x: x * wg.stop_gradient(x))(3.0) == 3.0


# structure


class Pair(NamedTuple):
    w: Any
    b: Any


@dataclasses.dataclass
class Model:
    w: np.ndarray
    b: float
    name: str = "model"
    size: int = 3

    def __call__(self, x: np.ndarray) -> Any:
        return (self.w * x).sum() * self.b


def test_containers_are_mirrored() -> None:
    def f(p: dict[str, Any]) -> Any:
        return (p["list"][0] * p["pair"].w).sum() + p["pair"].b ** 2 + p["nested"][1]["c"]

    p = {"list": [X, "text"], "pair": Pair(np.ones(3), 3.0), "nested": (1, {"c": 2.0}), "none": None}
    gradient = wg.grad(f)(p)
    assert list(gradient) == list(p)
    np.testing.assert_array_equal(gradient["list"][0], np.ones(3))
    assert gradient["list"][1] is None
    assert gradient["none"] is None
    assert type(gradient["pair"]) is Pair
    np.testing.assert_array_equal(gradient["pair"].w, X)
    assert gradient["pair"].b == 6.0
    assert gradient["nested"] == (None, {"c": 1.0})
    assert p["list"][0] is X


def test_objects_as_arguments_and_as_functions() -> None:
    model = Model(np.array([1.0, 2.0, 3.0]), 2.0)
    gradient = wg.grad(lambda m: m(X))(model)
    assert type(gradient) is Model
    np.testing.assert_array_equal(gradient.w, 2 * X)
    assert gradient.b == 6.0
    assert gradient.name is None
    value, (df, dx) = wg.grad(model, X)
    assert value == 12.0
    np.testing.assert_array_equal(df.w, 2 * X)
    np.testing.assert_array_equal(dx, 2 * model.w)


def test_closures() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def f(x: np.ndarray) -> Any:
        return (weights * x).sum()

    _, (df, dx) = wg.grad(f, X)
    np.testing.assert_array_equal(df["weights"], X)
    np.testing.assert_array_equal(dx, weights)


def test_unused_argument_gets_zeros_of_its_kind() -> None:
    _, (_, dx, dy, dz) = wg.grad(lambda x, y, z: 3.0 * y, np.ones(2, np.float32), 2.0, np.float32(1))
    assert dx.dtype == np.float32
    np.testing.assert_array_equal(dx, [0.0, 0.0])
    assert (dy, dz) == (3.0, 0.0)
    assert type(dz) is np.float32


def test_results_share_no_memory_and_are_writeable() -> None:
    seed = np.ones(3)
    _, gradients = wg.grad(lambda a, b: a + b, X, X.copy(), seed=seed)
    a, b = gradients[1:]
    assert not np.shares_memory(a, b)
    assert not np.shares_memory(a, seed)
    a += 1.0
    np.testing.assert_array_equal(b, np.ones(3))
    g = wg.grad(lambda x: x.sum())(X)
    g += 1.0  # no broadcast view


# dtypes


def test_float32_stays_float32() -> None:
    x = X.astype(np.float32)
    value, gradient = wg.value_and_grad(lambda x: np.sum(np.exp(x) * 2))(x)
    assert value.dtype == gradient.dtype == np.float32


def test_ints() -> None:
    assert wg.grad(lambda x: x**2)(3) == 6.0
    with pytest.raises(wg.IntegerInputError, match=r"argument 'x' is an array of int64.*x\.astype\(float\)"):
        wg.grad(lambda x: x.sum())(np.arange(3))
    assert wg.grad(lambda x: 2.0 * x.sum(), allow_int=True)(np.arange(3)) is None


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda z: (z**2).real, 2 + 4j),
        (lambda z: np.real(z**2), 2 + 4j),
        (lambda z: np.abs(z) ** 2, 2 - 4j),
        (lambda z: np.imag(z), -1j),
        (lambda z: np.real(np.exp(z) * np.conj(z)), None),
    ],
)
def test_complex_follows_jax(f: Any, expected: complex | None) -> None:
    z = 1 + 2j
    if expected is None:
        h = 1e-6
        expected = (f(z + h) - f(z - h)) / (2 * h) - 1j * (f(z + 1j * h) - f(z - 1j * h)) / (2 * h)
    assert cmath.isclose(wg.grad(f)(z), expected, rel_tol=1e-8)


def test_holomorphic() -> None:
    assert cmath.isclose(wg.grad(np.exp, holomorphic=True)(1 + 2j), cmath.exp(1 + 2j))
    with pytest.raises(wg.NonScalarOutputError, match="holomorphic=True"):
        wg.grad(np.exp)(1 + 2j)


def test_a_holomorphic_function_is_one_of_and_to_complex_numbers() -> None:
    def f(x: Any, z: Any) -> Any:
        return np.exp(1j * x) * z

    for argnums in (0, (0, 1), (1, 0), "x"):
        with pytest.raises(wg.ArgumentError, match="argument 1 is real"):
            wg.grad(f, argnums=argnums, holomorphic=True)(1.0, 2j)
    with pytest.raises(wg.ArgumentError, match="is real"):
        wg.value_and_grad(np.sum, holomorphic=True)({"a": np.ones(2), "b": 1j})
    assert cmath.isclose(wg.grad(f, argnums=1, holomorphic=True)(1.0, 2j), cmath.exp(1j))
    assert cmath.isclose(wg.grad(f, holomorphic=True)(1 + 0j, 2j), 1j * cmath.exp(1j) * 2j)
    with pytest.raises(wg.NonScalarOutputError, match="complex result"):
        wg.grad(np.real, holomorphic=True)(1 + 2j)
    weights = np.array([1.0, 2.0])
    with pytest.raises(wg.ArgumentError, match="weights is real"):
        wg.grad(lambda z: (weights * z).sum(), 1j, holomorphic=True)
    assert wg.grad(lambda z: (weights * z).sum(), holomorphic=True)(1j) == 3


# levels


def test_second_and_third_derivatives_of_a_float() -> None:
    def f(x: float) -> float:
        y = x
        for _ in range(3):
            y = y * x + math.sin(x)
        return y

    second = wg.grad(wg.grad(f))(0.7)
    h = 1e-5
    assert math.isclose(second, (wg.grad(f)(0.7 + h) - wg.grad(f)(0.7 - h)) / (2 * h), rel_tol=1e-8)
    assert math.isclose(wg.grad(wg.grad(wg.grad(lambda x: x**5)))(2.0), 240.0)


def test_hessian_of_an_array_program_with_stores() -> None:
    def f(x: np.ndarray) -> Any:
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[i] ** 2 * x[i - 1]
        y *= x
        return np.sum(np.tanh(y))

    x, v = np.array([0.3, -0.4, 0.5]), np.array([1.0, 2.0, -1.0])
    product = wg.grad(lambda x: wg.grad(f)(x) @ v)(x)
    h = 1e-6
    expected = (wg.grad(f)(x + h * v) - wg.grad(f)(x - h * v)) / (2 * h)
    np.testing.assert_allclose(product, expected, rtol=1e-7, atol=1e-9)


def test_levels_are_not_confused() -> None:
    assert wg.grad(lambda x: x * wg.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert wg.grad(lambda x: wg.grad(lambda y: x * y**2)(x))(3.0) == 4 * 3.0


def test_rule_of_a_user_on_both_levels() -> None:
    def square(x: Any) -> Any:
        return x * x

    with wg.rules.scope():

        @wg.rrule(square)
        def square_rule(x: Any) -> Any:
            def pullback(y_bar: Any) -> Any:
                return y_bar * 20.0 * x  # ten times too large, to be seen

            return x * x, pullback

        assert wg.grad(square)(3.0) == 60.0
        assert wg.grad(wg.grad(square))(3.0) == 20.0
        assert wg.grad(lambda x: wg.grad(lambda y: y * square(x))(2.0))(3.0) == 60.0


# cost


def test_only_the_wanted_product_is_computed() -> None:
    x, w = np.ones((4, 3)), np.ones((3, 2))
    tape = wg.gradtape(lambda w, x: np.sum(x @ w), w, x, argnums=0)
    products = [op for op in tape.calls if op.fn.__name__ == "matmul"]
    assert len(products) == 2  # forward and one in reverse


def test_nothing_is_computed_for_what_is_not_wanted() -> None:
    with np.errstate(all="raise"):
        assert wg.grad(lambda x: x**2)(-3.0) == -6.0
        np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x**2))(-X), -2 * X)


# errors


def test_non_scalar() -> None:
    with pytest.raises(wg.NonScalarOutputError, match=r"shape \(3,\).*\.sum\(\).*wg\.jacobian"):
        wg.grad(lambda x: x * 2)(X)
    with pytest.raises(TypeError, match="scalar"):
        wg.grad(lambda x: [x])(X)


@pytest.mark.parametrize("result", [3, True, "text", None])
def test_no_path(result: Any) -> None:
    with pytest.raises(wg.NoGradientPathError, match="no derivative"):
        wg.grad(lambda x: result)(2.0)


def test_float_result_without_a_path_gives_zeros() -> None:
    with pytest.warns(wg.NoPathWarning):
        assert wg.grad(lambda x: 5.0)(2.0) == 0.0


def test_missing_rule_has_the_line_and_a_stub() -> None:
    def f(x: float) -> float:
        return scipy.special.ellip_harm(5.0, 8.0, 1, 1, x)

    with pytest.raises(wg.NoRuleError) as caught:
        wg.grad(f)(2.0)
    assert f"test_gradient.py:{f.__code__.co_firstlineno + 1} in " in str(caught.value)
    assert "@wg.rrule(scipy.special.ellip_harm)" in str(caught.value)


def test_refusals_cannot_be_swallowed() -> None:
    def f(x: float) -> float:
        try:
            return scipy.special.ellip_harm(5.0, 8.0, 1, 1, x)
        except Exception:
            return 2.0 * x

    with pytest.raises(wg.NoRuleError):
        wg.grad(f)(2.0)


def test_aliased_arguments() -> None:
    def f(a: np.ndarray, b: np.ndarray) -> Any:
        a[0] = b[1] * 2
        return (a * b).sum()

    x = X.copy()
    with pytest.raises(wg.AliasedArgumentsError, match=r"test_gradient\.py:\d+"):
        wg.grad(f, x, x)
    _, (_, da, db) = wg.grad(lambda a, b: (a * b).sum(), x, x)
    np.testing.assert_array_equal(da, x)
    np.testing.assert_array_equal(db, x)


def test_stale_tape() -> None:
    _, tape = wg.trace(lambda x: x * 2 if x > 0 else x * 3, 2.0)
    assert tape.play(4.0) == tape.compile()(4.0) == 8.0
    for run in (tape.play, tape.compile()):
        with pytest.raises(wg.StaleTapeError, match=r"test_gradient\.py:\d+"):
            run(-1.0)


def test_argnums_out_of_reach() -> None:
    with pytest.raises(TypeError, match="argnums=3"):
        wg.grad(lambda x: x, argnums=3)(1.0)
    with pytest.raises(TypeError, match="argnums names 'z'"):
        wg.grad(lambda x: x, argnums="z")(1.0)


def test_every_error_is_of_wengert_and_of_the_builtin_that_fits() -> None:
    builtins_of = {
        wg.NoRuleError: NotImplementedError, wg.RefusedCallError: TypeError, wg.NonScalarOutputError: TypeError,
        wg.IntegerInputError: TypeError, wg.NoGradientPathError: ValueError, wg.StaleTapeError: RuntimeError,
        wg.AliasedArgumentsError: ValueError, wg.GradientCheckError: AssertionError,
    }  # fmt: skip
    for error, builtin in builtins_of.items():
        assert issubclass(error, wg.WengertError)
        assert issubclass(error, builtin)


# contexts


def test_a_context_counts_and_records_what_it_wants() -> None:
    def helper(x: Any) -> Any:
        return x * x + 1.0

    class Counting(wg.Context):
        calls = 0

        def is_primitive(self, f: Any, *args: Any) -> bool:
            return f is helper or super().is_primitive(f, *args)

        def record_primitive(self, tape: Any, v_f: Any, *v_args: Any, **v_kwargs: Any) -> Any:
            self.calls += 1
            return super().record_primitive(tape, v_f, *v_args, **v_kwargs)

    counting = Counting()
    value, tape = wg.trace(lambda x: helper(x) * np.sin(x), 2.0, ctx=counting)
    assert value == 5.0 * np.sin(2.0)
    assert [op.fn for op in tape.calls][:2] == [helper, np.sin]
    assert counting.calls == 3
    assert wg.verify(tape).play(3.0) == 10.0 * np.sin(3.0)


def test_rrules_recorded_while_running() -> None:
    ctx = wg.RRuleContext()
    value, _ = wg.trace(lambda a, b: a * b + np.sin(a), 2.0, 3.0, ctx=ctx)
    assert value == 6.909297426825682
    assert len(ctx.pullbacks) == 3


def test_floats_in_objects_beside_whole_numbers_are_found() -> None:
    def f(p: Any) -> Any:
        return p["pair"].w ** p["power"]

    found = wg.grad(f)({"pair": Pair(3.0, None), "power": 2})
    assert found["pair"].w == 6.0 and found["power"] is None
