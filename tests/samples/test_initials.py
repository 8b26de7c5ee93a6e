"""Reductions that begin with a traced number: `np.sum(a, initial=s)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X, NEAR = np.array([0.31, 0.57, 0.83]), np.array([0.32, 0.58, 0.84])
DIRECTION = np.array([0.3, -0.2, 0.9])
A = np.arange(9.0).reshape(3, 3) / 7 + 0.1

REDUCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sum", "prod", "max", "min", "amax", "nansum", "nanprod", "nanmax")},
    **{f".{name}": getattr(np.ndarray, name) for name in ("sum", "prod", "max", "min")},
    **{
        f"{name}.reduce": getattr(np, name).reduce
        for name in ("add", "multiply", "maximum", "minimum", "fmax", "logaddexp", "logaddexp2", "hypot")
    },
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "axis": lambda reduce, x: reduce(A * x, axis=0, initial=x[2] * 1.1),
    "all": lambda reduce, x: reduce(A * x, axis=None, initial=x[2] * 0.9),
    "kept": lambda reduce, x: reduce(A * x, axis=1, keepdims=True, initial=x[1]),
    "masked": lambda reduce, x: reduce(A * x, axis=0, where=A > 0.5, initial=x[1]),
    "empty": lambda reduce, x: reduce(x[:0], axis=0, initial=x[1]),
    "of constants": lambda reduce, x: reduce(A, axis=0, initial=x[1]),
    "of an array": lambda reduce, x: reduce(A * x, axis=0, initial=x[1:2].reshape(())),
    "of single precision": lambda reduce, x: reduce((A * x).astype(np.float32), axis=0, initial=x[1]),
    "float": lambda reduce, x: reduce(A * x, axis=0, initial=float(x[1])),
    "out": lambda reduce, x: into(reduce, np.zeros(3), A * x, x[1]),
    "out too large": lambda reduce, x: into(reduce, np.zeros((2, 3)), A * x, x[1]),
}


def into(reduce: Callable[..., Any], out: Any, a: Any, initial: Any) -> Any:
    assert reduce(a, axis=0, initial=initial, out=out) is out
    return out * 1.0


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.filterwarnings("ignore")
def test_initial() -> None:
    found = []
    for name, reduce in REDUCTIONS.items():
        for form, call in CALLS.items():
            if "nan" in name and form in ("masked", "empty"):
                continue

            def f(x: Any, call: Any = call, reduce: Any = reduce) -> Any:
                return call(reduce, x)

            plain = outcome(lambda f=f: f(X))
            if isinstance(plain, str):
                got = outcome(lambda f=f: wg.vjp(f, X))
                found += [] if got == plain else [f"{name}, {form}: {got} instead of {plain}"]
                continue
            step = 1e-6 if np.asarray(plain).dtype == float else 1e-3
            jacobian = np.stack([(f(X + h) - f(X - h)) / (2 * step) for h in step * np.eye(3)], -1)
            total = jacobian.reshape(-1, 3).sum(0)
            checks = [
                (outcome(lambda f=f: wg.vjp(f, X)[0]), plain, 0),
                (outcome(lambda f=f: wg.grad(lambda x: np.sum(f(x)))(X)), total, 20 * step),
                (outcome(lambda f=f: wg.jvp(f, (X,), (DIRECTION,))[1]), jacobian @ DIRECTION, 20 * step),
                (outcome(lambda f=f: wg.trace(f, X)[1].play(NEAR)), f(NEAR), step**2),
            ]
            for got, wanted, allowed in checks:
                if np.shape(got) != np.shape(wanted) or not np.allclose(got, wanted, rtol=allowed, atol=allowed):
                    found.append(f"{name}, {form}: {got} instead of {wanted}")
    assert not found, "\n".join(found)


def test_one_that_counts_is_refused() -> None:
    with pytest.raises(wg.NoRuleError, match="initial"):
        wg.grad(lambda x: np.sum(x > 0.5, initial=x[0]) * x[1])(X)
