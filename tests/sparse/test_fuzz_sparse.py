"""Random programs over all the ways to write an array: their sparse Jacobians and Hessians are the dense ones.

FUZZ_EXAMPLES=10000 runs so many. A program may be refused; a refusal is an error of this package and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from random_programs import arguments, program, programs, run, table

import wengert as wg

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "40"))
fuzz = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES == 40
)
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"),
    pytest.mark.filterwarnings("ignore::wengert.NoPathWarning"),
]


def arrays(ops: list[Any]) -> Callable[..., Any]:
    """The function that gives all arrays, and the number, that the operations leave."""

    def f(p: Any) -> Any:
        x, y = p["x"] * 1.0, p["y"] * 1.0
        held = table(x.dtype)
        held[:] = np.arange(6) * 0.15
        names = [x, y, arguments()[2], np.full(6, 0.3), x[1:5], held, np.zeros((2, 3), order="F")]
        total = run(ops, names, x[0] * y[1, 0])
        return [total.real, [a.real + a.imag for a in names]]

    return f


def points() -> list[Any]:
    """Two points with the same programs, more or less: some numbers are on other sides of what is asked for."""
    x, y, _ = arguments()
    return [{"x": x, "y": y}, {"x": x[::-1] - 0.05, "y": y * 1.3}]


@fuzz
@given(programs)
def test_a_sparse_jacobian_is_the_dense_one(ops: list[Any]) -> None:
    f = arrays(ops)
    jac = wg.sparse_jacobian(f)
    for p in [*points(), points()[0]]:
        try:
            expected = wg.jacobian(f, as_matrix=True)(p)
        except wg.WengertError as error:
            event(f"refused: {type(error).__name__}")
            continue
        np.testing.assert_allclose(jac(p).toarray(), expected, rtol=1e-8, atol=1e-9)
        event(f"{min(jac.passes // 5 * 5, 20)} passes or more")


@fuzz
@given(programs)
def test_a_sparse_hessian_is_the_dense_one(ops: list[Any]) -> None:
    f, z = program(ops), arguments()[2]
    hess = wg.sparse_hessian(lambda p: f(p["x"] * 1.0, p["y"] * 1.0, z + 0))
    for p in points():
        try:
            expected = wg.hessian(lambda p: f(p["x"] * 1.0, p["y"] * 1.0, z + 0), as_matrix=True)(p)
        except wg.WengertError as error:
            event(f"refused: {type(error).__name__}")
            continue
        np.testing.assert_allclose(hess(p).toarray(), expected, rtol=1e-7, atol=1e-8)
