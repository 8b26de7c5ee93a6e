"""Arrays of classes made from `np.ndarray`: rules compute with plain arrays, whatever operators a class has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X, Y = np.array([[0.5, 1.0], [-0.4, 2.0]]), np.array([[1.1, 2.3], [3.2, 5.0]])
W = np.array([[0.3, 1.3], [2.3, 3.3]])


class Odd(np.ndarray):
    """Has other operators than arrays have, and other methods."""

    def __mul__(self, other: Any) -> Any:
        return np.asarray(self) @ np.asarray(other)

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        raise TypeError("no sums")

    __radd__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __pow__ = __add__

    def __neg__(self) -> Any:
        return 3 * np.asarray(self)

    def __getitem__(self, key: Any) -> Any:
        return 7.0

    def conj(self) -> Any:
        raise TypeError("no conjugate")


def matrix(a: np.ndarray) -> Any:
    return np.matrix(a)


def odd(a: np.ndarray) -> Any:
    return a.view(Odd)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "multiply": np.multiply,
    "multiply, the other way": lambda x, m: np.multiply(m, x),
    "multiply twice": lambda x, m: np.multiply(np.multiply(x, m), m),
    "divide": np.divide,
    "divide by it": lambda x, m: np.divide(m, x + 3),
    "power": lambda x, m: np.power(np.abs(x) + 2, m),
    "hypot": np.hypot,
    "arctan2": np.arctan2,
    "dot": np.dot,
    "matmul": lambda x, m: np.matmul(m, x),
    "einsum": lambda x, m: np.einsum("ij,jk->ik", m, x),
    "solve": lambda x, m: np.linalg.solve(m, x),
    "inv": lambda x, m: np.linalg.inv(np.add(m, x)),
    "exp": lambda x, m: np.exp(np.multiply(x, m)),
    "sin": lambda x, m: np.sin(np.multiply(x, m)),
    "tanh": lambda x, m: np.tanh(np.divide(m, x)),
    "where": lambda x, m: np.where(x > 0.7, m, x),
    "maximum": np.maximum,
    "outer": np.outer,
    "concatenate": lambda x, m: np.concatenate([np.multiply(m, x), x]),
    "out": lambda x, m: np.multiply(m, x, out=np.zeros((2, 2))),
}

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")


def weighed(y: Any) -> Any:
    y = np.asarray(y)
    return np.sum(np.sin(y) * np.resize(W, y.shape))


@pytest.mark.parametrize("of", [matrix, odd])
@pytest.mark.parametrize("name", CALLS)
def test_rules_meet_plain_arrays(name: str, of: Callable[[np.ndarray], Any]) -> None:
    call = CALLS[name]

    def f(x: Any, m: Any) -> Any:
        return weighed(call(x, m))

    expected = wg.ngradient(f, X, Y)
    value, (_, x_bar, m_bar) = wg.grad(f, X, of(Y))
    assert value == f(X, of(Y))
    assert type(x_bar) is np.ndarray
    np.testing.assert_allclose(x_bar, expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.asarray(m_bar), expected[1], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(wg.grad(lambda x: f(x, of(Y)))(X), x_bar, rtol=1e-14)
    assert wg.gradtape(lambda x: f(x, of(Y)), X).play(X)[0] == value
    np.testing.assert_allclose(wg.gradtape(lambda x: f(x, of(Y)), X).play(X)[1][1], x_bar, rtol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_second_derivatives(name: str) -> None:
    call = CALLS[name]
    first = wg.grad(lambda x: weighed(call(x, odd(Y))))
    plain = wg.grad(lambda x: weighed(call(x, Y)))
    np.testing.assert_allclose(
        wg.grad(lambda x: np.sum(first(x) * W))(X), wg.grad(lambda x: np.sum(plain(x) * W))(X), rtol=1e-12
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda m: np.sum(m, axis=0),
        lambda m: np.prod(m, axis=1),
        lambda m: np.cumsum(m),
        lambda m: np.take(m, [0, 1]),
        lambda m: np.add.reduce(m, axis=1),
    ],
)
def test_what_a_class_does_otherwise_than_arrays(f: Callable[[Any], Any]) -> None:
    def weighed_of(m: Any) -> Any:
        return weighed(f(m))

    expected = wg.ngradient(lambda y: weighed_of(np.matrix(y)), Y)[0]
    np.testing.assert_allclose(wg.grad(weighed_of)(np.matrix(Y)), expected, rtol=1e-6)
    np.testing.assert_allclose(wg.gradtape(weighed_of, np.matrix(Y)).play(np.matrix(Y))[1][1], expected, rtol=1e-6)


class Power(np.ndarray):
    """Hands on the third argument that `**` never gives."""

    def __pow__(self, p: Any, modulus: Any = None) -> Any:
        return super().__pow__(p, modulus)


def test_a_power_of_three_arguments() -> None:
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(W * x.view(Power) ** 3))(X), 3 * X**2 * W, rtol=1e-14)
    with pytest.raises(TypeError, match=r"unsupported|3rd argument|integers"):
        wg.grad(lambda x: np.sum(pow(x.view(Power), 2, 5)))(X)


class Far(np.ndarray):
    """Leads to very many objects, as a quantity does that knows its system of units."""

    known: Any

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **words: Any) -> Any:
        return getattr(ufunc, method)(*[np.asarray(a) for a in inputs], **words)


def test_asarray_of_one_that_leads_far() -> None:
    """It shows the memory; the attributes are nobody's."""
    far = W.view(Far)
    far.known = [[k] for k in range(20_000)]
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * np.asarray(far)))(X), W)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(far * x))(X), W)
