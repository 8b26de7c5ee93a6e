"""What only asks about types and shapes is answered as untraced, whatever holds traced values."""

import collections.abc
import dataclasses
import inspect
import math
import numbers
import operator
import os
import types

import numpy as np
import pytest
import scipy.sparse as sparse

import wengert as wg


class Holder:
    """Holds a value, and gives no number."""

    def __init__(self, value):
        self.value = value


HOLDERS = {
    "array": lambda x: x,
    "number": lambda x: x[0],
    "ragged tuple": lambda x: (x, [1]),
    "coordinates": lambda x: (x, ([0, 1], [0, 1])),
    "list of arrays": lambda x: [x, x],
    "list of numbers": lambda x: [x[0], x[1]],
    "nested": lambda x: (x, (x[0], x[1])),
    "dictionary": lambda x: {"a": x},
    "object": Holder,
    "list of objects": lambda x: [Holder(x)],
}

QUESTIONS = [
    np.isscalar, np.iterable, np.ndim, np.shape, np.size, np.iscomplexobj, np.isrealobj, callable,
    inspect.isfunction, inspect.isclass, inspect.ismodule, inspect.isgenerator, inspect.isroutine, inspect.isawaitable,
    lambda v: isinstance(v, numbers.Number), lambda v: isinstance(v, numbers.Real),
    lambda v: isinstance(v, collections.abc.Sequence), lambda v: issubclass(type(v), list), lambda v: len(v),
    lambda v: hasattr(v, "shape"), lambda v: hasattr(v, "__len__"), lambda v: type(v).__name__,
    lambda v: np.can_cast(type(v), float), lambda v: np.issubdtype(type(v), np.floating), np.can_cast,
    lambda v: np.may_share_memory(v, v), lambda v: np.shares_memory(v, v), lambda v: np.broadcast_shapes(np.shape(v)),
    sparse.issparse, dataclasses.is_dataclass, operator.length_hint, operator.index, os.fspath, bytes, memoryview,
    sparse._sputils.isscalarlike, sparse._sputils.isintlike, sparse._sputils.isshape, sparse._sputils.issequence,
    sparse._sputils.isdense, sparse._sputils.ismatrix,
]  # fmt: skip
OPENING = (bytes, memoryview, os.fspath)  # these would read what a container holds
NUMBERS = [float, int, complex, abs, round, math.sqrt, math.floor, math.trunc, math.isnan, np.isfinite, np.sin]


def answer(ask, thing):
    try:
        return str(ask(thing))
    except wg.WengertError:
        raise
    except Exception as error:
        return type(error).__name__


def answers(hold, asks, x):
    """What is said untraced, and what inside a gradient."""
    said = []

    def f(x):
        thing = hold(x)
        said.extend([answer(ask, thing) for ask in asks])
        return np.sum(x * x)

    gradient = wg.grad(f)(x)
    np.testing.assert_array_equal(gradient, 2 * x)
    thing = hold(x)
    return [answer(ask, thing) for ask in asks], said


@pytest.mark.parametrize("name", HOLDERS)
def test_questions_about_types_are_answered_as_untraced(name):
    asks = [ask for ask in QUESTIONS if name == "object" or ask not in OPENING]
    untraced, traced = answers(HOLDERS[name], asks, np.array([0.5, 2.0]))
    assert traced == untraced


def test_what_gives_no_number_is_answered_as_untraced():
    untraced, traced = answers(Holder, NUMBERS, np.array([0.5, 2.0]))
    assert traced == untraced == ["TypeError"] * len(NUMBERS)


def test_an_object_that_shows_an_array_is_asked_for_it():
    cls = answering("__array__", lambda self, *args, **kwargs: self.value * self.value)
    x = np.array([0.5, 2.0])
    assert wg.grad(lambda x: x[0] * np.size(cls(x)))(x).tolist() == [2, 0]
    assert wg.grad(lambda x: np.sum(np.asarray(cls(x)) * 3))(x).tolist() == [3, 12]
    assert wg.grad(lambda x: np.sum(np.sin(cls(x))))(x) == pytest.approx(2 * x * np.cos(x * x), rel=1e-15)
    assert wg.grad(lambda x: np.dot(cls(x), [1.0, 2.0]) + np.sum(np.array([cls(x), x])))(x).tolist() == [3, 13]
    assert wg.jvp(lambda x: np.max(cls(x)), (x,), (np.ones(2),))[1] == 4
    wrapping = type("Wrapping", (cls,), {"__array_wrap__": lambda self, a, context=None, scalar=False: a * 0})
    for f in (np.sin, np.sum, np.linalg.inv):
        with pytest.raises(wg.WengertError):
            wg.grad(lambda x, f=f: np.sum(f(wrapping(x))))(x)
    assert wg.grad(lambda x: np.sum(np.asarray(wrapping(x)) * 3))(x).tolist() == [3, 12]


