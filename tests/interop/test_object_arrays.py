"""Arrays of Python objects that hold traced values: as containers, converted to numbers, and computed with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([0.3, -0.2, 0.9])


def filled(x: Any) -> Any:
    a = np.empty(3, dtype=object)
    a[0] = x[0]
    a[1] = x[1] * 2
    a[2] = 1.5
    return a


def stored_arrays(x: Any) -> Any:
    a = np.empty((1, 2), dtype=np.ndarray)
    a[0, 0], a[0, 1] = np.sin(x), x[1:]
    b = a.reshape(2).copy()
    return np.sum(b[0] ** 2) * b[1][0] + a.T[1, 0][1]


def stored_whole(x: Any) -> Any:
    a = np.empty((2, 3), dtype=object)
    a[:] = x
    a[1, 1:] = [x[0] * x[1], 2.0]
    return math.exp(a[0, 2]) * a[1, 1] + a[0, 0] * a[1, 2]


def without_axes(x: Any) -> Any:
    """Arrays without axes as items."""
    a = np.empty(3, dtype=object)
    a[0], a[1], a[2] = x[:1].reshape(()), np.sin(x[1]), np.array(x[2])
    return a


def array_of_arrays(x: Any) -> Any:
    a = np.empty(2, dtype=object)
    a[0], a[1] = x[:2], x[1:] ** 2
    return a


def alone(x: Any) -> Any:
    a = np.empty((), dtype=object)
    a[()] = x[1]
    return float(a) ** 2


with_partials = np.frompyfunc(lambda v, w: v * v * w, 2, 1)
wg.partials(with_partials)(lambda y, v, w: (2 * v * w, v * v))
with_pullback = np.frompyfunc(lambda v: v**3, 1, 1)
wg.vjp_rule(with_pullback)(lambda y_bar, y, v: y_bar * 3 * v**2)
with_rrule = np.frompyfunc(lambda v: (v * 2, v * v), 1, 2)
wg.rrule(with_rrule)(lambda v: ((v * 2, v * v), lambda y_bar: y_bar[0] * 2 + y_bar[1] * 2 * v))


def written_in_place(x: Any) -> Any:
    a = np.array([x[0], x[1]], dtype=object)
    b = a[::-1]
    a *= x[2]
    a[0] = a[0] + b[0]
    return a[0] * b[0]


def overwritten(x: Any) -> Any:
    a = filled(x)
    a[:] = 2.0
    a[1] = x[2]
    return a[0] * a[1] + a.astype(float)[1]


def branching(x: Any) -> Any:
    a = filled(x)
    return a[1] if (a > 0).any() and a[0] > a[1] and np.all(a != 5.0) else a[2]


def times_axes(x: Any) -> Any:
    a = np.array([[x[0], 2.0], [x[1], x[2]]], dtype=object)
    return np.sum((a * x[:2] - a.T / [[3.0], [x[2]]]).astype(float) ** 2)


WORKING: dict[str, Callable[..., Any]] = {
    "a record": lambda x: np.array([(x[0], 1)], dtype=[("a", object), ("b", int)])["a"][0] * x[1],
    "elements": lambda x: filled(x)[0] * filled(x)[1] + filled(x)[2],
    "arrays as elements": stored_arrays,
    "an array's numbers stored": stored_whole,
    "iterated": lambda x: math.prod(v for v in filled(x)),
    "astype": lambda x: np.sum(np.sin(filled(x).astype(float)) * x),
    "asarray": lambda x: np.sum(np.asarray(filled(x), dtype=float) ** 2),
    "a list": lambda x: math.prod(filled(x).tolist()),
    "made of a list": lambda x: np.array([[x[0], x[1]], [1.0, x[2]]], dtype=object)[1, 1] ** 2,
    "made of an array": lambda x: x.astype(object)[1] * np.array(x, dtype=object)[2],
    "joined": lambda x: np.prod(np.concatenate([filled(x), x.astype(object)])[[0, 1, 4]].astype(float)),
    "an operator": lambda x: (filled(x) * x[2] + 1.0)[1] ** 2,
    "a ufunc": lambda x: np.add(x, np.multiply(filled(x), 2))[0] * -filled(x)[1],
    "broadcast": times_axes,
    "a power": lambda x: (2.0 ** filled(x) / (filled(x) ** 2))[1],
    "a sum": lambda x: np.sum(filled(x)) * filled(x).sum(),
    "a product": lambda x: np.prod(filled(x)) + filled(x).prod(),
    "dot": lambda x: np.dot(filled(x), filled(x)) + filled(x) @ x.astype(object),
    "in place": written_in_place,
    "overwritten": overwritten,
    "compared": branching,
    "shown one by one": lambda x: math.prod(v.item() for v in np.nditer(filled(x), flags=["refs_ok"])),
    "frompyfunc": lambda x: np.frompyfunc(lambda v, w: v * w + v, 2, 1)(filled(x), x[::-1])[1] ** 2,
    "frompyfunc with a closure": lambda x: np.sum(np.frompyfunc(lambda v: v * x[0], 1, 1)(np.arange(3.0))),
    "frompyfunc of a number": lambda x: np.frompyfunc(math.exp, 1, 1)(x[0]) * x[1],
    "frompyfunc of two results": lambda x: math.prod(np.frompyfunc(lambda v: (v * v, v + 1), 1, 2)(x)[0][:2]),
    "vectorize": lambda x: np.vectorize(lambda v: v * x[1], otypes=[object])(x)[2] ** 2,
    "items without axes, converted": lambda x: np.prod(without_axes(x).astype(float)),
    "items without axes, by np.array": lambda x: np.sum(np.array(without_axes(x) * 2, dtype=float) ** 2),
    "items without axes, complex": lambda x: np.sum(np.asarray(without_axes(x), complex).real ** 2),
    "items without axes, stacked": lambda x: np.sum(np.stack(without_axes(x)) ** 2),
    "arrays, concatenated": lambda x: np.sum(np.concatenate(array_of_arrays(x)) * np.arange(4)),
    "arrays, stacked": lambda x: np.sum(np.vstack(array_of_arrays(x)) ** 2),
    "alone": alone,
    "frompyfunc with partials": lambda x: np.sum(with_partials(x, x[::-1, None]).astype(float)),
    "frompyfunc with a pullback": lambda x: with_pullback(filled(x))[1] * with_pullback(x).sum(),
    "frompyfunc with an rrule": lambda x: math.prod((with_rrule(x)[1] * with_rrule(x)[0]).astype(float)),
    "largest": lambda x: np.max(filled(x)) * np.sort(filled(x))[1],
}


@pytest.mark.parametrize("name", WORKING)
def test_values_and_gradients(name: str) -> None:
    f = WORKING[name]
    value, slope = wg.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(slope, wg.ngradient(f, X)[0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(wg.jvp(f, (X,), (np.ones(3),))[1], slope.sum(), rtol=1e-12)


def test_second_order() -> None:
    def f(x: Any) -> Any:
        return np.sum((filled(x) ** 3 * x[2]).astype(float))

    np.testing.assert_allclose(wg.hessian(f)(X), H, atol=1e-12)


H = np.array([[6 * 0.3 * 0.9, 0, 3 * 0.09], [0, 48 * -0.2 * 0.9, 24 * 0.04], [3 * 0.09, 24 * 0.04, 0]])

REFUSED: dict[str, Callable[..., Any]] = {
    "a mean": lambda x: np.mean(filled(x)),
    "a sum over an axis": lambda x: np.sum(filled(x).reshape(1, 3), axis=1)[0],
    "einsum": lambda x: np.einsum("i,i", filled(x), filled(x)),
    "its real part": lambda x: filled(x).real[0],
    "out=": lambda x: np.add(filled(x), 1.0, out=np.empty(3, dtype=object))[0],
    "given": lambda x: filled(x),
    "an integer": lambda x: filled(x).astype(int)[0] * x[0],
    "a result": lambda x: wg.jvp(lambda y: (y[0], y.astype(object)), (x,), (x,))[1][0],
    "a tape of frompyfunc with a rule": lambda x: np.sum(wg.trace(with_pullback, x)[0].astype(float)),
    "a conversion of texts": lambda x: np.append(filled(x), "a").astype(float)[0],
    "a tape of frompyfunc": lambda x: wg.trace(np.frompyfunc(lambda v: v * x[1], 1, 1), x)[0][0],
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_refused(name: str) -> None:
    with pytest.raises(wg.WengertError):
        wg.grad(REFUSED[name])(X)


def test_a_tape_refuses_the_store() -> None:
    with pytest.raises(wg.RefusedCallError, match="array of object"):
        wg.trace(lambda x: filled(x)[0], X)


def test_a_nested_gradient_reads_what_the_outer_one_stored() -> None:
    def f(x: Any) -> Any:
        a = filled(x)
        return wg.grad(lambda y: np.sum((a * y * y).astype(float)))(x[2])

    value, slope = wg.value_and_grad(f)(X)
    assert value == pytest.approx(2 * 0.9 * (0.3 - 0.4 + 1.5))
    np.testing.assert_allclose(slope, [2 * 0.9, 4 * 0.9, 2 * 1.4])


def test_numbers_given_to_a_ufunc_of_frompyfunc_are_followed_on_a_tape() -> None:
    f = lambda x: np.frompyfunc(lambda a: x * a + x, 1, 1)(2.0)
    assert wg.trace(f, 1.5)[1].play(2.5) == 7.5
    assert wg.gradtape(lambda x: f(x) ** 2, 1.5).play(2.5) == (56.25, (None, 45.0))


CUBE = np.frompyfunc(lambda a: a**3, 1, 1)
"""A ufunc with an rrule that calls it: its value is an array of objects."""


@wg.rrule(CUBE)
def _cube(a: Any) -> Any:
    return CUBE(a), lambda y_bar: y_bar * 3 * a**2


OF_CUBES: dict[str, Callable[[Any], Any]] = {
    "astype": lambda a: CUBE(a).astype(float).sum(),
    "sum": lambda a: CUBE(a).sum(),
    "items": lambda a: CUBE(a)[0] * CUBE(a)[1] + CUBE(a)[2],
    "two axes": lambda a: CUBE(a.reshape(3, 1)).sum(),
    "constants": lambda a: CUBE(np.ones(3)).sum() * a.sum(),
    "a number": lambda a: CUBE(a[0]),
    "several": lambda a: CUBE(CUBE(a).astype(float)).astype(float).sum(),
}


@pytest.mark.parametrize("name", OF_CUBES)
def test_the_objects_of_an_rrule_are_numbers_of_a_variable(name: str) -> None:
    f = OF_CUBES[name]
    expected = wg.ngradient(f, X)[0]
    np.testing.assert_allclose(wg.grad(f)(X), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(wg.jacfwd(f)(X), expected, rtol=1e-6, atol=1e-8)
    second = wg.ngradient(lambda a: wg.grad(f)(a) @ X, X)[0]
    np.testing.assert_allclose(wg.grad(lambda a: wg.grad(f)(a) @ X)(X), second, rtol=1e-6, atol=1e-8)


def test_they_are_shown_as_untraced() -> None:
    shown = []

    def f(a: Any) -> Any:
        cubes = CUBE(a)
        shown.append((type(cubes), cubes.dtype, type(cubes[0]), cubes.tolist()))
        return cubes.sum()

    f(X)
    wg.grad(f)(X)
    assert shown[0] == shown[1]


def _filled(fill):
    array = np.ones(2, object)
    fill(array)
    return array


MAKERS = {
    "array": lambda x: np.array([x[0], 2.0], dtype=object),
    "asarray": lambda x: np.asarray([x[0], 2.0], object),
    "asanyarray": lambda x: np.asanyarray([x[0], 2.0], object),
    "ascontiguousarray": lambda x: np.ascontiguousarray([x[0], 2.0], object),
    "require": lambda x: np.require([x[0], 2.0], object),
    "astype": lambda x: x.astype(object),
    "fromiter": lambda x: np.fromiter([x[0], 2.0], dtype=object),
    "fromiter of a generator": lambda x: np.fromiter((v * x[1] for v in x), object, 2),
    "full": lambda x: np.full(2, x[0], dtype=object),
    "full_like": lambda x: np.full_like(np.zeros(2, object), x[0]),
    "fill": lambda x: _filled(lambda a: a.fill(x[0])),
    "store": lambda x: _filled(lambda a: a.__setitem__(slice(None), [x[0], 1.0])),
    "flat": lambda x: _filled(lambda a: a.flat.__setitem__(0, x[0])),
    "put": lambda x: _filled(lambda a: np.put(a, [0], [x[0]])),
    "copyto": lambda x: _filled(lambda a: np.copyto(a, [x[0], 1.0])),
    "put_along_axis": lambda x: _filled(lambda a: np.put_along_axis(a, np.array([0]), x[0], 0)),
    "concatenate": lambda x: np.concatenate([[x[0]], np.ones(1, object)], dtype=object),
    "insert": lambda x: np.insert(np.ones(1, object), 0, x[0]),
    "select": lambda x: np.select([[True, False]], [[x[0], 2.0]], np.array([0, 0], object)),
    "frompyfunc": lambda x: np.frompyfunc(lambda v: v * x[0], 1, 1)(np.array([1.0, 2.0])),
    "vectorize": lambda x: np.vectorize(lambda v: v * x[0], otypes=[object])(np.array([1.0, 2.0])),
    "fromfunction": lambda x: np.fromfunction(lambda i: (i + 1.0) * x[0], (2,), dtype=object),
    "tile": lambda x: np.tile(np.array([x[0]], object), 2),
    "resize": lambda x: np.resize(np.array([x[0]], object), 2),
    "field": lambda x: np.array([(x[0],), (1.0,)], dtype=[("a", object)])["a"],
    "masked": lambda x: np.ma.array([x[0], 2.0], dtype=object),
}
READERS = {
    "item": lambda a: a[0],
    "product": lambda a: (a * 2.0)[0],
    "negative": lambda a: (-a)[0],
    "ufunc": lambda a: np.add(a, 1.0)[0],
    "sum": lambda a: a.sum(),
    "np.sum": np.sum,
    "dot": lambda a: a @ np.array([1.0, 2.0]),
    "floats": lambda a: a.astype(float)[0] ** 2,
    "list": lambda a: sum(a.tolist()),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("make", MAKERS)
def test_no_array_of_objects_loses_a_derivative(make, read):
    def f(x):
        return READERS[read](MAKERS[make](x)) + 0.5 * x[1]

    x = np.array([1.2, 0.7])
    try:
        gradient = wg.grad(f)(x)
    except wg.WengertError:
        return
    steps = 1e-6 * np.eye(2)
    np.testing.assert_allclose(gradient, [(f(x + h) - f(x - h)) / 2e-6 for h in steps], rtol=1e-6, atol=1e-8)
