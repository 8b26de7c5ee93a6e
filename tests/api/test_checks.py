"""`ngradient` against closed forms, and `check_grads` against gradients that are right and wrong."""

from __future__ import annotations

import cmath
import math
import pickle
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.api.checks import check_grads
from wengert.api.differences import ngradient
from wengert.errors import GradientCheckError, NonScalarOutputError, WengertError


def test_the_worked_example() -> None:
    dx, dy = ngradient(lambda x, y: x * y + math.sin(x), 2.0, 3.0)
    assert (dx, dy) == pytest.approx((2.5838531634528574, 2.0), rel=1e-12)
    assert type(dx) is float


POINTS = [1e-6, 0.1, 1.0, 3.0, 100.0, 1e5]


@pytest.mark.parametrize("x", POINTS + [-x for x in POINTS] + [0.0])
@pytest.mark.parametrize(
    ("f", "df"),
    [
        (math.sin, math.cos),
        (math.atan, lambda x: 1 / (1 + x * x)),
        (lambda x: x**3 + 1, lambda x: 3 * x**2),
        (lambda x: math.exp(-x * x), lambda x: -2 * x * math.exp(-x * x)),
        (lambda x: 7.0, lambda x: 0.0),
    ],
)
def test_smooth_functions_at_every_magnitude(f: Any, df: Any, x: float) -> None:
    assert ngradient(f, x)[0] == pytest.approx(df(x), rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize(
    ("f", "df"),
    [
        (math.log, lambda x: 1 / x),
        (math.sqrt, lambda x: 0.5 / math.sqrt(x)),
        (lambda x: 1 / x, lambda x: -1 / x**2),
    ],
)
def test_near_the_edge_of_a_domain(f: Any, df: Any, x: float) -> None:
    assert ngradient(f, x)[0] == pytest.approx(df(x), rel=1e-7)


def test_outside_a_domain_there_is_no_number() -> None:
    assert math.isnan(ngradient(math.sqrt, 0.0)[0])
    with pytest.raises(ValueError, match=r"math domain|positive input"):
        ngradient(math.log, -1.0)


@given(st.floats(-1e3, 1e3))
def test_polynomials(x: float) -> None:
    assert ngradient(lambda x: x * x * x - 2 * x, x)[0] == pytest.approx(3 * x * x - 2, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(
    ("dtype", "rel"), [(np.float16, 2e-2), (np.float32, 1e-4), (np.float64, 1e-9), (np.longdouble, 1e-9)]
)
def test_dtypes_are_kept_and_their_precision_is_reached(dtype: Any, rel: float) -> None:
    x = np.array([0.5, 1.0, 2.0], dtype)
    (dx,) = ngradient(lambda x: np.sum(np.exp(x) * x), x)
    assert dx.dtype == dtype and dx == pytest.approx(np.exp(x) * (1 + x), rel=rel)
    (dx,) = ngradient(np.sin, dtype(0.5))
    assert type(dx) is dtype and dx == pytest.approx(math.cos(0.5), rel=rel)


def test_a_function_that_computes_in_less_precision_than_its_argument() -> None:
    (dx,) = ngradient(lambda x: np.sin(np.float32(x)), 0.5)
    assert dx == pytest.approx(math.cos(0.5), rel=1e-4)


def test_complex_in_the_convention_of_grad() -> None:
    assert ngradient(lambda z: (z * z).real, 1 + 2j) == (pytest.approx(2 + 4j),)
    assert ngradient(lambda z: abs(z) ** 2, 1 + 2j) == (pytest.approx(2 - 4j),)
    z = np.array([1j, 2.0], np.complex64)
    (dz,) = ngradient(lambda z: np.sum(np.exp(z)).real, z)
    assert dz.dtype == np.complex64 and dz == pytest.approx(np.exp(z), rel=1e-3)
    assert ngradient(lambda x: cmath.exp(1j * x).real, 0.3) == (pytest.approx(-math.sin(0.3)),)


@dataclass
class Model:
    w: Any
    scale: float
    name: str = "m"


def test_gradients_have_the_structure_of_the_arguments() -> None:
    model = Model(np.array([1.0, 2.0]), 3.0)
    dmodel, dlist, dn, ds = ngradient(
        lambda m, xs, n, s: m.scale * np.sum(m.w**n) + xs[0] * xs[1][0], model, [2.0, (5.0, None)], 2, "s"
    )
    assert type(dmodel) is Model and dmodel.name is None
    assert dmodel.w == pytest.approx([6.0, 12.0]) and dmodel.scale == pytest.approx(5.0)
    assert dlist == [pytest.approx(5.0), (pytest.approx(2.0), None)]
    assert dn is None and ds is None


def test_shared_arrays_and_containers() -> None:
    a = np.array([2.0])
    (da,) = ngradient(lambda p: np.sum(p[0] * p[1]), [a, a])
    assert da[0] is da[1] and da[0] == pytest.approx([4.0])  # one object: the whole derivative
    dx, dy = ngradient(lambda x, y: np.sum(x * x * y), a, a)
    assert dx == pytest.approx([8.0]) and dy == pytest.approx([4.0])
    p = {"a": a}
    dp, dq = ngradient(lambda p, q: np.sum(p["a"] * q["a"]), p, p)
    assert dp is dq and dp["a"] == pytest.approx([4.0])
    (dt,) = ngradient(lambda p: p[0] + 3 * p[1], [0.1, 0.1])
    assert dt == pytest.approx([1.0, 3.0])


def test_argnums_and_keywords() -> None:
    f = lambda x, y, k=1.0: k * x**y
    assert ngradient(f, 2, 3.0, argnums=0, k=2.0) == pytest.approx(24.0)
    assert ngradient(f, 2, 3.0) == (None, pytest.approx(8 * math.log(2)))
    assert ngradient(f, 2.0, 3.0, argnums=(1, -2)) == pytest.approx((8 * math.log(2), 12.0))
    with pytest.raises(ValueError, match="argnums names argument 2"):
        ngradient(f, 2.0, 3.0, argnums=2)


def test_the_callers_arguments_are_not_touched() -> None:
    a, n, log = np.array([1.0, 2.0]), np.array([0]), [1.0]

    def f(a: Any, n: Any, log: Any, *, out: Any) -> Any:
        a += 1
        n += 1
        log.append(5.0)
        out[:] = a
        return np.sum(out**2) + n[0] + len(log)

    out = np.zeros(2)
    da, dn, dlog = ngradient(f, a, n, log, out=out)
    assert da == pytest.approx([4.0, 6.0]) and dn is None and dlog == [pytest.approx(0.0, abs=1e-12)]
    assert a.tolist() == [1.0, 2.0] and n.tolist() == [0] and log == [1.0] and out.tolist() == [0.0, 0.0]


def test_kinks_give_the_mean_of_the_slopes() -> None:
    assert ngradient(lambda x: abs(x), 0.0) == (0.0,)
    assert ngradient(lambda x: max(x, 0.0), 0.0) == (0.5,)


@pytest.mark.parametrize("result", [np.ones(2), 1j, None, "s", True, [1.0, 2.0]], ids=repr)
def test_a_result_that_is_not_one_real_number(result: Any) -> None:
    with pytest.raises(NonScalarOutputError, match="one real number"):
        ngradient(lambda x: result, 1.0)


def test_a_result_of_size_one_and_an_int_result() -> None:
    assert ngradient(lambda x: np.array([[x]]), 1.0) == (pytest.approx(1.0),)
    assert ngradient(lambda x: 3, 1.0) == (0.0,)


# check_grads

W = np.array([[1.0, 2.0], [3.0, 4.0]])


def loss(params: Any, x: Any) -> Any:
    return np.sum((params["w"][0] @ x + params["b"]) ** 2)


def loss_gradient(f: Any, params: Any, x: Any) -> Any:
    r = 2 * (params["w"][0] @ x + params["b"])
    return {"w": [np.outer(r, x)], "b": r.sum()}, params["w"][0].T @ r


ARGS = ({"w": [W], "b": np.float64(0.5)}, np.array([1.0, -1.0]))


def test_a_right_gradient_passes() -> None:
    assert check_grads(loss, *ARGS, gradient=loss_gradient) < 1e-9


def planted(change: Any) -> Any:
    def gradient(f: Any, *args: Any) -> Any:
        found = loss_gradient(f, *args)
        return change(*found)

    return gradient


def off_by_one_entry(dp: Any, dx: Any) -> Any:
    dp["w"][0][1, 0] *= 1.01
    return dp, dx


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (off_by_one_entry, r"params\['w'\]\[0\]\[1, 0\]\n.*-?\d.*\n.*\n.*relative error: 0.01.*\n1 of 4"),
        (lambda dp, dx: (dp, -dx), r"at x\[\d\]\n(.*\n)*2 of 2"),
        (lambda dp, dx: (dp, dx * np.nan), r"at x\[0\]"),
        (lambda dp, dx: ({"w": dp["w"], "b": None}, dx), r"no entry at params\['b'\]"),
        (lambda dp, dx: (dp, None), r"no entry at x"),
        (lambda dp, dx: ({**dp, "c": 1.0}, dx), r"an entry at params\['c'\], where"),
        (lambda dp, dx: (dp, dx[:1]), r"at x has shape \(1,\), but the argument has \(2,\)"),
        (lambda dp, dx: (dp, dx.astype(np.float32)), r"at x has dtype float32, but the argument has float64"),
        (lambda dp, dx: dp, r"expected a tuple of 2 gradients"),
    ],
)
def test_planted_mistakes_are_caught(change: Any, message: str) -> None:
    with pytest.raises(GradientCheckError, match=message) as caught:
        check_grads(loss, *ARGS, gradient=planted(change))
    assert isinstance(caught.value, WengertError) and isinstance(caught.value, AssertionError)