def test_an_object_that_shows_an_array_has_methods_that_numpy_leaves_calls_to():
    """`np.cumsum(table)` is `table.cumsum()`; without a method, what it gives of the array is wrapped."""
    methods = {
        "__array__": lambda self, *args, **kwargs: self.value * self.value,
        "__array_wrap__": lambda self, a, context=None, scalar=False: a * 2,
        "cumsum": lambda self, axis=None, dtype=None, out=None: 5 * self.value,
    }
    cls = types.new_class("Answering", (Holder,), exec_body=lambda space: space.update(methods))
    x = np.array([0.5, 2.0])
    for f in (np.cumsum, np.cumprod, np.flip):
        total = lambda x, f=f: np.sum(f(cls(x)) ** 2)
        value, gradient = wg.value_and_grad(total)(x)
        assert value == total(x)
        assert gradient == pytest.approx(wg.ngradient(total, x)[0])


ANSWERS = {
    "__bytes__": lambda self: bytes([int(self.value[0] * 4)]),
    "__getattr__": lambda self, name: getattr(self.value, name),
}


def answering(name, method):
    return types.new_class("Answering", (Holder,), exec_body=lambda space: space.update({name: method}))


@pytest.mark.parametrize("name", ANSWERS)
def test_an_object_that_answers_in_python_may_compute(name):
    cls = answering(name, ANSWERS[name])
    if name == "__array__":
        x = np.array([0.5, 2.0])
        np.testing.assert_array_equal(wg.grad(lambda x: x[0] * np.size(cls(x)))(x), [2.0, 0.0])
        return
    with pytest.raises(wg.WengertError):
        wg.grad(lambda x: x[0] * np.size(cls(x)))(np.array([0.5, 2.0]))


@pytest.mark.filterwarnings("ignore:.*returned non-float")
def test_a_number_of_a_subclass_keeps_its_derivative():
    cls = answering("__float__", lambda self: self.value[0])
    np.testing.assert_allclose(wg.grad(lambda x: float(cls(x)) * x[0])(np.array([0.5, 2.0])), [1.0, 0.0])


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "dia", "bsr", "diags"])
def test_sparse_matrices_are_made_of_traced_numbers(form, kind):
    rows, ends = [0, 1, 2, 3], [0, 1, 2, 3, 4]
    made_of = {
        "coo": lambda x: (x, (rows, rows)),
        "csr": lambda x: (x, rows, ends),
        "csc": lambda x: (x, rows, ends),
        "dia": lambda x: (x.reshape(1, 4), [0]),
        "bsr": lambda x: (x.reshape(4, 1, 1), rows, ends),
    }

    def f(x):
        if form == "diags":
            made = (sparse.diags if kind == "matrix" else sparse.diags_array)(x)
        else:
            made = getattr(sparse, f"{form}_{kind}")(made_of[form](x), shape=(4, 4))
        return np.sum(made.data**3)

    x = np.array([0.5, 1.0, 1.5, 2.0])
    np.testing.assert_allclose(wg.grad(f)(x), 3 * x**2)


def test_the_base_of_a_traced_view_is_traced():
    x = np.array([0.5, 1.0, 1.5, 2.0])
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(x[1:].base ** 2))(x), 2 * x)
    np.testing.assert_allclose(wg.grad(lambda x: np.sum((x * x).reshape(2, 2).base))(x), 2 * x)
    assert wg.grad(lambda x: x[0] if x.base is None and (x * x).base is None else x[1])(x)[0] == 1

    def written(x):
        view = x[1:]
        x[0] = 2 * x[1]
        return np.sum(view.base**2)

    np.testing.assert_allclose(wg.grad(written)(x.copy()), [0, 10 * x[1], 2 * x[2], 2 * x[3]])
