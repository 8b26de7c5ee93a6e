"""Derivatives by parts of arguments, named by paths: against differences, and errors for paths that name nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg


@dataclass
class Layer:
    w: Any
    b: float


class Scales(NamedTuple):
    first: float
    rest: dict[str, Any]


@dataclass
class Model:
    layers: list[Layer]
    scales: Scales
    size: int = 3


X = np.array([0.1, 0.2])
PATHS = {
    "p.layers[0].w": lambda p: p.layers[0].w,
    "p.layers[1].b": lambda p: p.layers[1].b,
    "p.scales.first": lambda p: p.scales.first,
    "p.scales.rest['v']": lambda p: p.scales.rest["v"],
}


def model() -> Model:
    layers = [Layer(np.array([1.0, 2.0]), 0.5), Layer(np.array([3.0, 4.0]), 0.25)]
    return Model(layers, Scales(2.0, {"v": np.array([0.5, 1.5])}))


def loss(p: Model, x: Any) -> Any:
    for layer in p.layers:
        x = np.tanh(layer.w * x + layer.b)
    return np.sum(x) * p.scales.first + np.sum(p.scales.rest["v"]) ** 2


def difference(path: str, f: Callable[..., Any] = loss, step: float = 1e-6) -> Any:
    """Central differences of f by the part of `model()` at a path."""
    p = model()
    part, position = PATHS[path](p), wg.tree_paths(p).index(path[1:])
    found = []
    for unit in np.eye(np.size(part)).reshape((-1, *np.shape(part))):
        ends = [f(_moved(p, position, sign * step * unit), X) for sign in (1, -1)]
        found.append((ends[0] - ends[1]) / (2 * step))
    return np.reshape(np.array(found), (*np.shape(part), *np.shape(found[0])))


def _moved(p: Model, position: int, by: Any) -> Model:
    count = itertools.count()
    return wg.tree_map(lambda leaf: leaf + by if next(count) == position else leaf, p)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_names_a_part_of_an_argument(path: str) -> None:
    p, expected = model(), difference(path)
    close = pytest.approx(expected, rel=1e-7)
    assert wg.grad(loss, argnums=path)(p, X) == close
    assert wg.value_and_grad(loss, argnums=path)(p, x=X)[1] == close
    assert wg.grad(loss, p, X, argnums=path)[1][path] == close
    for derivative in (wg.jacobian, wg.jacrev, wg.jacfwd):
        assert derivative(loss, argnums=path)(p, X) == close
    assert wg.grad(loss, argnums=path)(p=p, x=X) == close


def test_the_arguments_are_left_as_they_were() -> None:
    p = model()
    before = wg.tree_leaves(p)
    wg.grad(loss, argnums=("p.layers[0]", "p.scales.first"))(p, X)
    assert all(a is b for a, b in zip(before, wg.tree_leaves(p), strict=True)) and p.size == 3


def test_a_tuple_keeps_its_order_among_whole_arguments() -> None:
    keys = ("p.scales.first", "x", "p.layers[1].b", "p.scales.rest['v']")
    found = wg.grad(loss, argnums=keys)(model(), X)
    whole = wg.grad(loss, argnums=(0, 1))(model(), X)
    for key, gradient in zip(keys, found, strict=True):
        np.testing.assert_array_equal(gradient, whole[1] if key == "x" else PATHS[key](whole[0]))


def test_a_path_may_name_a_container_or_use_double_quotes() -> None:
    whole = wg.grad(loss)(model(), X)
    layer = wg.grad(loss, argnums="p.layers[0]")(model(), X)
    np.testing.assert_array_equal(layer.w, whole.layers[0].w)
    assert layer.b == whole.layers[0].b
    np.testing.assert_array_equal(wg.grad(loss, argnums='p.scales.rest["v"]')(model(), X), [4.0, 4.0])


def test_a_position_may_begin_a_path() -> None:
    assert wg.grad(lambda *args: args[1]["w"] ** 2, argnums="1['w']")(5.0, {"w": 3.0}) == 6.0


def test_hessians_by_parts() -> None:
    path = "p.layers[0].w"
    expected = difference(path, wg.grad(loss, argnums=path), 1e-5)
    np.testing.assert_allclose(wg.hessian(loss, argnums=path)(model(), X), expected, atol=1e-9)
    blocks = wg.hessian(loss, argnums=(path, "p.scales.first"))(model(), X)
    np.testing.assert_allclose(blocks[0][0], expected, atol=1e-9)
    np.testing.assert_allclose(blocks[1][0], difference(path) / 2.0, rtol=1e-7)  # the loss is linear in the scale


def test_a_gradient_by_a_part_inside_another_gradient() -> None:
    def slope(first: float) -> Any:
        p = model()
        p.scales = Scales(first, p.scales.rest)
        return np.sum(wg.grad(loss, argnums="p.layers[0].w")(p, X))

    np.testing.assert_allclose(wg.grad(slope)(2.0), np.sum(difference("p.layers[0].w")) / 2.0, rtol=1e-7)


def test_compiled_gradients_by_parts_follow_the_rest() -> None:
    p, path = model(), "p.layers[0].w"
    compiled = wg.compile(wg.grad(loss, argnums=path))
    for change in (lambda: None, lambda: p.layers[1].w.fill(0.3), lambda: setattr(p.layers[1], "b", -1.0)):
        change()
        np.testing.assert_allclose(compiled(p, X), wg.grad(loss, argnums=path)(p, X), rtol=1e-12)


def test_an_array_held_twice_has_its_total_gradient() -> None:
    w = np.array([1.0, 2.0])
    p = {"a": w, "b": [w, np.array([5.0, 7.0])]}

    def f(p: Any) -> Any:
        return np.sum(p["a"] * p["b"][0] * p["b"][1])  # w² v

    for path in ("p['a']", "p['b'][0]"):
        np.testing.assert_array_equal(wg.grad(f, argnums=path)(p), 2 * w * [5.0, 7.0])
    np.testing.assert_array_equal(wg.grad(f, argnums="p['b']")(p)[0], 2 * w * [5.0, 7.0])


def test_an_object_shared_by_two_arguments() -> None:
    layer = Layer(2.0, 3.0)
    assert wg.grad(lambda p, q: p[0].w * q[0].w, argnums="p[0].w")([layer], [layer]) == 4.0
    with pytest.raises(wg.ArgumentError, match="hold twice"):
        wg.grad(lambda p, q: p[0].w * q[0].b, argnums=("p[0].w", "q[0].b"))([layer], [layer])
    assert layer == Layer(2.0, 3.0)
    with pytest.raises(wg.ArgumentError, match="hold twice"):
        wg.grad(lambda p: p["b"].w, argnums="p['b'].w")({"a": layer, "b": layer})


def test_writes_of_the_function_stay() -> None:
    def counting(p: Model, x: Any) -> Any:
        p.size += 1
        p.layers[0].w *= 2.0
        return np.sum(p.layers[0].w * x)

    p = model()
    np.testing.assert_allclose(wg.grad(counting, argnums="p.layers[0].w")(p, X), 2 * X)
    assert p.size == 4 and p.layers[0].w.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("argnums", "message"),
    [
        ("p.layer[0].w", r"no such part\. Near paths are p\.layers\[0\]\.w, "),
        ("p.layers[0].W", r"Near paths are p\.layers\[0\]\.w, .*wg\.tree_paths\(p\) lists all"),
        ("p.layers[7].b", r"Near paths are p\.layers\[\d\]\.b"),
        ("q.w", "the call passes no such argument"),
        (".layers[0].w", r"Begin the path with a name, as in 'p\.layers\[0\]\.w'"),
        ("p..layers", "no such part"),
        (("p", "p.scales.first"), "'p.scales.first' twice"),
        (("p.layers[0]", "p.layers[0].w"), r"'p\.layers\[0\]\.w' twice"),
    ],
)
def test_wrong_paths_are_refused(argnums: Any, message: str) -> None:
    for derivative in (wg.grad, wg.value_and_grad, wg.jacobian, wg.hessian):
        with pytest.raises(wg.ArgumentError, match=message):
            derivative(loss, argnums=argnums)(model(), X)


def test_a_part_without_floats_is_refused() -> None:
    with pytest.raises(wg.IntegerInputError, match=r"p\.size is of type int"):
        wg.grad(loss, argnums="p.size")(model(), X)
    assert wg.grad(loss, argnums=("p.size", "p.scales.first"), allow_int=True)(model(), X)[0] is None
    with pytest.raises(wg.ArgumentError, match="whole argument"):
        wg.sparse_jacobian(loss, argnums="p.layers[0].w")(model(), X)


def test_a_part_that_is_not_read_warns_with_its_path() -> None:
    with pytest.warns(wg.NoPathWarning, match=r"does not depend on p\['b'\]"):
        assert wg.grad(lambda p: p["a"] ** 2, argnums="p['b']")({"a": 3.0, "b": 1.0}) == 0.0
