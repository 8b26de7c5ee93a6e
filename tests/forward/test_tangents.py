"""Tangents through programs: against complex steps and differences, in place, nested, and without a tape."""

from __future__ import annotations

import gc
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api.tangents import jvp_of_call
from wengert.forward.stream import Stream

X, V = np.array([0.5, 1.5, -0.75]), np.array([1.0, -2.0, 0.25])


def complex_step(f: Any, x: Any, v: Any) -> Any:
    return np.imag(f(x + 1e-30j * v)) / 1e-30


def elementwise(x: Any) -> Any:
    return np.sin(x) * x**3 / (1 + x * x)


def written(x: Any) -> Any:
    y = np.zeros(5, np.asarray(x).dtype)
    for i in range(5):
        y[i] = x[0] * i + x[1]
    row = y[1:4]
    row *= x
    y[3] = 0.0
    y[::2] += x
    return y


def overwritten(x: Any, n: int = 30) -> Any:
    u = x.copy()
    for _ in range(n):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u *= u
        u[:] = np.sin(u)
    return u


@pytest.mark.parametrize("f", [elementwise, written, overwritten])
def test_against_the_complex_step(f: Any) -> None:
    y, y_dot = wg.jvp(f, (X,), (V,))
    assert np.array_equal(y, f(X))
    assert np.allclose(y_dot, complex_step(f, X, V), rtol=1e-13, atol=1e-14)
    y, push = wg.linearize(f, X)
    assert np.array_equal(y, f(X))
    for v in (V, np.ones(3), V):
        assert np.allclose(push(v), complex_step(f, X, v), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("f", [elementwise, written, overwritten])
def test_all_directions_at_once(f: Any) -> None:
    y, rows, _ = jvp_of_call(f, (X,), {}, (0,), (np.eye(3),), size=3)
    assert np.array_equal(y, f(X))
    assert rows.shape == (3, *y.shape)
    for row, v in zip(rows, np.eye(3), strict=True):
        assert np.allclose(row, complex_step(f, X, v), rtol=1e-13, atol=1e-14)


def test_numbers_have_numbers() -> None:
    value, slope = wg.jvp(lambda x: x * x + 1, (3.0,), (2.0,))
    assert (value, slope, type(slope)) == (10.0, 12.0, float)
    assert wg.jvp(lambda n: n * 2.0, (3,), (1,)) == (6.0, 2.0)  # whole numbers count as floats


def test_containers() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    y, y_dot = wg.jvp(
        lambda p, q: {"sum": p["w"].a + q[0], "n": 3}, ({"w": Pair(X, 2.0)}, (1.0,)), ({"w": Pair(V, 1.0)}, (5.0,))
    )
    assert np.array_equal(y["sum"], X + 1.0)
    assert np.array_equal(y_dot["sum"], V + 5.0)
    assert y_dot["n"] is None
    assert wg.jvp(lambda x, y: x * y, (2.0, 3.0), (None, 1.0)) == (6.0, 2.0)


def test_complex() -> None:
    z, d = np.array([1 + 2j, 0.5 - 1j]), np.array([1j, 2 + 1j])
    assert np.allclose(wg.jvp(lambda z: z**3, (z,), (d,))[1], 3 * z**2 * d)
    slope = wg.jvp(lambda z: np.sum(np.abs(z) ** 2), (z,), (d,))[1]
    assert isinstance(slope, float)
    assert np.isclose(slope, 2 * np.sum(np.real(np.conj(z) * d)))


def test_the_users_arrays_stay_apart() -> None:
    x, v = X.copy(), V.copy()
    y, y_dot = wg.jvp(lambda x: x, (x,), (v,))
    assert y is x
    assert y_dot is not v
    y, y_dot = wg.jvp(lambda x: (x, x[1:]), (x,), (v,))
    y_dot[0][:] = 7.0
    assert np.array_equal(v, V)
    assert np.array_equal(y_dot[1], V[1:])


def taylor(mix: tuple[str, ...]) -> Any:
    """The derivative of tanh, once for each of the modes `mix`."""
    f: Any = np.tanh
    for mode in mix:
        inner = f
        if mode == "forward":
            f = lambda x, inner=inner: wg.jvp(inner, (x,), (1.0,))[1]
        else:
            f = lambda x, inner=inner: wg.grad(inner)(x)
    return f


FRF = ("forward", "reverse", "forward")


@pytest.mark.parametrize("mix", [("forward",) * 3, ("reverse", "forward", "reverse"), FRF])
def test_nested(mix: tuple[str, ...]) -> None:
    t = np.tanh(0.3)
    assert np.isclose(taylor(mix)(0.3), -2 * (1 - t * t) * (1 - 3 * t * t), rtol=1e-13)


def test_no_confusion_of_perturbations() -> None:
    inner = lambda x: wg.jvp(lambda y: x * y, (1.0,), (1.0,))[1]
    assert wg.jvp(lambda x: x * inner(x), (3.0,), (1.0,)) == (9.0, 6.0)
    assert wg.grad(lambda x: x * inner(x))(3.0) == 6.0


def test_a_pullback_inside_is_called_later_and_twice() -> None:
    def f(x: Any) -> Any:
        y, pullback = wg.vjp(lambda u: np.sum(np.sin(u) * u), x)
        for _ in range(3):
            x = x * 2.0
        return pullback(y)[0] + pullback(1.0)[0] * x

    def plain(x: Any) -> Any:
        g = np.cos(x) * x + np.sin(x)
        return np.sum(np.sin(x) * x) * g + g * 8 * x

    assert np.allclose(wg.jvp(f, (X,), (V,))[1], complex_step(plain, X, V), rtol=1e-12)


def peak(f: Any, *args: Any) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        wg.jvp(f, args, tuple(np.ones_like(a) if isinstance(a, np.ndarray) else 1.0 for a in args))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def repeated(step: Any, n: int) -> Any:
    def f(x: Any) -> Any:
        for _ in range(n):
            x = step(x)
        return x

    return f


def overwriting(n: int) -> Any:
    def f(x: Any) -> Any:
        u = x.copy()
        for _ in range(n):
            u[1:] += 0.001 * u[:-1]
        return u

    return f


def test_memory_does_not_grow_with_the_steps() -> None:
    x, step = np.linspace(0.1, 1.0, 20_000), lambda x: np.sin(x) * 1.01
    peak(repeated(step, 10), x)  # makes what is made once
    assert peak(repeated(step, 800), x) < 1.2 * peak(repeated(step, 200), x) < 100 * x.nbytes


def test_memory_does_not_grow_with_what_is_overwritten() -> None:
    def scaled(n: int) -> Any:
        def f(x: Any) -> Any:
            u = x.copy()
            for _ in range(n):
                u *= x
            return u

        return f

    x = np.linspace(0.1, 1.0, 20_000)
    peak(scaled(5), x)  # makes what is made once
    assert peak(scaled(120), x) < 1.2 * peak(scaled(60), x) < 100 * x.nbytes


def test_memory_of_ten_thousand_steps() -> None:
    x = np.linspace(0.1, 1.0, 20)
    peak(overwriting(10), x)  # makes what is made once
    assert peak(overwriting(10_000), x) < 1.1 * peak(overwriting(2000), x) < 10_000_000
    step = lambda x: x * 1.0001 + 0.001
    assert peak(repeated(step, 10_000), 0.3) < 1.1 * peak(repeated(step, 3000), 0.3)


def test_steps_on_large_arrays_look_at_no_other_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their tangents go with them: else each few steps would sweep through all that is alive."""
    x, sweeps, sweep = np.linspace(0.1, 1.0, 20_000), [], Stream._sweep
    monkeypatch.setattr(Stream, "_sweep", lambda stream: (sweeps.append(len(stream)), sweep(stream)))

    def f(x: Any) -> Any:
        alive = [x[0] * k for k in range(3000)]
        sweeps.clear()
        return repeated(lambda y: np.sin(y) * 1.01, 200)(x), alive[-1]

    wg.jvp(f, (x,), (x,))
    assert len(sweeps) <= 1


def test_what_raises_in_a_push_cannot_be_swallowed() -> None:
    def scaled(x: Any) -> Any:
        return 2 * x

    @wg.vjp_rule(scaled)
    def rule(y_bar: Any, y: Any, x: Any) -> Any:
        raise ZeroDivisionError("of the rule")

    def f(x: Any) -> Any:
        try:
            return scaled(x)
        except ZeroDivisionError:
            return x * 3

    with pytest.raises(ZeroDivisionError):
        wg.jvp(f, (1.0,), (1.0,))


def test_errors() -> None:
    with pytest.raises(wg.ArgumentError, match="argument 1 has shape"):
        wg.jvp(np.sin, (X,), (1.0,))
    with pytest.raises(wg.ArgumentError, match="complex"):
        wg.jvp(np.sin, (X,), (V * 1j,))
    with pytest.raises(wg.ArgumentError, match="tangents must be a tuple of 1"):
        wg.jvp(np.sin, (X,), ())
    with pytest.raises(wg.ArgumentError, match=r"\['b'\]"):
        wg.jvp(lambda p: p["a"], ({"a": X, "b": X.copy()},), ({"a": V},))
    with pytest.raises(wg.ArgumentError, match=r"\['b'\] is an array that is in the primals twice"):
        wg.jvp(lambda p: p["a"], ({"a": X, "b": X},), ({"a": V, "b": X},))
    with pytest.raises(wg.ArgumentError, match="holds no float"):
        wg.jvp(lambda p: p["a"], ({"a": X, "b": 3},), ({"a": V, "b": 1.0},))
    with pytest.warns(wg.NoPathWarning):
        assert np.array_equal(wg.jvp(lambda x: np.ones(2), (X,), (V,))[1], np.zeros(2))


def test_f_may_write_where_its_tangents_lie() -> None:
    """Each array is the tangent of the other."""

    def f(a, b):
        a[:] = a * b
        return a * b + b

    def dot(a, b):
        return b * b * b + 2 * a * b * a + a

    a, b = X.copy(), V.copy()
    assert np.allclose(wg.jvp(f, (a, b), (b, a))[1], dot(X, V))

    def crossed(s):
        a, b = X * s, V * s
        return wg.jvp(f, (a, b), (b, a))[1]

    assert np.allclose(wg.jvp(crossed, (1.0,), (1.0,))[1], 3 * (dot(X, V) - X) + X)


def test_a_product_of_arrays_in_a_list() -> None:
    """Its tangent was the sum of what each element gives."""
    factors = [X, V, X]
    assert np.allclose(wg.jvp(lambda *xs: math.prod(xs), factors, (V, V, X))[1], V * V * X + X * V * X + X * V * X)


@pytest.mark.filterwarnings("ignore:Setting the shape")
def test_a_shape_that_is_set_while_an_inner_pullback_is_kept() -> None:
    def f(x: Any) -> Any:
        a = x * 2.0
        _, pullback = wg.vjp(lambda z: np.sum(z * z * a), x)
        a.shape = (2, 2)
        return np.sum(pullback(1.0)[0] * x)  # Σ 4x³

    x = np.array([0.5, -1.0, 2.0, 0.25])
    np.testing.assert_allclose(wg.jvp(f, (x,), (np.arange(4.0),))[1], 12 * x**2 @ np.arange(4.0), rtol=1e-12)


def test_the_second_derivative_of_a_float_that_is_written_as_an_imaginary_part() -> None:
    def f(x: Any, s: float) -> Any:
        z = X * (x[0] + 0j)
        z.imag[...] = s
        return np.sum(np.abs(z) ** 2)  # Σ X² x₀² + n s²

    x_bar, s_bar = wg.hvp(f, (np.ones(1), 0.5), (np.ones(1), 3.0))
    assert np.allclose(x_bar, 2 * np.sum(X**2)) and np.isclose(s_bar, 6 * X.size)
