"""`out` given by position, as by name: what is written there has the derivative of what was computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([0.3, 0.7, 1.2])
WRITERS: dict[str, Callable[..., Any]] = {
    "take": lambda x, g: np.take(x, [0, 1, 2], None, g),
    "take m": lambda x, g: x.take([0, 1, 2], None, g),
    "cumsum": lambda x, g: np.cumsum(x, 0, None, g),
    "cumsum m": lambda x, g: x.cumsum(0, None, g),
    "cumprod": lambda x, g: np.cumprod(x, 0, None, g),
    "clip": lambda x, g: np.clip(x, -9, 9, g),
    "clip m": lambda x, g: x.clip(-9, 9, g),
    "sum": lambda x, g: np.sum(x[None], 0, None, g),
    "sum m": lambda x, g: x[None].sum(0, None, g),
    "mean": lambda x, g: np.mean(x[None], 0, None, g),
    "mean m": lambda x, g: x[None].mean(0, None, g),
    "max": lambda x, g: np.max(x[None], 0, g),
    "max m": lambda x, g: x[None].max(0, g),
    "std": lambda x, g: np.std(np.stack([x, 2 * x]), 0, None, g),
    "var": lambda x, g: np.var(np.stack([x, 2 * x]), 0, None, g),
    "prod": lambda x, g: np.prod(x[None], 0, None, g),
    "dot": lambda x, g: np.dot(np.eye(3), x, g),
    "dot m": lambda x, g: np.eye(3).dot(x, g),
    "concatenate": lambda x, g: np.concatenate([x[:1], x[1:]], 0, g),
    "stack": lambda x, g: np.stack([x[0], x[1], x[2]], 0, g),
    "trace": lambda x, g: np.trace(np.ones((2, 2, 1)) * x, 0, 0, 1, None, g),
    "median": lambda x, g: np.median(x[None], 0, g),
    "quantile": lambda x, g: np.quantile(x[None], 0.5, 0, g),
    "compress": lambda x, g: x.compress([1, 1, 1], 0, g),
    "choose": lambda x, g: np.choose([0, 0, 0], [x], g),
    "add.reduce": lambda x, g: np.add.reduce(x[None], 0, None, g),
    "add.accumulate": lambda x, g: np.add.accumulate(x, 0, None, g),
    "add.reduceat": lambda x, g: np.add.reduceat(x, [0, 1, 2], 0, None, g),
    "multiply": lambda x, g: np.multiply(x, 2, g),
    "sin": lambda x, g: np.sin(x, g),
    "matmul": lambda x, g: np.matmul(np.eye(3), x, g),
    "nansum": lambda x, g: np.nansum(x[None], 0, None, g),
    "ptp": lambda x, g: np.ptp(np.stack([x, 2 * x]), 0, g),
    "divmod": lambda x, g: np.divmod(x, 1.0, np.empty(3), g),
    "modf": lambda x, g: np.modf(x, g, np.empty(3)),
    "average": lambda x, g: np.nanmax(x[None], 0, g),
    "einsum": lambda x, g: np.einsum("i->i", x, out=g),
    "outer": lambda x, g: np.outer(np.ones(1), x, g[None]),
    "round": lambda x, g: np.round(x, 0, g),
    "round m": lambda x, g: x.round(0, g),
    "fix": lambda x, g: np.fix(x, g),
    "all": lambda x, g: np.all(x[None] > 0, 0, g),
    "isposinf": lambda x, g: np.isposinf(x, g),
    "of constants": lambda x, g: np.sum(np.ones((2, 3)), 0, None, g),
    "of constants m": lambda x, g: np.ones(3).take([0, 1, 2], None, g),
    "keepdims behind it": lambda x, g: np.sum(x[:, None], 1, None, g[:, None], True),
    "mode behind it": lambda x, g: np.take(x, [0, 1, 4], 0, g, "wrap"),
    "None": lambda x, g: np.copyto(g, np.sum(x[None], 0, None, None, False)),
}
REFUSED = {"clip", "clip m", "dot", "dot m", "outer"}  # by an error; their rules do not know of it


@pytest.mark.filterwarnings("ignore::wengert.NoPathWarning")
@pytest.mark.parametrize("before", [lambda x: np.full(3, np.nan), lambda x: x * 2], ids=["unset", "traced"])
@pytest.mark.parametrize("name", WRITERS)
def test_out_by_position(name: str, before: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        g = before(x)
        WRITERS[name](x, g)
        return np.sum(g * g + g)

    expected = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    try:
        got = wg.grad(f)(X)
    except wg.WengertError:
        assert name in REFUSED
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)
