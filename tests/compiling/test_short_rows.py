"""Arrays of many short rows are computed by columns: they give what they gave, in memory and in the order of before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling import placement, split_columns

N = 23
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5])
PLACES = np.arange(N) * 7 % 5


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a few rows are many here, and all that can be turned is."""
    monkeypatch.setattr(split_columns, "FEWEST_ROWS", N)
    monkeypatch.setattr(split_columns, "GAIN", -10)
    monkeypatch.setattr(placement, "LEAST_BYTES", 1)


def widened(x: Any, v: Any, w: Any) -> Any:
    y = (x * v[:, None] + w) / np.sin(w) - 2.0
    return np.exp(y[:, None, :] * np.stack([y, x], axis=1))


def summed(x: Any, v: Any, w: Any) -> Any:
    z = np.sin(x)[:, :, None] * np.stack([w, v[:3]], axis=1)
    rows, weighted = np.sum(x * w, axis=1), np.sum(z * v[:2], axis=0)
    return np.sum(z, axis=(0, 2)), np.sum(z * z, axis=2), np.sum(z * z), rows, weighted


def parts(x: Any, v: Any, w: Any) -> Any:
    y = x * w
    return y[2:, 0] * y[:-2, -1], y[::2, ::-1] * w, np.cos(y[:, 1:]) / v[:, None], np.stack([y[:, 1], v], axis=1) * 2.0


def softmax(x: Any, v: Any, w: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1)[:, None] * np.where(x > 0.0, w, x), np.min(e, axis=-1)


def gathered(x: Any, v: Any, w: Any) -> Any:
    rows = x[:5][PLACES]
    return rows * v[:, None], rows[:, 0] * rows[:, 1] - np.sum(rows * x, axis=1)


def stored(x: Any, v: Any, w: Any) -> Any:
    y = np.empty_like(x)
    y[:, 0], y[:, 1:] = v * x[:, 1], x[:, :2] * w[1:]
    y[3:] += x[:-3] * w
    return y * w, y


def single(x: Any, v: Any, w: Any) -> Any:
    """Rows of one element, which are as many elements."""
    top = np.max(x, axis=1, keepdims=True)
    return np.exp(x - top), top[:, 0] * v, np.reshape(top * v[:, None], v.shape) - np.sin(v)


FUNCTIONS = {f.__name__: f for f in (widened, summed, parts, softmax, gathered, stored, single)}


def arrays(found: Any) -> list[np.ndarray]:
    flat = found if isinstance(found, (tuple, list)) else [found]
    return [a for part in flat for a in (arrays(part) if isinstance(part, (tuple, list)) else [part]) if a is not None]


def drawn(seed: int, special: bool = False) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.choice(SPECIAL, s) if special else random.uniform(0.5, 2.0, s) for s in ((N, 3), (N,), (3,))]


def total(f: Any) -> Any:
    return lambda *args: sum([np.sum(np.cos(part)) for part in arrays(f(*args))])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns_give_what_rows_give(name: str, derivative: bool, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    f: Any = FUNCTIONS[name]
    args = drawn(0)
    tape = wg.gradtape(total(f), *args, argnums=(0, 1, 2)) if derivative else wg.trace(f, *args)[1]
    run: Any = tape.optimise().compile()
    monkeypatch.setattr(split_columns, "FEWEST_ROWS", 10 * N)
    plain = tape.optimise().compile()
    assert run.source != plain.source
    for seed in range(6):
        given = drawn(seed, seed % 2 == 1)
        before = [a.copy() for a in given]
        found, expected, eager = arrays(run(*given)), arrays(plain(*given)), arrays(tape.play(*given))
        for buffers in run.pool.free:
            for buffer in buffers:
                buffer.fill(np.nan)
        for a, b, c in zip(found, expected, eager, strict=True):
            assert (type(a), np.shape(a), a.dtype) == (type(c), np.shape(c), c.dtype)
            assert getattr(a, "strides", ()) == getattr(c, "strides", ())
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
        assert not any([np.shares_memory(a, b) for a in found for b in given])
        for a, b in zip(given, before, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_of_one_element_are_not_copied(small: None) -> None:
    _, tape = wg.trace(lambda *args: single(*args)[1:], *drawn(0))
    assert tape.optimise().compile().source.count(".copy()") == 0


def test_views_that_the_user_gets_share_their_memory(small: None) -> None:
    def f(x: Any, v: Any) -> Any:
        y = x * v[:, None]
        return y, y[:, 0], y[3:]

    x, v, _ = drawn(0)
    y, column, rows = wg.trace(f, x, v)[1].optimise().compile()(x, v)
    assert np.shares_memory(y, column) and np.shares_memory(y, rows)
    np.testing.assert_array_equal(y, x * v[:, None])


def test_what_decides_is_summed_by_rows(small: None) -> None:
    """Which of two sums is larger may depend on how they are rounded."""
    f = lambda x, v: x * (np.sum(x * 0.1, axis=1) > 0.1 * np.sum(x, axis=1))[:, None] * v[:, None]
    x, v, _ = drawn(0)
    tape = wg.trace(f, x, v)[1]
    for at in (x, 3.0 * x, x / 7.0):
        np.testing.assert_array_equal(tape.optimise().compile()(at, v), f(at, v))
    assert "[:, 0]" not in wg.trace(widened, *drawn(0))[1].optimise(exact=True).compile().source


def test_it_pays_where_short_rows_are_widened() -> None:
    """Many calls along short rows are turned; one is not, nor are long rows, nor few."""

    def f(x: Any, v: Any) -> Any:
        for _ in range(5):
            x = x * v[:, None] - np.sum(x, axis=1)[:, None]
        return np.sum(x)

    for shape, turned in (((1000, 3), True), ((1000, 300), False), ((100, 3), False)):
        x, v = np.ones(shape), np.ones(shape[0])
        run: Any = wg.trace(f, x, v)[1].optimise().compile()
        assert ("[:, 0]" in run.source) is turned
        np.testing.assert_allclose(run(2.0 * x, v), f(2.0 * x, v), rtol=1e-12)
    once: Any = wg.trace(lambda x, v: x * v[:, None], np.ones((1000, 3)), np.ones(1000))[1].optimise().compile()
    assert "[:, 0]" not in once.source