def test_a_missing_conjugate_is_caught() -> None:
    z = 1 + 2j
    f = lambda z: (z * z).real
    assert check_grads(f, z, gradient=lambda f, z: (2 * z,)) < 1e-9
    with pytest.raises(GradientCheckError):
        check_grads(f, z, gradient=lambda f, z: ((2 * z).conjugate(),))


def test_array_and_complex_results_are_reduced_by_weights() -> None:
    x = np.array([1.0, 2.0])
    for f in (np.sin, lambda x: np.exp(1j * x)):
        assert check_grads(f, x, gradient=ngradient) == 0.0
        with pytest.raises(GradientCheckError):
            check_grads(f, x, gradient=lambda g, x: (np.zeros(2),))


def test_the_own_gradient_of_an_array_result() -> None:
    assert check_grads(lambda x: x * x, np.array([1.0, 2.0])) < 1e-9
    assert check_grads(lambda z: z * z, np.array([1.0 + 2j])) < 1e-9


def test_float32_is_held_to_its_own_precision() -> None:
    x = np.array([0.5, 2.0], np.float32)
    f = lambda x: np.sum(np.sin(x))
    assert check_grads(f, x, gradient=lambda f, x: (np.cos(x),)) < 1e-3
    with pytest.raises(GradientCheckError):
        check_grads(f, x, gradient=lambda f, x: (np.cos(x) * np.float32(1.02),))


