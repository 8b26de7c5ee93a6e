"""`np.copyto`, `put`, `putmask` and `place`: they take what NumPy takes, and raise what it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X, NEAR = np.array([0.31, 0.57, 0.83]), np.array([0.32, 0.58, 0.84])
MASK, WIDE = np.array([True, False, True]), np.ones((2, 3), bool)

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "copyto": lambda x, y: np.copyto(y, x * 2),
    "copyto of more axes": lambda x, y: np.copyto(y, x[None, None] * 2),
    "copyto of more axes, masked": lambda x, y: np.copyto(y, x[None] * 2, where=MASK),
    "copyto of lists, masked": lambda x, y: np.copyto(y, [[x[0], x[1], 2.0]], where=[1, 0, 1]),
    "copyto of a number, masked": lambda x, y: np.copyto(y, x[0], where=MASK),
    "copyto, mask of more axes": lambda x, y: np.copyto(y, x * 2, where=MASK[None]),
    "copyto, mask too large": lambda x, y: np.copyto(y, x * 2, where=WIDE),
    "copyto too small, masked": lambda x, y: np.copyto(y, x[:2], where=MASK),
    "copyto, no cast": lambda x, y: np.copyto(y, x.astype(np.float32), casting="no"),
    "copyto, no safe cast": lambda x, y: np.copyto(y, x * 1j, casting="safe", where=MASK),
    "copyto of nothing": lambda x, y: np.copyto(y, x[:0]),
    "put": lambda x, y: np.put(y, [0, 2], [x[1]]),
    "put in rows": lambda x, y: np.put(y, [[0, 1], [2, 0]], x[None]),
    "put by a method": lambda x, y: y.put(1, x[2]),
    "put, clipped": lambda x, y: np.put(y, [0, 7], x, mode="clip"),
    "put, out of range": lambda x, y: np.put(y, [0, 7], x),
    "put of nothing": lambda x, y: np.put(y, [0, 1], []),
    "put of nothing traced": lambda x, y: np.put(y, [0, 1], x[:0]),
    "put of nothing, out of range": lambda x, y: np.put(y, [7], []),
    "put nowhere": lambda x, y: np.put(y, [], [1.0]),
    "put at floats": lambda x, y: np.put(y, [0.5, 1.5], [x[0], x[2]]),
    "put at booleans": lambda x, y: np.put(y, [True, False], [x[0], x[2]]),
    "putmask": lambda x, y: np.putmask(y, MASK, x),
    "putmask, repeated": lambda x, y: np.putmask(y, [1, 0, 1], x[:2]),
    "putmask of nothing": lambda x, y: np.putmask(y, MASK, []),
    "putmask, mask too large": lambda x, y: np.putmask(y, WIDE, x),
    "place": lambda x, y: np.place(y, MASK, x[:1]),
    "place of nothing": lambda x, y: np.place(y, MASK, []),
    "place nowhere": lambda x, y: np.place(y, np.zeros(3, bool), []),
    "place, mask too large": lambda x, y: np.place(y, WIDE, x),
}


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("before", [lambda x: np.zeros(3), lambda x: x * 3], ids=["constant", "traced"])
def test_writes(before: Callable[[Any], Any]) -> None:
    found = []
    for name, write in WRITES.items():

        def f(x: Any, write: Any = write) -> Any:
            y = before(x)
            write(x, y)
            return y

        weights = np.array([0.3, -1.2, 0.7])
        plain = outcome(lambda f=f: f(X))
        if isinstance(plain, str):
            wanted = [plain, plain]
        else:
            wanted = [np.array([(f(X + h) - f(X - h)) @ weights / 2e-6 for h in 1e-6 * np.eye(3)]), f(NEAR)]
        got = [
            outcome(lambda f=f: wg.grad(lambda x: np.sum(f(x) * weights))(X)),
            outcome(lambda f=f: wg.trace(f, X)[1].play(NEAR)),
        ]
        for g, w in zip(got, wanted, strict=True):
            is_right = g == w if isinstance(g, str) or isinstance(w, str) else np.allclose(g, w, atol=1e-7)
            if not is_right:
                found.append(f"{name}: {g} instead of {w}")
    assert not found, "\n".join(found)
