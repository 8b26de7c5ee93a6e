"""The registry of foreign values: each kind is asked for its own values, and loaded when one is met."""

from __future__ import annotations

import io
import operator
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.hooks import foreign
from wengert.hooks.foreign import FLAT, KINDS, OBJECTS, OVERRIDES, RECORDS, SUBCLASSES, TEXT, ForeignHandler, kinds_of


class Classed(np.ndarray):
    pass


class Overriding:
    __array_ufunc__ = None


RECORD = np.zeros(2, [("a", float)])
OF_KIND = {
    "a float": (1.5, set()),
    "a list": ([1.5], set()),
    "an array": (np.ones(2), set()),
    "an array of integers": (np.arange(2), set()),
    "an array of objects": (np.ones(2, object), {OBJECTS}),
    "an array of records": (RECORD, {RECORDS}),
    "a record": (RECORD[0], {OVERRIDES, RECORDS}),
    "an array of strings": (np.array(["a"]), {TEXT}),
    "a string": ("a", {TEXT}),
    "a stream": (io.StringIO(), {OVERRIDES, TEXT}),
    "a flat iterator": (np.ones(2).flat, {OVERRIDES, FLAT}),
    "an array of a class": (np.ones(2).view(Classed), {OVERRIDES, SUBCLASSES}),
    "objects of a class": (np.ones(2, object).view(Classed), {OVERRIDES, SUBCLASSES, OBJECTS}),
    "a masked array": (np.ma.masked_less(np.ones(2), 0), {OVERRIDES, SUBCLASSES}),
    "an object": (Overriding(), {OVERRIDES}),
}


@pytest.mark.parametrize("name", OF_KIND)
def test_each_value_has_its_kinds(name: str) -> None:
    value, kinds = OF_KIND[name]
    assert {*kinds_of(value)} == kinds


def test_every_kind_has_a_handler_that_answers_at_some_door() -> None:
    doors = {name for name in vars(ForeignHandler) if not name.startswith("_")}
    for kind in KINDS:
        assert isinstance(kind.handler, ForeignHandler)
        assert doors & {*vars(type(kind.handler))}, kind.name


def of_objects(x: np.ndarray) -> Any:
    a = np.array([x[0], x[1]], dtype=object)
    return a[0] * a[1]


def of_records(x: np.ndarray) -> Any:
    a = np.zeros(2, [("u", float), ("v", float)])
    a["u"] = x
    a["v"] = x * x
    return a[1]["v"] * np.sum(a["u"])


def of_a_class(x: np.ndarray) -> Any:
    return np.sum(-(x.view(Classed) * 2.0) * x)


def flat(x: np.ndarray) -> Any:
    y = np.sin(x)
    return np.sum(np.array([y.flat[k] * (k + 1) for k in range(2)]))


LOADED = {
    "of_objects": "object_arrays",
    "of_records": "records",
    "of_a_class": "array_classes",
    "flat": "flat_iterators",
}
ASK = """
import sys
import numpy as np
import wengert as wg
import test_foreign as here

wg.grad(lambda x: np.sum(np.sin(x) * x[0], axis=0) + np.add(x, x, dtype=float)[0])(np.ones(2))
assert not [name for name in sys.modules if name.startswith("wengert.interop")]
wg.grad(here.{f})(np.array([0.3, 0.7]))
assert "wengert.interop.{module}" in sys.modules
"""


@pytest.mark.parametrize("f", LOADED)
def test_a_handler_is_loaded_when_a_value_of_its_kind_is_first_met(f: str) -> None:
    code = ASK.format(f=f, module=LOADED[f])
    path = [*sys.path, __file__.rsplit("/", 1)[0]]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path[:] = {path!r}\n{code}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("f", LOADED)
def test_the_gradient_through_foreign_values_is_that_of_differences(f: str) -> None:
    x, h = np.array([0.3, 0.7]), 1e-6
    steps = h * np.eye(2)
    expected = [(globals()[f](x + step) - globals()[f](x - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(wg.grad(globals()[f])(x), expected, rtol=1e-8)


def test_a_handler_is_loaded_while_the_import_system_itself_is_traced() -> None:
    code = """
import importlib.util
import numpy as np
import wengert as wg

def f(x):
    importlib.util.cache_from_source("a/b.py")
    return sum([x for _ in "ab"]) * np.add(x, 1.0, dtype=np.dtype(float))

assert wg.grad(f)(2.0) == 2 * 3.0 + 2 * 2.0
"""
    code = f"import sys\nsys.path[:] = {sys.path!r}\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_dtype_that_is_none_is_the_error_of_numpy() -> None:
    with pytest.raises(TypeError):
        wg.grad(lambda x: np.sum(np.array([x[0]], dtype="no dtype")))(np.ones(2))
    assert not foreign._kinds_made(np.array, "no dtype")


def concatenated(x: np.ndarray) -> Any:
    a = np.array([x[0], x[1]], dtype=object)
    rows = [a] + [a * 2.0]
    rows *= 2
    rows += [a]
    return sum([row[0] * row[1] for row in rows]) * len(rows)


def repeated(x: np.ndarray) -> Any:
    a = np.array([x[0], x[1]], dtype=object)
    rows = ((a,) + (a, a)) * 2
    return sum([row[0] for row in rows]) * len(rows)


def by_functions(x: np.ndarray) -> Any:
    a = np.array([x[0], x[1]], dtype=object)
    rows = operator.iadd(operator.mul(operator.add([a], [a * 2.0]), 2), [a])
    return sum([row[0] * row[1] for row in rows]) * len(rows)


def with_a_class(x: np.ndarray) -> Any:
    a = np.array([x[0], x[1]], dtype=object)
    parts = ([x.view(Classed)] + [x]) * 2
    parts += [x.view(Classed)]
    return a[0] * a[1] + sum([np.sum(np.asarray(part) ** 2) for part in parts]) + len(parts)


def beside_an_array(x: np.ndarray) -> Any:
    a = np.array([x[0], x[1]], dtype=object)
    return np.sum([1.0, 2.0] * a) + np.sum(a * [3.0, 4.0]) + np.sum(np.add([a], [a * 2.0]))


@pytest.mark.parametrize("f", [concatenated, repeated, by_functions, with_a_class, beside_an_array])
def test_operators_of_lists_of_foreign_values_are_those_of_python(f: Any) -> None:
    """Lists of arrays of objects were added element by element, where Python concatenates them."""
    x, h = np.array([0.3, 0.7]), 1e-6
    value, gradient = wg.value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_allclose(gradient, [(f(x + h * d) - f(x - h * d)) / (2 * h) for d in np.eye(2)], rtol=1e-8)
