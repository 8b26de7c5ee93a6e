"""`tree_map`, `tree_leaves` and `tree_paths` on every kind of container, and their derivatives by hand."""

from __future__ import annotations

import collections
import dataclasses
from types import SimpleNamespace
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


class Slotted:
    __slots__ = ("empty", "scale")

    def __init__(self, scale: Any) -> None:
        self.scale = scale


def parameters() -> Any:
    return {
        "layers": [Layer(np.array([[1.0, 2.0]]), 0.5), Layer(np.array([5.0], np.float32), -1.5)],
        "pair": Pair(np.float32(2.5), (np.array(7.0), "text")),
        "slotted": Slotted(3 + 1j),
        "space": SimpleNamespace(ordered=collections.OrderedDict(z=4.0)),
        "indices": np.arange(3),
        "none": None,
        7: 1,
    }


PATHS = [
    "['layers'][0].w",
    "['layers'][0].b",
    "['layers'][1].w",
    "['layers'][1].b",
    "['pair'].a",
    "['pair'].b[0]",
    "['slotted'].scale",
    "['space'].ordered['z']",
]


def test_every_container_is_copied_with_new_leaves() -> None:
    p = parameters()
    q = wg.tree_map(lambda leaf: 2 * leaf, p)
    assert type(q["layers"][0]) is Layer and type(q["pair"]) is Pair and type(q["slotted"]) is Slotted
    assert type(q["space"].ordered) is collections.OrderedDict
    np.testing.assert_array_equal(q["layers"][0].w, [[2.0, 4.0]])
    assert q["layers"][1].w.dtype == np.float32 and type(q["pair"].a) is np.float32
    assert (q["layers"][1].b, q["pair"].b[0], q["slotted"].scale, q["space"].ordered["z"]) == (-3.0, 14.0, 6 + 2j, 8.0)
    assert (q["layers"][0].size, q["pair"].b[1], q["none"], q[7]) == (2, "text", None, 1)
    assert q["indices"] is p["indices"]
    assert p["layers"][0].b == 0.5 and p["space"].ordered["z"] == 4.0 and not hasattr(q["slotted"], "empty")


def test_paths_and_leaves_are_in_one_order() -> None:
    p = parameters()
    order: list[Any] = []
    wg.tree_map(order.append, p)
    leaves = wg.tree_leaves(p)
    assert wg.tree_paths(p) == PATHS and all(a is b for a, b in zip(leaves, order, strict=True))
    assert all(eval(f"p{path}", {"p": p}) is leaf for path, leaf in zip(PATHS, leaves, strict=True))


def test_a_tree_of_one_leaf_and_trees_of_none() -> None:
    assert wg.tree_map(lambda x, y: x - y, 3.0, 1.0) == 2.0
    assert (wg.tree_leaves(3.0), wg.tree_paths(3.0)) == ([3.0], [""])
    assert wg.tree_map(lambda x: 1 / 0, {"n": 3, "empty": []}) == {"n": 3, "empty": []}
    assert wg.tree_leaves("text") == wg.tree_paths(None) == []


def test_other_trees_have_values_at_the_same_places() -> None:
    p = parameters()
    total = wg.tree_map(lambda a, b, c: a + b - c, p, p, p)
    assert wg.tree_paths(total) == PATHS
    np.testing.assert_array_equal(wg.ravel(total)[0], wg.ravel(p)[0])
    tree = {"a": 1.0, "b": [2.0, 3.0], "c": (4.0,)}
    marks = {"c": None, "b": ["x", True], "a": 5, "beside": "not read"}
    assert wg.tree_map(lambda _, mark: mark, tree, marks) == {"a": 5, "b": ["x", True], "c": (None,)}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"w": [1.0]}, r"tree 3 has nothing at \['b'\], where the first tree has a value"),
        ({"w": 1.0, "b": 2.0}, r"tree 3 has nothing at \['w'\]\[0\]"),
        ({"w": [[1.0]], "b": 2.0}, r"tree 3 has a list at \['w'\]\[0\], where the first tree has a leaf"),
        ({"w": [1.0, np.ones(2)], "b": 2.0}, r"an array of shape \(2,\) at \['w'\]\[1\], where the first tree has no"),
        ({"w": [1.0], "b": 2.0, "c": 3.0}, r"tree 3 has a float at \['c'\], where the first tree has no leaf"),
        (1.0, r"tree 3 has nothing at \['w'\]"),
    ],
)
def test_another_structure_is_refused(other: Any, message: str) -> None:
    tree = {"w": [1.0], "b": 2.0}
    with pytest.raises(wg.ArgumentError, match=message):
        wg.tree_map(lambda *leaves: leaves[0], tree, tree, other)
    with pytest.raises(wg.ArgumentError, match="tree 2 has a dict at its root"):
        wg.tree_map(lambda *leaves: leaves[0], 1.0, tree)