def test_tolerances_and_arguments_without_names() -> None:
    wrong = lambda f, *xs: tuple(2.001 * x for x in xs)
    assert check_grads(lambda *xs: sum(x * x for x in xs), 1.0, 2.0, gradient=wrong, rtol=1e-2) == pytest.approx(5e-4)
    with pytest.raises(GradientCheckError, match=r"at xs\[1\]"):
        check_grads(lambda *xs: xs[1] ** 2, 0.0, 2.0, gradient=wrong)
    with pytest.raises(GradientCheckError, match=r"at args\[0\]"):
        check_grads(max, 1.0, 0.5, gradient=lambda f, *xs: (2.0, 0.0))


def test_the_errors_of_each_argument_are_measured() -> None:
    wrong = lambda f, x, y: (y * (1 + 4e-10), x * (1 - 1e-7))  # of x y
    found = check_grads(lambda x, y: x * y, 2.0, 5.0, gradient=wrong, atol=1e-3)
    assert found == 0.0 and found.errors == pytest.approx({"x": 4e-10, "y": 1e-7}, rel=0.1)
    p = {"w": np.array([1.0, 100.0]), "b": 3.0}
    wrong = lambda f, p: ({"w": 2 * p["w"] + 1e-4, "b": 0.0},)
    found = check_grads(lambda p: np.sum(p["w"] ** 2), p, gradient=wrong, atol=1.0)
    assert found.errors == pytest.approx({"p['w']": 1e-4 / 200, "p['b']": 0.0}, rel=0.1)
    assert pickle.loads(pickle.dumps(found)).errors == found.errors


