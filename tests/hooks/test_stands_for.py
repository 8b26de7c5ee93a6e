"""Functions in Python that stand for functions of C: `wengert.extend.stands_for`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy import ndimage
from scipy.interpolate import PPoly, _ppoly
from scipy.spatial import Voronoi, cKDTree

import wengert as wg
from wengert.extend import computes_nothing, holds, rules, stands_for
from wengert.hooks.policy import Kind

CALLS: list[str] = []
asked = np._core.multiarray.get_handler_name
native = np._core.multiarray.interp_complex


def blended(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    CALLS.append("text")
    return np.interp(x, xp, np.real(fp)) + 1j * np.interp(x, xp, np.imag(fp))


def test_text_runs_where_a_traced_value_reaches_the_call_only() -> None:
    xp, fp = np.arange(3.0), np.array([1.0, 2j, 3.0])
    with rules.scope():
        stands_for(native)(blended)
        CALLS.clear()
        at = np.array([0.3, 1.2])
        factor = np.abs(native(at, xp, fp))
        assert wg.grad(lambda x: np.sum(x * np.abs(native(at, xp, fp))))(at) == pytest.approx(factor)
        assert CALLS == []
        f = lambda x: np.sum(np.abs(native(x, xp, fp)) ** 2)
        assert wg.grad(f)(at) == pytest.approx(wg.ngradient(f, at)[0], rel=1e-6)
        assert CALLS == ["text"]
        assert wg.explain_call(native).kind == Kind.STAND_IN.value
    with pytest.raises(wg.NoRuleError):
        wg.grad(f)(at)


def blended_otherwise(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    return blended(x, xp, fp) * (1 + 3e-16) + 1e-17j


def test_values_are_those_of_c() -> None:
    xp, fp = np.arange(3.0), np.array([1.0, 2j, 3.0])
    at = np.array([0.3, 1.2])
    f = lambda x: np.sum(np.abs(native(x, xp, fp)) ** 2)
    with rules.scope():
        stands_for(native)(blended_otherwise)
        assert wg.value_and_grad(f)(at)[0].tobytes() == f(at).tobytes() == wg.jvp(f, (at,), (at,))[0].tobytes()
        assert wg.grad(f)(at) == pytest.approx(wg.ngradient(f, at)[0], rel=1e-6)
        assert wg.hessian(f)(at)[0] == pytest.approx(wg.ngradient(lambda x: wg.grad(f)(x)[0], at)[0], abs=1e-6)


@pytest.mark.parametrize("kind", ["plain", "Fortran", "reversed"])
def test_what_it_writes_is_that_of_c(kind: str) -> None:
    data = {"plain": lambda a: a, "Fortran": np.asfortranarray, "reversed": lambda a: a[::-1, ::-1]}[kind](
        np.random.default_rng(1).normal(size=(4, 5))
    )
    places = np.array([[0.3, 1.9, 2.2], [0.1, 3.3, 2.7]])

    def f(data: Any) -> Any:
        return np.sum(ndimage.map_coordinates(data, places * data[1, 1], order=3) ** 2)

    value, gradient = wg.value_and_grad(f)(data)
    assert value.tobytes() == f(data).tobytes()
    assert gradient == pytest.approx(wg.ngradient(f, data)[0], rel=1e-5, abs=1e-6)


def test_another_stand_in_is_an_error() -> None:
    with rules.scope():
        stands_for(native)(blended)
        stands_for(native)(blended)
        with pytest.raises(wg.DuplicateRuleError, match="already has a stand-in"):
            stands_for(native)(lambda *args: None)


def test_rule_goes_before() -> None:
    xp, fp = np.arange(3.0), np.array([1.0, 2j, 3.0])
    with rules.scope():
        stands_for(native)(blended)
        wg.non_differentiable(native)
        CALLS.clear()
        gradient = wg.grad(lambda x: np.sum(x * np.abs(native(x, xp, fp))))(np.array([0.3]))
        assert CALLS == [] and gradient == pytest.approx(np.abs(native([0.3], xp, fp)))


def test_it_may_write_into_what_it_is_given() -> None:
    """`_ppoly.evaluate` fills its last argument."""
    c, x = np.array([[2.0, -1.0], [0.5, 1.5]]), np.array([0.0, 1.0, 3.0])

    def filled(at: np.ndarray) -> Any:
        out = np.zeros((2, 1))
        _ppoly.evaluate(c[:, :, None], x, at, 0, True, out)
        return np.sum(out * out)

    at = np.array([0.4, 2.0])
    assert wg.grad(filled)(at) == pytest.approx(2 * PPoly(c, x)(at) * PPoly(c, x)(at, 1))


def test_init_of_a_compiled_class_is_seen() -> None:
    """CPython calls the `__init__` that Cython compiled by itself: its arguments were taken for constants."""
    with pytest.raises(wg.NoRuleError, match="Voronoi"):
        wg.grad(lambda p: np.sum(Voronoi(p).vertices))(np.random.default_rng(1).normal(size=(6, 2)))


def test_method_of_a_compiled_class() -> None:
    tree = cKDTree(np.eye(2))
    with rules.scope():

        @stands_for(cKDTree.count_neighbors)
        def counted(self: Any, other: Any, r: Any) -> Any:
            return self.n * r

        assert wg.grad(lambda r: tree.count_neighbors(tree, r))(0.5) == 2


def test_what_is_declared_to_compute_nothing_runs_as_it_is() -> None:
    f = lambda x: np.sum(x * x) + (asked(x) is ...)
    with pytest.raises(wg.NoRuleError, match="get_handler_name"):
        wg.grad(f)(np.ones(2))
    with rules.scope():
        computes_nothing(asked)
        assert wg.grad(f)(np.ones(2)) == pytest.approx([2.0, 2.0])
        assert wg.explain_call(asked).kind == Kind.PLAIN.value


def test_objects_hold_arrays_as_it_is_declared() -> None:
    class Column:
        def __init__(self, name: str, numbers: Any, notes: Any) -> None:
            self.name, self.numbers, self.notes = name, numbers, notes

    class Derived(Column):
        pass

    x, notes = np.array([1.0, 2.0]), np.array([5.0])
    square = lambda column: np.sum(column.numbers**2) + np.sum(column.notes)
    assert wg.grad(square)(Derived("height", x, notes)).name is None
    holds(Column, keys=lambda column: ["numbers"], load=getattr, store=setattr, copy=copy.copy)
    for cls in (Column, Derived):
        column = cls("height", x, notes)
        gradient = wg.grad(square)(column)
        assert type(gradient) is cls and gradient.name == "height" and gradient.notes is notes
        assert gradient.numbers.tolist() == [2, 4] and column.numbers is x
