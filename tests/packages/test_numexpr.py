"""Expressions that numexpr evaluates are followed: values as of numexpr, derivatives by differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg

ne = pytest.importorskip("numexpr")

X = np.array([[0.3, 1.7, 0.9], [2.4, 0.6, 1.2]])
Y = np.array([1.5, 0.8, 2.2])
EXPRESSIONS = [
    "x", "x + y", "2*x - 3*y + 1", "x*y/(1 + x)", "-x", "x**2", "x**3", "x**-2", "x**0.5", "x**2.5", "x**y", "2.0**x",
    "x % y", "x // y + x", "x*(x > y)", "where(x > y, x*y, x - y)", "where((x > 1) & (y < 2), x, -x)",
    "where((x > 1) | ~(y < 2), x, y)", "where(x != y, x, 0)", "sqrt(x)", "sin(x)*cos(y)", "tan(x)", "arcsin(x/3)",
    "arccos(x/3)", "arctan(x)", "arctan2(x, y)", "sinh(x)", "cosh(x)", "tanh(x)", "arcsinh(x)", "arccosh(x + 1)",
    "arctanh(x/3)", "log(x)", "log10(x)", "log1p(x)", "exp(x)", "expm1(x)", "abs(x - y)", "fmod(x, y)", "floor(x)*x",
    "ceil(x)*x", "ones_like(x)*x", "real(complex(x, y)*complex(y, 2*x))", "imag(exp(complex(x, y)))",
    "real(abs(complex(x, y)))",
    "real(conj(complex(x, y))**2)", "x + n", "x*(n/2)", "x*(n % 2)", "where(n > 1, x, y)", "sum(x*y)", "sum(x, 0)",
    "sum(x*y, axis=1)", "prod(x)", "prod(x*y, axis=0)", "max(x, 1)", "min(x*y)", "3", "x*0 + z",
]  # fmt: skip


def evaluated(expression):
    def f(x, y):
        n, z = np.array([1, 2, 3]), 2.5  # noqa: F841 numexpr reads them by name
        return ne.evaluate(expression)

    return f


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_derivatives(expression):
    f = evaluated(expression)
    plain = f(X, Y)

    def weighted(x, y):
        made = f(x, y)
        assert type(made) is np.ndarray
        assert made.dtype == plain.dtype
        return np.sum(np.cos(np.arange(np.size(plain))).reshape(np.shape(plain)) * made)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.NoPathWarning)
        value, found = wg.value_and_grad(weighted, argnums=(0, 1))(X, Y)
        np.testing.assert_allclose(value, weighted(X, Y), rtol=1e-13)
        for x_bar, wanted in zip(found, wg.ngradient(weighted, X, Y), strict=True):
            np.testing.assert_allclose(x_bar, wanted, rtol=1e-6, atol=1e-7)
        slope = wg.jvp(weighted, (X, Y), (np.sin(X), np.sin(Y)))[1]
        np.testing.assert_allclose(slope, np.sum(found[0] * np.sin(X)) + np.sum(found[1] * np.sin(Y)), atol=1e-9)


def test_names_are_found_as_numexpr_finds_them():
    factor = 3.0
    for f in (
        lambda x: ne.evaluate("x*GLOBAL").sum(),
        lambda x: ne.evaluate("a*b", local_dict={"a": x, "b": 2.0}).sum(),
        lambda x: ne.evaluate("a*b", {"a": x}, {"b": x}).sum(),
        lambda x: ne.evaluate("a*b", local_dict={"a": x}, global_dict={"b": factor}).sum(),
        lambda x: (ne.evaluate("x*2"), [ne.re_evaluate({"x": x**k}) for k in (1, 2)])[1][1].sum(),
        lambda x: ne.NumExpr("a**2", [("a", float)])(x.astype(np.float32)).sum(),
    ):
        np.testing.assert_allclose(wg.grad(f)(Y), wg.ngradient(f, Y)[0], rtol=1e-3)


GLOBAL = 1.5


def test_out_is_written():
    def f(x):
        o, single = np.zeros((2, 3)), np.zeros(3, np.float32)
        made = ne.evaluate("x*2", out=o, casting="safe")
        ne.evaluate("x*x", out=x[:])
        ne.evaluate("x + 1", out=single, casting="same_kind")
        assert made is o
        return np.sum(o * np.array([[1.0], [2.0]])) + np.sum(single)

    np.testing.assert_allclose(wg.grad(f)(np.array(Y)), 6 + 2 * Y, rtol=1e-6)


def test_errors_are_those_of_numexpr():
    for call, kind in (
        (lambda x: ne.evaluate("x*2", out=np.zeros(3, np.float32), casting="safe"), TypeError),
        (lambda x: ne.evaluate("x*2", out=np.zeros(2)), ValueError),
        (lambda x: ne.evaluate("x*missing"), KeyError),
        (lambda x: ne.evaluate("x*"), SyntaxError),
        (lambda x: ne.evaluate("x*2", wrong=1), ValueError),
    ):
        with pytest.raises(kind):
            call(Y)
        with pytest.raises(kind):
            wg.grad(lambda x, call=call: np.sum(call(x)))(Y)


def test_tapes_and_compiled_functions():
    def f(x):
        return np.sum(ne.evaluate("where(x > 1, x**2, sin(x))"))

    tape, compiled = wg.trace(f, Y)[1], wg.compile(wg.grad(f))
    for x in (Y, Y[::-1].copy()):
        np.testing.assert_allclose(tape.play(x), f(x), rtol=1e-14)
        np.testing.assert_allclose(compiled(x), wg.grad(f)(x), rtol=1e-14)


def test_a_number_in_the_string_is_refused():
    for _ in range(2):
        with pytest.raises((wg.NoRuleError, wg.RefusedCallError)):
            wg.grad(lambda x: float(ne.evaluate(f"{x}*2")))(1.5)
    with pytest.raises((wg.NoRuleError, wg.RefusedCallError)):
        wg.grad(lambda x: float(ne.evaluate("1 + {:.3f}".format(x))))(1.5)  # noqa: UP032


def test_eval_of_pandas():
    pd = pytest.importorskip("pandas")

    def f(x):
        frame = pd.DataFrame({"a": x, "b": x * 2.0})
        total = frame.eval("a*b + a", engine="numexpr") + pd.eval("frame.a + frame.b*2", engine="numexpr")
        return total.sum() + frame.query("a > 1", engine="numexpr")["b"].sum()

    np.testing.assert_allclose(wg.grad(f)(Y), wg.ngradient(f, Y)[0], rtol=1e-6)
    with pytest.raises((wg.NoRuleError, wg.RefusedCallError)):
        wg.grad(lambda x: pd.DataFrame({"a": Y}).eval(f"a*{x}", engine="numexpr").sum())(1.5)
