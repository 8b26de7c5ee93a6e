"""`dtype=`, `where=`, `order=`, `casting=`, `signature=` and `out=` of ufuncs in traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from call_forms import gradient_outcome, keys_of
from sampling import Sample, call, values

import wengert as wg

X, Y = values(2, 3), values(3, low=0.4, high=0.9)
MASK = np.array([[True, False, True], [False, False, True]])

OPTIONS = [
    call(np.multiply, X, Y, dtype=np.float64),
    call(np.multiply, X.astype(np.float32), Y.astype(np.float32), dtype=float),
    call(np.multiply, X, Y, dtype=np.float32),
    call(np.add, 0.3, Y, dtype="f4"),
    call(np.add, 0.3, 0.4, dtype=np.float32),
    call(np.sqrt, values(3, low=-2, high=-1), dtype=complex),
    call(np.arcsin, values(3, low=1.2, high=2), dtype=complex),
    call(np.power, values(3, low=-2, high=-1), Y, dtype=complex),
    call(np.subtract, X, Y, signature="ff->f"),
    call(np.subtract, X, Y, sig="dd->d", casting="unsafe"),
    call(np.multiply, X, Y, order="F"),
    call(np.multiply, X, Y, where=True, subok=False, casting="safe"),
    call(np.multiply, X, [0.2, 0.3, 0.4], dtype=float),
    call(np.modf, X + 5, dtype=np.float32),
    call(np.average, X, 1, Y),
    call(np.average, X, 0, weights=X),
]


@pytest.mark.parametrize("sample", OPTIONS, ids=str)
def test_options(sample: Sample) -> None:
    keys = keys_of(sample)
    assert [gradient_outcome(sample, (key,)) for key in keys] == ["right"] * len(keys)
    assert gradient_outcome(sample, tuple(keys)) == "right"


def into(ufunc: np.ufunc, **words: Any) -> Any:
    def f(out: Any, *args: Any) -> Any:
        made = out * 2.0
        assert ufunc(*args, out=made, **words) is made
        return made

    return f


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (into(np.multiply, where=MASK), (X, X, Y)),
        (into(np.add, where=MASK[0]), (X, 0.3, Y)),
        (into(np.add, where=MASK, dtype=float), (X.astype(np.float32), X.astype(np.float32), Y.astype(np.float32))),
        (into(np.add, where=MASK, casting="unsafe"), (X.astype(np.float32), X, Y)),
        (into(np.exp, where=MASK[:, :1]), (X, Y)),
        (into(np.add, where=False), (X, X, Y)),
        (into(np.add, dtype=float), (X.astype(np.float32), X.astype(np.float32), Y)),
        (into(np.divide, where=MASK), (X, [0.1, 0.2, 0.3], 2.0)),
    ],
)
def test_masked_writes(f: Any, args: tuple[Any, ...]) -> None:
    sample = Sample(f, args, {})
    keys = tuple(keys_of(sample))
    assert {gradient_outcome(sample, (key,)) for key in keys} == {"right"}
    assert gradient_outcome(sample, keys) == "right"


def test_what_is_masked_has_no_infinite_slope() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.log(x, out=np.zeros(3), where=x > 0))

    assert np.array_equal(wg.grad(f)(np.array([2.0, 0.0, -1.0])), [0.5, 0.0, 0.0])


def test_a_mask_of_traced_values_is_checked_on_a_tape() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.log(x, out=np.zeros(3), where=x > 0))

    _, tape = wg.trace(f, np.array([2.0, 0.0, -1.0]))
    other = np.array([-1.0, 3.0, 0.0])
    assert tape.play(other) == f(other)
    with pytest.raises(wg.StaleTapeError):
        tape.play(np.ones(3))


def test_where_without_out_is_refused() -> None:
    with pytest.raises(wg.RefusedCallError, match="Pass out="):
        wg.grad(lambda x: np.sum(np.log(x, where=x > 0)))(np.ones(3))


def test_a_cast_that_numpy_refuses_stays_refused() -> None:
    with pytest.raises(TypeError, match="casting rule"):
        wg.grad(lambda x: np.sum(np.add(x, 1.0, dtype=np.float32, casting="safe")))(np.ones(3))


def test_several_outputs() -> None:
    def f(x: Any) -> Any:
        fraction = np.zeros(3)
        parts = np.modf(x, out=(fraction, None))
        assert parts[0] is fraction
        return fraction * 2 + parts[1]

    x = np.array([1.3, -2.6, 0.2])
    assert np.array_equal(wg.grad(lambda x: np.sum(f(x)))(x), [2.0, 2.0, 2.0])


def test_layout_is_that_of_the_untraced_call() -> None:
    def f(x: Any) -> Any:
        assert np.add(x, 1.0, order="F").flags.f_contiguous
        assert np.add(np.ones((2, 3)), 1.0, order="F").flags.f_contiguous
        return np.sum(x)

    assert np.array_equal(wg.grad(f)(X), np.ones((2, 3)))


def test_long_doubles() -> None:
    def f(x: Any) -> Any:
        y = np.longdouble(x[0]) ** 2 + np.sum(np.longdouble(x)) * float(np.longdouble(x[1]))
        return y + np.clongdouble(x[2] * 1j).imag ** 2

    x = np.array([0.3, 0.7, 1.2])
    expected = [float(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-7)
    assert type(wg.trace(f, x)[1].play(x)) is np.longdouble
