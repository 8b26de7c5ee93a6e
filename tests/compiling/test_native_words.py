"""Native code of running products, sorts, extrema, norms and convolutions computes what NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program
from test_native import by_python

import wengert as wg
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.values import UnsupportedOp

E = np.random.default_rng(0).normal(size=(6, 4))
RANDOM = np.random.default_rng(1)
VECTORS = {
    "random": RANDOM.normal(size=9),
    "long": RANDOM.normal(size=100),
    "every other of a row": RANDOM.normal(size=(3, 40))[1, ::-2],
    "one": np.array([3.0]),
    "ties": np.array([1.0, 2.0, 1.0, 0.5, 2.0, 1.0]),
    "zeros": np.array([0.0, -0.0, 1.0, -0.0, 0.0]),
    "infinite": np.array([1.0, np.inf, 2.0, -np.inf, 3.0, np.inf]),
    "nan": np.array([1.0, 5.0, np.nan, -3.0, np.nan, 7.0]),
    "all nan": np.array([np.nan, np.nan]),
    "large": np.array([1e150, 1e150, -1e10, 1e-300, 5e-324]),
    "integers": np.array([3, 1, 2, 3]),
    "bools": np.array([True, False, True]),
    "single": np.array([3.0, 1.0, 2.0], np.float32),
    "empty": np.zeros(0),
}
EXACT: dict[str, Callable[[Any], Any]] = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "add.accumulate": np.add.accumulate,
    "multiply.accumulate": np.multiply.accumulate,
    "maximum.accumulate": np.maximum.accumulate,
    "minimum.accumulate": np.minimum.accumulate,
    "sort": np.sort,
    "argsort": np.argsort,
    "stable argsort": lambda x: np.argsort(x, kind="stable"),
    "argmax": np.argmax,
    "argmin": np.argmin,
    "median": np.median,
    "larger ones": lambda x: np.max(x, where=x > 0.0, initial=-2.0),
    "smaller ones": lambda x: np.min(x, where=x < 2.0, initial=np.inf),
    "count": lambda x: np.sum(x > 1.0) * 2.0,
    "choice of bools": lambda x: np.where(np.where(x > 1.0, x < 3.0, x == 0.0), x, 1.0),
    "tile": lambda x: np.tile(x, 3),
    "hstack": lambda x: np.hstack([x, x[:1], x]),
    "vstack": lambda x: np.vstack((x, x * 2.0)),
}
ROUNDED: dict[str, Callable[[Any], Any]] = {
    "prod": np.prod,
    "sum of sizes": lambda x: np.linalg.norm(x, 1),
    "largest size": lambda x: np.linalg.norm(x, np.inf),
    "smallest size": lambda x: np.linalg.norm(x, -np.inf),
    "length": lambda x: np.linalg.norm(x, 2),
    "inner": lambda x: np.inner(x, x[::-1]),
    "einsum": lambda x: np.einsum("i,j", x, x[:2]),
    "convolve": lambda x: np.convolve(x, [0.5, -1.0, 2.0, 0.25][: len(x)]),
    "convolve same": lambda x: np.convolve(x, np.array([0.5, -1.0, 2.0, 0.25][: len(x)]), "same"),
    "convolve valid": lambda x: np.convolve([0.5, -1.0, 2.0][: len(x)], x, mode="valid"),
    "correlate": lambda x: np.correlate(x, [0.5, -1.0, 2.0, 0.3][: len(x)], "same"),
    "correlate with a longer one": lambda x: np.correlate(x[:4], x, "same") + np.correlate(x[:2], x, "valid")[0],
    "correlate valid": lambda x: np.correlate(x, np.array([0.5, -1.0][: len(x)])),
}


def encoded(x: Any) -> Any:
    """Return finite floats that tell which numbers are infinite or nan, since native code does not return those."""
    x = x * 1.0
    kind = np.where(x != x, 3.0, np.where(x == np.inf, 1.0, np.where(x == -np.inf, 2.0, 0.0)))
    return np.where(np.isfinite(x), x, 0.0), kind


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:.*empty slice")
@pytest.mark.parametrize("name", [*EXACT, *ROUNDED])
def test_vectors(name: str) -> None:
    """The same bits, unless sums are taken in another order; or NumPy runs, but not for ordinary numbers."""
    f = (EXACT | ROUNDED)[name]
    for kind, x in VECTORS.items():
        try:
            expected = encoded(f(x))
            run = by_python(wg.trace(lambda x: encoded(f(x)), x)[1].optimise())
        except (UnsupportedOp, ValueError, TypeError, KeyError, OverflowError, IndexError):
            assert kind in ("integers", "bools", "single", "empty")
            continue
        found = run(x)
        assert found is not None or kind in ("ties", "zeros", "nan", "all nan", "infinite", "large")
        if found is not None:
            np.testing.assert_array_equal(found[1], expected[1])
            if name in EXACT:
                assert found[0].tobytes() == np.asarray(expected[0]).tobytes()
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sort", "argsort", "argmax", "argmin", "prod"])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("x", [E, E.T, E[::2, ::-1], RANDOM.normal(size=(1, 20)), RANDOM.normal(size=(20, 1))])
def test_axes_of_matrices(name: str, axis: Any, x: np.ndarray) -> None:
    f = getattr(np, name)
    run: Any = compile_native(wg.trace(lambda x: f(x, axis=axis) * 1.0, x)[1].optimise(), build=interpret_program)
    for y in (x, -x):
        np.testing.assert_allclose(run(y), f(y, axis=axis), rtol=1e-13)


GRADIENTS: dict[str, Callable[[Any], Any]] = {
    "cumprod": lambda e: np.sum(np.cumprod(e, axis=0) * np.cumprod(e, axis=1)) + np.cumprod(e[1]) @ e[2],
    "accumulate": lambda e: np.sum(np.maximum.accumulate(e) * np.minimum.accumulate(e[:, ::-1], axis=1)),
    "prod": lambda e: np.prod(e[0]) + np.sum(np.prod(e, axis=0)) * e[0, 0] + np.sum(np.prod(e[2:], axis=1) ** 2),
    "prod with a zero": lambda e: np.prod(e[0] * np.array([1.0, 0.0, 2.0, 3.0])) + np.sum(np.sin(e)),
    "sort": lambda e: np.sum(np.sort(e, axis=0) * E) + np.sort(e[:, 1]) @ np.arange(6.0) + np.sum(np.sort(e) ** 3),
    "argsort": lambda e: np.sum(e[np.argsort(e[:, 0]), 1] * np.arange(6) * e[np.argmin(e[:, 2])][0]),
    "median": lambda e: np.median(e[:, 0]) ** 2 + np.median(e[:5, 1]) * np.median(e[0]),
    "norms": lambda e: np.linalg.norm(e[0], 1) * np.linalg.norm(e[1], np.inf) + np.sum(np.linalg.norm(e, axis=1)),
    "convolve": lambda e: np.sum(np.convolve(e[:, 0], e[0]) ** 2) + np.convolve(e[1], e[2], "same") @ e[3],
    "correlate": lambda e: np.sum(np.correlate(e[:, 1], e[2, :3], "same") * e[:, 0]),
    "joined": lambda e: np.sum(np.hstack([e, e[:, :1] * 2]) ** 2) + np.sum(np.vstack([e[0], e[1]]) * e[:2] ** 2),
    "inner": lambda e: np.sum(np.inner(e, e[:2]) ** 2) + np.inner(e[0], e[1]) * np.einsum("ij,jk", e, e[:4]).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("build", ["Python", "LLVM"])
def test_gradients_are_native(name: str, build: str) -> None:
    """They are those of the derivative that is not compiled, whose tests are elsewhere, and of differences."""
    f = GRADIENTS[name]
    if build == "LLVM":
        pytest.importorskip("numba")
    tape = wg.trace(wg.value_and_grad(f), E)[1].optimise()
    run = by_python(tape) if build == "Python" else compile_native(tape)
    for e in (E, 1.01 * E, E[::-1, ::-1].copy()):
        value, x_bar = run(e)
        assert value == pytest.approx(f(e), rel=1e-12)
        np.testing.assert_allclose(x_bar, wg.grad(f)(e), rtol=1e-11, atol=1e-13)
        d = np.cos(np.arange(24.0)).reshape(6, 4)
        slope = [(f(e + h * d) - f(e - h * d)) / (2 * h) for h in (1e-5, 2e-5)]
        assert np.sum(x_bar * d) == pytest.approx((4 * slope[0] - slope[1]) / 3, rel=1e-8)
