"""`vmap` on objects: their array attributes hold examples, as items of a dictionary do."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg


@dataclass(frozen=True)
class Weights:
    w: Any
    b: Any
    name: str = "layer"


class Slotted:
    __slots__ = ("b", "name", "w")

    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b, self.name = w, b, None


W, B, X = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]])
KINDS = {"data class": Weights, "slots": Slotted, "namespace": lambda w, b: SimpleNamespace(w=w, b=b, name="n")}


def loss(p: Any, x: Any) -> Any:
    return np.sum(p.w * x) ** 2 + p.b


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_holds_a_batch_in_each_array(kind: str) -> None:
    make: Any = KINDS[kind]
    expected = [loss(make(w, b), x) for w, b, x in zip(W, B, X, strict=True)]
    np.testing.assert_allclose(wg.vmap(loss)(make(W, B), X), expected)
    np.testing.assert_allclose(wg.vmap(lambda p: loss(p, X[0]))({"p": make(W, B)}["p"]), [
        loss(make(w, b), X[0]) for w, b in zip(W, B, strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_each_example_is_an_object_of_batches(kind: str) -> None:
    p = KINDS[kind](W[0], 2.0)
    found: Any = wg.vmap(wg.grad(loss), (None, 0))(p, X)  # type: ignore[operator]
    assert type(found) is type(p) and found.name is None
    np.testing.assert_allclose(found.w, [2 * (W[0] @ x) * x for x in X])
    np.testing.assert_allclose(found.b, np.ones(3))


@pytest.mark.parametrize("axes", [Weights(0, None), {"w": 0, "b": None, "name": None}])
def test_the_axes_of_an_object_are_an_object_or_a_dictionary(axes: Any) -> None:
    found = wg.vmap(loss, (axes, 0))(Weights(W, 2.0), X)
    np.testing.assert_allclose(found, [loss(Weights(w, 2.0), x) for w, x in zip(W, X, strict=True)])


def test_examples_that_take_different_branches_are_stacked() -> None:
    def turned(p: Any) -> Any:
        return Weights(p.w * 2.0 if p.b > 1.5 else -p.w, p.b)

    with warnings.catch_warnings(action="ignore", category=wg.NoBatchingRuleWarning):
        found: Any = wg.vmap(turned)(Weights(W, B))
        slope = wg.grad(lambda w: np.sum(wg.vmap(turned)(Weights(w, B)).w * W))(W)  # type: ignore[attr-defined]
    np.testing.assert_allclose(found.w, np.array([-1.0, 2.0, 2.0])[:, None] * W)
    assert type(found) is Weights and found.name == "layer"
    np.testing.assert_allclose(slope, np.array([-1.0, 2.0, 2.0])[:, None] * W)


def test_it_may_be_differentiated() -> None:
    found: Any = wg.grad(lambda p: np.sum(wg.vmap(loss)(p, X)))(Weights(W, B))
    assert type(found) is Weights
    np.testing.assert_allclose(found.w, 2 * np.sum(W * X, axis=1)[:, None] * X)
    np.testing.assert_allclose(found.b, np.ones(3))


def test_errors_name_the_attribute() -> None:
    with pytest.raises(wg.ArgumentError, match=r"p\.b is a float, which has no axis of examples"):
        wg.vmap(loss)(Weights(W, 2.0), X)
    with pytest.raises(wg.ArgumentError, match=r"p has an item 'b', for which there is no axis"):
        wg.vmap(loss, ({"w": 0}, 0))(Weights(W, B), X)
