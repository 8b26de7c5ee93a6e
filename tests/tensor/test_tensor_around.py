"""What a tensor function finds around it changes between calls: it gives what the Python function gives then."""

from __future__ import annotations

import copy
import linecache
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

SOURCE = """
def helper(x, by=2.0, *, and_by=1.0):
    return by * x * and_by * held[0]

def other(x, by=2.0, *, and_by=1.0):
    return by * x * x + and_by

def without(x, by=3.0):
    return by * x * x

def two(a):
    return 2

def around(factor):
    def f(a):
        first = sum(scale * a[i] * factor * module.inner.number for i in range(len(a)))
        return first + sum(weights[i] * helper(a[i]) * a[i] + parts[1][i] + single(a[i]) for i in range(len(a)))

    def again(number):
        nonlocal factor
        factor = number

    return f, again

def single(x, by=1.5):
    return by * x

def cubes(a):
    return sum(a[i] * a[i] * a[i] for i in range(len(a)))

def squares(a):
    return sum(a[i] * a[i] for i in range(len(a)))
"""

A = np.array([0.5, 1.0, -2.0])


def made() -> tuple[dict[str, Any], Any, Any]:
    """The namespace that the functions are in, the one that changes a cell, and the tensor function."""
    file = "<around>"
    linecache.cache[file] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), file)
    module = types.ModuleType("module")
    module.inner = types.ModuleType("inner")  # type: ignore[attr-defined]
    module.inner.number = 1.25
    space: dict[str, Any] = {
        "scale": 3.0,
        "weights": np.array([1.0, 2.0, 3.0]),
        "parts": (1, np.array([0.5, 0.25, 0.125])),
        "held": [1.5, 2.5],
        "module": module,
    }
    exec(compile(SOURCE, file, "exec"), space)
    plain, again = space["around"](0.75)
    return space, again, wg.tensor.function(plain, backend="numpy")


def in_place(array: np.ndarray) -> None:
    array[1] = 7.0


def inner(number: float) -> types.ModuleType:
    found = types.ModuleType("inner")
    found.number = number  # type: ignore[attr-defined]
    return found


CHANGES: dict[str, Callable[[dict[str, Any], Any, Any], object]] = {
    "a global number": lambda space, again, f: space.update(scale=5.0),
    "a global number that is whole": lambda space, again, f: space.update(scale=5),
    "an array in place": lambda space, again, f: in_place(space["weights"]),
    "another array": lambda space, again, f: space.update(weights=np.array([4.0, 5.0, 6.0])),
    "an array of another dtype": lambda space, again, f: space.update(weights=np.array([4, 5, 6])),
    "a shape in place": lambda space, again, f: space["weights"].resize(4, refcheck=False),
    "an array in a tuple in place": lambda space, again, f: in_place(space["parts"][1]),
    "another tuple": lambda space, again, f: space.update(parts=(2, np.array([1.0, 1.0, 1.0]))),
    "a list": lambda space, again, f: space["held"].__setitem__(0, 4.5),
    "a list that is longer": lambda space, again, f: space["held"].append(4.5),
    "a cell": lambda space, again, f: again(-1.0),
    "another helper": lambda space, again, f: space.update(helper=space["other"]),
    "the code of a helper": lambda space, again, f: setattr(space["single"], "__code__", space["without"].__code__),
    "a default of a helper": lambda space, again, f: setattr(space["single"], "__defaults__", (9.0,)),
    "a default by name": lambda space, again, f: space["helper"].__kwdefaults__.update(and_by=4.0),
    "an attribute of a module": lambda space, again, f: setattr(space["module"].inner, "number", 8.0),
    "another module": lambda space, again, f: setattr(space["module"], "inner", inner(6.0)),
    "a builtin that is hidden": lambda space, again, f: space.update(len=space["two"]),
}


SAME = ("a shape in place", "a list that is longer")  # after these it gives the same numbers


def agree(f: Any, value: Any, gradient: Any) -> None:
    assert np.allclose(f(A), f.plain(A), rtol=1e-12)
    assert np.allclose(value(A), 2.0 * f.plain(A), rtol=1e-12)
    assert np.allclose(2.0 * f.grad()(A), gradient(A), rtol=1e-12)
    assert np.allclose(gradient(A), 2.0 * wg.ngradient(f.plain, A)[0], rtol=1e-6)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(change: str) -> None:
    space, again, f = made()
    value = wg.compile(lambda a: f(a) * 2.0, strict=True)
    gradient = wg.compile(wg.grad(lambda a: f(a) * 2.0), strict=True)
    for _ in range(3):
        agree(f, value, gradient)
    before = f.plain(A)
    CHANGES[change](space, again, f)
    assert change in SAME or f.plain(A) != before
    for _ in range(3):
        agree(f, value, gradient)


def test_other_code_of_the_function_is_seen() -> None:
    space, _, _ = made()
    f = wg.tensor.function(space["cubes"], backend="numpy")
    assert f(A) == f(A) == np.sum(A**3)
    f.plain.__code__ = space["squares"].__code__
    assert f(A) == f(A) == np.sum(A**2)


def test_a_builtin_that_is_hidden_by_what_is_not_in_the_language_is_refused() -> None:
    space, _, f = made()
    value = wg.compile(lambda a: f(a) * 2.0)
    for _ in range(3):
        assert np.isfinite(value(A))
    space["sum"] = np.cumsum
    for run in (f, value):
        with pytest.raises(wg.TensorLanguageError, match="sum"):
            run(A)
    del space["sum"]
    assert np.allclose(value(A), 2.0 * f.plain(A))


def test_what_is_not_there_any_more_is_refused() -> None:
    space, _, f = made()
    f(A), f(A)
    del space["scale"]
    with pytest.raises(wg.TensorLanguageError, match="scale is not defined"):
        f(A)


def test_a_copy_reads_what_its_original_reads() -> None:
    space, _, f = made()
    f(A), f(A)
    other = copy.deepcopy(f)
    in_place(space["weights"])
    assert np.allclose([other(A), other(A)], f.plain(A))


@pytest.mark.parametrize("y_bar", [2.0, np.float64(2.0), np.array(2.0), 2])
def test_forms_of_a_call_are_told_apart(y_bar: Any) -> None:
    """Numbers and arrays of no axes, other shapes and dtypes, whole numbers: each call is as the first one."""
    f = wg.tensor.function(made()[0]["squares"], backend="numpy")
    for a in (A, A[:2], A.astype(np.float32), A[::-1], A, A.astype(int), A.astype(">f8"), A.tolist()):
        for _ in range(2):
            (found,) = f.adjoint(a, y_bar)
            np.testing.assert_array_equal(found, 4.0 * np.asarray(a))
            assert type(found) is np.ndarray


def test_results_are_nobody_elses() -> None:
    @wg.tensor.function(backend="numpy")
    def turned(x, y, n):  # type: ignore[no-untyped-def]
        return [x[i] for i in range(n)], y, [x[n - 1 - i] for i in range(n)]

    for _ in range(3):
        x, y = A.copy(), 3.0
        first, number, last = turned(x, y, 3)
        assert type(number) is np.float64
        first[:], last[:] = 8.0, 9.0
        np.testing.assert_array_equal(x, A)
        assert first[0] == 8.0
    np.testing.assert_array_equal(turned(A, 1.0, 2)[2], A[1::-1])
