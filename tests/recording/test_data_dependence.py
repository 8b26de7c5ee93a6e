"""Indices, masks and counts computed from an input: a tape follows them to other numbers, or says that it is stale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

WEIGHTS = np.arange(1.0, 7.0)


def stored(write: Callable[..., Any]) -> Callable[..., Any]:
    """The function that writes into a copy of its first argument, and returns a number made of that."""

    def f(x: np.ndarray, y: np.ndarray) -> Any:
        z = x * 1.0
        write(z, x, y)
        return np.sum(z * z * WEIGHTS)

    return f


FOLLOWED = [
    lambda x, y: x[np.argmax(y)] + np.diag(x)[np.argmax(y)].sum(),
    lambda x, y: np.sum(np.diag(x)[np.argmax(y), 1:] * y[1:]) + x.reshape(2, 3)[np.argmax(y) % 2].sum(),
    lambda x, y: np.sum(np.sort(x) * y) + np.sum(np.partition(x, 2)[:3]) + np.median(x),
    lambda x, y: np.sum(np.interp(x, np.sort(y), y * y)) + np.interp(x[0], y, x, period=1.3),
    lambda x, y: np.sum(np.choose((x > 1).astype(int), [x, y])),
    lambda x, y: np.sum(np.take_along_axis(x, np.argsort(y), 0) * WEIGHTS),
    lambda x, y: np.sum(np.bincount(np.floor(x).astype(int), weights=y, minlength=5) * WEIGHTS[:5]),
    lambda x, y: np.max(x, where=y > 1, initial=0.2) + np.std(x, where=y > 0.5) + np.mean(x, where=y > 0.5),
    lambda x, y: np.sum(np.unwrap(x * 5) * y),
    lambda x, y: np.nanvar(np.where(y > 1, x, np.nan), where=y < 2.5),
    lambda x, y: np.sum(np.select([x < 0.8, x < 1.4], [x, y * 2], default=0.3)),
    stored(lambda z, x, y: np.copyto(z, y, where=x > 1)),
    stored(lambda z, x, y: z.sort()),
    stored(lambda z, x, y: z.put(np.argsort(x)[:2], y)),
    stored(lambda z, x, y: z.__setitem__(np.argmax(y), x[0])),
    stored(lambda z, x, y: z.__setitem__(np.argsort(y)[:3], x[:3])),
]  # fmt: skip

DECIDING = [
    lambda x, y: x[: np.argmax(y)].sum() + x[np.argmin(y) :].sum(),
    lambda x, y: np.sum(np.compress(x > 1, y) ** 2),
    lambda x, y: np.sum(np.repeat(x, np.floor(y).astype(int)) ** 2),
    lambda x, y: np.sum(x.repeat(np.floor(y).astype(int)) ** 2),
    lambda x, y: np.sum(y[np.flatnonzero(x > 1)] ** 2),
    lambda x, y: np.sum(np.bincount(np.floor(x).astype(int), weights=y)),
    lambda x, y: np.sum(np.piecewise(x, [x < 1, x >= 1], [lambda t: t**2, lambda t: t * 3]) * y),
    lambda x, y: np.sum(np.insert(x, np.argmax(y), y[0])[:6] * WEIGHTS),
    lambda x, y: np.sum(np.delete(x, np.argmax(y)) * WEIGHTS[:5]),
    lambda x, y: np.sum(np.unique(np.round(x) + 0 * x) * 3),
    stored(lambda z, x, y: np.putmask(z, x > 1, y)),
    stored(lambda z, x, y: np.place(z, x > 1, y)),
    stored(lambda z, x, y: z.__setitem__(slice(np.argmax(y), None), x[0])),
]  # fmt: skip


def pairs(count: int) -> Any:
    random = np.random.default_rng(0)
    return [[random.uniform(0.2, 2.7, 6) for _ in range(2)] for _ in range(count)]


def outcomes(f: Callable[..., Any]) -> list[str]:
    """What the tapes recorded on some numbers make of others."""
    found = []
    for (x, y), (u, v) in zip(pairs(12)[::2], pairs(12)[1::2], strict=True):
        _, tape = wg.trace(f, x, y)
        derivative = wg.gradtape(f, x, y, argnums=(0, 1)).compile()
        bars = wg.grad(f, argnums=(0, 1))(u, v)
        for played in (lambda: (tape.play(u, v), bars), lambda: derivative(u, v)):
            try:
                value, got = played()
            except wg.StaleTapeError:
                found.append("stale")
                continue
            right = np.allclose(value, f(u, v)) and np.allclose(got[-2:], bars)
            found.append("right" if right else "WRONG")
    return found


@pytest.mark.parametrize("f", FOLLOWED)
def test_followed(f: Callable[..., Any]) -> None:
    assert set(outcomes(f)) == {"right"}


@pytest.mark.parametrize("f", DECIDING)
def test_followed_or_stale(f: Callable[..., Any]) -> None:
    found = outcomes(f)
    assert "stale" in found and set(found) <= {"right", "stale"}


@pytest.mark.parametrize("kind", [float, np.float32, lambda x: np.array(x, np.float32), lambda x: np.array([x])])
def test_a_result_without_dimensions_that_is_of_another_kind_is_stale(kind: Callable[[Any], Any]) -> None:
    def odd(x: Any) -> Any:
        return np.array(x * 1.0) if x > 0 else kind(x)

    def f(x: Any) -> Any:
        y = odd(x)
        return 3 * x if type(y) is np.ndarray and (y.dtype, y.shape) == (float, ()) else 2 * x

    with wg.rules.scope():
        wg.partials(odd)(lambda y, x: 1.0)
        tape = wg.trace(f, 1.5)[1]
        assert tape.play(0.5) == f(0.5) == 1.5 and f(-0.5) == -1.0
        with pytest.raises(wg.StaleTapeError):
            tape.play(-0.5)
