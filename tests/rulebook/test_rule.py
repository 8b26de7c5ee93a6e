"""How a call is bound to its rule: arguments by position behind a sequence, starts, what a rule does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

A = np.arange(1.0, 7.0).reshape(2, 3)
W = np.arange(12.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: (np.concatenate((a, a * a), 1) * W.reshape(2, 6)).sum(),
        lambda a: (np.concatenate([a, a * a], axis=-1) * W.reshape(2, 6)).sum(),
        lambda a: (np.concatenate([a, a * a], None) * W).sum(),
        lambda a: (np.stack((a, a * a), 1) * W.reshape(2, 2, 3)).sum(),
        lambda a: (np.array([a[0], a[1] * 2.0], np.float64) ** 2).sum(),
        lambda a: sum([a[0, 0], a[1, 1] ** 2], a[0, 1] * 3),
        lambda a: sum([a[0], a[1] ** 2], start=a[0]).sum(),
        lambda a: sum([[a[0, 0]], [a[0, 1] ** 2]], [])[1],  # noqa: RUF017 - the call under test
        lambda a: np.sum(a * a, 0)[1] + np.mean(a, 1, keepdims=True)[0, 0] + np.max(a, axis=(0, 1)),
    ],
)
def test_arguments_by_position(f: Callable[[np.ndarray], Any]) -> None:
    value, gradient = wg.value_and_grad(f)(A)
    assert value == f(A)
    np.testing.assert_allclose(gradient, wg.ngradient(f, A)[0], rtol=1e-7, atol=1e-9)
    derivative = wg.gradtape(f, A, argnums=0)
    np.testing.assert_allclose(derivative.compile()(A + 1)[1][1], wg.grad(f)(A + 1))


def scaled(x: float, *, w: float) -> float:
    return x * w


def test_an_argument_that_a_rule_does_not_know_is_a_refusal() -> None:
    def f(x: float) -> float:
        try:
            return scaled(x, w=2.0)
        except Exception:
            return x

    with wg.rules.scope():

        @wg.vjp_rule(scaled)
        def scaled_rule(y_bar: Any, y: Any, x: Any) -> Any:
            return y_bar * 2

        with pytest.raises(wg.NoRuleError, match=r"test_rule\.py:\d+ in .*does not know the argument 'w'"):
            wg.grad(f)(1.0)


def test_a_traced_keyword_that_a_rule_does_not_differentiate_is_refused() -> None:
    with wg.rules.scope():

        @wg.rrule(scaled)
        def scaled_rule(x: float, *, w: float) -> Any:
            return x * w, lambda y_bar: y_bar * w

        assert wg.grad(lambda x: scaled(x, w=2.0))(3.0) == 2.0
        for f in (lambda x: scaled(2.0, w=x), lambda x: scaled(x, w=x)):
            with pytest.raises(wg.NoRuleError, match=r"test_rule\.py:\d+ in .*argument 'w' of scaled"):
                wg.grad(f)(3.0)


def test_a_traced_keyword_beside_untraced_arguments() -> None:
    assert wg.grad(lambda x: np.sum(np.ones(2), initial=x))(3.0) == 1.0
    assert wg.grad(lambda x: np.sum(np.ones((2, 2)), axis=0, initial=x, out=np.zeros(2)).sum())(3.0) == 2.0
    with pytest.raises(wg.WengertError, match=r"test_rule\.py:\d+"):
        wg.grad(lambda x: np.interp(0.5, [0.0, 1.0], [1.0, 2.0], period=x))(3.0)
