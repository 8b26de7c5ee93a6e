"""Functions of whole arrays as users call them, traced: the value is NumPy's, the slope that of differences."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sampling import values

import wengert as wg

X, A, C = values(6), values(3, 4), values(2, 3, 4)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, complex])
@pytest.mark.parametrize("view", [lambda x, t: x.view(t), lambda x, t: x.view(dtype=t), np.ndarray.view])
def test_a_view_of_another_dtype_is_refused(view: Callable[..., Any], dtype: Any) -> None:
    with pytest.raises(wg.RefusedCallError, match=r"test_arrays.py:\d+ .*viewed as \w+\. .*\.astype"):
        wg.grad(lambda x: np.sum(np.abs(view(x * 1, dtype) * 1.0)))(X)
    assert np.array_equal(wg.grad(lambda x: np.sum(view(x * 1, float) ** 2))(X), 2 * X)


class Metres(np.ndarray):
    def __new__(cls, numbers: Any, scale: Any) -> Any:
        made = np.array(numbers).view(cls)
        made.scale = np.asarray(scale)
        return made

    def squares(self) -> Any:
        return np.sum(self.scale * self.view(np.ndarray) ** 2)


def test_an_argument_of_another_class_keeps_its_attributes() -> None:
    x = Metres(X, S[0, 0])
    value, gradient = wg.value_and_grad(lambda x: x.squares())(x)
    assert value == x.squares() and np.allclose(gradient, 2 * S[0, 0] * X, rtol=1e-15)
    assert wg.grad(lambda t: Metres.squares(x) * t)(2.0) == value


def test_a_view_of_another_class() -> None:
    assert np.array_equal(wg.grad(lambda x: np.sum((x * 1).view(Metres) ** 2))(X), 2 * X)


Y, B, S, POINTS = values(6, low=-1), values(3, 4, low=0.5), values(4, 4), np.linspace(0.0, 3.0, 7)
SOME = np.array([0, 2, 2, 1])

READ: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x: np.array(x[0], ndmin=1) * x, (X,)),
    (lambda x: np.atleast_1d(x[0], x)[0] * np.atleast_2d(x), (X,)),
    (lambda a: np.atleast_3d(a), (A,)),
    (lambda x: np.linspace(x[0], x, 4), (X,)),
    (lambda x: np.linspace(x[0], x[1], 4, retstep=True)[1] * x, (X,)),
    (lambda x: np.logspace(x[0], x[1], 4), (X,)),
    (lambda x: np.geomspace(x[0], x[1], 4), (X,)),
    (lambda x, y: np.meshgrid(x, y)[0] * np.meshgrid(x, y)[1], (X, Y)),
    (lambda x, a: np.broadcast_arrays(x[:4], a[:, :1])[1] * x[:4], (X, A)),
    (lambda x, y: np.broadcast_arrays(x, y)[0] * y, (X, Y)),
    (lambda x, y: np.interp(x, POINTS, POINTS**2) * y, (X, Y)),
    (lambda x, y: np.interp(x, np.sort(x)[::2], y[:3], left=y[0]), (X, Y)),
    (lambda a: np.average(a, axis=1), (A,)),
    (lambda a: np.median(a, axis=1), (A,)),
    (lambda a: np.median(a, axis=(0, 1), keepdims=True), (A,)),
    (lambda a: np.ptp(a, axis=1), (A,)),
    (lambda a: np.max(a, axis=0, initial=1.2, where=a > 0.8), (A,)),
    (lambda a: np.mean(a, axis=0, where=a > 0) + a.std(1)[0] + a.var(), (A,)),
    (lambda x: x[0].std() + x[0].var() + x[0].repeat(2) * x[0].mean(), (X,)),
    (lambda x: np.diff(x, prepend=x[1], append=0.0), (X,)),
    (lambda a: np.diff(a, 2, axis=1), (A,)),
    (lambda x: np.gradient(x, 0.3), (X,)),
    (lambda a: np.gradient(a)[0] * np.gradient(a, axis=1, edge_order=2), (A,)),
    (lambda x, y: np.gradient(x, np.sort(y)), (X, Y)),
    (lambda x, y: np.trapezoid(x, y) + np.trapezoid(x, dx=y[0]), (X, Y)),
    (lambda x: np.ediff1d(x, to_end=x[0]), (X,)),
    (lambda a: np.cov(a) + np.cov(a[0], a[1])[0, 1], (A,)),
    (lambda a: np.cov(a, rowvar=False, bias=True), (A,)),
    (lambda a: np.corrcoef(a)[0, 1:], (A,)),
    (lambda x, y: np.polyval(x, y) + np.polyadd(x, y[:3]), (X, Y)),
    (lambda x: np.poly(x[:3]) * np.polyint(x[:3]) + np.polyder(x[:5]), (X,)),
    (lambda x: np.unwrap(x * 5), (X,)),
    (lambda x: np.histogram(x, bins=POINTS)[0] * x, (X,)),
    (lambda a: np.rot90(a) + np.rollaxis(a, 1) + np.moveaxis(a, 0, -1), (A,)),
    (lambda x: np.array_split(x, 4)[1] * np.split(x, 3)[0], (X,)),
    (lambda c: np.hsplit(c, 3)[1] * np.vsplit(c, 2)[0] * np.dsplit(c, 4)[2], (C,)),
    (lambda x, y: np.insert(x, [1, 3], y[:2]) + np.insert(y, 2, x[:2]), (X, Y)),
    (lambda a, x: np.insert(a, 1, x[:4], axis=0), (A, X)),
    (lambda x: np.delete(x, 2) * np.delete(x, slice(0, 1)) * np.delete(x, [0]), (X,)),
    (lambda a: np.delete(a, [0, 2], axis=1), (A,)),
    (lambda a, x: np.append(a, x) + np.append(x, a), (A, X)),
    (lambda x: np.resize(x, (2, 5)), (X,)),
    (lambda a: np.compress([True, False, True], a, axis=0) * a.compress([False, True], axis=0), (A,)),
    (lambda a: np.extract(a > 1, a) * a[np.where(a > 1)], (A,)),
    (lambda x, y: np.choose([0, 1, 0, 1, 1, 0], [x, y]), (X, Y)),
    (lambda x, y: np.select([x < 0.8, x < 1.4], [x, y * 2], default=x[0]), (X, Y)),
    (lambda x: np.piecewise(x, [x < 1, x >= 1], [lambda t: t**2, lambda t: t * 3]), (X,)),
    (lambda a: np.sort(a) * np.partition(a, 1, axis=0), (A,)),
    (lambda c: np.ravel(c.T, "K") * np.ravel(c.transpose(2, 0, 1)[::-1], "K"), (C,)),
    (lambda c: np.ravel(c[:, ::2].T, "A") + c[:, ::2].transpose(1, 2, 0).ravel("K"), (C,)),
    (lambda c: np.reshape(c.T, (4, -1), order="A") + c.T.flatten("K").reshape(4, -1), (C,)),
    (lambda x: np.unique(x) * np.argsort(x), (X,)),
    (lambda x: np.unique(x, return_index=True)[0], (X,)),
    (lambda a: np.take_along_axis(a, np.argsort(a, axis=1), 1), (A,)),
    (lambda a, b: np.block([[a, b], [b, a]]), (A, B)),
    (lambda a, x: np.column_stack([a, x[:3]]) + np.c_[x[:3], a], (A, X)),
    (lambda a, b: np.dstack([a, b]), (A, B)),
    (lambda x, y: np.r_[x, y[0], 1.0], (X, Y)),
    (lambda a, x: np.pad(a, 1, mode="constant", constant_values=x[0]), (A, X)),
    (lambda a: np.pad(a, ((1, 2), (0, 1))) + np.pad(a, ((2, 1), (1, 0)), mode="reflect"), (A,)),
    (lambda a: np.pad(a, 1, mode="edge") * np.pad(a, 1, mode="mean") + np.pad(a, 1, mode="linear_ramp"), (A,)),
    (lambda a: np.pad(a, 2, mode="wrap") * np.pad(a, 2, mode="symmetric") + np.pad(a, 2, mode="maximum"), (A,)),
    (lambda a, b: np.kron(a[:2, :2], b), (A, B)),
    (lambda a: np.apply_along_axis(lambda row: np.cumsum(row) * row[0], 1, a), (A,)),
    (lambda a: np.apply_over_axes(np.sum, a, [0, 1]), (A,)),
    (lambda y: np.round(y, 1) * y + y.round(1) * y + np.around(y) * y, (Y,)),
    (lambda a: a.flat[3] * a.flat[-2] + a.flat[1:4] + a.flat[[0, 0, 1]], (A,)),
    (lambda a: sum(v * k for k, v in enumerate(a.T.flat)), (A,)),
    (lambda a: [*a.flat][2] * next(iter(a.flat)) + sum(v * i[0] for i, v in np.ndenumerate(a)), (A,)),
    (lambda a: a.mT @ a + np.matrix_transpose(a) @ a.view(), (A,)),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(-1), (X,)),
    (lambda s: np.diag(np.diag(s)) + np.tril(s) @ np.triu(s, 1) + np.diagflat(s.diagonal()), (S,)),
    (lambda x: np.tile(x, 2) * np.repeat(x, 2) * np.roll(x.repeat(2), 1), (X,)),
    (lambda x: np.bincount(SOME, weights=x[:4]), (X,)),
    (lambda x, y: np.convolve(x, y[:3], "same") * np.correlate(x, y[:3], "same"), (X, Y)),
]  # fmt: skip


def stored(write: Callable[..., Any]) -> Callable[..., Any]:
    """The function that writes into an array made of its first argument, and returns that."""

    def f(x: Any, *rest: Any) -> Any:
        z = x * 1
        write(z, *rest)
        return z * z

    return f


WRITTEN: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda z: z.sort(), (X,)),
    (lambda z: z.sort(0), (A,)),
    (lambda z: z.sort(axis=1, kind="stable"), (A,)),
    (lambda z: z.partition(2), (X,)),
    (lambda z: z.partition(1, 0), (A,)),
    (lambda z: z.partition([0, 2], axis=-1), (A,)),
    (lambda z, y: z.put([1, -2], y[:2]), (X, Y)),
    (lambda z, y: np.put(z, [1, 7, -3], y[:2], mode="wrap"), (A, Y)),
    (lambda z, y: np.put(z, [1, 70], y[0], mode="clip"), (A.T, Y)),
    (lambda z, y: np.putmask(z, z > 1, y), (X, Y)),
    (lambda z, y: np.putmask(z, z > 1, y[:5]), (A, Y)),
    (lambda z, y: np.putmask(z, z > 1, y[0]), (A, Y)),
    (lambda z, y: np.place(z, z > 1, y[:2]), (A, Y)),
    (lambda z, y: np.copyto(z, y, where=z > 1), (X, Y)),
    (lambda z, y: np.fill_diagonal(z, y[:4]), (S, Y)),
    (lambda z, y: np.fill_diagonal(z, y[0]), (A, Y)),
    (lambda z, y: np.fill_diagonal(z, y[:2], wrap=True), (A.T, Y)),
    (lambda z, y: np.put_along_axis(z, np.argmax(z, 1)[:, None], y[:3, None], 1), (A, Y)),
    (lambda z, y: operator.setitem(z.flat, 3, y[0]), (A, Y)),
    (lambda z, y: operator.setitem(z.flat, slice(1, 8, 2), y[:2]), (A.T, Y)),
    (lambda z, y: operator.setitem(z.flat, [0, 5], y[0]), (A, Y)),
    (lambda z, y: setattr(z, "flat", y), (A, Y)),
    (lambda z, y: setattr(z[1:], "flat", y[:3]), (A, Y)),
    (lambda z, y: setattr(z, "real", y), (X, Y)),
    (lambda z, y: setattr(z, "real", y), (X * (1 - 2j), Y)),
    (lambda z, y: setattr(z[::2], "imag", y[:3]), (X * (1 - 2j), Y)),
]  # fmt: skip


PROGRAMS = READ + [(stored(write), args) for write, args in WRITTEN]
each = pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[*map(str, range(len(PROGRAMS)))])


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    """One real number made of the result of a function."""

    def total(*xs: Any) -> Any:
        y = f(*xs)
        return np.sum(np.real(y) * np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y)))

    return total


@each
def test_slope(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    total, places = weighted(f), tuple(range(len(args)))
    assert total(*args) == wg.value_and_grad(total, argnums=places)(*args)[0]
    wg.check_grads(total, *args)


@each
def test_derivative_tape_on_other_numbers(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    total, places = weighted(f), tuple(range(len(args)))
    other = [x * 1.0001 for x in args]
    derivative = wg.gradtape(total, *args, argnums=places).compile()
    value, (_, *bars) = derivative(*[x.copy() for x in other])
    np.testing.assert_allclose(value, total(*other), rtol=1e-12)
    for x_bar, expected in zip(bars, wg.grad(total, argnums=places)(*other), strict=True):
        np.testing.assert_allclose(x_bar, expected, rtol=1e-9, atol=1e-12)


@each
def test_second_derivative(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if any(map(np.iscomplexobj, args)):
        pytest.skip("differences of a gradient that is not analytic")
    total = weighted(lambda *xs: np.sin(f(*xs)))
    directions = [np.sin(np.arange(1.0, x.size + 1)).reshape(x.shape) for x in args]

    def slope(*xs: Any) -> Any:
        bars = wg.grad(total, argnums=tuple(range(len(xs))))(*xs)
        return sum([np.sum(x_bar * v) for x_bar, v in zip(bars, directions, strict=True)])

    got = wg.grad(slope, argnums=tuple(range(len(args))))(*args)
    ahead, behind = (
        wg.grad(total, argnums=tuple(range(len(args))))(*[x + h * v for x, v in zip(args, directions, strict=True)])
        for h in (1e-5, -1e-5)
    )
    for x_bar, right, left in zip(got, ahead, behind, strict=True):
        np.testing.assert_allclose(x_bar, (right - left) / 2e-5, rtol=1e-6, atol=1e-6)


def layouts() -> Iterator[np.ndarray]:
    """Arrays whose axes lie in memory in any order, in steps, and repeated."""
    block, row = np.arange(1.0, 25).reshape(2, 3, 4), np.arange(1.0, 4)
    for axes in itertools.permutations(range(3)):
        yield block.transpose(axes)[:, ::2]
        yield np.broadcast_to(np.arange(1.0, 7).reshape(2, 1, 3), (2, 4, 3)).transpose(axes)
        yield np.broadcast_to(row[:, None], (2, 3, 4)).transpose(axes)
        yield block[:, :1, ::2].transpose(axes)
    yield np.broadcast_to(row, (2, 3))
    yield np.broadcast_to(2.0, (2, 3))
    yield np.lib.stride_tricks.sliding_window_view(row, 2).T


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_rows_of_any_layout(order: Any) -> None:
    """A row of an array repeated along an axis was read in another order than NumPy's. Here `nditer` tells that."""
    for a in layouts():
        w = np.arange(1.0, a.size + 1)

        def f(x: Any, w: Any = w) -> Any:
            return np.sum(x.ravel(order) * w) + np.sum(np.ravel(x, order) ** 2 * w) + np.sum(x.flatten(order) * w)

        value, (_, x_bar) = wg.grad(f, a)
        assert value == f(a)
        exact, places = np.empty(a.shape), np.nditer(a, flags=["multi_index"], order=order)
        for weight, y in zip(w, places, strict=True):
            exact[places.multi_index] = weight * (2 + 2 * y)
        np.testing.assert_allclose(x_bar, exact, rtol=1e-14)
