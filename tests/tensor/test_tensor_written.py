"""Functions as people write them: values, first and second derivatives are those of plain runs, in each back end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from tensor_walls import watched, ways
from tensor_written import WRITTEN

import wengert as wg
from wengert.tensor.running import native

STEP = 1e-30
BACKENDS = ["numpy", "native", "reference"]
CASES = range(len(WRITTEN))


class Plain:
    """What plain runs give: the value, its tangent by a complex step, and the tangent's change by differences."""

    def __init__(self, number: int) -> None:
        case, rng = WRITTEN[number], np.random.default_rng(number)
        self.f, self.args, self.wrt = case.f, case.args, tuple(range(case.numbers))
        self.tangents = tuple(rng.normal(size=x.shape) * (x != 0) for x in case.args[: case.numbers])
        self.value = leaves(self.f(*self.args))
        bars = tuple(rng.normal(size=leaf.shape) for leaf in self.value)
        self.y_bar = bars if len(bars) > 1 else bars[0]
        self.tangent = self.along(0.0)
        coarse, fine = ((self.inner(h) - self.inner(-h)) / (2 * h) for h in (2e-3, 1e-3))
        self.second = (4 * fine - coarse) / 3

    def along(self, t: float) -> list[np.ndarray]:
        at = (x + (t + 1j * STEP) * v for x, v in zip(self.args, self.tangents, strict=False))
        return [leaf.imag / STEP for leaf in leaves(self.f(*at, *self.args[len(self.wrt) :]))]

    def inner(self, t: float) -> float:
        return inner(self.y_bar, self.along(t))


plain = cache(Plain)


def leaves(value: Any) -> list[np.ndarray]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [np.asarray(value)]


def inner(a: Any, b: Any) -> float:
    return float(sum(np.sum(p * q) for p, q in zip(leaves(a), leaves(tuple(b)), strict=True)))


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "has_numba", lambda: True)
        watched(patch)
        ways(request.node.callspec.params["number"], patch)
        yield request.param


@pytest.mark.parametrize("number", CASES, ids=[case.f.__name__ for case in WRITTEN])
def test_a_function_as_people_write_them(number: int, backend: str) -> None:
    case = plain(number)
    f = wg.tensor.function(case.f, backend=backend)
    for mine, theirs in zip(leaves(f(*case.args)), case.value, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)
    adjoint = f.pullback(case.wrt)
    bars = adjoint(*case.args, case.y_bar)
    assert inner(bars, case.tangents) == pytest.approx(inner(case.y_bar, case.tangent), rel=1e-10)
    if BACKENDS[number % 3] != backend and "WENGERT_TENSOR_EXAMPLES" not in os.environ:
        return  # the others are tried in one of them by day, in all by night
    for mine, theirs in zip(leaves(f.differential(case.wrt)(*case.args, *case.tangents)), case.tangent, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)
    forward = adjoint.differential(case.wrt)(*case.args, case.y_bar, *case.tangents)
    assert inner(forward, case.tangents) == pytest.approx(case.second, rel=1e-6, abs=1e-6)
    backward = adjoint.pullback(case.wrt)(*case.args, case.y_bar, case.tangents)
    assert inner(backward, case.tangents) == pytest.approx(case.second, rel=1e-6, abs=1e-6)
