"""Random functions as people write them, with nan wherever a plain run does not look: that has no influence."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest
from tensor_counting import counted
from tensor_people import arguments, other_form, unread, written
from tensor_scalars import plain_jvp
from tensor_walls import walled, watched, ways

import wengert as wg
from wengert.tensor.function import TensorFunction

COUNT = int(os.environ.get("WENGERT_TENSOR_EXAMPLES", 12))
BACKENDS = ["numpy", "native"]
WRT = (0, 1, 2, 7)  # what is numbers
LARGE, STEP = 1e6, 1e-30
OF_DUALS = types.SimpleNamespace(cos=np.cos, atan=np.arctan, log=np.log, sqrt=np.sqrt)


class Case:
    """A function, arguments, and the same with nan where a plain run does not look.

    Errors: ArithmeticError or ValueError where a plain run fails, or gives numbers or derivatives that are not finite.
    """

    def __init__(self, f: Callable[..., Any], source: str, args: list[Any], seed: int) -> None:
        self.f, self.source, self.args = f, source, args
        self.value, self.holes = unread(f, args)
        rng = np.random.default_rng(seed)
        self.given = self.hidden(args)
        self.given[3] = other_form(args[3], seed)
        self.tangents = [rng.normal(size=np.shape(args[k])) for k in WRT]
        bars = tuple(rng.normal(size=leaf.shape) for leaf in leaves(self.value))
        self.y_bar = bars if isinstance(self.value, tuple) else bars[0]
        with np.errstate(all="ignore"):
            tangent = leaves(self.along(STEP))
        self.tangent = tuple(leaf.real for leaf in tangent)
        self.second = inner(self.y_bar, tuple(leaf.imag / STEP for leaf in tangent))
        found = (*leaves(self.value), *self.tangent, np.asarray(self.second))
        if not all(np.abs(leaf).max(initial=0) < LARGE for leaf in found):
            raise ArithmeticError("no finite numbers")

    def hidden(self, arrays: list[Any]) -> list[Any]:
        return [np.where(hole, np.nan, x) for hole, x in zip(self.holes, arrays, strict=False)] + arrays[3:]

    def along(self, step: float) -> Any:
        """The tangent of the value, from dual numbers; its imaginary part is that of the tangent, times the step."""
        moved = (x + 1j * step * self.tangents[WRT.index(k)] if k in WRT else x for k, x in enumerate(self.args))
        x, y, a, s = self.tangents
        plain = types.FunctionType(self.f.__code__, {**self.f.__globals__, "math": OF_DUALS})
        return plain_jvp(plain, tuple(moved), (x, y, a, None, None, None, None, s))


@cache
def case(seed: int) -> Case:
    """The first function of a seed that has a value and derivatives, at numbers of which some are zero if that goes."""
    for number in range(seed, 10**6, 1000):
        for least in (-1, 1):
            with suppress(ArithmeticError, ValueError):
                return Case(*written(number), arguments(number, least), number)
    raise AssertionError(f"no function of {seed} has a value")


def leaves(value: Any) -> list[np.ndarray]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [np.asarray(value)]


def inner(a: Any, b: Any) -> float:
    return float(sum(np.sum(p * q) for p, q in zip(leaves(a), leaves(b), strict=True)))


def same(found: Any, expected: Any, source: str) -> None:
    for mine, plain in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-8, atol=1e-8, err_msg=source)


@pytest.fixture
def patch(request: pytest.FixtureRequest) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        watched(patch)
        ways(request.node.callspec.params["seed"], patch)
        yield patch


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(COUNT))
def test_what_is_hidden_has_no_influence(seed: int, backend: str, patch: pytest.MonkeyPatch) -> None:
    made = case(seed)
    f = wg.tensor.function(made.f, backend=backend)
    same(f(*made.given), made.value, made.source)
    *arrays, s = made.hidden(made.tangents)
    same(f.differential(WRT)(*made.given, *arrays, float(s)), made.tangent, made.source)
    bars = f.pullback(WRT)(*made.given, made.y_bar)
    assert all((bar[hole] == 0).all() for bar, hole in zip(bars, made.holes, strict=False)), made.source
    expected = inner(made.y_bar, made.tangent)
    assert inner(bars, tuple(made.tangents)) == pytest.approx(expected, rel=1e-7, abs=1e-7), made.source


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(COUNT))
def test_and_none_on_second_derivatives(seed: int, backend: str, patch: pytest.MonkeyPatch) -> None:
    made = case(seed)
    f = wg.tensor.function(made.f, backend=backend).pullback(WRT)
    *arrays, s = made.hidden(made.tangents)
    forward = f.differential(WRT)(*made.given, made.y_bar, *arrays, float(s))
    assert inner(forward, tuple(made.tangents)) == pytest.approx(made.second, rel=1e-7, abs=1e-7), made.source
    backward = f.pullback(WRT)(*made.given, made.y_bar, tuple(made.tangents))
    assert inner(backward, tuple(made.tangents)) == pytest.approx(made.second, rel=1e-7, abs=1e-7), made.source


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_plan_reads_inside_and_executes_no_more_than_it_costs(seed: int, patch: pytest.MonkeyPatch) -> None:
    made = case(seed)
    f = wg.tensor.function(made.f, backend="numpy")
    executes(f, made.given)
    executes(f.pullback(WRT), [*made.given, made.y_bar])


def executes(f: TensorFunction, args: list[Any]) -> None:
    instance = f.instance(tuple(args))
    values, relations = instance.values(f.given(tuple(args)))
    inputs = {f"in.{name}": walled(x) for name, x in values.items()}
    entries = {name: x.entries for name, x in relations.items()}
    _, operations = counted(instance.plan(relations), inputs, entries)
    assert operations.total() <= instance.cost(relations)
