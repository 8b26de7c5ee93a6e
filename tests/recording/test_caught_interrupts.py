"""A function that catches an interrupt and goes on: its gradient is that of what it went on with, or refused.

Each program is homogeneous of degree 2 in x whatever part of it is skipped, so that f'(x) = 2 f(x) / x wherever the
interrupt hit; and what is made after it takes the places of objects that came free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from instructions import Watch, instructions

import wengert as wg

WEIGHTS = np.arange(1.0, 1001.0)


def _square(x: Any) -> Any:
    return x * x


@wg.rrule(_square)
def _square_rule(x: Any) -> Any:
    return x * x, lambda y_bar: 2 * y_bar * x


@wg.checkpoint
def _again(x: Any, a: Any) -> Any:
    a[0] = x * x
    a[1] = a[0] + a[1]
    return x * x


def _numbers(x: Any, a: Any) -> Any:
    return x * x + 2.0 * x * x - (-x) * x / 3.0


def _functions(x: Any, a: Any) -> Any:
    return np.square(x) + np.abs(x) * np.sqrt(x * x)


def _arrays(x: Any, a: Any) -> Any:
    return np.sum(np.square(x * WEIGHTS[:3])) + np.sum(x * WEIGHTS * x)


def _items(x: Any, a: Any) -> Any:
    parts = x * WEIGHTS[:4]
    return parts[0] * parts[1:3].sum() * 1.0 + parts[-1] ** 2


def _results(x: Any, a: Any) -> Any:
    values, vectors = np.linalg.eigh(np.diag(WEIGHTS[:2]) * x * x)
    return np.sum(values) + values[0] * np.sum(vectors)


def _stores(x: Any, a: Any) -> Any:
    a[0] = x * x
    a[1] = a[0]
    a[2:] = a[:2] + x * x
    a *= 2
    a += x * x
    np.add(a, a, out=a)
    return a.sum()


def _gradients(x: Any, a: Any) -> Any:
    a[3] = x * x
    return wg.grad(lambda y: y * y * x)(x) + wg.grad(lambda y: np.sum(a * y))(1.0)


def _rules(x: Any, a: Any) -> Any:
    return _square(x) + wg.grad(_square)(x) * x


def _checkpoints(x: Any, a: Any) -> Any:
    return _again(x, a) + a.sum()


PROGRAMS = (_numbers, _functions, _arrays, _items, _results, _stores, _gradients, _rules, _checkpoints)


def _catching(step: Callable[[Any, Any], Any], untraced: list[float]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        total, a = x * x, np.zeros(4)
        for k in range(3):
            try:
                total = total + step(x, a)
            except (KeyboardInterrupt, TimeoutError):
                for number in [k + i * 0.25 for i in range(40)]:
                    total = total + number
                    untraced.append(number)
        return total + a.sum()

    return f


def _interrupt() -> None:
    raise KeyboardInterrupt


def _handle() -> None:
    raise TimeoutError("as the handler of a signal may")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("step", PROGRAMS)
@pytest.mark.parametrize("act", [_interrupt, _handle])
def test_a_function_may_catch_an_interrupt_at_any_instruction(
    act: Callable[[], None], step: Callable[[Any, Any], Any]
) -> None:
    x, untraced = 1.5, list[float]()
    f = _catching(step, untraced)
    count = instructions(lambda: wg.value_and_grad(f)(x))
    right = 0
    for k in range(1 + (act is _handle), count, 1 + count // 70):
        untraced.clear()
        try:
            value, slope = Watch(k, act).over(lambda: wg.value_and_grad(f)(x))
        except (KeyboardInterrupt, TimeoutError, wg.RefusedCallError, wg.RecomputationError):
            continue
        assert slope == pytest.approx(2 * (value - sum(untraced)) / x, rel=1e-9), k
        right += 1
    assert right > 8


@pytest.mark.parametrize("keep", [False, True])
def test_an_error_after_a_write_is_no_error_without_one(keep: bool) -> None:
    """NumPy raises floating-point errors when it has written; other errors before."""
    run: Any = (lambda f, x: wg.trace(f, x)[0]) if keep else (lambda f, x: wg.grad(f)(x))

    def divided(x: float) -> Any:
        a = x * np.ones(2)
        with np.errstate(divide="raise"):
            try:
                a /= np.array([2.0, 0.0])
            except FloatingPointError:
                a[1] = 0.0
        return a.sum()

    def outside(x: float) -> Any:
        a = x * np.ones(2)
        for attempt in (lambda: a.__setitem__(5, x), lambda: a.__setitem__(slice(None), x * np.ones(3))):
            try:
                attempt()
            except (IndexError, ValueError):
                a[0] = 2 * a[0]
        return a.sum()

    assert divided(3.0) == 1.5
    with pytest.raises(wg.RefusedCallError, match="caught an exception"):
        run(divided, 3.0)
    assert run(outside, 3.0) == (15.0 if keep else 5.0)
