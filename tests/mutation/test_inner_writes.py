"""A gradient inside another one, of a function that writes the array it is given: memory that both levels know.

The argument of the inner function is a variable of its own, in memory where the outer level has variables, and perhaps
has written. All numbers are differences of the whole function's values, whose inner gradients are taken untraced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([0.7, -1.2, 2.0])

Function = Callable[[Any], Any]

INNER: dict[str, Function] = {}
OUTER: dict[str, Callable[[Function], Function]] = {}


def inner(f: Function) -> Function:
    INNER[f.__name__] = f
    return f


def outer(make: Callable[[Function], Function]) -> Callable[[Function], Function]:
    OUTER[make.__name__] = make
    return make


@inner
def reads_only(z):
    return np.sum(z**3)


@inner
def stores_a_product(z):
    z[0] = z[1] * z[-1]
    return np.sum(z**3)


@inner
def stores_a_constant(z):
    z[0] = 2.0
    return np.sum(z * z * z)


@inner
def writes_a_part(z):
    part = z[1:]
    part *= z[0]
    return np.sum(np.sin(z))


@inner
def writes_all(z):
    z[:] = z[::-1].copy()
    return np.sum(z**3 * np.arange(1, len(z) + 1))


@inner
def reads_before_and_after(z):
    a = z * z
    z += a
    return np.sum(a * z)


@inner
def writes_out(z):
    np.multiply(z, z[0], out=z)
    return np.sum(z**2)


@outer
def of_a_result(f):
    return lambda x: np.sum(wg.grad(f)(x * 1.0) * x)


@outer
def of_the_variable(f):
    return lambda x: np.sum(wg.grad(f)(x)) + np.sum(x)


@outer
def of_what_was_written_before(f):
    def g(x):
        z = x * 1.0
        z[1] = x[0] * x[2]
        return np.sum(wg.grad(f)(z) * x)

    return g


@outer
def what_it_wrote_is_read(f):
    def g(x):
        z = x * 1.0
        return np.sum(wg.grad(f)(z) * z)

    return g


@outer
def what_it_wrote_is_written_again(f):
    def g(x):
        z = x * 1.0
        slope = wg.grad(f)(z)
        z[1] = z[0] * x[0]
        return np.sum(slope * z * x)

    return g


@outer
def of_a_part(f):
    def g(x):
        z = x * 1.0
        return np.sum(wg.grad(f)(z[1:]) * x[1:]) + np.sum(z)

    return g


@outer
def of_a_reversed_view(f):
    def g(x):
        z = (x * 1.0)[::-1]
        return np.sum(wg.grad(f)(z) * x)

    return g


@outer
def of_rows_and_columns(f):
    def g(x):
        z = np.outer(x, x)
        return np.sum(wg.grad(f)(z[1]) * z[1]) + np.sum(wg.grad(f)(z[:, 1]) * z[:, 0])

    return g


@outer
def again_and_again(f):
    def g(x):
        z = x * 1.0
        total = 0.0
        for _ in range(2):
            total = total + np.sum(wg.grad(f)(z) * x)
        return total

    return g


@outer
def descent(f):
    def g(x):
        z = x * 1.0
        for _ in range(2):
            z -= 0.01 * wg.grad(f)(z)
        return np.sum(z)

    return g


@outer
def a_level_between(f):
    return lambda x: np.sum(wg.grad(lambda w: np.sum(wg.grad(f)(w) * w))(x * 1.0))


@outer
def a_level_between_that_writes(f):
    def h(w):
        w[2] = w[0] ** 2
        return np.sum(wg.grad(f)(w) * w)

    def g(x):
        z = x * 1.0
        return np.sum(wg.grad(h)(z) * z)

    return g


@outer
def by_a_pullback_called_after_a_write(f):
    def g(x):
        z = x * 1.0
        y, back = wg.vjp(f, z)
        z[1] = 2.0
        return np.sum(back(y)[0]) + np.sum(z)

    return g


@outer
def in_a_list(f):
    def g(x):
        z = [x * 1.0, x * 2.0]
        slopes = wg.grad(lambda p: f(p[0]) * np.sum(p[1]))(z)
        return np.sum(slopes[0] * slopes[1] * z[0])

    return g


@outer
def beside_its_own_name(f):
    def g(x):
        z = x * 1.0
        slope = wg.grad(lambda w: f(w) + np.sum(x * z.size))(z)
        return np.sum(slope * z)

    return g


@outer
def of_a_constant_array(f):
    def g(x):
        z = np.array([1.0, 0.5, 2.0])
        slope = wg.grad(lambda w: (np.multiply(w, x, out=w), f(w))[1])(z)
        return np.sum(slope) + np.sum(z)

    return g


@pytest.mark.parametrize("make", OUTER.values(), ids=OUTER)
@pytest.mark.parametrize("f", INNER.values(), ids=INNER)
def test_memory_of_two_levels(f: Function, make: Callable[[Function], Function]) -> None:
    program = make(f)
    expected = wg.ngradient(program, X.copy())[0]
    np.testing.assert_allclose(wg.grad(program)(X.copy()), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(wg.vjp(program, X.copy())[1](1.0)[0], expected, rtol=1e-5, atol=1e-7)
    other = X + 0.25
    _, (_, played) = wg.gradtape(program, X.copy()).play(other.copy())
    np.testing.assert_allclose(played, wg.ngradient(program, other)[0], rtol=1e-5, atol=1e-7)


def test_two_arguments_of_an_inner_function_that_share_memory() -> None:
    def f(a: Any, b: Any) -> Any:
        a[0] = 1.0
        return np.sum(a * b)

    def both(z: Any) -> Any:
        return np.sum(wg.grad(f, argnums=(0, 1))(z, z)[1])

    def one(z: Any) -> Any:
        return np.sum(wg.grad(f)(z, z))

    def written(z: Any) -> Any:
        z[1] = 3.0
        return both(z)

    for g in (both, one, written):
        with pytest.raises(wg.AliasedArgumentsError):
            wg.grad(lambda x: g(x * 1.0))(X)


@pytest.mark.parametrize("part", [slice(None), slice(2), slice(None, None, -1)], ids=str)
def test_a_written_array_is_written_again_where_an_inner_function_has_it_as_argument(part: slice) -> None:
    def program(x: Any) -> Any:
        a = x * 1.0
        a[0] = x[1] * 1.5

        def inner(z: Any) -> Any:
            a[1] = z[0] * z[0] * x[2]
            return np.sum(z**3) * x[2]

        return np.sum(np.sin(wg.grad(inner)(a[part])))

    expected = wg.ngradient(program, X.copy())[0]
    np.testing.assert_allclose(wg.grad(program)(X.copy()), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(wg.gradtape(program, X.copy()).play(X.copy())[1][1], expected, rtol=1e-5, atol=1e-7)


def test_a_written_array_of_which_an_inner_function_has_two_parts() -> None:
    def program(x: Any) -> Any:
        a = x * 1.0
        a[0] = x[1]

        def inner(z: Any, w: Any) -> Any:
            a[1] = z[0] * w[1]
            return np.sum(z) * np.sum(w)

        return np.sum(wg.grad(inner)(a[:2], a[1:]))

    with pytest.raises(wg.AliasedArgumentsError):
        wg.grad(program)(X)