def test_an_array_that_is_held_twice_is_one_leaf() -> None:
    w = np.array([1.0, 2.0])
    tied = {"encoder": w, "decoder": [w], "b": 1.0}
    calls: list[Any] = []
    copy = wg.tree_map(lambda x: calls.append(x) or 2 * x, tied)
    assert copy["encoder"] is copy["decoder"][0] and len(calls) == 2
    assert wg.tree_paths(tied) == ["['encoder']", "['b']"] and len(wg.tree_leaves(tied)) == 2
    gradient = wg.grad(lambda p: np.sum(p["encoder"] * p["decoder"][0]) * p["b"])(tied)
    stepped = wg.tree_map(lambda x, g: x - g, tied, gradient)
    assert stepped["encoder"] is stepped["decoder"][0] and stepped["encoder"].tolist() == [-1.0, -2.0]
    with pytest.raises(wg.ArgumentError, match=r"at \['decoder'\]\[0\], where the first tree has no leaf of its own"):
        wg.tree_map(lambda x, g: x - g, tied, {"encoder": w, "decoder": [w.copy()], "b": 1.0})


def test_a_container_that_is_held_twice_stays_shared() -> None:
    layer = {"w": np.ones(2)}
    copy = wg.tree_map(np.copy, [layer, layer])
    assert copy[0] is copy[1] and copy[0] is not layer
    ring: list[Any] = [1.0]
    ring.append(ring)
    turned = wg.tree_map(lambda x: x + 1, ring)
    assert turned[0] == 2.0 and turned[1] is turned


def test_derivatives_go_through() -> None:
    p = {"w": np.array([1.0, 2.0]), "b": [3.0]}
    q = {"w": np.array([5.0, 7.0]), "b": [11.0]}

    def f(p: Any, q: Any) -> Any:
        product = wg.tree_map(lambda a, b: a * a * b, p, q)
        return sum([np.sum(leaf) for leaf in wg.tree_leaves(product)])

    gradients = wg.grad(f, argnums=(0, 1))(p, q)
    assert gradients[0]["w"].tolist() == [10.0, 28.0] and gradients[0]["b"] == [66.0]
    assert gradients[1]["w"].tolist() == [1.0, 4.0] and gradients[1]["b"] == [9.0]
    assert wg.jvp(f, (p, q), (wg.tree_map(np.ones_like, p), wg.tree_map(np.zeros_like, q)))[1] == 10 + 28 + 66
    np.testing.assert_array_equal(np.diag(wg.hessian(f, as_matrix=True)(p, q)), [10.0, 14.0, 22.0])


def test_a_compiled_function_reads_trees_from_outside_anew() -> None:
    p = {"w": np.array([1.0, 2.0])}
    compiled = wg.compile(wg.grad(lambda x: sum([np.sum(y) for y in wg.tree_leaves(wg.tree_map(lambda y: y * x, p))])))
    assert compiled(2.0) == 3.0
    p["w"] = np.array([5.0, 6.0])
    assert compiled(2.0) == 11.0
    p["more"] = np.ones(3)
    assert compiled(2.0) == 14.0


def test_a_part_of_the_parameters_is_trained() -> None:
    params = {"a": np.array([1.0, 2.0]), "b": [np.array([3.0, 4.0])]}
    trained, frozen = {"a": params["a"], "b": None}, {"a": None, "b": params["b"]}

    def loss(trained: Any) -> Any:
        whole = wg.tree_map(lambda _, a, b: b if a is None else a, params, trained, frozen)
        return np.sum(whole["a"] * whole["b"][0])

    gradient = wg.grad(loss)(trained)
    assert gradient["a"].tolist() == [3.0, 4.0] and gradient["b"] is None
