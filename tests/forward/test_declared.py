"""Pushforwards that users declare, and transposes of the pullbacks of rules without one, as `jvp` takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.api.tangents import jvp_of_call

X, V = np.array([0.5, -1.5, 2.0]), np.array([1.0, 10.0, -3.0])
BIG, BIG_V = np.linspace(0.5, 2.0, 20_000), np.linspace(-1.0, 1.0, 20_000)


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with wg.rules.scope():
        yield


def cube(x: Any, scale: Any = 1.0) -> Any:
    return scale * x * x * x


def as_pullback(f: Callable[..., Any]) -> None:
    @wg.vjp_rule(f)
    def rule(y_bar, y, x, scale=1.0):
        return y_bar * 3 * scale * x * x, np.sum(y_bar * x * x * x)


def as_rrule(f: Callable[..., Any]) -> None:
    @wg.rrule(f)
    def rule(x, scale=1.0):
        return cube(x, scale), lambda y_bar: (y_bar * 3 * scale * x * x, np.sum(y_bar * x * x * x))


DOT = 3 * X * X * V


@pytest.mark.parametrize("form", [as_pullback, as_rrule])
def test_the_declared_one_is_taken(form: Callable[..., None]) -> None:
    form(cube)
    calls = []

    @wg.jvp_rule(cube)
    def push(dots, y, x, scale=1.0):
        calls.append(np.shape(dots[0]))
        return scale * 3 * x * x * dots[0]

    y, y_dot = wg.jvp(cube, (X,), (V,))
    np.testing.assert_array_equal(y, X**3)
    np.testing.assert_allclose(y_dot, DOT, rtol=1e-15)
    assert calls == [(3,)]
    np.testing.assert_allclose(wg.linearize(cube, X)[1](V), DOT, rtol=1e-15)


@pytest.mark.parametrize("form", [as_pullback, as_rrule])
def test_without_one_the_pullback_is_transposed(form: Callable[..., None]) -> None:
    form(cube)
    np.testing.assert_allclose(wg.jvp(cube, (X,), (V,))[1], DOT, rtol=1e-15)
    both = wg.jvp(cube, (X, 2.0), (V, 0.5))[1]
    np.testing.assert_allclose(both, 2 * DOT + 0.5 * X**3, rtol=1e-15)


@pytest.mark.parametrize("form", [as_pullback, as_rrule])
@pytest.mark.parametrize("declares", [False, True])
def test_within_other_derivatives(form: Callable[..., None], declares: bool) -> None:
    form(cube)
    if declares:
        wg.jvp_rule(cube)(lambda dots, y, x, scale=1.0: 3 * scale * x * x * dots[0])
    along = lambda x: np.sum(wg.jvp(cube, (x,), (V,))[1] * x)
    np.testing.assert_allclose(wg.grad(along)(X), 9 * X * X * V, rtol=1e-14)
    np.testing.assert_allclose(wg.jvp(along, (X,), (X,))[1], np.sum(9 * X * X * V * X), rtol=1e-14)
    twice = wg.jvp(lambda x: wg.grad(lambda x: np.sum(cube(x)))(x), (X,), (V,))[1]
    np.testing.assert_allclose(twice, 6 * X * V, rtol=1e-14)


def test_it_may_read_more_than_the_pullback() -> None:
    """The values of arguments and result that only the pushforward reads are kept, also where they are large."""

    def shifted(x, c):
        return x + c

    @wg.vjp_rule(shifted, broadcasts=True)
    def rule(y_bar, y, x, c):
        return y_bar, y_bar

    @wg.jvp_rule(shifted)
    def push(dots, y, x, c):
        return dots[0] * (y - c) / x

    def f(x):
        return shifted(shifted(x, 2.0) * 1.0, np.cos(BIG)) * 3.0

    np.testing.assert_allclose(wg.jvp(f, (BIG,), (BIG_V,))[1], 3 * BIG_V, rtol=1e-12)
    np.testing.assert_allclose(wg.linearize(f, BIG)[1](BIG_V), 3 * BIG_V, rtol=1e-12)
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(wg.jvp(f, (x,), (x,))[1]))(BIG), 3.0, rtol=1e-9)


def test_linear_and_multilinear_ones() -> None:
    def swapped(x, *, by):
        return np.roll(x[::-1], by)

    def scaled(c, x):
        return c * x

    wg.vjp_rule(swapped)(lambda y_bar, y, x, *, by: np.roll(y_bar, -by)[::-1])
    wg.vjp_rule(scaled)(lambda y_bar, y, c, x: (np.sum(y_bar * x), c * y_bar))
    wg.extend.linear(swapped)
    wg.extend.multilinear(scaled)
    f = lambda c, x: scaled(c, swapped(x, by=1)) * 2.0
    expected = 2 * (np.roll(X[::-1], 1) * 0.5 + 3.0 * np.roll(V[::-1], 1))
    np.testing.assert_allclose(wg.jvp(f, (3.0, X), (0.5, V))[1], expected, rtol=1e-15)
    _, rows, _ = jvp_of_call(f, (3.0, X), {}, (0, 1), (None, np.eye(3)), size=3)
    np.testing.assert_allclose(rows, [6 * np.roll(row[::-1], 1) for row in np.eye(3)], rtol=1e-15)


class Spring:
    def __init__(self, stiffness: float, length: float) -> None:
        self.stiffness, self.length = stiffness, length


def energy(spring: Any, x: Any) -> Any:
    return spring.stiffness * (x - spring.length) ** 2 / 2


@pytest.mark.parametrize("declares", [False, True])
def test_of_a_container(declares: bool) -> None:
    @wg.rrule(energy)
    def rule(spring, x):
        stretch = x - spring.length

        def pullback(y_bar):
            force = y_bar * spring.stiffness * stretch
            return wg.Tangent(Spring, stiffness=y_bar * stretch**2 / 2, length=-force), force

        return energy(spring, x), pullback

    if declares:

        @wg.jvp_rule(energy)
        def push(dots, y, spring, x):
            stretch = x - spring.length
            moved = 0.0 if dots[1] is None else dots[1]
            return dots[0].stiffness * stretch**2 / 2 + spring.stiffness * stretch * (moved - dots[0].length)

    y_dot = wg.jvp(energy, (Spring(3.0, 1.0), 1.5), (Spring(0.1, 0.2), 0.3))[1]
    assert y_dot == pytest.approx(0.1 * 0.5**2 / 2 + 3.0 * 0.5 * (0.3 - 0.2))


def test_a_pullback_that_cannot_be_transposed_says_so() -> None:
    @wg.rrule(cube)
    def rule(x):
        return cube(x), lambda y_bar: np.frombuffer((y_bar * 3 * x * x).tobytes())

    with pytest.raises(
        wg.RuleError, match=r"cube has no pushforward: the pullback of its rule \(.*test_declared.py"
    ) as error:
        wg.jvp(cube, (X,), (V,))
    assert "@wg.jvp_rule(test_declared.cube)" in str(error.value) and "tobytes" in str(error.value)
    wg.jvp_rule(cube)(lambda dots, y, x: 3 * x * x * dots[0])
    np.testing.assert_allclose(wg.jvp(cube, (X,), (V,))[1], DOT, rtol=1e-15)


def test_vectors_without_derivative_refuse_where_they_are_read() -> None:
    a = np.arange(12.0).reshape(4, 3) + np.eye(4, 3)
    s_dot = wg.jvp(lambda a: np.linalg.svd(a)[1], (a,), (a,))[1]
    np.testing.assert_allclose(s_dot, np.linalg.svd(a)[1], rtol=1e-12)
    for f in (lambda a: np.linalg.svd(a)[0] * 2, lambda a: np.linalg.svd(a)[0]):
        with pytest.raises(wg.NoDerivativeError, match="full_matrices=False"):
            wg.jvp(f, (a,), (a,))
    np.testing.assert_allclose(wg.jvp(lambda a: np.linalg.eigh(a)[0], (np.eye(3),), (np.eye(3),))[1], np.ones(3))
    with pytest.raises(wg.NoDerivativeError, match="two eigenvalues are equal"):
        wg.jvp(lambda a: np.linalg.eigh(a)[1], (np.eye(3),), (np.eye(3),))


def test_a_tensor_function_is_pushed_through() -> None:
    @wg.tensor.function(backend="numpy")
    def product(a, x):
        return [sum(a[i, j] * x[j] for j in range(len(x))) for i in range(len(a))]

    a, a_dot = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[0.1, 0.0, 0.2], [0.0, 0.3, 0.0]])
    y_dot = wg.jvp(lambda a, x: np.sin(product(a, x)), (a, X), (a_dot, V))[1]
    np.testing.assert_allclose(y_dot, np.cos(a @ X) * (a_dot @ X + a @ V), rtol=1e-12)


COMPLEX = np.array([[2.0, 0.3 - 1j, 0.5j], [1.0 + 0.2j, -1.0, 0.7], [0.1 - 0.4j, 0.2, 0.5 + 1j]])
WIDE = np.concatenate([COMPLEX, COMPLEX[:, :1] * 1j + 0.3], axis=1)
BENT = np.array([[0.1, 0.2j, 0.3], [0.4 - 0.1j, 0.5, 0.6j], [0.7, 0.8, 0.2]])
DECOMPOSED = {
    "eigh": (lambda a: np.linalg.eigh(a + a.conj().T)[1], COMPLEX, BENT),
    "eigh of the upper triangle": (lambda a: np.linalg.eigh(a + a.conj().T, "U")[1], COMPLEX, BENT),
    "eig": (lambda a: np.linalg.eig(a)[1], COMPLEX, BENT),
    "eig of a real matrix": (lambda a: np.linalg.eig(a)[1], np.array([[0.5, 2.0], [-1.0, 0.3]]), np.real(BENT[:2, :2])),
    "svd": (lambda a: np.concatenate(np.linalg.svd(a)[::2]), COMPLEX, BENT),
    "svd of a wide matrix": (lambda a: np.linalg.svd(a, full_matrices=False)[0], WIDE, np.tile(BENT, 2)[:, :4]),
    "svd of a wide matrix, vh": (lambda a: np.linalg.svd(a, full_matrices=False)[2], WIDE, np.tile(BENT, 2)[:, :4]),
    "svd of a tall matrix": (lambda a: np.linalg.svd(a, full_matrices=False)[0], WIDE.T, np.tile(BENT, 2)[:, :4].T),
    "qr": (lambda a: np.concatenate([*np.linalg.qr(a)]), COMPLEX, BENT),
}  # fmt: skip


@pytest.mark.parametrize("name", DECOMPOSED)
def test_phases_of_complex_vectors_move_as_those_of_lapack(name: str) -> None:
    f, a, a_dot = DECOMPOSED[name]
    rise = lambda step: (f(a + step * a_dot) - f(a - step * a_dot)) / (2 * step)
    expected = (4 * rise(5e-4) - rise(1e-3)) / 3
    np.testing.assert_allclose(wg.jvp(f, (a,), (a_dot,))[1], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("f", [np.max, np.sort, np.median, np.prod], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "derivative", [lambda f: lambda x: wg.jvp(f, (x,), (V,))[1], lambda f: wg.grad(lambda x: np.sum(f(x) * f(x)))]
)
def test_tapes_of_derivatives_play_where_other_elements_tie(f: Any, derivative: Any) -> None:
    g = derivative(f)
    _, tape = wg.trace(g, X)
    for x in (np.array([2.0, 0.5, 2.0]), np.array([-1.0, -1.0, -1.0]), np.array([1.0, 2.0, 3.0])):
        np.testing.assert_allclose(tape.play(x), g(x), rtol=1e-12)


class Named(NamedTuple):
    a: Any
    name: str


@pytest.mark.parametrize("warm", [False, True])
def test_what_a_rules_body_gave_beside_a_text_goes_on(warm: bool) -> None:
    def f(x):
        return Named(x * x, "name")

    @wg.rrule(f)
    def rule(x):
        return f(x), lambda y_bar: y_bar.a * 2 * x

    def times(a, b):
        return a * b

    @wg.partials(times)  # what is derived of it is derived inside the trace
    def times_rule(y, a, b):
        return b, a

    if warm:
        wg.jvp(lambda x: times(x, x), (X,), (V,))
    gradient = wg.grad(lambda x: np.sum(times(f(x).a, np.full(3, np.sum(x)))))
    g, g_dot = wg.jvp(gradient, (X,), (V,))
    assert np.allclose(g, 2 * X * np.sum(X) + np.sum(X * X))
    assert np.allclose(g_dot, 2 * V * np.sum(X) + 2 * X * np.sum(V) + 2 * np.sum(X * V))
    assert np.allclose(wg.linearize(gradient, X)[1](V), g_dot)


def doubled_in_place(dots, y, x):
    dot = dots[0]
    dot *= 2
    return dot


BUFFER = np.zeros(3)


def in_a_buffer(dots, y, x):
    return np.multiply(dots[0], 2, out=BUFFER)


@pytest.mark.parametrize("push", [doubled_in_place, in_a_buffer])
def test_a_pushforward_may_write_into_its_tangents_and_what_it_gave(push: Callable[..., Any]) -> None:
    def twice(x):
        return x * 2

    @wg.vjp_rule(twice)
    def rule(y_bar, y, x):
        return y_bar * 2

    wg.jvp_rule(twice)(push)
    v = V.copy()
    assert np.allclose(wg.jvp(lambda x: twice(x) + twice(x * x) + x, (X,), (v,))[1], (3 + 4 * X) * V)
    assert np.array_equal(v, V)


class Halves(NamedTuple):
    a: Any
    b: Any


def in_a_dict(dots, y, x):
    return {"a": dots[0], "b": 2 * dots[0]}


def in_a_list(dots, y, x):
    return [dots[0], (2 * dots[0],)]


def in_a_tuple(dots, y, x):
    return dots[0], 2 * dots[0]


def in_a_named_tuple(dots, y, x):
    return Halves(dots[0], 2 * dots[0])


@pytest.mark.parametrize("push", [in_a_dict, in_a_list, in_a_tuple, in_a_named_tuple])
def test_a_store_leaves_the_tangents_in_a_container_as_they_were(push: Callable[..., Any]) -> None:
    def both(x):
        return push((x * 1,), None, None)

    @wg.rrule(both)
    def rule(x):
        return both(x), lambda y_bar: None

    wg.jvp_rule(both)(push)

    def f(x):
        y = x * 2
        y[0] = x[1]
        pair = both(y)
        y[1] = 0.0
        return pair["a" if push is in_a_dict else 0]

    assert np.array_equal(wg.jvp(f, (X,), (V,))[1], [V[1], 2 * V[1], 2 * V[2]])