def test_the_errors_of_higher_orders_are_measured() -> None:
    found = check_grads(lambda t: t**4, order=3, modes=BOTH)(0.7)
    assert list(found.errors) == ["t", "derivatives of order 2", "derivatives of order 3"]
    assert 0.0 < max(found.errors.values()) < 1e-9


# both modes, and higher orders

BOTH = ("rev", "fwd")


def mixed(p: Any, x: Any, n: int) -> Any:
    return {"a": np.tanh(p["w"] @ x) * p["b"], "b": [np.sum(x**n), "name"]}


def test_every_mode_and_order_of_containers_and_complex_numbers() -> None:
    p = {"w": W, "b": 0.5, "name": "p"}
    for order in (1, 2):
        for modes in (("rev",), ("fwd",), BOTH, "fwd"):
            assert check_grads(mixed, order=order, modes=modes)(p, np.array([0.3, -0.2]), 3) < 1e-6
    assert check_grads(lambda z, x: np.exp(z * x) * np.conj(z), order=2, modes=BOTH)(0.3 + 0.1j, np.array([1.0])) < 1e-6
    assert check_grads(lambda t: t**4, 0.7, order=3, modes=BOTH) < 1e-6
    assert check_grads(lambda x, k=1.0: k * x**3, order=2, modes=BOTH)(0.7, k=2.0) < 1e-6


@pytest.fixture
def wrong() -> Any:
    """A function whose rule is right at first order in reverse mode only."""

    def square(x: Any) -> Any:
        return x * x

    with wg.rules.scope():

        @wg.vjp_rule(square)
        def square_rule(y_bar: Any, y: Any, x: Any) -> Any:
            return y_bar * 2 * wg.stop_gradient(x)

        yield square


def test_a_wrong_second_derivative_is_found(wrong: Any) -> None:
    assert check_grads(wrong)(0.7) < 1e-9
    with pytest.raises(GradientCheckError, match="the derivative of the pullback of square is wrong"):
        check_grads(wrong, order=2)(0.7)


def test_a_wrong_pushforward_is_found(wrong: Any) -> None:
    @wg.jvp_rule(wrong)
    def push_square(dots: Any, y: Any, x: Any) -> Any:
        return 3 * x * dots[0]

    assert check_grads(wrong)(np.ones(2)) < 1e-9
    with pytest.raises(GradientCheckError, match="disagrees with differences"):
        check_grads(wrong, modes=("fwd",))(np.ones(2))
    with pytest.raises(GradientCheckError, match="disagrees with differences"):
        check_grads(wrong, np.ones(2), modes=BOTH)


def test_of_constants_and_linear_functions_it_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in (lambda x: 3.0, lambda x: float(int(x)), lambda x: 3.0 * x, lambda x: 3):
            assert check_grads(f, order=2, modes=BOTH)(2.5) < 1e-9


def test_what_cannot_be_checked_is_refused() -> None:
    for options in ({"modes": ("back",)}, {"modes": ()}, {"order": 0}, {"order": 1.5}):
        with pytest.raises(wg.ArgumentError, match="modes must be 'rev', 'fwd'"):
            check_grads(math.sin, **options)
    with pytest.raises(wg.ArgumentError, match="nothing to check"):
        check_grads(math.sin, order=2)(1)
    with pytest.raises(NonScalarOutputError, match="contains no number"):
        check_grads(lambda x: "text")(1.0)
