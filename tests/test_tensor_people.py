"""Random functions as people write them, with nan wherever a plain run does not look: that has no influence."""

from __future__ import annotations

import os
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tensor_people import arguments, other_form, unread, written
from tensor_walls import walled, watched, ways

import wengert as wg
from wengert.tensor.function import TensorFunction
from wengert.tensor.planning.counting import counted
from wengert.tensor.reading.scalars import plain_jvp

pytestmark = pytest.mark.slow

COUNT = int(os.environ.get("WENGERT_TENSOR_EXAMPLES", 25))
BACKENDS = ["numpy", "native"]
WRT = (0, 1, 2, 7)  # what is numbers
LARGE = 1e6
OF_DUALS = types.SimpleNamespace(cos=np.cos, atan=np.arctan, log=np.log, sqrt=np.sqrt)


class Case:
    """A function, arguments, and the same with nan where a plain run does not look."""

    def __init__(self, seed: int) -> None:
        self.f, self.source = written(seed)
        self.args = arguments(seed)
        try:
            self.value, self.holes = unread(self.f, self.args)
        except (ArithmeticError, ValueError):
            pytest.skip("a plain run fails")
        rng = np.random.default_rng(seed)
        self.given = self.hidden(self.args)
        self.given[3] = other_form(self.args[3], seed)
        self.tangents = [rng.normal(size=np.shape(self.args[k])) for k in WRT]
        bars = tuple(rng.normal(size=leaf.shape) for leaf in leaves(self.value))
        self.y_bar = bars if isinstance(self.value, tuple) else bars[0]
        with np.errstate(all="ignore"):
            self.tangent = self.along(self.args, self.tangents)
        if not all(np.abs(leaf).max(initial=0) < LARGE for leaf in (*leaves(self.value), *leaves(self.tangent))):
            pytest.skip("no finite numbers")

    def hidden(self, arrays: list[Any]) -> list[Any]:
        return [np.where(hole, np.nan, x) for hole, x in zip(self.holes, arrays, strict=False)] + arrays[3:]

    def along(self, args: list[Any], tangents: list[Any]) -> Any:
        x, y, a, s = tangents
        plain = types.FunctionType(self.f.__code__, {**self.f.__globals__, "math": OF_DUALS})
        return plain_jvp(plain, tuple(args), (x, y, a, None, None, None, None, float(s)))

    def second(self, h: float) -> float:
        """The change of ⟨ȳ | tangent⟩ along the tangents."""

        def first(t: float) -> float:
            moved = [x if k not in WRT else x + t * self.tangents[WRT.index(k)] for k, x in enumerate(self.args)]
            return inner(self.y_bar, self.along([*moved[:7], float(moved[7])], self.tangents))

        with np.errstate(all="ignore"):
            return (first(h) - first(-h)) / (2 * h)


def leaves(value: Any) -> list[np.ndarray]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [np.asarray(value, float)]


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
    case = Case(seed)
    f = wg.tensor.function(case.f, backend=backend)
    same(f(*case.given), case.value, case.source)
    *arrays, s = case.hidden(case.tangents)
    same(f.differential(WRT)(*case.given, *arrays, float(s)), case.tangent, case.source)
    bars = f.pullback(WRT)(*case.given, case.y_bar)
    assert all((bar[hole] == 0).all() for bar, hole in zip(bars, case.holes, strict=False)), case.source
    expected = inner(case.y_bar, case.tangent)
    assert inner(bars, tuple(case.tangents)) == pytest.approx(expected, rel=1e-7, abs=1e-7), case.source


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(COUNT))
def test_and_none_on_second_derivatives(seed: int, backend: str, patch: pytest.MonkeyPatch) -> None:
    case = Case(seed)
    if isinstance(case.value, tuple):
        pytest.skip("one cotangent")
    *finer, finest = (case.second(h) for h in (4e-4, 2e-4, 1e-4))
    expected = (4 * finest - finer[1]) / 3
    if not abs(expected - (4 * finer[1] - finer[0]) / 3) < 1e-6 * (1 + abs(expected)):
        pytest.skip("differences do not settle")
    f = wg.tensor.function(case.f, backend=backend).pullback(WRT)
    *arrays, s = case.hidden(case.tangents)
    forward = f.differential(WRT)(*case.given, case.y_bar, *arrays, float(s))
    assert inner(forward, tuple(case.tangents)) == pytest.approx(expected, rel=1e-4, abs=1e-4), case.source
    backward = f.pullback(WRT)(*case.given, case.y_bar, tuple(case.tangents))
    assert inner(backward, tuple(case.tangents)) == pytest.approx(expected, rel=1e-4, abs=1e-4), case.source


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_plan_reads_inside_and_executes_no_more_than_it_costs(seed: int, patch: pytest.MonkeyPatch) -> None:
    case = Case(seed)
    f = wg.tensor.function(case.f, backend="numpy")
    executes(f, case.given)
    executes(f.pullback(WRT), [*case.given, case.y_bar])


def executes(f: TensorFunction, args: list[Any]) -> None:
    instance = f.instance(tuple(args))
    values, relations = instance.values(f.given(tuple(args)))
    inputs = {f"in.{name}": walled(x) for name, x in values.items()}
    entries = {name: x.entries for name, x in relations.items()}
    _, operations = counted(instance.plan(relations), inputs, entries)
    assert operations.total() <= instance.cost(relations)
