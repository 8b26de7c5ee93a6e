"""`ravel` and `stop_gradient` on containers: there and back, and their derivatives by hand."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    size: int = 2


class Pair(NamedTuple):
    a: Any
    b: Any


def parameters() -> Any:
    return {
        "layers": [Layer(np.array([[1.0, 2.0], [3.0, 4.0]]), 0.5), Layer(np.array([5.0, 6.0], np.float32), -1.5)],
        "pair": Pair(np.float32(2.5), np.array(7.0)),
        "indices": np.arange(3),
        "name": "net",
        "none": None,
        "steps": 4,
    }


def loss(p: Any) -> Any:
    first, second = p["layers"]
    return np.sum(np.tanh(first.w @ second.w) ** 2) * p["pair"].a + first.b * second.b * p["pair"].b ** p["steps"]


def test_there_and_back() -> None:
    p = parameters()
    vector, unravel = wg.ravel(p)
    assert vector.dtype == float and sorted(vector) == [-1.5, 0.5, 1, 2, 2.5, 3, 4, 5, 6, 7]
    q = unravel(2 * vector)
    assert type(q["layers"][0]) is Layer and type(q["pair"]) is Pair
    np.testing.assert_array_equal(q["layers"][0].w, 2 * p["layers"][0].w)
    assert q["layers"][1].w.dtype == np.float32 and type(q["layers"][0].b) is float
    assert type(q["pair"].a) is np.float32 and type(q["pair"].b) is np.ndarray and q["pair"].b.shape == ()
    assert (q["name"], q["none"], q["steps"], q["layers"][0].size) == ("net", None, 4, 2)
    assert q["indices"] is p["indices"]
    np.testing.assert_array_equal(wg.ravel(q)[0], 2 * vector)


def test_what_comes_back_is_new() -> None:
    p = parameters()
    vector, unravel = wg.ravel(p)
    q = unravel(vector)
    q["layers"][0].w[:] = 0.0
    q["layers"].clear()
    np.testing.assert_array_equal(vector, wg.ravel(p)[0])
    np.testing.assert_array_equal(vector, wg.ravel(unravel(vector))[0])


def test_gradients_through_both() -> None:
    p = parameters()
    vector, unravel = wg.ravel(p)
    expected = wg.ravel(wg.grad(loss)(p))[0]
    np.testing.assert_allclose(wg.grad(lambda v: loss(unravel(v)))(vector), expected, rtol=1e-6)
    assert wg.check_grads(lambda v: loss(unravel(v)), vector, rtol=1e-2) < 1e-2  # the float32 leaves round
    found = wg.grad(lambda p: np.sum(wg.ravel(p)[0] ** 3))(p)
    np.testing.assert_allclose(wg.ravel(found)[0], 3 * vector**2)
    assert found["layers"][1].w.dtype == np.float32 and found["name"] is None
    there_and_back = wg.grad(lambda p: loss(wg.ravel(p)[1](wg.ravel(p)[0] * 2)))(p)
    np.testing.assert_allclose(wg.ravel(there_and_back)[0], 2 * wg.grad(lambda v: loss(unravel(v)))(2 * vector), 1e-5)


def test_second_derivatives_and_tapes_through_both() -> None:
    p = {"w": np.array([[1.0, 2.0]]), "b": 3.0}
    vector, unravel = wg.ravel(p)

    def f(p: Any) -> Any:
        return np.sum(p["w"] ** 3) * p["b"]

    expected = np.array([[18.0, 0.0, 3.0], [0.0, 36.0, 12.0], [3.0, 12.0, 0.0]])
    np.testing.assert_allclose(wg.hessian(lambda v: f(unravel(v)))(vector), expected)
    np.testing.assert_allclose(wg.hessian(f, as_matrix=True)(p), expected)
    _, tape = wg.trace(lambda v: f(unravel(v)), vector)
    assert tape.play(2 * vector) == f(unravel(2 * vector))


def test_the_order_is_that_of_matrices() -> None:
    p = (1.0, [np.array([2.0, 3.0]), {"x": 4.0}], 5.0)
    vector, _ = wg.ravel(p)
    matrix = wg.jacobian(lambda p: wg.ravel(p)[0], as_matrix=True)(p)
    np.testing.assert_array_equal(matrix, np.eye(5))
    slopes = wg.jacobian(lambda p: p[1][1]["x"] ** 2, as_matrix=True)(p)
    assert slopes[0, list(vector).index(4.0)] == 8.0


def test_an_array_that_is_shared_stays_shared() -> None:
    w = np.array([1.0, 2.0])
    vector, unravel = wg.ravel({"encoder": w, "decoder": w})
    assert vector.shape == (2,)
    tied = unravel(vector * 3)
    assert tied["encoder"] is tied["decoder"]
    gradient = wg.grad(lambda v: np.sum(unravel(v)["encoder"] * unravel(v)["decoder"]))(vector)
    np.testing.assert_array_equal(gradient, 2 * w)


def test_complex_parameters() -> None:
    p = {"z": 1 + 2j, "x": np.array([3.0])}
    vector, unravel = wg.ravel(p)
    assert vector.dtype == complex
    q = unravel(vector * 1j)
    assert q["z"] == -2 + 1j and q["x"].dtype == float and q["x"] == 0.0
    gradient = wg.grad(lambda v: np.abs(unravel(v)["z"]) ** 2 * np.sum(unravel(v)["x"]))(vector)
    np.testing.assert_allclose(gradient, [3 * (2 - 4j), 5.0])


def test_what_does_not_fit_is_refused() -> None:
    _, unravel = wg.ravel({"a": np.ones(3)})
    with pytest.raises(wg.ArgumentError, match=r"of shape \(3,\), not \(2,\)"):
        unravel(np.ones(2))
    with pytest.raises(wg.ArgumentError, match="complex numbers"):
        unravel(np.ones(3) * 1j)


def test_nothing_and_one_number() -> None:
    vector, unravel = wg.ravel({"name": "empty", "n": 3})
    assert vector.shape == (0,) and unravel(vector) == {"name": "empty", "n": 3}
    vector, unravel = wg.ravel(2.0)
    assert vector.tolist() == [2.0] and unravel(vector) == 2.0
    vector, unravel = wg.ravel([np.zeros((0, 3)), 1.0])
    assert vector.tolist() == [1.0] and unravel(vector)[0].shape == (0, 3)
    assert unravel([5])[1] == 5.0


def test_stop_gradient_of_containers() -> None:
    p = parameters()
    gradient = wg.grad(lambda p: loss(p) * loss(wg.stop_gradient(p)))(p)
    np.testing.assert_allclose(wg.ravel(gradient)[0], loss(p) * wg.ravel(wg.grad(loss)(p))[0], rtol=1e-6)
    q = wg.stop_gradient(p)
    assert q is not p and q["layers"][0] is not p["layers"][0] and q["name"] == "net"
    np.testing.assert_array_equal(wg.ravel(q)[0], wg.ravel(p)[0])
    assert wg.stop_gradient(3) == 3


def test_stop_gradient_stops_all_levels_and_stands_on_tapes() -> None:
    def f(x: Any) -> Any:
        return wg.grad(lambda y: np.sum(wg.stop_gradient({"y": x * y})["y"] * y))(2.0) * x

    assert wg.grad(f)(3.0) == 6.0
    x = np.array([1.0, 2.0])
    _, tape = wg.trace(lambda x: np.sum(x) / wg.stop_gradient([x, {"twice": x * 2}])[1]["twice"], x)
    np.testing.assert_array_equal(tape.play(3 * x), np.sum(3 * x) / (6 * x))
