"""`Gradients` by name: closure variables against differences, and messages for the names that have no gradient."""

from __future__ import annotations

import copy
import functools
import pickle
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

W = np.array([0.3, -0.7])
X = np.array([1.5, 2.5])


def model(w: Any, bias: Any, repeats: int) -> Callable[[Any], Any]:
    def loss(x: Any) -> Any:
        return repeats * np.tanh(np.sum(w * x) + bias) + np.sum(W)

    return loss


def difference(f: Callable[[Any], float], x: Any, step: float = 1e-6) -> np.ndarray:
    """Central differences, number by number."""
    units = np.eye(np.size(x)).reshape((-1, *np.shape(x)))
    return np.array([(f(x + step * unit) - f(x - step * unit)) / (2 * step) for unit in units])


def test_closure_variables_have_gradients_by_name() -> None:
    gradients = wg.grad(model(W, 0.1, 2), X)[1]
    np.testing.assert_allclose(gradients.closure["w"], difference(lambda w: model(w, 0.1, 2)(X), W), rtol=1e-8)
    np.testing.assert_allclose(gradients.closure["bias"], difference(lambda b: model(W, b, 2)(X), 0.1)[0], rtol=1e-8)
    assert sorted(gradients.closure) == ["bias", "w"]


def test_a_partial_has_the_closure_of_its_function() -> None:
    def scaled(w: float) -> Callable[..., float]:
        return lambda x, power: w * x**power

    gradients = wg.grad(functools.partial(scaled(3.0), power=2), 5.0)[1]
    assert gradients.closure["w"] == 25.0


def test_closure_variables_inside_another_gradient() -> None:
    def slope(x: float) -> Any:
        return wg.grad(lambda y: x * x * y, 3.0)[1].closure["x"]  # 2xy

    assert wg.grad(slope)(2.0) == 6.0


def test_pickles_and_copies_keep_the_names() -> None:
    gradients = wg.grad(model(W, 0.1, 2), X)[1]
    for same in (pickle.loads(pickle.dumps(gradients)), copy.deepcopy(gradients)):
        np.testing.assert_array_equal(same.closure["w"], gradients[0]["w"])
        np.testing.assert_array_equal(same["x"], gradients[1])


NOTEBOOK = """
w = np.array([0.3, -0.7])
def loss(x):
    return np.sum(w * x)
_, gradients = wg.grad(loss, np.ones(2))
"""


def test_a_global_variable_is_a_constant_with_a_message() -> None:
    notebook: dict[str, Any] = {"__name__": "__main__", "np": np, "wg": wg}
    exec(NOTEBOOK, notebook)
    module = types.ModuleType("imported_model")
    vars(module).update(np=np, wg=wg)
    exec(NOTEBOOK, vars(module))
    for gradients in (notebook["gradients"], module.gradients):
        with pytest.raises(KeyError, match=r"'w' is a global variable.* constants.*wg\.grad\(loss, x, w=w\)\[1\]"):
            gradients.closure["w"]


HEADS = {
    "plain": "def loss(x):",
    "annotated": "def loss(x: np.ndarray, n: int = 2) -> tuple[()] | float:  # of rows",
    "in several lines": "@functools.wraps(print)\ndef loss(\n    x,\n    *, n=(2, 3),\n):",
    "variadic": "def loss(x, *more, **options):",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("looked_up", ["gradients['w']", "gradients.closure['w']"])
def test_the_advice_for_a_global_variable_can_be_pasted(head: str, looked_up: str, tmp_path: Path) -> None:
    body, file = "    return np.sum(np.tanh(w * x))\n", tmp_path / "model.py"
    space: dict[str, Any] = {"np": np, "wg": wg, "functools": functools, "w": W, "x": X}
    file.write_text(f"{head}\n{body}\ngradients = wg.grad(loss, x)[1]\n")
    exec(compile(file.read_text(), file, "exec"), space)
    with pytest.raises(KeyError) as caught:
        eval(looked_up, space)
    definition, call = re.search(r"`(def .*)`\. Its gradient is then (.*)$", caught.value.args[0]).groups()
    exec(f"{definition}\n{body}", space)
    expected = difference(lambda w: np.sum(np.tanh(w * X)), W)
    np.testing.assert_allclose(eval(call, space), expected, rtol=1e-8)


def test_the_advice_for_a_lambda_has_no_definition() -> None:
    with pytest.raises(KeyError, match=r"parameter of <lambda>\. Its gradient is then wg\.grad\(f, x, W=W\)\[1\]"):
        wg.grad(lambda x: np.sum(W * x), X)[1]["W"]


def test_a_global_variable_of_a_nested_function_is_named() -> None:
    def nested(x: Any) -> Any:
        return sum([np.sum(W * part) for part in x])

    with pytest.raises(KeyError, match="'W' is a global variable"):
        wg.grad(nested, [X, X])[1].closure["W"]


def test_other_names_are_explained() -> None:
    gradients = wg.grad(model(W, 0.1, 2), X)[1]
    with pytest.raises(KeyError, match="'repeats' holds no float"):
        gradients.closure["repeats"]
    with pytest.raises(KeyError, match="no closure variable 'v'; those that hold floats are bias, w"):
        gradients.closure["v"]
    with pytest.raises(KeyError, match=r"no argument 'w'.* gradients\.closure\['w'\]"):
        gradients["w"]


class Scale:
    factor = 2.0

    def __call__(self, x: float) -> float:
        return self.factor * x


def test_an_object_has_no_closure() -> None:
    assert wg.grad(Scale(), 3.0)[1].closure == {}
    with pytest.raises(KeyError, match="no closure variable 'factor'"):
        wg.grad(Scale(), 3.0)[1].closure["factor"]
